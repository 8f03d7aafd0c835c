/* Leases and tickets: asking for them, keeping them, ending them. */
#include "driver.h"

static bool run_acquire(struct step *step)
{
    const char *label = next_word(step), *resource = next_word(step), *holder = next_word(step);
    uint64_t ttl;
    tern_lease_t lease = 0;
    if (!next_number(step, UINT64_MAX, &ttl))
        return false;
    if (answer(tern_lease_acquire(world.manager, TERN_STR(resource), TERN_STR(holder), ttl, &lease, &world.err)))
        give_label(label, lease, 0);
    return true;
}

/* What a claim or a claim in line says; its label, or NULL if it makes no sense. */
static const char *read_claim(struct step *step, tern_claim_t *claim)
{
    static struct list resources;
    struct wants wants = { 0, 0, 0, 0, 0, 0, 0, 0 };
    const char *label = next_word(step), *holder = next_word(step);
    *claim = tern_claim_init();
    if (!next_number(step, UINT64_MAX, &claim->ttl))
        return NULL;
    char *names = next_word(step);
    if (names == NULL || !split(names, &resources))
        return NULL;
    for (char *word; (word = next_word(step)) != NULL;)
        if (!is_want(word, &wants))
            return NULL;
    claim->holder = holder;
    claim->holder_len = strlen(holder);
    claim->resources = resources.texts;
    claim->resource_count = resources.count;
    claim->count = wants.count;
    claim->slots = wants.slots;
    claim->memory_mib = wants.memory_mib;
    claim->priority = wants.priority;
    claim->notice = wants.notice;
    claim->wait = wants.wait;
    claim->flags = wants.flags;
    claim->parent = wants.parent;
    return label;
}

static bool run_claim(struct step *step)
{
    tern_claim_t claim;
    tern_lease_t lease = 0;
    const char *label = read_claim(step, &claim);
    if (label == NULL)
        return false;
    if (answer(tern_manager_claim(world.manager, &claim, &lease, &world.err)))
        give_label(label, lease, 0);
    return true;
}

static bool run_enqueue(struct step *step)
{
    tern_claim_t claim;
    tern_lease_t lease = 0;
    tern_ticket_t ticket = 0;
    const char *label = read_claim(step, &claim);
    if (label == NULL)
        return false;
    tern_status_t status = tern_manager_enqueue(world.manager, &claim, &lease, &ticket, &world.err);
    if (answer(status) || status == TERN_WAITING)
        give_label(label, lease, ticket);
    return true;
}

static bool run_wait(struct step *step)
{
    const char *label = next_word(step);
    uint64_t timeout_us;
    tern_lease_t lease = 0;
    if (!next_milliseconds(step, &timeout_us))
        return false;
    if (answer(tern_ticket_wait(world.manager, ticket_of(label), timeout_us, &lease, &world.err)))
        note_grant(ticket_of(label), lease);
    return true;
}

static bool run_cancel(struct step *step)
{
    const char *label = next_word(step);
    return label != NULL && answered(tern_ticket_cancel(world.manager, ticket_of(label), &world.err));
}

static bool run_ticket(struct step *step)
{
    const char *label = next_word(step);
    if (label == NULL)
        return false;
    print_trit(tern_ticket_state(world.manager, ticket_of(label), NULL));
    return true;
}

static bool run_state(struct step *step)
{
    const char *label = next_word(step);
    if (label == NULL)
        return false;
    print_trit(tern_lease_state(world.manager, lease_of(label), NULL));
    return true;
}

/* All labels that are left; whether there are any, and not too many. */
static bool next_leases(struct step *step, tern_lease_t *leases, size_t *count)
{
    *count = 0;
    for (const char *label; (label = next_word(step)) != NULL;) {
        if (*count == LONGEST_LIST)
            return false;
        leases[(*count)++] = lease_of(label);
    }
    return *count > 0;
}

