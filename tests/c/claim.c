/* Claim: several resources, parts of them, waiting, priority, spare and preemptible leases, chains. */
#include "open.h"

#include <pthread.h>

static const tern_text_t gpus[] = { { "gpu0", 4 }, { "gpu1", 4 }, { "gpu2", 4 } };

static tern_lease_t claim_now(tern_manager_t *manager, const tern_claim_t *claim)
{
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_manager_claim, manager, claim, &lease);
    CHECK(lease != 0);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    return lease;
}

static tern_lease_info_t info_of(tern_manager_t *manager, tern_lease_t lease)
{
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    return info;
}

static void check_several(void)
{
    tern_claim_t made = tern_claim_init(), zero;
    memset(&zero, 0, sizeof zero);
    zero.struct_size = sizeof zero;
    CHECK(memcmp(&made, &zero, sizeof made) == 0);

    tern_manager_t *manager = open_ticks(0);
    tern_claim_t two = claim_of("ann", gpus, 3);
    tern_lease_t other = 99;
    two.count = 2;
    tern_lease_t lease = claim_now(manager, &two);
    CHECK_EQ(info_of(manager, lease).take_count, 2);

    /* All or nothing: one is left, two are not. */
    two.holder = "bob";
    EXPECT(TERN_BUSY, tern_manager_claim, manager, &two, &other);
    two.count = 1;
    claim_now(manager, &two);
    EXPECT(TERN_BUSY, tern_manager_claim, manager, &two, &other);
    two.count = 4;
    EXPECT(TERN_ERR_TOO_FEW_RESOURCES, tern_manager_claim, manager, &two, &other);
    CHECK_EQ(other, 99);
    tern_manager_close(manager);
}

/* More resources than the library keeps on its stack, by name and by number. */
static void check_many(void)
{
    enum { MANY = 40 };
    tern_manager_t *manager = open_ticks(0);
    char names[MANY][8];
    tern_text_t texts[MANY];
    tern_resource_t ids[MANY];
    tern_take_t takes[MANY];
    size_t needed = 0;
    for (int i = 0; i < MANY; i++) {
        texts[i].len = (size_t)snprintf(names[i], sizeof names[i], "r%d", i);
        texts[i].data = names[i];
        EXPECT(TERN_OK, tern_resource_declare, manager, texts[i].data, texts[i].len, 1, 0, &ids[i]);
    }
    for (uint32_t count = 1; count <= MANY; count++) {
        tern_claim_t by_name = claim_of("ann", texts, count), by_id = claim_of("ann", NULL, 0);
        by_id.resource_ids = ids;
        by_id.resource_id_count = count;
        by_name.count = by_id.count = count;
        for (int way = 0; way < 2; way++) {
            tern_lease_t lease = claim_now(manager, way ? &by_name : &by_id);
            takes[0].struct_size = sizeof takes[0];
            EXPECT(TERN_OK, tern_lease_takes, manager, lease, takes, MANY, &needed);
            CHECK_EQ(needed, count);
            for (uint32_t i = 0; i < count; i++)
                CHECK_TEXT(takes[i].resource, names[i]);
            EXPECT(TERN_OK, tern_lease_release, manager, lease);
        }
    }
    tern_manager_close(manager);
}

static void check_enqueue(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_claim_t claim = claim_of("ann", gpus, 1);
    tern_lease_t lease = 0, none = 99;
    tern_ticket_t ticket = 99;
    claim.wait = 5;
    EXPECT(TERN_OK, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    CHECK(lease != 0 && ticket == 99);

    claim.holder = "bob";
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &none, &ticket);
    CHECK(none == 99 && ticket != 99 && ticket != 0);
    EXPECT_TRIT(TERN_IN_LINE, tern_ticket_state, manager, ticket);

    claim.wait = 0;
    ticket = 99;
    EXPECT(TERN_BUSY, tern_manager_enqueue, manager, &claim, &none, &ticket);
    CHECK(none == 99 && ticket == 99 && pending_claimers(manager) == 1);

    /* What can never be granted does not wait. */
    claim.wait = TERN_FOREVER;
    claim.slots = 2;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_manager_enqueue, manager, &claim, &none, &ticket);
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_manager_claim, manager, &claim, &none);
    CHECK(none == 99 && ticket == 99 && pending_claimers(manager) == 1);
    tern_manager_close(manager);
}

struct waiter {
    tern_manager_t *manager;
    tern_claim_t claim;
    tern_lease_t lease;
    int32_t status;
    tern_error_t error;
};

static void *wait_for_claim(void *argument)
{
    struct waiter *waiter = argument;
    waiter->error = untouched_error();
    waiter->status = tern_manager_claim(waiter->manager, &waiter->claim, &waiter->lease, &waiter->error);
    return NULL;
}

/* A thread in tern_manager_claim(), once it stands in line. */
static pthread_t start_waiter(struct waiter *waiter)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_claim, waiter), 0);
    wait_for_line(waiter->manager, 1);
    return thread;
}

