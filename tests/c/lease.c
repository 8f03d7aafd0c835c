/* Lease: acquired, renewed, released, revoked. */
#include "open.h"

static tern_lease_info_t info_of(tern_manager_t *manager, tern_lease_t lease)
{
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    return info;
}

static void check_acquire(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t first = acquire(manager, "gpu0", "ann", 5), other = 99;
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("bob"), 5, &other);
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("ann"), 5, &other);
    CHECK_EQ(other, 99);

    /* Numbers only grow. */
    tern_lease_t last = first;
    for (int i = 0; i < 100; i++) {
        EXPECT(TERN_OK, tern_lease_release, manager, last);
        tern_lease_t next = acquire(manager, "gpu0", "bob", 5);
        CHECK(next > last);
        last = next;
    }

    /* Nobody who waits is overtaken. */
    tern_ticket_t ticket = enqueue(manager, "gpu0", "cid");
    EXPECT(TERN_OK, tern_lease_release, manager, last);
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("dan"), 5, &other);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, ticket);
    tern_manager_close(manager);
}

/* With a real clock numbers grow from one manager to the next. */
static void check_ids_grow_across_managers(void)
{
    tern_lease_t last = 0;
    for (int i = 0; i < 5; i++) {
        tern_manager_t *manager = open_real();
        for (int j = 0; j < 20; j++) {
            tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
            CHECK(lease > last);
            last = lease;
            EXPECT(TERN_OK, tern_lease_release, manager, lease);
        }
        tern_manager_close(manager);
    }
}

static void check_state(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t runs_out = acquire(manager, "gpu0", "ann", 2);
    tern_lease_t given_back = acquire(manager, "gpu1", "ann", 9);
    tern_lease_t taken = acquire(manager, "gpu2", "ann", 9);
    tern_lease_t endless = acquire(manager, "gpu3", "ann", TERN_FOREVER);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, runs_out);
    EXPECT(TERN_OK, tern_lease_release, manager, given_back);
    EXPECT(TERN_OK, tern_lease_revoke, manager, taken, 0, "", 0, 0, NULL);
    tick(manager, 2);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, runs_out);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, given_back);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, taken);
    tick(manager, 50);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, endless);
    CHECK_EQ(tern_lease_state(manager, endless, NULL), TERN_HELD);
    CHECK_EQ(tern_lease_state(manager, 12345, NULL), TERN_TRIT_UNKNOWN);
    EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_LEASE, tern_lease_state, manager, 12345);
    tern_manager_close(manager);
}

static void check_renew(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 5);
    tern_lease_t endless = acquire(manager, "gpu1", "ann", TERN_FOREVER);
    uint64_t end = 0;
    tick(manager, 3);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, &end);
    CHECK_EQ(end, 8);
    EXPECT(TERN_OK, tern_lease_renew, manager, endless, &end);
    CHECK(end == TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_renew_for, manager, lease, 20, &end);
    CHECK_EQ(end, 23);
    tick(manager, 1);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, &end);
    CHECK_EQ(end, 24);
    /* Never to an earlier time. */
    EXPECT(TERN_OK, tern_lease_renew_for, manager, lease, 2, &end);
    CHECK_EQ(end, 24);
    CHECK_EQ(info_of(manager, lease).ttl, 2);
    EXPECT(TERN_OK, tern_lease_renew_for, manager, lease, TERN_FOREVER, &end);
    CHECK(end == TERN_FOREVER && info_of(manager, lease).end == TERN_FOREVER);

    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    end = 77;
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew, manager, lease, &end);
    CHECK_EQ(err.reason, TERN_REASON_RELEASED);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew_for, manager, lease, 5, &end);
    EXPECT(TERN_ERR_ZERO_TTL, tern_lease_renew_for, manager, endless, 0, &end);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_renew, manager, 12345, &end);
    CHECK_EQ(end, 77);

    lease = acquire(manager, "gpu0", "ann", 5);
    tick(manager, 5);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew, manager, lease, &end);
    CHECK_EQ(err.reason, TERN_REASON_TIMED_OUT);
    tern_manager_close(manager);
}

