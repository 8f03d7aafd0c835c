//! Sizes and lengths of time, as people write and read them.

use std::time::Duration;

/// Reads `90`, `90s`, `1.5h`, `2d`, `250ms`. As for `sleep` and `timeout`, a number alone is in seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let expected = "expected a time such as 90s, 5m or 1.5h; a number alone is in seconds";
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ if number.is_empty() => return Err(expected.to_owned()),
        _ => {
            return Err(format!(
                "{unit:?} is not a unit of time: use ms, s, m, h or d; {expected}"
            ));
        }
    };
    let number: f64 = number.parse().map_err(|_| expected.to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected.to_owned())
}

/// As [`parse_duration`], for how often to do something: a shorter interval would only keep the machine busy.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        interval if interval < SHORTEST_INTERVAL => {
            Err("the interval is too short: use at least 50ms".to_owned())
        }
        interval => Ok(interval),
    }
}

const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// Reads `20G`, `20GiB`, `512M`, `40960`: MiB if nothing else is said. In MiB, rounded up.
pub fn parse_mebibytes(text: &str) -> Result<u32, String> {
    let (number, unit) = split(text);
    let mebibytes = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "k" => 1.0 / 1024.0,
        "" | "m" => 1.0,
        "g" => 1024.0,
        "t" => 1_048_576.0,
        _ => return Err(format!("{unit:?} is no unit of memory; use M, G or T")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a size, as in 20G".to_owned())?;
    match (number * mebibytes).ceil() {
        size if (0.0..=f64::from(u32::MAX)).contains(&size) => Ok(size as u32),
        _ => Err("that is no size of memory".to_owned()),
    }
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// `340ms`, `12s`, `3m 20s`, `5h 2m`, `3d 4h`: two units at most.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3600 => pair(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => pair(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// As [`duration`], for the time that is left: rounded up, as no time is left only at the end.
pub fn remaining(time: Duration) -> String {
    let unit = if time < Duration::from_secs(1) { 1_000_000 } else { 1_000_000_000 };
    let nanoseconds = time.as_nanos().div_ceil(unit).saturating_mul(unit);
    duration(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit} {small}{small_unit}"),
    }
}

/// `80 GiB`, `512 MiB`.
pub fn mebibytes(size: u32) -> String {
    match size {
        0..10_240 => format!("{size} MiB"),
        _ => format!("{} GiB", (f64::from(size) / 1024.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read() {
        for (text, milliseconds) in [
            ("90", 90_000),
            ("250ms", 250),
            ("1.5h", 5_400_000),
            ("2d", 172_800_000),
            ("3m", 180_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "h", "5x", "-3", "1e99", "..", "99999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, size) in [
            ("512", 512),
            ("20G", 20_480),
            ("20GiB", 20_480),
            ("1.5g", 1536),
            ("1T", 1 << 20),
            ("1K", 1),
        ] {
            assert_eq!(parse_mebibytes(text), Ok(size), "{text}");
        }
        for text in ["", "G", "5X", "-1", "99999999999T"] {
            assert!(parse_mebibytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn both_are_written() {
        for (milliseconds, text) in [
            (340, "340ms"),
            (12_400, "12s"),
            (200_000, "3m 20s"),
            (18_120_000, "5h 2m"),
            (274_000_000, "3d 4h"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), text);
        }
        for (microseconds, text) in
            [(2_999_500, "3s"), (59_999_999, "1m"), (999_900, "1s"), (1_200, "2ms"), (0, "0ms")]
        {
            assert_eq!(remaining(Duration::from_micros(microseconds)), text);
        }
        assert_eq!((mebibytes(512).as_str(), mebibytes(81_920).as_str()), ("512 MiB", "80 GiB"));
    }
}
