// Host: tables that processes share, what they tell, and leases that go from process to process.
#include "check.hpp"
#include "descriptor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

using tern::lease_state;
using tern::life;
using namespace std::chrono_literals;

namespace {

/// A file for one test, which is gone afterwards.
class file {
public:
    file()
    {
        static int count = 0;
        path_ = "/dev/shm/ternlease-test-" + std::to_string(getpid()) + "-c" + std::to_string(count++);
    }
    ~file() { unlink(path_.c_str()); }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    const std::string& path() const { return path_; }

    tern::manager open() const
    {
        tern::options small;
        small.leases = small.tickets = small.resources = small.history = 64;
        return tern::manager::open("host:" + path_, small).value();
    }

private:
    std::string path_;
};

std::uint32_t own_number() { return static_cast<std::uint32_t>(getpid()); }

} // namespace

static void tells_of_itself_and_its_processes()
{
    const file place;
    const auto manager = place.open();
    const auto lease = manager.acquire("gpu0", "a", tern::forever).value();
    const auto waiting = manager.claim("b").of("gpu0").patience(tern::forever).enqueue().value();

    const auto host = manager.host().value();
    CHECK(host.path == place.path() && host.bytes > 4096 && host.process_count == 1);
    CHECK(host.roll_backs == 0 && host.deaths == 0 && !host.corrupt);
    CHECK(host.lock_process == 0 || host.lock_process == own_number());

    const auto processes = manager.processes().value();
    CHECK(processes.size() == 1 && processes[0].process == own_number() && processes[0].life == life::lives);
    CHECK(processes[0].leases == 1 && processes[0].tickets == 1 && processes[0].owner != 0);
    CHECK(processes[0].since <= manager.now().value());
}

static void who_dies_gives_back()
{
    const file place;
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(100);
        const auto own = place.open();
        own.acquire("gpu0", "child", tern::forever).value().detach();
        CHECK(write(ends[1], "x", 1) == 1);
        for (;;)
            pause();
    }
    close(ends[1]);
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == 1);
    const auto manager = place.open();
    auto events = manager.events(tern::from_now).value();
    CHECK_STATUS(manager.acquire("gpu0", "a", tern::forever), busy);
    kill(child, SIGKILL);
    const auto lease = manager.claim("a").of("gpu0").wait(tern::forever).value();
    CHECK(lease.state() == lease_state::held);
    CHECK(manager.count(tern::reason::holder_died).value() == 1 && manager.host()->deaths == 1);

    auto event = events.next();
    while (event && event->kind != tern::event_kind::died)
        event = events.next();
    CHECK(event && event->process == static_cast<std::uint32_t>(child));
    CHECK(waitpid(child, nullptr, 0) == child);
    close(ends[0]);
}

static void a_lease_goes_to_another_process()
{
    const file place;
    // Two managers of one process are two that share the table: the first of them is known by the number.
    const auto first = place.open();
    tern::lease_id id{};
    {
        const auto second = place.open();
        auto lease = second.acquire("gpu0", "a", tern::forever).value();
        CHECK_STATUS(second.hand_to(lease.id(), UINT32_MAX), unknown_process);
        second.hand_to(lease.id(), own_number()).value();
        id = lease.detach();
    }
    CHECK(first.state(id) == lease_state::held && first.processes()->at(0).leases == 1);
}

static void a_lease_outlives_who_claimed_it()
{
    const file place;
    tern::lease_id id{};
    int fd = -1;
    {
        const auto manager = place.open();
        auto lease = manager.acquire("gpu0", "a", tern::forever).value();
        fd = manager.keep_for_children(lease.id()).value();
        id = lease.detach();
    }
    CHECK(is_open(fd));
    const auto manager = place.open();
    CHECK(manager.state(id) == lease_state::held);
    const auto processes = manager.processes().value();
    CHECK(std::any_of(processes.begin(), processes.end(), [](const tern::process_info& one) {
        return one.life == life::tree && one.leases == 1;
    }));
    close(fd);
    const auto lease = manager.claim("b").of("gpu0").wait(tern::forever).value();
    CHECK(manager.info(id)->reason == tern::reason::holder_died);
}

static void others_share_nothing()
{
    const auto manager = check::ticking();
    const auto lease = manager.acquire("gpu0", "a", tern::forever).value();
    CHECK_STATUS(manager.host(), unsupported);
    CHECK_STATUS(manager.processes(), unsupported);
    CHECK_STATUS(manager.hand_to(lease.id(), own_number()), unsupported);
    CHECK_STATUS(manager.keep_for_children(lease.id()), unsupported);
    const tern::manager empty;
    CHECK_STATUS(empty.host(), null);
    CHECK_STATUS(empty.processes(), null);
    CHECK_STATUS(empty.hand_to(lease.id(), 1), null);
    CHECK_STATUS(empty.keep_for_children(lease.id()), null);
}

int main()
{
    return check::run({
        {"a shared table tells of itself and its processes", tells_of_itself_and_its_processes},
        {"who dies gives back", who_dies_gives_back},
        {"a lease goes to another process", a_lease_goes_to_another_process},
        {"a lease outlives who claimed it", a_lease_outlives_who_claimed_it},
        {"others share nothing", others_share_nothing},
    });
}
