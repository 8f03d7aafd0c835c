// Pools: devices, claims for them, leases that give them back, and what is told of all that.
#include "check.hpp"

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using check::fakes;
using check::pass;
using check::ticking;
using tern::pool;
using tern::pool_options;
using tern::ticks;
using namespace std::chrono_literals;

template <class Pool, class = void>
struct can_claim : std::false_type {
};
template <class Pool>
struct can_claim<Pool, std::void_t<decltype(std::declval<Pool>().claim().try_now())>> : std::true_type {
};

// A claim refers to its pool: one that is about to be gone gives none.
static_assert(can_claim<const pool&>::value && !can_claim<pool>::value);
static_assert(!std::is_copy_constructible_v<tern::gpu_claim> && !std::is_copy_constructible_v<tern::gpu_lease>);
static_assert(std::is_nothrow_move_constructible_v<tern::gpu_lease> && std::is_copy_constructible_v<pool>);

static std::string places(const tern::gpu_lease& lease)
{
    std::string text;
    for (const auto& device : lease.devices().value())
        text += std::to_string(device.place) + ' ';
    return text;
}

static void a_lease_gives_its_devices_back()
{
    const auto gpus = fakes(2);
    {
        const auto first = gpus.try_claim().value();
        const auto second = gpus.claim().try_now().value();
        CHECK(places(first) == "0 " && places(second) == "1 ");
        CHECK(first.state() == tern::lease_state::held && first.id() < second.id());
        CHECK_STATUS(gpus.try_claim(), busy);
        CHECK_STATUS(gpus.claim().wait(1ms), timeout);
    }
    CHECK(gpus.manager().active_count().value() == 0);
    auto lease = gpus.claim().count(2).try_now().value();
    CHECK(lease.release().has_value() && !lease);
    CHECK_STATUS(lease.release(), null);
    auto other = gpus.try_claim().value();
    lease = std::move(other);
    CHECK(lease && !other && gpus.manager().active_count().value() == 1); // NOLINT: what was moved from is empty
    lease = gpus.try_claim().value();
    CHECK(gpus.manager().active_count().value() == 1);
    const auto id = lease.detach();
    CHECK(!lease && gpus.manager().state(id) == tern::lease_state::held);
    CHECK(gpus.adopt(tern::lease(gpus.manager(), id)).state() == tern::lease_state::held);
    CHECK(gpus.manager().state(id) == tern::lease_state::expired);
}

static void a_lease_keeps_its_pool_open()
{
    tern::gpu_lease lease;
    CHECK(!lease && lease.state() == tern::lease_state::unknown);
    CHECK_STATUS(lease.devices(), null);
    lease = fakes(1).try_claim().value();
    CHECK(lease.state() == tern::lease_state::held && places(lease) == "0 ");
    lease = fakes(1).try_claim().value();
    CHECK(lease.from().capacity().value() == 1);
}

static void without_devices_nobody_waits()
{
    const auto none = pool::open("process:", pool_options::of("none")).value();
    CHECK(none.capacity().value() == 0 && none.devices()->empty() && none.snapshot()->empty());
    CHECK_STATUS(none.claim().wait(), empty);
    CHECK_STATUS(none.try_claim(), empty);
    CHECK_STATUS(none.claim().enqueue(), empty);
    CHECK(none.absence().value() == "declared: no device is declared\n");
    CHECK(fakes(1).absence().value().empty());

    CHECK_STATUS(pool::open("process:", pool_options::of("moon")), bad_value);
    CHECK_STATUS(pool::open("moon:", pool_options::of("none")), bad_url);
    const pool empty;
    CHECK(!empty);
    CHECK_STATUS(empty.capacity(), null);
    CHECK_STATUS(empty.claim().try_now(), null);
}

static void devices_say_what_they_are()
{
    const auto gpus = fakes(4);
    const auto devices = gpus.devices().value();
    CHECK(devices.size() == 4 && devices[3].place == 3 && devices[3].index == 3);
    CHECK(devices[3].vendor == tern::vendor::nvidia && devices[3].name == "Fake GPU");
    CHECK(devices[3].pci == "0000:04:00.0" && devices[3].key == devices[3].pci && !devices[3].uuid.empty());
    CHECK(devices[3].memory_mib == 81920U && devices[3].island == 1U && devices[3].numa == 1U && !devices[3].mig);
    CHECK(devices[3].capability->major == 8 && devices[3].capability->minor == 0);
    CHECK(!fakes(1).device(0)->island);
    CHECK_STATUS(gpus.device(4), bad_value);

    const auto lease = gpus.try_claim().value();
    const auto all = gpus.snapshot().value();
    CHECK(all.size() == 4 && all[0].lease == lease.id() && all[0].leased_slots == 1 && all[1].lease_count == 0);
    CHECK(all[0].health == tern::health::healthy && !all[0].seen && !all[0].used_memory_mib && all[0].trouble.empty());
    CHECK(gpus.status(0)->lease == lease.id() && gpus.leases_on(0).value() == std::vector{lease.id()});
    CHECK(gpus.squatters(0)->empty());
    gpus.manager().set_health(devices[1].key, tern::health::failed).value();
    CHECK(gpus.status(1)->health == tern::health::failed);
}

