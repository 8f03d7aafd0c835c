//! What the first process says of a table, and all others keep to: how much fits into it, and when its time began.

use crate::rt;
use crate::table::{Limits, Time};

/// Grows whenever the records of a table change their layout: processes exchange them as they are.
const LAYOUT: u32 = 2;

/// What the processes that share a table have agreed on.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub limits: Limits,
    /// When the table's time began, in microseconds since 1970.
    began: u64,
}

impl Shape {
    /// Of a table that is made now.
    pub fn from_now_on(limits: Limits) -> Self {
        Shape { limits, began: since_1970() }
    }

    pub fn encode(&self) -> Vec<u8> {
        let Limits { leases, tickets, resources, history } = self.limits;
        let mut bytes: Vec<u8> =
            [leases, tickets, resources, history].iter().flat_map(|it| it.to_le_bytes()).collect();
        bytes.extend(self.began.to_le_bytes());
        bytes.extend(LAYOUT.to_le_bytes());
        bytes
    }

    pub fn decode(value: &[u8]) -> Option<Shape> {
        let (numbers, rest) = value.split_at_checked(16)?;
        let (began, layout) = rest.split_at_checked(8)?;
        // The first layout had no number.
        if layout != LAYOUT.to_le_bytes() {
            return None;
        }
        let number = |at: usize| Some(u32::from_le_bytes(numbers[at..at + 4].try_into().ok()?));
        let (leases, tickets) = (number(0)?, number(4)?);
        let limits = Limits { leases, tickets, resources: number(8)?, history: number(12)? };
        // No table is larger: a number that is would only ask for memory that nobody has.
        let sensible = |limit: u32| (1..=Limits::MAX).contains(&limit);
        let began = u64::from_le_bytes(began.try_into().ok()?);
        [limits.leases, limits.tickets, limits.resources, limits.history]
            .into_iter()
            .all(sensible)
            .then_some(Shape { limits, began })
    }

    /// The table's time by this machine's calendar. A clock that is set wrong must not stop the table's: it begins late at worst.
    pub fn now(&self) -> Time {
        since_1970().saturating_sub(self.began).max(1)
    }
}

/// In microseconds, by this machine's calendar.
fn since_1970() -> u64 {
    rt::since_1970().as_micros() as u64
}
