/* Ids of leases and tickets that are none, over, forgotten, forged or of another manager: a status, never a wrong trit. */
#include "calls.h"

/* Functions that take a lease or a ticket, and what they say of one that is not known. */
static const struct use {
    const char *name;
    size_t offset;
    int32_t unknown;
} uses[] = {
#define LEASE(name) { name, offsetof(struct world, lease), TERN_ERR_UNKNOWN_LEASE }
#define TICKET(name) { name, offsetof(struct world, ticket), TERN_ERR_UNKNOWN_TICKET }
    LEASE("tern_lease_state"),
    LEASE("tern_lease_renew"),
    LEASE("tern_lease_renew_for"),
    LEASE("tern_lease_release"),
    LEASE("tern_lease_revoke"),
    LEASE("tern_lease_info"),
    LEASE("tern_lease_takes"),
    LEASE("tern_lease_watch"),
    { "tern_manager_claim", offsetof(struct world, claim.parent), TERN_ERR_PARENT_NOT_HELD },
    { "tern_manager_enqueue", offsetof(struct world, claim.parent), TERN_ERR_PARENT_NOT_HELD },
    { "tern_gpu_lease_devices", offsetof(struct world, gpu_lease), TERN_ERR_UNKNOWN_LEASE },
    { "tern_gpu_lease_env", offsetof(struct world, gpu_lease), TERN_ERR_UNKNOWN_LEASE },
    { "tern_gpu_lease_release", offsetof(struct world, gpu_lease), TERN_ERR_UNKNOWN_LEASE },
    { "tern_pool_claim", offsetof(struct world, gpu_claim.parent), TERN_ERR_PARENT_NOT_HELD },
    { "tern_pool_enqueue", offsetof(struct world, gpu_claim.parent), TERN_ERR_PARENT_NOT_HELD },
    TICKET("tern_ticket_state"),
    TICKET("tern_ticket_wait"),
    TICKET("tern_ticket_cancel"),
    TICKET("tern_ticket_fd"),
    TICKET("tern_ticket_info"),
    TICKET("tern_ticket_resources"),
#undef LEASE
#undef TICKET
};

enum { USES = sizeof uses / sizeof uses[0] };

static const struct call *call_of(const struct use *use)
{
    const struct call *call = calls;
    while (strcmp(call->name, use->name) != 0)
        call++;
    return call;
}

static void check_use(struct world *world, const struct use *use, uint64_t id)
{
    int is_parent = use->unknown == TERN_ERR_PARENT_NOT_HELD;
    /* 0 as a parent is none. */
    if (is_parent && id == 0)
        return;
    memcpy((char *)world + use->offset, &id, sizeof id);
    check_refused(call_of(use), world, use->unknown);
}

/* Nobody knows this id, neither as a lease nor as a ticket. */
static void check_unknown(struct world *world, uint64_t id)
{
    tern_lease_t lease = world->lease, gpu_lease = world->gpu_lease;
    tern_ticket_t ticket = world->ticket;
    for (size_t i = 0; i < USES; i++)
        check_use(world, &uses[i], id);
    world->lease = lease;
    world->gpu_lease = gpu_lease;
    world->ticket = ticket;
    world->claim.parent = world->gpu_claim.parent = 0;
}

/* A lease is no ticket, and a ticket no lease. */
static void check_mixed_up(void)
{
    struct world world;
    world_open(&world);
    const uint64_t lease = world.lease, ticket = world.ticket;
    for (size_t i = 0; i < USES; i++)
        check_use(&world, &uses[i], uses[i].unknown == TERN_ERR_UNKNOWN_TICKET ? lease : ticket);
    world_close(&world);
}

