// Host: tables that all processes of a machine share.
#ifndef TERNLEASE_HOST_HPP
#define TERNLEASE_HOST_HPP

#include <cstdint>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"

namespace tern {

inline result<void> manager::hand_to(lease_id id, std::uint32_t process) const
{
    return detail::attempt([&](auto... out) { return tern_lease_hand_to(capi(), number(id), process, out...); });
}

inline result<int> manager::keep_for_children(lease_id id) const
{
    return detail::ask<int>([&](auto... out) { return tern_lease_keep_for_children(capi(), number(id), out...); });
}

inline result<host_info> manager::host() const
{
    return detail::look<host_info>(tern_host_info_init(),
                                   [&](auto... out) { return tern_manager_host(capi(), out...); });
}

inline result<std::vector<process_info>> manager::processes() const
{
    return detail::list<process_info>(tern_process_info_init(),
                                      [&](auto... out) { return tern_manager_processes(capi(), out...); });
}

} // namespace tern

#endif
