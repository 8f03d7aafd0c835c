/*
 * A revocation with notice: the holder is told beforehand and keeps the lease until the notice ends. There are two
 * ways to be told: a descriptor for poll(), which fits a program with an event loop, and a callback, which fits one
 * without. The first holder saves its work and gives the GPU back early; the second does not care and loses it.
 *
 * Build it: cc -std=c99 notice.c $(pkg-config --cflags --libs ternlease) -pthread -o notice
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <poll.h>
#include <semaphore.h>
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

/* What an operator does who empties a machine: everybody has three ticks to leave. */
static void drain(tern_manager_t *manager, tern_lease_t lease)
{
    tern_error_t err = tern_error_init();
    expect(TERN_OK, tern_lease_revoke(manager, lease, TERN_REASON_NODE_DRAIN, TERN_STR("ops"), 3, NULL, &err), &err);
}

static void with_a_descriptor(tern_manager_t *manager)
{
    tern_error_t err = tern_error_init();
    tern_lease_t lease;
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    struct pollfd ready = { .events = POLLIN };

    expect(TERN_OK, tern_events_open(manager, TERN_FOREVER, &events, &err), &err);
    expect(TERN_OK, tern_events_fd(events, &ready.fd, &err), &err);
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("trainer"), 100, &lease, &err), &err);
    drain(manager, lease);

    /* The event loop. There are events of everybody's leases: look for one's own. */
    int over = 0;
    while (!over && poll(&ready, 1, -1) == 1) {
        while (tern_events_next(events, &event, &err) == TERN_OK) {
            if (event.lease != lease)
                continue;
            if (event.kind == TERN_EVENT_REVOKING) {
                printf("  told: gpu0 will be revoked at tick %" PRIu64 ": %s\n",
                       event.until, tern_reason_name(event.reason));
                printf("  saves its work and gives gpu0 back\n");
                expect(TERN_OK, tern_lease_release(manager, lease, &err), &err);
            }
            if (event.kind == TERN_EVENT_ENDED) {
                printf("  told: the lease is over: %s\n", tern_reason_name(event.reason));
                over = 1;
            }
        }
    }
    tern_events_close(events);
    if (!over)
        exit(1);
}

/* Runs on a thread of the library's. A real program would tell its workers to stop. */
static void on_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)lease;
    if (state == TERN_HELD)
        printf("  told: gpu1 will be revoked at tick %" PRIu64 ": %s\n", at, tern_reason_name(reason));
    else
        printf("  told: the lease is over: %s\n", tern_reason_name(reason));
    sem_post(user);
}

static void with_a_callback(tern_manager_t *manager, sem_t *told)
{
    tern_error_t err = tern_error_init();
    tern_lease_t lease;
    expect(TERN_OK, tern_lease_acquire(manager, TERN_STR("gpu1"), TERN_STR("sleeper"), 100, &lease, &err), &err);
    expect(TERN_OK, tern_lease_watch(manager, lease, on_notice, told, NULL, &err), &err);
    drain(manager, lease);
    sem_wait(told);

    printf("  works on\n");
    for (int tick = 0; tick < 3; tick++)
        expect(TERN_OK, tern_manager_tick(manager, &err), &err);
    sem_wait(told);
}

int main(void)
{
    tern_manager_t *manager = NULL;
    tern_error_t err = tern_error_init();
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS;
    expect(TERN_OK, tern_manager_open(TERN_STR("process:"), &options, &manager, &err), &err);

    sem_t told;
    sem_init(&told, 0, 0);
    printf("trainer, with a descriptor\n");
    with_a_descriptor(manager);
    printf("sleeper, with a callback\n");
    with_a_callback(manager, &told);

    /* Once this returns no callback runs any more, and what it uses may go. */
    tern_manager_close(manager);
    sem_destroy(&told);
    return 0;
}
