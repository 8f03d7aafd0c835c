/* Every function that can fail, called with what is in a world; and what its pointers may be. */
#ifndef TERN_TESTS_CALLS_H
#define TERN_TESTS_CALLS_H

#include "world.h"

/* What a call needs first; SHARED is a manager too, of a table that processes share. */
enum need { NO_HANDLE, MANAGER, EVENTS, DEADLOCKS, POOL, MACHINE, SHARED };

enum { POINTERS = 9 };

/* A pointer argument: where it is in a world, and whether NULL is allowed there. */
struct pointer {
    const char *name;
    size_t offset;
    int may_be_null;
};

struct call {
    const char *name;
    int32_t (*run)(struct world *world);
    enum need need;
    /* The status if nothing was changed in the world. */
    int32_t usual;
    struct pointer pointers[POINTERS];
};

/* A status of functions that answer with a trit. */
static inline int32_t status_of_trit(tern_trit_t trit, const struct world *world)
{
    if (trit != TERN_TRIT_UNKNOWN)
        return TERN_OK;
    return world->err ? world->err->status : TERN_ERR_NULL;
}

#define CALL(name, arguments)                                                                                         \
    static int32_t call_##name(struct world *w)                                                                       \
    {                                                                                                                 \
        return tern_##name arguments;                                                                                 \
    }
