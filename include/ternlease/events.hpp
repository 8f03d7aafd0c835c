// Events: the history, as it is made.
#ifndef TERNLEASE_EVENTS_HPP
#define TERNLEASE_EVENTS_HPP

#include <cstdint>
#include <memory>

#include "../ternlease.h"
#include "info.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// A reader of events, with a place in the history of its own. It does not keep the table open, and may outlive it.
///
///     auto events = manager.events().value();
///     while (events.wait(tern::forever))
///         while (auto event = events.next())
///             if (event->kind == tern::event_kind::ended)
///                 bill(event->lease, event->duration);
class [[nodiscard]] events {
public:
    /// None.
    events() noexcept = default;

    /// Takes over a reader of tern_events_open().
    explicit events(tern_events_t* reader) noexcept : reader_(reader) {}

    /// The next event; status::empty if there is none now, status::closed if there is none and the table is gone.
    result<event> next()
    {
        return detail::look<event>(tern_event_init(), [&](auto... out) { return tern_events_next(capi(), out...); });
    }

    /// Blocks the thread until there is an event to read, for so long at most: status::timeout. status::closed if there
    /// is none and the table is gone.
    result<void> wait(timeout limit)
    {
        return detail::attempt([&](auto... out) { return tern_events_wait(capi(), limit.micros(), out...); });
    }

    /// A descriptor that is readable while there may be something to read: from an event until next() has said
    /// status::empty. It belongs to this reader: do not close it, nor read from it.
    result<int> fd()
    {
        return detail::ask<int>([&](auto... out) { return tern_events_fd(capi(), out...); });
    }

    /// For the functions of ternlease.h. It stays this reader's: do not close it.
    tern_events_t* capi() const noexcept { return reader_.get(); }

private:
    struct close {
        void operator()(tern_events_t* reader) const noexcept { tern_events_close(reader); }
    };

    std::unique_ptr<tern_events_t, close> reader_;
};

inline result<events> manager::events(std::uint64_t cursor) const
{
    error failed = error::blank();
    tern_events_t* opened = nullptr;
    if (tern_events_open(capi(), cursor, &opened, failed.capi()) != TERN_OK)
        return failed;
    return tern::events(opened);
}

} // namespace tern

#endif
