// Advice: each choice there can be with two devices that do not exist, and how long claims would wait.
#include "check.hpp"

#include <chrono>
#include <cstdint>
#include <string>

using namespace std::chrono_literals;
using check::fakes;
using tern::choice;
using tern::cost;
using tern::expected_wait;
using tern::obstacle;

/// Worth the way to a device, and not.
static tern::task large() { return tern::task(cost::matmul(20000, 20000, 20000, 3200000000)).kind(tern::kind::dense64); }
static tern::task small() { return tern::task(cost::matmul(10, 10, 10, 800)).kind(tern::kind::dense64); }

static void a_free_device_is_worth_it_or_not()
{
    const auto machine = check::unmeasured();
    const auto gpus = fakes(2);
    const auto now = machine.advise(large(), gpus.claim()).value();
    CHECK(now.choice == choice::gpu_now && now.gpu_now.mid == now.gpu.mid && now.gpu_wait.is_forever());
    CHECK(now.wait.known == expected_wait::none && now.wait.wait == 0ns && now.words.rfind("gpu now", 0) == 0);
    CHECK(now.why_not_fetch == obstacle::network && now.fetch.is_forever() && now.why_not_gpu == obstacle::none);
    CHECK(machine.advise(large(), gpus.claim().count(2))->gpu.mid < now.gpu.mid);
    CHECK(machine.advise(small(), gpus.claim())->choice == choice::cpu);
    machine.set_gpu_start({}).value(); // In a program that has begun with its devices they are worth it sooner.
    CHECK(machine.advise(large(), gpus.claim())->gpu.mid < now.gpu.mid);
    CHECK(gpus.manager().active_count().value() == 0); // Nothing was claimed.
}

static void a_taken_device_is_worth_waiting_for()
{
    const auto machine = check::unmeasured();
    const auto gpus = fakes(1);
    const auto lease = gpus.claim().ttl(5s).try_now().value();
    const auto later = machine.advise(large(), gpus.claim()).value();
    CHECK(later.wait.known == expected_wait::about && later.wait.wait <= 5s && later.gpu_now.is_forever());
    CHECK(later.gpu_wait.mid > later.gpu.mid);
    CHECK(later.choice == (later.gpu_wait.mid < later.cpu.mid ? choice::gpu_wait : choice::cpu));
}

static void what_cannot_be_done_says_why()
{
    const auto machine = check::unmeasured();
    const auto gpus = fakes(1);
    CHECK(machine.advise(cost{1, 1, std::uint64_t{1} << 40, 1}, gpus.claim())->why_not_gpu == obstacle::device_memory);
    const auto none = machine.advise(cost{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, gpus.claim()).value();
    CHECK(none.choice == choice::infeasible && !none.decisive && none.cpu.is_forever());
    tern::route way;
    way.bytes_per_second = UINT64_MAX;
    machine.set_route(way).value();
    CHECK(machine.advise(cost{UINT64_MAX, 0, 0, 1}, gpus.claim())->choice == choice::fetch);

    const auto empty = tern::pool::open("process:", tern::pool_options::of("none")).value();
    const auto without = machine.advise(small(), empty.claim()).value();
    CHECK(without.wait.known == expected_wait::no_devices && without.why_not_gpu == obstacle::no_device);
    CHECK_STATUS(machine.advise(small(), gpus.claim().count(2)), impossible);
    CHECK_STATUS(machine.advise(tern::task(cost()).kind(tern::kind{-1}), gpus.claim()), bad_value);
    CHECK_STATUS(machine.advise(small(), tern::gpu_claim(tern::pool())), null);
    CHECK_STATUS(tern::machine().advise(small(), gpus.claim()), null);
}

static void the_same_is_told_as_json()
{
    const auto gpus = fakes(1);
    const auto json = check::unmeasured().advise_json(small(), gpus.claim()).value();
    CHECK(json.front() == '{' && json.find("\"choice\": ") != std::string::npos && json.back() != '\0');
    CHECK_STATUS(check::unmeasured().advise_json(small(), gpus.claim().count(2)), impossible);
}

static void waits_are_told_before_and_in_line()
{
    const auto gpus = fakes(1);
    CHECK(gpus.claim().expected_wait()->known == expected_wait::none);
    auto lease = gpus.claim().ttl(60s).try_now().value();
    const auto before = gpus.claim().expected_wait().value();
    CHECK(before.known == expected_wait::about && before.wait > 0ns && before.wait <= 60s);
    auto first = gpus.claim().ttl(60s).enqueue().value();
    auto second = gpus.claim().ttl(60s).enqueue().value();
    const auto of_first = gpus.expected_wait_of(first.id()).value();
    const auto of_second = gpus.expected_wait_of(second.id()).value();
    CHECK(of_first.known == expected_wait::about && of_first.wait < of_second.wait && of_second.wait <= 120s);
    lease.release().value();
    CHECK(gpus.expected_wait_of(first.id())->known == expected_wait::none);
    CHECK_STATUS(gpus.expected_wait_of(tern::ticket_id::none), unknown_ticket);

    const auto endless = fakes(1);
    const auto kept = endless.try_claim().value();
    const auto unknown = endless.claim().expected_wait().value();
    CHECK(unknown.known == expected_wait::unknown && unknown.wait.is_forever());
    CHECK_STATUS(endless.claim().count(2).expected_wait(), impossible);
    CHECK_STATUS(tern::pool().expected_wait_of(first.id()), null);
}

int main()
{
    return check::run({
        {"a free device is worth it or not", a_free_device_is_worth_it_or_not},
        {"a taken device is worth waiting for", a_taken_device_is_worth_waiting_for},
        {"what cannot be done says why", what_cannot_be_done_says_why},
        {"the same is told as JSON", the_same_is_told_as_json},
        {"waits are told before and in line", waits_are_told_before_and_in_line},
    });
}
