// The hot paths allocate nothing on the C++ side: what they cost is what the functions in C cost.
#include "check.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

using check::ticking;
using tern::ticks;

static std::size_t allocations = 0;

void* operator new(std::size_t size)
{
    allocations += 1;
    if (void* const memory = std::malloc(size))
        return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

static void allocating_is_noticed()
{
    const auto before = allocations;
    const auto manager = ticking();
    CHECK(allocations > before); // the count that its copies share
}

static void nothing_is_allocated_for_a_lease()
{
    const auto manager = ticking();
    const auto gpu = manager.declare("gpu3", 1).value();
    const auto before = allocations;
    for (int round = 0; round < 3; round += 1) {
        auto lease = manager.acquire("gpu0", "a", ticks{9}).value();
        CHECK(lease.state() == tern::lease_state::held);
        CHECK(lease.renew().has_value() && lease.renew_for(ticks{8}).has_value());
        CHECK_STATUS(manager.acquire("gpu0", "b", ticks{9}), busy);
        lease.release().value();
        CHECK_STATUS(manager.release(tern::lease_id{77}), unknown_lease);

        auto several = manager.claim("a").of({"gpu0", "gpu1", "gpu2"}).count(2).ttl(ticks{9}).try_now().value();
        CHECK_STATUS(manager.claim("b").of("gpu0").try_now(), busy);
        const auto moved = std::move(several);
        const auto known = manager.claim("a").of(gpu).try_now().value();

        auto ticket = manager.claim("b").of("gpu0").enqueue().value();
        CHECK_STATUS(ticket.poll(), waiting);
        CHECK(ticket.state() == tern::ticket_state::in_line && ticket.place() == 1U);
    }
    CHECK(allocations == before);
}

static void many_resources_are_allocated_for()
{
    const auto manager = ticking();
    const auto before = allocations;
    manager.claim("a").of({"1", "2", "3", "4", "5", "6", "7", "8"}).try_now().value().release().value();
    CHECK(allocations == before);
    manager.claim("a").of({"1", "2", "3", "4", "5", "6", "7", "8", "9"}).try_now().value().release().value();
    CHECK(allocations > before);
}

int main()
{
    return check::run({
        {"allocating is noticed", allocating_is_noticed},
        {"nothing is allocated for a lease", nothing_is_allocated_for_a_lease},
        {"many resources are allocated for", many_resources_are_allocated_for},
    });
}
