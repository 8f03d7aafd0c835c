package ternlease

// #include <ternlease.h>
import "C"

// Status is what became of a call. Zero is success, a positive one a normal outcome that is not success (nothing is wrong: try later,
// or read on), a negative one a failure. It is an error itself, so that errors.Is(err, ternlease.ErrBusy) asks for it.
type Status int32

const (
	// It was done.
	OK Status = 0
	// Not free now, and the claim does not wait.
	ErrBusy Status = 1
	// The time came first. A claim that waited has left the line.
	ErrTimeout Status = 2
	// There is nothing now: ask again later. Of a pool: it has no devices, so do without.
	ErrEmpty Status = 3
	// The claim stands in line.
	ErrWaiting Status = 4
	// The claim waited and will not be granted; the error's reason says why.
	ErrRefused Status = 5
	// It was so already.
	ErrUnchanged Status = 6
	// The caller's buffer was filled, and there is more: the needed size was told.
	ErrMore Status = 7
	// A pointer that must not be NULL is NULL.
	ErrNull Status = -1
	// The pointer is not a handle of this kind.
	ErrBadHandle Status = -2
	// The handle, or the manager behind it, was closed.
	ErrClosed Status = -3
	// The handle was opened before this process was forked. Open a new one.
	ErrForked Status = -4
	// An earlier call panicked. Close the handle.
	ErrPoisoned Status = -5
	// The library has a bug and noticed. The handle is poisoned.
	ErrPanic Status = -6
	// A struct's size makes no sense, or it says something that this version does not know.
	ErrBadStruct Status = -7
	// A text is not UTF-8, or a name has a zero byte in it.
	ErrBadText Status = -8
	// A number or word is none of those that are allowed there.
	ErrBadValue Status = -9
	// The URL names no home that there is.
	ErrBadURL Status = -10
	// This system, or this build of the library, cannot do that.
	ErrUnsupported Status = -11
	// The program was compiled for another version of the library.
	ErrVersion Status = -12
	// The operating system refused; the error's OSErrno says why.
	ErrSystem Status = -13
	// The table's memory does not make sense.
	ErrCorrupt Status = -14
	// The table has no room left. Open it with larger limits.
	ErrFull Status = -15
	// A process that has the lock of a shared table does not go on. Continue or end it.
	ErrStuck Status = -16
	// A name is empty.
	ErrEmptyName Status = -20
	// A name is longer than 255 bytes.
	ErrNameTooLong Status = -21
	// A lease of no length was asked for. Without end is Forever.
	ErrZeroTTL Status = -22
	// A time does not fit into 48 bits, or a notice is without end. A lease or wait without end is Forever.
	ErrTimeTooLarge Status = -23
	// The claim asks for more resources than it names.
	ErrTooFewResources Status = -24
	// The claim names a resource twice.
	ErrDuplicateResource Status = -25
	// A resource must have, or a claim take, at least one slot or some memory.
	ErrZeroAmount Status = -26
	// No such resource is declared.
	ErrUnknownResource Status = -27
	// The claim asks for more than there is. Waiting would not help.
	ErrImpossible Status = -28
	// No lease of that id is remembered.
	ErrUnknownLease Status = -29
	// No ticket of that id is remembered.
	ErrUnknownTicket Status = -30
	// The lease is over; the error's reason says why.
	ErrNotHeld Status = -31
	// That is not a reason to revoke a lease.
	ErrNotARevocation Status = -32
	// The parent lease is not held.
	ErrParentNotHeld Status = -33
	// Leases hang at most 16 deep.
	ErrTooDeep Status = -34
	// A resource that is in use cannot change its size.
	ErrInUse Status = -35
	// The holder has declared no such want.
	ErrUnknownWant Status = -36
	// No process of that number uses the table.
	ErrUnknownProcess Status = -37
	// The lease belongs to another user: only that user or root may transfer it.
	ErrOtherPrincipal Status = -38
)

// String is its name in C: "TERN_BUSY"; "TERN_STATUS_UNKNOWN" for a number that is none.
func (s Status) String() string { return C.GoString(C.tern_status_name(C.int32_t(s))) }

// Error is its name.
func (s Status) Error() string { return "ternlease: " + s.String() }
