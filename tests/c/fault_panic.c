/* A panic inside the library is a status: that manager is given up, nobody waits for it in vain, everything else goes on. */
#include "calls.h"

#include <pthread.h>

tern_status_t tern_test_panic(const tern_manager_t *manager, tern_error_t *err);

/* Someone who waits for something of the manager, and what came of it. */
struct waiter {
    struct world *world;
    tern_events_t *events;
    int32_t status;
};

static void *wait_for_ticket(void *argument)
{
    struct waiter *waiter = argument;
    tern_lease_t lease = 77;
    waiter->status = tern_ticket_wait(waiter->world->owner, waiter->world->ticket, TERN_FOREVER, &lease, NULL);
    return NULL;
}

static void *wait_for_claim(void *argument)
{
    struct waiter *waiter = argument;
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("cid", &gpu, 1);
    tern_lease_t lease = 77;
    claim.wait = TERN_FOREVER;
    waiter->status = tern_manager_claim(waiter->world->owner, &claim, &lease, NULL);
    return NULL;
}

static void *wait_for_event(void *argument)
{
    struct waiter *waiter = argument;
    waiter->status = tern_events_wait(waiter->events, TERN_FOREVER, NULL);
    return NULL;
}

static int dropped;

static void count_drop(void *user)
{
    (void)user;
    __atomic_add_fetch(&dropped, 1, __ATOMIC_SEQ_CST);
}

static void check_panic(int with_watch)
{
    struct world world, other;
    struct waiter waiters[3] = { { &world, NULL, 0 }, { &world, NULL, 0 }, { &world, NULL, 0 } };
    void *(*const ways[])(void *) = { wait_for_ticket, wait_for_claim, wait_for_event };
    pthread_t threads[3];
    tern_events_t *second = NULL;
    world_open(&world);
    world_open(&other);
    if (with_watch)
        EXPECT(TERN_OK, tern_lease_watch, world.owner, world.lease, ignore_notice, NULL, count_drop);

    /* Three threads wait. All events so far must be read, or there would be nothing to wait for. */
    CHECK_EQ(pthread_create(&threads[0], NULL, ways[0], &waiters[0]), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, ways[1], &waiters[1]), 0);
    wait_for_line(world.owner, 2);
    EXPECT(TERN_OK, tern_events_open, world.owner, TERN_FOREVER, &waiters[2].events);
    EXPECT(TERN_OK, tern_events_open, world.owner, 0, &second);
    CHECK_EQ(pthread_create(&threads[2], NULL, ways[2], &waiters[2]), 0);

    EXPECT(TERN_ERR_PANIC, tern_test_panic, world.owner);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK(waiters[i].status < 0);
    }

    /* Every later call with the manager, any number of times. */
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < CALLS; i++) {
            if (calls[i].need != MANAGER)
                continue;
            world.error = untouched_error();
            check_call(&calls[i], &world, calls[i].run(&world), TERN_ERR_POISONED);
            CHECK(outputs_are_untouched(&world));
        }
        EXPECT(TERN_ERR_POISONED, tern_test_panic, world.owner);
    }

    /* A reader gives what it has or fails, and does not wait; a report needs no manager. */
    tern_event_t event = tern_event_init();
    int32_t status = TERN_OK;
    for (int i = 0; i < 1000 && status == TERN_OK; i++)
        status = tern_events_next(second, &event, &err);
    CHECK(status != TERN_OK);
    CHECK(tern_events_wait(waiters[2].events, TERN_FOREVER, &err) < 0);
    EXPECT(TERN_OK, tern_deadlocks_victim, world.report, 0, world.lease_out);

    /* Another manager is unharmed: as it was, and as good as new. */
    CHECK(nothing_happened(&other));
    for (size_t i = 0; i < CALLS; i++) {
        struct world fresh;
        world_open(&fresh);
        check_call(&calls[i], &fresh, calls[i].run(&fresh), calls[i].usual);
        world_close(&fresh);
    }

    tern_events_close(waiters[2].events);
    tern_events_close(second);
    world_close(&world);
    EXPECT(TERN_ERR_CLOSED, tern_manager_tick, world.owner);
    if (with_watch)
        CHECK_EQ(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST), 1);
    world_close(&other);
}

/* With a real clock there is a thread of the library's own, which must end as well. */
static void check_real_clock(void)
{
    tern_manager_t *manager = open_real();
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_ERR_PANIC, tern_test_panic, manager);
    EXPECT(TERN_ERR_POISONED, tern_manager_tick, manager);
    EXPECT_UNKNOWN(TERN_ERR_POISONED, tern_lease_state, manager, 1);
    EXPECT_UNKNOWN(TERN_ERR_POISONED, tern_ticket_state, manager, 1);
    tern_manager_close(manager);
}

int main(void)
{
    check_panic(0);
    check_panic(1);
    check_real_clock();
    EXPECT(TERN_ERR_NULL, tern_test_panic, NULL);
    return finish(__FILE__);
}
