/* Pools of one host: several processes share devices as the threads of one do. */
#include "shared.h"

static tern_pool_t *open_devices(const struct place *place, const char *devices)
{
    tern_pool_t *pool = NULL;
    tern_pool_options_t options = devices_of(devices);
    EXPECT(TERN_OK, tern_pool_open, TERN_STR(place->url), &options, &pool);
    CHECK(pool != NULL);
    return pool;
}

static tern_manager_t *manager_of(const tern_pool_t *pool)
{
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    return manager;
}

static size_t device_of(const tern_pool_t *pool, tern_lease_t lease)
{
    size_t device = SIZE_MAX;
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, &device, 1, NULL);
    return device;
}

static tern_ticket_t stand_in_line(const tern_pool_t *pool)
{
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0;
    tern_ticket_t ticket = 0;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &claim, &lease, &ticket);
    return ticket;
}

static void claim_one_of_two(const struct place *place, int to)
{
    tell(to, claim_one(open_devices(place, "fake:2")));
}

/* No device is given out twice, and what a dead process had is free again. */
static void check_shared(void)
{
    struct place place = new_place();
    tern_pool_t *pool = open_devices(&place, "fake:2");
    tern_lease_t own = claim_one(pool), none = 0, got = 0;
    struct other other = start_other(claim_one_of_two, &place);
    tern_lease_t others = hear(&other);
    size_t lost = device_of(pool, others);
    CHECK(device_of(pool, own) != lost);
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);

    tern_device_status_t statuses[2] = { tern_device_status_init() };
    EXPECT(TERN_OK, tern_pool_snapshot, pool, statuses, 2, NULL);
    CHECK(statuses[lost].lease == others && statuses[!lost].lease == own);

    tern_ticket_t ticket = stand_in_line(pool);
    tern_manager_t *manager = manager_of(pool);
    kill_other(&other);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &got);
    CHECK_EQ(device_of(pool, got), lost);
    CHECK_EQ(count_of(manager, TERN_REASON_HOLDER_DIED), 1);
    forget_other(&other);
    tern_manager_close(manager);
    tern_pool_close(pool);
    unlink(place.path);
}

static void wait_for_the_only_one(const struct place *place, int to)
{
    tern_pool_t *pool = open_devices(place, "fake:1");
    tern_ticket_t ticket = stand_in_line(pool);
    tern_lease_t lease = 0;
    tell(to, ticket);
    EXPECT(TERN_OK, tern_ticket_wait, manager_of(pool), ticket, TERN_FOREVER, &lease);
    tell(to, lease);
}

/* Claims without a name are claims of their own, whichever process makes them: nobody waits for itself. */
static void check_names(void)
{
    struct place place = new_place();
    tern_pool_t *pool = open_devices(&place, "fake:1");
    tern_manager_t *manager = manager_of(pool);
    tern_lease_t own = claim_one(pool);
    struct other other = start_other(wait_for_the_only_one, &place);
    tern_ticket_info_t waiting = tern_ticket_info_init();
    tern_lease_info_t held = tern_lease_info_init();
    tern_deadlocks_t *deadlocks = NULL;
    size_t count = 77;
    EXPECT(TERN_OK, tern_ticket_info, manager, hear(&other), &waiting);
    EXPECT(TERN_OK, tern_lease_info, manager, own, &held);
    CHECK(strcmp(waiting.holder, held.holder) != 0);
    EXPECT(TERN_OK, tern_deadlocks_find, manager, &deadlocks, &count);
    CHECK_EQ(count, 0);
    tern_deadlocks_close(deadlocks);

    EXPECT(TERN_OK, tern_gpu_lease_release, pool, own);
    tern_lease_t others = hear(&other);
    CHECK_EQ(device_of(pool, others), 0);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, others);
    kill_other(&other);
    forget_other(&other);
    tern_manager_close(manager);
    tern_pool_close(pool);
    unlink(place.path);
}

static void keep_alive(const struct place *place, int to)
{
    tern_pool_t *pool = open_devices(place, "fake:1");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0;
    claim.ttl = 2 * TERN_SECOND;
    claim.flags = TERN_CLAIM_KEEP_ALIVE;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    tell(to, lease);
}

/* A lease that its process keeps alive lives as long as the process, as others see it. */
static void check_alive(void)
{
    struct place place = new_place();
    tern_pool_t *pool = open_devices(&place, "fake:1");
    tern_manager_t *manager = manager_of(pool);
    struct other other = start_other(keep_alive, &place);
    tern_lease_t others = hear(&other), none = 0;
    tern_lease_info_t info = tern_lease_info_init();
    const struct timespec moment = { .tv_nsec = 1000000 };
    EXPECT(TERN_OK, tern_lease_info, manager, others, &info);
    for (uint64_t first = info.end; info.end == first; nanosleep(&moment, NULL)) {
        EXPECT(TERN_OK, tern_lease_info, manager, others, &info);
        CHECK_EQ(info.state, TERN_HELD);
    }
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);
    kill_other(&other);
    forget_other(&other);
    claim_one(pool);
    tern_manager_close(manager);
    tern_pool_close(pool);
    unlink(place.path);
}

int main(void)
{
    check_shared();
    check_names();
    check_alive();
    return finish(__FILE__);
}
