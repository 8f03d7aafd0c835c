// Verdict: compute a result here, or fetch it?
#ifndef TERNLEASE_VERDICT_HPP
#define TERNLEASE_VERDICT_HPP

#include <chrono>
#include <cstdint>
#include <string>

#include "../ternlease.h"
#include "enums.hpp"
#include "estimate.hpp"

namespace tern {

/// Compute a result here or fetch it: the answer, and all that it rests on.
///
///     const auto verdict = machine.verdict(task).value();
///     std::cout << verdict.words << (verdict.decisive ? ", surely\n" : ", a close call\n");
struct verdict {
    tern::answer answer{};              ///< What to do.
    bool decisive = false;              ///< The better way is better even if it goes badly and the other one well.
    std::string words;                  ///< The answer in words: "fetch", "must compute (no network)".
    std::chrono::nanoseconds score{};   ///< What fetching saves; max(), min() if it is the only way, or none.
    estimate t_compute;                 ///< How long computing takes.
    estimate t_fetch;                   ///< How long fetching takes with all that belongs to it.
    estimate t_store;                   ///< How long keeping the result takes.
    bool can_compute = false;           ///< It can be computed here.
    bool can_store = false;             ///< There is room to keep the result.
    bool can_fetch = false;             ///< It can be fetched.
    obstacle why_not_compute{};         ///< Why it cannot be computed.
    obstacle why_not_fetch{};           ///< Why it cannot be fetched.
    tern::bottleneck bottleneck{};      ///< What computing would wait for.
    std::uint32_t bias_permille = 0;    ///< How much the owner of such a machine would rather not compute on it.
};

namespace detail {

inline verdict to_verdict(const tern_verdict_t& raw)
{
    verdict made;
    made.answer = static_cast<answer>(raw.answer);
    made.decisive = raw.decisive != 0;
    made.words = raw.words;
    made.score = std::chrono::nanoseconds(raw.score_ns);
    made.t_compute = to_estimate(raw.t_compute);
    made.t_fetch = to_estimate(raw.t_fetch);
    made.t_store = to_estimate(raw.t_store);
    made.can_compute = raw.can_compute != 0;
    made.can_store = raw.can_store != 0;
    made.can_fetch = raw.can_fetch != 0;
    made.why_not_compute = static_cast<obstacle>(raw.why_not_compute);
    made.why_not_fetch = static_cast<obstacle>(raw.why_not_fetch);
    made.bottleneck = static_cast<bottleneck>(raw.bottleneck);
    made.bias_permille = raw.bias_permille;
    return made;
}

} // namespace detail

} // namespace tern

#endif
