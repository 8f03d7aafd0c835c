//! The check of histories that the tests of the cluster home under faults rely on: it accepts what is right, and finds what it is for.
#![cfg(target_os = "linux")]

mod cluster_history;

use cluster_history::{Asked, Call, History, Told, check};

/// A call of a client for `gpu0`, from when to when.
fn call(client: u64, called: u64, back: u64, asked: Asked, told: Told) -> Call {
    Call { client, resource: "gpu0".to_owned(), asked, told, called, back }
}

fn checked(calls: &[Call]) -> Result<(), String> {
    check(&History { calls: calls.to_vec() })
}

/// It is wrong, and the words say how.
#[track_caller]
fn wrong(calls: &[Call], word: &str) {
    let why = checked(calls).expect_err("it is wrong");
    assert!(why.contains(word), "{why}");
}

const NO_ORDER: &str = "no order explains it";

use Asked::{Collect, Join, Look, Release, Renew, Revoke, Try, Wait};
use Told::{Busy, Done, Held, Joined, Lease, Lost, NotHeld, Refused, Unknown};

#[test]
fn what_is_right_is_accepted() {
    let calls = [
        call(1, 0, 10, Try, Lease(5)),
        call(2, 12, 14, Try, Busy),
        call(2, 15, 60, Wait, Lease(7)),
        call(1, 20, 22, Look(5), Held),
        call(1, 24, 26, Renew(5), Done),
        call(3, 28, 30, Join(1), Joined),
        call(1, 40, 50, Release(5), Done),
        call(1, 52, 54, Renew(5), NotHeld),
        call(2, 70, 80, Release(7), Done),
        call(3, 31, 90, Collect(1), Lease(8)),
        call(1, 100, 110, Revoke(8), Done),
        call(3, 120, 122, Look(8), Held),
        call(1, 130, 140, Wait, Refused),
        call(1, 130, 140, Try, Lease(9)),
    ];
    assert_eq!(checked(&calls), Ok(()));
}

#[test]
fn two_holders_are_found() {
    let both = [call(1, 0, 10, Try, Lease(5)), call(2, 20, 30, Try, Lease(6))];
    wrong(&both, NO_ORDER);
    // Whoever gives it back too late has it at the same time as the other.
    let late = [&both[..], &[call(1, 40, 50, Release(5), Done)]].concat();
    wrong(&late, NO_ORDER);
    // And whoever believes to have it while the other has it.
    let calls = [
        call(1, 0, 10, Try, Lease(5)),
        call(1, 12, 14, Look(5), Lost),
        call(2, 20, 30, Try, Lease(6)),
    ];
    assert_eq!(checked(&calls), Ok(()));
    let believes = [call(1, 0, 10, Try, Lease(5)), call(2, 20, 30, Try, Lease(6))];
    let believes = [&believes[..], &[call(1, 35, 36, Look(5), Held)]].concat();
    let lost = [&believes[..], &[call(1, 40, 41, Look(5), Lost)]].concat();
    wrong(&lost, NO_ORDER);
    // Unless it was revoked, of which it may not have heard.
    let revoked = [&believes[..], &[call(3, 12, 18, Revoke(5), Done)]].concat();
    assert_eq!(checked(&revoked), Ok(()));
}

#[test]
fn ids_that_shrink_are_found() {
    let calls = [
        call(1, 0, 10, Try, Lease(7)),
        call(1, 20, 30, Release(7), Done),
        call(2, 40, 50, Try, Lease(6)),
    ];
    wrong(&calls, "after 7 was granted");
    let mut elsewhere = calls.clone();
    elsewhere[2].resource = "gpu1".to_owned();
    wrong(&elsewhere, "after 7 was granted");
    // Where calls overlap, no call tells: but the order of the holders does.
    let calls = [
        call(1, 0, 100, Wait, Lease(7)),
        call(2, 0, 100, Wait, Lease(6)),
        call(1, 110, 120, Release(7), Done),
    ];
    wrong(&calls, NO_ORDER);
    wrong(&[call(1, 0, 10, Try, Lease(7)), call(2, 0, 10, Try, Lease(7))], "granted twice");
}

