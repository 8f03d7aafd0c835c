//! What calls are made with, drawn from bytes.

use crate::choices::Choices;
use crate::memory::Place;

/// So many bytes decide about one call. A fixed number, so that a change of one call leaves the others as they were.
pub const RECORD: usize = 32;

/// What is left of the bytes for one call. Zero is always an ordinary choice.
pub struct Input<'a>(Choices<'a>);

impl<'a> std::ops::Deref for Input<'a> {
    type Target = Choices<'a>;
    fn deref(&self) -> &Choices<'a> {
        &self.0
    }
}

impl std::ops::DerefMut for Input<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input(Choices::new(bytes))
    }

    /// A number of any size.
    pub fn number(&mut self) -> u64 {
        let low = u64::from(self.byte());
        match low {
            0..=199 => low % 20,
            _ => {
                let shift = self.byte() % 64;
                (low << shift).wrapping_sub(u64::from(shift & 1))
            }
        }
    }

    /// A length of time: mostly a short one, sometimes one at the edge of what is allowed.
    pub fn span(&mut self) -> u64 {
        const EDGES: [u64; 8] =
            [0, u64::MAX, u64::MAX - 1, 1 << 48, (1 << 48) - 1, (1 << 48) - 2, 1 << 63, 1 << 32];
        match self.byte() {
            short @ 0..=207 => 1 + u64::from(short % 16),
            edge => EDGES[edge as usize % EDGES.len()],
        }
    }

    /// How many fit into a list of the caller's: none, too few, enough.
    pub fn capacity(&mut self) -> usize {
        self.one_of(&[64, 0, 1, 2, 64, 3, 5, 64])
    }

    /// A text, and whether it can be a name at all.
    pub fn text(&mut self, texts: &Texts) -> Text {
        match self.byte() {
            plain @ 0..=223 => texts.plain(plain as usize),
            odd => texts.odd(odd as usize),
        }
    }
}

/// A text as two arguments.
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const libc::c_char,
    pub len: usize,
    /// Nothing can bear this name.
    pub bad: bool,
}

impl Text {
    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: only asked of texts that are not bad; those lie in `Texts`, which outlives the call.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.len) }
    }
}

/// The texts that calls are made with: few, so that they meet.
pub struct Texts {
    plain: Vec<Place>,
    long: Place,
    broken: Place,
    cut: Place,
    zero: Place,
}

impl Texts {
    pub fn new() -> Self {
        let long = "n".repeat(255);
        let plain = ["a", "b", "c", "gpu0", "gpu1", "gpu2", "ä\u{1f980}", &long];
        Texts {
            plain: plain.iter().map(|text| Place::with(text.as_bytes())).collect(),
            long: Place::with(&[b'n'; 256]),
            broken: Place::with(b"gpu\xff0"),
            cut: Place::with(&"\u{1f980}".as_bytes()[..3]),
            zero: Place::with(b"gpu0\0"),
        }
    }

    fn plain(&self, index: usize) -> Text {
        self.whole(&self.plain[index % self.plain.len()], false)
    }

    fn odd(&self, index: usize) -> Text {
        let null = |len| Text { data: std::ptr::null(), len, bad: true };
        match index % 9 {
            0 => Text { len: 0, ..self.whole(&self.broken, true) },
            1 => null(0),
            2 => null(3),
            3 => self.whole(&self.long, true),
            4 => self.whole(&self.broken, true),
            5 => self.whole(&self.cut, true),
            8 => self.whole(&self.zero, true),
            // Too long to be read at all.
            6 => Text { len: usize::MAX, ..self.whole(&self.cut, true) },
            _ => null(usize::MAX),
        }
    }

    fn whole(&self, place: &Place, bad: bool) -> Text {
        let bytes = place.bytes();
        Text { data: bytes.as_ptr().cast(), len: bytes.len(), bad }
    }
}
