//! A shared file in which bytes change that nobody of ternlease's has changed: an error, or nothing at all; never a crash, a panic, a hang, or a second holder.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use host::{Place, Process, Random, say};
use ternlease::{
    Error, LeaseId, LeaseManager, LeaseState, Limits, Options, Reason, Take, Ticket, TicketState,
};

/// Small, so that what is damaged is likely to be used.
const LIMITS: Limits = Limits { leases: 48, tickets: 32, resources: 12, history: 32 };

/// Trials that one process makes, one after the other.
const PER_PROCESS: u64 = 25;

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((_, words)) = host::role() else { return };
    std::panic::set_hook(Box::new(|panic| {
        // Also in threads of the library that would catch it.
        say(format!("a panic: {panic}").replace('\n', " "));
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(101) }
    }));
    let [first, count, flips] = [0, 1, 2].map(|word| words[word].parse::<u64>().unwrap());
    for seed in first..first + count {
        say(format!("trial {seed}"));
        Trial::new(seed).run(flips);
    }
    say("done");
}

/// Lets processes make so many trials with so many flipped bytes each.
fn try_all(trials: u64, flips: u64) {
    let given = std::env::var("TERN_TRIAL").ok().and_then(|trial| trial.parse::<u64>().ok());
    if let Some(trial) = given {
        return watch(trial, 1, flips);
    }
    let mut random = Random::from_environment();
    let full = std::env::var("TERN_TORTURE").is_ok_and(|word| word == "full");
    let processes = if full { 40 * trials } else { trials } / PER_PROCESS;
    let seeds: Vec<u64> = (0..processes).map(|_| random.next() >> 8).collect();
    // They sleep most of the time.
    std::thread::scope(|scope| {
        for seeds in seeds.chunks(seeds.len().div_ceil(4)) {
            scope.spawn(|| seeds.iter().for_each(|&first| watch(first, PER_PROCESS, flips)));
        }
    });
}

/// Lets one process make trials, and watches it.
fn watch(first: u64, count: u64, flips: u64) {
    let words = [first, count, flips].map(|word| word.to_string());
    let mut process = Process::start("trials", &words.each_ref().map(String::as_str));
    let mut last = String::new();
    loop {
        let line = process.line_within(host::PATIENCE);
        let problem = match line.as_deref() {
            Some("done") => return,
            Some(line) if line.starts_with("trial") => {
                last = line.to_owned();
                continue;
            }
            Some(line) if line.starts_with("byte") => {
                last = format!("{last}, {line}");
                continue;
            }
            Some("gone") => format!("it ended with {:?}", process.end_within(host::PATIENCE)),
            Some(line) => line.to_owned(),
            None => "it hangs".to_owned(),
        };
        panic!("{problem}, with {flips} flips: TERN_TRIAL of {last:?}");
    }
}

#[test]
fn one_byte_that_changed_is_noticed_before_it_makes_two_holders() {
    try_all(400, 1);
}

#[test]
fn many_bytes_that_changed_crash_nobody() {
    try_all(200, 12);
}

/// What a claim asks for is in the file while it waits. With a single one become zero it would fit beside whoever has it all.
#[test]
fn a_claim_that_waits_for_less_than_it_asked_for_is_not_granted() {
    let open = |place: &Place| {
        LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS)).unwrap()
    };
    let mut byte = 0;
    loop {
        let place = Place::new();
        let manager = open(&place);
        let held = manager.acquire("gpu0", "ann", Duration::from_secs(3600)).unwrap();
        let ticket = manager.claim("bob").of(&["gpu0"]).enqueue().unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&place.0).unwrap();
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let Some(next) = bytes[byte..].iter().position(|&found| found == 1) else { break };
        byte += next;
        file.write_all_at(&[0], byte as u64).unwrap();
        // Others come to the same line and to others, and go.
        let third = manager.claim("cleo").of(&["gpu0"]).enqueue();
        let other = manager.acquire("gpu1", "dan", Duration::from_secs(3600));
        let _ = other.map(|lease| manager.release(lease));
        drop(third);
        let both = manager.state(held) == Some(LeaseState::Held)
            && matches!(ticket.state(), TicketState::Granted(_));
        assert!(!both, "byte {byte} made two holders");
        byte += 1;
    }
    assert!(byte > 0, "there was nothing to change");
}

/// A name is stored in whole words. What comes after it in the last of them is looked at, too.
#[test]
fn a_name_that_is_damaged_behind_its_end_is_not_made_a_second_time() {
    let place = Place::new();
    let options = || Options::real().limits(LIMITS);
    let manager = LeaseManager::open_with(&place.url(), options()).unwrap();
    let held = manager.acquire("gpu0", "ann", Duration::from_secs(3600)).unwrap();
    let bytes = std::fs::read(&place.0).unwrap();
    let name = bytes.windows(8).position(|word| word == b"gpu0\0\0\0\0").unwrap();
    let file = OpenOptions::new().write(true).open(&place.0).unwrap();
    file.write_all_at(&[238], name as u64 + 7).unwrap();
    let second = manager.acquire("gpu0", "bob", Duration::from_secs(3600));
    assert_eq!(second, Err(Error::Corrupt));
    assert_eq!(manager.state(held), Some(LeaseState::Held));
}

