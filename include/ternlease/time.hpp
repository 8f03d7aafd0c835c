// Lengths and points of time: std::chrono for managers that go by real time, ticks for those that count them.
#ifndef TERNLEASE_TIME_HPP
#define TERNLEASE_TIME_HPP

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include "../ternlease.h"

namespace tern {

/// By which clock a manager goes.
enum class clock_kind : std::uint8_t {
    real,  ///< Microseconds since the machine started; goes on while it sleeps.
    ticks, ///< Calls of manager::tick().
};

/// So many ticks: `tern::ticks{5}`.
struct ticks {
    /// How many.
    std::uint64_t count;
};

/// The type of tern::forever.
struct forever_t {};

/// Without end, by any clock.
inline constexpr forever_t forever{};

namespace detail {

/// Whole units of so long, rounded up so that a short time is not none; none if negative. What is too long to be counted
/// is `too_long`.
template <class Unit, class Rep, class Period>
constexpr std::uint64_t to_whole(std::chrono::duration<Rep, Period> time, std::uint64_t too_long) noexcept
{
    using unit = std::chrono::duration<std::int64_t, Unit>;
    constexpr std::int64_t most = std::int64_t{1} << 62;
    if (!(time > time.zero()))
        return 0;
    if constexpr (std::is_floating_point_v<Rep>) {
        if (std::chrono::duration<Rep, Unit>(time).count() >= static_cast<Rep>(most))
            return too_long;
    } else if constexpr (std::ratio_greater_v<Period, Unit>) {
        using longest = std::chrono::duration<std::int64_t, Period>;
        if (time >= std::chrono::duration_cast<longest>(unit(most)))
            return too_long;
    }
    return static_cast<std::uint64_t>(std::chrono::ceil<unit>(time).count());
}

/// What is too long for the library stays too long.
template <class Rep, class Period>
constexpr std::uint64_t to_micros(std::chrono::duration<Rep, Period> time) noexcept
{
    return to_whole<std::micro>(time, std::uint64_t{1} << 62);
}

/// What is too long never ends.
template <class Rep, class Period>
constexpr std::uint64_t to_nanos(std::chrono::duration<Rep, Period> time) noexcept
{
    return to_whole<std::nano>(time, TERN_NEVER);
}

constexpr std::chrono::microseconds to_chrono(std::uint64_t micros) noexcept
{
    constexpr auto most = static_cast<std::uint64_t>(std::chrono::microseconds::max().count());
    return std::chrono::microseconds(static_cast<std::int64_t>(micros < most ? micros : most));
}

} // namespace detail

/// A length of time by a manager's clock: a std::chrono duration, tern::ticks or tern::forever.
///
/// A time by the other clock than the manager's is refused with status::bad_value. What a manager itself returns fits
/// it.
class span {
public:
    /// None, by any clock.
    constexpr span() noexcept = default;

    /// So much real time.
    template <class Rep, class Period>
    constexpr span(std::chrono::duration<Rep, Period> time) noexcept : units_(detail::to_micros(time)), of_(of::real)
    {
    }

    /// So many ticks.
    constexpr span(ticks time) noexcept : units_(time.count), of_(of::ticks) {}

    /// Without end.
    constexpr span(forever_t) noexcept : units_(TERN_FOREVER) {}

    /// So many units of a manager's own clock, as the functions of ternlease.h give and take them.
    static constexpr span units(std::uint64_t count) noexcept
    {
        span made;
        made.units_ = count;
        return made;
    }

    /// How many microseconds or ticks; TERN_FOREVER if without end.
    constexpr std::uint64_t count() const noexcept { return units_; }

    /// Is it without end?
    constexpr bool is_forever() const noexcept { return units_ == TERN_FOREVER; }

    /// As a duration, if it is real time; the longest one if without end.
    constexpr std::chrono::microseconds micros() const noexcept { return detail::to_chrono(units_); }

    /// Can a manager with this clock measure it?
    constexpr bool fits(clock_kind clock) const noexcept
    {
        return of_ == of::any || (of_ == of::ticks) == (clock == clock_kind::ticks);
    }

private:
    enum class of : std::uint8_t { any, real, ticks };

