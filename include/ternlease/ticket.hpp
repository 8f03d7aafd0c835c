// Ticket: a claim in line.
#ifndef TERNLEASE_TICKET_HPP
#define TERNLEASE_TICKET_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/eventfd.h>
#include <unistd.h>
#endif

#include "../ternlease.h"
#include "enums.hpp"
#include "info.hpp"
#include "lease.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "time.hpp"

namespace tern {

/// A claim in line. When this object is gone the claim is withdrawn, and what it was granted is given back; until then
/// its table stays open. A ticket that has come to its end, by whichever answer, is empty.
///
///     auto ticket = manager.claim("trainer").of({"gpu0"}).ttl(60s).enqueue().value();
///     add_to_event_loop(ticket.fd().value());
///     // and once it is readable:
///     if (auto lease = ticket.poll())
///         train(std::move(*lease));
///
/// One thread at a time may use a ticket. To withdraw a claim that another thread waits for, use manager::cancel().
class [[nodiscard]] ticket {
public:
    /// None.
    ticket() noexcept = default;

    /// Takes over a waiting claim, such as one that was detached.
    ticket(manager from, ticket_id id) noexcept : manager_(std::move(from)), id_(id) {}

    /// One that was granted without standing in line.
    explicit ticket(lease granted) noexcept : granted_(std::move(granted)) {}

    ticket(ticket&& other) noexcept
        : manager_(std::move(other.manager_)), id_(std::exchange(other.id_, ticket_id::none)),
          granted_(std::move(other.granted_)), fd_(std::exchange(other.fd_, -1))
    {
    }

    ticket& operator=(ticket&& other) noexcept
    {
        ticket taken(std::move(other));
        std::swap(manager_, taken.manager_);
        std::swap(id_, taken.id_);
        std::swap(granted_, taken.granted_);
        std::swap(fd_, taken.fd_);
        return *this;
    }

    /// Withdraws the claim.
    ~ticket()
    {
        if (id_ != ticket_id::none)
            tern_ticket_cancel(manager_.capi(), number(id_), nullptr);
#if defined(__linux__)
        if (fd_ != -1)
            ::close(fd_);
#endif
    }

    /// Its id; none if it was granted without standing in line.
    ticket_id id() const noexcept { return id_; }

    /// Has it not come to its end?
    explicit operator bool() const noexcept { return id_ != ticket_id::none || granted_; }

    /// What it is. Takes no lock, and is not its end: wait() or poll() for the lease.
    ticket_state state() const noexcept
    {
        if (granted_)
            return ticket_state::granted;
        return static_cast<ticket_state>(tern_ticket_state(manager_.capi(), number(id_), nullptr));
    }

    /// Blocks the thread until the claim is decided, for so long at most. A lease, or: status::waiting if it is still
    /// in line; and, as the end of the ticket, status::timeout if the claim's own patience is over, or status::refused
    /// for another reason.
    result<lease> wait(timeout limit = forever)
    {
        if (granted_)
            return std::move(granted_);
        error failed = error::blank();
        tern_lease_t id = 0;
        switch (tern_ticket_wait(manager_.capi(), number(id_), limit.micros(), &id, failed.capi())) {
        case TERN_OK:
            id_ = ticket_id::none;
            return lease(std::move(manager_), lease_id{id});
        case TERN_TIMEOUT:
        case TERN_REFUSED:
            id_ = ticket_id::none;
            manager_ = manager();
            return failed;
        default:
            return failed;
        }
    }

    /// As wait(), without blocking.
    result<lease> poll() { return wait(std::chrono::microseconds(0)); }

    /// A descriptor that becomes readable once the claim is decided, for an event loop. It belongs to this ticket.
    result<int> fd()
    {
        if (fd_ == -1) {
            auto opened = open_fd();
            if (!opened)
                return opened;
            fd_ = *opened;
        }
        return fd_;
    }

    /// Its place in line, from 1; none once it is decided.
    std::optional<std::uint32_t> place() const
    {
        tern_ticket_info_t raw = tern_ticket_info_init();
        if (tern_ticket_info(manager_.capi(), number(id_), &raw, nullptr) != TERN_OK)
            return std::nullopt;
        return raw.place;
    }

    /// Everything about it while it waits; status::empty once it is decided.
    result<ticket_info> info() const
    {
        return detail::look<ticket_info>(tern_ticket_info_init(), [&](auto... out) {
            return tern_ticket_info(manager_.capi(), number(id_), out...);
        });
    }

    /// The resources that it may be served from, while it waits.
    result<std::vector<std::string>> resources() const
    {
        return detail::list<std::string>(
            tern_name_init(), [&](auto... out) { return tern_ticket_resources(manager_.capi(), number(id_), out...); });
    }

    /// Withdraws the claim now. Afterwards this object is empty, whatever the answer.
    result<void> cancel()
    {
        if (granted_)
            return granted_.release();
        const manager from = std::exchange(manager_, manager());
        return from.cancel(std::exchange(id_, ticket_id::none));
    }

    /// Gives up the ownership, not the place in line; its id, none if it was granted without standing in line: then the
    /// lease is given back. Afterwards this object is empty.
    ticket_id detach() noexcept
    {
        const lease given_back(std::move(granted_));
        manager_ = manager();
        return std::exchange(id_, ticket_id::none);
    }

    /// For the functions of ternlease.h; 0 if it was granted without standing in line.
    tern_ticket_t capi() const noexcept { return number(id_); }

private:
    result<int> open_fd() const
    {
#if defined(__linux__)
        if (granted_) {
            // The library has no ticket to watch, and there is nothing to wait for: readable from the beginning.
            const int ready = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
            if (ready == -1)
                return error(status::system, "no descriptor could be opened", errno);
            return ready;
        }
#endif
        return detail::ask<int>([&](auto... out) { return tern_ticket_fd(manager_.capi(), number(id_), out...); });
    }

    manager manager_;
    ticket_id id_ = ticket_id::none;
    lease granted_;
    int fd_ = -1;
};

} // namespace tern

#endif
