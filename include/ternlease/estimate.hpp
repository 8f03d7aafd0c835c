// Estimate: how long something takes, as far as that is known.
#ifndef TERNLEASE_ESTIMATE_HPP
#define TERNLEASE_ESTIMATE_HPP

#include "../ternlease.h"
#include "time.hpp"

namespace tern {

/// A length of time as far as it is known: most likely `mid`, and rarely outside `lo` and `hi`. What cannot be done, or
/// never ends, is without end in all three.
struct estimate {
    nanos lo;  ///< If all goes well.
    nanos mid; ///< Most likely.
    nanos hi;  ///< If it does not.

    /// Can it not be done, or does it never end?
    constexpr bool is_forever() const noexcept { return mid.is_forever(); }
};

namespace detail {

inline estimate to_estimate(const tern_estimate_t& raw) { return {nanos(raw.lo), nanos(raw.mid), nanos(raw.hi)}; }

} // namespace detail

} // namespace tern

#endif