/// Counters that are as large as can be: one more is no panic, in whatever build. Also not in a thread of the library, which would catch it.
#[test]
fn a_number_at_its_end_crashes_nobody() {
    static PANICS: AtomicU32 = AtomicU32::new(0);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(panic);
    }));
    let place = Place::new();
    let open = || LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS));
    drop(open().unwrap());
    let empty = std::fs::read(&place.0).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&place.0).unwrap();
    // One that is used, or two beside it.
    for (width, line) in [(4, 4), (8, 64)] {
        let mut at = 0;
        loop {
            file.write_all_at(&empty, 0).unwrap();
            let manager = open().unwrap();
            let held = manager.acquire("gpu0", "ann", Duration::from_secs(3600)).unwrap();
            let ticket = manager.claim("bob").of(&["gpu0"]).enqueue().unwrap();
            let bytes = std::fs::read(&place.0).unwrap();
            let is_used = |at: &usize| bytes[at / line * line..][..line].iter().any(|&it| it != 0);
            let Some(next) = (at..bytes.len()).step_by(width).find(is_used) else { break };
            at = next;
            file.write_all_at(&[0xff; 8][..width], at as u64).unwrap();
            let late = open();
            let _ = manager.wait_for_ticket(ticket.id().unwrap(), Some(Duration::from_micros(1)));
            let other = manager.claim("cleo").of(&["gpu1"]).ttl(Duration::from_secs(9)).try_now();
            let _ = (other.map(|lease| manager.renew(lease)), manager.renew(held));
            let _ = (manager.events_since(0), manager.host(), manager.release(held));
            drop((ticket, late, manager));
            assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{width} bytes from {at} on");
            at += width;
        }
        assert!(at > 0, "there was nothing to change");
    }
}

/// Two users of a file that is damaged, in one process, which knows what both believe.
struct Trial {
    random: Random,
    place: Place,
    file: File,
    users: Vec<LeaseManager>,
    /// Which resources a lease was granted for, and whose it is.
    granted: HashMap<LeaseId, (usize, Vec<String>)>,
    tickets: Vec<(usize, String, Ticket)>,
}

const NAMES: [&str; 5] =
    ["gpu0", "gpu1", "gpu2", "a-device-with-a-rather-long-name-of-its-own", "x"];

