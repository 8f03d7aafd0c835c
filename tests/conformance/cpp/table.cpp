// Managers: opening and closing, time, resources, counters.
#include "driver.hpp"

std::string driver::open(words step)
{
    const auto url = step.next();
    tern::options how;
    while (const auto word = step.maybe()) {
        if (*word == "ticks")
            how.clock = tern::clock_kind::ticks;
        else if (*word == "open-house")
            how.open_house = true;
        else if (*word == "break-deadlocks")
            how.break_deadlocks = true;
        else if (!is_small(*word, "leases", how.leases) && !is_small(*word, "tickets", how.tickets) &&
                 !is_small(*word, "resources", how.resources) && !is_small(*word, "history", how.history))
            throw nonsense();
    }
    close(words(""));
    manager_ = tern::manager::open(url, how).value();
    return "OK";
}

std::string driver::close(words)
{
    pool_ = tern::pool();
    events_.reset();
    manager_ = tern::manager();
    watches_.clear();
    return "OK";
}

std::string driver::tick(words step)
{
    const auto times = step.maybe();
    for (auto left = times ? to_number(*times, UINT32_MAX) : 1; left > 0; left -= 1)
        manager().tick().value();
    return "OK " + ::told(manager().now().value().count());
}

std::string driver::declare(words step)
{
    const auto name = step.next();
    const auto slots = step.small();
    manager().declare(name, slots, step.small()).value();
    return "OK";
}

std::string driver::health(words step)
{
    const auto name = step.next();
    const auto how = step.next();
    if (how != "+1" && how != "0" && how != "-1")
        throw nonsense();
    const auto health = how == "+1" ? tern::health::healthy : how == "0" ? tern::health::draining : tern::health::failed;
    manager().set_health(name, health).value();
    return "OK";
}

std::string driver::resource(words step)
{
    const auto info = manager().resource(step.next()).value();
    return "OK slots=" + std::to_string(info.used_slots) + '/' + std::to_string(info.slots) +
           " memory=" + std::to_string(info.used_memory_mib) + '/' + std::to_string(info.memory_mib) +
           " shared=" + std::to_string(info.shared) + " health=" + trit(info.health) +
           " declared=" + (info.declared ? "yes" : "no");
}

std::string driver::resources(words)
{
    std::vector<std::string> names;
    for (const auto& info : manager().resources().value())
        names.push_back(info.name);
    return list(names);
}

std::string driver::counts(words)
{
    return "OK active=" + std::to_string(manager().active_count().value()) +
           " pending=" + std::to_string(manager().pending_claimers().value()) +
           " revocations=" + std::to_string(manager().revocations().value());
}

std::string driver::counted(words step) { return "OK " + std::to_string(manager().count(step.reason()).value()); }

std::string driver::processes(words) { return "OK " + std::to_string(manager().processes().value().size()); }
