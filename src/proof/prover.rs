//! Every limit of a run against what was sent, in order. Floor 3: rules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::event::{Event, Weight};
use super::meter::Meter;
use super::own::Own;
use super::span::Span;
use super::{Mark, Minute, Most, Proved, Proven, Stretch, Verdict};
use crate::limit::{Anchor, Kind, Leaves, Spec, keys_of};
use crate::units::nanos;

/// What a proof allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// A grant may have been charged for up to so long before it.
    pub slack: Duration,
    /// Moments are told in multiples of this, rounded down. Stretches of a bucket may have been longer by
    /// it. Windows need no allowance: what is a period apart is so after rounding, if the period is a
    /// multiple; of any other period its whole multiples are taken.
    pub rounding: Duration,
    /// Events may have been closer together by this than their moments say.
    pub skew: Duration,
    /// The moment zero, since the Unix epoch.
    pub epoch: Duration,
}

/// Finds the worst window of every limit. Memory: one period of each limit (of a bucket the span that is
/// told for it, 1 s or 60 s), and one minute if units are counted; of a key only while there is
/// anything in its windows.
#[derive(Debug)]
pub struct Prover {
    tracks: Vec<Track>,
    minute: Option<(Span, Span, Minute)>,
}

/// What decides whether a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Sends: its count in any period.
    Sends,
    /// Grants: never more than burst + rate × (time + slack).
    Bucket,
    /// Grants: its count in each window from the epoch on.
    Own,
    /// Grants, in any period less the slack, as where its windows begin is not recorded.
    Twice,
}

impl Rule {
    fn of(limit: &Spec) -> Self {
        match (limit.kind, limit.anchor) {
            (Kind::Bucket | Kind::Leaky, _) => Self::Bucket,
            (Kind::Window, _) => Self::Sends,
            (Kind::Fixed, Anchor::Epoch) => Self::Own,
            (Kind::Fixed, Anchor::First) | (Kind::Counter, _) => Self::Twice,
        }
    }
}

/// One limit.
#[derive(Debug)]
struct Track {
    limit: Spec,
    shape: Shape,
    /// Which of the keys of the run it is kept for.
    key: Option<usize>,
    promised: Tally,
    /// Of limits on units.
    used: Option<Tally>,
}

/// How the state of a limit is made.
#[derive(Debug)]
struct Shape {
    rule: Rule,
    count: u64,
    period: u64,
    /// What the most is told for.
    span: u64,
    /// Period less slack.
    shorter: u64,
    terms: Terms,
}

/// The worst by one measure, and what is still open.
#[derive(Debug, Default)]
struct Tally {
    sends: Most,
    charged: Most,
    /// Buckets: how full the meter was at the end of `charged`.
    level: i128,
    states: States,
}

/// The states of a limit.
#[derive(Debug, Default)]
struct States {
    /// Of all events without a value of the key.
    plain: Option<State>,
    keyed: HashMap<Arc<str>, State>,
    /// The number of states at which those that are idle are forgotten.
    sweep_at: usize,
}

#[derive(Debug)]
struct State {
    sends: Span,
    charged: Charged,
}

#[derive(Debug)]
enum Charged {
    Sends,
    Meter(Meter),
    Own(Own),
    Around(Span),
}

/// A span that is told for a bucket: 1 s, for slow ones 60 s.
fn told(limit: &Spec) -> Duration {
    let minute = Duration::from_secs(60);
    match Rule::of(limit) {
        Rule::Bucket if limit.rate.period < minute => Duration::from_secs(1),
        Rule::Bucket => minute,
        Rule::Sends | Rule::Own | Rule::Twice => limit.rate.period,
    }
}

impl Shape {
    fn of(limit: &Spec, terms: Terms) -> Self {
        let whole = |span: u64| match nanos(terms.rounding) {
            0 => span,
            step if span < step => span,
            step => span - span % step,
        };
        let (period, skew) = (nanos(limit.rate.period), nanos(terms.skew));
        let shorter = period.saturating_sub(nanos(terms.slack)).max(1);
        Self {
            rule: Rule::of(limit),
            count: limit.rate.count.get(),
            period,
            span: whole(nanos(told(limit))).saturating_add(skew),
            shorter: whole(shorter).saturating_add(skew),
            terms,
        }
    }

    fn state(&self) -> State {
        State {
            sends: Span::new(self.span),
            charged: match self.rule {
                Rule::Sends => Charged::Sends,
                Rule::Bucket => {
                    let skew = nanos(self.terms.skew);
                    Charged::Meter(Meter::new(self.count, self.period, skew))
                }
                Rule::Own => Charged::Own(Own::new(self.count, self.period, &self.terms)),
                Rule::Twice => Charged::Around(Span::new(self.shorter)),
            },
        }
    }
}

