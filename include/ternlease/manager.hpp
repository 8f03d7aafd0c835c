// Manager: a table of leases on named resources.
#ifndef TERNLEASE_MANAGER_HPP
#define TERNLEASE_MANAGER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "options.hpp"
#include "result.hpp"
#include "time.hpp"
#include "version.hpp"

namespace tern {

class claim;
class events;
class lease;
class pool;

namespace detail {

/// The same memory, as the functions of ternlease.h call it: an id is its number, and a state is its trit. Nothing is
/// copied, so that asking many leases costs what it costs in C.
inline const tern_lease_t* numbers(const std::vector<lease_id>& ids) noexcept
{
    static_assert(sizeof(lease_id) == sizeof(tern_lease_t) && alignof(lease_id) == alignof(tern_lease_t));
    return reinterpret_cast<const tern_lease_t*>(ids.data());
}

/// As above.
inline tern_trit_t* trits(std::vector<lease_state>& states) noexcept
{
    static_assert(sizeof(lease_state) == sizeof(tern_trit_t) && alignof(lease_state) == alignof(tern_trit_t));
    return reinterpret_cast<tern_trit_t*>(states.data());
}

} // namespace detail

/// The cursor of manager::events() that skips what has happened so far.
inline constexpr std::uint64_t from_now = TERN_FOREVER;

/// A table of leases on named resources.
///
/// A manager is a handle: copies of it, and the leases and tickets that come from it, share one table, which is closed
/// when the last of them is gone. Any number of threads may use it at once; a thread that may outlive this variable has
/// a copy of its own.
///
/// What is asked by id works for every lease of the table, whoever holds it.
class manager {
public:
    /// None: all calls fail with status::null.
    manager() noexcept = default;

    /// Opens the table that a URL names. "host:", "host:NAME" and "host:/PATH" are tables that all processes of this
    /// machine share; "process:" is a new, private table, shared by the threads of this process.
    static result<manager> open(std::string_view url = "host:", const options& how = {})
    {
        if (auto fits = abi_check(); !fits)
            return fits.error();
        tern_options_t raw = tern_options_init();
        raw.flags = (how.clock == clock_kind::ticks ? TERN_OPTION_TICKS : 0U) |
                    (how.open_house ? TERN_OPTION_OPEN_HOUSE : 0U) |
                    (how.break_deadlocks ? TERN_OPTION_BREAK_DEADLOCKS : 0U);
        raw.leases = how.leases;
        raw.tickets = how.tickets;
        raw.resources = how.resources;
        raw.history = how.history;
        error failed = error::blank();
        tern_manager_t* opened = nullptr;
        if (tern_manager_open(url.data(), url.size(), &raw, &opened, failed.capi()) != TERN_OK)
            return failed;
        return manager(opened, how.clock);
    }

    /// A lease on one slot of a resource, now or not at all: status::busy. It lasts for `ttl` unless it is renewed.
    result<lease> acquire(std::string_view resource, std::string_view holder, span ttl) const;

    /// Begins a claim, which can say more: several resources, parts of them, a wait, a priority. Claims of one holder
    /// are taken to be one line of work: give each independent job a name of its own.
    tern::claim claim(std::string_view holder) const&;
    /// A claim refers to its manager, which must be there until the claim is made.
    void claim(std::string_view holder) && = delete;

    /// The state of a lease. As quick as the function in C: takes no lock, and never says held once the end has passed.
    lease_state state(lease_id id) const noexcept
    {
        return static_cast<lease_state>(tern_lease_state(capi(), number(id), nullptr));
    }

    /// The states of several leases in one call.
    result<std::vector<lease_state>> states(const std::vector<lease_id>& ids) const
    {
        std::vector<lease_state> states(ids.size(), lease_state::unknown);
        error failed = error::blank();
        if (tern_lease_states(capi(), detail::numbers(ids), ids.size(), detail::trits(states), failed.capi()) != TERN_OK)
            return failed;
        return states;
    }

    /// Moves the end of a lease to now + its ttl; the new end. status::not_held if it is over: stop using what it
    /// protects.
    result<moment> renew(lease_id id) const
    {
        return detail::ask<moment, std::uint64_t>(
            [&](auto... out) { return tern_lease_renew(capi(), number(id), out...); });
    }

    /// As renew(), with another ttl from now on.
    result<moment> renew_for(lease_id id, span ttl) const
    {
        if (!ttl.fits(clock_))
            return detail::wrong_clock();
        return detail::ask<moment, std::uint64_t>(
            [&](auto... out) { return tern_lease_renew_for(capi(), number(id), ttl.count(), out...); });
    }

