//! A time axis: where its marks are, and what they say.

use ternlease::Time;

use super::history::History;

/// Between two marks, in microseconds: what people count in.
const STEPS: [i64; 29] = {
    const MS: i64 = 1000;
    const S: i64 = 1000 * MS;
    const M: i64 = 60 * S;
    const H: i64 = 60 * M;
    const D: i64 = 24 * H;
    [
        MS,
        2 * MS,
        5 * MS,
        10 * MS,
        20 * MS,
        50 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        S,
        2 * S,
        5 * S,
        10 * S,
        15 * S,
        30 * S,
        M,
        2 * M,
        5 * M,
        10 * M,
        15 * M,
        30 * M,
        H,
        2 * H,
        3 * H,
        6 * H,
        12 * H,
        D,
        7 * D,
        28 * D,
    ]
};

/// At most so many marks, with what they say.
pub fn marks(history: &History, most: usize) -> Vec<(Time, String)> {
    let span = i64::try_from(history.to.saturating_sub(history.from)).unwrap_or(i64::MAX);
    let enough = |step: &i64| span / step < most.max(1) as i64;
    let step = STEPS.into_iter().find(enough).unwrap_or(span.max(1));
    // Round times of the day, and not of the table.
    let begin = history.clock.since_1970(history.from);
    let first = begin.div_euclid(step).saturating_add(1).saturating_mul(step);
    let mut found = Vec::new();
    let mut offset = first.saturating_sub(begin);
    while (0..=span).contains(&offset) && found.len() <= most {
        let at = history.from.saturating_add(offset as Time);
        found.push((at, label(history, at, step)));
        offset = offset.saturating_add(step);
    }
    found
}

fn label(history: &History, at: Time, step: i64) -> String {
    let clock = &history.clock;
    match step {
        ..1_000_000 => {
            let fraction = clock.since_1970(at).rem_euclid(1_000_000) / 1000;
            format!("{}.{fraction:03}", clock.time_of_day(at))
        }
        1_000_000..60_000_000 => clock.time_of_day(at),
        60_000_000..43_200_000_000 => clock.time_of_day(at).chars().take(5).collect(),
        // Without the year and the seconds.
        _ => clock.date_and_time(at).chars().skip(5).take(11).collect(),
    }
}
