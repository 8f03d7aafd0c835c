//! Tables that forget almost at once: whatever is forgotten, nothing in use goes with it.

use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

/// A small generator: the test must not depend on the outside.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn check(table: &Table<Arrays>, held: &[(LeaseId, &str)], now: Time) {
    table.verify().unwrap();
    assert_eq!(table.held() as usize, held.len());
    for &(id, holder) in held {
        assert_eq!(table.state(id, now), Some(LeaseState::Held));
        let info = table.lease(id).expect("a held lease is known");
        assert_eq!(info.holder, holder);
        assert!(table.held_by(holder).contains(&id));
        for taken in &info.takes {
            assert!(table.resource(&taken.resource).expect("it is held").used_slots > 0);
        }
    }
}

fn episode(seed: u64, limits: Limits) {
    let table = new_table(Settings { limits, ..Settings::default() });
    let mut random = Random(seed);
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for now in 0..400 {
        let mut pick = |n: usize| {
            let start = random.below(NAMES.len() as u64) as usize;
            (0..n).map(|i| NAMES[(start + i) % NAMES.len()]).collect::<Vec<_>>()
        };
        let (few, holder) = (pick(3), pick(1)[0]);
        match random.below(6) {
            0..=2 => {
                let n = 1 + random.below(3) as usize;
                let claim = Claim {
                    count: 1 + random.below(n as u64) as u32,
                    wait: random.below(2) * 50,
                    ..Claim::one(holder, &few[..n])
                };
                match table.claim(now, &claim) {
                    Ok(Outcome::Granted(id)) => held.push((id, holder)),
                    Ok(Outcome::Waiting(id)) => waiting.push((id, holder)),
                    Err(Error::Busy | Error::Full(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            3 if !waiting.is_empty() => {
                let (id, _) = waiting.swap_remove(random.below(waiting.len() as u64) as usize);
                match table.cancel(now, id).expect("nobody has collected it") {
                    Cancelled::WasGranted(lease) => table.release(now, lease).unwrap(),
                    Cancelled::Left | Cancelled::WasRefused(_) | Cancelled::WasCollected(_) => {}
                }
            }
            _ if !held.is_empty() => {
                let (id, _) = held.swap_remove(random.below(held.len() as u64) as usize);
                table.release(now, id).unwrap();
            }
            _ => {}
        }
        waiting.retain(|&(ticket, holder)| match table.ticket(ticket) {
            Some(TicketState::Waiting) => true,
            Some(TicketState::Granted(id)) => {
                table.collect(ticket);
                held.push((id, holder));
                false
            }
            Some(TicketState::Refused(_)) => {
                table.collect(ticket);
                false
            }
            None => panic!("an uncollected ticket was forgotten"),
        });
        check(&table, &held, now);
    }
}

#[test]
fn nothing_in_use_is_forgotten() {
    for history in [1, 2, 3, 7] {
        for leases in [2, 5, 16] {
            for seed in 1..40 {
                let limits = Limits { leases, tickets: 4, resources: 7, history };
                let replay = format!("seed {seed}, {limits:?}");
                let result = std::panic::catch_unwind(|| episode(seed * 7919, limits));
                assert!(result.is_ok(), "{replay}");
            }
        }
    }
}

/// The holder and the resource of a claim are known only from the very lease that must be forgotten to make room.
#[test]
fn a_claim_survives_forgetting_its_own_past() {
    let limits = Limits { history: 3, ..Limits::default() };
    let table = new_table(Settings { limits, ..Settings::default() });
    let again = |holder, names: &[&str]| match table.claim(0, &Claim::one(holder, names)) {
        Ok(Outcome::Granted(id)) => id,
        other => panic!("{other:?}"),
    };
    table.release(0, again("H", &["r"])).unwrap();
    for _ in 0..2 {
        table.release(0, again("O", &["other"])).unwrap();
    }
    let id = again("H", &["r"]);
    assert_eq!(table.held_by("H"), [id]);
    assert_eq!(table.resource("r").unwrap().used_slots, 1);
    assert_eq!(table.claim(0, &Claim::one("P", &["r"])), Err(Error::Busy));
    table.verify().unwrap();
}
