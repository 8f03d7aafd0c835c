//! Large arrays that cost nothing until they are used.
//!
//! The system provides the pages of zeroed memory one by one, at the first write to each. So an
//! array of many records takes only what its used records need.

use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// Types for which all bytes zero is a value, the same as their default.
///
/// # Safety
/// All-zero bytes must be a valid value.
pub(crate) unsafe trait Zeroed: Default {}

/// An array that starts out zeroed, aligned to cache lines.
///
/// `Box::new_zeroed_slice` will not do: for alignments beyond the allocator's own it clears the
/// memory itself and thereby touches every page. This type asks for a little more memory at the
/// usual alignment and begins at the first boundary.
///
/// Clones are the same array. The handle never changes, so that a compiler reads it once.
#[derive(Debug)]
pub(crate) struct ZeroedArray<T> {
    first: NonNull<T>,
    len: usize,
    /// `None` for memory that is never freed.
    block: Option<Arc<Block<T>>>,
}

/// Frees the memory when the last handle is dropped.
#[derive(Debug)]
struct Block<T> {
    #[cfg_attr(not(loom), allow(dead_code))]
    first: NonNull<T>,
    #[cfg_attr(not(loom), allow(dead_code))]
    len: usize,
    /// Kept for its `Drop`.
    _memory: Zeros,
}

/// Zeroed memory.
#[derive(Debug)]
struct Zeros {
    start: NonNull<u8>,
    layout: Layout,
}

impl Zeros {
    /// From this size on the memory is mapped. An allocator reuses freed memory and clears it by
    /// hand, which touches every page.
    #[cfg(target_os = "linux")]
    const LARGE: usize = 64 << 10;

    #[cfg(target_os = "linux")]
    fn try_new(layout: Layout) -> Option<Self> {
        if layout.size() < Self::LARGE {
            return Self::from_allocator(layout);
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the system chooses touches no other memory.
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
        // SAFETY: the layout is not empty: `try_new` adds a line to its size.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Zeros { start: NonNull::new(start)?, layout })
    }
}

impl Drop for Zeros {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.layout.size() >= Self::LARGE {
            // SAFETY: mapped in `try_new` with this size. The values are integers without `Drop`.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.layout.size()) };
            return;
        }
        // SAFETY: allocated in `from_allocator` with this layout. As above.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Requires `Sync`: a clone of a handle may be sent to another thread.
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
    /// `len` values, all zero; `None` if the system does not provide the memory.
    pub fn try_new(len: usize) -> Option<Self> {
        const { assert!(align_of::<T>() <= LINE && size_of::<T>() > 0) };
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(LINE));
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, 8).ok());
        let memory = Zeros::try_new(layout?)?;
        let skip = memory.start.align_offset(LINE);
        // SAFETY: `skip` is less than a line, and the memory is a line longer than the values.
        let first = unsafe { memory.start.add(skip) }.cast::<T>();
        let block = Some(Arc::new(Block { first, len, _memory: memory }));
        let array = ZeroedArray { first, len, block };
        #[cfg(loom)]
        for index in 0..len {
            // SAFETY: inside the block. The cells of loom are not plain memory: each is built here.
            unsafe { first.add(index).write(T::default()) };
        }
        Some(array)
    }

    /// The `len` values from `first` on, in memory that other processes map too.
    ///
    /// # Safety
    /// The memory must be aligned for `T`, consist of atomic integers only, and never be freed.
    #[cfg(target_os = "linux")]
    pub unsafe fn in_shared(first: NonNull<T>, len: usize) -> Self {
        ZeroedArray { first, len, block: None }
    }

    /// The only value of an array of one.
    #[inline(always)]
    pub fn one(&self) -> &T {
        debug_assert_eq!(self.len, 1);
        // SAFETY: every array has memory for a first value: `try_new` adds a line, which is larger.
        unsafe { self.first.as_ref() }
    }
}

impl<T> Deref for ZeroedArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values of `T` begin at `first`. `T: Zeroed`, so zero bytes are values.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

#[cfg(loom)]
impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        for index in 0..self.len {
            // SAFETY: `try_new` wrote each value once.
            unsafe { self.first.add(index).drop_in_place() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: zero is a value of an array of integers, and its default.
    unsafe impl Zeroed for [u64; 8] {}

    #[test]
    fn new_arrays_are_zero_and_aligned() {
        for len in [1, 3, 1000] {
            let array: ZeroedArray<[u64; 8]> = ZeroedArray::try_new(len).unwrap();
            assert_eq!(array.as_ptr() as usize % LINE, 0);
            assert!(array.iter().all(|line| *line == [0; 8]));
            assert_eq!(array.len(), len);
        }
    }

    #[cfg(all(target_os = "linux", not(loom)))]
    #[test]
    fn untouched_memory_is_not_resident() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let array: ZeroedArray<[u64; 8]> = ZeroedArray::try_new(16 << 20).unwrap();
        let grown = resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes for an array of a gigabyte");
        drop(array);
        // The same holds after arrays were freed, whatever the allocator keeps of them.
        drop(ZeroedArray::<[u64; 8]>::try_new(384 << 10).unwrap());
        drop(ZeroedArray::<[u64; 8]>::try_new(256 << 10).unwrap());
        let before = resident();
        let array: ZeroedArray<[u64; 8]> = ZeroedArray::try_new(256 << 10).unwrap();
        let grown = resident().saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} bytes for an unused array of 16 MB");
        drop(array);
    }
}
