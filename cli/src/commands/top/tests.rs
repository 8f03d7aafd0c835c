//! What the screen shows, and what keys do, without a terminal.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ternlease::{GpuLease, GpuPool, Health, PoolOptions, Reason};

use super::app::{App, Mode, NOTICE, Wish};
use super::draw::draw;
use super::{FORECASTS, take_away};
use crate::view::{View, happenings};

/// A name that would clear the screen and colour what follows.
const NASTY: &str = "evil\x1b[2J\x1b[31m\u{9b}5m\nname";

fn pool(devices: u32) -> GpuPool {
    let options = PoolOptions::from_spec(&format!("fake:{devices}")).unwrap();
    GpuPool::open_with("process:", options).unwrap()
}

fn claim(pool: &GpuPool, holder: &str, devices: u32) -> GpuLease {
    pool.claim().holder(holder).devices(devices).try_now().unwrap().unwrap()
}

fn look(app: &mut App, pool: &GpuPool) {
    let (events, _) = pool.manager().events_since(0);
    app.look(View::of(pool, "process:", FORECASTS), happenings::last(pool, &events, 100));
}

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let text = terminal.backend().to_string();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    text
}

fn press(app: &mut App, code: KeyCode) -> Wish {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn everything_is_on_the_screen_at_both_sizes() {
    let pool = pool(6);
    let _trainer = claim(&pool, "trainer", 2);
    let nasty = claim(&pool, NASTY, 1);
    let _notebook = claim(&pool, "notebook", 2);
    let by = "ops";
    let notice = Duration::from_secs(3600);
    pool.manager().revoke_with(nasty.id(), Reason::NodeDrain, by, notice).unwrap();
    pool.manager().set_health(pool.key(5).unwrap(), Health::Draining).unwrap();
    let _waits = pool.claim().holder("patient").devices(3).submit().unwrap();
    let mut app = App::new(true);
    look(&mut app, &pool);
    for (width, height) in [(80, 24), (160, 50)] {
        let text = screen(&mut app, width, height);
        for word in [
            "6 devices: 5 leased, 0 free",
            "nvidia:0",
            "nvidia:5",
            "draining",
            "trainer",
            "notebook",
            r"evil\u{1b}[2J\u{1b}[31m",
            "nvidia:0-1",
            "no end",
            "patient",
            "3 of 6 devices",
            "NODE_DRAIN",
            "events",
            "q quit",
        ] {
            assert!(text.contains(word), "{word} at {width}x{height}:\n{text}");
        }
        assert_eq!(text.contains("COMMAND"), width == 160);
    }
}

#[test]
fn no_screen_is_too_small_and_no_pool_too_large() {
    let pool = pool(64);
    let leases: Vec<GpuLease> = (0..64).map(|n| claim(&pool, &format!("job-{n}"), 1)).collect();
    let mut app = App::new(false);
    look(&mut app, &pool);
    for mode in [Mode::Watching, Mode::Helping, Mode::Inspecting] {
        app.mode = mode;
        for (width, height) in [(1, 1), (3, 2), (20, 5), (80, 24), (300, 4)] {
            screen(&mut app, width, height);
        }
    }
    app.mode = Mode::Watching;
    let text = screen(&mut app, 80, 24);
    assert!(text.contains("+ "), "says that there are more:\n{text}");
    let last = leases[63].id().to_string();
    assert!(!text.contains(&last), "{text}");
    press(&mut app, KeyCode::End);
    assert!(screen(&mut app, 80, 24).contains(&last), "the selected one is always shown");
    drop(leases);
}

#[test]
fn a_pool_without_anything_is_no_special_case() {
    let mut app = App::new(false);
    look(&mut app, &pool(0));
    let text = screen(&mut app, 80, 24);
    assert!(text.contains("0 devices") && text.contains("nobody waits"), "{text}");
    for code in [KeyCode::Up, KeyCode::Down, KeyCode::Enter, KeyCode::Char('r')] {
        assert_eq!(press(&mut app, code), Wish::Nothing);
        assert_eq!(app.mode, Mode::Watching);
    }
    assert!(screen(&mut app, 80, 24).contains("nobody has a lease"));
}

#[test]
fn keys_select_inspect_and_revoke_after_a_question() {
    let pool = pool(2);
    let (first, second) = (claim(&pool, "first", 1), claim(&pool, "second", 1));
    let mut app = App::new(false);
    look(&mut app, &pool);
    assert_eq!(app.lease().map(|lease| lease.info.id), Some(first.id()));
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    assert_eq!(app.lease().map(|lease| lease.info.id), Some(second.id()));

    press(&mut app, KeyCode::Enter);
    let text = screen(&mut app, 80, 24);
    for word in ["preemptible", "priority", "second", "slots", "ttl"] {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    press(&mut app, KeyCode::Char('q'));
    assert_eq!(app.mode, Mode::Watching, "a key closes it, and does nothing else");

    press(&mut app, KeyCode::Char('r'));
    let text = screen(&mut app, 80, 24);
    assert!(text.contains("in 30s?") && text.contains("second has nvidia:1"), "{text}");
    assert_eq!(press(&mut app, KeyCode::Char('n')), Wish::Nothing);
    assert!(screen(&mut app, 80, 24).contains("nothing was revoked"));

    press(&mut app, KeyCode::Char('r'));
    let wish = press(&mut app, KeyCode::Char('y'));
    assert_eq!(wish, Wish::Revoke { lease: second.id(), notice: NOTICE });
    let (words, _) = take_away(&pool, second.id(), NOTICE);
    assert!(words.contains("of second ends in") && words.contains("has been told"), "{words}");
    let (words, _) = take_away(&pool, second.id(), NOTICE);
    assert!(words.contains("nothing changed"), "{words}");

    press(&mut app, KeyCode::Char('R'));
    assert!(screen(&mut app, 80, 24).contains("at once?"));
    // It ends while the question is on the screen.
    drop(second);
    look(&mut app, &pool);
    assert_eq!(app.mode, Mode::Watching);
    assert_eq!(app.lease().map(|lease| lease.info.id), Some(first.id()));
    let ended = app.view.leases[0].info.id;
    assert_eq!(press(&mut app, KeyCode::Char('R')), Wish::Nothing);
    let at_once = Wish::Revoke { lease: ended, notice: Duration::ZERO };
    assert_eq!(press(&mut app, KeyCode::Char('y')), at_once);
    assert!(take_away(&pool, ended, Duration::ZERO).0.contains("is revoked (OPERATOR)"));
    assert!(take_away(&pool, ended, Duration::ZERO).0.contains("there is nothing to revoke"));
}

#[test]
fn quitting_is_always_possible() {
    for code in [KeyCode::Char('q'), KeyCode::Esc] {
        assert_eq!(press(&mut App::new(false), code), Wish::Quit);
    }
    let mut app = App::new(false);
    app.mode = Mode::Helping;
    assert!(screen(&mut app, 80, 24).contains("this help"));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app.key(interrupt), Wish::Quit);
}
