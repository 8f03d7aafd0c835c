// What the parts of the driver share: the words of a step, labels, answers, and what is open.
#ifndef DRIVER_HPP
#define DRIVER_HPP

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ternlease.hpp>

/// The step makes no sense, or what it needs is not open.
struct nonsense {};

/// A number of at most so much. "forever" is one if there is no limit.
std::uint64_t to_number(std::string_view text, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A number that may be negative.
std::int32_t to_integer(std::string_view text);

/// The parts of a list.
std::vector<std::string_view> split(std::string_view text);

/// The words of a step that are left.
class words {
public:
    explicit words(std::string_view line) : rest_(line) {}

    /// The next one, if there is one.
    std::optional<std::string_view> maybe();
    /// The next one: there must be one.
    std::string_view next();
    std::uint64_t number() { return to_number(next()); }
    std::uint32_t small() { return static_cast<std::uint32_t>(to_number(next(), UINT32_MAX)); }
    std::int32_t integer() { return to_integer(next()); }
    tern::timeout milliseconds();
    tern::reason reason();

private:
    std::string_view rest_;
};

/// What a word says if it is one of this key: `key=value`.
std::optional<std::string_view> value_of(std::string_view word, std::string_view key);
bool is_small(std::string_view word, std::string_view key, std::uint32_t& number);

/// What is empty is a dash; what has no end is forever.
std::string or_dash(std::string_view text);
std::string told(std::uint64_t number);
template <class Trit>
std::string trit(Trit state)
{
    const int number = static_cast<int>(state);
    return number == TERN_TRIT_UNKNOWN ? "unknown" : number > 0 ? "+1" : number < 0 ? "-1" : "0";
}
/// `OK` and the words, or a dash if there are none.
std::string list(const std::vector<std::string>& told);
/// They, with something between them; a dash if there are none.
std::string joined(const std::vector<std::string>& parts, std::string_view between);
/// The status of an error, and its reason.
std::string told(const tern::error& error);

/// The driver's own names for leases and tickets.
class labels {
public:
    void give(std::string_view name, tern::lease_id lease) { known_[std::string(name)] = {lease, {}}; }
    void give(std::string_view name, tern::ticket_id ticket) { known_[std::string(name)] = {{}, ticket}; }
    /// The claim of this label became this lease.
    void grant(std::string_view name, tern::lease_id lease) { known_[std::string(name)].lease = lease; }
    tern::lease_id lease(std::string_view name) const;
    tern::ticket_id ticket(std::string_view name) const;
    std::string of(tern::lease_id lease) const;
    std::string of(tern::ticket_id ticket) const;

private:
    struct meaning {
        tern::lease_id lease{};
        tern::ticket_id ticket{};
    };

    std::map<std::string, meaning> known_;
};

/// What a watch was told, by a thread of the library's own.
struct inbox {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<tern::notice> notices;
};

/// What a claim wants that every claim may want.
struct wants {
    std::optional<std::uint32_t> count, slots, memory_mib;
    std::int32_t priority = 0;
    std::uint64_t notice = 0;
    std::optional<std::uint64_t> wait;
    tern::lease_id parent{};
    bool spare = false, preemptible = false, preempt = false;

    bool reads(std::string_view word, const labels& labels);

    /// Says all that to a claim.
    template <class Claim>
    void tell(Claim& claim) const
    {
        if (count)
            claim.count(*count);
        if (slots)
            claim.slots(*slots);
        if (memory_mib)
            claim.memory_mib(*memory_mib);
        if (spare)
            claim.spare(tern::span::units(notice));
        if (preemptible)
            claim.preemptible(tern::span::units(notice));
        if (preempt)
            claim.preempt();
        claim.priority(priority).child_of(parent);
    }
};

class driver {
public:
    /// Does a step; its answer.
    std::string run(std::string_view line);

private:
    using verb = std::string (driver::*)(words);

    static const std::map<std::string_view, verb>& verbs();

    const tern::manager& manager() const;
    const tern::pool& pool() const;
    const tern::machine& machine() const;

    std::string version(words), status(words), reason(words);
    // table.cpp
    std::string open(words), close(words), tick(words), declare(words), health(words), resource(words), resources(words),
        counts(words), counted(words), processes(words);
    // leases.cpp
    std::string acquire(words), claim(words), enqueue(words), wait(words), cancel(words), ticket(words), state(words),
        states(words), renew(words), renew_all(words), release(words), revoke(words), find(words), want(words),
        unwant(words);
    // looks.cpp
    std::string info(words), ticket_info(words), on(words), held(words), leases(words), tickets(words), deadlocks(words),
        events(words), watch(words), notice(words);
    // pools.cpp
    std::string open_pool(words), capacity(words), pending(words), try_claim(words), gpu(words), gpu_enqueue(words),
        expected(words), gpu_release(words), devices(words), env(words), device(words), snapshot(words);
    // costs.cpp
    std::string cost(words), nanoseconds(words), learned(words), read_machine(words), route(words), verdict(words);

    /// The lease is the label's from now on: nothing here releases it.
    std::string kept(std::string_view label, tern::result<tern::lease> lease);
    std::string kept(std::string_view label, tern::result<tern::gpu_lease> lease);
    /// The same for a claim that may stand in line.
    std::string kept(std::string_view label, tern::result<tern::ticket> ticket);
    std::vector<tern::lease_id> all_leases(words& step) const;
    std::string names_of(const std::vector<tern::lease_id>& leases) const;
    std::string told(const tern::event& event) const;

    tern::manager manager_;
    tern::pool pool_;
    tern::machine machine_;
    std::optional<tern::events> events_;
    std::map<std::string, std::shared_ptr<inbox>, std::less<>> watches_;
    labels labels_;
};

#endif
