//! The normative vectors: exact moments of admission, replayed event by event.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use shaper::drive::simulated;
use shaper::engine::{Action, Engine, Event, Grant, Oversize, Ticket};
use shaper::fields::Fields;
use shaper::job::{Job, Origin, Units, UnitsFrom};
use shaper::limit::{Counts, Spec};
use shaper::outcome::{Reply, Usage};
use shaper::retry::Backoff;
use shaper::units::Tick;

use super::{SECOND, job, rules};
use crate::normative::{limit, list, number, requests, vectors};

/// Id, attempt, moment.
type Admit = (u64, u32, u64);

#[test]
fn every_normative_vector_is_met_to_the_nanosecond() {
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        let expected: Vec<Admit> = list(&vector["admits"])
            .iter()
            .map(|admit| {
                let attempt = u32::try_from(number(admit, "attempt")).unwrap();
                (number(admit, "id"), attempt, number(admit, "t"))
            })
            .collect();
        // Whether a job may owe is said once for a run, and this vector says both: one run for each.
        let (mut admitted, refused) = match name {
            "oversize_error_and_debt" => {
                let mut fails = Replay::of_lane(&vector, "e", Oversize::Fail).run();
                let (admitted, _) = Replay::of_lane(&vector, "d", Oversize::Wait).run();
                fails.0.extend(admitted);
                fails
            }
            _ => Replay::new(&vector).run(),
        };
        let rejected: Vec<u64> = list(&vector["rejected"])
            .iter()
            .map(|id| id.as_u64().unwrap())
            .collect();
        assert_eq!(refused, rejected, "{name}");
        if name == "mega_rate_no_drift" {
            assert_eq!(admitted.len(), 5000);
            admitted.retain(|(id, ..)| expected.iter().any(|(own, ..)| own == id));
        }
        assert_eq!(admitted, expected, "{name}");
    }
}

/// The limiters of a vector as rules of the engine.
#[derive(Default)]
struct Limiters {
    slots: Option<u64>,
    /// The name under which requests cost slots.
    slot_name: String,
    limits: Vec<Spec>,
    /// The names under which requests cost units: one for all of them, or one for input and one for output.
    unit_names: Vec<String>,
}

impl Limiters {
    fn of(vector: &Value, requests: &[Value]) -> Self {
        let mut limiters = Self::default();
        for (name, spec) in vector["limiters"].as_object().unwrap() {
            if spec["kind"] == "semaphore" {
                limiters.slots = spec["permits"].as_u64();
                limiters.slot_name.clone_from(name);
                continue;
            }
            let weighted = requests.iter().any(|request| {
                request["cost"][name].as_u64() != Some(1) || request["actual"].get(name).is_some()
            });
            limiters
                .limits
                .push(limit(spec, Counts::Requests, Duration::from_nanos));
            if weighted {
                let limit = limiters.limits.last_mut().unwrap();
                limit.counts = [Counts::Units, Counts::Output][limiters.unit_names.len()];
                limiters.unit_names.push(name.clone());
            }
        }
        if limiters.unit_names.len() == 2 {
            let mut limits = limiters.limits.iter_mut();
            let first = limits.find(|limit| limit.counts == Counts::Units);
            first.unwrap().counts = Counts::Input;
        }
        limiters
    }
}

/// Drives the engine through a vector: cancels, answers, arrivals, admissions, at each instant.
struct Replay {
    engine: Engine,
    unit_names: Vec<String>,
    requests: BTreeMap<u64, Value>,
    arrivals: BTreeMap<u64, Vec<Job>>,
    cancels: BTreeMap<u64, u64>,
    answers: BTreeMap<(u64, usize), (Ticket, Reply)>,
    moments: BTreeSet<u64>,
    admitted: Vec<Admit>,
    refused: Vec<u64>,
}

impl Replay {
    fn new(vector: &Value) -> Self {
        Self::of(vector, requests(vector), Oversize::Fail)
    }

    /// The requests of one lane, and the limiter of its name, by themselves.
    fn of_lane(vector: &Value, lane: &str, oversize: Oversize) -> Self {
        let mut requests = requests(vector);
        requests.retain(|request| request["lane"] == lane);
        let mut vector = vector.clone();
        let limiters = vector["limiters"].as_object_mut().unwrap();
        limiters.retain(|name, _| name == lane);
        Self::of(&vector, requests, oversize)
    }