static void claims_say_what_they_want()
{
    pool_options how = pool_options::of("fake:4");
    how.slots = 4;
    const auto table = ticking();
    const auto gpus = pool::on(table, how).value();
    const auto parent = table.acquire("node", "job", ticks{9}).value();
    const auto lease = gpus.claim()
                           .holder("trainer")
                           .of({"nvidia:3", "2"})
                           .of("0000:01:00.0")
                           .count(2)
                           .slots(3)
                           .memory_mib(100)
                           .min_memory_mib(80000)
                           .min_compute(8, 0)
                           .vendor(tern::vendor::nvidia)
                           .preemptible(ticks{1})
                           .priority(-3)
                           .child_of(parent.id())
                           .ttl(ticks{5})
                           .try_now()
                           .value();
    CHECK(places(lease) == "3 2 " || places(lease) == "2 3 ");
    const auto info = lease.info().value();
    CHECK(info.holder == "trainer" && info.priority == -3 && info.preemptible && info.parent == parent.id());
    CHECK(info.ttl.count() == 5 && lease.renew().value() == tern::moment(5));
    CHECK_STATUS(gpus.claim().min_memory_mib(90000).wait(), impossible);
    CHECK_STATUS(gpus.claim().vendor(tern::vendor::amd).wait(), impossible);
    CHECK_STATUS(gpus.claim().of("nvidia:9").wait(), unknown_resource);
    CHECK_STATUS(gpus.claim().ttl(5s).try_now(), bad_value);
    CHECK_STATUS(gpus.claim().keep_alive().try_now(), bad_value);
    const auto all = gpus.claim().count(4).preempt().patience(ticks{9}).enqueue().value();
    pass(table, 1);
    CHECK(all.state() == tern::ticket_state::granted && lease.state() == tern::lease_state::revoked);
}

static void a_ticket_gives_devices()
{
    const auto gpus = fakes(1);
    auto first = gpus.try_claim().value();
    auto ticket = gpus.claim().ttl(60s).enqueue().value();
    CHECK(gpus.pending_claimers().value() == 1 && ticket.place() == 1U);
    CHECK_STATUS(ticket.poll(), waiting);
    first.release().value();
    const auto lease = gpus.adopt(ticket.wait().value());
    CHECK(places(lease) == "0 " && lease.keep_alive().has_value());
    CHECK(gpus.pending_claimers().value() == 0);
    CHECK_STATUS(gpus.claim().keep_alive().enqueue(), bad_value);
    CHECK_STATUS(gpus.claim().ttl(60s).keep_alive().try_now(), busy);
}

static void times_of_a_pool_may_have_no_end()
{
    pool_options how = pool_options::of("fake:1");
    how.poll = tern::forever;
    how.recovery = 5s;
    how.drain_limit = 1min;
    CHECK(pool::open("process:", how).value().try_claim().has_value());
    how.poll = std::chrono::hours(1 << 20);
    CHECK_STATUS(pool::open("process:", how), time_too_large);
}

static void a_claim_can_be_made_again_and_again()
{
    const auto gpus = fakes(3);
    auto claim = gpus.claim();
    claim.of({"2", "0"}).ttl(60s);
    const auto first = claim.try_now().value();
    const auto second = claim.wait(5s).value();
    CHECK(places(first) + places(second) == "2 0 ");
    CHECK_STATUS(claim.try_now(), busy);
    CHECK(claim.capi()->wait == 5000000 && claim.capi()->device_count == 2);
    auto ticket = claim.enqueue().value();
    CHECK(ticket.id() != tern::ticket_id::none);
    CHECK(claim.from().capi() == gpus.capi());
}

static void children_see_their_devices_only()
{
    const auto gpus = fakes(4);
    const auto pair = gpus.claim().of({"1", "3"}).count(2).try_now().value();
    const auto env = pair.env().value();
    CHECK(env.remove.empty() && env.set.size() == 2);
    CHECK(env.set[0] == std::make_pair(std::string("CUDA_DEVICE_ORDER"), std::string("PCI_BUS_ID")));
    CHECK(env.set[1] == std::make_pair(std::string("CUDA_VISIBLE_DEVICES"), std::string("1,3")));
    CHECK(pair.env_by_uuid()->set[1].second.rfind("GPU-00000001-", 0) == 0);
}

static void a_table_lives_as_long_as_anybody_has_it()
{
    auto table = ticking();
    auto gpus = pool::on(table, pool_options::of("fake:1")).value();
    auto lease = gpus.try_claim().value();
    const auto id = lease.id();
    table = tern::manager();
    CHECK(lease.state() == tern::lease_state::held);
    table = gpus.manager();
    CHECK(table.clock() == tern::clock_kind::ticks);
    gpus = pool();
    CHECK(places(lease) == "0 ");
    lease = tern::gpu_lease();
    CHECK(table.state(id) == tern::lease_state::expired);
    CHECK_STATUS(pool::on(tern::manager(), pool_options::of("none")), null);
}

int main()
{
    return check::run({
        {"a lease gives its devices back", a_lease_gives_its_devices_back},
        {"a lease keeps its pool open", a_lease_keeps_its_pool_open},
        {"without devices nobody waits", without_devices_nobody_waits},
        {"devices say what they are", devices_say_what_they_are},
        {"claims say what they want", claims_say_what_they_want},
        {"a ticket gives devices", a_ticket_gives_devices},
        {"times of a pool may have no end", times_of_a_pool_may_have_no_end},
        {"a claim can be made again and again", a_claim_can_be_made_again_and_again},
        {"children see their devices only", children_see_their_devices_only},
        {"a table lives as long as anybody has it", a_table_lives_as_long_as_anybody_has_it},
    });
}
