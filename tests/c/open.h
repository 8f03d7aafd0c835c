/* Short ways to what most tests begin with: a manager, a lease, a claim. Each has an `err` of its own: threads call them. */
#ifndef TERN_TESTS_OPEN_H
#define TERN_TESTS_OPEN_H

#include "check.h"

static inline tern_manager_t *open_with(const tern_options_t *options)
{
    tern_error_t err;
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_manager_open, TERN_STR("process:"), options, &manager);
    CHECK(manager != NULL);
    return manager;
}

/* With a real clock. */
static inline tern_manager_t *open_real(void)
{
    return open_with(NULL);
}

/* With a clock that counts ticks, so that a test decides what time it is; and further TERN_OPTION_ flags. */
static inline tern_manager_t *open_ticks(uint64_t flags)
{
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS | flags;
    return open_with(&options);
}

/* One that soon forgets, or is soon full. */
static inline tern_manager_t *open_small(uint32_t leases, uint32_t tickets, uint32_t resources, uint32_t history)
{
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS;
    options.leases = leases;
    options.tickets = tickets;
    options.resources = resources;
    options.history = history;
    return open_with(&options);
}

/* Options for a pool of these devices: "fake:2", "none". */
static inline tern_pool_options_t devices_of(const char *devices)
{
    tern_pool_options_t options = tern_pool_options_init();
    options.devices = devices;
    options.devices_len = strlen(devices);
    return options;
}

/* A pool of these devices, with a table of its own and a real clock. */
static inline tern_pool_t *open_pool(const char *devices)
{
    tern_error_t err;
    tern_pool_t *pool = NULL;
    tern_pool_options_t options = devices_of(devices);
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &options, &pool);
    CHECK(pool != NULL);
    return pool;
}

/* One on the table of a manager. */
static inline tern_pool_t *pool_on(const tern_manager_t *manager, const char *devices)
{
    tern_error_t err;
    tern_pool_t *pool = NULL;
    tern_pool_options_t options = devices_of(devices);
    EXPECT(TERN_OK, tern_pool_on, manager, &options, &pool);
    CHECK(pool != NULL);
    return pool;
}

/* Any one device, which is free. */
static inline tern_lease_t claim_one(const tern_pool_t *pool)
{
    tern_error_t err;
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_pool_try_claim, pool, &lease);
    CHECK(lease != 0);
    return lease;
}

/* How a machine is read that nobody measures: in no time, and always the same way. */
static inline tern_machine_options_t no_benchmarks(void)
{
    tern_machine_options_t options = tern_machine_options_init();
    options.flags = TERN_MACHINE_NO_BENCHMARKS | TERN_MACHINE_NO_NETWORK;
    return options;
}

/* This machine, not measured, with a network of 1 Gbit/s and 2 ms there and back. */
static inline tern_machine_t *read_machine(void)
{
    tern_error_t err;
    tern_machine_t *machine = NULL;
    tern_machine_options_t options = no_benchmarks();
    tern_route_t route = tern_route_init();
    route.round_trip_ns = 2000000;
    route.bytes_per_second = 125000000;
    EXPECT(TERN_OK, tern_machine_read, TERN_STR("/"), &options, &machine);
    CHECK(machine != NULL);
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    return machine;
}

static inline tern_task_t task_of(tern_cost_t cost, int32_t kind)
{
    tern_task_t task = tern_task_init();
    task.cost = cost;
    task.kind = kind;
    return task;
}

static inline tern_lease_t acquire(const tern_manager_t *manager, const char *resource, const char *holder, uint64_t ttl)
{
    tern_error_t err;
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_lease_acquire, manager, TERN_STR(resource), TERN_STR(holder), ttl, &lease);
    CHECK(lease != 0);
    return lease;
}

/* A claim without end, which does not wait. */
static inline tern_claim_t claim_of(const char *holder, const tern_text_t *resources, size_t count)
{
    tern_claim_t claim = tern_claim_init();
    claim.holder = holder;
    claim.holder_len = strlen(holder);
    claim.resources = resources;
    claim.resource_count = count;
    claim.ttl = TERN_FOREVER;
    return claim;
}

/* A claim on one resource that cannot be granted now and waits for ever. */
static inline tern_ticket_t enqueue(const tern_manager_t *manager, const char *resource, const char *holder)
{
    tern_text_t wanted = { TERN_STR(resource) };
    tern_claim_t claim = claim_of(holder, &wanted, 1);
    tern_lease_t lease = 0;
    tern_ticket_t ticket = 0;
    tern_error_t err;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    CHECK(lease == 0 && ticket != 0);
    return ticket;
}

static inline void tick(const tern_manager_t *manager, int times)
{
    tern_error_t err;
    while (times-- > 0)
        EXPECT(TERN_OK, tern_manager_tick, manager);
}

/* Waits until a manager's real clock shows this time. */
static inline void wait_until(const tern_manager_t *manager, uint64_t time)
{
    uint64_t now = 0;
    while (now < time && tern_manager_tick_count(manager, &now, NULL) == TERN_OK)
        ;
}

/* Waits until so many claims stand in line. */
static inline void wait_for_line(const tern_manager_t *manager, uint64_t length)
{
    uint64_t waiting = 0;
    while (waiting < length && tern_manager_pending_claimers(manager, &waiting, NULL) == TERN_OK)
        ;
}

/* Numbers that a manager tells. */
#define NUMBER(name)                                                                                                  \
    static inline uint64_t name(const tern_manager_t *manager)                                                        \
    {                                                                                                                 \
        tern_error_t err;                                                                                             \
        uint64_t number = UINT64_MAX;                                                                                 \
        EXPECT(TERN_OK, tern_manager_##name, manager, &number);                                                       \
        return number;                                                                                                \
    }
NUMBER(tick_count)
NUMBER(active_count)
NUMBER(pending_claimers)
NUMBER(revocations)
#undef NUMBER

static inline uint64_t count_of(const tern_manager_t *manager, int32_t reason)
{
    tern_error_t err;
    uint64_t number = UINT64_MAX;
    EXPECT(TERN_OK, tern_manager_count, manager, reason, &number);
    return number;
}

/* All counters of a manager that counts ticks, as text: two that are the same mean that nothing has changed. */
struct snapshot {
    uint64_t tick;
    char metrics[4096];
};

static inline struct snapshot look_at(const tern_manager_t *manager)
{
    tern_error_t err;
    struct snapshot seen;
    memset(&seen, 0, sizeof seen);
    EXPECT(TERN_OK, tern_manager_metrics, manager, seen.metrics, sizeof seen.metrics, NULL);
    seen.tick = tick_count(manager);
    return seen;
}

static inline int is_unchanged(const tern_manager_t *manager, const struct snapshot *before)
{
    struct snapshot now = look_at(manager);
    return memcmp(&now, before, sizeof now) == 0;
}

#endif
