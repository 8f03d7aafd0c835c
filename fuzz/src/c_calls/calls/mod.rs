//! The calls: one function here for each function of the header, one file for each of its sections.

mod advice;
mod claim;
mod cost;
mod deadlock;
mod device;
mod event;
mod gpu_claim;
mod gpu_lease;
mod host;
mod info;
mod lease;
mod machine;
mod manager;
mod number;
mod pool;
mod resource;
mod route;
mod task;
mod ticket;
mod verdict;
mod watch;

pub use machine::read_machine;

use crate::call::Call;
use crate::input::Input;
use crate::world::World;

type Make = fn(Call);

/// What there is to call; first what makes things happen. New ones come last, so that the bytes of known inputs keep their meaning.
const CALLS: &[Make] = &[
    lease::acquire,
    lease::release,
    lease::revoke,
    lease::renew,
    lease::renew_for,
    claim::enqueue,
    claim::enqueue,
    claim::claim,
    ticket::wait,
    ticket::cancel,
    manager::tick,
    manager::tick,
    resource::declare,
    manager::want,
    deadlock::find,
    event::next,
    resource::set_health,
    manager::open,
    manager::close,
    manager::count,
    manager::counters,
    manager::metrics,
    manager::unwant,
    resource::info,
    resource::list,
    resource::leases,
    lease::state,
    info::lease,
    info::takes,
    info::held_by,
    info::leases,
    ticket::state,
    ticket::fd,
    ticket::info,
    ticket::resources,
    ticket::list,
    event::open,
    event::close,
    event::wait,
    event::fd,
    watch::watch,
    deadlock::close,
    deadlock::victim,
    deadlock::stuck,
    deadlock::cycle,
    number::names,
    number::version,
    pool::on,
    pool::on,
    pool::open,
    pool::close,
    pool::manager,
    pool::counters,
    pool::absence,
    device::device,
    device::status,
    device::snapshot,
    device::leases_on,
    device::squatters,
    gpu_claim::claim,
    gpu_claim::claim,
    gpu_claim::try_claim,
    gpu_claim::enqueue,
    gpu_claim::enqueue,
    gpu_lease::devices,
    gpu_lease::env,
    gpu_lease::release,
    gpu_lease::keep_alive,
    watch::watch_fd,
    host::hand_to,
    host::keep_for_children,
    host::info,
    host::processes,
    device::speed,
    cost::costs,
    task::learned,
    machine::read,
    machine::close,
    machine::info,
    machine::json,
    machine::gpu_start,
    machine::rate,
    route::route,
    route::set_route,
    route::record_fetch,
    task::times,
    machine::times,
    machine::can_store,
    task::suggest_ttl,
    machine::etl_buffer,
    machine::normalize,
    task::cache_value,
    verdict::verdict,
    verdict::json,
    advice::advise,
    advice::json,
    advice::expected_wait,
    advice::expected_wait_of,
    lease::states,
    lease::renew_all,
];

/// So many of the first are made more often: whenever the byte names none.
const FREQUENT: usize = 16;

/// Makes the call that the bytes describe.
pub fn make(world: &mut World, bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let number = usize::from(input.byte());
    let make = CALLS.get(number).unwrap_or(&CALLS[number % FREQUENT]);
    make(Call::new(world, input));
}
