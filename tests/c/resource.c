/* Resource: declared or just used, its size, its health. */
#include "open.h"

static tern_resource_info_t info_of(tern_manager_t *manager, const char *name)
{
    tern_resource_info_t info = tern_resource_info_init();
    EXPECT(TERN_OK, tern_resource_info, manager, TERN_STR(name), &info);
    CHECK(info.struct_size == sizeof info && info.reserved[0] == 0 && info.reserved[1] == 0);
    CHECK_TEXT(info.name, name);
    return info;
}

static void check_undeclared(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_resource_info_t info = tern_resource_info_init();
    EXPECT(TERN_ERR_UNKNOWN_RESOURCE, tern_resource_info, manager, TERN_STR("gpu0"), &info);
    CHECK(info.slots == 0 && info.health == 0);

    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9), other = 0;
    info = info_of(manager, "gpu0");
    CHECK(info.slots == 1 && info.used_slots == 1 && info.memory_mib == 0 && info.used_memory_mib == 0);
    CHECK(info.shared == 0 && info.health == TERN_HEALTHY && info.declared == 0);
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("bob"), 9, &other);

    /* Only a declared one has a health to be told. */
    EXPECT(TERN_ERR_UNKNOWN_RESOURCE, tern_resource_set_health, manager, TERN_STR("gpu0"), TERN_FAILED);
    EXPECT(TERN_ERR_UNKNOWN_RESOURCE, tern_resource_set_health, manager, TERN_STR("none"), TERN_FAILED);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    tern_manager_close(manager);
}

static void check_declare(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_resource_t first = 0, second = 0, again = 0;
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 4, 24576, &first);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu1"), 0, 100, &second);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu2"), UINT32_MAX, UINT32_MAX, NULL);
    CHECK(first != 0 && second != 0 && first != second);
    tern_resource_info_t info = info_of(manager, "gpu0");
    CHECK(info.slots == 4 && info.memory_mib == 24576 && info.used_slots == 0 && info.declared == 1);
    info = info_of(manager, "gpu1");
    CHECK(info.slots == 0 && info.memory_mib == 100);
    info = info_of(manager, "gpu2");
    CHECK(info.slots == UINT32_MAX && info.memory_mib == UINT32_MAX);

    /* Another size while it is not in use; the same size always. */
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 2, 1000, &again);
    CHECK_EQ(again, first);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9);
    again = 99;
    EXPECT(TERN_ERR_IN_USE, tern_resource_declare, manager, TERN_STR("gpu0"), 3, 1000, &again);
    CHECK_EQ(again, 99);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 2, 1000, &again);
    CHECK_EQ(again, first);
    CHECK_EQ(info_of(manager, "gpu0").slots, 2);
    EXPECT(TERN_ERR_ZERO_AMOUNT, tern_resource_declare, manager, TERN_STR("gpu9"), 0, 0, &again);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);

    /* Declared ones stay when nobody uses them. */
    CHECK_EQ(info_of(manager, "gpu0").used_slots, 0);
    tern_manager_close(manager);
}

static void check_amounts(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_resource_t gpu = 0;
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 4, 1000, &gpu);
    tern_claim_t claim = claim_of("ann", NULL, 0);
    tern_lease_t part = 0, whole = 0;
    claim.resource_ids = &gpu;
    claim.resource_id_count = 1;
    claim.slots = 3;
    claim.memory_mib = 700;
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &part);
    tern_resource_info_t info = info_of(manager, "gpu0");
    CHECK(info.used_slots == 3 && info.used_memory_mib == 700);
    claim.slots = 1;
    claim.memory_mib = 301;
    EXPECT(TERN_BUSY, tern_manager_claim, manager, &claim, &whole);
    EXPECT(TERN_OK, tern_lease_release, manager, part);

    claim.slots = claim.memory_mib = 0;
    claim.flags = TERN_CLAIM_EXCLUSIVE;
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &whole);
    info = info_of(manager, "gpu0");
    CHECK(info.used_slots == 4 && info.used_memory_mib == 1000 && info.shared == 0);
    EXPECT(TERN_OK, tern_lease_release, manager, whole);

    claim.flags = TERN_CLAIM_SHARED;
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &whole);
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &part);
    info = info_of(manager, "gpu0");
    CHECK(info.shared == 2 && info.used_slots == 0 && info.used_memory_mib == 0);
    tern_manager_close(manager);
}

