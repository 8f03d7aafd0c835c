/* A table without room says TERN_ERR_FULL, changes nothing, and goes on as soon as there is room again. */
#include "open.h"

static void name_of(char name[16], const char *what, int number)
{
    snprintf(name, 16, "%s%d", what, number);
}

static void check_leases(uint32_t limit)
{
    tern_manager_t *manager = open_small(limit, 1, 64, 2);
    tern_lease_t leases[16], lease = 77;
    char name[16];
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < limit; i++) {
            name_of(name, "gpu", round * 3 + (int)i);
            leases[i] = acquire(manager, name, name, TERN_FOREVER);
        }
        struct snapshot before = look_at(manager);
        for (int i = 0; i < 5; i++) {
            EXPECT(TERN_ERR_FULL, tern_lease_acquire, manager, TERN_STR("more"), TERN_STR("ann"), 9, &lease);
            CHECK(lease == 77 && is_unchanged(manager, &before));
        }
        /* What was refused has left nothing behind. */
        tern_resource_info_t info = tern_resource_info_init();
        EXPECT(TERN_ERR_UNKNOWN_RESOURCE, tern_resource_info, manager, TERN_STR("more"), &info);
        for (uint32_t i = 0; i < limit; i++) {
            EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, leases[i]);
            EXPECT(TERN_OK, tern_lease_release, manager, leases[i]);
        }
        CHECK_EQ(active_count(manager), 0);
    }
    tern_manager_close(manager);
}

/* Tickets keep their place until somebody knows what became of them. */
static void check_tickets(uint32_t limit)
{
    tern_manager_t *manager = open_small(8, limit, 8, 1);
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("late", &gpu, 1);
    tern_ticket_t tickets[16], ticket = 77;
    tern_lease_t lease = 77;
    char name[16];
    claim.wait = TERN_FOREVER;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < limit; i++) {
            name_of(name, "h", round + (int)i);
            tickets[i] = enqueue(manager, "gpu0", name);
        }
        struct snapshot before = look_at(manager);
        EXPECT(TERN_ERR_FULL, tern_manager_enqueue, manager, &claim, &lease, &ticket);
        EXPECT(TERN_ERR_FULL, tern_manager_claim, manager, &claim, &lease);
        CHECK(lease == 77 && ticket == 77 && is_unchanged(manager, &before));
        for (uint32_t i = 0; i < limit; i++)
            EXPECT(TERN_OK, tern_ticket_cancel, manager, tickets[i]);
        CHECK_EQ(pending_claimers(manager), 0);
    }
    tern_manager_close(manager);
}

/* Tickets that were decided and that nobody asks for fill the table; asking makes room. */
static void check_uncollected(void)
{
    tern_manager_t *manager = open_small(8, 2, 8, 2);
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("bob", &gpu, 1);
    tern_ticket_t tickets[32];
    tern_lease_t lease = 77;
    int count = 0;
    int32_t status = TERN_WAITING;
    claim.wait = 1;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    while (count < 32) {
        status = tern_manager_enqueue(manager, &claim, &lease, &tickets[count], &err);
        if (status != TERN_WAITING)
            break;
        count++;
        tick(manager, 1);
    }
    CHECK_EQ(status, TERN_ERR_FULL);
    CHECK(count >= 4);
    for (int i = 0; i < count; i++)
        EXPECT_TRIT(TERN_DENIED, tern_ticket_state, manager, tickets[i]);
    for (int i = 0; i < count; i++)
        EXPECT(TERN_TIMEOUT, tern_ticket_wait, manager, tickets[i], 0, &lease);
    for (int i = 0; i < 32; i++) {
        EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &tickets[0]);
        tick(manager, 1);
        EXPECT(TERN_TIMEOUT, tern_ticket_wait, manager, tickets[0], 0, &lease);
    }
    CHECK_EQ(lease, 77);
    tern_manager_close(manager);
}

