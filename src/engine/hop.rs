//! Redirects: a try goes on at another place by a grant of its own, and keeps the slots that it has. Floor 3: rules.
//!
//! A request that a redirect asks for pays every limit on requests and none on units. It goes before all jobs, and waits
//! for no slot: two tries that wait for each other's would wait for ever.

use std::mem;
use std::sync::Arc;

use super::breaker::Sign;
use super::gate::{Asks, Holds};
use super::heads::LaneId;
use super::held::{Held, Work};
use super::lanes::Rest;
use super::obstacle::{Elder, Obstacle, Stops, Until};
use super::paid::Paid;
use super::talk::Ticket;
use super::{Action, Engine, Grant, HAS_WORK, IN_A_LANE};
use crate::job::{Job, host_of};
use crate::limit::{KeyBy, all_keys};
use crate::outcome::{Failure, FailureKind, Head, Hop, Reached, Reply, Try};
use crate::redirect::{Follow, Trail, is_redirect, tells_where_to_look};
use crate::retry::{Final, Policy, Said, Verdict};
use crate::units::{Tick, show_span};

/// Where a redirect has led a try.
#[derive(Debug)]
pub(super) struct Away {
    /// What is asked there.
    job: Arc<Job>,
    trail: Trail,
    /// The lane of its job, and what its first request has taken.
    home: (LaneId, Holds),
    /// When the redirect came.
    since: Tick,
    give_up_at: Tick,
}

impl Away {
    /// What its first request has taken.
    pub(super) fn first(&mut self) -> &mut Holds {
        &mut self.home.1
    }

    /// What is asked there.
    pub(super) fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// When the redirect came.
    pub(super) fn since(&self) -> Tick {
        self.since
    }
}

/// Why a request has its place.
const IS_AWAY: &str = "what waits to go on was sent on";

impl Engine {
    /// Whether this answer sends its request on.
    pub(super) fn follows(&self, reply: &Reply) -> bool {
        self.rules.follow == Follow::Redirects && is_redirect(reply.head.status)
    }

    /// An answer sends its request on, at `at`: what it asks for waits for its grant. Or why it leads nowhere.
    pub(super) fn is_sent_on(
        &mut self,
        ticket: Ticket,
        at: Tick,
        head: &Head,
    ) -> Result<(), Failure> {
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        let work = held.work.as_ref().expect(HAS_WORK);
        let (step, trail) = if let Some(away) = &mut held.away {
            (away.trail.follow(&away.job, head), None)
        } else {
            let mut trail = Trail::of(&work.job);
            (trail.follow(&work.job, head), Some(trail))
        };
        let step = step
            .map_err(|message| Failure::new(FailureKind::Redirect, Reached::Answered, message))?;
        let job = Arc::new(self.with_keys_of_its_host(step.job));
        self.lanes
            .ends(lane, (ticket, at), Sign::Answers, |_, last| last);
        let next = self.lanes.enter(&job, || self.gate.enter(&job));
        let holds = Holds::none(self.lanes.states(next));
        let out_of_time = self.out_of_time(self.roll.peek(ticket).work());

        let now = self.now;
        let held = self.roll.get(ticket);
        let mut paid = mem::replace(&mut held.holds, holds);
        held.lane = Some(next);
        let work = held.work.as_mut().expect(HAS_WORK);
        work.said = Said::default();
        let current = work.current();
        current.status = None;
        current.retry_after = None;
        current.hops.push(Hop {
            url: job.target.shown_url().into(),
            status: head.status,
            credentials: step.credentials,
            keys: job.keys.clone(),
            granted: None,
            sent: None,
            first_byte: None,
        });
        let end = current.granted.after(self.rules.timeout);
        self.hops.insert((held.seq, ticket));
        if let Some(trail) = trail {
            self.gate.sent_on(&mut paid, now);
            self.lanes.given_back(paid.states());
            held.away = Some(Box::new(Away {
                job,
                trail,
                home: (lane, paid),
                since: at,
                give_up_at: out_of_time.unwrap_or(end).min(end),
            }));
        } else if let Some(away) = &mut held.away {
            self.gate
                .ended(&mut paid, now, Paid::Answered(None), &away.job);
            self.lanes.given_back(paid.states());
            (away.job, away.since) = (job, at);
            self.leave(lane);
        }
        Ok(())
    }

