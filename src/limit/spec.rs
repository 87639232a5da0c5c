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
    /// Where its first window begins; fixed windows only.
    pub anchor: Anchor,
    /// How much longer than its period a window is kept; `None`: as the run says. Sliding windows only.
    pub guard: Option<Duration>,
    /// When a send leaves the window; sliding windows only.
    pub leaves: Leaves,
    /// One state for each value of this key; `None`: one for all.
    pub per: Option<KeyBy>,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Each try costs one.
    Requests,
    /// Each try costs what its job reserves, input and output.
    Units,
    /// Each try costs what its job sends.
    Input,
    /// Each try costs the most that its answer may take.
    Output,
}

impl Counts {
    /// Whether each try costs what its job says, and not one.
    pub fn is_units(self) -> bool {
        match self {
            Self::Requests => false,
            Self::Units | Self::Input | Self::Output => true,
        }
    }
}

/// Where the first of the fixed windows begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Windows are counted from the Unix epoch.
    Epoch,
    /// At the first request; and again at the first one after a window without any.
    First,
}

/// When a send leaves a sliding window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// One period after it was sent.
    Send,
    /// One period after the head of its answer came, or after the try ended without one: a server
    /// has counted it by then.
    Reply,
}

/// What a limit may be kept apart for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyBy {
    /// The host, and the port if it is not the scheme's own.
    Host,
    /// A header of the job, in lower case.
    Header(Arc<str>),
    /// A field of the job's line, or a JSON pointer (RFC 6901) into it.
    Field(Arc<str>),
}

/// The keys of the limits of a run, each once, in the order in which the limits name them.
pub fn keys_of(limits: &[Spec]) -> Vec<KeyBy> {
    let mut keys: Vec<KeyBy> = Vec::new();
    for key in limits.iter().filter_map(|limit| limit.per.as_ref()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
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
    /// How much longer than its period a sliding window is kept that does not say so itself.
    pub guard: Guard,
    /// The start of the run, since the Unix epoch.
    pub epoch: Duration,
}

/// Room for the jitter between here and a server that counts arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// As much as the answers of the run show that it needs, at most 1 % of the period.
    Measured,
    /// This much.
    Of(Duration),
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
        build: |spec, setting| Box::new(Window::new(&spec.rate, setting.guard(spec))),
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
        guard: Guard::Of(Duration::ZERO),
        epoch: Duration::ZERO,
    };

    /// The guard that a sliding window starts with.
    pub fn guard(&self, spec: &Spec) -> Duration {
        match (spec.leaves, spec.guard, self.guard) {
            (Leaves::Reply, ..) => Duration::ZERO,
            (Leaves::Send, Some(guard), _) | (Leaves::Send, None, Guard::Of(guard)) => guard,
            (Leaves::Send, None, Guard::Measured) => GUARD.min(spec.rate.period / 100),
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
            anchor: Anchor::Epoch,
            guard: None,
            leaves: Leaves::Send,
            per: None,
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
            anchor: Anchor::Epoch,
            guard: None,
            leaves: Leaves::Send,
            per: None,
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
        match self.counts {
            Counts::Requests => {}
            Counts::Units => out.write_str("tokens ")?,
            Counts::Input => out.write_str("input-tokens ")?,
            Counts::Output => out.write_str("output-tokens ")?,
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
            anchor: Anchor::Epoch,
            guard: None,
            leaves: Leaves::Send,
            per: None,
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
