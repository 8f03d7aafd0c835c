/* Starts every thread late, as a busy machine does, and each later than the one before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct start {
    void *(*run)(void *);
    void *argument;
    long number;
};

static atomic_int threads;

static void *start_late(void *given) {
    struct start start = *(struct start *)given;
    free(given);
    struct timespec moment = {0, start.number * 50 * 1000 * 1000};
    nanosleep(&moment, NULL);
    return start.run(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    struct start *start = malloc(sizeof *start);
    if (start == NULL) abort();
    *start = (struct start){run, argument, ++threads};
    return create(thread, attributes, start_late, start);
}
