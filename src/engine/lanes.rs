//! Lanes: who waits, in which order, and which lanes rest. Floor 3: rules.
//!
//! A lane is an origin. FIFO within it, a retry in its old place; oldest first across lanes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use super::talk::Ticket;
use crate::job::Origin;
use crate::units::Tick;

/// Number of a lane, for as long as it has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId(u32);

/// Why a lane rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Its server asked for it.
    Asked,
    /// A connect to it failed.
    Unreachable,
}

/// Where a job joins its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// At the end: it was just read.
    Fresh,
    /// In its old place: it comes back from rest.
    Back,
}

#[derive(Debug)]
struct Lane {
    origin: Origin,
    fresh: VecDeque<(u64, Ticket)>,
    back: BinaryHeap<Reverse<(u64, Ticket)>>,
    paused: Option<(Tick, Rest)>,
    /// When its last pause ended: nothing here could go before.
    open_since: Tick,
    /// Jobs of it that the engine holds, waiting or not.
    members: usize,
}

impl Lane {
    fn head(&self) -> Option<(u64, Ticket)> {
        let fresh = self.fresh.front().copied();
        let back = self.back.peek().map(|Reverse(first)| *first);
        fresh.into_iter().chain(back).min()
    }

    fn len(&self) -> usize {
        self.fresh.len() + self.back.len()
    }
}

/// All lanes that have members or rest.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    all: Vec<Option<Lane>>,
    free: Vec<LaneId>,
    by_origin: HashMap<Origin, LaneId>,
    /// Lanes that do not rest, by the age of their head.
    open: BTreeSet<(u64, LaneId)>,
    /// Lanes that rest, by the end of it; an entry may be out of date.
    resting: BinaryHeap<Reverse<(Tick, LaneId)>>,
    waiting: usize,
    waiting_open: usize,
    /// How many lanes there have ever been.
    seen: u64,
}

impl Lanes {
    /// Jobs that wait, in all lanes.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Jobs that wait in lanes that do not rest.
    pub(super) fn waiting_open(&self) -> usize {
        self.waiting_open
    }

    /// Whether there has been more than one origin.
    pub(super) fn are_many(&self) -> bool {
        self.seen > 1
    }

    /// The lane of `origin`, with one more member.
    pub(super) fn enter(&mut self, origin: &Origin) -> LaneId {
        if let Some(&id) = self.by_origin.get(origin) {
            self.lane_mut(id).members += 1;
            return id;
        }
        let lane = Lane {
            origin: origin.clone(),
            fresh: VecDeque::new(),
            back: BinaryHeap::new(),
            paused: None,
            open_since: Tick::ZERO,
            members: 1,
        };
        self.seen += 1;
        let id = if let Some(id) = self.free.pop() {
            self.all[id.0 as usize] = Some(lane);
            id
        } else {
            self.all.push(Some(lane));
            LaneId(u32::try_from(self.all.len() - 1).expect("fewer lanes than jobs held"))
        };
        self.by_origin.insert(origin.clone(), id);
        id
    }

    /// One member less; a lane without members that does not rest is forgotten.
    pub(super) fn leave(&mut self, id: LaneId) {
        self.lane_mut(id).members -= 1;
        self.forget_idle(id);
    }

    fn forget_idle(&mut self, id: LaneId) {
        let lane = self.lane(id);
        if lane.members == 0 && lane.paused.is_none() {
            self.by_origin.remove(&lane.origin.clone());
            self.all[id.0 as usize] = None;
            self.free.push(id);
        }
    }

    /// A job waits in its lane. Returns it if it is now the head.
    pub(super) fn push(
        &mut self,
        id: LaneId,
        seq: u64,
        ticket: Ticket,
        joins: Joins,
    ) -> Option<Ticket> {
        let before = self.lane(id).head();
        let lane = self.lane_mut(id);
        match joins {
            Joins::Fresh => lane.fresh.push_back((seq, ticket)),
            Joins::Back => lane.back.push(Reverse((seq, ticket))),
        }
        let is_open = lane.paused.is_none();
        self.waiting += 1;
        self.waiting_open += usize::from(is_open);
        self.reorder(id, before);
        (self.lane(id).head()?.1 == ticket).then_some(ticket)
    }

