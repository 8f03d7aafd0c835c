// Managers: opened, shared by their copies, asked about everything.
#include "check.hpp"

#include <chrono>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using check::pass;
using check::ticking;
using tern::manager;
using tern::ticks;
using namespace std::chrono_literals;

static_assert(std::is_copy_constructible_v<manager> && std::is_nothrow_move_constructible_v<manager>);

static void opens_what_there_is()
{
    CHECK(manager::open("process:").has_value());
    CHECK_STATUS(manager::open("nowhere:"), bad_url);
    CHECK_STATUS(manager::open("\xff"), bad_text);
    tern::options large;
    large.leases = UINT32_MAX;
    CHECK_STATUS(manager::open("process:", large), bad_value);
}

static void fits_the_library_that_runs()
{
    tern::abi_check().value();
    CHECK(std::string(tern::version()) == std::to_string(TERN_VERSION_MAJOR) + "." +
                                              std::to_string(TERN_VERSION_MINOR) + "." +
                                              std::to_string(TERN_VERSION_PATCH));
}

static void options_reach_the_table()
{
    tern::options small = tern::options::ticks();
    small.leases = 1;
    small.history = 8;
    const auto full = manager::open("process:", small).value();
    const auto only = full.acquire("gpu0", "a", ticks{9}).value();
    CHECK_STATUS(full.acquire("gpu1", "a", ticks{9}), full);

    tern::options open = tern::options::ticks();
    open.open_house = true;
    const auto house = manager::open("process:", open).value();
    const auto a = house.acquire("b", "a", ticks{9}).value();
    const auto b = house.acquire("a", "b", ticks{9}).value();
    const auto c = house.acquire("a", "c", ticks{9}).value(); // a third one on the same name
    CHECK(house.find_deadlocks()->size() == 1);

    tern::options breaking = tern::options::ticks();
    breaking.break_deadlocks = true;
    breaking.open_house = true;
    const auto broken = manager::open("process:", breaking).value();
    const auto d = broken.acquire("b", "a", ticks{9}).value();
    const auto e = broken.acquire("a", "b", ticks{9}).value();
    CHECK(broken.find_deadlocks()->empty() && broken.revocations().value() == 1);
}

static void copies_share_one_table()
{
    const auto first = ticking();
    const manager second = first;
    CHECK(first.capi() == second.capi());
    const auto lease = first.acquire("gpu0", "a", ticks{9}).value();
    CHECK(second.state(lease.id()) == tern::lease_state::held);
    CHECK(second.clock() == tern::clock_kind::ticks);

    const auto other = ticking();
    CHECK(other.capi() != first.capi());
    CHECK(other.active_count().value() == 0);
}

static void counts()
{
    const auto manager = ticking();
    pass(manager, 3);
    CHECK(manager.now().value() == tern::moment(3));
    const auto held = manager.acquire("gpu0", "a", ticks{9}).value();
    const auto waits = manager.claim("b").of({"gpu0"}).enqueue().value();
    const auto lost = manager.acquire("gpu1", "a", ticks{9}).value();
    manager.revoke(lost.id(), tern::reason::quota).value();
    CHECK(manager.active_count().value() == 1);
    CHECK(manager.pending_claimers().value() == 1);
    CHECK(manager.revocations().value() == 1);
    CHECK(manager.count(tern::reason::quota).value() == 1);
    CHECK(manager.count(tern::reason::budget).value() == 0);
    CHECK_STATUS(manager.count(tern::reason{12345}), bad_value);
    const auto metrics = manager.metrics().value();
    CHECK(metrics.find("QUOTA") != std::string::npos);
    CHECK(metrics.back() == '\n' && std::strlen(metrics.c_str()) == metrics.size());
}

