//! What the victims are killed in.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ternlease::{Health, LeaseId, LeaseManager, LeaseState, Reason, Take, TicketState};

use super::{Operation, Others, lasting, make, open, sleeps};
use crate::trace::mark;

/// Over in a moment.
const BRIEF: Duration = Duration::from_millis(1);

/// Waits until the lease is over, and leaves it to others to note that: asking for its state takes no lock.
fn outlive(manager: &LeaseManager, lease: LeaseId) {
    while manager.state(lease) == Some(LeaseState::Held) {}
}

/// Only one thread of the victim does anything: the other one, which the library has, has come to rest.
fn let_keeper_sleep() {
    let sleeps = |task: &Path| {
        let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
        !read("comm").starts_with("tern-ticker") || read("stat").contains(") S ")
    };
    while !fs::read_dir("/proc/self/task").unwrap().all(|task| sleeps(&task.unwrap().path())) {
        std::thread::yield_now();
    }
}

/// Prepares, then does what it may be killed in.
fn act<T, A>(
    url: &str,
    prepare: impl FnOnce(&LeaseManager) -> T,
    act: impl FnOnce(&LeaseManager, T) -> A,
) {
    let manager = open(url);
    let_keeper_sleep();
    let prepared = prepare(&manager);
    mark();
    let _answer = act(&manager, prepared);
    mark();
}

const fn operation(name: &'static str, victim: fn(&str)) -> Operation {
    Operation { name, others: Others::Live, before: nothing, victim, then: nothing }
}

impl Operation {
    const fn others(self, others: Others) -> Self {
        Operation { others, ..self }
    }

    const fn before(self, before: fn(&LeaseManager)) -> Self {
        Operation { before, ..self }
    }

    const fn then(self, then: fn(&LeaseManager)) -> Self {
        Operation { then, ..self }
    }
}

fn nothing(_: &LeaseManager) {}

fn holds(manager: &LeaseManager, holder: &str, resource: &str) {
    manager.acquire(resource, holder, lasting()).unwrap();
}

fn waits(manager: &LeaseManager, holder: &str, resource: &str) {
    manager.claim(holder).of(&[resource]).ttl(lasting()).submit().unwrap();
}

/// Somebody has gpu0, and two wait for it.
fn one_and_two(manager: &LeaseManager) {
    holds(manager, "a", "gpu0");
    two(manager);
}

fn two(manager: &LeaseManager) {
    waits(manager, "b", "gpu0");
    waits(manager, "c", "gpu0");
}

fn two_sleep(manager: &LeaseManager) {
    sleeps(manager, "b", "gpu0");
    sleeps(manager, "c", "gpu0");
}

/// A lease that four others hang on, one of them deeper, and two that wait for what they have.
fn a_tree(manager: &LeaseManager) {
    let root = manager.claim("a").of(&["gpu0"]).try_now().unwrap();
    let child = |parent, name| manager.claim("a").of(&[name]).child_of(parent).try_now().unwrap();
    let middle = child(root, "gpu1");
    child(middle, "gpu2");
    child(root, "gpu3");
    child(root, "bulk");
    waits(manager, "b", "gpu0");
    manager.claim("c").of(&["gpu0", "gpu1", "gpu2"]).count(3).submit().unwrap();
}

/// Everything that a process can leave behind.
fn an_estate(manager: &LeaseManager) {
    holds(manager, "dead", "gpu0");
    manager.claim("dead").of(&["gpu1", "gpu2"]).count(2).try_now().unwrap();
    manager.claim("dead").of(&["bulk"]).take(Take::Shared).try_now().unwrap();
    two(manager);
}

fn of_a(manager: &LeaseManager) -> LeaseId {
    manager.held_by("a")[0]
}

fn own(manager: &LeaseManager) -> LeaseId {
    manager.acquire("gpu0", "victim", lasting()).unwrap()
}

fn releases_own(url: &str) {
    act(url, own, |m, lease| m.release(lease).unwrap());
}

fn comes(url: &str) {
    mark();
    let manager = open(url);
    mark();
    drop(manager);
}

fn leaves(url: &str) {
    let manager = make(url);
    let_keeper_sleep();
    holds(&manager, "victim", "gpu0");
    mark();
    drop(manager);
    mark();
}

