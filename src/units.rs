//! Quantities with their units: parse once at the edge, round so that a promise holds. Floor 1: words.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A moment: nanoseconds since the run began. Never a wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// The start of the run.
    pub const ZERO: Self = Self(0);

    /// The moment `span` later; stays at the end of time (584 years) instead of overflowing.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// The moment `span` earlier, not before the start of the run.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The smaller of two, where either may be missing.
#[inline]
pub fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

/// The smallest of these, where any may be missing.
pub fn soonest<const N: usize>(all: [Option<Tick>; N]) -> Option<Tick> {
    // What is missing counts as the end of time: ten in a row without a branch.
    let each = all.map(|at| at.map_or(u64::MAX, |at| at.0));
    match each.into_iter().fold(u64::MAX, u64::min) {
        u64::MAX => all.into_iter().flatten().next(),
        at => Some(Tick(at)),
    }
}

/// A span in whole nanoseconds, at most 584 years.
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// What one try takes from a limit: 1 request, or so many units. Nothing costs zero: a job that
/// costs nothing of a limit does not meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(pub NonZeroU64);

impl Cost {
    /// One request, or one slot.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// More than anything costs.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// So many units; `None` for zero.
    pub fn new(units: u64) -> Option<Self> {
        NonZeroU64::new(units).map(Self)
    }

    /// The plain number.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

/// So many per period, as a ratio of whole numbers and with the words it was given in.
///
/// Parsed from `10`, `10/s`, `600rpm` or `100/250ms`; zero, less, and what is no number are errors that show the forms.
///
/// ```
/// use std::time::Duration;
/// use shaper::units::Rate;
///
/// let rate: Rate = "600rpm".parse().expect("it is a rate");
/// assert_eq!((rate.count.get(), rate.period), (600, Duration::from_secs(60)));
/// assert_eq!(rate.shown(), "10/s");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// How many in one period; never zero.
    pub count: NonZeroU64,
    /// The period; never zero.
    pub period: Duration,
    /// As the user wrote it.
    pub written: String,
}

/// Units that stand behind the number without a stroke.
const UNITS: [&str; 3] = ["rps", "rpm", "rph"];

/// The spellings that [`Rate`] takes, for messages.
pub const RATE_FORMS: &str = "N/DUR above zero: 10, 10/s, 600/m, 600rpm, 0.5/s, 1/2s, 100/250ms";

/// What a [`Rate`] can be, for messages.
const RATE_RANGE: &str = "N from 0.000000001 to 18446744073709551615, DUR up to 584 years";

impl Rate {
    /// A rate of `count` per `period`; `None` if either is zero.
    pub fn new(count: u64, period: Duration) -> Option<Self> {
        let written = format!("{count}/{}", show_period(period));
        (!period.is_zero()).then_some(())?;
        Some(Self {
            count: NonZeroU64::new(count)?,
            period,
            written,
        })
    }

    /// As the user wrote it, and with `/s` if that was a bare number.
    pub fn with_unit(&self) -> String {
        let has_one =
            self.written.contains('/') || UNITS.iter().any(|it| self.written.ends_with(it));
        let unit = if has_one { "" } else { "/s" };
        format!("{}{unit}", self.written.trim())
    }

    /// The rate in force, whatever it was written like: `600rpm` is `10/s`. Below one in ten seconds, or
    /// beyond 15 digits, as it is written.
    pub fn shown(&self) -> String {
        let rate = self.per_second();
        if !(0.1..1e15).contains(&rate) {
            return self.written.clone();
        }
        let number = format!("{rate:.3}");
        format!("{}/s", number.trim_end_matches('0').trim_end_matches('.'))
    }

