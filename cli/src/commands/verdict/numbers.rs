//! Numbers as people write them on a command line.

use ternlease::Kind;
use ternlease::cost::Route;

use crate::text::units::parse_duration;

/// Reads `1000`, `1k`, `1.5M`, `2Gi`.
pub fn number(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit: u64 = match unit {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return Err(format!("{unit:?} is no unit; use k, M, G, T, Ki, Mi, Gi or Ti")),
    };
    let large = || format!("{text} is too large");
    let wrong = || format!("{text:?} is no number; expected one such as 1000, 1.5M or 2Gi");
    if digits.contains('.') {
        let product = digits.parse::<f64>().map_err(|_| wrong())? * unit as f64;
        // Every number below is one that u64 has.
        return if product < u64::MAX as f64 { Ok(product.round() as u64) } else { Err(large()) };
    }
    match digits.is_empty() {
        true => Err(wrong()),
        false => digits.parse().ok().and_then(|n: u64| n.checked_mul(unit)).ok_or_else(large),
    }
}

/// Reads so many numbers with commas between them, as in `1M,64,64M`.
pub fn numbers<const N: usize>(text: &str) -> Result<[u64; N], String> {
    let parts: Vec<u64> =
        text.split(',').map(|part| number(part.trim())).collect::<Result<_, _>>()?;
    let found = parts.len();
    parts.try_into().map_err(|_| format!("expected {N} numbers with commas between, not {found}"))
}

/// Reads `2ms,125M`.
pub fn route(text: &str) -> Result<Route, String> {
    let (round_trip, rate) = text
        .split_once(',')
        .ok_or("expected how long there and back, and bytes per second, as in 2ms,125M")?;
    let round_trip = parse_duration(round_trip.trim())?.as_nanos();
    let round_trip = u64::try_from(round_trip).map_err(|_| format!("{text} is too long"))?;
    Ok(Route::new(round_trip, number(rate.trim())?))
}

/// Reads the name of a kind of work.
pub fn kind(text: &str) -> Result<Kind, String> {
    let names = Kind::ALL.map(Kind::name).join(", ");
    Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| format!("there is no such kind of work; there are {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        for (text, expected) in [
            ("0", 0),
            ("1000", 1000),
            ("1k", 1000),
            ("1.5M", 1_500_000),
            ("2Gi", 2 << 30),
            ("0.1", 0),
            ("3T", 3_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(number(text), Ok(expected), "{text}");
        }
        for text in ["", "k", "-1", "1e9", "1x", "1.2.3", ".", "99999999999T", "18446744073709.6M"]
        {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(numbers("1M,64, 2k"), Ok([1_000_000, 64, 2000]));
        assert!(numbers::<3>("1,2").is_err() && numbers::<1>("1,2").is_err());
    }

    #[test]
    fn routes_and_kinds_are_read() {
        assert_eq!(route("2ms,125M"), Ok(Route::new(2_000_000, 125_000_000)));
        for text in ["", "2ms", "2ms,", "x,1", "99999999d,1"] {
            assert!(route(text).is_err(), "{text}");
        }
        assert_eq!(kind("sort"), Ok(Kind::Sort));
        assert!(kind("Sort").unwrap_err().contains("roofline"));
    }
}
