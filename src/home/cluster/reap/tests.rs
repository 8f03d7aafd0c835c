//! What comes of numbers that are used again.

use std::sync::Arc;

use super::*;
use crate::home::Home;
use crate::home::cluster::connect;
use crate::home::cluster::etcd::Config;
use crate::home::cluster::servers::Etcd;
use crate::table::query::HeldCount;
use crate::table::{Claim, FOREVER, LeaseState, Limits, Outcome, Placed, Settings};

fn open(etcd: &Etcd) -> Arc<ClusterHome> {
    let limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };
    let url = format!("etcd://{}/joined?timeout=5", etcd.authority());
    let config = Config::parse(&url).expect("it is a URL");
    let engine = connect(&config).expect("it connects");
    let settings = Settings { limits, ..Settings::default() };
    ClusterHome::open(engine, config, settings).expect("it opens")
}

/// Who is late to notice a death finds somebody else under the number of the dead: it comes to an end, and takes nothing from the living.
#[test]
fn a_number_that_is_used_again_is_not_given_back() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, other) = (open(&etcd), open(&etcd));
    let claim = Claim { ttl: FOREVER, ..Claim::one("one", &["gpu"]) };
    let Ok(Placed { outcome: Outcome::Granted(lease), .. }) = one.claim::<()>(&claim) else {
        panic!("it is free")
    };
    let part = &other.part;
    assert_ne!(one.owner(), other.owner());
    assert!(
        other
            .reap_clustered(part, part.absence_of(one.owner()), one.owner(), Reason::HolderDied)
            .is_err()
    );
    other.give_back(part, one.owner());
    assert!(part.hearing.take_gone().is_empty(), "it would be tried for ever");
    assert_eq!(one.state(lease), Some(LeaseState::Held));
    assert_eq!(other.query(&HeldCount {}), 1);
    one.close();
    other.close();
}
