//! Device: what the devices of a pool are, and how they are.
//!
//! A device is known by its place in the pool, which stays the same. What is seen of a device is as old as the answer says: looking asks no
//! driver, and never waits for one.
//!
//!     tern_device_t device = tern_device_init();
//!     tern_device_status_t how = tern_device_status_init();
//!     for (size_t place = 0; tern_pool_device(pool, place, &device, NULL) == TERN_OK; place++)
//!         if (tern_pool_device_status(pool, place, &how, NULL) == TERN_OK)
//!             printf("%s %s: %d %s\n", device.key, device.name, how.health, how.trouble);

use std::ffi::c_char;
use std::time::Duration;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::info::put_leases;
use super::lease::tern_lease_t;
use super::manager::more_if;
use super::pool::tern_pool_t;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::tern_trit_t;
use super::text::{inline_text, required};
use crate::inventory::{GpuDevice, Process};
use crate::{DeviceStatus, GpuPool, Vendor};

/// Who made a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_vendor_t {
    /// In a claim: whoever.
    TERN_VENDOR_ANY = 0,
    /// NVIDIA.
    TERN_VENDOR_NVIDIA = 1,
    /// AMD.
    TERN_VENDOR_AMD = 2,
    /// Intel.
    TERN_VENDOR_INTEL = 3,
    /// Anybody else.
    TERN_VENDOR_OTHER = 4,
}

use tern_vendor_t::*;

pub(super) fn vendor_code(vendor: Vendor) -> i32 {
    (match vendor {
        Vendor::Nvidia => TERN_VENDOR_NVIDIA,
        Vendor::Amd => TERN_VENDOR_AMD,
        Vendor::Intel => TERN_VENDOR_INTEL,
        Vendor::Other => TERN_VENDOR_OTHER,
    }) as i32
}

/// What a device is. Make it with tern_device_init(). What is not known is zero or empty.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_device_t {
    /// sizeof(tern_device_t)
    pub struct_size: usize,
    /// TERN_VENDOR_…
    pub vendor: i32,
    /// Its number among the devices of its vendor, in the order of PCI addresses. There may be gaps, and it may change with the next start of the
    /// machine.
    pub index: u32,
    /// Which of the numbers below are known: TERN_DEVICE_…
    pub known: u32,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// Its compute capability, as NVIDIA counts it: 8 of 8.6.
    pub compute_major: u32,
    /// 6 of 8.6.
    pub compute_minor: u32,
    /// The NUMA node that it is near to.
    pub numa: u32,
    /// Devices of one vendor with the same number have fast links among each other, each to each.
    pub island: u32,
    /// If it is a part of a device: the number of the GPU instance.
    pub gpu_instance: u32,
    /// If it is a part of a device: the number of the compute instance within it.
    pub compute_instance: u32,
    /// Where it sits, as CUDA reads it: "0000:07:00.0".
    pub pci: [c_char; 32],
    /// If it is a part of a device: how large it is, as NVIDIA names it: "1g.10gb".
    pub mig_profile: [c_char; 32],
    /// Its name as a resource in the table.
    pub key: [c_char; 256],
    /// What it is called.
    pub name: [c_char; 256],
    /// Its own name for ever: "GPU-…", or "MIG-…" for a part.
    pub uuid: [c_char; 128],
    /// If it is a part of a device: the UUID of that.
    pub mig_parent: [c_char; 128],
}

// SAFETY: integers only; 8 + 10 times 4 + 64 + 768 bytes have no padding.
unsafe impl Plain for tern_device_t {}

/// `memory_mib` is known.
pub const TERN_DEVICE_MEMORY: u32 = 1;
/// `compute_major` and `compute_minor` are known.
pub const TERN_DEVICE_COMPUTE: u32 = 2;
/// `numa` is known.
pub const TERN_DEVICE_NUMA: u32 = 4;
/// `island` is known.
pub const TERN_DEVICE_ISLAND: u32 = 8;
/// It is a part of a device, and `gpu_instance`, `compute_instance`, `mig_profile` and `mig_parent` say which.
pub const TERN_DEVICE_MIG: u32 = 16;
/// `used_memory_mib` is known.
pub const TERN_DEVICE_USED_MEMORY: u32 = 32;
/// `busy_percent` is known.
pub const TERN_DEVICE_BUSY: u32 = 64;

