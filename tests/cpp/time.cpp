// Times: durations and ticks are told apart, rounded up, and never overflow.
#include "check.hpp"

#include <chrono>
#include <limits>
#include <ratio>
#include <type_traits>

using tern::clock_kind;
using tern::moment;
using tern::span;
using tern::ticks;
using tern::timeout;
using namespace std::chrono_literals;

// A thread cannot be blocked for a number of ticks, and a bare number is neither.
static_assert(!std::is_constructible_v<timeout, ticks>);
static_assert(!std::is_constructible_v<span, int> && !std::is_constructible_v<timeout, int>);
static_assert(span(30s).count() == 30'000'000, "costs nothing at run time");

static void durations_are_microseconds_rounded_up()
{
    CHECK(span(1h).count() == 3'600'000'000);
    CHECK(span(1us).count() == 1);
    CHECK(span(1ns).count() == 1);
    CHECK(span(1001ns).count() == 2);
    CHECK(span(std::chrono::duration<double>(1.5)).count() == 1'500'000);
    CHECK(span(std::chrono::duration<float, std::nano>(1)).count() == 1);
    CHECK(timeout(2ms).micros() == 2000);
}

static void no_time_is_negative()
{
    CHECK(span(-1s).count() == 0);
    CHECK(timeout(-1ns).micros() == 0);
    CHECK(span(std::chrono::duration<double>(-0.5)).count() == 0);
    CHECK(span(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())).count() == 0);
}

static void what_is_too_long_stays_too_long()
{
    const auto manager = tern::manager::open("process:").value();
    const auto refused = [&manager](span ttl) {
        return manager.acquire("gpu0", "a", ttl).status() == tern::status::time_too_large;
    };
    CHECK(refused(std::chrono::hours::max()));
    CHECK(refused(std::chrono::seconds::max()));
    CHECK(refused(std::chrono::microseconds::max()));
    CHECK(refused(std::chrono::nanoseconds::max()));
    CHECK(refused(std::chrono::duration<int, std::ratio<31'556'952>>::max()));
    CHECK(refused(std::chrono::duration<double>(std::numeric_limits<double>::infinity())));
    CHECK(refused(std::chrono::duration<unsigned long long>::max()));
    CHECK(!refused(tern::forever));
    CHECK(!refused(std::chrono::hours(24 * 365)));
}

static void a_time_by_the_wrong_clock_is_refused()
{
    CHECK(span(1s).fits(clock_kind::real) && !span(1s).fits(clock_kind::ticks));
    CHECK(!span(ticks{1}).fits(clock_kind::real) && span(ticks{1}).fits(clock_kind::ticks));
    for (const auto clock : {clock_kind::real, clock_kind::ticks})
        CHECK(span().fits(clock) && span(tern::forever).fits(clock) && span::units(7).fits(clock));

    const auto real = tern::manager::open("process:").value();
    const auto ticking = check::ticking();
    CHECK(real.clock() == clock_kind::real && ticking.clock() == clock_kind::ticks);
    CHECK_STATUS(real.acquire("gpu0", "a", ticks{5}), bad_value);
    CHECK_STATUS(ticking.acquire("gpu0", "a", 5s), bad_value);

    const auto lease = ticking.acquire("gpu0", "a", ticks{5}).value();
    CHECK_STATUS(lease.renew_for(5s), bad_value);
    CHECK_STATUS(ticking.revoke(lease.id(), tern::reason::quota, "", 5s), bad_value);
    CHECK_STATUS(ticking.claim("b").of({"gpu1"}).ttl(5s).try_now(), bad_value);
    CHECK_STATUS(ticking.claim("b").of({"gpu1"}).wait(5s), bad_value);
    CHECK_STATUS(ticking.claim("b").of({"gpu1"}).patience(5s).enqueue(), bad_value);
    CHECK_STATUS(ticking.claim("b").of({"gpu1"}).spare(5s).try_now(), bad_value);
    CHECK_STATUS(ticking.claim("b").of({"gpu1"}).preemptible(5s).try_now(), bad_value);
    CHECK(lease.state() == tern::lease_state::held && ticking.active_count().value() == 1);
}

static void moments_can_be_compared_and_subtracted()
{
    const moment early(3);
    const moment late(8);
    CHECK(early < late && early <= late && late > early && late >= early && early != late && early == moment(3));
    CHECK((late - early).count() == 5);
    CHECK((early - late).count() == 0);
    CHECK((moment(TERN_FOREVER) - late).is_forever());
    CHECK(moment(TERN_FOREVER).is_forever() && !late.is_forever());
}

static void what_a_manager_returns_can_be_given_back()
{
    const auto manager = tern::manager::open("process:").value();
    const auto lease = manager.acquire("gpu0", "a", 1h).value();
    const auto ttl = lease.info()->ttl;
    CHECK(ttl.micros() == 1h);
    CHECK(manager.acquire("gpu1", "a", ttl).has_value());
    CHECK((lease.info()->end - lease.info()->granted_at).micros() == 1h);
    CHECK(span(tern::forever).micros() == std::chrono::microseconds::max());
}

static void predictions_are_nanoseconds()
{
    using tern::nanos;
    CHECK(nanos().count() == 0 && nanos(5ms).count() == 5000000 && nanos(7ns).count() == 7 && nanos(-1s).count() == 0);
    CHECK(nanos(std::chrono::duration<std::int64_t, std::pico>(1500)).count() == 2); // Rounded up.
    CHECK(nanos(std::chrono::duration<double>(0.5)).count() == 500000000);
    // What is too long to be said never ends; what can be said is exact.
    CHECK(nanos(tern::forever).is_forever() && nanos(std::chrono::hours::max()).is_forever());
    CHECK(nanos(std::chrono::duration<double>(1e30)).is_forever() && nanos(TERN_NEVER) == tern::forever);
    CHECK(nanos(std::chrono::nanoseconds::max()).count() == INT64_MAX && nanos(TERN_NEVER - 1).count() == TERN_NEVER - 1);
    CHECK(nanos(3us).duration() == 3us && nanos(TERN_NEVER - 1).duration() == std::chrono::nanoseconds::max());
    CHECK(nanos(1us) < nanos(2us) && nanos(2us) <= nanos(2us) && nanos(3us) > nanos(2us) && nanos(3us) >= nanos(3us));
    CHECK(nanos(1us) == nanos(1000ns) && nanos(1us) != nanos(1001ns) && nanos(1h) < nanos(tern::forever));
}

int main()
{
    return check::run({
        {"durations are microseconds, rounded up", durations_are_microseconds_rounded_up},
        {"no time is negative", no_time_is_negative},
        {"what is too long stays too long", what_is_too_long_stays_too_long},
        {"a time by the wrong clock is refused", a_time_by_the_wrong_clock_is_refused},
        {"moments can be compared and subtracted", moments_can_be_compared_and_subtracted},
        {"what a manager returns can be given back", what_a_manager_returns_can_be_given_back},
        {"predictions are nanoseconds", predictions_are_nanoseconds},
    });
}
