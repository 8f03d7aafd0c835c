// Speed: how fast the devices of a pool are.
#ifndef TERNLEASE_SPEED_HPP
#define TERNLEASE_SPEED_HPP

#include <cstdint>
#include <optional>

#include "../ternlease.h"

namespace tern {

/// How fast a device is, by what its driver tells. What is not known is empty: nothing is measured.
///
///     if (const auto speed = pool.speed(0).value(); speed.memory)
///         std::cout << *speed.memory / 1'000'000'000 << " GB/s\n";
struct device_speed {
    std::optional<std::uint64_t> flop64;          ///< Floating-point operations with 8-byte numbers per second.
    std::optional<std::uint64_t> flop32;          ///< Floating-point operations with 4-byte numbers.
    std::optional<std::uint64_t> flop16_matrix;   ///< Those with 2-byte numbers, by the units made for matrices.
    std::optional<std::uint64_t> memory;          ///< Bytes to and from its memory.
    std::optional<std::uint64_t> link;            ///< Bytes between the machine's memory and its own.
    std::optional<std::uint32_t> cores;           ///< The CUDA cores of a whole device. Not told of a part.
    std::optional<std::uint32_t> multiprocessors; ///< The multiprocessors of a part. Not told of a whole device.
    std::optional<std::uint32_t> core_mhz;        ///< The highest clock of the cores.
    std::optional<std::uint32_t> memory_mhz;      ///< The highest clock of the memory.
    std::optional<std::uint32_t> memory_bits;     ///< How wide the way to the memory is. Of a part: its share.
    std::optional<std::uint32_t> pcie_generation; ///< The highest PCIe generation.
    std::optional<std::uint32_t> pcie_lanes;      ///< The highest number of PCIe lanes.
};

namespace detail {

inline device_speed to_speed(const tern_device_speed_t& raw)
{
    using rate = std::optional<std::uint64_t>;
    using figure = std::optional<std::uint32_t>;
    const auto per_second = [](std::uint64_t told) { return told != 0 ? rate(told) : rate(); };
    const auto known = [&raw](std::uint32_t flag, std::uint32_t told) {
        return (raw.known & flag) != 0 ? figure(told) : figure();
    };
    device_speed made;
    made.flop64 = per_second(raw.flop64);
    made.flop32 = per_second(raw.flop32);
    made.flop16_matrix = per_second(raw.flop16_matrix);
    made.memory = per_second(raw.memory);
    made.link = per_second(raw.link);
    made.cores = known(TERN_SPEED_CORES, raw.cores);
    made.multiprocessors = known(TERN_SPEED_MULTIPROCESSORS, raw.multiprocessors);
    made.core_mhz = known(TERN_SPEED_CORE_MHZ, raw.core_mhz);
    made.memory_mhz = known(TERN_SPEED_MEMORY_MHZ, raw.memory_mhz);
    made.memory_bits = known(TERN_SPEED_MEMORY_BITS, raw.memory_bits);
    made.pcie_generation = known(TERN_SPEED_PCIE_GENERATION, raw.pcie_generation);
    made.pcie_lanes = known(TERN_SPEED_PCIE_LANES, raw.pcie_lanes);
    return made;
}

} // namespace detail

} // namespace tern

#endif
