//! How long a job may wait before it is sent. Floor 3: rules.

use std::cmp::Reverse;
use std::time::Duration;

use super::heads::LaneId;
use super::held::{Phase, Work};
use super::keyed::StateId;
use super::lanes::Rest;
use super::obstacle::Until;
use super::talk::Ticket;
use super::{Action, Engine, IN_A_LANE};
use crate::job::Job;
use crate::metrics::Owner;
use crate::outcome::{FailureKind, Status};
use crate::retry::Policy;
use crate::units::{Tick, least, show_apart, show_span};

/// Out-of-date deadlines beyond this many, and beyond twice what is held, are thrown away.
const FEW: usize = 64;

impl Engine {
    /// The last moment at which this job may go: counted from when it was due, where the run gives jobs due
    /// times, else from being head of its lane; and anew after each rest.
    fn deadline(&self, work: &Work) -> Option<Tick> {
        let since = if self.rules.arrivals.are_scheduled() && work.tries.is_empty() {
            work.due.or(work.waits_since)
        } else {
            work.waits_since
        };
        let waited = since.zip(self.rules.queue_timeout);
        let waited = waited.map(|(since, most)| since.after(most));
        least(waited, self.out_of_time(work))
    }

    /// When all the time of a job is over.
    pub(super) fn out_of_time(&self, work: &Work) -> Option<Tick> {
        work.out_of_time(&self.rules.retry)
    }

    /// Whether anything bounds how long jobs wait.
    fn is_impatient(&self) -> bool {
        self.rules.queue_timeout.is_some() || self.rules.retry.max_elapsed.is_some()
    }

    /// A job that waits from now on is looked at again at its deadline.
    pub(super) fn watch(&mut self, ticket: Ticket) {
        if !self.is_impatient() {
            return;
        }
        let Some(deadline) = self.deadline(self.roll.peek(ticket).work()) else {
            return;
        };
        if self.deadlines.len() > 2 * self.roll.len() + FEW {
            let mut deadlines = std::mem::take(&mut self.deadlines);
            deadlines.retain(|&Reverse((until, ticket))| self.is_watched(until, ticket));
            self.deadlines = deadlines;
        }
        self.deadlines.push(Reverse((deadline, ticket)));
    }

    /// Whether the job of this ticket waits, and until then at most.
    fn is_watched(&self, until: Tick, ticket: Ticket) -> bool {
        let held = self.roll.find_held(ticket);
        let held = held.filter(|held| held.phase == Phase::Waiting);
        let work = held.and_then(|held| held.work.as_ref());
        work.is_some_and(|work| self.deadline(work) == Some(until))
    }

    /// Whether this job, held as it is, cannot go in time.
    pub(super) fn waits_too_long(&self, ticket: Ticket, until: Until) -> bool {
        if !self.is_impatient() {
            return false;
        }
        let Some(deadline) = self.deadline(self.roll.peek(ticket).work()) else {
            return false;
        };
        match until {
            Until::At(at) => at > deadline,
            Until::Release(Some((_, at))) => at > deadline || deadline <= self.now,
            Until::Release(None) => deadline <= self.now,
        }
    }

    /// The heads of this lane may have to wait for its rest longer than they can.
    pub(super) fn rush(&mut self, lane: LaneId) {
        if self.is_impatient() {
            self.rushed.push(lane);
        }
    }

    /// Fails the heads of lanes that rest for longer than they can wait. Returns whether there was one.
    fn expire_resting(&mut self, actions: &mut Vec<Action>) -> bool {
        let mut any = false;
        while let Some(lane) = self.rushed.pop() {
            let Some((ticket, (until, why))) = self.lanes.resting_head(lane) else {
                continue;
            };
            let until = match why {
                Rest::Asked | Rest::ReEntry | Rest::Unreachable | Rest::Broken => Until::At(until),
                Rest::Probed => Until::Release(None),
            };
            self.roll.work(ticket).blocker = Some(why.owner());
            if self.waits_too_long(ticket, until) {
                self.give_up(ticket, until, actions);
                self.rushed.push(lane);
                any = true;
            }
        }
        any
    }

    /// Fails the jobs whose time is up. Returns whether there was one.
    pub(super) fn expire(&mut self, actions: &mut Vec<Action>) -> bool {
        let mut any = self.expire_resting(actions);
        while let Some(&Reverse((until, ticket))) = self.deadlines.peek() {
            if until > self.now {
                break;
            }
            self.deadlines.pop();
            if self.is_watched(until, ticket) {
                self.give_up(ticket, Until::Release(None), actions);
                any = true;
            }
        }
        any
    }