static bool run_states(struct step *step)
{
    tern_lease_t leases[LONGEST_LIST];
    tern_trit_t states[LONGEST_LIST];
    size_t count;
    if (!next_leases(step, leases, &count))
        return false;
    tern_status_t status = tern_lease_states(world.manager, leases, count, states, &world.err);
    if (status != TERN_OK)
        return answered(status);
    for (size_t i = 0; i < count; i++) {
        printf(i == 0 ? "" : " ");
        print_trit(states[i]);
    }
    return true;
}

static bool run_renew(struct step *step)
{
    const char *label = next_word(step), *other_ttl = next_word(step);
    uint64_t ttl = 0, end = 0;
    if (label == NULL || (other_ttl != NULL && !is_number(other_ttl, UINT64_MAX, &ttl)))
        return false;
    tern_lease_t lease = lease_of(label);
    if (!answer(other_ttl != NULL ? tern_lease_renew_for(world.manager, lease, ttl, &end, &world.err)
                                  : tern_lease_renew(world.manager, lease, &end, &world.err)))
        return true;
    printf(" ");
    print_number(end);
    return true;
}

static bool run_renew_all(struct step *step)
{
    tern_lease_t leases[LONGEST_LIST];
    size_t count, renewed = 0;
    if (!next_leases(step, leases, &count))
        return false;
    if (answer(tern_lease_renew_all(world.manager, leases, count, &renewed, &world.err)))
        printf(" %zu", renewed);
    return true;
}

static bool run_release(struct step *step)
{
    const char *label = next_word(step);
    return label != NULL && answered(tern_lease_release(world.manager, lease_of(label), &world.err));
}

static bool run_revoke(struct step *step)
{
    const char *label = next_word(step), *by = "";
    int32_t reason;
    uint64_t notice = 0, at = 0;
    if (!next_reason(step, &reason))
        return false;
    for (char *word; (word = next_word(step)) != NULL;)
        if (value_of(word, "by") != NULL)
            by = value_of(word, "by");
        else if (!is_u64(word, "notice", &notice))
            return false;
    tern_status_t status =
        tern_lease_revoke(world.manager, lease_of(label), reason, TERN_STR(by), notice, &at, &world.err);
    if (answer(status) || status == TERN_UNCHANGED) {
        printf(" ");
        print_number(at);
    }
    return true;
}

static bool run_find(struct step *step)
{
    const char *label = next_word(step), *resource = next_word(step);
    tern_lease_t oldest = 0;
    size_t count = 0;
    if (resource == NULL)
        return false;
    tern_status_t status = tern_resource_leases(world.manager, TERN_STR(resource), &oldest, 1, &count, &world.err);
    if (status == TERN_OK && count == 0)
        printf("EMPTY");
    else if (answer(status == TERN_MORE ? TERN_OK : status))
        give_label(label, oldest, 0);
    return true;
}

static bool run_want(struct step *step)
{
    const char *holder = next_word(step), *resource = next_word(step);
    return resource != NULL &&
           answered(tern_manager_want(world.manager, TERN_STR(holder), TERN_STR(resource), &world.err));
}

static bool run_unwant(struct step *step)
{
    const char *holder = next_word(step), *resource = next_word(step);
    return resource != NULL &&
           answered(tern_manager_unwant(world.manager, TERN_STR(holder), TERN_STR(resource), &world.err));
}

const struct verb lease_verbs[] = {
    { "acquire", A_MANAGER, run_acquire },
    { "claim", A_MANAGER, run_claim },
    { "enqueue", A_MANAGER, run_enqueue },
    { "wait", A_MANAGER, run_wait },
    { "cancel", A_MANAGER, run_cancel },
    { "ticket", A_MANAGER, run_ticket },
    { "state", A_MANAGER, run_state },
    { "states", A_MANAGER, run_states },
    { "renew", A_MANAGER, run_renew },
    { "renew-all", A_MANAGER, run_renew_all },
    { "release", A_MANAGER, run_release },
    { "revoke", A_MANAGER, run_revoke },
    { "find", A_MANAGER, run_find },
    { "want", A_MANAGER, run_want },
    { "unwant", A_MANAGER, run_unwant },
    { NULL, NOTHING, NULL },
};
