//! Lanes: who waits, in which order, and what holds a lane back by itself. Floor 3: rules.
//!
//! A lane is an origin with the values of the run's keys. FIFO within it, a retry in its old place;
//! oldest first across lanes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::breaker::{Breakers, Sign};
use super::heads::{Heads, LaneId};
use super::idle::Idle;
use super::keyed::StateId;
use super::talk::Ticket;
use crate::job::{Job, Keys, Origin};
use crate::metrics::{Account, Owner};
use crate::quota::Provider;
use crate::units::Tick;

/// Why a lane rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Its server asked for it.
    Asked,
    /// After such a rest its jobs go one by one.
    ReEntry,
    /// A connect to its origin failed.
    Unreachable,
    /// Its origin fails again and again.
    Broken,
    /// A job asks whether its origin is back: until it knows, and not longer.
    Probed,
}

impl Rest {
    /// It ends when its origin answers, and its origin tells it again when the turn of the lane comes.
    fn is_of_breaker(self) -> bool {
        match self {
            Self::Broken | Self::Probed => true,
            Self::Asked | Self::ReEntry | Self::Unreachable => false,
        }
    }
}

/// Where a job joins its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// At the end: it was just read, or has become due.
    Fresh,
    /// In its place by age: it comes back from rest, or is due after younger ones.
    Back,
}

/// Whether a job pays every shared limit on units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pays {
    /// It does: what is used up for an older job is used up for it.
    All,
    /// Some cost it nothing.
    NotAll,
}

/// A job in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Its age: its turn among all jobs.
    pub(super) seq: u64,
    pub(super) ticket: Ticket,
    pub(super) pays: Pays,
}

/// What a lane waits for that is not shared by all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parked {
    /// It stands in the line of this state.
    pub(super) line: StateId,
    /// Until this moment, unless something is given back before; `None`: until something is.
    pub(super) until: Option<Tick>,
    /// Whose the time is.
    pub(super) owner: Owner,
}

#[derive(Debug)]
struct Lane {
    origin: Origin,
    keys: Keys,
    /// The states of the rules that its jobs meet, one a rule.
    states: Arc<[StateId]>,
    fresh: VecDeque<Entry>,
    back: BinaryHeap<Reverse<Entry>>,
    paused: Option<(Tick, Rest)>,
    parked: Option<Parked>,
    /// Whose answers they are, by its host.
    provider: Option<&'static Provider>,
    /// What is left of its server's limit from answer to answer, where they tell.
    account: Option<Box<Account>>,
    /// Refusals without an answer of another kind between them.
    refusals: u32,
    /// So many jobs are to go one by one.
    one_by_one: usize,
    /// Nothing is sent any more.
    closed: bool,
    /// That its origin worked is known here, too.
    worked: bool,
    /// When its last pause ended: nothing here could go before.
    open_since: Tick,
    /// Jobs of it that the engine holds, waiting or not.
    members: usize,
}

/// The lanes of an origin.
#[derive(Debug, Default)]
struct Siblings {
    by_keys: HashMap<Keys, LaneId>,
    /// A try on one of them was a success.
    worked: bool,
}

impl Lane {
    fn head(&self) -> Option<Entry> {
        match (self.fresh.front(), self.back.peek()) {
            (Some(fresh), Some(Reverse(back))) => Some(*fresh.min(back)),
            (fresh, back) => fresh.or(back.map(|Reverse(back)| back)).copied(),
        }
    }

    fn len(&self) -> usize {
        self.fresh.len() + self.back.len()
    }

    /// Its origin and its keys, for people.
    fn name(&self) -> String {
        let keys = self.keys.iter().map(|key| format!(" {key}"));
        self.origin.to_string() + &keys.collect::<String>()
    }

    /// Nothing of its own holds it back.
    fn is_open(&self) -> bool {
        self.paused.is_none() && self.parked.is_none()
    }
}

/// The most jobs that go one by one after a pause: a fast API is not held up for long.
const ONE_BY_ONE: usize = 200;

