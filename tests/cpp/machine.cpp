// Machines: what is read, what may be said about how, what is kept, and who is told of it.
#include "check.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;
using tern::machine;
using tern::machine_options;

static_assert(std::is_copy_constructible_v<machine> && std::is_nothrow_move_constructible_v<machine>);

/// Measured for a moment.
static machine_options quick()
{
    machine_options how;
    how.no_network = true;
    how.budget = 5ms;
    return how;
}

static void a_machine_says_what_it_is()
{
    const auto it = check::unmeasured();
    const auto info = it.info().value();
    CHECK(info.cores_usable >= 1 && info.cores_logical >= 1 && info.cores_physical >= 1 && !info.processor.empty());
    CHECK(info.mem_total > 0 && info.mem_available <= info.mem_total && info.compute_budget < info.mem_available);
    CHECK(info.disk && info.disk->free <= info.disk->total && info.store == "/");
    CHECK(info.network == tern::network::none && info.network_mbps == 0 && !info.age);
    CHECK(info.machine_class >= tern::machine_class::constrained && info.machine_class <= tern::machine_class::desktop);
    CHECK(info.gpu_start.lo <= info.gpu_start.mid && info.gpu_start.mid <= info.gpu_start.hi);
    CHECK(info.mem_pressure_permille <= 1000 && info.disk_pressure_permille <= 1000 && info.ridge_permille > 0);
    CHECK(info.core_scaling_permille <= 1000 && info.freq_mhz.value_or(1) > 0 && (info.has_battery || !info.on_battery));
    const auto json = it.json().value();
    CHECK(json.front() == '{' && json.find("\"triad_all\"") != std::string::npos && json.back() != '\0');
}

static void rates_say_where_they_come_from()
{
    const auto it = check::unmeasured();
    for (std::int32_t which = TERN_RATE_FLOP64; which <= TERN_RATE_DISK_READ; which += 1) {
        const auto rate = it.rate(tern::rate_of{which}).value();
        CHECK(rate.per_second > 0 && rate.usual == rate.per_second && rate.source == tern::source::estimated);
    }
    CHECK_STATUS(it.rate(tern::rate_of{-1}), bad_value);
    CHECK_STATUS(it.rate(tern::rate_of{TERN_RATE_DISK_READ + 1}), bad_value);
}

static void the_start_of_a_gpu_can_be_said()
{
    const auto it = check::unmeasured();
    it.set_gpu_start({0ns, 5ns, tern::forever}).value();
    const auto told = it.info()->gpu_start;
    CHECK(told.lo == 0ns && told.mid == 5ns && told.hi.is_forever() && !told.is_forever());
    CHECK_STATUS(it.set_gpu_start({6ns, 5ns, 7ns}), bad_value);
}

static void copies_share_what_they_are_taught()
{
    const auto one = check::unmeasured();
    const auto other = one;
    one.set_gpu_start({}).value();
    CHECK(other.info()->gpu_start.hi == 0ns && other.capi() == one.capi());
}

static void what_cannot_be_read_is_refused()
{
    machine_options how;
    how.no_benchmarks = true;
    for (const char* nowhere : {"", "/nowhere/at/all"}) {
        const auto none = machine::read(nowhere, how);
        CHECK_STATUS(none, system);
        CHECK(none.error().os_errno() == ENOENT);
    }
    how.keep = how.refresh = true;
    CHECK_STATUS(machine::read("/", how), bad_value);
    how = {};
    how.no_benchmarks = true;
    how.budget = std::chrono::hours(1 << 20);
    CHECK_STATUS(machine::read("/", how), time_too_large);
    how.budget = how.max_age = tern::forever;
    CHECK(machine::read("/", how).has_value());
    const machine none;
    CHECK(!none);
    CHECK_STATUS(none.info(), null);
    CHECK_STATUS(none.json(), null);
    CHECK_STATUS(none.can_store(1), null);
    CHECK_STATUS(none.verdict(tern::cost()), null);
}

static void progress_is_told()
{
    std::vector<std::string> steps;
    auto how = quick();
    how.progress = [&steps](const tern::progress& now) {
        CHECK(now.done == steps.size() && now.done < now.of);
        steps.emplace_back(now.step);
        check::unmeasured(); // It may use the library meanwhile.
    };
    const auto it = machine::read("/", how).value();
    CHECK(steps.size() > 1 && steps.back() == "done" && it.info()->age.has_value());
}

static void an_exception_of_who_is_told_comes_out()
{
    int calls = 0;
    auto how = quick();
    how.progress = [&calls](const tern::progress&) {
        calls += 1;
        throw std::runtime_error("enough");
    };
    for (int round = 1; round <= 2; round += 1) {
        bool caught = false;
        try {
            static_cast<void>(machine::read("/", how));
        } catch (const std::runtime_error& thrown) {
            caught = std::string(thrown.what()) == "enough";
        }
        CHECK(caught && calls == round);
    }
}

static void what_was_measured_can_be_kept()
{
    char directory[] = "/tmp/ternlease-machine-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    auto how = quick();
    how.cache_file = std::string(directory) + "/rates";
    struct stat is{};
    machine::read("/", how).value();
    CHECK(stat(how.cache_file.c_str(), &is) != 0); // Nobody asked for it.
    how.keep = true;
    machine::read("/", how).value();
    CHECK(stat(how.cache_file.c_str(), &is) == 0);
    bool measured = false;
    how.keep = false;
    how.progress = [&measured](const tern::progress&) { measured = true; };
    CHECK(machine::read("/", how)->info()->age.has_value() && !measured);
    how.refresh = true;
    machine::read("/", how).value();
    CHECK(measured && unlink(how.cache_file.c_str()) == 0 && rmdir(directory) == 0);
}

static void a_forked_child_reads_anew()
{
    const auto it = check::unmeasured();
    const pid_t child = fork();
    if (child == 0) {
        const bool right = it.info().status() == tern::status::forked && check::unmeasured().info().has_value();
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && it.info().has_value());
}

int main()
{
    return check::run({
        {"a machine says what it is", a_machine_says_what_it_is},
        {"rates say where they come from", rates_say_where_they_come_from},
        {"the start of a GPU can be said", the_start_of_a_gpu_can_be_said},
        {"copies share what they are taught", copies_share_what_they_are_taught},
        {"what cannot be read is refused", what_cannot_be_read_is_refused},
        {"progress is told", progress_is_told},
        {"an exception of who is told comes out", an_exception_of_who_is_told_comes_out},
        {"what was measured can be kept", what_was_measured_can_be_kept},
        {"a forked child reads anew", a_forked_child_reads_anew},
    });
}
