// What a call returns: a value or an error.
#ifndef TERNLEASE_RESULT_HPP
#define TERNLEASE_RESULT_HPP

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../ternlease.h"
#include "enums.hpp"

namespace tern {

/// Why a call did not succeed. A plain value: it allocates nothing and can be kept.
class error {
public:
    /// One that says so much.
    error(tern::status status, std::string_view message, int os_errno = 0) noexcept : error(blank())
    {
        details_.status = static_cast<std::int32_t>(status);
        details_.os_errno = os_errno;
        details_.message[message.copy(details_.message, sizeof details_.message - 1)] = '\0';
    }

    /// One to be filled in by a function of ternlease.h. Costs less than tern_error_init(), as most errors are never
    /// needed.
    static error blank() noexcept { return error(); }

    /// What became of the call.
    tern::status status() const noexcept { return static_cast<tern::status>(details_.status); }

    /// Why the lease is over or the claim was refused; otherwise reason::none.
    tern::reason reason() const noexcept { return static_cast<tern::reason>(details_.reason); }

    /// What the operating system said; otherwise 0.
    int os_errno() const noexcept { return details_.os_errno; }

    /// What a device's driver said; otherwise 0.
    int driver_code() const noexcept { return details_.driver_code; }

    /// What happened and what to do, for people. Lives as long as this error.
    const char* message() const noexcept { return details_.message; }

    /// For the last argument of the functions of ternlease.h.
    tern_error_t* capi() noexcept { return &details_; }
    /// As above.
    const tern_error_t* capi() const noexcept { return &details_; }

private:
    error() noexcept
    {
        details_.struct_size = sizeof details_;
        details_.status = TERN_OK;
        details_.reason = TERN_REASON_NONE;
        details_.os_errno = 0;
        details_.driver_code = 0;
        details_.message[0] = '\0';
    }

    tern_error_t details_;
};

/// What result::value() throws if there is none.
class exception : public std::runtime_error {
public:
    /// For this error.
    explicit exception(const tern::error& error)
        : std::runtime_error(std::string(name(error.status())) + ": " + error.message()), error_(error)
    {
    }

    /// Why the call did not succeed.
    const tern::error& error() const noexcept { return error_; }

private:
    tern::error error_;
};

namespace detail {

/// A program without exceptions has no other way to hear of an error that it did not look at.
[[noreturn]] inline void raise(const error& error)
{
#if defined(__cpp_exceptions)
    throw exception(error);
#else
    std::fprintf(stderr, "%s: %s\n", name(error.status()), error.message());
    std::abort();
#endif
}

} // namespace detail

/// A value, or why there is none.
///
///     if (auto lease = manager.acquire("gpu0", "trainer", 30s))
///         use(*lease);
///     else if (lease.status() == tern::status::busy)
///         come_back_later();
///
///     auto lease = manager.acquire("gpu0", "trainer", 30s).value(); // or a tern::exception
template <class T>
class [[nodiscard]] result {
public:
    /// A value.
    result(T value) : held_(std::in_place_index<0>, std::move(value)) {}

    /// No value, because of an error.
    result(const tern::error& error) : held_(std::in_place_index<1>, error) {}

    /// Is there a value?
    bool has_value() const noexcept { return held_.index() == 0; }
    /// Is there a value?
    explicit operator bool() const noexcept { return has_value(); }

    /// status::ok, or that of the error.
    tern::status status() const noexcept { return has_value() ? tern::status::ok : error().status(); }

    /// The value. Throws a tern::exception if there is none; without exceptions, prints the error and aborts.
    T& value() & { return *checked(*this); }
    /// As above.
    const T& value() const& { return *checked(*this); }
    /// As above. By value, so that a loop over `manager.leases().value()` is right.
    T value() && { return std::move(*checked(*this)); }

    /// The value, or another one if there is none.
    T value_or(T other) && { return has_value() ? std::move(**this) : std::move(other); }

    /// The value. There must be one.
    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    /// As above.
    const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
    /// As above.
    T operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
    /// As above.
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    /// As above.
    const T* operator->() const noexcept { return std::get_if<0>(&held_); }

    /// Why there is no value. There must be none.
    const tern::error& error() const noexcept { return *std::get_if<1>(&held_); }

private:
    template <class Self>
    static auto checked(Self& self)
    {
        auto* const value = std::get_if<0>(&self.held_);
        if (value == nullptr)
            detail::raise(self.error());
        return value;
    }

    std::variant<T, tern::error> held_;
};

/// Done, or why not.
template <>
class [[nodiscard]] result<void> {
public:
    /// It was done.
    result() noexcept = default;

    /// It was not done, because of an error.
    result(const tern::error& error) noexcept : error_(error) {}

    /// Was it done?
    bool has_value() const noexcept { return !error_; }
    /// Was it done?
    explicit operator bool() const noexcept { return has_value(); }

    /// status::ok, or that of the error.
    tern::status status() const noexcept { return error_ ? error_->status() : tern::status::ok; }

    /// Throws a tern::exception if it was not done; without exceptions, prints the error and aborts.
    void value() const
    {
        if (error_)
            detail::raise(*error_);
    }

    /// Why it was not done. It must not have been.
    const tern::error& error() const noexcept { return *error_; }

private:
    std::optional<tern::error> error_;
};

namespace detail {

/// Makes a call that is given an error to fill in.
template <class Call>
result<void> attempt(Call call)
{
    error failed = error::blank();
    if (call(failed.capi()) == TERN_OK)
        return {};
    return failed;
}

/// As above, for a call that is also given a place for its answer, which becomes an `Answer`.
template <class Answer, class Raw = Answer, class Call>
result<Answer> ask(Call call)
{
    error failed = error::blank();
    Raw raw{};
    if (call(&raw, failed.capi()) == TERN_OK)
        return Answer(raw);
    return failed;
}

/// What every call with a time by the wrong clock is told.
inline error wrong_clock() noexcept
{
    return error(status::bad_value, "the time is by another clock than the manager's: give tern::ticks to a "
                                    "manager that counts ticks, and a std::chrono duration to any other");
}

} // namespace detail

} // namespace tern

#endif