static void check_several(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t leases[4] = { acquire(manager, "gpu0", "ann", 5), acquire(manager, "gpu1", "ann", 9), 12345,
                               acquire(manager, "gpu2", "ann", 9) };
    tern_trit_t states[5] = { 77, 77, 77, 77, 77 };
    size_t renewed = 77;
    EXPECT(TERN_OK, tern_lease_revoke, manager, leases[3], 0, "", 0, 0, NULL);
    tick(manager, 5);
    EXPECT(TERN_OK, tern_lease_states, manager, leases, 4, states);
    CHECK_EQ(states[0], TERN_EXPIRED);
    CHECK_EQ(states[1], TERN_HELD);
    CHECK_EQ(states[2], TERN_TRIT_UNKNOWN);
    CHECK_EQ(states[3], TERN_REVOKED);
    CHECK_EQ(states[4], 77);
    /* Only what is held is renewed, and the same one as often as it is named. */
    leases[2] = leases[1];
    EXPECT(TERN_OK, tern_lease_renew_all, manager, leases, 4, &renewed);
    CHECK_EQ(renewed, 2);
    CHECK_EQ(info_of(manager, leases[1]).end, 14);
    EXPECT(TERN_OK, tern_lease_renew_all, manager, leases, 4, NULL);
    /* None is no mistake. */
    EXPECT(TERN_OK, tern_lease_states, manager, NULL, 0, NULL);
    EXPECT(TERN_OK, tern_lease_renew_all, manager, NULL, 0, &renewed);
    CHECK_EQ(renewed, 0);
    EXPECT(TERN_ERR_BAD_VALUE, tern_lease_states, manager, leases, SIZE_MAX, states);
    EXPECT(TERN_ERR_BAD_VALUE, tern_lease_renew_all, manager, leases, SIZE_MAX / 8, &renewed);
    CHECK_EQ(renewed, 0);
    tern_manager_close(manager);
}

static void check_release(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 5);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    /* Whoever is first in line has what it frees before this returns. */
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, ticket);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_release, manager, lease);
    CHECK_EQ(err.reason, TERN_REASON_RELEASED);
    CHECK_EQ(active_count(manager), 1);
    tern_manager_close(manager);
}

static void check_revoke_at_once(void)
{
    tern_manager_t *manager = open_ticks(0);
    uint64_t at = 99;
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 5);
    tick(manager, 2);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, 0, NULL, 0, 0, &at);
    CHECK_EQ(at, 2);
    CHECK_EQ(info_of(manager, lease).reason, TERN_REASON_OPERATOR);
    CHECK_TEXT(info_of(manager, lease).revoker, "");
    at = 99;
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_revoke, manager, lease, TERN_REASON_QUOTA, TERN_STR("ops"), 0, &at);
    CHECK(err.reason == TERN_REASON_OPERATOR && at == 99);

    /* Every reason to revoke, and those that are none. */
    for (int32_t reason = 1; reason < 800; reason++) {
        int32_t class = tern_reason_class(reason);
        if (class == 0)
            continue;
        lease = acquire(manager, "gpu0", "ann", 5);
        if (class == TERN_CLASS_ENDED || class == TERN_CLASS_REFUSED) {
            EXPECT(TERN_ERR_NOT_A_REVOCATION, tern_lease_revoke, manager, lease, reason, "", 0, 0, NULL);
            EXPECT(TERN_OK, tern_lease_release, manager, lease);
        } else {
            EXPECT(TERN_OK, tern_lease_revoke, manager, lease, reason, TERN_STR("ops"), 0, NULL);
            EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lease);
            CHECK_EQ(info_of(manager, lease).reason, reason);
            CHECK_TEXT(info_of(manager, lease).revoker, "ops");
        }
    }
    tern_manager_close(manager);
}

static void check_revoke_with_notice(void)
{
    tern_manager_t *manager = open_ticks(0);
    uint64_t at = 0, end = 0;
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tick(manager, 2);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_NODE_DRAIN, TERN_STR("ops"), 10, &at);
    CHECK_EQ(at, 12);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tern_lease_info_t info = info_of(manager, lease);
    CHECK(info.flags == TERN_LEASE_REVOKING && info.reason == TERN_REASON_NODE_DRAIN && info.end == 12);

    /* A notice that ends later changes nothing; one that ends earlier replaces it; it can be renewed up to there. */
    EXPECT(TERN_UNCHANGED, tern_lease_revoke, manager, lease, TERN_REASON_QUOTA, TERN_STR("me"), 20, &at);
    CHECK_EQ(at, 12);
    EXPECT(TERN_UNCHANGED, tern_lease_revoke, manager, lease, TERN_REASON_QUOTA, TERN_STR("me"), 10, NULL);
    CHECK_EQ(info_of(manager, lease).reason, TERN_REASON_NODE_DRAIN);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_SHUTDOWN, TERN_STR("root"), 5, &at);
    CHECK_EQ(at, 7);
    CHECK_TEXT(info_of(manager, lease).revoker, "root");
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, &end);
    CHECK_EQ(end, 7);
    tick(manager, 4);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tick(manager, 1);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lease);
    CHECK(revocations(manager) == 1 && count_of(manager, TERN_REASON_SHUTDOWN) == 1);

    /* Saved early: a release during the notice acknowledges the revocation. */
    lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_SHUTDOWN, "", 0, 5, &at);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lease);
    CHECK(info_of(manager, lease).flags & TERN_LEASE_ACKNOWLEDGED);
    CHECK_EQ(info_of(manager, lease).reason, TERN_REASON_SHUTDOWN);
    CHECK_EQ(revocations(manager), 2);
    tern_manager_close(manager);
}

int main(void)
{
    check_acquire();
    check_ids_grow_across_managers();
    check_state();
    check_renew();
    check_several();
    check_release();
    check_revoke_at_once();
    check_revoke_with_notice();
    return finish(__FILE__);
}
