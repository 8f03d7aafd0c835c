// Pool: devices, to be claimed.
#ifndef TERNLEASE_POOL_HPP
#define TERNLEASE_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../ternlease.h"
#include "device.hpp"
#include "enums.hpp"
#include "forecast.hpp"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "speed.hpp"
#include "time.hpp"
#include "version.hpp"

namespace tern {

class gpu_claim;
class gpu_lease;
class lease;

/// How a pool is made. What is zero or empty is as usual.
struct pool_options {
    /// Which devices: "host" for those of this machine, "fake:8", "file:/path", "none"; if empty, what the environment
    /// variable TERNLEASE_DEVICES says in these words, else "host".
    std::string devices;
    bool check_use = false;       ///< Hand out a device only after having seen that nobody uses it.
    bool break_deadlocks = false; ///< A deadlock is broken as soon as it arises. For pools with a table of their own.
    std::uint32_t slots = 0;      ///< How many claims for one slot may share a device; usually one.
    std::uint32_t clean_memory_mib = 0; ///< A device is unused if no more of its memory is used; usually 512.
    timeout poll;        ///< How often to look at the devices; usually every second, tern::forever: never.
    timeout drain_limit; ///< One that is used so long after its lease has failed; usually a minute.
    timeout recovery;    ///< It is healthy again so long after a fault; usually 30 seconds.

    /// The usual, with these devices.
    static pool_options of(std::string devices)
    {
        pool_options made;
        made.devices = std::move(devices);
        return made;
    }
};

/// Devices, to be claimed.
///
///     const auto pool = tern::pool::open().value(); // shared with all programs of this machine
///     if (auto gpu = pool.claim().min_memory_mib(40000).wait(60s))
///         train(gpu->devices().value());
///     else if (gpu.status() == tern::status::empty)
///         train_on_the_cpu(); // this machine has no devices, and absence() says why
///
/// A pool is a handle: copies of it, and the leases that come from it, share it, and it is closed when the last of them
/// is gone. Any number of threads may use it at once.
class pool {
public:
    /// None: all calls fail with status::null.
    pool() noexcept = default;

    /// Opens a pool with a table in the home that a URL names: "host:" is the pool that all processes of this machine
    /// share, "process:" a private one, which does not know what other programs use.
    static result<pool> open(std::string_view url = "host:", const pool_options& how = {})
    {
        if (auto fits = abi_check(); !fits)
            return fits.error();
        const auto raw = to_c(how);
        return made([&](auto... out) { return tern_pool_open(url.data(), url.size(), &raw, out...); },
                    clock_kind::real);
    }

    /// As open(), on the table of a manager, so that deadlocks through devices and other resources together are seen.
    static result<pool> on(const tern::manager& table, const pool_options& how = {})
    {
        const auto raw = to_c(how);
        return made([&](auto... out) { return tern_pool_on(table.capi(), &raw, out...); }, table.clock());
    }

    /// Begins a claim: one device, alone, without end, unless told otherwise.
    gpu_claim claim() const&;
    /// A claim refers to its pool, which must be there until the claim is made.
    void claim() && = delete;

    /// One device, if one is free now and nobody waits for it: status::busy if not, status::empty if there are none.
    result<gpu_lease> try_claim() const;

    /// Takes over a lease of this pool's table, such as one that a ticket gave.
    gpu_lease adopt(lease taken) const;

    /// How many devices there are.
    result<std::uint64_t> capacity() const
    {
        return detail::ask<std::uint64_t>([&](auto... out) { return tern_pool_capacity(capi(), out...); });
    }

    /// How many claims wait for devices of this pool.
    result<std::uint64_t> pending_claimers() const
    {
        return detail::ask<std::uint64_t>([&](auto... out) { return tern_pool_pending_claimers(capi(), out...); });
    }

    /// The device in this place.
    result<tern::device> device(std::size_t place) const
    {
        auto found = detail::look<tern::device>(
            tern_device_init(), [&](auto... out) { return tern_pool_device(capi(), place, out...); });
        if (found)
            found->place = place;
        return found;
    }

