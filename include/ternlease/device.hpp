// Device: what the devices of a pool are, and how they are.
#ifndef TERNLEASE_DEVICE_HPP
#define TERNLEASE_DEVICE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "time.hpp"

namespace tern {

/// What a device is. What is not known is empty.
struct device {
    /// What it can compute, as NVIDIA counts it.
    struct compute {
        std::uint32_t major = 0; ///< 8 of 8.6.
        std::uint32_t minor = 0; ///< 6 of 8.6.
    };

    /// Which part of a device it is.
    struct part {
        std::string parent;                 ///< The UUID of the device that it is a part of.
        std::string profile;                ///< How large it is: "1g.10gb".
        std::uint32_t gpu_instance = 0;     ///< The number of the GPU instance.
        std::uint32_t compute_instance = 0; ///< The number of the compute instance within it.
    };

    std::size_t place = 0;                   ///< Its place in the pool.
    tern::vendor vendor = vendor::other;     ///< Who made it.
    std::uint32_t index = 0;                 ///< Its number among the devices of its vendor; not an identity.
    std::string key;                         ///< Its name as a resource in the table.
    std::string name;                        ///< What it is called.
    std::string uuid;                        ///< Its own name for ever.
    std::string pci;                         ///< Where it sits, as CUDA reads it: "0000:07:00.0".
    std::optional<std::uint32_t> memory_mib; ///< Its memory in MiB.
    std::optional<compute> capability;       ///< What it can compute.
    std::optional<std::uint32_t> numa;       ///< The NUMA node that it is near to.
    std::optional<std::uint32_t> island;     ///< Those of a vendor with the same number have fast links, each to each.
    std::optional<part> mig;                 ///< If it is a part of a device.
};

/// How a device is, and who uses it.
struct device_status {
    tern::health health = tern::health::failed;    ///< How it is.
    std::string trouble;                           ///< Why it is not healthy, for people.
    lease_id lease{};                              ///< The oldest lease on it, if any.
    std::uint32_t lease_count = 0;                 ///< How many there are: pool::leases_on() tells them.
    std::uint32_t slots = 0;                       ///< How many slots it has.
    std::uint32_t leased_slots = 0;                ///< Slots that leases have taken.
    std::uint32_t leased_memory_mib = 0;           ///< Memory that leases have taken, in MiB.
    std::optional<std::uint32_t> used_memory_mib;  ///< Memory that is in use, in MiB.
    std::optional<std::uint32_t> busy_percent;     ///< How busy it was lately.
    std::uint32_t squatter_count = 0;              ///< Processes on it without a lease: pool::squatters() tells them.
    std::chrono::microseconds idle{};              ///< For how long it has been leased without being used.
    std::optional<std::chrono::microseconds> seen; ///< How old what was seen is; none: nobody watches it.
};

/// A process on a device: evidence, whom to ask, never whom to trust.
struct process {
    std::uint32_t pid = 0;                   ///< Its number, as the driver gives it.
    std::optional<std::uint32_t> memory_mib; ///< Memory it uses on the device, in MiB.
    std::string user;                        ///< Whose it is, where that can be seen.
    std::string command;                     ///< Its program, without arguments, where that can be seen.
};

namespace detail {

inline device to_cpp(const tern_device_t& raw)
{
    const auto known = [&raw](std::uint32_t flag) { return (raw.known & flag) != 0; };
    device made;
    made.vendor = static_cast<vendor>(raw.vendor);
    made.index = raw.index;
    made.key = raw.key;
    made.name = raw.name;
    made.uuid = raw.uuid;
    made.pci = raw.pci;
    if (known(TERN_DEVICE_MEMORY))
        made.memory_mib = raw.memory_mib;
    if (known(TERN_DEVICE_COMPUTE))
        made.capability = device::compute{raw.compute_major, raw.compute_minor};
    if (known(TERN_DEVICE_NUMA))
        made.numa = raw.numa;
    if (known(TERN_DEVICE_ISLAND))
        made.island = raw.island;
    if (known(TERN_DEVICE_MIG))
        made.mig = device::part{raw.mig_parent, raw.mig_profile, raw.gpu_instance, raw.compute_instance};
    return made;
}

inline device_status to_cpp(const tern_device_status_t& raw)
{
    device_status made;
    made.health = static_cast<health>(raw.health);
    made.trouble = raw.trouble;
    made.lease = lease_id{raw.lease};
    made.lease_count = raw.lease_count;
    made.slots = raw.slots;
    made.leased_slots = raw.leased_slots;
    made.leased_memory_mib = raw.leased_memory_mib;
    if ((raw.known & TERN_DEVICE_USED_MEMORY) != 0)
        made.used_memory_mib = raw.used_memory_mib;
    if ((raw.known & TERN_DEVICE_BUSY) != 0)
        made.busy_percent = raw.busy_percent;
    made.squatter_count = raw.squatter_count;
    made.idle = to_chrono(raw.idle_us);
    if (raw.seen_us != TERN_FOREVER)
        made.seen = to_chrono(raw.seen_us);
    return made;
}

inline process to_cpp(const tern_process_t& raw)
{
    process made;
    made.pid = raw.pid;
    if (raw.known != 0)
        made.memory_mib = raw.memory_mib;
    made.user = raw.user;
    made.command = raw.command;
    return made;
}

} // namespace detail

} // namespace tern

#endif
