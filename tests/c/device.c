/* Device: what devices are, how they are, who has them. The devices are declared in a file. */
#include "open.h"

static const char declaration[] =
    "device vendor=nvidia index=3 name=\"A100 80GB\" memory=81920 uuid=GPU-1 pci=00000000:07:00.0 cc=8.6 numa=1 island=2\n"
    "device vendor=amd index=0\n"
    "device vendor=nvidia index=4 uuid=MIG-1 mig=GPU-9:1g.10gb:7:2 memory=9856\n"
    "device vendor=intel index=0 name=Flex health=failed trouble=\"fan 2\"\n"
    "device vendor=other index=7 health=draining trouble=\"is being moved\"\n";

enum { DEVICES = 5 };

/* The words "file:" and a path, of a file with this in it. The caller removes it. */
static char *write_file(const char *text)
{
    static char named[] = "file:/tmp/ternlease-device-XXXXXX";
    strcpy(named + sizeof named - 7, "XXXXXX");
    int file = mkstemp(named + 5);
    CHECK(file >= 0);
    CHECK_EQ(write(file, text, strlen(text)), strlen(text));
    CHECK_EQ(close(file), 0);
    return named;
}

static tern_pool_t *open_declared(const char *text)
{
    char *named = write_file(text);
    tern_pool_t *pool = open_pool(named);
    CHECK_EQ(unlink(named + 5), 0);
    return pool;
}

static tern_device_t device_at(const tern_pool_t *pool, size_t place)
{
    tern_device_t device = tern_device_init();
    EXPECT(TERN_OK, tern_pool_device, pool, place, &device);
    return device;
}

static tern_device_status_t status_at(const tern_pool_t *pool, size_t place)
{
    tern_device_status_t status = tern_device_status_init();
    EXPECT(TERN_OK, tern_pool_device_status, pool, place, &status);
    return status;
}

static void check_devices(const tern_pool_t *pool)
{
    tern_device_t device = device_at(pool, 0);
    CHECK(device.vendor == TERN_VENDOR_NVIDIA && device.index == 3 && device.memory_mib == 81920);
    CHECK(device.compute_major == 8 && device.compute_minor == 6 && device.numa == 1 && device.island == 2);
    CHECK_EQ(device.known, TERN_DEVICE_MEMORY | TERN_DEVICE_COMPUTE | TERN_DEVICE_NUMA | TERN_DEVICE_ISLAND);
    CHECK_TEXT(device.name, "A100 80GB");
    CHECK_TEXT(device.uuid, "GPU-1");
    /* As CUDA reads it, not as NVML writes it. */
    CHECK_TEXT(device.pci, "0000:07:00.0");
    CHECK_TEXT(device.key, "0000:07:00.0");
    CHECK(device.mig_parent[0] == 0 && device.mig_profile[0] == 0);

    /* What is unknown is not zero by chance. */
    device = device_at(pool, 1);
    CHECK(device.vendor == TERN_VENDOR_AMD && device.index == 0 && device.known == 0 && device.memory_mib == 0);
    CHECK(device.name[0] == 0 && device.uuid[0] == 0 && device.pci[0] == 0);
    CHECK_TEXT(device.key, "amd:0");

    device = device_at(pool, 2);
    CHECK_EQ(device.known, TERN_DEVICE_MEMORY | TERN_DEVICE_MIG);
    CHECK(device.gpu_instance == 7 && device.compute_instance == 2 && device.memory_mib == 9856);
    CHECK_TEXT(device.mig_parent, "GPU-9");
    CHECK_TEXT(device.mig_profile, "1g.10gb");
    CHECK_TEXT(device.key, "MIG-1");
    CHECK_EQ(device_at(pool, 3).vendor, TERN_VENDOR_INTEL);
    CHECK_EQ(device_at(pool, 4).vendor, TERN_VENDOR_OTHER);
}

static void check_health(const tern_pool_t *pool)
{
    tern_device_status_t statuses[DEVICES + 1] = { tern_device_status_init() };
    size_t count = 0;
    EXPECT(TERN_OK, tern_pool_snapshot, pool, statuses, DEVICES + 1, &count);
    CHECK_EQ(count, DEVICES);
    const tern_trit_t health[] = { TERN_HEALTHY, TERN_HEALTHY, TERN_HEALTHY, TERN_FAILED, TERN_DRAINING };
    const char *const trouble[] = { "", "", "", "fan 2", "is being moved" };
    for (size_t place = 0; place < DEVICES; place++) {
        tern_device_status_t same = status_at(pool, place);
        CHECK(memcmp(&same, &statuses[place], sizeof same) == 0);
        CHECK_EQ(same.health, health[place]);
        CHECK_TEXT(same.trouble, trouble[place]);
        /* Nobody watches what is only declared. */
        CHECK(same.seen_us == TERN_FOREVER && same.idle_us == 0 && same.known == 0 && same.squatter_count == 0);
        CHECK(same.slots == 1 && same.leased_slots == 0 && same.lease == 0 && same.lease_count == 0);
        size_t squatters = 7;
        EXPECT(TERN_OK, tern_pool_squatters, pool, place, NULL, 0, &squatters);
        CHECK_EQ(squatters, 0);
    }
    EXPECT(TERN_MORE, tern_pool_snapshot, pool, statuses, 2, &count);
    CHECK_EQ(count, DEVICES);
}

