//! What a command changed, as bytes: how the copies of a table learn of it, and a whole copy for those who come later.
//!
//! Numbers are written in groups of seven bits, the lowest first. A difference is a list of cells, each as the distance from the one before, its
//! width in the lowest bit, and its value. A whole copy is a list of words that are not zero, each as the distance and its value. Whatever bytes
//! are read, the answer is a list or nothing: who made them up cannot make this process go astray.

/// A cell has 32 or 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Half,
    Word,
}

/// A cell has another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// In halves of words from the beginning of the table's memory on.
    pub place: u32,
    pub width: Width,
    pub value: u64,
}

/// The places must grow.
pub fn encode(changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(changes.len() * 6);
    let mut last = 0;
    for change in changes {
        let distance = u64::from(change.place - last);
        last = change.place;
        number(&mut bytes, distance << 1 | u64::from(change.width == Width::Word));
        number(&mut bytes, change.value);
    }
    bytes
}

/// `None` if it makes no sense.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    let mut last = 0u32;
    while !bytes.is_empty() {
        let first = read_number(&mut bytes)?;
        let value = read_number(&mut bytes)?;
        let width = if first & 1 == 1 { Width::Word } else { Width::Half };
        let distance = u32::try_from(first >> 1).ok()?;
        // Only the first may be where the count begins: no cell comes twice.
        if distance == 0 && !changes.is_empty() || width == Width::Half && value > u32::MAX.into() {
            return None;
        }
        last = last.checked_add(distance)?;
        changes.push(Change { place: last, width, value });
    }
    Some(changes)
}

/// A whole copy, in pieces of about this many bytes at most.
pub fn encode_words(words: impl Iterator<Item = (u32, u64)>, piece: usize) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let mut last = 0;
    for (place, value) in words {
        if pieces[pieces.len() - 1].len() >= piece {
            pieces.push(Vec::new());
            last = 0;
        }
        let bytes = pieces.last_mut().expect("there is always one");
        number(bytes, u64::from(place - last));
        number(bytes, value);
        last = place;
    }
    pieces
}

/// One piece, as changes of whole words; `None` if it makes no sense.
pub fn decode_words(mut bytes: &[u8]) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    let mut last = 0u32;
    while !bytes.is_empty() {
        last = last.checked_add(u32::try_from(read_number(&mut bytes)?).ok()?)?;
        let value = read_number(&mut bytes)?;
        changes.push(Change { place: last.checked_mul(2)?, width: Width::Word, value });
    }
    Some(changes)
}

fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u64::from(byte & 0x7f);
        if group << shift >> shift != group {
            return None;
        }
        value |= group << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let cell = |place, width, value| Change { place, width, value };
        let changes = [
            cell(0, Width::Half, 0),
            cell(1, Width::Half, u32::MAX.into()),
            cell(2, Width::Word, u64::MAX),
            cell(70_000, Width::Word, 1 << 48),
            cell(u32::MAX, Width::Half, 7),
        ];
        assert_eq!(decode(&encode(&changes)).as_deref(), Some(&changes[..]));
        assert_eq!(decode(&[]), Some(Vec::new()));
    }

    #[test]
    fn a_copy_comes_in_pieces() {
        let words: Vec<(u32, u64)> = (0..1000).map(|n| (n * 3, u64::from(n) << 40 | 1)).collect();
        let pieces = encode_words(words.iter().copied(), 500);
        assert!(pieces.len() > 10 && pieces.iter().all(|piece| piece.len() < 520));
        let read: Vec<Change> = pieces.iter().flat_map(|it| decode_words(it).unwrap()).collect();
        let expected = words.iter().map(|&(place, value)| Change {
            place: place * 2,
            width: Width::Word,
            value,
        });
        assert!(read.into_iter().eq(expected));
    }

    /// Whatever the bytes are, there is an answer, and it is one that can be written again.
    #[test]
    fn any_bytes_have_an_answer() {
        let mut seed = 0x1234_5678_9abc_def1u64;
        for length in (0..24).cycle().take(20_000) {
            let mut next = || {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed as u8
            };
            let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
            if let Some(changes) = decode(&bytes) {
                assert_eq!(decode(&encode(&changes)), Some(changes));
            }
            let _ = decode_words(&bytes);
        }
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 10]), None);
    }
}
