/* How much arithmetic this processor does, as a C compiler makes it for this very machine: operations per second of so many threads together,
 * each of which counts its best slice. Twelve sums that do not wait for each other. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

typedef double numbers __attribute__((vector_size(BYTES)));

enum { CHAINS = 12, TURNS = 20000, SLICES = 400 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What becomes of the sums, so that they have to be computed. */
static volatile double kept;

/* Variables and no array: that would be in memory, and be what takes the time. */
#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define BEGIN(i) numbers x##i = summand;
#define TURN(i) x##i = x##i * factor + summand;
/* Chains that begin alike would be computed once. */
#define APART(i) __asm__ volatile("" : "+x"(x##i));
#define END(i) sum += x##i;

static void slice(void)
{
    numbers factor = {0}, summand = {0}, sum = {0};
    factor += 0.999;
    summand += 0.000001;
    EACH_CHAIN(BEGIN)
    for (int turn = 0; turn < TURNS; turn++) {
        EACH_CHAIN(TURN)
        EACH_CHAIN(APART)
    }
    EACH_CHAIN(END)
    kept = sum[0];
}

static void *best(void *to)
{
    double shortest = 1e9;
    for (int i = 0; i < SLICES; i++) {
        double begun = now();
        slice();
        double took = now() - begun;
        if (took < shortest)
            shortest = took;
    }
    *(double *)to = (double)TURNS * CHAINS * (BYTES / 8) * 2 / shortest;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 1024 };
    static pthread_t threads[MOST];
    static double rates[MOST];
    int count = argc > 1 ? atoi(argv[1]) : 1;
    if (count < 1 || count > MOST)
        return 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, best, &rates[i]) != 0)
            return 1;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        sum += rates[i];
    }
    printf("%.0f\n", sum);
    return 0;
}
