// What the library tells, as plain values.
#ifndef TERNLEASE_INFO_HPP
#define TERNLEASE_INFO_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../ternlease.h"
#include "device.hpp"
#include "enums.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// A process that made a change, as the library knows it and not as the caller claims.
struct actor {
    std::uint32_t principal = 0; ///< Its user: the user id, in a cluster a number of the node and the etcd user.
    std::uint32_t process = 0;   ///< The process id, in a cluster the owner number of its session; 0: none.
};

/// Everything about one lease.
struct lease_info {
    lease_id id{};                            ///< Its id, which is also its fencing token.
    lease_id parent{};                        ///< The lease it hangs on, if any.
    lease_state state = lease_state::unknown; ///< What it is.
    bool revoking = false;                    ///< The holder has been told that it will be revoked at `end`.
    bool spare = false;                       ///< It is spare capacity.
    bool preemptible = false;                 ///< It may be preempted.
    bool shared = false;                      ///< Other shared leases may be beside it.
    std::int32_t priority = 0;                ///< Its own priority.
    std::uint32_t take_count = 0;             ///< How many resources it takes: manager::takes() tells them.
    tern::reason reason = reason::none;       ///< Why it ended, or will end if a notice is running.
    span ttl;                                 ///< How long it lasts without renewal.
    moment granted_at;                        ///< When it was granted.
    moment end;                               ///< While held: its end. Afterwards: when it ended.
    std::string holder;                       ///< Who holds or held it.
    std::string revoker;                      ///< Who revoked it, as the caller that did so claimed.
    actor ended_by;            ///< The process that released or revoked it; none: its owner, or the table by itself.
    bool acknowledged = false; ///< Revoked with notice, and released by its holder before the notice ended.
};

/// What a lease takes of one resource.
struct take {
    std::string resource;         ///< Which one.
    std::uint32_t slots = 0;      ///< Slots of it.
    std::uint32_t memory_mib = 0; ///< Memory of it, in MiB.
};

/// Everything about one waiting claim.
struct ticket_info {
    ticket_id id{};                   ///< Its id.
    std::uint32_t place = 0;          ///< Its place in line, from 1.
    std::uint32_t count = 0;          ///< How many resources it needs.
    std::uint32_t resource_count = 0; ///< Out of how many: ticket::resources() tells them.
    std::int32_t priority = 0;        ///< Its effective priority.
    moment queued_at;                 ///< Since when it waits.
    std::string holder;               ///< Who waits.
};

/// What there is of a resource, and what is taken.
struct resource_info {
    std::string name;                           ///< Its name.
    std::uint32_t slots = 0;                    ///< How many slots it has.
    std::uint32_t memory_mib = 0;               ///< How much memory it has, in MiB.
    std::uint32_t used_slots = 0;               ///< Slots that are taken.
    std::uint32_t used_memory_mib = 0;          ///< Memory that is taken.
    std::uint32_t shared = 0;                   ///< Shared leases on it.
    tern::health health = tern::health::failed; ///< How it is.
    bool declared = false;                      ///< Declared, not just used.
};

/// What became of a revocation.
struct revocation {
    bool at_once = false; ///< The lease is over.
    bool already = false; ///< A notice was running that ends no later: nothing has changed.
    moment at;            ///< From when it is revoked.
};

/// What happened to a lease that is watched.
struct notice {
    lease_id lease{};                         ///< Which one.
    lease_state state = lease_state::unknown; ///< `held`: it will be revoked. Otherwise it is over.
    tern::reason reason = reason::none;       ///< Why.
    moment at;                                ///< When it will be, or was, over.
};

