/* Deadlocks: found exactly if there is one, with everybody who is stuck, a proof and a victim. */
#include "open.h"

static tern_deadlocks_t *find(tern_manager_t *manager, size_t expected)
{
    tern_deadlocks_t *found = NULL;
    size_t count = 77;
    EXPECT(TERN_OK, tern_deadlocks_find, manager, &found, &count);
    CHECK(found != NULL);
    CHECK_EQ(count, expected);
    return found;
}

static void check_none(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t victim = 77;
    tern_deadlocks_t *found = find(manager, 0);
    EXPECT(TERN_ERR_BAD_VALUE, tern_deadlocks_victim, found, 0, &victim);
    CHECK_EQ(victim, 77);
    tern_deadlocks_close(found);

    /* A cycle of waiting that is none: a may also be served by c, who works. */
    acquire(manager, "gpu0", "a", TERN_FOREVER);
    acquire(manager, "gpu1", "b", TERN_FOREVER);
    acquire(manager, "gpu2", "c", TERN_FOREVER);
    tern_text_t either[] = { { TERN_STR("gpu1") }, { TERN_STR("gpu2") } };
    tern_claim_t claim = claim_of("a", either, 2);
    tern_lease_t lease = 0;
    tern_ticket_t ticket = 0;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    enqueue(manager, "gpu0", "b");
    tern_deadlocks_close(find(manager, 0));

    /* If a needs both, c cannot help. */
    EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
    claim.count = 2;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    tern_deadlocks_close(find(manager, 1));
    tern_manager_close(manager);
}

/* Three in a circle, by two claims and a want; a fourth who holds nothing is stuck behind them. */
static void check_circle(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t a = acquire(manager, "gpu0", "a", TERN_FOREVER);
    tern_lease_t b = acquire(manager, "gpu1", "b", TERN_FOREVER);
    tern_lease_t c = acquire(manager, "gpu2", "c", TERN_FOREVER);
    tern_ticket_t a_waits = enqueue(manager, "gpu1", "a");
    tern_ticket_t b_waits = enqueue(manager, "gpu2", "b");
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("c"), TERN_STR("gpu0"));
    enqueue(manager, "gpu0", "d");
    tern_deadlocks_t *found = find(manager, 1);

    tern_name_t names[5];
    size_t needed = 0;
    const char *stuck[] = { "a", "b", "c", "d" };
    for (size_t capacity = 0; capacity <= 5; capacity++) {
        memset(names, 0x5a, sizeof names);
        names[0].struct_size = sizeof names[0];
        if (capacity < 4)
            EXPECT(TERN_MORE, tern_deadlocks_stuck, found, 0, names, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_deadlocks_stuck, found, 0, names, capacity, &needed);
        CHECK_EQ(needed, 4);
        for (size_t i = 0; i < 5; i++)
            CHECK(i < capacity && i < 4 ? strcmp(names[i].text, stuck[i]) == 0 : names[i].text[0] == 0x5a);
    }

    /* The proof: each waits for a lease of the next, the last for one of the first. */
    tern_wait_t waits[3];
    waits[0].struct_size = sizeof waits[0];
    EXPECT(TERN_MORE, tern_deadlocks_cycle, found, 0, waits, 2, &needed);
    CHECK_EQ(needed, 3);
    EXPECT(TERN_OK, tern_deadlocks_cycle, found, 0, waits, 3, &needed);
    for (size_t i = 0; i < 3; i++) {
        tern_lease_info_t info = tern_lease_info_init();
        EXPECT(TERN_OK, tern_lease_info, manager, waits[i].lease, &info);
        CHECK_TEXT(info.holder, waits[(i + 1) % 3].worker);
        CHECK_EQ(waits[i].struct_size, sizeof waits[i]);
        switch (waits[i].worker[0]) {
        case 'a': CHECK(waits[i].lease == b && waits[i].ticket == a_waits); break;
        case 'b': CHECK(waits[i].lease == c && waits[i].ticket == b_waits); break;
        default: CHECK(waits[i].lease == a && waits[i].ticket == 0); break;
        }
    }

    /* The youngest is the victim, and without it there is no deadlock. The answer stays what it was. */
    tern_lease_t victim = 0;
    EXPECT(TERN_OK, tern_deadlocks_victim, found, 0, &victim);
    CHECK_EQ(victim, c);
    EXPECT(TERN_ERR_BAD_VALUE, tern_deadlocks_victim, found, 1, &victim);
    EXPECT(TERN_OK, tern_lease_revoke, manager, victim, TERN_REASON_DEADLOCK_VICTIM, TERN_STR("me"), 0, NULL);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, b_waits);
    tern_deadlocks_close(find(manager, 0));
    EXPECT(TERN_OK, tern_deadlocks_stuck, found, 0, names, 5, &needed);
    CHECK_EQ(needed, 4);

    /* It does not need the manager. */
    tern_manager_close(manager);
    EXPECT(TERN_OK, tern_deadlocks_victim, found, 0, &victim);
    CHECK_EQ(victim, c);
    tern_deadlocks_close(found);
}

