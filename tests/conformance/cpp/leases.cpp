// Leases and tickets: asking for them, keeping them, ending them.
#include "driver.hpp"

#include <utility>

std::string driver::kept(std::string_view label, tern::result<tern::lease> lease)
{
    labels_.give(label, lease.value().detach());
    return "OK";
}

std::string driver::kept(std::string_view label, tern::result<tern::ticket> ticket)
{
    if (ticket.value().id() == tern::ticket_id::none)
        return kept(label, ticket->wait());
    labels_.give(label, ticket->detach());
    return "WAITING";
}

std::string driver::acquire(words step)
{
    const auto label = step.next();
    const auto resource = step.next();
    const auto holder = step.next();
    return kept(label, manager().acquire(resource, holder, tern::span::units(step.number())));
}

/// Says to a claim what is left of a step; how long it waits.
static std::optional<std::uint64_t> tell(tern::claim& claim, words step, const labels& labels)
{
    claim.ttl(tern::span::units(step.number()));
    for (const auto resource : split(step.next()))
        claim.of(resource);
    wants wants;
    while (const auto word = step.maybe()) {
        if (*word == "exclusive")
            claim.exclusive();
        else if (*word == "shared")
            claim.shared();
        else if (!wants.reads(*word, labels))
            throw nonsense();
    }
    wants.tell(claim);
    return wants.wait;
}

std::string driver::claim(words step)
{
    const auto label = step.next();
    auto claim = manager().claim(step.next());
    const auto wait = tell(claim, step, labels_);
    return kept(label, wait ? claim.wait(tern::span::units(*wait)) : claim.try_now());
}

std::string driver::enqueue(words step)
{
    const auto label = step.next();
    auto claim = manager().claim(step.next());
    const auto wait = tell(claim, step, labels_);
    return kept(label, claim.patience(tern::span::units(wait.value_or(0))).enqueue());
}

/// What a ticket says that goes on without us.
template <class Ask>
static auto of_ticket(const tern::manager& manager, tern::ticket_id id, Ask ask)
{
    tern::ticket ticket(manager, id);
    auto told = ask(ticket);
    ticket.detach();
    return told;
}

std::string driver::wait(words step)
{
    const auto label = step.next();
    const auto limit = step.milliseconds();
    auto lease = of_ticket(manager(), labels_.ticket(label), [&](auto& ticket) { return ticket.wait(limit); });
    labels_.grant(label, lease.value().detach());
    return "OK";
}

std::string driver::cancel(words step)
{
    manager().cancel(labels_.ticket(step.next())).value();
    return "OK";
}

std::string driver::ticket(words step)
{
    return of_ticket(manager(), labels_.ticket(step.next()), [](auto& ticket) { return trit(ticket.state()); });
}

std::string driver::ticket_info(words step)
{
    const auto id = labels_.ticket(step.next());
    const auto info = of_ticket(manager(), id, [](auto& ticket) { return ticket.info(); }).value();
    const auto resources = of_ticket(manager(), id, [](auto& ticket) { return ticket.resources(); }).value();
    return "OK holder=" + info.holder + " place=" + std::to_string(info.place) +
           " queued=" + ::told(info.queued_at.count()) + " count=" + std::to_string(info.count) +
           " of=" + joined(resources, ",") + " priority=" + std::to_string(info.priority);
}

std::string driver::state(words step) { return trit(manager().state(labels_.lease(step.next()))); }

std::vector<tern::lease_id> driver::all_leases(words& step) const
{
    std::vector<tern::lease_id> leases = {labels_.lease(step.next())};
    while (const auto word = step.maybe())
        leases.push_back(labels_.lease(*word));
    return leases;
}

std::string driver::states(words step)
{
    std::vector<std::string> told;
    for (const auto state : manager().states(all_leases(step)).value())
        told.push_back(trit(state));
    return joined(told, " ");
}

std::string driver::renew(words step)
{
    const auto lease = labels_.lease(step.next());
    const auto ttl = step.maybe();
    const auto end = ttl ? manager().renew_for(lease, tern::span::units(to_number(*ttl))) : manager().renew(lease);
    return "OK " + ::told(end.value().count());
}

std::string driver::renew_all(words step)
{
    return "OK " + std::to_string(manager().renew_all(all_leases(step)).value());
}

std::string driver::release(words step)
{
    manager().release(labels_.lease(step.next())).value();
    return "OK";
}

std::string driver::revoke(words step)
{
    const auto lease = labels_.lease(step.next());
    const auto reason = step.reason();
    std::string_view by;
    std::uint64_t notice = 0;
    while (const auto word = step.maybe()) {
        if (const auto name = value_of(*word, "by"))
            by = *name;
        else if (const auto length = value_of(*word, "notice"))
            notice = to_number(*length);
        else
            throw nonsense();
    }
    const auto revoked = manager().revoke(lease, reason, by, tern::span::units(notice)).value();
    return (revoked.already ? "UNCHANGED " : "OK ") + ::told(revoked.at.count());
}

std::string driver::find(words step)
{
    const auto label = step.next();
    const auto leases = manager().leases_on(step.next()).value();
    if (leases.empty())
        return "EMPTY";
    labels_.give(label, leases.front());
    return "OK";
}

std::string driver::want(words step)
{
    const auto holder = step.next();
    manager().want(holder, step.next()).value();
    return "OK";
}

std::string driver::unwant(words step)
{
    const auto holder = step.next();
    manager().unwant(holder, step.next()).value();
    return "OK";
}
