/*
 * The process has no descriptor left, or some: what needs one says EMFILE, loses none, and works as soon as there are enough. What needs none goes on.
 * Not for checkers of memory, which have descriptors of their own.
 */
#include "descriptors.h"
#include "shared.h"

static struct place place;

/* Opens something, uses it, and closes it; what the opening gave. */
static int32_t use_process(void)
{
    tern_manager_t *manager = NULL;
    int32_t status = tern_manager_open(TERN_STR("process:"), NULL, &manager, &err);
    if (status == TERN_OK) {
        acquire(manager, "gpu0", "ann", TERN_FOREVER);
        tern_text_t gpu = { TERN_STR("gpu0") };
        tern_claim_t claim = claim_of("bob", &gpu, 1);
        tern_lease_t lease = 0;
        claim.wait = 2000;
        EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &lease);
    }
    tern_manager_close(manager);
    return status;
}

static int32_t use_shared(void)
{
    tern_manager_t *manager = NULL;
    tern_options_t options = tern_options_init();
    options.leases = options.tickets = options.resources = options.history = 64;
    int32_t status = tern_manager_open(TERN_STR(place.url), &options, &manager, &err);
    if (status == TERN_OK) {
        tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER), none = 0;
        tern_text_t gpu = { TERN_STR("gpu0") };
        tern_claim_t claim = claim_of("bob", &gpu, 1);
        claim.wait = 2000;
        EXPECT(TERN_TIMEOUT, tern_manager_claim, manager, &claim, &none);
        int kept = -1, spare = spare_ones();
        int32_t keeping = tern_lease_keep_for_children(manager, lease, &kept, &err);
        CHECK(spare > 0 ? keeping == TERN_OK : keeping == TERN_ERR_SYSTEM && err.os_errno == EMFILE);
        if (kept >= 0)
            close(kept);
    }
    tern_manager_close(manager);
    return status;
}

static int32_t use_pool_in(const char *url)
{
    tern_pool_t *pool = NULL;
    tern_pool_options_t options = devices_of("fake:2");
    int32_t status = tern_pool_open(TERN_STR(url), &options, &pool, &err);
    if (status == TERN_OK)
        EXPECT(TERN_OK, tern_gpu_lease_release, pool, claim_one(pool));
    tern_pool_close(pool);
    return status;
}

static int32_t use_pool(void)
{
    return use_pool_in("process:");
}

static int32_t use_shared_pool(void)
{
    return use_pool_in(place.url);
}

/* Reads files of the system, of which each can do without. */
static int32_t use_machine(void)
{
    tern_machine_t *machine = NULL;
    tern_machine_options_t options = no_benchmarks();
    int32_t status = tern_machine_read(TERN_STR("/"), &options, &machine, &err);
    tern_machine_close(machine);
    return status;
}

static int32_t use_ticket_fd(void)
{
    int fd = -1, other = -1;
    tern_manager_t *manager = open_real();
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    tern_ticket_t ticket = enqueue(manager, "gpu0", "bob");
    int32_t status = tern_ticket_fd(manager, ticket, &fd, &err);
    if (status == TERN_OK)
        status = tern_ticket_fd(manager, ticket, &other, &err);
    CHECK((status == TERN_OK) == (other >= 0));
    if (fd >= 0)
        close(fd);
    if (other >= 0)
        close(other);
    tern_manager_close(manager);
    return status;
}

static int32_t use_watch_fd(void)
{
    int fd = -1;
    tern_manager_t *manager = open_real();
    tern_lease_t lease = acquire(manager, "gpu0", "ann", TERN_FOREVER);
    int32_t status = tern_lease_watch_fd(manager, lease, &fd, &err);
    CHECK((status == TERN_OK) == (fd >= 0));
    if (fd >= 0)
        close(fd);
    tern_manager_close(manager);
    return status;
}

static int32_t use_events_fd(void)
{
    int fd = -1;
    tern_manager_t *manager = open_real();
    tern_events_t *events = NULL;
    EXPECT(TERN_OK, tern_events_open, manager, 0, &events);
    int32_t status = tern_events_fd(events, &fd, &err);
    CHECK((status == TERN_OK) == (fd >= 0));
    tern_events_close(events);
    tern_manager_close(manager);
    return status;
}

/* What a child ends with whose checks hold. */
enum { WORKED = 10, DID_NOT = 11 };

struct use {
    const char *name;
    int32_t (*run)(void);
    /* Works without any. */
    int needs_none;
};

static const struct use uses[] = {
    { "a table of the process", use_process, 1 },
    { "a table that is shared", use_shared, 0 },
    { "a pool of the process", use_pool, 1 },
    { "a pool that is shared", use_shared_pool, 0 },
    { "a machine", use_machine, 1 },
    { "a descriptor of a ticket", use_ticket_fd, 0 },
    { "a descriptor of a lease", use_watch_fd, 0 },
    { "a descriptor of events", use_events_fd, 0 },
};

enum { USES = sizeof uses / sizeof uses[0] };

/* It worked, or told what is missing. */
static int is_well(int32_t status)
{
    return status == TERN_OK || (status == TERN_ERR_SYSTEM && err.os_errno == EMFILE);
}

/* With so many descriptors, again and again: none is lost. */
static int use_with(uint64_t packed)
{
    const struct use *use = &uses[packed >> 8];
    int spare = (int)(packed & 0xff), worked = 0;
    leave(spare);
    for (int i = 0; i < 5; i++) {
        err = tern_error_init();
        int32_t status = use->run();
        if (!is_well(status))
            fprintf(stderr, "    %s, with %d descriptors, says %s\n", use->name, spare, err.message);
        CHECK(is_well(status));
        CHECK_EQ(spare_ones(), spare);
        worked = status == TERN_OK;
    }
    give_back(ENOUGH);
    CHECK_EQ(use->run(), TERN_OK);
    return worked ? WORKED : DID_NOT;
}

int main(void)
{
    for (uint64_t i = 0; i < USES; i++) {
        int came = DID_NOT;
        for (uint64_t spare = 0; came == DID_NOT; spare++) {
            CHECK(spare < ENOUGH);
            place = new_place();
            came = in_child(use_with, i << 8 | spare);
            CHECK(came == WORKED || (came == DID_NOT && !uses[i].needs_none));
            unlink(place.path);
        }
    }
    return finish(__FILE__);
}
