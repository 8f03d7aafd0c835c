//! A hundred at once on four devices.
#![allow(missing_docs)]

mod common;

use std::collections::HashMap;
use std::process::Stdio;

use common::{Directory, Pool, errors};
use ternlease::What;

#[test]
fn a_hundred_at_once_run_once_each_in_order_and_never_two_on_a_device() {
    const CROWD: usize = 100;
    let pool = Pool::new(4);
    let directory = Directory::new("crowd");
    // A file that must not exist yet says that somebody is on the device.
    let script = "
        set -C
        taken=\"$0/device-$CUDA_VISIBLE_DEVICES\"
        : >\"$taken\" || exit 99
        echo ran >>\"$0/job-$1\"
        rm \"$taken\"
    ";
    let place = directory.0.to_str().unwrap();
    let numbers: Vec<String> = (0..CROWD).map(|number| number.to_string()).collect();
    let children: Vec<_> = numbers
        .iter()
        .map(|number| {
            let words = ["run", "-q", "--", "sh", "-c", script, place, number];
            let mut command = pool.command(&words);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    }
    for number in &numbers {
        let ran = std::fs::read_to_string(directory.join(format!("job-{number}"))).unwrap();
        assert_eq!(ran, "ran\n");
    }

    // The history says the same, and in which order.
    let manager = pool.manager();
    let (events, missed) = manager.events_since(0);
    assert_eq!(missed, 0);
    let (mut came, mut served, mut at_once) = (Vec::new(), Vec::new(), 0);
    let mut on_device: HashMap<String, u64> = HashMap::new();
    for event in &events {
        match event.what {
            What::Queued { ticket } => came.push(ticket),
            What::Granted { lease, ticket } => {
                match ticket {
                    Some(ticket) => served.push(ticket),
                    None => at_once += 1,
                }
                for taken in manager.lease(lease).unwrap().takes {
                    assert_eq!(on_device.insert(taken.resource, lease.0), None, "two on one");
                }
            }
            What::Ended { lease, .. } => on_device.retain(|_, on| *on != lease.0),
            _ => {}
        }
    }
    assert_eq!(came, served, "in the order in which they came");
    assert_eq!(served.len() + at_once, CROWD);
    assert_eq!((manager.active_count(), manager.pending_claimers()), (0, 0));
    manager.verify().unwrap();
}
