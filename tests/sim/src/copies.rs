//! Several processes on one engine that loses, delays and repeats requests: in the end all copies
//! are equal, and every command was executed once or not at all.

use super::memory_store::{Fate, MemoryStore};
use std::sync::{Arc, Mutex};
use ternlease::sim_api::Arrays;
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::kv::{Kv, Op, Txn};
use ternlease::sim_api::replica::{Replica, Written};
use ternlease::sim_api::store::{Delta, Failure, Made, Store};
use ternlease::sim_api::{TableAccess, catch_up};
use ternlease::table::{Claim, Error, Limits, Outcome, Settings, Table};

/// After so many changes a whole copy is due: early, so that short runs meet one.
const CHANGES: u64 = 16;

pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// One process.
struct Client {
    table: Table<Arrays<Replica>>,
    replica: Replica,
    store: Store,
    number: u16,
    changes: u64,
}

fn settings() -> Settings {
    let limits = Limits { leases: 64, tickets: 64, resources: 64, history: 64 };
    Settings { limits, first_sequence: 1, ..Settings::default() }
}

impl Client {
    fn new(number: u16) -> Self {
        let (replica, arrays) = Replica::try_new(&settings().limits.sizes()).unwrap();
        let table = Table::attach(arrays, settings()).unwrap();
        let store = Store::new("pool", replica.clone(), CHANGES);
        Client { table, replica, store, number, changes: 0 }
    }

    /// The first process makes the table, the others find it.
    fn open(&mut self, kv: &dyn Kv) {
        loop {
            match self.store.load(kv) {
                Ok(true) => return,
                Ok(false) => {
                    self.table.prepare(settings());
                    if self.commit(kv) == Some(true) {
                        return;
                    }
                }
                Err(Failure::Corrupt) => panic!("it makes no sense"),
                Err(_) => {}
            }
        }
    }

    /// Commits what was done, or rolls it back. Was it committed? `None`: it did not reach the
    /// engine.
    fn commit(&mut self, kv: &dyn Kv) -> Option<bool> {
        let written = self.replica.take_written();
        let delta = self.delta(&written);
        let mut made = self.store.make(kv, &delta, Vec::new(), &[]);
        while let Err(Failure::InDoubt(_)) = made {
            made = self.store.find_out(kv, &delta);
        }
        match made {
            Ok(Made::Done) => Some(true),
            Ok(Made::Overtaken(read)) => {
                self.undo(&written);
                let known = self.store.number();
                while let Err(failure) = self.store.follow(kv, &read, known) {
                    assert_ne!(failure, Failure::Corrupt);
                }
                Some(false)
            }
            Err(Failure::Engine(_)) => {
                self.undo(&written);
                None
            }
            Ok(Made::Forgotten(_)) => panic!("nobody else has its number"),
            Err(failure) => panic!("{failure:?}"),
        }
    }

    fn delta(&mut self, written: &[Written]) -> Delta {
        self.changes += 1;
        let mark = u128::from(self.number) << 64 | u128::from(self.changes);
        Delta { made_by: self.number, mark, changes: self.replica.changes(written) }
    }

    fn undo(&self, written: &[Written]) {
        self.replica.undo(written);
        self.table.take_decided(|_| ());
    }

    /// Runs a command until it is committed.
    fn run<T>(&mut self, kv: &dyn Kv, mut command: impl FnMut(&Table<Arrays<Replica>>) -> T) -> T {
        loop {
            let answer = command(&self.table);
            self.table.take_decided(|_| ());
            if self.commit(kv) == Some(true) {
                return answer;
            }
        }
    }
}

