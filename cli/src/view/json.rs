//! A pool for programs: the same keys always, null for what is not known.

use std::time::Duration;

use serde_json::{Value, json};
use ternlease::inventory::Process;
use ternlease::{ExpectedWait, FOREVER, Reason, Take, Time};

use super::crowd::Who;
use super::{Device, Lease, View, Waiting};
use crate::commands::devices;
use crate::people::actor_value;
use crate::text::line::clean_json;

/// As text. Dangerous characters are escaped, as JSON allows.
pub fn text(value: &Value) -> String {
    clean_json(&format!("{value:#}"))
}

/// As text on one line.
pub fn line(value: &Value) -> String {
    clean_json(&value.to_string())
}

/// Everything.
pub fn value(view: &View) -> Value {
    let hidden: Vec<Value> = view
        .hidden
        .iter()
        .map(|hidden| json!({ "device": hidden.device, "mask": hidden.mask }))
        .collect();
    json!({
        "pool": view.url,
        "devices": view.devices.iter().map(device).collect::<Vec<_>>(),
        "leases": view.leases.iter().map(|held| lease(view, held)).collect::<Vec<_>>(),
        "queue": view.line.iter().map(|ticket| waiting(view, ticket)).collect::<Vec<_>>(),
        "hidden": hidden,
        "absences": view.absences,
        "warnings": view.warnings,
    })
}

/// A device, how it is, and which leases are on it.
fn device(device: &Device) -> Value {
    let status = &device.status;
    let mut value = devices::value(&status.device);
    let more = json!({
        "device": device.name,
        "key": device.key,
        "health": status.health as i8,
        "trouble": status.trouble,
        "memory_used_mib": status.memory_used,
        "memory_leased_mib": status.leased_memory,
        "busy_percent": status.busy,
        "slots": status.slots.0,
        "slots_used": status.slots.1,
        "leases": status.leases.iter().map(|lease| lease.id.to_string()).collect::<Vec<_>>(),
        "waiting": device.waiting,
        "squatters": status.squatters.iter().map(squatter).collect::<Vec<_>>(),
        "idle_seconds": status.idle_for.map(|idle| idle.as_secs_f64()),
        "seen_seconds": status.seen.map(|seen| seen.as_secs_f64()),
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}

fn squatter(process: &Process) -> Value {
    json!({
        "pid": process.pid,
        "user": process.user,
        "command": process.command,
        "memory_mib": process.memory,
    })
}

/// A lease, and whose it is.
pub fn lease(view: &View, lease: &Lease) -> Value {
    let info = &lease.info;
    let takes = info.takes.iter().zip(&lease.devices).map(|(taken, device)| {
        json!({
            "device": device,
            "key": taken.resource,
            "slots": taken.slots,
            "memory_mib": taken.memory,
        })
    });
    let mut value = json!({
        "lease": info.id.to_string(),
        "holder": info.holder,
        "devices": lease.devices,
        "takes": takes.collect::<Vec<_>>(),
        "priority": info.priority,
        "age_seconds": view.since(info.granted_at).as_secs_f64(),
        "left_seconds": view.until(info.end).map(|left| left.as_secs_f64()),
        "ttl_seconds": length(info.ttl),
        "revoking": info.revoking,
        "reason": info.reason.map(Reason::name),
        "reason_code": info.reason.map(Reason::code),
        "revoker": info.revoker,
        "ended_by": actor_value(info.ended_by, view.is_in_cluster()),
        "spare": info.spare,
        "preemptible": info.preemptible,
        "shared": info.shared,
        "parent": info.parent.map(|parent| parent.to_string()),
    });
    add_who(&mut value, &lease.who);
    value
}

/// A claim that waits, and whose it is.
pub fn waiting(view: &View, waiting: &Waiting) -> Value {
    let info = &waiting.info;
    let (slots, memory) = match info.take {
        Take::Amount { slots, memory } => (Some(slots), Some(memory)),
        _ => (None, None),
    };
    let mut value = json!({
        "place": info.place,
        "ticket": info.id.to_string(),
        "holder": info.holder,
        "count": info.count,
        "candidates": waiting.candidates,
        "take": match info.take {
            Take::Exclusive => "exclusive",
            Take::Shared => "shared",
            Take::Amount { .. } => "amount",
        },
        "slots": slots,
        "memory_mib": memory,
        "priority": info.priority,
        "spare": info.spare,
        "preempt": info.preempt,
        "ttl_seconds": length(info.ttl),
        "waited_seconds": view.since(info.queued_at).as_secs_f64(),
        "expected_seconds": waiting.expected.and_then(expected),
    });
    add_who(&mut value, &waiting.who);
    value
}

fn expected(wait: ExpectedWait) -> Option<f64> {
    match wait {
        ExpectedWait::None => Some(0.0),
        ExpectedWait::About(wait) => Some(wait.as_secs_f64()),
        _ => None,
    }
}

/// `None`: without end.
fn length(time: Time) -> Option<f64> {
    (time < FOREVER).then(|| Duration::from_micros(time).as_secs_f64())
}

fn add_who(value: &mut Value, who: &Who) {
    if let Value::Object(all) = value {
        all.insert("pid".into(), json!(who.pid));
        all.insert("user".into(), json!(who.user));
        all.insert("command".into(), json!(who.command));
    }
}