    std::uint64_t units_ = 0;
    of of_ = of::any;
};

/// A point of time by a manager's clock. manager::now() is one.
class moment {
public:
    /// When the clock began.
    constexpr moment() noexcept = default;

    /// So many microseconds or ticks since then.
    constexpr explicit moment(std::uint64_t count) noexcept : units_(count) {}

    /// How many microseconds or ticks since the clock began; TERN_FOREVER if it never comes.
    constexpr std::uint64_t count() const noexcept { return units_; }

    /// Does it never come?
    constexpr bool is_forever() const noexcept { return units_ == TERN_FOREVER; }

    /// From one to the other; none if it is not later, without end if it never comes.
    friend constexpr span operator-(moment later, moment earlier) noexcept
    {
        if (later.is_forever())
            return forever;
        return span::units(later < earlier ? 0 : later.units_ - earlier.units_);
    }

    friend constexpr bool operator==(moment a, moment b) noexcept { return a.units_ == b.units_; }
    friend constexpr bool operator!=(moment a, moment b) noexcept { return a.units_ != b.units_; }
    friend constexpr bool operator<(moment a, moment b) noexcept { return a.units_ < b.units_; }
    friend constexpr bool operator<=(moment a, moment b) noexcept { return a.units_ <= b.units_; }
    friend constexpr bool operator>(moment a, moment b) noexcept { return a.units_ > b.units_; }
    friend constexpr bool operator>=(moment a, moment b) noexcept { return a.units_ >= b.units_; }

private:
    std::uint64_t units_ = 0;
};

/// A length of real time, whatever clock the manager has: a std::chrono duration or tern::forever. Where a thread waits,
/// how long it is willing to be blocked.
class timeout {
public:
    /// None.
    constexpr timeout() noexcept = default;

    /// So long.
    template <class Rep, class Period>
    constexpr timeout(std::chrono::duration<Rep, Period> time) noexcept : micros_(detail::to_micros(time))
    {
    }

    /// As long as it takes.
    constexpr timeout(forever_t) noexcept : micros_(TERN_FOREVER) {}

    /// In microseconds, as the functions of ternlease.h take it.
    constexpr std::uint64_t micros() const noexcept { return micros_; }

private:
    std::uint64_t micros_ = 0;
};

/// A length of time that is predicted or was measured, in whole nanoseconds: a std::chrono duration, or tern::forever for
/// what never ends.
class nanos {
public:
    /// None.
    constexpr nanos() noexcept = default;

    /// So long; none if negative. What is too long to be said never ends.
    template <class Rep, class Period>
    constexpr nanos(std::chrono::duration<Rep, Period> time) noexcept : count_(detail::to_nanos(time))
    {
    }

    /// Without end.
    constexpr nanos(forever_t) noexcept : count_(TERN_NEVER) {}

    /// So many, as the functions of ternlease.h give and take them.
    constexpr explicit nanos(std::uint64_t count) noexcept : count_(count) {}

    /// How many; TERN_NEVER if without end.
    constexpr std::uint64_t count() const noexcept { return count_; }

    /// Is it without end?
    constexpr bool is_forever() const noexcept { return count_ == TERN_NEVER; }

    /// As a duration; the longest one if it is longer.
    constexpr std::chrono::nanoseconds duration() const noexcept
    {
        constexpr auto most = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
        return std::chrono::nanoseconds(static_cast<std::int64_t>(count_ < most ? count_ : most));
    }

    friend constexpr bool operator==(nanos a, nanos b) noexcept { return a.count_ == b.count_; }
    friend constexpr bool operator!=(nanos a, nanos b) noexcept { return a.count_ != b.count_; }
    friend constexpr bool operator<(nanos a, nanos b) noexcept { return a.count_ < b.count_; }
    friend constexpr bool operator<=(nanos a, nanos b) noexcept { return a.count_ <= b.count_; }
    friend constexpr bool operator>(nanos a, nanos b) noexcept { return a.count_ > b.count_; }
    friend constexpr bool operator>=(nanos a, nanos b) noexcept { return a.count_ >= b.count_; }

private:
    std::uint64_t count_ = 0;
};

} // namespace tern

#endif
