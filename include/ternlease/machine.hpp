// Machine: what this machine can do.
#ifndef TERNLEASE_MACHINE_HPP
#define TERNLEASE_MACHINE_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "../ternlease.h"
#include "advice.hpp"
#include "cost.hpp"
#include "enums.hpp"
#include "estimate.hpp"
#include "gpu_claim.hpp"
#include "info.hpp"
#include "machine_info.hpp"
#include "rate.hpp"
#include "result.hpp"
#include "route.hpp"
#include "task.hpp"
#include "time.hpp"
#include "verdict.hpp"
#include "version.hpp"

namespace tern {

/// What is being measured.
struct progress {
    std::string_view step;  ///< What; there during the call only.
    std::uint32_t done = 0; ///< How many steps are done.
    std::uint32_t of = 0;   ///< Of how many.
};

/// How a machine is read. What is zero or empty is as usual.
struct machine_options {
    bool no_benchmarks = false; ///< Measure nothing: all rates are estimates. Takes no time.
    bool no_network = false;    ///< Do not ask for the network: there is none.
    bool keep = false;          ///< Keep what is measured, so that next time nothing needs to be.
    bool refresh = false;       ///< Measure anew, whatever was kept. Not together with `keep`.
    timeout budget;             ///< Measure the processor and the memory for at most so long; usually 300 ms.
    timeout disk_budget;        ///< Measure the disk, too, for at most so long; usually it is not.
    timeout max_age;            ///< Use nothing that was kept and is older; usually seven days.
    std::string cache_file;     ///< Keep it in this file; usually one in the user's cache directory.
    /// Is told what is being measured, by the thread that reads the machine. An exception that leaves it comes out of
    /// machine::read(), when that has ended; it is not called again.
    std::function<void(const tern::progress&)> progress;
};

/// What this machine can do. It is read once; then it is a handle on figures, from which predictions take no time.
///
///     const auto machine = tern::machine::read("/var/cache/results").value();
///     std::cout << machine.verdict(tern::cost::hash(10'000'000'000)).value().words << "\n";
///
/// Copies share one machine, which is closed when the last of them is gone: what one is taught, all know. Any number of
/// threads may use it at once.
class machine {
public:
    /// None: all calls fail with status::null.
    machine() noexcept = default;

    /// Reads this machine, and measures it as the options say. `store` is the directory where results are kept, of whose
    /// disk the room counts. Blocks the thread while it measures; writes nothing unless it is told to.
    static result<machine> read(std::string_view store, const machine_options& how = {})
    {
        if (auto fits = abi_check(); !fits)
            return fits.error();
        listener told{how.progress, nullptr};
        const auto raw = to_c(how, told);
        error failed = error::blank();
        tern_machine_t* opened = nullptr;
        const auto status = tern_machine_read(store.data(), store.size(), &raw, &opened, failed.capi());
        machine made;
        made.figures_.reset(opened, tern_machine_close);
        if (told.thrown)
            std::rethrow_exception(told.thrown);
        if (status != TERN_OK)
            return failed;
        return made;
    }

    /// What it can do, and had left when it was read.
    result<machine_info> info() const
    {
        return detail::look(tern_machine_info_init(), detail::to_machine_info,
                            [&](auto... out) { return tern_machine_info(capi(), out...); });
    }

    /// Its figures as JSON, with all rates.
    result<std::string> json() const
    {
        return detail::text([&](auto... out) { return tern_machine_json(capi(), out...); });
    }

    /// How fast it is at something.
    result<tern::rate> rate(rate_of which) const
    {
        return detail::look(tern_rate_init(), detail::to_rate, [&](auto... out) {
            return tern_machine_rate(capi(), static_cast<std::int32_t>(which), out...);
        });
    }

    /// How long a program takes to begin with a GPU; nothing in one that has begun. Counts in advice from now on.
    result<void> set_gpu_start(const estimate& time) const
    {
        return detail::attempt([&](auto... out) {
            return tern_machine_set_gpu_start(capi(), time.lo.count(), time.mid.count(), time.hi.count(), out...);
        });
    }

    /// The way to where results can be fetched from, as far as it is known by now; status::empty if there is no network.
    result<tern::route> route() const
    {
        return detail::look(tern_route_init(), detail::to_route,
                            [&](auto... out) { return tern_machine_route(capi(), out...); });
    }

    /// From now on this is the way; std::nullopt: there is none, and nothing can be fetched.
    result<void> set_route(const std::optional<tern::route>& way) const
    {
        const auto raw = detail::to_c(way.value_or(tern::route{}));
        return detail::attempt(
            [&](auto... out) { return tern_machine_set_route(capi(), way ? &raw : nullptr, out...); });
    }

    /// A transfer of so many bytes took so long. A short one tells how long the way is, a long one how wide.
    /// status::empty if there is no network.
    result<void> record_fetch(std::uint64_t bytes, nanos took) const
    {
        return detail::attempt(
            [&](auto... out) { return tern_machine_record_fetch(capi(), bytes, took.count(), out...); });
    }

    /// How long a task takes here, with what was learned of it and whether or not its memory is there.
    result<estimate> compute_time(const task& of) const
    {
        return time([&](auto... out) { return tern_machine_compute_time(capi(), of.capi(), out...); });
    }

    /// How long a task takes here by the rates alone: what a measured run is to be compared with, in learned::record().
    result<nanos> untaught_time(const task& of) const
    {
        return detail::ask<nanos, std::uint64_t>(
            [&](auto... out) { return tern_machine_untaught_time(capi(), of.capi(), out...); });
    }

