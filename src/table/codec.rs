//! Commands and replies as bytes.
//!
//! A message is a version byte, a tag byte and the fields in their order. Numbers are groups of
//! seven bits, the lowest first, with no empty last group; signed numbers alternate (0, -1, 1, -2).
//! A list or a string begins with its length. So every value has one encoding: what
//! [`AnyCommand::decode`] accepts, [`AnyCommand::encode`] writes again byte for byte.
//!
//! Decoding trusts nothing. It returns an error for bytes that no value has, allocates at most a
//! fixed multiple of the bytes that are there, and never panics. Ids, amounts and times may have
//! any value, because the table checks them anyway.
//!
//! A name that is too long is cut, but not so far that the table accepts it. So the encoded command
//! gets the same reply as the original, and a string that is decoded has a limit.
//!
//! Tags and the order of fields are append-only. Another meaning needs another [`VERSION`].

use std::fmt;
use std::ops::Deref;

use super::command::*;
use super::memory::Memory;
use super::types::*;
use super::{Issuer, Picks, Placed, Reaped, Reason, Table};

/// The first byte of each message.
pub const VERSION: u8 = 1;

/// The longest string in a message, in bytes: any that is longer than [`MAX_NAME`] can be cut to a
/// length between the two.
pub const MAX_TEXT: usize = MAX_NAME + 4;

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// A value ends beyond the bytes.
    Truncated,
    /// There are bytes behind the message.
    TrailingBytes,
    /// The first byte is not [`VERSION`].
    UnknownVersion(u8),
    /// No command, reply or variant has this tag.
    UnknownTag(u8),
    /// A number is too large for its field, or has an empty last group.
    InvalidNumber,
    /// A string is not UTF-8 or is longer than [`MAX_TEXT`].
    InvalidText,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Truncated => f.write_str("the message is truncated"),
            DecodeError::TrailingBytes => f.write_str("bytes follow the message"),
            DecodeError::UnknownVersion(version) => {
                write!(f, "message version {version} is unknown")
            }
            DecodeError::UnknownTag(tag) => write!(f, "tag {tag} is unknown"),
            DecodeError::InvalidNumber => f.write_str("a number is out of range or not minimal"),
            DecodeError::InvalidText => f.write_str("a string is too long or not UTF-8"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Can be a part of a message.
pub trait Encode {
    /// Appends the encoding.
    fn put(&self, out: &mut Vec<u8>);
}

/// Can be read from a message.
pub trait Decode: Sized {
    /// Reads a value from the beginning of the bytes, and leaves those behind it.
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError>;
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, DecodeError> {
    let (&byte, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
    *bytes = rest;
    Ok(byte)
}

/// The version and the tag of a message.
fn take_head(bytes: &mut &[u8]) -> Result<u8, DecodeError> {
    match take_byte(bytes)? {
        VERSION => take_byte(bytes),
        version => Err(DecodeError::UnknownVersion(version)),
    }
}

/// A message is one value and nothing else.
fn check_end<T>(value: T, bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.is_empty() { Ok(value) } else { Err(DecodeError::TrailingBytes) }
}

impl Encode for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
}

impl Decode for u64 {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = take_byte(bytes)?;
            let group = u64::from(byte & 0x7f);
            if group << shift >> shift != group || byte == 0 && shift != 0 {
                return Err(DecodeError::InvalidNumber);
            }
            value |= group << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::InvalidNumber)
    }
}

impl Encode for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        ((self << 1 ^ self >> 63) as u64).put(out);
    }
}

impl Decode for i64 {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let number = u64::take(bytes)?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

/// Numbers that are written as wider ones.
macro_rules! numbers {
    ($($narrow:ty as $wide:ty),*) => {$(
        impl Encode for $narrow {
            fn put(&self, out: &mut Vec<u8>) {
                <$wide>::from(*self).put(out);
            }
        }

        impl Decode for $narrow {
            fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
                <$wide>::take(bytes)?.try_into().map_err(|_| DecodeError::InvalidNumber)
            }
        }
    )*};
}

