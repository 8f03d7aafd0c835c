//! Two replicas that apply the same bytes.

use ternlease::sim_api::replica::{Applied, Replica, Stop};
use ternlease::sim_api::shape::Shape;
use ternlease::table::TicketState;

use super::values::check_entry;

pub struct Replicas {
    shape: Shape,
    pub first: Replica,
    second: Replica,
    /// They began with a snapshot that no replica has written.
    is_foreign: bool,
    /// A hash in an entry was another one, or a foreign state is corrupt: they apply no further
    /// entry.
    is_stopped: bool,
}

impl Replicas {
    pub fn new(shape: Shape) -> Replicas {
        let new = || Replica::try_new(&shape).expect("there is memory");
        let (first, second) = (new(), new());
        Replicas { shape, first, second, is_foreign: false, is_stopped: false }
    }

    /// Two replicas that begin with a foreign snapshot; `None` if it is refused.
    pub fn load(shape: Shape, bytes: &[u8]) -> Option<Replicas> {
        let load = || Replica::from_snapshot(&shape, bytes).expect("there is memory");
        let (first, second) = (load(), load());
        assert_eq!(first.as_ref().err(), second.as_ref().err());
        let (first, second) = (first.ok()?, second.ok()?);
        assert_eq!(first.encode_snapshot(), bytes, "the encoding is canonical");
        assert_eq!(first.table.verify(), Ok(()));
        Some(Replicas { shape, first, second, is_foreign: true, is_stopped: false })
    }

    pub fn apply(&mut self, bytes: &[u8]) {
        check_entry(bytes);
        if self.is_stopped {
            return;
        }
        let revision = self.first.revision.saturating_add(1);
        let first = self.first.apply(revision, bytes);
        let second = self.second.apply(revision, bytes);
        match (first, second) {
            (Ok(first), Ok(second)) => compare_applied(&first, &second),
            // The second one may have begun with a snapshot, which has no earlier hashes.
            (Err(Stop::Diverged | Stop::OtherLog), _) => self.is_stopped = true,
            (Err(Stop::Corrupt), Err(Stop::Corrupt)) if self.is_foreign => self.is_stopped = true,
            (Err(Stop::OtherRules), Err(Stop::OtherRules)) => {}
            (first, second) => panic!("{first:?} and {second:?}"),
        }
    }

    pub fn compare(&mut self) {
        if self.is_stopped {
            return;
        }
        assert_eq!(self.first.hash(), self.second.hash());
        assert_eq!(self.first.encode_snapshot(), self.second.encode_snapshot());
        self.read_all();
        let verified = self.first.table.verify();
        // A foreign snapshot that passes the check may lead to a state that does not. The table
        // that finds this out, perhaps by a query, refuses all commands from then on.
        match self.is_foreign {
            true => self.is_stopped = verified.is_err(),
            false => assert_eq!(verified, Ok(())),
        }
    }

    /// The second replica continues from a snapshot of the first one.
    pub fn rebuild(&mut self) {
        let bytes = self.first.encode_snapshot();
        match Replica::from_snapshot(&self.shape, &bytes).expect("there is memory") {
            Ok(replica) => {
                assert_eq!(replica.encode_snapshot(), bytes);
                self.second = replica;
            }
            Err(error) => assert!(self.is_foreign, "{error:?}"),
        }
        self.compare();
    }

    /// Runs the queries. In a foreign state, their answers may be any.
    fn read_all(&self) {
        let table = &self.first.table;
        for lease in table.leases() {
            let _ = (table.lease(lease.id), table.state(lease.id, table.now()));
        }
        for ticket in table.tickets() {
            if let Some(TicketState::Granted(lease)) = table.ticket(ticket.id) {
                let _ = table.lease(lease);
            }
        }
        let mut events = Vec::new();
        table.events_since(0, &mut events);
        let limit = self.shape.settings.limits.sizes().events;
        assert!(events.len() <= limit, "the ring has no more than {limit}");
        let _ = table.resources();
        for session in self.first.sessions() {
            let owner = self.first.owner_of(session).expect("it has joined");
            assert_eq!(self.first.session_of(owner), Some(session));
            assert!(self.first.last_of(session).is_some());
        }
    }
}

fn compare_applied(first: &Applied, second: &Applied) {
    assert_eq!(first.author, second.author);
    assert_eq!(first.ended, second.ended);
    assert_eq!(first.effects, second.effects);
    assert_eq!(first.moved, second.moved);
}
