/* Watch: being called when something happens to a lease. */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* Everything that a callback was told. */
struct notes {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls, drops;
    pthread_t thread;
    struct {
        tern_lease_t lease;
        tern_trit_t state;
        int32_t reason;
        uint64_t at;
    } told[8];
    /* What the callback does besides. */
    tern_manager_t *manager;
    void (*then)(struct notes *notes);
};

static struct notes *new_notes(tern_manager_t *manager, void (*then)(struct notes *notes))
{
    struct notes *notes = calloc(1, sizeof *notes);
    CHECK(notes != NULL);
    pthread_mutex_init(&notes->lock, NULL);
    pthread_cond_init(&notes->changed, NULL);
    notes->manager = manager;
    notes->then = then;
    return notes;
}

static void on_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    struct notes *notes = user;
    if (notes->then)
        notes->then(notes);
    pthread_mutex_lock(&notes->lock);
    if (notes->drops != 0 || notes->calls == 8)
        _exit(1);
    notes->told[notes->calls].lease = lease;
    notes->told[notes->calls].state = state;
    notes->told[notes->calls].reason = reason;
    notes->told[notes->calls].at = at;
    notes->calls++;
    notes->thread = pthread_self();
    pthread_cond_broadcast(&notes->changed);
    pthread_mutex_unlock(&notes->lock);
}

static void on_drop(void *user)
{
    struct notes *notes = user;
    pthread_mutex_lock(&notes->lock);
    notes->drops++;
    pthread_cond_broadcast(&notes->changed);
    pthread_mutex_unlock(&notes->lock);
}

static void wait_for_notes(struct notes *notes, int calls, int drops)
{
    pthread_mutex_lock(&notes->lock);
    while (notes->calls < calls || notes->drops < drops)
        pthread_cond_wait(&notes->changed, &notes->lock);
    pthread_mutex_unlock(&notes->lock);
}

static void check_note(const struct notes *notes, int call, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    CHECK(notes->told[call].lease == lease);
    CHECK_EQ(notes->told[call].state, state);
    CHECK_EQ(notes->told[call].reason, reason);
    CHECK_EQ(notes->told[call].at, at);
}

static void end_notes(struct notes *notes, int calls)
{
    CHECK_EQ(notes->calls, calls);
    CHECK_EQ(notes->drops, 1);
    pthread_cond_destroy(&notes->changed);
    pthread_mutex_destroy(&notes->lock);
    free(notes);
}

/* A notice, an earlier one, the end; then never again. */
static void check_story(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    struct notes *notes = new_notes(manager, NULL), *other = new_notes(manager, NULL);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, notes, on_drop);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, other, on_drop);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_NODE_DRAIN, "", 0, 20, NULL);
    wait_for_notes(notes, 1, 0);
    check_note(notes, 0, lease, TERN_HELD, TERN_REASON_NODE_DRAIN, 20);
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_SHUTDOWN, "", 0, 5, NULL);
    wait_for_notes(notes, 2, 0);
    check_note(notes, 1, lease, TERN_HELD, TERN_REASON_SHUTDOWN, 5);
    tick(manager, 5);
    wait_for_notes(notes, 3, 1);
    check_note(notes, 2, lease, TERN_REVOKED, TERN_REASON_SHUTDOWN, 5);
    CHECK(!pthread_equal(notes->thread, pthread_self()));
    wait_for_notes(other, 1, 1);
    tern_manager_close(manager);
    check_note(other, other->calls - 1, lease, TERN_REVOKED, TERN_REASON_SHUTDOWN, 5);
    end_notes(notes, 3);
    end_notes(other, other->calls);
}

/* It is over for whatever reason, and by real time too. */
static void check_ends(void)
{
    tern_manager_t *manager = open_real();
    struct notes *released = new_notes(manager, NULL), *revoked = new_notes(manager, NULL);
    tern_lease_t first = acquire(manager, "gpu0", "ann", TERN_FOREVER), second = acquire(manager, "gpu1", "ann", TERN_FOREVER);
    uint64_t at = 0;
    EXPECT(TERN_OK, tern_lease_watch, manager, first, on_notice, released, on_drop);
    EXPECT(TERN_OK, tern_lease_watch, manager, second, on_notice, revoked, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, first);
    EXPECT(TERN_OK, tern_lease_revoke, manager, second, 0, "", 0, 3 * TERN_MILLISECOND, &at);
    wait_for_notes(released, 1, 1);
    CHECK(released->told[0].state == TERN_EXPIRED && released->told[0].reason == TERN_REASON_RELEASED);
    wait_for_notes(revoked, 1, 1);
    check_note(revoked, revoked->calls - 1, second, TERN_REVOKED, TERN_REASON_OPERATOR, at);
    CHECK(tick_count(manager) >= at);
    tern_manager_close(manager);
    end_notes(released, 1);
    end_notes(revoked, revoked->calls);
}

/* If it does not return TERN_OK, neither function is ever called. */
static void check_refused(void)
{
    tern_manager_t *manager = open_ticks(0);
    struct notes *notes = new_notes(manager, NULL), *own = new_notes(manager, NULL);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9), other = acquire(manager, "gpu1", "ann", 9);
    /* Without a function to drop it `user` stays the caller's. */
    EXPECT(TERN_OK, tern_lease_watch, manager, other, on_notice, own, NULL);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_watch, manager, lease, on_notice, notes, on_drop);
    CHECK_EQ(err.reason, TERN_REASON_RELEASED);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_watch, manager, 12345, on_notice, notes, on_drop);
    EXPECT(TERN_ERR_NULL, tern_lease_watch, manager, other, NULL, notes, on_drop);
    tern_manager_close(manager);
    CHECK(notes->calls == 0 && notes->drops == 0);
    on_drop(notes);
    end_notes(notes, 0);
    on_drop(own);
    end_notes(own, 0);
}