#define CALL_TRIT(name, arguments)                                                                                    \
    static int32_t call_##name(struct world *w)                                                                       \
    {                                                                                                                 \
        return status_of_trit(tern_##name arguments, w);                                                              \
    }

CALL(abi_check, (TERN_VERSION_NUMBER, w->err))
CALL(manager_open, (w->url, w->url_len, w->options_in, w->manager_out, w->err))
CALL(manager_tick, (w->manager, w->err))
CALL(manager_tick_count, (w->manager, w->number, w->err))
CALL(manager_active_count, (w->manager, w->number, w->err))
CALL(manager_pending_claimers, (w->manager, w->number, w->err))
CALL(manager_revocations, (w->manager, w->number, w->err))
CALL(manager_count, (w->manager, TERN_REASON_RELEASED, w->number, w->err))
CALL(manager_metrics, (w->manager, w->text, w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))
CALL(manager_want, (w->manager, w->holder, w->holder_len, w->resource, w->resource_len, w->err))
CALL(manager_unwant, (w->manager, w->holder, w->holder_len, w->resource, w->resource_len, w->err))
CALL(resource_declare, (w->manager, w->resource, w->resource_len, 1, 0, w->resource_out, w->err))
CALL(resource_set_health, (w->manager, w->resource, w->resource_len, TERN_FAILED, w->err))
CALL(resource_info, (w->manager, w->resource, w->resource_len, w->resource_infos, w->err))
CALL(manager_resources, (w->manager, w->resource_infos, w->capacity, w->needed, w->err))
CALL(resource_leases, (w->manager, w->resource, w->resource_len, w->leases, w->capacity, w->needed, w->err))
CALL(lease_acquire, (w->manager, w->resource, w->resource_len, w->holder, w->holder_len, 5, w->lease_out, w->err))
CALL_TRIT(lease_state, (w->manager, w->lease, w->err))
CALL(lease_renew, (w->manager, w->lease, w->number, w->err))
CALL(lease_renew_for, (w->manager, w->lease, 20, w->number, w->err))
CALL(lease_states, (w->manager, w->leases_in, 2, w->trits, w->err))
CALL(lease_renew_all, (w->manager, w->leases_in, 2, w->needed, w->err))
CALL(lease_release, (w->manager, w->lease, w->err))
CALL(lease_revoke, (w->manager, w->lease, TERN_REASON_QUOTA, w->by, w->by_len, 3, w->number, w->err))
CALL(lease_info, (w->manager, w->lease, w->lease_infos, w->err))
CALL(lease_takes, (w->manager, w->lease, w->takes, w->capacity, w->needed, w->err))
CALL(manager_held_by, (w->manager, w->holder, w->holder_len, w->leases, w->capacity, w->needed, w->err))
CALL(manager_leases, (w->manager, w->lease_infos, w->capacity, w->needed, w->err))
CALL_TRIT(ticket_state, (w->manager, w->ticket, w->err))
CALL(ticket_wait, (w->manager, w->ticket, 0, w->lease_out, w->err))
CALL(ticket_cancel, (w->manager, w->ticket, w->err))
CALL(ticket_fd, (w->manager, w->ticket, w->ticket_fd, w->err))
CALL(ticket_info, (w->manager, w->ticket, w->ticket_infos, w->err))
CALL(ticket_resources, (w->manager, w->ticket, w->names, w->capacity, w->needed, w->err))
CALL(manager_tickets, (w->manager, w->ticket_infos, w->capacity, w->needed, w->err))
CALL(manager_claim, (w->manager, w->claim_in, w->lease_out, w->err))
CALL(manager_enqueue, (w->manager, w->claim_in, w->lease_out, w->ticket_out, w->err))
CALL(lease_watch, (w->manager, w->lease, w->callback, NULL, w->drop, w->err))
CALL(lease_watch_fd, (w->manager, w->lease, w->watch_fd, w->err))
CALL(events_open, (w->manager, 0, w->events_out, w->err))
CALL(deadlocks_find, (w->manager, w->deadlocks_out, w->needed, w->err))
CALL(events_next, (w->events, w->event, w->err))
CALL(events_wait, (w->events, 0, w->err))
CALL(events_fd, (w->events, w->events_fd, w->err))
CALL(deadlocks_victim, (w->deadlocks, 0, w->lease_out, w->err))
CALL(deadlocks_stuck, (w->deadlocks, 0, w->names, w->capacity, w->needed, w->err))
CALL(deadlocks_cycle, (w->deadlocks, 0, w->waits, w->capacity, w->needed, w->err))
CALL(lease_hand_to, (w->shared, w->shared_lease, (uint32_t)getpid(), w->err))
CALL(lease_keep_for_children, (w->shared, w->shared_lease, w->children_fd, w->err))
CALL(manager_host, (w->shared, w->host, w->err))
CALL(manager_processes, (w->shared, w->sharers, w->capacity, w->needed, w->err))
CALL(pool_open, (w->url, w->url_len, w->pool_options_in, w->pool_out, w->err))
CALL(pool_on, (w->manager, w->pool_options_in, w->pool_out, w->err))
CALL(pool_manager, (w->pool, w->manager_out, w->err))
CALL(pool_capacity, (w->pool, w->number, w->err))
CALL(pool_pending_claimers, (w->pool, w->number, w->err))
CALL(pool_absence, (w->pool, w->text, w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))
CALL(pool_device, (w->pool, 0, w->device, w->err))
CALL(pool_device_status, (w->pool, 0, w->statuses, w->err))
CALL(pool_snapshot, (w->pool, w->statuses, w->capacity, w->needed, w->err))
CALL(pool_leases_on, (w->pool, 0, w->leases, w->capacity, w->needed, w->err))
CALL(pool_squatters, (w->pool, 0, w->processes, w->capacity, w->needed, w->err))
CALL(pool_claim, (w->pool, w->gpu_claim_in, w->lease_out, w->err))
CALL(pool_try_claim, (w->pool, w->lease_out, w->err))
CALL(pool_enqueue, (w->pool, w->gpu_claim_in, w->lease_out, w->ticket_out, w->err))
CALL(gpu_lease_devices, (w->pool, w->gpu_lease, w->places, w->capacity, w->needed, w->err))
CALL(gpu_lease_env, (w->pool, w->gpu_lease, 0, w->text, w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))
CALL(gpu_lease_release, (w->pool, w->gpu_lease, w->err))
CALL(gpu_lease_keep_alive, (w->pool, w->gpu_lease, w->err))
CALL(pool_device_speed, (w->pool, 0, w->speed, w->err))
CALL(pool_expected_wait, (w->pool, w->gpu_claim_in, w->wait, w->number, w->err))
CALL(pool_expected_wait_of, (w->pool, 1, w->wait, w->number, w->err))
CALL(learned_record, (w->runs, w->permille, 1000, 2000, w->err))
CALL(machine_read, (w->store, w->store_len, w->machine_options_in, w->machine_out, w->err))
CALL(machine_info, (w->machine, w->machine_info, w->err))
CALL(machine_json, (w->machine, w->text, w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))
CALL(machine_set_gpu_start, (w->machine, 1, 2, 3, w->err))
CALL(machine_rate, (w->machine, TERN_RATE_COPY, w->rate, w->err))
CALL(machine_route, (w->machine, w->route_out, w->err))
CALL(machine_set_route, (w->machine, w->route_in, w->err))
CALL(machine_record_fetch, (w->machine, 1000, 5000000, w->err))
CALL(machine_compute_time, (w->machine, w->task_in, w->time, w->err))
CALL(machine_untaught_time, (w->machine, w->task_in, w->number, w->err))
CALL(machine_fetch_time, (w->machine, 1000, w->time, w->err))
CALL(machine_store_time, (w->machine, 1000, w->time, w->err))
CALL_TRIT(machine_can_store, (w->machine, 1000, w->err))
CALL(machine_suggest_ttl, (w->machine, w->task_in, TERN_SECOND, w->number, w->err))
CALL(machine_etl_buffer, (w->machine, 100, w->number, w->err))
CALL(machine_normalize, (w->machine, 1000, 10, 1, w->cost, w->err))
CALL(machine_cache_value, (w->machine, w->task_in, w->value, w->err))
CALL(machine_verdict, (w->machine, w->task_in, w->verdict, w->err))
CALL(machine_verdict_json, (w->machine, w->task_in, w->text, w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))
CALL(machine_advise, (w->machine, w->task_in, w->pool, w->gpu_claim_in, w->advice, w->err))
CALL(machine_advise_json, (w->machine, w->task_in, w->pool, w->gpu_claim_in, w->text,
                           w->capacity ? sizeof w->outputs.text : 0, w->needed, w->err))

#undef CALL
#undef CALL_TRIT

#define C(name, need, usual, ...) { "tern_" #name, call_##name, need, usual, { __VA_ARGS__ } }
#define MUST(member) { #member, offsetof(struct world, member), 0 }
#define MAY(member) { #member, offsetof(struct world, member), 1 }
#define M MUST(manager)
#define P MUST(pool)
#define S MUST(shared)
#define B MUST(machine)
#define CLAIM MUST(claim_in), MUST(claim.holder), MUST(claim.resources), MUST(texts[1].data)
#define GPU_CLAIM MUST(gpu_claim_in), MUST(gpu_claim.holder), MUST(gpu_claim.devices), MUST(device_names[1].data)

static const struct call calls[] = {
    C(abi_check, NO_HANDLE, TERN_OK, MAY(err)),
    C(manager_open, NO_HANDLE, TERN_OK, MUST(url), MAY(options_in), MUST(manager_out)),
    C(manager_tick, MANAGER, TERN_OK, M),
    C(manager_tick_count, MANAGER, TERN_OK, M, MUST(number)),
    C(manager_active_count, MANAGER, TERN_OK, M, MUST(number)),
    C(manager_pending_claimers, MANAGER, TERN_OK, M, MUST(number)),
    C(manager_revocations, MANAGER, TERN_OK, M, MUST(number)),
    C(manager_count, MANAGER, TERN_OK, M, MUST(number)),
    C(manager_metrics, MANAGER, TERN_OK, M, MUST(text), MAY(needed)),
    C(manager_want, MANAGER, TERN_OK, M, MUST(holder), MUST(resource)),
    C(manager_unwant, MANAGER, TERN_OK, M, MUST(holder), MUST(resource)),
    C(resource_declare, MANAGER, TERN_OK, M, MUST(resource), MAY(resource_out)),
    C(resource_set_health, MANAGER, TERN_OK, M, MUST(resource)),
    C(resource_info, MANAGER, TERN_OK, M, MUST(resource), MUST(resource_infos)),
    C(manager_resources, MANAGER, TERN_OK, M, MUST(resource_infos), MAY(needed)),
    C(resource_leases, MANAGER, TERN_OK, M, MUST(resource), MUST(leases), MAY(needed)),
    C(lease_acquire, MANAGER, TERN_OK, M, MUST(resource), MUST(holder), MUST(lease_out)),
    C(lease_state, MANAGER, TERN_OK, M),
    C(lease_renew, MANAGER, TERN_OK, M, MAY(number)),
    C(lease_renew_for, MANAGER, TERN_OK, M, MAY(number)),
    C(lease_states, MANAGER, TERN_OK, M, MUST(leases_in), MUST(trits)),
    C(lease_renew_all, MANAGER, TERN_OK, M, MUST(leases_in), MAY(needed)),
    C(lease_release, MANAGER, TERN_OK, M),
    C(lease_revoke, MANAGER, TERN_OK, M, MUST(by), MAY(number)),
    C(lease_info, MANAGER, TERN_OK, M, MUST(lease_infos)),
    C(lease_takes, MANAGER, TERN_OK, M, MUST(takes), MAY(needed)),
    C(manager_held_by, MANAGER, TERN_OK, M, MUST(holder), MUST(leases), MAY(needed)),
    C(manager_leases, MANAGER, TERN_OK, M, MUST(lease_infos), MAY(needed)),
    C(ticket_state, MANAGER, TERN_OK, M),
    C(ticket_wait, MANAGER, TERN_WAITING, M, MUST(lease_out)),
    C(ticket_cancel, MANAGER, TERN_OK, M),
    C(ticket_fd, MANAGER, TERN_OK, M, MUST(ticket_fd)),
    C(ticket_info, MANAGER, TERN_OK, M, MUST(ticket_infos)),
    C(ticket_resources, MANAGER, TERN_OK, M, MUST(names), MAY(needed)),
    C(manager_tickets, MANAGER, TERN_OK, M, MUST(ticket_infos), MAY(needed)),
    C(manager_claim, MANAGER, TERN_OK, M, CLAIM, MUST(lease_out)),
    C(manager_enqueue, MANAGER, TERN_OK, M, CLAIM, MUST(lease_out), MUST(ticket_out)),
    C(lease_watch, MANAGER, TERN_OK, M, MUST(callback), MAY(drop)),
    C(lease_watch_fd, MANAGER, TERN_OK, M, MUST(watch_fd)),
    C(events_open, MANAGER, TERN_OK, M, MUST(events_out)),
    C(deadlocks_find, MANAGER, TERN_OK, M, MUST(deadlocks_out), MAY(needed)),
    C(events_next, EVENTS, TERN_OK, MUST(events), MUST(event)),
    C(events_wait, EVENTS, TERN_OK, MUST(events)),
    C(events_fd, EVENTS, TERN_OK, MUST(events), MUST(events_fd)),
    C(deadlocks_victim, DEADLOCKS, TERN_OK, MUST(deadlocks), MUST(lease_out)),
    C(deadlocks_stuck, DEADLOCKS, TERN_OK, MUST(deadlocks), MUST(names), MAY(needed)),
    C(deadlocks_cycle, DEADLOCKS, TERN_OK, MUST(deadlocks), MUST(waits), MAY(needed)),
    C(lease_hand_to, SHARED, TERN_OK, S),
    C(lease_keep_for_children, SHARED, TERN_OK, S, MUST(children_fd)),
    C(manager_host, SHARED, TERN_OK, S, MUST(host)),
    C(manager_processes, SHARED, TERN_OK, S, MUST(sharers), MAY(needed)),
    C(pool_open, NO_HANDLE, TERN_OK, MUST(url), MAY(pool_options_in), MUST(pool_options.devices), MUST(pool_out)),
    C(pool_on, MANAGER, TERN_OK, M, MAY(pool_options_in), MUST(pool_options.devices), MUST(pool_out)),
    C(pool_manager, POOL, TERN_OK, P, MUST(manager_out)),
    C(pool_capacity, POOL, TERN_OK, P, MUST(number)),
    C(pool_pending_claimers, POOL, TERN_OK, P, MUST(number)),
    C(pool_absence, POOL, TERN_OK, P, MUST(text), MAY(needed)),
    C(pool_device, POOL, TERN_OK, P, MUST(device)),
    C(pool_device_status, POOL, TERN_OK, P, MUST(statuses)),
    C(pool_snapshot, POOL, TERN_OK, P, MUST(statuses), MAY(needed)),
    C(pool_leases_on, POOL, TERN_OK, P, MUST(leases), MAY(needed)),
    C(pool_squatters, POOL, TERN_OK, P, MUST(processes), MAY(needed)),
    C(pool_claim, POOL, TERN_OK, P, GPU_CLAIM, MUST(lease_out)),
    C(pool_try_claim, POOL, TERN_OK, P, MUST(lease_out)),
    C(pool_enqueue, POOL, TERN_OK, P, GPU_CLAIM, MUST(lease_out), MUST(ticket_out)),
    C(gpu_lease_devices, POOL, TERN_OK, P, MUST(places), MAY(needed)),
    C(gpu_lease_env, POOL, TERN_OK, P, MUST(text), MAY(needed)),
    C(gpu_lease_release, POOL, TERN_OK, P),
    /* Not with a clock that counts ticks. */
    C(gpu_lease_keep_alive, POOL, TERN_ERR_BAD_VALUE, P),
    C(pool_device_speed, POOL, TERN_OK, P, MUST(speed)),
    C(pool_expected_wait, POOL, TERN_OK, P, GPU_CLAIM, MUST(wait), MAY(number)),
    C(pool_expected_wait_of, POOL, TERN_ERR_UNKNOWN_TICKET, P, MUST(wait)),
    C(learned_record, NO_HANDLE, TERN_OK, MUST(runs), MUST(permille)),
    C(machine_read, NO_HANDLE, TERN_OK, MUST(store), MAY(machine_options_in), MUST(machine_options.cache_file), MUST(machine_out)),
    C(machine_info, MACHINE, TERN_OK, B, MUST(machine_info)),
    C(machine_json, MACHINE, TERN_OK, B, MUST(text), MAY(needed)),
    C(machine_set_gpu_start, MACHINE, TERN_OK, B),
    C(machine_rate, MACHINE, TERN_OK, B, MUST(rate)),
    C(machine_route, MACHINE, TERN_OK, B, MUST(route_out)),
    C(machine_set_route, MACHINE, TERN_OK, B, MAY(route_in)),
    C(machine_record_fetch, MACHINE, TERN_OK, B),
    C(machine_compute_time, MACHINE, TERN_OK, B, MUST(task_in), MUST(time)),
    C(machine_untaught_time, MACHINE, TERN_OK, B, MUST(task_in), MUST(number)),
    C(machine_fetch_time, MACHINE, TERN_OK, B, MUST(time)),
    C(machine_store_time, MACHINE, TERN_OK, B, MUST(time)),
    C(machine_can_store, MACHINE, TERN_OK, B),
    C(machine_suggest_ttl, MACHINE, TERN_OK, B, MUST(task_in), MUST(number)),
    C(machine_etl_buffer, MACHINE, TERN_OK, B, MUST(number)),
    C(machine_normalize, MACHINE, TERN_OK, B, MUST(cost)),
    C(machine_cache_value, MACHINE, TERN_OK, B, MUST(task_in), MUST(value)),
    C(machine_verdict, MACHINE, TERN_OK, B, MUST(task_in), MUST(verdict)),
    C(machine_verdict_json, MACHINE, TERN_OK, B, MUST(task_in), MUST(text), MAY(needed)),
    C(machine_advise, MACHINE, TERN_OK, B, MUST(task_in), P, GPU_CLAIM, MUST(advice)),
    C(machine_advise_json, MACHINE, TERN_OK, B, MUST(task_in), P, GPU_CLAIM, MUST(text), MAY(needed)),
};

#undef C
#undef MUST
#undef MAY
#undef M
#undef P
#undef S
#undef B
#undef CLAIM
#undef GPU_CLAIM

enum { CALLS = sizeof calls / sizeof calls[0] };

/* The last call with the world gave this status, in both ways. */
static inline void check_call_at(const char *file, int line, const struct call *call, struct world *world, int32_t is, int32_t should)
{
    char text[128];
    snprintf(text, sizeof text, "%s gives the status %d", call->name, (int)should);
    check_status(is, should, &world->error, file, line, text);
}

/* The call gives this status, and has not done anything. */
static inline void check_refused_at(const char *file, int line, const struct call *call, struct world *world, int32_t status)
{
    check_call_at(file, line, call, world, call->run(world), status);
    check(nothing_happened(world), &world->error, file, line, "nothing was changed");
    world->error = untouched_error();
}

#define check_call(call, world, is, should) check_call_at(__FILE__, __LINE__, call, world, is, should)
#define check_refused(call, world, status) check_refused_at(__FILE__, __LINE__, call, world, status)

#endif
