// Pools: devices, and claims for them.
#include "driver.hpp"

#include <utility>

static const std::vector<std::string>& vendors()
{
    static const std::vector<std::string> names = {"any", "nvidia", "amd", "intel", "other"};
    return names;
}

static tern::vendor to_vendor(std::string_view name)
{
    for (std::size_t i = 0; i < vendors().size(); i += 1)
        if (vendors()[i] == name)
            return static_cast<tern::vendor>(i);
    throw nonsense();
}

std::string driver::kept(std::string_view label, tern::result<tern::gpu_lease> lease)
{
    labels_.give(label, lease.value().detach());
    return "OK";
}

std::string driver::open_pool(words step)
{
    tern::pool_options how;
    while (const auto word = step.maybe()) {
        if (const auto devices = value_of(*word, "devices"))
            how.devices = *devices;
        else if (!is_small(*word, "slots", how.slots))
            throw nonsense();
    }
    pool_ = tern::pool();
    pool_ = tern::pool::on(manager(), how).value();
    return "OK";
}

std::string driver::capacity(words) { return "OK " + std::to_string(pool().capacity().value()); }

std::string driver::pending(words) { return "OK " + std::to_string(pool().pending_claimers().value()); }

std::string driver::try_claim(words step)
{
    const auto label = step.next();
    return kept(label, pool().try_claim());
}

/// Says to a claim what is left of a step; how long it waits.
static std::optional<std::uint64_t> tell(tern::gpu_claim& claim, words step, const labels& labels)
{
    wants wants;
    std::uint32_t memory = 0;
    while (const auto word = step.maybe()) {
        if (const auto holder = value_of(*word, "holder"))
            claim.holder(*holder);
        else if (const auto ttl = value_of(*word, "ttl"))
            claim.ttl(tern::span::units(to_number(*ttl)));
        else if (const auto vendor = value_of(*word, "vendor"))
            claim.vendor(to_vendor(*vendor));
        else if (const auto devices = value_of(*word, "devices"))
            for (const auto device : split(*devices))
                claim.of(device);
        else if (is_small(*word, "min-memory", memory))
            claim.min_memory_mib(memory);
        else if (!wants.reads(*word, labels))
            throw nonsense();
    }
    wants.tell(claim);
    return wants.wait;
}

std::string driver::gpu(words step)
{
    const auto label = step.next();
    auto claim = pool().claim();
    const auto wait = tell(claim, step, labels_);
    return kept(label, wait ? claim.wait(tern::span::units(*wait)) : claim.try_now());
}

std::string driver::gpu_enqueue(words step)
{
    const auto label = step.next();
    auto claim = pool().claim();
    const auto wait = tell(claim, step, labels_);
    return kept(label, claim.patience(tern::span::units(wait.value_or(0))).enqueue());
}

std::string driver::expected(words step)
{
    auto claim = pool().claim();
    tell(claim, step, labels_);
    const auto forecast = claim.expected_wait().value();
    switch (forecast.known) {
    case tern::expected_wait::none:
        return "OK none";
    case tern::expected_wait::about:
        return "OK about " + ::told(forecast.wait.count());
    case tern::expected_wait::no_devices:
        return "OK no-devices";
    default:
        return "OK unknown";
    }
}

std::string driver::gpu_release(words step)
{
    pool().adopt(tern::lease(manager(), labels_.lease(step.next()))).release().value();
    return "OK";
}

std::string driver::devices(words step)
{
    auto lease = pool().adopt(tern::lease(manager(), labels_.lease(step.next())));
    const auto devices = lease.devices();
    lease.detach();
    std::vector<std::string> places;
    for (const auto& device : devices.value())
        places.push_back(std::to_string(device.place));
    return list(places);
}

std::string driver::env(words step)
{
    const auto label = step.next();
    const auto option = step.maybe();
    if (option && *option != "uuid")
        throw nonsense();
    auto lease = pool().adopt(tern::lease(manager(), labels_.lease(label)));
    const auto env = option ? lease.env_by_uuid() : lease.env();
    lease.detach();
    std::vector<std::string> lines = env.value().remove;
    for (const auto& [name, value] : env->set)
        lines.push_back(name + '=' + value);
    return list(lines);
}

std::string driver::device(words step)
{
    const auto device = pool().device(to_number(step.next())).value();
    const auto vendor = static_cast<std::size_t>(device.vendor);
    return "OK key=" + device.key + " vendor=" + (vendor < vendors().size() ? vendors()[vendor] : "?") +
           " index=" + std::to_string(device.index) +
           " memory=" + (device.memory_mib ? std::to_string(*device.memory_mib) : "-") + " uuid=" + or_dash(device.uuid) +
           " pci=" + or_dash(device.pci);
}

std::string driver::snapshot(words)
{
    std::vector<std::string> all;
    for (const auto& status : pool().snapshot().value())
        all.push_back(std::to_string(all.size()) + ':' + trit(status.health) + ':' + labels_.of(status.lease));
    return list(all);
}
