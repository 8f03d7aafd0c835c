/* NULL for every pointer of every function, one at a time: a status, and nothing happens; or allowed where the header says so. */
#include "calls.h"

static void set_null(struct world *world, size_t offset)
{
    memset((char *)world + offset, 0, sizeof(void *));
}

static void check_pointer(const struct call *call, const struct pointer *pointer)
{
    struct world world;
    world_open(&world);
    set_null(&world, pointer->offset);
    if (pointer->may_be_null) {
        check_call(call, &world, call->run(&world), call->usual);
    } else {
        check_refused(call, &world, TERN_ERR_NULL);
    }
    world_close(&world);
}

/* `err` may be NULL whether the call succeeds or not. */
static void check_without_error(const struct call *call)
{
    struct world world;
    world_open(&world);
    world.err = NULL;
    CHECK_EQ(call->run(&world), call->usual);
    world_close(&world);

    world_open(&world);
    world.err = NULL;
    world.manager = NULL;
    world.events = NULL;
    world.deadlocks = NULL;
    world.pool = NULL;
    world.shared = NULL;
    world.machine = NULL;
    if (call->need != NO_HANDLE) {
        CHECK_EQ(call->run(&world), TERN_ERR_NULL);
        CHECK(nothing_happened(&world));
    }
    CHECK(is_untouched(&world.error));
    world_close(&world);
}

/* An array or a buffer may be NULL if it has no room; what is needed is told. */
static void check_no_room(const char *name, size_t offset, int32_t status, size_t needed)
{
    struct world world;
    const struct call *call = calls;
    while (strcmp(call->name, name) != 0)
        call++;
    world_open(&world);
    set_null(&world, offset);
    world.capacity = 0;
    check_call(call, &world, call->run(&world), status);
    if (needed == SIZE_MAX)
        needed = strlen(world.seen.metrics) + 1;
    CHECK_EQ(world.outputs.needed, needed);
    world.before.needed = needed;
    CHECK(nothing_happened(&world));
    world_close(&world);
}

/* The same for a text that is made anew each time: with room it is told how long it is. */
static void check_no_room_for_text(const char *name)
{
    struct world world;
    const struct call *call = calls;
    while (strcmp(call->name, name) != 0)
        call++;
    world_open(&world);
    check_call(call, &world, call->run(&world), TERN_OK);
    size_t needed = world.outputs.needed;
    CHECK(needed > 100 && needed == strlen(world.outputs.text) + 1);
    world_fill_outputs(&world);
    set_null(&world, offsetof(struct world, text));
    world.capacity = 0;
    check_call(call, &world, call->run(&world), TERN_MORE);
    CHECK_EQ(world.outputs.needed, needed);
    world.before.needed = needed;
    CHECK(nothing_happened(&world));
    world_close(&world);
}

static void check_member_pairs(void)
{
    struct world world;
    tern_lease_t lease = 7;
    tern_ticket_t ticket = 7;
    tern_resource_t id = 1;
    world_open(&world);

    /* Nothing to read is nothing to be NULL; and a claim must name something. */
    world.claim.resources = NULL;
    world.claim.resource_count = 0;
    EXPECT(TERN_ERR_BAD_VALUE, tern_manager_claim, world.owner, &world.claim, &lease);
    world.claim.resource_id_count = 1;
    EXPECT(TERN_ERR_NULL, tern_manager_claim, world.owner, &world.claim, &lease);
    EXPECT(TERN_ERR_NULL, tern_manager_enqueue, world.owner, &world.claim, &lease, &ticket);
    world.claim.resource_ids = &id;
    world.claim.resource_count = 1;
    EXPECT(TERN_ERR_NULL, tern_manager_enqueue, world.owner, &world.claim, &lease, &ticket);
    CHECK(lease == 7 && ticket == 7 && nothing_happened(&world));

    /* Closing nothing. */
    tern_manager_close(NULL);
    tern_events_close(NULL);
    tern_deadlocks_close(NULL);
    tern_pool_close(NULL);
    tern_machine_close(NULL);
    CHECK(nothing_happened(&world));
    world_close(&world);
}

int main(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        for (size_t j = 0; j < POINTERS && calls[i].pointers[j].name; j++)
            check_pointer(&calls[i], &calls[i].pointers[j]);
        check_without_error(&calls[i]);
    }
    check_no_room("tern_manager_metrics", offsetof(struct world, text), TERN_MORE, SIZE_MAX);
    check_no_room("tern_manager_resources", offsetof(struct world, resource_infos), TERN_MORE, 4);
    check_no_room("tern_resource_leases", offsetof(struct world, leases), TERN_OK, 0);
    check_no_room("tern_lease_takes", offsetof(struct world, takes), TERN_MORE, 1);
    check_no_room("tern_manager_held_by", offsetof(struct world, leases), TERN_MORE, 1);
    check_no_room("tern_manager_leases", offsetof(struct world, lease_infos), TERN_MORE, 3);
    check_no_room("tern_manager_tickets", offsetof(struct world, ticket_infos), TERN_MORE, 1);
    check_no_room("tern_ticket_resources", offsetof(struct world, names), TERN_MORE, 1);
    check_no_room("tern_deadlocks_stuck", offsetof(struct world, names), TERN_MORE, 2);
    check_no_room("tern_deadlocks_cycle", offsetof(struct world, waits), TERN_MORE, 2);
    check_no_room("tern_manager_processes", offsetof(struct world, sharers), TERN_MORE, 1);
    check_no_room("tern_pool_absence", offsetof(struct world, text), TERN_MORE, 1);
    check_no_room("tern_pool_snapshot", offsetof(struct world, statuses), TERN_MORE, 2);
    check_no_room("tern_pool_leases_on", offsetof(struct world, leases), TERN_MORE, 1);
    check_no_room("tern_pool_squatters", offsetof(struct world, processes), TERN_OK, 0);
    check_no_room("tern_gpu_lease_devices", offsetof(struct world, places), TERN_MORE, 1);
    check_no_room("tern_gpu_lease_env", offsetof(struct world, text), TERN_MORE,
                  sizeof "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=0\n");
    check_no_room_for_text("tern_machine_json");
    check_no_room_for_text("tern_machine_verdict_json");
    check_no_room_for_text("tern_machine_advise_json");
    check_member_pairs();
    return finish(__FILE__);
}
