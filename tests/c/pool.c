/* Pool: opening, the devices that a text or the environment names, a table that several handles share, why there are none. */
#include "child.h"
#include "open.h"

static uint64_t capacity_of(const tern_pool_t *pool)
{
    uint64_t count = UINT64_MAX;
    EXPECT(TERN_OK, tern_pool_capacity, pool, &count);
    return count;
}

static uint64_t waiting_for(const tern_pool_t *pool)
{
    uint64_t count = UINT64_MAX;
    EXPECT(TERN_OK, tern_pool_pending_claimers, pool, &count);
    return count;
}

static tern_manager_t *manager_of(const tern_pool_t *pool)
{
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    CHECK(manager != NULL);
    return manager;
}

static void check_open(void)
{
    const struct {
        const char *devices;
        uint64_t count;
    } known[] = { { "fake:8", 8 }, { "fake:0", 0 }, { "fake:1", 1 }, { "none", 0 } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        tern_pool_t *pool = open_pool(known[i].devices);
        CHECK_EQ(capacity_of(pool), known[i].count);
        tern_pool_close(pool);
    }

    const char *unknown[] = { "fake", "fake:", "fake:x", "fake:-1", "fake:9999999", "Host", "file:", "file:/no/such/file", "8", "gpu0" };
    tern_pool_t *pool = NULL;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        tern_pool_options_t options = devices_of(unknown[i]);
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_open, TERN_STR("process:"), &options, &pool);
        CHECK(pool == NULL);
    }
    tern_pool_options_t options = devices_of("fake:2");
    EXPECT(TERN_ERR_BAD_URL, tern_pool_open, TERN_STR("disk:"), &options, &pool);
    CHECK(pool == NULL);

    /* Without a URL, it is the pool that all processes of this machine share. */
    tern_manager_t *table = NULL;
    tern_host_info_t info = tern_host_info_init();
    tern_pool_options_t none = devices_of("none");
    EXPECT(TERN_OK, tern_pool_open, NULL, 0, &none, &pool);
    EXPECT(TERN_OK, tern_pool_manager, pool, &table);
    EXPECT(TERN_OK, tern_manager_host, table, &info);
    tern_manager_close(table);
    tern_pool_close(pool);
    pool = NULL;

    /* Each is a table of its own. */
    tern_pool_t *one = open_pool("fake:1"), *two = open_pool("fake:1");
    tern_lease_t lease = claim_one(one);
    claim_one(two);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_release, two, lease);
    tern_pool_close(one);
    tern_pool_close(two);
}

/* What the environment says, if nobody says anything else. In a child: the environment is everybody's. */
static int open_by_environment(uint64_t unused)
{
    (void)unused;
    tern_pool_options_t options = tern_pool_options_init();
    tern_pool_t *pool = NULL;
    CHECK_EQ(setenv("TERNLEASE_DEVICES", "fake:3", 1), 0);
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), NULL, &pool);
    CHECK_EQ(capacity_of(pool), 3);
    tern_pool_close(pool);
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &options, &pool);
    CHECK_EQ(capacity_of(pool), 3);
    tern_pool_close(pool);
    pool = open_pool("fake:2");
    CHECK_EQ(capacity_of(pool), 2);
    tern_pool_close(pool);

    pool = NULL;
    CHECK_EQ(setenv("TERNLEASE_DEVICES", "nonsense", 1), 0);
    EXPECT(TERN_ERR_BAD_VALUE, tern_pool_open, TERN_STR("process:"), NULL, &pool);
    CHECK(pool == NULL && strstr(err.message, "nonsense") != NULL);
    return 0;
}

/* Without devices nobody waits, and there is a reason. */
static void check_none(void)
{
    tern_pool_t *pool = open_pool("none");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 77;
    tern_ticket_t ticket = 77;
    char why[200];
    size_t needed = 0;
    claim.wait = TERN_FOREVER;
    claim.count = 4;
    EXPECT(TERN_EMPTY, tern_pool_try_claim, pool, &lease);
    EXPECT(TERN_EMPTY, tern_pool_claim, pool, &claim, &lease);
    EXPECT(TERN_EMPTY, tern_pool_enqueue, pool, &claim, &lease, &ticket);
    CHECK(lease == 77 && ticket == 77);
    EXPECT(TERN_OK, tern_pool_absence, pool, why, sizeof why, &needed);
    CHECK_TEXT(why, "declared: no device is declared\n");
    CHECK_EQ(needed, strlen(why) + 1);
    EXPECT(TERN_MORE, tern_pool_absence, pool, why, 9, &needed);
    CHECK_TEXT(why, "declared");
    CHECK_EQ(needed, sizeof "declared: no device is declared\n");
    tern_pool_close(pool);

    pool = open_pool("fake:1");
    EXPECT(TERN_OK, tern_pool_absence, pool, why, sizeof why, &needed);
    CHECK_TEXT(why, "");
    CHECK_EQ(needed, 1);
    tern_pool_close(pool);
}

