//! Machine, looked at: its figures, as they were when it was read.
//!
//!     tern_machine_info_t info = tern_machine_info_init();
//!     if (tern_machine_info(machine, &info, &err) == TERN_OK && info.known & TERN_MACHINE_HAS_DISK)
//!         printf("%s: %" PRIu64 " bytes free in %s\n", info.processor, info.disk_free, info.store);

use std::ffi::c_char;
use std::time::Duration;

use super::boundary::with;
use super::cost::tern_estimate_t;
use super::error::{Failure, tern_error_t};
use super::machine::{Machine, tern_machine_t};
use super::manager::more_if;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{inline_text, put_text};
use crate::MachCap;
use crate::cost::{DeviceClass, Estimate, Network};

/// What sort of machine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_machine_class_t {
    /// Little memory.
    TERN_MACHINE_CLASS_CONSTRAINED = 1,
    /// It has a battery.
    TERN_MACHINE_CLASS_LAPTOP = 2,
    /// Many cores, or quite a few and much memory.
    TERN_MACHINE_CLASS_SERVER = 3,
    /// All others.
    TERN_MACHINE_CLASS_DESKTOP = 4,
}

/// The network, as far as the operating system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_network_t {
    /// Nothing leads out of this machine.
    TERN_NETWORK_NONE = 0,
    /// Something does, and nobody says how fast it is: so it is with virtual and with wireless cards.
    TERN_NETWORK_UNKNOWN = 1,
    /// The card that leads out says how fast it is. The way behind it may be slower.
    TERN_NETWORK_CARD = 2,
}

use tern_machine_class_t::*;
use tern_network_t::*;

/// What a machine can do, and had left when it was read. Make it with tern_machine_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_machine_info_t {
    /// sizeof(tern_machine_info_t)
    pub struct_size: usize,
    /// Memory that this process could have, in bytes: that of the machine, or less if a group that it is in has a limit.
    pub mem_total: u64,
    /// What is left of it.
    pub mem_available: u64,
    /// How much memory one computation may take.
    pub compute_budget: u64,
    /// The size of the disk with the results in bytes.
    pub disk_total: u64,
    /// What is left of it.
    pub disk_free: u64,
    /// With TERN_NETWORK_CARD: how fast that is, in Mbit/s; otherwise 0.
    pub network_mbps: u64,
    /// How old the rates are, in microseconds; TERN_FOREVER: they were not measured.
    pub age_us: u64,
    /// How long a program takes to begin with a GPU: tern_machine_set_gpu_start().
    pub gpu_start: tern_estimate_t,
    /// Operations per 1000 bytes at which neither arithmetic nor memory waits for the other, all cores together.
    pub ridge_permille: u64,
    /// Which of the figures are known that need not be, and whether it runs on a battery: TERN_MACHINE_HAS_…, TERN_MACHINE_ON_BATTERY
    pub known: u32,
    /// The cores of its processor.
    pub cores_physical: u32,
    /// Threads that it runs at one time.
    pub cores_logical: u32,
    /// Threads that this process may run at one time.
    pub cores_usable: u32,
    /// Its clock; 0 if nobody says.
    pub freq_mhz: u32,
    /// TERN_NETWORK_…
    pub network: i32,
    /// TERN_MACHINE_CLASS_…: what sort of machine it is.
    pub machine_class: i32,
    /// How full the battery is.
    pub battery_percent: u32,
    /// How much arithmetic all cores do, beside what one does times their number, in thousandths.
    pub core_scaling_permille: u32,
    /// How much of the memory is taken, in thousandths; 500 if nobody knows.
    pub mem_pressure_permille: u32,
    /// How much of the disk is taken, in thousandths; 500 if nobody knows.
    pub disk_pressure_permille: u32,
    /// Zero.
    pub reserved: u32,
    /// What the processor is called; cut if it is longer.
    pub processor: [c_char; 128],
    /// Where results are kept; cut if it is longer.
    pub store: [c_char; 1024],
}

// SAFETY: integers only; 12 times 8, 12 times 4, 128 and 1024 bytes have no padding.
unsafe impl Plain for tern_machine_info_t {}

