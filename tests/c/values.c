/* Every number that must be one of some, or within some: the last that is allowed, the first that is not, and absurd ones. */
#include "calls.h"

static const uint64_t too_large[] = { (uint64_t)1 << 48, ((uint64_t)1 << 48) + 1, (uint64_t)1 << 63, UINT64_MAX - 1 };
static const uint64_t large[] = { ((uint64_t)1 << 48) - 2, ((uint64_t)1 << 48) - 1, UINT64_MAX };

enum { TOO_LARGE = sizeof too_large / sizeof too_large[0], LARGE = sizeof large / sizeof large[0] };

static void check_options(void)
{
    tern_manager_t *manager = NULL;
    for (int bit = 0; bit < 64; bit++) {
        tern_options_t options = tern_options_init();
        options.flags = (uint64_t)1 << bit;
        if (options.flags <= TERN_OPTION_BREAK_DEADLOCKS) {
            tern_manager_close(open_with(&options));
        } else {
            EXPECT(TERN_ERR_BAD_VALUE, tern_manager_open, TERN_STR("process:"), &options, &manager);
            options.flags |= TERN_OPTION_TICKS;
            EXPECT(TERN_ERR_BAD_VALUE, tern_manager_open, TERN_STR("process:"), &options, &manager);
        }
    }
    const size_t limits[] = { offsetof(tern_options_t, leases), offsetof(tern_options_t, tickets),
                              offsetof(tern_options_t, resources), offsetof(tern_options_t, history) };
    const uint32_t most = 1 << 24, too_many[] = { most + 1, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX };
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            tern_options_t options = tern_options_init();
            memcpy((char *)&options + limits[i], &too_many[j], sizeof too_many[j]);
            EXPECT(TERN_ERR_BAD_VALUE, tern_manager_open, TERN_STR("process:"), &options, &manager);
        }
        tern_options_t options = tern_options_init();
        const uint32_t one = 1;
        memcpy((char *)&options + limits[i], &one, sizeof one);
        tern_manager_close(open_with(&options));
    }
    CHECK(manager == NULL);
}

static void check_reasons(struct world *world)
{
    const int32_t none[] = { -1, 1, 100, 105, 599, 605, 700, 704, 800, 65536 + 101, -101, INT32_MIN, INT32_MAX };
    uint64_t number = 77;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        EXPECT(TERN_ERR_BAD_VALUE, tern_manager_count, world->owner, none[i], &number);
        EXPECT(TERN_ERR_BAD_VALUE, tern_lease_revoke, world->owner, world->lease, none[i], "", 0, 0, &number);
    }
    EXPECT(TERN_ERR_BAD_VALUE, tern_manager_count, world->owner, TERN_REASON_NONE, &number);
    for (int32_t reason = TERN_REASON_TIMED_OUT; reason <= TERN_REASON_PARENT_ENDED; reason++)
        if (tern_reason_class(reason) != 0)
            EXPECT(TERN_ERR_NOT_A_REVOCATION, tern_lease_revoke, world->owner, world->lease, reason, "", 0, 0, &number);
    for (size_t i = 0; i < TOO_LARGE; i++)
        EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_lease_revoke, world->owner, world->lease, 0, "", 0, too_large[i], &number);
    /* A notice always ends. */
    EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_lease_revoke, world->owner, world->lease, 0, "", 0, TERN_FOREVER, &number);
    CHECK(number == 77 && nothing_happened(world));
}

static void check_health(struct world *world)
{
    for (int health = INT8_MIN; health <= INT8_MAX; health++)
        if (health < TERN_FAILED || health > TERN_HEALTHY)
            EXPECT(TERN_ERR_BAD_VALUE, tern_resource_set_health, world->owner, TERN_STR("free"), (tern_trit_t)health);
    CHECK(nothing_happened(world));
}

static void check_times(struct world *world)
{
    tern_lease_t lease = 77;
    uint64_t end = 77;
    for (size_t i = 0; i < TOO_LARGE; i++) {
        EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_lease_acquire, world->owner, TERN_STR("free"), TERN_STR("eve"), too_large[i], &lease);
        EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_lease_renew_for, world->owner, world->lease, too_large[i], &end);
    }
    EXPECT(TERN_ERR_ZERO_TTL, tern_lease_acquire, world->owner, TERN_STR("free"), TERN_STR("eve"), 0, &lease);
    EXPECT(TERN_ERR_ZERO_TTL, tern_lease_renew_for, world->owner, world->lease, 0, &end);
    CHECK(lease == 77 && end == 77 && nothing_happened(world));
    for (size_t i = 0; i < LARGE; i++) {
        EXPECT(TERN_OK, tern_lease_acquire, world->owner, TERN_STR("free"), TERN_STR("eve"), large[i], &lease);
        EXPECT(TERN_OK, tern_lease_renew_for, world->owner, lease, large[i], &end);
        CHECK(end >= large[0]);
        EXPECT(TERN_OK, tern_lease_release, world->owner, lease);
    }
    world->seen = look_at(world->owner);
}

