//! Grants that a store gives ahead, each for its own moment. Floor 3: rules.
//!
//! Asked one by one, an evenly spaced limit lets one through for each way to its store and back. Where it would let more
//! through, a lane asks for several before its jobs may go, as soon as the limit has held one of them. What it gets has the
//! moments that the limit has for it, and counts there: no moment comes late, and none that was not used comes later.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::time::Duration;

use super::asking::SHARES;
use super::heads::LaneId;
use super::lanes::Rest;
use super::obstacle::{Obstacle, Stops, Until};
use super::remote::Pace;
use super::share::{Answer, AskId, HeldBy, Leased, Mark, Part, Wish};
use super::talk::Ticket;
use super::{Engine, Input};
use crate::metrics::Owner;
use crate::units::Tick;

/// Timers and turns are late by so much, on a busy machine.
const LATE: Duration = Duration::from_millis(1);

/// The most that are asked for at once: they take the store a millisecond or two.
const MOST: u64 = 512;

/// So many are asked for at first.
const FIRST: u64 = 8;

/// Nothing is wanted for a moment that is farther ahead.
const FARTHEST: Duration = Duration::from_secs(2);

/// What was granted ahead to all lanes.
#[derive(Debug, Default)]
pub(super) struct Leases {
    of: BTreeMap<LaneId, Lease>,
    /// What is asked and has no answer: for which lane, and what each costs.
    asked: BTreeMap<AskId, (LaneId, Box<[Part]>)>,
    /// The way to the store and back takes so long at least, of late.
    trip: Option<Duration>,
    /// The ask that is timed.
    timed: Option<(AskId, Tick)>,
    /// What is granted ahead to others reaches so far.
    others: Duration,
}

/// What was granted ahead to a lane.
#[derive(Debug)]
struct Lease {
    parts: Box<[Part]>,
    /// Oldest first.
    lots: VecDeque<Lot>,
    asked: Option<AskId>,
    /// Its head could go but for this.
    starves: bool,
    /// So many are wanted at once: more after a lot of which most was used, fewer after another.
    most: u64,
    /// It was refused until then.
    shut: Tick,
}

impl Lease {
    fn new(parts: Box<[Part]>) -> Self {
        Self {
            parts,
            lots: VecDeque::new(),
            asked: None,
            starves: false,
            most: FIRST,
            shut: Tick::ZERO,
        }
    }

    fn left(&self) -> usize {
        self.lots.iter().map(Lot::left).sum()
    }

    fn next(&self) -> Option<Tick> {
        self.lots.front().and_then(Lot::next)
    }

    /// The last one goes back.
    fn gives_back(&mut self) -> Option<Box<[Mark]>> {
        let mut lots = self.lots.iter_mut().rev();
        lots.find_map(Lot::gives_back)
    }
}

/// What one answer has granted: nobody else has a moment between its first and its last.
///
/// A run that comes late for one of them does not lose it, if it goes on as late as that, and gives up so many of the last
/// that, counted from the end, none is later than its moment was. Whoever comes after the last one then finds as much as if
/// all had gone at their own.
#[derive(Debug)]
struct Lot {
    /// What the store calls the first of those that are left.
    first: Box<[Mark]>,
    /// Of those that are left, and then of those that are given up.
    moments: VecDeque<Tick>,
    given_up: usize,
    late: Duration,
    used: usize,
}

impl Lot {
    fn new(at: Tick, leased: &Leased) -> Self {
        Self {
            first: leased.first.clone(),
            moments: leased.after.iter().map(|after| at.after(*after)).collect(),
            given_up: 0,
            late: Duration::ZERO,
            used: 0,
        }
    }

    fn left(&self) -> usize {
        self.moments.len() - self.given_up
    }

    /// When the first that is left may go.
    fn next(&self) -> Option<Tick> {
        let first = self.moments.front().filter(|_| self.left() > 0)?;
        Some(first.after(self.late))
    }

    /// When the last one may.
    fn last(&self) -> Option<Tick> {
        let last = self.moments.get(self.left().checked_sub(1)?)?;
        Some(last.after(self.late))
    }

    fn marks(&self, nth: usize) -> Box<[Mark]> {
        let marks = self.first.iter().map(|first| Mark(first.0 + nth as u64));
        marks.collect()
    }

    /// One goes at its moment.
    fn goes(&mut self) -> Box<[Mark]> {
        let marks = self.marks(0);
        self.first = self.marks(1);
        self.moments.pop_front();
        self.used += 1;
        marks
    }

    /// The last one goes back.
    fn gives_back(&mut self) -> Option<Box<[Mark]>> {
        let last = self.left().checked_sub(1)?;
        self.moments.remove(last);
        Some(self.marks(last))
    }

