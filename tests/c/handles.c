/* Handles that were closed, are of another kind, or are none: a status, never a crash. */
#include "calls.h"

static void give(struct world *world, enum need need, const void *handle)
{
    const void **places[] = { NULL, (const void **)(void *)&world->manager, (const void **)(void *)&world->events,
                              (const void **)(void *)&world->deadlocks, (const void **)(void *)&world->pool,
                              (const void **)(void *)&world->machine, (const void **)(void *)&world->shared };
    *places[need] = handle;
}

static const void *handle_of(const struct world *world, enum need kind)
{
    const void *handles[] = { NULL, world->owner, world->reader, world->report, world->gpus, world->computer, world->host_owner };
    return handles[kind];
}

static void close_as(enum need kind, const void *handle)
{
    void *pointer = (void *)(uintptr_t)handle;
    if (kind == MANAGER || kind == SHARED)
        tern_manager_close(pointer);
    else if (kind == EVENTS)
        tern_events_close(pointer);
    else if (kind == DEADLOCKS)
        tern_deadlocks_close(pointer);
    else if (kind == POOL)
        tern_pool_close(pointer);
    else
        tern_machine_close(pointer);
}

/* Every function with a handle of every other kind. */
static void check_other_kinds(void)
{
    struct world world;
    world_open(&world);
    for (size_t i = 0; i < CALLS; i++) {
        for (enum need kind = MANAGER; kind <= MACHINE && calls[i].need != NO_HANDLE; kind++) {
            if (kind == calls[i].need || (kind == MANAGER && calls[i].need == SHARED))
                continue;
            give(&world, calls[i].need, handle_of(&world, kind));
            check_refused(&calls[i], &world, TERN_ERR_BAD_HANDLE);
            world_fill_inputs(&world);
        }
    }
    /* Closing by the wrong function closes nothing. */
    for (enum need kind = MANAGER; kind <= MACHINE; kind++)
        for (enum need other = MANAGER; other <= MACHINE; other++)
            if (kind != other)
                close_as(other, handle_of(&world, kind));
    CHECK(nothing_happened(&world));
    for (size_t i = 0; i < CALLS; i++) {
        struct world fresh;
        world_open(&fresh);
        check_call(&calls[i], &fresh, calls[i].run(&fresh), calls[i].usual);
        world_close(&fresh);
    }
    world_close(&world);
}

/* Pointers that are no handles: between two addresses where one could be, and to memory with something else. */
static void check_no_handles(void)
{
    static uint64_t zeros[64], ones[64];
    struct world world;
    memset(ones, 0xff, sizeof ones);
    world_open(&world);
    for (size_t i = 0; i < CALLS; i++) {
        if (calls[i].need == NO_HANDLE)
            continue;
        for (size_t shift = 1; shift < 8; shift++) {
            give(&world, calls[i].need, (const char *)handle_of(&world, calls[i].need) + shift);
            check_refused(&calls[i], &world, TERN_ERR_BAD_HANDLE);
        }
        give(&world, calls[i].need, zeros);
        check_refused(&calls[i], &world, TERN_ERR_BAD_HANDLE);
        give(&world, calls[i].need, ones);
        check_refused(&calls[i], &world, TERN_ERR_BAD_HANDLE);
        world_fill_inputs(&world);
    }
    for (enum need kind = MANAGER; kind <= SHARED; kind++) {
        close_as(kind, (const char *)handle_of(&world, kind) + 1);
        close_as(kind, zeros);
        close_as(kind, ones);
    }
    CHECK(zeros[0] == 0 && ones[0] == UINT64_MAX && nothing_happened(&world));
    world_close(&world);
}

/* Every function with a handle that was closed; closing it again does nothing. */
static void check_closed(void)
{
    struct world world, other;
    world_open(&world);
    world_open(&other);
    world_close(&world);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < CALLS; i++) {
            if (calls[i].need == NO_HANDLE)
                continue;
            check_call(&calls[i], &world, calls[i].run(&world), TERN_ERR_CLOSED);
            CHECK(outputs_are_untouched(&world));
            world.error = untouched_error();
        }
        world_close(&world);
    }
    CHECK(nothing_happened(&other));
    world_close(&other);
}

