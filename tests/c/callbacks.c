/* Callbacks and the end of their manager: whatever a callback is doing, closing comes to an end, and no call follows it. */
#include "open.h"

static tern_manager_t *manager;
static int calls, drops, status_in_callback;

static int count(const int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void add(int *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
}

static void dropped(void *user)
{
    (void)user;
    add(&drops);
}

/* Waits for what it will never get. */
static void wait_in_line(void *user, tern_lease_t over, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)over, (void)state, (void)reason, (void)at;
    tern_text_t wanted = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("again", &wanted, 1);
    tern_lease_t lease;
    claim.wait = TERN_FOREVER;
    status_in_callback = tern_manager_claim(manager, &claim, &lease, NULL);
    add(&calls);
}

static void check_close_while_a_callback_waits(void)
{
    manager = open_real();
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_lease_t lease = acquire(manager, "gpu1", "bob", TERN_FOREVER);
    calls = drops = 0;
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, wait_in_line, NULL, dropped);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    wait_for_line(manager, 1);
    tern_manager_close(manager);
    CHECK_EQ(count(&calls), 1);
    CHECK_EQ(count(&drops), 1);
    CHECK_EQ(status_in_callback, TERN_ERR_CLOSED);
}

static void close_it(void *user, tern_lease_t over, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)over, (void)state, (void)reason, (void)at;
    add(&calls);
    tern_manager_close(manager);
}

static void check_close_by_a_callback(void)
{
    tern_lease_t leases[5];
    const char *names[5] = { "a", "b", "c", "d", "e" };
    manager = open_ticks(0);
    calls = drops = 0;
    for (int i = 0; i < 5; i++) {
        leases[i] = acquire(manager, names[i], "ann", 1);
        EXPECT(TERN_OK, tern_lease_watch, manager, leases[i], close_it, NULL, dropped);
    }
    /* All end at once: the first callback closes, and the others are not called any more. */
    tern_manager_tick(manager, NULL);
    while (count(&drops) < 5)
        ;
    CHECK_EQ(count(&calls), 1);
    EXPECT_UNKNOWN(TERN_ERR_CLOSED, tern_lease_state, manager, leases[0]);
}

/* Uses the manager until that is closed. */
static void use_until_closed(void *user, tern_lease_t over, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)over, (void)state, (void)reason, (void)at;
    add(&calls);
    while (tern_manager_tick(manager, NULL) != TERN_ERR_CLOSED)
        ;
    add(&calls);
}

/* The table goes on with a pool on it, and so do callbacks; but the one that may be using the manager comes to its end first. */
static void check_close_of_one_of_two(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_lease_t first = claim_one(pool), second = claim_one(pool);
    calls = drops = 0;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    EXPECT(TERN_OK, tern_lease_watch, manager, first, use_until_closed, NULL, dropped);
    EXPECT(TERN_OK, tern_lease_watch, manager, second, use_until_closed, NULL, dropped);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, first);
    while (count(&calls) < 1)
        ;
    tern_manager_close(manager);
    CHECK_EQ(count(&calls), 2);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, second);
    while (count(&drops) < 2)
        ;
    CHECK_EQ(count(&calls), 4);
    tern_pool_close(pool);
}

int main(void)
{
    check_close_of_one_of_two();
    check_close_while_a_callback_waits();
    check_close_by_a_callback();
    return finish(__FILE__);
}