/// How a device is, and who uses it. Make it with tern_device_status_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_device_status_t {
    /// sizeof(tern_device_status_t)
    pub struct_size: usize,
    /// The oldest lease on it; 0: none.
    pub lease: tern_lease_t,
    /// For how long it has been leased without being used, in microseconds; 0: it is used, or free, or that cannot be seen.
    pub idle_us: u64,
    /// How old what was seen is, in microseconds; TERN_FOREVER: nobody watches it.
    pub seen_us: u64,
    /// Which of the numbers below are known: TERN_DEVICE_USED_MEMORY, TERN_DEVICE_BUSY. The others always are.
    pub known: u32,
    /// How many slots it has.
    pub slots: u32,
    /// Slots that leases have taken.
    pub leased_slots: u32,
    /// Memory that leases have taken, in MiB.
    pub leased_memory_mib: u32,
    /// Memory that is in use, in MiB.
    pub used_memory_mib: u32,
    /// How busy it was lately, in percent.
    pub busy_percent: u32,
    /// How many leases are on it: tern_pool_leases_on() tells them.
    pub lease_count: u32,
    /// How many processes compute on it although it has no lease: tern_pool_squatters() tells them.
    pub squatter_count: u32,
    /// TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    pub health: tern_trit_t,
    /// Zero.
    pub reserved: [u8; 7],
    /// Why it is not healthy, for people; cut if it is longer.
    pub trouble: [c_char; 512],
}

// SAFETY: integers only; 4 times 8, 8 times 4, 8 times 1 and 512 bytes have no padding.
unsafe impl Plain for tern_device_status_t {}

/// A process on a device: evidence, whom to ask, never whom to trust. Make it with tern_process_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_process_t {
    /// sizeof(tern_process_t)
    pub struct_size: usize,
    /// Its number, as the driver gives it; in a container that may be one of outside.
    pub pid: u32,
    /// 1: `memory_mib` is known.
    pub known: u32,
    /// Memory it uses on the device, in MiB.
    pub memory_mib: u32,
    /// Zero.
    pub reserved: u32,
    /// Whose it is, where that can be seen; otherwise empty.
    pub user: [c_char; 256],
    /// Its program, without arguments, where that can be seen; otherwise empty.
    pub command: [c_char; 256],
}

// SAFETY: integers only; 8 + 4 times 4 + 512 bytes have no padding.
unsafe impl Plain for tern_process_t {}

pub(super) fn flag(is: bool, flag: u32) -> u32 {
    if is { flag } else { 0 }
}

fn device(key: &str, device: &GpuDevice) -> tern_device_t {
    let (compute_major, compute_minor) = device.compute_capability.unwrap_or_default();
    let mig = device.mig.as_ref();
    tern_device_t {
        struct_size: 0,
        vendor: vendor_code(device.vendor),
        index: device.index,
        known: flag(device.memory.is_some(), TERN_DEVICE_MEMORY)
            | flag(device.compute_capability.is_some(), TERN_DEVICE_COMPUTE)
            | flag(device.numa.is_some(), TERN_DEVICE_NUMA)
            | flag(device.island.is_some(), TERN_DEVICE_ISLAND)
            | flag(mig.is_some(), TERN_DEVICE_MIG),
        memory_mib: device.memory.unwrap_or(0),
        compute_major,
        compute_minor,
        numa: device.numa.unwrap_or(0),
        island: device.island.unwrap_or(0),
        gpu_instance: mig.map_or(0, |mig| mig.gpu_instance),
        compute_instance: mig.map_or(0, |mig| mig.compute_instance),
        pci: inline_text(&device.pci.map(|pci| pci.to_string()).unwrap_or_default()),
        mig_profile: inline_text(mig.map_or("", |mig| &mig.profile)),
        key: inline_text(key),
        name: inline_text(&device.name),
        uuid: inline_text(device.uuid.as_deref().unwrap_or_default()),
        mig_parent: inline_text(mig.map_or("", |mig| &mig.parent)),
    }
}

