/* Looking: what there is to know about leases, tickets and deadlocks. */
#include "driver.h"

#include <inttypes.h>

static void print_flags(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } known[] = { { TERN_LEASE_REVOKING, "revoking" },
                  { TERN_LEASE_SPARE, "spare" },
                  { TERN_LEASE_PREEMPTIBLE, "preemptible" },
                  { TERN_LEASE_SHARED, "shared" } };
    const char *between = "";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (flags & known[i].flag) {
            printf("%s%s", between, known[i].name);
            between = ",";
        }
    if (*between == '\0')
        printf("-");
}

static bool run_info(struct step *step)
{
    static tern_take_t takes[LONGEST_LIST];
    const char *label = next_word(step);
    tern_lease_info_t info = tern_lease_info_init();
    size_t count = 0;
    if (label == NULL)
        return false;
    takes[0] = tern_take_init();
    tern_status_t status = tern_lease_info(world.manager, lease_of(label), &info, &world.err);
    if (status == TERN_OK)
        status = tern_lease_takes(world.manager, lease_of(label), takes, LONGEST_LIST, &count, &world.err);
    if (!answer(status))
        return true;
    printf(" state=");
    print_trit(info.state);
    printf(" holder=%s ttl=", info.holder);
    print_number(info.ttl);
    printf(" granted=%" PRIu64 " end=", info.granted_at);
    print_number(info.end);
    printf(" reason=%s priority=%" PRId32 " flags=", tern_reason_name(info.reason), info.priority);
    print_flags(info.flags);
    printf(" parent=");
    print_lease(info.parent);
    printf(" by=");
    print_text(info.revoker);
    printf(" takes=%s", count == 0 ? "-" : "");
    for (size_t i = 0; i < count; i++)
        printf("%s%s:%" PRIu32 ":%" PRIu32, i == 0 ? "" : ",", takes[i].resource, takes[i].slots, takes[i].memory_mib);
    return true;
}

static void print_names(const tern_name_t *names, size_t count)
{
    if (count == 0)
        printf("-");
    for (size_t i = 0; i < count; i++)
        printf("%s%s", i == 0 ? "" : ",", names[i].text);
}

static bool run_ticket_info(struct step *step)
{
    static tern_name_t names[LONGEST_LIST];
    const char *label = next_word(step);
    tern_ticket_info_t info = tern_ticket_info_init();
    size_t count = 0;
    if (label == NULL)
        return false;
    names[0] = tern_name_init();
    tern_status_t status = tern_ticket_info(world.manager, ticket_of(label), &info, &world.err);
    if (status == TERN_OK)
        status = tern_ticket_resources(world.manager, ticket_of(label), names, LONGEST_LIST, &count, &world.err);
    if (!answer(status))
        return true;
    printf(" holder=%s place=%" PRIu32 " queued=%" PRIu64 " count=%" PRIu32 " of=", info.holder, info.place,
           info.queued_at, info.count);
    print_names(names, count);
    printf(" priority=%" PRId32, info.priority);
    return true;
}

static bool run_on(struct step *step)
{
    const char *resource = next_word(step);
    tern_lease_t leases[LONGEST_LIST];
    size_t count = 0;
    if (resource == NULL)
        return false;
    if (answer(tern_resource_leases(world.manager, TERN_STR(resource), leases, LONGEST_LIST, &count, &world.err)))
        print_leases(leases, count);
    return true;
}

static bool run_held(struct step *step)
{
    const char *holder = next_word(step);
    tern_lease_t leases[LONGEST_LIST];
    size_t count = 0;
    if (holder == NULL)
        return false;
    if (answer(tern_manager_held_by(world.manager, TERN_STR(holder), leases, LONGEST_LIST, &count, &world.err)))
        print_leases(leases, count);
    return true;
}

static bool run_leases(struct step *step)
{
    static tern_lease_info_t infos[LONGEST_LIST];
    size_t count = 0;
    (void)step;
    infos[0] = tern_lease_info_init();
    if (!answer(tern_manager_leases(world.manager, infos, LONGEST_LIST, &count, &world.err)))
        return true;
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++) {
        printf(" ");
        print_lease(infos[i].lease);
    }
    return true;
}

static bool run_tickets(struct step *step)
{
    static tern_ticket_info_t infos[LONGEST_LIST];
    size_t count = 0;
    (void)step;
    infos[0] = tern_ticket_info_init();
    if (!answer(tern_manager_tickets(world.manager, infos, LONGEST_LIST, &count, &world.err)))
        return true;
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++) {
        printf(" ");
        print_ticket(infos[i].ticket);
    }
    return true;
}

/* One deadlock, as " victim=... stuck=... cycle=...". */
static void print_deadlock(const tern_deadlocks_t *found, size_t index)
{
    static tern_name_t names[LONGEST_LIST];
    static tern_wait_t waits[LONGEST_LIST];
    tern_lease_t victim = 0;
    size_t stuck = 0, steps = 0;
    names[0] = tern_name_init();
    waits[0] = tern_wait_init();
    if (tern_deadlocks_victim(found, index, &victim, &world.err) != TERN_OK ||
        tern_deadlocks_stuck(found, index, names, LONGEST_LIST, &stuck, &world.err) != TERN_OK ||
        tern_deadlocks_cycle(found, index, waits, LONGEST_LIST, &steps, &world.err) != TERN_OK) {
        printf(" %s", tern_status_name(world.err.status));
        return;
    }
    printf(" victim=");
    print_lease(victim);
    printf(" stuck=");
    print_names(names, stuck);
    printf(" cycle=");
    for (size_t i = 0; i < steps; i++) {
        printf("%s%s:", i == 0 ? "" : ",", waits[i].worker);
        print_ticket(waits[i].ticket);
        printf(">");
        print_lease(waits[i].lease);
    }
}

static bool run_deadlocks(struct step *step)
{
    tern_deadlocks_t *found = NULL;
    size_t count = 0;
    (void)step;
    if (!answer(tern_deadlocks_find(world.manager, &found, &count, &world.err)))
        return true;
    if (count == 0)
        printf(" -");
    for (size_t i = 0; i < count; i++) {
        printf(i == 0 ? "" : " ;");
        print_deadlock(found, i);
    }
    tern_deadlocks_close(found);
    return true;
}

const struct verb look_verbs[] = {
    { "info", A_MANAGER, run_info },
    { "ticket-info", A_MANAGER, run_ticket_info },
    { "on", A_MANAGER, run_on },
    { "held", A_MANAGER, run_held },
    { "leases", A_MANAGER, run_leases },
    { "tickets", A_MANAGER, run_tickets },
    { "deadlocks", A_MANAGER, run_deadlocks },
    { NULL, NOTHING, NULL },
};
