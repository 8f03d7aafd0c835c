/* Counters: the time, how much there is, how much has happened; and all of it as text. */
#include "open.h"

/* Microseconds since the machine started: they go on by themselves, and tick() does not count. */
static void check_real_time(void)
{
    tern_manager_t *manager = open_real();
    uint64_t start = tick_count(manager);
    CHECK(start > 0);
    wait_until(manager, start + 1);
    uint64_t before = tick_count(manager);
    tick(manager, 1);
    CHECK(tick_count(manager) >= before);

    tern_lease_t lease = acquire(manager, "gpu0", "ann", 1000);
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.granted_at >= before && info.end == info.granted_at + 1000);
    wait_until(manager, info.end);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lease);
    tick(manager, 1);
    CHECK_EQ(count_of(manager, TERN_REASON_TIMED_OUT), 1);
    tern_manager_close(manager);
}

static void check_counters(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t first = acquire(manager, "gpu0", "ann", 9);
    tern_lease_t second = acquire(manager, "gpu1", "ann", 9);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    enqueue(manager, "gpu0", "cid");
    CHECK(active_count(manager) == 2 && pending_claimers(manager) == 2 && revocations(manager) == 0);

    EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
    CHECK(pending_claimers(manager) == 1 && count_of(manager, TERN_REASON_CANCELLED) == 1);
    EXPECT(TERN_OK, tern_lease_release, manager, first);
    CHECK(pending_claimers(manager) == 0 && active_count(manager) == 2);
    CHECK(count_of(manager, TERN_REASON_RELEASED) == 1 && revocations(manager) == 0);

    /* Revoking twice counts once. */
    EXPECT(TERN_OK, tern_lease_revoke, manager, second, TERN_REASON_BUDGET, "", 0, 0, NULL);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_revoke, manager, second, TERN_REASON_BUDGET, "", 0, 0, NULL);
    CHECK(revocations(manager) == 1 && count_of(manager, TERN_REASON_BUDGET) == 1 && active_count(manager) == 1);
    tern_manager_close(manager);
}

static void check_metrics(void)
{
    tern_manager_t *manager = open_ticks(0);
    acquire(manager, "gpu0", "ann", 9);
    enqueue(manager, "gpu0", "bob");
    char whole[4096], part[4096];
    size_t needed = 0, again = 0;
    EXPECT(TERN_OK, tern_manager_metrics, manager, whole, sizeof whole, &needed);
    CHECK_EQ(needed, strlen(whole) + 1);
    CHECK(strstr(whole, "\nternlease_leases_held 1\n") != NULL);
    CHECK(strstr(whole, "\nternlease_claims_waiting 1\n") != NULL);
    CHECK(strstr(whole, "\nternlease_granted_total 1\n") != NULL);
    CHECK(strstr(whole, "ternlease_ended_total{reason=\"RELEASED\"} 0\n") != NULL);

    /* Every capacity: what fits, terminated, and nothing behind it. */
    for (size_t capacity = 0; capacity < needed + 3; capacity++) {
        memset(part, 0x5a, sizeof part);
        if (capacity >= needed)
            EXPECT(TERN_OK, tern_manager_metrics, manager, part, capacity, &again);
        else
            EXPECT(TERN_MORE, tern_manager_metrics, manager, part, capacity, &again);
        CHECK_EQ(again, needed);
        size_t used = capacity < needed ? capacity : needed;
        if (used > 0)
            CHECK(memcmp(part, whole, used - 1) == 0 && part[used - 1] == 0);
        for (size_t i = used; i < needed + 3; i++)
            if (part[i] != 0x5a)
                CHECK(!"bytes behind the text are as they were");
    }
    tern_manager_close(manager);
}

int main(void)
{
    check_real_time();
    check_counters();
    check_metrics();
    return finish(__FILE__);
}
