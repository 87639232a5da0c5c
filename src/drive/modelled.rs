//! The modelled API in virtual time: what answers the tries of a simulated run. Floor 5: drive.

use std::time::{Duration, UNIX_EPOCH};

use http::StatusCode;

use super::simulated::{self, Api};
use crate::engine::Grant;
use crate::fields::Fields;
use crate::job::Job;
use crate::limit::Setting;
use crate::model::{Answer, Model, ModelSpec, Observed, Verdict};
use crate::outcome::{Failure, FailureKind, Reached, Reply, Usage};
use crate::units::{Cost, Tick, show_span};

/// What faults and latencies are drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// The number of the arrival, as the mock does.
    Arrivals,
    /// The job and its try, whatever else is sent before it: under other bounds nothing differs by chance.
    Jobs,
}

/// A modelled API. The same seed, jobs and moments give the same answers.
#[derive(Debug)]
pub struct Modelled {
    model: Model,
    /// What every answer says that it used.
    tokens: Option<Cost>,
    epoch: Duration,
    draws: Draws,
    /// Whether every answer tells how the limits stand, and not only a refusal when to come back.
    tells: bool,
}

impl Modelled {
    /// A server as `spec` says, with the latencies of `observed` if there are any.
    pub fn new(
        spec: &ModelSpec,
        observed: Option<Observed>,
        setting: Setting,
        seed: u64,
        draws: Draws,
    ) -> Self {
        let model = Model::new(spec, setting, seed);
        Self {
            model: match observed {
                Some(observed) => model.answering(observed),
                None => model,
            },
            tokens: spec.tokens,
            epoch: setting.epoch,
            draws,
            tells: false,
        }
    }

    /// The same for a run that learns of every answer, or not.
    #[must_use]
    pub fn telling(self, tells: bool) -> Self {
        Self { tells, ..self }
    }

    /// What a try costs of the server's limits that count units: what it will say that it used, else what the
    /// job reserves.
    fn units(&self, job: &Job) -> u64 {
        let reserved = || job.units.map_or(1, crate::job::Units::reserve);
        self.tokens.map_or_else(reserved, Cost::get)
    }

    fn reply(&self, verdict: &Verdict, now: Tick, job: &Job) -> Reply {
        let refused = |status| match verdict.answer {
            Answer::Refused(_) => true,
            Answer::Failed(own) => own == status,
            Answer::Ok => false,
        };
        let mut reply = simulated::reply(match verdict.answer {
            Answer::Ok => StatusCode::OK,
            Answer::Refused(_) => StatusCode::TOO_MANY_REQUESTS,
            Answer::Failed(status) => status,
        });
        if self.tells || refused(StatusCode::TOO_MANY_REQUESTS) {
            let path = job.target.url.path();
            let (head, _) = self
                .model
                .reply(verdict, now, &job.method, path)
                .into_parts();
            reply.head.headers = Fields::of(&head.headers);
            reply.head.wall = UNIX_EPOCH + self.epoch + verdict.answered_at.since(Tick::ZERO);
        }
        if verdict.answer == Answer::Ok && job.units.is_some() {
            reply.used = self.tokens.map(|tokens| Usage::of(tokens.get()));
        }
        reply
    }
}

impl Api for Modelled {
    fn answer(
        &mut self,
        now: Tick,
        job: &Job,
        grant: &Grant,
    ) -> (Duration, Result<Reply, Failure>) {
        let units = self.units(job);
        let verdict = match self.draws {
            Draws::Arrivals => self.model.arrive(now, units),
            Draws::Jobs => self.model.arrive_as(now, units, number(grant)),
        };
        if verdict.answered_at > grant.give_up_at {
            let span = grant.give_up_at.since(now);
            let failure = Failure::new(
                FailureKind::Timeout,
                Reached::Sent,
                format!("slower than {}", show_span(span)),
            );
            return (span, Err(failure));
        }
        let reply = self.reply(&verdict, now, job);
        (verdict.answered_at.since(now), Ok(reply))
    }
}

/// The draw of a try. Those of the first tries of jobs are those of as many arrivals; those of second tries begin
/// 2^40 later, which is more jobs than an input has.
fn number(grant: &Grant) -> u64 {
    let again = u64::from(grant.attempt.saturating_sub(1));
    grant.seq.wrapping_add(again << 40)
}
