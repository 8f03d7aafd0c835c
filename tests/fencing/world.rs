//! Holders, an engine that gives out one lease after the other, and a resource: what each does by itself, in whatever order.
//!
//! * A message that was sent may come at any time after that, again and again, or never: late, twice, overtaken and lost are all the same to this world. Only
//!   renewals go by a line of their own, as those of sessions do: in order, each answered once, until the line breaks.
//! * Nobody has to do anything. A holder that does nothing for any time is one that was stopped, wherever it was: after it looked at its clock and before
//!   it wrote, for example.
//! * Time goes on in ticks of the engine's clock. The clock of a holder may lose some of them: in so many ticks as the engine counts for a lease, so many as
//!   the world says. One that gains ticks ends a lease early and harms nobody.
//! * A holder that crashes has forgotten everything; what it sent is still under way.
//! * When the engine has another leader, every lease gets its full time again, one that is over and not yet ended included.

use super::explore::Model;

/// So many ticks of the engine's clock a lease lasts.
pub const TTL: u8 = 3;

/// So many ticks of its own clock a holder takes a lease for its own: one less, as its clock may lose one. (The library: a second in a hundred.)
pub const SURE: u8 = TTL - 1;

/// How the world is.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub holders: usize,
    /// Leases that the engine gives out at most.
    pub leases: u8,
    /// How often a holder asks for one at most.
    pub attempts: u8,
    /// Renewals of a holder that are under way at most.
    pub renewals: usize,
    /// The resource takes no write of an id smaller than one it has seen.
    pub fence: bool,
    /// Each lease has a larger id than all before it; otherwise all have the same.
    pub ids_grow: bool,
    /// Ticks that the clock of a holder may lose of [`TTL`].
    pub lost: u32,
    /// A holder counts from when it asked; otherwise from when it was answered.
    pub from_the_send: bool,
    /// An answer is taken to be for the oldest renewal under way; otherwise for the newest.
    pub for_the_oldest: bool,
    /// Leases end by themselves.
    pub expiry: bool,
    /// Leases are taken away, too, at any moment.
    pub revokes: bool,
    /// Time goes on. Where leases may end at any moment, it makes no difference.
    pub time: bool,
    /// Holders use what they hold, and may give it back.
    pub writes: bool,
    /// A write is at the resource at once.
    pub prompt: bool,
}

/// As the library has it, at a small size.
pub const AS_IT_IS: World = World {
    holders: 2,
    leases: 3,
    attempts: 1,
    renewals: 0,
    fence: true,
    ids_grow: true,
    lost: 1,
    from_the_send: true,
    for_the_oldest: true,
    expiry: true,
    revokes: false,
    time: true,
    writes: true,
    prompt: false,
};

