package ternlease

// #include <ternlease.h>
import "C"

// Reason is why a lease is over, or a claim was refused.
type Reason int32

const (
	// There is none.
	ReasonNone Reason = 0
	// Revoked to break a deadlock.
	ReasonDeadlockVictim Reason = 101
	// A claim of higher priority took it.
	ReasonPreempted Reason = 102
	// Spare capacity was needed by somebody who waited.
	ReasonSpareReclaimed Reason = 103
	// The holder's share is used up and others need it.
	ReasonQuota Reason = 104
	// The longest allowed time is over.
	ReasonMaxDuration Reason = 201
	// The budget is spent.
	ReasonBudget Reason = 202
	// The holder renews but does not work.
	ReasonNoProgress Reason = 301
	// The holder uses more than it was given.
	ReasonOverUse Reason = 302
	// An earlier notice was ignored.
	ReasonIgnoredNotice Reason = 303
	// The holder acted with a stale or foreign token.
	ReasonBadToken Reason = 304
	// The device failed.
	ReasonDeviceFault Reason = 401
	// The machine is being emptied.
	ReasonNodeDrain Reason = 402
	// The device was repartitioned or swapped.
	ReasonReconfigured Reason = 403
	// An operator asked for it.
	ReasonOperator Reason = 501
	// A newer lease replaces this one.
	ReasonSuperseded Reason = 502
	// The lease it depends on was revoked.
	ReasonParentRevoked Reason = 503
	// The service is shutting down.
	ReasonShutdown Reason = 504
	// The time ran out and nobody renewed.
	ReasonTimedOut Reason = 601
	// The holder gave it back.
	ReasonReleased Reason = 602
	// The holder is gone.
	ReasonHolderDied Reason = 603
	// The store that keeps the table was lost.
	ReasonEngineLost Reason = 604
	// The claim waited as long as it wanted to.
	ReasonWaitTimedOut Reason = 701
	// The claimer withdrew the claim.
	ReasonCancelled Reason = 702
	// The lease that was to be the parent ended.
	ReasonParentEnded Reason = 703
)

// String is its name: "DEADLOCK_VICTIM"; "UNKNOWN" for a number that is none.
func (r Reason) String() string { return C.GoString(C.tern_reason_name(C.int32_t(r))) }

// Class tells what to do next; 0 for a number that is no reason.
func (r Reason) Class() Class { return Class(C.tern_reason_class(C.int32_t(r))) }

// Class is what a class of reasons asks a holder to do.
type Class int32

const (
	// Somebody else needed it more. Try again.
	ClassContention Class = 1
	// A limit was reached. Claim again, as a newcomer.
	ClassLimit Class = 2
	// The holder misbehaved. Back off and look.
	ClassConduct Class = 3
	// The thing itself is gone or changing. Go elsewhere.
	ClassResource Class = 4
	// Somebody in charge said so. Stop and ask.
	ClassAuthority Class = 5
	// The lease was not taken away: it ended.
	ClassEnded Class = 6
	// A claim was not granted.
	ClassRefused Class = 7
)

// String is its name: "CONTENTION".
func (c Class) String() string {
	return word(c, "Class", map[Class]string{
		ClassContention: "CONTENTION", ClassLimit: "LIMIT", ClassConduct: "CONDUCT", ClassResource: "RESOURCE",
		ClassAuthority: "AUTHORITY", ClassEnded: "ENDED", ClassRefused: "REFUSED",
	})
}