impl State {
    fn is_idle(&self, at: u64) -> bool {
        self.sends.is_idle(at)
            && match &self.charged {
                Charged::Sends => true,
                Charged::Meter(meter) => meter.is_idle(at),
                Charged::Own(own) => own.is_idle(at),
                Charged::Around(span) => span.is_idle(at),
            }
    }
}

/// The fewest states before a sweep.
const SWEEP: usize = 64;

impl States {
    /// The state of a key. Those that are idle at `at` are forgotten each time their number has doubled.
    fn of(&mut self, key: Option<&Arc<str>>, at: u64, shape: &Shape) -> &mut State {
        let Some(key) = key else {
            return self.plain.get_or_insert_with(|| shape.state());
        };
        if self.keyed.len() >= self.sweep_at.max(SWEEP) {
            self.keyed.retain(|_, state| !state.is_idle(at));
            self.sweep_at = self.keyed.len() * 2;
        }
        let state = self.keyed.entry(Arc::clone(key));
        state.or_insert_with(|| shape.state())
    }
}

impl Tally {
    fn granted(&mut self, key: Option<&Arc<str>>, mark: Mark, weight: u64, shape: &Shape) {
        let most = &mut self.charged;
        let worse = match &mut self.states.of(key, mark.at.0, shape).charged {
            Charged::Sends => false,
            Charged::Own(own) => own.add(mark, weight, most),
            Charged::Around(span) => span.add(mark, mark.at.0, weight, most),
            Charged::Meter(meter) => meter.add(mark, weight, &mut self.level, most),
        };
        if worse {
            most.key = key.cloned();
        }
    }

    fn sent(&mut self, key: Option<&Arc<str>>, mark: Mark, left: u64, weight: u64, shape: &Shape) {
        let sends = &mut self.states.of(key, mark.at.0, shape).sends;
        if sends.add(mark, left, weight, &mut self.sends) {
            self.sends.key = key.cloned();
        }
    }
}

impl Track {
    fn new(limit: &Spec, key: Option<usize>, terms: Terms) -> Self {
        Self {
            limit: limit.clone(),
            shape: Shape::of(limit, terms),
            key,
            promised: Tally::default(),
            used: limit.counts.is_units().then(Tally::default),
        }
    }

    /// Each measure with what the event weighs by it; nothing costs zero.
    fn tallies(&mut self, weight: Weight) -> impl Iterator<Item = (&mut Tally, u64, &Shape)> {
        let promised = (Some(&mut self.promised), weight.promised);
        let used = (self.used.as_mut(), weight.used);
        let shape = &self.shape;
        [promised, used]
            .into_iter()
            .filter_map(move |(tally, weight)| Some((tally?, weight, shape)))
            .filter(|(_, weight, _)| *weight > 0)
    }

    fn granted(&mut self, event: &Event) {
        if self.shape.rule == Rule::Sends {
            return;
        }
        let key = self.key.and_then(|number| event.keys.get(number));
        for (tally, weight, shape) in self.tallies(event.weight(self.limit.counts)) {
            tally.granted(key, event.granted_mark(), weight, shape);
        }
    }

    fn sent(&mut self, event: &Event) {
        let key = self.key.and_then(|number| event.keys.get(number));
        let left = match self.limit.leaves {
            Leaves::Send => event.sent,
            Leaves::Reply => event.answered,
        };
        for (tally, weight, shape) in self.tallies(event.weight(self.limit.counts)) {
            tally.sent(key, event.sent_mark(), left.0, weight, shape);
        }
    }

    /// The most that is allowed where the rule is decided by a count.
    fn bound(&self) -> u128 {
        let count = u128::from(self.shape.count);
        match self.shape.rule {
            Rule::Sends | Rule::Own | Rule::Bucket => count,
            Rule::Twice => {
                let most = self.limit.most_in(self.limit.rate.period, Duration::ZERO);
                u128::from(most)
            }
        }
    }

    /// By how much a tally is above what is allowed, rounded up.
    fn over(&self, tally: &Tally) -> u128 {
        match self.shape.rule {
            Rule::Sends => tally.sends.sum.saturating_sub(self.bound()),
            Rule::Own | Rule::Twice => tally.charged.sum.saturating_sub(self.bound()),
            Rule::Bucket => {
                let over = tally.level.saturating_sub(self.capacity());
                u128::try_from(over).map_or(0, |over| over.div_ceil(self.shape.period.into()))
            }
        }
    }

