// GPU lease: devices, for as long as this object lives.
#ifndef TERNLEASE_GPU_LEASE_HPP
#define TERNLEASE_GPU_LEASE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../ternlease.h"
#include "device.hpp"
#include "enums.hpp"
#include "info.hpp"
#include "lease.hpp"
#include "manager.hpp"
#include "pool.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// Changes to the environment of a child.
struct environment {
    std::vector<std::pair<std::string, std::string>> set; ///< Names and values of variables to be set.
    std::vector<std::string> remove;                      ///< Variables to be removed.
};

/// Devices, for as long as this object lives: then they are given back, and whoever is first in line has them. Until
/// then its pool stays open.
///
///     auto gpu = pool.claim().ttl(60s).keep_alive().wait().value();
///     for (const auto& device : gpu.devices().value())
///         use(device.pci);
///
/// Owning this object does not mean that the lease is held: it may have been revoked. Ask state(), or watch it.
class [[nodiscard]] gpu_lease {
public:
    /// None.
    gpu_lease() noexcept = default;

    /// Takes over a lease of a pool. As pool::adopt().
    gpu_lease(pool from, lease taken) noexcept : pool_(std::move(from)), lease_(std::move(taken)) {}

    gpu_lease(gpu_lease&&) noexcept = default;

    gpu_lease& operator=(gpu_lease&& other) noexcept
    {
        gpu_lease taken(std::move(other));
        std::swap(pool_, taken.pool_);
        std::swap(lease_, taken.lease_);
        return *this;
    }

    ~gpu_lease() = default;

    /// Its id, which is also its fencing token.
    lease_id id() const noexcept { return lease_.id(); }

    /// Is there a lease, in whatever state?
    explicit operator bool() const noexcept { return static_cast<bool>(lease_); }

    /// Its pool.
    const pool& from() const noexcept { return pool_; }

    /// What it is. As manager::state().
    lease_state state() const noexcept { return lease_.state(); }

    /// Its devices, in the order of the pool.
    result<std::vector<device>> devices() const
    {
        const auto places = detail::list_raw(std::size_t{0}, [&](auto... out) {
            return tern_gpu_lease_devices(pool_.capi(), capi(), out...);
        });
        if (!places)
            return places.error();
        std::vector<device> found;
        for (const std::size_t place : *places) {
            auto one = pool_.device(place);
            if (!one)
                return one.error();
            found.push_back(std::move(*one));
        }
        return found;
    }

    /// What a child needs in its environment to see these devices and no others.
    result<environment> env() const { return env_with(0); }

    /// As env(), with UUIDs where the devices have them.
    result<environment> env_by_uuid() const { return env_with(TERN_ENV_BY_UUID); }

    /// A thread of the library's own renews it from now on, in time, while it is held and its pool is open.
    result<void> keep_alive() const
    {
        return detail::attempt([&](auto... out) { return tern_gpu_lease_keep_alive(pool_.capi(), capi(), out...); });
    }

    /// Moves its end to now + its ttl; the new end.
    result<moment> renew() const { return lease_.renew(); }

    /// Gives the devices back now, and tells whether they were still held. Afterwards this object is empty.
    result<void> release()
    {
        const pool from = std::exchange(pool_, pool());
        return lease_.release();
    }

    /// Gives up the ownership, not the lease; its id. Afterwards this object is empty.
    lease_id detach() noexcept
    {
        const lease_id id = lease_.detach();
        pool_ = pool();
        return id;
    }

    /// Everything about it.
    result<lease_info> info() const { return lease_.info(); }

    /// Calls `callable` with a `const notice&` when it gets a notice of its revocation, and when it is over. As
    /// manager::watch().
    template <class Callable>
    result<void> watch(Callable&& callable) const
    {
        return lease_.watch(std::forward<Callable>(callable));
    }

    /// For the functions of ternlease.h, together with from().capi().
    tern_lease_t capi() const noexcept { return lease_.capi(); }

private:
    result<environment> env_with(std::uint32_t flags) const
    {
        const auto text = detail::text(
            [&](auto... out) { return tern_gpu_lease_env(pool_.capi(), capi(), flags, out...); });
        if (!text)
            return text.error();
        environment env;
        for (std::string_view rest = *text; !rest.empty();) {
            const std::size_t end = rest.find('\n');
            const std::string_view line = rest.substr(0, end);
            const std::size_t middle = line.find('=');
            if (middle == std::string_view::npos)
                env.remove.emplace_back(line);
            else
                env.set.emplace_back(line.substr(0, middle), line.substr(middle + 1));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        }
        return env;
    }

    pool pool_;
    lease lease_; // Goes first.
};

inline gpu_lease pool::adopt(lease taken) const { return gpu_lease(*this, std::move(taken)); }

inline result<gpu_lease> pool::try_claim() const
{
    error failed = error::blank();
    tern_lease_t id = 0;
    if (tern_pool_try_claim(capi(), &id, failed.capi()) != TERN_OK)
        return failed;
    return adopt(lease(manager_, lease_id{id}));
}

} // namespace tern

#endif
