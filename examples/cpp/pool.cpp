// A pool in C++: devices that are given back at the end of a scope, and a program that goes on without if there are none.
//
// TERNLEASE_DEVICES=host takes the GPUs of this machine; if nothing is said, this uses four that do not exist, so that
// it prints the same on every machine.
//
// Build it: c++ -std=c++17 pool.cpp $(pkg-config --cflags --libs ternlease) -o pool

#include <cstdio>
#include <cstdlib>

#include <ternlease.hpp>

using namespace std::chrono_literals;

namespace {

void print(const tern::gpu_lease& gpus)
{
    for (const auto& device : gpus.devices().value())
        std::printf("  %s at %s\n", device.name.c_str(), device.pci.c_str());
}

/// Who has which device.
void print_all(const tern::pool& pool)
{
    const auto devices = pool.devices().value();
    const auto now = pool.snapshot().value();
    for (const auto& device : devices) {
        const auto& status = now[device.place];
        const auto holder = pool.manager().info(status.lease);
        std::printf("  %s: %s\n", device.key.c_str(), holder ? holder->holder.c_str() : "free");
    }
}

} // namespace

int main()
{
    tern::pool_options how;
    if (std::getenv("TERNLEASE_DEVICES") == nullptr)
        how.devices = "fake:4";
    const auto pool = tern::pool::open("process:", how).value();

    // A machine with too few devices is no special case: the claim says so at once, and the program does without.
    auto pair = pool.claim().holder("trainer").count(2).ttl(60s).keep_alive().wait(5s);
    if (!pair) {
        std::printf("on the CPU, then: %s\n%s", pair.error().message(), pool.absence().value().c_str());
        return 0;
    }
    std::puts("trainer has two, linked to each other if that can be:");
    print(*pair);
    std::puts("a child of it needs:");
    for (const auto& [name, value] : pair->env().value().set)
        std::printf("  %s=%s\n", name.c_str(), value.c_str());

    {
        const auto notebook = pool.claim().holder("notebook").try_now();
        std::puts("and everybody:");
        print_all(pool);
    }
    pair->release().value();
    std::puts("later:");
    print_all(pool);
}
