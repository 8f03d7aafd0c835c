/* What came of a step, as words. */
#include "driver.h"

#include <inttypes.h>

bool answer(tern_status_t status)
{
    printf("%s", tern_status_name(status) + strlen("TERN_"));
    if (status != TERN_OK && world.err.reason != TERN_REASON_NONE)
        printf(" %s", tern_reason_name(world.err.reason));
    return status == TERN_OK;
}

bool answered(tern_status_t status)
{
    answer(status);
    return true;
}

void print_number(uint64_t number)
{
    if (number == TERN_FOREVER)
        printf("forever");
    else
        printf("%" PRIu64, number);
}

void print_text(const char *text)
{
    printf("%s", *text != '\0' ? text : "-");
}

void print_trit(tern_trit_t trit)
{
    printf("%s", trit == TERN_TRIT_UNKNOWN ? "unknown" : trit > 0 ? "+1" : trit < 0 ? "-1" : "0");
}

void print_leases(const tern_lease_t *leases, size_t count)
{
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++) {
        printf(" ");
        print_lease(leases[i]);
    }
}