    /// The mean per second, for showing and comparing only.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn per_second(&self) -> f64 {
        self.count.get() as f64 / self.period.as_secs_f64()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("write {RATE_FORMS}");
        let beyond = || format!("out of range; write {RATE_RANGE}");
        let text = text.trim();
        let (number, unit) = if let Some(split) = text.split_once('/') {
            split
        } else {
            UNITS
                .iter()
                .find_map(|unit| Some((text.strip_suffix(unit)?, &unit[2..])))
                .unwrap_or((text, "s"))
        };
        let number = number.trim();
        let (count, scale) = decimal(number).ok_or_else(|| match number.parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => beyond(),
            Ok(_) | Err(_) => wrong(),
        })?;
        let unit = unit.trim();
        let period = if unit.starts_with(|c: char| c.is_ascii_alphabetic()) {
            parse_duration(&format!("1{unit}"))
        } else if unit.ends_with(|c: char| c.is_ascii_alphabetic()) {
            parse_duration(unit)
        } else {
            return Err(wrong());
        };
        let period = period.map_err(|_| wrong())?;
        let shared = if scale == 1 { 1 } else { gcd(count, scale) };
        let scale = u32::try_from(scale / shared.max(1)).map_err(|_| beyond())?;
        let period = period.checked_mul(scale).ok_or_else(beyond)?;
        if period.as_nanos() > u128::from(u64::MAX) {
            return Err(beyond());
        }
        let mut rate = Self::new(count / shared.max(1), period).ok_or_else(wrong)?;
        text.clone_into(&mut rate.written);
        Ok(rate)
    }
}

/// The greatest number that divides both.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A decimal number as `(digits, power of ten to divide by)`; takes `1e3`, `10k`, `1M`, `0.5`.
pub(crate) fn decimal(text: &str) -> Option<(u64, u64)> {
    let (text, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let (mantissa, factor) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) if factor == 1 => (
            mantissa,
            10u64.checked_pow(digits(power)?.try_into().ok()?)?,
        ),
        Some(_) => return None,
        None => (text, factor),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if mantissa.ends_with('.') || part.len() > 9 {
        return None;
    }
    let scale = 10u64.pow(u32::try_from(part.len()).ok()?);
    let part = if part.is_empty() { 0 } else { digits(part)? };
    let number = digits(whole)?
        .checked_mul(scale)?
        .checked_add(part)?
        .checked_mul(factor)?;
    let shared = if number == 0 {
        scale
    } else {
        gcd(factor, scale)
    };
    Some((number / shared, scale / shared))
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// A whole number above zero; takes `1e3`, `10k` (thousand) and `1M` (million). Anything else, or more than 64 bits hold,
/// is an error that shows the accepted forms.
///
/// ```
/// use shaper::units::parse_count;
///
/// assert_eq!(parse_count("10k"), Ok(10_000));
/// assert!(parse_count("0").is_err());
/// ```
pub fn parse_count(text: &str) -> Result<u64, String> {
    match decimal(text.trim()) {
        Some((number, 1)) if number > 0 => Ok(number),
        None if text
            .trim()
            .parse::<f64>()
            .is_ok_and(|number| number > COUNTED) =>
        {
            Err(format!("write a whole number from 1 to {}", u64::MAX))
        }
        _ => Err("write a whole number from 1: 20, 1e3, 10k, 1M".to_owned()),
    }
}

/// More than whole numbers of 64 bits hold.
const COUNTED: f64 = 1.8e19;

/// A span of time, zero included: `250ms`, `1h30m`; a bare number is seconds, `m` is minutes. Whole nanoseconds, rounded
/// down, at most 584 years; months and years, whose length changes, are an error that shows the accepted forms.
///
/// ```
/// use std::time::Duration;
/// use shaper::units::parse_duration;
///
/// assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
/// assert_eq!(parse_duration("0.25"), parse_duration("250ms"));
/// assert!(parse_duration("3months").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const FORMS: &str =
        "write a time: 250ms, 1.5s, 30, 2m, 1h30m (units us ms s m h d; a bare number is seconds)";
    let text = text.trim();
    let months_or_years = text.contains('M') || text.contains('y') || text.contains("mo");
    if text.is_empty() || months_or_years {
        return Err(FORMS.to_owned());
    }
    let letter = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let single = letter.is_none_or(|at| text[at..].chars().all(|c| c.is_ascii_alphabetic()));
    if !single {
        return humantime::parse_duration(text).map_err(|_| FORMS.to_owned());
    }
    let (number, unit) = text.split_at(letter.unwrap_or(text.len()));
    let unit = match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        _ => return humantime::parse_duration(text).map_err(|_| FORMS.to_owned()),
    };
    let (number, scale) = decimal(number).ok_or(FORMS)?;
    let span = u128::from(number) * unit / u128::from(scale);
    u64::try_from(span)
        .map(Duration::from_nanos)
        .map_err(|_| FORMS.to_owned())
}

