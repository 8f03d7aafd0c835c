//! Names are stored once and found by hash. A name knows the resource and the holder that bear it.

use super::memory::Memory;
use super::types::{Error, MAX_NAME, Part};
use super::{Name, Table};

const PIECE: usize = 32;

/// In every link of the chains of names that have a bucket in common. So no damage to one byte makes a link look like the end of its chain, where a name
/// would be missed and made a second time.
const LINK: u32 = 1 << 31;

/// The 8 bytes of `text` from `at` on, padded with zeros. Reads whole words where it can: names are looked up in every claim.
#[inline(always)]
fn word_at(text: &[u8], at: usize) -> u64 {
    let rest = &text[at.min(text.len())..];
    if let Some(word) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*word);
    }
    let len = rest.len();
    if let (Some(low), Some(high)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
        return u64::from(low) | u64::from(high) << (8 * (len - 4));
    }
    match *rest {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a, b, c, ..] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
    }
}

/// A name as it is looked up: its hash, and its first word, which is all of it for most names.
struct Key<'a> {
    text: &'a [u8],
    first: u64,
    hash: u32,
}

impl<'a> Key<'a> {
    #[inline(always)]
    fn new(name: &'a str) -> Self {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let text = name.as_bytes();
        let first = word_at(text, 0);
        // Both halves of the product: the last letters of a word change only the high bits of the
        // low half, of which few reach the number of the bucket.
        let mix = |hash: u64, word: u64| {
            let product = u128::from(hash.rotate_left(23) ^ word) * u128::from(ODD);
            (product >> 64) as u64 ^ product as u64
        };
        let mut hash = mix((text.len() as u64).wrapping_mul(ODD), first);
        let mut at = 8;
        while at < text.len() {
            hash = mix(hash, word_at(text, at));
            at += 8;
        }
        let hash = (hash >> 32) as u32 ^ hash as u32;
        Key { text, first, hash }
    }
}

pub(super) fn check_name(name: &str) -> Result<(), Error> {
    match name.len() {
        0 => Err(Error::EmptyName),
        n if n > MAX_NAME => Err(Error::NameTooLong),
        _ => Ok(()),
    }
}

/// How many records a name of this length takes.
pub(super) fn pieces(len: usize) -> u32 {
    len.div_ceil(PIECE).max(1) as u32
}

impl<M: Memory> Table<M> {
    #[inline(always)]
    fn bucket(&self, hash: u32) -> &super::cell::Cell32 {
        let buckets = self.memory.buckets();
        &buckets[hash as usize & (buckets.len() - 1)]
    }

    /// The name's record, or 0.
    #[inline(always)]
    pub(super) fn find_name(&self, name: &str) -> u32 {
        let key = Key::new(name);
        let mut link = self.bucket(key.hash).get();
        let mut fuel = self.longest;
        while link != 0 {
            let index = link & !LINK;
            let record = self.name_record(index);
            if record.hash.get() == key.hash && self.is_named(record, &key) {
                return index;
            }
            if !self.check(fuel != 0) || !self.check_untrusted(|| self.is_another(index, &key)) {
                return 0;
            }
            link = record.next.get();
            fuel -= 1;
        }
        0
    }

    /// Is this really another name of the same bucket, and not one that was damaged?
    fn is_another(&self, index: u32, key: &Key<'_>) -> bool {
        let record = self.name_record(index);
        let hash = record.hash.get();
        let same_bucket = std::ptr::eq(self.bucket(hash), self.bucket(key.hash));
        same_bucket
            && match hash == key.hash {
                true => {
                    let text = self.name_text(index);
                    text.as_bytes() != key.text && Key::new(&text).hash == hash
                }
                false => !self.is_named(record, key),
            }
    }

    #[inline(always)]
    fn is_named(&self, record: &Name, key: &Key<'_>) -> bool {
        record.len.get() as usize == key.text.len()
            && record.text[0].get() == key.first
            && (key.text.len() <= 8 || self.rest_is(record, key.text))
    }