numbers!(u16 as u64, u32 as u64, i16 as i64, i32 as i64);

impl Encode for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Decode for bool {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        match take_byte(bytes)? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(DecodeError::UnknownTag(tag)),
        }
    }
}

impl Encode for str {
    fn put(&self, out: &mut Vec<u8>) {
        let text = &self.as_bytes()[..self.floor_char_boundary(MAX_TEXT)];
        (text.len() as u64).put(out);
        out.extend_from_slice(text);
    }
}

impl Encode for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_str().put(out);
    }
}

impl Decode for String {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let len = u64::take(bytes)?;
        if len > MAX_TEXT as u64 {
            return Err(DecodeError::InvalidText);
        }
        let (text, rest) = bytes.split_at_checked(len as usize).ok_or(DecodeError::Truncated)?;
        *bytes = rest;
        str::from_utf8(text).map(str::to_owned).map_err(|_| DecodeError::InvalidText)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}

impl<T: Encode> Encode for [T] {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|item| item.put(out));
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().put(out);
    }
}

/// Every item has at least one byte.
impl<T: Decode> Decode for Vec<T> {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let len = u64::take(bytes)?;
        if len > bytes.len() as u64 {
            return Err(DecodeError::Truncated);
        }
        (0..len).map(|_| T::take(bytes)).collect()
    }
}

impl<T: Encode> Encode for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }
}

impl<T: Decode> Decode for Option<T> {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        bool::take(bytes)?.then(|| T::take(bytes)).transpose()
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        Ok((A::take(bytes)?, B::take(bytes)?))
    }
}

impl Encode for () {
    fn put(&self, _: &mut Vec<u8>) {}
}

impl Decode for () {
    fn take(_: &mut &[u8]) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl Encode for Reason {
    fn put(&self, out: &mut Vec<u8>) {
        self.code().put(out);
    }
}

impl Decode for Reason {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        Reason::from_code(u16::take(bytes)?).ok_or(DecodeError::InvalidNumber)
    }
}

impl Encode for Picks {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().put(out);
    }
}

impl Decode for Picks {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut picks = Picks::default();
        Vec::take(bytes)?.into_iter().for_each(|resource| picks.push(resource));
        Ok(picks)
    }
}

/// Structs that are their fields, in this order.
macro_rules! structs {
    ($($name:ident $(<$kind:ident>)? { $($field:tt),* })*) => {$(
        impl $(<$kind: Encode>)? Encode for $name $(<$kind>)? {
            fn put(&self, _out: &mut Vec<u8>) {
                $(self.$field.put(_out);)*
            }
        }

        impl $(<$kind: Decode>)? Decode for $name $(<$kind>)? {
            fn take(_bytes: &mut &[u8]) -> Result<Self, DecodeError> {
                Ok($name { $($field: Decode::take(_bytes)?),* })
            }
        }
    )*};
}

structs! {
    LeaseId { 0 }
    TicketId { 0 }
    ResourceId { 0 }
    DeviceState { evidence, leased, cleaning }
    DeviceListing<S> { resource, slots, memory, island, checked, evidence }
    Reaped { leases, tickets }
    Placed<D> { outcome, detail }
    Collected<D> { withdrawn, detail }
    Release { lease }
    Withdraw { ticket }
    Renew { lease, ttl }
    Revoke<S> { lease, reason, by, notice }
    Declare<S> { resource, slots, memory }
    SetNode<S> { resource, node }
    SetHealth<S> { resource, health }
    SetEvidence<S> { resource, before, health, unused }
    Fail<S> { resource, reason, by }
    ClearCheck<S> { resource }
    Want<S> { holder, resource }
    Unwant<S> { holder, resource }
    Transfer { lease, to }
    ReapOwner { owner, reason, limit }
    Advance {}
    SetPrincipal { owner }
    Expire { lease, at }
    RenewLate { lease, ttl, end }
}

