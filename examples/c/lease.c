/*
 * A lease: take it, renew it, give it back. Somebody else is told that it is busy, and whose it is.
 * A lease that nobody renews runs out, and its holder is told so too.
 *
 * Time is counted in ticks here, so that the story is the same every time. With a real clock (options NULL) the
 * same numbers are microseconds.
 *
 * Build it: cc -std=c99 lease.c $(pkg-config --cflags --libs ternlease) -o lease
 */
#include <inttypes.h>
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

static void pass_ticks(tern_manager_t *manager, int count)
{
    tern_error_t err = tern_error_init();
    while (count-- > 0)
        expect(TERN_OK, tern_manager_tick(manager, &err), &err);
}

int main(void)
{
    tern_manager_t *manager = NULL;
    tern_error_t err = tern_error_init();
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS;
    expect(TERN_OK, tern_manager_open(TERN_STR("process:"), &options, &manager, &err), &err);

    tern_lease_t ann;
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("ann"), 3, &ann, &err), &err);
    printf("tick 0: ann has gpu0 for 3 ticks\n");

    /* Busy is no failure but an answer. The lease itself tells more. */
    tern_lease_t bob;
    tern_lease_info_t info = tern_lease_info_init();
    expect(TERN_BUSY, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("bob"), 3, &bob, &err), &err);
    printf("tick 0: bob wants it too: %s (%s)\n", tern_status_name(err.status), err.message);
    expect(TERN_OK, tern_lease_info(manager, ann, &info, &err), &err);
    printf("        it is %s's until tick %" PRIu64 "\n", info.holder, info.end);

    pass_ticks(manager, 2);
    uint64_t end;
    expect(TERN_OK, tern_lease_renew(manager, ann, &end, &err), &err);
    printf("tick 2: ann renews; now until tick %" PRIu64 "\n", end);

    pass_ticks(manager, 1);
    expect(TERN_OK, tern_lease_release(manager, ann, &err), &err);
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("bob"), 3, &bob, &err), &err);
    printf("tick 3: ann gives it back; bob has gpu0 for 3 ticks\n");

    /* Bob's machine hangs. When it comes back, the lease is over, and renewing says why. */
    pass_ticks(manager, 3);
    expect(TERN_ERR_NOT_HELD, tern_lease_renew(manager, bob, NULL, &err), &err);
    printf("tick 6: bob renews too late: %s, %s\n", tern_status_name(err.status), tern_reason_name(err.reason));
    tern_trit_t state = tern_lease_state(manager, bob, &err);
    printf("        his lease is %s\n", state == TERN_EXPIRED ? "expired, not revoked" : "something else");

    /* Each lease has a larger number than all before it: whatever it protects can tell the old from the new. */
    tern_lease_t cat;
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("cat"), 3, &cat, &err), &err);
    printf("tick 6: cat has gpu0, with a larger token than ann's and bob's\n");
    int grows = cat > bob && bob > ann;

    tern_manager_close(manager);
    return grows ? 0 : 1;
}
