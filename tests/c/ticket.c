/* Ticket: a claim in line, waited for by a thread or with a descriptor, withdrawn, looked at. */
#include "open.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static int is_readable(int fd)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    int count = poll(&poller, 1, 0);
    return count == 1 && poller.revents == POLLIN;
}

static void check_states(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER), lease = 99;
    tern_ticket_t granted = enqueue(manager, "gpu0", "bob"), denied = enqueue(manager, "gpu0", "cid");
    EXPECT_TRIT(TERN_IN_LINE, tern_ticket_state, manager, granted);
    EXPECT(TERN_WAITING, tern_ticket_wait, manager, granted, 0, &lease);
    EXPECT(TERN_WAITING, tern_ticket_wait, manager, granted, 1, &lease);
    CHECK_EQ(lease, 99);

    EXPECT(TERN_OK, tern_ticket_cancel, manager, denied);
    EXPECT_TRIT(TERN_DENIED, tern_ticket_state, manager, denied);
    EXPECT(TERN_REFUSED, tern_ticket_wait, manager, denied, TERN_FOREVER, &lease);
    CHECK(err.reason == TERN_REASON_CANCELLED && lease == 99);
    EXPECT(TERN_UNCHANGED, tern_ticket_cancel, manager, denied);

    EXPECT(TERN_OK, tern_lease_release, manager, held);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, granted);
    CHECK_EQ(tern_ticket_state(manager, granted, NULL), TERN_GRANTED);
    EXPECT(TERN_OK, tern_ticket_wait, manager, granted, 0, &lease);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);

    /* Asking again gives the same. */
    tern_lease_t again = 0;
    EXPECT(TERN_OK, tern_ticket_wait, manager, granted, 0, &again);
    CHECK_EQ(again, lease);

    /* The lease that was told of stays the caller's. */
    EXPECT(TERN_UNCHANGED, tern_ticket_cancel, manager, granted);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);

    EXPECT_UNKNOWN(TERN_ERR_UNKNOWN_TICKET, tern_ticket_state, manager, 12345);
    CHECK_EQ(tern_ticket_state(manager, 12345, NULL), TERN_TRIT_UNKNOWN);
    EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_ticket_wait, manager, 12345, TERN_FOREVER, &lease);
    EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_ticket_cancel, manager, 12345);
    tern_manager_close(manager);
}

/* What was granted and nobody was told of is given back, to whoever is next; and then it is nobody's by this ticket. */
static void check_cancel_of_a_granted_one(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER), lease = 0, after = 99;
    tern_ticket_t first = enqueue(manager, "gpu0", "bob"), second = enqueue(manager, "gpu0", "cid");
    EXPECT(TERN_OK, tern_lease_release, manager, held);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, first);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, first);
    EXPECT(TERN_OK, tern_ticket_wait, manager, second, 0, &lease);
    CHECK_EQ(active_count(manager), 1);
    CHECK(tern_ticket_wait(manager, first, 0, &after, &err) != TERN_OK);
    CHECK_EQ(after, 99);
    EXPECT(TERN_UNCHANGED, tern_ticket_cancel, manager, first);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tern_manager_close(manager);
}

static void check_timeouts(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("bob", &gpu, 1);
    tern_lease_t lease = 99;
    tern_ticket_t ticket = 0;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    claim.wait = 2;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    tick(manager, 2);
    EXPECT_TRIT(TERN_DENIED, tern_ticket_state, manager, ticket);
    EXPECT(TERN_TIMEOUT, tern_ticket_wait, manager, ticket, 0, &lease);
    CHECK(err.reason == TERN_REASON_WAIT_TIMED_OUT && lease == 99);

    tern_lease_t parent = acquire(manager, "node", "job", 3);
    claim.parent = parent;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    tick(manager, 3);
    EXPECT(TERN_REFUSED, tern_ticket_wait, manager, ticket, 0, &lease);
    CHECK_EQ(err.reason, TERN_REASON_PARENT_ENDED);
    tern_manager_close(manager);
}

struct waiter {
    tern_manager_t *manager;
    tern_ticket_t ticket;
    tern_lease_t lease;
    uint64_t timeout;
    int32_t status;
};

static void *wait_for_ticket(void *argument)
{
    struct waiter *waiter = argument;
    waiter->status = tern_ticket_wait(waiter->manager, waiter->ticket, waiter->timeout, &waiter->lease, NULL);
    return NULL;
}

/* A thread waits until the ticket is decided: by a release, by a cancellation, by the end of a lease in real time. */
static void check_threads(void)
{
    tern_manager_t *manager = open_real();
    pthread_t thread;
    tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    struct waiter waiter = { manager, enqueue(manager, "gpu0", "bob"), 0, TERN_FOREVER, -999 };
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_ticket, &waiter), 0);
    EXPECT(TERN_OK, tern_lease_release, manager, held);
    pthread_join(thread, NULL);
    CHECK_EQ(waiter.status, TERN_OK);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, waiter.lease);

    /* A time beyond all times is for ever. */
    struct waiter second = { manager, enqueue(manager, "gpu0", "cid"), 0, TERN_FOREVER - 1, -999 };
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_ticket, &second), 0);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, second.ticket);
    pthread_join(thread, NULL);
    CHECK_EQ(second.status, TERN_REFUSED);

    uint64_t end = 0;
    struct waiter third = { manager, enqueue(manager, "gpu0", "dan"), 0, TERN_FOREVER, -999 };
    EXPECT(TERN_OK, tern_lease_revoke, manager, waiter.lease, 0, "", 0, 5000, &end);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_ticket, &third), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(third.status, TERN_OK);
    CHECK(tick_count(manager) >= end);
    tern_manager_close(manager);
}