impl<T: Encode, D: Deref<Target = [T]>> Encode for ListDevices<D> {
    fn put(&self, out: &mut Vec<u8>) {
        self.devices.put(out);
        self.node.put(out);
    }
}

impl<D: Decode> Decode for ListDevices<D> {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        Ok(ListDevices { devices: D::take(bytes)?, node: Decode::take(bytes)? })
    }
}

impl<D> Encode for Collect<D> {
    fn put(&self, out: &mut Vec<u8>) {
        self.ticket.put(out);
    }
}

impl<D> Decode for Collect<D> {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        Ok(Collect::new(TicketId::take(bytes)?))
    }
}

/// Enums that are a tag and the fields of the variant.
macro_rules! enums {
    ($($name:ident { $($tag:literal = $variant:ident
        $(($($place:ident),*))? $({$($field:ident),*})?,)* })*) => {$(
        impl Encode for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {$(
                    Self::$variant $(($($place),*))? $({$($field),*})? => {
                        out.push($tag);
                        $($($place.put(out);)*)? $($($field.put(out);)*)?
                    }
                )*}
            }
        }

        impl Decode for $name {
            fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
                match take_byte(bytes)? {
                    $($tag => {
                        $($(let $place = Decode::take(bytes)?;)*)?
                        $($(let $field = Decode::take(bytes)?;)*)?
                        Ok(Self::$variant $(($($place),*))? $({$($field),*})?)
                    })*
                    tag => Err(DecodeError::UnknownTag(tag)),
                }
            }
        }
    )*};
}

enums! {
    LeaseState { 0 = Expired, 1 = Held, 2 = Revoked, }
    Health { 0 = Draining, 1 = Healthy, 2 = Failed, }
    Take { 0 = Exclusive, 1 = Shared, 2 = Amount { slots, memory }, }
    Outcome { 0 = Granted(lease), 1 = Waiting(ticket), }
    Revoked { 0 = AtOnce, 1 = Notified(end), 2 = AlreadyNotified(end), }
    Cancelled { 0 = Left, 1 = WasGranted(lease), 2 = WasCollected(lease), 3 = WasRefused(reason), }
    Part {
        0 = Leases, 1 = Holds, 2 = Tickets, 3 = Candidates, 4 = Resources, 5 = Holders, 6 = Names,
        7 = Wants, 8 = Changes,
    }
    Error {
        0 = EmptyName, 1 = NameTooLong, 2 = ZeroTtl, 3 = TimeTooLarge, 4 = TimeBackwards,
        5 = CountIsZero, 6 = CountExceedsCandidates, 7 = DuplicateCandidate, 8 = ZeroAmount,
        9 = UnknownResource, 10 = Impossible, 11 = Busy, 12 = UnknownLease, 13 = UnknownTicket,
        14 = NotHeld(state, reason), 15 = NotARevocation(reason), 16 = ParentNotHeld, 17 = TooDeep,
        18 = InUse, 19 = UnknownWant, 20 = Full(part), 21 = Corrupt, 22 = Refused(reason),
        23 = UnknownIsland, 24 = WrongClock, 25 = System(number), 26 = Closed, 27 = Forked,
        28 = Stuck(process), 29 = UnknownProcess, 30 = NotShared, 31 = OtherPrincipal,
        32 = StoreWentBack { seen, found }, 33 = OtherStore, 34 = Unavailable,
    }
    AnyCandidates { 0 = Named(names), 1 = Declared(resources), }
}

/// [`Candidates`] with its lists.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AnyCandidates {
    Named(Vec<String>),
    Declared(Vec<ResourceId>),
}

/// [`Place`] with its strings and lists.
#[derive(Debug, Clone)]
pub struct PlaceOwned {
    holder: String,
    candidates: AnyCandidates,
    /// The other fields.
    rest: Claim<'static>,
}

