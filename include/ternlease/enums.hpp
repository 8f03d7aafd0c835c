// The enumerations and ids of ternlease.h, as types of their own.
//
// The library may grow: a number that has no name here today can come from a newer one. Give every switch a default.
#ifndef TERNLEASE_ENUMS_HPP
#define TERNLEASE_ENUMS_HPP

#include <cstdint>

#include "../ternlease.h"

namespace tern {

/// Names one lease for ever, and is its fencing token: later leases have larger ids.
enum class lease_id : std::uint64_t { none = 0 };

/// Names one waiting claim for ever.
enum class ticket_id : std::uint64_t { none = 0 };

/// Names a declared resource, for claims that spare looking up its name.
enum class resource_id : std::uint32_t { none = 0 };

/// The id as a number, to print or to send it. `tern::lease_id{number}` is the way back.
constexpr std::uint64_t number(lease_id id) noexcept { return static_cast<std::uint64_t>(id); }
/// As above.
constexpr std::uint64_t number(ticket_id id) noexcept { return static_cast<std::uint64_t>(id); }
/// As above.
constexpr std::uint32_t number(resource_id id) noexcept { return static_cast<std::uint32_t>(id); }

/// What became of a call: zero is success, positive a normal outcome that is not success, negative a failure.
enum class status : std::int32_t {
    ok = TERN_OK,                                   ///< It was done.
    busy = TERN_BUSY,                               ///< Not free now, and the claim does not wait.
    timeout = TERN_TIMEOUT,                         ///< The time came first.
    empty = TERN_EMPTY,                             ///< There is nothing now. Of a pool: it has no devices.
    waiting = TERN_WAITING,                         ///< The claim stands in line.
    refused = TERN_REFUSED,                         ///< The claim waited and will not be granted; the reason says why.
    unchanged = TERN_UNCHANGED,                     ///< It was so already.
    more = TERN_MORE,                               ///< There is more than there was room for. Not seen from C++.
    null = TERN_ERR_NULL,                           ///< The object is empty: moved from, or never opened.
    bad_handle = TERN_ERR_BAD_HANDLE,               ///< The pointer is not a handle of this kind.
    closed = TERN_ERR_CLOSED,                       ///< The manager was closed.
    forked = TERN_ERR_FORKED,                       ///< The manager was opened before this process was forked.
    poisoned = TERN_ERR_POISONED,                   ///< An earlier call panicked.
    panic = TERN_ERR_PANIC,                         ///< The library has a bug and noticed.
    bad_struct = TERN_ERR_BAD_STRUCT,               ///< The library does not know something that was asked for.
    bad_text = TERN_ERR_BAD_TEXT,                   ///< A text is not UTF-8.
    bad_value = TERN_ERR_BAD_VALUE,                 ///< A value is none of those that are allowed there.
    bad_url = TERN_ERR_BAD_URL,                     ///< The URL names no home that there is.
    unsupported = TERN_ERR_UNSUPPORTED,             ///< This system, or this build of the library, cannot do that.
    version = TERN_ERR_VERSION,                     ///< The program was compiled for another version of the library.
    system = TERN_ERR_SYSTEM,                       ///< The operating system refused; os_errno says why.
    corrupt = TERN_ERR_CORRUPT,                     ///< The table's memory does not make sense.
    full = TERN_ERR_FULL,                           ///< The table has no room left.
    stuck = TERN_ERR_STUCK,                         ///< A process that has the lock of a shared table does not go on.
    empty_name = TERN_ERR_EMPTY_NAME,               ///< A name is empty.
    name_too_long = TERN_ERR_NAME_TOO_LONG,         ///< A name is longer than TERN_NAME_MAX bytes.
    zero_ttl = TERN_ERR_ZERO_TTL,                   ///< A lease of no length was asked for.
    time_too_large = TERN_ERR_TIME_TOO_LARGE,       ///< A time is too long. Without end is tern::forever.
    too_few_resources = TERN_ERR_TOO_FEW_RESOURCES, ///< The claim asks for more resources than it names.
    duplicate_resource = TERN_ERR_DUPLICATE_RESOURCE, ///< The claim names a resource twice.
    zero_amount = TERN_ERR_ZERO_AMOUNT,               ///< Neither slots nor memory.
    unknown_resource = TERN_ERR_UNKNOWN_RESOURCE,     ///< No such resource is declared.
    impossible = TERN_ERR_IMPOSSIBLE,                 ///< The claim asks for more than there is: do not wait.
    unknown_lease = TERN_ERR_UNKNOWN_LEASE,           ///< No lease of that id is remembered.
    unknown_ticket = TERN_ERR_UNKNOWN_TICKET,         ///< No ticket of that id is remembered.
    not_held = TERN_ERR_NOT_HELD,                     ///< The lease is over; the reason says why.
    not_a_revocation = TERN_ERR_NOT_A_REVOCATION,     ///< That is not a reason to revoke a lease.
    parent_not_held = TERN_ERR_PARENT_NOT_HELD,       ///< The parent lease is not held.
    too_deep = TERN_ERR_TOO_DEEP,                     ///< Leases hang at most 16 deep.
    in_use = TERN_ERR_IN_USE,                         ///< A resource that is in use cannot change its size.
    unknown_want = TERN_ERR_UNKNOWN_WANT,             ///< The holder has declared no such want.
    unknown_process = TERN_ERR_UNKNOWN_PROCESS,       ///< No process of that number uses the table.
    other_principal = TERN_ERR_OTHER_PRINCIPAL,       ///< Only the user that the lease belongs to may transfer it.
};

/// Why a lease is over, or a claim was refused. Numbers are stable: they can be stored and compared.
enum class reason : std::int32_t {
    none = TERN_REASON_NONE,                       ///< There is none.
    deadlock_victim = TERN_REASON_DEADLOCK_VICTIM, ///< Revoked to break a deadlock.
    preempted = TERN_REASON_PREEMPTED,             ///< A claim of higher priority took it.
    spare_reclaimed = TERN_REASON_SPARE_RECLAIMED, ///< Spare capacity was needed by somebody who waited.
    quota = TERN_REASON_QUOTA,                     ///< The holder's share is used up and others need it.
    max_duration = TERN_REASON_MAX_DURATION,       ///< The longest allowed time is over.
    budget = TERN_REASON_BUDGET,                   ///< The budget is spent.
    no_progress = TERN_REASON_NO_PROGRESS,         ///< The holder renews but does not work.
    over_use = TERN_REASON_OVER_USE,               ///< The holder uses more than it was given.
    ignored_notice = TERN_REASON_IGNORED_NOTICE,   ///< An earlier notice was ignored.
    bad_token = TERN_REASON_BAD_TOKEN,             ///< The holder acted with a stale or foreign token.
    device_fault = TERN_REASON_DEVICE_FAULT,       ///< The device failed.
    node_drain = TERN_REASON_NODE_DRAIN,           ///< The machine is being emptied.
    reconfigured = TERN_REASON_RECONFIGURED,       ///< The device was repartitioned or swapped.
    operator_ = TERN_REASON_OPERATOR,              ///< An operator asked for it.
    superseded = TERN_REASON_SUPERSEDED,           ///< A newer lease replaces this one.
    parent_revoked = TERN_REASON_PARENT_REVOKED,   ///< The lease it depends on was revoked.
    shutdown = TERN_REASON_SHUTDOWN,               ///< The service is shutting down.
    timed_out = TERN_REASON_TIMED_OUT,             ///< The time ran out and nobody renewed.
    released = TERN_REASON_RELEASED,               ///< The holder gave it back.
    holder_died = TERN_REASON_HOLDER_DIED,         ///< The holder is gone.
    engine_lost = TERN_REASON_ENGINE_LOST,         ///< The store that keeps the table was lost.
    wait_timed_out = TERN_REASON_WAIT_TIMED_OUT,   ///< The claim waited as long as it wanted to.
    cancelled = TERN_REASON_CANCELLED,             ///< The claimer withdrew the claim.
    parent_ended = TERN_REASON_PARENT_ENDED,       ///< The lease that was to be the parent ended.
};

/// What a class of reasons asks a holder to do.
enum class reason_class : std::int32_t {
    none = 0,                           ///< The class of no reason.
    contention = TERN_CLASS_CONTENTION, ///< Somebody else needed it more. Try again.
    limit = TERN_CLASS_LIMIT,           ///< A limit was reached. Claim again, as a newcomer.
    conduct = TERN_CLASS_CONDUCT,       ///< The holder misbehaved. Back off and look.
    resource = TERN_CLASS_RESOURCE,     ///< The thing itself is gone or changing. Go elsewhere.
    authority = TERN_CLASS_AUTHORITY,   ///< Somebody in charge said so. Stop and ask.
    ended = TERN_CLASS_ENDED,           ///< The lease was not taken away: it ended.
    refused = TERN_CLASS_REFUSED,       ///< A claim was not granted.
};

/// What a lease is. Only `held` allows to use what it protects.
enum class lease_state : std::int8_t {
    revoked = TERN_REVOKED,      ///< Taken away, for a reason.
    expired = TERN_EXPIRED,      ///< Ended by itself: ran out, or was released.
    held = TERN_HELD,            ///< The holder may go on.
    unknown = TERN_TRIT_UNKNOWN, ///< Nothing is remembered of it, or the call failed.
};

/// What a claim in line is.
enum class ticket_state : std::int8_t {
    denied = TERN_DENIED,        ///< There will be no lease.
    in_line = TERN_IN_LINE,      ///< It waits.
    granted = TERN_GRANTED,      ///< The lease is there, to be collected.
    unknown = TERN_TRIT_UNKNOWN, ///< Nothing is remembered of it, or the call failed.
};

/// How a resource is. One that is not healthy keeps its leases and gets no new ones.
enum class health : std::int8_t {
    failed = TERN_FAILED,     ///< It does not work.
    draining = TERN_DRAINING, ///< It is being emptied.
    healthy = TERN_HEALTHY,   ///< It works.
};

/// Who made a device.
enum class vendor : std::int32_t {
    any = TERN_VENDOR_ANY,       ///< In a claim: whoever.
    nvidia = TERN_VENDOR_NVIDIA, ///< NVIDIA.
    amd = TERN_VENDOR_AMD,       ///< AMD.
    intel = TERN_VENDOR_INTEL,   ///< Intel.
    other = TERN_VENDOR_OTHER,   ///< Anybody else.
};

/// What an event tells.
enum class event_kind : std::int32_t {
    granted = TERN_EVENT_GRANTED,           ///< A claim became a lease; it had stood in line if there is a ticket.
    renewed_late = TERN_EVENT_RENEWED_LATE, ///< Renewed in the last quarter of its time; the lease ends at `until`.
    revoking = TERN_EVENT_REVOKING,         ///< The holder was told that its lease will be revoked at `until`.
    ended = TERN_EVENT_ENDED,               ///< A lease ended for a reason; it was held for `duration`.
    queued = TERN_EVENT_QUEUED,             ///< A claim took its place in line.
    refused = TERN_EVENT_REFUSED,           ///< A claim left the line without a lease; it had waited for `duration`.
    health = TERN_EVENT_HEALTH,             ///< The health of a resource changed.
    died = TERN_EVENT_DIED,                 ///< A process that shared the table was found dead; what it had was given back.
    rolled_back = TERN_EVENT_ROLLED_BACK,   ///< A process died in the middle of a change, which was undone.
};

/// How a process is that shares a table.
enum class life : std::int32_t {
    lives = TERN_LIFE_LIVES, ///< It lives.
    dying = TERN_LIFE_DYING, ///< It is dying: its memory is being freed, its files may still be open.
    gone = TERN_LIFE_GONE,   ///< It is gone, and nobody has taken note yet.
    tree = TERN_LIFE_TREE,   ///< Not one process but all that have inherited a lease.
};

/// What sort of work a cost is made of, and so by which of a machine's rates it is measured.
enum class kind : std::int32_t {
    roofline = TERN_KIND_ROOFLINE, ///< Nobody said: the longer of calculating at full speed and of moving the bytes.
    dense64 = TERN_KIND_DENSE64,   ///< Dense arithmetic with 8-byte floating-point numbers: cost::matmul().
    dense32 = TERN_KIND_DENSE32,   ///< The same with 4-byte ones.
    stream = TERN_KIND_STREAM,     ///< Reading memory from end to end, as fast as it comes: sums, searches.
    copy = TERN_KIND_COPY,         ///< Copying memory: cost::copy().
    rows = TERN_KIND_ROWS,         ///< A few operations for each row, one after the other: cost::etl().
    parse = TERN_KIND_PARSE,       ///< Rows of text that are taken apart: cost::etl() of CSV or JSON.
    sort = TERN_KIND_SORT,         ///< Sorting by comparison: cost::sort().
    hash = TERN_KIND_HASH,         ///< SHA-256: cost::hash(). For other functions, teach a tern::learned.
    bytes = TERN_KIND_BYTES,       ///< Looking at each byte by a plain loop: cost::scan() as most programs do it.
};

/// What sort of machine it is.
enum class machine_class : std::int32_t {
    constrained = TERN_MACHINE_CLASS_CONSTRAINED, ///< Little memory.
    laptop = TERN_MACHINE_CLASS_LAPTOP,           ///< It has a battery.
    server = TERN_MACHINE_CLASS_SERVER,           ///< Many cores, or quite a few and much memory.
    desktop = TERN_MACHINE_CLASS_DESKTOP,         ///< All others.
};

/// The network, as far as the operating system knows it.
enum class network : std::int32_t {
    none = TERN_NETWORK_NONE,       ///< Nothing leads out of this machine.
    unknown = TERN_NETWORK_UNKNOWN, ///< Something does, and nobody says how fast it is.
    card = TERN_NETWORK_CARD,       ///< The card that leads out says how fast it is.
};

/// What is done in a second: operations or bytes; by one thread, or by all that this process may use.
enum class rate_of : std::int32_t {
    flop64 = TERN_RATE_FLOP64,         ///< Floating-point operations with 8-byte numbers, one thread.
    flop64_all = TERN_RATE_FLOP64_ALL, ///< The same, all threads.
    flop32 = TERN_RATE_FLOP32,         ///< Floating-point operations with 4-byte numbers, one thread.
    read = TERN_RATE_READ,             ///< Bytes read from memory, one thread.
    read_all = TERN_RATE_READ_ALL,     ///< The same, all threads.
    triad = TERN_RATE_TRIAD,           ///< Bytes of a = b + s * c in memory, one thread.
    triad_all = TERN_RATE_TRIAD_ALL,   ///< The same, all threads.
    copy = TERN_RATE_COPY,             ///< Bytes copied in memory, one thread.
    copy_all = TERN_RATE_COPY_ALL,     ///< The same, all threads.
    scalar = TERN_RATE_SCALAR,         ///< Plain operations on whole numbers, one thread.
    parse = TERN_RATE_PARSE,           ///< Bytes of text taken apart, one thread.
    hash = TERN_RATE_HASH,             ///< Bytes put through SHA-256, one thread.
    compare = TERN_RATE_COMPARE,       ///< Operations of a sort, as cost::sort() counts them, one thread.
    shift = TERN_RATE_SHIFT,           ///< Bytes that a sort moves, as counted there, one thread.
    bytes = TERN_RATE_BYTES,           ///< Bytes that a plain loop looks at, one thread.
    disk_write = TERN_RATE_DISK_WRITE, ///< Bytes written to the disk with the results.
    disk_read = TERN_RATE_DISK_READ,   ///< Bytes read from it.
};

/// Where a figure comes from, and so how far it may be trusted.
enum class source : std::int32_t {
    measured = TERN_SOURCE_MEASURED,   ///< Measured, often enough.
    rough = TERN_SOURCE_ROUGH,         ///< Measured, but less often than needed, or in a cache.
    estimated = TERN_SOURCE_ESTIMATED, ///< Worked out from what the processor says of itself.
};

/// How far a route is known.
enum class route_known : std::int32_t {
    declared = TERN_ROUTE_DECLARED, ///< By what the network card says of itself, or by what somebody declared.
    assumed = TERN_ROUTE_ASSUMED,   ///< Somebody must try: nothing is known but that there is a network.
    learned = TERN_ROUTE_LEARNED,   ///< By transfers.
};

/// What to do about a result that somebody else may have.
enum class answer : std::int32_t {
    compute = TERN_ANSWER_COMPUTE,       ///< Compute it here.
    break_even = TERN_ANSWER_BREAK_EVEN, ///< It makes no difference.
    fetch = TERN_ANSWER_FETCH,           ///< Fetch it.
    impossible = TERN_ANSWER_IMPOSSIBLE, ///< Neither can be done here.
};

/// Why something cannot be done here.
enum class obstacle : std::int32_t {
    none = TERN_OBSTACLE_NONE,                   ///< It can be done.
    memory = TERN_OBSTACLE_MEMORY,               ///< It needs more memory than one computation may take here.
    endless = TERN_OBSTACLE_ENDLESS,             ///< It never ends.
    network = TERN_OBSTACLE_NETWORK,             ///< There is no network.
    disk = TERN_OBSTACLE_DISK,                   ///< There is no room for the result.
    no_device = TERN_OBSTACLE_NO_DEVICE,         ///< There is no device that the claim could get.
    device_memory = TERN_OBSTACLE_DEVICE_MEMORY, ///< It needs more memory than the devices of the claim have.
    device_speed = TERN_OBSTACLE_DEVICE_SPEED,   ///< The devices do not say how fast they are, or how large.
};

/// What a computation waits for.
enum class bottleneck : std::int32_t {
    none = TERN_BOTTLENECK_NONE,       ///< For nothing: there is nothing to do.
    compute = TERN_BOTTLENECK_COMPUTE, ///< For arithmetic.
    memory = TERN_BOTTLENECK_MEMORY,   ///< For memory.
};

/// Is there room to keep a result?
enum class room : std::int8_t {
    none = -1,   ///< No.
    unknown = 0, ///< Nobody knows, and one may try.
    enough = 1,  ///< Yes, and some to spare.
};

/// Where to do a task.
enum class choice : std::int32_t {
    infeasible = TERN_CHOICE_INFEASIBLE, ///< It can be done in no way that is known here.
    cpu = TERN_CHOICE_CPU,               ///< On the processor of this machine, now.
    gpu_now = TERN_CHOICE_GPU_NOW,       ///< On a GPU, which is free.
    gpu_wait = TERN_CHOICE_GPU_WAIT,     ///< On a GPU, after waiting for it.
    fetch = TERN_CHOICE_FETCH,           ///< Nowhere: fetch the result.
};

/// How long a claim would wait, as far as that can be told.
enum class expected_wait : std::int32_t {
    none = TERN_EXPECTED_WAIT_NONE,             ///< Not at all.
    about = TERN_EXPECTED_WAIT_ABOUT,           ///< About so long, if the holders keep to what they usually do.
    unknown = TERN_EXPECTED_WAIT_UNKNOWN,       ///< Somebody who holds what is needed has no end and no history.
    no_devices = TERN_EXPECTED_WAIT_NO_DEVICES, ///< The pool has no devices: nobody waits, and nobody gets one.
};

/// The name of a status in C, such as "TERN_BUSY". The text is constant.
inline const char* name(status of) noexcept { return tern_status_name(static_cast<std::int32_t>(of)); }

/// The name of a reason, such as "DEADLOCK_VICTIM". The text is constant.
inline const char* name(reason of) noexcept { return tern_reason_name(static_cast<std::int32_t>(of)); }

/// The class of a reason, which tells what to do next.
inline reason_class class_of(reason why) noexcept
{
    return static_cast<reason_class>(tern_reason_class(static_cast<std::int32_t>(why)));
}

} // namespace tern

#endif
