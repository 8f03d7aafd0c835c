// Claim: asking for several resources, for parts of them, with a wait and a priority.
#ifndef TERNLEASE_CLAIM_HPP
#define TERNLEASE_CLAIM_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../ternlease.h"
#include "enums.hpp"
#include "lease.hpp"
#include "manager.hpp"
#include "result.hpp"
#include "ticket.hpp"
#include "time.hpp"

namespace tern {

namespace detail {

/// A list that needs no allocation while it is short.
template <class Item>
class short_list {
public:
    void push_back(Item item)
    {
        if (size_ < few) {
            few_[size_] = item;
        } else {
            if (size_ == few)
                many_.assign(few_, few_ + few);
            many_.push_back(item);
        }
        size_ += 1;
    }

    const Item* data() const noexcept { return size_ <= few ? few_ : many_.data(); }
    std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::size_t few = 8;

    std::size_t size_ = 0;
    std::vector<Item> many_;
    Item few_[few]; // As many are there as size_ says.
};

} // namespace detail

/// A claim in the making. It asks for nothing until try_now(), wait() or enqueue(), and can be made again and again.
///
///     auto lease = manager.claim("trainer").of({"gpu0", "gpu1", "gpu2"}).count(2).ttl(60s).wait(5s);
///
/// Unless told otherwise: one slot of one of the resources, without end, priority 0. All or nothing: no claim ever
/// holds a part of what it asked for.
///
/// It refers to its manager and to the texts that it was given; these must be there when it is made.
class [[nodiscard]] claim {
public:
    /// Begins a claim. As manager::claim().
    claim(const manager& from, std::string_view holder) noexcept : manager_(from), raw_(tern_claim_init())
    {
        raw_.holder = holder.data();
        raw_.holder_len = holder.size();
        raw_.ttl = TERN_FOREVER;
    }

    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;

    /// Adds a resource that it may be served from, the preferred ones first.
    claim& of(std::string_view resource)
    {
        add(resource);
        return *this;
    }

    /// As above, by the id that manager::declare() gave: spares looking up the name. A claim has either names or ids.
    claim& of(resource_id resource)
    {
        add(resource);
        return *this;
    }

    /// As above, several at once.
    claim& of(std::initializer_list<std::string_view> resources) { return add_all(resources); }
    /// As above.
    claim& of(std::initializer_list<resource_id> resources) { return add_all(resources); }

    /// As above, from any range of texts or ids.
    template <class Range, class = std::enable_if_t<!std::is_convertible_v<const Range&, std::string_view>>>
    claim& of(const Range& resources)
    {
        return add_all(resources);
    }

    /// How many of them it needs.
    claim& count(std::uint32_t count) noexcept
    {
        raw_.count = count;
        return *this;
    }

    /// Slots that it takes of each.
    claim& slots(std::uint32_t slots) noexcept
    {
        raw_.slots = slots;
        return *this;
    }

    /// Memory that it takes of each, in MiB.
    claim& memory_mib(std::uint32_t memory_mib) noexcept
    {
        raw_.memory_mib = memory_mib;
        return *this;
    }

    /// Take each resource whole, alone.
    claim& exclusive() noexcept { return set(TERN_CLAIM_EXCLUSIVE); }

    /// Take each resource together with any number of other shared leases, and nobody else.
    claim& shared() noexcept { return set(TERN_CLAIM_SHARED); }

    /// Take only what nobody else waits for; when somebody does, give it back after this notice.
    claim& spare(span notice) noexcept
    {
        raw_.notice = units(notice);
        return set(TERN_CLAIM_SPARE);
    }

    /// A claim of higher priority that asks to preempt may take the lease after this notice.
    claim& preemptible(span notice) noexcept
    {
        raw_.notice = units(notice);
        return set(TERN_CLAIM_PREEMPTIBLE);
    }

    /// Take preemptible leases of lower priority rather than wait for their end.
    claim& preempt() noexcept { return set(TERN_CLAIM_PREEMPT); }

    /// Higher goes first; from -32768 to 32767.
    claim& priority(std::int32_t priority) noexcept
    {
        raw_.priority = priority;
        return *this;
    }

    /// The lease ends with this one, and never later.
    claim& child_of(lease_id parent) noexcept
    {
        raw_.parent = number(parent);
        return *this;
    }

    /// How long the lease lasts without renewal.
    claim& ttl(span ttl) noexcept
    {
        raw_.ttl = units(ttl);
        return *this;
    }

    /// For how long the claim stays in line once it waits or is enqueued. Without end if not said.
    claim& patience(span patience) noexcept
    {
        patience_ = units(patience);
        return *this;
    }

    /// A lease now, or status::busy. Overtakes nobody who waits.
    result<lease> try_now() { return make(0); }

    /// A lease, or status::timeout when the claim's patience is over. Blocks the thread.
    result<lease> wait() { return make(patience_); }

    /// As above, with this patience.
    result<lease> wait(span patience) { return this->patience(patience).wait(); }

    /// Takes a place in line and returns at once. The ticket may be granted already.
    result<ticket> enqueue()
    {
        if (wrong_clock_)
            return detail::wrong_clock();
        error failed = error::blank();
        tern_lease_t lease_number = 0;
        tern_ticket_t ticket_number = 0;
        switch (tern_manager_enqueue(manager_.capi(), ready(patience_), &lease_number, &ticket_number, failed.capi())) {
        case TERN_OK:
            return ticket(lease(manager_, lease_id{lease_number}));
        case TERN_WAITING:
            return ticket(manager_, ticket_id{ticket_number});
        default:
            return failed;
        }
    }

    /// For tern_manager_claim() and tern_manager_enqueue(). Refers to this object.
    const tern_claim_t* capi() noexcept { return ready(patience_); }

private:
    result<lease> make(std::uint64_t patience)
    {
        if (wrong_clock_)
            return detail::wrong_clock();
        error failed = error::blank();
        tern_lease_t id = 0;
        if (tern_manager_claim(manager_.capi(), ready(patience), &id, failed.capi()) != TERN_OK)
            return failed;
        return lease(manager_, lease_id{id});
    }

    const tern_claim_t* ready(std::uint64_t patience) noexcept
    {
        raw_.resources = names_.data();
        raw_.resource_count = names_.size();
        raw_.resource_ids = numbers_.data();
        raw_.resource_id_count = numbers_.size();
        raw_.wait = patience;
        return &raw_;
    }

    template <class Range>
    claim& add_all(const Range& resources)
    {
        for (const auto& resource : resources)
            add(resource);
        return *this;
    }

    void add(std::string_view name) { names_.push_back({name.data(), name.size()}); }
    void add(resource_id id) { numbers_.push_back(number(id)); }

    claim& set(std::uint64_t flag) noexcept
    {
        raw_.flags |= flag;
        return *this;
    }

    std::uint64_t units(span time) noexcept
    {
        wrong_clock_ = wrong_clock_ || !time.fits(manager_.clock());
        return time.count();
    }

    const manager& manager_;
    tern_claim_t raw_;
    std::uint64_t patience_ = TERN_FOREVER;
    bool wrong_clock_ = false;
    detail::short_list<tern_text_t> names_;
    detail::short_list<tern_resource_t> numbers_;
};

inline claim manager::claim(std::string_view holder) const& { return tern::claim(*this, holder); }

} // namespace tern

#endif