/// The fields of a claim behind holder and candidates. The owner is none of them: it is the issuer.
macro_rules! claim_rest {
    ($each:ident) => {
        $each!(
            count,
            together,
            take,
            ttl,
            wait,
            priority,
            spare,
            preemptible,
            preempt,
            grace,
            parent
        )
    };
}

impl PlaceOwned {
    /// Calls a function with the command that borrows from this.
    fn borrow<T>(&self, run: impl FnOnce(&Place<'_, Picks>) -> T) -> T {
        let names: Vec<&str>;
        let candidates = match &self.candidates {
            AnyCandidates::Named(owned) => {
                names = owned.iter().map(String::as_str).collect();
                Candidates::Named(&names)
            }
            AnyCandidates::Declared(resources) => Candidates::Declared(resources),
        };
        run(&Place::new(&Claim { holder: &self.holder, candidates, ..self.rest }))
    }
}

impl<D> Encode for Place<'_, D> {
    fn put(&self, out: &mut Vec<u8>) {
        self.claim.holder.put(out);
        match self.claim.candidates {
            Candidates::Named(names) => (false, names).put(out),
            Candidates::Declared(resources) => (true, resources).put(out),
        }
        macro_rules! put {
            ($($field:ident),*) => { $(self.claim.$field.put(out);)* };
        }
        claim_rest!(put);
    }
}

impl Encode for PlaceOwned {
    fn put(&self, out: &mut Vec<u8>) {
        self.borrow(|place| place.put(out));
    }
}

impl Decode for PlaceOwned {
    fn take(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let (holder, candidates) = Decode::take(bytes)?;
        let mut rest = Claim::one("", &[]);
        macro_rules! take {
            ($($field:ident),*) => { $(rest.$field = Decode::take(bytes)?;)* };
        }
        claim_rest!(take);
        Ok(PlaceOwned { holder, candidates, rest })
    }
}

impl Command for PlaceOwned {
    const TAG: u8 = Place::<'static, Picks>::TAG;
    type Reply = Placed<Picks>;

    fn run<M: Memory>(&self, table: &Table<M>, now: Time) -> Result<Self::Reply, Error> {
        self.borrow(|place| place.run(table, now))
    }
}

/// Appends the message of a command.
pub fn encode<C: Command>(command: &C, out: &mut Vec<u8>) {
    out.extend([VERSION, C::TAG]);
    command.put(out);
}

macro_rules! any_command {
    ($($name:ident($type:ty),)*) => {
        /// Any command, with its strings and lists.
        #[derive(Debug, Clone)]
        #[allow(missing_docs)]
        pub enum AnyCommand { $($name($type),)* }

        impl AnyCommand {
            /// Appends the message.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self { $(AnyCommand::$name(command) => encode(command, out),)* }
            }

            /// Reads a message.
            pub fn decode(mut bytes: &[u8]) -> Result<AnyCommand, DecodeError> {
                let tag = take_head(&mut bytes)?;
                let command = match tag {
                    $(<$type>::TAG => AnyCommand::$name(Decode::take(&mut bytes)?),)*
                    tag => return Err(DecodeError::UnknownTag(tag)),
                };
                check_end(command, bytes)
            }

            /// Runs the command as [`Table::apply`] does.
            pub fn apply<M: Memory>(&self, table: &Table<M>, issuer: Issuer, now: Time) -> AnyReply {
                match self {
                    $(AnyCommand::$name(command) => table.apply(issuer, command, now).into(),)*
                }
            }

            #[cfg(test)]
            const TAGS: &[(u8, &str)] = &[$((<$type>::TAG, stringify!($name)),)*];
        }
    };
}

