// Tickets: claims in line that are waited for, polled, watched by descriptor, and withdrawn when they are
// gone.
#include "check.hpp"
#include "descriptor.hpp"

#include <poll.h>

#include <chrono>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using check::pass;
using check::ticking;
using tern::ticket_state;
using tern::ticks;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<tern::ticket> && !std::is_copy_assignable_v<tern::ticket>);
static_assert(std::is_nothrow_move_constructible_v<tern::ticket> && std::is_nothrow_move_assignable_v<tern::ticket>);

static void stands_in_line_until_it_is_served()
{
    const auto manager = ticking();
    auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    auto first = manager.claim("b").of("gpu0").enqueue().value();
    auto second = manager.claim("c").of("gpu0").ttl(ticks{5}).enqueue().value();
    CHECK(first && first.state() == ticket_state::in_line && first.place() == 1U && second.place() == 2U);
    CHECK_STATUS(second.poll(), waiting);
    CHECK_STATUS(second.wait(1us), waiting);
    CHECK(second && second.state() == ticket_state::in_line);

    first = tern::ticket(); // b changed its mind
    CHECK(second.place() == 1U);
    holder.release().value();
    CHECK(second.state() == ticket_state::granted && !second.place());
    const auto lease = second.wait().value();
    CHECK(lease.state() == tern::lease_state::held && lease.info()->holder == "c");
    CHECK(lease.info()->end == tern::moment(5));
    CHECK(!second);
}

static void may_be_granted_at_once()
{
    const auto manager = ticking();
    auto ticket = manager.claim("a").of("gpu0").enqueue().value();
    CHECK(ticket && ticket.state() == ticket_state::granted && !ticket.place());
    CHECK(ticket.id() == tern::ticket_id::none && ticket.capi() == 0);
    CHECK(is_readable(ticket.fd().value()));
    const auto lease = ticket.poll().value();
    CHECK(lease.state() == tern::lease_state::held);
    CHECK(!ticket && ticket.state() == ticket_state::unknown);
}

static void withdraws_when_it_is_gone()
{
    const auto manager = ticking();
    auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    {
        const auto waiting = manager.claim("b").of("gpu0").enqueue().value();
        CHECK(manager.pending_claimers().value() == 1);
    }
    CHECK(manager.pending_claimers().value() == 0);
    {
        const auto granted = manager.claim("b").of("gpu0").enqueue().value();
        holder.release().value();
        CHECK(granted.state() == ticket_state::granted && manager.active_count().value() == 1);
    }
    CHECK(manager.active_count().value() == 0);
    {
        const auto at_once = manager.claim("b").of("gpu0").enqueue().value();
        CHECK(manager.active_count().value() == 1);
    }
    CHECK(manager.active_count().value() == 0);
}

static void cancel_tells_and_empties()
{
    const auto manager = ticking();
    auto at_once = manager.claim("a").of("gpu0").enqueue().value();
    auto waiting = manager.claim("b").of("gpu0").enqueue().value();
    waiting.cancel().value();
    CHECK(!waiting && manager.pending_claimers().value() == 0);
    CHECK_STATUS(waiting.cancel(), null);
    at_once.cancel().value();
    CHECK(!at_once && manager.active_count().value() == 0);
}

static void is_refused_when_its_patience_is_over()
{
    const auto manager = ticking();
    const auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    auto ticket = manager.claim("b").of("gpu0").patience(ticks{2}).enqueue().value();
    pass(manager, 2);
    CHECK(ticket.state() == ticket_state::denied);
    const auto late = ticket.wait();
    CHECK_STATUS(late, timeout);
    CHECK(late.error().reason() == tern::reason::wait_timed_out);
    CHECK(!ticket);
}

static void another_thread_may_withdraw_it()
{
    const auto manager = tern::manager::open("process:").value();
    const auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    auto ticket = manager.claim("b").of("gpu0").enqueue().value();
    std::thread other([manager, id = ticket.id()] { manager.cancel(id).value(); });
    const auto refused = ticket.wait();
    CHECK_STATUS(refused, refused);
    CHECK(refused.error().reason() == tern::reason::cancelled);
    CHECK(!ticket);
    other.join();
    CHECK_STATUS(manager.cancel(tern::ticket_id{12345}), unknown_ticket);
}

