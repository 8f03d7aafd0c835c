// Watches: callables that are told of notices and ends, and are destroyed when they are no longer needed.
#include "check.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

using check::pass;
using check::ticking;
using tern::lease_state;
using tern::notice;
using tern::ticks;
using namespace std::chrono_literals;

namespace {

/// Hands notices from the library's thread to the test's.
class mailbox {
public:
    void put(const notice& told)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        notices_.push_back(told);
        filled_.notify_one();
    }

    notice take()
    {
        std::unique_lock<std::mutex> guard(lock_);
        filled_.wait(guard, [this] { return !notices_.empty(); });
        const notice first = notices_.front();
        notices_.pop_front();
        return first;
    }

private:
    std::mutex lock_;
    std::condition_variable filled_;
    std::deque<notice> notices_;
};

} // namespace

static void tells_of_a_notice_and_of_the_end()
{
    mailbox told;
    const auto manager = ticking();
    const auto lease = manager.acquire("gpu0", "a", ticks{99}).value();
    lease.watch([&told](const notice& happened) { told.put(happened); }).value();

    manager.revoke(lease.id(), tern::reason::node_drain, "ops", ticks{3}).value();
    const auto first = told.take();
    CHECK(first.lease == lease.id() && first.state == lease_state::held);
    CHECK(first.reason == tern::reason::node_drain && first.at == tern::moment(3));

    pass(manager, 3);
    const auto last = told.take();
    CHECK(last.state == lease_state::revoked && last.reason == tern::reason::node_drain && last.at == tern::moment(3));
}

static void any_callable_will_do()
{
    struct counter {
        std::shared_ptr<mailbox> told;
        int calls;
        void operator()(const notice& happened)
        {
            calls += 1;
            told->put(happened);
        }
    };
    const auto told = std::make_shared<mailbox>();
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", ticks{99}).value();

    counter lvalue{told, 0};
    lease.watch(lvalue).value();
    const std::function<void(notice)> function = [told](notice happened) { told->put(happened); };
    lease.watch(function).value();
    auto move_only = [told, owned = std::make_unique<int>(1)](const notice& happened) { told->put(happened); };
    manager.watch(lease.id(), std::move(move_only)).value();

    lease.release().value();
    for (int i = 0; i < 3; i += 1)
        CHECK(told->take().reason == tern::reason::released);
    CHECK(lvalue.calls == 0); // a copy of it was called
}

static void is_destroyed_after_its_last_call()
{
    std::promise<void> destroyed; // outlives the library's thread, which may still be in set_value()
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", ticks{99}).value();
    std::shared_ptr<void> token(nullptr, [&destroyed](void*) { destroyed.set_value(); });
    lease.watch([token = std::move(token)](const notice&) {}).value();
    lease.release().value();
    destroyed.get_future().get();
}

static void is_destroyed_with_the_table()
{
    const auto token = std::make_shared<int>(1);
    {
        const auto manager = ticking();
        auto lease = manager.acquire("gpu0", "a", tern::forever).value();
        lease.watch([token](const notice&) {}).value();
        CHECK(token.use_count() == 2);
        lease.detach();
    }
    CHECK(token.use_count() == 1); // closing has waited for the library's thread
}

static void is_destroyed_at_once_if_it_cannot_be()
{
    const auto token = std::make_shared<int>(1);
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", ticks{1}).value();
    pass(manager, 1);
    const auto late = lease.watch([token](const notice&) {});
    CHECK_STATUS(late, not_held);
    CHECK(late.error().reason() == tern::reason::timed_out);
    CHECK_STATUS(manager.watch(tern::lease_id{12345}, [token](const notice&) {}), unknown_lease);
    CHECK(token.use_count() == 1);
}

static void may_use_and_own_the_manager()
{
    std::promise<std::uint64_t> count;
    tern::events events;
    {
        const auto manager = ticking();
        events = manager.events(tern::from_now).value();
        auto lease = manager.acquire("gpu0", "a", ticks{9}).value();
        // The copy inside the callable is the last one when it is called: the library's thread closes the
        // table.
        lease.watch([manager, &count](const notice&) { count.set_value(manager.active_count().value()); }).value();
        lease.detach();
        manager.revoke(manager.held_by("a")->front()).value();
    }
    CHECK(count.get_future().get() == 0);
    while (events.wait(tern::forever))
        while (events.next()) {
        }
    CHECK_STATUS(events.next(), closed);
}

/// What a child that is given a throwing callable ends with. It exits with 7 if std::terminate() was called.
static int child_with_a_throwing_callable()
{
    const pid_t child = fork();
    if (child == 0) {
        std::set_terminate([] { _exit(7); });
        const auto manager = ticking();
        const auto lease = manager.acquire("gpu0", "a", tern::forever).value();
        lease.watch([](const notice&) { throw 1; }).value();
        manager.revoke(lease.id()).value();
        std::promise<void>().get_future().wait();
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void an_exception_terminates() { CHECK(child_with_a_throwing_callable() == 7); }

static void a_descriptor_tells_too()
{
    const auto manager = ticking();
    auto lease = manager.acquire("gpu0", "a", tern::forever).value();
    const int fd = manager.watch_fd(lease.id()).value();
    lease.release().value();
    pollfd readable{fd, POLLIN, 0};
    CHECK(poll(&readable, 1, 60'000) == 1);
    close(fd);
    CHECK(!manager.watch_fd(lease.id()));
}

int main()
{
    return check::run({
        {"a descriptor tells too", a_descriptor_tells_too},
        {"an exception from a callable terminates", an_exception_terminates},
        {"a watch tells of a notice and of the end", tells_of_a_notice_and_of_the_end},
        {"any callable will do", any_callable_will_do},
        {"it is destroyed after its last call", is_destroyed_after_its_last_call},
        {"it is destroyed with the table", is_destroyed_with_the_table},
        {"it is destroyed at once if the lease cannot be watched", is_destroyed_at_once_if_it_cannot_be},
        {"it may use and own the manager", may_use_and_own_the_manager},
    });
}
