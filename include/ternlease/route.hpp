// Route: the way to where results can be fetched from.
#ifndef TERNLEASE_ROUTE_HPP
#define TERNLEASE_ROUTE_HPP

#include <cstdint>

#include "../ternlease.h"
#include "enums.hpp"
#include "time.hpp"

namespace tern {

/// The way to where results can be fetched from: not a property of a network card but of a path.
struct route {
    nanos round_trip;                          ///< There and back.
    std::uint64_t bytes_per_second = 0;        ///< What arrives in a second, at most. Not zero in a route.
    nanos query;                               ///< To know what to ask for, and to be told whether it is there.
    std::uint32_t hits_permille = 1000;        ///< Of a thousand queries, how many find something.
    route_known known = route_known::declared; ///< How far this is known.
};

namespace detail {

inline route to_route(const tern_route_t& raw)
{
    return {nanos(raw.round_trip_ns), raw.bytes_per_second, nanos(raw.query_ns), raw.hits_permille,
            static_cast<route_known>(raw.known)};
}

inline tern_route_t to_c(const route& way)
{
    tern_route_t raw = tern_route_init();
    raw.round_trip_ns = way.round_trip.count();
    raw.bytes_per_second = way.bytes_per_second;
    raw.query_ns = way.query.count();
    raw.hits_permille = way.hits_permille;
    raw.known = static_cast<std::int32_t>(way.known);
    return raw;
}

} // namespace detail

} // namespace tern

#endif