/* Both functions refuse the claim for the same reason. */
static void check_bad_claim(struct world *world, int32_t status)
{
    tern_lease_t lease = 77;
    tern_ticket_t ticket = 77;
    EXPECT(status, tern_manager_claim, world->owner, &world->claim, &lease);
    EXPECT(status, tern_manager_enqueue, world->owner, &world->claim, &lease, &ticket);
    CHECK(lease == 77 && ticket == 77 && nothing_happened(world));
    world_fill_inputs(world);
}

static void check_claim_flags(struct world *world)
{
    const uint64_t known = TERN_CLAIM_EXCLUSIVE | TERN_CLAIM_SHARED | TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE | TERN_CLAIM_PREEMPT;
    for (int bit = 0; bit < 64; bit++) {
        if (known >> bit & 1)
            continue;
        world->claim.flags = (uint64_t)1 << bit;
        check_bad_claim(world, TERN_ERR_BAD_VALUE);
        world->claim.flags = (uint64_t)1 << bit | TERN_CLAIM_PREEMPTIBLE;
        check_bad_claim(world, TERN_ERR_BAD_VALUE);
    }
    /* Whole, shared or an amount: one of them. */
    for (uint64_t flags = 0; flags <= known; flags++) {
        for (uint32_t amount = 0; amount < 3; amount++) {
            int ways = !!(flags & TERN_CLAIM_EXCLUSIVE) + !!(flags & TERN_CLAIM_SHARED) + !!amount;
            if (ways < 2)
                continue;
            world->claim.flags = flags;
            world->claim.slots = amount == 1;
            world->claim.memory_mib = amount == 2;
            check_bad_claim(world, TERN_ERR_BAD_VALUE);
        }
    }
    /* A notice is for leases that others may take. */
    const uint64_t kept[] = { 0, TERN_CLAIM_EXCLUSIVE, TERN_CLAIM_SHARED, TERN_CLAIM_PREEMPT };
    for (size_t i = 0; i < 4; i++) {
        world->claim.flags = kept[i];
        world->claim.notice = 1;
        check_bad_claim(world, TERN_ERR_BAD_VALUE);
    }
}

static void check_claim_numbers(struct world *world)
{
    const int32_t priorities[] = { -32769, 32768, 65536, -65536, INT32_MIN, INT32_MAX };
    const uint32_t counts[] = { 3, 256, 65536, INT32_MAX, UINT32_MAX };
    for (size_t i = 0; i < sizeof priorities / sizeof priorities[0]; i++) {
        world->claim.priority = priorities[i];
        check_bad_claim(world, TERN_ERR_BAD_VALUE);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        world->claim.count = counts[i];
        check_bad_claim(world, TERN_ERR_TOO_FEW_RESOURCES);
    }
    for (size_t i = 0; i < TOO_LARGE; i++) {
        world->claim.ttl = too_large[i];
        check_bad_claim(world, TERN_ERR_TIME_TOO_LARGE);
        world->claim.wait = too_large[i];
        check_bad_claim(world, TERN_ERR_TIME_TOO_LARGE);
        world->claim.flags = TERN_CLAIM_SPARE;
        world->claim.notice = too_large[i];
        check_bad_claim(world, TERN_ERR_TIME_TOO_LARGE);
    }
    world->claim.flags = TERN_CLAIM_PREEMPTIBLE;
    world->claim.notice = TERN_FOREVER;
    check_bad_claim(world, TERN_ERR_TIME_TOO_LARGE);
    world->claim.ttl = 0;
    check_bad_claim(world, TERN_ERR_ZERO_TTL);
    /* More than there is, however much that is. */
    world->claim.slots = 2;
    check_bad_claim(world, TERN_ERR_IMPOSSIBLE);
    world->claim.slots = UINT32_MAX;
    check_bad_claim(world, TERN_ERR_IMPOSSIBLE);
    world->claim.memory_mib = UINT32_MAX;
    check_bad_claim(world, TERN_ERR_IMPOSSIBLE);
}

