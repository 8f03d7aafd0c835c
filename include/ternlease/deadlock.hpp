// Deadlocks: who waits for whom in a circle.
#ifndef TERNLEASE_DEADLOCK_HPP
#define TERNLEASE_DEADLOCK_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"

namespace tern {

namespace detail {

inline result<deadlock> deadlock_at(const tern_deadlocks_t* found, std::size_t index)
{
    auto victim = ask<lease_id, tern_lease_t>([&](auto... out) { return tern_deadlocks_victim(found, index, out...); });
    if (!victim)
        return victim.error();
    auto stuck =
        list<std::string>(tern_name_init(), [&](auto... out) { return tern_deadlocks_stuck(found, index, out...); });
    if (!stuck)
        return stuck.error();
    auto cycle =
        list<deadlock::wait>(tern_wait_init(), [&](auto... out) { return tern_deadlocks_cycle(found, index, out...); });
    if (!cycle)
        return cycle.error();
    return deadlock{*victim, std::move(*stuck), std::move(*cycle)};
}

} // namespace detail

inline result<std::vector<deadlock>> manager::find_deadlocks() const
{
    error failed = error::blank();
    tern_deadlocks_t* found = nullptr;
    std::size_t count = 0;
    if (tern_deadlocks_find(capi(), &found, &count, failed.capi()) != TERN_OK)
        return failed;
    const std::unique_ptr<tern_deadlocks_t, void (*)(tern_deadlocks_t*)> closes(found, tern_deadlocks_close);
    std::vector<deadlock> deadlocks;
    for (std::size_t index = 0; index < count; index += 1) {
        auto deadlock = detail::deadlock_at(found, index);
        if (!deadlock)
            return deadlock.error();
        deadlocks.push_back(std::move(*deadlock));
    }
    return deadlocks;
}

} // namespace tern

#endif
