//! What this process has seen of a cluster, so that it notices when another one answers, or the
//! same one after it was restored from an older backup.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::error::EngineError;
use super::messages::Header;

/// Why answers are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// Another cluster answers.
    Cluster,
    /// The revision was `seen`, and an answer has less.
    Revision { seen: i64, found: i64 },
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    /// 0 until the first answer.
    cluster: AtomicU64,
    revision: AtomicI64,
    /// Final: a restored cluster may have more revisions later.
    replaced: OnceLock<Replaced>,
}

impl Seen {
    /// The highest revision so far: an answer to what is asked from now on has at least this one.
    pub fn revision(&self) -> i64 {
        self.revision.load(Ordering::Acquire)
    }

    pub fn replaced(&self) -> Option<Replaced> {
        self.replaced.get().copied()
    }

    /// Takes note of an answer that may be older than others, as those of a server that follows the
    /// leader.
    pub fn observe(&self, header: Option<&Header>) -> Result<(), EngineError> {
        self.accept(header, 0)
    }

    /// Takes note of an answer that must be at least as new as the revision `least`.
    pub fn accept(&self, header: Option<&Header>, least: i64) -> Result<(), EngineError> {
        if let Some(header) = header.filter(|header| header.cluster_id != 0) {
            let cluster = header.cluster_id;
            let first = (Ordering::AcqRel, Ordering::Acquire);
            let before = self.cluster.compare_exchange(0, cluster, first.0, first.1);
            let found = header.revision;
            let replaced = match before {
                Err(known) if known != cluster => Some(Replaced::Cluster),
                _ if found < least => Some(Replaced::Revision { seen: least, found }),
                _ => None,
            };
            match replaced {
                // Keep the first error.
                Some(replaced) => drop(self.replaced.set(replaced)),
                None => drop(self.revision.fetch_max(found, Ordering::AcqRel)),
            }
        }
        match self.replaced() {
            None => Ok(()),
            Some(Replaced::Cluster) => {
                Err(EngineError::Refused("another cluster answers than before".to_owned()))
            }
            Some(Replaced::Revision { seen, found }) => {
                let why = format!("the cluster went back from revision {seen} to {found}");
                Err(EngineError::Refused(why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cluster_id: u64, revision: i64) -> Header {
        Header { cluster_id, revision, ..Header::default() }
    }

    #[test]
    fn smaller_revision_than_required_is_final() {
        let seen = Seen::default();
        assert!(seen.accept(Some(&header(7, 10)), 0).is_ok());
        assert!(seen.observe(Some(&header(7, 8))).is_ok());
        assert_eq!(seen.revision(), 10);
        assert!(seen.accept(Some(&header(7, 9)), 10).is_err());
        assert!(seen.accept(Some(&header(7, 99)), 10).is_err());
        assert_eq!(seen.replaced(), Some(Replaced::Revision { seen: 10, found: 9 }));
    }

    #[test]
    fn other_cluster_is_refused() {
        let seen = Seen::default();
        assert!(seen.observe(Some(&header(7, 10))).is_ok());
        assert!(seen.observe(Some(&header(8, 99))).is_err());
        assert_eq!((seen.replaced(), seen.revision()), (Some(Replaced::Cluster), 10));
    }
}
