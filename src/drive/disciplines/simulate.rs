//! A trial in virtual time, in front of the modelled API. Floor 5: drive.

use super::record::Measured;
use super::trial::Trial;
use crate::drive::answers::{Answer, Answers};
use crate::drive::modelled::Modelled;
use crate::drive::simulated::Api;
use crate::engine::Event;
use crate::units::Tick;

/// Runs a trial to its end. What is sent arrives at once.
pub(super) fn simulate(mut trial: Trial<'_>, mut api: Modelled) -> Measured {
    let mut answers = Answers::default();
    let mut now = Tick::ZERO;
    loop {
        let wake = trial.turn(now);
        for out in trial.take() {
            trial.tell(now, Event::Sent(out.ticket, now));
            let (after, end) = api.answer(now, &out.job, &out.grant);
            answers.add(now.after(after), out.ticket, end);
        }
        if trial.ended().is_some() {
            return trial.close(now);
        }
        let next = [wake, answers.next()].into_iter().flatten().min();
        now = now.max(next.expect("a run that is not over waits for something"));
        while let Some(Answer {
            at, ticket, end, ..
        }) = answers.take(now)
        {
            if let Ok(reply) = &*end {
                trial.tell(now, Event::Answered(ticket, Box::new(reply.head.clone())));
            }
            trial.tell(now, Event::Ended(ticket, at, end));
        }
    }
}