/// All lanes that have members, rest or are closed.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    all: Vec<Option<Lane>>,
    free: Vec<LaneId>,
    by_name: HashMap<Origin, Siblings>,
    /// The lane that was entered last, while it is there: most jobs have that of the one before.
    last: Option<LaneId>,
    /// Lanes that nothing of their own holds back.
    open: Heads,
    /// Those of them whose head pays not all.
    frugal: Heads,
    /// Lanes that are parked and do not rest.
    parked: Heads,
    /// Parked lanes by the moment until which they are.
    timers: BTreeSet<(Tick, LaneId)>,
    /// Who waits for a state that only some lanes share.
    lines: HashMap<StateId, Heads>,
    /// Lanes that rest, by the end of it; an entry may be out of date.
    resting: BinaryHeap<Reverse<(Tick, LaneId)>>,
    /// Origins that cannot be reached until then.
    unreachable: HashMap<Origin, Tick>,
    breakers: Breakers,
    waiting: usize,
    waiting_open: usize,
    /// How many are closed.
    closed: usize,
    idle: Idle,
}

impl Lanes {
    /// None; so many failed tries in a row break an origin.
    pub(super) fn breaking_after(row: u32) -> Self {
        Self {
            breakers: Breakers::after(row),
            ..Self::default()
        }
    }

    /// Jobs that wait, in all lanes.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Jobs that wait in lanes that nothing of their own holds back.
    pub(super) fn waiting_open(&self) -> usize {
        self.waiting_open
    }

    /// Whether there is more than one key.
    pub(super) fn are_many(&self) -> bool {
        self.count() > 1 || self.idle.are_some()
    }

