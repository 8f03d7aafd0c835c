use super::*;
use crate::memory::new_table;
use crate::table::{Actor, Settings};

fn message(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

/// One command of each kind, some in two forms.
pub(crate) fn commands() -> Vec<Vec<u8>> {
    let lease = LeaseId(1 << 40 | 3);
    let (resource, holder) = ("gpu0", "trainer");
    let ids = [ResourceId(1), ResourceId(300)];
    let claim = Claim {
        take: Take::Amount { slots: 2, memory: 40_000 },
        ttl: 1_000_000,
        wait: FOREVER,
        priority: -3,
        preempt: true,
        parent: Some(lease),
        ..Claim::one(holder, &["gpu0", "größe"])
    };
    let by_id = Claim { candidates: Candidates::Declared(&ids), take: Take::Shared, ..claim };
    let before = DeviceState { evidence: Health::Failed, leased: true, cleaning: false };
    let first = DeviceListing {
        resource: "gpu1",
        slots: Some(7),
        memory: 81_920,
        island: Some(("nvlink", 2)),
        checked: true,
        evidence: Some(Health::Healthy),
    };
    let second =
        DeviceListing { resource: "gpu2", slots: None, island: None, evidence: None, ..first };
    macro_rules! messages {
        ($($command:expr,)*) => { vec![$(message(|out| encode(&$command, out)),)*] };
    }
    messages![
        Place::<()>::new(&claim),
        Place::<Picks>::new(&by_id),
        Release { lease },
        Withdraw { ticket: TicketId(9) },
        Collect::<Picks>::new(TicketId(200)),
        Renew { lease, ttl: None },
        Renew { lease, ttl: Some(u64::MAX) },
        Revoke { lease, reason: Reason::Quota, by: "root", notice: 5 },
        Declare { resource, slots: 8, memory: u32::MAX },
        SetNode { resource, node: Some("node1") },
        SetHealth { resource, health: Health::Draining },
        SetEvidence { resource, before, health: Health::Healthy, unused: true },
        Fail { resource, reason: Reason::DeviceFault, by: "" },
        ClearCheck { resource },
        ListDevices { devices: &[first, second][..], node: Some(ResourceId(4)) },
        Want { holder, resource },
        Unwant { holder, resource },
        Transfer { lease, to: 1024 },
        ReapOwner { owner: 7, reason: Reason::HolderDied, limit: 1000 },
        Advance,
        SetPrincipal { owner: 7 },
        Expire { lease, at: 1_000_000 },
        RenewLate { lease, ttl: Some(9), end: 1_000_000 },
    ]
}

pub(crate) fn replies() -> Vec<AnyReply> {
    let mut picks = Picks::default();
    (1..=9).for_each(|id| picks.push(ResourceId(id)));
    let granted = Outcome::Granted(LeaseId(77));
    let mut all = vec![
        AnyReply::Done(()),
        AnyReply::Placed(Placed { outcome: granted, detail: picks.clone() }),
        Placed { outcome: Outcome::Waiting(TicketId(1)), detail: Picks::default() }.into(),
        AnyReply::Cancelled(Cancelled::Left),
        AnyReply::Cancelled(Cancelled::WasGranted(LeaseId(1))),
        AnyReply::Cancelled(Cancelled::WasCollected(LeaseId(2))),
        AnyReply::Cancelled(Cancelled::WasRefused(Reason::ParentEnded)),
        AnyReply::Collected(Collected { withdrawn: true, detail: picks }),
        AnyReply::Time(FOREVER),
        AnyReply::Revoked(Revoked::AtOnce),
        AnyReply::Revoked(Revoked::Notified(10)),
        AnyReply::Revoked(Revoked::AlreadyNotified(11)),
        AnyReply::Resource(ResourceId(u32::MAX)),
        AnyReply::Flag(true),
        AnyReply::Resources(vec![ResourceId(0), ResourceId(128)]),
        AnyReply::Reaped(Reaped { leases: 3, tickets: 4 }),
    ];
    all.extend(errors().into_iter().map(AnyReply::Refused));
    all
}

/// Every error, found by its tag.
fn errors() -> Vec<Error> {
    // Enough bytes for the fields of any variant.
    let error = |tag: u8| [vec![tag, 1, 101], vec![0; 2]].concat();
    let other = |tag: u8| [vec![tag, 245, 3], vec![0; 2]].concat();
    let take = |bytes: Vec<u8>| Error::take(&mut &bytes[..]);
    let known = |tag: &u8| take(error(*tag)) != Err(DecodeError::UnknownTag(*tag));
    let tags = (0..=u8::MAX).take_while(known);
    tags.map(|tag| take(error(tag)).or(take(other(tag))).expect("it has fields")).collect()
}

#[test]
fn commands_round_trip() {
    let mut tags = std::collections::BTreeSet::new();
    for bytes in commands() {
        let command = AnyCommand::decode(&bytes).unwrap();
        assert_eq!(message(|out| command.encode(out)), bytes, "{command:?}");
        tags.insert(bytes[1]);
    }
    assert_eq!(tags.len(), AnyCommand::TAGS.len(), "a kind of command is missing");
}

#[test]
fn replies_round_trip() {
    for reply in replies() {
        let bytes = message(|out| reply.encode(out));
        assert_eq!(AnyReply::decode(&bytes), Ok(reply));
    }
    assert_eq!(errors().last(), Some(&Error::Unavailable));
    assert_eq!(AnyReply::Flag(true).to(), Some(Ok(true)));
    assert_eq!(AnyReply::Flag(true).to::<Time>(), None);
    assert_eq!(AnyReply::Refused(Error::Busy).to::<Time>(), Some(Err(Error::Busy)));
}

/// Append-only: a number is not changed or used again.
#[test]
fn tags_are_stable() {
    let recorded = [
        (1, "Place"),
        (2, "Release"),
        (3, "Withdraw"),
        (4, "Collect"),
        (5, "Renew"),
        (6, "Revoke"),
        (7, "Declare"),
        (8, "SetNode"),
        (9, "SetHealth"),
        (10, "SetEvidence"),
        (11, "Fail"),
        (12, "ClearCheck"),
        (13, "ListDevices"),
        (14, "Want"),
        (15, "Unwant"),
        (16, "Transfer"),
        (17, "ReapOwner"),
        (18, "Advance"),
        (19, "SetPrincipal"),
        (20, "Expire"),
        (21, "RenewLate"),
    ];
    let mut tags = AnyCommand::TAGS.to_vec();
    tags.sort_unstable();
    assert_eq!(tags, recorded);
}

/// The bytes of some messages, so that a change of the format is seen.
#[test]
fn messages_are_stable() {
    let revoke = Revoke { lease: LeaseId(300), reason: Reason::Quota, by: "me", notice: 0 };
    let bytes = message(|out| encode(&revoke, out));
    assert_eq!(bytes, [VERSION, 6, 172, 2, 104, 2, b'm', b'e', 0]);
    let claim = Claim { priority: -1, ..Claim::one("a", &["x"]) };
    let bytes = message(|out| encode(&Place::<()>::new(&claim), out));
    let head = [VERSION, 1, 1, b'a', 0, 1, 1, b'x', 1, 0, 2, 1, 0];
    let forever = [255, 255, 255, 255, 255, 255, 63];
    assert_eq!(bytes, [&head[..], &forever, &[0, 1, 0, 0, 0, 0, 0]].concat());
    let refused = AnyReply::Refused(Error::NotHeld(LeaseState::Revoked, Reason::Quota));
    assert_eq!(message(|out| refused.encode(out)), [VERSION, 0, 14, 2, 104]);
}

#[test]
fn malformed_messages_are_refused() {
    let decode = |bytes: &[u8]| AnyCommand::decode(bytes).map(drop);
    for bytes in commands() {
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), Err(DecodeError::Truncated), "{len} of {bytes:?}");
        }
        assert_eq!(decode(&[&bytes[..], &[0]].concat()), Err(DecodeError::TrailingBytes));
    }
    assert_eq!(decode(&[0, 18]), Err(DecodeError::UnknownVersion(0)));
    assert_eq!(decode(&[VERSION, 0]), Err(DecodeError::UnknownTag(0)));
    assert_eq!(decode(&[VERSION, 22]), Err(DecodeError::UnknownTag(22)));
    // Fields of `Release` and `Transfer`.
    assert_eq!(decode(&[VERSION, 2, 0x80, 0]), Err(DecodeError::InvalidNumber));
    let large = [&[VERSION, 2][..], &[0xff; 9], &[2]].concat();
    assert_eq!(decode(&large), Err(DecodeError::InvalidNumber));
    assert_eq!(decode(&[VERSION, 16, 1, 0x80, 0x80, 4]), Err(DecodeError::InvalidNumber));
    // The option of `Renew`, the health of `SetHealth`, the reason of `ReapOwner`.
    assert_eq!(decode(&[VERSION, 5, 1, 2]), Err(DecodeError::UnknownTag(2)));
    assert_eq!(decode(&[VERSION, 9, 1, b'x', 3]), Err(DecodeError::UnknownTag(3)));
    assert_eq!(decode(&[VERSION, 17, 1, 1, 1]), Err(DecodeError::InvalidNumber));
    // The string of `ClearCheck`.
    assert_eq!(decode(&[VERSION, 12, 1, 0xff]), Err(DecodeError::InvalidText));
    let long = [&[VERSION, 12, 0x84, 2][..], &[b'x'; MAX_TEXT + 1]].concat();
    assert_eq!(decode(&long), Err(DecodeError::InvalidText));
    // A list that says that it has more devices than there are bytes.
    let list = [VERSION, 13, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert_eq!(decode(&list), Err(DecodeError::Truncated));
    assert_eq!(AnyReply::decode(&[VERSION, 11]), Err(DecodeError::UnknownTag(11)));
    assert_eq!(AnyReply::decode(&[VERSION, 1, 0]), Err(DecodeError::TrailingBytes));
}

