/* Events: every change, in order, read by one or many, by threads or with a descriptor. */
#include "open.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static tern_event_t next_event(tern_events_t *events)
{
    tern_event_t event = tern_event_init();
    EXPECT(TERN_OK, tern_events_next, events, &event);
    CHECK_EQ(event.struct_size, sizeof event);
    for (size_t i = 0; i < sizeof event.reserved; i++)
        CHECK_EQ(event.reserved[i], 0);
    CHECK(event.process == 0 && event.reserved2 == 0);
    if (event.actor_process != 0)
        CHECK(event.actor_process == (uint32_t)getpid() && event.actor_principal == (uint32_t)getuid());
    return event;
}

static tern_events_t *open_events(tern_manager_t *manager, uint64_t cursor)
{
    tern_events_t *events = NULL;
    EXPECT(TERN_OK, tern_events_open, manager, cursor, &events);
    CHECK(events != NULL);
    return events;
}

static int is_readable(tern_events_t *events)
{
    struct pollfd poller = { .events = POLLIN };
    EXPECT(TERN_OK, tern_events_fd, events, &poller.fd);
    return poll(&poller, 1, 0) == 1 && poller.revents == POLLIN;
}

static void check_event(const tern_event_t *event, int32_t kind, uint64_t at, tern_lease_t lease, tern_ticket_t ticket,
                        uint64_t until, uint64_t duration, int32_t reason)
{
    CHECK_EQ(event->kind, kind);
    CHECK_EQ(event->at, at);
    CHECK_EQ(event->lease, lease);
    CHECK_EQ(event->ticket, ticket);
    CHECK_EQ(event->until, until);
    CHECK_EQ(event->duration, duration);
    CHECK_EQ(event->reason, reason);
    if (kind != TERN_EVENT_HEALTH)
        CHECK(event->health == 0 && event->resource[0] == 0);
}

static void check_kinds(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_events_t *events = open_events(manager, 0);
    tern_event_t event = tern_event_init();
    EXPECT(TERN_EMPTY, tern_events_next, events, &event);
    CHECK(event.number == 0 && event.kind == 0);

    tern_lease_t first = acquire(manager, "gpu0", "ann", 8);
    event = next_event(events);
    CHECK_EQ(event.number, 1);
    check_event(&event, TERN_EVENT_GRANTED, 0, first, 0, 0, 0, 0);
    CHECK(event.actor_process == (uint32_t)getpid() && event.flags == 0);

    tick(manager, 2);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob"), refused = enqueue(manager, "gpu0", "cid");
    event = next_event(events);
    check_event(&event, TERN_EVENT_QUEUED, 2, 0, ticket, 0, 0, 0);
    next_event(events);

    tick(manager, 5);
    EXPECT(TERN_OK, tern_lease_renew, manager, first, NULL);
    event = next_event(events);
    check_event(&event, TERN_EVENT_RENEWED_LATE, 7, first, 0, 15, 0, 0);

    EXPECT(TERN_OK, tern_ticket_cancel, manager, refused);
    event = next_event(events);
    check_event(&event, TERN_EVENT_REFUSED, 7, 0, refused, 0, 5, TERN_REASON_CANCELLED);

    EXPECT(TERN_OK, tern_lease_revoke, manager, first, TERN_REASON_NODE_DRAIN, "", 0, 3, NULL);
    event = next_event(events);
    check_event(&event, TERN_EVENT_REVOKING, 7, first, 0, 10, 0, TERN_REASON_NODE_DRAIN);

    tick(manager, 3);
    event = next_event(events);
    check_event(&event, TERN_EVENT_ENDED, 10, first, 0, 0, 10, TERN_REASON_NODE_DRAIN);
    event = next_event(events);
    tern_lease_t second = 0;
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, 0, &second);
    check_event(&event, TERN_EVENT_GRANTED, 10, second, ticket, 0, 0, 0);

    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu7"), 1, 0, NULL);
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR("gpu7"), TERN_FAILED);
    event = next_event(events);
    check_event(&event, TERN_EVENT_HEALTH, 10, 0, 0, 0, 0, 0);
    CHECK_EQ(event.health, TERN_FAILED);
    CHECK_TEXT(event.resource, "gpu7");
    CHECK_EQ(event.missed, 0);

    EXPECT(TERN_EMPTY, tern_events_next, events, &event);
    tern_events_close(events);
    tern_manager_close(manager);
}

