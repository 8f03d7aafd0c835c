/* Memory and descriptors that the system refuses are a status with the system's error number. Not for checkers of memory. */
#include "child.h"
#include "open.h"

#include <errno.h>
#include <fcntl.h>

enum { PAGE = 4096 };

enum { OPENED = 10, NO_MEMORY = 11, OTHERWISE = 12 };

static tern_options_t tried;

static int open_in_so_much(uint64_t memory)
{
    tern_manager_t *manager = NULL;
    set_limit(RLIMIT_AS, memory);
    int32_t status = tern_manager_open(TERN_STR("process:"), &tried, &manager, &err);
    if (status == TERN_OK && manager != NULL)
        return OPENED;
    return status == TERN_ERR_SYSTEM && err.os_errno == ENOMEM && manager == NULL ? NO_MEMORY : OTHERWISE;
}

static void try_limits(uint32_t limit)
{
    tried = tern_options_init();
    tried.leases = tried.tickets = tried.resources = tried.history = limit;
}

/* The largest table there is: whether the machine has the memory or not, nothing breaks. */
static void check_largest(void)
{
    try_limits(1 << 24);
    CHECK_EQ(in_child(open_in_so_much, (uint64_t)128 << 20), NO_MEMORY);
    CHECK_EQ(in_child(open_in_so_much, (uint64_t)1 << 30), NO_MEMORY);
    int came = in_child(open_in_so_much, RLIM_INFINITY);
    CHECK(came == OPENED || came == NO_MEMORY);
}

/* Opens with every amount of memory around the one that is just enough: it works or says ENOMEM. */
static void check_memory(uint32_t limit)
{
    uint64_t too_little = (uint64_t)32 << 20, enough = (uint64_t)4 << 30;
    try_limits(limit);
    CHECK_EQ(in_child(open_in_so_much, too_little), NO_MEMORY);
    CHECK_EQ(in_child(open_in_so_much, enough), OPENED);
    while (enough - too_little > PAGE) {
        uint64_t middle = (too_little + enough) / 2 / PAGE * PAGE;
        int came = in_child(open_in_so_much, middle);
        CHECK(came == OPENED || came == NO_MEMORY);
        *(came == OPENED ? &enough : &too_little) = middle;
    }
    for (uint64_t i = 1; i <= 100; i++) {
        int came = in_child(open_in_so_much, enough - i * PAGE);
        CHECK(came == OPENED || came == NO_MEMORY);
    }
    /* The program itself goes on. */
    tern_manager_close(open_real());
}

/* Descriptors that are left, and how many that are. */
static int left[64];

static int take_all_descriptors(void)
{
    int count = 0;
    while (count < 64 && (left[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    CHECK(count < 64 && errno == EMFILE);
    return count;
}

static int use_without_descriptors(uint64_t unused)
{
    (void)unused;
    tern_manager_t *manager = open_real();
    tern_events_t *events = NULL;
    int fd = -77;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    set_limit(RLIMIT_NOFILE, 32);
    int count = take_all_descriptors();
    CHECK(count > 4);
    for (int given_back = 0; given_back < 2; given_back++) {
        for (int i = 0; i < 10; i++) {
            EXPECT(TERN_ERR_SYSTEM, tern_ticket_fd, manager, ticket, &fd);
            CHECK_EQ(err.os_errno, EMFILE);
            EXPECT(TERN_ERR_SYSTEM, tern_events_fd, events, &fd);
            CHECK_EQ(err.os_errno, EMFILE);
        }
        CHECK_EQ(fd, -77);
        /* One is not enough, for the library keeps one of its own; and it is not lost. */
        close(left[--count]);
    }
    EXPECT(TERN_OK, tern_ticket_fd, manager, ticket, &fd);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, ticket);
    CHECK_EQ(close(fd), 0);
    EXPECT(TERN_OK, tern_events_fd, events, &fd);
    tern_events_close(events);

    /* All are back. */
    left[count++] = open("/dev/null", O_RDONLY);
    left[count++] = open("/dev/null", O_RDONLY);
    CHECK(left[count - 1] >= 0 && left[count - 2] >= 0 && open("/dev/null", O_RDONLY) < 0);
    tern_manager_close(manager);
    return 0;
}

int main(void)
{
    CHECK_EQ(in_child(use_without_descriptors, 0), 0);
    check_largest();
    check_memory(1 << 16);
    check_memory(1 << 18);
    return finish(__FILE__);
}
