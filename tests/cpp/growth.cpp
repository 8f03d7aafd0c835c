// Growth: what is opened and closed again and again leaves nothing behind: no memory, no descriptor, no thread.
#include "check.hpp"

#include <malloc.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

/// What this process has.
struct belongings {
    std::size_t bytes;
    std::size_t descriptors;
    std::size_t threads;
};

static std::size_t entries(const char* directory)
{
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        count += entry.path().empty() ? 0 : 1;
    return count;
}

static belongings now()
{
    const auto heap = mallinfo2();
    return {heap.uordblks + heap.hblkhd, entries("/proc/self/fd"), entries("/proc/self/task")};
}

/// Far less than the smallest block that malloc gives, times the rounds: what it keeps for the next one who asks.
constexpr std::size_t noise = 100000;

/// A tenth of the rounds fills what is kept on purpose, such as the names of handles that were closed lately.
template <class Round>
static void leaves_nothing(Round round)
{
    for (int i = 0; i < 1000; i += 1)
        round();
    const belongings before = now();
    for (int i = 0; i < 10000; i += 1)
        round();
    const belongings after = now();
    CHECK(after.bytes < before.bytes + noise);
    CHECK(after.descriptors == before.descriptors && after.threads == before.threads);
}

static void growth_is_noticed()
{
    const belongings before = now();
    std::vector<std::unique_ptr<char>> kept;
    for (int i = 0; i < 10000; i += 1)
        kept.push_back(std::make_unique<char>());
    CHECK(now().bytes >= before.bytes + noise);
}

/// So small that making it takes no time.
static tern::manager small_table()
{
    tern::options how = tern::options::ticks();
    how.leases = how.tickets = how.resources = how.history = 8;
    return tern::manager::open("process:", how).value();
}

static void managers()
{
    leaves_nothing([] {
        const auto manager = small_table();
        const auto lease = manager.acquire("gpu0", "a", tern::forever).value();
        const auto ticket = manager.claim("b").of("gpu0").enqueue().value();
        CHECK_STATUS(manager.acquire("gpu0", "c", tern::ticks{1}), busy);
    });
}

static void readers_of_events()
{
    const auto manager = check::ticking();
    leaves_nothing([&manager] {
        auto events = manager.events().value();
        CHECK(events.fd().value() >= 0);
        CHECK_STATUS(events.next(), empty);
    });
}

static void pools()
{
    leaves_nothing([] {
        const auto pool = tern::pool::on(small_table(), tern::pool_options::of("fake:2")).value();
        const auto lease = pool.claim().count(2).try_now().value();
        CHECK(lease.env()->set.size() == 2);
    });
}

static void machines()
{
    const auto pool = tern::pool::on(small_table(), tern::pool_options::of("fake:1")).value();
    leaves_nothing([&pool] {
        const auto machine = check::unmeasured();
        CHECK(machine.advise(tern::cost::copy(1000), pool.claim())->choice == tern::choice::cpu);
    });
}

static void watches()
{
    leaves_nothing([] {
        const auto manager = small_table();
        const auto lease = manager.acquire("gpu0", "a", tern::ticks{9}).value();
        const std::string kept(100, 'x');
        lease.watch([kept](const tern::notice&) {}).value();
    });
}

int main()
{
    return check::run({
        {"growth is noticed", growth_is_noticed},
        {"managers leave nothing", managers},
        {"readers of events leave nothing", readers_of_events},
        {"pools leave nothing", pools},
        {"machines leave nothing", machines},
        {"watches leave nothing", watches},
    });
}
