//! Random commands: few holders and few resources, so that everything meets everything.

use ternlease::table::{
    DeadlockPolicy, FOREVER, Health, Limits, Reason, Settings, Take, Time, Traits,
};

use super::step::{Command, Step};
use super::{Ask, Model};

/// Splitmix64: small, and the same everywhere.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// What an episode plays with.
pub struct World {
    pub settings: Settings,
    pub holders: Vec<String>,
    /// Resources that are declared first, then those that never are.
    pub names: Vec<String>,
    pub declared: usize,
    pub length: usize,
    /// One priority, nothing spare: the line is in the order of arrival.
    pub flat: bool,
    /// Long chains of leases.
    deep: bool,
    /// The resources have islands, or nodes, from the start.
    islands: bool,
    /// Machines, which are declared, too.
    pub nodes: Vec<String>,
    parents: u64,
    longest: Time,
}

impl World {
    pub fn new(rng: &mut Rng) -> World {
        let limits = Limits { leases: 256, tickets: 256, resources: 64, history: 1024 };
        let flat = rng.percent(20);
        let deep = rng.percent(6);
        let deadlocks =
            if rng.percent(50) && !flat { DeadlockPolicy::Break } else { DeadlockPolicy::Report };
        let implied_wants = rng.percent(30);
        let holders: Vec<String> = "abcdef"
            .chars()
            .take(rng.between(2, 6) as usize)
            .map(|letter| letter.to_string())
            .collect();
        let mut names: Vec<String> = (0..rng.between(2, 6)).map(|n| format!("r{n}")).collect();
        if implied_wants {
            // Some of these "mailboxes" are declared, the rest come into being when claimed.
            names.extend(holders.iter().cloned());
        }
        let declared = names.len() - rng.below(names.len() as u64 / 2 + 1) as usize;
        let nodes = if rng.percent(40) { &["n0", "n1"][..] } else { &[] };
        let nodes: Vec<String> = nodes.iter().map(|name| name.to_string()).collect();
        names.extend("xyz".chars().take(rng.below(4) as usize).map(|letter| letter.to_string()));
        names.extend(nodes.iter().cloned());
        let settings = Settings {
            limits,
            first_sequence: rng.below(3) * 1000,
            numbers: None,
            implied_wants,
            deadlocks,
            replicated: false,
        };
        World {
            settings,
            holders,
            names,
            declared,
            islands: rng.percent(50) || !nodes.is_empty(),
            nodes,
            length: if rng.percent(80) { rng.between(40, 120) } else { rng.between(120, 400) }
                as usize,
            flat,
            deep,
            parents: if deep { 90 } else { *rng.pick(&[0, 5, 25]) },
            longest: *rng.pick(&[6, 30, 30, 200]),
        }
    }

    /// The next command, given where the model stands.
    pub fn step(&self, rng: &mut Rng, model: &Model, nth: usize) -> Step {
        if nth < self.declared {
            return Step { now: 0, command: self.declare(rng, self.names[nth].clone()) };
        }
        let nth = nth - self.declared;
        if let Some(node) = self.nodes.get(nth) {
            let command = Command::Declare { name: node.clone(), slots: 1, memory: 0 };
            return Step { now: 0, command };
        }
        let nth = nth - self.nodes.len();
        if nth < self.declared && self.islands {
            return Step { now: 0, command: self.set_traits(rng, self.names[nth].clone()) };
        }
        Step { now: self.time(rng, model.now()), command: self.command(rng, model) }
    }

    fn time(&self, rng: &mut Rng, now: Time) -> Time {
        match rng.below(10_000) {
            0..100 => now.saturating_sub(rng.between(1, 3)),
            100..120 => FOREVER + rng.below(2),
            120..122 => FOREVER - 1,
            122..5_600 => now,
            5_600..9_000 => (now + rng.between(1, 3)).min(FOREVER - 1),
            9_000..9_900 => (now + rng.between(4, 20)).min(FOREVER - 1),
            _ => (now + 100).min(FOREVER - 1),
        }
    }

