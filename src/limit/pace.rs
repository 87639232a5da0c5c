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

    /// One of so many equal parts of it.
    pub(super) fn part(self, of: u64) -> Self {
        Self(self.0 / of.max(1)).max(Self::SLOWEST)
    }

    /// The one of so many millionths, as others count it.
    pub fn of_millionths(number: u64) -> Self {
        Self(number).max(Self::SLOWEST)
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
    /// Since the first word on what it takes.
    first: Option<Tick>,
    first_accepted: u64,
    /// It was doubled in this cycle, so what was accepted on the whole says nothing of it.
    doubled: bool,
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
    /// Whether the server has said nothing of it.
    pub(super) fn knows_nothing(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// What it took from its first word on, if that is enough to tell.
    pub(super) fn mean(&self, at: Tick) -> Option<Pace> {
        let span = at.since(self.first?);
        (self.first_accepted >= STEP_ACCEPTED && span >= STEP)
            .then(|| Pace::of(self.first_accepted, span))
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
        self.first_accepted += u64::from(self.first.is_some());
        self.step_accepted += 1;
        let Some(pace) = self.pace else { return };
        let refused = self.refused.unwrap_or(pace);
        let span = at.since(self.step_since);
        let next = if pace < refused.percent(25) {
            self.doubled = true;
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
        let few = self.accepted < STEP_ACCEPTED && back.is_none();
        let (next, refused) = match (self.pace, measured) {
            (None, None) => return false,
            // How long it takes nothing is not known yet.
            (None, Some(_)) if back.is_none() => {
                let asked = Pace::of(self.accepted, at.since(since));
                (asked.percent(50), Some(asked))
            }
            (Some(pace), None) => (pace.percent(50), self.refused),
            (Some(pace), Some(_)) if self.doubled => (pace.percent(50), Some(pace)),
            // Too few to tell what it takes, and enough to tell that it takes some.
            (Some(pace), Some(_)) if few => (pace.percent(70), self.refused),
            (before, Some(measured)) => {
                let before = before.unwrap_or(measured.most);
                let next = measured.pace.min(before).percent(95);
                (next, Some(measured.most.min(before)))
            }
        };
        self.refused = refused;
        self.first.get_or_insert(at);
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
        self.first.get_or_insert(at);
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
            self.first.get_or_insert(at);
            self.begin(at, most);
        }
    }

    /// Others have found this pace, and it is gone on with.
    pub(super) fn goes_on_with(&mut self, pace: Pace, at: Tick) {
        self.refused = Some(pace);
        self.first.get_or_insert(at);
        self.begin(at, pace);
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
        (self.doubled, self.beyond) = (false, 0);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Tick {
        Tick(millis * 1_000_000)
    }

    fn per_second(number: f64) -> Pace {
        Pace::per_second_of(number)
    }

    /// So many accepted requests, the last of them at `until`.
    fn after(accepted: u64, until: u64) -> Search {
        let mut search = Search::default();
        search.grants(Tick::ZERO);
        for _ in 0..accepted {
            search.accepted(Tick::ZERO, at(until));
        }
        search
    }

    #[test]
    fn a_gap_and_its_pace_are_one_and_never_too_fast() {
        for (count, millis, gap) in [
            (100, 1_000, 10_000_000),
            (3, 1_000, 333_333_334),
            (1, 90_000, 60_002_400_097),
        ] {
            let pace = Pace::of(count, Duration::from_millis(millis));
            assert_eq!(pace.gap(1), Duration::from_nanos(gap), "{pace}");
        }
        assert_eq!(
            Pace::of(u64::MAX, Duration::ZERO).gap(u64::MAX),
            Duration::from_secs(1_000_000)
        );
    }

    #[test]
    fn nothing_is_held_before_a_refusal() {
        assert_eq!(after(1_000, 10).pace(), None);
    }

    #[test]
    fn a_wait_that_is_asked_for_belongs_to_the_cycle_and_a_short_one_does_not() {
        // 100 in 200 ms, and no more before the second is over.
        let mut search = after(100, 200);
        assert!(search.refused(Tick::ZERO, at(200), Some(at(1_000))));
        assert_eq!(search.pace(), Some(per_second(95.0)));
        // 100 in 10 s, and a second that was rounded up.
        let mut search = after(100, 10_000);
        assert!(search.refused(Tick::ZERO, at(10_000), Some(at(11_000))));
        assert_eq!(search.pace(), Some(per_second(9.5)));
    }

    #[test]
    fn a_first_refusal_without_a_wait_halves_and_the_next_ones_that_nothing_came_between() {
        let mut search = after(100, 1_000);
        assert!(search.refused(Tick::ZERO, at(1_000), None));
        assert_eq!(search.pace(), Some(per_second(50.0)));
        assert!(
            !search.refused(at(999), at(1_020), None),
            "it was granted at the pace before"
        );
        assert_eq!(search.pace(), Some(per_second(50.0)));
        assert!(search.refused(at(1_020), at(1_070), None));
        assert_eq!(search.pace(), Some(per_second(25.0)));
    }

    #[test]
    fn a_refusal_before_anything_was_accepted_says_nothing_of_a_pace() {
        let mut search = after(0, 0);
        assert!(!search.refused(Tick::ZERO, at(50), None));
        assert_eq!(search.pace(), None);
    }

    #[test]
    fn steps_get_smaller_towards_what_was_refused_and_a_pace_that_is_not_used_has_none() {
        let mut search = after(100, 1_000);
        search.refused(Tick::ZERO, at(1_000), None);
        let mut each = |from: u64, gap: usize| {
            let mut paces = Vec::new();
            for second in from..from + 4 {
                for millis in (0..1_000).step_by(gap) {
                    search.accepted(at(1_000), at(second * 1_000 + millis));
                }
                paces.push(search.pace().unwrap());
            }
            paces
        };
        let paces = each(1, 20);
        let steps: Vec<_> = paces
            .windows(2)
            .map(|pair| pair[1].per_second() - pair[0].per_second())
            .collect();
        assert!(steps.windows(2).all(|pair| pair[0] > pair[1]), "{steps:?}");
        assert!(steps.iter().all(|step| *step > 0.0), "{steps:?}");
        let paces = each(6, 80);
        assert_eq!(paces[1], paces[3], "12 a second are no use of it");
    }

    #[test]
    fn what_was_halved_in_an_outage_is_soon_there_again() {
        let mut search = after(100, 1_000);
        search.refused(Tick::ZERO, at(1_000), Some(at(1_000)));
        for nth in 0..20 {
            search.refused(at(1_000 + nth * 1_000), at(1_001 + nth * 1_000), None);
        }
        assert!(search.pace() < Some(per_second(0.1)));
        let mut now = at(60_000);
        let mut seconds = 0.0;
        while search.pace() < Some(per_second(80.0)) {
            let gap = search.pace().unwrap().gap(1);
            now = now.after(gap);
            seconds += gap.as_secs_f64();
            search.accepted(now, now);
        }
        assert!(seconds < 150.0, "{seconds}");
    }

    #[test]
    fn a_refusal_while_it_doubles_leaves_it_at_what_was_accepted_last() {
        let mut search = after(100, 1_000);
        search.refused(Tick::ZERO, at(1_000), None);
        for nth in 0..6 {
            search.refused(at(1_000 + nth * 10), at(1_005 + nth * 10), None);
        }
        let mut now = at(2_000);
        while search.pace() < Some(per_second(20.0)) {
            now = now.after(search.pace().unwrap().gap(1));
            search.accepted(now, now);
        }
        let before = search.pace().unwrap();
        search.refused(now, now, None);
        assert_eq!(search.pace(), Some(before.percent(50)));
    }

    #[test]
    fn what_the_server_tells_is_never_exceeded() {
        let mut search = after(100, 1_000);
        search.told(Pace::per_second_of(10.0));
        search.refused(Tick::ZERO, at(1_000), None);
        for second in 2..200 {
            for _ in 0..20 {
                search.accepted(at(1_000), at(second * 1_000));
            }
        }
        assert_eq!(search.pace(), Some(per_second(10.0)));
    }

    proptest! {
        #[test]
        fn whatever_happens_there_is_a_pace_that_lets_requests_go(
            events in prop::collection::vec((0..5_u8, 0..3_000_u64, 0..90_000_u64), 1..200),
        ) {
            let mut search = Search::default();
            let mut now = Tick::ZERO;
            for (what, pause, wait) in events {
                now = now.after(Duration::from_millis(pause));
                let later = now.after(Duration::from_millis(wait));
                match what {
                    0 => search.grants(now),
                    1 => search.accepted(now, now),
                    2 => drop(search.refused(now, now, None)),
                    3 => drop(search.refused(now, now, Some(later))),
                    _ => drop(search.used_up(now, later, Some(wait))),
                }
                let gap = search.pace().map_or(Duration::ZERO, |pace| pace.gap(1));
                prop_assert!(gap <= Duration::from_secs(61), "{gap:?}");
            }
        }
    }
}
