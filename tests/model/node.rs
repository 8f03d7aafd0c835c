//! Machines: several of one of them, and what goes with one that is gone.

use ternlease::table::{Health, Reason, ResourceId};

use super::line::Loads;
use super::{Ask, Model};

impl Model {
    pub fn node_of(&self, name: &str) -> Option<ResourceId> {
        self.resource_itself(name).traits.node
    }

    /// The names of one node each, the nodes in the order of their first names.
    pub fn by_node(&self, names: &[String]) -> Vec<Vec<String>> {
        let mut nodes: Vec<Vec<String>> = Vec::new();
        for name in names {
            let same = |node: &&mut Vec<String>| self.node_of(&node[0]) == self.node_of(name);
            match nodes.iter_mut().find(same) {
                Some(node) => node.push(name.clone()),
                None => nodes.push(vec![name.clone()]),
            }
        }
        nodes
    }

    /// Do these suffice?
    pub fn enough(&self, names: &[String], ask: &Ask) -> bool {
        let most = match ask.together {
            false => names.len(),
            true => self.by_node(names).iter().map(Vec::len).max().unwrap_or(0),
        };
        most >= ask.count as usize
    }

    /// The claim with only those candidates that can ever serve it.
    pub fn as_it_counts(&self, ask: &Ask) -> Ask {
        let mut counting = ask.clone();
        if ask.together {
            let empty = Loads::new();
            let able = |name: &&String| self.fits_health_aside(&empty, name, ask.take);
            let serves =
                |node: &Vec<String>| node.iter().filter(able).count() >= ask.count as usize;
            let mut nodes = self.by_node(&ask.candidates);
            nodes.retain(serves);
            counting.candidates.retain(|name| nodes.iter().any(|node| node.contains(name)));
        }
        counting
    }

    /// Of nodes of which enough fit the one of which the fewest do.
    pub fn tightest_node(&self, fitting: &[String], count: usize) -> Option<Vec<String>> {
        let mut nodes = self.by_node(fitting);
        nodes.retain(|node| node.len() >= count);
        nodes.into_iter().min_by_key(Vec::len)
    }

    /// A resource has no lease any more: if it stands for a machine, nobody is there.
    pub fn note_if_lost(&mut self, name: &str) {
        let Some(id) = self.ids.get(name).copied() else { return };
        if self.declared.values().any(|resource| resource.traits.node == Some(id)) {
            self.lost.insert(id);
        }
    }

    /// What is in machines where nobody is any more has failed, and leases on it are revoked.
    pub fn lose_nodes(&mut self) {
        while let Some(node) = self.lost.pop_first() {
            self.note("node lost");
            let mut names: Vec<(ResourceId, String)> = Vec::new();
            for (name, resource) in &self.declared {
                if resource.traits.node == Some(node) {
                    names.push((self.ids[name], name.clone()));
                }
            }
            names.sort();
            for (_, name) in &names {
                self.change(self.now, name, None, |resource| resource.seen = Health::Failed);
            }
            for (_, name) in &names {
                let youngest = |model: &Model| {
                    let on_it = model.held.values().filter(|lease| lease.takes_of(name));
                    on_it.map(|lease| lease.id).max()
                };
                while let Some(id) = youngest(self) {
                    // One whose end has come ends by its own rule, as readers have seen it.
                    if self.held[&id].end() <= self.now {
                        self.end_by_time(id);
                        continue;
                    }
                    self.note("revoked with its node");
                    self.take_away(id, Reason::NodeDrain, None, 0, None);
                }
            }
        }
    }
}
