/* Looking: everything about leases, told by value. */
#include "open.h"

static void check_held(void)
{
    tern_manager_t *manager = open_ticks(0);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 4, 1000, NULL);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu1"), 4, 1000, NULL);
    tern_text_t gpus[] = { { TERN_STR("gpu1") }, { TERN_STR("gpu0") } };
    tern_claim_t claim = claim_of("ann", gpus, 2);
    tern_lease_t lease = 0;
    claim.count = 2;
    claim.slots = 3;
    claim.memory_mib = 500;
    claim.ttl = 40;
    claim.priority = -7;
    claim.notice = 4;
    claim.flags = TERN_CLAIM_PREEMPTIBLE;
    tick(manager, 2);
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &lease);

    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.struct_size == sizeof info && info.lease == lease && info.parent == 0);
    CHECK(info.ttl == 40 && info.granted_at == 2 && info.end == 42);
    CHECK(info.reason == 0 && info.priority == -7 && info.take_count == 2);
    CHECK(info.flags == TERN_LEASE_PREEMPTIBLE && info.state == TERN_HELD);
    CHECK_TEXT(info.holder, "ann");
    CHECK_TEXT(info.revoker, "");
    for (size_t i = 0; i < sizeof info.reserved; i++)
        CHECK_EQ(info.reserved[i], 0);

    /* In the order of the claim. */
    tern_take_t takes[2] = { tern_take_init(), tern_take_init() };
    size_t needed = 0;
    EXPECT(TERN_OK, tern_lease_takes, manager, lease, takes, 2, &needed);
    CHECK_EQ(needed, 2);
    CHECK_TEXT(takes[0].resource, "gpu1");
    CHECK_TEXT(takes[1].resource, "gpu0");
    for (size_t i = 0; i < 2; i++)
        CHECK(takes[i].slots == 3 && takes[i].memory_mib == 500 && takes[i].struct_size == sizeof takes[i]);
    tern_manager_close(manager);
}

static void check_ended(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_info_t info = tern_lease_info_init();
    tern_take_t take = tern_take_init();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9);
    tick(manager, 3);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_OVER_USE, TERN_STR("ops"), 0, NULL);
    tick(manager, 3);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.state == TERN_REVOKED && info.end == 3 && info.reason == TERN_REASON_OVER_USE && info.flags == 0);
    CHECK_TEXT(info.revoker, "ops");
    CHECK(info.ender_process == 0 && info.ender_principal == 0);
    EXPECT(TERN_OK, tern_lease_takes, manager, lease, &take, 1, NULL);
    CHECK_TEXT(take.resource, "gpu0");

    /* One that ran out ended at its end, whenever somebody looks. */
    lease = acquire(manager, "gpu0", "bob", 2);
    tick(manager, 20);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.state == TERN_EXPIRED && info.end == 8 && info.reason == TERN_REASON_TIMED_OUT);
    CHECK_TEXT(info.revoker, "");

    lease = acquire(manager, "gpu0", "cid", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.end == TERN_FOREVER && info.ttl == TERN_FOREVER);

    info.lease = 77;
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_info, manager, 12345, &info);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_takes, manager, 12345, &take, 1, NULL);
    CHECK(info.lease == 77 && strcmp(take.resource, "gpu0") == 0);
    tern_manager_close(manager);
}

static void check_flags(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_info_t info = tern_lease_info_init();
    const struct {
        uint64_t claim;
        uint32_t lease;
    } flags[] = {
        { 0, 0 },
        { TERN_CLAIM_EXCLUSIVE, 0 },
        { TERN_CLAIM_PREEMPT, 0 },
        { TERN_CLAIM_SHARED, TERN_LEASE_SHARED },
        { TERN_CLAIM_SPARE, TERN_LEASE_SPARE },
        { TERN_CLAIM_PREEMPTIBLE, TERN_LEASE_PREEMPTIBLE },
        { TERN_CLAIM_SHARED | TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE,
          TERN_LEASE_SHARED | TERN_LEASE_SPARE | TERN_LEASE_PREEMPTIBLE },
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        tern_text_t gpu = { TERN_STR("gpu0") };
        tern_claim_t claim = claim_of("ann", &gpu, 1);
        tern_lease_t lease = 0;
        claim.flags = flags[i].claim;
        EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &lease);
        EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
        CHECK_EQ(info.flags, flags[i].lease);
        EXPECT(TERN_OK, tern_lease_revoke, manager, lease, 0, "", 0, 3, NULL);
        EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
        CHECK_EQ(info.flags, flags[i].lease | TERN_LEASE_REVOKING);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
    }
    tern_manager_close(manager);
}

/* Lists: as much as fits, and how much there is. */
static void check_lists(void)
{
    enum { COUNT = 5 };
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t leases[COUNT], told[COUNT + 1];
    tern_lease_info_t infos[COUNT + 1];
    const char *names[COUNT] = { "gpu0", "gpu1", "gpu2", "gpu3", "gpu4" };
    size_t needed = 77;

    EXPECT(TERN_OK, tern_manager_leases, manager, NULL, 0, &needed);
    CHECK_EQ(needed, 0);
    needed = 77;
    EXPECT(TERN_OK, tern_manager_held_by, manager, TERN_STR("ann"), NULL, 0, &needed);
    CHECK_EQ(needed, 0);

    for (size_t i = 0; i < COUNT; i++)
        leases[i] = acquire(manager, names[i], "ann", 9);
    acquire(manager, "other", "bob", 9);
    for (size_t capacity = 0; capacity <= COUNT + 1; capacity++) {
        size_t fits = capacity < COUNT ? capacity : COUNT;
        memset(told, 0x5a, sizeof told);
        if (capacity < COUNT)
            EXPECT(TERN_MORE, tern_manager_held_by, manager, TERN_STR("ann"), told, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_manager_held_by, manager, TERN_STR("ann"), told, capacity, &needed);
        CHECK_EQ(needed, COUNT);
        CHECK(memcmp(told, leases, fits * sizeof told[0]) == 0);
        for (size_t i = fits; i <= COUNT; i++)
            CHECK(told[i] == 0x5a5a5a5a5a5a5a5a);

        memset(infos, 0x5a, sizeof infos);
        infos[0].struct_size = sizeof infos[0];
        if (capacity <= COUNT)
            EXPECT(TERN_MORE, tern_manager_leases, manager, infos, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_manager_leases, manager, infos, capacity, &needed);
        CHECK_EQ(needed, COUNT + 1);
        for (size_t i = 0; i < fits; i++) {
            CHECK(infos[i].lease == leases[i] && infos[i].struct_size == sizeof infos[i] && infos[i].take_count == 1);
            CHECK_TEXT(infos[i].holder, "ann");
        }
    }
    CHECK_TEXT(infos[COUNT].holder, "bob");

    /* Only what is held. */
    EXPECT(TERN_OK, tern_lease_release, manager, leases[0]);
    EXPECT(TERN_OK, tern_manager_held_by, manager, TERN_STR("ann"), told, COUNT, &needed);
    CHECK(needed == COUNT - 1 && told[0] == leases[1]);
    tick(manager, 9);
    EXPECT(TERN_OK, tern_manager_leases, manager, NULL, 0, &needed);
    CHECK_EQ(needed, 0);
    EXPECT(TERN_OK, tern_manager_held_by, manager, TERN_STR("ann"), told, COUNT, &needed);
    CHECK_EQ(needed, 0);
    tern_manager_close(manager);
}

int main(void)
{
    check_held();
    check_ended();
    check_flags();
    check_lists();
    return finish(__FILE__);
}