    /// Lanes that are kept.
    fn count(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// The lane of a job, with one more member; a new one takes its states from `states`.
    pub(super) fn enter(&mut self, job: &Job, states: impl FnOnce() -> Arc<[StateId]>) -> LaneId {
        if let Some(id) = self.last
            && let lane = self.lane_mut(id)
            && Arc::ptr_eq(&lane.origin.0, &job.origin.0)
            && lane.keys == job.keys
        {
            lane.members += 1;
            return id;
        }
        let known = self.by_name.get(&job.origin);
        if let Some(&id) = known.and_then(|known| known.by_keys.get(&job.keys[..])) {
            self.lane_mut(id).members += 1;
            self.last = Some(id);
            return id;
        }
        let lane = Lane {
            origin: job.origin.clone(),
            keys: job.keys.clone(),
            states: states(),
            fresh: VecDeque::new(),
            back: BinaryHeap::new(),
            paused: None,
            parked: None,
            provider: job.target.url.host_str().and_then(Provider::of_host),
            account: None,
            refusals: 0,
            one_by_one: 0,
            closed: false,
            worked: known.is_some_and(|known| known.worked),
            open_since: Tick::ZERO,
            members: 1,
        };
        self.idle.comes(&job.origin, &job.keys);
        let id = if let Some(id) = self.free.pop() {
            self.all[id.0 as usize] = Some(lane);
            id
        } else {
            self.all.push(Some(lane));
            LaneId(u32::try_from(self.all.len() - 1).expect("fewer lanes than jobs held"))
        };
        let own = self.by_name.entry(job.origin.clone()).or_default();
        own.by_keys.insert(job.keys.clone(), id);
        self.last = Some(id);
        id
    }

    /// One member less. A lane without members that does not rest is forgotten, and its states are
    /// returned.
    pub(super) fn leave(&mut self, id: LaneId) -> Option<Arc<[StateId]>> {
        self.lane_mut(id).members -= 1;
        self.forget_idle(id)
    }

    fn forget_idle(&mut self, id: LaneId) -> Option<Arc<[StateId]>> {
        let lane = self.lane(id);
        if lane.members > 0 || lane.paused.is_some() || lane.closed {
            return None;
        }
        let lane = self.all[id.0 as usize].take()?;
        if let Some(siblings) = self.by_name.get_mut(&lane.origin) {
            siblings.by_keys.remove(&lane.keys[..]);
            if siblings.by_keys.is_empty() {
                self.by_name.remove(&lane.origin);
                self.breakers.close(&lane.origin, None);
            }
        }
        self.free.push(id);
        self.last = self.last.filter(|last| *last != id);
        self.idle.goes(lane.origin, lane.keys);
        Some(lane.states)
    }

    /// A job waits in its lane. Returns it if it is now the head.
    pub(super) fn push(&mut self, id: LaneId, entry: Entry, joins: Joins) -> Option<Ticket> {
        let before = self.lane(id).head();
        let lane = self.lane_mut(id);
        match joins {
            Joins::Fresh => lane.fresh.push_back(entry),
            Joins::Back => lane.back.push(Reverse(entry)),
        }
        let is_open = lane.is_open();
        self.waiting += 1;
        self.waiting_open += usize::from(is_open);
        let head = self.reorder(id, before)?;
        (head.ticket == entry.ticket).then_some(entry.ticket)
    }

    /// `ticket` leaves its lane, wherever it stands there. Returns the head then.
    pub(super) fn remove(&mut self, id: LaneId, ticket: Ticket) -> Option<Ticket> {
        let before = self.lane(id).head();
        let lane = self.lane_mut(id);
        if lane
            .fresh
            .front()
            .is_some_and(|first| first.ticket == ticket)
        {
            lane.fresh.pop_front();
        } else if lane
            .back
            .peek()
            .is_some_and(|Reverse(first)| first.ticket == ticket)
        {
            lane.back.pop();
        } else {
            lane.fresh.retain(|entry| entry.ticket != ticket);
            lane.back.retain(|Reverse(entry)| entry.ticket != ticket);
        }
        self.waiting -= 1;
        self.waiting_open -= usize::from(self.lane(id).is_open());
        let head = self.reorder(id, before)?;
        Some(head.ticket)
    }

    /// Nobody waits any more; lanes stay while they have members.
    pub(super) fn clear(&mut self) {
        for lane in self.all.iter_mut().flatten() {
            lane.fresh.clear();
            lane.back.clear();
            lane.parked = None;
        }
        self.open.clear();
        self.frugal.clear();
        self.parked.clear();
        self.timers.clear();
        self.lines.clear();
        (self.waiting, self.waiting_open) = (0, 0);
    }

    /// Keeps the sets true after the head of a lane may have changed: another head is looked at anew. Returns the head.
    #[inline]
    fn reorder(&mut self, id: LaneId, before: Option<Entry>) -> Option<Entry> {
        let lane = self.lane(id);
        let (after, is_open) = (lane.head(), lane.is_open());
        if before == after {
            return after;
        }
        if is_open {
            self.reorder_open(id, before, after);
        } else {
            self.unset(id, before);
            self.unpark(id);
            self.set(id, after);
        }
        if let Some(before) = before {
            self.let_on(id, before.seq);
        }
        after
    }

    /// The same for a lane that nothing of its own holds back, as nearly all are.
    fn reorder_open(&mut self, id: LaneId, before: Option<Entry>, after: Option<Entry>) {
        let head = |entry: Option<Entry>| entry.map(|entry| (entry.seq, id));
        self.open.replace(head(before), head(after));
        let frugal = |entry: Option<Entry>| entry.filter(|entry| entry.pays == Pays::NotAll);
        self.frugal
            .replace(head(frugal(before)), head(frugal(after)));
    }

    /// Who stands in a line behind the head `seq` of this lane is looked at again: it has gone, or is held
    /// by another. Who stands before it keeps its moment, as a scan that has come this far does not go back.
    pub(super) fn let_on(&mut self, id: LaneId, seq: u64) {
        if self.lines.is_empty() {
            return;
        }
        let states = Arc::clone(self.states(id));
        let parked = self.lane(id).parked;
        for &state in states.iter() {
            if parked.is_none_or(|parked| parked.line != state)
                && self.first_in_line(state).is_some_and(|first| first > seq)
            {
                self.reopen_first(state);
            }
        }
    }

    /// The oldest head that waits in the line of `state`.
    pub(super) fn first_in_line(&self, state: StateId) -> Option<u64> {
        let first = self.lines.get(&state).and_then(Heads::first);
        first.map(|(seq, _)| seq)
    }

    /// Takes a lane whose head is `head` out of every set.
    fn unset(&mut self, id: LaneId, head: Option<Entry>) {
        let Some(head) = head else { return };
        let lane = self.lane(id);
        let at = (head.seq, id);
        match (lane.paused, lane.parked) {
            (None, None) => {
                self.open.remove(at);
                if head.pays == Pays::NotAll {
                    self.frugal.remove(at);
                }
            }
            (Some(_), None) => {}
            (paused, Some(parked)) => {
                if paused.is_none() {
                    self.parked.remove(at);
                }
                if let Some(until) = parked.until {
                    self.timers.remove(&(until, id));
                }
                if let Some(line) = self.lines.get_mut(&parked.line) {
                    line.remove(at);
                    if line.is_empty() {
                        self.lines.remove(&parked.line);
                    }
                }
            }
        }
    }

    fn set(&mut self, id: LaneId, head: Option<Entry>) {
        let Some(head) = head else { return };
        if self.lane(id).is_open() {
            self.open.insert((head.seq, id));
            if head.pays == Pays::NotAll {
                self.frugal.insert((head.seq, id));
            }
        }
    }

    fn unpark(&mut self, id: LaneId) {
        let lane = self.lane_mut(id);
        if lane.parked.take().is_some() && lane.is_open() {
            let len = lane.len();
            self.waiting_open += len;
        }
    }

    /// A lane that is open waits in the line of a state that only some lanes share. Only the first of a
    /// line has its moment: the others cannot go before it.
    pub(super) fn park(&mut self, id: LaneId, mut parked: Parked) {
        let head = self.lane(id).head();
        let Some(Entry { seq, .. }) = head else {
            return;
        };
        self.unset(id, head);
        let line = self.lines.entry(parked.line).or_default();
        line.insert((seq, id));
        if line.first() != Some((seq, id)) {
            parked.until = None;
        }
        if let Some(until) = parked.until {
            self.timers.insert((until, id));
        }
        self.parked.insert((seq, id));
        let lane = self.lane_mut(id);
        lane.parked = Some(parked);
        let len = lane.len();
        self.waiting_open -= len;
        self.let_on(id, seq);
    }

    /// A parked lane is looked at again.
    fn reopen(&mut self, id: LaneId) {
        let head = self.lane(id).head();
        self.unset(id, head);
        self.unpark(id);
        self.set(id, head);
    }

    /// The first in the line of `state`, if there is one, is looked at again.
    fn reopen_first(&mut self, state: StateId) {
        if let Some((_, id)) = self.lines.get(&state).and_then(Heads::first) {
            self.reopen(id);
        }
    }

    /// Something was given back to these states: who waits for it is looked at again.
    pub(super) fn given_back(&mut self, states: &[StateId]) {
        if !self.lines.is_empty() {
            for &state in states {
                self.reopen_first(state);
            }
        }
    }

    /// Every lane is looked at again: other limits decide.
    pub(super) fn reopen_all(&mut self) {
        while let Some((_, id)) = self.parked.first() {
            self.reopen(id);
        }
    }

    /// Lanes whose moment has come are looked at again.
    pub(super) fn reopen_due(&mut self, now: Tick) {
        while let Some(&(until, id)) = self.timers.first().filter(|(until, _)| *until <= now) {
            self.timers.remove(&(until, id));
            self.reopen(id);
        }
    }

    /// Nothing of this lane is sent until `until`; a longer rest stays.
    pub(super) fn pause(&mut self, id: LaneId, until: Tick, why: Rest) {
        let longer = |(end, why): (Tick, Rest)| end >= until && !why.is_of_breaker();
        if self.lane(id).paused.is_some_and(longer) {
            return;
        }
        let head = self.lane(id).head();
        self.unset(id, head);
        self.unpark(id);
        let lane = self.lane_mut(id);
        let was_open = lane.paused.is_none();
        lane.paused = Some((until, why));
        let len = lane.len();
        if was_open {
            self.waiting_open -= len;
        }
        self.resting.push(Reverse((until, id)));
        if let Some(head) = head {
            self.let_on(id, head.seq);
        }
    }

    /// A job of this lane goes. Whether the next one is to keep its distance.
    pub(super) fn goes_one_by_one(&mut self, id: LaneId) -> bool {
        let lane = self.lane_mut(id);
        let one_by_one = lane.one_by_one > 0;
        lane.one_by_one = lane.one_by_one.saturating_sub(1);
        one_by_one
    }

    /// An answer on this lane, a refusal or not.
    pub(super) fn answered(&mut self, id: LaneId, refused: bool) {
        let lane = self.lane_mut(id);
        lane.refusals = if refused { lane.refusals + 1 } else { 0 };
    }

    /// How many refusals came in a row.
    pub(super) fn refusals(&self, id: LaneId) -> u32 {
        self.lane(id).refusals
    }

    /// Whose answers come on this lane, by its host.
    pub(super) fn provider(&self, id: LaneId) -> Option<&'static Provider> {
        self.lane(id).provider
    }