    /// None of them goes before this moment any more. Returns how many are given up for it: they stay charged.
    fn waits_for(&mut self, oldest: Tick) -> usize {
        let before = self.left();
        let late = self.moments.front().map(|first| oldest.since(*first));
        self.late = self.late.max(late.unwrap_or_default());
        while self.given_up < self.moments.len() {
            let as_if = self.moments.iter().skip(self.given_up);
            let mut pairs = self.moments.iter().zip(as_if);
            if pairs.all(|(own, as_if)| own.after(self.late) <= *as_if) {
                break;
            }
            self.given_up += 1;
        }
        before - self.left()
    }
}

impl Leases {
    /// This is asked now: one at a time is timed.
    pub(super) fn asks(&mut self, id: AskId, now: Tick) {
        self.timed.get_or_insert((id, now));
    }

    /// It is answered. One answer that takes long tells nothing of the way.
    pub(super) fn answered(&mut self, id: AskId, now: Tick) {
        if let Some((_, since)) = self.timed.take_if(|(timed, _)| *timed == id) {
            let took = now.since(since);
            let trip = self.trip.map_or(took, |trip| took.min(trip + trip / 8));
            self.trip = Some(trip);
        }
    }

    /// What is granted ahead to others reaches so far.
    pub(super) fn others_reach(&mut self, reach: Duration) {
        self.others = reach;
    }

    /// What is asked is on its way for so long at most, and what was asked before has to last for it.
    fn lasts(&self) -> Option<Duration> {
        let trip = self.trip?;
        Some((trip + trip / 4 + 2 * LATE).max(self.others / 2))
    }

    /// How far ahead is wanted.
    fn reach(&self) -> Option<Duration> {
        let own = self.trip? * 2 + 4 * LATE;
        Some(own.max(self.others).min(FARTHEST))
    }

    /// Whether one by one would be slower than this pace.
    fn pays(&self, pace: &Pace) -> bool {
        let span = self.trip.map(|trip| (trip + LATE).max(self.others));
        span.is_some_and(|span| pace.flows_in(span) > 0)
    }
}

impl Engine {
    /// When the head of this lane may go by what was granted ahead, if `at` suits it otherwise; `None` if it asks for
    /// itself.
    pub(super) fn granted_ahead(&self, lane: LaneId, at: Tick) -> Option<Result<Tick, Obstacle>> {
        let leases = &self.asking.as_ref()?.leases;
        let lease = leases.of.get(&lane)?;
        let pace = self.gate.leases()?;
        let waits = |owner, until| Obstacle {
            owner,
            until,
            stops: Stops::Itself,
        };
        if let Some(next) = lease.next() {
            return Some(if next <= self.now {
                Ok(at.max(next))
            } else {
                Err(waits(pace.owner, Until::At(next)))
            });
        }
        if !leases.pays(pace) {
            return None;
        }
        Some(Err(if lease.shut > self.now {
            waits(pace.owner, Until::At(lease.shut))
        } else {
            waits(Owner::Store, Until::Release(None))
        }))
    }

    /// A job of this lane goes by what was granted ahead, if that is so.
    pub(super) fn goes_by_lease(&mut self, ticket: Ticket, lane: LaneId) -> bool {
        let now = self.now;
        let Some(lease) = self.lease_of(lane) else {
            return false;
        };
        if lease.next().is_none_or(|next| next > now) {
            return false;
        }
        let Some(lot) = lease.lots.front_mut() else {
            return false;
        };
        let (marks, parts) = (lot.goes(), lease.parts.clone());
        let holds = &mut self.roll.get(ticket).holds;
        self.gate.charged(holds, &parts, &marks);
        true
    }

    fn lease_of(&mut self, lane: LaneId) -> Option<&mut Lease> {
        self.asking.as_mut()?.leases.of.get_mut(&lane)
    }

    /// A limit has held a job of this lane that asked for itself: from now on what it needs is asked for ahead, if that is
    /// faster.
    pub(super) fn may_lease(&mut self, ticket: Ticket, lane: LaneId) {
        let Some(pace) = self.gate.leases() else {
            return;
        };
        let held = self.roll.peek(ticket);
        let (job, asks) = held.asks();
        let leases = &mut self.asking.as_mut().expect(SHARES).leases;
        if leases.pays(pace) && !leases.of.contains_key(&lane) {
            let parts = self.gate.parts(job, held.holds.states(), asks);
            leases.of.insert(lane, Lease::new(parts));
        }
    }

