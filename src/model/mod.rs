//! A modelled API: told when a request arrives, it says what the answer is and when it leaves. Floor 3: rules.

mod chance;
mod observed;
mod reply;
mod spec;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use http::StatusCode;

pub use observed::Observed;
pub use spec::{Fault, Latency, ModelSpec, RetryAfter, SPEC_FORM};

use crate::limit::{Counts, Guard, Limit, Ready, Setting, Used};
use crate::units::{Cost, Tick};
use chance::Chance;

/// A server with its state. Answers are certain on arrival, so it never waits.
#[derive(Debug)]
pub struct Model {
    spec: ModelSpec,
    /// Where latencies are drawn from, in place of that of the spec.
    observed: Option<Observed>,
    limits: Vec<Box<dyn Limit>>,
    /// When each request that occupies a slot leaves it; at most as many as there are slots.
    busy: BinaryHeap<Reverse<Tick>>,
    seed: u64,
    arrivals: u64,
    /// The start of the run, since the Unix epoch.
    epoch: Duration,
}

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Which arrival it is, from 0.
    pub number: u64,
    /// The answer.
    pub answer: Answer,
    /// When the answer leaves: refusals and failures wait inside and take the latency, too.
    pub answered_at: Tick,
    /// State of the first limit on requests, after this one; `None` without such a limit.
    pub quota: Option<Quota>,
}

/// What a request is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 200.
    Ok,
    /// 429, and the limits are as if it had not come. It would be accepted so long after it arrived,
    /// if nothing else came; `None`: never, it costs more than a limit holds.
    Refused(Option<Duration>),
    /// A fault of the spec. Its cost stays paid.
    Failed(StatusCode),
}

/// What the `X-RateLimit-*` headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The most that the limit holds.
    pub limit: u64,
    /// What would fit now.
    pub remaining: u64,
    /// When it is full again, if nothing more comes.
    pub reset_at: Option<Tick>,
}

impl Model {
    /// A server without any load. It counts arrivals, so its windows have no guard whatever the
    /// guard of `setting`. The same `seed` and arrivals give the same answers.
    pub fn new(spec: &ModelSpec, setting: Setting, seed: u64) -> Self {
        let own = Setting {
            guard: Guard::Of(Duration::ZERO),
            ..setting
        };
        Self {
            spec: spec.clone(),
            observed: None,
            limits: spec.limits.iter().map(|limit| limit.build(&own)).collect(),
            busy: BinaryHeap::new(),
            seed,
            arrivals: 0,
            epoch: setting.epoch,
        }
    }

    /// The same server, but for its latency: that of answers that were measured.
    #[must_use]
    pub fn answering(self, observed: Observed) -> Self {
        Self {
            observed: Some(observed),
            ..self
        }
    }

    /// A request that costs `units` of the limits that count them arrives. Moments must not go back.
    pub fn arrive(&mut self, now: Tick, units: u64) -> Verdict {
        self.arrive_as(now, units, self.arrivals)
    }

    /// The same, and its fault and latency are those of this number of a draw, in place of that of the arrival.
    pub fn arrive_as(&mut self, now: Tick, units: u64, draw: u64) -> Verdict {
        let number = self.arrivals;
        self.arrivals += 1;
        let chance = Chance::new(self.seed, draw);
        let answer = match self.ready(now, units) {
            Some(at) if at <= now => {
                self.take(now, units);
                self.fault(chance).map_or(Answer::Ok, Answer::Failed)
            }
            Some(at) => Answer::Refused(Some(at.since(now))),
            None => Answer::Refused(None),
        };
        let latency = match &self.observed {
            Some(observed) => chance.observed(observed),
            None => chance.latency(self.spec.latency),
        };
        let answered_at = self.work(now, latency);
        Verdict {
            number,
            answer,
            answered_at,
            quota: self.quota(now),
        }
    }

