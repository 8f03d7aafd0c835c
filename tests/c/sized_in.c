/* Structs that the caller fills in, of every size: what is missing counts as zero, and what the library does not know must be zero. */
#include "open.h"

enum { LONGEST = 4096 };

static const size_t absurd[] = { 0, 1, 7, LONGEST + 1, 65536, UINT32_MAX, (size_t)INT64_MAX, SIZE_MAX };

static unsigned char memory[LONGEST + 64];

/* The first `size` bytes of a struct, as one that says it has this size; behind its end in our version: zeros. */
static void *cut(const void *whole, size_t whole_size, size_t size)
{
    memset(memory, 0x5a, sizeof memory);
    if (size <= LONGEST)
        memset(memory, 0, size);
    memcpy(memory, whole, size < whole_size ? size : whole_size);
    memcpy(memory, &size, sizeof size);
    return memory;
}

/* A manager with what the claim below needs. Two of them give the same answers: they count ticks. */
static tern_manager_t *open_for_claims(tern_lease_t *parent)
{
    tern_manager_t *manager = open_small(8, 8, 8, 8);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu0"), 4, 1000, NULL);
    EXPECT(TERN_OK, tern_resource_declare, manager, TERN_STR("gpu1"), 4, 1000, NULL);
    *parent = acquire(manager, "node", "job", 100);
    return manager;
}

/* Nothing in it is as usual, so that whatever is cut off makes a difference. */
static tern_claim_t whole_claim(const tern_text_t *resources, tern_lease_t parent)
{
    tern_claim_t claim = claim_of("ann", resources, 2);
    claim.ttl = 50;
    claim.wait = 3;
    claim.notice = 2;
    claim.parent = parent;
    claim.flags = TERN_CLAIM_PREEMPTIBLE;
    claim.count = 2;
    claim.slots = 3;
    claim.memory_mib = 10;
    claim.priority = 5;
    return claim;
}

static const tern_text_t gpus[] = { { "gpu0", 4 }, { "gpu1", 4 } };

/* A claim that is too short is the same as one that ends with zeros. */
static void check_short_claim(size_t size)
{
    tern_lease_t parent, lease[2] = { 77, 77 };
    tern_lease_info_t infos[2] = { tern_lease_info_init(), tern_lease_info_init() };
    int32_t status[2];
    for (int way = 0; way < 2; way++) {
        tern_manager_t *manager = open_for_claims(&parent);
        tern_claim_t claim = whole_claim(gpus, parent);
        if (way == 0) {
            status[way] = tern_manager_claim(manager, cut(&claim, sizeof claim, size), &lease[way], &err);
        } else {
            memset((char *)&claim + size, 0, sizeof claim - size);
            claim.struct_size = sizeof claim;
            status[way] = tern_manager_claim(manager, &claim, &lease[way], &err);
        }
        if (status[way] == TERN_OK)
            EXPECT(TERN_OK, tern_lease_info, manager, lease[way], &infos[way]);
        tern_manager_close(manager);
    }
    CHECK_EQ(status[0], status[1]);
    /* No two managers give out the same ids; all the rest is the same. */
    infos[0].lease = infos[1].lease = infos[0].parent = infos[1].parent = 0;
    CHECK(memcmp(&infos[0], &infos[1], sizeof infos[0]) == 0);
}

static void check_claims(void)
{
    tern_lease_t parent, lease = 77;
    tern_ticket_t ticket = 77;
    for (size_t size = sizeof(size_t); size <= sizeof(tern_claim_t); size++)
        check_short_claim(size);

    tern_manager_t *manager = open_for_claims(&parent);
    tern_claim_t claim = whole_claim(gpus, parent);
    for (size_t size = sizeof claim + 1; size <= LONGEST; size += size < 300 ? 1 : 97) {
        lease = 0;
        EXPECT(TERN_OK, tern_manager_claim, manager, cut(&claim, sizeof claim, size), &lease);
        EXPECT(TERN_OK, tern_lease_release, manager, lease);
    }

    /* A tail that is not zero says something that this version does not know. */
    struct snapshot before = look_at(manager);
    lease = 77;
    for (size_t size = sizeof claim + 1; size <= LONGEST; size += size < 300 ? 1 : 97) {
        const size_t dirty[] = { sizeof claim, (sizeof claim + size) / 2, size - 1 };
        for (size_t i = 0; i < 3; i++) {
            tern_claim_t *said = cut(&claim, sizeof claim, size);
            memory[dirty[i]] = 1;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_claim, manager, said, &lease);
            EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_enqueue, manager, said, &lease, &ticket);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        claim.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_claim, manager, &claim, &lease);
        EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_enqueue, manager, &claim, &lease, &ticket);
    }
    CHECK(lease == 77 && ticket == 77 && is_unchanged(manager, &before));
    tern_manager_close(manager);
}

