// Rate: how much of something a machine does in a second.
#ifndef TERNLEASE_RATE_HPP
#define TERNLEASE_RATE_HPP

#include <cstdint>

#include "../ternlease.h"
#include "enums.hpp"

namespace tern {

/// How much of something is done in a second.
struct rate {
    std::uint64_t per_second = 0;      ///< What the machine can do: nine of ten measurements gave less.
    std::uint64_t usual = 0;           ///< What it did while it was measured, beside everything else: the middle one.
    std::uint32_t spread_permille = 0; ///< How far measurements lay apart: the middle half, beside the middle one.
    tern::source source{};             ///< Where it comes from.
};

namespace detail {

inline rate to_rate(const tern_rate_t& raw)
{
    return {raw.per_second, raw.usual, raw.spread_permille, static_cast<source>(raw.source)};
}

} // namespace detail

} // namespace tern

#endif
