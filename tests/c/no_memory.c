/*
 * malloc() gives nothing any more, from any of the allocations of a call on: the call returns with a status, or the process is aborted with a
 * message, as docs/c-abi.md says; never anything else. Those who share a table with it go on. Not for checkers of memory, which have a malloc() of their own.
 */
#define _GNU_SOURCE
#include "calls.h"
#include "shared.h"

#include <errno.h>

/* The allocator of the C library, by the names behind its names. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

/* How many times the calling thread has asked for memory since it last looked, and from which time on it gets none; 0: it gets all it asks for. */
__extension__ static __thread uint64_t asked, refused_from;

static int is_refused(void)
{
    asked++;
    if (refused_from == 0 || asked < refused_from)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
    void *made = is_refused() ? NULL : __libc_memalign(alignment, size);
    if (made == NULL)
        return ENOMEM;
    *to = made;
    return 0;
}

void free(void *old)
{
    __libc_free(old);
}

/* What became of a child whose memory ran out. */
enum { RETURNED = 20, REFUSED = 21, ABORTED = 22, OTHERWISE = 23 };

/* Waits for a child whose standard error is the pipe: what became of it. */
static int fate_of(pid_t child, int errors)
{
    char said[4096];
    size_t length = 0;
    ssize_t more;
    while (length < sizeof said - 1 && (more = read(errors, said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)more;
    said[length] = 0;
    close(errors);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && length == 0)
        return WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strncmp(said, "memory allocation of ", 21) == 0)
        return ABORTED;
    fprintf(stderr, "    it ended with %d and said \"%s\"\n", status, said);
    return OTHERWISE;
}

/* A child that does this, with its standard error in a pipe; what became of it. */
static int fate_of_one_that(int (*work)(size_t, uint64_t), size_t which, uint64_t from, pid_t *was)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = *was = start_child();
    if (child == 0) {
        alarm(60);
        set_limit(RLIMIT_CORE, 0);
        CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
        close(ends[0]);
        close(ends[1]);
        _exit(work(which, from));
    }
    close(ends[1]);
    return fate_of(child, ends[0]);
}

/* A call did all it should, or says that there is no memory. */
static int told(int32_t status, int32_t usual, const tern_error_t *error)
{
    if (status == usual)
        return RETURNED;
    int is_memory = error->os_errno == ENOMEM || error->os_errno == EAGAIN;
    return status == TERN_ERR_SYSTEM && is_memory ? REFUSED : OTHERWISE;
}

/* How many allocations each call makes: more than a byte has room for, if it measures. */
static uint64_t needs[CALLS];

static void count_needs(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct world world;
        world_open(&world);
        /* Once for what is made once. */
        calls[i].run(&world);
        world_close(&world);
        world_open(&world);
        asked = 0;
        int32_t status = calls[i].run(&world);
        needs[i] = asked;
        check_call(&calls[i], &world, status, calls[i].usual);
        world_close(&world);
    }
}

static int run_without_memory(size_t which, uint64_t from)
{
    struct world world;
    world_open(&world);
    asked = 0;
    refused_from = from;
    int32_t status = calls[which].run(&world);
    refused_from = 0;
    int fate = told(status, calls[which].usual, &world.error);
    if (fate == REFUSED)
        CHECK(nothing_happened(&world));
    /* What is left can be used, and closed. */
    world_close(&world);
    return fate;
}

/* Of calls that make many allocations, not each is refused: about so many, all along the way. */
enum { SOME = 4 };

static void check_every_call(void)
{
    int fates[4] = { 0, 0, 0, 0 };
    for (size_t i = 0; i < CALLS; i++) {
        for (uint64_t from = 1; from <= needs[i]; from += 1 + needs[i] / SOME) {
            pid_t child;
            char path[64];
            int fate = fate_of_one_that(run_without_memory, i, from, &child);
            if (fate < RETURNED || fate > ABORTED)
                fprintf(stderr, "    %s, without its allocation %" PRIu64 "\n", calls[i].name, from);
            CHECK(fate >= RETURNED && fate <= ABORTED);
            fates[fate - RETURNED]++;
            /* What one that was aborted could not remove: the first of its worlds, after those of count_needs(). */
            snprintf(path, sizeof path, "/dev/shm/ternlease-test-%ld-%d", (long)child, 2 * (int)CALLS);
            unlink(path);
        }
    }
    printf("returned all the same: %d, refused: %d, aborted: %d\n", fates[0], fates[1], fates[2]);
    CHECK(fates[2] > 0);
}