/* A reader and a report may outlive their manager; a machine has none. A pool goes on, and with it the table of its manager. */
static void check_outliving(void)
{
    struct world world;
    world_open(&world);
    tern_manager_close(world.owner);
    tern_manager_close(world.pool_owner);
    for (size_t i = 0; i < CALLS; i++) {
        world_close_outputs(&world);
        world_fill_outputs(&world);
        if (calls[i].need == EVENTS || calls[i].need == DEADLOCKS || calls[i].need == MACHINE)
            check_call(&calls[i], &world, calls[i].run(&world), TERN_OK);
        if (calls[i].need != POOL)
            continue;
        /* Each finds one device leased and one free. */
        tern_lease_t *given = &world.outputs.lease;
        *given = 0;
        check_call(&calls[i], &world, calls[i].run(&world), calls[i].usual);
        if (*given != 0)
            EXPECT(TERN_OK, tern_gpu_lease_release, world.gpus, *given);
    }
    EXPECT(TERN_ERR_NOT_HELD, tern_gpu_lease_release, world.gpus, world.gpu_lease);
    int32_t status = TERN_OK;
    while (status == TERN_OK)
        status = tern_events_next(world.reader, &world.outputs.event, &err);
    CHECK_EQ(status, TERN_ERR_CLOSED);
    EXPECT(TERN_ERR_CLOSED, tern_events_wait, world.reader, TERN_FOREVER);
    world_close(&world);
}

/* Many are opened and closed; the last 256 of a kind are still known to be closed, and one that stays open is not disturbed. */
static void check_cycles(void)
{
    enum { CYCLES = 300, KEPT = 256 };
    static tern_manager_t *managers[CYCLES];
    static tern_events_t *readers[CYCLES];
    static tern_deadlocks_t *reports[CYCLES];
    static tern_pool_t *pools[CYCLES];
    static tern_machine_t *machines[CYCLES];
    struct world world;
    tern_event_t event = tern_event_init();
    tern_lease_t victim = 0;
    uint64_t capacity = 0;
    world_open(&world);
    for (int i = 0; i < CYCLES; i++) {
        managers[i] = open_small(4, 4, 4, 4);
        pools[i] = pool_on(managers[i], "fake:2");
        EXPECT(TERN_OK, tern_events_open, managers[i], 0, &readers[i]);
        EXPECT(TERN_OK, tern_deadlocks_find, managers[i], &reports[i], NULL);
        machines[i] = read_machine();
        acquire(managers[i], "gpu0", "ann", 9);
        if (i % 2)
            tern_manager_close(managers[i]);
        tern_deadlocks_close(reports[i]);
        tern_events_close(readers[i]);
        tern_machine_close(machines[i]);
        if (i % 3)
            tern_pool_close(pools[i]);
        if (i % 2 == 0)
            tern_manager_close(managers[i]);
        if (i % 3 == 0)
            tern_pool_close(pools[i]);
        CHECK(nothing_happened(&world));
        for (int j = i; j >= 0 && j > i - KEPT; j -= 17) {
            EXPECT(TERN_ERR_CLOSED, tern_manager_tick, managers[j]);
            EXPECT(TERN_ERR_CLOSED, tern_events_next, readers[j], &event);
            EXPECT(TERN_ERR_CLOSED, tern_deadlocks_victim, reports[j], 0, &victim);
            EXPECT(TERN_ERR_CLOSED, tern_pool_capacity, pools[j], &capacity);
            EXPECT(TERN_ERR_CLOSED, tern_machine_set_route, machines[j], NULL);
        }
    }
    for (int i = CYCLES - KEPT; i < CYCLES; i++) {
        EXPECT(TERN_ERR_CLOSED, tern_manager_tick, managers[i]);
        EXPECT(TERN_ERR_CLOSED, tern_events_next, readers[i], &event);
        EXPECT(TERN_ERR_CLOSED, tern_deadlocks_victim, reports[i], 0, &victim);
        EXPECT(TERN_ERR_CLOSED, tern_pool_capacity, pools[i], &capacity);
        EXPECT(TERN_ERR_CLOSED, tern_machine_set_route, machines[i], NULL);
        tern_manager_close(managers[i]);
        tern_events_close(readers[i]);
        tern_deadlocks_close(reports[i]);
        tern_pool_close(pools[i]);
        tern_machine_close(machines[i]);
    }
    CHECK(nothing_happened(&world));
    world_close(&world);
}

int main(void)
{
    check_other_kinds();
    check_no_handles();
    check_closed();
    check_outliving();
    check_cycles();
    tern_manager_close(NULL);
    tern_events_close(NULL);
    tern_deadlocks_close(NULL);
    tern_pool_close(NULL);
    tern_machine_close(NULL);
    return finish(__FILE__);
}
