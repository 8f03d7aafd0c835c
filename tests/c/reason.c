/* Reasons: every number has its name and its class, and no other number has. */
#include "check.h"

#define R(name, class) { TERN_REASON_##name, #name, class }

static const struct {
    int32_t reason;
    const char *name;
    int32_t class;
} reasons[] = {
    R(NONE, 0),
    R(DEADLOCK_VICTIM, TERN_CLASS_CONTENTION),
    R(PREEMPTED, TERN_CLASS_CONTENTION),
    R(SPARE_RECLAIMED, TERN_CLASS_CONTENTION),
    R(QUOTA, TERN_CLASS_CONTENTION),
    R(MAX_DURATION, TERN_CLASS_LIMIT),
    R(BUDGET, TERN_CLASS_LIMIT),
    R(NO_PROGRESS, TERN_CLASS_CONDUCT),
    R(OVER_USE, TERN_CLASS_CONDUCT),
    R(IGNORED_NOTICE, TERN_CLASS_CONDUCT),
    R(BAD_TOKEN, TERN_CLASS_CONDUCT),
    R(DEVICE_FAULT, TERN_CLASS_RESOURCE),
    R(NODE_DRAIN, TERN_CLASS_RESOURCE),
    R(RECONFIGURED, TERN_CLASS_RESOURCE),
    R(OPERATOR, TERN_CLASS_AUTHORITY),
    R(SUPERSEDED, TERN_CLASS_AUTHORITY),
    R(PARENT_REVOKED, TERN_CLASS_AUTHORITY),
    R(SHUTDOWN, TERN_CLASS_AUTHORITY),
    R(TIMED_OUT, TERN_CLASS_ENDED),
    R(RELEASED, TERN_CLASS_ENDED),
    R(HOLDER_DIED, TERN_CLASS_ENDED),
    R(ENGINE_LOST, TERN_CLASS_ENDED),
    R(WAIT_TIMED_OUT, TERN_CLASS_REFUSED),
    R(CANCELLED, TERN_CLASS_REFUSED),
    R(PARENT_ENDED, TERN_CLASS_REFUSED),
};

enum { COUNT = sizeof reasons / sizeof reasons[0] };

static void check_reason(int32_t reason)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (reasons[i].reason == reason) {
            CHECK_TEXT(tern_reason_name(reason), reasons[i].name);
            CHECK_EQ(tern_reason_class(reason), reasons[i].class);
            return;
        }
    }
    CHECK_TEXT(tern_reason_name(reason), "UNKNOWN");
    CHECK_EQ(tern_reason_class(reason), 0);
}

int main(void)
{
    for (int32_t reason = -1000; reason <= 2000; reason++)
        check_reason(reason);
    /* Those that would be one if a narrower number were taken of them. */
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_EQ(reasons[i].reason / 100, reasons[i].class);
        if (reasons[i].reason != 0) {
            check_reason(reasons[i].reason + 65536);
            check_reason(reasons[i].reason - 65536);
            check_reason(-reasons[i].reason);
        }
    }
    check_reason(INT32_MIN);
    check_reason(INT32_MAX);
    return finish(__FILE__);
}