    /// What the answers of this lane tell of its server's limit.
    pub(super) fn account(&mut self, id: LaneId) -> &mut Option<Box<Account>> {
        &mut self.lane_mut(id).account
    }

    /// Nothing of this lane is sent any more. Returns who waits in it; `None` if it was closed before.
    pub(super) fn close(&mut self, id: LaneId) -> Option<Vec<Ticket>> {
        let lane = self.lane_mut(id);
        if std::mem::replace(&mut lane.closed, true) {
            return None;
        }
        let back = lane.back.iter().map(|Reverse(entry)| entry);
        let waiting = lane.fresh.iter().chain(back);
        let waiting = waiting.map(|entry| entry.ticket).collect();
        self.closed += 1;
        Some(waiting)
    }

    /// Whether nothing of this lane is sent any more.
    pub(super) fn is_closed(&self, id: LaneId) -> bool {
        self.lane(id).closed
    }

    /// Whether every key is closed; one that has no jobs just now is open.
    pub(super) fn are_closed(&self) -> bool {
        self.closed == self.count() && !self.idle.are_some()
    }

    /// The origin of this lane cannot be reached until `until`: its other lanes rest when their turn comes.
    pub(super) fn unreachable(&mut self, id: LaneId, until: Tick) {
        let origin = self.lane(id).origin.clone();
        let longest = self.unreachable.entry(origin).or_default();
        *longest = until.max(*longest);
        self.pause(id, until, Rest::Unreachable);
    }

