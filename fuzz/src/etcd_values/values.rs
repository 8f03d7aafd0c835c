//! One value: it is refused, or it encodes to the same bytes.

use ternlease::sim_api::entry::LogEntry;
use ternlease::sim_api::keys::Keys;
use ternlease::sim_api::shape::Shape;

use super::replicas::Replicas;
use super::steps;

const TABLE: &str = "fuzzed";

pub fn check(shape: u8, bytes: &[u8]) {
    check_shape(bytes);
    check_entry(bytes);
    check_key(&String::from_utf8_lossy(bytes));
    if let Some(mut replicas) = Replicas::load(steps::shape(shape), bytes) {
        replicas.compare();
    }
}

fn check_shape(bytes: &[u8]) {
    if let Ok(shape) = Shape::decode(bytes) {
        assert_eq!(shape.encode(), bytes, "the encoding is canonical");
        assert!(shape.now() > 0);
    }
}

pub fn check_entry(bytes: &[u8]) {
    if let Ok(entry) = LogEntry::decode(bytes) {
        assert_eq!(entry.encode(), bytes, "the encoding is canonical");
    }
}

/// A key that is read in another form than it is written has the same meaning as the written one.
fn check_key(behind: &str) {
    let keys = Keys::new(TABLE);
    let key = format!("/ternlease/{TABLE}/{behind}");
    if let Some((session, number)) = keys.entry_of(&key) {
        let written = keys.entry(session, number);
        assert_eq!(keys.entry_of(&written), Some((session, number)));
    }
    if let Some(session) = keys.session_of(&key) {
        assert_eq!(keys.session_of(&keys.session(session)), Some(session));
    }
    if let Some(session) = keys.hinted(&key) {
        assert_eq!(keys.hinted(&keys.hint(session)), Some(session));
    }
    if let Some(node) = keys.node_of(&key) {
        assert_eq!(keys.node(node), key);
    }
}