    fn declare(&self, rng: &mut Rng, name: String) -> Command {
        let slots = match rng.below(100) {
            _ if self.deep && name == self.names[0] => 40,
            0..5 => 0,
            5..60 => 1,
            _ => rng.between(2, 4) as u32,
        };
        let memory = if rng.percent(50) { 0 } else { rng.between(1, 8) as u32 };
        Command::Declare { name, slots, memory: if slots == 0 { memory.max(1) } else { memory } }
    }

    fn command(&self, rng: &mut Rng, model: &Model) -> Command {
        // Long lines make the model slow and show nothing new.
        let crowded = model.waiting.len() > 9 || (model.held.len() > 14 && !self.deep);
        let roll = rng.below(100);
        if self.deep && roll >= 52 && rng.percent(80) {
            return Command::Claim { ask: self.ask(rng, model), by_id: false };
        }
        match roll {
            40..52 if !self.nodes.is_empty() && rng.percent(50) => self.about_nodes(rng, model),
            0..45 if !crowded => {
                Command::Claim { ask: self.ask(rng, model), by_id: false }.broken_sometimes(rng)
            }
            0..52 if !crowded => self.claim_by_id(rng, model),
            0..66 => Command::Release { lease: self.a_lease(rng, model) },
            66..74 => self.renew(rng, model),
            74..80 => self.revoke(rng, model),
            80..82 if rng.percent(20) => {
                Command::Join { owner: rng.below(4) as u16, principal: rng.below(3) as u32 }
            }
            80..82 if rng.percent(10) => Command::Reap {
                owner: rng.below(4) as u16,
                reason: *rng.pick(&[
                    Reason::HolderDied,
                    Reason::EngineLost,
                    Reason::Operator,
                    Reason::Released,
                ]),
            },
            80..82 if rng.percent(25) => {
                Command::GiveTo { lease: self.a_lease(rng, model), owner: rng.below(4) as u16 }
            }
            80..82 => Command::End {
                lease: self.a_lease(rng, model),
                reason: *rng.pick(&[Reason::HolderDied, Reason::EngineLost, Reason::TimedOut]),
            },
            82..86 => Command::Cancel { ticket: self.a_ticket(rng, model) },
            86..90 => Command::Advance,
            90..93 => Command::Want { holder: self.holder(rng), resource: self.name(rng) }
                .broken_sometimes(rng),
            93..94 => self.unwant(rng, model),
            94..96 if rng.percent(25) => {
                let name = self.a_declared(rng);
                self.set_traits(rng, name)
            }
            94..96 if rng.percent(12) => Command::Fail {
                name: self.a_declared(rng),
                reason: *rng.pick(&[
                    Reason::DeviceFault,
                    Reason::DeviceFault,
                    Reason::Reconfigured,
                    Reason::TimedOut,
                ]),
                by: self.holder(rng),
            },
            94..96 => {
                let name = self.a_declared(rng);
                let well = rng.percent(60);
                let ill = *rng.pick(&[Health::Draining, Health::Failed]);
                let health = if well { Health::Healthy } else { ill };
                match rng.percent(50) {
                    true => Command::Health { name, health },
                    false => Command::Evidence { name, health, unused: rng.percent(70) },
                }
            }
            96..97 => {
                let name = self.name(rng);
                self.declare(rng, name).broken_sometimes(rng)
            }
            _ => Command::FindDeadlocks,
        }
    }

    fn holder(&self, rng: &mut Rng) -> String {
        rng.pick(&self.holders).clone()
    }

    /// A declared resource, rarely one that is not.
    fn a_declared(&self, rng: &mut Rng) -> String {
        if rng.percent(3) {
            return "?".to_string();
        }
        self.names[rng.below(self.declared as u64) as usize].clone()
    }