    /// The head of `id` leaves the line. Returns the next head.
    pub(super) fn pop(&mut self, id: LaneId) -> Option<Ticket> {
        let before = self.lane(id).head();
        let lane = self.lane_mut(id);
        if lane.fresh.front().copied() == before {
            lane.fresh.pop_front();
        } else {
            lane.back.pop();
        }
        self.gone(id, before)
    }

    /// `ticket` leaves the line, wherever it stands. Returns the next head.
    pub(super) fn remove(&mut self, id: LaneId, ticket: Ticket) -> Option<Ticket> {
        let before = self.lane(id).head();
        let lane = self.lane_mut(id);
        lane.fresh.retain(|&(_, own)| own != ticket);
        lane.back.retain(|&Reverse((_, own))| own != ticket);
        self.gone(id, before)
    }

    /// Nobody waits any more; lanes stay while they have members.
    pub(super) fn clear(&mut self) {
        for lane in self.all.iter_mut().flatten() {
            lane.fresh.clear();
            lane.back.clear();
        }
        self.open.clear();
        (self.waiting, self.waiting_open) = (0, 0);
    }

    fn gone(&mut self, id: LaneId, before: Option<(u64, Ticket)>) -> Option<Ticket> {
        self.waiting -= 1;
        self.waiting_open -= usize::from(self.lane(id).paused.is_none());
        self.reorder(id, before);
        Some(self.lane(id).head()?.1)
    }

    /// Keeps `open` true after the head of a lane may have changed.
    fn reorder(&mut self, id: LaneId, before: Option<(u64, Ticket)>) {
        let lane = self.lane(id);
        let (after, is_open) = (lane.head(), lane.paused.is_none());
        if is_open && before != after {
            if let Some((seq, _)) = before {
                self.open.remove(&(seq, id));
            }
            if let Some((seq, _)) = after {
                self.open.insert((seq, id));
            }
        }
    }

    /// Nothing of this lane is sent until `until`; a longer rest stays.
    pub(super) fn pause(&mut self, id: LaneId, until: Tick, why: Rest) {
        let lane = self.lane_mut(id);
        if lane.paused.is_some_and(|(longer, _)| longer >= until) {
            return;
        }
        let was_open = lane.paused.is_none();
        lane.paused = Some((until, why));
        let (head, len) = (lane.head(), lane.len());
        if was_open {
            self.waiting_open -= len;
            if let Some((seq, _)) = head {
                self.open.remove(&(seq, id));
            }
        }
        self.resting.push(Reverse((until, id)));
    }

    /// Opens the next lane whose rest is over at `now`; its head, if it has one, and why it rested.
    pub(super) fn wake(&mut self, now: Tick) -> Option<(Option<Ticket>, Rest)> {
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
            let (head, len) = (lane.head(), lane.len());
            self.waiting_open += len;
            if let Some((seq, _)) = head {
                self.open.insert((seq, id));
            }
            self.forget_idle(id);
            return Some((head.map(|(_, ticket)| ticket), why));
        }
        None
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

    /// The oldest head of all lanes that do not rest.
    pub(super) fn oldest(&self) -> Option<(LaneId, Ticket)> {
        let &(_, id) = self.open.first()?;
        Some((id, self.lane(id).head()?.1))
    }

    /// When the last pause of this lane ended.
    pub(super) fn open_since(&self, id: LaneId) -> Tick {
        self.lane(id).open_since
    }

    /// The origin with the longest line.
    pub(super) fn fullest(&self) -> Option<&Origin> {
        let lanes = self.all.iter().flatten();
        lanes.max_by_key(|lane| lane.len()).map(|lane| &lane.origin)
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

#[cfg(test)]
impl Lanes {
    /// Jobs that wait, and those in open lanes, counted one by one.
    pub(super) fn recount(&self) -> (usize, usize) {
        let lanes = || self.all.iter().flatten();
        let open = lanes().filter(|lane| lane.paused.is_none());
        let heads = open.clone().filter(|lane| lane.head().is_some());
        assert_eq!(self.open.len(), heads.count(), "open heads");
        (lanes().map(Lane::len).sum(), open.map(Lane::len).sum())
    }

    /// Members of all lanes.
    pub(super) fn members(&self) -> usize {
        self.all.iter().flatten().map(|lane| lane.members).sum()
    }
}
