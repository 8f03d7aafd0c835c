//! A log of encoded commands, as bytes: a byte for the settings of the table, then entries. An entry
//! is how much later it is, who issues it, the length of a message in two bytes, and the message.

use ternlease::memory::new_table;
use ternlease::table::codec::{AnyCommand, AnyReply};
use ternlease::table::{Actor, DeadlockPolicy, FOREVER, Issuer, Limits, Settings, Time};

/// A run has no more entries.
const ENTRIES_MAX: usize = 64;

fn settings(kind: u8) -> Settings {
    let limits = match kind & 1 {
        0 => Limits { leases: 16, tickets: 16, resources: 16, history: 16 },
        _ => Limits { leases: 2, tickets: 3, resources: 3, history: 1 },
    };
    let deadlocks = [DeadlockPolicy::Report, DeadlockPolicy::Break][usize::from(kind >> 1 & 1)];
    let (implied_wants, replicated) = (kind & 4 != 0, kind & 8 != 0);
    Settings { limits, deadlocks, implied_wants, replicated, ..Settings::default() }
}

/// Up to 15 units of time; for large bytes as many units that are much longer.
fn delay(byte: u8) -> Time {
    Time::from(byte & 15) << ((byte >> 4) * 3)
}

fn issuer(byte: u8) -> Issuer {
    let owner = u16::from(byte & 7);
    Issuer::new(owner, Actor { principal: (byte >> 3).into(), process: 1 + u32::from(owner) })
}

fn next_entry<'a>(bytes: &mut &'a [u8]) -> Option<(Time, Issuer, &'a [u8])> {
    let (&[later, by, low, high], rest) = bytes.split_first_chunk()?;
    let len = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
    let (message, rest) = rest.split_at(len);
    *bytes = rest;
    Some((delay(later), issuer(by), message))
}

/// Applies what is a command, and returns the replies. Panics if something does not hold.
pub fn play(bytes: &[u8]) -> Vec<AnyReply> {
    let Some((&kind, mut rest)) = bytes.split_first() else { return Vec::new() };
    let table = new_table(settings(kind));
    let mut replies = Vec::new();
    let mut now = 0;
    for _ in 0..ENTRIES_MAX {
        let Some((later, issuer, message)) = next_entry(&mut rest) else { break };
        check_reply(message);
        let Ok(command) = AnyCommand::decode(message) else { continue };
        let mut again = Vec::new();
        command.encode(&mut again);
        assert_eq!(again, message, "the encoding is canonical");
        let reply = command.apply(&table, issuer, now + later);
        if now + later < FOREVER {
            now += later;
        }
        again.clear();
        reply.encode(&mut again);
        assert_eq!(AnyReply::decode(&again).as_ref(), Ok(&reply));
        table.take_decided(|_| ());
        assert_eq!(table.verify(), Ok(()), "{command:?}");
        replies.push(reply);
    }
    replies
}

/// What is a reply can be encoded again.
fn check_reply(message: &[u8]) {
    if let Ok(reply) = AnyReply::decode(message) {
        let mut again = Vec::new();
        reply.encode(&mut again);
        assert_eq!(again, message, "the encoding is canonical");
    }
}
