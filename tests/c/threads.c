/* Many threads at once: whatever they do, at the end nothing is held, nobody waits, and the numbers add up. */
#include "open.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 8, ROUNDS = 400, SLOTS = 2 };

static tern_manager_t *manager;

/* How many are in the room that has as many slots as this allows. */
static int inside;

struct worker {
    int number;
    uint64_t random;
    unsigned long granted, released, revoked, cancelled, timeouts;
};

static uint64_t next_random(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random >> 11;
}

/* Has the lease, and is not alone only as far as the slots allow. */
static void hold(struct worker *worker, tern_lease_t lease)
{
    tern_error_t err;
    worker->granted++;
    CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) <= SLOTS);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, NULL);
    /* Let others come and wait. */
    sched_yield();
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    if (next_random(worker) % 4 == 0) {
        EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_QUOTA, TERN_STR("itself"), 0, NULL);
        EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lease);
        worker->revoked++;
    } else {
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
        EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lease);
        worker->released++;
    }
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew, manager, lease, NULL);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    tern_error_t err = tern_error_init();
    tern_text_t room = { TERN_STR("room") };
    char name[16];
    snprintf(name, sizeof name, "worker%d", worker->number);
    for (int i = 0; i < often(ROUNDS); i++) {
        tern_claim_t claim = claim_of(name, &room, 1);
        tern_lease_t lease = 0;
        tern_ticket_t ticket = 0;
        int32_t status;
        claim.priority = (int32_t)(next_random(worker) % 5);
        switch (next_random(worker) % 5) {
        case 0: /* Now or not at all. */
            status = tern_lease_acquire(manager, TERN_STR("room"), TERN_STR(name), TERN_FOREVER, &lease, &err);
            break;
        case 1: /* As long as it takes. */
            claim.wait = TERN_FOREVER;
            status = tern_manager_claim(manager, &claim, &lease, &err);
            CHECK_EQ(status, TERN_OK);
            break;
        case 2: /* For a moment. */
            claim.wait = 1 + next_random(worker) % 200;
            status = tern_manager_claim(manager, &claim, &lease, &err);
            worker->timeouts += status == TERN_TIMEOUT;
            break;
        case 3: /* In line, then waited for. */
            claim.wait = TERN_FOREVER;
            status = tern_manager_enqueue(manager, &claim, &lease, &ticket, &err);
            if (status == TERN_WAITING) {
                status = tern_ticket_wait(manager, ticket, TERN_FOREVER, &lease, &err);
                CHECK_EQ(status, TERN_OK);
            }
            break;
        default: /* In line, and away again: what it was granted meanwhile is given back. */
            claim.wait = TERN_FOREVER;
            status = tern_manager_enqueue(manager, &claim, &lease, &ticket, &err);
            if (status == TERN_WAITING) {
                EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
                worker->cancelled++;
            }
            break;
        }
        if (status == TERN_OK)
            hold(worker, lease);
        else
            CHECK(status == TERN_BUSY || status == TERN_TIMEOUT || status == TERN_WAITING);
    }
    return NULL;
}

/* Looks at everything all the time. */
static int stop;

static void *look(void *argument)
{
    static tern_lease_info_t infos[THREADS];
    static tern_ticket_info_t tickets[THREADS];
    tern_error_t err = tern_error_init();
    (void)argument;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        size_t held = 0, waiting = 0;
        tern_resource_info_t info = tern_resource_info_init();
        infos[0].struct_size = sizeof infos[0];
        tickets[0].struct_size = sizeof tickets[0];
        CHECK_EQ(tern_manager_leases(manager, infos, THREADS, &held, &err), TERN_OK);
        CHECK_EQ(tern_manager_tickets(manager, tickets, THREADS, &waiting, &err), TERN_OK);
        CHECK(held <= SLOTS && waiting <= THREADS);
        CHECK_EQ(tern_resource_info(manager, TERN_STR("room"), &info, &err), TERN_OK);
        CHECK(info.used_slots <= SLOTS);
        tern_deadlocks_t *found = NULL;
        CHECK_EQ(tern_deadlocks_find(manager, &found, &held, &err), TERN_OK);
        CHECK_EQ(held, 0);
        tern_deadlocks_close(found);
    }
    return NULL;
}

