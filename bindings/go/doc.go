// Package ternlease shares GPUs, and other scarce things, by leases: who may use what now, until when, and why not.
//
// A [Pool] hands out the devices of a machine, a [Manager] whatever has a name. Both have a table of leases: in this process
// ("process:"), or shared by all processes of a machine ("host:").
//
// # Waiting
//
// What can be waited for takes a context: [Pool.Claim], [Manager.Claim], [Ticket.Wait], [Events.Next]. A goroutine that waits
// blocks no thread. When the context is done, errors.Is finds its error, and a claim has left the line; what it was granted at
// the last moment is given back. Closing a pool or manager wakes whoever waits, with [ErrClosed].
//
// # Errors
//
// Every error of the library is an [*Error] with a [Status] that errors.Is knows: errors.Is(err, ternlease.ErrBusy). Where a
// lease or a claim came to its end, it has a [Reason], whose [Class] tells what to do next.
//
// # Time
//
// Lengths of time are time.Duration, [Forever] is without end. A manager counts whole microseconds, and lengths are rounded up
// to that. One that was opened with [Options.Ticks] counts calls of [Manager.Tick] instead: there write 5*[Tick]. Points of
// time are a [Moment] by the manager's clock.
//
// # Closing
//
// Managers, pools, machines and readers of events are closed; a finalizer is there for what was forgotten, and nothing to rely
// on. Leases and tickets are numbers, which need no care: what is forgotten lasts as long as its ttl, or its manager.
// Everything may be used by any number of goroutines at once, also beside its closing.
//
// # Linking
//
// The library is found by pkg-config, as ternlease; with the build tag tern_static it is ternlease-static, and linked in.
package ternlease
