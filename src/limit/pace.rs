//! A pace that is found by trying, where a server refuses and does not say how much it takes. Floor 3: rules.

use std::fmt;
use std::time::Duration;

use crate::units::{Tick, nanos, three_digits};

/// Requests per second, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pace(u64);

impl Pace {
    /// One a minute: a server that takes less is not found by trying.
    const SLOWEST: Self = Self(1_000_000 / 60);

    /// So many in this time, rounded down.
    pub(super) fn of(count: u64, span: Duration) -> Self {
        /// Millionths in nanoseconds.
        const SCALE: u128 = 1_000_000 * 1_000_000_000;
        let pace = u128::from(count).saturating_mul(SCALE) / u128::from(nanos(span).max(1));
        Self(u64::try_from(pace).unwrap_or(u64::MAX)).max(Self::SLOWEST)
    }

    /// How far apart so many keep, rounded up.
    pub(super) fn gap(self, cost: u64) -> Duration {
        const SCALE: u128 = 1_000_000 * 1_000_000_000;
        let gap = u128::from(cost)
            .saturating_mul(SCALE)
            .div_ceil(self.0.into());
        Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// So many hundredths of it.
    pub(super) fn percent(self, hundredths: u64) -> Self {
        let pace = u128::from(self.0) * u128::from(hundredths) / 100;
        Self(u64::try_from(pace).unwrap_or(u64::MAX)).max(Self::SLOWEST)
    }

    /// The one of this number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float saturates, and what is below zero is zero"
    )]
    pub fn per_second_of(number: f64) -> Self {
        Self((number * 1e6).round() as u64).max(Self::SLOWEST)
    }

    /// As a number.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/s", three_digits(self.per_second()))
    }
}

/// The search for the pace of one server: multiplicative decrease, and an increase that gets smaller towards the
/// pace that was refused and is additive beyond it (as BIC has it for TCP: Xu, Harfoush and Rhee, 2004).
///
/// Whatever the time scale of the server is, a cycle has so many accepted requests that its refusals are few
/// beside them.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    /// Without one nothing is held.
    pace: Option<Pace>,
    /// More than the server takes, as far as is known.
    refused: Option<Pace>,
    /// What the server itself says that it takes.
    most: Option<Pace>,
    /// What was granted before tells nothing of this pace, and is not counted.
    since: Option<Tick>,
    accepted: u64,
    /// Steps up beyond what was refused: each is twice as long as the one before.
    beyond: u32,
    /// Since the last step up.
    step_since: Tick,
    step_accepted: u64,
}

/// Resets are told in whole seconds, rounded up.
const SHORT: Duration = Duration::from_secs(2);

/// A step up takes so long at least, and so many accepted requests.
const STEP: Duration = Duration::from_secs(1);
const STEP_ACCEPTED: u64 = 10;

impl Search {
    pub(super) fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// A request is granted at `at`.
    pub(super) fn grants(&mut self, at: Tick) {
        self.since.get_or_insert(at);
    }

    /// A request that was granted then was accepted.
    pub(super) fn accepted(&mut self, granted: Tick, at: Tick) {
        if self.since.is_none_or(|since| granted < since) {
            return;
        }
        self.accepted += 1;
        self.step_accepted += 1;
        let Some(pace) = self.pace else { return };
        let refused = self.refused.unwrap_or(pace);
        let span = at.since(self.step_since);
        let next = if pace < refused.percent(25) {
            pace.percent(200)
        } else if span >= STEP && self.step_accepted >= STEP_ACCEPTED {
            // A pace that is not used is not tried.
            let used = Pace::of(self.step_accepted, span) >= pace.percent(50);
            (self.step_since, self.step_accepted) = (at, 0);
            if used {
                self.step_up(pace, refused)
            } else {
                pace
            }
        } else {
            pace
        };
        self.keep(next.max(pace));
    }

