// Verdicts: each answer there can be, with all that it rests on.
#include "check.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using tern::answer;
using tern::cost;
using tern::obstacle;

// What the header says in trits is what an answer is.
static_assert(static_cast<int>(answer::fetch) == TERN_FETCH && static_cast<int>(answer::compute) == TERN_COMPUTE);
static_assert(static_cast<int>(answer::break_even) == TERN_BREAK_EVEN);

static tern::machine connected()
{
    const auto machine = check::unmeasured();
    tern::route way;
    way.round_trip = 2ms;
    way.bytes_per_second = 125000000;
    machine.set_route(way).value();
    return machine;
}

static void what_is_cheap_is_computed()
{
    const auto verdict = connected().verdict(tern::task(cost::copy(1000)).kind(tern::kind::copy)).value();
    CHECK(verdict.answer == answer::compute && verdict.words == "compute" && verdict.decisive && verdict.score < 0ns);
    CHECK(verdict.can_compute && verdict.can_fetch && verdict.can_store && verdict.why_not_compute == obstacle::none);
    CHECK(verdict.score == verdict.t_compute.mid.duration() - verdict.t_fetch.mid.duration());
    CHECK(verdict.bottleneck == tern::bottleneck::memory && verdict.t_store.mid <= verdict.t_fetch.mid);
    CHECK(verdict.bias_permille >= 700 && verdict.bias_permille <= 3000);
}

static void what_is_dear_is_fetched()
{
    const auto machine = connected();
    const auto verdict = machine.verdict(cost{std::uint64_t{1} << 60, 0, 0, 1000}).value();
    CHECK(verdict.answer == answer::fetch && verdict.words == "fetch" && verdict.score > 0ns);
    CHECK(verdict.bottleneck == tern::bottleneck::compute);
    const auto endless = machine.verdict(cost{UINT64_MAX, 0, 0, 1000}).value();
    CHECK(endless.answer == answer::fetch && !endless.can_compute && endless.why_not_compute == obstacle::endless);
    CHECK(endless.t_compute.is_forever() && endless.score == std::chrono::nanoseconds::max());
    const auto too_large = machine.verdict(cost{1, 1, UINT64_MAX, 1000}).value();
    CHECK(too_large.why_not_compute == obstacle::memory && too_large.words.rfind("must fetch (", 0) == 0);
}

static void what_cannot_be_fetched_is_computed_or_neither()
{
    const auto machine = check::unmeasured();
    const auto alone = machine.verdict(cost::copy(1000)).value();
    CHECK(alone.answer == answer::compute && !alone.can_fetch && alone.why_not_fetch == obstacle::network);
    CHECK(alone.words == "must compute (no network)" && alone.score == std::chrono::nanoseconds::min());
    const auto neither = machine.verdict(cost{UINT64_MAX, 0, 0, 0}).value();
    CHECK(neither.answer == answer::impossible && !neither.decisive && neither.score == 0ns);
    CHECK(neither.words.rfind("impossible (", 0) == 0);
}

static void the_same_is_told_as_json()
{
    const auto json = connected().verdict_json(cost::copy(1000)).value();
    CHECK(json.front() == '{' && json.find("compute") != std::string::npos && json.back() != '\0');
    CHECK_STATUS(tern::machine().verdict_json(cost::copy(1000)), null);
}

int main()
{
    return check::run({
        {"what is cheap is computed", what_is_cheap_is_computed},
        {"what is dear is fetched", what_is_dear_is_fetched},
        {"what cannot be fetched is computed, or neither", what_cannot_be_fetched_is_computed_or_neither},
        {"the same is told as JSON", the_same_is_told_as_json},
    });
}
