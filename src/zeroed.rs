//! Large arrays that cost nothing until they are used.
//!
//! Memory that comes zeroed from the system is not touched: it provides the pages one by one as they are written. The only unsafe code that tables in ordinary memory need is here.

use std::alloc::Layout;
use std::cell::Cell;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::table::cell::{Cell32, Cell64};
use crate::table::kept::{KeptEnd, KeptHeader};
use crate::table::layout::*;
use crate::table::scratch::*;

/// Types for which all bytes zero is a value, the same as their default.
///
/// # Safety
/// All-zero bytes must be a valid value.
pub(crate) unsafe trait Zeroed: Default {}

macro_rules! zeroed_types {
    ($($type:ty),* $(,)?) => {
        // SAFETY: each is made only of atomic or plain integers and `bool`s in cells; zero is a valid value of all of them.
        $(unsafe impl Zeroed for $type {})*
    };
}

zeroed_types!(
    Header,
    Cell32,
    Cell64,
    Name,
    Resource,
    Holder,
    Lease,
    LeaseExtra,
    Hold,
    Ticket,
    Line,
    Member,
    Want,
    Timer,
    EventRecord,
    KeptHeader,
    KeptEnd,
    ResourceNotes,
    WorkerNotes,
    IslandNotes,
    NodeNotes,
    TicketNotes,
    WantNotes,
    LeaseNotes,
    Cell<bool>,
);

/// An array that starts out zeroed, aligned to cache lines.
///
/// `Box::new_zeroed_slice` will not do: for alignments beyond the allocator's own it clears the memory itself, and
/// thereby touches all of it. This asks for a little more at the usual alignment and begins at the first boundary.
///
/// Clones are the same array: the handle never changes, so that a compiler need not read it again and again.
#[derive(Debug)]
pub(crate) struct ZeroedArray<T> {
    first: NonNull<T>,
    len: usize,
    /// `None` for memory that stays for ever.
    block: Option<Arc<Block<T>>>,
}

/// Gives the memory back when the last handle goes.
#[derive(Debug)]
struct Block<T> {
    #[cfg_attr(not(loom), allow(dead_code))]
    first: NonNull<T>,
    #[cfg_attr(not(loom), allow(dead_code))]
    len: usize,
    /// Kept for its end.
    _memory: Zeros,
}

/// Zeroed memory.
#[derive(Debug)]
struct Zeros {
    start: NonNull<u8>,
    layout: Layout,
}

impl Zeros {
    /// From this size on the system is asked and not the allocator: that keeps what is given back, and clears it by hand when it is asked for zeros.
    #[cfg(target_os = "linux")]
    const LARGE: usize = 64 << 10;

    #[cfg(target_os = "linux")]
    fn try_new(layout: Layout) -> Option<Self> {
        if layout.size() < Self::LARGE {
            return Self::from_allocator(layout);
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, wherever there is room for it, touches nothing that is there.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), access, kind, -1, 0) };
        match start {
            libc::MAP_FAILED => None,
            start => Some(Zeros { start: NonNull::new(start.cast())?, layout }),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn try_new(layout: Layout) -> Option<Self> {
        Self::from_allocator(layout)
    }

    fn from_allocator(layout: Layout) -> Option<Self> {
        // SAFETY: no layout that is asked for here has no size: there is always room for a line.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Zeros { start: NonNull::new(start)?, layout })
    }
}

impl Drop for Zeros {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.layout.size() >= Self::LARGE {
            // SAFETY: mapped in `try_new` with this size. The values have nothing to drop: they are integers.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.layout.size()) };
            return;
        }
        // SAFETY: allocated in `from_allocator` with this layout. As above.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Only where sharing is allowed: a handle may be sent to another thread.
impl<T: Send + Sync> Clone for ZeroedArray<T> {
    fn clone(&self) -> Self {
        ZeroedArray { first: self.first, len: self.len, block: self.block.clone() }
    }
}

// SAFETY: it owns its values as a `Box<[T]>` would.
unsafe impl<T: Send> Send for ZeroedArray<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ZeroedArray<T> {}

const LINE: usize = 64;

impl<T: Zeroed> ZeroedArray<T> {
    /// `len` values, all zero; `None` if the system does not give so much memory.
    pub fn try_new(len: usize) -> Option<Self> {
        const { assert!(align_of::<T>() <= LINE && size_of::<T>() > 0) };
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(LINE));
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, 8).ok());
        let memory = Zeros::try_new(layout?)?;
        let skip = memory.start.align_offset(LINE);
        // SAFETY: `skip` is less than a line, which the memory has more than `len` values need.
        let first = unsafe { memory.start.add(skip) }.cast::<T>();
        let block = Some(Arc::new(Block { first, len, _memory: memory }));
        let array = ZeroedArray { first, len, block };
        #[cfg(loom)]
        for index in 0..len {
            // SAFETY: inside the block. The cells of loom are not plain memory and must be made one by one.
            unsafe { first.add(index).write(T::default()) };
        }
        Some(array)
    }

    /// Values that lie in memory that others share: `len` of them, from `first` on.
    ///
    /// # Safety
    /// The memory must be aligned for `T`, hold only what is made of atomic integers, and stay for ever.
    #[cfg(target_os = "linux")]
    pub unsafe fn in_shared(first: NonNull<T>, len: usize) -> Self {
        ZeroedArray { first, len, block: None }
    }

    /// The only value of an array of one.
    #[inline(always)]
    pub fn one(&self) -> &T {
        debug_assert_eq!(self.len, 1);
        // SAFETY: no array is made without a first value (`try_new` has room for a line, which is at least as large).
        unsafe { self.first.as_ref() }
    }
}

impl<T> Deref for ZeroedArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values of `T` begin at `first`; zero bytes are values of `T` (only `Zeroed` types get here).
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

#[cfg(loom)]
impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        for index in 0..self.len {
            // SAFETY: each value was written once in `new`.
            unsafe { self.first.add(index).drop_in_place() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_aligned_and_writable() {
        for len in [1, 3, 1000] {
            let array: ZeroedArray<Cell<bool>> = ZeroedArray::try_new(len).unwrap();
            assert_eq!(array.as_ptr() as usize % LINE, 0);
            assert!(array.iter().all(|cell| !cell.replace(true)));
            assert_eq!(array.len(), len);
        }
    }

    /// The point of it all: a large array costs nothing until it is used.
    #[cfg(all(target_os = "linux", not(loom)))]
    #[test]
    fn untouched_memory_is_not_resident() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let array: ZeroedArray<Lease> = ZeroedArray::try_new(16 << 20).unwrap();
        let grown = resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes for an array of a gigabyte");
        drop(array);
        // Nor does one after another that was given back, whatever the allocator makes of that.
        drop(ZeroedArray::<Lease>::try_new(384 << 10).unwrap());
        drop(ZeroedArray::<Lease>::try_new(256 << 10).unwrap());
        let before = resident();
        let array: ZeroedArray<Lease> = ZeroedArray::try_new(256 << 10).unwrap();
        let grown = resident().saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} bytes for an array of 16 MB that nobody has used");
        drop(array);
    }
}
