/*
 * A deadlock: two workers hold one GPU each, and each waits for the other's. The library finds it, proves it by the
 * circle of waiting, and proposes whom it costs least to stop. Once that lease is revoked the other worker finishes.
 *
 * With TERN_OPTION_BREAK_DEADLOCKS the library revokes the victim by itself.
 *
 * Build it: cc -std=c99 deadlock.c $(pkg-config --cflags --libs ternlease) -o deadlock
 */
#include <stdio.h>
#include <stdlib.h>

#include <ternlease.h>

/* Ends the program if a call did not end as it must in this story. */
static void expect(tern_status_t wanted, tern_status_t got, const tern_error_t *err)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s, not %s (%s)\n", tern_status_name(got), tern_status_name(wanted),
            got == TERN_OK ? "" : err->message);
    exit(1);
}

/* A claim that waits for all of the named GPUs, as long as it takes. */
static tern_claim_t claim_all(const char *holder, const tern_text_t *gpus, uint32_t count)
{
    tern_claim_t claim = tern_claim_init();
    claim.holder = holder;
    claim.holder_len = strlen(holder);
    claim.resources = gpus;
    claim.resource_count = count;
    claim.count = count;
    claim.ttl = TERN_FOREVER;
    claim.wait = TERN_FOREVER;
    return claim;
}

/* The circle of the first deadlock, a line for each worker; the lease that is the victim. */
static tern_lease_t explain(const tern_manager_t *manager, const tern_deadlocks_t *found)
{
    tern_error_t err = tern_error_init();
    tern_lease_t victim;
    tern_wait_t circle[8] = { tern_wait_init() };
    size_t count;
    expect(TERN_OK, tern_deadlocks_victim(found, 0, &victim, &err), &err);
    expect(TERN_OK, tern_deadlocks_cycle(found, 0, circle, 8, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        tern_lease_info_t info = tern_lease_info_init();
        tern_take_t take = tern_take_init();
        expect(TERN_OK, tern_lease_info(manager, circle[i].lease, &info, &err), &err);
        expect(TERN_OK, tern_lease_takes(manager, circle[i].lease, &take, 1, NULL, &err), &err);
        printf("  %s waits for %s, which %s holds%s\n", circle[i].worker, take.resource, info.holder,
               info.lease == victim ? " (the victim)" : "");
    }
    return victim;
}

int main(void)
{
    const tern_text_t gpus[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") } };
    tern_manager_t *manager = NULL;
    tern_error_t err = tern_error_init();
    expect(TERN_OK, tern_manager_open(TERN_STR("process:"), NULL, &manager, &err), &err);

    tern_lease_t decode_has, train_has, lease;
    tern_claim_t decode = claim_all("decode", &gpus[0], 1);
    tern_claim_t train = claim_all("train", &gpus[1], 1);
    expect(TERN_OK, tern_manager_claim(manager, &decode, &decode_has, &err), &err);
    expect(TERN_OK, tern_manager_claim(manager, &train, &train_has, &err), &err);
    printf("decode has gpu0, train has gpu1\n");

    tern_ticket_t decode_waits, train_waits;
    decode = claim_all("decode", &gpus[1], 1);
    train = claim_all("train", &gpus[0], 1);
    expect(TERN_WAITING, tern_manager_enqueue(manager, &decode, &lease, &decode_waits, &err), &err);
    expect(TERN_WAITING, tern_manager_enqueue(manager, &train, &lease, &train_waits, &err), &err);

    tern_deadlocks_t *found = NULL;
    size_t count;
    expect(TERN_OK, tern_deadlocks_find(manager, &found, &count, &err), &err);
    printf("deadlocks: %zu\n", count);
    tern_lease_t victim = explain(manager, found);
    tern_deadlocks_close(found);

    tern_status_t status = tern_lease_revoke(manager, victim, TERN_REASON_DEADLOCK_VICTIM, TERN_STR("scheduler"),
                                             0, NULL, &err);
    expect(TERN_OK, status, &err);
    printf("train loses gpu1\n");

    /* Decode has it before tern_lease_revoke() returned: asking does not block. */
    expect(TERN_OK, tern_ticket_wait(manager, decode_waits, 0, &lease, &err), &err);
    expect(TERN_OK, tern_lease_release(manager, lease, &err), &err);
    expect(TERN_OK, tern_lease_release(manager, decode_has, &err), &err);
    printf("decode gets gpu1 and finishes\n");

    /* Train is told why, and asks for all it needs at once: then it holds nothing while it waits. */
    expect(TERN_ERR_NOT_HELD, tern_lease_renew(manager, train_has, NULL, &err), &err);
    printf("train is told: %s\n", tern_reason_name(err.reason));
    expect(TERN_OK, tern_ticket_cancel(manager, train_waits, &err), &err);
    train = claim_all("train", gpus, 2);
    expect(TERN_OK, tern_manager_claim(manager, &train, &lease, &err), &err);
    printf("train asks for both at once and gets them\n");

    tern_manager_close(manager);
    return 0;
}