/* Is the second lease too many? */
static int has_room_for_one(tern_manager_t *manager)
{
    tern_lease_t lease = 0;
    acquire(manager, "gpu0", "ann", TERN_FOREVER);
    return tern_lease_acquire(manager, TERN_STR("gpu1"), TERN_STR("ann"), TERN_FOREVER, &lease, NULL) == TERN_ERR_FULL;
}

static void check_options(void)
{
    tern_options_t options = tern_options_init();
    options.flags = TERN_OPTION_TICKS;
    options.leases = options.tickets = options.history = 1;
    options.resources = 8;
    for (size_t size = sizeof(size_t); size <= LONGEST; size += size < 100 ? 1 : 97) {
        tern_manager_t *manager = NULL;
        EXPECT(TERN_OK, tern_manager_open, TERN_STR("process:"), cut(&options, sizeof options, size), &manager);
        if (size <= offsetof(tern_options_t, flags))
            CHECK(tick_count(manager) != 0);
        if (size >= offsetof(tern_options_t, leases))
            CHECK(tick_count(manager) == 0);
        if (size <= offsetof(tern_options_t, leases))
            CHECK(!has_room_for_one(manager));
        if (size >= offsetof(tern_options_t, tickets))
            CHECK(has_room_for_one(manager));
        tern_manager_close(manager);
    }

    tern_manager_t *none = NULL;
    for (size_t size = sizeof options + 1; size <= LONGEST; size += size < 100 ? 1 : 97) {
        const size_t dirty[] = { sizeof options, (sizeof options + size) / 2, size - 1 };
        for (size_t i = 0; i < 3; i++) {
            tern_options_t *said = cut(&options, sizeof options, size);
            memory[dirty[i]] = 0x80;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_open, TERN_STR("process:"), said, &none);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_manager_open, TERN_STR("process:"), &options, &none);
    }
    CHECK(none == NULL);
}

/* As above: nothing in it is as usual, so that whatever is cut off makes a difference. */
static tern_gpu_claim_t whole_gpu_claim(const tern_text_t *devices, tern_lease_t parent)
{
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.holder = "ann";
    claim.holder_len = 3;
    claim.devices = devices;
    claim.device_count = 2;
    claim.ttl = 50;
    claim.wait = 3;
    claim.notice = 2;
    claim.parent = parent;
    claim.flags = TERN_CLAIM_PREEMPTIBLE;
    claim.count = 2;
    claim.slots = 3;
    claim.memory_mib = 10;
    claim.min_memory_mib = 1000;
    claim.min_compute_major = 7;
    claim.min_compute_minor = 5;
    claim.vendor = TERN_VENDOR_NVIDIA;
    claim.priority = 5;
    return claim;
}

static const tern_text_t devices[] = { { "1", 1 }, { "0", 1 } };

static tern_pool_t *open_pool_for_claims(tern_manager_t **manager, tern_lease_t *parent)
{
    tern_pool_options_t options = devices_of("fake:3");
    tern_pool_t *pool = NULL;
    *manager = open_small(8, 8, 8, 8);
    options.slots = 4;
    EXPECT(TERN_OK, tern_pool_on, *manager, &options, &pool);
    *parent = acquire(*manager, "node", "job", 100);
    return pool;
}

