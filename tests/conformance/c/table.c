/* Managers: opening and closing, time, resources, counters. */
#include "driver.h"

#include <inttypes.h>

void close_table(void)
{
    tern_pool_close(world.pool);
    tern_events_close(world.events);
    tern_manager_close(world.manager);
    world.pool = NULL;
    world.events = NULL;
    world.manager = NULL;
    close_watches();
}

static bool run_open(struct step *step)
{
    const char *url = next_word(step);
    tern_options_t options = tern_options_init();
    if (url == NULL)
        return false;
    for (char *word; (word = next_word(step)) != NULL;)
        if (strcmp(word, "ticks") == 0)
            options.flags |= TERN_OPTION_TICKS;
        else if (strcmp(word, "open-house") == 0)
            options.flags |= TERN_OPTION_OPEN_HOUSE;
        else if (strcmp(word, "break-deadlocks") == 0)
            options.flags |= TERN_OPTION_BREAK_DEADLOCKS;
        else if (!is_u32(word, "leases", &options.leases) && !is_u32(word, "tickets", &options.tickets) &&
                 !is_u32(word, "resources", &options.resources) && !is_u32(word, "history", &options.history))
            return false;
    close_table();
    return answered(tern_manager_open(TERN_STR(url), &options, &world.manager, &world.err));
}

static bool run_close(struct step *step)
{
    (void)step;
    close_table();
    printf("OK");
    return true;
}

static bool run_tick(struct step *step)
{
    const char *times = next_word(step);
    uint64_t left = 1, now = 0;
    if (times != NULL && !is_number(times, UINT32_MAX, &left))
        return false;
    tern_status_t status = TERN_OK;
    while (left-- > 0 && status == TERN_OK)
        status = tern_manager_tick(world.manager, &world.err);
    if (status == TERN_OK)
        status = tern_manager_tick_count(world.manager, &now, &world.err);
    if (answer(status))
        printf(" %" PRIu64, now);
    return true;
}

static bool run_declare(struct step *step)
{
    const char *name = next_word(step);
    uint64_t slots, memory;
    if (name == NULL || !next_number(step, UINT32_MAX, &slots) || !next_number(step, UINT32_MAX, &memory))
        return false;
    return answered(tern_resource_declare(world.manager, TERN_STR(name), (uint32_t)slots, (uint32_t)memory, NULL,
                                          &world.err));
}

static bool run_health(struct step *step)
{
    const char *name = next_word(step);
    tern_trit_t health;
    if (name == NULL || !next_trit(step, &health))
        return false;
    return answered(tern_resource_set_health(world.manager, TERN_STR(name), health, &world.err));
}

static bool run_resource(struct step *step)
{
    const char *name = next_word(step);
    tern_resource_info_t info = tern_resource_info_init();
    if (name == NULL)
        return false;
    if (!answer(tern_resource_info(world.manager, TERN_STR(name), &info, &world.err)))
        return true;
    printf(" slots=%" PRIu32 "/%" PRIu32 " memory=%" PRIu32 "/%" PRIu32 " shared=%" PRIu32 " health=", info.used_slots,
           info.slots, info.used_memory_mib, info.memory_mib, info.shared);
    print_trit(info.health);
    printf(" declared=%s", info.declared ? "yes" : "no");
    return true;
}

static bool run_resources(struct step *step)
{
    static tern_resource_info_t infos[LONGEST_LIST];
    size_t count = 0;
    (void)step;
    infos[0] = tern_resource_info_init();
    if (!answer(tern_manager_resources(world.manager, infos, LONGEST_LIST, &count, &world.err)))
        return true;
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++)
        printf(" %s", infos[i].name);
    return true;
}

static bool run_counts(struct step *step)
{
    uint64_t active = 0, pending = 0, revocations = 0;
    (void)step;
    tern_status_t status = tern_manager_active_count(world.manager, &active, &world.err);
    if (status == TERN_OK)
        status = tern_manager_pending_claimers(world.manager, &pending, &world.err);
    if (status == TERN_OK)
        status = tern_manager_revocations(world.manager, &revocations, &world.err);
    if (answer(status))
        printf(" active=%" PRIu64 " pending=%" PRIu64 " revocations=%" PRIu64, active, pending, revocations);
    return true;
}

static bool run_counted(struct step *step)
{
    int32_t reason;
    uint64_t count = 0;
    if (!next_reason(step, &reason))
        return false;
    if (answer(tern_manager_count(world.manager, reason, &count, &world.err)))
        printf(" %" PRIu64, count);
    return true;
}

static bool run_processes(struct step *step)
{
    size_t count = 0;
    (void)step;
    /* A capacity of 0 only counts, so that there is always more. */
    tern_status_t status = tern_manager_processes(world.manager, NULL, 0, &count, &world.err);
    if (answer(status == TERN_MORE ? TERN_OK : status))
        printf(" %zu", count);
    return true;
}

const struct verb table_verbs[] = {
    { "open", NOTHING, run_open },
    { "close", NOTHING, run_close },
    { "tick", A_MANAGER, run_tick },
    { "declare", A_MANAGER, run_declare },
    { "health", A_MANAGER, run_health },
    { "resource", A_MANAGER, run_resource },
    { "resources", A_MANAGER, run_resources },
    { "counts", A_MANAGER, run_counts },
    { "counted", A_MANAGER, run_counted },
    { "processes", A_MANAGER, run_processes },
    { NULL, NOTHING, NULL },
};