    /// What is asked elsewhere has the keys of its job, but for its host.
    fn with_keys_of_its_host(&self, job: Job) -> Job {
        let host = host_of(&job.target.url).into();
        let keys = all_keys(&self.rules.limits, self.rules.learnt_per.as_ref());
        let each = keys.iter().zip(&job.keys);
        let keys = each.map(|(by, value)| match by {
            KeyBy::Host => Arc::clone(&host),
            KeyBy::Header(_) | KeyBy::Field(_) => Arc::clone(value),
        });
        Job {
            keys: keys.collect(),
            ..job
        }
    }

    /// Sends what may go on, oldest first, and gives up what is too late. Returns the next moment at which this may be
    /// otherwise.
    pub(super) fn go_on(&mut self, actions: &mut Vec<Action>) -> Option<Tick> {
        self.going_on.clear();
        if self.hops.is_empty() {
            return None;
        }
        let mut next: Option<Tick> = None;
        let mut is_stopped = false;
        let all: Vec<_> = self.hops.iter().copied().collect();
        for (seq, ticket) in all {
            let held = self.roll.peek(ticket);
            let (away, lane) = (held.away.as_ref().expect(IS_AWAY), held.lane);
            let lane = lane.expect(IN_A_LANE);
            if let Some(failure) = self.is_too_late(away, lane) {
                self.hops.remove(&(seq, ticket));
                self.try_ended(ticket, self.now, Err(failure), actions);
                continue;
            }
            let mut until = away.give_up_at;
            if let Some(rests) = self.lanes.rests(lane, self.now) {
                until = until.min(rests);
            } else if !is_stopped {
                match self.opening_for(held, away, lane) {
                    Ok(at) => {
                        self.goes_out(ticket, at, actions);
                        continue;
                    }
                    Err(obstacle) => {
                        is_stopped = obstacle.stops == Stops::Everyone;
                        if let Until::At(at) = obstacle.until {
                            until = until.min(at);
                            let elder = Elder {
                                job: away.job.clone(),
                                states: held.holds.shared_states(),
                                at,
                            };
                            self.going_on.push(elder);
                        }
                        self.starves(lane, &obstacle);
                    }
                }
            }
            next = Some(next.map_or(until, |next| next.min(until)));
        }
        next
    }

    /// Why a request cannot go on any more.
    fn is_too_late(&self, away: &Away, lane: LaneId) -> Option<Failure> {
        let host = host_of(&away.job.target.url);
        let (kind, message) = if self.lanes.is_closed(lane) {
            let message = format!("{host}: the server has asked for a longer wait than is allowed");
            (FailureKind::RetryAfterTooLong, message)
        } else if away.give_up_at <= self.now {
            let span = show_span(self.rules.timeout);
            let message = format!("{host}: slower than {span} (phase: redirect)");
            (FailureKind::Timeout, message)
        } else if (self.lanes.rests(lane, self.now)).is_some_and(|until| away.give_up_at <= until) {
            let span = show_span(self.rules.timeout);
            let message = format!("{host}: it is not asked within {span} (phase: redirect)");
            (FailureKind::Timeout, message)
        } else {
            return None;
        };
        Some(Failure::new(kind, Reached::Answered, message))
    }

    /// When every limit lets it go, and nobody older waits longer for it.
    fn opening_for(&self, held: &Held, away: &Away, lane: LaneId) -> Result<Tick, Obstacle> {
        let (job, states) = (&away.job, held.holds.states());
        let from = away
            .since
            .max(self.lanes.open_since(lane))
            .max(self.now.before(self.rules.slack));
        let at = self
            .gate
            .opening(job, states, (from, self.now), Asks::Next)?;
        for elder in &self.going_on {
            if let Some(rule) = self.gate.delays(job, states, at, elder) {
                return Err(self.gate.behind(rule, states, elder.at));
            }
        }
        let lane = held.lane.filter(|_| self.gate.is_asked(job, Asks::Next));
        let ahead = lane.and_then(|lane| self.granted_ahead(lane, at));
        ahead.unwrap_or(Ok(at))
    }

