//! From the time of a table, which counts from the start of the machine, to the time on the wall.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ternlease::{LeaseManager, Time};

/// Both clocks, read at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// By the table: microseconds.
    pub now: Time,
    /// On the wall: microseconds since 1970.
    wall: i64,
}

impl Clock {
    /// Reads both.
    pub fn of(manager: &LeaseManager) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        Clock { now: manager.tick_count(), wall }
    }

    /// How long ago something was; nothing is in the future.
    pub fn age(&self, at: Time) -> Duration {
        Duration::from_micros(self.now.saturating_sub(at))
    }

    /// Microseconds since 1970, by what the wall says now: whoever sets the clock moves the past as well.
    pub fn since_1970(&self, at: Time) -> i64 {
        let from_now = i128::from(at) - i128::from(self.now);
        let then = i128::from(self.wall) + from_now;
        i64::try_from(then).unwrap_or(if then < 0 { i64::MIN } else { i64::MAX })
    }

    /// `14:02:59`, where the reader is.
    pub fn time_of_day(&self, at: Time) -> String {
        let [_, _, _, hour, minute, second] = local(self.since_1970(at));
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    /// `2025-03-01 14:02:59`, where the reader is.
    pub fn date_and_time(&self, at: Time) -> String {
        let [year, month, day, ..] = local(self.since_1970(at));
        format!("{year:04}-{month:02}-{day:02} {}", self.time_of_day(at))
    }

    /// `2025-03-01T13:02:59.000123Z`: for programs, the same everywhere.
    pub fn iso(&self, at: Time) -> String {
        let micros = self.since_1970(at);
        let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let (year, month, day) = date(days);
        let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
    }
}

const DAY: i64 = 86_400_000_000;

/// Year, month, day, hour, minute and second, where the reader is; all zero for times that the system has no name for.
fn local(micros: i64) -> [i32; 6] {
    let seconds = micros.div_euclid(1_000_000) as libc::time_t;
    // SAFETY: only numbers and a pointer that may be null; zeros are a value of it.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: reads one number and writes to a place of the right type.
    if unsafe { libc::localtime_r(&seconds, &mut parts) }.is_null() {
        return [0; 6];
    }
    let libc::tm { tm_year, tm_mon, tm_mday, tm_hour, tm_min, tm_sec, .. } = parts;
    [tm_year.saturating_add(1900), tm_mon + 1, tm_mday, tm_hour, tm_min, tm_sec]
}

/// Year, month and day of the calendar that all use, by days since 1970. Counted in eras of 400 years that begin in March, so that
/// leap days come last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (20_088, (2024, 12, 31)),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }

    #[test]
    fn times_go_back_from_now() {
        let clock = Clock { now: 5_000_000, wall: 1_700_000_000_000_000 };
        assert_eq!(clock.iso(5_000_000), "2023-11-14T22:13:20.000000Z");
        assert_eq!(clock.iso(1_500_000), "2023-11-14T22:13:16.500000Z");
        assert_eq!(clock.age(1_500_000), Duration::from_millis(3500));
        assert_eq!(clock.age(9_000_000), Duration::ZERO);
        assert_eq!(clock.time_of_day(0).len(), "14:02:59".len());
    }
}
