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
    grants: VecDeque<Ahead>,
    asked: Option<AskId>,
    /// Its head could go but for this.
    starves: bool,
    /// So many are wanted at once: more after each answer, fewer when one was not used.
    most: u64,
    /// One was not used since the last answer.
    lapsed: bool,
    /// It was refused until then.
    shut: Tick,
}

#[derive(Debug)]
struct Ahead {
    at: Tick,
    marks: Box<[Mark]>,
}

impl Lease {
    fn new(parts: Box<[Part]>) -> Self {
        Self {
            parts,
            grants: VecDeque::new(),
            asked: None,
            starves: false,
            most: FIRST,
            lapsed: false,
            shut: Tick::ZERO,
        }
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
        if let Some(first) = lease.grants.front() {
            return Some(if first.at <= self.now {
                Ok(at.max(first.at))
            } else {
                Err(waits(pace.owner, Until::At(first.at)))
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
        let lease = self.lease_of(lane);
        let grants =
            lease.filter(|lease| lease.grants.front().is_some_and(|first| first.at <= now));
        let Some((lease, grant)) = grants.and_then(|lease| {
            let grant = lease.grants.pop_front()?;
            Some((lease, grant))
        }) else {
            return false;
        };
        let parts = lease.parts.clone();
        let holds = &mut self.roll.get(ticket).holds;
        self.gate.charged(holds, &parts, &grant.marks);
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

    /// What was not used by its moment is given up, and what nobody is left for.
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
            while lease.grants.front().is_some_and(|first| first.at < oldest)
                && let Some(late) = lease.grants.pop_front()
            {
                self.gate
                    .charged_in_vain(&lease.parts, &late.marks, self.now);
                asking.seen.lapsed += 1;
                if !mem::replace(&mut lease.lapsed, true) {
                    stays = lease.most > 1;
                    lease.most = (lease.most / 2).max(1);
                }
            }
            while lease.grants.len() > left
                && let Some(last) = lease.grants.pop_back()
            {
                self.gate
                    .charged_in_vain(&lease.parts, &last.marks, self.now);
                asking.seen.lapsed += 1;
            }
            stays || !lease.grants.is_empty()
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
            let last = lease.grants.back().map(|last| last.at);
            let is_low = last.is_some_and(|last| last <= self.now.after(lasts));
            let waiting = self.lanes.waiting_in(lane);
            if lease.asked.is_some()
                || lease.shut > self.now
                || !(starves || is_low && waiting > lease.grants.len())
            {
                continue;
            }
            let wanted = pace.flows_in(reach).saturating_add(1);
            // What comes after the end of the input has no job.
            let jobs = match self.input {
                Input::Open => MOST,
                Input::Ended(_) => (waiting - waiting.min(lease.grants.len())).max(1) as u64,
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
                if !mem::take(&mut lease.lapsed) {
                    lease.most = (lease.most * 2).min(MOST);
                }
                asking.seen.asks += leased.after.len() as u64;
                lease
                    .grants
                    .extend(each(leased).map(|(marks, after)| Ahead {
                        at: at.after(after),
                        marks,
                    }));
                // The clock of the store is known better with each answer, and they may cross.
                lease.grants.make_contiguous().sort_by_key(|grant| grant.at);
            }
            (Answer::Leased(leased), None) => {
                for (marks, _) in each(leased) {
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
            for grant in lease.grants.drain(..).rev() {
                self.gate.charged_in_vain(&lease.parts, &grant.marks, now);
                asking.seen.lapsed += 1;
            }
            false
        });
    }
}

/// What each was called, and how long after the first its moment is.
fn each(leased: &Leased) -> impl Iterator<Item = (Box<[Mark]>, Duration)> {
    let numbered = (0..).zip(&leased.after);
    numbered.map(|(nth, after)| (leased.marks(nth), *after))
}
