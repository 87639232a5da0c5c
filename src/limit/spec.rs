//! A limit as it is written: `tokens 100000/m bucket burst=5000`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::{Bucket, Fixed, Limit, Window};
use crate::units::{Cost, Rate, parse_count};

/// One limit: what it counts, how much of it, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The name in results and reports.
    pub name: Arc<str>,
    /// What a try costs of it.
    pub counts: Counts,
    /// So many per period.
    pub rate: Rate,
    /// The rule.
    pub kind: Kind,
    /// What the rule can hold at once; buckets only.
    pub burst: Cost,
    /// What it holds at the start; buckets only.
    pub start: u64,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Each try costs one.
    Requests,
    /// Each try costs what its job reserves.
    Units,
}

/// The rules that a limit can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Token bucket.
    Bucket,
    /// Sliding window.
    Window,
    /// Fixed window, aligned to the epoch.
    Fixed,
}

/// One row a rule: its word, and how it is built.
struct Row {
    kind: Kind,
    word: &'static str,
    build: fn(&Spec, &Setting) -> Box<dyn Limit>,
}

/// What a rule needs to know of the run that it is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Whether sends meet jitter on the way to a server: sliding windows then keep a guard.
    pub travel: Travel,
    /// The start of the run, since the Unix epoch.
    pub epoch: Duration,
}

/// What lies between a grant and its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travel {
    /// A network.
    Real,
    /// Nothing: virtual time.
    Virtual,
}

/// A server that counts arrivals sees sends closer together than they left. 1 % of the period, at most this:
/// opening fifty connections at once took 11 ms, and with 5 ms a strict server refused 20 of 120 requests.
const GUARD: Duration = Duration::from_millis(20);

const KINDS: [Row; 3] = [
    Row {
        kind: Kind::Bucket,
        word: "bucket",
        build: |spec, _| Box::new(Bucket::new(&spec.rate, spec.burst, spec.start)),
    },
    Row {
        kind: Kind::Window,
        word: "window",
        build: |spec, setting| Box::new(Window::new(&spec.rate, setting.guard(&spec.rate))),
    },
    Row {
        kind: Kind::Fixed,
        word: "fixed",
        build: |spec, setting| Box::new(Fixed::new(&spec.rate, setting.epoch)),
    },
];

impl Kind {
    fn row(self) -> &'static Row {
        let mut rows = KINDS.iter();
        rows.find(|row| row.kind == self)
            .expect("each kind has its row")
    }
}

impl Setting {
    /// Virtual time, starting at the Unix epoch.
    pub const VIRTUAL: Self = Self {
        travel: Travel::Virtual,
        epoch: Duration::ZERO,
    };

    /// The guard that a sliding window of `rate` keeps.
    pub fn guard(&self, rate: &Rate) -> Duration {
        match self.travel {
            Travel::Real => GUARD.min(rate.period / 100),
            Travel::Virtual => Duration::ZERO,
        }
    }
}

impl Spec {
    /// A bucket that holds `burst` and starts full.
    pub fn bucket(name: &str, counts: Counts, rate: Rate, burst: Cost) -> Self {
        Self {
            name: name.into(),
            counts,
            rate,
            kind: Kind::Bucket,
            burst,
            start: burst.get(),
        }
    }

    /// A sliding window on requests.
    pub fn window(name: &str, rate: Rate) -> Self {
        Self::plain(name, Kind::Window, rate)
    }

    /// A fixed window on requests.
    pub fn fixed(name: &str, rate: Rate) -> Self {
        Self::plain(name, Kind::Fixed, rate)
    }

    fn plain(name: &str, kind: Kind, rate: Rate) -> Self {
        let burst = Cost(rate.count);
        Self {
            name: name.into(),
            counts: Counts::Requests,
            rate,
            kind,
            burst,
            start: burst.get(),
        }
    }

    /// The rule with its state, as new.
    pub fn build(&self, setting: &Setting) -> Box<dyn Limit> {
        (self.kind.row().build)(self, setting)
    }