/// A span of time above zero: as [`parse_duration`], and zero is an error, too.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("write a time above 0s".to_owned()),
        span => Ok(span),
    }
}

/// A span in one unit that holds it exactly, so that it can be read again: `90s`, `250ms`, `1h`.
pub fn exact_span(span: Duration) -> String {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let units = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let unit = units.iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, word) = unit.copied().unwrap_or((1, "ns"));
    format!("{}{word}", nanos / unit)
}

/// A period as it stands after the slash of a rate, where the unit alone is one of it: `s`, `90s`, `250ms`.
fn show_period(period: Duration) -> String {
    let text = exact_span(period);
    let unit = text.strip_prefix('1').unwrap_or(&text);
    if unit.starts_with(|c: char| c.is_ascii_digit()) {
        text
    } else {
        unit.to_owned()
    }
}

/// A span of time for people: three digits and the unit that suits it; from two minutes on its two largest units,
/// rounded down: `2m 20s`, `1d 3h`.
pub fn show_span(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if span.is_zero() {
        "0 s".to_owned()
    } else if seconds < 0.000_999_5 {
        format!("{} us", three_digits(seconds * 1e6))
    } else if seconds < 0.999_5 {
        format!("{} ms", three_digits(seconds * 1e3))
    } else if seconds < 120.0 {
        format!("{} s", three_digits(seconds))
    } else {
        in_units(span, 2)
    }
}

/// Two spans for people, with as many digits as tell them apart.
#[expect(clippy::cast_precision_loss, reason = "53 bits are 104 days")]
pub fn show_apart(one: Duration, other: Duration) -> [String; 2] {
    let millis = |span| format!("{} ms", nanos(span) as f64 / 1e6);
    let ways = [show_span, long_span].map(|way| [one, other].map(way));
    let apart = ways.into_iter().find(|[one, other]| one != other);
    apart.unwrap_or_else(|| [one, other].map(millis))
}

/// A span in whole seconds and in the units that options take, at most days: `2m 5s`, `365d`, `18d 1h 3s`.
pub fn long_span(span: Duration) -> String {
    in_units(span, usize::MAX)
}