#[test]
fn copies_agree_after_lost_late_and_repeated_requests() {
    for seed in 1..40u64 {
        let mut fates = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let kv = MemoryStore::new(move || match fates.below(20) {
            0 => Fate::Lost,
            1 | 2 => Fate::Mute,
            3 => Fate::Late,
            _ => Fate::Answered,
        });
        let mut random = Random((seed * 77) | 1);
        let mut clients: Vec<Client> = (1..=4).map(Client::new).collect();
        clients.iter_mut().for_each(|client| client.open(&kv));
        let mut granted = std::collections::BTreeSet::new();
        let mut held = Vec::new();
        for step in 0..300u64 {
            let index = random.below(4) as usize;
            let resource = ["a", "b", "c"][random.below(3) as usize];
            let holder = format!("worker{index}");
            let now = |table: &Table<Arrays<Replica>>| table.now().max(step);
            let client = &mut clients[index];
            if random.below(2) == 0 || held.is_empty() {
                let claim =
                    Claim { ttl: 20, ..Claim::one(&holder, std::slice::from_ref(&resource)) };
                let answer = client.run(&kv, |table| table.claim(now(table), &claim));
                if let Ok(Outcome::Granted(lease)) = answer {
                    assert!(granted.insert(lease), "seed {seed}: {lease} was granted twice");
                    assert_eq!(granted.last(), Some(&lease), "ids grow");
                    held.push(lease);
                }
            } else {
                let lease = held.swap_remove(random.below(held.len() as u64) as usize);
                let answer = client.run(&kv, |table| table.release(now(table), lease));
                assert!(
                    matches!(answer, Ok(()) | Err(Error::NotHeld(..) | Error::UnknownLease)),
                    "{answer:?}"
                );
            }
            if step % 40 == 0
                && let Some(base) = client.store.base_if_due()
                && let Ok(written) = base.write(&kv)
            {
                client.store.has_base(written);
            }
        }
        for client in &mut clients {
            while catch_up(&mut client.store, &kv).is_err() {}
            assert_eq!(client.table.verify(), Ok(()), "seed {seed}");
        }
        let all: Vec<Vec<(u32, u64)>> =
            clients.iter().map(|it| it.replica.words().collect()).collect();
        assert!(all.iter().all(|words| *words == all[0]), "seed {seed}: copies differ");
        let mut late = Client::new(9);
        late.open(&kv);
        assert!(
            late.replica.words().eq(all[0].iter().copied()),
            "seed {seed}: a late copy differs"
        );
        assert!(kv.len() < 700, "nobody removes old changes: {}", kv.len());
    }
}

/// A process that lags behind sees a snapshot of later changes: it must not replace that by its
/// own, older one.
#[test]
fn newer_snapshot_is_not_replaced_by_older_one() {
    let kv = MemoryStore::new(|| Fate::Answered);
    let (mut busy, mut idle) = (Client::new(1), Client::new(2));
    busy.open(&kv);
    let change = |client: &mut Client, count: u64| {
        for step in 0..count {
            let claim = Claim { ttl: 1, ..Claim::one("busy", &["a"]) };
            let answer = client.run(&kv, |table| table.claim(table.now().max(step) + 2, &claim));
            assert!(matches!(answer, Ok(Outcome::Granted(_))), "{answer:?}");
        }
    };
    change(&mut busy, 300);
    idle.open(&kv);
    change(&mut busy, 300);
    let older = idle.store.base_if_due().expect("there is none yet");
    let written = busy.store.base_if_due().expect("it is due").write(&kv).unwrap();
    busy.store.has_base(written);
    let found = older.write(&kv).unwrap();
    assert_eq!(found, written, "the later one stays");
    idle.store.has_base(found);
    assert!(idle.store.base_if_due().is_none(), "it would take the later one's place");
    change(&mut busy, 1);
    catch_up(&mut idle.store, &kv).unwrap();
    assert!(idle.replica.words().eq(busy.replica.words()));
}

/// A process with write access can write any number there. After the largest there is no other.
#[test]
fn number_out_of_range_is_corrupt() {
    for (head, base) in [(u64::MAX, u64::MAX), (u64::MAX - 1, u64::MAX - 1), (1, u64::MAX)] {
        let kv = MemoryStore::new(|| Fate::Answered);
        let mut there = Client::new(1);
        there.open(&kv);
        let keys = Keys::new("pool");
        let put =
            |key, number: u64| Op::Put { key, value: number.to_le_bytes().to_vec(), session: None };
        let last = Op::Put { key: keys.change(u64::MAX), value: Vec::new(), session: None };
        let then = vec![put(keys.head(), head), put(keys.base(), base), last];
        kv.txn(&Txn { then, ..Txn::default() }).unwrap();
        assert_eq!(Client::new(2).store.load(&kv), Err(Failure::Corrupt), "{head} {base}");
        if head != 1 {
            assert_eq!(catch_up(&mut there.store, &kv), Err(Failure::Corrupt), "{head} {base}");
        }
    }
}