/// One event. What its kind does not speak of is empty.
struct event {
    std::uint64_t number = 0;           ///< Grows by one with each event.
    std::uint64_t missed = 0;           ///< How many events this reader has missed so far, because it fell behind.
    event_kind kind{};                  ///< What happened.
    moment at;                          ///< When it happened.
    lease_id lease{};                   ///< The lease it is about.
    ticket_id ticket{};                 ///< The ticket it is about.
    tern::reason reason = reason::none; ///< Why.
    moment until;                       ///< A time, where the kind says so.
    span duration;                      ///< A length of time, where the kind says so.
    tern::health health = tern::health::failed; ///< event_kind::health: how the resource is now.
    std::string resource;                       ///< event_kind::health: which one.
    std::uint32_t process = 0; ///< event_kind::died, rolled_back: the process, by the number that it had for itself.
    tern::actor actor;         ///< The process whose command did it; none: the table did it by itself.
    bool acknowledged = false; ///< event_kind::ended: revoked with notice, and released before the notice ended.
};

/// A shared table, and how it is.
struct host_info {
    std::string path;                ///< Where its file is.
    std::uint64_t bytes = 0;         ///< How large that is.
    std::uint64_t roll_backs = 0;    ///< Changes that were undone because their author died, so far.
    std::uint64_t deaths = 0;        ///< Processes that were found dead, so far.
    std::uint32_t process_count = 0; ///< How many processes use it: manager::processes() tells them.
    std::uint32_t lock_process = 0;  ///< Who had its lock when this was asked; 0: nobody.
    moment lock_since;               ///< Since when. A process that has it for long does not go on.
    bool corrupt = false;            ///< The table makes no sense any more.
};

/// A process that uses a shared table.
struct process_info {
    std::uint32_t process = 0; ///< Its number, as it sees itself: those in different containers may have the same.
    std::uint32_t owner = 0;   ///< The number under which the table knows it.
    tern::life life{};         ///< How it is.
    moment since;              ///< Since when it uses the table.
    std::uint32_t leases = 0;  ///< How many leases it holds.
    std::uint32_t tickets = 0; ///< How many claims of its wait.
};

/// A deadlock as it was when it was looked for.
///
///     for (const auto& deadlock : manager.find_deadlocks().value())
///         manager.revoke(deadlock.victim, tern::reason::deadlock_victim, "me").value();
struct deadlock {
    /// One step of the proof: a worker waits for a lease, which the worker of the next step holds, and the last waits
    /// for the first.
    struct wait {
        std::string worker; ///< Who waits.
        ticket_id ticket{}; ///< By which claim; none: by a declared want.
        lease_id lease{};   ///< For which lease.
    };

    lease_id victim{};              ///< The lease whose revocation breaks it at the least cost.
    std::vector<std::string> stuck; ///< Everybody who is stuck because of it, by name, sorted.
    std::vector<wait> cycle;        ///< The proof.
};

