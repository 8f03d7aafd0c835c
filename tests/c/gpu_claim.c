/* GPU claim: how many devices, which ones, how much of each, in line, and what is impossible. */
#include "open.h"

#include <pthread.h>

static tern_lease_t claim_with(const tern_pool_t *pool, const tern_gpu_claim_t *claim)
{
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_pool_claim, pool, claim, &lease);
    CHECK(lease != 0);
    return lease;
}

static void release(const tern_pool_t *pool, tern_lease_t lease)
{
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
}

/* The places of a lease's devices, as a set of bits. */
static unsigned places_of(const tern_pool_t *pool, tern_lease_t lease)
{
    size_t places[16], count = 0;
    unsigned set = 0;
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, places, 16, &count);
    for (size_t i = 0; i < count; i++)
        set |= 1u << places[i];
    return set;
}

static void check_default(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_manager_t *manager = NULL;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_info_t info = tern_lease_info_init();
    tern_lease_t lease = claim_with(pool, &claim), second = claim_one(pool), none = 77;
    CHECK(places_of(pool, lease) == 1 && places_of(pool, second) == 2);
    EXPECT(TERN_BUSY, tern_pool_claim, pool, &claim, &none);
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);
    claim.wait = 2 * TERN_MILLISECOND;
    EXPECT(TERN_TIMEOUT, tern_pool_claim, pool, &claim, &none);
    CHECK_EQ(err.reason, TERN_REASON_WAIT_TIMED_OUT);
    CHECK_EQ(none, 77);

    /* Without end, and with a name of its own. */
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.ttl == TERN_FOREVER && info.end == TERN_FOREVER && info.flags == 0);
    CHECK_TEXT(info.holder, "claim-1");
    EXPECT(TERN_OK, tern_lease_info, manager, second, &info);
    CHECK_TEXT(info.holder, "claim-2");
    release(pool, lease);
    EXPECT(TERN_ERR_NOT_HELD, tern_gpu_lease_release, pool, lease);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, lease);
    tern_manager_close(manager);
    tern_pool_close(pool);
}

/* Everything that a claim can say arrives. */
static void check_whole(void)
{
    tern_manager_t *manager = open_small(8, 8, 16, 8);
    tern_pool_options_t options = devices_of("fake:4");
    tern_pool_t *pool = NULL;
    tern_lease_info_t info = tern_lease_info_init();
    tern_take_t takes[2] = { tern_take_init() };
    options.slots = 4;
    EXPECT(TERN_OK, tern_pool_on, manager, &options, &pool);
    tern_lease_t parent = acquire(manager, "node", "job", 90);
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.holder = "trainer";
    claim.holder_len = 7;
    claim.ttl = 50;
    claim.notice = 2;
    claim.parent = parent;
    claim.flags = TERN_CLAIM_PREEMPTIBLE;
    claim.count = 2;
    claim.slots = 3;
    claim.memory_mib = 100;
    claim.priority = -5;
    tern_lease_t lease = claim_with(pool, &claim);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK_TEXT(info.holder, "trainer");
    CHECK(info.ttl == 50 && info.parent == parent && info.priority == -5 && info.take_count == 2);
    CHECK_EQ(info.flags, TERN_LEASE_PREEMPTIBLE);
    EXPECT(TERN_OK, tern_lease_takes, manager, lease, takes, 2, NULL);
    CHECK(takes[0].slots == 3 && takes[0].memory_mib == 100 && takes[1].slots == 3 && takes[1].memory_mib == 100);

    /* A claim of higher priority takes it, after its notice. */
    tern_gpu_claim_t urgent = tern_gpu_claim_init();
    tern_lease_t none = 0;
    tern_ticket_t ticket = 0;
    urgent.count = 4;
    urgent.flags = TERN_CLAIM_PREEMPT;
    urgent.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &urgent, &none, &ticket);
    tick(manager, 2);
    EXPECT(TERN_OK, tern_ticket_wait, manager, ticket, 0, &none);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.state == TERN_REVOKED && info.reason == TERN_REASON_PREEMPTED);
    release(pool, none);

    /* Spare capacity is for as long as nobody waits. */
    tern_gpu_claim_t spare = tern_gpu_claim_init();
    spare.count = 4;
    spare.flags = TERN_CLAIM_SPARE;
    lease = claim_with(pool, &spare);
    urgent.flags = 0;
    none = claim_with(pool, &urgent);
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK(info.state == TERN_REVOKED && info.reason == TERN_REASON_SPARE_RECLAIMED);
    tern_pool_close(pool);
    tern_manager_close(manager);
}

/* Four of eight are those that have links to each other; single ones are what is left of an island. */
static void check_islands(void)
{
    tern_pool_t *pool = open_pool("fake:8");
    tern_gpu_claim_t four = tern_gpu_claim_init();
    tern_lease_t single = claim_one(pool);
    four.count = 4;
    tern_lease_t lease = claim_with(pool, &four);
    unsigned taken = places_of(pool, lease);
    CHECK(taken == 0x0f || taken == 0xf0);
    CHECK_EQ(taken & places_of(pool, single), 0);
    tern_lease_t next = claim_one(pool);
    CHECK_EQ(taken & places_of(pool, next), 0);
    tern_pool_close(pool);
}

