use crate::c::*;
use crate::call::Call;
use crate::manager::is_readable;
use crate::world::Reader;

pub fn open(mut call: Call) {
    if call.world.readers.is_full() {
        return;
    }
    let manager = call.on_manager();
    let cursor = call.input.one_of(&[0, u64::MAX, 1, 3, 1 << 40]);
    let mut events = call.required();
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_events_open(manager, cursor, events.pointer(), call.err()) };
    let opened = events.answer(status == TERN_OK);
    call.done(format_args!("tern_events_open({manager:p}, {cursor}): {opened:?}"), status);
    if let Some(pointer) = opened {
        let ticks = call.ticks();
        let reader = Reader { pointer, manager, ticks, fd: None, last: 0, missed: 0 };
        call.world.readers.open.push(reader);
    }
}

pub fn close(mut call: Call) {
    let events = call.on_reader();
    match call.reader_place() {
        Some(place) => call.world.close_reader(place),
        // SAFETY: what is no reader, or none any more, is left alone.
        None => unsafe { tern_events_close(events) },
    }
}

pub fn next(mut call: Call) {
    let events = call.on_reader();
    let mut event = call.one_struct::<tern_event_t>();
    let fd = call.reader().and_then(|reader| reader.fd);
    let readable = fd.map(is_readable);
    // SAFETY: as above.
    let status = unsafe { tern_events_next(events, event.pointer(), call.err()) };
    let told = event.answers(usize::from(status == TERN_OK));
    call.done(format_args!("tern_events_next({events:p})"), status);
    if status == TERN_OK {
        assert_ne!(readable, Some(false), "an event that the descriptor did not tell of");
    }
    if status == TERN_EMPTY && call.reader().is_some_and(|reader| reader.ticks) {
        assert_ne!(fd.map(is_readable), Some(true), "readable without an event");
    }
    if let (true, Some(told)) = (event.is_whole(), told.first()) {
        let reader = call.reader().expect("only a good handle is accepted");
        assert!(told.number > reader.last && told.missed >= reader.missed);
        assert!((1..=7).contains(&told.kind) && told.resource[255] == 0);
        reader.last = told.number;
        reader.missed = told.missed;
    }
}

pub fn wait(mut call: Call) {
    let events = call.on_reader();
    let manager = call.reader().map(|reader| reader.manager);
    // Without a manager nothing will come, and nobody waits for it.
    let timeout = match manager {
        Some(manager) if call.world.is_open(manager) => call.input.below(50) as u64,
        _ => call.input.span(),
    };
    // SAFETY: as above.
    let status = unsafe { tern_events_wait(events, timeout, call.err()) };
    call.done(format_args!("tern_events_wait({events:p}, {timeout})"), status);
}

pub fn fd(mut call: Call) {
    let events = call.on_reader();
    let mut fd = call.required();
    // SAFETY: as above.
    let status = unsafe { tern_events_fd(events, fd.pointer(), call.err()) };
    let fd = fd.answer(status == TERN_OK);
    call.done(format_args!("tern_events_fd({events:p}): {fd:?}"), status);
    if let Some(fd) = fd {
        // SAFETY: it is open.
        assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, libc::FD_CLOEXEC);
        let reader = call.reader().expect("only a good handle is accepted");
        assert!(reader.fd.is_none_or(|known| known == fd), "it has one descriptor");
        reader.fd = Some(fd);
    }
}