static void check_claim_resources(struct world *world)
{
    const tern_resource_t none[] = { 0, 2, 3, 4, 63, 64, 65, 66, 65536, INT32_MAX, UINT32_MAX };
    tern_resource_t ids[2] = { 0, 0 }, declared = 0;
    union {
        tern_text_t aligned[2];
        char bytes[2 * sizeof(tern_text_t)];
    } place = { .aligned = { { "new0", 4 } } };

    world->claim.resource_count = 0;
    check_bad_claim(world, TERN_ERR_BAD_VALUE);
    world->texts[1] = world->texts[0];
    check_bad_claim(world, TERN_ERR_DUPLICATE_RESOURCE);
    world->claim.resource_ids = ids;
    world->claim.resource_id_count = 1;
    check_bad_claim(world, TERN_ERR_BAD_VALUE);
    world->claim.resource_count = SIZE_MAX;
    check_bad_claim(world, TERN_ERR_BAD_VALUE);
    world->claim.resources = (const tern_text_t *)(const void *)(place.bytes + 1);
    world->claim.resource_count = 1;
    check_bad_claim(world, TERN_ERR_BAD_VALUE);

    /* Numbers of resources: only declared ones have any. */
    EXPECT(TERN_OK, tern_resource_declare, world->owner, TERN_STR("free"), 1, 0, &declared);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        if (none[i] == declared)
            continue;
        ids[0] = none[i];
        world->claim.resource_count = 0;
        world->claim.resource_ids = ids;
        world->claim.resource_id_count = 1;
        check_bad_claim(world, TERN_ERR_UNKNOWN_RESOURCE);
    }
    ids[0] = ids[1] = declared;
    world->claim.resource_count = 0;
    world->claim.resource_ids = ids;
    world->claim.resource_id_count = 2;
    check_bad_claim(world, TERN_ERR_DUPLICATE_RESOURCE);
    world->claim.resource_count = 0;
    world->claim.resource_ids = ids;
    world->claim.resource_id_count = SIZE_MAX;
    check_bad_claim(world, TERN_ERR_BAD_VALUE);
}

static void check_indices(struct world *world)
{
    const size_t beyond[] = { 1, 2, 255, (size_t)INT64_MAX, SIZE_MAX };
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        EXPECT(TERN_ERR_BAD_VALUE, tern_deadlocks_victim, world->report, beyond[i], world->lease_out);
        EXPECT(TERN_ERR_BAD_VALUE, tern_deadlocks_stuck, world->report, beyond[i], world->names, ROOM, world->needed);
        EXPECT(TERN_ERR_BAD_VALUE, tern_deadlocks_cycle, world->report, beyond[i], world->waits, ROOM, world->needed);
    }
    CHECK(nothing_happened(world));
}

/* Both ways to open a pool refuse the options for the same reason. */
static void check_bad_pool(struct world *world, int32_t status)
{
    EXPECT(status, tern_pool_open, TERN_STR("process:"), &world->pool_options, world->pool_out);
    EXPECT(status, tern_pool_on, world->owner, &world->pool_options, world->pool_out);
    CHECK(nothing_happened(world));
    world_fill_inputs(world);
}

static void check_pool_options(struct world *world)
{
    uint64_t *const times[] = { &world->pool_options.poll_us, &world->pool_options.drain_limit_us, &world->pool_options.recovery_us };
    for (int bit = 2; bit < 64; bit++) {
        world->pool_options.flags = (uint64_t)1 << bit;
        check_bad_pool(world, TERN_ERR_BAD_VALUE);
        world->pool_options.flags = (uint64_t)1 << bit | TERN_POOL_CHECK_USE;
        check_bad_pool(world, TERN_ERR_BAD_VALUE);
    }
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < TOO_LARGE; j++) {
            *times[i] = too_large[j];
            check_bad_pool(world, TERN_ERR_TIME_TOO_LARGE);
        }
        for (size_t j = 0; j < LARGE; j++) {
            tern_pool_t *pool = NULL;
            *times[i] = large[j];
            EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &world->pool_options, &pool);
            tern_pool_close(pool);
            world_fill_inputs(world);
        }
    }
    world->pool_options.devices_len = SIZE_MAX;
    check_bad_pool(world, TERN_ERR_BAD_VALUE);
    world->pool_options.slots = world->pool_options.clean_memory_mib = UINT32_MAX;
    tern_pool_t *pool = NULL;
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &world->pool_options, &pool);
    tern_pool_close(pool);
    world_fill_inputs(world);
}