    /// All devices, in the order of their places.
    result<std::vector<tern::device>> devices() const
    {
        const auto count = capacity();
        if (!count)
            return count.error();
        std::vector<tern::device> all;
        for (std::size_t place = 0; place < *count; place += 1) {
            auto one = device(place);
            if (!one)
                return one.error();
            all.push_back(std::move(*one));
        }
        return all;
    }

    /// How the device in this place is, and who uses it.
    result<device_status> status(std::size_t place) const
    {
        return detail::look<device_status>(tern_device_status_init(), [&](auto... out) {
            return tern_pool_device_status(capi(), place, out...);
        });
    }

    /// How all devices are, in the order of their places: leases and health all at one moment.
    result<std::vector<device_status>> snapshot() const
    {
        return detail::list<device_status>(tern_device_status_init(),
                                           [&](auto... out) { return tern_pool_snapshot(capi(), out...); });
    }

    /// The leases on the device in this place, oldest first.
    result<std::vector<lease_id>> leases_on(std::size_t place) const
    {
        return detail::list<lease_id>(tern_lease_t{0},
                                      [&](auto... out) { return tern_pool_leases_on(capi(), place, out...); });
    }

    /// The processes that compute on the device in this place although it has no lease.
    result<std::vector<process>> squatters(std::size_t place) const
    {
        return detail::list<process>(tern_process_init(),
                                     [&](auto... out) { return tern_pool_squatters(capi(), place, out...); });
    }

    /// How fast the device in this place is, by what its driver tells. Nothing is measured.
    result<device_speed> speed(std::size_t place) const
    {
        return detail::look(tern_device_speed_init(), detail::to_speed,
                            [&](auto... out) { return tern_pool_device_speed(capi(), place, out...); });
    }

    /// How much longer a claim that stands in line will wait; not at all if it is decided. gpu_claim::expected_wait()
    /// tells it of one that does not.
    result<forecast> expected_wait_of(ticket_id id) const
    {
        return detail::ask_forecast(
            [&](auto... out) { return tern_pool_expected_wait_of(capi(), number(id), out...); });
    }

    /// What is not there, and why, for people, line by line; empty if there is nothing to say.
    result<std::string> absence() const
    {
        return detail::text([&](auto... out) { return tern_pool_absence(capi(), out...); });
    }

    /// A manager on its table: leases by their ids, events, deadlocks.
    const tern::manager& manager() const noexcept { return manager_; }

    /// Is there a pool behind it?
    explicit operator bool() const noexcept { return capi() != nullptr; }

    /// For the functions of ternlease.h. It stays this pool's: do not close it.
    tern_pool_t* capi() const noexcept { return pool_.get(); }

private:
    static tern_pool_options_t to_c(const pool_options& how) noexcept
    {
        tern_pool_options_t raw = tern_pool_options_init();
        raw.devices = how.devices.data();
        raw.devices_len = how.devices.size();
        raw.flags = (how.check_use ? TERN_POOL_CHECK_USE : 0U) | (how.break_deadlocks ? TERN_POOL_BREAK_DEADLOCKS : 0U);
        raw.poll_us = how.poll.micros();
        raw.drain_limit_us = how.drain_limit.micros();
        raw.recovery_us = how.recovery.micros();
        raw.slots = how.slots;
        raw.clean_memory_mib = how.clean_memory_mib;
        return raw;
    }

    template <class Call>
    static result<pool> made(Call call, clock_kind clock)
    {
        error failed = error::blank();
        tern_pool_t* opened = nullptr;
        tern_manager_t* table = nullptr;
        if (call(&opened, failed.capi()) != TERN_OK)
            return failed;
        pool whole;
        whole.pool_.reset(opened, tern_pool_close);
        if (tern_pool_manager(opened, &table, failed.capi()) != TERN_OK)
            return failed;
        whole.manager_ = tern::manager(table, clock);
        return whole;
    }

    std::shared_ptr<tern_pool_t> pool_;
    tern::manager manager_;
};

} // namespace tern

#endif
