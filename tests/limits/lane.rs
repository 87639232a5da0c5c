//! One lane in front of limits: each is asked together with its reference, and both must say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use shaper::limit::{Hold, Limit, Ready, Used};
use shaper::units::{Cost, Tick};

use super::cases::{Algorithm, End, Job, Numbers};
use super::reference::{Reference, Rule, When};

/// A limit and its reference.
struct Pair {
    numbers: Numbers,
    real: Box<dyn Limit>,
    own: Reference,
    /// What each try booked: the moment that the rule counts, and the units that stay.
    booked: Vec<(i128, i128)>,
}

/// What one try has taken of one limit.
struct Taken {
    hold: Hold,
    event: usize,
    cost: u64,
    booking: usize,
}

impl Pair {
    fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            real: numbers.real(),
            own: numbers.reference(),
            booked: Vec::new(),
        }
    }

    /// A cost above the capacity goes when the capacity fits.
    fn asked(&self, cost: u64) -> (Cost, i128) {
        let asked = i128::from(cost).min(self.own.capacity());
        (Cost::new(u64::try_from(asked).unwrap()).unwrap(), asked)
    }

    fn ready(&self, now: u64, cost: u64) -> When {
        let (asked, plain) = self.asked(cost);
        let said = self.real.ready(Tick(now), asked);
        let when = match said {
            Ready::At(at) => When::At(at.0.into()),
            Ready::OnRelease => When::OnRelease,
            Ready::Never(_) => When::Never,
        };
        assert_eq!(
            when,
            self.own.ready(now.into(), plain),
            "{cost} at {now} of {:?}",
            self.numbers
        );
        if let Ready::At(at) = said
            && !self.moves_on()
        {
            assert_eq!(
                self.real.ready(at, asked),
                said,
                "it fits when it was promised to"
            );
            if at.0 > now {
                let before = Tick(at.0 - 1);
                assert_eq!(
                    self.real.ready(before, asked),
                    said,
                    "one nanosecond earlier it does not"
                );
            }
        }
        when
    }

    /// What is on its way counts as "now", so the moment of a window goes on with the one that is asked for.
    fn moves_on(&self) -> bool {
        self.own.rule == Rule::Window && !self.own.nothing_flies()
    }

    /// Takes `cost`; the limit had told before what that does to `next`.
    fn take(&mut self, now: u64, cost: u64, next: Option<u64>) -> Taken {
        let next = next.map(|next| self.asked(next).0);
        let whole = Cost::new(cost).unwrap();
        let told = next.map(|next| self.real.ready_after(Tick(now), whole, next));
        let hold = self.real.take(Tick(now), whole);
        let event = self.own.take(now.into(), cost.into());
        let after = next.map(|next| self.real.ready(Tick(now), next));
        assert_eq!(
            told, after,
            "ready_after {cost} at {now} of {:?}",
            self.numbers
        );
        self.booked.push((now.into(), cost.into()));
        Taken {
            hold,
            event,
            cost,
            booking: self.booked.len() - 1,
        }
    }

    fn sent(&mut self, now: u64, taken: &mut Taken) {
        self.real.moved(&mut taken.hold, Tick(now));
        self.own.sent(taken.event, now.into());
        if self.numbers.algorithm == Algorithm::Window {
            self.booked[taken.booking].0 = now.into();
        }
    }

    fn ended(&mut self, now: u64, taken: Taken, end: End) {
        let (used, units) = match end {
            End::NeverSent => (Used::NeverSent, 0),
            End::Unknown => (Used::Unknown, taken.cost),
            // A cost above the capacity owes no more than itself.
            End::Owed(used) if i128::from(taken.cost) <= self.own.capacity() => {
                (Used::Known(used), used)
            }
            End::Known(used) | End::Owed(used) => {
                let used = used.min(taken.cost);
                (Used::Known(used), used)
            }
        };
        self.real.settle(taken.hold, Tick(now), used);
        self.own.settle(taken.event, now.into(), units.into());
        self.booked[taken.booking].1 = units.into();
    }

    fn guard(&mut self, guard: u64) {
        self.real.keep_guard(Duration::from_nanos(guard));
        if self.numbers.algorithm == Algorithm::Window {
            self.own.guard = guard.into();
        }
    }

    /// What is left is what the reference says, and after the end nothing is lost.
    fn level(&mut self, now: u64) {
        let level = self.real.level(Tick(now));
        self.own.forget(now.into());
        let remaining = self.own.remaining(now.into());
        assert_eq!(
            i128::from(level.remaining),
            remaining,
            "level at {now} of {:?}",
            self.numbers
        );
    }

    /// All is settled: from the moment that it tells on, it is as new.
    fn is_fresh(&mut self, now: u64) {
        let fresh = self.real.fresh_at();
        let fresh = fresh.expect("everything is settled").max(Tick(now));
        let (all, plain) = self.asked(u64::MAX);
        assert_eq!(
            self.real.ready(fresh, all),
            Ready::At(fresh),
            "{:?}",
            self.numbers
        );
        assert_eq!(
            self.own.ready(fresh.0.into(), plain),
            When::At(fresh.0.into())
        );
        assert_eq!(
            i128::from(self.real.level(fresh).remaining),
            self.own.capacity()
        );
    }

    fn is_within_bounds(&mut self) {
        self.booked.sort_unstable();
        if let Rule::Bucket { burst, .. } = self.own.rule {
            self.flows_within_bounds(burst);
        }
        let Some(spec) = self.numbers.spec() else {
            return;
        };
        let period = self.own.period;
        for span in [period / 3, period, period * 2].map(|span| span.max(1)) {
            let length = Duration::from_nanos(u64::try_from(span).unwrap());
            let most = spec.most_in(length, Duration::ZERO).into();
            let (mut first, mut inside) = (0, 0);
            for &(at, units) in &self.booked {
                inside += units;
                while self.booked[first].0 + span <= at {
                    inside -= self.booked[first].1;
                    first += 1;
                }
                assert!(
                    inside <= most,
                    "{inside} in {span} before {at} of {:?}",
                    self.numbers
                );
            }
        }
    }

    /// Whatever the window, what was used of its takes <= burst + rate x length, both ends included, even
    /// if the rest came back when the bucket had long been full again.
    fn flows_within_bounds(&self, burst: i128) {
        let (count, period) = (self.own.count, self.own.period);
        for (first, &(from, _)) in self.booked.iter().enumerate() {
            let mut inside = 0;
            for &(at, units) in &self.booked[first..] {
                inside += units;
                assert!(
                    inside * period <= burst * period + count * (at - from),
                    "{inside} from {from} to {at} of {:?}",
                    self.numbers
                );
            }
        }
    }
}

