//! Billing from the history of events. Each lease ends once, with a reason and the time it was held: that is the bill.
//! A natural end (released, timed out) is billed in full. When the provider took the lease away early, half is
//! credited. A holder who lost it by misconduct or by reaching a limit gets no credit.
//!
//! Run it: `cargo run --release --example billing`

use std::collections::BTreeMap;

use ternlease::{Error, LeaseManager, Options, Reason, ReasonClass, Span, What};

const PRICE_PER_TICK: u64 = 10;

#[derive(Debug, Default, PartialEq)]
struct Account {
    natural: u64,
    early: u64,
    held: u64,
    charged: u64,
    credited: u64,
}

/// Books every lease that ended since the last time; where to go on next time.
fn book(
    manager: &LeaseManager,
    cursor: u64,
    accounts: &mut BTreeMap<String, Account>,
) -> Result<u64, Error> {
    let (events, missed) = manager.events_since(cursor);
    assert_eq!(missed, 0, "a biller that falls behind is told so, and must not guess");
    for event in &events {
        let What::Ended { lease, reason, held, .. } = event.what else { continue };
        let holder = manager.lease(lease).ok_or(Error::UnknownLease)?.holder;
        let account = accounts.entry(holder).or_default();
        let price = held * PRICE_PER_TICK;
        account.held += held;
        account.charged += price;
        match reason.class() {
            ReasonClass::Ended => account.natural += 1,
            ReasonClass::Limit | ReasonClass::Conduct => account.early += 1,
            _ => {
                account.early += 1;
                account.credited += price / 2;
            }
        }
    }
    Ok(events.last().map_or(cursor, |event| event.number))
}

fn wait(manager: &LeaseManager, ticks: u32) {
    (0..ticks).for_each(|_| manager.tick());
}

fn main() -> Result<(), Error> {
    let manager = LeaseManager::with(Options::ticks());
    let mut accounts = BTreeMap::new();

    // The first month: one runs to its end, one is given back early, one loses its device.
    manager.acquire("gpu0", "acme", 20)?;
    let initech = manager.acquire("gpu1", "initech", 20)?;
    let globex = manager.acquire("gpu2", "globex", 20)?;
    wait(&manager, 8);
    manager.release(initech)?;
    manager.revoke_with(globex, Reason::DeviceFault, "monitor", Span::Zero)?;
    wait(&manager, 12);
    let cursor = book(&manager, 0, &mut accounts)?;

    // The second month: one is preempted after a notice, one is thrown out.
    let globex = manager.claim("globex").of(&["gpu2"]).preemptible(2).try_now()?;
    let miner = manager.acquire("gpu0", "miner", 50)?;
    wait(&manager, 5);
    let urgent = manager.claim("acme").of(&["gpu2"]).priority(9).preempt().enqueue()?;
    manager.revoke_with(miner, Reason::OverUse, "ops", Span::Zero)?;
    wait(&manager, 2);
    let urgent = urgent.wait()?;
    wait(&manager, 3);
    manager.release(urgent)?;
    let cursor = book(&manager, cursor, &mut accounts)?;
    assert_eq!(book(&manager, cursor, &mut accounts)?, cursor, "nothing is billed twice");
    assert_eq!(manager.lease(globex).and_then(|info| info.reason), Some(Reason::Preempted));

    println!("holder   natural  early  held  charged  credited  to pay");
    for (holder, account) in &accounts {
        let Account { natural, early, held, charged, credited } = account;
        let pay = charged - credited;
        println!(
            "{holder:<8} {natural:>7} {early:>6} {held:>5} {charged:>8} {credited:>9} {pay:>7}"
        );
    }
    let account = |natural, early, held, credited| {
        let charged = held * PRICE_PER_TICK;
        Account { natural, early, held, charged, credited }
    };
    assert_eq!(accounts["acme"], account(2, 0, 20 + 3, 0));
    assert_eq!(accounts["initech"], account(1, 0, 8, 0));
    assert_eq!(accounts["globex"], account(0, 2, 8 + 7, 75));
    assert_eq!(accounts["miner"], account(0, 1, 5, 0));
    Ok(())
}
