//! Is there an order of all that happened in which every answer is right, and no call before it was made or after it came back? Searched for as Wing
//! and Gong do, for each resource by itself; what was tried in vain is remembered, so that nothing is tried twice.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::model::{Event, Events, State, Step};
use super::record::{Asked, Call, History, Told};

/// So many states are looked at before the search is given up, which counts as a failure.
const PATIENCE: usize = 1_000_000;

/// Checks everything that is promised of a history.
pub fn check(history: &History) -> Result<(), String> {
    check_ids(history)?;
    check_views(history)?;
    let mut resources: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &history.calls {
        resources.entry(&call.resource).or_default().push(call);
    }
    for (resource, calls) in resources {
        Search::new(Events::of(&calls)).run().map_err(|why| format!("{resource}: {why}"))?;
    }
    Ok(())
}

/// No id comes twice, and whoever asks after somebody was granted a lease has a larger one, whatever the resource.
fn check_ids(history: &History) -> Result<(), String> {
    let mut joined: HashMap<u64, u64> = HashMap::new();
    let mut grants = Vec::new();
    for call in &history.calls {
        if let Asked::Join(ticket) = call.asked {
            joined.insert(ticket, call.called);
        }
        if let Told::Lease(id) = call.told {
            let called = match call.asked {
                Asked::Collect(ticket) => joined[&ticket],
                _ => call.called,
            };
            grants.push((called, call.back, id));
        }
    }
    let mut ids = HashSet::new();
    if let Some((.., twice)) = grants.iter().find(|(.., id)| !ids.insert(*id)) {
        return Err(format!("lease {twice} was granted twice"));
    }
    let mut by_end = grants.clone();
    by_end.sort_unstable_by_key(|&(_, back, _)| back);
    grants.sort_unstable();
    let (mut ended, mut largest) = (by_end.iter().peekable(), 0);
    for (called, _, id) in grants {
        while let Some((.., before)) = ended.next_if(|(_, back, _)| *back < called) {
            largest = largest.max(*before);
        }
        if id < largest {
            return Err(format!("lease {id} was asked for after {largest} was granted"));
        }
    }
    Ok(())
}

/// What a holder was once told is over never comes back.
fn check_views(history: &History) -> Result<(), String> {
    let mut over: HashMap<u64, u64> = HashMap::new();
    for call in &history.calls {
        let (Asked::Look(id) | Asked::Renew(id) | Asked::Release(id)) = call.asked else {
            continue;
        };
        let ended = matches!(call.told, Told::NotHeld | Told::Lost)
            || matches!((call.asked, call.told), (Asked::Release(_), Told::Done));
        if ended {
            let first = over.entry(id).or_insert(call.back);
            *first = call.back.min(*first);
        }
    }
    let lives = |call: &&Call| {
        let (Asked::Look(id) | Asked::Renew(id)) = call.asked else { return false };
        let says = matches!(call.told, Told::Held | Told::Done);
        says && over.get(&id).is_some_and(|end| call.called > *end)
    };
    match history.calls.iter().find(lives) {
        Some(call) => Err(format!("it was over before: {call:?}")),
        None => Ok(()),
    }
}

/// Which of the certain events have happened.
type Happened = Vec<u64>;

fn has(happened: &Happened, event: usize) -> bool {
    happened[event / 64] >> (event % 64) & 1 == 1
}

struct Search {
    events: Events,
    /// For each certain event: the earliest beginning from it on.
    begins: Vec<u64>,
    tried: HashSet<(Happened, State)>,
}

/// A place in the search: what has happened, and what it may lead to, the last to be tried first.
struct Place {
    happened: Happened,
    state: State,
    /// It is at least so late, by what has changed anything.
    time: u64,
    next: Vec<Next>,
}

struct Next {
    state: State,
    time: u64,
    /// Which of the certain events it is, if it is one.
    event: Option<usize>,
}

impl Search {
    /// What must have happened soonest comes first.
    fn new(mut events: Events) -> Search {
        events.certain.sort_by_key(|event| (event.to, event.from));
        let mut begins: Vec<u64> = events.certain.iter().map(|event| event.from).collect();
        for at in (1..begins.len()).rev() {
            begins[at - 1] = begins[at - 1].min(begins[at]);
        }
        Search { events, begins, tried: HashSet::new() }
    }

    fn run(mut self) -> Result<(), String> {
        let words = self.events.certain.len() / 64 + 1;
        let mut path = vec![self.place(vec![0; words], State::default(), 0)];
        let mut furthest = (0, vec![0; words], State::default());
        while let Some(place) = path.last_mut() {
            let count: u32 = place.happened.iter().map(|word| word.count_ones()).sum();
            if count as usize == self.events.certain.len() {
                return Ok(());
            }
            if count > furthest.0 {
                furthest = (count, place.happened.clone(), place.state.clone());
            }
            let Some(Next { state, time, event }) = place.next.pop() else {
                path.pop();
                continue;
            };
            let mut happened = place.happened.clone();
            if let Some(event) = event {
                happened[event / 64] |= 1 << (event % 64);
            }
            if self.tried.insert((happened.clone(), state.clone())) {
                path.push(self.place(happened, state, time));
            }
            if self.tried.len() > PATIENCE {
                return Err(format!("given up, after {}", self.describe(&furthest.1, &furthest.2)));
            }
        }
        Err(format!("no order explains it, after {}", self.describe(&furthest.1, &furthest.2)))
    }

    /// What may happen next: whatever was called before the first of the others must have come back.
    fn place(&self, happened: Happened, state: State, time: u64) -> Place {
        let certain = &self.events.certain;
        let first = happened.iter().position(|word| *word != u64::MAX).unwrap_or(0) * 64;
        let mut left = (first..certain.len()).filter(|&event| !has(&happened, event)).peekable();
        let limit = left.peek().map_or(u64::MAX, |&event| certain[event].to);
        let left = left.take_while(|&event| self.begins[event] <= limit);
        let mut next: Vec<Next> = Vec::new();
        for event in left.filter(|&event| certain[event].from <= limit) {
            let (step, later) = (certain[event].step, time.max(certain[event].from));
            let Some(after) = state.after(step, later, &self.events) else { continue };
            if step.only_tells() {
                // Nothing else can come of it: no need to try the others.
                next = vec![Next { state: after, time, event: Some(event) }];
                return Place { happened, state, time, next };
            }
            next.push(Next { state: after, time: later, event: Some(event) });
        }
        for event in self.events.possible.iter().filter(|event| event.from <= limit) {
            let Some(after) = state.after(event.step, time, &self.events) else { continue };
            next.push(Next { state: after, time, event: None });
            // One claim that nobody knows of and that may last for ever is like another.
            if matches!(event.step, Step::Take(claim) if self.events.lasts(claim)) {
                break;
            }
        }
        next.reverse();
        Place { happened, state, time, next }
    }

    /// The furthest that the search came, and what could not happen then.
    fn describe(&self, happened: &Happened, state: &State) -> String {
        let mut text = format!("{state:?} none of");
        let missing = |(at, _): &(usize, &Event)| !has(happened, *at);
        for (_, event) in self.events.certain.iter().enumerate().filter(missing).take(12) {
            text += &format!("\n  {:?} of {:?}", event.step, event.call);
        }
        text
    }
}
