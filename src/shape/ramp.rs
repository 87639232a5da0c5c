//! A rate that changes with time, linear between points: `10@0s,100@30s`. Floor 3: rules.
//!
//! The number of jobs that are due by a moment is the integral of the rate: whole numbers, so nothing drifts. Before the
//! first point and after the last the rate stays.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::units::{Rate, exact_span, gcd, nanos, parse_duration};

/// One request, as the integral of a rate is counted.
pub(super) const ONE: u128 = 1 << 32;

/// Rates by time.
///
/// ```
/// use shaper::shape::Ramp;
///
/// assert!("10@0s,100@30s,0@5m".parse::<Ramp>().is_ok());
/// assert!("10@30s,20@10s".parse::<Ramp>().is_err(), "times go up");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramp {
    points: Vec<Point>,
    legs: Vec<Leg>,
    /// Nanoseconds in which a rate of so many counts one; the same for all.
    period: u64,
    said: Said,
}

/// How it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// As a rate and nothing else.
    Rate,
    /// As rates at times, be it one.
    Points,
}

/// A rate from a moment on, or no request at all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Point {
    at: Duration,
    rate: Option<Rate>,
}

/// From one point to the next, or from the last on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leg {
    /// Nanoseconds since the start.
    from: u64,
    /// Its length in nanoseconds; `None` of the last.
    length: Option<u64>,
    /// Requests in each period at its beginning, and at its end.
    rate: (i128, i128),
    /// Twice the integral before it, in requests a period and nanoseconds.
    before: i128,
}

impl Ramp {
    /// The same rate at all times; a problem if it cannot be counted exactly.
    pub fn of(rate: Rate) -> Result<Self, String> {
        let always = Self::new(vec![Point {
            at: Duration::ZERO,
            rate: Some(rate),
        }])?;
        Ok(Self {
            said: Said::Rate,
            ..always
        })
    }

    /// The rate, if it was said without a time.
    pub fn constant(&self) -> Option<&Rate> {
        match self.said {
            Said::Rate => self.points.first()?.rate.as_ref(),
            Said::Points => None,
        }
    }

    /// When the last job is due, if the rate ends at zero.
    pub fn ends(&self) -> Option<Duration> {
        let last = self.points.last()?;
        last.rate.is_none().then_some(last.at)
    }

    fn new(points: Vec<Point>) -> Result<Self, String> {
        let rates = points.iter().filter_map(|point| point.rate.as_ref());
        let periods: Vec<u64> = rates.map(|rate| nanos(rate.period)).collect();
        let Some((&first, others)) = periods.split_first() else {
            return Err(format!("no rate is above 0; {FORM}"));
        };
        let mut others = others.iter();
        let period = others.try_fold(first, |all, period| common(all, *period));
        let legs = period.and_then(|period| legs(&points, period));
        match (period, legs) {
            (Some(period), Some(legs)) => Ok(Self {
                points,
                legs,
                period,
                said: Said::Points,
            }),
            (Some(_) | None, _) => {
                Err("rates and times are too far apart to be counted exactly".to_owned())
            }
        }
    }

    /// The first nanosecond since the start at which the integral of the rate is `target`, in parts of [`ONE`]; `None`
    /// if it never is.
    pub(super) fn reaches(&self, target: u128) -> Option<u64> {
        let twice = target.checked_mul(2 * u128::from(self.period))?;
        let twice = i128::try_from(twice.div_ceil(ONE)).ok()?;
        let next = self.legs.partition_point(|leg| leg.before < twice);
        self.legs[next.saturating_sub(1)].reaches(twice)
    }
}

/// The least that is a multiple of both.
fn common(one: u64, other: u64) -> Option<u64> {
    (one / gcd(one, other)).checked_mul(other)
}