/// A span in whole seconds, in so many units from the largest on.
fn in_units(span: Duration, most: usize) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut rest = span.as_secs();
    let largest = UNITS.iter().position(|(unit, _)| rest >= *unit);
    let Some(largest) = largest else {
        return "0s".to_owned();
    };
    let told = UNITS[largest..].iter().take(most);
    let parts = told.filter_map(|(unit, word)| {
        let count = rest / unit;
        rest %= unit;
        (count > 0).then(|| format!("{count}{word}"))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// A part of all, in millionths: above zero, at most [`Share::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(pub u64);

impl Share {
    /// 100 %.
    pub const ALL: u64 = 1_000_000;
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write N%, above 0% and at most 100%, up to four decimals: 10%, 0.25%";
        let text = text.strip_suffix('%').ok_or(FORM)?;
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| {
            (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole) || !digits(part) {
            return Err(FORM.to_owned());
        }
        let share = format!("{whole}{part:0<4}").parse().map_err(|_| FORM)?;
        if (1..=Self::ALL).contains(&share) {
            Ok(Self(share))
        } else {
            Err(FORM.to_owned())
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 10_000, self.0 % 10_000);
        let part = format!(".{part:04}");
        let part = part.trim_end_matches('0').trim_end_matches('.');
        write!(out, "{whole}{part}%")
    }
}

/// A moment since the Unix epoch as RFC 3339 has it: in UTC, to the microsecond. Its years have four digits, so what is
/// later is the last of them.
pub fn show_moment(since_epoch: Duration) -> String {
    const LAST: Duration = Duration::new(253_402_300_799, 999_999_000);
    let at = SystemTime::UNIX_EPOCH + since_epoch.min(LAST);
    humantime::format_rfc3339_micros(at).to_string()
}

/// Without what is below a microsecond: as results tell it.
pub fn whole_micros(span: Duration) -> Duration {
    Duration::new(span.as_secs(), span.subsec_micros() * 1_000)
}

/// In milliseconds, rounded to the microsecond.
pub fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

/// So many milliseconds, to the nanosecond; none below zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates, and what is below zero is zero"
)]
pub fn of_millis(millis: f64) -> Duration {
    Duration::from_nanos((millis * 1e6).round() as u64)
}

