/* Costs, what was learned of them, and what follows for a machine. */
#include "driver.h"

#include <inttypes.h>

static bool next_cost(struct step *step, tern_cost_t *cost)
{
    return next_number(step, UINT64_MAX, &cost->flops) && next_number(step, UINT64_MAX, &cost->mem_bytes) &&
           next_number(step, UINT64_MAX, &cost->peak_mem) && next_number(step, UINT64_MAX, &cost->result_bytes);
}

static bool next_numbers(struct step *step, int count, uint64_t *numbers)
{
    for (int i = 0; i < count; i++)
        if (!next_number(step, UINT64_MAX, &numbers[i]))
            return false;
    return true;
}

static bool is(const char *one, const char *other)
{
    return strcmp(one, other) == 0;
}

static bool read_cost(struct step *step, tern_cost_t *cost)
{
    const char *of = next_word(step);
    uint64_t n[4];
    tern_cost_t a, b;
    if (of == NULL)
        return false;
    if (is(of, "scan") && next_numbers(step, 2, n))
        *cost = tern_cost_scan(n[0], n[1]);
    else if (is(of, "sort") && next_numbers(step, 3, n))
        *cost = tern_cost_sort(n[0], n[1], n[2]);
    else if (is(of, "hash") && next_numbers(step, 1, n))
        *cost = tern_cost_hash(n[0]);
    else if (is(of, "matmul") && next_numbers(step, 4, n))
        *cost = tern_cost_matmul(n[0], n[1], n[2], n[3]);
    else if (is(of, "etl") && next_numbers(step, 4, n))
        *cost = tern_cost_etl(n[0], n[1], n[2], n[3]);
    else if (is(of, "copy") && next_numbers(step, 1, n))
        *cost = tern_cost_copy(n[0]);
    else if (is(of, "then") && next_cost(step, &a) && next_cost(step, &b))
        *cost = tern_cost_then(a, b);
    else if (is(of, "par") && next_cost(step, &a) && next_cost(step, &b))
        *cost = tern_cost_par(a, b);
    else if (is(of, "both") && next_cost(step, &a) && next_cost(step, &b))
        *cost = tern_cost_both(a, b);
    else if (is(of, "repeat") && next_cost(step, &a) && next_numbers(step, 1, n))
        *cost = tern_cost_repeat(a, n[0]);
    else
        return false;
    return true;
}

static bool run_cost(struct step *step)
{
    tern_cost_t cost;
    if (!read_cost(step, &cost))
        return false;
    printf("OK %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, cost.flops, cost.mem_bytes, cost.peak_mem,
           cost.result_bytes);
    return true;
}

static bool run_nanoseconds(struct step *step)
{
    uint64_t n[2];
    if (!next_numbers(step, 2, n))
        return false;
    printf("OK ");
    print_number(tern_nanoseconds(n[0], n[1]));
    return true;
}

static bool run_learned(struct step *step)
{
    uint64_t runs, permille, n[2];
    if (!next_number(step, UINT32_MAX, &runs) || !next_number(step, UINT32_MAX, &permille) || !next_numbers(step, 2, n))
        return false;
    uint32_t new_runs = (uint32_t)runs, new_permille = (uint32_t)permille;
    if (answer(tern_learned_record(&new_runs, &new_permille, n[0], n[1], &world.err)))
        printf(" %" PRIu32 " %" PRIu32, new_runs, new_permille);
    return true;
}

static bool run_machine(struct step *step)
{
    tern_machine_options_t options = tern_machine_options_init();
    (void)step;
    options.flags = TERN_MACHINE_NO_BENCHMARKS | TERN_MACHINE_NO_NETWORK;
    tern_machine_close(world.machine);
    world.machine = NULL;
    return answered(tern_machine_read(TERN_STR("."), &options, &world.machine, &world.err));
}

static bool run_route(struct step *step)
{
    const char *first = next_word(step);
    tern_route_t route = tern_route_init();
    uint64_t hits;
    if (first == NULL)
        return false;
    if (is(first, "none"))
        return answered(tern_machine_set_route(world.machine, NULL, &world.err));
    if (!is_number(first, UINT64_MAX, &route.round_trip_ns) ||
        !next_number(step, UINT64_MAX, &route.bytes_per_second) || !next_number(step, UINT32_MAX, &hits))
        return false;
    route.hits_permille = (uint32_t)hits;
    return answered(tern_machine_set_route(world.machine, &route, &world.err));
}

static bool run_verdict(struct step *step)
{
    tern_task_t task = tern_task_init();
    tern_verdict_t verdict = tern_verdict_init();
    uint64_t kind;
    if (!next_cost(step, &task.cost))
        return false;
    for (char *word; (word = next_word(step)) != NULL;)
        if (value_of(word, "kind") != NULL && is_number(value_of(word, "kind"), INT32_MAX, &kind))
            task.kind = (int32_t)kind;
        else if (!is_u32(word, "threads", &task.threads))
            return false;
    if (!answer(tern_machine_verdict(world.machine, &task, &verdict, &world.err)))
        return true;
    for (char *blank; (blank = strchr(verdict.words, ' ')) != NULL;)
        *blank = '_';
    printf(" ");
    print_trit(verdict.trit);
    printf(" %s", verdict.words);
    return true;
}

const struct verb cost_verbs[] = {
    { "cost", NOTHING, run_cost },
    { "nanoseconds", NOTHING, run_nanoseconds },
    { "learned", NOTHING, run_learned },
    { "machine", NOTHING, run_machine },
    { "route", A_MACHINE, run_route },
    { "verdict", A_MACHINE, run_verdict },
    { NULL, NOTHING, NULL },
};
