// A lease in C++: acquired, renewed while there is work, and given back at the end of its scope, whatever happens.
//
// Time is counted in ticks, so that this prints the same on every machine. With a real clock, open the manager without
// options and give a std::chrono duration, such as 30s, wherever there are ticks here.
//
// Build it: c++ -std=c++17 lease.cpp $(pkg-config --cflags --libs ternlease) -o lease

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

/// Trains for so many ticks, and renews the lease after each. False if it lost the lease.
bool train(const tern::manager& manager, const tern::lease& gpu, int ticks)
{
    for (int done = 0; done < ticks; done += 1) {
        manager.tick().value();
        const auto renewed = gpu.renew();
        if (!renewed) {
            std::printf("  stopped: %s\n", renewed.error().message());
            return false;
        }
        std::printf("  trained until tick %d; the lease lasts until %d\n", static_cast<int>(manager.now()->count()),
                    static_cast<int>(renewed->count()));
    }
    return true;
}

} // namespace

int main()
{
    const auto manager = tern::manager::open("process:", tern::options::ticks()).value();
    bool finished = false;

    std::puts("ann takes gpu0 for two ticks at a time");
    {
        const auto gpu = manager.acquire("gpu0", "ann", tern::ticks{2}).value();

        // Whether a failure is an exception is up to each call: value() throws, a test does not.
        const auto refused = manager.acquire("gpu0", "bob", tern::ticks{2});
        expect(refused.status() == tern::status::busy);
        std::printf("  bob is refused: %s\n", refused.error().message());

        finished = train(manager, gpu, 3);
    }
    expect(finished && manager.active_count().value() == 0);
    std::puts("her lease went out of scope: gpu0 is free");

    std::puts("\nbob claims any two of three");
    const auto pair = manager.claim("bob").of({"gpu0", "gpu1", "gpu2"}).count(2).ttl(tern::ticks{2}).try_now().value();
    for (const auto& take : pair.takes().value())
        std::printf("  %s\n", take.resource.c_str());

    std::puts("\nhe sleeps too long");
    manager.tick().value();
    manager.tick().value();
    finished = train(manager, pair, 1);
    expect(!finished && pair.state() == tern::lease_state::expired);
    std::printf("  the reason is %s\n", tern::name(pair.info()->reason));
}
