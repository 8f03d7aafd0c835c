// Leases: acquired, renewed, released at the end of their scope, never twice, and moved.
#include "check.hpp"

#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

using check::pass;
using check::ticking;
using tern::lease_state;
using tern::ticks;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<tern::lease> && !std::is_copy_assignable_v<tern::lease>);
static_assert(std::is_nothrow_move_constructible_v<tern::lease> && std::is_nothrow_move_assignable_v<tern::lease>);

static void is_released_at_the_end_of_its_scope()
{
    const auto manager = ticking();
    tern::lease_id id;
    {
        const auto lease = manager.acquire("gpu0", "a", ticks{9}).value();
        id = lease.id();
        CHECK(lease.state() == lease_state::held);
        CHECK_STATUS(manager.acquire("gpu0", "b", ticks{9}), busy);
    }
    CHECK(manager.state(id) == lease_state::expired);
    CHECK(manager.info(id)->reason == tern::reason::released);
    CHECK(manager.acquire("gpu0", "b", ticks{9}).has_value());
}

static void renewing_moves_the_end()
{
    const auto manager = ticking();
    const auto lease = manager.acquire("gpu0", "a", ticks{3}).value();
    pass(manager, 2);
    CHECK(lease.renew().value() == tern::moment(5));
    CHECK(lease.renew_for(ticks{7}).value() == tern::moment(9));
    CHECK(lease.info()->ttl.count() == 7);
    pass(manager, 7);
    CHECK(lease.state() == lease_state::expired);
    const auto late = lease.renew();
    CHECK_STATUS(late, not_held);
    CHECK(late.error().reason() == tern::reason::timed_out);
    CHECK_STATUS(lease.renew_for(ticks{7}), not_held);
}

static void lasts_for_ever_if_asked()
{
    const auto manager = ticking();
    const auto lease = manager.acquire("gpu0", "a", tern::forever).value();
    pass(manager, 99);
    CHECK(lease.state() == lease_state::held);
    CHECK(lease.info()->end.is_forever());
    CHECK(lease.renew()->is_forever());
}

static void release_tells_and_empties()
{
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", ticks{2}).value();
    CHECK_STATUS(lease.release(), ok);
    CHECK(!lease && lease.id() == tern::lease_id::none && !lease.from());
    CHECK_STATUS(lease.release(), null);

    auto late = manager.acquire("gpu0", "a", ticks{2}).value();
    pass(manager, 2);
    CHECK_STATUS(late.release(), not_held);
    CHECK(!late);
}

static void detach_gives_up_the_ownership_only()
{
    const auto manager = ticking();
    tern::lease_id id;
    {
        auto lease = manager.acquire("gpu0", "a", ticks{9}).value();
        id = lease.detach();
        CHECK(!lease);
    }
    CHECK(manager.state(id) == lease_state::held);
    {
        const tern::lease again(manager, id);
        CHECK(again.capi() == tern::number(id));
    }
    CHECK(manager.state(id) == lease_state::expired);
}

static void moves_with_its_ownership()
{
    const auto manager = ticking();
    auto first = manager.acquire("gpu0", "a", ticks{9}).value();
    auto second = manager.acquire("gpu1", "a", ticks{9}).value();
    const auto one = first.id();
    const auto two = second.id();

    tern::lease third(std::move(first));
    CHECK(!first && third.id() == one);
    CHECK(manager.state(one) == lease_state::held);

    third = std::move(second);
    CHECK(third.id() == two && !second);
    CHECK(manager.state(one) == lease_state::expired);
    CHECK(manager.state(two) == lease_state::held);

    auto& itself = third;
    third = std::move(itself);
    CHECK(third.id() == two && third.state() == lease_state::held);

    third = tern::lease();
    CHECK(manager.state(two) == lease_state::expired);
    CHECK(manager.active_count().value() == 0);
}

static void an_empty_one_answers_null()
{
    tern::lease lease;
    CHECK(!lease);
    CHECK(lease.state() == lease_state::unknown);
    CHECK_STATUS(lease.renew(), null);
    CHECK_STATUS(lease.renew_for(1s), null);
    CHECK_STATUS(lease.info(), null);
    CHECK_STATUS(lease.takes(), null);
    CHECK_STATUS(lease.watch([](const tern::notice&) {}), null);
    CHECK_STATUS(lease.release(), null);
    CHECK(lease.detach() == tern::lease_id::none);
}

static void tells_everything_about_itself()
{
    const auto manager = ticking();
    manager.declare("gpu0", 4, 1024).value();
    pass(manager, 1);
    const auto parent = manager.acquire("node", "job", ticks{50}).value();
    const auto lease = manager.claim("step")
                           .of({"gpu0"})
                           .slots(2)
                           .memory_mib(512)
                           .ttl(ticks{9})
                           .priority(-3)
                           .preemptible(ticks{1})
                           .child_of(parent.id())
                           .try_now()
                           .value();
    const auto info = lease.info().value();
    CHECK(info.id == lease.id() && info.parent == parent.id());
    CHECK(info.holder == "step" && info.revoker.empty());
    CHECK(info.ended_by.process == 0 && !info.acknowledged);
    CHECK(info.state == lease_state::held && info.reason == tern::reason::none);
    CHECK(info.preemptible && !info.spare && !info.shared && !info.revoking);
    CHECK(info.priority == -3 && info.take_count == 1);
    CHECK(info.ttl.count() == 9 && info.granted_at == tern::moment(1) && info.end == tern::moment(10));
    CHECK((info.end - manager.now().value()).count() == 9);
    const auto takes = lease.takes().value();
    CHECK(takes.size() == 1 && takes[0].resource == "gpu0" && takes[0].slots == 2 && takes[0].memory_mib == 512);
}