/// A name that is too long gets the same reply when it comes as bytes.
#[test]
fn long_names_are_cut_and_stay_too_long() {
    let table = new_table(Settings::default());
    let issuer = Issuer::new(1, Actor { principal: 2, process: 3 });
    for len in [MAX_NAME, MAX_NAME + 1, MAX_TEXT, MAX_TEXT + 1, 10_000] {
        let resource = "ü".repeat(len / 2) + &"x".repeat(len % 2);
        let declare = Declare { resource: &resource, slots: 1, memory: 0 };
        let bytes = message(|out| encode(&declare, out));
        assert!(bytes.len() <= MAX_TEXT + 6);
        let reply = AnyCommand::decode(&bytes).unwrap().apply(&table, issuer, 0);
        assert_eq!(reply.to(), Some(table.apply(issuer, &declare, 0)), "{len}");
    }
}

#[test]
fn decoded_commands_are_applied_for_their_issuer() {
    let table = new_table(Settings::default());
    let actor = Actor { principal: 1000, process: 42 };
    let claim = Claim::one("a", &["x"]);
    let bytes = message(|out| encode(&Place::<()>::new(&claim), out));
    let reply = AnyCommand::decode(&bytes).unwrap().apply(&table, Issuer::new(5, actor), 0);
    let Some(Ok(Placed { outcome: Outcome::Granted(lease), detail })) = reply.to::<Placed<Picks>>()
    else {
        panic!("it is free")
    };
    assert_eq!(detail.as_slice().len(), 1);
    assert_eq!(table.lease(lease).unwrap().owner, 5);
    let mut events = Vec::new();
    table.events_since(0, &mut events);
    assert_eq!(events[0].actor, Some(actor));
}
