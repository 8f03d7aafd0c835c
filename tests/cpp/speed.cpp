// Speed: devices that do not exist are as fast as an A100; of those that say nothing nothing is guessed.
#include "check.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

static void what_a_driver_tells_is_known()
{
    const auto gpus = check::fakes(2);
    const auto speed = gpus.speed(1).value();
    CHECK(speed.memory == 2039040000000U && *speed.flop64 / 10000000000 == 974 && *speed.flop32 == 2 * *speed.flop64);
    CHECK(*speed.flop16_matrix == 16 * *speed.flop32 && speed.link);
    CHECK(speed.cores == 6912U && speed.core_mhz == 1410U && speed.memory_mhz == 1593U && speed.memory_bits == 5120U);
    CHECK(speed.pcie_generation == 4U && speed.pcie_lanes == 16U && !speed.multiprocessors);
    CHECK_STATUS(gpus.speed(2), bad_value);
    CHECK_STATUS(tern::pool().speed(0), null);
}

static void what_it_does_not_tell_is_not_guessed()
{
    char path[] = "/tmp/ternlease-speed-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd != -1 && close(fd) == 0);
    std::ofstream(path) << "device vendor=amd index=0 name=MI300X\n";
    const auto gpus = tern::pool::open("process:", tern::pool_options::of(std::string("file:") + path)).value();
    const auto speed = gpus.speed(0).value();
    CHECK(!speed.flop64 && !speed.flop32 && !speed.flop16_matrix && !speed.memory && !speed.link && !speed.cores);
    CHECK(!speed.core_mhz && !speed.memory_mhz && !speed.memory_bits && !speed.pcie_generation && !speed.pcie_lanes);
    CHECK(unlink(path) == 0);
}

int main()
{
    return check::run({
        {"what a driver tells is known", what_a_driver_tells_is_known},
        {"what it does not tell is not guessed", what_it_does_not_tell_is_not_guessed},
    });
}