    /// Does a name go on like this after its first word?
    fn rest_is(&self, first: &Name, text: &[u8]) -> bool {
        let (mut record, mut cell) = (first, 1);
        for at in (8..text.len()).step_by(8) {
            if cell == record.text.len() {
                record = self.name_record(record.more.get());
                cell = 0;
            }
            if record.text[cell].get() != word_at(text, at) {
                return false;
            }
            cell += 1;
        }
        true
    }

    /// Room for a name of this length?
    pub(super) fn room_for_name(&self, name: &str) -> Result<(), Error> {
        let arena = &self.header().names;
        if self.has_room(arena, self.memory.names().len(), pieces(name.len())) {
            Ok(())
        } else {
            Err(Error::Full(Part::Names))
        }
    }

    fn take_name_record(&self) -> u32 {
        let len = self.memory.names().len();
        self.take(&self.header().names, len, |t, i| &t.name_record(i).next)
    }

    /// Stores a name that is not there yet. There is room.
    pub(super) fn store_name(&self, name: &str) -> u32 {
        let text = name.as_bytes();
        let first = self.take_name_record();
        let mut index = first;
        for at in (0..text.len()).step_by(PIECE) {
            if at > 0 {
                let more = self.take_name_record();
                self.set(&self.name_record(index).more, more);
                index = more;
            }
            let record = self.name_record(index);
            for (i, cell) in record.text.iter().enumerate() {
                self.set(cell, word_at(text, at + 8 * i));
            }
            self.set(&record.more, 0);
        }
        let hash = Key::new(name).hash;
        let record = self.name_record(first);
        let bucket = self.bucket(hash);
        self.set(&record.hash, hash);
        self.set(&record.len, text.len() as u32);
        self.set(&record.next, bucket.get());
        self.set(bucket, first | LINK);
        first
    }

    /// Forgets a name that nothing bears any more.
    pub(super) fn drop_name_if_unused(&self, index: u32) {
        let record = self.name_record(index);
        if record.resource.get() != 0 || record.holder.get() != 0 || record.revokers.get() != 0 {
            return;
        }
        let bucket = self.bucket(record.hash.get());
        if bucket.get() == index | LINK {
            self.set(bucket, record.next.get());
        } else {
            let before = self
                .walk(bucket.get() & !LINK, |t, i| t.name_record(i).next.get() & !LINK)
                .find(|&i| self.name_record(i).next.get() == index | LINK);
            match before {
                Some(before) => self.set(&self.name_record(before).next, record.next.get()),
                None => self.mark_corrupt(),
            }
        }
        for piece in self.walk(index, |t, i| t.name_record(i).more.get()) {
            self.give(&self.header().names, piece, |t, i| &t.name_record(i).next);
        }
    }