    /// The first moment at which every limit holds the request; `None` if one never does.
    fn ready(&self, now: Tick, units: u64) -> Option<Tick> {
        let mut at = now;
        for (spec, limit) in self.spec.limits.iter().zip(&self.limits) {
            let Some(cost) = cost(spec.counts, units) else {
                continue;
            };
            match limit.ready(now, cost) {
                Ready::At(moment) => at = at.max(moment),
                Ready::OnRelease | Ready::Never(_) => return None,
            }
        }
        Some(at)
    }

    /// What was taken stays taken: a server charges what arrives.
    fn take(&mut self, now: Tick, units: u64) {
        for (spec, limit) in self.spec.limits.iter().zip(&mut self.limits) {
            if let Some(cost) = cost(spec.counts, units) {
                let mut hold = limit.take(now, cost);
                limit.moved(&mut hold, now);
                limit.settle(hold, now, Used::Unknown);
            }
        }
    }

    fn fault(&self, chance: Chance) -> Option<StatusCode> {
        let point = chance.point();
        let mut end = 0;
        let hit = self.spec.faults.iter().find(|fault| {
            end += fault.share.0;
            point < end
        });
        hit.map(|fault| fault.status)
    }

    /// When work of this length ends that came now: in order of arrival, in the first slot that is free.
    fn work(&mut self, now: Tick, latency: Duration) -> Tick {
        let Some(slots) = self.spec.slots else {
            return now.after(latency);
        };
        let full = self.busy.len() as u64 >= slots.get();
        let free_at = if full { self.busy.pop() } else { None };
        let done = free_at
            .map_or(now, |Reverse(at)| at.max(now))
            .after(latency);
        self.busy.push(Reverse(done));
        done
    }

    /// Asks every limit, so that the logs of all of them stay short between two takes.
    fn quota(&mut self, now: Tick) -> Option<Quota> {
        let mut quota = None;
        for (spec, limit) in self.spec.limits.iter().zip(&mut self.limits) {
            let level = limit.level(now);
            if quota.is_none() && spec.counts == Counts::Requests {
                quota = Some(Quota {
                    limit: spec.burst.get(),
                    remaining: level.remaining,
                    reset_at: level.full_at,
                });
            }
        }
        quota
    }
}

