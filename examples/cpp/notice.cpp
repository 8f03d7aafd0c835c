// A revocation with notice in C++: the machine is being emptied, and the holder is told so by a call, saves its work,
// and gives the lease back before it is taken. Whoever waits in line has the GPU the same moment.
//
// Build it: c++ -std=c++17 notice.cpp $(pkg-config --cflags --libs ternlease) -pthread -o notice

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>

#include <ternlease.hpp>

using namespace std::chrono_literals;

namespace {

/// Ends the program if this story goes another way.
void expect(bool holds)
{
    if (holds)
        return;
    std::fputs("this is not as it should be\n", stderr);
    std::exit(1);
}

/// What the holder does until it is told to stop; the time that it is given then.
std::chrono::microseconds work_until_told(const tern::manager& manager, const tern::lease& gpu)
{
    // The call comes from a thread of the library's own, and may come again, so the callable owns what it needs. It
    // only hands over the first notice: others wait while it runs.
    auto told = std::make_shared<std::promise<tern::notice>>();
    auto notice = told->get_future();
    const auto hand_over = [told](const tern::notice& happened) mutable {
        if (told)
            told->set_value(happened);
        told = nullptr;
    };
    gpu.watch(hand_over).value();
    std::puts("trainer: training on gpu0");

    // Somebody else, meanwhile.
    manager.revoke(gpu.id(), tern::reason::node_drain, "ops", 10min).value();

    const auto first = notice.get();
    expect(first.state == tern::lease_state::held); // a notice, not the end
    std::printf("trainer: told to stop because of %s\n", tern::name(first.reason));
    return (first.at - manager.now().value()).micros();
}

} // namespace

int main()
{
    const auto manager = tern::manager::open("process:").value();
    auto events = manager.events().value();
    auto gpu = manager.acquire("gpu0", "trainer", 1h).value();
    auto next = manager.claim("evaluator").of("gpu0").ttl(1h).enqueue().value();
    expect(next.state() == tern::ticket_state::in_line);

    const auto left = work_until_told(manager, gpu);
    expect(left > 0us && left <= 10min);
    std::puts("trainer: there is time to save the work; releasing early");
    gpu.release().value();

    const auto lease = next.poll().value();
    std::printf("evaluator: has gpu0, state %+d\n", static_cast<int>(lease.state()));

    std::puts("\nthe history says");
    while (const auto event = events.next()) {
        switch (event->kind) {
        case tern::event_kind::granted:
            std::printf("  granted to %s\n", manager.info(event->lease)->holder.c_str());
            break;
        case tern::event_kind::queued:
            std::puts("  a claim stands in line");
            break;
        case tern::event_kind::revoking:
            std::printf("  revoking: %s\n", tern::name(event->reason));
            break;
        case tern::event_kind::ended:
            std::printf("  ended: %s\n", tern::name(event->reason));
            break;
        default:
            break;
        }
    }
    expect(manager.revocations().value() == 1); // acknowledged: it was released in time
}