namespace detail {

inline lease_info to_cpp(const tern_lease_info_t& raw)
{
    const auto has = [&raw](std::uint32_t flag) { return (raw.flags & flag) != 0; };
    lease_info info;
    info.id = lease_id{raw.lease};
    info.parent = lease_id{raw.parent};
    info.state = static_cast<lease_state>(raw.state);
    info.revoking = has(TERN_LEASE_REVOKING);
    info.spare = has(TERN_LEASE_SPARE);
    info.preemptible = has(TERN_LEASE_PREEMPTIBLE);
    info.shared = has(TERN_LEASE_SHARED);
    info.priority = raw.priority;
    info.take_count = raw.take_count;
    info.reason = static_cast<reason>(raw.reason);
    info.ttl = span::units(raw.ttl);
    info.granted_at = moment(raw.granted_at);
    info.end = moment(raw.end);
    info.holder = raw.holder;
    info.revoker = raw.revoker;
    info.ended_by = {raw.ender_principal, raw.ender_process};
    info.acknowledged = has(TERN_LEASE_ACKNOWLEDGED);
    return info;
}

inline take to_cpp(const tern_take_t& raw) { return {raw.resource, raw.slots, raw.memory_mib}; }

inline ticket_info to_cpp(const tern_ticket_info_t& raw)
{
    ticket_info info;
    info.id = ticket_id{raw.ticket};
    info.place = raw.place;
    info.count = raw.count;
    info.resource_count = raw.resource_count;
    info.priority = raw.priority;
    info.queued_at = moment(raw.queued_at);
    info.holder = raw.holder;
    return info;
}

inline resource_info to_cpp(const tern_resource_info_t& raw)
{
    return {raw.name,
            raw.slots,
            raw.memory_mib,
            raw.used_slots,
            raw.used_memory_mib,
            raw.shared,
            static_cast<health>(raw.health),
            raw.declared != 0};
}

inline std::string to_cpp(const tern_name_t& raw) { return raw.text; }

inline lease_id to_cpp(const tern_lease_t& raw) { return lease_id{raw}; }

inline event to_cpp(const tern_event_t& raw)
{
    event event;
    event.number = raw.number;
    event.missed = raw.missed;
    event.kind = static_cast<event_kind>(raw.kind);
    event.at = moment(raw.at);
    event.lease = lease_id{raw.lease};
    event.ticket = ticket_id{raw.ticket};
    event.reason = static_cast<reason>(raw.reason);
    event.until = moment(raw.until);
    event.duration = span::units(raw.duration);
    event.health = static_cast<health>(raw.health);
    event.resource = raw.resource;
    event.process = raw.process;
    event.actor = {raw.actor_principal, raw.actor_process};
    event.acknowledged = (raw.flags & TERN_EVENT_FLAG_ACKNOWLEDGED) != 0;
    return event;
}

inline host_info to_cpp(const tern_host_info_t& raw)
{
    host_info info;
    info.path = raw.path;
    info.bytes = raw.bytes;
    info.roll_backs = raw.roll_backs;
    info.deaths = raw.deaths;
    info.process_count = raw.process_count;
    info.lock_process = raw.lock_process;
    info.lock_since = moment(raw.lock_since);
    info.corrupt = raw.corrupt != 0;
    return info;
}

inline process_info to_cpp(const tern_process_info_t& raw)
{
    return {raw.process, raw.owner,  static_cast<life>(raw.life), moment(raw.since),
            raw.leases,  raw.tickets};
}

inline deadlock::wait to_cpp(const tern_wait_t& raw)
{
    return {raw.worker, ticket_id{raw.ticket}, lease_id{raw.lease}};
}

/// Asks for one thing, with a blank of it to be filled in.
template <class Value, class Raw, class Call>
result<Value> look(Raw raw, Call call)
{
    error failed = error::blank();
    if (call(&raw, failed.capi()) == TERN_OK)
        return to_cpp(raw);
    return failed;
}

/// As above, with a function that makes of it what it is in C++.
template <class Raw, class Value, class Call>
result<Value> look(Raw raw, Value (*convert)(const Raw&), Call call)
{
    error failed = error::blank();
    if (call(&raw, failed.capi()) == TERN_OK)
        return convert(raw);
    return failed;
}

/// Asks for a list, again if it has grown meanwhile.
template <class Raw, class Call>
result<std::vector<Raw>> list_raw(const Raw& blank, Call call)
{
    error failed = error::blank();
    std::vector<Raw> raws;
    for (tern_status_t status = TERN_MORE; status == TERN_MORE;) {
        std::size_t needed = 0;
        status = call(raws.data(), raws.size(), &needed, failed.capi());
        if (status != TERN_OK && status != TERN_MORE)
            return failed;
        raws.resize(needed, blank);
    }
    return raws;
}

/// As above, of what these are in C++.
template <class Value, class Raw, class Call>
result<std::vector<Value>> list(const Raw& blank, Call call)
{
    const auto raws = list_raw(blank, call);
    if (!raws)
        return raws.error();
    std::vector<Value> values;
    values.reserve(raws->size());
    for (const Raw& raw : *raws)
        values.push_back(to_cpp(raw));
    return values;
}

/// Asks for a text, again if it has grown meanwhile.
template <class Call>
result<std::string> text(Call call)
{
    error failed = error::blank();
    std::string told;
    for (tern_status_t status = TERN_MORE; status == TERN_MORE;) {
        std::size_t needed = 0;
        status = call(told.data(), told.size(), &needed, failed.capi());
        if (status != TERN_OK && status != TERN_MORE)
            return failed;
        told.resize(needed);
    }
    told.pop_back(); // the final zero
    return told;
}

} // namespace detail

} // namespace tern

#endif
