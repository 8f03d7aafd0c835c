//! Many processes that claim, wait, cancel, fork, are stopped and killed at random. What they leave behind is in order, and the history of it all tells of no
//! resource with two holders and of nobody who was passed in line.
#![cfg(target_os = "linux")]

#[path = "common/history.rs"]
mod history;
#[path = "common/host.rs"]
mod host;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use history::{Change, History};
use host::{Place, Process, Random, say, until};
use ternlease::{
    Error, LeaseId, LeaseManager, Limits, Options, ProcessLife, Reason, Take, Ticket, TicketState,
    What,
};

/// All that is remembered is looked up by the reader of events, which may be slow.
const LIMITS: Limits = Limits { leases: 1024, tickets: 512, resources: 32, history: 16384 };
const HOUR: Duration = Duration::from_secs(3600);
/// One slot each.
const SINGLE: [&str; 4] = ["gpu0", "gpu1", "gpu2", "gpu3"];
/// One slot each, and all claims for them are equal.
const LINES: [&str; 2] = ["line0", "line1"];
/// Three slots.
const MANY: &str = "many";

fn open(url: &str) -> LeaseManager {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).unwrap()
}

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((_, words)) = host::role() {
        let random = Random(words[1].parse().unwrap());
        let manager = open(&words[0]);
        let witness = File::options().read(true).write(true).open(&words[2]).unwrap();
        Actor { manager, random, witness, held: Vec::new(), tickets: Vec::new(), claims: 0 }.play();
    }
}

