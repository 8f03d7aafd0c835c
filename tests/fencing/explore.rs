//! Every state that can be reached, breadth first: so the first that breaks a promise is reached by a shortest way.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::hash::Hash;

/// What can happen.
pub trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Step: Clone + Debug;
    fn first(&self) -> Self::State;
    /// Every step that can be made from here, and where it leads.
    fn steps(&self, from: &Self::State, to: &mut Vec<(Self::Step, Self::State)>);
}

/// All that can be reached.
pub struct Explored<S, A> {
    states: Vec<S>,
    /// Which state each was reached from first, and by which step.
    from: Vec<Option<(usize, A)>>,
    steps: Vec<(usize, usize)>,
    wrong: Option<usize>,
}

/// Goes everywhere, or up to the first state that is wrong. More states than the limit are a failure: not to have seen all would prove nothing.
pub fn explore<M: Model>(
    model: &M,
    limit: usize,
    wrong: impl Fn(&M::State) -> bool,
) -> Explored<M::State, M::Step> {
    let first = model.first();
    let mut known = HashMap::from([(first.clone(), 0)]);
    let mut all =
        Explored { states: vec![first], from: vec![None], steps: Vec::new(), wrong: None };
    let mut found = Vec::new();
    let mut at = 0;
    while at < all.states.len() {
        model.steps(&all.states[at], &mut found);
        for (step, state) in found.drain(..) {
            let new = all.states.len();
            let index = *known.entry(state.clone()).or_insert(new);
            if index == new {
                assert!(new < limit, "more than {limit} states");
                let is_wrong = wrong(&state);
                all.states.push(state);
                all.from.push(Some((at, step)));
                if is_wrong {
                    all.wrong = Some(new);
                    return all;
                }
            }
            all.steps.push((at, index));
        }
        at += 1;
    }
    all
}

impl<S: Debug, A: Clone + Debug> Explored<S, A> {
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    pub fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// The shortest way to a state that is wrong, if there is one.
    pub fn way_to_wrong(&self) -> Option<Vec<A>> {
        let mut at = self.wrong?;
        let mut way = Vec::new();
        while let Some((before, step)) = &self.from[at] {
            way.push(step.clone());
            at = *before;
        }
        way.reverse();
        Some(way)
    }

    /// A state from which no way leads to one in which this is so.
    pub fn stuck(&self, good: impl Fn(&S) -> bool) -> Option<&S> {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.states.len()];
        for (from, to) in &self.steps {
            before[*to].push(*from as u32);
        }
        let mut saved: Vec<bool> = self.states.iter().map(good).collect();
        let mut left: Vec<usize> = (0..saved.len()).filter(|index| saved[*index]).collect();
        while let Some(index) = left.pop() {
            for from in &before[index] {
                if !std::mem::replace(&mut saved[*from as usize], true) {
                    left.push(*from as usize);
                }
            }
        }
        saved.iter().position(|saved| !saved).map(|index| &self.states[index])
    }
}

/// A way, step by step.
pub fn told<A: Debug>(way: &[A]) -> String {
    let mut text = String::new();
    for (number, step) in way.iter().enumerate() {
        let _ = writeln!(text, "  {:>2}. {step:?}", number + 1);
    }
    text
}