/* These ask for no memory, as long as nobody waits for what they free: they work when there is none left. */
static const char *const without[] = {
    "tern_abi_check",      "tern_manager_tick",   "tern_manager_tick_count", "tern_manager_active_count", "tern_manager_pending_claimers",
    "tern_manager_claim",  "tern_manager_enqueue", "tern_lease_acquire",     "tern_lease_state",          "tern_lease_states",
    "tern_lease_renew",    "tern_lease_renew_for", "tern_lease_renew_all",   "tern_lease_release",        "tern_lease_revoke",
    "tern_ticket_state",   "tern_ticket_cancel",   "tern_pool_try_claim",    "tern_gpu_lease_release",    "tern_machine_compute_time",
};

static void check_those_without(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        for (size_t j = 0; j < sizeof without / sizeof without[0]; j++) {
            if (strcmp(calls[i].name, without[j]) == 0 && needs[i] != 0)
                fprintf(stderr, "    %s asked for memory %" PRIu64 " times\n", without[j], needs[i]);
            CHECK(strcmp(calls[i].name, without[j]) != 0 || needs[i] == 0);
        }
    }
}

/* The table that a child without memory shares with this process. */
static struct place place;

/* Claims, waits, and all that goes with it; from somewhere on without memory. */
static int share_without_memory(size_t unused, uint64_t from)
{
    (void)unused;
    tern_manager_t *manager = NULL;
    tern_lease_t lease = 0, other = 0;
    tern_ticket_t ticket = 0;
    tern_text_t names[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") } };
    tern_claim_t claim = claim_of("child", names, 2);
    int fd = -1, kept = -1;
    asked = 0;
    refused_from = from;
    int32_t status = tern_manager_open(TERN_STR(place.url), NULL, &manager, &err);
    if (status == TERN_OK)
        status = tern_manager_claim(manager, &claim, &lease, &err);
    claim.wait = TERN_FOREVER;
    if (status == TERN_OK && tern_manager_enqueue(manager, &claim, &other, &ticket, &err) == TERN_WAITING)
        status = tern_ticket_fd(manager, ticket, &fd, &err);
    if (status == TERN_OK)
        status = tern_lease_keep_for_children(manager, lease, &kept, &err);
    if (status == TERN_OK)
        status = tern_lease_revoke(manager, lease, TERN_REASON_QUOTA, TERN_STR("child"), 0, NULL, &err);
    tern_manager_close(manager);
    refused_from = 0;
    return told(status, TERN_OK, &err);
}

/* Also in a table that is shared. */
static void use_shared_without_memory(tern_manager_t *manager)
{
    asked = 0;
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, lease);
    EXPECT(TERN_OK, tern_lease_renew, manager, lease, NULL);
    EXPECT(TERN_BUSY, tern_lease_acquire, manager, TERN_STR("gpu0"), TERN_STR("bob"), TERN_FOREVER, &lease);
    EXPECT(TERN_OK, tern_lease_release, manager, lease);
    EXPECT(TERN_ERR_NOT_HELD, tern_lease_release, manager, lease);
    CHECK_EQ(asked, 0);
}

static void check_others(void)
{
    place = new_place();
    tern_manager_t *manager = open_shared(&place);
    tern_lease_t own = acquire(manager, "own", "ann", TERN_FOREVER);
    int fate = ABORTED, died = 0;
    use_shared_without_memory(manager);
    for (uint64_t from = 1; fate != RETURNED; from++) {
        pid_t child;
        fate = fate_of_one_that(share_without_memory, 0, from, &child);
        CHECK(fate >= RETURNED && fate <= ABORTED);
        died += fate == ABORTED;
        /* Whatever it had is free, and what others have is theirs. */
        tern_text_t names[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") } };
        tern_claim_t claim = claim_of("ann", names, 2);
        tern_lease_t lease = 0;
        claim.wait = TERN_FOREVER;
        EXPECT(TERN_OK, tern_manager_claim, manager, &claim, &lease);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
        EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, own);
        CHECK_EQ(pending_claimers(manager), 0);
    }
    printf("shared tables survived %d aborts\n", died);
    CHECK(died > 0);
    tern_manager_close(manager);
    unlink(place.path);
}

int main(void)
{
    count_needs();
    check_those_without();
    check_every_call();
    check_others();
    return finish(__FILE__);
}
