/* A table in a file that the processes of a test share. */
#ifndef TERN_TESTS_SHARED_H
#define TERN_TESTS_SHARED_H

#include "child.h"
#include "open.h"

/* Where it is. Each test has a file of its own, also if several tests run at once. */
struct place {
    char path[64], url[72];
};

static inline struct place new_place(void)
{
    static unsigned number;
    struct place place;
    snprintf(place.path, sizeof place.path, "/dev/shm/ternlease-test-%ld-s%u", (long)getpid(), number++);
    snprintf(place.url, sizeof place.url, "host:%s", place.path);
    return place;
}

static inline tern_manager_t *open_shared(const struct place *place)
{
    tern_manager_t *manager = NULL;
    tern_options_t options = tern_options_init();
    options.leases = options.tickets = options.resources = options.history = 64;
    EXPECT(TERN_OK, tern_manager_open, TERN_STR(place->url), &options, &manager);
    CHECK(manager != NULL);
    return manager;
}

static inline tern_host_info_t host_of(const tern_manager_t *manager)
{
    tern_host_info_t info = tern_host_info_init();
    EXPECT(TERN_OK, tern_manager_host, manager, &info);
    CHECK_EQ(info.struct_size, sizeof info);
    for (size_t i = 0; i < sizeof info.reserved; i++)
        CHECK_EQ(info.reserved[i], 0);
    return info;
}

/* A process that shares a table with this one, and tells when it has come to a point. */
struct other {
    pid_t process;
    int told;
};

static inline struct other start_other(void (*work)(const struct place *, int), const struct place *place)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    struct other other = { start_child(), ends[0] };
    if (other.process == 0) {
        /* Not for ever, should the test fail and nobody be there to kill it. */
        alarm(100);
        close(ends[0]);
        work(place, ends[1]);
        while (pause() != 0)
            ;
    }
    close(ends[1]);
    return other;
}

/* What it tells: eight bytes. */
static inline void tell(int to, uint64_t number)
{
    CHECK_EQ(write(to, &number, sizeof number), sizeof number);
}

static inline uint64_t hear(const struct other *other)
{
    uint64_t number = 0;
    CHECK_EQ(read(other->told, &number, sizeof number), sizeof number);
    return number;
}

/* Ends it as an operator or the kernel does: it can do nothing about it. */
static inline void kill_other(const struct other *other)
{
    CHECK_EQ(kill(other->process, SIGKILL), 0);
    close(other->told);
}

static inline void forget_other(const struct other *other)
{
    CHECK_EQ(end_of(other->process), CRASHED);
}

#endif