/* Several at once, each with its own people. */
static void check_several(void)
{
    enum { PAIRS = 3 };
    tern_manager_t *manager = open_ticks(0);
    char names[PAIRS * 2][4];
    for (int i = 0; i < PAIRS * 2; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        acquire(manager, names[i], names[i], TERN_FOREVER);
    }
    for (int i = 0; i < PAIRS * 2; i++)
        EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR(names[i]), TERN_STR(names[i ^ 1]));
    tern_deadlocks_t *found = find(manager, PAIRS);
    int seen = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        tern_name_t pair[2] = { tern_name_init(), tern_name_init() };
        tern_wait_t waits[2] = { tern_wait_init(), tern_wait_init() };
        size_t needed = 0;
        EXPECT(TERN_OK, tern_deadlocks_stuck, found, i, pair, 2, &needed);
        int first = pair[0].text[1] - '0';
        CHECK(needed == 2 && first % 2 == 0 && pair[1].text[1] - '0' == first + 1);
        EXPECT(TERN_OK, tern_deadlocks_cycle, found, i, waits, 2, &needed);
        CHECK(needed == 2 && waits[0].ticket == 0 && waits[1].ticket == 0);
        seen |= 1 << first / 2;
    }
    CHECK_EQ(seen, 7);
    tern_deadlocks_close(found);

    /* How many there are need not be asked. */
    EXPECT(TERN_OK, tern_deadlocks_find, manager, &found, NULL);
    tern_deadlocks_close(found);
    tern_manager_close(manager);
}

static void check_wants(void)
{
    tern_manager_t *manager = open_ticks(0);
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    acquire(manager, "gpu1", "bob", TERN_FOREVER);
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("ann"), TERN_STR("gpu1"));
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("bob"), TERN_STR("gpu0"));
    tern_deadlocks_close(find(manager, 1));
    EXPECT(TERN_OK, tern_manager_want, manager, TERN_STR("ann"), TERN_STR("gpu1"));
    EXPECT(TERN_OK, tern_manager_unwant, manager, TERN_STR("ann"), TERN_STR("gpu1"));
    tern_deadlocks_close(find(manager, 0));
    EXPECT(TERN_ERR_UNKNOWN_WANT, tern_manager_unwant, manager, TERN_STR("ann"), TERN_STR("gpu1"));
    EXPECT(TERN_ERR_UNKNOWN_WANT, tern_manager_unwant, manager, TERN_STR("nobody"), TERN_STR("gpu1"));
    EXPECT(TERN_ERR_UNKNOWN_WANT, tern_manager_unwant, manager, TERN_STR("ann"), TERN_STR("nothing"));

    /* A want claims nothing. */
    CHECK(pending_claimers(manager) == 0 && active_count(manager) == 2);
    tern_manager_close(manager);
}

int main(void)
{
    check_none();
    check_circle();
    check_several();
    check_wants();
    return finish(__FILE__);
}
