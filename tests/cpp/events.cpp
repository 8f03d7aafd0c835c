// Events: read in order, waited for by threads and descriptors, beyond the end of the table.
#include "check.hpp"
#include "descriptor.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using check::pass;
using check::ticking;
using tern::event_kind;
using tern::ticks;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<tern::events>);
static_assert(std::is_nothrow_move_constructible_v<tern::events> && std::is_nothrow_move_assignable_v<tern::events>);

static std::vector<event_kind> kinds(tern::events& events)
{
    std::vector<event_kind> seen;
    while (auto event = events.next())
        seen.push_back(event->kind);
    return seen;
}

static void come_in_order_with_all_they_tell()
{
    const auto manager = ticking();
    auto events = manager.events().value();
    CHECK_STATUS(events.next(), empty);
    CHECK_STATUS(events.wait(0s), timeout);

    manager.declare("gpu0", 1).value();
    auto lease = manager.acquire("gpu0", "a", ticks{8}).value();
    const auto granted = events.next().value();
    CHECK(granted.kind == event_kind::granted && granted.lease == lease.id() &&
          granted.ticket == tern::ticket_id::none);
    CHECK(granted.number == 1 && granted.missed == 0 && granted.at == tern::moment(0));

    auto refused = manager.claim("b").of("gpu0").patience(ticks{1}).enqueue().value();
    const auto queued = events.next().value();
    CHECK(queued.kind == event_kind::queued && queued.ticket == refused.id() && queued.number == 2);
    pass(manager, 1);
    const auto left = events.next().value();
    CHECK(left.kind == event_kind::refused && left.ticket == refused.id());
    CHECK(left.reason == tern::reason::wait_timed_out && left.duration.count() == 1);

    pass(manager, 6);
    lease.renew().value();
    const auto late = events.next().value();
    CHECK(late.kind == event_kind::renewed_late && late.until == tern::moment(15) && late.at == tern::moment(7));

    manager.revoke(lease.id(), tern::reason::quota, "ops", ticks{2}).value();
    const auto revoking = events.next().value();
    CHECK(revoking.kind == event_kind::revoking && revoking.reason == tern::reason::quota &&
          revoking.until == tern::moment(9));
    const auto revoked = lease.id();
    lease.release().value();
    const auto ended = events.next().value();
    CHECK(ended.kind == event_kind::ended && ended.reason == tern::reason::quota && ended.duration.count() == 7);
    CHECK(ended.acknowledged && !revoking.acknowledged);
    CHECK(ended.actor.process == static_cast<std::uint32_t>(getpid()));
    CHECK(ended.actor.principal == static_cast<std::uint32_t>(getuid()));
    CHECK(manager.info(revoked).value().acknowledged);

    manager.set_health("gpu0", tern::health::draining).value();
    const auto health = events.next().value();
    CHECK(health.kind == event_kind::health && health.resource == "gpu0" && health.health == tern::health::draining);
    CHECK_STATUS(events.next(), empty);
}

static void readers_have_places_of_their_own()
{
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", ticks{8}).value();
    auto all = manager.events().value();
    auto later = manager.events(tern::from_now).value();
    CHECK_STATUS(later.next(), empty);
    lease.release().value();
    CHECK((kinds(all) == std::vector{event_kind::granted, event_kind::ended}));
    CHECK((kinds(later) == std::vector{event_kind::ended}));
    auto second = manager.events(1).value();
    CHECK((kinds(second) == std::vector{event_kind::ended}));
}

static void who_falls_behind_is_told()
{
    auto few = tern::options::ticks();
    few.history = 8;
    const auto manager = tern::manager::open("process:", few).value();
    auto events = manager.events().value();
    for (int i = 0; i < 99; i += 1)
        manager.acquire("gpu0", "a", ticks{8}).value().release().value();
    const auto oldest = events.next().value();
    CHECK(oldest.missed > 0 && oldest.number == oldest.missed + 1);
}

static void a_thread_waits_for_them()
{
    const auto manager = tern::manager::open("process:").value();
    auto events = manager.events().value();
    std::thread other([manager] { manager.acquire("gpu0", "a", 1h).value().release().value(); });
    events.wait(tern::forever).value();
    CHECK(events.next()->kind == event_kind::granted);
    events.wait(tern::forever).value();
    CHECK(events.next()->kind == event_kind::ended);
    other.join();
}

static void a_descriptor_tells_of_them()
{
    const auto manager = tern::manager::open("process:").value();
    auto events = manager.events().value();
    const int fd = events.fd().value();
    CHECK(events.fd().value() == fd);
    CHECK_STATUS(events.next(), empty);
    CHECK(!is_readable(fd));
    std::thread other([manager] { manager.acquire("gpu0", "a", 1h).value().detach(); });
    pollfd one{fd, POLLIN, 0};
    CHECK(poll(&one, 1, -1) == 1);
    other.join();
    CHECK(events.next()->kind == event_kind::granted);
    CHECK_STATUS(events.next(), empty);
    CHECK(!is_readable(fd) && is_open(fd));
    events = tern::events();
    CHECK(!is_open(fd));
}

static void a_reader_outlives_the_table()
{
    tern::events events;
    {
        const auto manager = ticking();
        events = manager.events().value();
        CHECK(manager.acquire("gpu0", "a", ticks{8}).has_value());
    }
    CHECK((kinds(events) == std::vector{event_kind::granted, event_kind::ended}));
    CHECK_STATUS(events.next(), closed);
    CHECK_STATUS(events.wait(tern::forever), closed);
}

static void the_end_of_the_table_wakes_a_reader()
{
    auto manager = tern::manager::open("process:").value();
    auto events = manager.events().value();
    std::thread other([&events] { CHECK_STATUS(events.wait(tern::forever), closed); });
    manager = tern::manager();
    other.join();
}

static void moves_and_may_be_empty()
{
    const auto manager = ticking();
    auto first = manager.events().value();
    auto* const raw = first.capi();
    auto second = std::move(first);
    CHECK(second.capi() == raw && first.capi() == nullptr);
    CHECK_STATUS(second.next(), empty);
    CHECK_STATUS(first.next(), null);
    CHECK_STATUS(first.wait(0s), null);
    CHECK_STATUS(first.fd(), null);
    CHECK_THROWS(tern::events().next().value(), null);
}

int main()
{
    return check::run({
        {"events come in order with all they tell", come_in_order_with_all_they_tell},
        {"readers have places of their own", readers_have_places_of_their_own},
        {"who falls behind is told", who_falls_behind_is_told},
        {"a thread waits for them", a_thread_waits_for_them},
        {"a descriptor tells of them", a_descriptor_tells_of_them},
        {"a reader outlives the table", a_reader_outlives_the_table},
        {"the end of the table wakes a reader", the_end_of_the_table_wakes_a_reader},
        {"a reader moves and may be empty", moves_and_may_be_empty},
    });
}