    /// Burst + rate × (slack + rounding), scaled as the level of a meter.
    fn capacity(&self) -> i128 {
        let terms = &self.shape.terms;
        let late = i128::from(nanos(terms.slack + terms.rounding));
        i128::from(self.limit.burst.get())
            .saturating_mul(self.shape.period.into())
            .saturating_add(i128::from(self.shape.count).saturating_mul(late))
    }

    fn proved(self) -> Proved {
        let over = self.over(&self.promised);
        let by_answers = self.used.as_ref().map_or(0, |used| self.over(used));
        let verdict = match (over, by_answers) {
            (0, 0) => Verdict::Kept,
            (0, more) => Verdict::ByAnswers(more),
            (more, _) => Verdict::Exceeded(more),
        };
        let span = told(&self.limit);
        let used = self.used.as_ref().unwrap_or(&self.promised).sends.sum;
        let (rule, capacity, period) = (self.shape.rule, self.capacity(), self.shape.period);
        let Tally {
            sends,
            charged,
            level,
            ..
        } = self.promised;
        let (stretch, own) = match rule {
            Rule::Sends | Rule::Twice => (None, None),
            Rule::Own => (None, Some(charged)),
            Rule::Bucket => {
                // What was granted, and what the level still had room for.
                let room = capacity.saturating_sub(level).div_euclid(period.into());
                let granted = i128::try_from(charged.sum).unwrap_or(i128::MAX);
                let allowed = u128::try_from(granted.saturating_add(room)).unwrap_or(0);
                let granted = charged;
                (Some(Stretch { granted, allowed }), None)
            }
        };
        Proved {
            promised: self.limit.most_in(span, self.shape.terms.slack),
            limit: self.limit,
            span,
            most: sends,
            used,
            stretch,
            own,
            verdict,
        }
    }
}

impl Prover {
    /// Nothing seen yet.
    pub fn new(limits: &[Spec], terms: Terms) -> Self {
        let keys = keys_of(limits);
        let number = |limit: &Spec| {
            let per = limit.per.as_ref()?;
            keys.iter().position(|key| key == per)
        };
        let each = limits.iter();
        let minute = 60 * nanos(Duration::from_secs(1));
        let units = limits.iter().any(|limit| limit.counts.is_units());
        Self {
            tracks: each
                .map(|limit| Track::new(limit, number(limit), terms))
                .collect(),
            minute: units.then(|| (Span::new(minute), Span::new(minute), Minute::default())),
        }
    }

    /// The next event in the order of grants.
    pub fn granted(&mut self, event: &Event) {
        for track in &mut self.tracks {
            track.granted(event);
        }
    }

    /// The next event in the order of sends.
    pub fn sent(&mut self, event: &Event) {
        for track in &mut self.tracks {
            track.sent(event);
        }
        if let Some((promised, used, minute)) = &mut self.minute {
            let weight = event.weight(crate::limit::Counts::Units);
            let (mark, at) = (event.sent_mark(), event.sent.0);
            promised.add(mark, at, weight.promised, &mut minute.promised);
            used.add(mark, at, weight.used, &mut minute.used);
        }
    }

