/* A child opens managers of its own, while the threads that the library had in the parent are not there. */
#include "child.h"
#include "open.h"

static int ended;

static void note_end(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)reason, (void)at;
    if (state != TERN_HELD)
        __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
}

/* Uses everything that has threads and sleepers: waits that run out, events, callbacks. */
static int use_managers(uint64_t unused)
{
    (void)unused;
    tern_text_t gpu = { TERN_STR("gpu0") };
    for (int round = 0; round < 4; round++) {
        tern_manager_t *manager = open_real();
        tern_events_t *events = NULL;
        tern_lease_t next, lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
        ended = 0;
        EXPECT(TERN_OK, tern_events_open, manager, TERN_FOREVER, &events);
        EXPECT(TERN_OK, tern_lease_watch, manager, lease, note_end, NULL, NULL);
        tern_claim_t claim = claim_of("bob", &gpu, 1);
        claim.wait = 500;
        EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &next);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
        EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &next);
        EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
        while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
            ;
        tern_events_close(events);
        tern_manager_close(manager);
    }
    return 0;
}

int main(void)
{
    /* Keepers and readers that sleep, at several addresses, and a thread for callbacks. */
    enum { MANAGERS = 6 };
    tern_manager_t *managers[MANAGERS];
    tern_events_t *events[MANAGERS];
    for (int i = 0; i < MANAGERS; i++) {
        managers[i] = open_real();
        tern_lease_t lease = acquire(managers[i], "gpu0", "ann", TERN_FOREVER);
        EXPECT(TERN_OK, tern_events_open, managers[i], TERN_FOREVER, &events[i]);
        EXPECT(TERN_OK, tern_lease_watch, managers[i], lease, note_end, NULL, NULL);
    }
    for (int round = 0; round < 20; round++)
        CHECK_EQ(in_child(use_managers, 0), 0);
    for (int i = 0; i < MANAGERS; i++) {
        tern_events_close(events[i]);
        tern_manager_close(managers[i]);
    }
    return finish(__FILE__);
}
