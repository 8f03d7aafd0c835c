//! What the library remembers. Each process has its own: a child that comes from a fork has not called `nvmlInit` and knows no
//! handles, and a lock that another thread held at the fork does not matter to it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, OsStr};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::answer::{Answer, Error};
use crate::events::{EventSet, SetHandle};
use crate::parse::parse;
use crate::script::{Effect, Pci, Place, Rule, Script};

/// What the header calls a `nvmlDevice_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(usize);

/// By what a handle finds its device again when the script has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Gpu(Pci),
    Part(String),
}

pub struct State {
    pid: u32,
    directory: PathBuf,
    /// The script as it was last read.
    text: Vec<u8>,
    parsed: Result<Arc<Script>, Error>,
    /// `nvmlInit` counts up, `nvmlShutdown` down.
    pub initialised: u32,
    handles: Vec<Key>,
    /// How often each rule that ends was used.
    uses: HashMap<String, u32>,
    pub sets: BTreeMap<SetHandle, EventSet>,
    last_set: usize,
}

struct Process {
    pid: u32,
    state: Mutex<State>,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// The state of this process.
pub fn lock() -> MutexGuard<'static, State> {
    let pid = std::process::id();
    loop {
        let found = CURRENT.load(Ordering::Acquire);
        // SAFETY: What was once stored is never freed, and only used through shared references.
        if let Some(process) = unsafe { found.as_ref() }
            && process.pid == pid
        {
            return process.state.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let fresh = Box::into_raw(Box::new(Process { pid, state: Mutex::new(State::new(pid)) }));
        let stored =
            CURRENT.compare_exchange(found, fresh, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !stored {
            // SAFETY: Nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

impl State {
    fn new(pid: u32) -> State {
        State {
            pid,
            directory: own_directory(),
            text: Vec::new(),
            parsed: Ok(Arc::default()),
            initialised: 0,
            handles: Vec::new(),
            uses: HashMap::new(),
            sets: BTreeMap::new(),
            last_set: 0,
        }
    }

    /// The script as it is now.
    pub fn script(&mut self) -> Answer<Arc<Script>> {
        let text = fs::read(self.directory.join("script")).map_err(|_| Error::DRIVER_NOT_LOADED)?;
        if text != self.text {
            self.parsed = match parse(&String::from_utf8_lossy(&text)) {
                Ok(script) => {
                    let lines = script.rules.iter().map(|rule| rule.line.as_str());
                    let lines: Vec<&str> = lines.collect();
                    self.uses.retain(|line, _| lines.contains(&line.as_str()));
                    Ok(Arc::new(script))
                }
                Err(bad) => {
                    self.note(&bad);
                    Err(Error::UNKNOWN)
                }
            };
            self.text = text;
        }
        self.parsed.clone()
    }

    /// Writes a line to `calls`.
    pub fn note(&self, line: &str) {
        let file = OpenOptions::new().append(true).create(true).open(self.directory.join("calls"));
        // The test may be over and its directory gone.
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// The handle of a place, the same each time.
    pub fn handle(&mut self, script: &Script, place: Place) -> Handle {
        let key = match script.part(place) {
            Some(part) => Key::Part(part.uuid.clone()),
            None => Key::Gpu(script.gpus[place.gpu].pci),
        };
        let at = self.handles.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.handles.push(key);
            self.handles.len() - 1
        });
        Handle(self.first_handle() + at)
    }

    pub fn place(&self, script: &Script, handle: Handle) -> Answer<Place> {
        let at = handle.0.wrapping_sub(self.first_handle());
        match self.handles.get(at).ok_or(Error::INVALID_ARGUMENT)? {
            Key::Gpu(pci) => script
                .gpus
                .iter()
                .position(|gpu| gpu.pci == *pci)
                .map(|gpu| Place { gpu, part: None })
                .ok_or(Error::GPU_IS_LOST),
            Key::Part(uuid) => script
                .parts
                .iter()
                .find(|part| part.uuid == *uuid && script.part(part.place).is_some())
                .map(|part| part.place)
                .ok_or(Error::INVALID_ARGUMENT),
        }
    }

    pub fn new_set(&mut self) -> SetHandle {
        self.last_set += 1;
        let set = SetHandle(self.first_handle() + self.last_set);
        self.sets.insert(set, EventSet::default());
        set
    }

    /// Differs between processes, so that the handles of a parent mean nothing in its child.
    fn first_handle(&self) -> usize {
        (self.pid as usize) << 24
    }

    /// Does this rule still let calls fail? Then this is one of its uses.
    pub fn failure(&mut self, rule: &Rule) -> Option<Error> {
        match rule.effect {
            Effect::Fail { error, times: None } => Some(error),
            Effect::Fail { error, times: Some(times) } => {
                let used = self.uses.entry(rule.line.clone()).or_default();
                let left = *used < times;
                *used += u32::from(left);
                left.then_some(error)
            }
            Effect::Delay(_) | Effect::Hang => None,
        }
    }
}

/// Where this library was loaded from.
fn own_directory() -> PathBuf {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: The address is one of this library. `found` may be written to, and is valid if it is all zero.
    let info = unsafe {
        libc::dladdr((own_directory as fn() -> PathBuf as *const ()).cast(), found.as_mut_ptr());
        found.assume_init()
    };
    if info.dli_fname.is_null() {
        return PathBuf::from(".");
    }
    // SAFETY: It is not null, and the loader's own text, which stays while the library is loaded.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()));
    path.parent().unwrap_or(Path::new(".")).to_owned()
}