/* Both functions refuse the claim for devices for the same reason. */
static void check_bad_gpu_claim(struct world *world, int32_t status)
{
    EXPECT(status, tern_pool_claim, world->gpus, &world->gpu_claim, world->lease_out);
    EXPECT(status, tern_pool_enqueue, world->gpus, &world->gpu_claim, world->lease_out, world->ticket_out);
    CHECK(nothing_happened(world));
    world_fill_inputs(world);
}

static void check_gpu_claim_numbers(struct world *world)
{
    const int32_t priorities[] = { -32769, 32768, 65536, INT32_MIN, INT32_MAX }, vendors[] = { -1, 5, 256, INT32_MIN, INT32_MAX };
    const uint32_t counts[] = { 3, 256, 65536, INT32_MAX, UINT32_MAX };
    const uint64_t kept[] = { 0, TERN_CLAIM_PREEMPT }, known = TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE | TERN_CLAIM_PREEMPT;
    for (size_t i = 0; i < 5; i++) {
        world->gpu_claim.priority = priorities[i];
        check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
        world->gpu_claim.vendor = vendors[i];
        check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
        world->gpu_claim.count = counts[i];
        check_bad_gpu_claim(world, TERN_ERR_IMPOSSIBLE);
    }
    for (int bit = 0; bit < 64; bit++) {
        if (known >> bit & 1)
            continue;
        /* Keeping alive is known, but not to managers that count ticks. */
        world->gpu_claim.flags = (uint64_t)1 << bit;
        check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
    }
    for (size_t i = 0; i < 2; i++) {
        world->gpu_claim.flags = kept[i];
        world->gpu_claim.notice = 1;
        check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
    }
    for (size_t i = 0; i < TOO_LARGE; i++) {
        world->gpu_claim.ttl = too_large[i];
        check_bad_gpu_claim(world, TERN_ERR_TIME_TOO_LARGE);
        world->gpu_claim.wait = too_large[i];
        check_bad_gpu_claim(world, TERN_ERR_TIME_TOO_LARGE);
        world->gpu_claim.flags = TERN_CLAIM_SPARE;
        world->gpu_claim.notice = too_large[i];
        check_bad_gpu_claim(world, TERN_ERR_TIME_TOO_LARGE);
    }
    world->gpu_claim.flags = TERN_CLAIM_PREEMPTIBLE;
    world->gpu_claim.notice = TERN_FOREVER;
    check_bad_gpu_claim(world, TERN_ERR_TIME_TOO_LARGE);
    uint32_t *const least[] = { &world->gpu_claim.slots, &world->gpu_claim.memory_mib, &world->gpu_claim.min_memory_mib,
                                &world->gpu_claim.min_compute_major };
    for (size_t i = 0; i < 4; i++) {
        *least[i] = UINT32_MAX;
        check_bad_gpu_claim(world, TERN_ERR_IMPOSSIBLE);
    }
    world->gpu_claim.slots = 2;
    check_bad_gpu_claim(world, TERN_ERR_IMPOSSIBLE);
    world->device_names[1] = world->device_names[0];
    check_bad_gpu_claim(world, TERN_ERR_DUPLICATE_RESOURCE);
    world->gpu_claim.device_count = SIZE_MAX;
    check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
    world->gpu_claim.devices = (const tern_text_t *)(const void *)((const char *)world->device_names + 1);
    check_bad_gpu_claim(world, TERN_ERR_BAD_VALUE);
}

static void check_places(struct world *world)
{
    const size_t beyond[] = { 2, 3, 255, (size_t)INT64_MAX, SIZE_MAX };
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_device, world->gpus, beyond[i], world->device);
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_device_status, world->gpus, beyond[i], world->statuses);
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_leases_on, world->gpus, beyond[i], world->leases, ROOM, world->needed);
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_squatters, world->gpus, beyond[i], world->processes, ROOM, world->needed);
    }
    for (int bit = 1; bit < 32; bit++)
        EXPECT(TERN_ERR_BAD_VALUE, tern_gpu_lease_env, world->gpus, world->gpu_lease, (uint32_t)1 << bit, world->text, 99, world->needed);
    CHECK(nothing_happened(world));
}

int main(void)
{
    struct world world;
    check_options();
    world_open(&world);
    check_reasons(&world);
    check_health(&world);
    check_times(&world);
    check_claim_flags(&world);
    check_claim_numbers(&world);
    check_claim_resources(&world);
    check_indices(&world);
    check_pool_options(&world);
    check_gpu_claim_numbers(&world);
    check_places(&world);
    world_close(&world);
    return finish(__FILE__);
}
