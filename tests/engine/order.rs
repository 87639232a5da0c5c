//! The order of admission across lanes, against a model by the rules: brute force over every take.
//!
//! The model shares no code with the limits: it replays the whole list of takes for each question, and asks
//! for every older head that waits whether a younger one would make it wait longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use proptest::prelude::*;
use shaper::drive::simulated;
use shaper::engine::{Grant, Rules};
use shaper::job::{Job, Origin, Units, UnitsFrom};
use shaper::limit::{Counts, KeyBy, Spec};
use shaper::outcome::{Failure, Reply};
use shaper::units::{Cost, Rate, Tick};

use super::{job, rules, sends};

/// A bucket: so many a period, up to a burst, of requests or of units, for all lanes or for each.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    count: u64,
    period: u64,
    burst: u64,
    units: bool,
    keyed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    at: u64,
    lane: u64,
    units: u64,
    lasts: u64,
}

#[derive(Debug, Clone)]
struct World {
    buckets: Vec<Bucket>,
    slots: Option<u64>,
    jobs: Vec<Asked>,
}

/// What was taken of a bucket: by whom, when, how much.
type Takes = Vec<(u64, u64, u64)>;

impl Bucket {
    fn cost(&self, asked: Asked) -> u64 {
        if self.units { asked.units } else { 1 }
    }

    /// The level, times the period, of what one lane sees at `at`.
    fn level(&self, takes: &Takes, lane: u64, at: u64) -> i128 {
        let (count, period) = (i128::from(self.count), i128::from(self.period));
        let full = i128::from(self.burst) * period;
        let (mut level, mut last) = (full, 0);
        for &(when, who, cost) in takes {
            if self.keyed && who != lane {
                continue;
            }
            level = full.min(level + i128::from(when - last) * count) - i128::from(cost) * period;
            last = when;
        }
        full.min(level + i128::from(at - last) * count)
    }

    /// The first moment from `now` on at which `cost` fits.
    fn ready(&self, takes: &Takes, lane: u64, now: u64, cost: u64) -> u64 {
        let missing = i128::from(cost) * i128::from(self.period) - self.level(takes, lane, now);
        let count = i128::from(self.count);
        now + u64::try_from((missing.max(0) + count - 1) / count).unwrap()
    }
}

/// The model's run.
struct Model<'a> {
    world: &'a World,
    takes: Vec<Takes>,
    waiting: BTreeMap<u64, usize>,
    ends: Vec<u64>,
    sent: Vec<(u64, u64)>,
}

impl Model<'_> {
    fn of(world: &World) -> Vec<(u64, u64)> {
        let mut model = Model {
            world,
            takes: vec![Vec::new(); world.buckets.len()],
            waiting: BTreeMap::new(),
            ends: Vec::new(),
            sent: Vec::new(),
        };
        let mut now = 0;
        let mut next = 0;
        loop {
            model.ends.retain(|&end| end > now);
            while next < world.jobs.len() && world.jobs[next].at <= now {
                model.waiting.insert(next as u64, next);
                next += 1;
            }
            while let Some(seq) = model.goes(now) {
                model.go(seq, now);
            }
            let heads = model.heads();
            let moments = heads
                .iter()
                .map(|&seq| model.moment(seq, now))
                .filter(|&at| at > now);
            let ends = model.ends.iter().copied();
            let arrival = world.jobs.get(next).map(|asked| asked.at);
            match moments.chain(ends).chain(arrival).min() {
                Some(then) => now = then,
                None => break,
            }
        }
        assert!(model.waiting.is_empty(), "{world:?}");
        model.sent
    }

    /// The first of each lane, oldest first.
    fn heads(&self) -> Vec<u64> {
        let mut lanes = Vec::new();
        let mut heads = Vec::new();
        for (&seq, &nth) in &self.waiting {
            let lane = self.world.jobs[nth].lane;
            if !lanes.contains(&lane) {
                lanes.push(lane);
                heads.push(seq);
            }
        }
        heads
    }

    fn asked(&self, seq: u64) -> Asked {
        self.world.jobs[usize::try_from(seq).unwrap()]
    }

    /// When the rates let a job go.
    fn moment(&self, seq: u64, now: u64) -> u64 {
        let asked = self.asked(seq);
        let each = self.world.buckets.iter().zip(&self.takes);
        each.filter(|(bucket, _)| bucket.cost(asked) > 0)
            .map(|(bucket, takes)| bucket.ready(takes, asked.lane, now, bucket.cost(asked)))
            .fold(now, u64::max)
    }

    /// The bucket that lets a job go last; ties go in their order.
    fn last(&self, seq: u64, now: u64) -> Option<usize> {
        let asked = self.asked(seq);
        let mut last = (now, None);
        for (nth, bucket) in self.world.buckets.iter().enumerate() {
            if bucket.cost(asked) > 0 {
                let ready = bucket.ready(&self.takes[nth], asked.lane, now, bucket.cost(asked));
                if ready > last.0 {
                    last = (ready, Some(nth));
                }
            }
        }
        last.1
    }

    /// The bucket on which `elder` would have to wait longer if `seq` went now.
    fn barred(&self, seq: u64, elder: u64, now: u64) -> Option<usize> {
        let (asked, older) = (self.asked(seq), self.asked(elder));
        let moment = self.moment(elder, now);
        (0..self.takes.len()).find(|&nth| {
            let bucket = self.world.buckets[nth];
            let (own, other) = (bucket.cost(asked), bucket.cost(older));
            let mut takes = self.takes[nth].clone();
            takes.push((now, asked.lane, own));
            own > 0 && other > 0 && bucket.ready(&takes, older.lane, now, other) > moment
        })
    }

    /// The oldest job that may go now: every limit lets it, and no older head has to wait longer for it.
    fn goes(&self, now: u64) -> Option<u64> {
        // Older heads that a limit holds.
        let mut older: Vec<u64> = Vec::new();
        // Buckets for all lanes that hold an older head: within a limit it is first come, first served.
        let mut closed: Vec<usize> = Vec::new();
        let full = self
            .world
            .slots
            .is_some_and(|slots| self.ends.len() as u64 >= slots);
        for seq in self.heads() {
            let asked = self.asked(seq);
            let moment = self.moment(seq, now);
            let last = self.last(seq, now);
            let own = last.is_some_and(|nth| self.world.buckets[nth].keyed);
            if closed
                .iter()
                .any(|&nth| self.world.buckets[nth].cost(asked) > 0)
            {
                continue;
            }
            if moment > now {
                closed.extend(last.filter(|_| !own));
                older.push(seq);
            } else if full {
                return None;
            } else {
                match older.iter().find_map(|&elder| self.barred(seq, elder, now)) {
                    None => return Some(seq),
                    Some(nth) => closed.push(nth),
                }
            }
        }
        None
    }

    fn go(&mut self, seq: u64, now: u64) {
        let asked = self.asked(seq);
        self.waiting.remove(&seq);
        self.ends.push(now + asked.lasts);
        self.sent.push((seq, now));
        for (bucket, takes) in self.world.buckets.iter().zip(&mut self.takes) {
            if bucket.cost(asked) > 0 {
                takes.push((now, asked.lane, bucket.cost(asked)));
            }
        }
    }
}