    /// Until when nothing is sent to the origin of this lane, if that is still to come, and why.
    #[inline]
    pub(super) fn origin_rests(&self, id: LaneId, now: Tick) -> Option<(Tick, Rest)> {
        if self.unreachable.is_empty() && self.breakers.are_calm() {
            return None;
        }
        self.troubled_rests(id, now)
    }

    fn troubled_rests(&self, id: LaneId, now: Tick) -> Option<(Tick, Rest)> {
        let origin = &self.lane(id).origin;
        let unreachable = self.unreachable.get(origin);
        let unreachable = unreachable.map(|until| (*until, Rest::Unreachable));
        let rests = [unreachable, self.breakers.until(origin)].into_iter();
        let rests = rests.flatten().filter(|(until, _)| *until > now);
        rests.max_by_key(|(until, _)| *until)
    }

    /// Until when nothing of this lane is sent, or nothing to its origin, if that is still to come.
    pub(super) fn rests(&self, id: LaneId, now: Tick) -> Option<Tick> {
        let own = self.lane(id).paused.map(|(until, _)| until);
        let origin = self.origin_rests(id, now).map(|(until, _)| until);
        own.max(origin).filter(|until| *until > now)
    }

    /// A try on this lane has ended at `at`, and tells that of its origin. `rest` is how long that rests, if it fails
    /// again and again, by the number of the rest and the one before it.
    pub(super) fn ends(
        &mut self,
        id: LaneId,
        (ticket, at): (Ticket, Tick),
        sign: Sign,
        rest: impl FnOnce(u32, Duration) -> Duration,
    ) {
        let lane = self.lane(id);
        let is_news = match sign {
            Sign::Works => !lane.worked,
            Sign::Fails | Sign::Gone => true,
            Sign::Answers | Sign::Nothing => false,
        };
        if !is_news && self.breakers.are_calm() {
            return;
        }
        let origin = lane.origin.clone();
        let Some(siblings) = self.by_name.get_mut(&origin) else {
            return;
        };
        let changes = match sign {
            Sign::Works => {
                siblings.worked = true;
                self.lane_mut(id).worked = true;
                self.breakers.close(&origin, Some(at))
            }
            Sign::Answers => self.breakers.close(&origin, Some(at)),
            Sign::Fails | Sign::Gone | Sign::Nothing if siblings.worked => {
                self.breakers.fails(&origin, (ticket, at), sign, rest)
            }
            Sign::Fails | Sign::Gone | Sign::Nothing => false,
        };
        if changes {
            self.look_again(&origin, at);
        }
    }

