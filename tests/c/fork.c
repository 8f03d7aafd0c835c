/* A child after fork(): what was opened before is TERN_ERR_FORKED there, and the parent does not notice. */
#include "calls.h"
#include "child.h"

#include <pthread.h>

/* Every function with every handle from before. */
static void check_all_forked(struct world *world)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (calls[i].need == NO_HANDLE)
            continue;
        world->error = untouched_error();
        check_call(&calls[i], world, calls[i].run(world), TERN_ERR_FORKED);
        CHECK(outputs_are_untouched(world));
    }
    EXPECT_UNKNOWN(TERN_ERR_FORKED, tern_lease_state, world->manager, world->lease);
    EXPECT_UNKNOWN(TERN_ERR_FORKED, tern_ticket_state, world->manager, world->ticket);
    CHECK_EQ(tern_lease_state(world->manager, world->lease, NULL), TERN_TRIT_UNKNOWN);
}

/* In the child only the handle ends; whatever it says from then on, it is a status. */
static void check_close(struct world *world)
{
    uint64_t capacity = 0;
    tern_deadlocks_close(world->report);
    tern_events_close(world->reader);
    tern_pool_close(world->gpus);
    tern_machine_close(world->computer);
    tern_manager_close(world->host_owner);
    tern_manager_close(world->owner);
    tern_manager_close(world->owner);
    int32_t status = tern_manager_tick(world->owner, NULL);
    CHECK(status == TERN_ERR_FORKED || status == TERN_ERR_CLOSED);
    status = tern_pool_capacity(world->gpus, &capacity, NULL);
    CHECK(status == TERN_ERR_FORKED || status == TERN_ERR_CLOSED);
}

static void ordinary_use(tern_manager_t *manager)
{
    tern_lease_t lease = acquire(manager, "gpu0", "child", TERN_FOREVER), next = 0;
    tern_ticket_t ticket = enqueue(manager, "gpu0", "other");
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &next);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, next);
    EXPECT(TERN_OK, tern_lease_release, manager, next);
}

/* The same with a pool, which starts a thread of its own if it may. */
static void ordinary_use_of_pools(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0;
    claim.count = 2;
    claim.ttl = 60 * TERN_SECOND;
    claim.flags = TERN_CLAIM_KEEP_ALIVE;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    tern_pool_close(pool);
}

/* And with a machine, which a child reads anew. */
static void ordinary_use_of_machines(void)
{
    tern_machine_t *machine = read_machine();
    tern_task_t task = task_of(tern_cost_hash(1000000), TERN_KIND_HASH);
    tern_verdict_t verdict = tern_verdict_init();
    EXPECT(TERN_OK, tern_machine_verdict, machine, &task, &verdict);
    tern_machine_close(machine);
}

/* A child that does everything, and a child of the child. The parent has no other thread, so new managers work there. */
static void check_quiet_fork(void)
{
    struct world world;
    world_open(&world);
    pid_t child = start_child();
    if (child == 0) {
        check_all_forked(&world);
        tern_manager_t *ticks = open_ticks(0), *real = open_real();
        ordinary_use(ticks);
        ordinary_use(real);
        ordinary_use_of_pools();
        ordinary_use_of_machines();
        check_all_forked(&world);
        pid_t grandchild = start_child();
        if (grandchild == 0) {
            check_all_forked(&world);
            EXPECT(TERN_ERR_FORKED, tern_manager_tick, ticks);
            EXPECT(TERN_ERR_FORKED, tern_manager_tick, real);
            tern_manager_t *own = open_ticks(0);
            ordinary_use(own);
            tern_manager_close(own);
            check_close(&world);
            _exit(0);
        }
        CHECK_EQ(end_of(grandchild), 0);
        ordinary_use(ticks);
        ordinary_use(real);
        check_close(&world);
        tern_manager_close(ticks);
        tern_manager_close(real);
        EXPECT(TERN_ERR_CLOSED, tern_manager_tick, ticks);
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);

    /* The parent's things are as they were. */
    CHECK(nothing_happened(&world));
    EXPECT_TRIT(TERN_HELD, tern_lease_state, world.owner, world.lease);
    EXPECT_TRIT(TERN_IN_LINE, tern_ticket_state, world.owner, world.ticket);
    for (size_t i = 0; i < CALLS; i++) {
        struct world fresh;
        world_open(&fresh);
        check_call(&calls[i], &fresh, calls[i].run(&fresh), calls[i].usual);
        world_close(&fresh);
    }
    world_close(&world);
}

/* A descriptor is inherited as any other is; events are the parent's. */
static void check_descriptors(void)
{
    struct world world;
    int fd = -1;
    world_open(&world);
    EXPECT(TERN_OK, tern_events_fd, world.reader, &fd);
    pid_t child = start_child();
    if (child == 0) {
        tern_events_close(world.reader);
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);
    EXPECT(TERN_OK, tern_events_wait, world.reader, 0);
    world_close(&world);
}

struct hammer {
    tern_manager_t *manager;
    int number, stop;
    unsigned long rounds;
};

static void *use_all_the_time(void *argument)
{
    struct hammer *hammer = argument;
    char own[8], shared[] = "shared";
    snprintf(own, sizeof own, "r%d", hammer->number);
    while (!__atomic_load_n(&hammer->stop, __ATOMIC_RELAXED)) {
        tern_lease_t lease = 0;
        const char *name = hammer->number % 2 ? own : shared;
        if (tern_lease_acquire(hammer->manager, TERN_STR(name), TERN_STR(own), TERN_FOREVER, &lease, NULL) != TERN_OK)
            continue;
        tern_lease_renew(hammer->manager, lease, NULL, NULL);
        tern_manager_leases(hammer->manager, NULL, 0, NULL, NULL);
        tern_lease_release(hammer->manager, lease, NULL);
        hammer->rounds++;
    }
    return NULL;
}

/* Forking while others are in the middle of something: the locks they hold are held for ever in the child, which must not touch them. */
static void check_busy_fork(void)
{
    enum { THREADS = 4, FORKS = 200 };
    struct hammer hammers[THREADS];
    pthread_t threads[THREADS];
    struct world world;
    world_open(&world);
    struct snapshot before = world.seen;
    tern_manager_t *real = open_real();
    for (int i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){ .manager = i < 2 ? world.owner : real, .number = i };
        CHECK_EQ(pthread_create(&threads[i], NULL, use_all_the_time, &hammers[i]), 0);
    }
    for (int i = 0; i < often(FORKS); i++) {
        pid_t child = start_child();
        if (child == 0) {
            check_all_forked(&world);
            EXPECT(TERN_ERR_FORKED, tern_manager_tick, real);
            check_close(&world);
            tern_manager_close(real);
            _exit(0);
        }
        CHECK_EQ(end_of(child), 0);
    }
    unsigned long rounds = 0;
    for (int i = 0; i < THREADS; i++) {
        __atomic_store_n(&hammers[i].stop, 1, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
        rounds += hammers[i].rounds;
    }
    CHECK(rounds > 0);
    CHECK_EQ(active_count(real), 0);
    CHECK_EQ(active_count(world.owner), 3);
    CHECK_EQ(count_of(world.owner, TERN_REASON_RELEASED) + count_of(real, TERN_REASON_RELEASED), rounds);
    CHECK(!is_unchanged(world.owner, &before));
    tern_manager_close(real);
    world_close(&world);
}

int main(void)
{
    check_quiet_fork();
    check_descriptors();
    check_busy_fork();
    return finish(__FILE__);
}
