//! Chance, so that many processes do not do the same thing at the same time, and waits that grow.

use std::time::Duration;

pub(super) use crate::rt::below;

/// Between half of a time and all of it.
pub(crate) fn half_to_whole(time: Duration) -> Duration {
    let half = time.as_micros() as u64 / 2;
    Duration::from_micros(half + below(half + 1))
}

/// How long to wait between attempts: twice as long each time, up to a limit, less up to a half by chance.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const LAST: Duration = Duration::from_secs(2);

    pub fn new() -> Self {
        Backoff { next: Self::FIRST }
    }

    pub fn next(&mut self) -> Duration {
        let now = self.next;
        self.next = (now * 2).min(Self::LAST);
        half_to_whole(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_within_its_limits() {
        let times: Vec<_> = (0..1000).map(|_| half_to_whole(Duration::from_secs(2))).collect();
        assert!(times.iter().all(|time| (1000..=2000).contains(&time.as_millis())));
        assert!(times.iter().any(|time| time.as_millis() < 1300));
        assert!(times.iter().any(|time| time.as_millis() > 1700));
        assert_eq!(half_to_whole(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn waits_grow_up_to_a_limit() {
        let mut backoff = Backoff::new();
        assert!(backoff.next() <= Backoff::FIRST);
        let last = (0..20).map(|_| backoff.next()).last().unwrap();
        assert!(last >= Backoff::LAST / 2 && last <= Backoff::LAST);
    }
}
