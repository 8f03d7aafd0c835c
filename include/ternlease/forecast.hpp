// Forecast: how long a claim would wait.
#ifndef TERNLEASE_FORECAST_HPP
#define TERNLEASE_FORECAST_HPP

#include <cstdint>

#include "../ternlease.h"
#include "enums.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// How long a claim would wait, as far as that can be told.
struct forecast {
    expected_wait known = expected_wait::unknown; ///< What is known of it.
    nanos wait = forever;                         ///< How long; without end if it cannot be told.
};

namespace detail {

/// Makes a call that is given places for both.
template <class Call>
result<forecast> ask_forecast(Call call)
{
    error failed = error::blank();
    std::int32_t known = 0;
    std::uint64_t wait_ns = 0;
    if (call(&known, &wait_ns, failed.capi()) != TERN_OK)
        return failed;
    return forecast{static_cast<expected_wait>(known), nanos(wait_ns)};
}

} // namespace detail

} // namespace tern

#endif