static void check_waiting(void)
{
    for (int real = 0; real < 2; real++) {
        tern_manager_t *manager = real ? open_real() : open_ticks(0);
        tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
        struct waiter waiter = { .manager = manager, .claim = claim_of("bob", gpus, 1) };
        waiter.claim.wait = TERN_FOREVER;
        pthread_t thread = start_waiter(&waiter);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
        pthread_join(thread, NULL);
        check_status(waiter.status, TERN_OK, &waiter.error, __FILE__, __LINE__, "the claim is granted by a release");
        EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, waiter.lease);
        tern_manager_close(manager);
    }
}

static void check_waiting_in_vain(void)
{
    tern_manager_t *manager = open_real();
    tern_lease_t lease = 99;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_claim_t claim = claim_of("bob", gpus, 1);
    claim.wait = 2000;
    EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &lease);
    CHECK(err.reason == TERN_REASON_WAIT_TIMED_OUT && lease == 99 && pending_claimers(manager) == 0);
    tern_manager_close(manager);

    /* By ticks: time comes from another thread. */
    manager = open_ticks(0);
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    struct waiter waiter = { .manager = manager, .claim = claim_of("bob", gpus, 1), .lease = 99 };
    waiter.claim.wait = 3;
    pthread_t thread = start_waiter(&waiter);
    tick(manager, 3);
    pthread_join(thread, NULL);
    check_status(waiter.status, TERN_TIMEOUT, &waiter.error, __FILE__, __LINE__, "three ticks are over");
    CHECK_EQ(waiter.lease, 99);

    /* It leaves the line for another reason. */
    tern_lease_t parent = acquire(manager, "node", "job", TERN_FOREVER);
    waiter.claim.parent = parent;
    waiter.claim.wait = TERN_FOREVER;
    thread = start_waiter(&waiter);
    EXPECT(TERN_OK, tern_lease_release, manager, parent);
    pthread_join(thread, NULL);
    check_status(waiter.status, TERN_REFUSED, &waiter.error, __FILE__, __LINE__, "the parent ended");
    CHECK_EQ(waiter.error.reason, TERN_REASON_PARENT_ENDED);
    tern_manager_close(manager);
}

static void check_priority(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER), none = 0;
    tern_ticket_t low = enqueue(manager, "gpu0", "low"), high = 0;
    tern_claim_t claim = claim_of("high", gpus, 1);
    claim.priority = 32767;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &none, &high);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, high);
    EXPECT_TRIT(TERN_IN_LINE, tern_ticket_state, manager, low);
    tern_manager_close(manager);
}

static void check_taking_back(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_claim_t filler = claim_of("filler", gpus, 1), job = claim_of("job", gpus, 1);
    tern_lease_t none = 0;
    tern_ticket_t ticket = 0;
    filler.flags = TERN_CLAIM_SPARE;
    filler.notice = 2;
    tern_lease_t spare = claim_now(manager, &filler);
    job.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &job, &none, &ticket);
    tern_lease_info_t info = info_of(manager, spare);
    CHECK(info.reason == TERN_REASON_SPARE_RECLAIMED && info.end == 2);
    CHECK_EQ(info.flags, TERN_LEASE_SPARE | TERN_LEASE_REVOKING);
    tick(manager, 2);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, spare);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, 0, &none);
    EXPECT(TERN_OK, tern_lease_release, manager, none);

    /* By a claim of higher priority that asks to preempt; without notice at once. */
    filler.flags = TERN_CLAIM_PREEMPTIBLE;
    filler.notice = 0;
    tern_lease_t lower = claim_now(manager, &filler);
    job.priority = 1;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &job, &none, &ticket);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lower);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
    job.flags = TERN_CLAIM_PREEMPT;
    EXPECT(TERN_OK, tern_manager_enqueue, manager, &job, &none, &ticket);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, lower);
    CHECK_EQ(info_of(manager, lower).reason, TERN_REASON_PREEMPTED);
    tern_manager_close(manager);
}

static void check_chain(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t parent = acquire(manager, "node", "job", 10), none = 0;
    tern_claim_t claim = claim_of("step", gpus, 1);
    claim.parent = parent;
    tern_lease_t child = claim_now(manager, &claim);
    CHECK(info_of(manager, child).parent == parent && info_of(manager, child).end == 10);
    EXPECT(TERN_OK, tern_lease_revoke, manager, parent, TERN_REASON_BUDGET, "", 0, 0, NULL);
    EXPECT_TRIT(TERN_REVOKED, tern_lease_state, manager, child);
    CHECK_EQ(info_of(manager, child).reason, TERN_REASON_PARENT_REVOKED);
    EXPECT(TERN_ERR_PARENT_NOT_HELD, tern_manager_claim, manager, &claim, &none);

    /* At most 16 deep. */
    const char *names[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16" };
    int32_t status = TERN_OK;
    size_t depth = 0;
    claim.parent = 0;
    while (depth < 17 && status == TERN_OK) {
        tern_text_t name = { TERN_STR(names[depth]) };
        claim.resources = &name;
        status = tern_manager_claim(manager, &claim, &claim.parent, &err);
        depth += status == TERN_OK;
    }
    CHECK(status == TERN_ERR_TOO_DEEP && depth == 16);
    tern_manager_close(manager);
}

int main(void)
{
    check_several();
    check_many();
    check_enqueue();
    check_waiting();
    check_waiting_in_vain();
    check_priority();
    check_taking_back();
    check_chain();
    return finish(__FILE__);
}