/// `None` where whole numbers end.
fn legs(points: &[Point], period: u64) -> Option<Vec<Leg>> {
    let counted = |point: &Point| {
        let rate = point.rate.as_ref();
        let count = rate.map_or(0, |rate| i128::from(rate.count.get()));
        let times = rate.map_or(1, |rate| period / nanos(rate.period));
        let counted = count.checked_mul(times.into());
        counted.filter(|counted| *counted < i128::MAX / 8)
    };
    let (mut from, mut rate) = (0, counted(points.first()?)?);
    let (mut before, mut legs) = (0_i128, Vec::new());
    for point in points {
        let (at, next) = (nanos(point.at), counted(point)?);
        if let length @ 1.. = at - from {
            let leg = Leg {
                from,
                length: Some(length),
                rate: (rate, next),
                before,
            };
            // The most that is ever multiplied.
            let square = i128::from(length).checked_mul(length.into())?;
            square.checked_mul(rate.max(next).checked_mul(4)?)?;
            before = before.checked_add((rate + next) * i128::from(length))?;
            legs.push(leg);
        }
        (from, rate) = (at, next);
    }
    legs.push(Leg {
        from,
        length: None,
        rate: (rate, rate),
        before,
    });
    Some(legs)
}

impl Leg {
    /// The first nanosecond at which twice the integral is `twice`, which it is not before this leg.
    fn reaches(&self, twice: i128) -> Option<u64> {
        let missing = twice - self.before;
        let (rate, end) = self.rate;
        let after = match self.length {
            _ if missing <= 0 => 0,
            None if rate == 0 => return None,
            None => (missing + 2 * rate - 1) / (2 * rate),
            Some(length) => {
                let (mut under, mut enough) = (0, i128::from(length));
                let slope = end - rate;
                while enough - under > 1 {
                    let middle = i128::midpoint(under, enough);
                    // Rounded down: a whole number is at most what it was.
                    let bent = (slope * middle * middle).div_euclid(length.into());
                    if 2 * rate * middle + bent >= missing {
                        enough = middle;
                    } else {
                        under = middle;
                    }
                }
                enough
            }
        };
        Some(
            self.from
                .saturating_add(u64::try_from(after).unwrap_or(u64::MAX)),
        )
    }
}

const FORM: &str = "write RATE@TIME with commas between them, times in order: 10@0s,100@30s,100@5m; a rate may be 0";

impl fmt::Display for Ramp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.constant() {
            return rate.fmt(out);
        }
        for (nth, Point { at, rate }) in self.points.iter().enumerate() {
            let comma = if nth > 0 { "," } else { "" };
            let rate: &dyn fmt::Display = rate.as_ref().map_or(&0, |rate| rate);
            write!(out, "{comma}{rate}@{}", exact_span(*at))?;
        }
        Ok(())
    }
}

