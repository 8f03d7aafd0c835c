// Estimates: lengths of time and what follows from them, up to the largest numbers.
#include "check.hpp"

#include <chrono>
#include <cstdint>

using namespace std::chrono_literals;
using tern::cost;
using tern::task;

static const cost endless{UINT64_MAX, 0, 0, 1000};

/// One that can fetch, too.
static tern::machine connected()
{
    const auto machine = check::unmeasured();
    tern::route way;
    way.round_trip = 2ms;
    way.bytes_per_second = 125000000;
    machine.set_route(way).value();
    return machine;
}

static void computing_and_keeping_take_time()
{
    const auto machine = connected();
    const auto dense = task(cost::matmul(1000, 1000, 1000, 8000000)).kind(tern::kind::dense64);
    const auto alone = machine.compute_time(dense).value();
    CHECK(0ns < alone.lo && alone.lo <= alone.mid && alone.mid <= alone.hi && !alone.is_forever());
    CHECK(machine.compute_time(endless)->is_forever());
    const auto writes = machine.rate(tern::rate_of::disk_write)->per_second;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1000}, UINT64_MAX - 1, UINT64_MAX})
        CHECK(machine.store_time(bytes)->mid == tern::time_of(bytes, writes));
    CHECK(machine.fetch_time(125000000)->mid >= 1s);
}

static void there_is_room_or_not()
{
    const auto machine = connected();
    CHECK(machine.can_store(0).value() == tern::room::enough && machine.can_store(UINT64_MAX).value() == tern::room::none);
    CHECK_STATUS(tern::machine().can_store(1), null);
}

static void results_are_kept_for_as_long_as_they_are_worth()
{
    const auto machine = connected();
    const auto cheap = task(cost::copy(1000)).kind(tern::kind::copy);
    CHECK(machine.suggest_ttl(cheap, 60s)->micros() == 6s && machine.suggest_ttl(endless, 60s)->micros() == 60000s);
    CHECK(machine.suggest_ttl(cheap, tern::forever)->is_forever());
    CHECK_STATUS(machine.suggest_ttl(cheap, 0s), zero_ttl);
    // By the real clock, as a claim takes it.
    const auto ttl = machine.suggest_ttl(cheap, 60s).value();
    CHECK(tern::manager::open("process:").value().acquire("gpu0", "a", ttl).has_value());
    CHECK_STATUS(check::ticking().acquire("gpu0", "a", ttl), bad_value);
}

static void a_buffer_has_whole_rows()
{
    const auto machine = connected();
    const auto most = machine.info()->compute_budget / 2;
    const auto bytes = machine.etl_buffer(1000).value();
    CHECK(bytes % 1000 == 0 && bytes <= most && bytes + 1000 > most && machine.etl_buffer(0).value() == most);
    CHECK_STATUS(machine.etl_buffer(UINT64_MAX), empty);
}

static void a_cost_is_made_of_what_something_took()
{
    const auto machine = connected();
    const auto second = machine.normalize(1s, 7, 8).value();
    CHECK(second.flops == machine.rate(tern::rate_of::flop64)->per_second && second.peak_mem == 7 &&
          second.result_bytes == 8);
    CHECK(machine.normalize(tern::forever, 0, 0)->flops == UINT64_MAX && machine.normalize(0s, 0, 0).value() == cost());
}

static void a_cached_result_saves_time_or_costs_some()
{
    using limits = std::chrono::nanoseconds;
    const auto machine = connected();
    const auto cheap = task(cost::copy(1000)).kind(tern::kind::copy);
    const auto saved = machine.compute_time(cheap)->mid.duration() - machine.fetch_time(1000)->mid.duration();
    CHECK(saved < 0ns && machine.cache_value(cheap).value() == saved);
    CHECK(machine.cache_value(endless).value() == limits::max());
    machine.set_route(std::nullopt).value();
    CHECK(machine.cache_value(cheap).value() == limits::min());
}

int main()
{
    return check::run({
        {"computing and keeping take time", computing_and_keeping_take_time},
        {"there is room or not", there_is_room_or_not},
        {"results are kept for as long as they are worth", results_are_kept_for_as_long_as_they_are_worth},
        {"a buffer has whole rows", a_buffer_has_whole_rows},
        {"a cost is made of what something took", a_cost_is_made_of_what_something_took},
        {"a cached result saves time or costs some", a_cached_result_saves_time_or_costs_some},
    });
}
