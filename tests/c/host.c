/* Host: a table that several processes share, what it tells of them, and what becomes of leases when they die. */
#include "shared.h"

#include <fcntl.h>

enum { ROOM = 8 };

/* The processes of a table, of which there are so many; room for all. */
static void list(const tern_manager_t *manager, tern_process_info_t *processes, size_t count)
{
    size_t found = 0;
    processes[0] = tern_process_info_init();
    EXPECT(TERN_OK, tern_manager_processes, manager, processes, ROOM, &found);
    CHECK_EQ(found, count);
    for (size_t i = 0; i < found; i++)
        CHECK(processes[i].struct_size == sizeof processes[i] && processes[i].reserved == 0);
}

static tern_lease_info_t info_of(const tern_manager_t *manager, tern_lease_t lease)
{
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    return info;
}

static void check_told(void)
{
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place), *again = open_shared(&place);
    tern_process_info_t processes[ROOM];
    size_t needed = 0;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    acquire(manager, "gpu1", "ann", TERN_FOREVER);
    enqueue(again, "gpu0", "bob");

    tern_host_info_t host = host_of(manager);
    CHECK_TEXT(host.path, place.path);
    CHECK(host.bytes > 4096 && host.roll_backs == 0 && host.deaths == 0 && host.corrupt == 0);
    CHECK_EQ(host.process_count, 2);
    /* Threads of this process may have the lock at any time, but nobody else does. */
    CHECK(host.lock_process == 0 || host.lock_process == (uint32_t)getpid());
    CHECK(host.lock_since <= tick_count(manager));

    list(again, processes, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(processes[i].process, getpid());
        CHECK_EQ(processes[i].life, TERN_LIFE_LIVES);
        CHECK(processes[i].since > 0 && processes[i].since <= tick_count(manager));
    }
    CHECK(processes[0].owner != processes[1].owner);
    CHECK(processes[0].leases == 2 && processes[0].tickets == 0);
    CHECK(processes[1].leases == 0 && processes[1].tickets == 1);

    processes[1].struct_size = 77;
    EXPECT(TERN_MORE, tern_manager_processes, manager, processes, 1, &needed);
    CHECK(needed == 2 && processes[1].struct_size == 77);

    /* Whoever leaves gives back what it has; the others go on. */
    tern_manager_close(manager);
    CHECK_EQ(pending_claimers(again), 0);
    CHECK_EQ(active_count(again), 1);
    list(again, processes, 1);
    CHECK_EQ(processes[0].leases, 1);
    CHECK_EQ(host_of(again).deaths, 0);
    tern_manager_close(again);
    unlink(place.path);
}

/* What only shared tables have. */
static void check_not_shared(void)
{
    tern_manager_t *manager = open_real();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_host_info_t info = tern_host_info_init();
    tern_process_info_t process = tern_process_info_init();
    size_t needed = 77;
    int fd = 77;
    EXPECT(TERN_ERR_UNSUPPORTED, tern_manager_host, manager, &info);
    EXPECT(TERN_ERR_UNSUPPORTED, tern_manager_processes, manager, &process, 1, &needed);
    EXPECT(TERN_ERR_UNSUPPORTED, tern_lease_hand_to, manager, lease, (uint32_t)getpid());
    EXPECT(TERN_ERR_UNSUPPORTED, tern_lease_keep_for_children, manager, lease, &fd);
    CHECK(fd == 77 && needed == 77 && info.path[0] == 0 && process.process == 0);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tern_manager_close(manager);

    /* And what they do not have: a clock that a program turns, and files that are something else. */
    tern_manager_t *none = NULL;
    tern_options_t options = tern_options_init();
    struct place place = new_place();
    options.flags = TERN_OPTION_TICKS;
    EXPECT(TERN_ERR_BAD_URL, tern_manager_open, TERN_STR(place.url), &options, &none);
    EXPECT(TERN_ERR_SYSTEM, tern_manager_open, TERN_STR("host:/no/such/directory/x"), NULL, &none);
    CHECK(none == NULL && access(place.path, F_OK) != 0);
}

static void hold_and_wait(const struct place *place, int to)
{
    tern_manager_t *manager = open_shared(place);
    tern_lease_t lease = acquire(manager, "gpu0", "other", TERN_FOREVER);
    enqueue(manager, "gpu1", "other");
    tell(to, lease);
}

/* A process that is killed: who waits has what it had, its claims are gone, and events tell of it. */
static void check_killed(void)
{
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place);
    tern_lease_t own = acquire(manager, "gpu1", "ann", TERN_FOREVER), got = 0;
    struct other other = start_other(hold_and_wait, &place);
    tern_lease_t lost = hear(&other);
    tern_process_info_t processes[ROOM];
    tern_events_t *events = NULL;
    tern_event_t event = tern_event_init();
    EXPECT(TERN_OK, tern_events_open, manager, TERN_FOREVER, &events);
    CHECK_TEXT(info_of(manager, lost).holder, "other");
    list(manager, processes, 2);
    CHECK_EQ(processes[1].process, other.process);
    CHECK(processes[1].leases == 1 && processes[1].tickets == 1);

    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    kill_other(&other);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &got);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, got);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lost);
    CHECK_EQ(info_of(manager, lost).reason, TERN_REASON_HOLDER_DIED);
    CHECK_EQ(count_of(manager, TERN_REASON_HOLDER_DIED), 1);
    CHECK_EQ(pending_claimers(manager), 0);
    CHECK_EQ(host_of(manager).deaths, 1);
    list(manager, processes, 1);
    CHECK_EQ(processes[0].leases, 2);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, own);

    while (event.kind != TERN_EVENT_DIED) {
        EXPECT(TERN_OK, tern_events_wait, events, TERN_FOREVER);
        EXPECT(TERN_OK, tern_events_next, events, &event);
    }
    CHECK_EQ(event.process, other.process);
    CHECK(event.lease == 0 && event.ticket == 0 && event.reserved2 == 0);
    forget_other(&other);
    tern_events_close(events);
    tern_manager_close(manager);
    unlink(place.path);
}