/// The number of a lease, in the order in which they were given out; what others see of it is its id.
pub type Serial = u8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    Ask { holder: u8, attempt: u8 },
    Grant { holder: u8, attempt: u8, lease: Serial },
    Release { lease: Serial },
    Write { lease: Serial },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doing {
    Nothing,
    /// Since so many ticks of its own clock.
    Asking {
        age: u8,
    },
    /// The holder has just seen that it holds it, if it has looked.
    Holding {
        lease: Serial,
        age: u8,
        looked: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder {
    pub doing: Doing,
    attempt: u8,
    /// Which of the last ticks its clock has lost, the latest in the lowest bit.
    lost: u8,
    /// How long ago the renewals were sent that are not answered yet, the oldest first.
    unanswered: Vec<u8>,
    /// How many of those the engine has answered.
    answered: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub serial: Serial,
    holder: u8,
    attempt: u8,
    left: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub holders: Vec<Holder>,
    pub lease: Option<Lease>,
    given: Serial,
    /// All that were ever sent, sorted.
    sent: Vec<Message>,
    /// The largest id that the resource has seen.
    largest: u8,
    /// The youngest lease of which it has accepted a write.
    youngest: Serial,
    /// It has accepted one of an older lease after that.
    pub stale: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Asks(u8),
    HearsOfItsLease(u8, Serial),
    /// By its own clock it holds its lease.
    LooksAndSays1(u8),
    LooksAndSays0(u8),
    Writes(u8, Serial),
    Releases(u8),
    Renews(u8),
    RenewalArrives(u8),
    HearsOfItsRenewal(u8),
    LineBreaks(u8),
    Crashes(u8),
    EngineGrants(u8, Serial),
    EngineAnswersAgain(u8, Serial),
    EngineEnds(Serial),
    EngineRevokes(Serial),
    EngineHearsOfRelease(Serial),
    NewLeader,
    ResourceAccepts(Serial),
    ResourceRefuses(Serial),
    /// The clocks of these holders lose it.
    Tick {
        lost_by: u8,
    },
}

impl Holder {
    fn idle(attempt: u8) -> Holder {
        Holder { doing: Doing::Nothing, attempt, lost: 0, unanswered: Vec::new(), answered: 0 }
    }

    /// The lease that it takes for its own.
    pub fn is_sure_of(&self) -> Option<Serial> {
        match self.doing {
            Doing::Holding { lease, age, .. } if age < SURE => Some(lease),
            _ => None,
        }
    }

    fn tick(&mut self, lost: bool) {
        let age = match &mut self.doing {
            Doing::Nothing => return,
            Doing::Asking { age } | Doing::Holding { age, .. } => age,
        };
        let history = (1 << (TTL - 1)) - 1;
        self.lost = (self.lost << 1 | u8::from(lost)) & history;
        for age in self.unanswered.iter_mut().chain([age]) {
            *age = (*age + u8::from(!lost)).min(SURE);
        }
    }
}

impl State {
    fn send(&mut self, message: Message) {
        if let Err(place) = self.sent.binary_search(&message) {
            self.sent.insert(place, message);
        }
    }

    fn end(&mut self, lease: Serial) -> bool {
        let ends = self.lease.is_some_and(|it| it.serial == lease);
        if ends {
            self.lease = None;
        }
        ends
    }
}

impl World {
    fn id(&self, lease: Serial) -> u8 {
        if self.ids_grow { lease } else { 1 }
    }

    /// A write comes to the resource.
    fn write(&self, state: &mut State, lease: Serial) -> Step {
        let id = self.id(lease);
        if self.fence && id < state.largest {
            return Step::ResourceRefuses(lease);
        }
        state.largest = state.largest.max(id);
        state.stale |= lease < state.youngest;
        state.youngest = state.youngest.max(lease);
        Step::ResourceAccepts(lease)
    }

    fn holder_steps(&self, number: u8, from: &State, to: &mut Vec<(Step, State)>) {
        let holder = &from.holders[number as usize];
        let mut go = |step, change: &dyn Fn(&mut Holder, &mut Vec<Message>)| {
            let mut next = from.clone();
            let mut sent = Vec::new();
            change(&mut next.holders[number as usize], &mut sent);
            sent.into_iter().for_each(|message| next.send(message));
            to.push((step, next));
        };
        match holder.doing {
            Doing::Nothing if holder.attempt < self.attempts => {
                go(Step::Asks(number), &|holder, sent| {
                    holder.attempt += 1;
                    holder.doing = Doing::Asking { age: 0 };
                    sent.push(Message::Ask { holder: number, attempt: holder.attempt });
                });
            }
            Doing::Nothing => {}
            Doing::Asking { .. } => {
                go(Step::Crashes(number), &|holder, _| *holder = Holder::idle(holder.attempt));
            }
            Doing::Holding { lease, age, looked } => {
                let over = age == SURE;
                go(Step::Crashes(number), &|holder, _| *holder = Holder::idle(holder.attempt));
                if over && !looked {
                    go(Step::LooksAndSays0(number), &|holder, _| {
                        *holder = Holder::idle(holder.attempt);
                    });
                }
                if self.writes && !over && !looked {
                    go(Step::LooksAndSays1(number), &|holder, _| {
                        holder.doing = Doing::Holding { lease, age, looked: true };
                    });
                    go(Step::Releases(number), &|holder, sent| {
                        *holder = Holder::idle(holder.attempt);
                        sent.push(Message::Release { lease });
                    });
                }
                if holder.unanswered.len() < self.renewals {
                    go(Step::Renews(number), &|holder, _| holder.unanswered.push(0));
                }
                if holder.answered > 0 {
                    go(Step::HearsOfItsRenewal(number), &|holder, _| {
                        let oldest = holder.unanswered.remove(0);
                        let newest = *holder.unanswered.last().unwrap_or(&oldest);
                        let sent = if self.for_the_oldest { oldest } else { newest };
                        let sent = if self.from_the_send { sent } else { 0 };
                        holder.answered -= 1;
                        holder.doing = Doing::Holding { lease, age: age.min(sent), looked };
                    });
                }
                if !holder.unanswered.is_empty() {
                    go(Step::LineBreaks(number), &|holder, _| {
                        (holder.unanswered, holder.answered) = (Vec::new(), 0);
                    });
                }
                if looked {
                    // However long ago that was.
                    let mut next = from.clone();
                    next.holders[number as usize].doing =
                        Doing::Holding { lease, age, looked: false };
                    if self.prompt {
                        self.write(&mut next, lease);
                    } else {
                        next.send(Message::Write { lease });
                    }
                    to.push((Step::Writes(number, lease), next));
                }
            }
        }
    }

    fn engine_steps(&self, from: &State, to: &mut Vec<(Step, State)>) {
        if let Some(lease) = from.lease {
            let mut next = from.clone();
            next.lease = Some(Lease { left: TTL, ..lease });
            to.push((Step::NewLeader, next.clone()));
            let holder = &from.holders[lease.holder as usize];
            if holder.answered < holder.unanswered.len()
                && matches!(holder.doing, Doing::Holding { lease: own, .. } if own == lease.serial)
            {
                next.holders[lease.holder as usize].answered += 1;
                to.push((Step::RenewalArrives(lease.holder), next));
            }
            let mut next = from.clone();
            next.lease = None;
            if self.expiry && lease.left == 0 {
                to.push((Step::EngineEnds(lease.serial), next.clone()));
            }
            if self.revokes {
                to.push((Step::EngineRevokes(lease.serial), next));
            }
        }
    }

    /// A message comes to whom it is for.
    fn arrival(&self, message: Message, from: &State, to: &mut Vec<(Step, State)>) {
        let mut next = from.clone();
        match message {
            Message::Ask { holder, attempt } => match from.lease {
                None if from.given < self.leases => {
                    let lease = from.given + 1;
                    next.given = lease;
                    next.lease = Some(Lease { serial: lease, holder, attempt, left: TTL });
                    next.send(Message::Grant { holder, attempt, lease });
                    to.push((Step::EngineGrants(holder, lease), next));
                }
                Some(lease) if (lease.holder, lease.attempt) == (holder, attempt) => {
                    next.send(Message::Grant { holder, attempt, lease: lease.serial });
                    to.push((Step::EngineAnswersAgain(holder, lease.serial), next));
                }
                _ => {}
            },
            Message::Grant { holder, attempt, lease } => {
                let own = &mut next.holders[holder as usize];
                if let Doing::Asking { age } = own.doing
                    && own.attempt == attempt
                {
                    let age = if self.from_the_send { age } else { 0 };
                    own.doing = Doing::Holding { lease, age, looked: false };
                    to.push((Step::HearsOfItsLease(holder, lease), next));
                }
            }
            Message::Release { lease } => {
                if next.end(lease) {
                    to.push((Step::EngineHearsOfRelease(lease), next));
                }
            }
            Message::Write { lease } => {
                let step = self.write(&mut next, lease);
                to.push((step, next));
            }
        }
    }

    fn ticks(&self, from: &State, to: &mut Vec<(Step, State)>) {
        for lost_by in 0..1u8 << from.holders.len() {
            let mut next = from.clone();
            let mut allowed = true;
            for (number, holder) in next.holders.iter_mut().enumerate() {
                let lost = lost_by >> number & 1 == 1;
                let counts = holder.doing != Doing::Nothing;
                allowed &= !lost || counts && holder.lost.count_ones() < self.lost;
                holder.tick(lost);
            }
            if let Some(lease) = &mut next.lease {
                lease.left = lease.left.saturating_sub(1);
            }
            if allowed {
                to.push((Step::Tick { lost_by }, next));
            }
        }
    }
}

impl Model for World {
    type State = State;
    type Step = Step;

    fn first(&self) -> State {
        State {
            holders: vec![Holder::idle(0); self.holders],
            lease: None,
            given: 0,
            sent: Vec::new(),
            largest: 0,
            youngest: 0,
            stale: false,
        }
    }

    fn steps(&self, from: &State, to: &mut Vec<(Step, State)>) {
        (0..self.holders as u8).for_each(|number| self.holder_steps(number, from, to));
        from.sent.iter().for_each(|message| self.arrival(*message, from, to));
        self.engine_steps(from, to);
        if self.time {
            self.ticks(from, to);
        }
        to.retain(|(_, state)| state != from);
    }
}
