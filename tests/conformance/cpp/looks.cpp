// Looking: leases, deadlocks, and what happens.
#include "driver.hpp"

#include <chrono>

std::string driver::names_of(const std::vector<tern::lease_id>& leases) const
{
    std::vector<std::string> names;
    for (const auto lease : leases)
        names.push_back(labels_.of(lease));
    return list(names);
}

std::string driver::info(words step)
{
    const auto id = labels_.lease(step.next());
    const auto info = manager().info(id).value();
    std::vector<std::string> flags;
    if (info.revoking)
        flags.push_back("revoking");
    if (info.spare)
        flags.push_back("spare");
    if (info.preemptible)
        flags.push_back("preemptible");
    if (info.shared)
        flags.push_back("shared");
    std::vector<std::string> takes;
    for (const auto& take : manager().takes(id).value())
        takes.push_back(take.resource + ':' + std::to_string(take.slots) + ':' + std::to_string(take.memory_mib));
    return "OK state=" + trit(info.state) + " holder=" + info.holder + " ttl=" + ::told(info.ttl.count()) +
           " granted=" + ::told(info.granted_at.count()) + " end=" + ::told(info.end.count()) +
           " reason=" + tern::name(info.reason) + " priority=" + std::to_string(info.priority) +
           " flags=" + joined(flags, ",") + " parent=" + labels_.of(info.parent) + " by=" + or_dash(info.revoker) +
           " takes=" + joined(takes, ",");
}

std::string driver::on(words step) { return names_of(manager().leases_on(step.next()).value()); }

std::string driver::held(words step) { return names_of(manager().held_by(step.next()).value()); }

std::string driver::leases(words)
{
    std::vector<tern::lease_id> all;
    for (const auto& info : manager().leases().value())
        all.push_back(info.id);
    return names_of(all);
}

std::string driver::tickets(words)
{
    std::vector<std::string> names;
    for (const auto& info : manager().tickets().value())
        names.push_back(labels_.of(info.id));
    return list(names);
}

std::string driver::deadlocks(words)
{
    std::vector<std::string> all;
    for (const auto& deadlock : manager().find_deadlocks().value()) {
        std::vector<std::string> cycle;
        for (const auto& wait : deadlock.cycle)
            cycle.push_back(wait.worker + ':' + labels_.of(wait.ticket) + '>' + labels_.of(wait.lease));
        all.push_back("victim=" + labels_.of(deadlock.victim) + " stuck=" + joined(deadlock.stuck, ",") +
                      " cycle=" + joined(cycle, ","));
    }
    return "OK " + joined(all, " ; ");
}

std::string driver::told(const tern::event& event) const
{
    const std::string lease = labels_.of(event.lease);
    const std::string ticket = labels_.of(event.ticket);
    const std::string reason = tern::name(event.reason);
    switch (event.kind) {
    case tern::event_kind::granted:
        return "granted " + lease + (event.ticket == tern::ticket_id::none ? "" : ' ' + ticket);
    case tern::event_kind::renewed_late:
        return "renewed-late " + lease + ' ' + ::told(event.until.count());
    case tern::event_kind::revoking:
        return "revoking " + lease + ' ' + reason + ' ' + ::told(event.until.count());
    case tern::event_kind::ended:
        return "ended " + lease + ' ' + reason + ' ' + ::told(event.duration.count());
    case tern::event_kind::queued:
        return "queued " + ticket;
    case tern::event_kind::refused:
        return "refused " + ticket + ' ' + reason + ' ' + ::told(event.duration.count());
    case tern::event_kind::health:
        return "health " + event.resource + ' ' + trit(event.health);
    case tern::event_kind::died:
        return "died";
    case tern::event_kind::rolled_back:
        return "rolled-back";
    }
    return "?";
}

std::string driver::events(words)
{
    std::vector<std::string> all;
    if (!events_) {
        events_ = manager().events(tern::from_now).value();
    } else {
        auto event = events_->next();
        for (; event; event = events_->next())
            all.push_back(told(*event));
        if (event.status() != tern::status::empty)
            return ::told(event.error());
    }
    return "OK " + joined(all, "; ");
}

std::string driver::watch(words step)
{
    const auto label = step.next();
    const auto box = std::make_shared<inbox>();
    const auto tell = [box](const tern::notice& notice) {
        const std::lock_guard<std::mutex> locked(box->lock);
        box->notices.push_back(notice);
        box->changed.notify_all();
    };
    manager().watch(labels_.lease(label), tell).value();
    watches_[std::string(label)] = box;
    return "OK";
}

std::string driver::notice(words step)
{
    const auto found = watches_.find(step.next());
    const auto limit = step.milliseconds();
    if (found == watches_.end())
        throw nonsense();
    inbox& box = *found->second;
    std::unique_lock<std::mutex> locked(box.lock);
    const auto any = [&box] { return !box.notices.empty(); };
    if (!box.changed.wait_for(locked, std::chrono::microseconds(limit.micros()), any))
        return "TIMEOUT";
    const auto told = box.notices.front();
    box.notices.pop_front();
    return "OK " + trit(told.state) + ' ' + tern::name(told.reason);
}