impl FromStr for Ramp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let points: Result<Vec<Point>, String> = text.split(',').map(str::parse).collect();
        let points = points?;
        if let Some(back) = points.windows(2).find(|pair| pair[1].at < pair[0].at) {
            let [before, after] = [back[0].at, back[1].at].map(exact_span);
            return Err(format!("{after} comes after {before}; {FORM}"));
        }
        Self::new(points)
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rate, at) = text.split_once('@').ok_or(FORM)?;
        let rate = match rate.trim() {
            "0" | "0/s" => None,
            rate => Some(
                rate.parse()
                    .map_err(|why| format!("rate {rate:?}: {why}"))?,
            ),
        };
        let at = parse_duration(at).map_err(|why| format!("time {at:?}: {why}"))?;
        Ok(Self { at, rate })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn due(text: &str, nth: u64) -> Option<u64> {
        let ramp: Ramp = text.parse().unwrap();
        assert_eq!(ramp.to_string(), text);
        ramp.reaches(u128::from(nth) * ONE)
    }

    #[test]
    fn a_job_is_due_at_the_first_nanosecond_at_which_the_integral_is_whole() {
        for (ramp, nth, nanos) in [
            ("10@0s", 0, 0),
            ("10@0s", 7, 700_000_000),
            // 1/3 s, rounded up; the thousandth has drifted by nothing.
            ("3@0s", 1, 333_333_334),
            ("3@0s", 3_000, 1_000 * SECOND),
            ("600rpm@0s", 10, SECOND),
            // From 0 to 100 in 10 s: t² · 5 jobs by t.
            ("0@0s,100@10s", 5, SECOND),
            ("0@0s,100@10s", 20, 2 * SECOND),
            ("0@0s,100@10s", 500, 10 * SECOND),
            ("0@0s,100@10s", 600, 11 * SECOND),
            // Down again: 500 up, 500 down, and then no more.
            ("0@0s,100@10s,0@20s", 1_000, 20 * SECOND),
            // Before its first point the rate stays.
            ("2@5s,4@10s", 10, 5 * SECOND),
            ("2@5s,4@10s", 25, 10 * SECOND),
            // A step.
            ("1@0s,1@10s,5@10s", 15, 11 * SECOND),
            // Hours and seconds have a common period.
            ("3600/h@0s,1@1h,60/m@2h", 7_200, 7_200 * SECOND),
        ] {
            assert_eq!(due(ramp, nth), Some(nanos), "{ramp}: {nth}");
        }
        assert_eq!(due("0@0s,100@10s,0@20s", 1_001), None);
        assert_eq!(due("1/3s@0s", 1), Some(3 * SECOND));
    }

    #[test]
    fn a_ramp_that_ends_at_zero_says_when() {
        let ends = |text: &str| text.parse::<Ramp>().unwrap().ends();
        assert_eq!(ends("0@0s,9@1m"), None);
        assert_eq!(ends("9@0s,0@1m"), Some(Duration::from_secs(60)));
    }

    #[test]
    fn nonsense_is_told_with_the_form() {
        for (text, why) in [
            ("", "10@0s,100@30s"),
            ("10", "10@0s,100@30s"),
            ("10@0s,", "10@0s,100@30s"),
            ("10@0s,20@5s,30@1s", "1s comes after 5s"),
            ("0@0s,0@9s", "no rate is above 0"),
            ("ten@0s", "rate \"ten\""),
            ("-1@0s", "rate \"-1\""),
            ("10@x", "time \"x\""),
            ("10@-1s", "time \"-1s\""),
            ("1@0s,18446744073709551615@584y", "time \"584y\""),
            ("1@0s,18446744073709551615@200000d", "too far apart"),
            ("1/999999937ns@0s,1/s@1s,1/h@3s,1/999999929ns@4s", "rate"),
        ] {
            let told = text.parse::<Ramp>().unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    fn ramps() -> impl Strategy<Value = Ramp> {
        let rates = prop::sample::select(vec![
            "0", "1", "7", "100", "20000", "1/3s", "600rpm", "5/250ms", "1e6",
        ]);
        let points = prop::collection::vec((0..90_000_u64, rates), 1..6);
        points.prop_filter_map("a ramp has a rate", |points| {
            let mut times: Vec<u64> = points.iter().map(|(at, _)| *at).collect();
            times.sort_unstable();
            let points = times.iter().zip(&points);
            let points = points.map(|(at, (_, rate))| format!("{rate}@{at}ms"));
            points.collect::<Vec<_>>().join(",").parse().ok()
        })
    }

    /// The integral of the rate by this moment, times the period and two and so on: an exact fraction.
    fn twice_by(ramp: &Ramp, at: u64) -> (i128, i128) {
        let leg = ramp.legs.iter().rev().find(|leg| leg.from <= at).unwrap();
        let (x, length) = (
            i128::from(at - leg.from),
            i128::from(leg.length.unwrap_or(1)),
        );
        let slope = leg.rate.1 - leg.rate.0;
        (
            (leg.before + 2 * leg.rate.0 * x) * length + slope * x * x,
            length,
        )
    }

    proptest! {
        #[test]
        fn due_times_of_any_ramp_are_monotone_and_exact(
            ramp in ramps(),
            mut nth in prop::collection::vec(0..1_000_000_u64, 1..40),
        ) {
            nth.sort_unstable();
            let mut last = Some(0);
            for nth in nth {
                let due = ramp.reaches(u128::from(nth) * ONE);
                prop_assert!(last.is_some() || due.is_none(), "{ramp}: one after the last");
                let Some(at) = due else {
                    last = None;
                    continue;
                };
                prop_assert!(Some(at) >= last, "{ramp}: {nth} at {at}, before {last:?}");
                last = Some(at);
                let wanted = 2 * i128::from(ramp.period) * i128::from(nth);
                let (sum, of) = twice_by(&ramp, at);
                prop_assert!(sum >= wanted * of, "{ramp}: {nth} at {at} is early");
                if at > 0 {
                    let (sum, of) = twice_by(&ramp, at - 1);
                    prop_assert!(sum < wanted * of, "{ramp}: {nth} at {at} is late");
                }
            }
        }
    }
}
