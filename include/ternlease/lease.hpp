// Lease: the right to use a resource for a while.
#ifndef TERNLEASE_LEASE_HPP
#define TERNLEASE_LEASE_HPP

#include <string_view>
#include <utility>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "time.hpp"
#include "watch.hpp"

namespace tern {

/// The right to use a resource for a while. It is released when this object is gone; until then its table stays open.
///
///     auto lease = manager.acquire("gpu0", "trainer", 30s).value();
///     while (work_to_do() && lease.renew())
///         work_for_ten_seconds();
///
/// Owning this object does not mean that the lease is held: it may have run out or been revoked. Ask state(), or renew
/// in time.
class [[nodiscard]] lease {
public:
    /// None.
    lease() noexcept = default;

    /// Takes over a lease, such as one that was detached.
    lease(manager from, lease_id id) noexcept : manager_(std::move(from)), id_(id) {}

    lease(lease&& other) noexcept : manager_(std::move(other.manager_)), id_(std::exchange(other.id_, lease_id::none))
    {
    }

    lease& operator=(lease&& other) noexcept
    {
        lease taken(std::move(other));
        std::swap(manager_, taken.manager_);
        std::swap(id_, taken.id_);
        return *this;
    }

    /// Releases it. In a forked child nothing is released: it is the parent's.
    ~lease()
    {
        if (id_ != lease_id::none)
            tern_lease_release(manager_.capi(), number(id_), nullptr);
    }

    /// Its id, which is also its fencing token: pass it along with every write to what the lease protects.
    lease_id id() const noexcept { return id_; }

    /// Is there a lease, in whatever state?
    explicit operator bool() const noexcept { return id_ != lease_id::none; }

    /// Its manager.
    const manager& from() const noexcept { return manager_; }

    /// What it is. As manager::state().
    lease_state state() const noexcept { return manager_.state(id_); }

    /// Moves its end to now + its ttl; the new end. As manager::renew().
    result<moment> renew() const { return manager_.renew(id_); }

    /// As renew(), with another ttl from now on.
    result<moment> renew_for(span ttl) const { return manager_.renew_for(id_, ttl); }

    /// Gives it back now, and tells whether it was still held. Afterwards this object is empty, whatever the answer.
    result<void> release()
    {
        const manager from = std::exchange(manager_, manager());
        return from.release(std::exchange(id_, lease_id::none));
    }

    /// Gives up the ownership, not the lease; its id. Afterwards this object is empty.
    lease_id detach() noexcept
    {
        manager_ = manager();
        return std::exchange(id_, lease_id::none);
    }

    /// Everything about it.
    result<lease_info> info() const { return manager_.info(id_); }

    /// What it takes.
    result<std::vector<take>> takes() const { return manager_.takes(id_); }

    /// Calls `callable` with a `const notice&` when it gets a notice of its revocation, and when it is over. As
    /// manager::watch(), which tells from which thread, and for how long. The last call may come after this object is
    /// gone.
    template <class Callable>
    result<void> watch(Callable&& callable) const
    {
        return manager_.watch(id_, std::forward<Callable>(callable));
    }

    /// For the functions of ternlease.h, together with from().capi().
    tern_lease_t capi() const noexcept { return number(id_); }

private:
    manager manager_;
    lease_id id_ = lease_id::none;
};

inline result<lease> manager::acquire(std::string_view resource, std::string_view holder, span ttl) const
{
    if (!ttl.fits(clock_))
        return detail::wrong_clock();
    error failed = error::blank();
    tern_lease_t id = 0;
    if (tern_lease_acquire(capi(), resource.data(), resource.size(), holder.data(), holder.size(), ttl.count(), &id,
                           failed.capi()) != TERN_OK)
        return failed;
    return lease(*this, lease_id{id});
}

} // namespace tern

#endif
