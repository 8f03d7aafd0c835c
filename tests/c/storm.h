/* Signals with a handler that restarts nothing, ten thousand of them each second, for a thread. Needs _GNU_SOURCE. */
#ifndef TERN_TESTS_STORM_H
#define TERN_TESTS_STORM_H

#include "check.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* The signals of one thread. */
struct storm {
    timer_t timer;
    volatile sig_atomic_t signals;
};

static inline void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    struct storm *storm = info->si_value.sival_ptr;
    storm->signals++;
}

static inline void begin_storm(struct storm *storm)
{
    struct sigevent event;
    const struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event.sigev_value.sival_ptr = storm;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    storm->signals = 0;
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &storm->timer), 0);
    CHECK_EQ(timer_settime(storm->timer, 0, &often, NULL), 0);
}

static inline void end_storm(struct storm *storm)
{
    CHECK_EQ(timer_delete(storm->timer), 0);
    /* It has slept for longer than one of them takes. */
    CHECK(storm->signals > 0);
}

static inline void handle_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

#endif
