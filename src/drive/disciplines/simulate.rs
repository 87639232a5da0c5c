//! A trial in virtual time, in front of the modelled API. Floor 5: drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::trial::Trial;
use crate::drive::modelled::Modelled;
use crate::drive::simulated::Api;
use crate::engine::{Event, Ticket};
use crate::metrics::Stretch;
use crate::outcome::{Failure, Reply};
use crate::report::comparison::Figures;
use crate::units::Tick;

/// An answer on its way; those of one moment come in the order of their requests.
struct Coming {
    at: Tick,
    count: u64,
    ticket: Ticket,
    end: Box<Result<Reply, Failure>>,
}

impl PartialEq for Coming {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
    }
}

impl Eq for Coming {}

impl PartialOrd for Coming {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coming {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.count).cmp(&(other.at, other.count))
    }
}

/// Runs a trial to its end. What is sent arrives at once.
pub(super) fn simulate(mut trial: Trial<'_>, mut api: Modelled) -> (Figures, Stretch) {
    let mut answers: BinaryHeap<Reverse<Coming>> = BinaryHeap::new();
    let (mut now, mut count) = (Tick::ZERO, 0);
    loop {
        let wake = trial.turn(now);
        for out in trial.take() {
            trial.tell(now, Event::Sent(out.ticket, now));
            let (after, end) = api.answer(now, &out.job, &out.grant);
            count += 1;
            answers.push(Reverse(Coming {
                at: now.after(after),
                count,
                ticket: out.ticket,
                end: Box::new(end),
            }));
        }
        if trial.ended().is_some() {
            return trial.close(now);
        }
        let answer = answers.peek().map(|Reverse(answer)| answer.at);
        let next = [wake, answer].into_iter().flatten().min();
        now = now.max(next.expect("a run that is not over waits for something"));
        while answers.peek().is_some_and(|answer| answer.0.at <= now)
            && let Some(Reverse(answer)) = answers.pop()
        {
            let Coming {
                at,
                ticket,
                mut end,
                ..
            } = answer;
            if let Ok(reply) = end.as_mut() {
                reply.head.at = at;
                trial.tell(now, Event::Answered(ticket, Box::new(reply.head.clone())));
            }
            trial.tell(now, Event::Ended(ticket, at, end));
        }
    }
}
