package ternlease

// #include <ternlease.h>
import "C"

import "time"

// RouteKnown is how far a route is known.
type RouteKnown int32

const (
	// By what the network card says of itself, or by what somebody declared.
	RouteDeclared RouteKnown = 0
	// Somebody must try: nothing is known but that there is a network.
	RouteAssumed RouteKnown = 1
	// By transfers.
	RouteLearned RouteKnown = 2
)

// String is "declared", "assumed" or "learned".
func (k RouteKnown) String() string {
	return word(k, "RouteKnown", map[RouteKnown]string{
		RouteDeclared: "declared", RouteAssumed: "assumed", RouteLearned: "learned",
	})
}

// Route is the way to where results can be fetched from: not a property of a network card but of a path.
type Route struct {
	// There and back.
	RoundTrip time.Duration
	// What arrives in a second, at most. Not zero: where nothing arrives there is no route.
	BytesPerSecond uint64
	// What it takes to know what to ask for, and to be told whether it is there: hashing of keys, queries.
	Query time.Duration
	// Of a thousand queries, how many find something; 0: all, as 1000.
	HitsPermille uint32
	// How far this is known.
	Known RouteKnown
}

// Route is the way to where results can be fetched from, as far as it is known by now. ErrEmpty if there is no network.
func (m *Machine) Route() (Route, error) {
	c, err := m.begin()
	if err != nil {
		return Route{}, err
	}
	defer c.end()
	raw := C.tern_route_t{struct_size: C.sizeof_tern_route_t}
	if err := c.check(C.tern_machine_route(c.machine(), &raw, &c.err)); err != nil {
		return Route{}, err
	}
	return Route{
		RoundTrip:      fromNanoseconds(raw.round_trip_ns),
		BytesPerSecond: uint64(raw.bytes_per_second),
		Query:          fromNanoseconds(raw.query_ns),
		HitsPermille:   uint32(raw.hits_permille),
		Known:          RouteKnown(raw.known),
	}, nil
}

// SetRoute says that from now on this is the way. nil: there is none, and nothing can be fetched.
func (m *Machine) SetRoute(route *Route) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	if route == nil {
		return c.check(C.tern_machine_set_route(c.machine(), nil, &c.err))
	}
	raw := C.tern_route_t{
		struct_size:      C.sizeof_tern_route_t,
		round_trip_ns:    toNanoseconds(route.RoundTrip),
		bytes_per_second: C.uint64_t(route.BytesPerSecond),
		query_ns:         toNanoseconds(route.Query),
		hits_permille:    C.uint32_t(route.HitsPermille),
		known:            C.int32_t(route.Known),
	}
	return c.check(C.tern_machine_set_route(c.machine(), &raw, &c.err))
}

// RecordFetch says that a transfer of so many bytes took so long. A short one tells how long the way is, a long one how wide:
// each counts for half of what is known afterwards. A time of 0 or Forever teaches nothing. ErrEmpty if there is no network.
func (m *Machine) RecordFetch(bytes uint64, took time.Duration) error {
	c, err := m.begin()
	if err != nil {
		return err
	}
	defer c.end()
	return c.check(C.tern_machine_record_fetch(c.machine(), C.uint64_t(bytes), toNanoseconds(took), &c.err))
}
