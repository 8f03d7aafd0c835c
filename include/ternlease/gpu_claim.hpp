// GPU claim: asking a pool for devices.
#ifndef TERNLEASE_GPU_CLAIM_HPP
#define TERNLEASE_GPU_CLAIM_HPP

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "forecast.hpp"
#include "gpu_lease.hpp"
#include "lease.hpp"
#include "pool.hpp"
#include "result.hpp"
#include "ticket.hpp"
#include "time.hpp"

namespace tern {

/// A claim for devices in the making. It asks for nothing until try_now(), wait() or enqueue(), and can be made again
/// and again.
///
///     auto gpus = pool.claim().holder("train-42").count(4).min_memory_mib(40000).wait(60s);
///
/// Unless told otherwise: any one device, alone, without end, priority 0. All or nothing: no claim ever holds a part of
/// what it asked for. In a pool without devices each of them is status::empty at once.
///
/// It refers to its pool and to the texts that it was given; these must be there when it is made.
class [[nodiscard]] gpu_claim {
public:
    /// Begins a claim. As pool::claim().
    explicit gpu_claim(const pool& from) noexcept : pool_(from), raw_(tern_gpu_claim_init()) { raw_.wait = TERN_FOREVER; }

    gpu_claim(const gpu_claim&) = delete;
    gpu_claim& operator=(const gpu_claim&) = delete;

    /// Who asks; if nobody says so, the claim gets a name of its own. Give all claims of one line of work the same name
    /// if it claims more while it holds some, so that deadlocks are seen.
    gpu_claim& holder(std::string_view holder) noexcept
    {
        raw_.holder = holder.data();
        raw_.holder_len = holder.size();
        return *this;
    }

    /// Adds a device that it may be served from, the preferred ones first: by UUID (or how it begins), PCI address,
    /// vendor and number ("nvidia:0"), or number.
    gpu_claim& of(std::string_view device)
    {
        devices_.push_back({device.data(), device.size()});
        raw_.devices = devices_.data();
        raw_.device_count = devices_.size();
        return *this;
    }

    /// As above, several at once.
    gpu_claim& of(std::initializer_list<std::string_view> devices)
    {
        for (const std::string_view device : devices)
            of(device);
        return *this;
    }

    /// How many devices: linked ones if that can be, all of one vendor.
    gpu_claim& count(std::uint32_t count) noexcept
    {
        raw_.count = count;
        return *this;
    }

    /// So many slots of each device, together with others, instead of all of it.
    gpu_claim& slots(std::uint32_t slots) noexcept
    {
        raw_.slots = slots;
        return *this;
    }

    /// So much memory of each device, in MiB, together with others, instead of all of it.
    gpu_claim& memory_mib(std::uint32_t memory_mib) noexcept
    {
        raw_.memory_mib = memory_mib;
        return *this;
    }

    /// Only devices with at least so much memory in all, in MiB.
    gpu_claim& min_memory_mib(std::uint32_t memory_mib) noexcept
    {
        raw_.min_memory_mib = memory_mib;
        return *this;
    }

    /// Only devices that can compute at least this, as NVIDIA counts it.
    gpu_claim& min_compute(std::uint32_t major, std::uint32_t minor) noexcept
    {
        raw_.min_compute_major = major;
        raw_.min_compute_minor = minor;
        return *this;
    }

    /// Only devices of this vendor.
    gpu_claim& vendor(tern::vendor vendor) noexcept
    {
        raw_.vendor = static_cast<std::int32_t>(vendor);
        return *this;
    }

    /// Take only what nobody else waits for; when somebody does, give it back after this notice.
    gpu_claim& spare(span notice) noexcept
    {
        raw_.notice = units(notice);
        return set(TERN_CLAIM_SPARE);
    }

    /// A claim of higher priority that asks to preempt may take the lease after this notice.
    gpu_claim& preemptible(span notice) noexcept
    {
        raw_.notice = units(notice);
        return set(TERN_CLAIM_PREEMPTIBLE);
    }

