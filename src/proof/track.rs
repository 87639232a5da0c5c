//! One limit against what was sent, in order. Floor 3: rules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::apart::Apart;
use super::event::{Event, Weight};
use super::meter::Meter;
use super::own::Own;
use super::span::Span;
use super::terms::Terms;
use super::{Grants, Mark, Most, Proved, Verdict};
use crate::limit::{Anchor, Leaves, Promise, Spec};
use crate::units::nanos;

/// What decides whether a limit is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Sends: its count in any period.
    Sends,
    /// Grants: never more than burst + rate × (time + slack).
    Bucket,
    /// Grants: its count in each window from the epoch on.
    Own,
    /// Grants: so much in any [`around`], as where its windows begin is not recorded.
    Around(u128),
}

impl Rule {
    fn of(limit: &Spec, slack: Duration) -> Self {
        match (limit.kind.promise(), limit.anchor) {
            (Promise::Flow, _) => Self::Bucket,
            (Promise::AnyPeriod, _) => Self::Sends,
            (Promise::OwnPeriods, Anchor::Epoch) => Self::Own,
            (Promise::OwnPeriods, Anchor::First) | (Promise::TwoPeriods, _) => {
                let charged = around(limit, slack).saturating_add(slack);
                Self::Around(limit.most_in(charged, Duration::ZERO).into())
            }
        }
    }
}

/// A length of which all grants are charged within one period; a whole period where that is too short for
/// the slack: they are then charged within that and the slack.
fn around(limit: &Spec, slack: Duration) -> Duration {
    let period = limit.rate.period;
    match period.checked_sub(slack) {
        Some(rest) if rest > slack => rest,
        Some(_) | None => period,
    }
}

/// One limit.
#[derive(Debug)]
pub(super) struct Track {
    limit: Spec,
    shape: Shape,
    /// Which of the keys of the run it is kept for.
    key: Option<usize>,
    promised: Tally,
    /// Of limits on units.
    used: Option<Tally>,
    /// The most that one send weighed.
    heaviest: u64,
}

/// How the state of a limit is made.
#[derive(Debug)]
struct Shape {
    rule: Rule,
    count: u64,
    period: u64,
    /// What the most is told for.
    span: u64,
    /// See [`around`].
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
    sends: Windows,
    charged: Charged,
}

#[derive(Debug)]
enum Charged {
    Sends,
    Meter(Meter),
    Own(Own),
    Around(Windows),
}

/// Windows of one length.
#[derive(Debug)]
enum Windows {
    /// Of one clock.
    One(Span),
    /// Of clocks that may differ.
    Apart(Apart),
}

impl Windows {
    fn new(length: u64, terms: &Terms) -> Self {
        match nanos(terms.skew) {
            0 => Self::One(Span::new(length)),
            skew => Self::Apart(Apart::new(length, skew)),
        }
    }

    fn add(&mut self, mark: Mark, left: u64, weight: u64, most: &mut Most) -> bool {
        match self {
            Self::One(span) => span.add(mark, left, weight, most),
            Self::Apart(apart) => apart.add(mark, left, weight, most),
        }
    }

    fn is_idle(&self, at: u64) -> bool {
        match self {
            Self::One(span) => span.is_idle(at),
            Self::Apart(apart) => apart.is_idle(at),
        }
    }
}

/// A span that is told for a bucket: 1 s, for slow ones 60 s.
fn told(limit: &Spec) -> Duration {
    let minute = Duration::from_secs(60);
    match Rule::of(limit, Duration::ZERO) {
        Rule::Bucket if limit.rate.period < minute => Duration::from_secs(1),
        Rule::Bucket => minute,
        Rule::Sends | Rule::Own | Rule::Around(_) => limit.rate.period,
    }
}

