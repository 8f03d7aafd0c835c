// Routes: what is said is what is found, transfers teach, and nothing is fetched where no way leads.
#include "check.hpp"

#include <chrono>
#include <optional>

using namespace std::chrono_literals;
using tern::route;

static void what_is_said_is_what_is_found()
{
    const auto machine = check::unmeasured();
    route way;
    CHECK_STATUS(machine.set_route(way), bad_value); // Nothing arrives.
    way.round_trip = 2ms;
    way.bytes_per_second = 125000000;
    way.query = 30us;
    way.hits_permille = 900;
    way.known = tern::route_known::assumed;
    machine.set_route(way).value();
    const auto found = machine.route().value();
    CHECK(found.round_trip == 2ms && found.bytes_per_second == 125000000 && found.query == 30us);
    CHECK(found.hits_permille == 900 && found.known == tern::route_known::assumed);
    way.round_trip = tern::forever;
    machine.set_route(way).value();
    CHECK(machine.route()->round_trip.is_forever());
}

static void transfers_teach()
{
    const auto machine = check::unmeasured();
    route way;
    way.round_trip = 2ms;
    way.bytes_per_second = 1000000000;
    machine.set_route(way).value();
    machine.record_fetch(1000000000, 10s).value(); // Ten times as slow as was said.
    CHECK(machine.route()->known == tern::route_known::learned && machine.route()->bytes_per_second < 1000000000);
    const auto before = machine.route()->bytes_per_second;
    machine.record_fetch(1000000000, tern::forever).value(); // That teaches nothing.
    machine.record_fetch(1000000000, -1s).value();
    CHECK(machine.route()->bytes_per_second == before);
}

static void where_no_way_leads_nothing_is_fetched()
{
    const auto machine = check::unmeasured();
    CHECK_STATUS(machine.route(), empty);
    CHECK_STATUS(machine.record_fetch(1000, 1ms), empty);
    CHECK(machine.fetch_time(1000)->is_forever());
    route way;
    way.bytes_per_second = 1000;
    machine.set_route(way).value();
    CHECK(machine.fetch_time(1000)->mid >= 1s);
    machine.set_route(std::nullopt).value();
    CHECK_STATUS(machine.route(), empty);
    CHECK_STATUS(tern::machine().set_route(std::nullopt), null);
}

int main()
{
    return check::run({
        {"what is said is what is found", what_is_said_is_what_is_found},
        {"transfers teach", transfers_teach},
        {"where no way leads nothing is fetched", where_no_way_leads_nothing_is_fetched},
    });
}
