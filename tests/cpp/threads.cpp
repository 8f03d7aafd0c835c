// Threads: one manager, many threads, nothing lost and nothing given out twice.
#include "check.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

/// Runs `work` in so many threads at once.
template <class Work>
static void in_threads(int count, Work work)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i += 1)
        threads.emplace_back(work, i);
    for (auto& thread : threads)
        thread.join();
}

static void a_resource_is_given_to_one_at_a_time()
{
    const auto manager = tern::manager::open("process:").value();
    std::atomic<int> inside{0};
    int unprotected = 0; // by anything but the lease
    in_threads(4, [&inside, &unprotected, manager](int i) {
        const std::string holder = "worker" + std::to_string(i);
        for (int round = 0; round < 200; round += 1) {
            const auto lease = manager.claim(holder).of("gpu0").ttl(1h).wait().value();
            CHECK(inside.fetch_add(1) == 0);
            unprotected += 1;
            inside.fetch_sub(1);
        }
    });
    CHECK(unprotected == 800 && manager.active_count().value() == 0);
}

static void a_lease_moves_to_another_thread()
{
    const auto manager = tern::manager::open("process:").value();
    auto lease = manager.acquire("gpu0", "a", 1h).value();
    const auto id = lease.id();
    std::thread([lease = std::move(lease)] { CHECK(lease.state() == tern::lease_state::held); }).join();
    CHECK(manager.state(id) == tern::lease_state::expired);
}

static void the_last_thread_closes_the_table()
{
    auto manager = tern::manager::open("process:").value();
    auto events = manager.events(tern::from_now).value();
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i += 1) {
        threads.emplace_back([&go, manager, i] {
            while (!go)
                std::this_thread::yield();
            const auto lease = manager.acquire("gpu" + std::to_string(i), "a", 1h).value();
            CHECK(lease.state() == tern::lease_state::held);
        });
    }
    manager = tern::manager();
    go = true;
    for (auto& thread : threads)
        thread.join();
    int ended = 0;
    while (auto event = events.next())
        ended += event->kind == tern::event_kind::ended;
    CHECK(ended == 4);
    CHECK_STATUS(events.next(), closed);
}

static void tickets_that_are_polled_and_dropped_lose_nothing()
{
    const auto manager = tern::manager::open("process:").value();
    in_threads(2, [manager](int i) {
        const std::string holder = "worker" + std::to_string(i);
        for (int round = 0; round < 20000; round += 1) {
            auto ticket = manager.claim(holder).of("gpu0").enqueue().value();
            const auto lease = ticket.poll(); // or not yet: then the ticket withdraws
            CHECK(lease || lease.status() == tern::status::waiting);
        }
    });
    CHECK(manager.active_count().value() == 0 && manager.pending_claimers().value() == 0);
}

int main()
{
    return check::run({
        {"a resource is given to one at a time", a_resource_is_given_to_one_at_a_time},
        {"a lease moves to another thread", a_lease_moves_to_another_thread},
        {"the last thread closes the table", the_last_thread_closes_the_table},
        {"tickets that are polled and dropped lose nothing", tickets_that_are_polled_and_dropped_lose_nothing},
    });
}
