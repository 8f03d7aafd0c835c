/*
 * A manager, a pool and a machine in which every function has something to do, and a place for every argument of every function.
 * calls.h calls the functions with it; a test changes one argument and looks what happens.
 */
#ifndef TERN_TESTS_WORLD_H
#define TERN_TESTS_WORLD_H

#include "open.h"

enum { ROOM = 4 };

/* Where answers go. */
struct outputs {
    uint64_t number;
    size_t needed;
    tern_lease_t lease;
    tern_ticket_t ticket;
    tern_resource_t resource;
    int ticket_fd, events_fd, watch_fd, children_fd;
    tern_manager_t *manager;
    tern_events_t *events;
    tern_deadlocks_t *deadlocks;
    tern_pool_t *pool;
    char text[4096];
    tern_lease_t leases[ROOM];
    tern_event_t event;
    tern_resource_info_t resource_infos[ROOM];
    tern_lease_info_t lease_infos[ROOM];
    tern_take_t takes[ROOM];
    tern_ticket_info_t ticket_infos[ROOM];
    tern_name_t names[ROOM];
    tern_wait_t waits[ROOM];
    size_t places[ROOM];
    tern_device_t device;
    tern_device_status_t statuses[ROOM];
    tern_process_t processes[ROOM];
    tern_host_info_t host;
    tern_process_info_t sharers[ROOM];
    tern_device_speed_t speed;
    tern_machine_t *machine;
    tern_machine_info_t machine_info;
    tern_rate_t rate;
    tern_route_t route;
    tern_verdict_t verdict;
    tern_advice_t advice;
    tern_estimate_t time;
    tern_cost_t cost;
    int64_t value;
    int32_t wait;
    uint32_t runs, permille;
    tern_trit_t trits[ROOM];
};

/* What a machine says of itself, and what it was taught. */
struct machine_snapshot {
    tern_route_t route;
    tern_machine_info_t info;
    char json[4096];
};

static inline struct machine_snapshot look_at_machine(const tern_machine_t *machine)
{
    tern_error_t err;
    struct machine_snapshot seen;
    memset(&seen, 0, sizeof seen);
    seen.route = tern_route_init();
    seen.info = tern_machine_info_init();
    EXPECT(TERN_OK, tern_machine_route, machine, &seen.route);
    EXPECT(TERN_OK, tern_machine_info, machine, &seen.info);
    EXPECT(TERN_OK, tern_machine_json, machine, seen.json, sizeof seen.json, NULL);
    return seen;
}

struct world {
    tern_manager_t *owner, *manager;
    tern_manager_t *host_owner, *shared;
    char host_path[64];
    tern_manager_t *pool_owner;
    tern_pool_t *gpus, *pool;
    tern_events_t *reader, *events;
    tern_deadlocks_t *report, *deadlocks;
    tern_machine_t *computer, *machine;

    const char *url, *holder, *resource, *by, *store;
    size_t url_len, holder_len, resource_len, by_len, store_len;
    tern_options_t options, *options_in;
    tern_text_t texts[2];
    tern_claim_t claim, *claim_in;
    tern_pool_options_t pool_options, *pool_options_in;
    tern_text_t device_names[2];
    tern_gpu_claim_t gpu_claim, *gpu_claim_in;
    tern_machine_options_t machine_options, *machine_options_in;
    tern_task_t task, *task_in;
    tern_route_t route, *route_in;
    tern_lease_t lease, gpu_lease, shared_lease;
    tern_lease_t several[2], *leases_in;
    tern_ticket_t ticket;
    tern_watch_fn callback;
    tern_drop_fn drop;
    size_t capacity;

    uint64_t *number;
    size_t *needed;
    tern_lease_t *lease_out;
    tern_ticket_t *ticket_out;
    tern_resource_t *resource_out;
    int *ticket_fd, *events_fd, *watch_fd, *children_fd;
    tern_manager_t **manager_out;
    tern_events_t **events_out;
    tern_deadlocks_t **deadlocks_out;
    tern_pool_t **pool_out;
    char *text;
    tern_lease_t *leases;
    tern_event_t *event;
    tern_resource_info_t *resource_infos;
    tern_lease_info_t *lease_infos;
    tern_take_t *takes;
    tern_ticket_info_t *ticket_infos;
    tern_name_t *names;
    tern_wait_t *waits;
    size_t *places;
    tern_device_t *device;
    tern_device_status_t *statuses;
    tern_process_t *processes;
    tern_host_info_t *host;
    tern_process_info_t *sharers;
    tern_device_speed_t *speed;
    tern_machine_t **machine_out;
    tern_machine_info_t *machine_info;
    tern_rate_t *rate;
    tern_route_t *route_out;
    tern_verdict_t *verdict;
    tern_advice_t *advice;
    tern_estimate_t *time;
    tern_cost_t *cost;
    int64_t *value;
    int32_t *wait;
    uint32_t *runs, *permille;
    tern_trit_t *trits;
    tern_error_t *err, error;

    struct outputs outputs, before;
    struct snapshot seen, pool_seen, shared_seen;
    struct machine_snapshot machine_seen;
};

