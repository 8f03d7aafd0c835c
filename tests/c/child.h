/* Children of fork(), and what becomes of them; also of those that crash or hang. */
#ifndef TERN_TESTS_CHILD_H
#define TERN_TESTS_CHILD_H

#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { HUNG = -1, CRASHED = -2 };

/* What buffers hold must not be written twice. */
static inline pid_t start_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    return child;
}

/* The code that the child ended with. Waits for half a minute at most. */
static inline int end_of(pid_t child)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 30000 && ended == 0; i++) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0)
            nanosleep(&moment, NULL);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return HUNG;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : CRASHED;
}

/* Does something in a child, which may set limits of its own; what it returned. */
static inline int in_child(int (*work)(uint64_t), uint64_t argument)
{
    pid_t child = start_child();
    if (child == 0)
        _exit(work(argument));
    return end_of(child);
}

static inline void set_limit(int which, uint64_t value)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(which, &limit), 0);
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    CHECK_EQ(setrlimit(which, &limit), 0);
}

#endif