/// The engine's run of the same world.
fn engine(world: &World) -> Vec<(u64, u64)> {
    let limit = |bucket: &Bucket| {
        let counts = if bucket.units {
            Counts::Units
        } else {
            Counts::Requests
        };
        let rate = Rate::new(bucket.count, Duration::from_nanos(bucket.period)).unwrap();
        Spec {
            per: bucket.keyed.then_some(KeyBy::Host),
            ..Spec::bucket("l", counts, rate, Cost::new(bucket.burst).unwrap())
        }
    };
    let lines = world.jobs.iter().enumerate().map(|(nth, asked)| {
        let job = Job {
            origin: Origin("http://h".into()),
            keys: [Arc::from(asked.lane.to_string())].into(),
            units: Some(Units {
                input: asked.units,
                output: 0,
                source: UnitsFrom::Job,
            }),
            ..job(nth as u64, None, 1)
        };
        (Tick(asked.at), Ok(job))
    });
    let api = |_: Tick, job: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
        let asked = world.jobs[usize::try_from(job.place.line).unwrap()];
        let reply = simulated::reply(StatusCode::OK);
        (Duration::from_nanos(asked.lasts), Ok(reply))
    };
    let rules = Rules {
        limits: world.buckets.iter().map(limit).collect(),
        ..rules(world.slots, Vec::new())
    };
    let (sent, _) = sends(rules, lines, api);
    sent.into_iter().map(|(seq, _, at)| (seq, at)).collect()
}

fn bucket() -> impl Strategy<Value = Bucket> {
    let parts = (
        1..6_u64,
        50..400_u64,
        0..8_u64,
        any::<bool>(),
        any::<bool>(),
    );
    parts.prop_map(|(count, period, extra, units, keyed)| Bucket {
        count,
        period,
        burst: if units { 9 + extra } else { 1 + extra / 3 },
        units,
        keyed,
    })
}

fn world() -> impl Strategy<Value = World> {
    let asked = (0..60_u64, 0..4_u64, 0..10_u64, 1..300_u64);
    let buckets = prop::collection::vec(bucket(), 1..4);
    let slots = prop::option::weighted(0.3, 1..4_u64);
    let jobs = prop::collection::vec(asked, 1..15);
    (buckets, slots, jobs).prop_map(|(buckets, slots, jobs)| {
        let mut at = 0;
        let jobs = jobs.into_iter().map(|(pause, lane, units, lasts)| {
            // Half of them come together with the one before.
            at += pause.saturating_sub(30);
            Asked {
                at,
                lane,
                units,
                lasts,
            }
        });
        World {
            buckets,
            slots,
            jobs: jobs.collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn every_job_goes_at_the_first_nanosecond_at_which_no_older_one_waits_longer_for_it(
        world in world(),
    ) {
        prop_assert_eq!(engine(&world), Model::of(&world));
    }
}