static inline void ignore_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)state, (void)reason, (void)at;
}

static inline void ignore_drop(void *user)
{
    (void)user;
}

static inline void world_fill_inputs(struct world *world)
{
    world->manager = world->owner;
    world->events = world->reader;
    world->deadlocks = world->report;
    world->pool = world->gpus;
    world->shared = world->host_owner;
    world->machine = world->computer;
    world->store = "/";
    world->store_len = strlen(world->store);
    world->machine_options = no_benchmarks();
    world->machine_options.cache_file = "/nowhere/rates";
    world->machine_options.cache_file_len = strlen(world->machine_options.cache_file);
    world->machine_options_in = &world->machine_options;
    world->task = task_of(tern_cost_sort(1000000, 64, 64000000), TERN_KIND_SORT);
    world->task_in = &world->task;
    world->route = tern_route_init();
    world->route.bytes_per_second = 1000;
    world->route_in = &world->route;
    world->url = "process:";
    world->holder = "ann";
    world->resource = "free";
    world->by = "ops";
    world->url_len = strlen(world->url);
    world->holder_len = strlen(world->holder);
    world->resource_len = strlen(world->resource);
    world->by_len = strlen(world->by);
    world->options = tern_options_init();
    world->options.flags = TERN_OPTION_TICKS;
    world->options_in = &world->options;
    world->texts[0].data = "new0";
    world->texts[1].data = "new1";
    world->texts[0].len = world->texts[1].len = 4;
    world->claim = claim_of("eve", world->texts, 2);
    world->claim_in = &world->claim;
    world->pool_options = devices_of("fake:2");
    world->pool_options_in = &world->pool_options;
    world->device_names[0].data = "nvidia:0";
    world->device_names[1].data = "nvidia:1";
    world->device_names[0].len = world->device_names[1].len = 8;
    world->gpu_claim = tern_gpu_claim_init();
    world->gpu_claim.holder = "eve";
    world->gpu_claim.holder_len = 3;
    world->gpu_claim.devices = world->device_names;
    world->gpu_claim.device_count = 2;
    world->gpu_claim_in = &world->gpu_claim;
    world->several[0] = world->several[1] = world->lease;
    world->leases_in = world->several;
    world->callback = ignore_notice;
    world->drop = ignore_drop;
    world->capacity = ROOM;
}

static inline void world_fill_outputs(struct world *world)
{
    struct outputs *out = &world->outputs;
    memset(out, 0xa5, sizeof *out);
    out->manager = NULL;
    out->events = NULL;
    out->deadlocks = NULL;
    out->pool = NULL;
    out->machine = NULL;
    out->ticket_fd = out->events_fd = out->watch_fd = out->children_fd = -1;
    out->event.struct_size = sizeof out->event;
    out->resource_infos[0].struct_size = sizeof out->resource_infos[0];
    out->lease_infos[0].struct_size = sizeof out->lease_infos[0];
    out->takes[0].struct_size = sizeof out->takes[0];
    out->ticket_infos[0].struct_size = sizeof out->ticket_infos[0];
    out->names[0].struct_size = sizeof out->names[0];
    out->waits[0].struct_size = sizeof out->waits[0];
    out->device.struct_size = sizeof out->device;
    out->statuses[0].struct_size = sizeof out->statuses[0];
    out->processes[0].struct_size = sizeof out->processes[0];
    out->host.struct_size = sizeof out->host;
    out->sharers[0].struct_size = sizeof out->sharers[0];
    out->speed.struct_size = sizeof out->speed;
    out->machine_info.struct_size = sizeof out->machine_info;
    out->rate.struct_size = sizeof out->rate;
    out->route.struct_size = sizeof out->route;
    out->verdict.struct_size = sizeof out->verdict;
    out->advice.struct_size = sizeof out->advice;
    memcpy(&world->before, out, sizeof *out);
    world->error = untouched_error();

    world->number = &out->number;
    world->needed = &out->needed;
    world->lease_out = &out->lease;
    world->ticket_out = &out->ticket;
    world->resource_out = &out->resource;
    world->ticket_fd = &out->ticket_fd;
    world->watch_fd = &out->watch_fd;
    world->children_fd = &out->children_fd;
    world->events_fd = &out->events_fd;
    world->manager_out = &out->manager;
    world->events_out = &out->events;
    world->deadlocks_out = &out->deadlocks;
    world->pool_out = &out->pool;
    world->text = out->text;
    world->leases = out->leases;
    world->event = &out->event;
    world->resource_infos = out->resource_infos;
    world->lease_infos = out->lease_infos;
    world->takes = out->takes;
    world->ticket_infos = out->ticket_infos;
    world->names = out->names;
    world->waits = out->waits;
    world->places = out->places;
    world->device = &out->device;
    world->statuses = out->statuses;
    world->processes = out->processes;
    world->host = &out->host;
    world->sharers = out->sharers;
    world->speed = &out->speed;
    world->machine_out = &out->machine;
    world->machine_info = &out->machine_info;
    world->rate = &out->rate;
    world->route_out = &out->route;
    world->verdict = &out->verdict;
    world->advice = &out->advice;
    world->time = &out->time;
    world->cost = &out->cost;
    world->value = &out->value;
    world->wait = &out->wait;
    world->runs = &out->runs;
    world->permille = &out->permille;
    world->trits = out->trits;
    world->err = &world->error;
}

