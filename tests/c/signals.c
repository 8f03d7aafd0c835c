/* The library's threads leave the program's signals to the program, but not those that a thread brings upon itself. */
#include "child.h"
#include "open.h"

static void never(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)state, (void)reason, (void)at;
}

static void report(int signal)
{
    (void)signal;
    _exit(42);
}

static void crash(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)state, (void)reason, (void)at;
    raise(SIGSEGV);
}

/* The program's own handler is told of a crash in a callback. */
static int crash_in_a_callback(uint64_t unused)
{
    (void)unused;
    CHECK(signal(SIGSEGV, report) != SIG_ERR);
    tern_manager_t *manager = open_real();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, crash, NULL, NULL);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    while (pause() != 0)
        ;
    return 0;
}

int main(void)
{
    CHECK_EQ(in_child(crash_in_a_callback, 0), 42);

    tern_manager_t *manager = NULL;
    tern_lease_t lease;
    tern_events_t *events = NULL;
    EXPECT(TERN_OK, tern_manager_open, TERN_STR("process:"), NULL, &manager);
    EXPECT(TERN_OK, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("a"), TERN_FOREVER, &lease);

    /* Both threads of the library are started while nothing is blocked. */
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, never, NULL, NULL);

    /* The only thread of the program blocks the signal: it stays pending, for whoever asks for it. */
    sigset_t wanted;
    int taken = 0;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &wanted, NULL) == 0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    CHECK(sigwait(&wanted, &taken) == 0 && taken == SIGUSR1);

    tern_events_close(events);
    tern_manager_close(manager);
    return finish(__FILE__);
}