/* One reader, and all it is told. */
static void *read_events(void *argument)
{
    tern_events_t *events = argument;
    tern_event_t event = tern_event_init();
    uint64_t last = 0, *told = calloc(8, sizeof *told);
    int32_t status = TERN_OK;
    while (status == TERN_OK) {
        status = tern_events_wait(events, TERN_FOREVER, NULL);
        while (status == TERN_OK && tern_events_next(events, &event, NULL) == TERN_OK) {
            CHECK(event.number == last + 1 && event.missed == 0);
            last = event.number;
            told[event.kind & 7]++;
        }
    }
    CHECK_EQ(status, TERN_ERR_CLOSED);
    return told;
}

static void check_crowd(void)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS], looker, reader;
    struct worker sum = { 0 };
    tern_options_t options = tern_options_init();
    tern_events_t *events = NULL;
    void *told = NULL;
    options.history = 1 << 16;
    manager = open_with(&options);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("room"), SLOTS, 0, NULL);
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    CHECK_EQ(pthread_create(&reader, NULL, read_events, events), 0);
    CHECK_EQ(pthread_create(&looker, NULL, look, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .number = i, .random = 88172645463325252u + (uint64_t)i };
        CHECK_EQ(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        sum.granted += workers[i].granted;
        sum.released += workers[i].released;
        sum.revoked += workers[i].revoked;
        sum.cancelled += workers[i].cancelled;
        sum.timeouts += workers[i].timeouts;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(looker, NULL);
    uint64_t cancelled = count_of(manager, TERN_REASON_CANCELLED), timeouts = count_of(manager, TERN_REASON_WAIT_TIMED_OUT);
    uint64_t released = count_of(manager, TERN_REASON_RELEASED);
    CHECK_EQ(active_count(manager), 0);
    CHECK_EQ(pending_claimers(manager), 0);
    CHECK_EQ(sum.granted, sum.released + sum.revoked);
    CHECK_EQ(revocations(manager), sum.revoked);
    CHECK_EQ(count_of(manager, TERN_REASON_QUOTA), sum.revoked);
    CHECK_EQ(timeouts, sum.timeouts);
    /* Of the claims that were withdrawn some had been granted, and gave their lease back. */
    CHECK(cancelled <= sum.cancelled);
    CHECK_EQ(released, sum.released + (sum.cancelled - cancelled));
    CHECK(sum.granted > 0);
    tern_manager_close(manager);

    pthread_join(reader, &told);
    uint64_t *kinds = told;
    CHECK_EQ(kinds[TERN_EVENT_ENDED], released + sum.revoked);
    CHECK_EQ(kinds[TERN_EVENT_GRANTED], released + sum.revoked);
    CHECK_EQ(kinds[TERN_EVENT_REFUSED], cancelled + timeouts);
    free(told);
    tern_events_close(events);
}

/* A ticket that one thread waits for and another withdraws: exactly one of them has the lease. */
struct race {
    tern_ticket_t ticket;
    tern_lease_t lease;
    int32_t status;
    pthread_barrier_t *start;
};

static void *wait_in_race(void *argument)
{
    struct race *race = argument;
    pthread_barrier_wait(race->start);
    race->status = tern_ticket_wait(manager, race->ticket, TERN_FOREVER, &race->lease, NULL);
    return NULL;
}

static void check_wait_against_cancel(void)
{
    pthread_barrier_t start;
    manager = open_ticks(0);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < often(2000); i++) {
        tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER);
        struct race race = { enqueue(manager, "gpu0", "bob"), 0, 0, &start };
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, wait_in_race, &race), 0);
        EXPECT(TERN_OK, tern_lease_release, manager, held);
        pthread_barrier_wait(&start);
        int32_t status = tern_ticket_cancel(manager, race.ticket, NULL);
        pthread_join(thread, NULL);
        if (race.status == TERN_OK) {
            EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, race.lease);
            CHECK_EQ(status, TERN_UNCHANGED);
            EXPECT(TERN_OK, tern_lease_release, manager, race.lease);
        } else {
            CHECK_EQ(status, TERN_OK);
            CHECK(race.status == TERN_REFUSED);
        }
        CHECK_EQ(active_count(manager), 0);
    }
    pthread_barrier_destroy(&start);
    tern_manager_close(manager);
}

int main(void)
{
    check_crowd();
    check_wait_against_cancel();
    return finish(__FILE__);
}