    fn of(vector: &Value, requests: Vec<Value>, oversize: Oversize) -> Self {
        let limiters = Limiters::of(vector, &requests);
        let mut rules = rules(limiters.slots, limiters.limits);
        rules.oversize = oversize;
        let rest = requests[0]["fail"][0]
            .as_u64()
            .map_or(Duration::from_secs(1), Duration::from_nanos);
        rules.retry.backoff = Backoff {
            min: rest,
            max: rest,
        };
        let mut replay = Self {
            engine: Engine::new(rules),
            unit_names: limiters.unit_names,
            requests: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            cancels: BTreeMap::new(),
            answers: BTreeMap::new(),
            moments: BTreeSet::new(),
            admitted: Vec::new(),
            refused: Vec::new(),
        };
        for request in requests {
            let number = |key: &str| request[key].as_u64();
            let (id, at) = (number("id").unwrap(), number("t").unwrap());
            let cost = |name: &String| request["cost"][name].as_u64().unwrap_or(0);
            let mut units = replay.unit_names.iter().map(cost);
            let weight = request["cost"][&limiters.slot_name].as_u64().unwrap_or(1);
            let lane = request["lane"].as_str().unwrap_or("all");
            let job = Job {
                origin: Origin(lane.into()),
                units: units.next().map(|input| Units {
                    input,
                    output: units.next().unwrap_or(0),
                    source: UnitsFrom::Job,
                }),
                ..job(id, None, weight)
            };
            replay.arrivals.entry(at).or_default().push(job);
            replay
                .cancels
                .extend(number("cancel_at").map(|at| (at, id)));
            replay.requests.insert(id, request);
        }
        replay
            .moments
            .extend(replay.arrivals.keys().chain(replay.cancels.keys()));
        replay
    }

    fn run(mut self) -> (Vec<Admit>, Vec<u64>) {
        while let Some(at) = self.moments.pop_first() {
            self.instant(at);
        }
        (self.admitted, self.refused)
    }

    fn instant(&mut self, at: u64) {
        let now = Tick(at);
        if let Some(&id) = self.cancels.get(&at) {
            self.tell(now, Event::Cancel(id));
        }
        while let Some(entry) = self
            .answers
            .first_entry()
            .filter(|entry| entry.key().0 <= at)
        {
            let (ticket, mut reply) = entry.remove();
            reply.head.at = now;
            self.tell(now, Event::Answered(ticket, Box::new(reply.head.clone())));
            self.tell(now, Event::Ended(ticket, now, Box::new(Ok(reply))));
        }
        for job in self.arrivals.remove(&at).unwrap_or_default() {
            self.tell(now, Event::read(Ok(job), now));
        }
        let mut actions = Vec::new();
        let wake = self.engine.decide(now, &mut actions);
        self.moments.extend(wake.map(|wake| wake.0));
        for action in actions {
            if let Action::Send(ticket, job, grant) = action {
                self.send(now, ticket, &job, &grant);
            }
        }
    }

    fn tell(&mut self, now: Tick, event: Event) {
        let mut actions = Vec::new();
        self.engine.tell(now, event, &mut actions);
        for action in actions {
            if let Action::Record(ticket, outcome) = action {
                if outcome.tries.is_empty() {
                    self.refused.push(outcome.line.unwrap().place.line);
                }
                self.engine
                    .tell(now, Event::Recorded(ticket), &mut Vec::new());
            }
        }
    }

    fn send(&mut self, now: Tick, ticket: Ticket, job: &Job, grant: &Grant) {
        self.admitted.push((job.place.line, grant.attempt, now.0));
        self.tell(now, Event::Sent(ticket, now));
        let request = &self.requests[&job.place.line];
        let refused = grant.attempt as usize <= list(&request["fail"]).len();
        let wait = request["retry_after"].as_u64().filter(|_| refused);
        let mut reply = simulated::reply(match (refused, wait) {
            (true, Some(_)) => StatusCode::TOO_MANY_REQUESTS,
            (true, None) => StatusCode::SERVICE_UNAVAILABLE,
            (false, _) => StatusCode::OK,
        });
        if let Some(wait) = wait {
            let seconds = (wait / SECOND).to_string();
            reply.head.headers = Fields::of([("retry-after", &seconds)]);
        }
        reply.used = self
            .unit_names
            .first()
            .and_then(|name| request["actual"][name].as_u64())
            .map(Usage::of);
        // What takes no time is answered one nanosecond later: this instant is over.
        let done_at = now.0 + request["dur"].as_u64().unwrap_or(0).max(1);
        self.answers
            .insert((done_at, self.admitted.len()), (ticket, reply));
        self.moments.insert(done_at);
    }
}
