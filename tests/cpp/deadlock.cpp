// Deadlocks: found with a proof, and broken.
#include "check.hpp"

#include <string>
#include <vector>

using check::ticking;
using tern::lease_state;
using tern::ticket_state;

static void is_found_with_a_proof()
{
    const auto manager = ticking();
    CHECK(manager.find_deadlocks()->empty());
    const auto a = manager.claim("a").of("gpu0").try_now().value();
    const auto b = manager.claim("b").of("gpu1").try_now().value();
    const auto a_waits = manager.claim("a").of("gpu1").enqueue().value();
    CHECK(manager.find_deadlocks()->empty());
    const auto b_waits = manager.claim("b").of("gpu0").enqueue().value();
    const auto c_waits = manager.claim("c").of("gpu0").enqueue().value(); // holds nothing, and is stuck too

    const auto found = manager.find_deadlocks().value();
    CHECK(found.size() == 1);
    CHECK((found[0].stuck == std::vector<std::string>{"a", "b", "c"}));
    CHECK(found[0].victim == b.id()); // the younger one
    CHECK(found[0].cycle.size() == 2);
    for (const auto& wait : found[0].cycle) {
        const bool is_a = wait.worker == "a";
        CHECK(is_a || wait.worker == "b");
        CHECK(wait.ticket == (is_a ? a_waits : b_waits).id() && wait.lease == (is_a ? b : a).id());
    }

    manager.revoke(found[0].victim, tern::reason::deadlock_victim, "scheduler").value();
    CHECK(manager.find_deadlocks()->empty());
    CHECK(b.state() == lease_state::revoked && b.info()->revoker == "scheduler");
    CHECK(a_waits.state() == ticket_state::granted);
    CHECK(manager.count(tern::reason::deadlock_victim).value() == 1);
}

static void each_is_told()
{
    const auto manager = ticking();
    std::vector<tern::lease> leases;
    std::vector<tern::ticket> tickets;
    for (const char pair : {'1', '2', '3'}) {
        const std::string left = std::string("left") + pair;
        const std::string right = std::string("right") + pair;
        leases.push_back(manager.claim(left).of(left).try_now().value());
        leases.push_back(manager.claim(right).of(right).try_now().value());
        tickets.push_back(manager.claim(left).of(right).enqueue().value());
        tickets.push_back(manager.claim(right).of(left).enqueue().value());
    }
    std::string stuck;
    for (const auto& deadlock : manager.find_deadlocks().value())
        stuck += deadlock.stuck.at(0) + '-' + deadlock.stuck.at(1) + ' ';
    CHECK(stuck == "left1-right1 left2-right2 left3-right3 ");
}

static void wants_count_too()
{
    const auto manager = ticking();
    const auto buffer = manager.acquire("buffer", "reader", tern::forever).value();
    const auto file = manager.acquire("file", "writer", tern::forever).value();
    manager.want("reader", "file").value();
    manager.want("writer", "buffer").value();
    const auto found = manager.find_deadlocks().value();
    CHECK(found.size() == 1 && found[0].cycle.size() == 2);
    for (const auto& wait : found[0].cycle)
        CHECK(wait.ticket == tern::ticket_id::none);
    manager.unwant("writer", "buffer").value();
    CHECK(manager.find_deadlocks()->empty());
    CHECK_STATUS(manager.unwant("writer", "buffer"), unknown_want);
    CHECK_STATUS(manager.want("", "buffer"), empty_name);
}

static void may_be_broken_as_it_arises()
{
    auto breaking = tern::options::ticks();
    breaking.break_deadlocks = true;
    const auto manager = tern::manager::open("process:", breaking).value();
    const auto a = manager.claim("a").of("gpu0").try_now().value();
    const auto b = manager.claim("b").of("gpu1").try_now().value();
    const auto a_waits = manager.claim("a").of("gpu1").enqueue().value();
    const auto b_waits = manager.claim("b").of("gpu0").enqueue().value();
    CHECK(a.state() == lease_state::held && b.state() == lease_state::revoked);
    CHECK(b.info()->reason == tern::reason::deadlock_victim);
    CHECK(a_waits.state() == ticket_state::granted && b_waits.state() == ticket_state::in_line);
}

int main()
{
    return check::run({
        {"a deadlock is found with a proof", is_found_with_a_proof},
        {"each is told", each_is_told},
        {"wants count too", wants_count_too},
        {"it may be broken as it arises", may_be_broken_as_it_arises},
    });
}