/// One of the processes.
struct Actor {
    manager: LeaseManager,
    random: Random,
    /// For each resource of which there is one: the process that believes to hold it.
    witness: File,
    held: Vec<(LeaseId, Vec<&'static str>)>,
    tickets: Vec<(Ticket, &'static str)>,
    claims: u64,
}

/// Where the witness has a resource.
fn place_of(resource: &str) -> Option<u64> {
    SINGLE.iter().chain(&LINES).position(|name| *name == resource).map(|place| 4 * place as u64)
}

fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

impl Actor {
    /// Until the test says that it is over, or kills it.
    fn play(mut self) {
        static OVER: AtomicBool = AtomicBool::new(false);
        say("plays");
        std::thread::spawn(|| {
            // Anything, or the end of it.
            let _ = std::io::stdin().read_line(&mut String::new());
            OVER.store(true, Ordering::Release);
        });
        while !OVER.load(Ordering::Acquire) {
            self.step();
        }
        // What waits now goes on waiting, for the test to see.
        say("rests");
        loop {
            std::thread::park();
        }
    }

    fn step(&mut self) {
        // A name for each claim: nobody waits while it holds, by that name, so that nobody inherits a priority.
        self.claims += 1;
        let holder = format!("{}-{}", std::process::id(), self.claims);
        let manager = self.manager.clone();
        let single = SINGLE[self.random.below(4) as usize];
        let line = LINES[self.random.below(2) as usize];
        let wait = Duration::from_micros(self.random.below(30_000));
        match self.random.below(if self.held.len() < 3 { 100 } else { 30 }) {
            0..25 if !self.held.is_empty() => self.release(),
            25..28 => drop(self.tickets.pop()),
            28 => self.fork(),
            0..30 => self.renew(),
            30..45 => self.take(manager.acquire(single, &holder, HOUR), vec![single]),
            45..55 => {
                let priority = self.random.below(3) as i16;
                let claim = manager.claim(&holder).of(&SINGLE).count(2).priority(priority);
                match claim.wait_for(wait) {
                    Ok(lease) => {
                        let takes = manager.lease(lease).unwrap().takes;
                        let names = takes.iter().map(|taken| taken.resource.as_str());
                        let names = names.map(|name| *SINGLE.iter().find(|s| **s == name).unwrap());
                        self.take(Ok(lease), names.collect());
                    }
                    Err(error) => self.take(Err(error), Vec::new()),
                }
            }
            55..65 => {
                let two = Take::Amount { slots: 2, memory: 0 };
                let claim = manager.claim(&holder).of(&[MANY]);
                let claim =
                    if wait.as_micros().is_multiple_of(2) { claim } else { claim.take(two) };
                self.take(claim.wait_for(wait), vec![MANY]);
            }
            65..80 => self.take(manager.claim(&holder).of(&[line]).wait_for(wait), vec![line]),
            80..90 if self.tickets.len() < 2 => {
                match manager.claim(&holder).of(&[line]).enqueue() {
                    Ok(ticket) => self.tickets.push((ticket, line)),
                    Err(error) => self.take(Err(error), Vec::new()),
                }
            }
            _ => {
                let Some((ticket, line)) = self.tickets.pop() else { return };
                // Not without end: whoever holds it may rest.
                let waits =
                    |id| manager.wait_for_ticket(id, Some(wait)) == Ok(TicketState::Waiting);
                match ticket.id().is_some_and(waits) {
                    true => self.tickets.push((ticket, line)),
                    false => self.take(ticket.wait(), vec![line]),
                }
            }
        }
    }

    fn take(&mut self, answer: Result<LeaseId, Error>, names: Vec<&'static str>) {
        match answer {
            Ok(lease) => {
                for place in names.iter().filter_map(|name| place_of(name)) {
                    self.bear_witness(place);
                }
                self.held.push((lease, names));
            }
            // Who waits but a little does not wait longer for one that was stopped with the lock.
            Err(Error::Busy | Error::Refused(Reason::WaitTimedOut) | Error::Stuck(_)) => {}
            Err(error) => say(format!("wrong: a claim ended with {error:?}")),
        }
    }

    /// Nobody else who lives may believe to hold it.
    fn bear_witness(&self, place: u64) {
        let mut word = [0; 4];
        let begun = Instant::now();
        loop {
            self.witness.read_exact_at(&mut word, place).unwrap();
            let other = u32::from_ne_bytes(word);
            // One whose files are closed already may still look alive.
            if other == 0 || !lives(other) {
                break;
            }
            if begun.elapsed() > Duration::from_secs(10) {
                return say(format!("wrong: {} and {other} hold {place}", std::process::id()));
            }
        }
        self.witness.write_all_at(&std::process::id().to_ne_bytes(), place).unwrap();
    }

    fn release(&mut self) {
        let at = self.random.below(self.held.len() as u64) as usize;
        let (lease, names) = self.held.swap_remove(at);
        for place in names.iter().filter_map(|name| place_of(name)) {
            self.witness.write_all_at(&[0; 4], place).unwrap();
        }
        if let Err(error) = self.manager.release(lease) {
            say(format!("wrong: a lease of one who lives ended: {error:?}"));
        }
    }

    fn renew(&mut self) {
        let renewed = self.held.iter().map(|(lease, _)| self.manager.renew(*lease));
        if let Some(error) = renewed.filter_map(Result::err).next() {
            say(format!("wrong: renewing ended with {error:?}"));
        }
    }

    /// A child that only lives on for a while, perhaps longer than its parent.
    fn fork(&mut self) {
        let lives_on = self.random.below(1000) as u32;
        // SAFETY: the child calls the library, which is what is tested, and ends itself.
        if unsafe { libc::fork() } == 0 {
            let answer = self.manager.acquire("gpu0", "child", HOUR);
            if answer != Err(Error::Forked) {
                say(format!("wrong: a forked child got {answer:?}"));
            }
            // SAFETY: sleeps, and ends the child at once.
            unsafe {
                libc::usleep(1000 * lives_on);
                libc::_exit(0)
            }
        }
    }
}

/// Reads events as they come until `over`, and looks up what they are about.
fn read(manager: &LeaseManager, over: &AtomicBool) -> Vec<Change> {
    let mut reader = manager.events(0);
    let (mut changes, mut last) = (Vec::new(), 0);
    loop {
        let ends = over.load(Ordering::Acquire);
        for event in reader.by_ref() {
            assert_eq!(event.number, last + 1);
            last = event.number;
            changes.push(match event.what {
                What::Queued { ticket } => Change::Queued(ticket.0),
                What::Granted { lease, ticket } => {
                    let takes = manager.lease(lease).expect("it is remembered").takes;
                    let takes = takes.into_iter().map(|taken| (taken.resource, taken.slots));
                    Change::Granted(lease.0, ticket.map(|ticket| ticket.0), takes.collect())
                }
                What::Ended { lease, .. } => Change::Ended(lease.0),
                _ => Change::Other,
            });
        }
        if ends {
            assert_eq!(reader.missed(), 0);
            return changes;
        }
        reader.wait(Some(Duration::from_millis(20))).unwrap();
    }
}

/// Says when it goes that it is over.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

struct Storm<'a> {
    place: &'a Place,
    witness: &'a Place,
    random: Random,
    actors: Vec<Process>,
}

impl Storm<'_> {
    fn new_actor(&mut self) -> Process {
        let seed = self.random.next().to_string();
        let witness = self.witness.0.display().to_string();
        Process::start("actor", &[&self.place.url(), &seed, &witness])
    }