    /// Take preemptible leases of lower priority rather than wait for their end.
    gpu_claim& preempt() noexcept { return set(TERN_CLAIM_PREEMPT); }

    /// A thread of the library's own renews the lease in time while its pool is open. Not for enqueue(): see
    /// gpu_lease::keep_alive().
    gpu_claim& keep_alive() noexcept { return set(TERN_CLAIM_KEEP_ALIVE); }

    /// Higher goes first; from -32768 to 32767.
    gpu_claim& priority(std::int32_t priority) noexcept
    {
        raw_.priority = priority;
        return *this;
    }

    /// The lease ends with this one, and never later.
    gpu_claim& child_of(lease_id parent) noexcept
    {
        raw_.parent = number(parent);
        return *this;
    }

    /// How long the lease lasts without renewal.
    gpu_claim& ttl(span ttl) noexcept
    {
        raw_.ttl = units(ttl);
        return *this;
    }

    /// For how long the claim stays in line once it waits or is enqueued. Without end if not said.
    gpu_claim& patience(span patience) noexcept
    {
        raw_.wait = units(patience);
        return *this;
    }

    /// Devices now, or status::busy. Overtakes nobody who waits.
    result<gpu_lease> try_now() const
    {
        tern_gpu_claim_t now = raw_;
        now.wait = 0;
        return make(now);
    }

    /// Devices, or status::timeout when the claim's patience is over. Blocks the thread.
    result<gpu_lease> wait() const { return make(raw_); }

    /// As above, with this patience.
    result<gpu_lease> wait(span patience) { return this->patience(patience).wait(); }

    /// Takes a place in line and returns at once. The ticket may be granted already; pool::adopt() makes the lease that
    /// it gives a gpu_lease.
    result<ticket> enqueue() const
    {
        if (wrong_clock_)
            return detail::wrong_clock();
        error failed = error::blank();
        tern_lease_t lease_number = 0;
        tern_ticket_t ticket_number = 0;
        switch (tern_pool_enqueue(pool_.capi(), &raw_, &lease_number, &ticket_number, failed.capi())) {
        case TERN_OK:
            return ticket(lease(pool_.manager(), lease_id{lease_number}));
        case TERN_WAITING:
            return ticket(pool_.manager(), ticket_id{ticket_number});
        default:
            return failed;
        }
    }

    /// How long it would wait now. Asks for nothing; its times and its parent are not looked at.
    result<forecast> expected_wait() const
    {
        return detail::ask_forecast(
            [&](auto... out) { return tern_pool_expected_wait(pool_.capi(), &raw_, out...); });
    }

    /// Its pool.
    const pool& from() const noexcept { return pool_; }

    /// For the functions of ternlease.h. Refers to this object.
    const tern_gpu_claim_t* capi() const noexcept { return &raw_; }

private:
    result<gpu_lease> make(const tern_gpu_claim_t& raw) const
    {
        if (wrong_clock_)
            return detail::wrong_clock();
        error failed = error::blank();
        tern_lease_t id = 0;
        if (tern_pool_claim(pool_.capi(), &raw, &id, failed.capi()) != TERN_OK)
            return failed;
        return pool_.adopt(lease(pool_.manager(), lease_id{id}));
    }

    gpu_claim& set(std::uint64_t flag) noexcept
    {
        raw_.flags |= flag;
        return *this;
    }

    std::uint64_t units(span time) noexcept
    {
        wrong_clock_ = wrong_clock_ || !time.fits(pool_.manager().clock());
        return time.count();
    }

    const pool& pool_;
    tern_gpu_claim_t raw_;
    bool wrong_clock_ = false;
    std::vector<tern_text_t> devices_;
};

inline gpu_claim pool::claim() const& { return gpu_claim(*this); }

} // namespace tern

#endif