fn status(status: &DeviceStatus) -> tern_device_status_t {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    tern_device_status_t {
        struct_size: 0,
        lease: status.leases.first().map_or(0, |lease| lease.id.0),
        idle_us: status.idle_for.map_or(0, micros),
        seen_us: status.seen.map_or(u64::MAX, micros),
        known: flag(status.memory_used.is_some(), TERN_DEVICE_USED_MEMORY)
            | flag(status.busy.is_some(), TERN_DEVICE_BUSY),
        slots: status.slots.0,
        leased_slots: status.slots.1,
        leased_memory_mib: status.leased_memory,
        used_memory_mib: status.memory_used.unwrap_or(0),
        busy_percent: status.busy.unwrap_or(0).into(),
        lease_count: status.leases.len() as u32,
        squatter_count: status.squatters.len() as u32,
        health: status.health as tern_trit_t,
        reserved: [0; 7],
        trouble: inline_text(status.trouble.as_deref().unwrap_or_default()),
    }
}

fn process(process: &Process) -> tern_process_t {
    tern_process_t {
        struct_size: 0,
        pid: process.pid,
        known: process.memory.is_some().into(),
        memory_mib: process.memory.unwrap_or(0),
        reserved: 0,
        user: inline_text(process.user.as_deref().unwrap_or_default()),
        command: inline_text(process.command.as_deref().unwrap_or_default()),
    }
}

pub(super) fn beyond() -> Failure {
    Failure::argument(TERN_ERR_BAD_VALUE, "place", "is beyond the last device")
}

fn status_at(pool: &GpuPool, place: usize) -> Result<DeviceStatus, Failure> {
    if place >= pool.capacity() {
        return Err(beyond());
    }
    pool.status().into_iter().nth(place).ok_or_else(beyond)
}

/// What the device in this place is. Places are numbered from 0; TERN_ERR_BAD_VALUE beyond the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_device(
    pool: *const tern_pool_t,
    place: usize,
    device: *mut tern_device_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            let size = sized::room(device, "device")?;
            let found = pool.devices().get(place).zip(pool.key(place)).ok_or_else(beyond)?;
            sized::store(device, size, &self::device(found.1, found.0));
            Ok(TERN_OK)
        })
    }
}

/// How the device in this place is, and who uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_device_status(
    pool: *const tern_pool_t,
    place: usize,
    status: *mut tern_device_status_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            let size = sized::room(status, "status")?;
            sized::store(status, size, &self::status(&status_at(pool, place)?));
            Ok(TERN_OK)
        })
    }
}

/// As tern_pool_device_status(), of all devices in the order of their places: leases and health all at one moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_snapshot(
    pool: *const tern_pool_t,
    statuses: *mut tern_device_status_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            let found: Vec<tern_device_status_t> = pool.status().iter().map(self::status).collect();
            more_if(!sized::store_list(statuses, capacity, needed, &found, "statuses")?)
        })
    }
}

/// The leases on the device in this place, oldest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_leases_on(
    pool: *const tern_pool_t,
    place: usize,
    leases: *mut tern_lease_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            if capacity != 0 {
                required(leases, "leases")?;
            }
            let key = pool.key(place).ok_or_else(beyond)?;
            put_leases(leases, capacity, needed, &pool.manager().leases_on(key))
        })
    }
}

/// The processes that compute on the device in this place although it has no lease.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_squatters(
    pool: *const tern_pool_t,
    place: usize,
    processes: *mut tern_process_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            sized::check_list(processes, capacity, "processes")?;
            let found = status_at(pool, place)?;
            let found: Vec<tern_process_t> = found.squatters.iter().map(process).collect();
            more_if(!sized::store_list(processes, capacity, needed, &found, "processes")?)
        })
    }
}