    /// Kills, stops and lets go on at random, for so long; how many it killed.
    fn rage(&mut self, time: Duration) -> u32 {
        let begun = Instant::now();
        let (mut killed, mut stopped) = (0, Vec::new());
        while begun.elapsed() < time {
            let one = self.random.below(self.actors.len() as u64) as usize;
            match self.random.below(4) {
                0 => {
                    self.actors[one].signal(libc::SIGKILL);
                    let new = self.new_actor();
                    let old = std::mem::replace(&mut self.actors[one], new);
                    check_lines(&old);
                    killed += 1;
                    stopped.retain(|other| *other != one);
                }
                1 if !stopped.contains(&one) => {
                    self.actors[one].signal(libc::SIGSTOP);
                    stopped.push(one);
                }
                _ => {}
            }
            // Nobody stays stopped for long: it may have the lock.
            if stopped.len() > 3 {
                self.actors[stopped.remove(0)].go_on();
            }
            std::thread::sleep(Duration::from_millis(5 + self.random.below(30)));
        }
        self.actors.iter().for_each(Process::go_on);
        killed
    }

    /// Tells all to stop, and waits until they have.
    fn calm_down(&mut self) {
        for actor in &mut self.actors {
            actor.say("stop");
            loop {
                let line = actor.line();
                assert!(!line.starts_with("wrong") && line != "gone", "{line}");
                if line == "rests" {
                    break;
                }
            }
        }
    }
}

/// Whatever it has said so far is harmless.
fn check_lines(actor: &Process) {
    while let Some(line) = actor.line_within(Duration::ZERO) {
        assert!(!line.starts_with("wrong"), "{line}");
        if line == "gone" {
            break;
        }
    }
}

#[test]
fn a_storm_leaves_order_behind() {
    let full = std::env::var("TERN_TORTURE").is_ok_and(|word| word == "full");
    let time = Duration::from_secs(if full { 300 } else { 10 });
    let (place, witness) = (Place::new(), Place::new());
    std::fs::write(&witness.0, [0; 64]).unwrap();
    let manager = open(&place.url());
    manager.declare(MANY, 3, 0).unwrap();
    let over = AtomicBool::new(false);
    let random = Random::from_environment();
    let mut storm = Storm { place: &place, witness: &witness, random, actors: Vec::new() };
    let (changes, killed) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&manager, &over));
        // Also if something fails: the reader must end.
        let ending = Ending(&over);
        storm.actors = (0..24).map(|_| storm.new_actor()).collect();
        let killed = storm.rage(time);
        storm.calm_down();
        drop(ending);
        (reader.join().unwrap(), killed)
    });
    is_in_order(&manager, &storm.actors);
    let info = manager.host().unwrap();
    println!("{killed} killed, {} found dead, {} undone", info.deaths, info.roll_backs);
    let slots = HashMap::from([(MANY.to_owned(), 3)]);
    let lines = LINES.map(str::to_owned).to_vec();
    let queued = changes.iter().filter(|change| matches!(change, Change::Queued(_))).count();
    println!("{} events, {queued} times somebody was put in line", changes.len());
    assert!(queued > 100 && info.deaths > 10, "a storm in a teacup");
    History { changes, slots, lines }.check().unwrap();
}

/// All that is held is held by somebody who lives, and nobody waits who could be served.
fn is_in_order(manager: &LeaseManager, actors: &[Process]) {
    manager.verify().unwrap();
    let pids: Vec<u32> = actors.iter().map(Process::pid).collect();
    until("somebody who is dead is not found", || {
        // Whoever looks finds them.
        manager.verify().unwrap();
        let others = manager.host().unwrap().processes;
        let mut others = others.iter().filter(|process| process.process != std::process::id());
        others.all(|process| process.life == ProcessLife::Lives && pids.contains(&process.process))
    });
    let owners: Vec<u16> = manager.host().unwrap().processes.iter().map(|p| p.owner).collect();
    let (leases, tickets) = (manager.leases(), manager.tickets());
    println!("{} leases and {} tickets are left", leases.len(), tickets.len());
    assert!(leases.iter().all(|lease| owners.contains(&lease.owner)));
    for ticket in tickets {
        assert!(owners.contains(&ticket.owner));
        let used = |name: &String| manager.resource(name).unwrap().used_slots != 0;
        assert!(ticket.candidates.iter().all(used), "nobody serves {ticket:?}");
    }
}
