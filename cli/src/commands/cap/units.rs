//! Large and small numbers, with units.

/// `2.00 G`, `125 M`, `0`: in steps of a thousand, three digits.
pub fn si(value: f64) -> String {
    scaled(value, 1000.0, &["", "k", "M", "G", "T", "P", "E"])
}

/// `10.0 MiB`, `32 B`: in steps of 1024, three digits.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    // What would be written as 1000 or 1024 belongs to the next unit.
    while value.abs() + 0.5 >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = match value.abs() {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", units[unit]).trim_end().to_owned()
}

/// `+0.123`, `-0.5`, `+inf`: at most three digits behind the point, and no more than needed.
pub fn score(score: Option<f64>) -> String {
    match score {
        None => "-".to_owned(),
        Some(score) if score.is_infinite() => if score > 0.0 { "+inf" } else { "-inf" }.to_owned(),
        Some(score) => {
            let text = format!("{score:+.3}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            if text == "-0" || text == "+0" { "0".to_owned() } else { text.to_owned() }
        }
    }
}

/// `0.412 s`, `12.3 ms`, `4.10 us`: three digits.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s.is_infinite() => return "never".to_owned(),
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s if s > 0.0 => (s * 1e6, "us"),
        s => (s, "s"),
    };
    let digits = match value {
        0.0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        for (value, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (999.6, "1.00 k"),
            (200_000_000.0, "200 M"),
            (2e9, "2.00 G"),
            (45.23e9, "45.2 G"),
            (u64::MAX as f64, "18.4 E"),
        ] {
            assert_eq!(si(value), text);
        }
        for (value, text) in
            [(32.0, "32 B"), (10_485_760.0, "10.0 MiB"), (1e9, "954 MiB"), (2e12, "1.82 TiB")]
        {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn scores_have_a_sign() {
        for (value, text) in [
            (Some(0.1234), "+0.123"),
            (Some(-0.5), "-0.5"),
            (Some(f64::INFINITY), "+inf"),
            (Some(f64::NEG_INFINITY), "-inf"),
            (Some(-0.0001), "0"),
            (Some(12.0), "+12"),
            (None, "-"),
        ] {
            assert_eq!(score(value), text);
        }
    }

    #[test]
    fn lengths_of_time_have_three_digits() {
        for (value, text) in
            [(0.0, "0 s"), (0.012_34, "12.3 ms"), (4.1e-6, "4.10 us"), (123.4, "123 s")]
        {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(seconds(f64::INFINITY), "never");
    }
}
