/* A process with no descriptors left, or a few. */
#ifndef TERN_TESTS_DESCRIPTORS_H
#define TERN_TESTS_DESCRIPTORS_H

#include "child.h"

#include <errno.h>
#include <fcntl.h>

/* Whoever has so many more has enough. */
enum { ENOUGH = 16 };

enum { MOST = 64 };

static int taken[MOST], count;

/* All descriptors but so many are in use. */
static inline void leave(int spare)
{
    set_limit(RLIMIT_NOFILE, MOST);
    while (count < MOST && (taken[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    CHECK(count < MOST && errno == EMFILE && count > spare);
    while (spare-- > 0)
        close(taken[--count]);
}

/* How many there are. */
static inline int spare_ones(void)
{
    int found[MOST], number = 0;
    while (number < MOST && (found[number] = open("/dev/null", O_RDONLY)) >= 0)
        number++;
    for (int i = 0; i < number; i++)
        close(found[i]);
    return number;
}

/* So many more, if there are as many. */
static inline void give_back(int more)
{
    while (count > 0 && more-- > 0)
        close(taken[--count]);
}

#endif