static void a_descriptor_tells_when_it_is_decided()
{
    const auto manager = tern::manager::open("process:").value();
    auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    int fd = -1;
    {
        auto ticket = manager.claim("b").of("gpu0").enqueue().value();
        fd = ticket.fd().value();
        CHECK(ticket.fd().value() == fd && !is_readable(fd));
        std::thread other([lease = std::move(holder)]() mutable { lease.release().value(); });
        pollfd one{fd, POLLIN, 0};
        CHECK(poll(&one, 1, -1) == 1);
        const auto lease = ticket.poll().value();
        CHECK(lease.info()->holder == "b");
        other.join();
        CHECK(is_open(fd));
    }
    CHECK(!is_open(fd));
}

static void tells_everything_about_itself()
{
    const auto manager = ticking();
    auto holder = manager.acquire("gpu1", "a", tern::forever).value();
    pass(manager, 3);
    const auto ticket = manager.claim("b").of({"gpu0", "gpu1"}).count(2).priority(4).enqueue().value();
    const auto info = ticket.info().value();
    CHECK(info.id == ticket.id() && info.holder == "b" && info.place == 1 && info.priority == 4);
    CHECK(info.count == 2 && info.resource_count == 2 && info.queued_at == tern::moment(3));
    CHECK((ticket.resources().value() == std::vector<std::string>{"gpu0", "gpu1"}));
    holder.release().value();
    CHECK_STATUS(ticket.info(), empty);
    CHECK_STATUS(ticket.resources(), empty);
}

static void moves_with_its_ownership()
{
    const auto manager = ticking();
    const auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    auto first = manager.claim("b").of("gpu0").enqueue().value();
    auto second = manager.claim("c").of("gpu0").enqueue().value();
    const auto two = second.id();
    const int fd = second.fd().value();

    first = std::move(second);
    CHECK(!second && first.id() == two && first.place() == 1U && first.fd().value() == fd);
    auto& itself = first;
    first = std::move(itself);
    CHECK(first.id() == two && first.state() == ticket_state::in_line && is_open(fd));

    auto third = std::move(first);
    CHECK(!first && third.id() == two && manager.pending_claimers().value() == 1);

    auto granted = manager.claim("d").of("gpu1").enqueue().value();
    auto moved = std::move(granted);
    CHECK(!granted && moved.state() == ticket_state::granted);
    moved = std::move(third);
    CHECK(manager.active_count().value() == 1 && moved.id() == two);
    moved = tern::ticket();
    CHECK(manager.pending_claimers().value() == 0 && !is_open(fd));
}

static void an_empty_one_answers_null()
{
    tern::ticket ticket;
    CHECK(!ticket && ticket.state() == ticket_state::unknown && !ticket.place());
    CHECK_STATUS(ticket.wait(), null);
    CHECK_STATUS(ticket.poll(), null);
    CHECK_STATUS(ticket.fd(), null);
    CHECK_STATUS(ticket.info(), null);
    CHECK_STATUS(ticket.resources(), null);
    CHECK_STATUS(ticket.cancel(), null);
    CHECK_THROWS(ticket.wait().value(), null);
}

static void a_detached_one_stays_in_line()
{
    const auto manager = ticking();
    auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    tern::ticket_id id{};
    {
        auto ticket = manager.claim("b").of("gpu0").enqueue().value();
        id = ticket.detach();
        CHECK(!ticket && ticket.detach() == tern::ticket_id::none);
    }
    CHECK(manager.pending_claimers().value() == 1);
    holder.release().value();
    tern::ticket again(manager, id);
    CHECK(again.poll().value().state() == tern::lease_state::held);

    // One that never stood in line has nothing to leave there.
    auto granted = manager.claim("b").of("gpu1").enqueue().value();
    CHECK(granted.detach() == tern::ticket_id::none && !granted);
    CHECK(manager.leases_on("gpu1")->empty());
}

int main()
{
    return check::run({
        {"a ticket stands in line until it is served", stands_in_line_until_it_is_served},
        {"it may be granted at once", may_be_granted_at_once},
        {"it withdraws when it is gone", withdraws_when_it_is_gone},
        {"cancel() tells and empties", cancel_tells_and_empties},
        {"it is refused when its patience is over", is_refused_when_its_patience_is_over},
        {"another thread may withdraw it", another_thread_may_withdraw_it},
        {"a descriptor tells when it is decided", a_descriptor_tells_when_it_is_decided},
        {"it tells everything about itself", tells_everything_about_itself},
        {"it moves with its ownership", moves_with_its_ownership},
        {"an empty one answers null", an_empty_one_answers_null},
        {"a detached one stays in line", a_detached_one_stays_in_line},
    });
}
