/*
 * Bugs, on purpose, one for each name that can be given: a sanitizer that does not report it was not on.
 * "nothing" does what is right, and must not be reported.
 */
#define _POSIX_C_SOURCE 200809L

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 100, TIMES = 200000 };

void write_beyond_in_rust(size_t len);
void leak_in_rust(size_t len);
void use_uninitialised_in_rust(size_t len);
void count_in_rust(volatile uint64_t *counter, uint64_t times);

static volatile uint64_t counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_beyond(void)
{
    volatile char *volatile block = malloc(LENGTH);
    block[LENGTH] = 1;
    free((void *)block);
}

static void overflow(void)
{
    volatile int most = INT_MAX;
    most = most + 1;
}

static void *leak(void *unused)
{
    volatile char *volatile block = malloc(LENGTH);
    block[0] = 1;
    block = NULL;
    return unused;
}

static void *leak_by_rust(void *unused)
{
    leak_in_rust(LENGTH);
    return unused;
}

static void use_uninitialised(void)
{
    volatile char *volatile block = malloc(LENGTH);
    if (block[1] == 77)
        puts("77");
    free((void *)block);
}

static void *count(void *unused)
{
    for (int i = 0; i < TIMES; i++)
        counter = counter + 1;
    return unused;
}

static void *count_by_rust(void *unused)
{
    count_in_rust(&counter, TIMES);
    return unused;
}

static void *count_with_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    count(NULL);
    count_in_rust(&counter, TIMES);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Two threads do it at the same time. When they have ended, no trace of what they had is left on a stack. */
static void twice(void *(*work)(void *))
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *bug = argc == 2 ? argv[1] : "";
    if (strcmp(bug, "nothing") == 0)
        twice(count_with_lock);
    else if (strcmp(bug, "write-beyond") == 0)
        write_beyond();
    else if (strcmp(bug, "write-beyond-in-rust") == 0)
        write_beyond_in_rust(LENGTH);
    else if (strcmp(bug, "overflow") == 0)
        overflow();
    else if (strcmp(bug, "leak") == 0)
        twice(leak);
    else if (strcmp(bug, "leak-in-rust") == 0)
        twice(leak_by_rust);
    else if (strcmp(bug, "uninitialised") == 0)
        use_uninitialised();
    else if (strcmp(bug, "uninitialised-in-rust") == 0)
        use_uninitialised_in_rust(LENGTH);
    else if (strcmp(bug, "race") == 0)
        twice(count);
    else if (strcmp(bug, "race-in-rust") == 0)
        twice(count_by_rust);
    else
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
