//! Route: the way to where results can be fetched from.
//!
//! Not a property of a network card but of a path: say what is known of it, or teach it by what real transfers took.
//!
//!     tern_route_t route = tern_route_init();
//!     route.round_trip_ns = 2000000;          // 2 ms there and back
//!     route.bytes_per_second = 125000000;     // 1 Gbit/s
//!     route.hits_permille = 900;              // nine of ten queries find something
//!     if (tern_machine_set_route(machine, &route, &err) != TERN_OK)
//!         die(err.message);
//!     tern_machine_record_fetch(machine, 12500000, 204000000, NULL);

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::machine::{Machine, tern_machine_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use crate::cost::{Route, RouteKnown};

/// How far a route is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_route_known_t {
    /// By what the network card says of itself, or by what somebody declared.
    TERN_ROUTE_DECLARED = 0,
    /// Somebody must try: nothing is known but that there is a network.
    TERN_ROUTE_ASSUMED = 1,
    /// By transfers.
    TERN_ROUTE_LEARNED = 2,
}

use tern_route_known_t::*;

/// The way to where results can be fetched from. Make it with tern_route_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_route_t {
    /// sizeof(tern_route_t)
    pub struct_size: usize,
    /// There and back, in nanoseconds.
    pub round_trip_ns: u64,
    /// What arrives in a second, at most. Not zero: where nothing arrives there is no route.
    pub bytes_per_second: u64,
    /// What it takes to know what to ask for, and to be told whether it is there: hashing of keys, queries.
    pub query_ns: u64,
    /// Of a thousand queries, how many find something; 0: all, as 1000.
    pub hits_permille: u32,
    /// TERN_ROUTE_…: how far this is known.
    pub known: i32,
}

// SAFETY: integers only; 4 times 8 and 2 times 4 bytes have no padding.
unsafe impl Plain for tern_route_t {}

fn route(route: Route) -> tern_route_t {
    let known = match route.known {
        RouteKnown::Declared => TERN_ROUTE_DECLARED,
        RouteKnown::Assumed => TERN_ROUTE_ASSUMED,
        RouteKnown::Learned => TERN_ROUTE_LEARNED,
    };
    tern_route_t {
        struct_size: 0,
        round_trip_ns: route.round_trip,
        bytes_per_second: route.bytes_per_second,
        query_ns: route.query,
        hits_permille: route.hits_permille.into(),
        known: known as i32,
    }
}

fn read(route: &tern_route_t) -> Result<Route, Failure> {
    let wrong = |name, problem| Failure::argument(TERN_ERR_BAD_VALUE, name, problem);
    let known = [
        (TERN_ROUTE_DECLARED, RouteKnown::Declared),
        (TERN_ROUTE_ASSUMED, RouteKnown::Assumed),
        (TERN_ROUTE_LEARNED, RouteKnown::Learned),
    ];
    let known = known.into_iter().find(|(code, _)| *code as i32 == route.known);
    let (_, known) = known.ok_or_else(|| wrong("route.known", "is none that is known"))?;
    let hits_permille = match route.hits_permille {
        0 => 1000,
        permille @ 1..=1000 => permille as u16,
        _ => return Err(wrong("route.hits_permille", "is more than 1000")),
    };
    if route.bytes_per_second == 0 {
        return Err(wrong("route.bytes_per_second", "is zero; without a network give no route"));
    }
    Ok(Route {
        query: route.query_ns,
        hits_permille,
        known,
        ..Route::new(route.round_trip_ns, route.bytes_per_second)
    })
}

fn no_route() -> Failure {
    Failure::new(TERN_EMPTY, "the machine has no network; set a route of the machine first")
}

/// The way to where results can be fetched from, as far as it is known by now. TERN_EMPTY if there is no network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_route(
    machine: *const tern_machine_t,
    route: *mut tern_route_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let size = sized::room(route, "route")?;
            let found = machine.0.read().route.ok_or_else(no_route)?;
            sized::store(route, size, &self::route(found));
            Ok(TERN_OK)
        })
    }
}

/// From now on this is the way. NULL: there is none, and nothing can be fetched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_set_route(
    machine: *const tern_machine_t,
    route: *const tern_route_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let said = match route.is_null() {
                true => None,
                false => Some(sized::with(route, "route", read)?),
            };
            machine.0.write().route = said;
            Ok(TERN_OK)
        })
    }
}

/// A transfer of so many bytes took so many nanoseconds. A short one tells how long the way is, a long one how wide: each counts for half of what
/// is known afterwards. A time of 0 or TERN_NEVER teaches nothing. TERN_EMPTY if there is no network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_record_fetch(
    machine: *const tern_machine_t,
    bytes: u64,
    took_ns: u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            machine.0.write().route.as_mut().ok_or_else(no_route)?.record(bytes, took_ns);
            Ok(TERN_OK)
        })
    }
}
