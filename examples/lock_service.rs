//! A lock service that tells "slow" from "voted out". A holder that stops renewing is slow: its lease expires (0).
//! A holder that the others reject is voted out: its lease is revoked (-1), with the reason and the name of whoever did it.
//! The lease id is the fencing token: a store that remembers the newest one refuses writers who do not know yet.
//!
//! Run it: `cargo run --release --example lock_service`

use ternlease::{Error, LeaseId, LeaseManager, LeaseState, Options, Reason, Span};

/// What the lock protects. It knows nothing of leases; it only compares tokens.
struct Store {
    newest: LeaseId,
    text: String,
}

impl Store {
    fn write(&mut self, token: LeaseId, text: &str) -> Result<(), String> {
        if token < self.newest {
            return Err("stale token".into());
        }
        self.newest = token;
        self.text = text.to_owned();
        Ok(())
    }
}

/// What became of a lock, in words.
fn verdict(locks: &LeaseManager, lease: LeaseId) -> String {
    let Some(info) = locks.lease(lease) else { return "unknown".into() };
    match (locks.state(lease), info.reason, info.revoker) {
        (Some(LeaseState::Held), ..) => "+1 holds the lock".into(),
        (Some(LeaseState::Expired), Some(reason), _) => format!(" 0 slow: {reason}"),
        (Some(LeaseState::Revoked), Some(reason), Some(by)) => {
            format!("-1 voted out: {reason}, by {by}")
        }
        other => format!("{other:?}"),
    }
}

fn main() -> Result<(), Error> {
    let locks = LeaseManager::with(Options::ticks());
    let mut store = Store { newest: LeaseId(0), text: String::new() };
    let mut write = |who: &str, token: LeaseId| {
        let answer = store.write(token, who);
        let shown = answer.as_ref().map_or_else(String::as_str, |()| "written");
        println!("{:>4}  {who:<6} writes: {shown}", locks.tick_count());
        (answer.is_ok(), store.text.clone())
    };
    let claim = |who| locks.claim(who).of(&["config"]).ttl(5);

    println!("tick  what happened");
    let ann = claim("ann").try_now()?;
    let bob = claim("bob").enqueue()?;
    let cat = claim("cat").enqueue()?;
    assert_eq!((bob.place(), cat.place()), (Some(1), Some(2)));
    assert_eq!(write("ann", ann), (true, "ann".into()));

    // Ann's machine hangs and renews nothing. At the end of her lease the lock is Bob's at once.
    for _ in 0..5 {
        locks.tick();
    }
    let bob = bob.wait()?;
    assert!(bob > ann, "tokens grow");
    assert_eq!(write("bob", bob), (true, "bob".into()));

    // Ann comes back and does not know. The store does.
    assert_eq!(write("ann", ann), (false, "bob".into()));
    assert_eq!(
        locks.renew(ann),
        Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut)),
        "nothing renews a lease that has ended"
    );

    // Bob renews in time but does no work, and the others vote him out. Cat is next.
    locks.tick();
    locks.renew(bob)?;
    locks.revoke_with(bob, Reason::NoProgress, "quorum of 3", Span::Zero)?;
    let cat = cat.wait()?;
    assert_eq!(write("cat", cat), (true, "cat".into()));
    assert_eq!(write("bob", bob), (false, "cat".into()));

    println!("\nholder  verdict");
    for (who, lease) in [("ann", ann), ("bob", bob), ("cat", cat)] {
        println!("{who:<6}  {}", verdict(&locks, lease));
    }
    assert_eq!(verdict(&locks, ann), " 0 slow: TIMED_OUT");
    assert_eq!(verdict(&locks, bob), "-1 voted out: NO_PROGRESS, by quorum of 3");
    assert_eq!(verdict(&locks, cat), "+1 holds the lock");
    Ok(())
}