/* Nobody uses the file any more. A process keeps what it has mapped, so that the memory comes back only if the file loses it. */
static inline void remove_shared(const char *path)
{
    if (truncate(path, 0) == 0)
        unlink(path);
}

/* A table that processes may share, with a held lease. Its clock is real, so that only its counters are looked at. */
static inline void world_open_shared(struct world *world)
{
    tern_error_t err;
    static unsigned number;
    tern_options_t options = tern_options_init();
    char url[sizeof world->host_path + 8];
    options.leases = options.tickets = options.resources = options.history = 64;
    snprintf(world->host_path, sizeof world->host_path, "/dev/shm/ternlease-test-%ld-%u", (long)getpid(), number++);
    snprintf(url, sizeof url, "host:%s", world->host_path);
    EXPECT(TERN_OK, tern_manager_open, TERN_STR(url), &options, &world->host_owner);
    world->shared_lease = acquire(world->host_owner, "gpu0", "ann", TERN_FOREVER);
    world->shared_seen = look_at(world->host_owner);
}

static inline int shared_is_unchanged(struct world *world)
{
    struct snapshot now = look_at(world->host_owner);
    return strcmp(now.metrics, world->shared_seen.metrics) == 0;
}

/*
 * Makes the manager: a held lease, a claim in line for it, a want, a deadlock of x and y, events to read; a pool of two devices
 * on a table of its own, one of them leased; a table that is shared; and a machine.
 */
static inline void world_open(struct world *world)
{
    tern_error_t err;
    size_t found = 0;
    memset(world, 0, sizeof *world);
    world->owner = open_small(64, 64, 64, 64);
    EXPECT(TERN_OK, tern_resource_declare, world->owner, TERN_STR("free"), 1, 0, NULL);
    EXPECT(TERN_OK, tern_events_open, world->owner, 0, &world->reader);
    world->lease = acquire(world->owner, "gpu0", "ann", 10);
    world->ticket = enqueue(world->owner, "gpu0", "bob");
    EXPECT(TERN_OK, tern_manager_want, world->owner, TERN_STR("ann"), TERN_STR("free"));
    acquire(world->owner, "p", "x", TERN_FOREVER);
    acquire(world->owner, "q", "y", TERN_FOREVER);
    EXPECT(TERN_OK, tern_manager_want, world->owner, TERN_STR("x"), TERN_STR("q"));
    EXPECT(TERN_OK, tern_manager_want, world->owner, TERN_STR("y"), TERN_STR("p"));
    EXPECT(TERN_OK, tern_deadlocks_find, world->owner, &world->report, &found);
    CHECK_EQ(found, 1);
    world->pool_owner = open_small(64, 64, 64, 64);
    world->gpus = pool_on(world->pool_owner, "fake:2");
    world->gpu_lease = claim_one(world->gpus);
    world_open_shared(world);
    world->computer = read_machine();
    world_fill_inputs(world);
    world_fill_outputs(world);
    world->seen = look_at(world->owner);
    world->pool_seen = look_at(world->pool_owner);
    world->machine_seen = look_at_machine(world->computer);
}

/* No output was written. */
static inline int outputs_are_untouched(const struct world *world)
{
    return memcmp(&world->outputs, &world->before, sizeof world->outputs) == 0;
}

static inline int machine_is_unchanged(const struct world *world)
{
    struct machine_snapshot now = look_at_machine(world->computer);
    return memcmp(&now, &world->machine_seen, sizeof now) == 0;
}

/* The last call has changed nothing: neither the tables nor the machine nor the caller's memory. */
static inline int nothing_happened(struct world *world)
{
    return outputs_are_untouched(world) && is_unchanged(world->owner, &world->seen) &&
           is_unchanged(world->pool_owner, &world->pool_seen) && shared_is_unchanged(world) && machine_is_unchanged(world);
}

/* Gives back what calls have given out. */
static inline void world_close_outputs(struct world *world)
{
    tern_manager_close(world->outputs.manager);
    tern_events_close(world->outputs.events);
    tern_deadlocks_close(world->outputs.deadlocks);
    tern_pool_close(world->outputs.pool);
    tern_machine_close(world->outputs.machine);
    if (world->outputs.ticket_fd != -1)
        close(world->outputs.ticket_fd);
    if (world->outputs.watch_fd != -1)
        close(world->outputs.watch_fd);
    if (world->outputs.children_fd != -1)
        close(world->outputs.children_fd);
}

static inline void world_close(struct world *world)
{
    world_close_outputs(world);
    tern_deadlocks_close(world->report);
    tern_events_close(world->reader);
    tern_machine_close(world->computer);
    tern_manager_close(world->owner);
    tern_pool_close(world->gpus);
    tern_manager_close(world->pool_owner);
    tern_manager_close(world->host_owner);
    remove_shared(world->host_path);
}

#endif