impl Shape {
    fn of(limit: &Spec, terms: Terms) -> Self {
        let whole = |span: u64| match nanos(terms.rounding) {
            0 => span,
            step if span < step => span,
            step => span - span % step,
        };
        let period = nanos(limit.rate.period);
        let shorter = nanos(around(limit, terms.slack));
        Self {
            rule: Rule::of(limit, terms.slack),
            count: limit.rate.count.get(),
            period,
            span: whole(nanos(told(limit))),
            shorter: whole(shorter),
            terms,
        }
    }

    fn state(&self) -> State {
        State {
            sends: Windows::new(self.span, &self.terms),
            charged: match self.rule {
                Rule::Sends => Charged::Sends,
                Rule::Bucket => {
                    let skew = nanos(self.terms.skew);
                    Charged::Meter(Meter::new(self.count, self.period, skew))
                }
                Rule::Own => Charged::Own(Own::new(self.count, self.period, &self.terms)),
                Rule::Around(_) => Charged::Around(Windows::new(self.shorter, &self.terms)),
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
pub(super) const SWEEP: usize = 64;

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
    pub(super) fn new(limit: &Spec, key: Option<usize>, terms: Terms) -> Self {
        Self {
            limit: limit.clone(),
            shape: Shape::of(limit, terms),
            key,
            promised: Tally::default(),
            used: limit.counts.is_units().then(Tally::default),
            heaviest: 0,
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

    /// The next event in the order of grants.
    pub(super) fn granted(&mut self, event: &Event) {
        if self.shape.rule == Rule::Sends {
            return;
        }
        let key = self.key.and_then(|number| event.keys.get(number));
        for (tally, weight, shape) in self.tallies(event.weight(self.limit.counts)) {
            tally.granted(key, event.granted_mark(), weight, shape);
        }
    }

    /// The next event in the order of sends.
    pub(super) fn sent(&mut self, event: &Event) {
        let key = self.key.and_then(|number| event.keys.get(number));
        let left = match self.limit.leaves {
            Leaves::Send => event.sent,
            Leaves::Reply => event.answered,
        };
        let weight = event.weight(self.limit.counts);
        self.heaviest = self.heaviest.max(weight.promised);
        for (tally, weight, shape) in self.tallies(weight) {
            tally.sent(key, event.sent_mark(), left.0, weight, shape);
        }
    }

    /// By how much a tally is above what is allowed, rounded up.
    fn over(&self, tally: &Tally) -> u128 {
        let count = u128::from(self.shape.count);
        match self.shape.rule {
            Rule::Sends => tally.sends.sum.saturating_sub(count),
            Rule::Own => tally.charged.sum.saturating_sub(count),
            Rule::Around(most) => tally.charged.sum.saturating_sub(most),
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

    /// What was found.
    pub(super) fn proved(self) -> Proved {
        let over = self.over(&self.promised);
        let by_answers = self.used.as_ref().map_or(0, |used| self.over(used));
        let verdict = match (over, by_answers) {
            (0, 0) => Verdict::Kept,
            (0, more) => Verdict::ByAnswers(more),
            (more, _) if self.heaviest > self.limit.burst.get() => Verdict::ByOversized(more),
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
        let shorter = Duration::from_nanos(self.shape.shorter);
        let granted = match rule {
            Rule::Sends => None,
            Rule::Around(_) => Some(Grants::Around(charged, shorter)),
            Rule::Own => Some(Grants::Own(charged)),
            Rule::Bucket => {
                // What was granted, and what the level still had room for.
                let room = capacity.saturating_sub(level).div_euclid(period.into());
                let granted = i128::try_from(charged.sum).unwrap_or(i128::MAX);
                let allowed = u128::try_from(granted.saturating_add(room)).unwrap_or(0);
                Some(Grants::Stretch(charged, allowed))
            }
        };
        Proved {
            promised: self.limit.most_in(span, self.shape.terms.slack),
            limit: self.limit,
            span,
            most: sends,
            used,
            granted,
            verdict,
        }
    }
}

#[cfg(test)]
impl Track {
    /// How many keys have something in their windows, or may have.
    pub(super) fn keys(&self) -> usize {
        self.promised.states.keyed.len()
    }
}
