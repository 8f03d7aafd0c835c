// Tasks: what is said of one comes to the library, and runs teach.
#include "check.hpp"

#include <chrono>
#include <utility>

using namespace std::chrono_literals;
using tern::cost;
using tern::kind;
using tern::task;

static void what_is_said_is_what_is_asked()
{
    tern::learned learned;
    learned.runs = 3;
    learned.permille = 1500;
    const auto all = task(cost{1, 2, 3, 4}).kind(kind::sort).threads(8).input(0).learned(learned);
    const tern_task_t& raw = *all.capi();
    CHECK(raw.struct_size == sizeof raw && cost::of(raw.cost) == (cost{1, 2, 3, 4}));
    CHECK(raw.kind == TERN_KIND_SORT && raw.threads == 8 && raw.learned_runs == 3 && raw.learned_permille == 1500);
    CHECK(raw.flags == TERN_TASK_INPUT && raw.input_bytes == 0); // None is said, too.

    const task bare = cost::copy(7);
    CHECK(bare.capi()->kind == TERN_KIND_ROOFLINE && bare.capi()->flags == 0 && bare.capi()->threads == 0);
}

static void what_is_no_task_is_refused()
{
    const auto machine = check::unmeasured();
    CHECK_STATUS(machine.verdict(task(cost::copy(7)).kind(kind{77})), bad_value);
    CHECK_STATUS(machine.compute_time(task(cost::copy(7)).kind(kind{-1})), bad_value);
}

static void runs_teach()
{
    tern::learned learned;
    learned.record(1ms, 3ms).value();
    CHECK(learned.runs == 1 && learned.permille == 3000);
    learned.record(1ms, tern::forever).value(); // That teaches nothing.
    learned.record(tern::nanos(), 1ms).value();
    CHECK(learned.runs == 1 && learned.permille == 3000);

    const auto machine = check::unmeasured();
    const auto sort = task(cost::sort(1000000, 8, 8000000)).kind(kind::sort);
    const auto untaught = machine.untaught_time(sort).value();
    learned = {};
    learned.record(untaught, tern::nanos(2 * untaught.count())).value();
    const auto taught = machine.compute_time(task(sort).learned(learned)).value();
    const auto expected = 2 * untaught.count();
    CHECK(taught.mid.count() > expected - expected / 100 && taught.mid.count() < expected + expected / 100);
    CHECK(machine.untaught_time(task(sort).learned(learned)).value() == untaught);
}

int main()
{
    return check::run({
        {"what is said is what is asked", what_is_said_is_what_is_asked},
        {"what is no task is refused", what_is_no_task_is_refused},
        {"runs teach", runs_teach},
    });
}
