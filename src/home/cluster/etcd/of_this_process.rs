//! Things that a forked child must not touch.
//!
//! A child has a copy of the runtime's memory but not its thread, and locks in it may be held for ever: even to drop it could hang.

use super::EngineError;

/// A value that only the process that made it can use. A forked child leaks it.
#[derive(Debug)]
pub(super) struct OfThisProcess<T> {
    process: u32,
    /// Taken only when it goes.
    value: Option<T>,
}

impl<T> OfThisProcess<T> {
    pub fn new(value: T) -> Self {
        OfThisProcess { process: std::process::id(), value: Some(value) }
    }

    pub fn get(&self) -> Result<&T, EngineError> {
        match &self.value {
            Some(value) if self.process == std::process::id() => Ok(value),
            _ => Err(EngineError::Forked),
        }
    }
}

impl<T> Drop for OfThisProcess<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