    fn set_traits(&self, rng: &mut Rng, name: String) -> Command {
        let island = if rng.percent(2) { u32::MAX } else { rng.below(3) as u32 };
        let node = match rng.below(100) {
            0..4 => Some(self.a_declared(rng)),
            4..80 if !self.nodes.is_empty() => Some(rng.pick(&self.nodes).clone()),
            _ => None,
        };
        let traits = Traits { island, node: None, checked: rng.percent(40) };
        Command::Traits { name, traits, node }
    }

    /// Somebody comes to a machine, or looks at what is in it.
    fn about_nodes(&self, rng: &mut Rng, model: &Model) -> Command {
        if rng.percent(50) {
            let name = self.names[rng.below(self.declared as u64) as usize].clone();
            return Command::Evidence { name, health: Health::Healthy, unused: true };
        }
        let candidates = vec![rng.pick(&self.nodes).clone()];
        let ask = Ask { candidates, count: 1, take: Take::Shared, ..self.ask(rng, model) };
        Command::Claim { ask, by_id: true }
    }

    fn name(&self, rng: &mut Rng) -> String {
        rng.pick(&self.names).clone()
    }

    /// Mostly a held lease, sometimes one that has ended, rarely none at all.
    fn a_lease(&self, rng: &mut Rng, model: &Model) -> u64 {
        let known = (model.held.len() + model.ended.len()) as u64;
        if rng.percent(88) && !model.held.is_empty() {
            let held: Vec<u64> = model.held.keys().copied().collect();
            return *rng.pick(&held);
        }
        rng.between(0, known + 1)
    }

    pub fn a_ticket(&self, rng: &mut Rng, model: &Model) -> u64 {
        if rng.percent(75) && !model.waiting.is_empty() {
            let waiting: Vec<u64> = model.waiting.keys().copied().collect();
            return *rng.pick(&waiting);
        }
        rng.between(0, 30)
    }

    fn ttl(&self, rng: &mut Rng) -> Time {
        if rng.percent(25) { FOREVER } else { rng.between(1, self.longest) }
    }

    fn notice(&self, rng: &mut Rng) -> Time {
        match rng.below(100) {
            0..55 => 0,
            55..98 => rng.between(1, 12),
            98 => FOREVER - 1,
            _ => FOREVER,
        }
    }

    fn ask(&self, rng: &mut Rng, model: &Model) -> Ask {
        let mut names = self.names.clone();
        if rng.percent(97) {
            names.truncate(names.len() - self.nodes.len());
        }
        let most = if rng.percent(if self.islands { 20 } else { 60 }) {
            1
        } else {
            names.len().min(4) as u64
        };
        let candidates: Vec<String> = (0..rng.between(1, most))
            .map(|_| names.swap_remove(rng.below(names.len() as u64) as usize))
            .collect();
        let count =
            if rng.percent(60) { 1 } else { rng.between(1, candidates.len() as u64) as u32 };
        let take = match rng.below(100) {
            0..50 => Take::ONE_SLOT,
            50..68 => Take::Amount { slots: rng.below(3) as u32, memory: rng.between(1, 4) as u32 },
            68..85 => Take::Exclusive,
            _ => Take::Shared,
        };
        // A chain grows deep only on something that many can hold.
        let link = self.deep && rng.percent(85);
        let deepest = model.held.values().max_by_key(|lease| lease.depth);
        let parent = rng.percent(self.parents).then(|| match deepest {
            Some(deepest) if link => deepest.id,
            _ => self.a_lease(rng, model),
        });
        Ask {
            holder: self.holder(rng),
            candidates: if link { self.names[..1].to_vec() } else { candidates },
            count: if link { 1 } else { count },
            together: rng.percent(if self.nodes.is_empty() { 5 } else { 50 }),
            take: if link { Take::ONE_SLOT } else { take },
            ttl: if self.deep { FOREVER } else { self.ttl(rng) },
            wait: match rng.below(100) {
                0..20 => 0,
                20..55 => rng.between(1, 20),
                _ => FOREVER,
            },
            priority: if self.flat { 0 } else { rng.below(6) as i16 - 2 },
            spare: !self.flat && !link && rng.percent(12),
            preemptible: rng.percent(35),
            preempt: rng.percent(30),
            grace: self.notice(rng),
            parent,
            owner: rng.below(4) as u16,
        }
    }

