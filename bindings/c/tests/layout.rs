//! Types and numbers are the same in Rust and in C.
//!
//! `tests/abi/layout.def` is the table of them. Here it is made from the Rust types; `tests/abi/layout.c` holds the C types against it.
//! `TERN_UPDATE=1 cargo test -p ternlease-c --test layout` writes it anew. What programs were compiled with must not change, so there
//! should only ever be new lines in it, unless the library gets another SONAME.
#![cfg(target_pointer_width = "64")]

use std::collections::BTreeSet;
use std::mem::{align_of, offset_of, size_of};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ternlease_core::cost::NEVER;
use ternlease_core::ffi::advice::*;
use ternlease_core::ffi::claim::*;
use ternlease_core::ffi::cost::{tern_cost_t, tern_estimate_t};
use ternlease_core::ffi::deadlock::tern_wait_t;
use ternlease_core::ffi::device::*;
use ternlease_core::ffi::error::tern_error_t;
use ternlease_core::ffi::event::*;
use ternlease_core::ffi::gpu_claim::*;
use ternlease_core::ffi::gpu_lease::TERN_ENV_BY_UUID;
use ternlease_core::ffi::host::*;
use ternlease_core::ffi::info::*;
use ternlease_core::ffi::lease::tern_lease_t;
use ternlease_core::ffi::machine::*;
use ternlease_core::ffi::machine_info::*;
use ternlease_core::ffi::manager::*;
use ternlease_core::ffi::pool::*;
use ternlease_core::ffi::rate::*;
use ternlease_core::ffi::reason::{tern_reason_class_t, tern_reason_t};
use ternlease_core::ffi::resource::{tern_resource_info_t, tern_resource_t};
use ternlease_core::ffi::route::*;
use ternlease_core::ffi::speed::*;
use ternlease_core::ffi::status::tern_status_t;
use ternlease_core::ffi::task::*;
use ternlease_core::ffi::tern_trit_t;
use ternlease_core::ffi::ticket::{tern_name_t, tern_ticket_info_t, tern_ticket_t};
use ternlease_core::ffi::verdict::*;
use ternlease_core::ffi::watch::{tern_drop_fn, tern_watch_fn};
use ternlease_core::{Health, LeaseState};

/// Each type, field and number, and what is to be known of it.
#[derive(Default)]
struct Table(Vec<(String, String)>);

impl Table {
    fn of_type<T>(&mut self, name: &str) {
        let numbers = format!("{}, {}", size_of::<T>(), align_of::<T>());
        self.0.push((format!("TYPE({name}"), numbers));
    }

    fn field(&mut self, of: &str, name: &str, offset: usize, size: usize) {
        self.0.push((format!("FIELD({of}, {name}"), format!("{offset}, {size}")));
    }

    fn value(&mut self, name: &str, value: impl Into<i128>) {
        let value = value.into();
        // C takes large numbers as unsigned only if they are hexadecimal.
        let text = i64::try_from(value).map_or(format!("{value:#x}"), |value| value.to_string());
        self.0.push((format!("VALUE({name}"), text));
    }

    fn text(&self) -> String {
        self.0.iter().map(|(what, numbers)| format!("{what}, {numbers})\n")).collect()
    }
}

