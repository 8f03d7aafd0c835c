/*
 * Signals with a handler that restarts nothing, ten thousand of them each second for every thread of the program: no call ends early, fails, or loses anything; and
 * what is waited for comes, in order.
 */
#define _GNU_SOURCE
#include "shared.h"
#include "storm.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40, WAIT = 5000 };

/* What the threads of a test share. */
struct scene {
    struct place place;
    int shared;
    /* Of the process, or NULL: each has its own, of the file. */
    tern_manager_t *manager;
    int inside, begun;
};

static tern_manager_t *enter(const struct scene *scene)
{
    return scene->shared ? open_shared(&scene->place) : scene->manager;
}

static void leave(const struct scene *scene, tern_manager_t *manager)
{
    if (scene->shared)
        tern_manager_close(manager);
}

/* What was waited for in vain has lasted as long as it should. */
static void wait_in_vain(tern_manager_t *manager)
{
    tern_error_t err;
    tern_text_t busy = { TERN_STR("busy") };
    tern_claim_t claim = claim_of("bob", &busy, 1);
    tern_lease_t lease = 0;
    uint64_t begun = tick_count(manager);
    claim.wait = WAIT;
    EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &lease);
    CHECK(tick_count(manager) >= begun + WAIT);

    tern_ticket_t ticket = enqueue(manager, "busy", "bob");
    begun = tick_count(manager);
    EXPECT(TERN_WAITING, tern_ticket_wait, manager, ticket, WAIT, &lease);
    CHECK(tick_count(manager) >= begun + WAIT);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
}

static void *take_turns(void *user)
{
    struct scene *scene = user;
    tern_error_t err;
    struct storm storm;
    begin_storm(&storm);
    tern_manager_t *manager = enter(scene);
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("ann", &gpu, 1);
    claim.wait = TERN_FOREVER;
    __atomic_add_fetch(&scene->begun, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; i < often(ROUNDS); i++) {
        tern_lease_t lease = 0;
        EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &lease);
        CHECK_EQ(__atomic_add_fetch(&scene->inside, 1, __ATOMIC_ACQ_REL), 1);
        EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
        EXPECT(TERN_OK, tern_lease_renew_for, manager, lease, TERN_FOREVER, NULL);
        __atomic_sub_fetch(&scene->inside, 1, __ATOMIC_ACQ_REL);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
    }
    wait_in_vain(manager);
    leave(scene, manager);
    end_storm(&storm);
    return NULL;
}

/* Reads the whole history: no event is missing, and those in line were served in order. */
static void *read_along(void *user)
{
    struct scene *scene = user;
    tern_error_t err;
    struct storm storm;
    begin_storm(&storm);
    tern_manager_t *manager = enter(scene);
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    uint64_t last = 0, last_served = 0;
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    __atomic_add_fetch(&scene->begun, 1, __ATOMIC_ACQ_REL);
    for (int released = 0; released < THREADS * often(ROUNDS);) {
        int32_t status = tern_events_next(events, &event, &err);
        if (status == TERN_EMPTY) {
            EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
            continue;
        }
        CHECK_EQ(status, TERN_OK);
        CHECK(event.missed == 0 && (last == 0 || event.number == last + 1));
        last = event.number;
        released += event.kind == TERN_EVENT_ENDED && event.reason == TERN_REASON_RELEASED;
        if (event.kind == TERN_EVENT_GRANTED && event.ticket != 0) {
            CHECK(event.ticket > last_served);
            last_served = event.ticket;
        }
    }
    tern_events_close(events);
    leave(scene, manager);
    end_storm(&storm);
    return NULL;
}

/* Threads, each with a storm of its own, in one table. */
static void play(struct scene *scene)
{
    pthread_t threads[THREADS + 1];
    tern_manager_t *manager = NULL;
    tern_options_t options = tern_options_init();
    scene->place = new_place();
    scene->inside = scene->begun = 0;
    options.history = 4096;
    EXPECT(TERN_OK, tern_manager_open, scene->shared ? scene->place.url : "process:",
           scene->shared ? strlen(scene->place.url) : 8, &options, &manager);
    scene->manager = manager;
    tern_lease_t busy = acquire(manager, "busy", "ops", TERN_FOREVER);
    tern_lease_t first = acquire(manager, "gpu0", "ops", TERN_FOREVER);
    CHECK_EQ(pthread_create(&threads[THREADS], NULL, read_along, scene), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, take_turns, scene), 0);
    /* All have come: from here on they wait for each other. */
    while (__atomic_load_n(&scene->begun, __ATOMIC_ACQUIRE) < THREADS + 1)
        ;
    wait_for_line(manager, THREADS);
    EXPECT(TERN_OK, tern_lease_revoke, manager, first, TERN_REASON_OPERATOR, TERN_STR("ops"), 0, NULL);
    for (int i = 0; i <= THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    EXPECT(TERN_OK, tern_lease_release, manager, busy);
    CHECK(active_count(manager) == 0 && pending_claimers(manager) == 0);
    tern_manager_close(manager);
    unlink(scene->place.path);
}

/* Making a file takes longer than the time between two signals. */
static void open_and_close(void)
{
    struct storm storm;
    begin_storm(&storm);
    for (int i = 0; i < 3; i++) {
        struct place place = new_place();
        tern_manager_t *manager = NULL;
        EXPECT(TERN_OK, tern_manager_open, TERN_STR(place.url), NULL, &manager);
        tern_manager_close(manager);
        EXPECT(TERN_OK, tern_manager_open, TERN_STR(place.url), NULL, &manager);
        acquire(manager, "gpu0", "ann", TERN_FOREVER);
        tern_manager_close(manager);
        CHECK_EQ(truncate(place.path, 0), 0);
        unlink(place.path);
    }
    tern_pool_t *pool = open_pool("fake:1");
    tern_lease_t lease = claim_one(pool), none = 0;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.wait = WAIT;
    EXPECT(TERN_TIMEOUT, tern_pool_claim, pool, &claim, &none);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    tern_pool_close(pool);
    tern_machine_close(read_machine());
    end_storm(&storm);
}

static void hold(const struct place *place, int to)
{
    tern_manager_t *manager = open_shared(place);
    tell(to, acquire(manager, "gpu0", "child", TERN_FOREVER));
}

/* The news that a holder has died come through. */
static void outlive_another(void)
{
    struct storm storm;
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place);
    struct other other = start_other(hold, &place);
    tern_lease_t theirs = hear(&other);
    begin_storm(&storm);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "ann");
    tern_lease_t lease = 0;
    EXPECT(TERN_WAITING, tern_ticket_wait, manager, ticket, WAIT, &lease);
    kill_other(&other);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &lease);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, theirs);
    end_storm(&storm);
    forget_other(&other);
    tern_manager_close(manager);
    unlink(place.path);
}

int main(void)
{
    struct scene scene = { .shared = 0 };
    handle_signals();
    play(&scene);
    scene.shared = 1;
    play(&scene);
    open_and_close();
    outlive_another();
    return finish(__FILE__);
}