    /// Renews several leases in one call; how many were renewed. Those that are over are passed over.
    result<std::size_t> renew_all(const std::vector<lease_id>& ids) const
    {
        return detail::ask<std::size_t>(
            [&](auto... out) { return tern_lease_renew_all(capi(), detail::numbers(ids), ids.size(), out...); });
    }

    /// Gives a lease back. Whoever is first in line has what it frees before this returns.
    result<void> release(lease_id id) const
    {
        return detail::attempt([&](auto... out) { return tern_lease_release(capi(), number(id), out...); });
    }

    /// Takes a lease away. `by` says who does it. With a `notice` the holder keeps the lease for so long, to save its
    /// work.
    result<revocation> revoke(lease_id id, reason why = reason::operator_, std::string_view by = {},
                              span notice = {}) const
    {
        if (!notice.fits(clock_))
            return detail::wrong_clock();
        error failed = error::blank();
        std::uint64_t at = 0;
        const auto status = tern_lease_revoke(capi(), number(id), static_cast<std::int32_t>(why), by.data(), by.size(),
                                              notice.count(), &at, failed.capi());
        if (status != TERN_OK && status != TERN_UNCHANGED)
            return failed;
        return revocation{notice.count() == 0, status == TERN_UNCHANGED, moment(at)};
    }

    /// Everything about a lease that is held or remembered.
    result<lease_info> info(lease_id id) const
    {
        return detail::look<lease_info>(tern_lease_info_init(),
                                        [&](auto... out) { return tern_lease_info(capi(), number(id), out...); });
    }

    /// What a lease takes, or took.
    result<std::vector<take>> takes(lease_id id) const
    {
        return detail::list<take>(tern_take_init(),
                                  [&](auto... out) { return tern_lease_takes(capi(), number(id), out...); });
    }

    /// Calls `callable` with a `const notice&` when the lease gets a notice of its revocation (again if that comes to
    /// end earlier), and when it is over for whatever reason; then never again.
    ///
    /// The calls come from a thread of the library's own, one after the other, while no lock is held: they may use the
    /// manager, but others wait while one runs. The callable is destroyed after its last call, or when the table is
    /// closed; then none runs any more, so what it refers to must live until one of the two. One that owns a manager,
    /// lease or ticket of the table keeps the table open. An exception that leaves it has nowhere to go:
    /// std::terminate().
    template <class Callable>
    result<void> watch(lease_id id, Callable&& callable) const;

    /// A descriptor that becomes readable when watch() would call. It is the caller's, who closes it.
    [[nodiscard]] result<int> watch_fd(lease_id id) const;

    /// Hands a held lease to another process that shares the table, by the number that it has for itself: it ends with
    /// that process, and no longer with this one. Detach it first from what releases it here.
    result<void> hand_to(lease_id id, std::uint32_t process) const;

    /// Makes a held lease one of a tree of processes: it is held as long as any process has this descriptor open, which
    /// those that this process starts from now on inherit. It is the caller's, who closes it to leave the lease to
    /// them.
    [[nodiscard]] result<int> keep_for_children(lease_id id) const;

    /// Where the table is that processes share, and whether all is well; status::unsupported if they do not.
    result<host_info> host() const;

    /// Every process that shares the table, this one included; status::unsupported if none can.
    result<std::vector<process_info>> processes() const;

    /// The leases a holder holds, oldest first.
    result<std::vector<lease_id>> held_by(std::string_view holder) const
    {
        return detail::list<lease_id>(tern_lease_t{0}, [&](auto... out) {
            return tern_manager_held_by(capi(), holder.data(), holder.size(), out...);
        });
    }

    /// All held leases, oldest first.
    result<std::vector<lease_info>> leases() const
    {
        return detail::list<lease_info>(tern_lease_info_init(),
                                        [&](auto... out) { return tern_manager_leases(capi(), out...); });
    }

    /// All waiting claims, in order.
    result<std::vector<ticket_info>> tickets() const
    {
        return detail::list<ticket_info>(tern_ticket_info_init(),
                                         [&](auto... out) { return tern_manager_tickets(capi(), out...); });
    }

    /// Withdraws a claim, from whatever thread: whoever waits for it is told status::refused, with reason::cancelled.
    result<void> cancel(ticket_id id) const
    {
        return detail::attempt([&](auto... out) { return tern_ticket_cancel(capi(), number(id), out...); });
    }

