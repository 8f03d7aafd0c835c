// Costs in C++: what a computation needs, what this machine makes of it, and whether a GPU is worth waiting for.
//
// Nothing is measured here, so that it takes no time; a program leaves that line out, or keeps what was measured.
//
// Build it: c++ -std=c++17 advice.cpp $(pkg-config --cflags --libs ternlease) -o advice

#include <cstdio>
#include <cstdlib>
#include <optional>

#include <ternlease.hpp>

using namespace std::chrono_literals;

namespace {

const char* name(tern::choice choice)
{
    switch (choice) {
    case tern::choice::cpu:
        return "on the processor";
    case tern::choice::gpu_now:
        return "on a GPU, now";
    case tern::choice::gpu_wait:
        return "on a GPU, after waiting for it";
    case tern::choice::fetch:
        return "nowhere: fetch it";
    default:
        return "not at all";
    }
}

/// Ends the program if its story goes another way.
void expect(tern::choice wanted, const tern::advice& advice)
{
    std::printf("%s\n", name(advice.choice));
    if (advice.choice != wanted)
        std::exit(1);
}

} // namespace

int main()
{
    tern::machine_options how;
    how.no_benchmarks = true;
    const auto machine = tern::machine::read("/tmp", how).value();
    const auto pool = tern::pool::open("process:", tern::pool_options::of("fake:2")).value();

    // A few thousand rows are sorted; then matrices are multiplied, on each of 2000 days.
    const auto rows = tern::cost::sort(5000, 64, 320'000);
    const auto days = tern::cost::matmul(4000, 4000, 4000, 128'000'000).repeat(2000);
    std::printf("both, one after the other: %llu operations\n", static_cast<unsigned long long>((rows + days).flops));

    machine.set_route(std::nullopt).value(); // Nobody has done it before.
    const auto small = tern::task(rows).kind(tern::kind::sort);
    const auto large = tern::task(days).kind(tern::kind::dense64);
    expect(tern::choice::cpu, machine.advise(small, pool.claim()).value());
    expect(tern::choice::gpu_now, machine.advise(large, pool.claim()).value());

    // All devices are taken, for a few seconds more. That is worth waiting for.
    auto others = pool.claim().count(2).ttl(5s).try_now().value();
    expect(tern::choice::gpu_wait, machine.advise(large, pool.claim()).value());

    // Somebody has the result already, behind a short way.
    tern::route way;
    way.round_trip = 2ms;
    way.bytes_per_second = 1'000'000'000;
    machine.set_route(way).value();
    expect(tern::choice::fetch, machine.advise(large, pool.claim()).value());

    // How well it was guessed is learned from what it took.
    tern::learned learned;
    const auto guessed = machine.untaught_time(small).value();
    learned.record(guessed, 2 * guessed.duration()).value();
    std::printf("it takes %u thousandths of what was guessed\n", learned.permille);
}