    /// A breaker knows more: the lanes of its origin that it rests are looked at again.
    fn look_again(&mut self, origin: &Origin, at: Tick) {
        let siblings = self.by_name.get(origin).into_iter();
        let siblings: Vec<LaneId> = siblings
            .flat_map(|siblings| siblings.by_keys.values().copied())
            .collect();
        for id in siblings {
            if let Some((until, why)) = &mut self.lane_mut(id).paused
                && why.is_of_breaker()
            {
                *until = at;
                self.resting.push(Reverse((at, id)));
            }
        }
    }

    /// The youngest job of this lane, if it is to ask whether the origin is back. The oldest ones may all have the same
    /// fault.
    #[inline]
    pub(super) fn asks(&self, id: LaneId) -> Option<Entry> {
        if self.breakers.are_calm() {
            return None;
        }
        self.asks_of_troubled(id)
    }

    fn asks_of_troubled(&self, id: LaneId) -> Option<Entry> {
        let lane = self.lane(id);
        self.breakers.until(&lane.origin)?;
        lane.fresh.back().copied()
    }

    /// Whether this job asks if the origin of its lane is back.
    pub(super) fn is_probe(&self, id: LaneId, ticket: Ticket) -> bool {
        self.breakers.probe(&self.lane(id).origin) == Some(ticket)
    }

    /// A job of this lane goes, which is over by then.
    pub(super) fn goes(&mut self, id: LaneId, ticket: Ticket, until: Tick) {
        if !self.breakers.are_calm() {
            let origin = self.lane(id).origin.clone();
            self.breakers.goes(&origin, ticket, until);
        }
    }

    /// A job of this lane does not go after all.
    pub(super) fn returns(&mut self, id: LaneId, ticket: Ticket, now: Tick) {
        if !self.breakers.are_calm() {
            let origin = self.lane(id).origin.clone();
            self.breakers.returns(&origin, ticket, now);
            self.look_again(&origin, now);
        }
    }

    /// How often an origin rested as it failed again and again, and for how long in all until `now`.
    pub(super) fn broken(&self, now: Tick) -> (u64, Duration) {
        self.breakers.opened(now)
    }