/// A size that was not declared is not granted, whichever process wrote it.
#[test]
fn resource_of_undeclared_size_is_not_granted() {
    let kv = MemoryStore::new(|| Fate::Answered);
    let mut client = Client::new(1);
    client.open(&kv);
    let table = &client.table;
    table.declare(0, "a", 1, 0).unwrap();
    table.corrupt_size(2);
    assert_eq!(table.claim(0, &Claim::one("one", &["a"])), Err(Error::Corrupt));
}

/// The place of a change has 32 bits.
#[test]
fn table_beyond_32_bit_places_is_refused() {
    let most = Limits::MAX;
    let limits = Limits { leases: most, tickets: most, resources: most, history: most };
    assert!(Replica::try_new(&limits.sizes()).is_none());
    assert!(Replica::try_new(&Limits::default().sizes()).is_some());
}

type Fates = Arc<Mutex<Vec<Fate>>>;

/// An engine that answers all requests but those whose fate is in the list, the next one last.
fn answering() -> (MemoryStore, Fates) {
    let fates = Fates::default();
    let next = fates.clone();
    (MemoryStore::new(move || next.lock().unwrap().pop().unwrap_or(Fate::Answered)), fates)
}

/// The change is committed, and its maker gets no answer, nor one to its next request.
fn commit_without_answer(maker: &mut Client, kv: &MemoryStore, fates: &Fates, delta: &Delta) {
    fates.lock().unwrap().extend([Fate::Lost, Fate::Mute]);
    let made = maker.store.make(kv, delta, Vec::new(), &[]);
    assert!(matches!(made, Err(Failure::InDoubt(_))), "{made:?}");
}

/// Once another process has its number, a process cannot find out whether its last change was
/// committed: to say that it was not would repeat the change.
#[test]
fn outcome_is_unknown_after_number_was_reused() {
    for was_made in [true, false] {
        let (kv, fates) = answering();
        let (mut lost, mut heir) = (Client::new(1), Client::new(1));
        lost.open(&kv);
        heir.open(&kv);
        lost.run(&kv, |table| table.claim(1, &Claim::one("lost", &["a"]))).unwrap();
        lost.table.claim(2, &Claim::one("lost", &["b"])).unwrap();
        let written = lost.replica.take_written();
        let delta = lost.delta(&written);
        if was_made {
            commit_without_answer(&mut lost, &kv, &fates, &delta);
        }
        catch_up(&mut heir.store, &kv).unwrap();
        heir.table.claim(3, &Claim::one("heir", &["c"])).unwrap();
        let written = heir.replica.take_written();
        let change = Delta { mark: 7 << 64, ..heir.delta(&written) };
        assert_eq!(heir.store.make(&kv, &change, Vec::new(), &[]), Ok(Made::Done));
        let answer = lost.store.find_out(&kv, &delta);
        assert!(matches!(answer, Ok(Made::Forgotten(_))), "{answer:?}");
    }
}

/// A process without an answer may ask when its change is only in a snapshot. To say that it was
/// not committed would repeat the change.
#[test]
fn outcome_is_known_while_the_maker_has_its_number() {
    for was_made in [true, false] {
        let (kv, fates) = answering();
        let (mut busy, mut lost) = (Client::new(1), Client::new(2));
        busy.open(&kv);
        lost.open(&kv);
        let claim = Claim { ttl: 1, ..Claim::one("lost", &["b"]) };
        let answer = lost.table.claim(lost.table.now() + 1, &claim);
        assert!(matches!(answer, Ok(Outcome::Granted(_))), "{answer:?}");
        let written = lost.replica.take_written();
        let delta = lost.delta(&written);
        if was_made {
            commit_without_answer(&mut lost, &kv, &fates, &delta);
        }
        for step in 0..CHANGES + 10 {
            let claim = Claim { ttl: 1, ..Claim::one("busy", &["a"]) };
            busy.run(&kv, |table| table.claim(table.now().max(step) + 2, &claim)).unwrap();
        }
        let base = busy.store.base_if_due().expect("it is due").write(&kv).unwrap();
        busy.store.has_base(base);
        match lost.store.find_out(&kv, &delta) {
            Ok(Made::Done) => assert!(was_made),
            Ok(Made::Overtaken(_)) => {
                assert!(!was_made);
                lost.undo(&written);
            }
            failure => panic!("{failure:?}"),
        }
        catch_up(&mut lost.store, &kv).unwrap();
        assert!(lost.replica.words().eq(busy.replica.words()));
    }
}