static void lists()
{
    const auto manager = ticking();
    CHECK(manager.leases()->empty() && manager.tickets()->empty() && manager.held_by("a")->empty());
    const auto one = manager.acquire("gpu0", "a", ticks{9}).value();
    const auto two = manager.acquire("gpu1", "b", ticks{9}).value();
    const auto three = manager.acquire("gpu2", "a", ticks{9}).value();
    const auto mine = std::vector<tern::lease_id>{one.id(), three.id()};
    CHECK(manager.held_by("a").value() == mine);

    std::string holders;
    for (const auto& info : manager.leases().value())
        holders += info.holder + ' ';
    CHECK(holders == "a b a ");

    const auto first = manager.claim("c").of({"gpu0", "gpu1"}).count(2).enqueue().value();
    const auto second = manager.claim("d").of({"gpu0"}).priority(7).enqueue().value();
    const auto tickets = manager.tickets().value();
    CHECK(tickets.size() == 2);
    CHECK(tickets[0].id == second.id() && tickets[0].holder == "d" && tickets[0].place == 1 &&
          tickets[0].priority == 7);
    CHECK(tickets[1].id == first.id() && tickets[1].count == 2 && tickets[1].resource_count == 2 &&
          tickets[1].place == 2);
}

static void knows_its_resources()
{
    const auto manager = ticking();
    const auto gpu = manager.declare("gpu0", 4, 1024).value();
    CHECK(gpu != tern::resource_id::none);
    const auto lease = manager.claim("a").of({gpu}).slots(1).memory_mib(100).try_now().value();
    const auto info = manager.resource("gpu0").value();
    CHECK(info.slots == 4 && info.memory_mib == 1024 && info.used_slots == 1 && info.used_memory_mib == 100);
    CHECK(info.name == "gpu0" && info.shared == 0 && info.declared && info.health == tern::health::healthy);
    CHECK_STATUS(manager.declare("gpu0", 5), in_use);
    CHECK_STATUS(manager.declare("gpu1", 0), zero_amount);

    manager.set_health("gpu0", tern::health::draining).value();
    CHECK(manager.resource("gpu0")->health == tern::health::draining);
    CHECK(lease.state() == tern::lease_state::held);
    CHECK_STATUS(manager.acquire("gpu0", "b", ticks{1}), busy);
    CHECK_STATUS(manager.set_health("gpu9", tern::health::failed), unknown_resource);
    CHECK_STATUS(manager.set_health("gpu0", tern::health{5}), bad_value);
    CHECK_STATUS(manager.resource("gpu9"), unknown_resource);

    const auto other = manager.acquire("cpu", "b", ticks{1}).value();
    const auto all = manager.resources().value();
    CHECK(all.size() == 2 && all[0].name == "cpu" && !all[0].declared && all[1].name == "gpu0");
    CHECK((manager.leases_on("gpu0").value() == std::vector{lease.id()}));
    CHECK(manager.leases_on("gpu9")->empty());
}

static void an_empty_one_answers_null()
{
    auto gone = ticking();
    auto stays = std::move(gone);
    CHECK(stays);
    for (const manager& empty : {manager(), gone}) {
        CHECK(!empty && empty.capi() == nullptr);
        CHECK_STATUS(empty.acquire("gpu0", "a", tern::forever), null);
        CHECK_STATUS(empty.claim("a").of({"gpu0"}).try_now(), null);
        CHECK_STATUS(empty.claim("a").of({"gpu0"}).enqueue(), null);
        CHECK_STATUS(empty.tick(), null);
        CHECK_STATUS(empty.now(), null);
        CHECK_STATUS(empty.leases(), null);
        CHECK_STATUS(empty.metrics(), null);
        CHECK_STATUS(empty.events(), null);
        CHECK_STATUS(empty.find_deadlocks(), null);
        CHECK_STATUS(empty.want("a", "b"), null);
        CHECK_STATUS(empty.cancel(tern::ticket_id{1}), null);
        CHECK(empty.state(tern::lease_id{1}) == tern::lease_state::unknown);
    }
}

int main()
{
    return check::run({
        {"a manager opens what there is", opens_what_there_is},
        {"it fits the library that runs", fits_the_library_that_runs},
        {"options reach the table", options_reach_the_table},
        {"copies share one table", copies_share_one_table},
        {"it counts", counts},
        {"it lists", lists},
        {"it knows its resources", knows_its_resources},
        {"an empty one answers null", an_empty_one_answers_null},
    });
}
