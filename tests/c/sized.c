/*
 * Structs that begin with their size, of every size: shorter than ours, ours, longer with a tail that is zero or not, absurd.
 * What lies behind them stays as it is.
 */
#include "calls.h"

enum { LONGEST = 4096, TRIED = LONGEST + 100, FILL = 0xa5 };

static const size_t absurd[] = { TRIED, 65536, INT32_MAX, UINT32_MAX, (size_t)INT64_MAX, SIZE_MAX - 7, SIZE_MAX };

static unsigned char memory[ROOM * TRIED + 64], expected[sizeof memory];

static size_t size_at(const void *place)
{
    size_t size;
    memcpy(&size, place, sizeof size);
    return size;
}

static const struct call *call_named(const char *name)
{
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

/* Calls that answer with structs: where a world has the pointer to the first one, and how many the answer has. */
static const struct answer {
    const char *name;
    size_t offset, size, count;
    int is_list;
} answers[] = {
    { "tern_resource_info", offsetof(struct world, resource_infos), sizeof(tern_resource_info_t), 1, 0 },
    { "tern_lease_info", offsetof(struct world, lease_infos), sizeof(tern_lease_info_t), 1, 0 },
    { "tern_ticket_info", offsetof(struct world, ticket_infos), sizeof(tern_ticket_info_t), 1, 0 },
    { "tern_events_next", offsetof(struct world, event), sizeof(tern_event_t), 1, 0 },
    { "tern_manager_resources", offsetof(struct world, resource_infos), sizeof(tern_resource_info_t), 4, 1 },
    { "tern_lease_takes", offsetof(struct world, takes), sizeof(tern_take_t), 1, 1 },
    { "tern_manager_leases", offsetof(struct world, lease_infos), sizeof(tern_lease_info_t), 3, 1 },
    { "tern_manager_tickets", offsetof(struct world, ticket_infos), sizeof(tern_ticket_info_t), 1, 1 },
    { "tern_ticket_resources", offsetof(struct world, names), sizeof(tern_name_t), 1, 1 },
    { "tern_deadlocks_stuck", offsetof(struct world, names), sizeof(tern_name_t), 2, 1 },
    { "tern_deadlocks_cycle", offsetof(struct world, waits), sizeof(tern_wait_t), 2, 1 },
    { "tern_manager_host", offsetof(struct world, host), sizeof(tern_host_info_t), 1, 0 },
    { "tern_manager_processes", offsetof(struct world, sharers), sizeof(tern_process_info_t), 1, 1 },
    { "tern_pool_device", offsetof(struct world, device), sizeof(tern_device_t), 1, 0 },
    { "tern_pool_device_status", offsetof(struct world, statuses), sizeof(tern_device_status_t), 1, 0 },
    { "tern_pool_snapshot", offsetof(struct world, statuses), sizeof(tern_device_status_t), 2, 1 },
    { "tern_pool_device_speed", offsetof(struct world, speed), sizeof(tern_device_speed_t), 1, 0 },
    { "tern_machine_info", offsetof(struct world, machine_info), sizeof(tern_machine_info_t), 1, 0 },
    { "tern_machine_rate", offsetof(struct world, rate), sizeof(tern_rate_t), 1, 0 },
    { "tern_machine_route", offsetof(struct world, route_out), sizeof(tern_route_t), 1, 0 },
    { "tern_machine_verdict", offsetof(struct world, verdict), sizeof(tern_verdict_t), 1, 0 },
    { "tern_machine_advise", offsetof(struct world, advice), sizeof(tern_advice_t), 1, 0 },
    { "tern_pool_squatters", offsetof(struct world, processes), sizeof(tern_process_t), 0, 1 },
};

/* The call, with the answer to go into `memory` and the first struct saying that it has this size. */
static int32_t ask(struct world *world, const struct answer *answer, size_t size, size_t capacity)
{
    void *place = memory;
    world_fill_outputs(world);
    memcpy((char *)world + answer->offset, &place, sizeof place);
    memset(memory, FILL, sizeof memory);
    memset(expected, FILL, sizeof expected);
    memcpy(memory, &size, sizeof size);
    memcpy(expected, &size, sizeof size);
    world->capacity = capacity;
    if (strcmp(answer->name, "tern_events_next") == 0) {
        /* Each time the first event. */
        tern_events_close(world->events);
        EXPECT(TERN_OK, tern_events_open, world->owner, 0, &world->events);
        world->reader = world->events;
    }
    return call_named(answer->name)->run(world);
}

static void check_answer(struct world *world, const struct answer *answer, const unsigned char *whole, size_t size, size_t capacity)
{
    const struct call *call = call_named(answer->name);
    int32_t status = ask(world, answer, size, capacity);
    if (capacity != 0 && (size < sizeof(size_t) || size > LONGEST)) {
        check_call(call, world, status, TERN_ERR_BAD_STRUCT);
        CHECK(memcmp(memory, expected, sizeof memory) == 0);
        CHECK(outputs_are_untouched(world));
        return;
    }
    size_t told = answer->count < capacity ? answer->count : capacity;
    check_call(call, world, status, told < answer->count ? TERN_MORE : TERN_OK);
    for (size_t i = 0; i < told; i++) {
        unsigned char *one = expected + i * size;
        memset(one, 0, size);
        memcpy(one, whole + i * answer->size, size < answer->size ? size : answer->size);
        memcpy(one, &size, sizeof size);
    }
    CHECK(memcmp(memory, expected, sizeof memory) == 0);
    if (answer->is_list)
        CHECK_EQ(world->outputs.needed, answer->count);
}

static void check_answers(void)
{
    struct world world;
    unsigned char whole[ROOM * sizeof(tern_device_t)];
    world_open(&world);
    for (const struct answer *answer = answers; answer < answers + sizeof answers / sizeof answers[0]; answer++) {
        check_call(call_named(answer->name), &world, ask(&world, answer, answer->size, ROOM), TERN_OK);
        for (size_t i = 0; i < answer->count; i++)
            CHECK_EQ(size_at(memory + i * answer->size), answer->size);
        memcpy(whole, memory, answer->count * answer->size);

        for (size_t size = 0; size < TRIED; size++)
            check_answer(&world, answer, whole, size, ROOM);
        for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++)
            check_answer(&world, answer, whole, absurd[i], ROOM);
        for (size_t capacity = 0; answer->is_list && capacity <= answer->count + 1; capacity++)
            for (size_t size = sizeof(size_t); size <= answer->size + 16; size += 8)
                check_answer(&world, answer, whole, size, capacity);
    }
    CHECK(is_unchanged(world.owner, &world.seen));
    world_fill_outputs(&world);
    world_close(&world);
}

