// A deadlock in C++: two jobs hold a GPU each and want the other's. It is found, with a proof; the cheapest lease is
// revoked, and the other job finishes. Then the loser asks for both at once, which cannot end like that.
//
// Build it: c++ -std=c++17 deadlock.cpp $(pkg-config --cflags --libs ternlease) -o deadlock

#include <cstdio>
#include <cstdlib>

#include <ternlease.hpp>

namespace {

/// Ends the program if this story goes another way.
void expect(bool holds)
{
    if (holds)
        return;
    std::fputs("this is not as it should be\n", stderr);
    std::exit(1);
}

void print(const tern::manager& manager, const tern::deadlock& deadlock)
{
    for (const auto& wait : deadlock.cycle) {
        const auto holder = manager.info(wait.lease)->holder;
        const auto gpu = manager.takes(wait.lease)->front().resource;
        std::printf("  %s waits for %s, which %s has\n", wait.worker.c_str(), gpu.c_str(), holder.c_str());
    }
}

} // namespace

int main()
{
    const auto manager = tern::manager::open("process:").value();
    auto train = manager.claim("train").of("gpu0").try_now().value();
    const auto serve = manager.claim("serve").of("gpu1").try_now().value();
    auto train_wants = manager.claim("train").of("gpu1").enqueue().value();
    expect(manager.find_deadlocks()->empty()); // waiting is not a deadlock yet
    auto serve_wants = manager.claim("serve").of("gpu0").enqueue().value();

    std::puts("a deadlock");
    const auto found = manager.find_deadlocks().value();
    expect(found.size() == 1 && found[0].stuck.size() == 2);
    print(manager, found[0]);

    std::puts("\nrecovery");
    const auto victim = manager.info(found[0].victim).value();
    manager.revoke(victim.id, tern::reason::deadlock_victim, "scheduler").value();
    expect(manager.find_deadlocks()->empty());
    std::printf("  the lease of %s is revoked: it is the younger one\n", victim.holder.c_str());

    expect(serve.state() == tern::lease_state::revoked && train.state() == tern::lease_state::held);
    serve_wants.cancel().value(); // of no use without what it lost
    auto second = train_wants.poll().value();
    std::puts("  train has both");

    std::puts("\nserve asks again, for both at once: while it waits it holds nothing");
    auto again = manager.claim("serve").of({"gpu0", "gpu1"}).count(2).enqueue().value();
    expect(again.state() == tern::ticket_state::in_line);
    train.release().value();
    second.release().value();
    std::puts("  train has finished");
    const auto both = again.poll().value();
    expect(both.takes()->size() == 2);
    std::puts("  serve has both");
    expect(manager.count(tern::reason::deadlock_victim).value() == 1);
}
