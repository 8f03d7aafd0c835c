//! Where a scenario is played: a home, and a clock.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone)]
pub enum Home {
    /// One process that counts time in ticks.
    Ticks,
    Process,
    Host,
    /// On these servers.
    #[cfg(feature = "cluster")]
    Etcd(String),
}

impl Home {
    /// As scenarios name it.
    pub fn name(&self) -> &'static str {
        match self {
            Home::Ticks => "ticks",
            Home::Process => "process",
            Home::Host => "host",
            #[cfg(feature = "cluster")]
            Home::Etcd(_) => "etcd",
        }
    }

    pub fn has_ticks(&self) -> bool {
        matches!(self, Home::Ticks)
    }

    /// A table of its own, which nobody has used yet.
    pub fn new_table(&self) -> Table {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tern-conformance-{}-{number}", process::id());
        match self {
            Home::Ticks | Home::Process => Table { url: "process:".to_owned(), file: None },
            Home::Host => {
                let folders = ["/dev/shm", "/tmp"];
                let folder = folders.into_iter().find(|it| Path::new(it).is_dir()).unwrap();
                let file = format!("{folder}/{name}");
                Table { url: format!("host:{file}"), file: Some(file) }
            }
            #[cfg(feature = "cluster")]
            Home::Etcd(servers) => Table { url: format!("etcd://{servers}/{name}"), file: None },
        }
    }
}

/// A table, whose file goes with it. What etcd has of it goes with the server.
pub struct Table {
    pub url: String,
    file: Option<String>,
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }
}
