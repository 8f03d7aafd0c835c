// Watch: being called when something happens to a lease.
#ifndef TERNLEASE_WATCH_HPP
#define TERNLEASE_WATCH_HPP

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

namespace detail {

// Both are noexcept: an exception ends the program where it was thrown, before it comes to the library, which could not
// pass it on.

template <class Callable>
void call_watcher(void* user, tern_lease_t lease, tern_trit_t state, std::int32_t why, std::uint64_t at) noexcept
{
    const notice told{lease_id{lease}, static_cast<lease_state>(state), static_cast<reason>(why), moment(at)};
    (*static_cast<Callable*>(user))(told);
}

template <class Callable>
void drop_watcher(void* user) noexcept
{
    delete static_cast<Callable*>(user);
}

} // namespace detail

template <class Callable>
result<void> manager::watch(lease_id id, Callable&& callable) const
{
    using kept = std::decay_t<Callable>;
    static_assert(std::is_invocable_v<kept&, const notice&>, "the callable must take a const tern::notice&");
    auto user = std::make_unique<kept>(std::forward<Callable>(callable));
    auto watched = detail::attempt([&](auto... out) {
        return tern_lease_watch(capi(), number(id), detail::call_watcher<kept>, user.get(), detail::drop_watcher<kept>,
                                out...);
    });
    if (watched)
        static_cast<void>(user.release()); // It is the library's now.
    return watched;
}

inline result<int> manager::watch_fd(lease_id id) const
{
    return detail::ask<int>([&](auto... out) { return tern_lease_watch_fd(capi(), number(id), out...); });
}

} // namespace tern

#endif
