//! The library's client of etcd, for the bare transactions that the cluster home is compared with.
//!
//! It is private in the library, so its source is compiled here again. Another client would make
//! the ratios those of two clients. What it takes from its crate stands below; `bench.rs` puts it
//! where the client looks for it.

// The cluster home uses all of it and of what is below; a bare transaction does not.
#[allow(dead_code, unused_imports, clippy::needless_update)]
#[path = "../../src/home/cluster/etcd/mod.rs"]
pub mod client;

pub mod rt {
    use std::hash::{BuildHasher, Hasher, RandomState};

    /// As in the library.
    pub fn below(limit: u64) -> u64 {
        RandomState::new().build_hasher().finish() % limit
    }

    pub mod thread {
        use std::io;
        use std::thread::{Builder, JoinHandle};

        /// The library also blocks signals, of which a benchmark gets none.
        pub fn spawn(
            name: &str,
            work: impl FnOnce() + Send + 'static,
        ) -> io::Result<JoinHandle<()>> {
            Builder::new().name(name.into()).spawn(work)
        }
    }
}

pub mod home {
    /// What the client reports of a server, which no benchmark asks for.
    #[allow(dead_code)]
    #[derive(Default)]
    pub struct ClusterInfo {
        pub etcd_version: String,
        pub etcd_problems: Vec<String>,
        pub database_bytes: u64,
        pub database_used_bytes: u64,
        pub database_quota_bytes: Option<u64>,
        pub revisions: u64,
    }

    pub mod clock {
        /// The clock of sessions and watches, which a bare transaction has none of.
        pub enum Clock {
            Real,
        }

        impl Clock {
            /// In microseconds.
            pub fn now(&self) -> u64 {
                crate::measure::wall_now() / 1000
            }
        }
    }
}

pub mod table {
    pub type Time = u64;
}
