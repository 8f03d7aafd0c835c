/*
 * ternlease: leases on GPUs and other scarce things. Who may use it now, until when, and why not.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 * Made from src/ffi by `make header`. Do not edit.
 *
 * What holds for all functions:
 *
 * - Names are tern_<type>_<verb>(manager or self, inputs, outputs, err). `const` means shared: with
 *   other threads, not that nothing changes.
 * - They return a status, and details of it in `err`, which may be NULL; or a trit (+1, 0, -1).
 * - Every pointer is checked for NULL, which is allowed for what has no length. Outputs are written
 *   only as the status says. What failed has changed nothing.
 * - Managers, pools, machines and readers are opaque handles, to be closed. Leases and tickets are
 *   numbers, which need no care: one that is over, forged or of another manager is a status.
 * - Text comes in as pointer and length, in UTF-8, and is not kept: TERN_STR("gpu0") writes both.
 *   It goes out into the caller's buffer, always terminated.
 * - Structs begin with their size; make them with their _init function.
 * - All functions may be called from any thread. None installs a signal handler, reads the
 *   environment (but for those that open a pool or read a machine), or prints (but for a bug of the
 *   library, which is TERN_ERR_PANIC).
 * - In a child after fork() every handle from before is TERN_ERR_FORKED.
 */
#ifndef TERNLEASE_H
#define TERNLEASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The version of this header; tern_version() tells that of the library. */
#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0
#define TERN_VERSION_NUMBER 1000

/* A text as pointer and length, for two arguments or the two members of a tern_text_t. */
#define TERN_STR(text) (text), strlen(text)

/* Without end; as a cursor: from now on. */
#define TERN_FOREVER UINT64_MAX

/* Lengths of time for managers with a real clock, which count microseconds. */
#define TERN_MILLISECOND UINT64_C(1000)
#define TERN_SECOND UINT64_C(1000000)

/* What never ends, where times are predicted: in nanoseconds. */
#define TERN_NEVER UINT64_MAX

/* The longest name of a holder or resource, in bytes. */
#define TERN_NAME_MAX 255

/* One of three answers: +1, 0 or -1. */
typedef int8_t tern_trit_t;

/* Not one of the three: "I do not know". */
#define TERN_TRIT_UNKNOWN INT8_MIN

/* A lease is ... */
#define TERN_HELD 1
#define TERN_EXPIRED 0
#define TERN_REVOKED (-1)

/* A ticket is ... */
#define TERN_GRANTED 1
#define TERN_IN_LINE 0
#define TERN_DENIED (-1)

/* A resource is ... */
#define TERN_HEALTHY 1
#define TERN_DRAINING 0
#define TERN_FAILED (-1)

/* A result is to be fetched, or computed; or it makes no difference. */
#define TERN_FETCH 1
#define TERN_BREAK_EVEN 0
#define TERN_COMPUTE (-1)

/* Enumerations are 32 bits wide, in every language and version of it. */
#ifdef __cplusplus
#define TERN_ENUM_BEGIN(name) enum name : int32_t {
#else
#define TERN_ENUM_BEGIN(name) typedef int32_t name; enum {
#endif
#define TERN_ENUM_END };