    fn claim_by_id(&self, rng: &mut Rng, model: &Model) -> Command {
        let mut ask = self.ask(rng, model);
        let declared = &self.names[..self.declared];
        ask.candidates.retain(|name| declared.contains(name));
        if ask.candidates.is_empty() {
            ask.candidates.push(rng.pick(declared).clone());
        }
        ask.count = ask.count.min(ask.candidates.len() as u32);
        if rng.percent(3) {
            ask.candidates.push("?".to_string());
        }
        if rng.percent(3) {
            ask.candidates.push(ask.candidates[0].clone());
        }
        Command::Claim { ask, by_id: true }
    }

    fn renew(&self, rng: &mut Rng, model: &Model) -> Command {
        let ttl = match rng.below(100) {
            0..2 => Some(0),
            2..4 => Some(FOREVER + 1),
            4..60 => None,
            _ => Some(self.ttl(rng)),
        };
        Command::Renew { lease: self.a_lease(rng, model), ttl }
    }

    fn revoke(&self, rng: &mut Rng, model: &Model) -> Command {
        let reason = match rng.below(100) {
            0..8 => *rng.pick(Reason::ALL),
            8..23 => Reason::DeadlockVictim,
            _ => *rng.pick(&Reason::ALL[1..17]),
        };
        // A victim's age would change the order of arrival.
        let flat_victim = self.flat && reason == Reason::DeadlockVictim;
        let reason = if flat_victim { Reason::Operator } else { reason };
        let notice = if rng.percent(2) { FOREVER + 1 } else { self.notice(rng) };
        let notified = model.held.values().find(|lease| lease.notice.is_some());
        let lease = match notified {
            Some(lease) if rng.percent(30) => lease.id,
            _ => self.a_lease(rng, model),
        };
        Command::Revoke { lease, reason, by: self.holder(rng), notice }
    }

    fn unwant(&self, rng: &mut Rng, model: &Model) -> Command {
        let (holder, resource) = match model.wants.first() {
            Some(want) if rng.percent(60) => (want.holder.clone(), want.resource.clone()),
            _ => (self.holder(rng), self.name(rng)),
        };
        Command::Unwant { holder, resource }.broken_sometimes(rng)
    }
}

impl Command {
    /// Now and then something is wrong with the input, sometimes two things.
    fn broken_sometimes(mut self, rng: &mut Rng) -> Command {
        while rng.percent(6) {
            let bad_name = if rng.percent(50) { String::new() } else { "n".repeat(256) };
            match &mut self {
                Command::Claim { ask, .. } => break_ask(ask, rng, bad_name),
                Command::Declare { slots, memory, .. } if rng.percent(50) => {
                    (*slots, *memory) = (0, 0)
                }
                Command::Declare { name, .. } => *name = bad_name,
                Command::Want { holder, resource } | Command::Unwant { holder, resource } => {
                    *(if rng.percent(50) { holder } else { resource }) = bad_name;
                }
                _ => {}
            }
        }
        self
    }
}

fn break_ask(ask: &mut Ask, rng: &mut Rng, bad_name: String) {
    match rng.below(11) {
        0 => ask.holder = bad_name,
        1 => ask.candidates[0] = bad_name,
        2 => ask.count = 0,
        3 => ask.count = ask.candidates.len() as u32 + 1,
        4 => ask.take = Take::Amount { slots: 0, memory: 0 },
        5 => ask.ttl = 0,
        6 => ask.ttl = FOREVER + 1,
        7 => ask.grace = FOREVER + 1,
        8 => ask.wait = FOREVER + 1,
        9 => ask.candidates.push(ask.candidates[0].clone()),
        // The longest name there may be is still a name.
        _ => ask.holder = "h".repeat(255),
    }
}
