// The driver in C++: does what lines on its standard input say, and answers each with a line. See ../README.md.
#include "driver.hpp"

#include <iostream>

const std::map<std::string_view, driver::verb>& driver::verbs()
{
    static const std::map<std::string_view, verb> all = {
        {"version", &driver::version},
        {"status", &driver::status},
        {"reason", &driver::reason},
        {"open", &driver::open},
        {"close", &driver::close},
        {"tick", &driver::tick},
        {"declare", &driver::declare},
        {"health", &driver::health},
        {"resource", &driver::resource},
        {"resources", &driver::resources},
        {"counts", &driver::counts},
        {"counted", &driver::counted},
        {"processes", &driver::processes},
        {"acquire", &driver::acquire},
        {"claim", &driver::claim},
        {"enqueue", &driver::enqueue},
        {"wait", &driver::wait},
        {"cancel", &driver::cancel},
        {"ticket", &driver::ticket},
        {"state", &driver::state},
        {"states", &driver::states},
        {"renew", &driver::renew},
        {"renew-all", &driver::renew_all},
        {"release", &driver::release},
        {"revoke", &driver::revoke},
        {"find", &driver::find},
        {"want", &driver::want},
        {"unwant", &driver::unwant},
        {"info", &driver::info},
        {"ticket-info", &driver::ticket_info},
        {"on", &driver::on},
        {"held", &driver::held},
        {"leases", &driver::leases},
        {"tickets", &driver::tickets},
        {"deadlocks", &driver::deadlocks},
        {"events", &driver::events},
        {"watch", &driver::watch},
        {"notice", &driver::notice},
        {"pool", &driver::open_pool},
        {"capacity", &driver::capacity},
        {"pending", &driver::pending},
        {"try", &driver::try_claim},
        {"gpu", &driver::gpu},
        {"gpu-enqueue", &driver::gpu_enqueue},
        {"expected", &driver::expected},
        {"gpu-release", &driver::gpu_release},
        {"devices", &driver::devices},
        {"env", &driver::env},
        {"device", &driver::device},
        {"snapshot", &driver::snapshot},
        {"cost", &driver::cost},
        {"nanoseconds", &driver::nanoseconds},
        {"learned", &driver::learned},
        {"machine", &driver::read_machine},
        {"route", &driver::route},
        {"verdict", &driver::verdict},
    };
    return all;
}

const tern::manager& driver::manager() const
{
    if (!manager_)
        throw nonsense();
    return manager_;
}

const tern::pool& driver::pool() const
{
    if (!pool_)
        throw nonsense();
    return pool_;
}

const tern::machine& driver::machine() const
{
    if (!machine_)
        throw nonsense();
    return machine_;
}

std::string driver::version(words) { return std::string("OK ") + tern::version(); }

std::string driver::status(words step)
{
    const std::string name = tern::name(tern::status{step.integer()});
    return "OK " + (name == "TERN_STATUS_UNKNOWN" ? "-" : name);
}

std::string driver::reason(words step)
{
    static const char* const classes[] = {"",         "CONTENTION", "LIMIT", "CONDUCT",
                                          "RESOURCE", "AUTHORITY",  "ENDED", "REFUSED"};
    const auto reason = tern::reason{step.integer()};
    const auto class_of = tern::class_of(reason);
    if (class_of == tern::reason_class::none)
        return "OK -";
    return std::string("OK ") + tern::name(reason) + ' ' + classes[static_cast<int>(class_of)];
}

std::string driver::run(std::string_view line)
{
    try {
        words step(line);
        const auto found = verbs().find(step.next());
        if (found == verbs().end())
            throw nonsense();
        return (this->*found->second)(step);
    } catch (const tern::exception& failed) {
        return ::told(failed.error());
    } catch (const nonsense&) {
        return "?";
    }
}

int main()
{
    driver driver;
    for (std::string line; std::getline(std::cin, line);)
        std::cout << driver.run(line) << std::endl;
}