/// What happens at a moment, in the order of R4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Cancel,
    Sent,
    Ended,
    Arrives,
    /// Only time: the head may go.
    Wakes,
}

/// A job, its try, and the moment of its grant.
pub(crate) type Grant = (usize, u32, u64);

/// A lane and its limits.
pub(crate) struct Lane<'a> {
    pairs: Vec<Pair>,
    jobs: &'a [Job],
    agenda: BTreeSet<(u64, What, usize)>,
    /// Jobs that wait, by their place: a retry comes back to its own.
    waiting: BTreeMap<usize, u32>,
    flying: BTreeMap<usize, (u32, Vec<Taken>)>,
    trace: Vec<Grant>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(limits: &[Numbers], jobs: &'a [Job]) -> Self {
        let mut agenda = BTreeSet::new();
        for (place, job) in jobs.iter().enumerate() {
            agenda.insert((job.arrives, What::Arrives, place));
            if let Some(after) = job.cancelled {
                agenda.insert((job.arrives + after, What::Cancel, place));
            }
        }
        Self {
            pairs: limits.iter().copied().map(Pair::new).collect(),
            jobs,
            agenda,
            waiting: BTreeMap::new(),
            flying: BTreeMap::new(),
            trace: Vec::new(),
        }
    }

    /// Runs until nothing more happens.
    pub(crate) fn run(&mut self) -> Vec<Grant> {
        let mut now = 0;
        while let Some(&(moment, ..)) = self.agenda.first() {
            now = moment;
            while let Some((_, what, place)) = self.agenda.first().filter(|next| next.0 == now) {
                let (what, place) = (*what, *place);
                self.agenda.pop_first();
                self.happens(now, what, place);
            }
            self.admit(now);
        }
        assert!(
            self.waiting.is_empty() && self.flying.is_empty(),
            "everyone has had their turn"
        );
        for pair in &mut self.pairs {
            pair.is_fresh(now);
        }
        self.trace.clone()
    }

    /// No limit held more than it promises in any window.
    pub(crate) fn is_within_bounds(&mut self) {
        for pair in &mut self.pairs {
            pair.is_within_bounds();
        }
    }

    fn happens(&mut self, now: u64, what: What, place: usize) {
        let job = &self.jobs[place];
        match what {
            What::Cancel => {
                self.waiting.remove(&place);
                // One that comes at this moment comes afterwards, and stays.
            }
            What::Sent => {
                let (_, holds) = self.flying.get_mut(&place).unwrap();
                for (pair, taken) in self.pairs.iter_mut().zip(holds) {
                    pair.sent(now, taken);
                }
            }
            What::Ended => {
                let (attempt, holds) = self.flying.remove(&place).unwrap();
                for (pair, taken) in self.pairs.iter_mut().zip(holds) {
                    pair.ended(now, taken, job.end);
                    if place.is_multiple_of(3) {
                        pair.level(now);
                    }
                }
                if let Some(rest) = job.again
                    && attempt == 1
                {
                    self.agenda.insert((now + rest + 1, What::Arrives, place));
                }
            }
            What::Arrives => {
                let attempt = self.trace.iter().filter(|(own, ..)| *own == place).count();
                self.waiting
                    .insert(place, 1 + u32::try_from(attempt).unwrap());
                if let Some(guard) = job.guard {
                    for pair in &mut self.pairs {
                        pair.guard(guard);
                    }
                }
            }
            What::Wakes => {}
        }
    }

    /// R3, R5: the head goes when all limits are ready, and takes of all or of none.
    fn admit(&mut self, now: u64) {
        while let Some((&place, &attempt)) = self.waiting.first_key_value() {
            let job = &self.jobs[place];
            let (mut latest, mut told) = (i128::from(now), true);
            for (pair, &cost) in self.pairs.iter().zip(&job.costs) {
                match pair.ready(now, cost) {
                    When::At(at) if at > latest => (latest, told) = (at, !pair.moves_on()),
                    When::At(_) => {}
                    When::OnRelease => (latest, told) = (i128::MAX, false),
                    When::Never => panic!("no cost is above the capacity"),
                }
            }
            if latest > i128::from(now) {
                if told {
                    let at = u64::try_from(latest).unwrap();
                    self.agenda.insert((at, What::Wakes, place));
                }
                return;
            }
            self.waiting.remove(&place);
            let next = self
                .waiting
                .keys()
                .next()
                .map(|next| self.jobs[*next].costs);
            let mut holds = Vec::new();
            for (nth, pair) in self.pairs.iter_mut().enumerate() {
                holds.push(pair.take(now, job.costs[nth], next.map(|next| next[nth])));
            }
            self.flying.insert(place, (attempt, holds));
            self.trace.push((place, attempt, now));
            let sent = now + job.leaves;
            if job.end != End::NeverSent {
                self.agenda.insert((sent, What::Sent, place));
            }
            self.agenda.insert((sent + job.lasts, What::Ended, place));
            if sent == now && job.end != End::NeverSent {
                self.agenda.remove(&(now, What::Sent, place));
                self.happens(now, What::Sent, place);
            }
        }
    }
}