/* The pool, its manager and another manager of it are one table, which ends with the last of them, in whatever order. */
static void check_one_table(int order)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_manager_t *managers[2] = { manager_of(pool), manager_of(pool) };
    tern_lease_t lease = claim_one(pool);
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    CHECK(managers[0] != managers[1]);
    EXPECT(TERN_OK, tern_events_open, managers[0], TERN_FOREVER, &events);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, managers[0], lease);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, managers[1], lease);
    for (int closed = 0; closed < 3; closed++) {
        int which = (order + closed * (order < 3 ? 1 : 2)) % 3;
        EXPECT(TERN_EMPTY, tern_events_next, events, &event);
        if (which == 2)
            tern_pool_close(pool);
        else
            tern_manager_close(managers[which]);
        if (closed == 2)
            break;
        int left = 0;
        for (int other = 0; other < 2; other++) {
            int32_t status = tern_manager_tick(managers[other], NULL);
            if (status == TERN_OK) {
                EXPECT_TRIT(TERN_HELD, tern_lease_state, managers[other], lease);
                left++;
            }
        }
        uint64_t count = 0;
        left += tern_pool_capacity(pool, &count, NULL) == TERN_OK;
        CHECK_EQ(left, 2 - closed);
    }
    EXPECT(TERN_ERR_CLOSED, tern_events_next, events, &event);
    EXPECT(TERN_ERR_CLOSED, tern_events_wait, events, TERN_FOREVER);
    tern_events_close(events);
}

/* On the table of a manager: devices are resources beside others, and ticks are counted. */
static void check_on(void)
{
    tern_manager_t *manager = open_small(8, 8, 8, 8);
    tern_pool_t *pool = pool_on(manager, "fake:2");
    tern_resource_info_t info = tern_resource_info_init();
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0, other = 0;
    EXPECT(TERN_OK, tern_resource_info, manager, TERN_STR("0000:02:00.0"), &info);
    CHECK(info.slots == 1 && info.memory_mib == 81920 && info.declared == 1);
    claim.ttl = 2;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &other);
    CHECK_EQ(active_count(manager), 2);
    tick(manager, 2);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lease);
    CHECK_EQ(active_count(manager), 0);

    /* Who waits for something else does not wait for devices; who asks the manager for a device does. */
    acquire(manager, "disk", "ann", TERN_FOREVER);
    enqueue(manager, "disk", "bob");
    CHECK_EQ(waiting_for(pool), 0);
    lease = acquire(manager, "0000:01:00.0", "ann", TERN_FOREVER);
    enqueue(manager, "0000:01:00.0", "cid");
    CHECK(waiting_for(pool) == 1 && pending_claimers(manager) == 2);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    CHECK_EQ(waiting_for(pool), 0);
    tern_pool_close(pool);
    tern_manager_close(manager);
}

/* A manager has room for its pool, or says so. */
static void check_full(void)
{
    tern_manager_t *manager = open_small(4, 4, 4, 4);
    tern_pool_options_t options = devices_of("fake:5");
    tern_pool_t *pool = NULL;
    EXPECT(TERN_ERR_FULL, tern_pool_on, manager, &options, &pool);
    CHECK(pool == NULL);
    tern_pool_close(pool_on(manager, "fake:4"));
    tern_manager_close(manager);
}

static void check_options(void)
{
    tern_pool_options_t options = devices_of("fake:1");
    tern_pool_t *pool = NULL;
    tern_manager_t *manager = open_small(4, 4, 4, 4);
    options.slots = 3;
    options.flags = TERN_POOL_CHECK_USE;
    options.poll_us = TERN_FOREVER;
    options.drain_limit_us = options.recovery_us = TERN_SECOND;
    options.clean_memory_mib = 1;
    EXPECT(TERN_OK, tern_pool_on, manager, &options, &pool);
    tern_device_status_t status = tern_device_status_init();
    EXPECT(TERN_OK, tern_pool_device_status, pool, 0, &status);
    CHECK_EQ(status.slots, 3);
    tern_pool_close(pool);

    /* What becomes of deadlocks is for the manager to say, if there is one. */
    pool = NULL;
    options.flags = TERN_POOL_BREAK_DEADLOCKS;
    EXPECT(TERN_ERR_BAD_VALUE, tern_pool_on, manager, &options, &pool);
    CHECK(pool == NULL);
    tern_manager_close(manager);
}

/* Each of two has one device and waits for the other's: the pool breaks it, by the reason. */
static void check_deadlocks(void)
{
    tern_pool_options_t options = devices_of("fake:2");
    tern_pool_t *pool = NULL;
    tern_text_t names[] = { { TERN_STR("0") }, { TERN_STR("1") } };
    tern_lease_t leases[2], none = 0;
    tern_ticket_t tickets[2];
    options.flags = TERN_POOL_BREAK_DEADLOCKS;
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &options, &pool);
    tern_manager_t *manager = manager_of(pool);
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.device_count = claim.holder_len = 1;
    for (int i = 0; i < 2; i++) {
        claim.holder = i ? "b" : "a";
        claim.devices = &names[i];
        EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &leases[i]);
    }
    claim.wait = TERN_FOREVER;
    for (int i = 0; i < 2; i++) {
        claim.holder = i ? "b" : "a";
        claim.devices = &names[!i];
        EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &claim, &none, &tickets[i]);
    }
    CHECK_EQ(revocations(manager), 1);
    CHECK_EQ(count_of(manager, TERN_REASON_DEADLOCK_VICTIM), 1);
    CHECK_EQ(waiting_for(pool), 1);
    tern_manager_close(manager);
    tern_pool_close(pool);
}

int main(void)
{
    check_open();
    CHECK_EQ(in_child(open_by_environment, 0), 0);
    check_none();
    for (int order = 0; order < 6; order++)
        check_one_table(order);
    check_on();
    check_full();
    check_options();
    check_deadlocks();
    return finish(__FILE__);
}