fn size_of_field<T, F>(_: impl Fn(&T) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! types {
    ($table:ident: $($name:ident)*) => {
        $($table.of_type::<$name>(stringify!($name));)*
    };
}

macro_rules! structs {
    ($table:ident: $($name:ident { $($field:ident),* })*) => {$(
        // Compiles only if no field is forgotten here.
        let _ = |$name { $($field: _),* }: $name| ();
        $table.of_type::<$name>(stringify!($name));
        let mut filled = 0;
        $(
            let size = size_of_field(|whole: &$name| &whole.$field);
            $table.field(stringify!($name), stringify!($field), offset_of!($name, $field), size);
            filled += size;
        )*
        // They are copied byte by byte, and padding must not be read.
        assert_eq!(filled, size_of::<$name>(), "{} has padding", stringify!($name));
    )*};
}

macro_rules! enums {
    ($table:ident: $($name:ident { $($variant:ident)* })*) => {$(
        // Compiles only if no variant is forgotten here.
        let _ = |any: $name| match any { $($name::$variant => ()),* };
        $table.of_type::<$name>(stringify!($name));
        $($table.value(stringify!($variant), $name::$variant as i32);)*
    )*};
}

macro_rules! values {
    ($table:ident: $($name:ident)*) => {
        $($table.value(stringify!($name), $name);)*
    };
}

fn table() -> Table {
    let mut table = Table::default();
    types! { table:
        tern_trit_t tern_resource_t tern_lease_t tern_ticket_t tern_watch_fn tern_drop_fn
        tern_progress_fn
    }
    structs! { table:
        tern_error_t { struct_size, status, reason, os_errno, driver_code, message }
        tern_options_t { struct_size, flags, leases, tickets, resources, history }
        tern_resource_info_t {
            struct_size, slots, memory_mib, used_slots, used_memory_mib, shared, health, declared, reserved,
            name
        }
        tern_lease_info_t {
            struct_size, lease, parent, ttl, granted_at, end, reason, priority, take_count, flags, state, reserved,
            holder, revoker, ender_principal, ender_process
        }
        tern_take_t { struct_size, slots, memory_mib, resource }
        tern_ticket_info_t { struct_size, ticket, queued_at, place, count, resource_count, priority, holder }
        tern_name_t { struct_size, text }
        tern_text_t { data, len }
        tern_claim_t {
            struct_size, holder, holder_len, resources, resource_count, resource_ids, resource_id_count, ttl, wait,
            notice, parent, flags, count, slots, memory_mib, priority
        }
        tern_event_t {
            struct_size, number, missed, at, lease, ticket, until, duration, kind, reason, health, reserved, resource,
            process, reserved2, actor_principal, actor_process, flags
        }
        tern_host_info_t {
            struct_size, bytes, roll_backs, deaths, lock_since, lock_process, process_count, corrupt, reserved, path
        }
        tern_process_info_t { struct_size, since, process, owner, life, leases, tickets, reserved }
        tern_wait_t { struct_size, ticket, lease, worker }
        tern_pool_options_t {
            struct_size, devices, devices_len, flags, poll_us, drain_limit_us, recovery_us, slots, clean_memory_mib
        }
        tern_device_t {
            struct_size, vendor, index, known, memory_mib, compute_major, compute_minor, numa, island, gpu_instance,
            compute_instance, pci, mig_profile, key, name, uuid, mig_parent
        }
        tern_device_status_t {
            struct_size, lease, idle_us, seen_us, known, slots, leased_slots, leased_memory_mib, used_memory_mib,
            busy_percent, lease_count, squatter_count, health, reserved, trouble
        }
        tern_process_t { struct_size, pid, known, memory_mib, reserved, user, command }
        tern_gpu_claim_t {
            struct_size, holder, holder_len, devices, device_count, ttl, wait, notice, parent, flags, count, slots,
            memory_mib, min_memory_mib, min_compute_major, min_compute_minor, vendor, priority
        }
        tern_device_speed_t {
            struct_size, flop64, flop32, flop16_matrix, memory, link, known, cores, multiprocessors, core_mhz,
            memory_mhz, memory_bits, pcie_generation, pcie_lanes
        }
        tern_cost_t { flops, mem_bytes, peak_mem, result_bytes }
        tern_estimate_t { lo, mid, hi }
        tern_task_t {
            struct_size, cost, input_bytes, flags, kind, threads, learned_runs, learned_permille
        }
        tern_machine_options_t {
            struct_size, flags, budget_us, disk_budget_us, max_age_us, cache_file, cache_file_len, progress, user
        }
        tern_machine_info_t {
            struct_size, mem_total, mem_available, compute_budget, disk_total, disk_free, network_mbps, age_us,
            gpu_start, ridge_permille, known, cores_physical, cores_logical, cores_usable, freq_mhz, network,
            machine_class, battery_percent, core_scaling_permille, mem_pressure_permille, disk_pressure_permille,
            reserved, processor, store
        }
        tern_rate_t { struct_size, per_second, usual, spread_permille, source }
        tern_route_t { struct_size, round_trip_ns, bytes_per_second, query_ns, hits_permille, known }
        tern_verdict_t {
            struct_size, t_compute, t_fetch, t_store, score_ns, answer, why_not_compute, why_not_fetch, bottleneck,
            bias_permille, trit, can_compute, can_store, can_fetch, decisive, reserved, words
        }
        tern_advice_t {
            struct_size, cpu, gpu, gpu_now, gpu_wait, fetch, wait_ns, choice, wait, why_not_cpu, why_not_gpu,
            why_not_fetch, decisive, reserved, words
        }
    }
    enums! { table:
        tern_status_t {
            TERN_OK TERN_BUSY TERN_TIMEOUT TERN_EMPTY TERN_WAITING TERN_REFUSED TERN_UNCHANGED TERN_MORE
            TERN_ERR_NULL TERN_ERR_BAD_HANDLE TERN_ERR_CLOSED TERN_ERR_FORKED TERN_ERR_POISONED TERN_ERR_PANIC
            TERN_ERR_BAD_STRUCT TERN_ERR_BAD_TEXT TERN_ERR_BAD_VALUE TERN_ERR_BAD_URL TERN_ERR_UNSUPPORTED
            TERN_ERR_VERSION TERN_ERR_SYSTEM TERN_ERR_CORRUPT TERN_ERR_FULL TERN_ERR_STUCK TERN_ERR_EMPTY_NAME
            TERN_ERR_NAME_TOO_LONG TERN_ERR_ZERO_TTL TERN_ERR_TIME_TOO_LARGE TERN_ERR_TOO_FEW_RESOURCES
            TERN_ERR_DUPLICATE_RESOURCE TERN_ERR_ZERO_AMOUNT TERN_ERR_UNKNOWN_RESOURCE TERN_ERR_IMPOSSIBLE
            TERN_ERR_UNKNOWN_LEASE TERN_ERR_UNKNOWN_TICKET TERN_ERR_NOT_HELD TERN_ERR_NOT_A_REVOCATION
            TERN_ERR_PARENT_NOT_HELD TERN_ERR_TOO_DEEP TERN_ERR_IN_USE TERN_ERR_UNKNOWN_WANT TERN_ERR_UNKNOWN_PROCESS
            TERN_ERR_OTHER_PRINCIPAL
        }
        tern_reason_t {
            TERN_REASON_NONE TERN_REASON_DEADLOCK_VICTIM TERN_REASON_PREEMPTED TERN_REASON_SPARE_RECLAIMED
            TERN_REASON_QUOTA TERN_REASON_MAX_DURATION TERN_REASON_BUDGET TERN_REASON_NO_PROGRESS
            TERN_REASON_OVER_USE TERN_REASON_IGNORED_NOTICE TERN_REASON_BAD_TOKEN TERN_REASON_DEVICE_FAULT
            TERN_REASON_NODE_DRAIN TERN_REASON_RECONFIGURED TERN_REASON_OPERATOR TERN_REASON_SUPERSEDED
            TERN_REASON_PARENT_REVOKED TERN_REASON_SHUTDOWN TERN_REASON_TIMED_OUT TERN_REASON_RELEASED
            TERN_REASON_HOLDER_DIED TERN_REASON_ENGINE_LOST TERN_REASON_WAIT_TIMED_OUT TERN_REASON_CANCELLED
            TERN_REASON_PARENT_ENDED
        }
        tern_reason_class_t {
            TERN_CLASS_CONTENTION TERN_CLASS_LIMIT TERN_CLASS_CONDUCT TERN_CLASS_RESOURCE TERN_CLASS_AUTHORITY
            TERN_CLASS_ENDED TERN_CLASS_REFUSED
        }
        tern_event_kind_t {
            TERN_EVENT_GRANTED TERN_EVENT_RENEWED_LATE TERN_EVENT_REVOKING TERN_EVENT_ENDED TERN_EVENT_QUEUED
            TERN_EVENT_REFUSED TERN_EVENT_HEALTH TERN_EVENT_DIED TERN_EVENT_ROLLED_BACK
        }
        tern_life_t { TERN_LIFE_LIVES TERN_LIFE_DYING TERN_LIFE_GONE TERN_LIFE_TREE }
        tern_vendor_t {
            TERN_VENDOR_ANY TERN_VENDOR_NVIDIA TERN_VENDOR_AMD TERN_VENDOR_INTEL TERN_VENDOR_OTHER
        }
        tern_kind_t {
            TERN_KIND_ROOFLINE TERN_KIND_DENSE64 TERN_KIND_DENSE32 TERN_KIND_STREAM TERN_KIND_COPY TERN_KIND_ROWS
            TERN_KIND_PARSE TERN_KIND_SORT TERN_KIND_HASH TERN_KIND_BYTES
        }
        tern_machine_class_t {
            TERN_MACHINE_CLASS_CONSTRAINED TERN_MACHINE_CLASS_LAPTOP TERN_MACHINE_CLASS_SERVER
            TERN_MACHINE_CLASS_DESKTOP
        }
        tern_network_t { TERN_NETWORK_NONE TERN_NETWORK_UNKNOWN TERN_NETWORK_CARD }
        tern_rate_of_t {
            TERN_RATE_FLOP64 TERN_RATE_FLOP64_ALL TERN_RATE_FLOP32 TERN_RATE_READ TERN_RATE_READ_ALL TERN_RATE_TRIAD
            TERN_RATE_TRIAD_ALL TERN_RATE_COPY TERN_RATE_COPY_ALL TERN_RATE_SCALAR TERN_RATE_PARSE TERN_RATE_HASH
            TERN_RATE_COMPARE TERN_RATE_SHIFT TERN_RATE_BYTES TERN_RATE_DISK_WRITE TERN_RATE_DISK_READ
        }
        tern_source_t { TERN_SOURCE_MEASURED TERN_SOURCE_ROUGH TERN_SOURCE_ESTIMATED }
        tern_route_known_t { TERN_ROUTE_DECLARED TERN_ROUTE_ASSUMED TERN_ROUTE_LEARNED }
        tern_answer_t {
            TERN_ANSWER_COMPUTE TERN_ANSWER_BREAK_EVEN TERN_ANSWER_FETCH TERN_ANSWER_IMPOSSIBLE
        }
        tern_obstacle_t {
            TERN_OBSTACLE_NONE TERN_OBSTACLE_MEMORY TERN_OBSTACLE_ENDLESS TERN_OBSTACLE_NETWORK TERN_OBSTACLE_DISK
            TERN_OBSTACLE_NO_DEVICE TERN_OBSTACLE_DEVICE_MEMORY TERN_OBSTACLE_DEVICE_SPEED
        }
        tern_bottleneck_t { TERN_BOTTLENECK_NONE TERN_BOTTLENECK_COMPUTE TERN_BOTTLENECK_MEMORY }
        tern_choice_t {
            TERN_CHOICE_INFEASIBLE TERN_CHOICE_CPU TERN_CHOICE_GPU_NOW TERN_CHOICE_GPU_WAIT TERN_CHOICE_FETCH
        }
        tern_expected_wait_t {
            TERN_EXPECTED_WAIT_NONE TERN_EXPECTED_WAIT_ABOUT TERN_EXPECTED_WAIT_UNKNOWN
            TERN_EXPECTED_WAIT_NO_DEVICES
        }
    }
    values! { table:
        TERN_OPTION_TICKS TERN_OPTION_OPEN_HOUSE TERN_OPTION_BREAK_DEADLOCKS
        TERN_LEASE_REVOKING TERN_LEASE_SPARE TERN_LEASE_PREEMPTIBLE TERN_LEASE_SHARED
        TERN_LEASE_ACKNOWLEDGED TERN_EVENT_FLAG_ACKNOWLEDGED
        TERN_CLAIM_EXCLUSIVE TERN_CLAIM_SHARED TERN_CLAIM_SPARE TERN_CLAIM_PREEMPTIBLE TERN_CLAIM_PREEMPT
        TERN_CLAIM_KEEP_ALIVE
        TERN_POOL_CHECK_USE TERN_POOL_BREAK_DEADLOCKS
        TERN_DEVICE_MEMORY TERN_DEVICE_COMPUTE TERN_DEVICE_NUMA TERN_DEVICE_ISLAND TERN_DEVICE_MIG
        TERN_DEVICE_USED_MEMORY TERN_DEVICE_BUSY
        TERN_ENV_BY_UUID
        TERN_SPEED_CORES TERN_SPEED_MULTIPROCESSORS TERN_SPEED_CORE_MHZ TERN_SPEED_MEMORY_MHZ TERN_SPEED_MEMORY_BITS
        TERN_SPEED_PCIE_GENERATION TERN_SPEED_PCIE_LANES
        TERN_TASK_INPUT
        TERN_MACHINE_NO_BENCHMARKS TERN_MACHINE_NO_NETWORK TERN_MACHINE_KEEP TERN_MACHINE_REFRESH
        TERN_MACHINE_HAS_DISK TERN_MACHINE_HAS_BATTERY TERN_MACHINE_HAS_BATTERY_PERCENT TERN_MACHINE_ON_BATTERY
    }
    // These have other names in Rust, or none.
    table.value("TERN_FOREVER", u64::MAX);
    table.value("TERN_MILLISECOND", Duration::from_millis(1).as_micros() as u64);
    table.value("TERN_SECOND", Duration::from_secs(1).as_micros() as u64);
    table.value("TERN_NEVER", NEVER);
    table.value("TERN_NAME_MAX", size_of_field(|name: &tern_name_t| &name.text) as u64 - 1);
    table.value("TERN_TRIT_UNKNOWN", tern_trit_t::MIN);
    table.value("TERN_HELD", LeaseState::Held as tern_trit_t);
    table.value("TERN_EXPIRED", LeaseState::Expired as tern_trit_t);
    table.value("TERN_REVOKED", LeaseState::Revoked as tern_trit_t);
    table.value("TERN_GRANTED", 1);
    table.value("TERN_IN_LINE", 0);
    table.value("TERN_DENIED", -1);
    table.value("TERN_HEALTHY", Health::Healthy as tern_trit_t);
    table.value("TERN_DRAINING", Health::Draining as tern_trit_t);
    table.value("TERN_FAILED", Health::Failed as tern_trit_t);
    table.value("TERN_FETCH", tern_answer_t::TERN_ANSWER_FETCH as i32);
    table.value("TERN_BREAK_EVEN", tern_answer_t::TERN_ANSWER_BREAK_EVEN as i32);
    table.value("TERN_COMPUTE", tern_answer_t::TERN_ANSWER_COMPUTE as i32);
    table
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[test]
fn the_table_is_what_rust_says() {
    let path = path("tests/abi/layout.def");
    let made = table().text();
    if std::env::var_os("TERN_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let before: BTreeSet<&str> = committed.lines().collect();
    let now: BTreeSet<&str> = made.lines().collect();
    assert!(
        before == now,
        "tests/abi/layout.def is not what src/ffi says\ngone: {:#?}\nnew: {:#?}\n\
         What programs were compiled with must stay. If it does: \
         TERN_UPDATE=1 cargo test -p ternlease-c --test layout",
        &before - &now,
        &now - &before,
    );
}

/// What the header declares, in the words of the table.
fn declared(header: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut inside = "";
    for line in header.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["typedef", "struct", name, "{"] => {
                found.insert(format!("TYPE({name}"));
                inside = name;
            }
            ["}", ..] => inside = "",
            // What has no inside is a handle.
            ["typedef", "struct", ..] => {}
            ["typedef", _, name] => {
                found.insert(format!("TYPE({}", name.trim_end_matches(';')));
            }
            ["typedef", "void", function, ..] => {
                let name = function.trim_start_matches("(*").split(')').next().unwrap();
                found.insert(format!("TYPE({name}"));
            }
            [begin] if begin.starts_with("TERN_ENUM_BEGIN(") => {
                found.insert(begin.replace("TERN_ENUM_BEGIN", "TYPE").replace(')', ""));
            }
            // Versions differ from release to release.
            ["#define", name, _] if name.starts_with("TERN_VERSION_") => {}
            ["#define", "TERN_ENUM_END", _] => {}
            ["#define", name, _] | [name, "=", _] if name.starts_with("TERN_") => {
                found.insert(format!("VALUE({name}"));
            }
            [first, .., name] if !inside.is_empty() && !first.starts_with("//") => {
                let name = name.trim_start_matches('*').split(['[', ';']).next().unwrap();
                found.insert(format!("FIELD({inside}, {name}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_table_has_everything_that_the_header_has() {
    let header = std::fs::read_to_string(path("include/ternlease.h")).unwrap();
    let listed: BTreeSet<String> = table().0.into_iter().map(|(what, _)| what).collect();
    let declared = declared(&header);
    assert!(
        listed == declared,
        "only in the header: {:#?}\nonly in the table: {:#?}",
        &declared - &listed,
        &listed - &declared,
    );
}