#[test]
fn overtaking_is_found() {
    let line = |first: u64, second: u64| {
        [
            call(1, 0, 10, Try, Lease(5)),
            call(2, 20, 30, Join(1), Joined),
            call(3, 40, 50, Join(2), Joined),
            call(1, 60, 70, Release(5), Done),
            call(2, 72, 200, Collect(1), Lease(first)),
            call(3, 72, 200, Collect(2), Lease(second)),
            call(2, 210, 215, Release(first), Unknown),
            call(3, 210, 215, Release(second), Unknown),
            call(2, 80, 90, Look(first), Lost),
            call(3, 80, 90, Look(second), Lost),
        ]
    };
    assert_eq!(checked(&line(6, 7)), Ok(()));
    wrong(&line(7, 6), NO_ORDER);
    // Nor may somebody pass who does not wait.
    let calls = [
        call(1, 0, 10, Try, Lease(5)),
        call(2, 20, 30, Join(1), Joined),
        call(1, 40, 50, Release(5), Done),
        call(3, 60, 70, Try, Lease(6)),
        call(3, 80, 90, Release(6), Done),
        call(2, 35, 99, Collect(1), Lease(7)),
    ];
    wrong(&calls, NO_ORDER);
}

#[test]
fn answers_that_nothing_explains_are_found() {
    wrong(&[call(1, 0, 10, Try, Busy)], NO_ORDER);
    wrong(&[call(1, 0, 10, Wait, Refused)], NO_ORDER);
    let lease = call(1, 0, 10, Try, Lease(5));
    wrong(&[lease.clone(), call(1, 20, 30, Release(5), NotHeld)], NO_ORDER);
    let twice = [call(1, 20, 30, Release(5), Done), call(2, 40, 50, Revoke(5), Done)];
    wrong(&[std::slice::from_ref(&lease), &twice[..]].concat(), NO_ORDER);
    let back = [call(1, 20, 30, Look(5), Lost), call(1, 40, 50, Look(5), Held)];
    wrong(&[&[lease][..], &back[..]].concat(), "over before");
}

/// What nobody knows may have been done at any later time, or never.
#[test]
fn what_is_unknown_explains_what_it_can() {
    let ghost = call(1, 0, 10, Try, Unknown);
    assert_eq!(checked(&[ghost.clone(), call(2, 500, 510, Try, Busy)]), Ok(()));
    assert_eq!(checked(&[ghost.clone(), call(2, 500, 510, Wait, Refused)]), Ok(()));
    assert_eq!(checked(&[ghost.clone(), call(2, 500, 510, Try, Lease(5))]), Ok(()));
    let before = call(2, 500, 510, Try, Busy);
    wrong(&[before, call(1, 600, u64::MAX, Wait, Unknown)], NO_ORDER);

    let given_back = [call(1, 0, 10, Try, Lease(5)), call(1, 20, 30, Release(5), Unknown)];
    for told in [Busy, Lease(6)] {
        assert_eq!(checked(&[&given_back[..], &[call(2, 500, 510, Try, told)]].concat()), Ok(()));
    }
    let twice = [call(2, 40, 50, Try, Lease(6)), call(2, 60, 70, Try, Busy)];
    assert_eq!(checked(&[&given_back[..], &twice[..]].concat()), Ok(()));
    wrong(&[&given_back[..], &[call(1, 40, 45, Try, Lease(4))]].concat(), "after 5");
}

/// The search comes to an end where many calls overlap and nothing is right, too.
#[test]
fn a_wrong_history_with_many_at_once_is_found_in_time() {
    let mut calls = Vec::new();
    for round in 0..20u64 {
        let begun = round * 1000;
        for client in 0..6 {
            let id = 1 + round * 6 + client;
            calls.push(call(client, begun, begun + 900, Wait, Lease(id)));
            calls.push(call(client, begun, begun + 990, Release(id), Done));
            calls.push(call(client, begun, begun + 990, Revoke(id), Unknown));
        }
        calls.push(call(9, begun, begun + 10, Try, Unknown));
    }
    assert_eq!(checked(&calls), Ok(()));
    let last = calls.last().unwrap().called;
    calls.push(call(1, last + 2000, last + 2010, Try, Lease(5000)));
    calls.push(call(2, last + 2020, last + 2030, Try, Lease(5001)));
    wrong(&calls, NO_ORDER);
}
