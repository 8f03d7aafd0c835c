//! Memory as a C program lends it to the library, and what became of it.
//!
//! A place ends exactly where its block ends, so that the sanitizer sees every step beyond; before it lie bytes that must stay as they are.

use std::marker::PhantomData;
use std::ptr;

use crate::c::*;
use crate::input::Input;

const GUARD: usize = 16;
const FILL: u8 = 0xa5;

/// A piece of memory.
pub struct Place {
    block: Vec<u8>,
    before: Vec<u8>,
    start: usize,
    null: bool,
}

impl Place {
    /// Something that an earlier use left there.
    pub fn new(len: usize) -> Self {
        Self::shifted(len, 0)
    }

    fn shifted(len: usize, shift: usize) -> Self {
        let start = GUARD + shift;
        let block = vec![FILL; start + len];
        Place { before: block.clone(), block, start, null: false }
    }

    pub fn null() -> Self {
        Place { null: true, ..Place::new(0) }
    }

    pub fn with(bytes: &[u8]) -> Self {
        let mut place = Place::new(bytes.len());
        place.put(bytes);
        place
    }

    /// What is there before the call.
    pub fn put(&mut self, bytes: &[u8]) {
        self.block[self.start..][..bytes.len()].copy_from_slice(bytes);
        self.before.copy_from_slice(&self.block);
    }

    pub fn is_null(&self) -> bool {
        self.null
    }

    pub fn pointer<T>(&mut self) -> *mut T {
        if self.null { ptr::null_mut() } else { self.block[self.start..].as_mut_ptr().cast() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.block[self.start..]
    }

    /// At most the first `written` bytes have changed.
    #[track_caller]
    pub fn check(&self, written: usize) {
        assert!(self.block[..self.start] == self.before[..self.start], "written before its begin");
        let from = self.start + written;
        assert!(self.block[from..] == self.before[from..], "written where it must not be");
    }
}

/// A plain output, such as a `uint64_t *`.
pub struct Out<T> {
    place: Place,
    kind: PhantomData<T>,
}

impl<T: Copy> Out<T> {
    pub fn draw(input: &mut Input) -> Self {
        let place = match input.byte() {
            0..=223 => Place::new(size_of::<T>()),
            224..=239 => Place::shifted(size_of::<T>(), 1),
            240.. => Place::null(),
        };
        Out { place, kind: PhantomData }
    }

    pub fn is_null(&self) -> bool {
        self.place.is_null()
    }

    pub fn pointer(&mut self) -> *mut T {
        self.place.pointer()
    }

    /// The answer, if the call was to give one and somebody wanted it; otherwise nothing was written.
    #[track_caller]
    pub fn answer(&self, given: bool) -> Option<T> {
        if !given || self.is_null() {
            self.place.check(0);
            return None;
        }
        self.place.check(size_of::<T>());
        Some(read(self.place.bytes()))
    }
}

/// The size that a struct of the caller's claims to have, and the memory that it has.
fn draw_size(input: &mut Input, usual: usize) -> (usize, usize) {
    const WORD: usize = size_of::<usize>();
    const LONGEST: usize = 4096;
    let whole = |size| (size, size);
    match input.byte() {
        0..=215 => whole(usual),
        216..=231 => whole(WORD + usize::from(input.byte()) * (usual - WORD) / 255),
        232..=239 => whole(usual + 1 + input.below(64)),
        240..=241 => whole(LONGEST),
        // Nonsense: nothing but the size may be read.
        odd => ([0, 1, WORD - 1, LONGEST + 1, 1 << 32, usize::MAX][odd as usize % 6], WORD),
    }
}

fn makes_sense(size: usize) -> bool {
    (size_of::<usize>()..=4096).contains(&size)
}

/// Structs of the caller's that begin with their size, for answers; one, or an array of them.
pub struct Structs<T> {
    place: Place,
    size: usize,
    capacity: usize,
    kind: PhantomData<T>,
}

impl<T: Copy> Structs<T> {
    pub fn one(input: &mut Input) -> Self {
        Self::array(input, 1)
    }