static void check_resources(uint32_t limit)
{
    tern_manager_t *manager = open_small(64, 8, limit, 1);
    tern_resource_t number = 77;
    tern_lease_t lease = 77;
    char name[16];
    for (uint32_t i = 0; i < limit; i++) {
        name_of(name, "gpu", (int)i);
        EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR(name), 1, 0, NULL);
    }
    struct snapshot before = look_at(manager);
    EXPECT(TERN_ERR_FULL, tern_resource_declare, manager, TERN_STR("more"), 1, 0, &number);
    EXPECT(TERN_ERR_FULL, tern_lease_acquire, manager, TERN_STR("more"), TERN_STR("ann"), 9, &lease);
    EXPECT(TERN_ERR_FULL, tern_manager_want, manager, TERN_STR("ann"), TERN_STR("more"));
    CHECK(number == 77 && lease == 77 && is_unchanged(manager, &before));

    /* Those that there are can be used. */
    for (uint32_t i = 0; i < limit; i++) {
        name_of(name, "gpu", (int)i);
        acquire(manager, name, "ann", TERN_FOREVER);
    }
    tern_manager_close(manager);
}

/* Names that are used without having been declared come and go; a claim of many leaves none of them behind. */
static void check_undeclared(void)
{
    enum { LIMIT = 6 };
    tern_manager_t *manager = open_small(8, 8, LIMIT, 1);
    tern_text_t texts[LIMIT + 1];
    char names[LIMIT + 1][16];
    tern_lease_t lease = 77;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i <= LIMIT; i++) {
            name_of(names[i], "r", round * 10 + i);
            texts[i].data = names[i];
            texts[i].len = strlen(names[i]);
        }
        tern_claim_t claim = claim_of("ann", texts, LIMIT + 1);
        EXPECT(TERN_ERR_FULL, tern_manager_claim, manager, &claim, &lease);
        CHECK_EQ(lease, 77);
        EXPECT(TERN_OK, tern_lease_release, manager, acquire(manager, names[0], "ann", 9));
    }
    tern_manager_close(manager);
}

/* Wants, by far more holders and resources than fit, and back. */
static void check_wants(void)
{
    tern_manager_t *manager = open_small(2, 2, 4, 1);
    char names[64][16];
    int32_t status = TERN_OK;
    for (int round = 0; round < 5; round++) {
        int count = 0;
        while (count < 64) {
            name_of(names[count], "h", count);
            status = tern_manager_want(manager, TERN_STR(names[count]), TERN_STR("gpu0"), &err);
            if (status != TERN_OK)
                break;
            count++;
        }
        CHECK_EQ(status, TERN_ERR_FULL);
        CHECK(count >= 2);
        for (int i = 0; i < count; i++)
            EXPECT(TERN_OK, tern_manager_unwant, manager, TERN_STR(names[i]), TERN_STR("gpu0"));
    }
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_manager_close(manager);
}

/* Leases on many resources each: places for what they take run out before leases do. */
static void check_holds(void)
{
    enum { MANY = 16 };
    tern_manager_t *manager = open_small(16, 4, MANY, 1);
    tern_text_t texts[MANY];
    tern_lease_t leases[16], lease = 77;
    char names[MANY][16];
    for (int i = 0; i < MANY; i++) {
        name_of(names[i], "r", i);
        texts[i].data = names[i];
        texts[i].len = strlen(names[i]);
        EXPECT(TERN_OK, tern_resource_declare, manager, texts[i].data, texts[i].len, 64, 0, NULL);
    }
    tern_claim_t claim = claim_of("ann", texts, MANY);
    claim.count = MANY;
    for (int round = 0; round < 10; round++) {
        int count = 0;
        int32_t status = TERN_OK;
        while (count < 16 && (status = tern_manager_claim(manager, &claim, &leases[count], &err)) == TERN_OK)
            count++;
        CHECK_EQ(status, TERN_ERR_FULL);
        CHECK(count >= 1 && count < 16);
        struct snapshot before = look_at(manager);
        EXPECT(TERN_ERR_FULL, tern_manager_claim, manager, &claim, &lease);
        CHECK(lease == 77 && is_unchanged(manager, &before));
        for (int i = 0; i < count; i++)
            EXPECT(TERN_OK, tern_lease_release, manager, leases[i]);
    }
    tern_manager_close(manager);
}

int main(void)
{
    check_leases(1);
    check_leases(7);
    check_tickets(1);
    check_tickets(5);
    check_uncollected();
    check_resources(1);
    check_resources(9);
    check_undeclared();
    check_wants();
    check_holds();
    return finish(__FILE__);
}