    /// The head of this lane waits for what is granted ahead, and there is none.
    pub(super) fn starves(&mut self, lane: LaneId, obstacle: &Obstacle) {
        if obstacle.stops == Stops::Itself
            && obstacle.owner == Owner::Store
            && let Some(lease) = self.lease_of(lane)
        {
            lease.starves = true;
        }
    }

    /// Who was late for what was granted ahead goes on late, and gives up what that costs; what nobody is left for goes
    /// back. Where more is given up than used, less is asked for, and in the end none.
    pub(super) fn lapse(&mut self) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        let oldest = self.now.before(self.rules.slack);
        let left = match self.input {
            Input::Open => usize::MAX,
            Input::Ended(_) => self.roll.len(),
        };
        asking.leases.of.retain(|_, lease| {
            let mut stays = true;
            while let Some(lot) = lease.lots.front_mut() {
                if lot.next().is_some_and(|next| next < oldest) {
                    asking.seen.lapsed += lot.waits_for(oldest) as u64;
                }
                if lot.left() > 0 {
                    break;
                }
                if lot.used >= lot.given_up {
                    lease.most = (lease.most * 2).min(MOST);
                } else {
                    stays = lease.most > 1;
                    lease.most = (lease.most / 2).max(1);
                }
                lease.lots.pop_front();
            }
            while lease.left() > left
                && let Some(marks) = lease.gives_back()
            {
                self.gate.charged_in_vain(&lease.parts, &marks, self.now);
                asking.seen.lapsed += 1;
            }
            stays || !lease.lots.is_empty()
        });
    }

    /// Asks for what lanes will need, so that it is there in time.
    pub(super) fn asks_ahead(&mut self) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        let leases = &mut asking.leases;
        let (Some(pace), Some(lasts), Some(reach)) =
            (self.gate.leases(), leases.lasts(), leases.reach())
        else {
            return;
        };
        if leases.of.is_empty() || !asking.is_there() || self.is_draining() {
            return;
        }
        let asking = self.asking.as_mut().expect(SHARES);
        let mut wishes = Vec::new();
        for (&lane, lease) in &mut asking.leases.of {
            let starves = mem::take(&mut lease.starves);
            let last = lease.lots.back().and_then(Lot::last);
            let is_low = last.is_some_and(|last| last <= self.now.after(lasts));
            let waiting = self.lanes.waiting_in(lane);
            if lease.asked.is_some()
                || lease.shut > self.now
                || !(starves || is_low && waiting > lease.left())
            {
                continue;
            }
            let wanted = pace.flows_in(reach).saturating_add(1);
            // What comes after the end of the input has no job.
            let jobs = match self.input {
                Input::Open => MOST,
                Input::Ended(_) => (waiting - waiting.min(lease.left())).max(1) as u64,
            };
            let slack = if starves {
                self.rules.slack / 2
            } else {
                Duration::ZERO
            };
            let id = asking.next;
            asking.next = AskId(id.0 + 1);
            lease.asked = Some(id);
            wishes.push(Wish::Lease {
                id,
                lane: self.lanes.name(lane).into(),
                could_go: self.now.before(slack).max(self.lanes.open_since(lane)),
                parts: lease.parts.clone(),
                most: wanted.min(lease.most).min(jobs).min(MOST),
                reach,
            });
            asking.leases.asked.insert(id, (lane, lease.parts.clone()));
            asking.leases.timed.get_or_insert((id, self.now));
        }
        for wish in wishes {
            self.gate.wish(wish);
        }
    }

    /// Whether this was asked for ahead: then its answer is heeded.
    pub(super) fn answered_ahead(&mut self, id: AskId, answer: &Answer, at: Tick) -> bool {
        let now = self.now;
        let asking = self.asking.as_mut().expect(SHARES);
        let Some((lane, parts)) = asking.leases.asked.remove(&id) else {
            return false;
        };
        let asked = |lease: &&mut Lease| lease.asked == Some(id);
        let lease = asking.leases.of.get_mut(&lane).filter(asked);
        match (answer, lease) {
            (Answer::Leased(leased), Some(lease)) => {
                lease.asked = None;
                asking.seen.asks += leased.after.len() as u64;
                lease.lots.push_back(Lot::new(at, leased));
            }
            (Answer::Leased(leased), None) => {
                let mut lot = Lot::new(at, leased);
                while let Some(marks) = lot.gives_back() {
                    self.gate.charged_in_vain(&parts, &marks, now);
                }
            }
            (Answer::Refused(by, wait), Some(lease)) => {
                lease.asked = None;
                asking.seen.asks += 1;
                asking.seen.refused += 1;
                let until = now.after(*wait);
                match by {
                    HeldBy::Limit(_) => lease.shut = until,
                    HeldBy::Pause => {
                        self.lanes.pause(lane, until, Rest::Asked);
                        self.rush(lane);
                    }
                }
            }
            (Answer::Refused(..), None) | (Answer::Granted(_), _) => {}
        }
        true
    }

    /// Nothing is asked for ahead any more for this lane, or for any, and what it has goes back.
    pub(super) fn gives_back_ahead(&mut self, of: Option<LaneId>) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        let now = self.now;
        asking.leases.of.retain(|lane, lease| {
            if of.is_some_and(|of| of != *lane) {
                return true;
            }
            while let Some(marks) = lease.gives_back() {
                self.gate.charged_in_vain(&lease.parts, &marks, now);
                asking.seen.lapsed += 1;
            }
            false
        });
    }
}

