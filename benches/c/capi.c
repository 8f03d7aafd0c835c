/* The calls that `capi.OP` measures, as a C program makes them: compiled by the C compiler, through the shared library. */
#include "ternlease.h"

static tern_manager_t *manager;
static tern_lease_t lease;
static tern_resource_t devices[8];

int capi_open(void);
void capi_close(void);
int64_t capi_state(uint64_t times);
int64_t capi_renew(uint64_t times);
int64_t capi_try_claim(uint64_t times);

int capi_open(void)
{
    tern_error_t err = tern_error_init();
    if (tern_manager_open(TERN_STR("process:"), NULL, &manager, &err) != TERN_OK)
        return err.status;
    for (int i = 0; i < 8; i++) {
        char name[] = "gpu0";
        name[3] = (char)('0' + i);
        if (tern_resource_declare(manager, TERN_STR(name), 1, 0, &devices[i], &err) != TERN_OK)
            return err.status;
    }
    return tern_lease_acquire(manager, TERN_STR("a"), TERN_STR("b"), 3600ull * 1000000, &lease, &err);
}

void capi_close(void)
{
    tern_manager_close(manager);
}

int64_t capi_state(uint64_t times)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < times; i++)
        sum += tern_lease_state(manager, lease, NULL);
    return sum;
}

int64_t capi_renew(uint64_t times)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < times; i++)
        sum += tern_lease_renew(manager, lease, NULL, NULL);
    return sum;
}

int64_t capi_try_claim(uint64_t times)
{
    tern_error_t err = tern_error_init();
    tern_claim_t claim = tern_claim_init();
    claim.holder = "worker";
    claim.holder_len = 6;
    claim.resource_ids = devices;
    claim.resource_id_count = 8;
    claim.ttl = TERN_FOREVER;
    int64_t sum = 0;
    for (uint64_t i = 0; i < times; i++) {
        tern_lease_t claimed;
        sum += tern_manager_claim(manager, &claim, &claimed, &err);
        sum += tern_lease_release(manager, claimed, &err);
    }
    return sum;
}
