// Advice: where to do a task, with the line in front of the devices taken into account.
#ifndef TERNLEASE_ADVICE_HPP
#define TERNLEASE_ADVICE_HPP

#include <string>

#include "../ternlease.h"
#include "enums.hpp"
#include "estimate.hpp"
#include "forecast.hpp"
#include "time.hpp"

namespace tern {

/// How long a task takes in each way, the best of them, and why. A way that there is not is without end.
///
///     auto claim = pool.claim();
///     const auto advice = machine.advise(task, claim).value();
///     if (advice.choice == tern::choice::gpu_now || advice.choice == tern::choice::gpu_wait)
///         train(claim.wait(2 * advice.wait.wait.duration()));
struct advice {
    tern::choice choice{};    ///< The best way.
    bool decisive = false;    ///< The best is the best even if it goes badly and the next one well.
    std::string words;        ///< All of it in words, a line for each way, the best first; cut if it is longer.
    estimate cpu;             ///< On the processor.
    estimate gpu;             ///< On the devices of the claim once it has them.
    estimate gpu_now;         ///< The same, if they are free now.
    estimate gpu_wait;        ///< The same, if they are not free yet, the waiting included.
    estimate fetch;           ///< Fetching the result.
    forecast wait;            ///< How long the claim would wait.
    obstacle why_not_cpu{};   ///< Why it cannot be computed on the processor.
    obstacle why_not_gpu{};   ///< Why it cannot be computed on the devices, however long one waits.
    obstacle why_not_fetch{}; ///< Why it cannot be fetched.
};

namespace detail {

inline advice to_advice(const tern_advice_t& raw)
{
    advice made;
    made.choice = static_cast<choice>(raw.choice);
    made.decisive = raw.decisive != 0;
    made.words = raw.words;
    made.cpu = to_estimate(raw.cpu);
    made.gpu = to_estimate(raw.gpu);
    made.gpu_now = to_estimate(raw.gpu_now);
    made.gpu_wait = to_estimate(raw.gpu_wait);
    made.fetch = to_estimate(raw.fetch);
    made.wait = forecast{static_cast<expected_wait>(raw.wait), nanos(raw.wait_ns)};
    made.why_not_cpu = static_cast<obstacle>(raw.why_not_cpu);
    made.why_not_gpu = static_cast<obstacle>(raw.why_not_gpu);
    made.why_not_fetch = static_cast<obstacle>(raw.why_not_fetch);
    return made;
}

} // namespace detail

} // namespace tern

#endif
