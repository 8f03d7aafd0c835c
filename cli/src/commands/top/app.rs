//! What `top` knows, and what keys do to it.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ternlease::LeaseId;

use crate::text::colour::Mood;
use crate::view::happenings::Happening;
use crate::view::{Lease, View};

/// How long a holder has to save its work after `r`.
pub const NOTICE: Duration = Duration::from_secs(30);

/// What is to be done that the screen cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// To leave.
    Quit,
    /// To take a lease away.
    Revoke {
        /// Which.
        lease: LeaseId,
        /// How long its holder still has it.
        notice: Duration,
    },
}

/// What lies over the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Watching,
    /// All about one lease.
    Inspecting,
    /// The question whether a lease is to be taken away.
    Asking {
        /// Which.
        lease: LeaseId,
        /// How long its holder would still have it.
        notice: Duration,
    },
    /// What the keys do.
    Helping,
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The pool as it was last seen.
    pub view: View,
    /// What happened last, the newest first.
    pub happenings: Vec<Happening>,
    /// What lies over the screen.
    pub mode: Mode,
    /// What became of what was asked for last.
    pub message: Option<(String, Mood)>,
    /// Are colours wanted?
    pub colours: bool,
    selected: Option<LeaseId>,
}

impl App {
    /// Nothing has been seen yet.
    pub fn new(colours: bool) -> Self {
        App {
            view: View::default(),
            happenings: Vec::new(),
            mode: Mode::Watching,
            message: None,
            colours,
            selected: None,
        }
    }

    /// The pool has been looked at. Whoever is selected stays selected while there.
    pub fn look(&mut self, view: View, happenings: Vec<Happening>) {
        let place = self.place().unwrap_or(0);
        self.view = view;
        self.happenings = happenings;
        if self.place().is_none() {
            self.select(place);
        }
        // A lease that has ended can neither be shown nor be taken away.
        let gone = match self.mode {
            Mode::Inspecting => self.lease().is_none(),
            Mode::Asking { lease, .. } => self.view.lease(lease).is_none(),
            _ => false,
        };
        if gone {
            self.mode = Mode::Watching;
            self.tell("that lease has ended by itself".to_owned(), Mood::Dim);
        }
    }

    /// Something to be shown until the next key.
    pub fn tell(&mut self, words: String, mood: Mood) {
        self.message = Some((words, mood));
    }

    /// The selected lease.
    pub fn lease(&self) -> Option<&Lease> {
        self.view.lease(self.selected?)
    }

    /// Which row that is.
    pub fn place(&self) -> Option<usize> {
        self.view.leases.iter().position(|lease| Some(lease.info.id) == self.selected)
    }

    fn select(&mut self, place: usize) {
        let place = place.min(self.view.leases.len().saturating_sub(1));
        self.selected = self.view.leases.get(place).map(|lease| lease.info.id);
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        self.message = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        // In this mode the terminal does not make a signal of it.
        if control && key.code == KeyCode::Char('c') {
            return Wish::Quit;
        }
        match self.mode {
            Mode::Watching => self.key_while_watching(key.code),
            Mode::Asking { lease, notice } => {
                self.mode = Mode::Watching;
                match key.code {
                    KeyCode::Char('y' | 'Y') => Wish::Revoke { lease, notice },
                    _ => {
                        self.tell("nothing was revoked".to_owned(), Mood::Dim);
                        Wish::Nothing
                    }
                }
            }
            Mode::Inspecting | Mode::Helping => {
                self.mode = Mode::Watching;
                Wish::Nothing
            }
        }
    }

    fn key_while_watching(&mut self, code: KeyCode) -> Wish {
        let place = self.place().unwrap_or(0);
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Up | KeyCode::Char('k') => self.select(place.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(place + 1),
            KeyCode::PageUp => self.select(place.saturating_sub(10)),
            KeyCode::PageDown => self.select(place + 10),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Helping,
            KeyCode::Char('i') | KeyCode::Enter if self.lease().is_some() => {
                self.mode = Mode::Inspecting;
            }
            KeyCode::Char('r') => self.ask(NOTICE),
            KeyCode::Char('R') => self.ask(Duration::ZERO),
            _ => {}
        }
        Wish::Nothing
    }

    fn ask(&mut self, notice: Duration) {
        match self.selected.filter(|_| self.lease().is_some()) {
            Some(lease) => self.mode = Mode::Asking { lease, notice },
            None => self.tell("nobody has a lease".to_owned(), Mood::Dim),
        }
    }
}