    /// Makes a resource with so many slots and so much memory, or changes the size of one that is not in use.
    result<resource_id> declare(std::string_view resource, std::uint32_t slots, std::uint32_t memory_mib = 0) const
    {
        return detail::ask<resource_id, tern_resource_t>([&](auto... out) {
            return tern_resource_declare(capi(), resource.data(), resource.size(), slots, memory_mib, out...);
        });
    }

    /// Says how a declared resource is.
    result<void> set_health(std::string_view resource, health now) const
    {
        return detail::attempt([&](auto... out) {
            return tern_resource_set_health(capi(), resource.data(), resource.size(), static_cast<tern_trit_t>(now),
                                            out...);
        });
    }

    /// What there is of a resource, and what is taken.
    result<resource_info> resource(std::string_view name) const
    {
        return detail::look<resource_info>(tern_resource_info_init(), [&](auto... out) {
            return tern_resource_info(capi(), name.data(), name.size(), out...);
        });
    }

    /// All resources that are declared or in use, by name.
    result<std::vector<resource_info>> resources() const
    {
        return detail::list<resource_info>(tern_resource_info_init(),
                                           [&](auto... out) { return tern_manager_resources(capi(), out...); });
    }

    /// The leases on a resource, oldest first: who has what a claim waits for.
    result<std::vector<lease_id>> leases_on(std::string_view resource) const
    {
        return detail::list<lease_id>(tern_lease_t{0}, [&](auto... out) {
            return tern_resource_leases(capi(), resource.data(), resource.size(), out...);
        });
    }

    /// Reads the events after number `cursor`: from the oldest that is remembered, or `from_now`.
    result<tern::events> events(std::uint64_t cursor = 0) const;

    /// All deadlocks there are, each with a proof and the lease whose revocation breaks it at the least cost.
    result<std::vector<deadlock>> find_deadlocks() const;

    /// Declares that a holder cannot go on without a resource, without claiming it. Only deadlock detection looks at
    /// it.
    result<void> want(std::string_view holder, std::string_view resource) const
    {
        return detail::attempt([&](auto... out) {
            return tern_manager_want(capi(), holder.data(), holder.size(), resource.data(), resource.size(), out...);
        });
    }

    /// Takes back what want() declared.
    result<void> unwant(std::string_view holder, std::string_view resource) const
    {
        return detail::attempt([&](auto... out) {
            return tern_manager_unwant(capi(), holder.data(), holder.size(), resource.data(), resource.size(), out...);
        });
    }

    /// By which clock it goes.
    clock_kind clock() const noexcept { return clock_; }

    /// Counts one tick. With a real clock: only brings the table up to date.
    result<void> tick() const
    {
        return detail::attempt([&](auto... out) { return tern_manager_tick(capi(), out...); });
    }

    /// The time by its clock.
    result<moment> now() const { return count_of<moment>(tern_manager_tick_count); }

    /// How many leases are held.
    result<std::uint64_t> active_count() const { return count_of<std::uint64_t>(tern_manager_active_count); }

    /// How many claims wait.
    result<std::uint64_t> pending_claimers() const { return count_of<std::uint64_t>(tern_manager_pending_claimers); }

    /// How many leases were revoked so far; each counts once.
    result<std::uint64_t> revocations() const { return count_of<std::uint64_t>(tern_manager_revocations); }

    /// How many leases ended, or claims were refused, for this reason so far.
    result<std::uint64_t> count(reason why) const
    {
        return detail::ask<std::uint64_t>(
            [&](auto... out) { return tern_manager_count(capi(), static_cast<std::int32_t>(why), out...); });
    }

    /// The counters as text, in the format that Prometheus reads.
    result<std::string> metrics() const;

    /// Is there a table behind it?
    explicit operator bool() const noexcept { return capi() != nullptr; }

    /// For the functions of ternlease.h. It stays this manager's: do not close it.
    tern_manager_t* capi() const noexcept { return table_.get(); }

private:
    friend class pool;

    manager(tern_manager_t* opened, clock_kind clock) : table_(opened, tern_manager_close), clock_(clock) {}

    template <class Answer>
    result<Answer> count_of(tern_status_t (*function)(const tern_manager_t*, std::uint64_t*, tern_error_t*)) const
    {
        return detail::ask<Answer, std::uint64_t>([&](auto... out) { return function(capi(), out...); });
    }

    std::shared_ptr<tern_manager_t> table_;
    clock_kind clock_ = clock_kind::real;
};

inline result<std::string> manager::metrics() const
{
    return detail::text([&](auto... out) { return tern_manager_metrics(capi(), out...); });
}

} // namespace tern

#endif
