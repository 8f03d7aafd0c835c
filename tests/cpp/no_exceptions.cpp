// Without exceptions and run-time type information: everything compiles and works, and value() of an error
// aborts and says why.
#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "compile this file with -fno-exceptions -fno-rtti"
#endif

#include "check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

using check::ticking;
using tern::ticks;

/// What a child writes to its standard error before it is aborted.
static std::string last_words(void (*doomed)())
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        std::signal(SIGABRT, SIG_DFL);
        doomed();
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    char some[256];
    for (ssize_t got = 0; (got = read(ends[0], some, sizeof some)) > 0;)
        words.append(some, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return words;
}

static void results_work_as_usual()
{
    const auto manager = ticking();
    auto lease = manager.claim("a").of({"gpu0", "gpu1"}).count(2).ttl(ticks{5}).try_now();
    CHECK(lease && lease->state() == tern::lease_state::held);
    const auto refused = manager.acquire("gpu0", "b", ticks{5});
    CHECK_STATUS(refused, busy);
    CHECK(std::strlen(refused.error().message()) > 0);
    lease->watch([](const tern::notice&) {}).value();
    auto events = manager.events().value();
    CHECK(events.next()->kind == tern::event_kind::granted);
    CHECK(manager.find_deadlocks()->empty() && manager.leases()->size() == 1);
}

static void machines_and_guesses_work_as_usual()
{
    std::uint32_t told = 0;
    tern::machine_options how;
    how.no_network = true;
    how.budget = std::chrono::milliseconds(1);
    how.progress = [&told](const tern::progress& now) { told += now.done < now.of ? 1 : 0; };
    const auto machine = tern::machine::read("/", how).value();
    CHECK(told > 0 && machine.info()->cores_usable > 0);
    const auto pool = check::fakes(2);
    CHECK(machine.verdict(tern::cost::copy(1000))->answer == tern::answer::compute);
    CHECK(machine.advise(tern::cost::copy(1000), pool.claim())->choice == tern::choice::cpu);
    CHECK(pool.claim().expected_wait()->known == tern::expected_wait::none && pool.speed(0)->memory);
    CHECK_STATUS(tern::machine::read("/nowhere/at/all", how), system);
}

static void a_value_that_is_not_there_aborts()
{
    const auto words = last_words([] { static_cast<void>(tern::manager::open("moon:").value()); });
    CHECK(words.rfind("TERN_ERR_BAD_URL: ", 0) == 0 && words.find("moon:") != std::string::npos &&
          words.back() == '\n');
}

static void so_does_one_of_nothing()
{
    const auto words = last_words([] { tern::manager().tick().value(); });
    CHECK(words.rfind("TERN_ERR_NULL: ", 0) == 0);
}

int main()
{
    return check::run({
        {"a value that is not there aborts", a_value_that_is_not_there_aborts},
        {"so does a result without a value", so_does_one_of_nothing},
        {"results work as usual", results_work_as_usual},
        {"machines and guesses work as usual", machines_and_guesses_work_as_usual},
    });
}
