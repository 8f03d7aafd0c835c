// Machine, looked at: its figures, as they were when it was read.
#ifndef TERNLEASE_MACHINE_INFO_HPP
#define TERNLEASE_MACHINE_INFO_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "../ternlease.h"
#include "enums.hpp"
#include "estimate.hpp"
#include "time.hpp"

namespace tern {

/// What a machine can do, and had left when it was read. What is not known is empty.
struct machine_info {
    /// The disk with the results.
    struct disk_space {
        std::uint64_t total = 0; ///< Its size in bytes.
        std::uint64_t free = 0;  ///< What is left of it.
    };

    std::string processor;                    ///< What the processor is called.
    std::string store;                        ///< Where results are kept.
    tern::machine_class machine_class{};      ///< What sort of machine it is.
    std::uint32_t cores_physical = 0;         ///< The cores of its processor.
    std::uint32_t cores_logical = 0;          ///< Threads that it runs at one time.
    std::uint32_t cores_usable = 0;           ///< Threads that this process may run at one time.
    std::optional<std::uint32_t> freq_mhz;    ///< Its clock.
    std::uint32_t core_scaling_permille = 0;  ///< Arithmetic of all cores, beside what one does times their number.
    std::uint64_t ridge_permille = 0;         ///< Operations per 1000 bytes where arithmetic and memory are even.
    std::uint64_t mem_total = 0;              ///< Memory that this process could have, in bytes.
    std::uint64_t mem_available = 0;          ///< What is left of it.
    std::uint64_t compute_budget = 0;         ///< How much memory one computation may take.
    std::uint32_t mem_pressure_permille = 0;  ///< How much of the memory is taken; 500 if nobody knows.
    std::optional<disk_space> disk;           ///< The disk with the results.
    std::uint32_t disk_pressure_permille = 0; ///< How much of the disk is taken; 500 if nobody knows.
    tern::network network{};                  ///< The network, as far as the operating system knows it.
    std::uint64_t network_mbps = 0;           ///< network::card: how fast that is, in Mbit/s.
    bool has_battery = false;                 ///< It has a battery.
    bool on_battery = false;                  ///< It runs on its battery now.
    std::optional<std::uint32_t> battery_percent; ///< How full the battery is.
    std::optional<std::chrono::microseconds> age; ///< How old the rates are; none: they were not measured.
    estimate gpu_start;                           ///< How long a program takes to begin with a GPU.
};

namespace detail {

inline machine_info to_machine_info(const tern_machine_info_t& raw)
{
    const auto known = [&raw](std::uint32_t flag) { return (raw.known & flag) != 0; };
    machine_info made;
    made.processor = raw.processor;
    made.store = raw.store;
    made.machine_class = static_cast<machine_class>(raw.machine_class);
    made.cores_physical = raw.cores_physical;
    made.cores_logical = raw.cores_logical;
    made.cores_usable = raw.cores_usable;
    if (raw.freq_mhz != 0)
        made.freq_mhz = raw.freq_mhz;
    made.core_scaling_permille = raw.core_scaling_permille;
    made.ridge_permille = raw.ridge_permille;
    made.mem_total = raw.mem_total;
    made.mem_available = raw.mem_available;
    made.compute_budget = raw.compute_budget;
    made.mem_pressure_permille = raw.mem_pressure_permille;
    if (known(TERN_MACHINE_HAS_DISK))
        made.disk = machine_info::disk_space{raw.disk_total, raw.disk_free};
    made.disk_pressure_permille = raw.disk_pressure_permille;
    made.network = static_cast<network>(raw.network);
    made.network_mbps = raw.network_mbps;
    made.has_battery = known(TERN_MACHINE_HAS_BATTERY);
    made.on_battery = known(TERN_MACHINE_ON_BATTERY);
    if (known(TERN_MACHINE_HAS_BATTERY_PERCENT))
        made.battery_percent = raw.battery_percent;
    if (raw.age_us != TERN_FOREVER)
        made.age = to_chrono(raw.age_us);
    made.gpu_start = to_estimate(raw.gpu_start);
    return made;
}

} // namespace detail

} // namespace tern

#endif
