// The headers in several units: each unit includes one of them, twice; linked together they must not define
// anything twice.
//
// The build adds the other units, one for every file of include/ternlease. This one includes everything and
// uses it.
#include "check.hpp"

#include <ternlease.hpp>

static void everything_links()
{
    const auto manager = check::ticking();
    const auto lease = manager.claim("a").of("gpu0").ttl(tern::ticks{1}).try_now().value();
    CHECK(lease.state() == tern::lease_state::held);
}

int main() { return check::run({{"everything links", everything_links}}); }