static void check_health(void)
{
    const tern_trit_t bad[] = { TERN_DRAINING, TERN_FAILED };
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease, other = 0;
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 2, 0, NULL);
    CHECK_EQ(info_of(manager, "gpu0").health, TERN_HEALTHY);
    lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    for (size_t i = 0; i < 2; i++) {
        EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR("gpu0"), bad[i]);
        CHECK_EQ(info_of(manager, "gpu0").health, bad[i]);
        EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
        EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("bob"), 9, &other);
    }

    /* Whoever waits is served when it is well again. */
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR("gpu0"), TERN_HEALTHY);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, ticket);
    tern_manager_close(manager);
}

/* All that are declared or in use, by name. */
static void check_list(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_resource_info_t infos[4];
    size_t needed = 77;
    EXPECT(TERN_OK, tern_manager_resources, manager, NULL, 0, &needed);
    CHECK_EQ(needed, 0);
    tern_lease_t lease = acquire(manager, "used", "ann", 9);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("b"), 3, 0, NULL);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("a"), 2, 0, NULL);
    const char *names[] = { "a", "b", "used" };
    for (size_t capacity = 0; capacity <= 4; capacity++) {
        memset(infos, 0x5a, sizeof infos);
        infos[0].struct_size = sizeof infos[0];
        if (capacity < 3)
            EXPECT(TERN_MORE, tern_manager_resources, manager, infos, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_manager_resources, manager, infos, capacity, &needed);
        CHECK_EQ(needed, 3);
        for (size_t i = 0; i < 4; i++)
            CHECK(i < capacity && i < 3 ? strcmp(infos[i].name, names[i]) == 0 : infos[i].name[0] == 0x5a);
    }
    CHECK(infos[0].slots == 2 && infos[1].declared == 1 && infos[2].declared == 0 && infos[2].used_slots == 1);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    tern_manager_close(manager);
}

/* Who has what others wait for. */
static void check_leases(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t leases[3], told[4];
    size_t needed = 77;
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 3, 0, NULL);
    EXPECT(TERN_OK, tern_resource_leases, manager, TERN_STR("gpu0"), NULL, 0, &needed);
    CHECK_EQ(needed, 0);
    const char *holders[] = { "ann", "bob", "ann" };
    for (size_t i = 0; i < 3; i++) {
        leases[i] = acquire(manager, "gpu0", holders[i], 9);
        acquire(manager, holders[i], "other", 1), tick(manager, 1);
    }
    for (size_t capacity = 0; capacity <= 4; capacity++) {
        memset(told, 0x5a, sizeof told);
        if (capacity < 3)
            EXPECT(TERN_MORE, tern_resource_leases, manager, TERN_STR("gpu0"), told, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_resource_leases, manager, TERN_STR("gpu0"), told, capacity, &needed);
        CHECK_EQ(needed, 3);
        for (size_t i = 0; i < 4; i++)
            CHECK(told[i] == (i < capacity && i < 3 ? leases[i] : 0x5a5a5a5a5a5a5a5a));
    }
    EXPECT(TERN_OK, tern_lease_release, manager, leases[1]);
    EXPECT(TERN_OK, tern_resource_leases, manager, TERN_STR("gpu0"), told, 4, &needed);
    CHECK(needed == 2 && told[0] == leases[0] && told[1] == leases[2]);
    tick(manager, 20);
    EXPECT(TERN_OK, tern_resource_leases, manager, TERN_STR("gpu0"), told, 4, &needed);
    CHECK_EQ(needed, 0);
    tern_manager_close(manager);
}

int main(void)
{
    check_undeclared();
    check_declare();
    check_amounts();
    check_health();
    check_list();
    check_leases();
    return finish(__FILE__);
}