static void check_short_gpu_claim(size_t size)
{
    tern_lease_t parent, lease[2] = { 77, 77 };
    tern_lease_info_t infos[2] = { tern_lease_info_init(), tern_lease_info_init() };
    int32_t status[2];
    for (int way = 0; way < 2; way++) {
        tern_manager_t *manager;
        tern_pool_t *pool = open_pool_for_claims(&manager, &parent);
        tern_gpu_claim_t claim = whole_gpu_claim(devices, parent);
        if (way == 0) {
            status[way] = tern_pool_claim(pool, cut(&claim, sizeof claim, size), &lease[way], &err);
        } else {
            memset((char *)&claim + size, 0, sizeof claim - size);
            claim.struct_size = sizeof claim;
            status[way] = tern_pool_claim(pool, &claim, &lease[way], &err);
        }
        if (status[way] == TERN_OK)
            EXPECT(TERN_OK, tern_lease_info, manager, lease[way], &infos[way]);
        tern_pool_close(pool);
        tern_manager_close(manager);
    }
    CHECK_EQ(status[0], status[1]);
    infos[0].lease = infos[1].lease = infos[0].parent = infos[1].parent = 0;
    CHECK(memcmp(&infos[0], &infos[1], sizeof infos[0]) == 0);
}

static void check_gpu_claims(void)
{
    tern_lease_t parent, lease = 77;
    tern_ticket_t ticket = 77;
    tern_manager_t *manager;
    for (size_t size = sizeof(size_t); size <= sizeof(tern_gpu_claim_t); size++)
        check_short_gpu_claim(size);

    tern_pool_t *pool = open_pool_for_claims(&manager, &parent);
    tern_gpu_claim_t claim = whole_gpu_claim(devices, parent);
    for (size_t size = sizeof claim + 1; size <= LONGEST; size += size < 300 ? 1 : 97) {
        EXPECT(TERN_OK, tern_pool_claim, pool, cut(&claim, sizeof claim, size), &lease);
        EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    }
    struct snapshot before = look_at(manager);
    lease = 77;
    for (size_t size = sizeof claim + 1; size <= LONGEST; size += size < 300 ? 1 : 97) {
        const size_t dirty[] = { sizeof claim, (sizeof claim + size) / 2, size - 1 };
        for (size_t i = 0; i < 3; i++) {
            tern_gpu_claim_t *said = cut(&claim, sizeof claim, size);
            memory[dirty[i]] = 1;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_claim, pool, said, &lease);
            EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_enqueue, pool, said, &lease, &ticket);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        claim.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_claim, pool, &claim, &lease);
        EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_enqueue, pool, &claim, &lease, &ticket);
    }
    CHECK(lease == 77 && ticket == 77 && is_unchanged(manager, &before));
    tern_pool_close(pool);
    tern_manager_close(manager);
}

static void check_pool_options(void)
{
    tern_pool_options_t options = devices_of("fake:2");
    tern_manager_t *manager = open_small(8, 8, 8, 8);
    tern_pool_t *pool = NULL;
    options.slots = 3;
    for (size_t size = offsetof(tern_pool_options_t, flags); size <= LONGEST; size += size < 100 ? 1 : 97) {
        tern_device_status_t status = tern_device_status_init();
        EXPECT(TERN_OK, tern_pool_on, manager, cut(&options, sizeof options, size), &pool);
        EXPECT(TERN_OK, tern_pool_device_status, pool, 1, &status);
        CHECK_EQ(status.slots, size <= offsetof(tern_pool_options_t, slots) ? 1 : 3);
        tern_pool_close(pool);
    }

    pool = NULL;
    for (size_t size = sizeof options + 1; size <= LONGEST; size += size < 100 ? 1 : 97) {
        const size_t dirty[] = { sizeof options, (sizeof options + size) / 2, size - 1 };
        for (size_t i = 0; i < 3; i++) {
            tern_pool_options_t *said = cut(&options, sizeof options, size);
            memory[dirty[i]] = 0x80;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_on, manager, said, &pool);
            EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_open, TERN_STR("process:"), said, &pool);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_on, manager, &options, &pool);
        EXPECT(TERN_ERR_BAD_STRUCT, tern_pool_open, TERN_STR("process:"), &options, &pool);
    }
    CHECK(pool == NULL);
    tern_manager_close(manager);
}

