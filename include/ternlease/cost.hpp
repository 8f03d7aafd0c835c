// Cost: what a computation needs.
#ifndef TERNLEASE_COST_HPP
#define TERNLEASE_COST_HPP

#include <cstdint>

#include "../ternlease.h"
#include "time.hpp"

namespace tern {

/// What a computation needs: four numbers, the same on every machine and in every language, so that a cost may be part of
/// the key of a cache. No number wraps around: the largest means "this much or more".
///
///     const auto load = tern::cost::copy(64'000'000);
///     const auto sort = tern::cost::sort(1'000'000, 64, 64'000'000);
///     const auto own = tern::cost{2000, 800, 400, 8};
///     const auto all = load + sort + own.repeat(1000);
struct cost {
    std::uint64_t flops = 0;        ///< Operations, of whatever sort the computation is made of.
    std::uint64_t mem_bytes = 0;    ///< Bytes that go to and from memory.
    std::uint64_t peak_mem = 0;     ///< Bytes of memory in use at one time, at most.
    std::uint64_t result_bytes = 0; ///< Bytes of the result.

    /// Reading `bytes` once, from end to end.
    static cost scan(std::uint64_t bytes, std::uint64_t result_bytes) noexcept
    {
        return of(tern_cost_scan(bytes, result_bytes));
    }

    /// Sorting so many items by comparison.
    static cost sort(std::uint64_t items, std::uint64_t item_bytes, std::uint64_t result_bytes) noexcept
    {
        return of(tern_cost_sort(items, item_bytes, result_bytes));
    }

    /// Hashing `bytes` into 32.
    static cost hash(std::uint64_t bytes) noexcept { return of(tern_cost_hash(bytes)); }

    /// Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers.
    static cost matmul(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t result_bytes) noexcept
    {
        return of(tern_cost_matmul(m, n, k, result_bytes));
    }

    /// Reading so many rows, doing so many operations with each, and writing them.
    static cost etl(std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t ops_per_row,
                    std::uint64_t result_bytes) noexcept
    {
        return of(tern_cost_etl(rows, row_bytes, ops_per_row, result_bytes));
    }

    /// Copying `bytes`.
    static cost copy(std::uint64_t bytes) noexcept { return of(tern_cost_copy(bytes)); }

    /// This, then the next one, whose result it is. The same as `*this + next`.
    cost then(const cost& next) const noexcept { return of(tern_cost_then(capi(), next.capi())); }

    /// This beside another, each on processors of its own.
    cost par(const cost& other) const noexcept { return of(tern_cost_par(capi(), other.capi())); }

    /// This beside another on the same processors: everything adds up.
    cost both(const cost& other) const noexcept { return of(tern_cost_both(capi(), other.capi())); }

    /// The same so many times, one after the other, of which the last result counts.
    cost repeat(std::uint64_t times) const noexcept { return of(tern_cost_repeat(capi(), times)); }

    /// One after the other. As then().
    friend cost operator+(const cost& first, const cost& next) noexcept { return first.then(next); }

    friend constexpr bool operator==(const cost& a, const cost& b) noexcept
    {
        return a.flops == b.flops && a.mem_bytes == b.mem_bytes && a.peak_mem == b.peak_mem &&
               a.result_bytes == b.result_bytes;
    }
    friend constexpr bool operator!=(const cost& a, const cost& b) noexcept { return !(a == b); }

    /// For the functions of ternlease.h.
    constexpr tern_cost_t capi() const noexcept { return {flops, mem_bytes, peak_mem, result_bytes}; }

    /// What a function of ternlease.h gave.
    static constexpr cost of(const tern_cost_t& raw) noexcept
    {
        return {raw.flops, raw.mem_bytes, raw.peak_mem, raw.result_bytes};
    }
};

/// How long `work` takes at `rate` per second, rounded up; without end if the work has none, nothing does it, or it takes
/// longer than can be said.
inline nanos time_of(std::uint64_t work, std::uint64_t rate) noexcept { return nanos(tern_nanoseconds(work, rate)); }

} // namespace tern

#endif