    /// How long fetching so many bytes takes, once it is known that they are there.
    result<estimate> fetch_time(std::uint64_t bytes) const
    {
        return time([&](auto... out) { return tern_machine_fetch_time(capi(), bytes, out...); });
    }

    /// How long keeping so many bytes takes, on the disk with the results.
    result<estimate> store_time(std::uint64_t bytes) const
    {
        return time([&](auto... out) { return tern_machine_store_time(capi(), bytes, out...); });
    }

    /// Is there room for so many bytes on the disk with the results, and some to spare?
    result<room> can_store(std::uint64_t bytes) const
    {
        error failed = error::blank();
        const tern_trit_t told = tern_machine_can_store(capi(), bytes, failed.capi());
        if (told == TERN_TRIT_UNKNOWN)
            return failed;
        return static_cast<room>(told);
    }

    /// For how long a result is worth keeping: the longer, the more computing it again costs beside fetching it. From a
    /// tenth of `base` to a thousand times as long; without end if that is longer than any lease.
    result<span> suggest_ttl(const task& of, timeout base) const
    {
        error failed = error::blank();
        std::uint64_t micros = 0;
        if (tern_machine_suggest_ttl(capi(), of.capi(), base.micros(), &micros, failed.capi()) != TERN_OK)
            return failed;
        return micros == TERN_FOREVER ? span(forever) : span(detail::to_chrono(micros));
    }

    /// How large a buffer for rows may be, in bytes: half of what a computation may take, in whole rows. status::empty if
    /// not even one fits.
    result<std::uint64_t> etl_buffer(std::uint64_t row_bytes) const
    {
        return detail::ask<std::uint64_t>(
            [&](auto... out) { return tern_machine_etl_buffer(capi(), row_bytes, out...); });
    }

    /// A cost for something that took so long here, to be compared with other costs.
    result<cost> normalize(nanos took, std::uint64_t peak_mem, std::uint64_t result_bytes) const
    {
        error failed = error::blank();
        tern_cost_t raw{};
        if (tern_machine_normalize(capi(), took.count(), peak_mem, result_bytes, &raw, failed.capi()) != TERN_OK)
            return failed;
        return cost::of(raw);
    }

    /// What a cached result saves each time it is fetched instead of computed; negative if it costs some. max() if
    /// fetching is the only way, min() if it is none.
    result<std::chrono::nanoseconds> cache_value(const task& of) const
    {
        return detail::ask<std::chrono::nanoseconds, std::int64_t>(
            [&](auto... out) { return tern_machine_cache_value(capi(), of.capi(), out...); });
    }

    /// Compute the result of a task here, or fetch it from where route() leads?
    result<tern::verdict> verdict(const task& of) const
    {
        return detail::look(tern_verdict_init(), detail::to_verdict,
                            [&](auto... out) { return tern_machine_verdict(capi(), of.capi(), out...); });
    }

    /// The same as JSON.
    result<std::string> verdict_json(const task& of) const
    {
        return detail::text([&](auto... out) { return tern_machine_verdict_json(capi(), of.capi(), out...); });
    }

    /// Where to do a task: here, on a device that the claim would get now or later, or nowhere because its result can be
    /// fetched? Claims nothing.
    result<advice> advise(const task& of, const gpu_claim& claim) const
    {
        return detail::look(tern_advice_init(), detail::to_advice, [&](auto... out) {
            return tern_machine_advise(capi(), of.capi(), claim.from().capi(), claim.capi(), out...);
        });
    }

    /// The same as JSON.
    result<std::string> advise_json(const task& of, const gpu_claim& claim) const
    {
        return detail::text([&](auto... out) {
            return tern_machine_advise_json(capi(), of.capi(), claim.from().capi(), claim.capi(), out...);
        });
    }

    /// Is there a machine behind it?
    explicit operator bool() const noexcept { return capi() != nullptr; }

    /// For the functions of ternlease.h. It stays this machine's: do not close it.
    tern_machine_t* capi() const noexcept { return figures_.get(); }

private:
    /// Who is told of progress, and what came of it.
    struct listener {
        const std::function<void(const tern::progress&)>& tell;
        std::exception_ptr thrown;
    };

    /// The library could not pass an exception on: it is kept until the library has returned.
    static void call_listener(void* user, const char* step, std::uint32_t done, std::uint32_t of) noexcept
    {
        auto& told = *static_cast<listener*>(user);
#if defined(__cpp_exceptions)
        if (told.thrown)
            return;
        try {
            told.tell(tern::progress{step, done, of});
        } catch (...) {
            told.thrown = std::current_exception();
        }
#else
        told.tell(tern::progress{step, done, of});
#endif
    }

    static tern_machine_options_t to_c(const machine_options& how, listener& told) noexcept
    {
        tern_machine_options_t raw = tern_machine_options_init();
        raw.flags = (how.no_benchmarks ? TERN_MACHINE_NO_BENCHMARKS : 0U) |
                    (how.no_network ? TERN_MACHINE_NO_NETWORK : 0U) | (how.keep ? TERN_MACHINE_KEEP : 0U) |
                    (how.refresh ? TERN_MACHINE_REFRESH : 0U);
        raw.budget_us = how.budget.micros();
        raw.disk_budget_us = how.disk_budget.micros();
        raw.max_age_us = how.max_age.micros();
        raw.cache_file = how.cache_file.data();
        raw.cache_file_len = how.cache_file.size();
        if (how.progress) {
            raw.progress = call_listener;
            raw.user = &told;
        }
        return raw;
    }

    template <class Call>
    static result<estimate> time(Call call)
    {
        return detail::look(tern_estimate_t{}, detail::to_estimate, call);
    }

    std::shared_ptr<tern_machine_t> figures_;
};

} // namespace tern

#endif
