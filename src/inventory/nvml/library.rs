//! NVIDIA's library: loaded once, and what it says when it says no.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::per_process::PerProcess;
use super::worker::Worker;
use crate::inventory::Why;
use crate::table::Health;

/// What the thread that asks the library has.
#[derive(Default)]
pub(super) struct Library {
    nvml: Option<&'static Nvml>,
    /// Memory errors that a device had when it was first seen, by what names it.
    pub first_errors: HashMap<String, u64>,
}

/// The one thread that asks this library in this process.
pub(super) fn worker(library: &PathBuf) -> Result<&'static Worker<Library>, Why> {
    static WORKERS: PerProcess<PathBuf, Worker<Library>> = PerProcess::new();
    WORKERS.get_or_make(library, || Worker::start("ternlease-nvml"))
}

impl Library {
    /// The library, ready to be asked. One that failed is tried again the next time.
    ///
    /// It is never closed: to initialise it costs seconds on some machines, and others in this process may use it.
    pub fn open(&mut self, path: &Path) -> Result<&'static Nvml, Why> {
        match self.nvml {
            // Somebody else in this process may have closed it once too often.
            Some(nvml) if !matches!(nvml.device_count(), Err(NvmlError::Uninitialized)) => Ok(nvml),
            _ => {
                let nvml =
                    Nvml::builder().lib_path(path.as_os_str()).init().map_err(
                        |error| match error {
                            NvmlError::LibloadingError(cause) => Why::NoLibrary {
                                library: path.display().to_string(),
                                cause: cause.to_string(),
                            },
                            other => why(other),
                        },
                    )?;
                Ok(*self.nvml.insert(Box::leak(Box::new(nvml))))
            }
        }
    }
}

/// Why there are no devices, by what the library says about all of them.
pub(super) fn why(error: NvmlError) -> Why {
    match error {
        NvmlError::DriverNotLoaded => Why::NoDriver,
        NvmlError::NotFound => Why::NoDevice,
        NvmlError::LibRmVersionMismatch => Why::Failed(
            "its library and the kernel's driver differ in version: start the machine again".into(),
        ),
        other => Why::Failed(other.to_string()),
    }
}

/// What a device answered to several questions, taken together.
#[derive(Default)]
pub(super) struct Answers {
    answered: bool,
    /// It cannot be used, in its own words.
    pub broken: Option<String>,
    odd: Option<String>,
}

impl Answers {
    /// The answer, if there is one. Everything is optional somewhere: old drivers lack functions, new devices have values that nobody
    /// has heard of, small ones support little.
    pub fn take<T>(&mut self, answer: Result<T, NvmlError>) -> Option<T> {
        match answer {
            Ok(value) => {
                self.answered = true;
                return Some(value);
            }
            Err(error) if is_broken(&error) => self.broken = Some(words(&error)),
            Err(error) if is_plain_no(&error) => (),
            Err(error) => self.odd = Some(words(&error)),
        }
        None
    }

    /// The answer to a question beside the point: what matters is only whether the device is broken. That it answers shows nothing, as
    /// the driver may know it by heart, and that it refuses does not either.
    pub fn take_aside<T>(&mut self, answer: Result<T, NvmlError>) -> Option<T> {
        match answer {
            Ok(value) => return Some(value),
            Err(error) if is_broken(&error) => self.broken = Some(words(&error)),
            Err(_) => (),
        }
        None
    }

    /// How a device is that does not even say which it is.
    pub fn verdict(self) -> (Health, String) {
        let silent = || "it does not say which it is".to_owned();
        match self.broken {
            Some(trouble) => (Health::Failed, trouble),
            None => (Health::Draining, self.odd.unwrap_or_else(silent)),
        }
    }

    /// Why it cannot be told how the device is: it answered nothing, and not because it cannot.
    pub fn silent(self) -> Option<String> {
        self.odd.filter(|_| !self.answered)
    }
}

/// How a device is that cannot be reached, and why.
pub(super) fn unreached(error: &NvmlError) -> (Health, String) {
    let health = if is_broken(error) { Health::Failed } else { Health::Draining };
    (health, words(error))
}

/// The device is there no more, or of no use.
pub(super) fn is_broken(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::GpuLost
            | NvmlError::ResetRequired
            | NvmlError::InsufficientPower
            | NvmlError::IrqIssue
    )
}

/// It is a fact about the driver or the device that there is no answer, and says nothing about how the device is.
pub(super) fn is_plain_no(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::NotSupported
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::FunctionNotFound
            | NvmlError::NoPermission
            | NvmlError::NoData
            | NvmlError::UnexpectedVariant(_)
            | NvmlError::IncorrectBits(_)
            | NvmlError::Utf8Error(_)
    )
}

pub(super) fn words(error: &NvmlError) -> String {
    match error {
        NvmlError::GpuLost => "the device is lost: it fell off the bus or answers no more".into(),
        NvmlError::ResetRequired => "the device must be reset before it can be used again".into(),
        other => format!("the driver says: {other}"),
    }
}
