// Task: a cost, and what else a prediction needs to know.
#ifndef TERNLEASE_TASK_HPP
#define TERNLEASE_TASK_HPP

#include <cstdint>

#include "../ternlease.h"
#include "cost.hpp"
#include "enums.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// By how much predictions for one function are wrong on one machine. Keep one for each function, with its results or its
/// name.
struct learned {
    std::uint32_t runs = 0;     ///< How many runs were measured.
    std::uint32_t permille = 0; ///< How long they took, in thousandths of what is predicted without this.

    /// A run was predicted to take so long, without anything learned (machine::untaught_time()), and took so long. A time
    /// of none or without end teaches nothing.
    result<void> record(nanos predicted, nanos measured)
    {
        return detail::attempt([&](auto... out) {
            return tern_learned_record(&runs, &permille, predicted.count(), measured.count(), out...);
        });
    }
};

/// A cost, and what else a prediction needs to know: what sort of work it is, on how many threads, from how much input,
/// and what earlier runs taught. A bare cost is a task of one thread of which nothing else is known.
///
///     auto task = tern::task(tern::cost::matmul(1000, 1000, 1000, 8'000'000)).kind(tern::kind::dense64).threads(4);
class task {
public:
    /// One thread of work of which nothing is known but its cost.
    task(const cost& of) noexcept : raw_(tern_task_init()) { raw_.cost = of.capi(); }

    /// What sort of work it is.
    task& kind(tern::kind kind) noexcept
    {
        raw_.kind = static_cast<std::int32_t>(kind);
        return *this;
    }

    /// On how many threads it runs; more than the machine has are as many as it has.
    task& threads(std::uint32_t threads) noexcept
    {
        raw_.threads = threads;
        return *this;
    }

    /// How many bytes it reads, which must get to a GPU before it can begin there. If nobody says: all that it has in
    /// memory, or all that passes through if it keeps nothing.
    task& input(std::uint64_t bytes) noexcept
    {
        raw_.input_bytes = bytes;
        raw_.flags |= TERN_TASK_INPUT;
        return *this;
    }

    /// What earlier runs taught.
    task& learned(const tern::learned& learned) noexcept
    {
        raw_.learned_runs = learned.runs;
        raw_.learned_permille = learned.permille;
        return *this;
    }

    /// For the functions of ternlease.h. Refers to this object.
    const tern_task_t* capi() const noexcept { return &raw_; }

private:
    tern_task_t raw_;
};

} // namespace tern

#endif