pub const OPERATIONS: &[Operation] = &[
    operation("acquire what is free", |url| act(url, nothing, |m, ()| holds(m, "victim", "gpu0"))),
    operation("acquire by a new name", |url| act(url, nothing, |m, ()| holds(m, "victim", "new"))),
    operation("claim three of four", |url| {
        act(url, nothing, |m, ()| {
            let four = ["gpu0", "gpu1", "gpu2", "gpu3"];
            m.claim("victim").of(&four).count(3).ttl(lasting()).try_now().unwrap();
        })
    })
    .before(|m| holds(m, "a", "gpu1")),
    operation("claim that preempts", |url| {
        act(url, nothing, |m, ()| {
            m.claim("victim").of(&["gpu0"]).priority(1).preempt().submit().unwrap();
        })
    })
    .before(|m| {
        let claim = m.claim("a").of(&["gpu0"]).preemptible(Duration::ZERO);
        claim.try_now().unwrap();
    }),
    operation("take a place in line", |url| act(url, nothing, |m, ()| waits(m, "victim", "gpu0")))
        .before(|m| {
            holds(m, "a", "gpu0");
            waits(m, "b", "gpu0");
        }),
    operation("release, nobody waits", releases_own),
    operation("release, two wait", releases_own).then(two),
    operation("release, two sleep", releases_own).then(two_sleep),
    operation("release of another's, two sleep", |url| {
        act(url, of_a, |m, lease| m.release(lease).unwrap())
    })
    .before(|m| {
        holds(m, "a", "gpu0");
        two_sleep(m);
    }),
    operation("release of another's, two wait", |url| {
        act(url, of_a, |m, lease| m.release(lease).unwrap())
    })
    .before(one_and_two),
    operation("renew for another time", |url| {
        act(url, of_a, |m, lease| m.renew_for(lease, 2 * lasting()).unwrap())
    })
    .before(one_and_two),
    operation("renew without the lock", |url| act(url, of_a, |m, lease| m.renew(lease).unwrap()))
        .before(one_and_two),
    operation("revoke at once, two wait", |url| {
        act(url, of_a, |m, lease| m.revoke(lease).unwrap())
    })
    .before(one_and_two),
    operation("revoke with notice", |url| {
        act(url, of_a, |m, lease| {
            m.revoke_with(lease, Reason::NodeDrain, "operator", lasting()).unwrap()
        })
    })
    .before(one_and_two),
    operation("revoke a lease that others hang on", |url| {
        act(url, of_a, |m, lease| m.revoke(lease).unwrap())
    })
    .before(a_tree),
    operation("cancel a ticket", |url| {
        act(url, |m| m.tickets()[0].id, |m, ticket| m.cancel_ticket(ticket).unwrap())
    })
    .before(one_and_two),
    operation("collect what a ticket was granted", |url| {
        let wait = |m: &LeaseManager| {
            waits(m, "victim", "gpu0");
            m.tickets()[0].id
        };
        act(url, wait, |m, ticket| {
            let state = m.wait_for_ticket(ticket, None).unwrap();
            assert!(matches!(state, TicketState::Granted(_)));
        })
    })
    .before(|m| holds(m, "a", "gpu0"))
    .then(|m| {
        m.release(of_a(m)).unwrap();
        waits(m, "b", "gpu0");
    }),
    operation("hand to another process", |url| {
        let prepare = |m: &LeaseManager| {
            let processes = m.host().unwrap().processes;
            let other = processes.iter().find(|p| p.process != std::process::id()).unwrap();
            (own(m), other.process)
        };
        act(url, prepare, |m, (lease, process)| m.hand_to(lease, process).unwrap())
    })
    .then(two),
    operation("keep for children", |url| {
        act(url, own, |m, lease| m.keep_for_children(lease).unwrap())
    })
    .then(two),
    operation("listen to events", |url| act(url, nothing, |m, ()| m.events(u64::MAX)))
        .before(one_and_two),
    operation("declare", |url| act(url, nothing, |m, ()| m.declare("new", 4, 1000).unwrap())),
    operation("say that it is well, two wait", |url| {
        act(url, nothing, |m, ()| m.set_health("gpu0", Health::Healthy).unwrap())
    })
    .before(|m| {
        m.set_health("gpu0", Health::Draining).unwrap();
        two(m);
    }),
    operation("want", |url| act(url, nothing, |m, ()| m.want("a", "gpu1").unwrap())).before(|m| {
        holds(m, "a", "gpu0");
        holds(m, "b", "gpu1");
        m.want("b", "gpu0").unwrap();
    }),
    operation("want no more", |url| act(url, nothing, |m, ()| m.unwant("a", "gpu1").unwrap()))
        .before(|m| {
            holds(m, "a", "gpu0");
            holds(m, "b", "gpu1");
            m.want("b", "gpu0").unwrap();
            m.want("a", "gpu1").unwrap();
        }),
    operation("notice that a lease ran out", |url| {
        let prepare = |m: &LeaseManager| {
            outlive(m, m.acquire("gpu0", "victim", BRIEF).unwrap());
        };
        act(url, prepare, |m, ()| m.tick())
    }),
    operation("notice that a notice is over, two wait", |url| {
        let prepare = |m: &LeaseManager| {
            let lease = of_a(m);
            m.revoke_with(lease, Reason::NodeDrain, "operator", BRIEF).unwrap();
            outlive(m, lease);
        };
        act(url, prepare, |m, ()| m.tick())
    })
    .before(a_tree),
    operation("reap a dead process, two wait", |url| act(url, nothing, |m, ()| m.leases()))
        .others(Others::Die)
        .then(an_estate),
    operation("undo what a dead process had begun", |url| act(url, nothing, |m, ()| m.leases()))
        .others(Others::DieHalfway)
        .before(one_and_two)
        .then(|m| m.release(of_a(m)).unwrap()),
    operation("claim what is busy, but by a dead process", |url| {
        act(url, nothing, |m, ()| holds(m, "victim", "gpu0"))
    })
    .others(Others::Die)
    .then(|m| holds(m, "dead", "gpu0")),
    operation("come to a table that the dead have left", comes)
        .others(Others::Dead)
        .before(an_estate),
    operation("come to a table", comes).before(one_and_two),
    operation("make a table", comes).others(Others::None),
    operation("leave a table, as the last", leaves).others(Others::None),
    operation("leave a table", leaves).then(two),
];
