// A bug inside the library is an error, not the end of the program. Its message goes to the standard error.
// Needs a library that was built with the feature `test`.
#include "check.hpp"

extern "C" tern_status_t tern_test_panic(const tern_manager_t* manager, tern_error_t* err);

static void a_panic_poisons_the_manager()
{
    auto manager = check::ticking();
    auto lease = manager.acquire("gpu0", "a", tern::ticks{9}).value();
    auto waiting = manager.claim("b").of("gpu0").enqueue().value();
    auto events = manager.events().value();

    auto failed = tern::error::blank();
    CHECK(tern_test_panic(manager.capi(), failed.capi()) == TERN_ERR_PANIC);
    CHECK(failed.status() == tern::status::panic);
    CHECK_STATUS(lease.renew(), poisoned);
    CHECK(lease.state() == tern::lease_state::unknown);
    CHECK_STATUS(waiting.wait(), poisoned);
    CHECK_STATUS(manager.find_deadlocks(), poisoned);
    CHECK_THROWS(manager.leases().value(), poisoned);
    while (events.next()) {
    }
    CHECK_STATUS(events.wait(tern::forever), corrupt); // what happened before could be read; nobody waits in vain
}

int main() { return check::run({{"a panic poisons the manager", a_panic_poisons_the_manager}}); }
