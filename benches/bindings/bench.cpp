// What calls cost in C++, in nanoseconds: a line `NAME NANOSECONDS` for each, the best of several rounds. The same calls,
// as often, as the programs beside this one make in other languages.
//
// Build it: c++ -std=c++17 -O2 bench.cpp $(pkg-config --cflags --libs ternlease) -o bench-cpp

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <ternlease.hpp>

using namespace std::chrono_literals;

namespace {

constexpr int rounds = 30;
constexpr int calls = 20000;
constexpr int many = 1000;

volatile std::uint64_t kept;

void keep(std::uint64_t number) { kept = kept + number; }

/// Each call does so many things; the time is that of one.
template <class Call>
void measure(const char* name, int things, Call call)
{
    using clock = std::chrono::steady_clock;
    const int times = calls / things;
    double best = 1e18;
    for (int round = 0; round < rounds; round += 1) {
        const auto begin = clock::now();
        for (int i = 0; i < times; i += 1)
            call();
        const std::chrono::duration<double, std::nano> took = clock::now() - begin;
        const double each = took.count() / (double(times) * things);
        best = each < best ? each : best;
    }
    std::printf("%s %.1f\n", name, best);
}

} // namespace

int main()
{
    const auto pool = tern::pool::open("process:", tern::pool_options::of("fake:8")).value();
    const auto manager = tern::manager::open("process:").value();
    std::vector<tern::lease> leases;
    std::vector<tern::lease_id> ids;
    for (int i = 0; i < many; i += 1) {
        leases.push_back(manager.acquire("resource" + std::to_string(i), "bench", 1h).value());
        ids.push_back(leases.back().id());
    }
    const auto& lease = leases.front();

    measure("bare", 1, [] { keep(tern::version_number()); });
    measure("state", 1, [&] { keep(lease.state() == tern::lease_state::held); });
    measure("renew", 1, [&] { keep(lease.renew().value().count()); });
    measure("claim_release", 1, [&] { pool.try_claim().value().release().value(); });
    measure("states_1000", many, [&] { keep(manager.states(ids).value().back() == tern::lease_state::held); });
    measure("renew_1000", many, [&] { keep(manager.renew_all(ids).value()); });
}