any_command! {
    Place(PlaceOwned),
    Release(Release),
    Withdraw(Withdraw),
    Collect(Collect<Picks>),
    Renew(Renew),
    Revoke(Revoke<String>),
    Declare(Declare<String>),
    SetNode(SetNode<String>),
    SetHealth(SetHealth<String>),
    SetEvidence(SetEvidence<String>),
    Fail(Fail<String>),
    ClearCheck(ClearCheck<String>),
    ListDevices(ListDevices<Vec<DeviceListing<String>>>),
    Want(Want<String>),
    Unwant(Unwant<String>),
    Transfer(Transfer),
    ReapOwner(ReapOwner),
    Advance(Advance),
    SetPrincipal(SetPrincipal),
    Expire(Expire),
    RenewLate(RenewLate),
}

/// What a command can be answered with.
pub trait Reply: Sized {
    /// `None` if it is the reply to another kind of command.
    fn from_any(reply: AnyReply) -> Option<Self>;
}

macro_rules! any_reply {
    ($($tag:literal = $name:ident($type:ty),)*) => {
        /// The reply to any command.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum AnyReply { $($name($type),)* }

        impl AnyReply {
            /// Appends the message.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self {$(
                    AnyReply::$name(reply) => {
                        out.extend([VERSION, $tag]);
                        reply.put(out);
                    }
                )*}
            }

            /// Reads a message.
            pub fn decode(mut bytes: &[u8]) -> Result<AnyReply, DecodeError> {
                let reply = match take_head(&mut bytes)? {
                    $($tag => AnyReply::$name(Decode::take(&mut bytes)?),)*
                    tag => return Err(DecodeError::UnknownTag(tag)),
                };
                check_end(reply, bytes)
            }

            /// The reply to a command of one kind; `None` if it is to another kind.
            pub fn to<R: Reply>(self) -> Option<Result<R, Error>> {
                match self {
                    AnyReply::Refused(error) => Some(Err(error)),
                    reply => R::from_any(reply).map(Ok),
                }
            }
        }

        $(impl From<$type> for AnyReply {
            fn from(reply: $type) -> Self {
                AnyReply::$name(reply)
            }
        })*
    };
}

any_reply! {
    0 = Refused(Error),
    1 = Done(()),
    2 = Placed(Placed<Picks>),
    3 = Cancelled(Cancelled),
    4 = Collected(Collected<Picks>),
    5 = Time(Time),
    6 = Revoked(Revoked),
    7 = Resource(ResourceId),
    8 = Flag(bool),
    9 = Resources(Vec<ResourceId>),
    10 = Reaped(Reaped),
}

impl<R: Into<AnyReply>> From<Result<R, Error>> for AnyReply {
    fn from(reply: Result<R, Error>) -> Self {
        reply.map_or_else(AnyReply::Refused, Into::into)
    }
}

macro_rules! replies {
    ($($type:ty $(, $kind:ident: $bound:ident)? = $name:ident($reply:ident) => $value:expr;)*) => {$(
        impl $(<$kind: $bound>)? Reply for $type {
            fn from_any(reply: AnyReply) -> Option<Self> {
                match reply {
                    AnyReply::$name($reply) => Some($value),
                    _ => None,
                }
            }
        }
    )*};
}

replies! {
    () = Done(reply) => reply;
    Placed<D>, D: GrantDetail = Placed(reply) =>
        Placed { outcome: reply.outcome, detail: D::from_picks(reply.detail) };
    Cancelled = Cancelled(reply) => reply;
    Collected<D>, D: GrantDetail = Collected(reply) =>
        Collected { withdrawn: reply.withdrawn, detail: D::from_picks(reply.detail) };
    Time = Time(reply) => reply;
    Revoked = Revoked(reply) => reply;
    ResourceId = Resource(reply) => reply;
    bool = Flag(reply) => reply;
    Vec<ResourceId> = Resources(reply) => reply;
    Reaped = Reaped(reply) => reply;
}

#[cfg(test)]
pub(crate) mod tests;