static void check_descriptors(void)
{
    tern_manager_t *manager = open_real();
    int first = -1, second = -1, late = -1;
    tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER), lease = 0;
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_OK, tern_ticket_fd, manager, ticket, &first);
    EXPECT(TERN_OK, tern_ticket_fd, manager, ticket, &second);
    CHECK(first >= 0 && second >= 0 && first != second);
    CHECK(fcntl(first, F_GETFD) & FD_CLOEXEC);
    CHECK(!is_readable(first) && !is_readable(second));
    EXPECT(TERN_OK, tern_lease_release, manager, held);
    CHECK(is_readable(first) && is_readable(second));
    CHECK(is_readable(first));
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, 0, &lease);

    /* Asked for too late, it is readable at once. */
    EXPECT(TERN_OK, tern_ticket_fd, manager, ticket, &late);
    CHECK(is_readable(late));

    /* They are the caller's: open after the manager has gone, and closed by nobody else. */
    EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_ticket_fd, manager, 12345, &late);
    tern_manager_close(manager);
    CHECK(close(first) == 0 && close(second) == 0 && close(late) == 0);
}

/* poll() wakes up for what time brings, without anybody calling. */
static void check_poll_in_real_time(void)
{
    tern_manager_t *manager = open_real();
    struct pollfd poller = { .events = POLLIN };
    tern_lease_t held = acquire(manager, "gpu0", "ann", TERN_FOREVER), lease = 0;
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_OK, tern_ticket_fd, manager, ticket, &poller.fd);
    EXPECT(TERN_OK, tern_lease_revoke, manager, held, 0, "", 0, 3 * TERN_MILLISECOND, NULL);
    CHECK_EQ(poll(&poller, 1, -1), 1);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, 0, &lease);
    CHECK_EQ(close(poller.fd), 0);
    tern_manager_close(manager);
}

static void check_info(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_text_t gpus[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") }, { TERN_STR("gpu2") } };
    tern_claim_t claim = claim_of("ann", gpus, 3);
    tern_lease_t all = 0, none = 0;
    tern_ticket_t first = 0, second = 0;
    claim.count = 3;
    EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &all);
    tick(manager, 4);
    claim = claim_of("bob", gpus, 3);
    claim.count = 2;
    claim.wait = TERN_FOREVER;
    claim.priority = -3;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &none, &first);
    claim = claim_of("cid", gpus, 1);
    claim.wait = 9;
    claim.priority = -4;
    EXPECT(TERN_WAITING, tern_manager_enqueue, manager, &claim, &none, &second);

    tern_ticket_info_t info = tern_ticket_info_init(), infos[3];
    EXPECT(TERN_OK, tern_ticket_info, manager, first, &info);
    CHECK(info.struct_size == sizeof info && info.ticket == first && info.queued_at == 4 && info.place == 1);
    CHECK(info.count == 2 && info.resource_count == 3 && info.priority == -3);
    CHECK_TEXT(info.holder, "bob");
    EXPECT(TERN_OK, tern_ticket_info, manager, second, &info);
    CHECK(info.place == 2 && info.count == 1 && info.resource_count == 1 && info.priority == -4);

    tern_name_t names[4];
    size_t needed = 0;
    for (size_t capacity = 0; capacity <= 4; capacity++) {
        memset(names, 0x5a, sizeof names);
        names[0].struct_size = sizeof names[0];
        if (capacity < 3)
            EXPECT(TERN_MORE, tern_ticket_resources, manager, first, names, capacity, &needed);
        else
            EXPECT(TERN_OK, tern_ticket_resources, manager, first, names, capacity, &needed);
        CHECK_EQ(needed, 3);
        for (size_t i = 0; i < 4; i++) {
            if (i < capacity && i < 3)
                CHECK(names[i].struct_size == sizeof names[i] && strcmp(names[i].text, gpus[i].data) == 0);
            else
                CHECK(names[i].text[0] == 0x5a);
        }
    }

    infos[0].struct_size = sizeof infos[0];
    EXPECT(TERN_MORE, tern_manager_tickets, manager, infos, 1, &needed);
    CHECK(needed == 2 && infos[0].ticket == first);
    EXPECT(TERN_OK, tern_manager_tickets, manager, infos, 3, &needed);
    CHECK(needed == 2 && infos[0].ticket == first && infos[1].ticket == second);

    /* Once it is decided there is nothing to tell. */
    EXPECT(TERN_OK, tern_ticket_cancel, manager, first);
    EXPECT(TERN_EMPTY, tern_ticket_info, manager, first, &info);
    EXPECT(TERN_EMPTY, tern_ticket_resources, manager, first, names, 4, &needed);
    EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_ticket_info, manager, 12345, &info);
    EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_ticket_resources, manager, 12345, names, 4, &needed);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, second);
    EXPECT(TERN_OK, tern_manager_tickets, manager, infos, 3, &needed);
    CHECK_EQ(needed, 0);
    tern_manager_close(manager);
}

int main(void)
{
    check_states();
    check_timeouts();
    check_threads();
    check_descriptors();
    check_poll_in_real_time();
    check_info();
    check_cancel_of_a_granted_one();
    return finish(__FILE__);
}
