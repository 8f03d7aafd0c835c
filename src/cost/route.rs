//! [`Route`]: the way to where results may be fetched from.

use super::system::Network;
use super::time::{Estimate, mean_rate, nanoseconds, narrow};

/// The way to where results can be fetched from: how long asking takes, and how fast what is found arrives. Not a property of a card but of a
/// path; teach it with what real transfers took.
///
/// ```
/// use ternlease::cost::Route;
///
/// let mut route = Route::new(2_000_000, 125_000_000); // 2 ms there and back, 1 Gbit/s
/// assert_eq!(route.fetch(12_500_000).mid, 4_000_000 + 100_000_000);
/// route.record(12_500_000, 204_000_000); // one took twice as long
/// assert!(route.fetch(12_500_000).mid > 150_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// There and back, in nanoseconds.
    pub round_trip: u64,
    /// What arrives in a second, at most.
    pub bytes_per_second: u64,
    /// What it takes to know what to ask for, and to be told whether it is there, in nanoseconds: hashing of keys, queries.
    pub query: u64,
    /// Of a thousand queries, how many find something.
    pub hits_permille: u16,
    /// How far this is known.
    pub known: RouteKnown,
}

/// How far a [`Route`] is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteKnown {
    /// Somebody must try: nothing is known but that there is a network.
    Assumed,
    /// By what the network card says of itself, or by what somebody declared.
    Declared,
    /// By transfers.
    Learned,
}

/// What is assumed of a network of which nobody says anything: 1 Gbit/s, 2 ms there and back.
const ASSUMED_MBPS: u64 = 1000;
const ASSUMED_ROUND_TRIP: u64 = 2_000_000;

impl Route {
    /// A way of which somebody knows how long it is (there and back, in nanoseconds) and how wide, and that always finds what it looks for.
    pub const fn new(round_trip: u64, bytes_per_second: u64) -> Self {
        Route {
            round_trip,
            bytes_per_second,
            query: 0,
            hits_permille: 1000,
            known: RouteKnown::Declared,
        }
    }

    /// What can be said before the first transfer.
    pub(super) fn of(network: Network) -> Option<Self> {
        let by_card = |mbps: u64| Route::new(ASSUMED_ROUND_TRIP, mbps.saturating_mul(125_000));
        match network {
            Network::None => None,
            Network::Unknown => Some(Route { known: RouteKnown::Assumed, ..by_card(ASSUMED_MBPS) }),
            Network::Card(mbps) => Some(by_card(mbps)),
        }
    }

    /// How long fetching so many bytes takes once it is known that they are there: two round trips, and the bytes.
    pub const fn fetch(&self, bytes: u64) -> Estimate {
        let spread = match self.known {
            RouteKnown::Assumed => 4000,
            RouteKnown::Declared => 1700,
            RouteKnown::Learned => 1300,
        };
        let transfer = nanoseconds(bytes, self.bytes_per_second);
        Estimate::around(self.round_trip.saturating_mul(2).saturating_add(transfer), spread)
    }

    /// A transfer of so many bytes took so many nanoseconds. A short one tells how long the way is, a long one how wide: each
    /// counts for half of what is known afterwards.
    ///
    /// ```
    /// use ternlease::cost::{Route, RouteKnown};
    ///
    /// let mut route = Route::new(2_000_000, 125_000_000);
    /// route.record(1000, 100_000_000); // a thousand bytes took 0.1 s: the way is long
    /// assert!(route.round_trip > 20_000_000);
    /// assert_eq!(route.known, RouteKnown::Learned);
    /// ```
    pub fn record(&mut self, bytes: u64, took: u64) {
        if took == 0 || took == u64::MAX {
            return;
        }
        let trips = self.round_trip.saturating_mul(2);
        let transfer = nanoseconds(bytes, self.bytes_per_second);
        if transfer <= trips {
            let left = took.saturating_sub(transfer);
            self.round_trip = (self.round_trip / 2).saturating_add(left / 4);
        } else {
            let left = took.saturating_sub(trips).max(1);
            let seen = narrow(u128::from(bytes) * 1_000_000_000 / u128::from(left)).max(1);
            self.bytes_per_second = mean_rate(self.bytes_per_second.max(1), seen).max(1);
        }
        self.known = RouteKnown::Learned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_teach_how_long_and_how_wide_the_way_is() {
        let mut route = Route::of(Network::Unknown).unwrap();
        assert_eq!(route.known, RouteKnown::Assumed);
        // In truth 50 ms and 10 MB/s.
        let truth = Route::new(50_000_000, 10_000_000);
        for round in 0..40 {
            let bytes = if round % 2 == 0 { 1000 } else { 100_000_000 };
            route.record(bytes, truth.fetch(bytes).mid);
        }
        assert!((45_000_000..=55_000_000).contains(&route.round_trip), "{route:?}");
        assert!((9_000_000..=11_000_000).contains(&route.bytes_per_second), "{route:?}");
        assert_eq!(route.known, RouteKnown::Learned);
    }

    #[test]
    fn no_transfer_breaks_it() {
        let numbers = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let mut route = Route::new(0, 0);
        for bytes in numbers {
            for took in numbers {
                route.record(bytes, took);
                let Estimate { lo, mid, hi } = route.fetch(bytes);
                assert!(lo <= mid && mid <= hi);
            }
        }
        assert_eq!(Route::of(Network::None), None);
    }
}