#[cfg(test)]
impl Leases {
    /// What is granted and has not gone.
    pub(super) fn left(&self) -> usize {
        self.of.values().map(Lease::left).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limit::{Limit, Ready, Setting, Spec};
    use crate::units::Cost;

    const STACKS: [&[&str]; 4] = [
        &["100/s"],
        &["100/s burst=4"],
        &["100/s burst=3", "40/s"],
        &["1000/s burst=2", "30/s leaky burst=5"],
    ];

    /// The next moment of all of these limits at or after `from`, which is taken.
    fn take(limits: &mut [Box<dyn Limit>], mut from: Tick) -> Tick {
        for _ in 0..2 {
            for limit in limits.iter() {
                if let Ready::At(at) = limit.ready(from, Cost::ONE) {
                    from = at;
                }
            }
        }
        for limit in limits {
            limit.take(from, Cost::ONE);
        }
        from
    }

    proptest! {
        #[test]
        fn however_late_a_run_is_all_together_keep_what_each_moment_kept(
            specs in proptest::sample::select(&STACKS[..]),
            most in 1..20_usize,
            lates in proptest::collection::vec(0..60_000_000_u64, 20),
            back in 0..4_usize,
        ) {
            let specs: Vec<Spec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
            let build = || specs.iter().map(|spec| spec.build(&Setting::VIRTUAL)).collect::<Vec<_>>();
            let mut limits = build();
            let before = [take(&mut limits, Tick::ZERO), take(&mut limits, Tick::ZERO)];
            let own: Vec<Tick> = (0..most).map(|_| take(&mut limits, Tick::ZERO)).collect();
            let after = (0..6).map(|_| take(&mut limits, Tick::ZERO));
            let mut all: Vec<Tick> = before.into_iter().chain(after).collect();
            let leased = Leased {
                first: Box::new([Mark(1)]),
                after: own.iter().map(|at| at.since(own[0])).collect(),
            };
            let mut lot = Lot::new(own[0], &leased);
            let mut lates = lates.into_iter();
            for nth in 0.. {
                let Some(next) = lot.next() else { break };
                // Most are hardly late.
                let late = lates.next().map_or(0, |late| if late % 3 == 0 { late } else { 0 });
                lot.waits_for(Tick(next.0 + late));
                if nth == 3 {
                    for _ in 0..back {
                        lot.gives_back();
                    }
                }
                let Some(next) = lot.next() else { break };
                lot.goes();
                all.push(next);
            }
            all.sort_unstable();
            let mut limits = build();
            for at in &all {
                prop_assert_eq!(take(&mut limits, *at), *at, "{:?} of {:?}", all, own);
            }
        }
    }

    #[test]
    fn late_by_less_than_a_gap_the_last_is_given_up_and_the_others_keep_their_gaps() {
        let millis = |count: u64| Tick(count * 1_000_000);
        let after = (0..5).map(|nth| Duration::from_millis(nth * 50)).collect();
        let first = Box::new([Mark(7)]);
        let mut lot = Lot::new(millis(100), &Leased { first, after });
        assert_eq!(lot.goes()[..], [Mark(7)]);
        assert_eq!(lot.waits_for(millis(180)), 1);
        assert_eq!(
            (lot.next(), lot.last()),
            (Some(millis(180)), Some(millis(280)))
        );
        assert_eq!(lot.goes()[..], [Mark(8)]);
        assert_eq!(lot.waits_for(millis(225)), 0);
        assert_eq!(lot.next(), Some(millis(230)));
        assert_eq!(lot.gives_back().unwrap()[..], [Mark(10)]);
        assert_eq!(lot.left(), 1);
        assert_eq!(lot.waits_for(millis(400)), 1);
        assert_eq!((lot.next(), lot.last()), (None, None));
    }
}
