//! Whose the time is from now on. Floor 3: rules.

use super::admission::Scan;
use super::held::Phase;
use super::lanes::{Parked, Rest};
use super::obstacle::Until;
use super::order::InOrder;
use super::{Engine, Input};
use crate::metrics::{HoldOn, Owner};
use crate::outcome::{Failure, FailureKind};
use crate::units::Tick;

impl Engine {
    /// The position of the oldest job that could go but for a limit, and what keeps the oldest waiting job
    /// from being sent: that limit, else a lane that rests, else the input, else a job that rests. What the order
    /// of results keeps waits for the oldest line, and is kept by the lane of that one, if it rests.
    pub(super) fn hold_on(
        &mut self,
        scan: &Scan,
        pause: Option<(Tick, Rest)>,
        rest: Option<Tick>,
    ) -> (Option<u64>, HoldOn) {
        let parked = self.lanes.oldest_parked();
        let open = scan.first.map(|(seq, obstacle)| {
            let hold = match obstacle.until {
                Until::At(at) => HoldOn::Until(obstacle.owner, at),
                Until::Release(None) => HoldOn::Open(obstacle.owner),
                Until::Release(Some((rival, at))) => HoldOn::Contest {
                    owner: obstacle.owner,
                    rival,
                    at,
                },
            };
            (seq, hold)
        });
        let parked = parked.map(|(seq, Parked { until, owner, .. })| {
            let hold = until.map_or(HoldOn::Open(owner), |until| HoldOn::Until(owner, until));
            (seq, hold)
        });
        let asks = self.asking.is_some().then(|| self.askers().min()).flatten();
        let asks = asks.map(|seq| (seq, HoldOn::Open(Owner::Store)));
        let (head, hold) = match older(older(open, parked), asks) {
            Some((
                seq,
                HoldOn::Open(Owner::Slot)
                | HoldOn::Contest {
                    owner: Owner::Slot, ..
                },
            )) if self.recording > self.flying => (Some(seq), HoldOn::Open(Owner::Sink)),
            Some((seq, hold)) => (Some(seq), hold),
            None => (None, self.held_by_none(pause, rest)),
        };
        if hold.owner() == Owner::Order {
            return (head, self.held_by_the_oldest().unwrap_or(hold));
        }
        (head, hold)
    }

    /// The rest of the lane of the line for which all results wait: its jobs would wait as long in any order.
    ///
    /// A flight or a backoff is of one job alone, and without the order the others would go meanwhile.
    fn held_by_the_oldest(&self) -> Option<HoldOn> {
        let oldest = self.in_order.as_ref().and_then(InOrder::oldest)?;
        let held = self.roll.peek(oldest);
        match held.phase {
            Phase::Waiting | Phase::Resting => {}
            Phase::Early | Phase::Asking | Phase::Flying | Phase::Done(_) => return None,
        }
        if let Some((_, (until, why))) = self.lanes.resting_head(held.lane?) {
            return Some(HoldOn::Until(why.owner(), until));
        }
        // Nobody else waits in this lane: what its last try has said of it.
        let work = held.work();
        let last = work.tries.last().filter(|_| held.phase == Phase::Resting)?;
        let connect = |failure: &Failure| failure.kind == FailureKind::Connect;
        let asked = last.retry_after.unwrap_or_default();
        let owner = if last.failure.as_ref().is_some_and(connect) {
            Owner::Connect
        } else if !asked.is_zero() && asked >= work.last_rest / 2 {
            Owner::Pause
        } else {
            return None;
        };
        let until = last.done.after(work.last_rest);
        (until > self.now).then_some(HoldOn::Until(owner, until))
    }

    /// The same where no limit holds any job.
    fn held_by_none(&mut self, pause: Option<(Tick, Rest)>, rest: Option<Tick>) -> HoldOn {
        if self.lanes.waiting() == 0
            && let Some((due, _)) = self.agenda.next()
        {
            return HoldOn::Until(Owner::Nothing, due);
        }
        let reading = matches!(self.input, Input::Open) && !self.is_draining();
        let full = reading && self.rules.look_ahead.is_full(&self.load_ahead());
        // Full of results rather than of jobs.
        let results = self.in_order.as_ref().map_or(0, InOrder::finished);
        if full && results > 0 && results >= self.lanes.waiting() {
            return HoldOn::Open(Owner::Order);
        }
        if full && self.lanes.are_many() {
            let lanes = &self.lanes;
            self.metrics.full_of(|| lanes.fullest());
            return HoldOn::Open(Owner::LookAhead);
        }
        if self.lanes.waiting() > 0
            && let Some((until, why)) = pause
        {
            return HoldOn::Until(why.owner(), until);
        }
        if reading && self.asked > 0 {
            return HoldOn::Open(Owner::Input);
        }
        match (pause, rest) {
            (Some((until, why)), Some(_)) => HoldOn::Until(why.owner(), until),
            (None, Some(until)) => HoldOn::Until(Owner::Backoff, until),
            (Some(_) | None, None) => HoldOn::Open(Owner::Nothing),
        }
    }
}

/// The older of two heads; as a chain of iterators, to be looked through at each decision, they cost more.
fn older(one: Option<(u64, HoldOn)>, other: Option<(u64, HoldOn)>) -> Option<(u64, HoldOn)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 < one.0 => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

impl Rest {
    /// Whose the time of this rest is.
    pub(super) fn owner(self) -> Owner {
        match self {
            Self::Asked | Self::ReEntry => Owner::Pause,
            Self::Unreachable => Owner::Connect,
            Self::Broken | Self::Probed => Owner::Backoff,
        }
    }
}
