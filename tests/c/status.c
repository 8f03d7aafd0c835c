/* Status: every number has the name that the header gives it, and no other number has one. */
#include "check.h"

#define S(status) { status, #status }

static const struct {
    int32_t status;
    const char *name;
} statuses[] = {
    S(TERN_OK),
    S(TERN_BUSY),
    S(TERN_TIMEOUT),
    S(TERN_EMPTY),
    S(TERN_WAITING),
    S(TERN_REFUSED),
    S(TERN_UNCHANGED),
    S(TERN_MORE),
    S(TERN_ERR_NULL),
    S(TERN_ERR_BAD_HANDLE),
    S(TERN_ERR_CLOSED),
    S(TERN_ERR_FORKED),
    S(TERN_ERR_POISONED),
    S(TERN_ERR_PANIC),
    S(TERN_ERR_BAD_STRUCT),
    S(TERN_ERR_BAD_TEXT),
    S(TERN_ERR_BAD_VALUE),
    S(TERN_ERR_BAD_URL),
    S(TERN_ERR_UNSUPPORTED),
    S(TERN_ERR_VERSION),
    S(TERN_ERR_SYSTEM),
    S(TERN_ERR_CORRUPT),
    S(TERN_ERR_FULL),
    S(TERN_ERR_STUCK),
    S(TERN_ERR_EMPTY_NAME),
    S(TERN_ERR_NAME_TOO_LONG),
    S(TERN_ERR_ZERO_TTL),
    S(TERN_ERR_TIME_TOO_LARGE),
    S(TERN_ERR_TOO_FEW_RESOURCES),
    S(TERN_ERR_DUPLICATE_RESOURCE),
    S(TERN_ERR_ZERO_AMOUNT),
    S(TERN_ERR_UNKNOWN_RESOURCE),
    S(TERN_ERR_IMPOSSIBLE),
    S(TERN_ERR_UNKNOWN_LEASE),
    S(TERN_ERR_UNKNOWN_TICKET),
    S(TERN_ERR_NOT_HELD),
    S(TERN_ERR_NOT_A_REVOCATION),
    S(TERN_ERR_PARENT_NOT_HELD),
    S(TERN_ERR_TOO_DEEP),
    S(TERN_ERR_IN_USE),
    S(TERN_ERR_UNKNOWN_WANT),
    S(TERN_ERR_UNKNOWN_PROCESS),
    S(TERN_ERR_OTHER_PRINCIPAL),
};

enum { COUNT = sizeof statuses / sizeof statuses[0] };

static const char *name_of(int32_t status)
{
    for (size_t i = 0; i < COUNT; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return "TERN_STATUS_UNKNOWN";
}

int main(void)
{
    const int32_t far[] = { INT32_MIN, INT32_MIN + 1, -65536, -32768, 32767, 65536, INT32_MAX };
    int named = 0;
    for (int32_t status = -1000; status <= 1000; status++) {
        CHECK_TEXT(tern_status_name(status), name_of(status));
        named += strcmp(tern_status_name(status), "TERN_STATUS_UNKNOWN") != 0;
    }
    CHECK_EQ(named, COUNT);
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        CHECK_TEXT(tern_status_name(far[i]), "TERN_STATUS_UNKNOWN");

    /* Success is zero, failures are negative, everything else is positive. */
    CHECK_EQ(TERN_OK, 0);
    for (size_t i = 0; i < COUNT; i++) {
        int is_failure = strncmp(statuses[i].name, "TERN_ERR_", 9) == 0;
        CHECK(is_failure == (statuses[i].status < 0));
        CHECK(tern_status_name(statuses[i].status) == tern_status_name(statuses[i].status));
    }
    CHECK_EQ(sizeof(tern_status_t), 4);
    return finish(__FILE__);
}
