//! How much room there is where results are kept, and how fast it is.

use std::io;
use std::path::Path;
use std::time::Instant;

/// Bytes of a file system: in all, and free for this user.
#[cfg(unix)]
#[allow(unsafe_code)] // the system call; asking for all file systems, as a library would, hangs if any of them does
pub(in crate::cost) fn space(path: &Path) -> io::Result<(u64, u64)> {
    use std::ffi::CString;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;

    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: a path that ends with a zero byte, and room for the answer.
    if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: numbers only, of which zeros are values, and written by the call.
    let found = unsafe { found.assume_init() };
    // These are of another width on other systems.
    #[allow(clippy::useless_conversion)]
    let bytes = |blocks| u64::from(found.f_frsize).saturating_mul(u64::from(blocks));
    Ok((bytes(found.f_blocks), bytes(found.f_bavail)))
}

#[cfg(not(unix))]
pub(in crate::cost) fn space(path: &Path) -> io::Result<(u64, u64)> {
    let path = path.canonicalize()?;
    let disks = sysinfo::Disks::new_with_refreshed_list();
    let holding = disks.iter().filter(|disk| path.starts_with(disk.mount_point()));
    holding
        .max_by_key(|disk| disk.mount_point().as_os_str().len())
        .map(|disk| (disk.total_space(), disk.available_space()))
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Bytes per second, written and read, of a file without a name in this directory, past the cache of the system. It is gone when this returns,
/// however that comes about.
#[cfg(target_os = "linux")]
pub(in crate::cost) fn speed(directory: &Path, until: Instant) -> io::Result<(u64, u64)> {
    use std::fs::OpenOptions;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};

    const BLOCK: usize = 1 << 20;
    const MOST: u64 = 32;
    /// The system takes only memory that begins at a page.
    const PAGE: usize = 4096;

    let mut memory = vec![0x5a; BLOCK + PAGE];
    let from = memory.as_ptr().align_offset(PAGE);
    let bytes = &mut memory[from..from + BLOCK];
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE | libc::O_DIRECT)
        .open(directory)?;
    let begun = Instant::now();
    // Reading gets what writing leaves, but not less than half of the time.
    let half = begun + until.saturating_duration_since(begun) / 2;
    let mut written = 0;
    while written < MOST && (written == 0 || Instant::now() < half) {
        file.write_all_at(bytes, written * BLOCK as u64)?;
        written += 1;
    }
    file.sync_data()?;
    let write = per_second(written * BLOCK as u64, begun);
    let begun = Instant::now();
    let mut read = 0;
    while read < written && (read == 0 || Instant::now() < until) {
        file.read_exact_at(bytes, read * BLOCK as u64)?;
        read += 1;
    }
    Ok((write, per_second(read * BLOCK as u64, begun)))
}

#[cfg(not(target_os = "linux"))]
pub(in crate::cost) fn speed(_: &Path, _: Instant) -> io::Result<(u64, u64)> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(target_os = "linux")]
fn per_second(bytes: u64, begun: Instant) -> u64 {
    let nanoseconds = begun.elapsed().as_nanos().max(1);
    u64::try_from(u128::from(bytes) * 1_000_000_000 / nanoseconds).unwrap_or(u64::MAX)
}
