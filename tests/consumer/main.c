/* What somebody might write first: is the library the one we compiled for, and can we have the GPU? */
#include <stdio.h>
#include <ternlease.h>

int main(void)
{
    tern_error_t err = tern_error_init();
    tern_manager_t *manager = NULL;
    tern_lease_t lease = 0;
    if (tern_abi_check(TERN_VERSION_NUMBER, &err) != TERN_OK
        || tern_manager_open(TERN_STR("process:"), NULL, &manager, &err) != TERN_OK
        || tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("me"), TERN_FOREVER, &lease, &err) != TERN_OK
        || tern_lease_release(manager, lease, &err) != TERN_OK) {
        fprintf(stderr, "%s: %s\n", tern_status_name(err.status), err.message);
        return 1;
    }
    tern_manager_close(manager);
    printf("ternlease %s\n", tern_version_text());
    return 0;
}