    /// The most that any window of `span` can hold, as the rule promises it, rounded down. Grants of a
    /// bucket may be charged for up to `slack` ago.
    pub fn most_in(&self, span: Duration, slack: Duration) -> u64 {
        let (span, period) = (span.as_nanos(), self.rate.period.as_nanos());
        let count = u128::from(self.rate.count.get());
        let most = match self.kind {
            Kind::Bucket => {
                u128::from(self.burst.get()) + count * (span + slack.as_nanos()) / period
            }
            Kind::Window => count * span.div_ceil(period).max(1),
            Kind::Fixed => count * (span.div_ceil(period) + 1),
        };
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts == Counts::Units {
            out.write_str("tokens ")?;
        }
        write!(out, "{} {}", self.rate, self.kind.row().word)?;
        if self.kind == Kind::Bucket {
            write!(out, " burst={}", self.burst.get())?;
            if self.start != self.burst.get() {
                write!(out, " start={}", self.start)?;
            }
        }
        Ok(())
    }
}

/// The form that a limit is written in, for messages.
pub const LIMIT_FORM: &str =
    "[requests|tokens] N/DUR [bucket|window|fixed] [burst=N] [start=N] [name=WORD]";

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{what}; write {LIMIT_FORM}");
        let mut words = text.split_whitespace().peekable();
        let counts = match words.next_if(|word| ["requests", "tokens"].contains(word)) {
            Some("tokens") => Counts::Units,
            Some(_) | None => Counts::Requests,
        };
        let rate: Rate = words
            .next()
            .ok_or_else(|| wrong("a rate is missing"))?
            .parse()?;
        let (mut kind, mut name, mut burst, mut start) = (None, None, None, None);
        for word in words {
            if let Some(row) = KINDS.iter().find(|row| row.word == word) {
                if kind.replace(row.kind).is_some() {
                    return Err(wrong("two kinds are given"));
                }
            } else if let Some(count) = word.strip_prefix("burst=") {
                burst = Some(parse_count(count).map_err(|why| format!("burst: {why}"))?);
            } else if let Some(count) = word.strip_prefix("start=") {
                start = Some(if count == "0" {
                    0
                } else {
                    parse_count(count).map_err(|why| format!("start: {why}"))?
                });
            } else if let Some(word) = word.strip_prefix("name=").filter(|word| !word.is_empty()) {
                name = Some(word);
            } else {
                return Err(wrong(&format!("`{word}` is not known")));
            }
        }
        let kind = kind.unwrap_or(Kind::Bucket);
        if kind != Kind::Bucket && (burst.is_some() || start.is_some()) {
            return Err("only a bucket has burst and start".to_owned());
        }
        let usual = match (kind, counts) {
            (Kind::Bucket, Counts::Requests) => Cost::ONE,
            (Kind::Bucket | Kind::Window | Kind::Fixed, _) => Cost(rate.count),
        };
        let burst = burst.and_then(Cost::new).unwrap_or(usual);
        Ok(Self {
            name: name.unwrap_or(kind.row().word).into(),
            counts,
            rate,
            kind,
            burst,
            start: start.unwrap_or(burst.get()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_and_shown_as_written() {
        for (text, shown) in [
            ("10/s", "10/s bucket burst=1"),
            ("requests 600rpm bucket burst=20", "600rpm bucket burst=20"),
            ("tokens 1000/m", "tokens 1000/m bucket burst=1000"),
            (
                "tokens 1000/m burst=10 start=0",
                "tokens 1000/m bucket burst=10 start=0",
            ),
            ("100/10s window", "100/10s window"),
            ("5/s fixed name=server", "5/s fixed"),
        ] {
            assert_eq!(
                text.parse::<Spec>().map(|spec| spec.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            "requests",
            "window 10/s",
            "10/s 5/s",
            "10/s window fixed",
            "10/s window burst=2",
            "10/s burst=0",
            "10/s name=",
        ] {
            assert!(text.parse::<Spec>().is_err(), "{text} was taken");
        }
    }

    #[test]
    fn the_most_in_a_window_is_burst_plus_rate_for_buckets_and_double_for_fixed_windows() {
        let slack = Duration::from_millis(2);
        let most = |text: &str| {
            let spec: Spec = text.parse().unwrap();
            spec.most_in(Duration::from_secs(1), slack)
        };
        assert_eq!(most("10/s"), 11);
        assert_eq!(most("10/s burst=40"), 50);
        assert_eq!(most("5000/s"), 5011);
        assert_eq!(most("10/1s window"), 10);
        assert_eq!(most("10/1s fixed"), 20);
    }
}