    /// A request that was granted then was refused at `at`; the server takes more again at `back`, if it says so.
    /// Whether that says anything of this pace.
    pub(super) fn refused(&mut self, granted: Tick, at: Tick, back: Option<Tick>) -> bool {
        let Some(since) = self.since.filter(|since| granted >= *since) else {
            return false;
        };
        let end = back.unwrap_or(at).max(at);
        let measured = self.measured(since, at, end);
        let (next, refused) = match (self.pace, measured) {
            (None, None) => return false,
            // How long it takes nothing is not known yet.
            (None, Some(measured)) if back.is_none() => {
                (measured.pace.percent(50), Some(measured.pace))
            }
            (before, Some(measured)) => {
                let before = before.unwrap_or(measured.most);
                let next = measured.pace.min(before).percent(95);
                (next, Some(measured.most.min(before)))
            }
            (Some(pace), None) => (pace.percent(50), self.refused),
        };
        self.refused = refused;
        self.begin(end, next);
        true
    }

    /// The server says at `at` that all is used up until `until`, and refuses nothing. Whether that is news. Where it
    /// lasts for long, that wait is all there is to do; where it is short, resets in whole seconds are most of it, and
    /// who spreads its requests gets more of them through.
    pub(super) fn used_up(&mut self, at: Tick, until: Tick, limit: Option<u64>) -> bool {
        let Some(since) = self.since.filter(|since| at >= *since && until > at) else {
            return false;
        };
        let Some(measured) = self.measured(since, at, until) else {
            return false;
        };
        let wait = until.since(at);
        if wait <= SHORT {
            // The next ones come all at once: less than that it does not take.
            let least = limit.map(|limit| Pace::of(limit, wait));
            let pace = least.map_or(measured.pace, |least| measured.pace.max(least));
            let most = measured.most.max(pace);
            self.refused = Some(self.pace.map_or(most, |before| before.min(most)));
            self.begin(until, pace.percent(90));
        } else {
            (self.since, self.accepted) = (Some(until), 0);
        }
        true
    }

    /// The server says that it takes this.
    pub(super) fn told(&mut self, most: Pace) {
        self.most = Some(most);
        if let Some(pace) = self.pace {
            self.keep(pace);
        }
    }

    /// It says so and nothing else: this pace is begun with.
    pub(super) fn begins_with(&mut self, most: Pace, at: Tick) {
        self.told(most);
        if self.pace.is_none() {
            self.refused = Some(most);
            self.begin(at, most);
        }
    }

    /// At least a hundredth, and beyond what was refused at most an eighth of it.
    fn step_up(&mut self, pace: Pace, refused: Pace) -> Pace {
        let least = pace.0 / 100;
        let step = if pace < refused {
            ((refused.0 - pace.0) / 8).max(least)
        } else {
            self.beyond += 1;
            least
                .saturating_mul(1 << self.beyond.min(4))
                .min(pace.0 / 8)
        };
        Pace(pace.0.saturating_add(step))
    }

    fn begin(&mut self, at: Tick, pace: Pace) {
        self.beyond = 0;
        (self.since, self.accepted) = (Some(at), 0);
        (self.step_since, self.step_accepted) = (at, 0);
        self.keep(pace);
    }

    fn keep(&mut self, pace: Pace) {
        self.pace = Some(self.most.map_or(pace, |most| most.min(pace)));
    }

    /// What was accepted per second since the cycle began. The rest after it belongs to it, unless that is
    /// short beside it: servers round it up, to a second or more.
    fn measured(&self, since: Tick, at: Tick, end: Tick) -> Option<Measured> {
        let (span, rest) = (at.since(since), end.since(at));
        let mostly_rest = span < rest * 2;
        let span = if mostly_rest { span + rest } else { span };
        (self.accepted > 0).then(|| Measured {
            pace: Pace::of(self.accepted, span),
            // The wait may have been twice as long as need be.
            most: Pace::of(self.accepted, span).percent(if mostly_rest { 200 } else { 110 }),
        })
    }
}

/// What a server took in a cycle, and what it may take at most.
#[derive(Debug, Clone, Copy)]
struct Measured {
    pace: Pace,
    most: Pace,
}
