//! One limit of a run as a record. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::{KeyBy, Kind, Limit, Promise};
use crate::units::{Cost, Rate, exact_span};

/// One limit: what it counts, how much of it, and by which rule.
///
/// Parsed from what `--limit` takes ([`limit_form`](super::limit_form)), and shown in the same form.
///
/// ```
/// use shaper::limit::{Counts, Kind, Spec};
///
/// let spec: Spec = "tokens 100k/m window".parse().expect("it is a limit");
/// assert_eq!((spec.counts, spec.kind), (Counts::Units, Kind::WINDOW));
/// assert_eq!(spec.to_string(), "tokens 100k/m window");
/// assert!("100k".parse::<Spec>().is_ok_and(|spec| spec.burst.get() == 1), "a bucket, evenly spaced");
/// ```
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
    /// What the rule can hold at once: the burst of buckets, else the count.
    pub burst: Cost,
    /// What it holds at the start; buckets and leaky only.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::Requests, Self::Units, Self::Input, Self::Output];

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
            counts,
            burst,
            start: burst.get(),
            ..Self::plain(name, Kind::BUCKET, rate)
        }
    }

    /// A sliding window on requests.
    pub fn window(name: &str, rate: Rate) -> Self {
        Self::plain(name, Kind::WINDOW, rate)
    }

    /// A fixed window on requests.
    pub fn fixed(name: &str, rate: Rate) -> Self {
        Self::plain(name, Kind::FIXED, rate)
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

    /// Whether it is kept for as much longer as the run says, or measures.
    pub fn heeds_guard_of_run(&self) -> bool {
        self.kind.is_log() && self.leaves == Leaves::Send && self.guard.is_none()
    }

    /// The rule with its state, as new.
    pub fn build(&self, setting: &Setting) -> Box<dyn Limit> {
        self.kind.build(self, setting)
    }

    /// The most that any window of `span` can hold, as the rule promises it, rounded down. Grants of a
    /// bucket may be charged for up to `slack` ago.
    pub fn most_in(&self, span: Duration, slack: Duration) -> u64 {
        let (span, period) = (span.as_nanos(), self.rate.period.as_nanos());
        let count = u128::from(self.rate.count.get());
        // A span touches one window of a row more than its length has periods.
        let periods = span.div_ceil(period).max(1);
        let most = match self.kind.promise() {
            Promise::Flow => {
                let flow = count.saturating_mul(span.saturating_add(slack.as_nanos())) / period;
                flow.saturating_add(self.burst.get().into())
            }
            Promise::AnyPeriod => count.saturating_mul(periods),
            // After a window that is not empty at most N - 1 fit before the next one begins.
            Promise::TwoPeriods => {
                let in_each = (count - 1).saturating_mul(periods).saturating_add(count);
                in_each.max(count.saturating_mul((periods + 1).div_ceil(2)))
            }
            Promise::OwnPeriods => count.saturating_mul(periods + 1),
        };
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// What holds in any window, in this limit's own numbers: `at most 10 + 5/s x T`,
    /// `at most 100 in any 10s`.
    pub fn promise(&self) -> String {
        if self.kind.has_burst() {
            return format!("at most {} + {} x T", self.burst.get(), self.rate.shown());
        }
        let period = self.rate.period;
        let most = self.most_in(period, Duration::ZERO);
        format!("at most {most} in any {}", exact_span(period))
    }
}

impl Spec {
    /// The same as one number, with what is counted: for buckets in 1 s, for slow ones in 60 s; else in
    /// one period.
    pub fn promise_in_numbers(&self, slack: Duration, unit: &str) -> String {
        let minute = Duration::from_secs(60);
        let (span, shown) = match self.kind.has_burst() {
            true if self.rate.period < minute => (Duration::from_secs(1), "1 s".to_owned()),
            true => (minute, "60 s".to_owned()),
            false => (self.rate.period, exact_span(self.rate.period)),
        };
        format!("at most {}{unit} in any {shown}", self.most_in(span, slack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_a_window_is_burst_plus_rate_for_buckets_and_double_for_fixed_windows() {
        let slack = Duration::from_millis(2);
        let most = |text: &str| {
            let spec: Spec = text.parse().unwrap();
            spec.most_in(Duration::from_secs(1), slack)
        };
        for (text, in_second) in [
            ("10/s", 11),
            ("10/s leaky", 11),
            ("10/s burst=40", 50),
            ("5000/s", 5011),
            ("10/1s window", 10),
            ("10/700ms window", 20),
            ("10/1s window-counter", 19),
            ("10/2s window-counter", 19),
            ("10/500ms window-counter", 28),
            ("1/1s window-counter", 1),
            ("1/500ms window-counter", 2),
            ("10/1s fixed", 20),
            ("10/m fixed anchor=first", 20),
            ("10/500ms fixed", 30),
        ] {
            assert_eq!(most(text), in_second, "{text}");
        }
    }

    #[test]
    fn a_promise_is_made_in_the_numbers_of_the_limit() {
        for (text, promise) in [
            ("5/s burst=10", "at most 10 + 5/s x T"),
            ("600rpm leaky", "at most 1 + 10/s x T"),
            ("100/10s window", "at most 100 in any 10s"),
            ("100/10s window-counter", "at most 199 in any 10s"),
            ("100/90s fixed", "at most 200 in any 90s"),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.promise(), promise);
        }
    }
}
