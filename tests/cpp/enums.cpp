// Enumerations: everything that ternlease.h names has a name in C++ too, with the same number.
#include "check.hpp"

#include <string>

// The compiler warns of an enumerator in C that is not among the cases; the numbers of these come from C++.
static bool is_known(tern_status_t number)
{
    using tern::status;
    switch (number) {
    case tern_status_t(status::ok):
    case tern_status_t(status::busy):
    case tern_status_t(status::timeout):
    case tern_status_t(status::empty):
    case tern_status_t(status::waiting):
    case tern_status_t(status::refused):
    case tern_status_t(status::unchanged):
    case tern_status_t(status::more):
    case tern_status_t(status::null):
    case tern_status_t(status::bad_handle):
    case tern_status_t(status::closed):
    case tern_status_t(status::forked):
    case tern_status_t(status::poisoned):
    case tern_status_t(status::panic):
    case tern_status_t(status::bad_struct):
    case tern_status_t(status::bad_text):
    case tern_status_t(status::bad_value):
    case tern_status_t(status::bad_url):
    case tern_status_t(status::unsupported):
    case tern_status_t(status::version):
    case tern_status_t(status::system):
    case tern_status_t(status::corrupt):
    case tern_status_t(status::full):
    case tern_status_t(status::stuck):
    case tern_status_t(status::empty_name):
    case tern_status_t(status::name_too_long):
    case tern_status_t(status::zero_ttl):
    case tern_status_t(status::time_too_large):
    case tern_status_t(status::too_few_resources):
    case tern_status_t(status::duplicate_resource):
    case tern_status_t(status::zero_amount):
    case tern_status_t(status::unknown_resource):
    case tern_status_t(status::impossible):
    case tern_status_t(status::unknown_lease):
    case tern_status_t(status::unknown_ticket):
    case tern_status_t(status::not_held):
    case tern_status_t(status::not_a_revocation):
    case tern_status_t(status::parent_not_held):
    case tern_status_t(status::too_deep):
    case tern_status_t(status::in_use):
    case tern_status_t(status::unknown_want):
    case tern_status_t(status::unknown_process):
        return true;
    }
    return false;
}

static bool is_known(tern_reason_t number)
{
    using tern::reason;
    switch (number) {
    case tern_reason_t(reason::none):
    case tern_reason_t(reason::deadlock_victim):
    case tern_reason_t(reason::preempted):
    case tern_reason_t(reason::spare_reclaimed):
    case tern_reason_t(reason::quota):
    case tern_reason_t(reason::max_duration):
    case tern_reason_t(reason::budget):
    case tern_reason_t(reason::no_progress):
    case tern_reason_t(reason::over_use):
    case tern_reason_t(reason::ignored_notice):
    case tern_reason_t(reason::bad_token):
    case tern_reason_t(reason::device_fault):
    case tern_reason_t(reason::node_drain):
    case tern_reason_t(reason::reconfigured):
    case tern_reason_t(reason::operator_):
    case tern_reason_t(reason::superseded):
    case tern_reason_t(reason::parent_revoked):
    case tern_reason_t(reason::shutdown):
    case tern_reason_t(reason::timed_out):
    case tern_reason_t(reason::released):
    case tern_reason_t(reason::holder_died):
    case tern_reason_t(reason::engine_lost):
    case tern_reason_t(reason::wait_timed_out):
    case tern_reason_t(reason::cancelled):
    case tern_reason_t(reason::parent_ended):
        return true;
    }
    return false;
}

static bool is_known(tern_reason_class_t number)
{
    using tern::reason_class;
    switch (number) {
    case tern_reason_class_t(reason_class::contention):
    case tern_reason_class_t(reason_class::limit):
    case tern_reason_class_t(reason_class::conduct):
    case tern_reason_class_t(reason_class::resource):
    case tern_reason_class_t(reason_class::authority):
    case tern_reason_class_t(reason_class::ended):
    case tern_reason_class_t(reason_class::refused):
        return true;
    }
    return false;
}

static bool is_known(tern_event_kind_t number)
{
    using tern::event_kind;
    switch (number) {
    case tern_event_kind_t(event_kind::granted):
    case tern_event_kind_t(event_kind::renewed_late):
    case tern_event_kind_t(event_kind::revoking):
    case tern_event_kind_t(event_kind::ended):
    case tern_event_kind_t(event_kind::queued):
    case tern_event_kind_t(event_kind::refused):
    case tern_event_kind_t(event_kind::health):
    case tern_event_kind_t(event_kind::died):
    case tern_event_kind_t(event_kind::rolled_back):
        return true;
    }
    return false;
}

static bool is_known(tern_life_t number)
{
    using tern::life;
    switch (number) {
    case tern_life_t(life::lives):
    case tern_life_t(life::dying):
    case tern_life_t(life::gone):
    case tern_life_t(life::tree):
        return true;
    }
    return false;
}

static bool is_known(tern_vendor_t number)
{
    using tern::vendor;
    switch (number) {
    case tern_vendor_t(vendor::any):
    case tern_vendor_t(vendor::nvidia):
    case tern_vendor_t(vendor::amd):
    case tern_vendor_t(vendor::intel):
    case tern_vendor_t(vendor::other):
        return true;
    }
    return false;
}

static_assert(static_cast<int>(tern::lease_state::held) == 1 && static_cast<int>(tern::lease_state::expired) == 0);
static_assert(static_cast<int>(tern::lease_state::revoked) == -1 && static_cast<int>(tern::health::draining) == 0);
static_assert(static_cast<int>(tern::ticket_state::granted) == 1 && static_cast<int>(tern::ticket_state::denied) == -1);
static_assert(sizeof(tern::lease_state) == sizeof(tern_trit_t) && sizeof(tern::status) == sizeof(tern_status_t));

static void everything_in_c_is_known()
{
    CHECK(is_known(TERN_OK) && is_known(TERN_ERR_UNKNOWN_PROCESS) && !is_known(tern_status_t(12345)));
    CHECK(is_known(TERN_REASON_NONE) && is_known(TERN_REASON_PARENT_ENDED) && !is_known(tern_reason_t(12345)));
    CHECK(is_known(TERN_CLASS_CONTENTION) && !is_known(tern_reason_class_t(12345)));
    CHECK(is_known(TERN_EVENT_GRANTED) && !is_known(tern_event_kind_t(12345)));
    CHECK(is_known(TERN_LIFE_TREE) && !is_known(tern_life_t(12345)));
    CHECK(is_known(TERN_VENDOR_OTHER) && !is_known(tern_vendor_t(12345)));
}

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
        {"everything in C is known", everything_in_c_is_known},
        {"enumerations have their names", they_have_their_names},
        {"ids are numbers of their own kind", ids_are_numbers_of_their_own_kind},
    });
}