/// `disk_total` and `disk_free` are known.
pub const TERN_MACHINE_HAS_DISK: u32 = 1;
/// It has a battery.
pub const TERN_MACHINE_HAS_BATTERY: u32 = 2;
/// `battery_percent` is known.
pub const TERN_MACHINE_HAS_BATTERY_PERCENT: u32 = 4;
/// It runs on its battery now.
pub const TERN_MACHINE_ON_BATTERY: u32 = 8;

fn info(machine: &MachCap) -> tern_machine_info_t {
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    let permille = |part: f64| (part * 1000.0).round() as u32;
    let battery = machine.battery;
    let percent = battery.and_then(|battery| battery.percent);
    let (network, network_mbps) = match machine.network {
        Network::None => (TERN_NETWORK_NONE, 0),
        Network::Unknown => (TERN_NETWORK_UNKNOWN, 0),
        Network::Card(mbps) => (TERN_NETWORK_CARD, mbps),
    };
    let class = match machine.device_class() {
        DeviceClass::Constrained => TERN_MACHINE_CLASS_CONSTRAINED,
        DeviceClass::Laptop => TERN_MACHINE_CLASS_LAPTOP,
        DeviceClass::Server => TERN_MACHINE_CLASS_SERVER,
        DeviceClass::Desktop => TERN_MACHINE_CLASS_DESKTOP,
    };
    let micros = |age: Duration| u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
    tern_machine_info_t {
        struct_size: 0,
        mem_total: machine.mem_total,
        mem_available: machine.mem_available,
        compute_budget: machine.compute_budget(),
        disk_total: machine.disk_total.unwrap_or(0),
        disk_free: machine.disk_free.unwrap_or(0),
        network_mbps,
        age_us: machine.age().map_or(u64::MAX, micros),
        gpu_start: machine.gpu_start.into(),
        ridge_permille: (machine.ridge_point() * 1000.0).round() as u64,
        known: flag(machine.disk_free.is_some(), TERN_MACHINE_HAS_DISK)
            | flag(battery.is_some(), TERN_MACHINE_HAS_BATTERY)
            | flag(percent.is_some(), TERN_MACHINE_HAS_BATTERY_PERCENT)
            | flag(battery.is_some_and(|battery| battery.discharging), TERN_MACHINE_ON_BATTERY),
        cores_physical: machine.cores_physical,
        cores_logical: machine.cores_logical,
        cores_usable: machine.cores_usable,
        freq_mhz: machine.freq_mhz,
        network: network as i32,
        machine_class: class as i32,
        battery_percent: percent.unwrap_or(0).into(),
        core_scaling_permille: permille(machine.core_scaling()),
        mem_pressure_permille: permille(machine.mem_pressure()),
        disk_pressure_permille: permille(machine.disk_pressure()),
        reserved: 0,
        processor: inline_text(&machine.processor),
        store: inline_text(&machine.store.to_string_lossy()),
    }
}

/// What the machine can do, and had left when it was read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_info(
    machine: *const tern_machine_t,
    info: *mut tern_machine_info_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let size = sized::room(info, "info")?;
            sized::store(info, size, &self::info(&machine.0.read()));
            Ok(TERN_OK)
        })
    }
}

/// The figures as JSON, with all rates. `needed` as in tern_manager_metrics().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_json(
    machine: *const tern_machine_t,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let json = machine.0.read().to_json();
            more_if(!put_text(buffer, capacity, needed, &json, "buffer")?)
        })
    }
}

/// How long a program takes to begin with a GPU, in nanoseconds: at best, most likely, at worst. All zero in one that has begun. Counts in advice
/// from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_set_gpu_start(
    machine: *const tern_machine_t,
    lo_ns: u64,
    mid_ns: u64,
    hi_ns: u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            if lo_ns > mid_ns || mid_ns > hi_ns {
                let problem = "is not between the other two";
                return Err(Failure::argument(TERN_ERR_BAD_VALUE, "mid_ns", problem));
            }
            machine.0.write().gpu_start = Estimate { lo: lo_ns, mid: mid_ns, hi: hi_ns };
            Ok(TERN_OK)
        })
    }
}
