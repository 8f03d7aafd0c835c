// Enumerations: their names and numbers. That none is missing is for drift.cpp.
#include "check.hpp"

#include <string>

static_assert(static_cast<int>(tern::lease_state::held) == 1 && static_cast<int>(tern::lease_state::expired) == 0);
static_assert(static_cast<int>(tern::lease_state::revoked) == -1 && static_cast<int>(tern::health::draining) == 0);
static_assert(static_cast<int>(tern::ticket_state::granted) == 1 && static_cast<int>(tern::ticket_state::denied) == -1);
static_assert(sizeof(tern::lease_state) == sizeof(tern_trit_t) && sizeof(tern::status) == sizeof(tern_status_t));

static void they_have_their_names()
{
    CHECK(std::string(tern::name(tern::status::busy)) == "TERN_BUSY");
    CHECK(std::string(tern::name(tern::status{12345})) == "TERN_STATUS_UNKNOWN");
    CHECK(std::string(tern::name(tern::reason::deadlock_victim)) == "DEADLOCK_VICTIM");
    CHECK(std::string(tern::name(tern::reason{12345})) == "UNKNOWN");
    CHECK(tern::class_of(tern::reason::preempted) == tern::reason_class::contention);
    CHECK(tern::class_of(tern::reason::none) == tern::reason_class::none);
}

static void ids_are_numbers_of_their_own_kind()
{
    CHECK(tern::number(tern::lease_id{7}) == 7 && tern::lease_id{7} < tern::lease_id{8});
    CHECK(tern::number(tern::ticket_id::none) == 0 && tern::number(tern::resource_id{3}) == 3);
}

int main()
{
    return check::run({
        {"enumerations have their names", they_have_their_names},
        {"ids are numbers of their own kind", ids_are_numbers_of_their_own_kind},
    });
}