/* Closing the manager: what is still watched is dropped, without a call, before close returns. */
static void check_close_drops(void)
{
    enum { COUNT = 50 };
    struct notes *all[COUNT];
    tern_manager_t *manager = open_ticks(0);
    for (int i = 0; i < COUNT; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%d", i);
        all[i] = new_notes(manager, NULL);
        EXPECT(TERN_OK, tern_lease_watch, manager, acquire(manager, name, "ann", 9), on_notice, all[i], on_drop);
    }
    tern_manager_close(manager);
    for (int i = 0; i < COUNT; i++)
        end_notes(all[i], 0);
}

static int entered, left;

static void take_a_while(struct notes *notes)
{
    struct timespec moment = { .tv_nsec = 20000000 };
    (void)notes;
    __atomic_store_n(&entered, 1, __ATOMIC_SEQ_CST);
    nanosleep(&moment, NULL);
    __atomic_store_n(&left, 1, __ATOMIC_SEQ_CST);
}

/* A callback that runs has ended when close returns. */
static void check_close_waits(void)
{
    tern_manager_t *manager = open_ticks(0);
    struct notes *notes = new_notes(manager, take_a_while);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, notes, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
        ;
    tern_manager_close(manager);
    CHECK(__atomic_load_n(&left, __ATOMIC_SEQ_CST));
    end_notes(notes, 1);
}

static void use_the_manager(struct notes *notes)
{
    tern_error_t err;
    tern_lease_t lease = acquire(notes->manager, "other", "callback", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_release, notes->manager, lease);
    CHECK_EQ(active_count(notes->manager), 0);
}

static struct notes *inner;

static void watch_another(struct notes *notes)
{
    tern_error_t err;
    tern_lease_t lease = acquire(notes->manager, "another", "callback", TERN_FOREVER);
    inner = new_notes(notes->manager, NULL);
    EXPECT(TERN_OK, tern_lease_watch, notes->manager, lease, on_notice, inner, on_drop);
    EXPECT(TERN_OK, tern_lease_release, notes->manager, lease);
}

static void close_the_manager(struct notes *notes)
{
    tern_manager_close(notes->manager);
}

/* A callback may use the manager, watch something else, even close the manager. */
static void check_callbacks_that_call(void)
{
    tern_manager_t *manager = open_real();
    struct notes *notes = new_notes(manager, use_the_manager), *watching = new_notes(manager, watch_another);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, notes, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    wait_for_notes(notes, 1, 1);
    lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, watching, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    wait_for_notes(watching, 1, 1);
    wait_for_notes(inner, 1, 1);

    struct notes *closing = new_notes(manager, close_the_manager), *rest = new_notes(manager, NULL);
    lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch, manager, acquire(manager, "gpu1", "ann", TERN_FOREVER), on_notice, rest, on_drop);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, closing, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    wait_for_notes(closing, 1, 1);
    wait_for_notes(rest, 0, 1);
    EXPECT(TERN_ERR_CLOSED, tern_manager_tick, manager);
    end_notes(notes, 1);
    end_notes(watching, 1);
    end_notes(inner, 1);
    end_notes(closing, 1);
    end_notes(rest, 0);
}

/* With almost no history: still told, be it only that nothing is remembered. */
static void check_forgotten(void)
{
    tern_manager_t *manager = open_small(8, 8, 8, 1);
    struct notes *notes = new_notes(manager, NULL);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, on_notice, notes, on_drop);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    for (int i = 0; i < 20; i++)
        EXPECT(TERN_OK, tern_lease_release, manager, acquire(manager, "gpu0", "bob", TERN_FOREVER));
    wait_for_notes(notes, 1, 1);
    CHECK(notes->told[0].lease == lease);
    CHECK(notes->told[0].state == TERN_EXPIRED || notes->told[0].state == TERN_TRIT_UNKNOWN);
    tern_manager_close(manager);
    end_notes(notes, 1);
}

/* For event loops: nothing to read before anything happens, then a notice, then the end. */
static void check_descriptor(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    int fd = -1;
    EXPECT(TERN_OK, tern_lease_watch_fd, manager, lease, &fd);
    uint64_t count = 0;
    CHECK(read(fd, &count, sizeof count) == -1 && errno == EAGAIN);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    EXPECT(TERN_OK, tern_lease_revoke, manager, lease, TERN_REASON_NODE_DRAIN, TERN_STR("ops"), 10, NULL);
    CHECK(poll(&readable, 1, 60000) == 1);
    CHECK(read(fd, &count, sizeof count) == sizeof count);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    CHECK(poll(&readable, 1, 60000) == 1);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    close(fd);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_watch_fd, manager, lease, &fd);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_watch_fd, manager, 1, &fd);
    /* Who waits for what will never happen is told. */
    lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_watch_fd, manager, lease, &readable.fd);
    CHECK(poll(&readable, 1, 0) == 0);
    tern_manager_close(manager);
    CHECK(poll(&readable, 1, 60000) == 1);
    close(readable.fd);
}

int main(void)
{
    check_descriptor();
    check_story();
    check_ends();
    check_refused();
    check_close_drops();
    check_close_waits();
    check_callbacks_that_call();
    check_forgotten();
    return finish(__FILE__);
}
