/* The system gives the library no thread of its own: a status, or slower, but nobody waits in vain. Not for checkers of memory. */
#include "child.h"
#include "open.h"

#include <errno.h>

/* No memory for another thread's stack. */
static void refuse_threads(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    set_limit(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + ((uint64_t)1 << 20));
}

static int dropped;

static void on_drop(void *user)
{
    (void)user;
    dropped++;
}

static void on_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)state, (void)reason, (void)at;
}

static int watch_without_threads(uint64_t unused)
{
    (void)unused;
    tern_manager_t *manager = open_real();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    refuse_threads();
    for (int i = 0; i < 3; i++) {
        EXPECT(TERN_ERR_SYSTEM, tern_lease_watch, manager, lease, on_notice, NULL, on_drop);
        CHECK_EQ(err.os_errno, EAGAIN);
    }
    CHECK_EQ(dropped, 0);
    set_limit(RLIMIT_AS, RLIM_INFINITY);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, NULL, on_drop);
    tern_manager_close(manager);
    CHECK_EQ(dropped, 1);
    return 0;
}

/* Nobody looks at the clock but those who wait: they must do it themselves. */
static int claim_without_threads(uint64_t unused)
{
    (void)unused;
    tern_manager_t *manager = open_real();
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("bob", &gpu, 1);
    tern_lease_t lease = 0;
    refuse_threads();
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    claim.wait = 2000;
    EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &lease);
    return 0;
}

static int wait_for_events_without_threads(uint64_t unused)
{
    (void)unused;
    tern_manager_t *manager = open_real();
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    refuse_threads();
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    /* A descriptor would never be told of what time brings. */
    int fd = -1;
    EXPECT(TERN_ERR_SYSTEM, tern_events_fd, events, &fd);
    CHECK(fd == -1 && err.os_errno == EAGAIN);
    acquire(manager, "gpu0", "ann", 200000);
    EXPECT(TERN_OK, tern_events_next, events, &event);
    EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
    EXPECT(TERN_OK, tern_events_next, events, &event);
    CHECK_EQ(event.kind, TERN_EVENT_ENDED);
    return 0;
}

int main(void)
{
    CHECK_EQ(in_child(watch_without_threads, 0), 0);
    CHECK_EQ(in_child(claim_without_threads, 0), 0);
    CHECK_EQ(in_child(wait_for_events_without_threads, 0), 0);
    return finish(__FILE__);
}