/* A task that is too short is the same as one that ends with zeros; of one that is too long the rest must be zero. */
static void check_tasks(void)
{
    tern_machine_t *machine = read_machine();
    tern_task_t whole = task_of(tern_cost_matmul(300, 300, 300, 720000), TERN_KIND_DENSE64);
    whole.input_bytes = 5;
    whole.flags = TERN_TASK_INPUT;
    whole.threads = 2;
    whole.learned_runs = 3;
    whole.learned_permille = 1500;
    for (size_t size = sizeof(size_t); size <= LONGEST; size += size < 100 ? 1 : 97) {
        tern_task_t zeros = tern_task_init();
        tern_estimate_t is = { 0, 0, 0 }, should = { 0, 0, 0 };
        memcpy(&zeros, &whole, size < sizeof whole ? size : sizeof whole);
        zeros.struct_size = sizeof zeros;
        EXPECT(TERN_OK, tern_machine_compute_time, machine, cut(&whole, sizeof whole, size), &is);
        EXPECT(TERN_OK, tern_machine_compute_time, machine, &zeros, &should);
        CHECK(memcmp(&is, &should, sizeof is) == 0);
        if (size <= sizeof whole)
            continue;
        const size_t dirty[] = { sizeof whole, (sizeof whole + size) / 2, size - 1 };
        for (size_t i = 0; i < 3; i++) {
            tern_task_t *said = cut(&whole, sizeof whole, size);
            memory[dirty[i]] = 1;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_compute_time, machine, said, &is);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        tern_estimate_t none = { 7, 7, 7 };
        whole.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_compute_time, machine, &whole, &none);
        CHECK(none.lo == 7 && none.mid == 7 && none.hi == 7);
    }
    tern_machine_close(machine);
}

static void never_called(void *user, const char *step, uint32_t done, uint32_t of)
{
    (void)user, (void)step, (void)done, (void)of;
    CHECK(!"it measures nothing");
}

/* Options of a machine, and routes: whole ones are as they say, absurd ones are refused. */
static void check_machines(void)
{
    tern_machine_options_t options = no_benchmarks();
    tern_machine_t *machine = NULL, *none = NULL;
    options.cache_file = "/nowhere/rates";
    options.cache_file_len = strlen(options.cache_file);
    options.progress = never_called;
    for (size_t size = offsetof(tern_machine_options_t, budget_us); size <= LONGEST; size += size < 100 ? 1 : 97) {
        EXPECT(TERN_OK, tern_machine_read, TERN_STR("/"), cut(&options, sizeof options, size), &machine);
        if (size > sizeof options) {
            memory[size - 1] = 1;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_read, TERN_STR("/"), (tern_machine_options_t *)(void *)memory, &none);
        }
        tern_machine_close(machine);
    }
    machine = read_machine();
    tern_route_t route = tern_route_init(), found = tern_route_init();
    route.bytes_per_second = 1000;
    route.query_ns = 5;
    route.hits_permille = 300;
    route.known = TERN_ROUTE_LEARNED;
    for (size_t size = offsetof(tern_route_t, query_ns); size <= LONGEST; size += size < 100 ? 1 : 97) {
        EXPECT(TERN_OK, tern_machine_set_route, machine, cut(&route, sizeof route, size));
        EXPECT(TERN_OK, tern_machine_route, machine, &found);
        CHECK_EQ(found.bytes_per_second, 1000);
        CHECK_EQ(found.query_ns, size <= offsetof(tern_route_t, query_ns) ? 0 : 5);
        CHECK_EQ(found.known, size <= offsetof(tern_route_t, known) ? TERN_ROUTE_DECLARED : TERN_ROUTE_LEARNED);
        if (size > sizeof route) {
            memory[size - 1] = 1;
            EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_set_route, machine, (tern_route_t *)(void *)memory);
        }
    }
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        options.struct_size = route.struct_size = absurd[i];
        EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_read, TERN_STR("/"), &options, &none);
        EXPECT(TERN_ERR_BAD_STRUCT, tern_machine_set_route, machine, &route);
    }
    CHECK(none == NULL);
    tern_machine_close(machine);
}

int main(void)
{
    check_tasks();
    check_machines();
    check_claims();
    check_options();
    check_gpu_claims();
    check_pool_options();
    return finish(__FILE__);
}