    /// The next moment at which a job has waited too long.
    pub(super) fn next_deadline(&self) -> Option<Tick> {
        self.deadlines.peek().map(|Reverse((until, _))| *until)
    }

    /// A waiting job fails: it cannot go in time, or its time is up.
    pub(super) fn give_up(&mut self, ticket: Ticket, until: Until, actions: &mut Vec<Action>) {
        let held = self.roll.peek(ticket);
        let (work, lane) = (held.work(), held.lane.expect(IN_A_LANE));
        let deadline = self.deadline(work);
        let error = if deadline.is_some() && deadline == self.out_of_time(work) {
            self.gave_up(work)
        } else {
            let most = self.rules.queue_timeout.unwrap_or_default();
            let since = deadline.map_or(self.now, |at| at.before(most));
            let at = match until {
                Until::At(at) | Until::Release(Some((_, at))) => at.max(self.now),
                Until::Release(None) => self.now,
            };
            (
                FailureKind::QueueTimeout,
                self.too_long(at, since, work.blocker),
            )
        };
        self.leaves_lane(ticket, lane);
        self.finish(ticket, Status::Failed, Some(error), None, actions);
    }

    /// What ended the last try, and that there is no time for another.
    pub(super) fn gave_up(&self, work: &Work) -> (FailureKind, String) {
        let most = show_span(self.rules.retry.max_elapsed.unwrap_or_default());
        let (kind, why) = work.last_error();
        (kind, format!("{why}; gave up after {most} (--max-elapsed)"))
    }

    /// Why a job that was just read cannot go in time, behind all who wait; where jobs have due times.
    pub(super) fn hopeless(
        &self,
        job: &Job,
        states: &[StateId],
        due: Option<Tick>,
    ) -> Option<String> {
        let most = self.rules.queue_timeout?;
        if !self.lines_up() {
            return None;
        }
        let since = due.unwrap_or(self.now);
        let (at, owner) = self.gate.projected(job, states, self.now);
        (at > self.now && at > since.after(most)).then(|| self.too_long(at, since, Some(owner)))
    }

    /// Whether a line is asked how long it takes.
    pub(super) fn lines_up(&self) -> bool {
        self.rules.queue_timeout.is_some() && self.rules.arrivals.are_scheduled()
    }

    fn too_long(&self, at: Tick, since: Tick, owner: Option<Owner>) -> String {
        let verb = if at > self.now || at <= since {
            "would wait"
        } else {
            "waited"
        };
        let name = owner.map_or("its turn".to_owned(), |owner| {
            self.gate.name(owner).to_string()
        });
        let most = self.rules.queue_timeout.unwrap_or_default();
        let [wait, most] = show_apart(at.since(since), most);
        format!(
            "{verb} {wait} for {name}, the longest is {most} (--queue-timeout)\n  mend: raise it, or the limit"
        )
    }
}

impl Work {
    /// When all its time is over, counted from its first send.
    fn out_of_time(&self, retry: &Policy) -> Option<Tick> {
        Some(self.first_sent?.after(retry.max_elapsed?))
    }

    /// How much longer than its rest, which ends at `until`, the budget for retries may hold it: not at all, if its
    /// server has told when to come back, or wants less. Its time does not run out for that: as long as it was held is
    /// left for its try.
    pub(super) fn hold(&self, until: Tick, retry: &Policy) -> Duration {
        if self.said.refused || self.said.wait.is_some() {
            return Duration::ZERO;
        }
        let left = self.out_of_time(retry).map(|end| end.since(until) / 2);
        let most = retry.backoff.max.min(left.unwrap_or(Duration::MAX));
        until.after(most).since(until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::keyed::tests::live;
    use super::super::{Engine, Rules};
    use super::*;

    #[test]
    fn deadlines_of_jobs_that_went_are_not_kept_until_then() {
        let rules = Rules {
            queue_timeout: Some(Duration::from_secs(3600)),
            ..Rules::default()
        };
        let mut engine = Engine::new(rules);
        engine.decide(Tick::ZERO, &mut Vec::new());
        for nth in 0..10_000 {
            live(&mut engine, nth, Tick(nth));
        }
        assert!(engine.deadlines.len() <= FEW + 3);
    }
}