#ifdef __cplusplus
extern "C" {
#endif

/* ===========================================================================
 * Status: what became of a call.
 *
 * One enumeration for the whole library. Zero is success; a positive status is a normal outcome
 * that is not success (nothing is wrong: try later, or read on); a negative one is a failure.
 * Whatever is not TERN_OK has changed nothing, unless its description says otherwise. Numbers
 * are never changed or used again.
 * =========================================================================== */

// What became of a call.
TERN_ENUM_BEGIN(tern_status_t)
    // It was done.
    TERN_OK = 0,
    // Not free now, and the claim does not wait.
    TERN_BUSY = 1,
    // The time came first. A claim that waited has left the line.
    TERN_TIMEOUT = 2,
    // There is nothing now: ask again later. Of a pool: it has no devices, so do without.
    TERN_EMPTY = 3,
    // The claim stands in line.
    TERN_WAITING = 4,
    // The claim waited and will not be granted; the error's reason says why.
    TERN_REFUSED = 5,
    // It was so already.
    TERN_UNCHANGED = 6,
    // The caller's buffer was filled, and there is more: the needed size was told.
    TERN_MORE = 7,
    // A pointer that must not be NULL is NULL.
    TERN_ERR_NULL = -1,
    // The pointer is not a handle of this kind.
    TERN_ERR_BAD_HANDLE = -2,
    // The handle, or the manager behind it, was closed.
    TERN_ERR_CLOSED = -3,
    // The handle was opened before this process was forked. Open a new one.
    TERN_ERR_FORKED = -4,
    // An earlier call panicked. Close the handle.
    TERN_ERR_POISONED = -5,
    // The library has a bug and noticed. The handle is poisoned.
    TERN_ERR_PANIC = -6,
    // A struct's size makes no sense, or it says something that this version does not know.
    TERN_ERR_BAD_STRUCT = -7,
    // A text is not UTF-8, or a name has a zero byte in it.
    TERN_ERR_BAD_TEXT = -8,
    // A number or word is none of those that are allowed there.
    TERN_ERR_BAD_VALUE = -9,
    // The URL names no home that there is.
    TERN_ERR_BAD_URL = -10,
    // This system, or this build of the library, cannot do that.
    TERN_ERR_UNSUPPORTED = -11,
    // The program was compiled for another version of the library.
    TERN_ERR_VERSION = -12,
    // The operating system refused; the error's os_errno says why.
    TERN_ERR_SYSTEM = -13,
    // The table's memory does not make sense.
    TERN_ERR_CORRUPT = -14,
    // The table has no room left. Open it with larger limits.
    TERN_ERR_FULL = -15,
    // A process that has the lock of a shared table does not go on. Continue or end it.
    TERN_ERR_STUCK = -16,
    // A name is empty.
    TERN_ERR_EMPTY_NAME = -20,
    // A name is longer than TERN_NAME_MAX bytes.
    TERN_ERR_NAME_TOO_LONG = -21,
    // A lease of no length was asked for. Without end is TERN_FOREVER.
    TERN_ERR_ZERO_TTL = -22,
    // A time does not fit into 48 bits, or a notice is without end. A lease or wait without end
    // is TERN_FOREVER.
    TERN_ERR_TIME_TOO_LARGE = -23,
    // The claim asks for more resources than it names.
    TERN_ERR_TOO_FEW_RESOURCES = -24,
    // The claim names a resource twice.
    TERN_ERR_DUPLICATE_RESOURCE = -25,
    // A resource must have, or a claim take, at least one slot or some memory.
    TERN_ERR_ZERO_AMOUNT = -26,
    // No such resource is declared.
    TERN_ERR_UNKNOWN_RESOURCE = -27,
    // The claim asks for more than there is. Waiting would not help.
    TERN_ERR_IMPOSSIBLE = -28,
    // No lease of that id is remembered.
    TERN_ERR_UNKNOWN_LEASE = -29,
    // No ticket of that id is remembered.
    TERN_ERR_UNKNOWN_TICKET = -30,
    // The lease is over; the error's reason says why.
    TERN_ERR_NOT_HELD = -31,
    // That is not a reason to revoke a lease.
    TERN_ERR_NOT_A_REVOCATION = -32,
    // The parent lease is not held.
    TERN_ERR_PARENT_NOT_HELD = -33,
    // Leases hang at most 16 deep.
    TERN_ERR_TOO_DEEP = -34,
    // A resource that is in use cannot change its size.
    TERN_ERR_IN_USE = -35,
    // The holder has declared no such want.
    TERN_ERR_UNKNOWN_WANT = -36,
    // No process of that number uses the table.
    TERN_ERR_UNKNOWN_PROCESS = -37,
    // The lease belongs to another user: only that user or root may transfer it.
    TERN_ERR_OTHER_PRINCIPAL = -38,
TERN_ENUM_END

// The name of a status, such as "TERN_ERR_NULL"; "TERN_STATUS_UNKNOWN" for a number that is
// none. The text is constant and always there.
const char *tern_status_name(int32_t status);

/* ===========================================================================
 * Reasons: why a lease is over, or a claim was refused.
 *
 * Reasons are numbers in classes: the hundreds are the class, and the class tells what to do
 * next. Numbers and names are stable and never used again, so that they can be stored, logged
 * and compared.
 * =========================================================================== */

// Why a lease is over, or a claim was refused.
TERN_ENUM_BEGIN(tern_reason_t)
    // There is none.
    TERN_REASON_NONE = 0,
    // Revoked to break a deadlock.
    TERN_REASON_DEADLOCK_VICTIM = 101,
    // A claim of higher priority took it.
    TERN_REASON_PREEMPTED = 102,
    // Spare capacity was needed by somebody who waited.
    TERN_REASON_SPARE_RECLAIMED = 103,
    // The holder's share is used up and others need it.
    TERN_REASON_QUOTA = 104,
    // The longest allowed time is over.
    TERN_REASON_MAX_DURATION = 201,
    // The budget is spent.
    TERN_REASON_BUDGET = 202,
    // The holder renews but does not work.
    TERN_REASON_NO_PROGRESS = 301,
    // The holder uses more than it was given.
    TERN_REASON_OVER_USE = 302,
    // An earlier notice was ignored.
    TERN_REASON_IGNORED_NOTICE = 303,
    // The holder acted with a stale or foreign token.
    TERN_REASON_BAD_TOKEN = 304,
    // The device failed.
    TERN_REASON_DEVICE_FAULT = 401,
    // The machine is being emptied.
    TERN_REASON_NODE_DRAIN = 402,
    // The device was repartitioned or swapped.
    TERN_REASON_RECONFIGURED = 403,
    // An operator asked for it.
    TERN_REASON_OPERATOR = 501,
    // A newer lease replaces this one.
    TERN_REASON_SUPERSEDED = 502,
    // The lease it depends on was revoked.
    TERN_REASON_PARENT_REVOKED = 503,
    // The service is shutting down.
    TERN_REASON_SHUTDOWN = 504,
    // The time ran out and nobody renewed.
    TERN_REASON_TIMED_OUT = 601,
    // The holder gave it back.
    TERN_REASON_RELEASED = 602,
    // The holder is gone.
    TERN_REASON_HOLDER_DIED = 603,
    // The store that keeps the table was lost.
    TERN_REASON_ENGINE_LOST = 604,
    // The claim waited as long as it wanted to.
    TERN_REASON_WAIT_TIMED_OUT = 701,
    // The claimer withdrew the claim.
    TERN_REASON_CANCELLED = 702,
    // The lease that was to be the parent ended.
    TERN_REASON_PARENT_ENDED = 703,
TERN_ENUM_END

// What a class of reasons asks a holder to do.
TERN_ENUM_BEGIN(tern_reason_class_t)
    // Somebody else needed it more. Try again.
    TERN_CLASS_CONTENTION = 1,
    // A limit was reached. Claim again, as a newcomer.
    TERN_CLASS_LIMIT = 2,
    // The holder misbehaved. Back off and look.
    TERN_CLASS_CONDUCT = 3,
    // The thing itself is gone or changing. Go elsewhere.
    TERN_CLASS_RESOURCE = 4,
    // Somebody in charge said so. Stop and ask.
    TERN_CLASS_AUTHORITY = 5,
    // The lease was not taken away: it ended.
    TERN_CLASS_ENDED = 6,
    // A claim was not granted.
    TERN_CLASS_REFUSED = 7,
TERN_ENUM_END

// The name of a reason, such as "DEADLOCK_VICTIM"; "UNKNOWN" for a number that is none. The
// text is constant.
const char *tern_reason_name(int32_t reason);

// The class of a reason, a tern_reason_class_t; 0 for a number that is none.
int32_t tern_reason_class(int32_t reason);

/* ===========================================================================
 * Errors: the details of a status.
 *
 * Every function that can fail takes a tern_error_t of the caller's as its last argument, or
 * NULL. It is filled in whenever the status is not TERN_OK, and left alone otherwise. There is
 * no "last error" that another call or another thread could overwrite, and nothing to free.
 * Make it with tern_error_init(), or zero it: a struct_size of 0 stands for the size that
 * tern_error_t had in the first version of the library. Any other size that is not one is
 * TERN_ERR_BAD_STRUCT.
 *
 *     tern_error_t err = tern_error_init();
 *     if (tern_lease_renew(manager, lease, NULL, &err) != TERN_OK)
 *         fprintf(stderr, "%s: %s\n", tern_status_name(err.status), err.message);
 * =========================================================================== */

// The details of a status. Make it with tern_error_init(); a zero-initialized one is valid as
// well.
typedef struct tern_error_t {
    // sizeof(tern_error_t), or 0
    size_t struct_size;
    // What the function returned, or would have.
    int32_t status;
    // TERN_REASON_*: why a lease is over or a claim was refused; otherwise 0.
    int32_t reason;
    // What the operating system said; otherwise 0.
    int32_t os_errno;
    // What a device's driver said; otherwise 0.
    int32_t driver_code;
    // What happened and what to do, for people. Always terminated.
    char message[256];
} tern_error_t;

static inline tern_error_t tern_error_init(void)
{
    tern_error_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/* ===========================================================================
 * Version: which library is this?
 *
 * A program that is linked at run time may meet a library of another version than the header
 * that it was compiled with. TERN_VERSION_NUMBER is major * 1000000 + minor * 1000 + patch.
 * tern_abi_check() tells whether the two fit; bindings call it when they load.
 * =========================================================================== */

// The version of the library that is running, as TERN_VERSION_NUMBER has that of the header.
uint32_t tern_version(void);

// The version of the library that is running, such as "1.2.3". The text is constant.
const char *tern_version_text(void);

// Can a program that was compiled with a header of this version use this library? Call it with
// TERN_VERSION_NUMBER. TERN_ERR_VERSION if not.
tern_status_t tern_abi_check(uint32_t version_number, tern_error_t *err);

/* ===========================================================================
 * Manager: a table of leases on named resources.
 *
 * The URL picks the home of the table; "process:" is a table of its own, shared by the threads
 * of this process; "host:", "host:NAME" and "host:/PATH" are tables that all processes of this
 * machine share, made by the first that opens them. Every function is safe to call from any
 * thread. Closing must be the last use of a manager: no other call with it may be running, and
 * none may follow.
 *
 * Times are counted in the manager's own unit: microseconds since the machine started, or, with
 * TERN_OPTION_TICKS, calls of tern_manager_tick(). TERN_FOREVER is without end.
 *
 *     tern_manager_t *manager = NULL;
 *     tern_error_t err = tern_error_init();
 *     if (tern_manager_open(TERN_STR("process:"), NULL, &manager, &err) != TERN_OK)
 *         die(err.message);
 *     use(manager);
 *     tern_manager_close(manager);
 * =========================================================================== */

// Time is counted in calls of tern_manager_tick(), not in microseconds.
#define TERN_OPTION_TICKS 1

// tern_lease_acquire() never refuses: any number of holders may have a lease on one name, and
// every holder is taken to want the resource that bears its own name.
#define TERN_OPTION_OPEN_HOUSE 2

// A deadlock is broken as soon as it arises: the proposed victim is revoked.
#define TERN_OPTION_BREAK_DEADLOCKS 4

// A table of leases on named resources.
typedef struct tern_manager_t tern_manager_t;

// How a new table is made; what is zero is as usual. Make it with tern_options_init().
typedef struct tern_options_t {
    // sizeof(tern_options_t)
    size_t struct_size;
    // TERN_OPTION_*
    uint64_t flags;
    // Leases held at the same time; 0: 65,536, or 4,096 if processes share the table.
    uint32_t leases;
    // Claims waiting at the same time; 0: 16,384, or 4,096 if processes share the table.
    uint32_t tickets;
    // Resources known at the same time; 0: 65,536, or 4,096 if processes share the table.
    uint32_t resources;
    // Ended leases, decided tickets and events that are remembered; 0: 1,024.
    uint32_t history;
} tern_options_t;

static inline tern_options_t tern_options_init(void)
{
    tern_options_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Opens the table that a URL names; without one (`url_len` is 0), "host:". `options` may be
// NULL; a table that others have made keeps its limits. Close it with tern_manager_close().
tern_status_t tern_manager_open(const char *url,
                                size_t url_len,
                                const tern_options_t *options,
                                tern_manager_t **manager,
                                tern_error_t *err);

// Closes a manager. Its leases are gone with it (of a shared table: those of this process),
// callbacks have ended when this returns (unless one of them calls it), and the handle must not
// be used again. NULL is allowed. While a pool, or another manager that a pool gave out, is
// open on the same table, only the handle ends, after the callback that may be running: the
// table goes with the last of them. In a forked child, too, only the handle ends: what the
// parent holds it keeps.
void tern_manager_close(tern_manager_t *manager);

// Counts one tick. With a real clock: only brings the table up to date.
tern_status_t tern_manager_tick(const tern_manager_t *manager, tern_error_t *err);

/* ===========================================================================
 * Lease: the right to use a resource for a while.
 *
 * A lease is a number, never a pointer: it can be copied, stored, and sent to another process
 * or to whatever it protects. Numbers only grow and are never used again, so a lease is also
 * its own fencing token. Using one that is over is a status, whatever has happened meanwhile.
 *
 *     tern_lease_t lease;
 *     tern_status_t status = tern_lease_acquire(manager, TERN_STR("gpu0"), TERN_STR("trainer"),
 *                                               30 * TERN_SECOND, &lease, &err);
 *     if (status != TERN_OK)
 *         die(err.message);
 *     while (work_to_do() && tern_lease_renew(manager, lease, NULL, &err) == TERN_OK)
 *         work_for_ten_seconds();
 *     tern_lease_release(manager, lease, NULL);
 * =========================================================================== */

// Names one lease for ever. 0 is none.
typedef uint64_t tern_lease_t;

// A lease on one slot of a resource, now or not at all: TERN_BUSY. The resource comes into
// being with one slot if it was not declared. The lease lasts for `ttl` unless it is renewed. A
// holder that has the only slot already is busy with itself: leases do not nest.
tern_status_t tern_lease_acquire(const tern_manager_t *manager,
                                 const char *resource,
                                 size_t resource_len,
                                 const char *holder,
                                 size_t holder_len,
                                 uint64_t ttl,
                                 tern_lease_t *lease,
                                 tern_error_t *err);

// The state of a lease: TERN_HELD, TERN_EXPIRED or TERN_REVOKED; TERN_TRIT_UNKNOWN if the call
// failed or nothing is remembered of it. Compare with these: not every answer that is not 0 is
// held. Takes no lock, and never says held once the end has passed.
tern_trit_t tern_lease_state(const tern_manager_t *manager,
                             tern_lease_t lease,
                             tern_error_t *err);

// Moves the end of a lease to now + its ttl. The new end goes to `end`, which may be NULL.
// TERN_ERR_NOT_HELD if the lease is over: stop using what it protects.
tern_status_t tern_lease_renew(const tern_manager_t *manager,
                               tern_lease_t lease,
                               uint64_t *end,
                               tern_error_t *err);

// As tern_lease_renew(), with another ttl from now on.
tern_status_t tern_lease_renew_for(const tern_manager_t *manager,
                                   tern_lease_t lease,
                                   uint64_t ttl,
                                   uint64_t *end,
                                   tern_error_t *err);

// The states of several leases in one call, each as tern_lease_state() tells it; `states` has
// room for `count`. For callers to whom each call costs more than its answer.
tern_status_t tern_lease_states(const tern_manager_t *manager,
                                const tern_lease_t *leases,
                                size_t count,
                                tern_trit_t *states,
                                tern_error_t *err);

// Renews several leases in one call, each as tern_lease_renew() does. How many were renewed
// goes to `renewed`, which may be NULL; those that are over are passed over, and
// tern_lease_states() tells which.
tern_status_t tern_lease_renew_all(const tern_manager_t *manager,
                                   const tern_lease_t *leases,
                                   size_t count,
                                   size_t *renewed,
                                   tern_error_t *err);

// Gives a lease back. Whoever is first in line has what it frees before this returns.
// TERN_ERR_NOT_HELD if it was over already, TERN_ERR_UNKNOWN_LEASE if nothing is remembered of
// it. TERN_ERR_SYSTEM if machines share the table and its engine cannot be reached: it is given
// back as soon as it can be, so destructors may ignore that.
tern_status_t tern_lease_release(const tern_manager_t *manager,
                                 tern_lease_t lease,
                                 tern_error_t *err);

// Takes a lease away. `reason` is a TERN_REASON_*, 0 for TERN_REASON_OPERATOR; `by` says who
// does it and may be empty. With a `notice` the holder keeps the lease for so long, to save its
// work; 0 is at once, and a notice must end. `at`, which may be NULL, gets the time from which
// the lease is revoked. TERN_UNCHANGED if a notice was running that ends no later; then `at`
// gets its end. TERN_ERR_NOT_HELD if the lease was over.
tern_status_t tern_lease_revoke(const tern_manager_t *manager,
                                tern_lease_t lease,
                                int32_t reason,
                                const char *by,
                                size_t by_len,
                                uint64_t notice,
                                uint64_t *at,
                                tern_error_t *err);

/* ===========================================================================
 * Resource: what leases are on.
 *
 * A resource comes into being with one slot when it is first used, or is declared with more.
 * =========================================================================== */

// A declared resource, for claims that spare looking up its name. 0 is none.
typedef uint32_t tern_resource_t;

// What there is of a resource, and what is taken. Make it with tern_resource_info_init().
typedef struct tern_resource_info_t {
    // sizeof(tern_resource_info_t)
    size_t struct_size;
    // How many slots it has.
    uint32_t slots;
    // How much memory it has, in MiB.
    uint32_t memory_mib;
    // Slots that are taken.
    uint32_t used_slots;
    // Memory that is taken.
    uint32_t used_memory_mib;
    // Shared leases on it.
    uint32_t shared;
    // TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    tern_trit_t health;
    // 1: declared, not just used.
    uint8_t declared;
    // Zero.
    uint8_t reserved[2];
    // Its name.
    char name[256];
} tern_resource_info_t;

static inline tern_resource_info_t tern_resource_info_init(void)
{
    tern_resource_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Makes a resource with so many slots and so much memory, or changes the size of one that is
// not in use (the size that it has is no change). Its number goes to `resource`, which may be
// NULL.
tern_status_t tern_resource_declare(const tern_manager_t *manager,
                                    const char *resource_name,
                                    size_t resource_name_len,
                                    uint32_t slots,
                                    uint32_t memory_mib,
                                    tern_resource_t *resource,
                                    tern_error_t *err);

// Says how a declared resource is: TERN_HEALTHY, TERN_DRAINING or TERN_FAILED. One that is not
// healthy keeps its leases and gets no new ones.
tern_status_t tern_resource_set_health(const tern_manager_t *manager,
                                       const char *resource_name,
                                       size_t resource_name_len,
                                       tern_trit_t health,
                                       tern_error_t *err);

// What there is of a resource, and what is taken.
tern_status_t tern_resource_info(const tern_manager_t *manager,
                                 const char *resource_name,
                                 size_t resource_name_len,
                                 tern_resource_info_t *info,
                                 tern_error_t *err);

// All resources that are declared or in use, by name.
tern_status_t tern_manager_resources(const tern_manager_t *manager,
                                     tern_resource_info_t *infos,
                                     size_t capacity,
                                     size_t *needed,
                                     tern_error_t *err);

// The leases on a resource, oldest first: who has what a claim waits for.
tern_status_t tern_resource_leases(const tern_manager_t *manager,
                                   const char *resource_name,
                                   size_t resource_name_len,
                                   tern_lease_t *leases,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

/* ===========================================================================
 * Looking: everything about leases, told by value.
 *
 * Lists go into an array of the caller's. `needed`, which may be NULL, gets how many there are;
 * TERN_MORE if that is more than `capacity`, of which as many are written as fit. A capacity of
 * 0 only counts, and allows NULL. Of an array of structs the first one's struct_size must be
 * set; it goes for all.
 *
 *     tern_lease_info_t info = tern_lease_info_init();
 *     if (tern_lease_info(manager, lease, &info, &err) == TERN_OK && info.state == TERN_REVOKED)
 *         printf("revoked by %s: %s\n", info.revoker, tern_reason_name(info.reason));
 * =========================================================================== */

// The holder has been told that the lease will be revoked.
#define TERN_LEASE_REVOKING 1

// The lease is spare capacity.
#define TERN_LEASE_SPARE 2

// The lease may be preempted.
#define TERN_LEASE_PREEMPTIBLE 4

// Other shared leases may be beside it.
#define TERN_LEASE_SHARED 8

// The lease was revoked with notice, and its holder released it before that ended.
#define TERN_LEASE_ACKNOWLEDGED 16

// Everything about one lease. Make it with tern_lease_info_init().
typedef struct tern_lease_info_t {
    // sizeof(tern_lease_info_t)
    size_t struct_size;
    // Its id, which is also its fencing token.
    tern_lease_t lease;
    // The lease it hangs on; 0: none.
    tern_lease_t parent;
    // How long it lasts without renewal.
    uint64_t ttl;
    // When it was granted.
    uint64_t granted_at;
    // While held: its end. Afterwards: when it ended.
    uint64_t end;
    // TERN_REASON_*: why it ended, or will end if a notice is running; otherwise 0.
    int32_t reason;
    // Its own priority.
    int32_t priority;
    // How many resources it takes: tern_lease_takes() tells them.
    uint32_t take_count;
    // TERN_LEASE_*
    uint32_t flags;
    // TERN_HELD, TERN_EXPIRED or TERN_REVOKED.
    tern_trit_t state;
    // Zero.
    uint8_t reserved[7];
    // Who holds or held it.
    char holder[256];
    // Who revoked it, as the caller that did so claimed; may be empty.
    char revoker[256];
    // The principal of the process that released, revoked or is revoking it: on one machine its
    // user id. Only if `ender_process` is not 0.
    uint32_t ender_principal;
    // The process that released, revoked or is revoking it; in a cluster the owner number of
    // its session. 0: its owner did, or the table by itself.
    uint32_t ender_process;
} tern_lease_info_t;

static inline tern_lease_info_t tern_lease_info_init(void)
{
    tern_lease_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// What a lease takes of one resource. Make it with tern_take_init().
typedef struct tern_take_t {
    // sizeof(tern_take_t)
    size_t struct_size;
    // Slots of the resource.
    uint32_t slots;
    // Memory of the resource in MiB.
    uint32_t memory_mib;
    // Name of the resource.
    char resource[256];
} tern_take_t;

static inline tern_take_t tern_take_init(void)
{
    tern_take_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Everything about a lease that is held or remembered.
tern_status_t tern_lease_info(const tern_manager_t *manager,
                              tern_lease_t lease,
                              tern_lease_info_t *info,
                              tern_error_t *err);

// What a lease takes, or took.
tern_status_t tern_lease_takes(const tern_manager_t *manager,
                               tern_lease_t lease,
                               tern_take_t *takes,
                               size_t capacity,
                               size_t *needed,
                               tern_error_t *err);

// The leases a holder holds, oldest first.
tern_status_t tern_manager_held_by(const tern_manager_t *manager,
                                   const char *holder,
                                   size_t holder_len,
                                   tern_lease_t *leases,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

// All held leases, oldest first.
tern_status_t tern_manager_leases(const tern_manager_t *manager,
                                  tern_lease_info_t *infos,
                                  size_t capacity,
                                  size_t *needed,
                                  tern_error_t *err);

/* ===========================================================================
 * Ticket: a claim in line.
 *
 * A ticket is a number, as a lease is. Wait for it with tern_ticket_wait(), or give the
 * descriptor of tern_ticket_fd() to an event loop and ask with a timeout of 0 once it is
 * readable. Whatever was granted and nobody was told of is given back by tern_ticket_cancel().
 *
 *     tern_lease_t lease;
 *     tern_ticket_t ticket;
 *     tern_status_t status = tern_manager_enqueue(manager, &claim, &lease, &ticket, &err);
 *     if (status == TERN_WAITING)
 *         status = tern_ticket_wait(manager, ticket, 5 * TERN_SECOND, &lease, &err);
 *     if (status == TERN_WAITING)
 *         tern_ticket_cancel(manager, ticket, NULL);
 * =========================================================================== */

// Names one waiting claim for ever. 0 is none.
typedef uint64_t tern_ticket_t;

// Everything about one waiting claim. Make it with tern_ticket_info_init().
typedef struct tern_ticket_info_t {
    // sizeof(tern_ticket_info_t)
    size_t struct_size;
    // Its id.
    tern_ticket_t ticket;
    // Since when it waits.
    uint64_t queued_at;
    // Its place in line, from 1.
    uint32_t place;
    // How many resources it needs.
    uint32_t count;
    // Out of how many: tern_ticket_resources() tells them.
    uint32_t resource_count;
    // Its effective priority.
    int32_t priority;
    // Who waits.
    char holder[256];
} tern_ticket_info_t;

static inline tern_ticket_info_t tern_ticket_info_init(void)
{
    tern_ticket_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// A name. Make it with tern_name_init().
typedef struct tern_name_t {
    // sizeof(tern_name_t)
    size_t struct_size;
    // The name, terminated.
    char text[256];
} tern_name_t;

static inline tern_name_t tern_name_init(void)
{
    tern_name_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// The state of a ticket: TERN_GRANTED, TERN_IN_LINE or TERN_DENIED; TERN_TRIT_UNKNOWN if the
// call failed or nothing is remembered of it. Takes no lock, and is not the end of the ticket.
tern_trit_t tern_ticket_state(const tern_manager_t *manager,
                              tern_ticket_t ticket,
                              tern_error_t *err);

// Blocks the thread until the ticket is decided, for `timeout_us` microseconds at most
// (TERN_FOREVER: as long as it takes; 0: just ask). TERN_OK: `lease` is the caller's.
// TERN_TIMEOUT or TERN_REFUSED: there will be none. Both are the end of the ticket, and asking
// again gives the same as long as it is remembered. TERN_WAITING: the time of this call is
// over, and the ticket still in line. The time is real time, whatever clock the manager has.
tern_status_t tern_ticket_wait(const tern_manager_t *manager,
                               tern_ticket_t ticket,
                               uint64_t timeout_us,
                               tern_lease_t *lease,
                               tern_error_t *err);

// Withdraws a claim; the end of the ticket. What it was granted meanwhile is given back.
// TERN_UNCHANGED if it had come to its end before: a lease that tern_ticket_wait() told of
// stays the caller's. TERN_ERR_SYSTEM if machines share the table and its engine cannot be
// reached: it is withdrawn as soon as it can be.
tern_status_t tern_ticket_cancel(const tern_manager_t *manager,
                                 tern_ticket_t ticket,
                                 tern_error_t *err);

// A descriptor that becomes readable once the ticket is decided, and stays so. It is the
// caller's, who closes it and does not read from it.
tern_status_t tern_ticket_fd(const tern_manager_t *manager,
                             tern_ticket_t ticket,
                             int *fd,
                             tern_error_t *err);

// Everything about a ticket that waits. TERN_EMPTY once it is decided.
tern_status_t tern_ticket_info(const tern_manager_t *manager,
                               tern_ticket_t ticket,
                               tern_ticket_info_t *info,
                               tern_error_t *err);

// The resources that a waiting ticket may be served from.
tern_status_t tern_ticket_resources(const tern_manager_t *manager,
                                    tern_ticket_t ticket,
                                    tern_name_t *names,
                                    size_t capacity,
                                    size_t *needed,
                                    tern_error_t *err);

// All waiting claims, in order.
tern_status_t tern_manager_tickets(const tern_manager_t *manager,
                                   tern_ticket_info_t *infos,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

/* ===========================================================================
 * Claim: asking for several resources, for parts of them, with a wait and a priority.
 *
 * All or nothing: no claim ever holds a part of what it asked for.
 *
 *     tern_text_t gpus[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") }, { TERN_STR("gpu2") } };
 *     tern_claim_t claim = tern_claim_init();
 *     claim.holder = "trainer";
 *     claim.holder_len = strlen(claim.holder);
 *     claim.resources = gpus;
 *     claim.resource_count = 3;
 *     claim.count = 2;                  // any two of them
 *     claim.ttl = 60 * TERN_SECOND;
 *     claim.wait = 5 * TERN_SECOND;     // in line, if need be
 *     if (tern_manager_claim(manager, &claim, &lease, &err) != TERN_OK)
 *         die(err.message);
 * =========================================================================== */

// Take each resource whole, alone.
#define TERN_CLAIM_EXCLUSIVE 1

// Take each resource together with any number of other shared leases, and nobody else.
#define TERN_CLAIM_SHARED 2

// Take only what nobody else waits for, and give it back when somebody does.
#define TERN_CLAIM_SPARE 4

// A claim of higher priority that asks to preempt may take the lease.
#define TERN_CLAIM_PREEMPTIBLE 8

// Take preemptible leases of lower priority rather than wait for their end.
#define TERN_CLAIM_PREEMPT 16

// A text: UTF-8, not necessarily terminated.
typedef struct tern_text_t {
    // Its first byte; may be NULL if there are none.
    const char *data;
    // How many bytes.
    size_t len;
} tern_text_t;

// A claim. What is zero is as usual; holder, resources and ttl are needed. Make it with
// tern_claim_init().
typedef struct tern_claim_t {
    // sizeof(tern_claim_t)
    size_t struct_size;
    // Who asks. Claims of one holder are taken to be one line of work: give each independent
    // job a name of its own.
    const char *holder;
    // Length of `holder`.
    size_t holder_len;
    // The resources it may be served from, the preferred ones first.
    const tern_text_t *resources;
    // How many those are.
    size_t resource_count;
    // The same, by their numbers; instead of `resources`, not beside them.
    const tern_resource_t *resource_ids;
    // How many those are.
    size_t resource_id_count;
    // How long the lease lasts without renewal; TERN_FOREVER: without end.
    uint64_t ttl;
    // How long to stand in line if need be; 0: not at all, TERN_FOREVER: as long as it takes.
    uint64_t wait;
    // With TERN_CLAIM_SPARE or TERN_CLAIM_PREEMPTIBLE: the notice that the lease gets when it
    // is taken back.
    uint64_t notice;
    // The lease ends with this one, and never later; 0: with none.
    tern_lease_t parent;
    // TERN_CLAIM_*
    uint64_t flags;
    // How many of the resources it needs; 0: one.
    uint32_t count;
    // Slots that it takes of each. If memory is 0 too: one.
    uint32_t slots;
    // Memory that it takes of each, in MiB.
    uint32_t memory_mib;
    // Higher goes first; from -32768 to 32767.
    int32_t priority;
} tern_claim_t;

static inline tern_claim_t tern_claim_init(void)
{
    tern_claim_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Asks for a lease and waits for it as long as the claim says. TERN_BUSY if the claim does not
// wait, TERN_TIMEOUT if it waited in vain, TERN_REFUSED if it left the line for another reason.
// Blocks the thread; to wait with an event loop, use tern_manager_enqueue(). With ticks
// somebody else has to count them meanwhile.
tern_status_t tern_manager_claim(const tern_manager_t *manager,
                                 const tern_claim_t *claim,
                                 tern_lease_t *lease,
                                 tern_error_t *err);

// Asks for a lease and returns at once. TERN_OK: `lease` is granted. TERN_WAITING: the claim
// stands in line as `ticket`, for as long as it says. A ticket must come to an end with
// tern_ticket_wait() or tern_ticket_cancel(): until then it keeps its place in the table.
// TERN_BUSY if the claim does not wait.
tern_status_t tern_manager_enqueue(const tern_manager_t *manager,
                                   const tern_claim_t *claim,
                                   tern_lease_t *lease,
                                   tern_ticket_t *ticket,
                                   tern_error_t *err);

/* ===========================================================================
 * Events: the history, as it is made.
 *
 * Every change is one event with a growing number. A reader has a place in the history of its
 * own; one that falls too far behind is told how many events it missed. It may outlive its
 * manager, and ends with tern_events_close(). Its calls may come from any thread, but take
 * turns: while one waits, others wait for it. On a real clock the first reader starts a thread
 * of the library's own.
 *
 *     tern_events_t *events = NULL;
 *     tern_event_t event = tern_event_init();
 *     tern_events_open(manager, 0, &events, &err);
 *     while (tern_events_wait(events, TERN_FOREVER, &err) == TERN_OK)
 *         while (tern_events_next(events, &event, &err) == TERN_OK)
 *             if (event.kind == TERN_EVENT_ENDED)
 *                 bill(event.lease, event.duration);
 *     tern_events_close(events);
 * =========================================================================== */

// TERN_EVENT_ENDED: the lease was revoked with notice, and its holder released it before that
// ended.
#define TERN_EVENT_FLAG_ACKNOWLEDGED 1

// What happened.
TERN_ENUM_BEGIN(tern_event_kind_t)
    // A claim became a lease, after standing in line if there is a ticket.
    TERN_EVENT_GRANTED = 1,
    // A lease was renewed in the last quarter of its time; it ends at `until`.
    TERN_EVENT_RENEWED_LATE = 2,
    // The holder was told that its lease will be revoked at `until`, for a reason.
    TERN_EVENT_REVOKING = 3,
    // A lease ended for a reason; it was held for `duration`.
    TERN_EVENT_ENDED = 4,
    // A claim took its place in line.
    TERN_EVENT_QUEUED = 5,
    // A claim left the line without a lease, for a reason; it had waited for `duration`.
    TERN_EVENT_REFUSED = 6,
    // The health of a resource changed.
    TERN_EVENT_HEALTH = 7,
    // A process that shared the table was found dead, and what it had was given back.
    TERN_EVENT_DIED = 8,
    // A process died in the middle of a change, which was undone.
    TERN_EVENT_ROLLED_BACK = 9,
TERN_ENUM_END

// A reader of events.
typedef struct tern_events_t tern_events_t;

// One event. Make it with tern_event_init().
typedef struct tern_event_t {
    // sizeof(tern_event_t)
    size_t struct_size;
    // Grows by one with each event.
    uint64_t number;
    // How many events this reader has missed so far, because it fell behind.
    uint64_t missed;
    // When it happened.
    uint64_t at;
    // The lease it is about, or 0.
    tern_lease_t lease;
    // The ticket it is about, or 0.
    tern_ticket_t ticket;
    // A time, where the kind says so.
    uint64_t until;
    // A length of time, where the kind says so.
    uint64_t duration;
    // TERN_EVENT_*; there may be kinds in the future that are not known today.
    int32_t kind;
    // TERN_REASON_*, or 0.
    int32_t reason;
    // TERN_EVENT_HEALTH: TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    tern_trit_t health;
    // Zero.
    uint8_t reserved[7];
    // TERN_EVENT_HEALTH: the name of the resource; otherwise empty.
    char resource[256];
    // TERN_EVENT_DIED, TERN_EVENT_ROLLED_BACK: the process, by the number that it had for
    // itself; otherwise 0.
    uint32_t process;
    // Zero.
    uint32_t reserved2;
    // The principal of the process whose command did it: on one machine its user id. Only if
    // `actor_process` is not 0.
    uint32_t actor_principal;
    // The process whose command did it; in a cluster the owner number of its session. 0: the
    // table did it by itself.
    uint32_t actor_process;
    // TERN_EVENT_FLAG_*
    uint64_t flags;
} tern_event_t;

static inline tern_event_t tern_event_init(void)
{
    tern_event_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Reads the events after number `cursor`; 0: from the oldest that is remembered, TERN_FOREVER:
// from now on. Close it with tern_events_close().
tern_status_t tern_events_open(const tern_manager_t *manager,
                               uint64_t cursor,
                               tern_events_t **events,
                               tern_error_t *err);

// Closes a reader. NULL is allowed.
void tern_events_close(tern_events_t *events);

// The next event. TERN_EMPTY if there is none now; TERN_ERR_CLOSED if there is none and the
// manager is gone.
tern_status_t tern_events_next(const tern_events_t *events,
                               tern_event_t *event,
                               tern_error_t *err);

// Blocks the thread until there is an event to read, for `timeout_us` microseconds at most
// (TERN_FOREVER: as long as it takes): TERN_TIMEOUT. TERN_ERR_CLOSED if there is none and the
// manager is gone.
tern_status_t tern_events_wait(const tern_events_t *events,
                               uint64_t timeout_us,
                               tern_error_t *err);

// A descriptor that is readable while there may be something to read: from an event until
// tern_events_next() has said TERN_EMPTY, and for ever once the manager is gone. It belongs to
// the reader: do not close it, nor read from it.
tern_status_t tern_events_fd(const tern_events_t *events,
                             int *fd,
                             tern_error_t *err);

/* ===========================================================================
 * Watch: being called when something happens to a lease.
 *
 * The calls come from a thread of the library's own, one after the other, while the library
 * holds no lock: a callback may use the manager, even close it, but others wait while it runs.
 * It must not throw an exception or jump out. Programs that would rather not be called read
 * events, or give the descriptor of tern_lease_watch_fd() to an event loop.
 *
 *     static void on_notice(void *user, tern_lease_t lease, tern_trit_t state,
 *                           int32_t reason, uint64_t at)
 *     {
 *         printf("lease %" PRIu64 ": %s\n", lease, tern_reason_name(reason));
 *         if (state == TERN_HELD)
 *             save_work_until(user, at);   // a notice: revoked at that time
 *         else
 *             stop_using_the_gpu(user);    // over
 *     }
 *     static void begin(tern_manager_t *manager, tern_lease_t lease, void *job)
 *     {
 *         tern_lease_watch(manager, lease, on_notice, job, NULL, NULL);
 *     }
 * =========================================================================== */

// Is called with what tern_lease_watch() was given. `state` TERN_HELD: the lease will be
// revoked at time `at`. Otherwise it is over since then; TERN_TRIT_UNKNOWN if by now nothing
// else is remembered of it.
typedef void (*tern_watch_fn)(void *user,
                              tern_lease_t lease,
                              tern_trit_t state,
                              int32_t reason,
                              uint64_t at);

// Is called once when the library no longer needs `user`.
typedef void (*tern_drop_fn)(void *user);

// Calls `callback` when the lease gets a notice of its revocation (again if that comes to end
// earlier), and when it is over for whatever reason; then never again. `drop`, which may be
// NULL, is called after the last call, or when the manager is closed. If this does not return
// TERN_OK, neither will be called.
tern_status_t tern_lease_watch(const tern_manager_t *manager,
                               tern_lease_t lease,
                               tern_watch_fn callback,
                               void *user,
                               tern_drop_fn drop,
                               tern_error_t *err);

// A descriptor that becomes readable when tern_lease_watch() would call: with a notice, and
// when the lease is over; and when the manager is closed. It is the caller's, who closes it;
// reading eight bytes makes it unreadable until the next time.
tern_status_t tern_lease_watch_fd(const tern_manager_t *manager,
                                  tern_lease_t lease,
                                  int *fd,
                                  tern_error_t *err);

/* ===========================================================================
 * Deadlocks: who waits for whom in a circle.
 *
 * A deadlock is reported exactly if there is one. Each comes with everybody who is stuck, a
 * proof, and the lease whose revocation breaks it at the least cost.
 *
 *     tern_deadlocks_t *found = NULL;
 *     size_t count = 0;
 *     tern_deadlocks_find(manager, &found, &count, &err);
 *     for (size_t i = 0; i < count; i++) {
 *         tern_lease_t victim;
 *         tern_deadlocks_victim(found, i, &victim, &err);
 *         tern_lease_revoke(manager, victim, TERN_REASON_DEADLOCK_VICTIM, NULL, 0, 0, NULL, &err);
 *     }
 *     tern_deadlocks_close(found);
 * =========================================================================== */

// Deadlocks as they were when they were looked for.
typedef struct tern_deadlocks_t tern_deadlocks_t;

// One step of a proof: a worker waits for a lease, which the worker of the next step holds, and
// the last waits for the first. Make it with tern_wait_init().
typedef struct tern_wait_t {
    // sizeof(tern_wait_t)
    size_t struct_size;
    // By which claim it waits; 0: by a declared want.
    tern_ticket_t ticket;
    // For which lease.
    tern_lease_t lease;
    // Who waits.
    char worker[256];
} tern_wait_t;

static inline tern_wait_t tern_wait_init(void)
{
    tern_wait_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Looks for deadlocks; how many there are goes to `count`, which may be NULL. Close the answer
// with tern_deadlocks_close().
tern_status_t tern_deadlocks_find(const tern_manager_t *manager,
                                  tern_deadlocks_t **deadlocks,
                                  size_t *count,
                                  tern_error_t *err);

// Closes the answer. NULL is allowed.
void tern_deadlocks_close(tern_deadlocks_t *deadlocks);

// The lease whose revocation breaks the deadlock at the least cost.
tern_status_t tern_deadlocks_victim(const tern_deadlocks_t *deadlocks,
                                    size_t index,
                                    tern_lease_t *victim,
                                    tern_error_t *err);

// Everybody who is stuck because of the deadlock, by name, sorted.
tern_status_t tern_deadlocks_stuck(const tern_deadlocks_t *deadlocks,
                                   size_t index,
                                   tern_name_t *names,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

// The proof: each waits for a lease of the next, the last for one of the first.
tern_status_t tern_deadlocks_cycle(const tern_deadlocks_t *deadlocks,
                                   size_t index,
                                   tern_wait_t *waits,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

// Declares that a holder cannot go on without a resource, without claiming it. Only deadlock
// detection looks at it.
tern_status_t tern_manager_want(const tern_manager_t *manager,
                                const char *holder,
                                size_t holder_len,
                                const char *resource,
                                size_t resource_len,
                                tern_error_t *err);

// Takes back what tern_manager_want() declared.
tern_status_t tern_manager_unwant(const tern_manager_t *manager,
                                  const char *holder,
                                  size_t holder_len,
                                  const char *resource,
                                  size_t resource_len,
                                  tern_error_t *err);

/* ===========================================================================
 * Counters: how much there is, and how much has happened.
 *
 *     uint64_t held = 0;
 *     tern_manager_active_count(manager, &held, &err);
 * =========================================================================== */

// The time by the manager's clock: ticks so far, or microseconds since the machine started.
tern_status_t tern_manager_tick_count(const tern_manager_t *manager,
                                      uint64_t *count,
                                      tern_error_t *err);

// How many leases are held.
tern_status_t tern_manager_active_count(const tern_manager_t *manager,
                                        uint64_t *count,
                                        tern_error_t *err);

// How many claims wait.
tern_status_t tern_manager_pending_claimers(const tern_manager_t *manager,
                                            uint64_t *count,
                                            tern_error_t *err);

// How many leases were revoked so far; each counts once.
tern_status_t tern_manager_revocations(const tern_manager_t *manager,
                                       uint64_t *count,
                                       tern_error_t *err);

// How many leases ended, or claims were refused, for this reason so far.
tern_status_t tern_manager_count(const tern_manager_t *manager,
                                 int32_t reason,
                                 uint64_t *count,
                                 tern_error_t *err);

// The counters as text, in the format that Prometheus reads. `needed`, which may be NULL, gets
// the capacity that it needs, with the final zero; TERN_MORE if there is less. A capacity of 0
// only asks.
tern_status_t tern_manager_metrics(const tern_manager_t *manager,
                                   char *buffer,
                                   size_t capacity,
                                   size_t *needed,
                                   tern_error_t *err);

/* ===========================================================================
 * Host: tables that all processes of a machine share.
 *
 * A manager of "host:", "host:NAME" or "host:/PATH" has its table in a file that other
 * processes open too; the first one makes it. What a process holds is given back when it is
 * gone, however it ended. A child of fork() opens the table again. With all other managers, and
 * on systems that are not Linux, the functions here are TERN_ERR_UNSUPPORTED.
 *
 *     tern_process_info_t processes[64] = { tern_process_info_init() };
 *     size_t count = 0;
 *     if (tern_manager_processes(manager, processes, 64, &count, &err) == TERN_OK)
 *         for (size_t i = 0; i < count; i++)
 *             printf("%" PRIu32 " holds %" PRIu32 "\n", processes[i].process, processes[i].leases);
 * =========================================================================== */

// How a process is.
TERN_ENUM_BEGIN(tern_life_t)
    // It lives.
    TERN_LIFE_LIVES = 1,
    // It is dying: its memory is being freed, its files may still be open.
    TERN_LIFE_DYING = 2,
    // It is gone, and nobody has taken note yet.
    TERN_LIFE_GONE = 3,
    // Not one process but all that have inherited a lease: tern_lease_keep_for_children().
    TERN_LIFE_TREE = 4,
TERN_ENUM_END

// A shared table, and how it is. Make it with tern_host_info_init().
typedef struct tern_host_info_t {
    // sizeof(tern_host_info_t)
    size_t struct_size;
    // How large its file is.
    uint64_t bytes;
    // Changes that were undone because their author died, so far.
    uint64_t roll_backs;
    // Processes that were found dead, so far.
    uint64_t deaths;
    // Since when its lock is taken, by the manager's clock; otherwise 0.
    uint64_t lock_since;
    // Who had its lock when this was asked, by the number that it has for itself; 0: nobody. A
    // process that has it for long does not go on.
    uint32_t lock_process;
    // How many processes use it: tern_manager_processes() tells them.
    uint32_t process_count;
    // 1 if the table makes no sense any more, otherwise 0.
    uint8_t corrupt;
    // Zero.
    uint8_t reserved[7];
    // Where its file is; cut if it is longer.
    char path[1024];
} tern_host_info_t;

static inline tern_host_info_t tern_host_info_init(void)
{
    tern_host_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// A process that uses a shared table. Make it with tern_process_info_init().
typedef struct tern_process_info_t {
    // sizeof(tern_process_info_t)
    size_t struct_size;
    // Since when it uses the table, by the manager's clock.
    uint64_t since;
    // Its number, as it sees itself: processes in different containers may have the same.
    uint32_t process;
    // The number under which the table knows it.
    uint32_t owner;
    // TERN_LIFE_*
    int32_t life;
    // How many leases it holds.
    uint32_t leases;
    // How many claims of its wait.
    uint32_t tickets;
    // Zero.
    uint32_t reserved;
} tern_process_info_t;

static inline tern_process_info_t tern_process_info_init(void)
{
    tern_process_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Hands a held lease to another process that uses the table, by the number that it has for
// itself: it ends with that process, and no longer with this one. TERN_ERR_UNKNOWN_PROCESS if
// no process of that number uses the table. TERN_ERR_OTHER_PRINCIPAL if the lease belongs to
// another user, unless this process is root's.
tern_status_t tern_lease_hand_to(const tern_manager_t *manager,
                                 tern_lease_t lease,
                                 uint32_t process,
                                 tern_error_t *err);

// Makes a held lease one of a tree of processes: it is held as long as any process has the
// descriptor open that this gives, and ends as if its holder had died when the last of them has
// closed it or is gone. Children and programs that this process starts from now on inherit it.
// It is the caller's, who closes it to leave the lease to them. It is for nothing else: do not
// read from it.
tern_status_t tern_lease_keep_for_children(const tern_manager_t *manager,
                                           tern_lease_t lease,
                                           int *fd,
                                           tern_error_t *err);

// Where the table is, and whether all is well.
tern_status_t tern_manager_host(const tern_manager_t *manager,
                                tern_host_info_t *info,
                                tern_error_t *err);

// Every process that uses the table, this one included. `needed` as for all lists.
tern_status_t tern_manager_processes(const tern_manager_t *manager,
                                     tern_process_info_t *processes,
                                     size_t capacity,
                                     size_t *needed,
                                     tern_error_t *err);

/* ===========================================================================
 * Pool: devices, to be claimed.
 *
 * A pool finds its devices when it is opened. It is a view on a table: each device is a
 * resource there, each claim a lease. What there is to ask of leases, tickets and events is
 * asked of the manager that tern_pool_manager() gives. A machine without GPUs is no special
 * case: there every claim is TERN_EMPTY at once, and tern_pool_absence() says why.
 *
 *     tern_pool_t *pool = NULL;
 *     if (tern_pool_open(TERN_STR("host:"), NULL, &pool, &err) != TERN_OK)
 *         die(err.message);
 *     tern_status_t status = tern_pool_try_claim(pool, &lease, &err);
 *     if (status == TERN_EMPTY)
 *         compute_on_the_cpu();
 *     else if (status == TERN_OK)
 *         compute_on_the_gpu(pool, lease);
 *     tern_pool_close(pool);
 * =========================================================================== */

// Hand out a device only after having seen that nobody uses it, and look again after each
// lease. For leases that are used by other processes, which end with them: a process that keeps
// its CUDA context would wait for itself.
#define TERN_POOL_CHECK_USE 1

// A deadlock is broken as soon as it arises: the proposed victim is revoked. For pools with a
// table of their own.
#define TERN_POOL_BREAK_DEADLOCKS 2

// Devices, to be claimed.
typedef struct tern_pool_t tern_pool_t;

// How a pool is made; what is zero is as usual. Make it with tern_pool_options_init(). Times
// are in microseconds, whatever clock a manager has.
typedef struct tern_pool_options_t {
    // sizeof(tern_pool_options_t)
    size_t struct_size;
    // Which devices: "host" for those of this machine, "fake:8" for eight that do not exist,
    // "file:/path" for those that a file declares, "none". If it has no length: what the
    // environment variable TERNLEASE_DEVICES says in these words, else "host".
    const char *devices;
    // Length of `devices`.
    size_t devices_len;
    // TERN_POOL_*
    uint64_t flags;
    // How often to look at the devices when nothing happens; 0: every second, TERN_FOREVER:
    // never.
    uint64_t poll_us;
    // With TERN_POOL_CHECK_USE: a device that is still used so long after its last lease has
    // failed; 0: a minute.
    uint64_t drain_limit_us;
    // A device that had a fault is healthy again after so long without another; 0: 30 seconds.
    uint64_t recovery_us;
    // How many claims for one slot may share a device; 0: one.
    uint32_t slots;
    // With TERN_POOL_CHECK_USE: a device is clean if no more of its memory is used, in MiB; 0:
    // 512.
    uint32_t clean_memory_mib;
} tern_pool_options_t;

static inline tern_pool_options_t tern_pool_options_init(void)
{
    tern_pool_options_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Opens a pool with a table in the home that a URL names: "host:", or no URL (`url_len` is 0),
// is the pool that all processes of this machine share; "process:" is a private one, which does
// not know what other programs use. `options` may be NULL. Close it with tern_pool_close().
// Reads the environment: TERNLEASE_DEVICES, and for devices of this machine the variables that
// hide some, such as CUDA_VISIBLE_DEVICES. May take a while, as it asks drivers; one that hangs
// is given up.
tern_status_t tern_pool_open(const char *url,
                             size_t url_len,
                             const tern_pool_options_t *options,
                             tern_pool_t **pool,
                             tern_error_t *err);

// As tern_pool_open(), on the table of a manager, so that deadlocks through devices and other
// resources together are seen. The pool may outlive the manager: the table is there until the
// last handle on it is closed. If the table has no room for all devices, or one of them is in
// use with other slots, some may have been declared.
tern_status_t tern_pool_on(const tern_manager_t *manager,
                           const tern_pool_options_t *options,
                           tern_pool_t **pool,
                           tern_error_t *err);

// Closes a pool. From then on nobody watches its devices or keeps its leases alive. They are
// gone with it, unless a manager or another pool is open on the same table. The handle must not
// be used again. NULL is allowed. In a forked child only the handle ends.
void tern_pool_close(tern_pool_t *pool);

// A manager on the pool's table, for leases, tickets and events by the functions that take one.
// It may outlive the pool. Close it with tern_manager_close().
tern_status_t tern_pool_manager(const tern_pool_t *pool,
                                tern_manager_t **manager,
                                tern_error_t *err);

// How many devices there are. Their places are the numbers below this.
tern_status_t tern_pool_capacity(const tern_pool_t *pool,
                                 uint64_t *count,
                                 tern_error_t *err);

// How many claims wait for devices of this pool.
tern_status_t tern_pool_pending_claimers(const tern_pool_t *pool,
                                         uint64_t *count,
                                         tern_error_t *err);

// What is not there, and why, for people: a line for each source of devices that has none, for
// each device that a variable hides, and for each thing that was unclear. Empty if there is
// nothing to say. `needed` as in tern_manager_metrics().
tern_status_t tern_pool_absence(const tern_pool_t *pool,
                                char *buffer,
                                size_t capacity,
                                size_t *needed,
                                tern_error_t *err);

/* ===========================================================================
 * Device: what the devices of a pool are, and how they are.
 *
 * A device is known by its place in the pool, which stays the same. What is seen of a device is
 * as old as the answer says: looking asks no driver, and never waits for one.
 *
 *     tern_device_t device = tern_device_init();
 *     tern_device_status_t how = tern_device_status_init();
 *     for (size_t place = 0; tern_pool_device(pool, place, &device, NULL) == TERN_OK; place++)
 *         if (tern_pool_device_status(pool, place, &how, NULL) == TERN_OK)
 *             printf("%s %s: %d %s\n", device.key, device.name, how.health, how.trouble);
 * =========================================================================== */

// `memory_mib` is known.
#define TERN_DEVICE_MEMORY 1

// `compute_major` and `compute_minor` are known.
#define TERN_DEVICE_COMPUTE 2

// `numa` is known.
#define TERN_DEVICE_NUMA 4

// `island` is known.
#define TERN_DEVICE_ISLAND 8

// It is a part of a device, and `gpu_instance`, `compute_instance`, `mig_profile` and
// `mig_parent` say which.
#define TERN_DEVICE_MIG 16

// `used_memory_mib` is known.
#define TERN_DEVICE_USED_MEMORY 32

// `busy_percent` is known.
#define TERN_DEVICE_BUSY 64

// Who made a device.
TERN_ENUM_BEGIN(tern_vendor_t)
    // In a claim: whoever.
    TERN_VENDOR_ANY = 0,
    // NVIDIA.
    TERN_VENDOR_NVIDIA = 1,
    // AMD.
    TERN_VENDOR_AMD = 2,
    // Intel.
    TERN_VENDOR_INTEL = 3,
    // Anybody else.
    TERN_VENDOR_OTHER = 4,
TERN_ENUM_END

// What a device is. Make it with tern_device_init(). What is not known is zero or empty.
typedef struct tern_device_t {
    // sizeof(tern_device_t)
    size_t struct_size;
    // TERN_VENDOR_*
    int32_t vendor;
    // Its number among the devices of its vendor, in the order of PCI addresses. There may be
    // gaps, and it may change with the next start of the machine.
    uint32_t index;
    // Which of the numbers below are known: TERN_DEVICE_*
    uint32_t known;
    // Its memory in MiB.
    uint32_t memory_mib;
    // Its compute capability, as NVIDIA counts it: 8 of 8.6.
    uint32_t compute_major;
    // 6 of 8.6.
    uint32_t compute_minor;
    // The NUMA node that it is near to.
    uint32_t numa;
    // Devices of one vendor with the same number have fast links among each other, each to
    // each.
    uint32_t island;
    // If it is a part of a device: the number of the GPU instance.
    uint32_t gpu_instance;
    // If it is a part of a device: the number of the compute instance within it.
    uint32_t compute_instance;
    // Where it sits, as CUDA reads it: "0000:07:00.0".
    char pci[32];
    // If it is a part of a device: how large it is, as NVIDIA names it: "1g.10gb".
    char mig_profile[32];
    // Its name as a resource in the table.
    char key[256];
    // What it is called.
    char name[256];
    // Its own name for ever: "GPU-*", or "MIG-*" for a part.
    char uuid[128];
    // If it is a part of a device: the UUID of that.
    char mig_parent[128];
} tern_device_t;

static inline tern_device_t tern_device_init(void)
{
    tern_device_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// How a device is, and who uses it. Make it with tern_device_status_init().
typedef struct tern_device_status_t {
    // sizeof(tern_device_status_t)
    size_t struct_size;
    // The oldest lease on it; 0: none.
    tern_lease_t lease;
    // For how long it has been leased without being used, in microseconds; 0: it is used, or
    // free, or that cannot be seen.
    uint64_t idle_us;
    // How old what was seen is, in microseconds; TERN_FOREVER: nobody watches it.
    uint64_t seen_us;
    // Which of the numbers below are known: TERN_DEVICE_USED_MEMORY, TERN_DEVICE_BUSY. The
    // others always are.
    uint32_t known;
    // How many slots it has.
    uint32_t slots;
    // Slots that leases have taken.
    uint32_t leased_slots;
    // Memory that leases have taken, in MiB.
    uint32_t leased_memory_mib;
    // Memory that is in use, in MiB.
    uint32_t used_memory_mib;
    // How busy it was lately, in percent.
    uint32_t busy_percent;
    // How many leases are on it: tern_pool_leases_on() tells them.
    uint32_t lease_count;
    // How many processes compute on it although it has no lease: tern_pool_squatters() tells
    // them.
    uint32_t squatter_count;
    // TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    tern_trit_t health;
    // Zero.
    uint8_t reserved[7];
    // Why it is not healthy, for people; cut if it is longer.
    char trouble[512];
} tern_device_status_t;

static inline tern_device_status_t tern_device_status_init(void)
{
    tern_device_status_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// A process on a device: evidence, whom to ask, never whom to trust. Make it with
// tern_process_init().
typedef struct tern_process_t {
    // sizeof(tern_process_t)
    size_t struct_size;
    // Its number, as the driver gives it; in a container that may be one of outside.
    uint32_t pid;
    // 1: `memory_mib` is known.
    uint32_t known;
    // Memory it uses on the device, in MiB.
    uint32_t memory_mib;
    // Zero.
    uint32_t reserved;
    // Whose it is, where that can be seen; otherwise empty.
    char user[256];
    // Its program, without arguments, where that can be seen; otherwise empty.
    char command[256];
} tern_process_t;

static inline tern_process_t tern_process_init(void)
{
    tern_process_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// What the device in this place is. Places are numbered from 0; TERN_ERR_BAD_VALUE beyond the
// last.
tern_status_t tern_pool_device(const tern_pool_t *pool,
                               size_t place,
                               tern_device_t *device,
                               tern_error_t *err);

// How the device in this place is, and who uses it.
tern_status_t tern_pool_device_status(const tern_pool_t *pool,
                                      size_t place,
                                      tern_device_status_t *status,
                                      tern_error_t *err);

// As tern_pool_device_status(), of all devices in the order of their places: leases and health
// all at one moment.
tern_status_t tern_pool_snapshot(const tern_pool_t *pool,
                                 tern_device_status_t *statuses,
                                 size_t capacity,
                                 size_t *needed,
                                 tern_error_t *err);

// The leases on the device in this place, oldest first.
tern_status_t tern_pool_leases_on(const tern_pool_t *pool,
                                  size_t place,
                                  tern_lease_t *leases,
                                  size_t capacity,
                                  size_t *needed,
                                  tern_error_t *err);

// The processes that compute on the device in this place although it has no lease.
tern_status_t tern_pool_squatters(const tern_pool_t *pool,
                                  size_t place,
                                  tern_process_t *processes,
                                  size_t capacity,
                                  size_t *needed,
                                  tern_error_t *err);

/* ===========================================================================
 * GPU claim: asking a pool for devices.
 *
 * All or nothing: no claim ever holds a part of what it asked for. The lease is a number as
 * every other; give it back with tern_gpu_lease_release().
 *
 *     tern_gpu_claim_t wanted = tern_gpu_claim_init();
 *     wanted.count = 4;                   // linked to each other, if that can be
 *     wanted.min_memory_mib = 40000;
 *     wanted.wait = 60 * TERN_SECOND;
 *     if (tern_pool_claim(pool, &wanted, &lease, &err) != TERN_OK)
 *         die(err.message);
 *     compute_on_the_gpu(pool, lease);
 *     tern_gpu_lease_release(pool, lease, NULL);
 * =========================================================================== */

// Of claims for devices: a thread of the library's own renews the lease in time while the pool
// is open. Should the process hang as a whole, the lease ends. Needs a manager with a real
// clock.
#define TERN_CLAIM_KEEP_ALIVE 32

// A claim for devices. What is zero is as usual: any one device, alone, without end, now or not
// at all. Make it with tern_gpu_claim_init(). Times are in the unit of the pool's manager.
typedef struct tern_gpu_claim_t {
    // sizeof(tern_gpu_claim_t)
    size_t struct_size;
    // Who asks. If it has no length, the claim gets a name of its own. Give all claims of one
    // line of work the same name if it claims more while it holds some, so that deadlocks are
    // seen.
    const char *holder;
    // Length of `holder`.
    size_t holder_len;
    // Only these devices, the preferred ones first: by UUID (or how it begins), PCI address,
    // vendor and number ("nvidia:0"), or number.
    const tern_text_t *devices;
    // How many those are; 0: any device will do.
    size_t device_count;
    // How long the lease lasts without renewal; 0: without end, as TERN_FOREVER.
    uint64_t ttl;
    // How long to stand in line if need be; 0: not at all, TERN_FOREVER: as long as it takes.
    uint64_t wait;
    // With TERN_CLAIM_SPARE or TERN_CLAIM_PREEMPTIBLE: the notice that the lease gets when it
    // is taken back.
    uint64_t notice;
    // The lease ends with this one, and never later; 0: with none.
    tern_lease_t parent;
    // TERN_CLAIM_SPARE, TERN_CLAIM_PREEMPTIBLE, TERN_CLAIM_PREEMPT, TERN_CLAIM_KEEP_ALIVE.
    uint64_t flags;
    // How many devices; 0: one.
    uint32_t count;
    // Slots that it takes of each, together with others. If memory is 0 too: all of each
    // device, alone.
    uint32_t slots;
    // Memory that it takes of each, in MiB, together with others. Nothing but the leases keeps
    // anybody from using more.
    uint32_t memory_mib;
    // Only devices with at least so much memory in all, in MiB.
    uint32_t min_memory_mib;
    // Only devices of at least this compute capability, as NVIDIA counts it: 8 of 8.6.
    uint32_t min_compute_major;
    // 6 of 8.6.
    uint32_t min_compute_minor;
    // TERN_VENDOR_*: only devices of this one.
    int32_t vendor;
    // Higher goes first; from -32768 to 32767.
    int32_t priority;
} tern_gpu_claim_t;

static inline tern_gpu_claim_t tern_gpu_claim_init(void)
{
    tern_gpu_claim_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Asks for devices and waits for them as long as the claim says. TERN_BUSY if the claim does
// not wait, TERN_TIMEOUT if it waited in vain, TERN_REFUSED if it left the line for another
// reason, TERN_EMPTY if the pool has no devices at all, TERN_ERR_IMPOSSIBLE if it has not so
// many of that kind, TERN_ERR_UNKNOWN_RESOURCE if it has none of that name. Blocks the thread.
tern_status_t tern_pool_claim(const tern_pool_t *pool,
                              const tern_gpu_claim_t *claim,
                              tern_lease_t *lease,
                              tern_error_t *err);

// Any one device, alone and without end, if one is free now and nobody waits for it: TERN_BUSY
// if not, TERN_EMPTY if the pool has no devices.
tern_status_t tern_pool_try_claim(const tern_pool_t *pool,
                                  tern_lease_t *lease,
                                  tern_error_t *err);

// Asks for devices and returns at once. TERN_OK: `lease` is granted. TERN_WAITING: the claim
// stands in line as `ticket`, for as long as it says; it comes to an end with
// tern_ticket_wait() or tern_ticket_cancel() and the pool's manager. Otherwise as
// tern_pool_claim(). TERN_CLAIM_KEEP_ALIVE is not for this: see tern_gpu_lease_keep_alive().
tern_status_t tern_pool_enqueue(const tern_pool_t *pool,
                                const tern_gpu_claim_t *claim,
                                tern_lease_t *lease,
                                tern_ticket_t *ticket,
                                tern_error_t *err);

/* ===========================================================================
 * GPU lease: the devices of a lease, and how to use them.
 *
 * A program that uses CUDA itself asks for its devices and finds each by its PCI address; one
 * that starts others gives them an environment.
 *
 *     size_t place;
 *     tern_device_t device = tern_device_init();
 *     if (tern_gpu_lease_devices(pool, lease, &place, 1, NULL, &err) == TERN_OK &&
 *         tern_pool_device(pool, place, &device, &err) == TERN_OK)
 *         printf("on %s at %s\n", device.name, device.pci);
 * =========================================================================== */

// Name devices by their UUIDs, where they have one.
#define TERN_ENV_BY_UUID 1

// The places of a lease's devices in the pool, in the pool's order; also of a lease that is
// over, while it is remembered. TERN_ERR_UNKNOWN_LEASE if it is not, or has no device of this
// pool. `needed` as for all lists.
tern_status_t tern_gpu_lease_devices(const tern_pool_t *pool,
                                     tern_lease_t lease,
                                     size_t *places,
                                     size_t capacity,
                                     size_t *needed,
                                     tern_error_t *err);

// What a child needs in its environment to see the devices of a lease and no others, line by
// line: "NAME=value" is to be set, "NAME" alone to be removed. NVIDIA's devices go by number in
// the order of PCI addresses, unless `flags` has TERN_ENV_BY_UUID; parts of devices always by
// UUID. `needed` as in tern_manager_metrics(), TERN_ERR_UNKNOWN_LEASE as above.
tern_status_t tern_gpu_lease_env(const tern_pool_t *pool,
                                 tern_lease_t lease,
                                 uint32_t flags,
                                 char *buffer,
                                 size_t capacity,
                                 size_t *needed,
                                 tern_error_t *err);

// Gives devices back. As tern_lease_release(), for those who have a pool and no manager.
tern_status_t tern_gpu_lease_release(const tern_pool_t *pool,
                                     tern_lease_t lease,
                                     tern_error_t *err);

// A thread of the library's own renews the lease from now on, in time, while it is held and the
// pool is open. As TERN_CLAIM_KEEP_ALIVE, for leases that came by a ticket.
tern_status_t tern_gpu_lease_keep_alive(const tern_pool_t *pool,
                                        tern_lease_t lease,
                                        tern_error_t *err);

/* ===========================================================================
 * Speed: how fast the devices of a pool are.
 *
 * Nothing is measured: a device that nobody has leased is not ours to use. The driver tells
 * some figures, and what follows from them is worked out. What is not known is zero.
 *
 *     tern_device_speed_t speed = tern_device_speed_init();
 *     if (tern_pool_device_speed(pool, 0, &speed, &err) == TERN_OK && speed.memory != 0)
 *         printf("%" PRIu64 " GB/s\n", speed.memory / 1000000000);
 * =========================================================================== */

// `cores` is known.
#define TERN_SPEED_CORES 1

// `multiprocessors` is known.
#define TERN_SPEED_MULTIPROCESSORS 2

// `core_mhz` is known.
#define TERN_SPEED_CORE_MHZ 4

// `memory_mhz` is known.
#define TERN_SPEED_MEMORY_MHZ 8

// `memory_bits` is known.
#define TERN_SPEED_MEMORY_BITS 16

// `pcie_generation` is known.
#define TERN_SPEED_PCIE_GENERATION 32

// `pcie_lanes` is known.
#define TERN_SPEED_PCIE_LANES 64

// How fast a device is. Make it with tern_device_speed_init().
typedef struct tern_device_speed_t {
    // sizeof(tern_device_speed_t)
    size_t struct_size;
    // Floating-point operations with 8-byte numbers per second; 0: unknown, as for the four
    // below.
    uint64_t flop64;
    // Floating-point operations with 4-byte numbers.
    uint64_t flop32;
    // Floating-point operations with 2-byte numbers, by the units made for matrices.
    uint64_t flop16_matrix;
    // Bytes to and from its memory.
    uint64_t memory;
    // Bytes between the machine's memory and its own.
    uint64_t link;
    // Which of the numbers below are known: TERN_SPEED_*
    uint32_t known;
    // The CUDA cores of a whole device. Not told of a part.
    uint32_t cores;
    // The multiprocessors of a part. Not told of a whole device.
    uint32_t multiprocessors;
    // The highest clock of the cores, in MHz.
    uint32_t core_mhz;
    // The highest clock of the memory, in MHz.
    uint32_t memory_mhz;
    // How wide the way to the memory is, in bits. Of a part: its share, in eighths of the
    // whole, as its memory is.
    uint32_t memory_bits;
    // The highest PCIe generation: the present one drops when the device is idle.
    uint32_t pcie_generation;
    // The highest number of PCIe lanes.
    uint32_t pcie_lanes;
} tern_device_speed_t;

static inline tern_device_speed_t tern_device_speed_init(void)
{
    tern_device_speed_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// How fast the device in this place is, by what its driver tells. Places as in
// tern_pool_device().
tern_status_t tern_pool_device_speed(const tern_pool_t *pool,
                                     size_t place,
                                     tern_device_speed_t *speed,
                                     tern_error_t *err);

/* ===========================================================================
 * Cost: what a computation needs.
 *
 * A cost is four numbers and nothing else: an identity, which is the same on every machine, in
 * every language and in every version, and so may be part of the key of a cache. It therefore
 * has no struct_size, is exactly 32 bytes long, and is passed by value; a cost of one's own
 * making is an initializer. The functions here only calculate: they need no handle, cannot
 * fail, and may be called from anywhere. No number wraps around: UINT64_MAX means "this much or
 * more".
 *
 *     tern_cost_t load = tern_cost_copy(64000000);
 *     tern_cost_t sort = tern_cost_sort(1000000, 64, 64000000);
 *     tern_cost_t both = tern_cost_then(load, sort);
 *     tern_cost_t own = { .flops = 2000, .mem_bytes = 800, .peak_mem = 400, .result_bytes = 8 };
 *     both = tern_cost_then(both, tern_cost_repeat(own, 1000));
 * =========================================================================== */

// What a computation needs.
typedef struct tern_cost_t {
    // Operations, of whatever sort the computation is made of.
    uint64_t flops;
    // Bytes that go to and from memory.
    uint64_t mem_bytes;
    // Bytes of memory in use at one time, at most.
    uint64_t peak_mem;
    // Bytes of the result.
    uint64_t result_bytes;
} tern_cost_t;

// A length of time in nanoseconds, as far as it is known: most likely `mid`, and rarely outside
// `lo` and `hi`. What cannot be done, or never ends, has TERN_NEVER in all three.
typedef struct tern_estimate_t {
    // If all goes well.
    uint64_t lo;
    // Most likely.
    uint64_t mid;
    // If it does not.
    uint64_t hi;
} tern_estimate_t;

// Reading `bytes` once, from end to end.
tern_cost_t tern_cost_scan(uint64_t bytes, uint64_t result_bytes);

// Sorting so many items by comparison.
tern_cost_t tern_cost_sort(uint64_t items, uint64_t item_bytes, uint64_t result_bytes);

// Hashing `bytes` into 32.
tern_cost_t tern_cost_hash(uint64_t bytes);

// Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers.
tern_cost_t tern_cost_matmul(uint64_t m, uint64_t n, uint64_t k, uint64_t result_bytes);

// Reading so many rows, doing so many operations with each, and writing them.
tern_cost_t tern_cost_etl(uint64_t rows,
                                 uint64_t row_bytes,
                                 uint64_t ops_per_row,
                                 uint64_t result_bytes);

// Copying `bytes`.
tern_cost_t tern_cost_copy(uint64_t bytes);

// The first, then the next one, whose result it is.
tern_cost_t tern_cost_then(tern_cost_t first, tern_cost_t next);

// One beside another, each on processors of its own.
tern_cost_t tern_cost_par(tern_cost_t one, tern_cost_t other);

// One beside another on the same processors: everything adds up.
tern_cost_t tern_cost_both(tern_cost_t one, tern_cost_t other);

// The same so many times, one after the other, of which the last result counts.
tern_cost_t tern_cost_repeat(tern_cost_t cost, uint64_t times);

// How long `work` takes at `rate` per second, in nanoseconds, rounded up. TERN_NEVER if the
// work has no end (it is UINT64_MAX), nothing does it, or it takes longer than can be said.
uint64_t tern_nanoseconds(uint64_t work,
                          uint64_t rate);

/* ===========================================================================
 * Task: a cost, and what else a prediction needs to know.
 *
 * What sort of work it is, on how many threads, from how much input, and what earlier runs
 * taught. A task is a struct of the caller's that the library only reads.
 *
 *     tern_task_t task = tern_task_init();
 *     task.cost = tern_cost_matmul(1000, 1000, 1000, 8000000);
 *     task.kind = TERN_KIND_DENSE64;
 *     task.threads = 4;
 *     // Predicted without anything learned, and measured, in nanoseconds:
 *     tern_learned_record(&task.learned_runs, &task.learned_permille, 11189438, 14000000, &err);
 * =========================================================================== */

// `input_bytes` is said, even if it is zero.
#define TERN_TASK_INPUT 1

// What sort of work a cost is made of, and so by which of a machine's rates it is measured.
TERN_ENUM_BEGIN(tern_kind_t)
    // Nobody said: the longer of calculating at full speed and of moving the bytes.
    TERN_KIND_ROOFLINE = 0,
    // Dense arithmetic with 8-byte floating-point numbers, by a good library:
    // tern_cost_matmul().
    TERN_KIND_DENSE64 = 1,
    // The same with 4-byte ones.
    TERN_KIND_DENSE32 = 2,
    // Reading memory from end to end, as fast as it comes: tern_cost_scan() by a good library,
    // sums, searches.
    TERN_KIND_STREAM = 3,
    // Copying memory: tern_cost_copy().
    TERN_KIND_COPY = 4,
    // A few operations for each row, one after the other: tern_cost_etl().
    TERN_KIND_ROWS = 5,
    // Rows of text that are taken apart: tern_cost_etl() of CSV or JSON.
    TERN_KIND_PARSE = 6,
    // Sorting by comparison: tern_cost_sort().
    TERN_KIND_SORT = 7,
    // SHA-256: tern_cost_hash(). For other functions, use tern_learned_record().
    TERN_KIND_HASH = 8,
    // Looking at each byte by a plain loop: tern_cost_scan() as most programs do it.
    TERN_KIND_BYTES = 9,
TERN_ENUM_END

// A cost, and what else a prediction needs to know. What is zero is as usual: one thread of
// which nothing but its cost is known. Make it with tern_task_init().
typedef struct tern_task_t {
    // sizeof(tern_task_t)
    size_t struct_size;
    // What it needs.
    tern_cost_t cost;
    // With TERN_TASK_INPUT: how many bytes it reads, which must get to a GPU before it can
    // begin there. Without: all that it has in memory, or all that passes through if it keeps
    // nothing.
    uint64_t input_bytes;
    // TERN_TASK_*
    uint64_t flags;
    // TERN_KIND_*
    int32_t kind;
    // On how many threads it runs; more than the machine has are as many as it has; 0: one.
    uint32_t threads;
    // How many runs were measured: tern_learned_record(). 0: nothing was learned.
    uint32_t learned_runs;
    // How long they took, in thousandths of what is predicted without this. 0: nothing was
    // learned.
    uint32_t learned_permille;
} tern_task_t;

static inline tern_task_t tern_task_init(void)
{
    tern_task_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// A run was predicted to take so many nanoseconds, without anything learned
// (tern_machine_untaught_time()), and took so many: changes what was learned, the two members
// of a task. The first run counts in full; after that each new one counts as much as all before
// it. A time of 0 or TERN_NEVER teaches nothing. Keep the two numbers for each function, with
// its results or its name.
tern_status_t tern_learned_record(uint32_t *runs,
                                  uint32_t *permille,
                                  uint64_t predicted_ns,
                                  uint64_t measured_ns,
                                  tern_error_t *err);

/* ===========================================================================
 * Machine: what this machine can do.
 *
 * A machine is read once: the operating system is asked, and the processor and its memory are
 * measured, for 300 ms unless the options say otherwise. After that it is a handle on figures:
 * predictions from it take no time, start no thread and ask nobody. It is safe to use from any
 * thread. In a child after fork() it is TERN_ERR_FORKED as every handle is; reading it again
 * there with TERN_MACHINE_NO_BENCHMARKS, or with what was kept, takes a moment.
 *
 *     tern_machine_t *machine = NULL;
 *     if (tern_machine_read(TERN_STR("/var/cache/results"), NULL, &machine, &err) != TERN_OK)
 *         die(err.message);
 *     tern_verdict_t verdict = tern_verdict_init();
 *     if (tern_machine_verdict(machine, &task, &verdict, &err) == TERN_OK)
 *         printf("%s\n", verdict.words); // "compute", "fetch", "must compute (no network)"
 *     tern_machine_close(machine);
 * =========================================================================== */

// Measure nothing: all rates are estimates. Takes no time.
#define TERN_MACHINE_NO_BENCHMARKS 1

// Do not ask for the network: there is none.
#define TERN_MACHINE_NO_NETWORK 2

// Keep what is measured, so that next time nothing needs to be. Without this, nothing is
// written. To measure anew and keep that: with a max_age_us of 1.
#define TERN_MACHINE_KEEP 4

// Measure anew, whatever was kept. Not together with TERN_MACHINE_KEEP.
#define TERN_MACHINE_REFRESH 8

// What this machine can do.
typedef struct tern_machine_t tern_machine_t;

// Is called with what tern_machine_options_t has as `user`: this is being measured now, `done`
// of `of` steps are done. By the thread that reads the machine, before that call returns. The
// text is there during the call only. It must not throw an exception or jump out.
typedef void (*tern_progress_fn)(void *user, const char *step, uint32_t done, uint32_t of);

// How a machine is read; what is zero is as usual. Make it with tern_machine_options_init().
// Times are in microseconds.
typedef struct tern_machine_options_t {
    // sizeof(tern_machine_options_t)
    size_t struct_size;
    // TERN_MACHINE_*
    uint64_t flags;
    // Measure the processor and the memory for at most so long; 0: 300 ms. In less figures are
    // rougher, and in very little time they are estimates. More than a minute is a minute.
    uint64_t budget_us;
    // Measure the disk, too, for at most so long: writes a file without a name into `store`, of
    // 32 MiB at most, and reads it again. 0: do not. More than a minute is a minute.
    uint64_t disk_budget_us;
    // Use nothing that was kept and is older; 0: seven days, TERN_FOREVER: of whatever age.
    uint64_t max_age_us;
    // Keep what is measured in this file, and look for it there, instead of one in the user's
    // cache directory. If it has no length: that one, by the environment variables
    // XDG_CACHE_HOME and HOME.
    const char *cache_file;
    // Length of `cache_file`.
    size_t cache_file_len;
    // Is told what is being measured; may be NULL.
    tern_progress_fn progress;
    // For `progress`.
    void *user;
} tern_machine_options_t;

static inline tern_machine_options_t tern_machine_options_init(void)
{
    tern_machine_options_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Reads this machine, and measures it as the options say; they may be NULL. `store` is the
// directory where results are kept, of whose disk the room counts; TERN_ERR_SYSTEM if it cannot
// be used. Blocks the thread while it measures, on threads that end before it returns. Writes
// nothing unless it is told to. Close it with tern_machine_close().
tern_status_t tern_machine_read(const char *store,
                                size_t store_len,
                                const tern_machine_options_t *options,
                                tern_machine_t **machine,
                                tern_error_t *err);

// Closes a machine. The handle must not be used again. NULL is allowed.
void tern_machine_close(tern_machine_t *machine);

/* ===========================================================================
 * Machine, looked at: its figures, as they were when it was read.
 *
 *     tern_machine_info_t info = tern_machine_info_init();
 *     if (tern_machine_info(machine, &info, &err) == TERN_OK && info.known & TERN_MACHINE_HAS_DISK)
 *         printf("%s: %" PRIu64 " bytes free in %s\n", info.processor, info.disk_free, info.store);
 * =========================================================================== */

// `disk_total` and `disk_free` are known.
#define TERN_MACHINE_HAS_DISK 1

// It has a battery.
#define TERN_MACHINE_HAS_BATTERY 2

// `battery_percent` is known.
#define TERN_MACHINE_HAS_BATTERY_PERCENT 4

// It runs on its battery now.
#define TERN_MACHINE_ON_BATTERY 8

// What sort of machine it is.
TERN_ENUM_BEGIN(tern_machine_class_t)
    // Little memory.
    TERN_MACHINE_CLASS_CONSTRAINED = 1,
    // It has a battery.
    TERN_MACHINE_CLASS_LAPTOP = 2,
    // Many cores, or quite a few and much memory.
    TERN_MACHINE_CLASS_SERVER = 3,
    // All others.
    TERN_MACHINE_CLASS_DESKTOP = 4,
TERN_ENUM_END

// The network, as far as the operating system knows it.
TERN_ENUM_BEGIN(tern_network_t)
    // Nothing leads out of this machine.
    TERN_NETWORK_NONE = 0,
    // Something does, and nobody says how fast it is: so it is with virtual and with wireless
    // cards.
    TERN_NETWORK_UNKNOWN = 1,
    // The card that leads out says how fast it is. The way behind it may be slower.
    TERN_NETWORK_CARD = 2,
TERN_ENUM_END

// What a machine can do, and had left when it was read. Make it with tern_machine_info_init().
typedef struct tern_machine_info_t {
    // sizeof(tern_machine_info_t)
    size_t struct_size;
    // Memory that this process could have, in bytes: that of the machine, or less if a group
    // that it is in has a limit.
    uint64_t mem_total;
    // What is left of it.
    uint64_t mem_available;
    // How much memory one computation may take.
    uint64_t compute_budget;
    // The size of the disk with the results in bytes.
    uint64_t disk_total;
    // What is left of it.
    uint64_t disk_free;
    // With TERN_NETWORK_CARD: how fast that is, in Mbit/s; otherwise 0.
    uint64_t network_mbps;
    // How old the rates are, in microseconds; TERN_FOREVER: they were not measured.
    uint64_t age_us;
    // How long a program takes to begin with a GPU: tern_machine_set_gpu_start().
    tern_estimate_t gpu_start;
    // Operations per 1000 bytes at which neither arithmetic nor memory waits for the other, all
    // cores together.
    uint64_t ridge_permille;
    // Which of the figures are known that need not be, and whether it runs on a battery:
    // TERN_MACHINE_HAS_*, TERN_MACHINE_ON_BATTERY
    uint32_t known;
    // The cores of its processor.
    uint32_t cores_physical;
    // Threads that it runs at one time.
    uint32_t cores_logical;
    // Threads that this process may run at one time.
    uint32_t cores_usable;
    // Its clock; 0 if nobody says.
    uint32_t freq_mhz;
    // TERN_NETWORK_*
    int32_t network;
    // TERN_MACHINE_CLASS_*: what sort of machine it is.
    int32_t machine_class;
    // How full the battery is.
    uint32_t battery_percent;
    // How much arithmetic all cores do, beside what one does times their number, in
    // thousandths.
    uint32_t core_scaling_permille;
    // How much of the memory is taken, in thousandths; 500 if nobody knows.
    uint32_t mem_pressure_permille;
    // How much of the disk is taken, in thousandths; 500 if nobody knows.
    uint32_t disk_pressure_permille;
    // Zero.
    uint32_t reserved;
    // What the processor is called; cut if it is longer.
    char processor[128];
    // Where results are kept; cut if it is longer.
    char store[1024];
} tern_machine_info_t;

static inline tern_machine_info_t tern_machine_info_init(void)
{
    tern_machine_info_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// What the machine can do, and had left when it was read.
tern_status_t tern_machine_info(const tern_machine_t *machine,
                                tern_machine_info_t *info,
                                tern_error_t *err);

// The figures as JSON, with all rates. `needed` as in tern_manager_metrics().
tern_status_t tern_machine_json(const tern_machine_t *machine,
                                char *buffer,
                                size_t capacity,
                                size_t *needed,
                                tern_error_t *err);

// How long a program takes to begin with a GPU, in nanoseconds: at best, most likely, at worst.
// All zero in one that has begun. Counts in advice from now on.
tern_status_t tern_machine_set_gpu_start(const tern_machine_t *machine,
                                         uint64_t lo_ns,
                                         uint64_t mid_ns,
                                         uint64_t hi_ns,
                                         tern_error_t *err);

/* ===========================================================================
 * Rate: how much of something a machine does in a second.
 *
 *     tern_rate_t rate = tern_rate_init();
 *     if (tern_machine_rate(machine, TERN_RATE_FLOP64_ALL, &rate, &err) == TERN_OK)
 *         printf("%" PRIu64 " operations per second\n", rate.per_second);
 * =========================================================================== */

// What is done in a second: operations or bytes; by one thread, or by all that this process may
// use.
TERN_ENUM_BEGIN(tern_rate_of_t)
    // Floating-point operations with 8-byte numbers, one thread.
    TERN_RATE_FLOP64 = 0,
    // The same, all threads.
    TERN_RATE_FLOP64_ALL = 1,
    // Floating-point operations with 4-byte numbers, one thread.
    TERN_RATE_FLOP32 = 2,
    // Bytes read from memory, one thread.
    TERN_RATE_READ = 3,
    // The same, all threads.
    TERN_RATE_READ_ALL = 4,
    // Bytes of a = b + s * c in memory, one thread: two arrays read, one written.
    TERN_RATE_TRIAD = 5,
    // The same, all threads.
    TERN_RATE_TRIAD_ALL = 6,
    // Bytes copied in memory, one thread.
    TERN_RATE_COPY = 7,
    // The same, all threads.
    TERN_RATE_COPY_ALL = 8,
    // Plain operations on whole numbers, one thread.
    TERN_RATE_SCALAR = 9,
    // Bytes of text taken apart, one thread.
    TERN_RATE_PARSE = 10,
    // Bytes put through SHA-256, one thread.
    TERN_RATE_HASH = 11,
    // Operations of a sort, as tern_cost_sort() counts them, one thread.
    TERN_RATE_COMPARE = 12,
    // Bytes that a sort moves, as counted there, one thread.
    TERN_RATE_SHIFT = 13,
    // Bytes that a plain loop looks at, one thread.
    TERN_RATE_BYTES = 14,
    // Bytes written to the disk with the results.
    TERN_RATE_DISK_WRITE = 15,
    // Bytes read from it.
    TERN_RATE_DISK_READ = 16,
TERN_ENUM_END

// Where a figure comes from, and so how far it may be trusted.
TERN_ENUM_BEGIN(tern_source_t)
    // Measured, often enough.
    TERN_SOURCE_MEASURED = 1,
    // Measured, but less often than needed, or with arrays that may have stayed in a cache.
    TERN_SOURCE_ROUGH = 2,
    // Worked out from what the processor says of itself.
    TERN_SOURCE_ESTIMATED = 3,
TERN_ENUM_END

// How much of something is done in a second. Make it with tern_rate_init().
typedef struct tern_rate_t {
    // sizeof(tern_rate_t)
    size_t struct_size;
    // What the machine can do: nine of ten measurements gave less.
    uint64_t per_second;
    // What it did while it was measured, beside everything else that it was doing: the middle
    // one.
    uint64_t usual;
    // How far measurements lay apart, in thousandths: the middle half of them, beside the
    // middle one.
    uint32_t spread_permille;
    // TERN_SOURCE_*: where it comes from.
    int32_t source;
} tern_rate_t;

static inline tern_rate_t tern_rate_init(void)
{
    tern_rate_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// How fast the machine is at something: TERN_RATE_*
tern_status_t tern_machine_rate(const tern_machine_t *machine,
                                int32_t which,
                                tern_rate_t *rate,
                                tern_error_t *err);

/* ===========================================================================
 * Route: the way to where results can be fetched from.
 *
 * Not a property of a network card but of a path: say what is known of it, or teach it by what
 * real transfers took.
 *
 *     tern_route_t route = tern_route_init();
 *     route.round_trip_ns = 2000000;          // 2 ms there and back
 *     route.bytes_per_second = 125000000;     // 1 Gbit/s
 *     route.hits_permille = 900;              // nine of ten queries find something
 *     if (tern_machine_set_route(machine, &route, &err) != TERN_OK)
 *         die(err.message);
 *     tern_machine_record_fetch(machine, 12500000, 204000000, NULL);
 * =========================================================================== */

// How far a route is known.
TERN_ENUM_BEGIN(tern_route_known_t)
    // By what the network card says of itself, or by what somebody declared.
    TERN_ROUTE_DECLARED = 0,
    // Somebody must try: nothing is known but that there is a network.
    TERN_ROUTE_ASSUMED = 1,
    // By transfers.
    TERN_ROUTE_LEARNED = 2,
TERN_ENUM_END

// The way to where results can be fetched from. Make it with tern_route_init().
typedef struct tern_route_t {
    // sizeof(tern_route_t)
    size_t struct_size;
    // There and back, in nanoseconds.
    uint64_t round_trip_ns;
    // What arrives in a second, at most. Not zero: where nothing arrives there is no route.
    uint64_t bytes_per_second;
    // What it takes to know what to ask for, and to be told whether it is there: hashing of
    // keys, queries.
    uint64_t query_ns;
    // Of a thousand queries, how many find something; 0: all, as 1000.
    uint32_t hits_permille;
    // TERN_ROUTE_*: how far this is known.
    int32_t known;
} tern_route_t;

static inline tern_route_t tern_route_init(void)
{
    tern_route_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// The way to where results can be fetched from, as far as it is known by now. TERN_EMPTY if
// there is no network.
tern_status_t tern_machine_route(const tern_machine_t *machine,
                                 tern_route_t *route,
                                 tern_error_t *err);

// From now on this is the way. NULL: there is none, and nothing can be fetched.
tern_status_t tern_machine_set_route(const tern_machine_t *machine,
                                     const tern_route_t *route,
                                     tern_error_t *err);

// A transfer of so many bytes took so many nanoseconds. A short one tells how long the way is,
// a long one how wide: each counts for half of what is known afterwards. A time of 0 or
// TERN_NEVER teaches nothing. TERN_EMPTY if there is no network.
tern_status_t tern_machine_record_fetch(const tern_machine_t *machine,
                                        uint64_t bytes,
                                        uint64_t took_ns,
                                        tern_error_t *err);

/* ===========================================================================
 * Estimate: how long things take on a machine, and what follows from that.
 *
 * Times are whole nanoseconds; TERN_NEVER is without end, and longer than can be said. None of
 * these functions measures anything or changes the machine.
 *
 *     uint64_t predicted, ttl;
 *     tern_estimate_t time;
 *     if (tern_machine_compute_time(machine, &task, &time, &err) == TERN_OK)
 *         printf("%" PRIu64 " ns, %" PRIu64 " at worst\n", time.mid, time.hi);
 *     // Then run it, and tell how long it took:
 *     tern_machine_untaught_time(machine, &task, &predicted, &err);
 *     tern_learned_record(&task.learned_runs, &task.learned_permille, predicted, 14000000, &err);
 *     tern_machine_suggest_ttl(machine, &task, 60 * TERN_SECOND, &ttl, &err);
 * =========================================================================== */

// How long a task takes here, with what was learned of it and whether or not its memory is
// there.
tern_status_t tern_machine_compute_time(const tern_machine_t *machine,
                                        const tern_task_t *task,
                                        tern_estimate_t *time,
                                        tern_error_t *err);

// How long a task takes here by the rates alone: what a measured run is to be compared with, in
// tern_learned_record().
tern_status_t tern_machine_untaught_time(const tern_machine_t *machine,
                                         const tern_task_t *task,
                                         uint64_t *time_ns,
                                         tern_error_t *err);

// How long fetching so many bytes takes, once it is known that they are there. TERN_NEVER
// without a network.
tern_status_t tern_machine_fetch_time(const tern_machine_t *machine,
                                      uint64_t bytes,
                                      tern_estimate_t *time,
                                      tern_error_t *err);

// How long keeping so many bytes takes, on the disk with the results.
tern_status_t tern_machine_store_time(const tern_machine_t *machine,
                                      uint64_t bytes,
                                      tern_estimate_t *time,
                                      tern_error_t *err);

// Is there room for so many bytes on the disk with the results, and some to spare? +1: yes; -1:
// no; 0: nobody knows, and one may try. TERN_TRIT_UNKNOWN if the call failed.
tern_trit_t tern_machine_can_store(const tern_machine_t *machine,
                                   uint64_t bytes,
                                   tern_error_t *err);

// For how long a result is worth keeping, in microseconds: the longer, the more computing it
// again costs beside fetching it. From a tenth of `base_us` to a thousand times as long; the
// longest if it cannot be fetched again, or takes no time to. TERN_FOREVER if that is longer
// than any lease.
tern_status_t tern_machine_suggest_ttl(const tern_machine_t *machine,
                                       const tern_task_t *task,
                                       uint64_t base_us,
                                       uint64_t *ttl_us,
                                       tern_error_t *err);

// How large a buffer for rows may be, in bytes: half of what a computation may take, in whole
// rows. TERN_EMPTY if not even one fits.
tern_status_t tern_machine_etl_buffer(const tern_machine_t *machine,
                                      uint64_t row_bytes,
                                      uint64_t *buffer_bytes,
                                      tern_error_t *err);

// A cost for something that took so long here: at most so much work, by the rates of this
// machine. To be compared with other costs, and not the way back to the same time elsewhere:
// that is tern_learned_record().
tern_status_t tern_machine_normalize(const tern_machine_t *machine,
                                     uint64_t took_ns,
                                     uint64_t peak_mem,
                                     uint64_t result_bytes,
                                     tern_cost_t *cost,
                                     tern_error_t *err);

// What a cached result saves each time it is fetched instead of computed, in nanoseconds;
// negative if it costs some. INT64_MAX if fetching is the only way, INT64_MIN if it is none;
// nothing else is either of them. Without the query and the disk, which the score of a verdict
// counts as well: so of close calls the two may differ.
tern_status_t tern_machine_cache_value(const tern_machine_t *machine,
                                       const tern_task_t *task,
                                       int64_t *value_ns,
                                       tern_error_t *err);

/* ===========================================================================
 * Verdict: compute a result here, or fetch it?
 *
 *     tern_verdict_t verdict = tern_verdict_init();
 *     if (tern_machine_verdict(machine, &task, &verdict, &err) != TERN_OK)
 *         die(err.message);
 *     printf("%s, %s\n", verdict.words, verdict.decisive ? "surely" : "a close call");
 *     if (verdict.trit == TERN_FETCH)
 *         come_back_later();
 *     else if (verdict.trit != TERN_TRIT_UNKNOWN)
 *         compute_on_the_cpu();
 * =========================================================================== */

// What to do about a result that somebody else may have.
TERN_ENUM_BEGIN(tern_answer_t)
    // Compute it here.
    TERN_ANSWER_COMPUTE = -1,
    // It makes no difference.
    TERN_ANSWER_BREAK_EVEN = 0,
    // Fetch it.
    TERN_ANSWER_FETCH = 1,
    // Neither can be done here.
    TERN_ANSWER_IMPOSSIBLE = 2,
TERN_ENUM_END

// Why something cannot be done here.
TERN_ENUM_BEGIN(tern_obstacle_t)
    // It can be done.
    TERN_OBSTACLE_NONE = 0,
    // It needs more memory than one computation may take here.
    TERN_OBSTACLE_MEMORY = 1,
    // It never ends.
    TERN_OBSTACLE_ENDLESS = 2,
    // There is no network.
    TERN_OBSTACLE_NETWORK = 3,
    // There is no room for the result.
    TERN_OBSTACLE_DISK = 4,
    // There is no device that the claim could get.
    TERN_OBSTACLE_NO_DEVICE = 5,
    // It needs more memory than the devices of the claim have.
    TERN_OBSTACLE_DEVICE_MEMORY = 6,
    // The devices of the claim do not say how fast they are, or how much memory they have.
    TERN_OBSTACLE_DEVICE_SPEED = 7,
TERN_ENUM_END

// What a computation waits for.
TERN_ENUM_BEGIN(tern_bottleneck_t)
    // For nothing: there is nothing to do.
    TERN_BOTTLENECK_NONE = 0,
    // For arithmetic.
    TERN_BOTTLENECK_COMPUTE = 1,
    // For memory.
    TERN_BOTTLENECK_MEMORY = 2,
TERN_ENUM_END

// Compute a result here or fetch it: the answer, and all that it rests on. Make it with
// tern_verdict_init().
typedef struct tern_verdict_t {
    // sizeof(tern_verdict_t)
    size_t struct_size;
    // How long computing takes; TERN_NEVER if it cannot be done.
    tern_estimate_t t_compute;
    // How long fetching takes with all that belongs to it: asking, two round trips, the bytes,
    // and keeping the result. TERN_NEVER if it cannot be done.
    tern_estimate_t t_fetch;
    // How long keeping the result takes.
    tern_estimate_t t_store;
    // Nanoseconds that fetching saves; negative if it costs some. INT64_MAX if only fetching
    // can be done, INT64_MIN if only computing; 0 if neither, and then the trit is unknown.
    int64_t score_ns;
    // TERN_ANSWER_*: what to do.
    int32_t answer;
    // TERN_OBSTACLE_*: why it cannot be computed.
    int32_t why_not_compute;
    // TERN_OBSTACLE_*: why it cannot be fetched.
    int32_t why_not_fetch;
    // TERN_BOTTLENECK_*: what computing would wait for.
    int32_t bottleneck;
    // How much the owner of such a machine would rather not compute on it, in thousandths: no
    // part of any of the times.
    uint32_t bias_permille;
    // TERN_FETCH, TERN_BREAK_EVEN or TERN_COMPUTE; TERN_TRIT_UNKNOWN if neither can be done.
    tern_trit_t trit;
    // 1 if it can be computed here, otherwise 0.
    uint8_t can_compute;
    // 1 if there is room to keep the result, otherwise 0.
    uint8_t can_store;
    // 1 if it can be fetched, otherwise 0.
    uint8_t can_fetch;
    // 1 if the better way is better even if it goes badly and the other one well. Otherwise 0:
    // begin with both, and take what comes first.
    uint8_t decisive;
    // Zero.
    uint8_t reserved[7];
    // The answer in words: "fetch", "compute", "break-even", "must fetch (insufficient RAM)",
    // "impossible (insufficient RAM, no network)".
    char words[128];
} tern_verdict_t;

static inline tern_verdict_t tern_verdict_init(void)
{
    tern_verdict_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Compute the result of a task here, or fetch it from where tern_machine_route() leads?
tern_status_t tern_machine_verdict(const tern_machine_t *machine,
                                   const tern_task_t *task,
                                   tern_verdict_t *verdict,
                                   tern_error_t *err);

// The same as JSON: what cannot be done has no time, and a reason beside it. `needed` as in
// tern_manager_metrics().
tern_status_t tern_machine_verdict_json(const tern_machine_t *machine,
                                        const tern_task_t *task,
                                        char *buffer,
                                        size_t capacity,
                                        size_t *needed,
                                        tern_error_t *err);

/* ===========================================================================
 * Advice: where to do a task, with the line in front of the devices taken into account.
 *
 * A snapshot: nothing is claimed, and by the time somebody claims, another may have been
 * faster.
 *
 *     tern_gpu_claim_t one = tern_gpu_claim_init();
 *     tern_advice_t advice = tern_advice_init();
 *     if (tern_machine_advise(machine, &task, pool, &one, &advice, &err) != TERN_OK)
 *         die(err.message);
 *     if (advice.choice == TERN_CHOICE_GPU_WAIT)
 *         one.wait = 2 * advice.wait_ns / 1000;
 *     if (advice.choice == TERN_CHOICE_CPU)
 *         compute_on_the_cpu();
 *     else if (tern_pool_claim(pool, &one, &lease, &err) == TERN_OK)
 *         compute_on_the_gpu(pool, lease);
 * =========================================================================== */

// Where to do a task.
TERN_ENUM_BEGIN(tern_choice_t)
    // It can be done in no way that is known here.
    TERN_CHOICE_INFEASIBLE = 0,
    // On the processor of this machine, now.
    TERN_CHOICE_CPU = 1,
    // On a GPU, which is free.
    TERN_CHOICE_GPU_NOW = 2,
    // On a GPU, after waiting for it.
    TERN_CHOICE_GPU_WAIT = 3,
    // Nowhere: fetch the result.
    TERN_CHOICE_FETCH = 4,
TERN_ENUM_END

// How long a claim would wait, as far as that can be told.
TERN_ENUM_BEGIN(tern_expected_wait_t)
    // Not at all.
    TERN_EXPECTED_WAIT_NONE = 0,
    // About so long, if the holders keep to what they usually do.
    TERN_EXPECTED_WAIT_ABOUT = 1,
    // Somebody who holds what is needed has no end and no history.
    TERN_EXPECTED_WAIT_UNKNOWN = 2,
    // The pool has no devices: nobody waits there, and nobody gets one.
    TERN_EXPECTED_WAIT_NO_DEVICES = 3,
TERN_ENUM_END

// How long a task takes in each way, the best of them, and why. A way that there is not has
// TERN_NEVER. Make it with tern_advice_init().
typedef struct tern_advice_t {
    // sizeof(tern_advice_t)
    size_t struct_size;
    // On the processor.
    tern_estimate_t cpu;
    // On the devices of the claim once it has them: starting, carrying the input there,
    // computing, carrying the result back.
    tern_estimate_t gpu;
    // The same, if they are free now.
    tern_estimate_t gpu_now;
    // The same, if they are not free yet, the waiting included.
    tern_estimate_t gpu_wait;
    // Fetching the result.
    tern_estimate_t fetch;
    // How long the claim would wait; TERN_NEVER if that cannot be told.
    uint64_t wait_ns;
    // TERN_CHOICE_*: the best way.
    int32_t choice;
    // TERN_EXPECTED_WAIT_*: what is known of the wait.
    int32_t wait;
    // TERN_OBSTACLE_*: why it cannot be computed on the processor.
    int32_t why_not_cpu;
    // TERN_OBSTACLE_*: why it cannot be computed on the devices, however long one waits.
    int32_t why_not_gpu;
    // TERN_OBSTACLE_*: why it cannot be fetched.
    int32_t why_not_fetch;
    // 1 if the best is the best even if it goes badly and the next one well. Otherwise 0: begin
    // with the second while the first is under way.
    uint8_t decisive;
    // Zero.
    uint8_t reserved[3];
    // All of it in words, a line for each way, the best first; cut if it is longer.
    char words[512];
} tern_advice_t;

static inline tern_advice_t tern_advice_init(void)
{
    tern_advice_t made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

// Where to do a task: here, on a device that the claim would get now or later, or nowhere
// because its result can be fetched? Claims nothing. What is checked of the claim: as in
// tern_pool_expected_wait(). Of a pool without devices the advice says so.
tern_status_t tern_machine_advise(const tern_machine_t *machine,
                                  const tern_task_t *task,
                                  const tern_pool_t *pool,
                                  const tern_gpu_claim_t *claim,
                                  tern_advice_t *advice,
                                  tern_error_t *err);

// The same as JSON: what cannot be done has no time, and a reason beside it. `needed` as in
// tern_manager_metrics(); as the line moves, the next answer may be a little longer or shorter.
tern_status_t tern_machine_advise_json(const tern_machine_t *machine,
                                       const tern_task_t *task,
                                       const tern_pool_t *pool,
                                       const tern_gpu_claim_t *claim,
                                       char *buffer,
                                       size_t capacity,
                                       size_t *needed,
                                       tern_error_t *err);

// How long a claim would wait now: TERN_EXPECTED_WAIT_* into `wait`, and the time in
// nanoseconds into `wait_ns`, which may be NULL; TERN_NEVER there if it cannot be told. Asks
// for nothing, and changes nothing. A claim for more devices, slots or memory than there are is
// refused as by tern_pool_claim(). Its times and its parent are not looked at.
tern_status_t tern_pool_expected_wait(const tern_pool_t *pool,
                                      const tern_gpu_claim_t *claim,
                                      int32_t *wait,
                                      uint64_t *wait_ns,
                                      tern_error_t *err);

// How much longer a claim that stands in line will wait, as above; not at all if it is decided.
// What waits for nothing of this pool is TERN_EXPECTED_WAIT_UNKNOWN.
tern_status_t tern_pool_expected_wait_of(const tern_pool_t *pool,
                                         tern_ticket_t ticket,
                                         int32_t *wait,
                                         uint64_t *wait_ns,
                                         tern_error_t *err);

#ifdef __cplusplus
}
#endif

#endif /* TERNLEASE_H */