/// A number with three digits that matter: `0.993`, `9.93`, `99.3`, `993`, `12345`.
pub fn three_digits(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else if number.abs() < 0.999_5 {
        format!("{number:.3}")
    } else if number.abs() < 9.995 {
        format!("{number:.2}")
    } else if number.abs() < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// A key or password. It can be sent; it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text into safe keeping.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

/// A number of things: `1 job`, `20 jobs`.
pub fn counted(count: u64, one: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {one}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> (u64, Duration) {
        let rate: Rate = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(rate.to_string(), text);
        (rate.count.get(), rate.period)
    }

    #[test]
    fn every_moment_has_a_date() {
        for (micros, date) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_796_055_006_975_293, "2026-11-30T16:10:06.975293Z"),
            (u64::MAX, "9999-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(show_moment(Duration::from_micros(micros)), date);
        }
    }

    #[test]
    fn a_rate_is_read_in_every_spelling() {
        let second = Duration::from_secs(1);
        for text in ["10", "10/s", "10/1s", "10rps"] {
            assert_eq!(rate(text), (10, second), "{text}");
        }
        assert_eq!(rate("600rpm"), (600, 60 * second));
        assert_eq!(rate("600/m"), (600, 60 * second));
        assert_eq!(rate("0.5/s"), (1, 2 * second));
        assert_eq!(rate("1/2s"), (1, 2 * second));
        assert_eq!(rate("1/h"), (1, 3600 * second));
        assert_eq!(rate("10/100ms"), (10, second / 10));
        assert_eq!(rate("1e3/s"), (1000, second));
        assert_eq!(rate("1.5k/s"), (1500, second));
        assert_eq!(rate("1/30d"), (1, Duration::from_secs(30 * 86_400)));
    }

    #[test]
    fn a_rate_written_by_us_is_read_back_as_it_was() {
        let day = Duration::from_secs(86_400);
        for period in [
            Duration::from_nanos(1),
            Duration::from_nanos(1_500),
            Duration::from_micros(1),
            Duration::from_millis(250),
            Duration::from_secs(90),
            Duration::from_secs(5400),
            day,
            31 * day,
            400 * day + Duration::from_nanos(1),
            Duration::from_nanos(u64::MAX),
        ] {
            let written = Rate::new(7, period).unwrap().to_string();
            assert_eq!(rate(&written), (7, period), "{written}");
        }
        assert_eq!(show_period(Duration::from_secs(60)), "m");
        assert_eq!(show_period(Duration::from_secs(90)), "90s");
        assert_eq!(show_period(31 * day), "31d");
        assert_eq!(show_period(day), "d");
    }

    #[test]
    fn a_long_span_is_told_in_units_that_options_take() {
        for (seconds, shown) in [
            (0, "0s"),
            (125, "2m 5s"),
            (3_600, "1h"),
            (90_000, "1d 1h"),
            (365 * 86_400, "365d"),
            (18_446_744_073, "213503d 23h 34m 33s"),
        ] {
            let span = Duration::from_secs(seconds);
            assert_eq!(long_span(span), shown);
            assert_eq!(parse_duration(shown), Ok(span), "{shown}");
        }
        assert_eq!(show_span(Duration::from_secs(5 * 365 * 86_400)), "1825d");
    }

    #[test]
    fn nonsense_is_no_rate() {
        for text in [
            "", "0", "0/s", "-1", "-1/s", "NaN", "inf", "10/0s", "10/x", "ten", "10//s", "10/s/s",
            "1/2", "1/1M", "1/1y", "1/month", "1e30/s", "1./s", "10/", "/s", "1e-3",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text} was taken");
        }
    }

    #[test]
    fn what_is_out_of_range_is_told_with_the_range() {
        for text in [
            "1/1000000d",
            "1e-9",
            "18446744073709551616",
            "1e30/s",
            "0.0000000001/s",
        ] {
            let why = text.parse::<Rate>().unwrap_err();
            assert!(
                why.contains("from 0.000000001 to 18446744073709551615"),
                "{text}: {why}"
            );
            assert!(!why.contains("above zero"), "{text}: {why}");
        }
        let why = parse_count("18446744073709551616").unwrap_err();
        assert!(why.contains("from 1 to 18446744073709551615"), "{why}");
    }

    #[test]
    fn two_spans_are_shown_with_digits_that_tell_them_apart() {
        let apart = |one, other| show_apart(Duration::from_nanos(one), Duration::from_nanos(other));
        assert_eq!(apart(500_223_000, 500_000_000), ["500.223 ms", "500 ms"]);
        assert_eq!(apart(500_000_100, 500_000_000), ["500.0001 ms", "500 ms"]);
        assert_eq!(apart(1_500_000_000, 500_000_000), ["1.50 s", "500 ms"]);
        let hours = apart(7_203_000_000_000, 7_200_000_000_000);
        assert_eq!(hours, ["2h 3s", "2h"]);
    }

    #[test]
    fn a_count_takes_thousands_and_millions() {
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_count("1e3"), Ok(1_000));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000));
        for text in ["0", "-1", "1.5", "nan", "inf", "", "k", "1e99"] {
            assert!(parse_count(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn a_duration_is_read_as_people_write_it() {
        for (text, millis) in [
            ("250ms", 250),
            ("1.5s", 1500),
            ("30", 30_000),
            ("0.5", 500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "-1s", "nan", "inf", "1M", "1y", "2months", "s", "1..5s"] {
            assert!(parse_duration(text).is_err(), "{text} was taken");
        }
        assert!(parse_span("0").is_err());
    }

    #[test]
    fn a_secret_cannot_be_printed() {
        assert_eq!(format!("{:?}", Secret::new("sk-canary")), "***");
    }

    #[test]
    fn a_span_has_three_digits_or_its_two_largest_units() {
        for (seconds, shown) in [
            (0.05, "50.0 ms"),
            (2.45, "2.45 s"),
            (119.0, "119 s"),
            (120.0, "2m"),
            (140.9, "2m 20s"),
            (1_000.0, "16m 40s"),
            (7_200.0, "2h"),
            (7_203.0, "2h"),
            (100_000.0, "1d 3h"),
            (3_600_000.0, "41d 16h"),
            (2.6e9, "30092d 14h"),
        ] {
            assert_eq!(show_span(Duration::from_secs_f64(seconds)), shown);
        }
    }
}
