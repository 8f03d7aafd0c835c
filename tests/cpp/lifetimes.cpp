// Lifetimes: the table is there for as long as anything needs it, and no longer; a forked child takes nothing
// from its parent.
#include "check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

using check::ticking;
using tern::lease_state;
using tern::ticket_state;
using tern::ticks;

/// A reader does not keep the table open, so it can tell when it is closed.
static bool is_closed(tern::events& events)
{
    while (events.next()) {
    }
    return events.next().status() == tern::status::closed;
}

static void a_lease_keeps_the_table_open()
{
    tern::events events;
    tern::lease lease;
    {
        const auto manager = ticking();
        events = manager.events().value();
        lease = manager.acquire("gpu0", "a", ticks{9}).value();
    }
    CHECK(lease.state() == lease_state::held && !is_closed(events));
    const auto manager = lease.from();
    lease.release().value();
    CHECK(!is_closed(events) && manager.active_count().value() == 0);
}

static void a_ticket_keeps_the_table_open()
{
    tern::events events;
    std::optional<tern::ticket> waiting;
    std::optional<tern::ticket> granted;
    {
        const auto manager = ticking();
        events = manager.events().value();
        granted = manager.claim("a").of("gpu0").enqueue().value();
        waiting = manager.claim("b").of("gpu0").enqueue().value();
    }
    CHECK(!is_closed(events));
    granted.reset();
    CHECK(waiting->state() == ticket_state::granted);
    tern::lease lease = waiting->wait().value();
    waiting.reset();
    CHECK(lease.state() == lease_state::held && !is_closed(events));
    lease = tern::lease();
    CHECK(is_closed(events));
}

static void the_last_one_closes_the_table()
{
    auto first = ticking();
    auto events = first.events().value();
    auto second = first;
    first = tern::manager();
    CHECK(!is_closed(events));
    second = tern::manager();
    CHECK(is_closed(events));
}

static void what_has_come_to_its_end_keeps_nothing()
{
    auto manager = ticking();
    auto events = manager.events().value();
    auto released = manager.acquire("gpu0", "a", ticks{9}).value();
    auto cancelled = manager.claim("a").of("gpu0").enqueue().value();
    auto collected = manager.claim("b").of("gpu0").enqueue().value();
    cancelled.cancel().value();
    released.release().value();
    collected.poll().value().release().value();
    const auto holder = manager.acquire("gpu1", "a", tern::forever).value().detach();
    CHECK(manager.state(holder) == lease_state::held);
    auto refused = manager.claim("b").of("gpu1").patience(ticks{1}).enqueue().value();
    check::pass(manager, 1);
    CHECK_STATUS(refused.wait(), timeout);
    CHECK_STATUS(refused.wait(), null);
    auto detached = manager.acquire("gpu2", "a", ticks{9}).value();
    detached.detach();
    auto moved_from = manager.acquire("gpu0", "a", ticks{9}).value();
    tern::lease(std::move(moved_from)).release().value();
    manager = tern::manager();
    CHECK(is_closed(events));
}

static void a_result_owns_what_it_holds()
{
    const auto manager = ticking();
    {
        const auto result = manager.acquire("gpu0", "a", ticks{9});
        CHECK(result->state() == lease_state::held);
    }
    CHECK(manager.active_count().value() == 0);
    manager.acquire("gpu0", "a", ticks{9}).value().detach();
    CHECK(manager.active_count().value() == 1);
}

static void leases_can_be_kept_in_containers()
{
    const auto manager = ticking();
    std::vector<tern::lease> leases;
    for (const char* gpu : {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"})
        leases.push_back(manager.acquire(gpu, "a", ticks{9}).value());
    CHECK(manager.active_count().value() == 5);
    leases.erase(leases.begin());
    leases.pop_back();
    CHECK(manager.active_count().value() == 3);
    leases.clear();
    CHECK(manager.active_count().value() == 0);
}

static void a_forked_child_takes_nothing()
{
    const auto manager = tern::manager::open("process:").value();
    auto lease = manager.acquire("gpu0", "a", tern::forever).value();
    auto ticket = manager.claim("b").of("gpu0").enqueue().value();
    const pid_t child = fork();
    if (child == 0) {
        bool right = lease.state() == lease_state::unknown && lease.renew().status() == tern::status::forked &&
                     ticket.poll().status() == tern::status::forked &&
                     manager.events().status() == tern::status::forked;
        lease = tern::lease();
        ticket = tern::ticket();
        const auto own = tern::manager::open("process:").value();
        right = right && own.acquire("gpu0", "a", tern::forever).has_value();
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(lease.state() == lease_state::held && ticket.state() == ticket_state::in_line);
}

int main()
{
    return check::run({
        {"a lease keeps the table open", a_lease_keeps_the_table_open},
        {"a ticket keeps the table open", a_ticket_keeps_the_table_open},
        {"the last one closes the table", the_last_one_closes_the_table},
        {"what has come to its end keeps nothing", what_has_come_to_its_end_keeps_nothing},
        {"a result owns what it holds", a_result_owns_what_it_holds},
        {"leases can be kept in containers", leases_can_be_kept_in_containers},
        {"a forked child takes nothing", a_forked_child_takes_nothing},
    });
}