/// What a request costs of a limit; `None` if it does not meet it.
fn cost(counts: Counts, units: u64) -> Option<Cost> {
    match counts {
        Counts::Requests => Some(Cost::ONE),
        Counts::Units | Counts::Input | Counts::Output => Cost::new(units),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    fn model(spec: &str) -> Model {
        Model::new(&spec.parse().unwrap(), Setting::VIRTUAL, 1)
    }

    fn count(verdicts: &[Verdict], wanted: impl Fn(Answer) -> bool) -> usize {
        verdicts
            .iter()
            .filter(|verdict| wanted(verdict.answer))
            .count()
    }

    #[test]
    fn a_fixed_latency_is_the_same_for_every_answer() {
        let mut model = model("latency=50ms,limit=1/s");
        for (nth, at) in [0, 3, 999].into_iter().enumerate() {
            let verdict = model.arrive(Tick(at * MILLI), 1);
            assert_eq!(verdict.answered_at, Tick((at + 50) * MILLI), "{verdict:?}");
            assert_eq!(verdict.number, nth as u64);
        }
    }

    #[test]
    fn more_requests_than_slots_wait_inside_in_order() {
        let mut model = model("latency=50ms,slots=2");
        let left: Vec<_> = [0, 10, 10, 20, 200]
            .map(|at| model.arrive(Tick(at * MILLI), 1).answered_at.0 / MILLI)
            .into();
        assert_eq!(left, [50, 60, 100, 110, 250]);
        assert_eq!(model.busy.len(), 2);
    }

    #[test]
    fn a_refused_request_consumes_nothing_of_any_limit() {
        let mut model = model("limit=2/1s window,limit=tokens 10/1s bucket burst=10");
        assert_eq!(model.arrive(Tick(0), 9).answer, Answer::Ok);
        let refused = model.arrive(Tick(0), 9);
        let wait = Duration::from_millis(800);
        assert_eq!(refused.answer, Answer::Refused(Some(wait)));
        assert_eq!(refused.quota.unwrap().remaining, 1);
        assert_eq!(model.arrive(Tick(0), 1).answer, Answer::Ok, "the rest fits");
    }

    #[test]
    fn a_refusal_tells_the_exact_wait() {
        let mut model = model("limit=1/1s window,limit=3/2s fixed");
        model.arrive(Tick(300 * MILLI), 1);
        let early = model.arrive(Tick(1_300 * MILLI - 1), 1);
        assert_eq!(early.answer, Answer::Refused(Some(Duration::from_nanos(1))));
        assert_eq!(model.arrive(Tick(1_300 * MILLI), 1).answer, Answer::Ok);
    }

    #[test]
    fn a_cost_above_what_a_limit_holds_is_refused_without_a_wait() {
        let mut model = model("limit=tokens 10/1s");
        assert_eq!(model.arrive(Tick(0), 11).answer, Answer::Refused(None));
        assert_eq!(model.arrive(Tick(0), 0).answer, Answer::Ok, "costs nothing");
    }

    #[test]
    fn four_hundred_a_second_against_ten_a_second_pass_thirty_of_a_thousand() {
        let mut model = model("limit=10/1s window");
        let verdicts: Vec<_> = (0..1000)
            .map(|nth| model.arrive(Tick(nth * 5 * MILLI / 2), 1))
            .collect();
        assert_eq!(count(&verdicts, |answer| answer == Answer::Ok), 30);
    }

    #[test]
    fn the_quota_is_of_the_first_limit_on_requests_after_the_request() {
        let mut limited = model("limit=tokens 100/m,limit=5/1s window,limit=1/m");
        let mut quota = |at| limited.arrive(Tick(at), 1).quota.unwrap();
        let first = Quota {
            limit: 5,
            remaining: 4,
            reset_at: Some(Tick(1_000_000_007)),
        };
        assert_eq!(quota(7), first);
        assert_eq!(quota(9), first, "the second was refused");
        assert_eq!(model("tokens=5").arrive(Tick(0), 1).quota, None);
    }

    #[test]
    fn what_is_drawn_for_a_number_is_the_same_whenever_it_arrives() {
        let spec = "latency=exp:20ms,fail=503:50%";
        let run = |draws: &[u64]| -> Vec<_> {
            let mut model = model(spec);
            let each = draws.iter().map(|draw| model.arrive_as(Tick(0), 1, *draw));
            each.map(|it| (it.answer, it.answered_at)).collect()
        };
        let forth = run(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let mut back = run(&[7, 6, 5, 4, 3, 2, 1, 0]);
        assert_ne!(forth, back);
        back.reverse();
        assert_eq!(forth, back);
        let mut model = model(spec);
        let arrived = [(); 8].map(|()| model.arrive(Tick(0), 1));
        assert_eq!(forth, arrived.map(|it| (it.answer, it.answered_at)));
    }

    #[test]
    fn faults_keep_their_share_and_the_same_seed_is_the_same_run() {
        let run = |seed| {
            let spec = "latency=exp:20ms,fail=503:10%,fail=500:2%".parse().unwrap();
            let mut model = Model::new(&spec, Setting::VIRTUAL, seed);
            (0..10_000)
                .map(|nth| model.arrive(Tick(nth * MILLI), 1))
                .collect::<Vec<_>>()
        };
        let verdicts = run(1);
        let failed = |status| count(&verdicts, |answer| answer == Answer::Failed(status));
        let unavailable = failed(StatusCode::SERVICE_UNAVAILABLE);
        let broken = failed(StatusCode::INTERNAL_SERVER_ERROR);
        assert!((900..=1100).contains(&unavailable), "{unavailable} of 1000");
        assert!((150..=250).contains(&broken), "{broken} of 200");
        assert_eq!(verdicts, run(1));
        assert_ne!(verdicts, run(2));
    }
}