/* Those that are not healthy are not given out; the order is that of the file. */
static void check_leases(const tern_pool_t *pool)
{
    tern_lease_t leases[3], found[2], none = 0;
    size_t count = 7;
    for (size_t place = 0; place < 3; place++) {
        leases[place] = claim_one(pool);
        tern_device_status_t status = status_at(pool, place);
        CHECK(status.lease == leases[place] && status.lease_count == 1 && status.leased_slots == 1);
        EXPECT(TERN_OK, tern_pool_leases_on, pool, place, found, 2, &count);
        CHECK(count == 1 && found[0] == leases[place]);
    }
    EXPECT(TERN_BUSY, tern_pool_try_claim, pool, &none);
    EXPECT(TERN_OK, tern_pool_leases_on, pool, 3, NULL, 0, &count);
    CHECK_EQ(count, 0);
    for (size_t place = 0; place < 3; place++)
        EXPECT(TERN_OK, tern_gpu_lease_release, pool, leases[place]);
    CHECK(status_at(pool, 0).lease == 0 && status_at(pool, 0).leased_slots == 0);
}

/* A device that fails takes no new leases, and comes back. */
static void check_changes(const tern_pool_t *pool)
{
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR("0000:07:00.0"), TERN_FAILED);
    CHECK_EQ(status_at(pool, 0).health, TERN_FAILED);
    tern_lease_t lease = claim_one(pool);
    CHECK_EQ(status_at(pool, 1).lease, lease);
    EXPECT(TERN_OK, tern_resource_set_health, manager, TERN_STR("0000:07:00.0"), TERN_HEALTHY);
    CHECK_EQ(status_at(pool, 0).health, TERN_HEALTHY);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    tern_manager_close(manager);
}

static void check_shares(void)
{
    tern_pool_options_t options = devices_of("fake:1");
    tern_pool_t *pool = NULL;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t leases[3], found[3];
    size_t count = 0;
    options.slots = 4;
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &options, &pool);
    claim.slots = 1;
    claim.memory_mib = 1000;
    for (int i = 0; i < 3; i++)
        EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &leases[i]);
    tern_device_status_t status = status_at(pool, 0);
    CHECK(status.slots == 4 && status.leased_slots == 3 && status.leased_memory_mib == 3000);
    CHECK(status.lease_count == 3 && status.lease == leases[0]);
    EXPECT(TERN_MORE, tern_pool_leases_on, pool, 0, found, 2, &count);
    CHECK(count == 3 && found[0] == leases[0] && found[1] == leases[1]);
    tern_pool_close(pool);
}

/* Texts that are longer than there is room for are cut at a character. */
static void check_long_texts(void)
{
    char text[4000], name[1000], uuid[201], *end = name;
    /* A byte, then characters of four: no multiple of four fits. */
    *end++ = 'x';
    for (int i = 0; i < 200; i++)
        end = strcpy(end, "\xf0\x9f\x98\x80") + 4;
    memset(uuid, 'u', sizeof uuid - 1);
    uuid[sizeof uuid - 1] = 0;
    snprintf(text, sizeof text, "device vendor=nvidia index=0 name=\"%s\" uuid=\"%s\" health=failed trouble=\"%s\"\n", name, uuid, name);
    tern_pool_t *pool = open_declared(text);
    tern_device_t device = device_at(pool, 0);
    tern_device_status_t status = status_at(pool, 0);
    CHECK_EQ(strlen(device.name), 253);
    CHECK_EQ(strlen(device.uuid), 127);
    CHECK_EQ(strlen(status.trouble), 509);
    CHECK(memcmp(device.name, name, 253) == 0 && memcmp(status.trouble, name, 509) == 0);
    tern_pool_close(pool);
}

int main(void)
{
    tern_pool_t *pool = open_declared(declaration);
    check_devices(pool);
    check_health(pool);
    check_leases(pool);
    check_changes(pool);
    tern_pool_close(pool);
    check_shares();
    check_long_texts();
    return finish(__FILE__);
}
