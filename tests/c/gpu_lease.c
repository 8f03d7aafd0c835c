/* GPU lease: its devices, the environment for a child, and being kept alive. */
#include "open.h"

#include <time.h>

static void check_devices(void)
{
    tern_manager_t *manager = open_small(8, 8, 16, 8);
    tern_pool_t *pool = pool_on(manager, "fake:4"), *other = open_pool("fake:4");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0;
    size_t places[4] = { 77, 77, 77, 77 }, count = 0;
    claim.count = 3;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    EXPECT(TERN_MORE, tern_gpu_lease_devices, pool, lease, places, 2, &count);
    CHECK(count == 3 && places[0] == 0 && places[1] == 1 && places[2] == 77);
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, places, 4, &count);
    CHECK(count == 3 && places[2] == 2 && places[3] == 77);

    /* Of another pool, of no device, of nobody. */
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_devices, other, lease, places, 4, &count);
    tern_lease_t disk = acquire(manager, "disk", "ann", 9);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_devices, pool, disk, places, 4, &count);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_devices, pool, 0, places, 4, &count);

    /* A lease that came by the manager has devices, too; and so has one that is over. */
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, places, 4, &count);
    CHECK_EQ(count, 3);
    lease = acquire(manager, "0000:03:00.0", "ann", 9);
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, places, 4, &count);
    CHECK(count == 1 && places[0] == 2);
    tern_pool_close(other);
    tern_pool_close(pool);
    tern_manager_close(manager);
}

static void check_env_of(const char *declaration, uint32_t flags, const char *expected)
{
    char path[] = "file:/tmp/ternlease-lease-XXXXXX", text[512] = "untouched";
    int file = mkstemp(path + 5);
    CHECK(file >= 0);
    CHECK_EQ(write(file, declaration, strlen(declaration)), strlen(declaration));
    CHECK_EQ(close(file), 0);
    tern_pool_t *pool = open_pool(path);
    CHECK_EQ(unlink(path + 5), 0);
    tern_lease_t lease = claim_one(pool);
    size_t needed = 0;
    EXPECT(TERN_OK, tern_gpu_lease_env, pool, lease, flags, text, sizeof text, &needed);
    CHECK_TEXT(text, expected);
    CHECK_EQ(needed, strlen(expected) + 1);
    EXPECT(TERN_MORE, tern_gpu_lease_env, pool, lease, flags, text, 5, &needed);
    CHECK_EQ(strlen(text), 4);
    tern_pool_close(pool);
}

static void check_env(void)
{
    const char *const nvidia = "device vendor=nvidia index=5 uuid=GPU-5\ndevice vendor=nvidia index=7 uuid=GPU-7\n";
    check_env_of(nvidia, 0, "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=5\n");
    check_env_of(nvidia, TERN_ENV_BY_UUID, "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=GPU-5\n");
    check_env_of("device vendor=nvidia index=0 uuid=MIG-1 mig=GPU-9:1g.10gb:7:2\n", 0,
                 "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=MIG-1\n");
    check_env_of("device vendor=amd index=2\n", 0,
                 "ROCR_VISIBLE_DEVICES=2\nHIP_VISIBLE_DEVICES\nGPU_DEVICE_ORDINAL\nCUDA_VISIBLE_DEVICES\n");

    tern_pool_t *pool = open_pool("fake:1");
    tern_lease_t lease = claim_one(pool);
    char text[64] = "untouched";
    size_t needed = 77;
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_env, pool, lease + 1, 0, text, sizeof text, &needed);
    CHECK(needed == 77 && strcmp(text, "untouched") == 0);
    tern_pool_close(pool);
}

/* Waits until the lease ends later than now: somebody has renewed it. Half a minute at most. */
static int is_renewed(const tern_manager_t *manager, tern_lease_t lease)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    uint64_t before = info.end;
    for (int i = 0; i < 30000 && info.end == before && info.state == TERN_HELD; i++) {
        nanosleep(&moment, NULL);
        EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    }
    return info.state == TERN_HELD && info.end > before;
}

static void check_kept_alive(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_manager_t *manager = NULL;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t kept = 0, asked = 0, other = 0;
    tern_ticket_t ticket = 77;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    /* Long enough for the slowest machine to renew in time, a third of it not too long to wait for. */
    claim.ttl = 10 * TERN_SECOND;
    claim.flags = TERN_CLAIM_KEEP_ALIVE;
    EXPECT(TERN_ERR_BAD_VALUE, tern_pool_enqueue, pool, &claim, &other, &ticket);
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &kept);
    claim.flags = 0;
    EXPECT(TERN_OK, tern_pool_enqueue, pool, &claim, &asked, &ticket);
    CHECK_EQ(ticket, 77);
    EXPECT(TERN_OK, tern_gpu_lease_keep_alive, pool, asked);
    EXPECT(TERN_OK, tern_gpu_lease_keep_alive, pool, asked);
    CHECK(is_renewed(manager, kept));
    CHECK(is_renewed(manager, asked));

    /* What is over is not brought back. */
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, kept);
    EXPECT(TERN_ERR_NOT_HELD, tern_gpu_lease_keep_alive, pool, kept);
    EXPECT(TERN_ERR_UNKNOWN_LEASE, tern_gpu_lease_keep_alive, pool, asked + 1);
    EXPECT_TRIT(TERN_EXPIRED, tern_lease_state, manager, kept);
    tern_pool_close(pool);
    EXPECT_TRIT(TERN_HELD, tern_lease_state, manager, asked);
    tern_manager_close(manager);
}

/* Nobody but the program counts ticks. */
static void check_ticks(void)
{
    tern_manager_t *manager = open_small(8, 8, 8, 8);
    tern_pool_t *pool = pool_on(manager, "fake:2");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 77;
    claim.flags = TERN_CLAIM_KEEP_ALIVE;
    EXPECT(TERN_ERR_BAD_VALUE, tern_pool_claim, pool, &claim, &lease);
    CHECK(lease == 77 && active_count(manager) == 0);
    EXPECT(TERN_ERR_BAD_VALUE, tern_gpu_lease_keep_alive, pool, claim_one(pool));
    tern_pool_close(pool);
    tern_manager_close(manager);
}

int main(void)
{
    check_devices();
    check_env();
    check_kept_alive();
    check_ticks();
    return finish(__FILE__);
}