    pub fn array(input: &mut Input, capacity: usize) -> Self {
        let (size, memory) = draw_size(input, size_of::<T>());
        let capacity = if size > size_of::<T>() { capacity.min(4) } else { capacity };
        let shift = usize::from(input.byte() >= 240);
        let mut place = Place::shifted(memory * capacity, shift);
        if capacity != 0 {
            place.put(&size.to_ne_bytes());
        }
        if input.byte() >= 240 {
            place = Place::null();
        }
        Structs { place, size, capacity, kind: PhantomData }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Nothing of an answer is cut off.
    pub fn is_whole(&self) -> bool {
        self.size >= size_of::<T>()
    }

    /// No answer can be written there.
    pub fn is_bad(&self) -> bool {
        self.capacity != 0 && (self.place.is_null() || !makes_sense(self.size))
    }

    pub fn pointer(&mut self) -> *mut T {
        self.place.pointer()
    }

    /// The answers, if so many were to be given; nothing else was written. What the caller's structs are too short for is zero.
    #[track_caller]
    pub fn answers(&self, count: usize) -> Vec<T> {
        if count == 0 {
            self.place.check(0);
            return Vec::new();
        }
        self.place.check(count * self.size);
        let structs = self.place.bytes().chunks(self.size).take(count);
        structs.map(|bytes| whole(bytes, self.size)).collect()
    }
}

#[track_caller]
fn whole<T: Copy>(bytes: &[u8], size: usize) -> T {
    assert_eq!(read::<usize>(bytes), size, "the struct_size is the caller's");
    let known = size.min(size_of::<T>());
    assert!(bytes[known..].iter().all(|&byte| byte == 0), "the rest of a longer struct is zero");
    read(bytes)
}

/// A struct of the caller's that tells the library something.
pub struct Told<T> {
    place: Place,
    bad: bool,
    kind: PhantomData<T>,
}

impl<T: Copy> Told<T> {
    /// `value` begins with its size.
    pub fn draw(input: &mut Input, value: &T) -> Self {
        let (size, memory) = draw_size(input, size_of::<T>());
        let dirty = input.byte() >= 240;
        let mut place = Place::shifted(memory, usize::from(input.byte() >= 240));
        let mut bytes = vec![0; memory.max(size_of::<T>())];
        // SAFETY: `bytes` has room for a `T`, which is made of integers and pointers without padding.
        unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(*value) };
        bytes.truncate(memory);
        bytes[..size_of::<usize>()].copy_from_slice(&size.to_ne_bytes());
        let longer = makes_sense(size) && size > size_of::<T>();
        if dirty && longer {
            bytes[size - 1] = 1;
        }
        place.put(&bytes);
        Told { place, bad: !makes_sense(size) || dirty && longer, kind: PhantomData }
    }

    pub fn null() -> Self {
        Told { place: Place::null(), bad: false, kind: PhantomData }
    }

    pub fn is_null(&self) -> bool {
        self.place.is_null()
    }

    /// It says nothing that makes sense.
    pub fn is_bad(&self) -> bool {
        self.bad
    }

    /// It says all that it was made of.
    pub fn is_whole(&self) -> bool {
        self.place.bytes().len() >= size_of::<T>()
    }

    pub fn pointer(&mut self) -> *const T {
        self.place.pointer()
    }

    /// What the library reads there: what is cut off is zero.
    pub fn said(&self) -> T {
        read(self.place.bytes())
    }

    #[track_caller]
    pub fn check(&self) {
        self.place.check(0);
    }
}

/// The details of a status.
pub struct Details {
    place: Place,
    size: usize,
}

const MESSAGE: usize = std::mem::offset_of!(tern_error_t, message);

impl Details {
    pub fn draw(input: &mut Input) -> Self {
        let (size, memory) = draw_size(input, size_of::<tern_error_t>());
        // Zero stands for the whole struct.
        let zeroed = (size_of::<tern_error_t>(), size_of::<tern_error_t>());
        let (room, memory) = if size == 0 { zeroed } else { (size, memory) };
        let mut place = Place::new(memory);
        place.put(&size.to_ne_bytes());
        if input.byte() >= 224 {
            place = Place::null();
        }
        Details { place, size: room }
    }

    pub fn pointer(&mut self) -> *mut tern_error_t {
        self.place.pointer()
    }

    /// Otherwise every call fails.
    pub fn is_usable(&self) -> bool {
        self.place.is_null() || makes_sense(self.size) && self.size > MESSAGE
    }

    #[track_caller]
    pub fn check(&self, status: tern_status_t) {
        if self.place.is_null() || !self.is_usable() || status == TERN_OK {
            return self.place.check(0);
        }
        self.place.check(self.size);
        let told: tern_error_t = whole(self.place.bytes(), self.size);
        assert_eq!(told.status, status as i32);
        assert_eq!(told.driver_code, 0);
        assert_eq!(told.os_errno != 0, status == TERN_ERR_SYSTEM);
        let class = tern_reason_class(told.reason);
        assert!(told.reason == 0 || class != 0, "reason {}", told.reason);
        let room = &self.place.bytes()[MESSAGE..self.size.min(size_of::<tern_error_t>())];
        let len = room.iter().position(|&byte| byte == 0).expect("the message is terminated");
        assert!(str::from_utf8(&room[..len]).is_ok());
        assert!(len > 0 || room.len() < 8, "there is a message");
    }
}

/// A value from the bytes that there are of it; the rest is zero.
pub fn read<T: Copy>(bytes: &[u8]) -> T {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let len = bytes.len().min(size_of::<T>());
    // SAFETY: both have `len` bytes. Only types of the C boundary are read, for which all bytes are values.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast(), len);
        value.assume_init()
    }
}
