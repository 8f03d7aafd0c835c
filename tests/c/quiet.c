/* The library prints nothing, installs no signal handler, and what opens no pool does not read the environment. */
#include "calls.h"
#include "child.h"

/* Threads of the library's own: one that watches, one that looks at the clock. */
static void use_threads(void)
{
    tern_manager_t *manager = open_real();
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = claim_of("bob", &gpu, 1);
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER), none = 0;
    EXPECT(TERN_OK, tern_lease_watch, manager, lease, ignore_notice, NULL, NULL);
    claim.wait = 2000;
    EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &none);
    tern_manager_close(manager);

    /* And one that keeps leases alive. */
    tern_pool_t *pool = open_pool("fake:1");
    tern_gpu_claim_t kept = tern_gpu_claim_init();
    kept.ttl = 60 * TERN_SECOND;
    kept.flags = TERN_CLAIM_KEEP_ALIVE;
    EXPECT(TERN_OK, tern_pool_claim, pool, &kept, &lease);
    tern_pool_close(pool);
}

/* Every function, once as usual and once with NULL for a handle. */
static void use_everything(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct world world;
        world_open(&world);
        check_call(&calls[i], &world, calls[i].run(&world), calls[i].usual);
        world.manager = NULL;
        world.events = NULL;
        world.deadlocks = NULL;
        world.pool = NULL;
        world.shared = NULL;
        world.machine = NULL;
        if (calls[i].need != NO_HANDLE)
            calls[i].run(&world);
        world_close(&world);
    }
    use_threads();
}

static void check_output(void)
{
    char written[1000];
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = start_child();
    if (child == 0) {
        CHECK(dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
        close(ends[1]);
        use_everything();
        _exit(0);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], written, sizeof written);
    if (len > 0)
        fprintf(stderr, "%.*s\n", (int)len, written);
    CHECK_EQ(len, 0);
    CHECK_EQ(end_of(child), 0);
    close(ends[0]);
}

static void check_handlers(void)
{
    enum { SIGNALS = 64 };
    static struct sigaction before[SIGNALS], after[SIGNALS];
    for (int number = 1; number < SIGNALS; number++)
        sigaction(number, NULL, &before[number]);
    use_everything();
    for (int number = 1; number < SIGNALS; number++) {
        sigaction(number, NULL, &after[number]);
        CHECK(before[number].sa_handler == after[number].sa_handler && before[number].sa_flags == after[number].sa_flags);
    }
}

static int use_threads_of_any_size(uint64_t unused)
{
    (void)unused;
    /* A stack that no system has: whoever takes notice of this gets no thread. */
    CHECK_EQ(setenv("RUST_MIN_STACK", "1000000000000000", 1), 0);
    use_threads();
    return 0;
}

int main(void)
{
    check_output();
    /* In a process that has not started a thread yet: the size would be read only once. */
    CHECK_EQ(in_child(use_threads_of_any_size, 0), 0);
    check_handlers();
    return finish(__FILE__);
}