static void check_forged(uint64_t seed)
{
    struct world world;
    world_open(&world);
    tern_lease_t held[3];
    size_t count = 0;
    EXPECT(TERN_OK, tern_manager_held_by, world.owner, TERN_STR("x"), &held[0], 1, &count);
    EXPECT(TERN_OK, tern_manager_held_by, world.owner, TERN_STR("y"), &held[1], 1, &count);
    held[2] = world.lease;
    const uint64_t lease = world.lease, ticket = world.ticket;

    /* One bit is wrong. */
    for (int bit = 0; bit < 64; bit++) {
        const uint64_t forged[] = { lease ^ (uint64_t)1 << bit, ticket ^ (uint64_t)1 << bit };
        for (size_t i = 0; i < 2; i++)
            if (forged[i] != held[0] && forged[i] != held[1] && forged[i] != held[2] && forged[i] != ticket &&
                forged[i] != world.gpu_lease)
                check_unknown(&world, forged[i]);
    }
    const uint64_t edges[] = { 0, 1, 2, 255, INT32_MAX, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_unknown(&world, edges[i]);

    /* Any bits, and any bits with the place of a record that there is. */
    for (int i = 0; i < 300; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        check_unknown(&world, seed | (uint64_t)1 << 40);
        check_unknown(&world, (seed | (uint64_t)1 << 40) - seed % 256 + lease % 256);
    }
    world_close(&world);
}

/* Over, but remembered: its own state. Over and forgotten: unknown. */
static void check_stale(uint32_t history)
{
    enum { ENDED = 12 };
    tern_manager_t *manager = open_small(4, 4, 4, history);
    tern_lease_t leases[ENDED], told = 77;
    tern_ticket_t tickets[ENDED];
    for (int i = 0; i < ENDED; i++) {
        leases[i] = acquire(manager, "gpu0", "ann", TERN_FOREVER);
        tickets[i] = enqueue(manager, "gpu0", "bob");
        EXPECT(TERN_OK, tern_ticket_cancel, manager, tickets[i]);
        if (i % 2)
            EXPECT(TERN_OK, tern_lease_release, manager, leases[i]);
        else
            EXPECT(TERN_OK, tern_lease_revoke, manager, leases[i], 0, "", 0, 0, NULL);
    }
    struct snapshot before = look_at(manager);
    for (int i = 0; i < ENDED; i++) {
        tern_lease_info_t info = tern_lease_info_init();
        if (i + (int)history >= ENDED) {
            EXPECT_TRIT(i % 2 ? TERN_EXPIRED : TERN_REVOKED, tern_lease_state, manager, leases[i]);
            EXPECT_TRIT(TERN_DENIED, tern_ticket_state, manager, tickets[i]);
            EXPECT(TERN_ERR_NOT_HELD, tern_lease_renew, manager, leases[i], NULL);
            EXPECT(TERN_OK, tern_lease_info, manager, leases[i], &info);
        } else {
            EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_LEASE, tern_lease_state, manager, leases[i]);
            EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_renew, manager, leases[i], NULL);
            EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_release, manager, leases[i]);
            EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_info, manager, leases[i], &info);
            /* A ticket may be remembered for longer, but never as another. */
            tern_trit_t state = tern_ticket_state(manager, tickets[i], NULL);
            CHECK(state == TERN_DENIED || state == TERN_TRIT_UNKNOWN);
            CHECK(tern_ticket_wait(manager, tickets[i], 0, &told, NULL) != TERN_OK);
            int32_t status = tern_ticket_cancel(manager, tickets[i], NULL);
            CHECK(status == TERN_UNCHANGED || status == TERN_ERR_UNKNOWN_TICKET);
        }
    }
    CHECK(told == 77 && is_unchanged(manager, &before));
    tern_manager_close(manager);
}

/* Managers with a real clock that are open at the same time: what one has given out no other knows. */
static void check_other_managers(uint32_t limit)
{
    enum { MANAGERS = 4, LEASES = 8 };
    tern_options_t options = tern_options_init();
    tern_manager_t *managers[MANAGERS];
    tern_lease_t leases[MANAGERS][LEASES];
    tern_ticket_t tickets[MANAGERS];
    options.leases = options.tickets = limit;
    for (int i = 0; i < MANAGERS; i++)
        managers[i] = open_with(&options);
    for (int i = 0; i < MANAGERS; i++) {
        for (int j = 0; j < LEASES; j++) {
            char name[8];
            snprintf(name, sizeof name, "gpu%d", j);
            leases[i][j] = acquire(managers[i], name, "ann", TERN_FOREVER);
        }
        tickets[i] = enqueue(managers[i], "gpu0", "bob");
    }
    for (int i = 0; i < MANAGERS; i++) {
        for (int other = 0; other < MANAGERS; other++) {
            if (other == i)
                continue;
            EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_TICKET, tern_ticket_state, managers[other], tickets[i]);
            EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_LEASE, tern_lease_state, managers[other], tickets[i]);
            for (int j = 0; j < LEASES; j++) {
                EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_LEASE, tern_lease_state, managers[other], leases[i][j]);
                EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_release, managers[other], leases[i][j]);
                EXPECT_TRIT(TERN_HELD, tern_lease_state, managers[i], leases[i][j]);
            }
        }
    }
    for (int i = 0; i < MANAGERS; i++)
        tern_manager_close(managers[i]);
}

int main(void)
{
    const char *given = getenv("TERN_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20250101;
    printf("ids.c: seed %" PRIu64 "\n", seed);
    fflush(stdout);
    check_mixed_up();
    check_forged(seed | 1);
    for (uint32_t history = 1; history <= 8; history++)
        check_stale(history);
    check_other_managers(0);
    check_other_managers(16);
    /* The larger the table, the fewer ids there are for a second. */
    for (int i = 0; i < 20; i++)
        check_other_managers(1 << 20);
    return finish(__FILE__);
}
