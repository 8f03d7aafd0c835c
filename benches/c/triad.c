/* How fast memory is, as STREAM counts it: bytes per second of `a = b + 3 * c` over arrays that no cache holds, the best of many passes.
 * `triad THREADS huge` asks for large pages, `triad THREADS plain` takes what the system gives. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { PASSES = 100, PAGE = 1 << 21 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double *array(size_t bytes, int huge)
{
    void *memory = aligned_alloc(PAGE, bytes);
    if (!memory)
        exit(1);
#ifdef MADV_HUGEPAGE
    if (huge)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int threads = atoi(argv[1]), huge = strcmp(argv[2], "huge") == 0;
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    if (threads != 1)
        return 2;
#endif
    size_t bytes = 64u << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    while (cache > 0 && bytes < 2 * (size_t)cache && bytes < 512u << 20)
        bytes *= 2;
#endif
    long count = (long)(bytes / sizeof(double));
    double *restrict a = array(bytes, huge), *restrict b = array(bytes, huge), *restrict c = array(bytes, huge);
    /* Touched by the threads that use it. */
#pragma omp parallel for schedule(static)
    for (long i = 0; i < count; i++) {
        a[i] = 0;
        b[i] = 1;
        c[i] = 2;
    }
    double shortest = 1e9;
    for (int pass = 0; pass < PASSES; pass++) {
        double begun = now();
#pragma omp parallel for schedule(static)
        for (long i = 0; i < count; i++)
            a[i] = b[i] + 3.0 * c[i];
        double took = now() - begun;
        if (took < shortest)
            shortest = took;
    }
    if (a[count / 2] != 7)
        return 1;
    printf("%.0f\n", 3 * (double)bytes / shortest);
    return 0;
}
