//! Spans of time and numbers as headers write them. Floor 3: rules.

use std::time::Duration;

/// Nanoseconds in a second, and in the units of Go.
const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 8] = [
    ("h", 3_600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];

/// `2` or `0.5`: no sign, no exponent, no unit. Rounded up to the next nanosecond; too large a number is
/// the longest span there is, 584 years.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    of(text, SECOND)
}

/// A whole number of them, with the same end.
pub(super) fn of_seconds(seconds: u64) -> Duration {
    Duration::from_nanos(seconds.saturating_mul(SECOND))
}

/// Seconds, or a duration of Go.
pub(super) fn read(text: &str) -> Option<Duration> {
    seconds(text).or_else(|| go(text))
}

/// The same as [`seconds`] in milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    of(text, 1_000_000)
}

/// `00:00:00.033`: hours, minutes and seconds, as .NET prints a `TimeSpan` of less than a day.
pub(super) fn clock(text: &str) -> Option<Duration> {
    let mut parts = text.split(':');
    let hours = of(digits(parts.next()?)?, 3_600 * SECOND)?;
    let minutes = of(digits(parts.next()?)?, 60 * SECOND)?;
    let seconds = seconds(parts.next()?)?;
    parts.next().is_none().then_some(())?;
    Some(sum(sum(hours, minutes), seconds))
}

/// `1h2m3.5s`, `12ms`: a duration as Go writes it, `time.Duration.String`. Each number has its unit.
pub(super) fn go(text: &str) -> Option<Duration> {
    let (span, rest) = go_first(text)?;
    rest.is_empty().then_some(span)
}

/// The duration of Go that `text` begins with, and what comes behind it.
pub(super) fn go_first(text: &str) -> Option<(Duration, &str)> {
    let mut all = None;
    let mut rest = text;
    while let Some((span, after)) = number_with_unit(rest) {
        all = Some(sum(all.unwrap_or_default(), span));
        rest = after;
    }
    Some((all?, rest))
}

fn number_with_unit(text: &str) -> Option<(Duration, &str)> {
    let (number, rest) = number_first(text);
    // Letters of other words are no unit: `5 minutes` is not five metres.
    let end = rest.find(|letter: char| !letter.is_alphabetic());
    let (unit, after) = rest.split_at(end.unwrap_or(rest.len()));
    let (_, nanos) = UNITS.iter().find(|(word, _)| *word == unit)?;
    Some((of(number, *nanos)?, after))
}

/// The digits and points that `text` begins with, and what comes behind them. A point at the end is of
/// the sentence.
pub(super) fn number_first(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let number = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    text.split_at(number.len())
}

/// A plain number of so many nanoseconds each (at most a day), rounded up.
pub(super) fn of(text: &str, unit: u64) -> Option<Duration> {
    /// More digits behind the point say only whether there is a rest: 10^18 times the longest unit fits.
    const PLACES: usize = 18;
    let (whole, part) = match text.split_once('.') {
        Some((whole, part)) => (digits(whole)?, digits(part)?),
        None => (digits(text)?, ""),
    };
    let (part, rest) = part.split_at(part.len().min(PLACES));
    let scale = 10_u128.pow(u32::try_from(part.len()).expect("at most 18"));
    let nanos = u128::from(number(part)) * u128::from(unit);
    let more = rest.bytes().any(|digit| digit != b'0');
    let nanos = (nanos + u128::from(more)).div_ceil(scale);
    let nanos = u64::try_from(nanos).expect("at most one unit");
    let span = number(whole).saturating_mul(unit).saturating_add(nanos);
    Some(Duration::from_nanos(span))
}

/// A count: `60`, or `59.5`, rounded down. No sign, no exponent; too large a number is the largest.
pub(super) fn count(text: &str) -> Option<u64> {
    let whole = match text.split_once('.') {
        Some((whole, part)) => digits(part).and(digits(whole)),
        None => digits(text),
    };
    whole.map(number)
}

/// The number of these digits; too large a one is the largest.
fn number(digits: &str) -> u64 {
    digits.bytes().fold(0, |number: u64, digit| {
        let number = number.saturating_mul(10);
        number.saturating_add((digit - b'0').into())
    })
}

fn digits(text: &str) -> Option<&str> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then_some(text)
}

/// Both spans, at most 584 years.
fn sum(one: Duration, other: Duration) -> Duration {
    let longest = Duration::from_nanos(u64::MAX);
    one.saturating_add(other).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_of_go_is_the_sum_of_its_parts() {
        for (text, nanos) in [
            ("1s", 1_000_000_000),
            ("6m0s", 360_000_000_000),
            ("12ms", 12_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("10h17m5.72s", 37_025_720_000_000),
            ("36.429760048s", 36_429_760_048),
            ("1.5us", 1_500),
            ("1.5µs", 1_500),
            ("0.1ns", 1),
            ("0s", 0),
        ] {
            assert_eq!(go(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        for text in [
            "", "0", "1", "s", "-1s", "+1s", "1 s", "1d", "1.s", ".5s", "1s ", "1s2", "1e3s", "1mo",
        ] {
            assert_eq!(go(text), None, "{text}");
        }
        let longest = Some(Duration::from_nanos(u64::MAX));
        assert_eq!(go("99999999999h99999999999h1s"), longest);
    }

    #[test]
    fn a_fraction_is_rounded_up_to_the_nanosecond_whatever_its_unit() {
        let third = go("0.333333333333333333333333333333h");
        assert_eq!(third, Some(Duration::from_secs(1200)));
        let just_over = millis("0.0000010000000000000000001");
        assert_eq!(just_over, Some(Duration::from_nanos(2)));
        assert_eq!(millis("33"), Some(Duration::from_millis(33)));
    }

    #[test]
    fn a_count_is_rounded_down() {
        for (text, number) in [("0", 0), ("60", 60), ("59.9", 59), ("007", 7)] {
            assert_eq!(count(text), Some(number), "{text}");
        }
        assert_eq!(count(&"9".repeat(30)), Some(u64::MAX));
        for text in [
            "",
            "-1",
            "+1",
            "1.",
            ".5",
            "1e3",
            "1,000",
            "0x10",
            "NaN",
            "100, 100;w=60",
        ] {
            assert_eq!(count(text), None, "{text}");
        }
    }
}
