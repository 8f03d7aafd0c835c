/* A library such as a driver brings along: its constructor starts a thread that sleeps with every signal unblocked,
   so the kernel may deliver any signal of the process to that thread. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static void *idle(void *unused) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (;;) {
        struct timespec day = {86400, 0};
        nanosleep(&day, NULL);
    }
    return unused;
}

__attribute__((constructor)) static void start_idle_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
}