    fn goes_out(&mut self, ticket: Ticket, at: Tick, actions: &mut Vec<Action>) {
        let held = self.roll.get(ticket);
        let away = held.away.as_ref().expect(IS_AWAY);
        self.gate.take(&away.job, at, &mut held.holds, Asks::Next);
        let lane = held.lane.expect(IN_A_LANE);
        let asks = self.gate.is_asked(&away.job, Asks::Next);
        if asks && self.goes_by_lease(ticket, lane) {
            self.goes_on_now(ticket, (at, at), actions);
        } else if asks {
            let seq = self.roll.peek(ticket).seq;
            self.hops.remove(&(seq, ticket));
            self.ask(ticket);
        } else {
            self.goes_on_now(ticket, (at, self.now), actions);
        }
    }

    /// Everything is charged for `charged_at` and granted at `granted`, which is now, or when the store did it.
    pub(super) fn goes_on_now(
        &mut self,
        ticket: Ticket,
        (charged_at, granted): (Tick, Tick),
        actions: &mut Vec<Action>,
    ) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let lane = held.lane.expect(IN_A_LANE);
        let away = held.away.as_ref().expect(IS_AWAY);
        let work = held.work.as_mut().expect(HAS_WORK);
        let attempt = work.attempts;
        let current = work.current();
        let began = current.granted;
        if let Some(hop) = current.hops.last_mut() {
            hop.granted = Some(granted);
        }
        let grant = Grant {
            seq: held.seq,
            due: away.since,
            charged_at,
            attempt,
            began,
            give_up_at: away.give_up_at,
        };
        self.hops.remove(&(held.seq, ticket));
        self.lanes.goes(lane, ticket, grant.give_up_at);
        actions.push(Action::Send(ticket, away.job.clone(), grant));
        if self.lanes.goes_one_by_one(lane)
            && let Some(gap) = self.rules.re_entry
        {
            self.lanes.pause(lane, now.after(gap), Rest::ReEntry);
            self.rush(lane);
        }
    }

    /// The try is over: it has its own lane and holds again. Returns what its first request has paid, and the lane that it
    /// comes from, which is still to be left.
    pub(super) fn comes_home(&mut self, ticket: Ticket, paid: Paid) -> (Paid, Option<LaneId>) {
        let now = self.now;
        let held = self.roll.get(ticket);
        let Some(away) = held.away.take() else {
            return (paid, None);
        };
        let (lane, holds) = away.home;
        self.gate.ended(&mut held.holds, now, paid, &away.job);
        self.lanes.given_back(held.holds.states());
        held.holds = holds;
        let left = held.lane.replace(lane);
        let hop = held.current().hops.last_mut();
        match (paid, hop) {
            (Paid::NotSent, Some(hop)) => {
                hop.sent = None;
                // What sent it on was answered, and did not do what it was asked.
                (Paid::Refused, left)
            }
            (Paid::NotSent | Paid::Unanswered | Paid::Refused | Paid::Answered(_), _) => {
                (paid, left)
            }
        }
    }
}

/// Whether the last request of a try never had its grant: how that try ended tells nothing of a server.
pub(super) fn never_went(last: &Try) -> bool {
    last.hops.last().is_some_and(|hop| hop.granted.is_none())
}

/// A try that failed after its request was done, as a redirect has told, would do that twice.
pub(super) fn unless_done(work: &Work, retry: &Policy, verdict: Verdict) -> Verdict {
    let hops = work.tries.last().map_or(&[][..], |last| &last.hops);
    let mut statuses = hops.iter().map(|hop| hop.status);
    match verdict {
        Verdict::Again(_)
            if statuses.any(|status| tells_where_to_look(status, &work.job.method))
                && !retry.retry_unsafe.allows(&work.job) =>
        {
            Verdict::Done(Final::Unsafe)
        }
        Verdict::Again(_) | Verdict::Done(_) => verdict,
    }
}