    /// Opens the next lane whose rest is over at `now`: its head, if it has one, why it rested, and its
    /// states if it is forgotten.
    pub(super) fn wake(&mut self, now: Tick) -> Option<Woken> {
        while let Some(&Reverse((until, id))) = self.resting.peek() {
            if until > now {
                return None;
            }
            self.resting.pop();
            let Some(lane) = self.all[id.0 as usize].as_mut() else {
                continue;
            };
            let Some((_, why)) = lane.paused.filter(|&(end, _)| end == until) else {
                continue;
            };
            lane.paused = None;
            lane.open_since = until;
            if why == Rest::Asked || why.is_of_breaker() {
                lane.one_by_one = lane.members.min(ONE_BY_ONE);
            }
            let (head, len, origin) = (lane.head(), lane.len(), &lane.origin);
            if self.unreachable.get(origin).is_some_and(|end| *end <= now) {
                self.unreachable.remove(origin);
            }
            self.waiting_open += len;
            self.set(id, head);
            return Some(Woken {
                lane: id,
                head: head.map(|head| head.ticket),
                why,
                forgotten: self.forget_idle(id),
            });
        }
        None
    }

    /// The head of a lane that rests, with the end of it and why; `None` if it does not, or is no more.
    pub(super) fn resting_head(&self, id: LaneId) -> Option<(Ticket, (Tick, Rest))> {
        let lane = self.all[id.0 as usize].as_ref()?;
        Some((lane.head()?.ticket, lane.paused?))
    }

    /// The end of the next rest, and why that lane rests.
    pub(super) fn next_wake(&mut self) -> Option<(Tick, Rest)> {
        while let Some(&Reverse((until, id))) = self.resting.peek() {
            let paused = self.all[id.0 as usize]
                .as_ref()
                .and_then(|lane| lane.paused);
            match paused {
                Some((end, why)) if end == until => return Some((until, why)),
                Some(_) | None => self.resting.pop(),
            };
        }
        None
    }

    /// The first end of a rest; one that is out of date is none.
    pub(super) fn first_rest(&self) -> Option<Tick> {
        let true_still = |&&Reverse((until, id)): &&Reverse<(Tick, LaneId)>| {
            let lane = self.all[id.0 as usize].as_ref();
            lane.and_then(|lane| lane.paused)
                .is_some_and(|(end, _)| end == until)
        };
        let rests = self.resting.iter().filter(true_still);
        rests.map(|Reverse((until, _))| *until).min()
    }

    /// The next moment of a parked lane.
    pub(super) fn next_timer(&self) -> Option<Tick> {
        self.timers.first().map(|(until, _)| *until)
    }

    /// Parked lanes that may go before `horizon`, and from when on.
    pub(super) fn parked_until(&self, horizon: Tick) -> impl Iterator<Item = (Tick, LaneId)> + '_ {
        self.timers.range(..(horizon, LaneId::FIRST)).copied()
    }

    /// The oldest head younger than `after` of the lanes that nothing of their own holds back.
    pub(super) fn next_open(&self, after: Option<(u64, LaneId)>) -> Option<(u64, LaneId)> {
        self.open.next(after)
    }

    /// The same among the heads that pay not all.
    pub(super) fn next_frugal(&self, after: Option<(u64, LaneId)>) -> Option<(u64, LaneId)> {
        self.frugal.next(after)
    }

    /// The oldest head that is parked, and what it waits for.
    pub(super) fn oldest_parked(&self) -> Option<(u64, Parked)> {
        let (seq, id) = self.parked.first()?;
        Some((seq, self.lane(id).parked?))
    }

    /// Jobs that wait in this lane.
    pub(super) fn waiting_in(&self, id: LaneId) -> usize {
        self.lane(id).len()
    }

    /// The head of a lane that has one.
    pub(super) fn head(&self, id: LaneId) -> Option<Ticket> {
        self.lane(id).head().map(|head| head.ticket)
    }

    /// The states of its rules.
    pub(super) fn states(&self, id: LaneId) -> &Arc<[StateId]> {
        &self.lane(id).states
    }

    /// When the last pause of this lane ended.
    pub(super) fn open_since(&self, id: LaneId) -> Tick {
        self.lane(id).open_since
    }

    /// The lane with the longest line, by name: its origin, and its keys.
    pub(super) fn fullest(&self) -> Option<String> {
        let lanes = self.all.iter().flatten();
        let fullest = lanes.max_by_key(|lane| lane.len())?;
        Some(fullest.name())
    }

    /// Its origin and its keys, for people.
    pub(super) fn name(&self, id: LaneId) -> String {
        self.lane(id).name()
    }

    fn lane(&self, id: LaneId) -> &Lane {
        self.all[id.0 as usize]
            .as_ref()
            .expect("a lane lives while it has members")
    }

    fn lane_mut(&mut self, id: LaneId) -> &mut Lane {
        self.all[id.0 as usize]
            .as_mut()
            .expect("a lane lives while it has members")
    }
}

