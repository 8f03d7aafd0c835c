/* Speed: devices that do not exist are as fast as an A100; of those that say nothing nothing is guessed. */
#include "open.h"

static void check_known(void)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_device_speed_t speed = tern_device_speed_init();
    EXPECT(TERN_OK, tern_pool_device_speed, pool, 1, &speed);
    CHECK_EQ(speed.memory, 2039040000000);
    CHECK_EQ(speed.flop64 / 10000000000, 974);
    CHECK(speed.flop32 == 2 * speed.flop64 && speed.flop16_matrix == 16 * speed.flop32 && speed.link > 0);
    CHECK(speed.known & TERN_SPEED_CORES && !(speed.known & TERN_SPEED_MULTIPROCESSORS));
    CHECK(speed.cores == 6912 && speed.core_mhz == 1410 && speed.memory_mhz == 1593 && speed.memory_bits == 5120);
    CHECK(speed.pcie_generation == 4 && speed.pcie_lanes == 16 && speed.multiprocessors == 0);
    const size_t beyond[] = { 2, 255, (size_t)INT64_MAX, SIZE_MAX };
    for (int i = 0; i < 4; i++)
        EXPECT(TERN_ERR_BAD_VALUE, tern_pool_device_speed, pool, beyond[i], &speed);
    tern_pool_close(pool);
}

static void check_unknown(void)
{
    char path[] = "/tmp/ternlease-speed-XXXXXX", devices[64];
    int fd = mkstemp(path);
    const char text[] = "device vendor=amd index=0 name=MI300X\n";
    CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 && close(fd) == 0);
    snprintf(devices, sizeof devices, "file:%s", path);
    tern_pool_t *pool = open_pool(devices);
    tern_device_speed_t speed = tern_device_speed_init(), nothing = tern_device_speed_init();
    memset(&speed.flop64, 0x5a, sizeof speed - offsetof(tern_device_speed_t, flop64));
    EXPECT(TERN_OK, tern_pool_device_speed, pool, 0, &speed);
    CHECK(memcmp(&speed, &nothing, sizeof speed) == 0);
    tern_pool_close(pool);
    unlink(path);
}

int main(void)
{
    check_known();
    check_unknown();
    return finish(__FILE__);
}
