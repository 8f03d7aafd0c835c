//! The processes on a device, as evidence: whom to tell, never whom to trust.

/// What a process does with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessKind {
    /// It computes.
    Compute,
    /// It draws: a display server, for example. It is no reason not to compute.
    Graphics,
}

/// A process that uses a device.
///
/// Inside a container the pid may be one of another name space: then nothing else is known of it.
///
/// ```
/// use ternlease::inventory::{Process, ProcessKind};
///
/// let process = Process {
///     kind: ProcessKind::Compute,
///     pid: 4711,
///     memory: Some(512),
///     user: Some("ann".to_owned()),
///     command: Some("python".to_owned()),
/// };
/// assert_eq!(process.to_string(), "pid 4711 (ann: python) with 512 MiB");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// What it does there.
    pub kind: ProcessKind,
    /// Its number, as the driver gives it.
    pub pid: u32,
    /// Memory it uses on the device, in MiB.
    pub memory: Option<u32>,
    /// Whose it is, where that can be seen.
    pub user: Option<String>,
    /// Its program, where that can be seen. Without arguments, which may be nobody's business.
    pub command: Option<String>,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {}", self.pid)?;
        match (&self.user, &self.command) {
            (Some(user), Some(command)) => write!(f, " ({user}: {command})")?,
            (Some(word), None) | (None, Some(word)) => write!(f, " ({word})")?,
            (None, None) => {}
        }
        match self.memory {
            Some(memory) => write!(f, " with {memory} MiB"),
            None => Ok(()),
        }
    }
}
