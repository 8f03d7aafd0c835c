//! A pool as text: a row for each device, what is to be said about it, and the line.

use crate::text::colour::{Mood, paint};
use crate::text::line::clean;
use crate::text::table::{Column, Table};
use crate::text::units::duration;
use crate::view::notes::{health, line, notes, summary};
use crate::view::words::{left, memory, names, wrap};
use crate::view::{Device, Lease, View};

/// From this width on, all there is to say about a device fits on its row.
const ROOMY: usize = 120;

type Cell = (String, Mood);

/// All of it, for a terminal of this width.
pub fn text(view: &View, width: usize, colours: bool) -> String {
    if view.devices.is_empty() {
        return without_devices(view, width, colours);
    }
    let mut text = String::new();
    if width >= ROOMY {
        text.push_str(&wide(view).render_for(width, colours));
    } else {
        text.push_str(&narrow(view).render_for(width, colours));
        if !view.leases.is_empty() {
            text.push('\n');
            text.push_str(&leases(view).render_for(width, colours));
        }
    }
    text.push('\n');
    text.push_str(&remarks(view, width, colours));
    text
}

/// A machine without devices may still have a pool in which others wait.
fn without_devices(view: &View, width: usize, colours: bool) -> String {
    let mut text = "there are no GPUs here\n".to_owned();
    for absence in &view.absences {
        text.push_str(&wrap(&format!("  {}", clean(absence)), width, 4));
        text.push('\n');
    }
    text.push_str("try `--fake 4` to see how it works without, or `ternlease doctor` for more\n");
    if !view.leases.is_empty() || !view.line.is_empty() {
        text.push('\n');
        text.push_str(&remarks(view, width, colours));
    }
    text
}

/// What is to be said, and the line.
fn remarks(view: &View, width: usize, colours: bool) -> String {
    let mut text = String::new();
    for note in notes(view) {
        let marked = format!("! {}", note.words);
        for part in wrap(&marked, width, 2).lines() {
            text.push_str(&paint(part, note.mood, colours));
            text.push('\n');
        }
    }
    let last = format!("{}; {}", summary(view), line(view));
    text.push_str(&wrap(&last, width, 2));
    text.push('\n');
    text
}

fn wide(view: &View) -> Table {
    let mut table = Table::new(vec![
        Column::left("DEVICE"),
        Column::left("HEALTH"),
        Column::right("MEMORY"),
        Column::left("LEASE"),
        Column::left("HOLDER").flexible(12),
        Column::left("USER").flexible(8),
        Column::left("COMMAND").flexible(16),
        Column::right("AGE"),
        Column::right("LEFT"),
        Column::right("WAIT"),
    ]);
    for device in &view.devices {
        for_each_lease(view, device, |lease, [name, health, memory, waiting]| {
            let [holder, user, age, left] = holding(view, device, lease);
            let id = lease.map_or("-".into(), |lease| lease.info.id.to_string());
            let command = lease.map_or("", |lease| known(lease.who.command.as_deref()));
            let command = (clean(command), Mood::Plain);
            let id = (id, Mood::Plain);
            table.row(vec![name, health, memory, id, holder, user, command, age, left, waiting]);
        });
    }
    table
}

fn narrow(view: &View) -> Table {
    let mut table = Table::new(vec![
        Column::left("DEVICE"),
        Column::left("HEALTH"),
        Column::right("MEMORY"),
        Column::left("HOLDER").flexible(8),
        Column::left("USER").flexible(6),
        Column::right("AGE"),
        Column::right("LEFT"),
        Column::right("WAIT"),
    ]);
    for device in &view.devices {
        for_each_lease(view, device, |lease, [name, health, memory, waiting]| {
            let [holder, user, age, left] = holding(view, device, lease);
            table.row(vec![name, health, memory, holder, user, age, left, waiting]);
        });
    }
    table
}

/// What does not fit on the rows of the devices.
fn leases(view: &View) -> Table {
    let mut table = Table::new(vec![
        Column::left("LEASE"),
        Column::left("DEVICES").flexible(12),
        Column::left("COMMAND").flexible(20),
    ]);
    for lease in &view.leases {
        table.row(vec![
            (lease.info.id.to_string(), Mood::Plain),
            (names(&lease.devices), Mood::Plain),
            (clean(known(lease.who.command.as_deref())), Mood::Plain),
        ]);
    }
    table
}

/// One row for a device, or one for each lease if several share it; only the first says how the device is.
fn for_each_lease(view: &View, device: &Device, mut row: impl FnMut(Option<&Lease>, [Cell; 4])) {
    let (word, mood) = health(device.status.health);
    let waiting = if device.waiting == 0 { "-".to_owned() } else { device.waiting.to_string() };
    let mut about_device = [
        (device.name.clone(), Mood::Plain),
        (word.to_owned(), mood),
        (memory(device.status.memory_used, device.status.device.memory), Mood::Plain),
        (waiting, Mood::Plain),
    ];
    let mut leases = view.leases_on(device).peekable();
    if leases.peek().is_none() {
        return row(None, about_device);
    }
    for lease in leases {
        row(Some(lease), about_device);
        about_device = std::array::from_fn(|_| (String::new(), Mood::Plain));
    }
}

/// Who has it, whose that is, since when and for how long still.
fn holding(view: &View, device: &Device, lease: Option<&Lease>) -> [Cell; 4] {
    let Some(lease) = lease else {
        let nobody = match device.status.squatters.is_empty() {
            true => ("free".to_owned(), Mood::Good),
            false => ("no lease".to_owned(), Mood::Warn),
        };
        let none = || ("-".to_owned(), Mood::Dim);
        let nobody = if device.status.health as i8 == 1 { nobody } else { none() };
        return [nobody, none(), none(), none()];
    };
    let mood = if lease.info.revoking { Mood::Warn } else { Mood::Plain };
    [
        (clean(&lease.info.holder), mood),
        (clean(known(lease.who.user.as_deref())), Mood::Plain),
        (duration(view.since(lease.info.granted_at)), Mood::Plain),
        (left(view, &lease.info), mood),
    ]
}

/// What cannot be seen from here, such as a process in another container, is not guessed.
fn known(text: Option<&str>) -> &str {
    text.unwrap_or("unknown")
}