static void is_revoked_with_a_reason()
{
    const auto manager = ticking();
    const auto lease = manager.acquire("gpu0", "a", ticks{99}).value();
    const auto told = manager.revoke(lease.id(), tern::reason::node_drain, "ops", ticks{3}).value();
    CHECK(!told.at_once && !told.already && told.at == tern::moment(3));
    CHECK(lease.state() == lease_state::held && lease.info()->revoking);

    const auto again = manager.revoke(lease.id(), tern::reason::shutdown, "ops", ticks{8}).value();
    CHECK(again.already && again.at == tern::moment(3));

    const auto now = manager.revoke(lease.id()).value();
    CHECK(now.at_once && !now.already && now.at == tern::moment(0));
    CHECK(lease.state() == lease_state::revoked);
    CHECK(lease.info()->reason == tern::reason::operator_);
    const auto renewed = lease.renew();
    CHECK_STATUS(renewed, not_held);
    CHECK(tern::class_of(renewed.error().reason()) == tern::reason_class::authority);
    CHECK_STATUS(manager.revoke(lease.id()), not_held);
    CHECK_STATUS(manager.revoke(lease.id(), tern::reason::released), not_a_revocation);
}

static void refuses_what_makes_no_sense()
{
    const auto manager = ticking();
    CHECK_STATUS(manager.acquire("", "a", ticks{1}), empty_name);
    CHECK_STATUS(manager.acquire("gpu0", "", ticks{1}), empty_name);
    CHECK_STATUS(manager.acquire(std::string(256, 'x'), "a", ticks{1}), name_too_long);
    CHECK_STATUS(manager.acquire("\xff", "a", ticks{1}), bad_text);
    CHECK_STATUS(manager.acquire("gpu0", "a", ticks{0}), zero_ttl);
    CHECK_STATUS(manager.acquire("gpu0", "a", ticks{1ULL << 60}), time_too_large);
    CHECK_STATUS(manager.acquire("gpu0", "a", 1s), bad_value);
    CHECK_STATUS(manager.renew(tern::lease_id{12345}), unknown_lease);
    CHECK_STATUS(manager.release(tern::lease_id{12345}), unknown_lease);
    CHECK_STATUS(manager.info(tern::lease_id{12345}), unknown_lease);
    CHECK_STATUS(manager.takes(tern::lease_id{12345}), unknown_lease);
    CHECK_STATUS(manager.revoke(tern::lease_id{12345}), unknown_lease);
    CHECK(manager.state(tern::lease_id{12345}) == lease_state::unknown);
    CHECK(manager.active_count().value() == 0);
}

static void several_are_asked_and_renewed_in_one_call()
{
    const auto manager = ticking();
    const auto held = manager.acquire("gpu0", "a", ticks{5}).value();
    const auto revoked = manager.acquire("gpu1", "a", ticks{5}).value();
    const auto expired = manager.acquire("gpu2", "a", ticks{1}).value();
    manager.revoke(revoked.id()).value();
    pass(manager, 1);
    const std::vector<tern::lease_id> all = {held.id(), revoked.id(), expired.id(), tern::lease_id{777}, held.id()};
    CHECK(manager.states(all).value() == (std::vector{lease_state::held, lease_state::revoked, lease_state::expired,
                                                      lease_state::unknown, lease_state::held}));
    CHECK(manager.renew_all(all).value() == 2 && held.info()->end == tern::moment(6));
    CHECK(manager.states({})->empty() && manager.renew_all({}).value() == 0);
    CHECK_STATUS(tern::manager().states(all), null);
    CHECK_STATUS(tern::manager().renew_all(all), null);
}

int main()
{
    return check::run({
        {"a lease is released at the end of its scope", is_released_at_the_end_of_its_scope},
        {"renewing moves its end", renewing_moves_the_end},
        {"it lasts for ever if asked", lasts_for_ever_if_asked},
        {"release() tells and empties", release_tells_and_empties},
        {"detach() gives up the ownership only", detach_gives_up_the_ownership_only},
        {"it moves with its ownership", moves_with_its_ownership},
        {"an empty one answers null", an_empty_one_answers_null},
        {"it tells everything about itself", tells_everything_about_itself},
        {"it is revoked with a reason", is_revoked_with_a_reason},
        {"what makes no sense is refused", refuses_what_makes_no_sense},
        {"several are asked and renewed in one call", several_are_asked_and_renewed_in_one_call},
    });
}