/* The error: it must have room for the numbers and an empty text. Zero stands for the size of the first version of the struct. */
#define FIRST_ERROR 280

static void check_error_of_size(tern_manager_t *manager, size_t size)
{
    const size_t shortest = offsetof(tern_error_t, message) + 1;
    tern_error_t whole = tern_error_init();
    CHECK_EQ(tern_lease_release(manager, 12345, &whole), TERN_ERR_UNKNOWN_LEASE);
    memset(memory, FILL, sizeof memory);
    memcpy(memory, &size, sizeof size);
    memcpy(expected, memory, sizeof memory);
    int32_t status = tern_lease_release(manager, 12345, (tern_error_t *)(void *)memory);
    if (size == 0)
        size = FIRST_ERROR;
    if (size < shortest || size > LONGEST) {
        CHECK_EQ(status, TERN_ERR_BAD_STRUCT);
    } else {
        CHECK_EQ(status, TERN_ERR_UNKNOWN_LEASE);
        memset(expected, 0, size);
        memcpy(expected, &whole, size < sizeof whole ? size - 1 : sizeof whole);
        memcpy(expected, &size, sizeof size);
    }
    CHECK(memcmp(memory, expected, sizeof memory) == 0);
}

/* A call whose error cannot be written does nothing, even if it would have succeeded. */
static void check_unusable_error(const struct call *call, size_t size)
{
    struct world world;
    world_open(&world);
    world.error.struct_size = size;
    tern_error_t before = world.error;
    int32_t status = call->run(&world);
    const char *state = strstr(call->name, "_state");
    int tells_by_trit = (state && strcmp(state, "_state") == 0) || strstr(call->name, "_can_") != NULL;
    CHECK_EQ(status, tells_by_trit ? before.status : TERN_ERR_BAD_STRUCT);
    CHECK(memcmp(&world.error, &before, sizeof before) == 0);
    CHECK(nothing_happened(&world));
    world_close(&world);
}

static void check_errors(void)
{
    const size_t unusable[] = { 1, 7, 8, offsetof(tern_error_t, message), LONGEST + 1, SIZE_MAX };
    tern_manager_t *manager = open_ticks(0);
    for (size_t size = 0; size < TRIED; size++)
        check_error_of_size(manager, size);
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++)
        check_error_of_size(manager, absurd[i]);
    tern_manager_close(manager);
    for (size_t i = 0; i < CALLS; i++)
        for (size_t j = 0; j < sizeof unusable / sizeof unusable[0]; j++)
            check_unusable_error(&calls[i], unusable[j]);
}

int main(void)
{
    check_answers();
    check_errors();
    return finish(__FILE__);
}