/// A lane whose rest is over.
#[derive(Debug)]
pub(super) struct Woken {
    pub(super) lane: LaneId,
    pub(super) head: Option<Ticket>,
    pub(super) why: Rest,
    pub(super) forgotten: Option<Arc<[StateId]>>,
}

#[cfg(test)]
impl Lanes {
    /// Jobs that wait, and those in open lanes, counted one by one.
    pub(super) fn recount(&self) -> (usize, usize) {
        let lanes = || self.all.iter().flatten();
        let open = lanes().filter(|lane| lane.is_open());
        let heads = open.clone().filter(|lane| lane.head().is_some());
        assert_eq!(self.open.len(), heads.count(), "open heads");
        let parked = || lanes().filter(|lane| lane.parked.is_some());
        assert_eq!(self.parked.len(), parked().count(), "parked heads");
        let timed = parked().filter(|lane| lane.parked.is_some_and(|own| own.until.is_some()));
        assert_eq!(self.timers.len(), timed.count(), "timers");
        let mut troubled = self.breakers.origins();
        assert!(troubled.all(|origin| self.by_name.contains_key(origin)));
        let lined: usize = self.lines.values().map(Heads::len).sum();
        assert_eq!(lined, parked().count(), "who stands in a line");
        (lanes().map(Lane::len).sum(), open.map(Lane::len).sum())
    }

    /// Every lane that does not rest and has a head: its position, and that.
    pub(super) fn heads(&self) -> Vec<(u64, LaneId, Ticket)> {
        let lanes = self.all.iter().enumerate();
        let heads = lanes.filter_map(|(place, lane)| {
            let lane = lane.as_ref().filter(|lane| lane.paused.is_none())?;
            let head = lane.head()?;
            Some((head.seq, LaneId(u32::try_from(place).ok()?), head.ticket))
        });
        let mut heads: Vec<_> = heads.collect();
        heads.sort_unstable();
        heads
    }

    /// Who waits, in all lanes.
    pub(super) fn all_waiting(&self) -> impl Iterator<Item = Ticket> + '_ {
        let lanes = self.all.iter().flatten();
        lanes.flat_map(|lane| {
            let back = lane.back.iter().map(|Reverse(entry)| entry);
            lane.fresh.iter().chain(back).map(|entry| entry.ticket)
        })
    }

    /// Lanes that are kept, and origins that are known by name or cannot be reached.
    pub(super) fn kept(&self) -> (usize, usize) {
        let troubled = self.breakers.origins().count();
        let named = self.by_name.len() + self.unreachable.len() + troubled;
        (self.all.iter().flatten().count(), named)
    }

    /// Origins that rest, or that one job asks whether they are back.
    pub(super) fn broken_origins(&self) -> Vec<Origin> {
        self.breakers.open().cloned().collect()
    }

    /// The states of every lane.
    pub(super) fn all_states(&self) -> impl Iterator<Item = &Arc<[StateId]>> {
        self.all.iter().flatten().map(|lane| &lane.states)
    }

    /// Whether it waits in the line of this state.
    pub(super) fn is_in_line(&self, id: LaneId, state: StateId) -> bool {
        self.lane(id)
            .parked
            .is_some_and(|parked| parked.line == state)
    }

    /// Whether nothing of its own holds it back.
    pub(super) fn is_open(&self, id: LaneId) -> bool {
        self.lane(id).is_open()
    }

    /// Members of all lanes.
    pub(super) fn members(&self) -> usize {
        self.all.iter().flatten().map(|lane| lane.members).sum()
    }
}