static void check_cursors(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    acquire(manager, "gpu1", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    tern_event_t event = tern_event_init();
    tern_events_t *all = open_events(manager, 0), *some = open_events(manager, 2), *none = open_events(manager, TERN_FOREVER);
    for (uint64_t number = 1; number <= 3; number++)
        CHECK_EQ(next_event(all).number, number);
    CHECK_EQ(next_event(some).number, 3);
    EXPECT(TERN_EMPTY, tern_events_next, none, &event);
    acquire(manager, "gpu2", "ann", TERN_FOREVER);
    CHECK(next_event(all).number == 4 && next_event(some).number == 4 && next_event(none).number == 4);

    /* One that says it is further than anybody is at the end. */
    tern_events_t *ahead = open_events(manager, 1000);
    EXPECT(TERN_EMPTY, tern_events_next, ahead, &event);
    acquire(manager, "gpu3", "ann", TERN_FOREVER);
    CHECK_EQ(next_event(ahead).number, 5);
    tern_events_close(all);
    tern_events_close(some);
    tern_events_close(none);
    tern_events_close(ahead);
    tern_manager_close(manager);
}

/* A reader that falls too far behind is told how many it missed. */
static void check_missed(void)
{
    tern_manager_t *manager = open_small(8, 8, 8, 4);
    tern_events_t *events = open_events(manager, 0);
    for (int i = 0; i < 5; i++)
        EXPECT(TERN_OK, tern_lease_release, manager, acquire(manager, "gpu0", "ann", 9));
    tern_event_t event = next_event(events);
    CHECK(event.number == 7 && event.missed == 6);
    for (uint64_t number = 8; number <= 10; number++) {
        event = next_event(events);
        CHECK(event.number == number && event.missed == 6);
    }
    EXPECT(TERN_EMPTY, tern_events_next, events, &event);

    /* And again: all that it has missed so far. */
    for (int i = 0; i < 3; i++)
        EXPECT(TERN_OK, tern_lease_release, manager, acquire(manager, "gpu0", "ann", 9));
    event = next_event(events);
    CHECK(event.number == 13 && event.missed == 8);
    tern_events_close(events);
    tern_manager_close(manager);
}

static void *wait_for_event(void *argument)
{
    tern_error_t err;
    EXPECT(TERN_OK, tern_events_wait, argument, TERN_FOREVER);
    return NULL;
}

static void check_wait(void)
{
    for (int real = 0; real < 2; real++) {
        tern_manager_t *manager = real ? open_real() : open_ticks(0);
        tern_events_t *events = open_events(manager, 0);
        pthread_t thread;
        EXPECT(TERN_TIMEOUT, tern_events_wait, events, 0);
        EXPECT(TERN_TIMEOUT, tern_events_wait, events, 1000);
        CHECK_EQ(pthread_create(&thread, NULL, wait_for_event, events), 0);
        tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
        pthread_join(thread, NULL);
        /* It is there until it is read. */
        EXPECT(TERN_OK, tern_events_wait, events, 0);
        EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
        CHECK_EQ(next_event(events).lease, lease);
        EXPECT(TERN_TIMEOUT, tern_events_wait, events, 0);
        tern_events_close(events);
        tern_manager_close(manager);
    }
}

/* What only time brings is told too. */
static void check_real_time(void)
{
    tern_manager_t *manager = open_real();
    tern_events_t *events = open_events(manager, TERN_FOREVER);
    struct pollfd poller = { .events = POLLIN };
    tern_event_t event = tern_event_init();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 3000);
    next_event(events);
    EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
    event = next_event(events);
    CHECK(event.kind == TERN_EVENT_ENDED && event.lease == lease && event.reason == TERN_REASON_TIMED_OUT);
    CHECK_EQ(event.duration, 3000);

    lease = acquire(manager, "gpu0", "ann", 3000);
    next_event(events);
    EXPECT(TERN_OK, tern_events_fd, events, &poller.fd);
    int32_t status = TERN_EMPTY;
    while (status == TERN_EMPTY && poll(&poller, 1, -1) == 1)
        status = tern_events_next(events, &event, NULL);
    CHECK_EQ(status, TERN_OK);
    CHECK(event.kind == TERN_EVENT_ENDED && event.lease == lease);
    tern_events_close(events);
    tern_manager_close(manager);
}