static void only_open(const struct place *place, int to)
{
    open_shared(place);
    tell(to, 1);
}

/* A lease that is handed on ends with the process that has it then. */
static void check_handed(void)
{
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER), got = 0;
    tern_lease_t over = acquire(manager, "gpu1", "ann", TERN_FOREVER);
    struct other other = start_other(only_open, &place);
    hear(&other);
    EXPECT(TERN_OK, tern_lease_release, manager, over);
    EXPECT(TERN_ERR_UNKNOWN_PROCESS, tern_lease_hand_to, manager, lease, UINT32_MAX);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_hand_to, manager, lease + 12345, (uint32_t)other.process);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_hand_to, manager, over, (uint32_t)other.process);
    EXPECT(TERN_OK, tern_lease_hand_to, manager, lease, (uint32_t)other.process);
    tern_manager_close(manager);

    manager = open_shared(&place);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    kill_other(&other);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &got);
    CHECK_EQ(info_of(manager, lease).reason, TERN_REASON_HOLDER_DIED);
    forget_other(&other);
    tern_manager_close(manager);
    unlink(place.path);
}

/* This program again, which does nothing but wait until its input ends. */
static int be_an_heir(void)
{
    char byte;
    return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

static pid_t start_heir(int input, int output)
{
    pid_t child = start_child();
    if (child == 0) {
        dup2(input, STDIN_FILENO);
        close(input);
        close(output);
        execl("/proc/self/exe", "host", "heir", (char *)NULL);
        _exit(2);
    }
    close(input);
    return child;
}

/* A lease that is kept for children lives as long as any of them, through exec, whatever becomes of who claimed it. */
static void check_kept(void)
{
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER), got = 0;
    tern_process_info_t processes[ROOM];
    int fd = -1, ends[2];
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_lease_keep_for_children, manager, lease + 12345, &fd);
    CHECK_EQ(fd, -1);
    EXPECT(TERN_OK, tern_lease_keep_for_children, manager, lease, &fd);
    CHECK_EQ(fcntl(fd, F_GETFD), 0);
    CHECK_EQ(pipe(ends), 0);
    pid_t heir = start_heir(ends[0], ends[1]);
    close(fd);
    tern_manager_close(manager);

    manager = open_shared(&place);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    list(manager, processes, 2);
    int tree = processes[0].life == TERN_LIFE_TREE ? 0 : 1;
    CHECK(processes[tree].life == TERN_LIFE_TREE && processes[tree].leases == 1);
    CHECK(processes[!tree].life == TERN_LIFE_LIVES && processes[!tree].leases == 0);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, NULL);

    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    close(ends[1]);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, TERN_FOREVER, &got);
    CHECK_EQ(info_of(manager, lease).reason, TERN_REASON_HOLDER_DIED);
    CHECK_EQ(end_of(heir), 0);
    list(manager, processes, 1);
    tern_manager_close(manager);
    unlink(place.path);
}

/* A child has nothing of its parent's, takes nothing away from it, and is a process of its own when it opens the table again. */
static void check_forked(void)
{
    struct place place = new_place();
    tern_manager_t *manager = open_shared(&place);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_process_info_t processes[ROOM];
    pid_t child = start_child();
    if (child == 0) {
        tern_host_info_t info = tern_host_info_init();
        EXPECT(TERN_ERR_FORKED, tern_lease_release, manager, lease);
        EXPECT(TERN_ERR_FORKED, tern_lease_hand_to, manager, lease, (uint32_t)getpid());
        EXPECT(TERN_ERR_FORKED, tern_manager_host, manager, &info);
        EXPECT_UNKNOWN(TERN_ERR_FORKED, tern_lease_state, manager, lease);
        tern_manager_t *own = open_shared(&place);
        EXPECT_TRIT(TERN_HELD, tern_lease_state, own, lease);
        tern_lease_t busy = 0;
        EXPECT(TERN_BUSY, tern_lease_acquire, own, TERN_STR("gpu0"), TERN_STR("child"), TERN_FOREVER, &busy);
        acquire(own, "gpu1", "child", TERN_FOREVER);
        list(own, processes, 2);
        CHECK(processes[0].process == (uint32_t)getppid() && processes[1].process == (uint32_t)getpid());
        tern_manager_close(manager);
        list(own, processes, 2);
        tern_manager_close(own);
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    CHECK_EQ(active_count(manager), 1);
    CHECK_EQ(host_of(manager).deaths, 0);
    list(manager, processes, 1);
    tern_manager_close(manager);
    unlink(place.path);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "heir") == 0)
        return be_an_heir();
    check_told();
    check_not_shared();
    check_killed();
    check_handed();
    check_kept();
    check_forked();
    return finish(__FILE__);
}
