/* Two static libraries made by Rust, in one program: ours, and one that has its own copy of us inside. */
#include "ternlease.h"

size_t downstream_leases(void);

int main(void)
{
    tern_manager_t *manager = NULL;
    if (tern_manager_open(TERN_STR("process:"), NULL, &manager, NULL) != TERN_OK)
        return 1;
    tern_lease_t lease = 0;
    tern_status_t status =
        tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("main"), TERN_FOREVER, &lease, NULL);
    tern_manager_close(manager);
    return status == TERN_OK && downstream_leases() == 1 ? 0 : 1;
}