/* Readable from an event until tern_events_next() has said that there is none. */
static void check_descriptor(void)
{
    tern_manager_t *manager = open_ticks(0);
    tern_events_t *events = open_events(manager, 0);
    tern_event_t event = tern_event_init();
    int first = -1, again = -1;
    EXPECT(TERN_OK, tern_events_fd, events, &first);
    EXPECT(TERN_OK, tern_events_fd, events, &again);
    CHECK(first >= 0 && first == again);
    EXPECT(TERN_EMPTY, tern_events_next, events, &event);
    CHECK(!is_readable(events));
    tern_lease_t lease = acquire(manager, "gpu0", "ann", 9);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    CHECK(is_readable(events));
    next_event(events);
    CHECK(is_readable(events));
    next_event(events);
    EXPECT(TERN_EMPTY, tern_events_next, events, &event);
    CHECK(!is_readable(events));
    acquire(manager, "gpu0", "ann", 9);
    CHECK(is_readable(events));
    next_event(events);
    EXPECT(TERN_EMPTY, tern_events_next, events, &event);
    CHECK(!is_readable(events));

    /* For ever once the manager is gone: there is something to learn. */
    tern_manager_close(manager);
    for (int i = 0; i < 3; i++) {
        CHECK(is_readable(events));
        EXPECT(TERN_ERR_CLOSED, tern_events_next, events, &event);
    }
    tern_events_close(events);

    /* It went with the reader. */
    struct pollfd poller = { .fd = first, .events = POLLIN };
    CHECK(poll(&poller, 1, 0) == 1 && poller.revents == POLLNVAL);
}

/* A reader may outlive its manager: what is left can be read, then it is told that the manager is gone. */
static void check_outlives_manager(void)
{
    tern_manager_t *manager = open_real();
    tern_events_t *events = open_events(manager, 0), *waiting = open_events(manager, 0);
    tern_event_t event = tern_event_init();
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_manager_close(manager);
    EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
    CHECK_EQ(next_event(events).kind, TERN_EVENT_GRANTED);
    event.number = 77;
    EXPECT(TERN_ERR_CLOSED, tern_events_next, events, &event);
    CHECK_EQ(event.number, 77);
    EXPECT(TERN_ERR_CLOSED, tern_events_wait, events, TERN_FOREVER);
    EXPECT(TERN_ERR_CLOSED, tern_events_wait, events, 0);
    next_event(waiting);
    CHECK(is_readable(waiting));
    tern_events_close(waiting);
    tern_events_close(events);
}

static void *wait_for_the_end(void *argument)
{
    tern_error_t err;
    EXPECT(TERN_ERR_CLOSED, tern_events_wait, argument, TERN_FOREVER);
    return NULL;
}

/* Closing the manager wakes who waits for its events. */
static void check_close_wakes(void)
{
    for (int real = 0; real < 2; real++) {
        tern_manager_t *manager = real ? open_real() : open_ticks(0);
        tern_events_t *events = open_events(manager, 0);
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, wait_for_the_end, events), 0);
        tern_manager_close(manager);
        pthread_join(thread, NULL);
        tern_events_close(events);
    }
}

int main(void)
{
    check_kinds();
    check_cursors();
    check_missed();
    check_wait();
    check_real_time();
    check_descriptor();
    check_outlives_manager();
    check_close_wakes();
    return finish(__FILE__);
}
