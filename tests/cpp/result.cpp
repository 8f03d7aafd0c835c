// Results: a value or an error, looked at or thrown.
#include "check.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

using tern::error;
using tern::result;
using tern::status;

static_assert(std::is_trivially_copyable_v<error>);
static_assert(!std::is_convertible_v<result<int>, bool>); // a result<bool> would be read the wrong way
static_assert(!std::is_copy_constructible_v<result<std::unique_ptr<int>>>);

static error some_error() { return error(status::system, "the disk is full", 28); }

static void holds_a_value()
{
    result<std::string> good(std::string("gpu0"));
    CHECK(good && good.has_value());
    CHECK_STATUS(good, ok);
    CHECK(*good == "gpu0" && good->size() == 4 && good.value() == "gpu0");
    good.value() += "x";
    const auto& seen = good;
    CHECK(*seen == "gpu0x" && seen->size() == 5 && seen.value() == "gpu0x");
    CHECK(std::move(good).value_or("none") == "gpu0x");
}

static void holds_an_error()
{
    result<std::string> bad(some_error());
    CHECK(!bad && !bad.has_value());
    CHECK_STATUS(bad, system);
    CHECK(bad.error().os_errno() == 28 && bad.error().driver_code() == 0);
    CHECK(bad.error().reason() == tern::reason::none);
    CHECK(std::string(bad.error().message()) == "the disk is full");
    CHECK(std::move(bad).value_or("none") == "none");
}

static void may_hold_nothing()
{
    const result<void> done;
    CHECK(done && done.has_value());
    CHECK_STATUS(done, ok);
    done.value();

    const result<void> failed(some_error());
    CHECK(!failed);
    CHECK_STATUS(failed, system);
    CHECK(failed.error().os_errno() == 28);
    CHECK_THROWS(failed.value(), system);
}

static void throws_when_asked_for_what_is_not_there()
{
    result<int> bad(some_error());
    const auto& seen = bad;
    CHECK_THROWS(bad.value(), system);
    CHECK_THROWS(seen.value(), system);
    CHECK_THROWS(std::move(bad).value(), system);
    std::string said;
    try {
        seen.value();
    } catch (const std::runtime_error& thrown) {
        said = thrown.what();
    }
    CHECK(said == "TERN_ERR_SYSTEM: the disk is full");
}

static void moves_what_cannot_be_copied()
{
    result<std::unique_ptr<int>> held(std::make_unique<int>(7));
    auto moved = std::move(held);
    const std::unique_ptr<int> out = std::move(moved).value();
    CHECK(*out == 7);
    auto other = *result<std::unique_ptr<int>>(std::make_unique<int>(8));
    CHECK(*other == 8);
}

static void a_loop_over_a_value_is_safe()
{
    const auto letters = [] { return result<std::string>(std::string(99, 'x')); };
    int count = 0;
    for (const char letter : letters().value())
        count += letter == 'x';
    CHECK(count == 99);
}

static void a_long_message_is_cut()
{
    const std::string tale(1000, 'x');
    const error cut(status::system, tale);
    CHECK(std::string(cut.message()) == std::string(255, 'x'));
}

static void carries_what_the_library_says()
{
    const auto bad = tern::manager::open("moon:");
    CHECK_STATUS(bad, bad_url);
    CHECK(std::string(bad.error().message()).find("moon:") != std::string::npos);
    CHECK(bad.error().capi()->status == TERN_ERR_BAD_URL);
    CHECK_THROWS(tern::manager::open("moon:").value(), bad_url);
}

int main()
{
    return check::run({
        {"a result holds a value", holds_a_value},
        {"or an error", holds_an_error},
        {"or only tells that it was done", may_hold_nothing},
        {"it throws when asked for what is not there", throws_when_asked_for_what_is_not_there},
        {"it moves what cannot be copied", moves_what_cannot_be_copied},
        {"a loop over a value is safe", a_loop_over_a_value_is_safe},
        {"a long message is cut", a_long_message_is_cut},
        {"an error carries what the library says", carries_what_the_library_says},
    });
}
