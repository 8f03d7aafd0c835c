//! Waiting without a thread: `claim(…).await` on a small executor, without any crate. A future that is dropped leaves
//! no trace, and an event loop that knows only file descriptors can wait for a ticket too.
//!
//! Run it: `cargo run --release --example claim_async`

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use ternlease::{Error, LeaseId, LeaseManager, Options, Reason};

type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Tasks that can go on, by number.
type Ready = Arc<Mutex<VecDeque<usize>>>;

struct Wakeup {
    task: usize,
    ready: Ready,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap().push_back(self.task);
    }
}

/// Runs the tasks until nothing can go on; how often each was polled, and how many are left.
fn run(tasks: Vec<Task<'_>>) -> (Vec<u32>, usize) {
    let ready: Ready = Arc::new(Mutex::new((0..tasks.len()).collect()));
    let mut tasks: Vec<Option<Task<'_>>> = tasks.into_iter().map(Some).collect();
    let mut polls = vec![0; tasks.len()];
    loop {
        let Some(number) = ready.lock().unwrap().pop_front() else { break };
        let Some(task) = &mut tasks[number] else { continue };
        let waker = Waker::from(Arc::new(Wakeup { task: number, ready: ready.clone() }));
        polls[number] += 1;
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            tasks[number] = None;
        }
    }
    (polls, tasks.into_iter().flatten().count())
}

/// Lets the other tasks run once.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

async fn work(manager: &LeaseManager, name: &str) {
    let lease = manager.claim(name).of(&["gpu0"]).await.expect("it is possible");
    println!("  {name:<6} has gpu0, {} in line", manager.pending_claimers());
    pause().await;
    manager.release(lease).expect("it is held");
}

/// Polls once, as a `select` that takes another branch would, and drops the future.
fn give_up(manager: &LeaseManager) {
    let mut claim = Box::pin(manager.claim("hasty").of(&["gpu0"]).into_future());
    assert!(claim.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    println!("  hasty waits, {} in line", manager.pending_claimers());
    drop(claim);
    println!("  hasty is gone, {} in line", manager.pending_claimers());
}

fn main() -> Result<(), Error> {
    let manager = LeaseManager::with(Options::ticks());

    println!("four tasks, one device");
    let names = ["ada", "ben", "cleo", "dan"];
    let (polls, left) = run(names.map(|name| Box::pin(work(&manager, name)) as Task<'_>).into());
    println!("  polls per task: {polls:?}");
    assert_eq!(left, 0);
    assert_eq!(polls, [2, 3, 3, 3], "nobody is woken for nothing");

    println!("\na future that is dropped");
    let lease = manager.claim("owner").of(&["gpu0"]).try_now()?;
    give_up(&manager);
    assert_eq!((manager.pending_claimers(), manager.count(Reason::Cancelled)), (0, 1));

    with_a_descriptor(&manager, lease)
}

/// An event loop watches the descriptor; it becomes readable once the ticket is decided.
#[cfg(target_os = "linux")]
fn with_a_descriptor(manager: &LeaseManager, lease: LeaseId) -> Result<(), Error> {
    use std::io::{ErrorKind, Read};

    println!("\na file descriptor for event loops");
    let ticket = manager.claim("poller").of(&["gpu0"]).enqueue()?;
    let mut readable = std::fs::File::from(ticket.fd()?);
    let before = readable.read(&mut [0; 8]).map_err(|error| error.kind());
    assert_eq!(before, Err(ErrorKind::WouldBlock));
    manager.release(lease)?;
    assert_eq!(readable.read(&mut [0; 8]).map_err(|error| error.kind()), Ok(8));
    let lease = ticket.wait()?; // decided: does not block
    println!("  readable after the release, and not before");
    assert_eq!(manager.held_by("poller"), [lease]);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn with_a_descriptor(manager: &LeaseManager, lease: LeaseId) -> Result<(), Error> {
    manager.release(lease)
}
