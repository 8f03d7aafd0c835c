//! How the keys of one table are called.
//!
//! ```text
//! shape         how much fits into the table
//! head          the number of the last change: whoever makes the next one must find it as it left it
//! base          the number of the change up to which there is a whole copy
//! b/NUMBER/PART a whole copy, in pieces
//! d/NUMBER      a change, as a difference
//! s/OWNER       a process that lives, as long as its session does
//! s/0000        touched when all processes have to look at the table
//! w/OWNER       touched when somebody has changed what is this process's
//! m/OWNER       the mark of the last change that this process has made
//! n/NODE        the devices of a machine, as it has published them
//! ```

use super::kv::Range;

/// The keys of one table all begin with its name.
#[derive(Debug, Clone)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    pub fn new(name: &str) -> Self {
        Keys { prefix: format!("/ternlease/{name}/") }
    }

    pub fn all(&self) -> Range {
        Range { from: self.prefix.clone(), to: after(&self.prefix) }
    }

    pub fn shape(&self) -> String {
        format!("{}shape", self.prefix)
    }

    pub fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    pub fn base(&self) -> String {
        format!("{}base", self.prefix)
    }

    pub fn piece(&self, number: u64, part: usize) -> String {
        format!("{}b/{number:016x}/{part:04x}", self.prefix)
    }

    /// The copies that were made of earlier changes than this one.
    pub fn pieces_before(&self, number: u64) -> Range {
        Range { from: format!("{}b/", self.prefix), to: format!("{}b/{number:016x}/", self.prefix) }
    }

    pub fn change(&self, number: u64) -> String {
        format!("{}d/{number:016x}", self.prefix)
    }

    pub fn changes_from(&self, number: u64) -> Range {
        Range { from: self.change(number), to: format!("{}d0", self.prefix) }
    }

    /// The first `count` of [`Self::changes_from`].
    pub fn some_changes_from(&self, number: u64, count: u64) -> Range {
        Range { from: self.change(number), to: self.change(number.saturating_add(count)) }
    }

    pub fn changes_up_to(&self, number: u64) -> Range {
        Range { from: format!("{}d/", self.prefix), to: self.change(number + 1) }
    }

    pub fn owner(&self, owner: u16) -> String {
        format!("{}s/{owner:04x}", self.prefix)
    }

    pub fn owners(&self) -> Range {
        Range { from: format!("{}s/", self.prefix), to: format!("{}s0", self.prefix) }
    }

    /// Which process a key is of.
    pub fn owner_of(&self, key: &str) -> Option<u16> {
        let owner = u16::from_str_radix(key.strip_prefix(&self.prefix)?.strip_prefix("s/")?, 16);
        owner.ok().filter(|owner| *owner != 0)
    }

    /// What a process hears that has this number; all do, if it is 0: it is among the keys of those who live, of which all hear.
    pub fn bell(&self, owner: u16) -> String {
        match owner {
            0 => self.owner(0),
            _ => format!("{}w/{owner:04x}", self.prefix),
        }
    }

    pub fn mark(&self, owner: u16) -> String {
        format!("{}m/{owner:04x}", self.prefix)
    }

    pub fn node(&self, name: &str) -> String {
        format!("{}n/{name}", self.prefix)
    }

    pub fn nodes(&self) -> Range {
        Range { from: format!("{}n/", self.prefix), to: format!("{}n0", self.prefix) }
    }

    /// Which machine a key is of.
    pub fn node_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(&self.prefix)?.strip_prefix("n/")
    }

    /// What a key that is one of a change says: its number.
    pub fn number_of(&self, key: &str) -> Option<u64> {
        let digits = key.strip_prefix(&self.prefix)?.strip_prefix("d/")?;
        u64::from_str_radix(digits, 16).ok()
    }

    /// The number and the part of a piece of a copy.
    pub fn piece_of(&self, key: &str) -> Option<(u64, usize)> {
        let (number, part) = key.strip_prefix(&self.prefix)?.strip_prefix("b/")?.split_once('/')?;
        Some((u64::from_str_radix(number, 16).ok()?, usize::from_str_radix(part, 16).ok()?))
    }
}

/// The first key behind all that begin with this.
fn after(prefix: &str) -> String {
    let mut bytes = prefix.as_bytes().to_vec();
    *bytes.last_mut().expect("a prefix is not empty") += 1;
    String::from_utf8(bytes).expect("a prefix ends with a slash")
}
