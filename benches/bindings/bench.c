/*
 * What calls cost in C, in nanoseconds: a line `NAME NANOSECONDS` for each, the best of several rounds. The same calls, as
 * often, as the programs beside this one make in other languages.
 *
 * Build it: cc -std=c11 -O2 bench.c $(pkg-config --cflags --libs ternlease) -o bench-c
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ternlease.h>

enum { ROUNDS = 30, CALLS = 20000, MANY = 1000 };

static tern_manager_t *manager;
static tern_pool_t *pool;
static tern_lease_t leases[MANY];
static volatile uint64_t kept;

static void expect_ok(tern_status_t status)
{
    if (status != TERN_OK) {
        fprintf(stderr, "%s\n", tern_status_name(status));
        exit(1);
    }
}

static void open_all(void)
{
    tern_pool_options_t options = tern_pool_options_init();
    options.devices = "fake:8";
    options.devices_len = strlen(options.devices);
    expect_ok(tern_pool_open(TERN_STR("process:"), &options, &pool, NULL));
    expect_ok(tern_manager_open(TERN_STR("process:"), NULL, &manager, NULL));
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "resource%d", i);
        expect_ok(tern_lease_acquire(manager, TERN_STR(name), TERN_STR("bench"), 3600 * TERN_SECOND, &leases[i], NULL));
    }
}

static void bare(int times)
{
    for (int i = 0; i < times; i++)
        kept += tern_version();
}

static void state(int times)
{
    for (int i = 0; i < times; i++)
        kept += tern_lease_state(manager, leases[0], NULL) == TERN_HELD;
}

static void renew(int times)
{
    for (int i = 0; i < times; i++) {
        uint64_t end = 0;
        expect_ok(tern_lease_renew(manager, leases[0], &end, NULL));
        kept += end;
    }
}

static void claim_release(int times)
{
    for (int i = 0; i < times; i++) {
        tern_lease_t lease;
        expect_ok(tern_pool_try_claim(pool, &lease, NULL));
        expect_ok(tern_gpu_lease_release(pool, lease, NULL));
    }
}

static void states(int times)
{
    for (int i = 0; i < times; i++) {
        tern_trit_t told[MANY];
        expect_ok(tern_lease_states(manager, leases, MANY, told, NULL));
        kept += told[MANY - 1] == TERN_HELD;
    }
}

static void renew_all(int times)
{
    for (int i = 0; i < times; i++) {
        size_t renewed = 0;
        expect_ok(tern_lease_renew_all(manager, leases, MANY, &renewed, NULL));
        kept += renewed;
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Each call does so many things; the time is that of one. */
static void measure(const char *name, void (*run)(int times), int things)
{
    int times = CALLS / things;
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        run(times);
        double took = (now() - begin) / ((double)times * things);
        best = took < best ? took : best;
    }
    printf("%s %.1f\n", name, best);
}

int main(void)
{
    open_all();
    measure("bare", bare, 1);
    measure("state", state, 1);
    measure("renew", renew, 1);
    measure("claim_release", claim_release, 1);
    measure("states_1000", states, MANY);
    measure("renew_1000", renew_all, MANY);
    tern_pool_close(pool);
    tern_manager_close(manager);
    return 0;
}
