// The least a test needs: checks that say what was wrong, and a list of tests with names.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include <ternlease.hpp>

namespace check {

struct test {
    const char* name;
    void (*run)();
};

[[noreturn]] inline void fail(const char* what, const char* detail, const char* file, int line)
{
    std::fprintf(stderr, "%s:%d: %s %s\n", file, line, what, detail);
    std::fflush(nullptr);
    std::_Exit(1); // Other threads may still run; nothing is to be cleaned up before them.
}

inline void that(bool holds, const char* what, const char* file, int line)
{
    if (!holds)
        fail("does not hold:", what, file, line);
}

inline void is(tern::status got, tern::status wanted, const char* file, int line)
{
    if (got != wanted)
        fail("unexpected status:", tern::name(got), file, line);
}

/// Runs them one after the other; what main() returns.
inline int run(std::initializer_list<test> tests)
{
    for (const test& test : tests) {
        test.run();
        std::printf("ok: %s\n", test.name);
    }
    return 0;
}

/// A manager that counts ticks, so that a test is the master of time.
inline tern::manager ticking() { return tern::manager::open("process:", tern::options::ticks()).value(); }

/// Lets so many ticks pass.
inline void pass(const tern::manager& manager, int ticks)
{
    for (int i = 0; i < ticks; i += 1)
        manager.tick().value();
}

/// A machine of which nothing was measured, without a network: takes no time.
inline tern::machine unmeasured()
{
    tern::machine_options how;
    how.no_benchmarks = true;
    how.no_network = true;
    return tern::machine::read("/", how).value();
}

/// A pool of so many devices that do not exist.
inline tern::pool fakes(int count)
{
    return tern::pool::open("process:", tern::pool_options::of("fake:" + std::to_string(count))).value();
}

} // namespace check

#define CHECK(condition) check::that(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

/// The call, which returns a result, must end with that status.
#define CHECK_STATUS(call, wanted) check::is((call).status(), tern::status::wanted, __FILE__, __LINE__)

/// The call must throw a tern::exception with that status.
#define CHECK_THROWS(call, wanted)                                                                                     \
    try {                                                                                                              \
        static_cast<void>(call);                                                                                       \
        check::fail("does not throw:", #call, __FILE__, __LINE__);                                                     \
    } catch (const tern::exception& thrown) {                                                                          \
        check::is(thrown.error().status(), tern::status::wanted, __FILE__, __LINE__);                                  \
    }

#endif
