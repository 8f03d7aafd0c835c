// Options: how a table is made.
#ifndef TERNLEASE_OPTIONS_HPP
#define TERNLEASE_OPTIONS_HPP

#include <cstdint>

#include "time.hpp"

namespace tern {

/// How a new table is made. Limits that are 0 are as usual.
struct options {
    clock_kind clock = clock_kind::real; ///< By which clock it goes.
    bool open_house = false;      ///< acquire() never refuses, and every holder wants the resource of its own name.
    bool break_deadlocks = false; ///< A deadlock is broken as soon as it arises: the proposed victim is revoked.
    std::uint32_t leases = 0;     ///< Leases held at the same time; usually 65,536.
    std::uint32_t tickets = 0;    ///< Claims waiting at the same time; usually 16,384.
    std::uint32_t resources = 0;  ///< Resources known at the same time; usually 65,536.
    std::uint32_t history = 0;    ///< Ended leases, decided tickets and events that are remembered; usually 1,024.

    /// The usual, with time counted in ticks.
    static options ticks() noexcept
    {
        options made;
        made.clock = clock_kind::ticks;
        return made;
    }
};

} // namespace tern

#endif
