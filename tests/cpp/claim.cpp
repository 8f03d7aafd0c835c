// Claims: several resources, parts of them, priorities, and all that can be said.
#include "check.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

using check::pass;
using check::ticking;
using tern::lease_state;
using tern::ticks;
using namespace std::chrono_literals;

template <class Manager, class = void>
struct can_claim : std::false_type {
};
template <class Manager>
struct can_claim<Manager, std::void_t<decltype(std::declval<Manager>().claim("a").try_now())>> : std::true_type {
};

// A claim refers to its manager: one that is about to be gone gives none, and the claim itself stays where it
// is.
static_assert(can_claim<const tern::manager&>::value && !can_claim<tern::manager>::value);
static_assert(!std::is_copy_constructible_v<tern::claim> && !std::is_move_constructible_v<tern::claim>);

static std::string taken(const tern::lease& lease)
{
    std::string names;
    for (const auto& take : lease.takes().value())
        names += take.resource + ' ';
    return names;
}

static void takes_all_or_nothing()
{
    const auto manager = ticking();
    const auto one = manager.claim("a").of({"gpu0", "gpu1", "gpu2"}).ttl(ticks{5}).try_now().value();
    CHECK(taken(one) == "gpu0 ");
    const auto two = manager.claim("b").of({"gpu0", "gpu1", "gpu2"}).count(2).try_now().value();
    CHECK(taken(two) == "gpu1 gpu2 ");
    CHECK(one.info()->end == tern::moment(5) && two.info()->end.is_forever());
    CHECK_STATUS(manager.claim("c").of({"gpu0", "gpu9"}).count(2).try_now(), busy);
    CHECK(manager.claim("c").of({"gpu9"}).try_now().has_value());
}

static void resources_come_from_any_range()
{
    const auto manager = ticking();
    const std::vector<std::string> strings{"gpu0", "gpu1"};
    const std::string_view views[] = {"gpu2", "gpu3"};
    const auto a = manager.claim("a").of(strings).of(views).of({"gpu4"}).count(5).try_now().value();
    CHECK(taken(a) == "gpu0 gpu1 gpu2 gpu3 gpu4 ");

    const std::vector<tern::resource_id> ids{manager.declare("x", 1).value(), manager.declare("y", 1).value()};
    const auto b = manager.claim("b").of(ids).count(2).try_now().value();
    CHECK(taken(b) == "x y ");
    const std::string owned = "gpu6";
    const auto c = manager.claim("c").of("gpu5").of(owned).of(std::string_view("gpu7")).count(3).try_now().value();
    CHECK(taken(c) == "gpu5 gpu6 gpu7 ");
    CHECK(taken(manager.claim("d").of(manager.declare("z", 1).value()).try_now().value()) == "z ");
    CHECK_STATUS(manager.claim("d").of({"gpu8"}).of(ids).try_now(), bad_value);
}

static void there_may_be_many_resources()
{
    const auto manager = ticking();
    for (const std::uint32_t count : {7U, 8U, 9U, 40U}) {
        std::vector<std::string> names;
        std::vector<tern::resource_id> ids;
        std::string all;
        for (std::uint32_t i = 0; i < count; i += 1) {
            names.push_back("gpu" + std::to_string(i));
            ids.push_back(manager.declare(names.back(), 1).value());
            all += names.back() + ' ';
        }
        CHECK(taken(manager.claim("a").of(names).count(count).try_now().value()) == all);
        CHECK(taken(manager.claim("a").of(ids).count(count).try_now().value()) == all);
    }
}

static void takes_parts()
{
    const auto manager = ticking();
    manager.declare("gpu0", 4, 100).value();
    const auto part = manager.claim("a").of({"gpu0"}).slots(3).memory_mib(60).try_now().value();
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).memory_mib(41).try_now(), busy);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).exclusive().try_now(), busy);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).shared().try_now(), busy);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).slots(5).try_now(), impossible);
    CHECK(manager.claim("b").of({"gpu0"}).memory_mib(40).try_now().has_value());

    const auto alone = manager.claim("a").of({"gpu1"}).exclusive().try_now().value();
    CHECK_STATUS(manager.claim("b").of({"gpu1"}).shared().try_now(), busy);
    const auto shared = manager.claim("a").of({"gpu2"}).shared().try_now().value();
    const auto beside = manager.claim("b").of({"gpu2"}).shared().try_now().value();
    CHECK(beside.info()->shared && manager.resource("gpu2")->shared == 2);
}