/// Changes one byte, of the beginning or of a page that is in use.
fn flip(file: &File, random: &mut Random) {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let used: Vec<usize> = (0..bytes.len() / 4096)
        .filter(|page| bytes[page * 4096..][..4096].iter().any(|&b| b != 0))
        .collect();
    let place = match random.below(8) {
        0 => random.below(256) as usize,
        how => {
            let page = used[random.below(used.len() as u64) as usize] * 4096;
            let filled: Vec<usize> =
                (page..page + 4096).filter(|&at| how < 2 || bytes[at] != 0).collect();
            filled[random.below(filled.len() as u64) as usize]
        }
    };
    let changed = match random.below(3) {
        0 => bytes[place] ^ 1 << random.below(8),
        1 => bytes[place].wrapping_add(1 + random.below(255) as u8),
        _ => [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
    };
    file.write_all_at(&[changed], place as u64).unwrap();
    say(format!("byte {place} of {}: {} -> {changed}", bytes.len(), bytes[place]));
}

impl Trial {
    fn new(seed: u64) -> Self {
        let place = Place::new();
        let open =
            || LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS)).unwrap();
        let users = vec![open(), open()];
        let file = OpenOptions::new().read(true).write(true).open(&place.0).unwrap();
        let (granted, tickets) = (HashMap::new(), Vec::new());
        Trial { random: Random(seed), place, file, users, granted, tickets }
    }

    fn run(mut self, flips: u64) {
        self.users[0].declare("x", 3, 100).unwrap();
        for _ in 0..40 {
            self.step(flips == 1).unwrap();
        }
        if flips == 1 {
            flip(&self.file, &mut self.random);
        } else {
            // At any moment, also in the middle of a command.
            let (file, mut random) = (self.file.try_clone().unwrap(), Random(self.random.next()));
            std::thread::spawn(move || (0..flips).for_each(|_| flip(&file, &mut random)));
        }
        for _ in 0..60 {
            if self.step(flips == 1).is_err() {
                break;
            }
        }
        // Who comes later is refused, or served as all others.
        if let Ok(late) = LeaseManager::open_with(&self.place.url(), Options::real().limits(LIMITS))
        {
            self.users.push(late);
            for _ in 0..20 {
                if self.step(flips == 1).is_err() {
                    break;
                }
            }
        }
    }

    /// One call of one user. An error if nothing more can be expected of the file.
    fn step(&mut self, judged: bool) -> Result<(), ()> {
        let user = self.random.below(self.users.len() as u64) as usize;
        let manager = self.users[user].clone();
        let name = NAMES[self.random.below(NAMES.len() as u64) as usize];
        let lease = self.some_lease(user);
        let holder = ["ann", "bob", "cleo"][self.random.below(3) as usize];
        let ttl = [Duration::from_secs(3600), Duration::from_micros(300), Duration::MAX]
            [self.random.below(3) as usize];
        let builder = manager.claim(holder).of(&NAMES).priority(self.random.below(3) as i16);
        let builder = if ttl == Duration::MAX { builder } else { builder.ttl(ttl) };
        let wait = Duration::from_micros(self.random.below(2000));
        let choice = self.random.below(24);
        let answer = match choice {
            0..6 => match manager.acquire(name, holder, Duration::from_secs(3600)) {
                Ok(lease) => self.believe(judged, user, lease, vec![name.to_owned()]),
                Err(error) => Err(error),
            },
            6..9 => {
                let claim = [
                    builder.count(2),
                    builder.preemptible(wait),
                    builder.take(Take::Exclusive),
                    builder.spare(wait),
                ][self.random.below(4) as usize];
                claim
                    .wait_for(wait)
                    .map(|lease| self.granted.insert(lease, (user, Vec::new())))
                    .map(|_| ())
            }
            9..12 => manager.claim(holder).of(&[name]).enqueue().map(|ticket| {
                self.tickets.push((user, name.to_owned(), ticket));
            }),
            12..16 => match lease {
                Some(lease) => {
                    self.granted.remove(&lease);
                    manager.release(lease)
                }
                None => Ok(()),
            },
            16 => lease.map_or(Ok(()), |lease| manager.renew(lease).map(|_| ())),
            17 => lease.map_or(Ok(()), |lease| {
                manager.revoke_with(lease, Reason::NodeDrain, "ops", wait).map(|_| ())
            }),
            18 => lease.map_or(Ok(()), |lease| {
                let child = manager.claim("child").of(&["y"]).child_of(lease).try_now()?;
                self.granted.insert(child, (user, Vec::new()));
                Ok(())
            }),
            19 => manager.want(holder, name),
            20 => manager.unwant(holder, name),
            21 => manager.find_deadlocks().map(|_| ()),
            22 => {
                self.look(&manager);
                Ok(())
            }
            _ => {
                drop(self.tickets.pop());
                Ok(())
            }
        };
        let answer = answer.and_then(|()| self.collect(judged));
        match answer {
            Err(Error::Corrupt | Error::Stuck(_)) => Err(()),
            _ => Ok(()),
        }
    }

    fn some_lease(&mut self, user: usize) -> Option<LeaseId> {
        let mut own: Vec<LeaseId> =
            self.granted.iter().filter(|(_, whose)| whose.0 == user).map(|(id, _)| *id).collect();
        own.sort();
        (!own.is_empty()).then(|| own[self.random.below(own.len() as u64) as usize])
    }

    /// Takes the leases that waiting claims were granted.
    fn collect(&mut self, judged: bool) -> Result<(), Error> {
        while let Some(place) =
            self.tickets.iter().position(|(_, _, ticket)| ticket.state() != TicketState::Waiting)
        {
            let (user, name, ticket) = self.tickets.remove(place);
            match ticket.wait() {
                Ok(lease) => self.believe(judged, user, lease, vec![name])?,
                Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A user was told that it has something: nobody else may believe to have it too.
    fn believe(
        &mut self,
        judged: bool,
        user: usize,
        lease: LeaseId,
        names: Vec<String>,
    ) -> Result<(), Error> {
        self.granted.insert(lease, (user, names.clone()));
        // What was granted may be over, or another's, by the time that somebody asks; whoever is careful asks.
        let held =
            |user: usize, lease: &LeaseId| self.users[user].state(*lease) == Some(LeaseState::Held);
        for name in names.iter().filter(|name| *name != "x") {
            let all = self.granted.iter().filter(|(_, whose)| whose.1.contains(name));
            let holders: Vec<_> = all.filter(|(id, whose)| held(whose.0, id)).collect();
            if judged && holders.len() > 1 {
                say(format!("two hold {name}: {holders:?}"));
                std::process::exit(3);
            }
        }
        Ok(())
    }

    /// Everything that only looks.
    fn look(&self, manager: &LeaseManager) {
        let leases = manager.leases();
        for lease in leases.iter().take(3) {
            manager.lease(lease.id);
            manager.state(lease.id);
        }
        // What is found may be anything.
        let _ = (manager.tickets(), manager.resources(), manager.host(), manager.verify());
        let _ = (manager.events_since(0), manager.held_by("ann"), manager.leases_on("gpu0"));
        let _ = (manager.active_count(), manager.pending_claimers(), manager.metrics());
    }
}