    /// The name as text.
    pub(super) fn name_text(&self, index: u32) -> String {
        let len = (self.name_record(index).len.get() as usize).min(MAX_NAME);
        let mut bytes = Vec::with_capacity(len + PIECE);
        let mut piece: &Name = self.name_record(index);
        while bytes.len() < len {
            for cell in &piece.text {
                bytes.extend_from_slice(&cell.get().to_le_bytes());
            }
            piece = self.name_record(piece.more.get());
        }
        bytes.truncate(len);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The holder's record, or 0.
    #[inline(always)]
    pub(super) fn find_holder(&self, name: &str) -> u32 {
        match self.find_name(name) {
            0 => 0,
            found => self.name_record(found).holder.get(),
        }
    }

    /// The holder of this name, made if need be. It has no reference yet: `release_holder` drops it again.
    #[inline(always)]
    pub(super) fn intern_holder(&self, name: &str) -> Result<u32, Error> {
        let mut named = self.find_name(name);
        if named != 0 {
            let holder = self.name_record(named).holder.get();
            if holder != 0 {
                self.check_untrusted(|| self.holder_record(holder).name.get() == named);
                return Ok(holder);
            }
        }
        let len = self.memory.holders().len();
        if !self.has_room(&self.header().holders, len, 1) {
            return Err(Error::Full(Part::Holders));
        }
        if named == 0 {
            self.room_for_name(name)?;
            named = self.store_name(name);
        }
        let holder = self.take(&self.header().holders, len, |t, i| &t.holder_record(i).leases);
        let record = self.holder_record(holder);
        self.set(&record.name, named);
        self.set(&record.credit, 0);
        self.set(&self.name_record(named).holder, holder);
        Ok(holder)
    }

    /// Would [`Self::intern_holder`] succeed?
    pub(super) fn has_room_for_holder(&self, name: &str) -> bool {
        let named = self.find_name(name);
        let is_known = named != 0 && self.name_record(named).holder.get() != 0;
        is_known
            || self.has_room(&self.header().holders, self.memory.holders().len(), 1)
                && (named != 0 || self.room_for_name(name).is_ok())
    }

    /// One reference less; a holder nobody refers to is forgotten.
    #[inline(always)]
    pub(super) fn release_holder(&self, holder: u32) {
        let record = self.holder_record(holder);
        let refs = record.refs.get().wrapping_sub(1);
        self.set(&record.refs, refs);
        if refs == 0 {
            self.drop_holder_if_unused(holder);
        }
    }

    pub(super) fn drop_holder_if_unused(&self, holder: u32) {
        let record = self.holder_record(holder);
        let unused = || record.leases.get() == 0 && record.wants.get() == 0;
        if record.refs.get() == 0 && self.check_untrusted(unused) {
            let named = record.name.get();
            self.set(&self.name_record(named).holder, 0);
            self.give(&self.header().holders, holder, |t, i| &t.holder_record(i).leases);
            self.drop_name_if_unused(named);
        }
    }

    pub(super) fn last_name_record(&self) -> u32 {
        self.last_used(&self.header().names, self.memory.names().len())
    }

    pub(super) fn last_holder_record(&self) -> u32 {
        self.last_used(&self.header().holders, self.memory.holders().len())
    }

    pub(super) fn holder_name(&self, holder: u32) -> String {
        self.name_text(self.holder_record(holder).name.get())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::memory::{Arrays, new_table};

    /// How many names are looked at to find this one.
    fn probes(table: &Table<Arrays>, name: &str) -> usize {
        let found = table.find_name(name);
        assert_ne!(found, 0, "{name}");
        let first = table.bucket(Key::new(name).hash).get() & !LINK;
        let chain = table.walk(first, |t, i| t.name_record(i).next.get() & !LINK);
        chain.take_while(|&index| index != found).count() + 1
    }

    /// Numbered names, as programs give them: they differ in one or two letters, at any place.
    #[test]
    fn numbered_names_are_found_at_once() {
        let patterns = ["#", "gpu#", "job-#", "train#", "task-#", "worker#", "claim-#", "holder-#"];
        let long =
            ["resource#", "node#-gpu0", "host-17/gpu-#", "a-name-of-two-records-of-32-bytes-#"];
        for pattern in patterns.into_iter().chain(long) {
            // Names spread at random need 1.00 and 1.08 probes in 131,072 buckets.
            for (count, most) in [(100, 1.05), (20_000, 1.1)] {
                let table = new_table(Settings::default());
                let names = || (0..count).map(|n: u32| pattern.replace('#', &n.to_string()));
                for name in names() {
                    table.declare(0, &name, 1, 0).unwrap();
                }
                let sum: usize = names().map(|name| probes(&table, &name)).sum();
                let mean = sum as f64 / f64::from(count);
                assert!(mean < most, "{pattern}, {count} of them: {mean} probes");
            }
        }
    }

    #[test]
    fn words_of_every_length() {
        let text: Vec<u8> = (1..=40).collect();
        for len in 0..=text.len() {
            for at in (0..=40).step_by(8) {
                let mut padded = [0; 8];
                for (i, byte) in padded.iter_mut().enumerate() {
                    *byte = if at + i < len { text[at + i] } else { 0 };
                }
                assert_eq!(word_at(&text[..len], at), u64::from_le_bytes(padded), "{len} {at}");
            }
        }
    }
}
