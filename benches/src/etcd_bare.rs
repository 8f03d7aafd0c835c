//! A bare transaction: one compare and one put, by the client that the cluster home uses.

use std::sync::Arc;
use std::time::Duration;

use crate::etcd_client::client::{Compare, Config, Engine, Op, Txn};
use crate::host_place::Problem;

/// As large as an entry of the log.
const VALUE: [u8; 200] = [b'x'; 200];

const TIMEOUT: Duration = Duration::from_secs(5);

/// One connection, which threads may share as those of a process share a member.
pub fn connect(endpoint: &str) -> Result<Arc<Engine>, Problem> {
    let config = Config::parse(&format!("etcd://{endpoint}/bare"))?;
    Ok(Arc::new(Engine::connect(&config)?))
}

/// A key that no other client changes.
pub struct Bare {
    engine: Arc<Engine>,
    key: Vec<u8>,
    /// Of the last change of the key; 0 before the first one.
    revision: i64,
}

impl Bare {
    /// The name is no other key's.
    pub fn new(engine: &Arc<Engine>, name: &str) -> Bare {
        let key = format!("/bare/{}/{name}", std::process::id()).into_bytes();
        Bare { engine: engine.clone(), key, revision: 0 }
    }

    pub fn txn(&mut self) -> Result<(), Problem> {
        let put = Op::Put { key: self.key.clone(), value: VALUE.into(), lease: 0, previous: false };
        let txn = Txn {
            compares: vec![Compare::Modified(self.key.clone(), self.revision)],
            then: vec![put],
            otherwise: Vec::new(),
        };
        let told = self.engine.txn(txn, TIMEOUT)?;
        if !told.succeeded {
            return Err("somebody else has changed the key of the bare transaction".into());
        }
        self.revision = told.revision;
        Ok(())
    }
}
