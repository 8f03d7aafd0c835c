/*
 * The library is loaded and unloaded while its own threads live and the program's threads are inside: nothing crashes, whenever
 * they end. TERN_LIBRARY is the path of the shared library, to which this program must not be linked.
 */
#define TESTED_WITHOUT_LINKING
#include "child.h"

#include <dlfcn.h>
#include <pthread.h>

enum { ROUNDS = 200, KEPT_EVERY = 10 };

/* The functions that are used, by the names of the header. */
#define FUNCTIONS(F)                                                                                                  \
    F(manager_open) F(manager_close) F(manager_claim) F(manager_enqueue) F(manager_pending_claimers) F(lease_acquire) F(lease_release) \
    F(lease_watch) F(ticket_wait) F(events_open) F(events_close) F(events_wait)

static struct library {
    void *handle;
    /* A pointer to data stands for each pointer to a function: POSIX lets them have the same representation. */
#define F(name) __typeof__(&tern_##name) name;
    FUNCTIONS(F)
#undef F
} library;

static void load(const char *path)
{
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library.handle == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library.handle != NULL);
#define F(name)                                                                                                       \
    {                                                                                                                 \
        void *found = dlsym(library.handle, "tern_" #name);                                                           \
        CHECK(found != NULL);                                                                                         \
        memcpy(&library.name, &found, sizeof found);                                                                  \
    }
    FUNCTIONS(F)
#undef F
}

/* One use of the library that goes on when it is unloaded. */
struct use {
    tern_manager_t *manager;
    tern_events_t *events;
    tern_lease_t lease, granted;
    tern_ticket_t ticket;
    pthread_t threads[3];
    int dropped;
};

static void *wait_for_ticket(void *argument)
{
    struct use *use = argument;
    CHECK_EQ(library.ticket_wait(use->manager, use->ticket, TERN_FOREVER, &use->granted, NULL), TERN_OK);
    return NULL;
}

static void *wait_for_claim(void *argument)
{
    struct use *use = argument;
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = tern_claim_init();
    tern_lease_t lease = 0;
    claim.holder = "cid";
    claim.holder_len = 3;
    claim.resources = &gpu;
    claim.resource_count = 1;
    claim.ttl = claim.wait = TERN_FOREVER;
    CHECK_EQ(library.manager_claim(use->manager, &claim, &lease, NULL), TERN_OK);
    return NULL;
}

static void *wait_for_the_end(void *argument)
{
    struct use *use = argument;
    CHECK_EQ(library.events_wait(use->events, TERN_FOREVER, NULL), TERN_ERR_CLOSED);
    return NULL;
}

static void on_notice(void *user, tern_lease_t lease, tern_trit_t state, int32_t reason, uint64_t at)
{
    (void)user, (void)lease, (void)state, (void)reason, (void)at;
}

static void on_drop(void *user)
{
    struct use *use = user;
    __atomic_store_n(&use->dropped, 1, __ATOMIC_SEQ_CST);
}

static void begin(struct use *use)
{
    tern_text_t gpu = { TERN_STR("gpu0") };
    tern_claim_t claim = tern_claim_init();
    uint64_t waiting = 0;
    claim.holder = "bob";
    claim.holder_len = 3;
    claim.resources = &gpu;
    claim.resource_count = 1;
    claim.ttl = claim.wait = TERN_FOREVER;
    EXPECT(TERN_OK, library.manager_open, TERN_STR("process:"), NULL, &use->manager);
    EXPECT(TERN_OK, library.lease_acquire, use->manager, TERN_STR("gpu0"), TERN_STR("ann"), TERN_FOREVER, &use->lease);
    EXPECT(TERN_OK, library.lease_watch, use->manager, use->lease, on_notice, use, on_drop);
    EXPECT(TERN_WAITING, library.manager_enqueue, use->manager, &claim, &use->granted, &use->ticket);
    CHECK_EQ(pthread_create(&use->threads[0], NULL, wait_for_ticket, use), 0);
    CHECK_EQ(pthread_create(&use->threads[1], NULL, wait_for_claim, use), 0);
    while (waiting < 2)
        library.manager_pending_claimers(use->manager, &waiting, NULL);
    EXPECT(TERN_OK, library.events_open, use->manager, TERN_FOREVER, &use->events);
}

/* The threads come to their ends one after the other, inside a library that was unloaded. */
static void end(struct use *use)
{
    EXPECT(TERN_OK, library.lease_release, use->manager, use->lease);
    pthread_join(use->threads[0], NULL);
    EXPECT(TERN_OK, library.lease_release, use->manager, use->granted);
    pthread_join(use->threads[1], NULL);
    library.events_close(use->events);
    EXPECT(TERN_OK, library.events_open, use->manager, TERN_FOREVER, &use->events);
    CHECK_EQ(pthread_create(&use->threads[2], NULL, wait_for_the_end, use), 0);
    library.manager_close(use->manager);
    pthread_join(use->threads[2], NULL);
    CHECK(__atomic_load_n(&use->dropped, __ATOMIC_SEQ_CST));
    library.events_close(use->events);
}

/* Nobody is inside: even then it stays, for whoever has a pointer to a function, and for fork(), which calls it. */
static void check_idle(const char *path)
{
    tern_options_t options = tern_options_init();
    tern_manager_t *manager = NULL;
    tern_lease_t lease = 0;
    options.flags = TERN_OPTION_TICKS;
    load(path);
    EXPECT(TERN_OK, library.manager_open, TERN_STR("process:"), &options, &manager);
    CHECK_EQ(dlclose(library.handle), 0);
    void *still_there = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    CHECK(still_there != NULL);
    CHECK_EQ(dlclose(still_there), 0);
    pid_t child = start_child();
    if (child == 0) {
        EXPECT(TERN_ERR_FORKED, library.lease_release, manager, 1);
        _exit(0);
    }
    CHECK_EQ(end_of(child), 0);
    EXPECT(TERN_OK, library.lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("ann"), TERN_FOREVER, &lease);
    library.manager_close(manager);
}

int main(void)
{
    static struct use uses[ROUNDS];
    const char *path = getenv("TERN_LIBRARY");
    if (path == NULL)
        fprintf(stderr, "TERN_LIBRARY must be the path of the shared library\n");
    CHECK(path != NULL);
    void *already_there = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    CHECK(already_there == NULL);
    check_idle(path);

    for (int round = 0; round < ROUNDS; round++) {
        load(path);
        begin(&uses[round]);
        CHECK_EQ(dlclose(library.handle), 0);
        /* Some go on until the program ends, through all the loading and unloading of the others. */
        if (round % KEPT_EVERY != 0)
            end(&uses[round]);
    }
    for (int round = 0; round < ROUNDS; round += KEPT_EVERY)
        end(&uses[round]);
    return finish(__FILE__);
}