static void check_conditions(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_lease_t lease = 77;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.min_memory_mib = 81920;
    claim.min_compute_major = 8;
    claim.vendor = TERN_VENDOR_NVIDIA;
    release(pool, claim_with(pool, &claim));

    /* What no device has is never worth waiting for. */
    claim.wait = TERN_FOREVER;
    claim.min_memory_mib = 81921;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_claim, pool, &claim, &lease);
    CHECK(strstr(err.message, "81921") != NULL);
    claim.min_memory_mib = 0;
    claim.min_compute_minor = 1;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_claim, pool, &claim, &lease);
    claim.min_compute_major = 0;
    release(pool, claim_with(pool, &claim));
    claim.vendor = TERN_VENDOR_AMD;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_claim, pool, &claim, &lease);
    claim.vendor = TERN_VENDOR_ANY;
    claim.count = 3;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_claim, pool, &claim, &lease);
    claim.count = 1;
    claim.slots = 2;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_claim, pool, &claim, &lease);
    CHECK_EQ(lease, 77);
    tern_pool_close(pool);
}

static void check_names(void)
{
    tern_pool_t *pool = open_pool("fake:12");
    const char *const second[] = { "1", "nvidia:1", "0000:02:00.0", "00000000:02:00.0", "GPU-00000001",
                                   "GPU-00000001-fa4e-4000-8000-000000000001" };
    tern_lease_t lease = 77;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.device_count = 1;
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        tern_text_t name = { TERN_STR(second[i]) };
        claim.devices = &name;
        lease = claim_with(pool, &claim);
        CHECK_EQ(places_of(pool, lease), 2);
        release(pool, lease);
    }
    /* None, or any of several. */
    const char *const unknown[] = { "12", "amd:1", "0000:22:00.0", "GPU-0000000", "gpu0", "-1", "" };
    lease = 77;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        tern_text_t name = { TERN_STR(unknown[i]) };
        claim.devices = &name;
        EXPECT(TERN_ERR_UNKNOWN_RESOURCE, tern_pool_claim, pool, &claim, &lease);
    }
    tern_text_t names[] = { { TERN_STR("5") }, { TERN_STR("3") }, { TERN_STR("4") } }, twice[] = { names[0], names[0] };
    claim.devices = twice;
    claim.device_count = 2;
    EXPECT(TERN_ERR_DUPLICATE_RESOURCE, tern_pool_claim, pool, &claim, &lease);
    CHECK_EQ(lease, 77);

    /* The preferred ones first. */
    claim.devices = names;
    claim.device_count = 3;
    CHECK_EQ(places_of(pool, claim_with(pool, &claim)), 1u << 5);
    claim.count = 2;
    CHECK_EQ(places_of(pool, claim_with(pool, &claim)), 1u << 3 | 1u << 4);
    tern_pool_close(pool);
}

/* In line: in order, not overtaken, told by the manager's functions for tickets. */
static void check_line(void)
{
    tern_pool_t *pool = open_pool("fake:1");
    tern_manager_t *manager = NULL;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = claim_one(pool), none = 77;
    tern_ticket_t first = 0, second = 0;
    uint64_t waiting = 0;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    EXPECT(TERN_BUSY, tern_pool_enqueue, pool, &claim, &none, &first);
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &claim, &none, &first);
    EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &claim, &none, &second);
    CHECK(none == 77 && first != 0 && second > first);
    EXPECT(TERN_OK, tern_pool_pending_claimers, pool, &waiting);
    CHECK_EQ(waiting, 2);
    release(pool, lease);
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);
    EXPECT_TRIT(TERN_GRANTED, tern_ticket_state, manager, first);
    EXPECT(TERN_OK, tern_ticket_wait, manager, first, 0, &lease);
    EXPECT(TERN_OK, tern_ticket_cancel, manager, second);
    release(pool, lease);
    EXPECT(TERN_OK, tern_pool_enqueue, pool, &claim, &lease, &first);
    CHECK_EQ(places_of(pool, lease), 1);
    tern_manager_close(manager);
    tern_pool_close(pool);
}

static void *wait_for_device(void *pool)
{
    tern_error_t err;
    static tern_lease_t lease;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    return &lease;
}

/* A thread that waits has the device before the release returns. */
static void check_blocking(void)
{
    tern_pool_t *pool = open_pool("fake:1");
    tern_lease_t lease = claim_one(pool), none = 77;
    pthread_t thread;
    void *given = NULL;
    uint64_t waiting = 0;
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_device, pool), 0);
    while (waiting == 0)
        EXPECT(TERN_OK, tern_pool_pending_claimers, pool, &waiting);
    release(pool, lease);
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);
    CHECK_EQ(pthread_join(thread, &given), 0);
    CHECK(*(tern_lease_t *)given > lease);
    tern_pool_close(pool);
}

/* The lease may be written into the claim itself. */
static void check_overlap(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &claim.parent);
    CHECK_EQ(places_of(pool, claim.parent), 1);
    EXPECT(TERN_OK, tern_pool_enqueue, pool, &claim, &claim.parent, &claim.parent);
    CHECK_EQ(places_of(pool, claim.parent), 2);
    tern_pool_close(pool);
}

int main(void)
{
    check_default();
    check_whole();
    check_islands();
    check_conditions();
    check_names();
    check_line();
    check_blocking();
    check_overlap();
    return finish(__FILE__);
}
