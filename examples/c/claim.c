/*
 * A claim: any two of four GPUs, at once or not at all. When too few are free it stands in line, and the program waits
 * with a descriptor in its own poll() loop, beside whatever else it has to do.
 *
 * A program that has nothing else to do calls tern_manager_claim(), which blocks.
 *
 * Build it: cc -std=c99 claim.c $(pkg-config --cflags --libs ternlease) -o claim
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static void print_what_it_got(const tern_manager_t *manager, tern_lease_t lease)
{
    tern_error_t err = tern_error_init();
    tern_take_t takes[2] = { tern_take_init() };
    size_t count;
    expect(TERN_OK, tern_lease_takes(manager, lease, takes, 2, &count, &err), &err);
    if (count != 2)
        exit(1);
    printf("trainer has %s and %s, in one lease\n", takes[0].resource, takes[1].resource);
}

int main(void)
{
    const tern_text_t gpus[] = {
        { TERN_STR("gpu0") }, { TERN_STR("gpu1") }, { TERN_STR("gpu2") }, { TERN_STR("gpu3") }
    };
    tern_manager_t *manager = NULL;
    tern_error_t err = tern_error_init();
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS;
    expect(TERN_OK, tern_manager_open(TERN_STR("process:"), &options, &manager, &err), &err);
    for (size_t i = 0; i < 4; i++)
        expect(TERN_OK, tern_resource_declare(manager, gpus[i].data, gpus[i].len, 1, 24576, NULL, &err), &err);

    tern_lease_t lease;
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("ann"), 9, &lease, &err), &err);
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu1"), TERN_STR("bob"), 2, &lease, &err), &err);
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu2"), TERN_STR("cat"), 9, &lease, &err), &err);
    printf("ann, bob and cat have gpu0, gpu1 and gpu2\n");

    tern_claim_t claim = tern_claim_init();
    claim.holder = "trainer";
    claim.holder_len = strlen(claim.holder);
    claim.resources = gpus;
    claim.resource_count = 4;
    claim.count = 2;
    claim.ttl = 60;
    claim.wait = TERN_FOREVER;

    /* One GPU is free. It is not taken as a part of the claim: while it waits, the claim holds nothing. */
    tern_ticket_t ticket;
    tern_ticket_info_t info = tern_ticket_info_init();
    expect(TERN_WAITING, tern_manager_enqueue(manager, &claim, &lease, &ticket, &err), &err);
    expect(TERN_OK, tern_ticket_info(manager, ticket, &info, &err), &err);
    printf("%s wants %" PRIu32 " of %" PRIu32 " and stands in line, in place %" PRIu32 "\n",
           info.holder, info.count, info.resource_count, info.place);

    struct pollfd decided = { .events = POLLIN };
    expect(TERN_OK, tern_ticket_fd(manager, ticket, &decided.fd, &err), &err);
    for (int tick = 1; tick < 9 && poll(&decided, 1, 0) == 0; tick++) {
        /* Whatever else the program has to do. Here: time passes, and bob's lease runs out. */
        expect(TERN_OK, tern_manager_tick(manager, &err), &err);
        printf("tick %d\n", tick);
    }
    close(decided.fd);

    expect(TERN_OK, tern_ticket_wait(manager, ticket, 0, &lease, &err), &err);
    print_what_it_got(manager, lease);

    tern_manager_close(manager);
    return 0;
}