    /// What was found.
    pub fn close(self) -> Proven {
        Proven {
            limits: self.tracks.into_iter().map(Track::proved).collect(),
            minute: self.minute.map(|(_, _, minute)| minute),
            unseen: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::{Spent, UnitsSpent};
    use crate::units::Tick;

    const MILLI: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MILLI;

    fn event(at: u64) -> Event {
        Event {
            granted: Tick(at),
            sent: Tick(at),
            answered: Tick(at),
            units: None,
            keys: Box::default(),
            source: 0,
        }
    }

    fn units(at: u64, reserved: u64, used: u64) -> Event {
        let total = Spent { reserved, used };
        let units = UnitsSpent {
            total,
            ..UnitsSpent::default()
        };
        Event {
            units: Some(Box::new(units)),
            ..event(at)
        }
    }

    fn proved(limit: Spec, terms: Terms, events: &[Event]) -> Proved {
        let mut prover = Prover::new(&[limit], terms);
        for event in events {
            prover.granted(event);
        }
        for event in events {
            prover.sent(event);
        }
        prover.close().limits.remove(0)
    }

    fn verdict(limit: &str, terms: Terms, events: &[Event]) -> Verdict {
        proved(limit.parse().unwrap(), terms, events).verdict
    }

    fn even(count: u64, gap: u64) -> Vec<Event> {
        (0..count).map(|number| event(number * gap)).collect()
    }

    #[test]
    fn a_window_is_kept_at_exactly_a_period_and_exceeded_by_one_a_nanosecond_earlier() {
        let mut sends = vec![event(7), event(8), event(7 + SECOND)];
        let none = Terms::default();
        assert_eq!(verdict("2/1s window", none, &sends), Verdict::Kept);
        sends[2] = event(6 + SECOND);
        assert_eq!(verdict("2/1s window", none, &sends), Verdict::Exceeded(1));
    }

    #[test]
    fn a_bucket_has_its_burst_its_rate_and_the_slack_and_not_a_nanosecond_more() {
        let slack = Terms {
            slack: Duration::from_millis(2),
            ..Terms::default()
        };
        let hundred = Terms::default();
        assert_eq!(
            verdict("10/s", hundred, &even(50, 100 * MILLI)),
            Verdict::Kept
        );
        let mut early = even(50, 100 * MILLI);
        early[49] = event(49 * 100 * MILLI - 2 * MILLI);
        assert_eq!(verdict("10/s", hundred, &early), Verdict::Exceeded(1));
        assert_eq!(verdict("10/s", slack, &early), Verdict::Kept);
        early[49] = event(49 * 100 * MILLI - 2 * MILLI - 1);
        let found = proved("10/s".parse().unwrap(), slack, &early);
        assert_eq!(found.verdict, Verdict::Exceeded(1));
        let stretch = found.stretch.unwrap();
        assert_eq!((stretch.granted.sum, stretch.allowed), (2, 1));
        assert_eq!(stretch.granted.first.at, Tick(48 * 100 * MILLI));
        assert_eq!((found.promised, found.most.sum), (11, 11));
    }

    #[test]
    fn a_fixed_window_is_decided_by_its_own_windows_and_shows_the_worst_of_any() {
        let mut sends: Vec<Event> = (0..5).map(|late| event(SECOND - 1 - late)).rev().collect();
        sends.extend((0..5).map(|late| event(SECOND + late)));
        let found = proved("5/1s fixed".parse().unwrap(), Terms::default(), &sends);
        assert_eq!(found.verdict, Verdict::Kept);
        assert_eq!((found.promised, found.most.sum), (10, 10));
        assert_eq!(found.own.unwrap().sum, 5);
        sends.push(event(SECOND + 9));
        let found = verdict("5/1s fixed", Terms::default(), &sends);
        assert_eq!(found, Verdict::Exceeded(1));
    }

    #[test]
    fn windows_from_the_first_send_on_hold_twice_their_count_in_any_period() {
        let mut limit: Spec = "5/1s fixed".parse().unwrap();
        limit.anchor = Anchor::First;
        let kept = proved(limit.clone(), Terms::default(), &even(10, 1));
        assert_eq!((kept.verdict, kept.promised), (Verdict::Kept, 10));
        let found = proved(limit, Terms::default(), &even(11, 1));
        assert_eq!(found.verdict, Verdict::Exceeded(1));
    }

    #[test]
    fn with_reply_a_send_counts_until_a_period_after_its_answer() {
        let mut limit: Spec = "1/1s window".parse().unwrap();
        let mut first = event(0);
        first.answered = Tick(5);
        let sends = [first, event(SECOND + 4)];
        let verdict =
            |limit: &Spec, sends: &[Event]| proved(limit.clone(), Terms::default(), sends).verdict;
        assert_eq!(verdict(&limit, &sends), Verdict::Kept);
        limit.leaves = Leaves::Reply;
        assert_eq!(verdict(&limit, &sends), Verdict::Exceeded(1));
        let [first, _] = sends;
        assert_eq!(verdict(&limit, &[first, event(SECOND + 5)]), Verdict::Kept);
    }

    #[test]
    fn answers_that_use_more_than_they_reserved_are_told_apart_from_sends_that_should_not_have_been()
     {
        let limit = "tokens 100/1s window";
        let none = Terms::default();
        let refused = units(2, 60, 0);
        let kept = [units(0, 60, 40), refused, units(3, 60, 60)];
        assert_eq!(verdict(limit, none, &kept), Verdict::Kept);
        let surprised = [units(0, 60, 130), units(3, 40, 10)];
        let found = proved(limit.parse().unwrap(), none, &surprised);
        assert_eq!(found.verdict, Verdict::ByAnswers(40));
        assert_eq!((found.most.sum, found.used), (70, 140));
        let exceeded = [units(0, 60, 130), units(3, 60, 60)];
        assert_eq!(verdict(limit, none, &exceeded), Verdict::Exceeded(20));
    }

    #[test]
    fn each_key_has_its_own_window_and_the_worst_is_named() {
        let mut limit: Spec = "2/1s window".parse().unwrap();
        limit.per = Some(crate::limit::KeyBy::Host);
        let of = |at: u64, key: &str| Event {
            keys: Box::new([key.into()]),
            ..event(at)
        };
        let mut sends = Vec::new();
        for number in 0..1_000 {
            sends.push(of(2 * number, &format!("host {number}")));
            sends.push(of(2 * number + 1, &format!("host {number}")));
        }
        sends.push(of(3 * SECOND, "c"));
        sends.push(of(3 * SECOND + 1, "c"));
        sends.push(of(3 * SECOND + 2, "c"));
        let found = proved(limit, Terms::default(), &sends);
        assert_eq!(found.verdict, Verdict::Exceeded(1));
        assert_eq!(found.most.key.as_deref(), Some("c"));
    }

    #[test]
    fn keys_that_are_idle_are_forgotten() {
        for limit in ["2/1s window", "2/s", "2/1s fixed"] {
            let mut limit: Spec = limit.parse().unwrap();
            limit.per = Some(crate::limit::KeyBy::Host);
            let mut prover = Prover::new(&[limit], Terms::default());
            for number in 0..10_000 {
                let event = Event {
                    keys: Box::new([number.to_string().into()]),
                    ..event(number * 100 * MILLI)
                };
                prover.granted(&event);
                prover.sent(&event);
            }
            let states = prover.tracks[0].promised.states.keyed.len();
            assert!(states <= 2 * SWEEP, "{states} states are kept");
        }
    }

    #[test]
    fn the_worst_minute_tells_what_was_reserved_and_what_was_used() {
        let limit: Spec = "tokens 1000/h".parse().unwrap();
        let mut prover = Prover::new(&[limit], Terms::default());
        for event in [
            units(0, 100, 10),
            units(59 * SECOND, 100, 120),
            units(60 * SECOND, 100, 20),
        ] {
            prover.sent(&event);
        }
        let minute = prover.close().minute.unwrap();
        assert_eq!((minute.promised.sum, minute.used.sum), (120, 140));
    }

    #[test]
    fn under_a_skew_only_what_holds_for_all_clocks_is_proved() {
        let skew = |nanos| Terms {
            skew: Duration::from_nanos(nanos),
            ..Terms::default()
        };
        let sends = [event(0), event(SECOND + 5)];
        assert_eq!(verdict("1/1s window", skew(5), &sends), Verdict::Kept);
        assert_eq!(
            verdict("1/1s window", skew(6), &sends),
            Verdict::Exceeded(1)
        );
        assert_eq!(verdict("1/s", skew(5), &sends), Verdict::Kept);
        assert_eq!(verdict("1/s", skew(6), &sends), Verdict::Exceeded(1));
    }

    #[test]
    fn no_sends_keep_every_limit() {
        for limit in ["1/s", "1/1s window", "tokens 5/1s fixed"] {
            assert_eq!(verdict(limit, Terms::default(), &[]), Verdict::Kept);
        }
    }

    #[test]
    fn extremes_neither_panic_nor_wrap() {
        for limit in [
            "1/500y window",
            "10000000000M/1us",
            "tokens 1/1us fixed",
            "1/1ns",
        ] {
            let Ok(limit) = limit.parse::<Spec>() else {
                continue;
            };
            let sends = [
                units(0, u64::MAX, u64::MAX),
                units(u64::MAX, u64::MAX, u64::MAX),
            ];
            proved(limit, Terms::default(), &sends);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Sends that an exact window let through, to the nanosecond, then told in whole microseconds.
        #[test]
        fn rounding_down_to_microseconds_calls_no_window_exceeded(
            period in 1_000..9_000_u64,
            count in 1..4_usize,
            gaps in proptest::collection::vec(0..4_000_u64, 1..20),
        ) {
            let mut exact: Vec<u64> = Vec::new();
            for gap in gaps {
                let at = exact.last().copied().unwrap_or(0) + gap;
                let room = exact.len().checked_sub(count).map_or(0, |nth| exact[nth] + period);
                exact.push(at.max(room));
            }
            let told: Vec<Event> = exact.iter().map(|at| event(at / 1_000 * 1_000)).collect();
            let rate = crate::units::Rate::new(count as u64, Duration::from_nanos(period)).unwrap();
            let terms = Terms { rounding: Duration::from_micros(1), ..Terms::default() };
            let found = proved(Spec::window("w", rate), terms, &told);
            prop_assert_eq!(found.verdict, Verdict::Kept, "{:?}", exact);
        }
    }
}