static void spare_and_preemptible_leases_give_way()
{
    const auto manager = ticking();
    const auto filler = manager.claim("filler").of({"gpu0"}).spare(ticks{2}).try_now().value();
    CHECK(filler.info()->spare);
    const auto job = manager.claim("job").of({"gpu0"}).enqueue().value();
    CHECK(filler.info()->revoking && filler.info()->reason == tern::reason::spare_reclaimed);
    pass(manager, 2);
    CHECK(filler.state() == lease_state::revoked && job.state() == tern::ticket_state::granted);

    const auto low = manager.claim("low").of({"gpu1"}).preemptible({}).try_now().value();
    CHECK_STATUS(manager.claim("high").of({"gpu1"}).priority(5).try_now(), busy);
    const auto high = manager.claim("high").of({"gpu1"}).priority(5).preempt().enqueue().value();
    CHECK(low.state() == lease_state::revoked && low.info()->reason == tern::reason::preempted);
    CHECK(high.state() == tern::ticket_state::granted);
}

static void hangs_on_a_parent()
{
    const auto manager = ticking();
    auto parent = manager.acquire("node", "job", ticks{4}).value();
    const auto child = manager.claim("step").of({"gpu0"}).ttl(ticks{99}).child_of(parent.id()).try_now().value();
    CHECK(child.info()->end == tern::moment(4));
    manager.revoke(parent.id()).value();
    CHECK(child.info()->reason == tern::reason::parent_revoked);
    CHECK_STATUS(manager.claim("step").of({"gpu0"}).child_of(parent.id()).try_now(), parent_not_held);
}

static void waits_as_long_as_it_says()
{
    const auto manager = tern::manager::open("process:").value();
    const auto holder = manager.acquire("gpu0", "a", tern::forever).value();
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).wait(1ms), timeout);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).patience(1ms).wait(), timeout);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).wait(0s), busy);
    CHECK_STATUS(manager.claim("b").of({"gpu0"}).patience({}).enqueue(), busy);
    CHECK(manager.claim("b").of({"gpu1"}).wait(1ms).has_value());
    CHECK(manager.claim("b").of({"gpu1"}).wait().has_value());
}

static void can_be_made_again()
{
    const auto manager = ticking();
    auto claim = manager.claim("b");
    claim.of({"gpu0"}).ttl(ticks{5});
    auto first = claim.try_now().value();
    CHECK_STATUS(claim.try_now(), busy);
    const auto waits = claim.enqueue().value(); // the patience was not changed by trying
    CHECK(waits.state() == tern::ticket_state::in_line);
    first.release().value();
    CHECK(waits.state() == tern::ticket_state::granted);
}

static void refuses_what_makes_no_sense()
{
    const auto manager = ticking();
    CHECK_STATUS(manager.claim("a").try_now(), bad_value);
    CHECK_STATUS(manager.claim("").of({"gpu0"}).try_now(), empty_name);
    CHECK_STATUS(manager.claim("a").of({""}).try_now(), empty_name);
    CHECK_STATUS(manager.claim("a").of({"gpu0", "gpu0"}).try_now(), duplicate_resource);
    CHECK_STATUS(manager.claim("a").of({"gpu0"}).count(2).try_now(), too_few_resources);
    CHECK_STATUS(manager.claim("a").of({"gpu0"}).ttl(ticks{0}).try_now(), zero_ttl);
    CHECK_STATUS(manager.claim("a").of({"gpu0"}).priority(32768).try_now(), bad_value);
    CHECK_STATUS(manager.claim("a").of({"gpu0"}).exclusive().shared().try_now(), bad_value);
    CHECK_STATUS(manager.claim("a").of({"gpu0"}).child_of(tern::lease_id{77}).try_now(), parent_not_held);
    CHECK_STATUS(manager.claim("a").of({tern::resource_id{77}}).try_now(), unknown_resource);
    CHECK_THROWS(manager.claim("a").try_now().value(), bad_value);
    CHECK(manager.active_count().value() == 0 && manager.pending_claimers().value() == 0);
}

int main()
{
    return check::run({
        {"a claim takes all or nothing", takes_all_or_nothing},
        {"resources come from any range", resources_come_from_any_range},
        {"there may be many resources", there_may_be_many_resources},
        {"it takes parts", takes_parts},
        {"spare and preemptible leases give way", spare_and_preemptible_leases_give_way},
        {"it hangs on a parent", hangs_on_a_parent},
        {"it waits as long as it says", waits_as_long_as_it_says},
        {"it can be made again", can_be_made_again},
        {"what makes no sense is refused", refuses_what_makes_no_sense},
    });
}
