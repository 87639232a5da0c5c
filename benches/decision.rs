//! What one decision of the engine costs, with limits stacked, jobs waiting, and very many lanes:
//! `cargo bench --bench decision`. Divide a median by the items of its sample: 40 decisions, 1000 jobs or 1000 heads.
//! Promise: a grant over four limits, with a look at the head after it, takes at most 200 ns, and to find a head held by
//! them at most 100.

#![allow(missing_docs)]

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use divan::{Bencher, black_box, counter::ItemsCount};
use http::StatusCode;
use shaper::drive::simulated;
use shaper::endpoint::{About, Ask};
use shaper::engine::{Action, Engine, Event, LookAhead, Rules, Ticket};
use shaper::fields::Fields;
use shaper::job::{Job, Origin, Place, Target, Units, UnitsFrom};
use shaper::limit::Spec;
use shaper::outcome::Head;
use shaper::quota::{self, Provider};
use shaper::units::Tick;

/// Jobs in one sample.
const MANY: u64 = 1000;

/// Decisions in one sample, and jobs that wait behind them: what a run of twenty slots holds.
const FEW: u64 = 40;

/// Jobs that have been in flight at once.
const AT_ONCE: usize = 100;

/// Between two grants at 1000/s.
const STEP: u64 = 1_000_000;

fn main() {
    divan::main();
}

/// Four limits of which the first sets the pace and the others have room.
const STACK: [&str; 4] = [
    "1000/s bucket burst=1",
    "100000/m bucket burst=100000",
    "tokens 10M/m bucket burst=10M",
    "2000/1s window",
];

fn rules(limits: &[&str], look_ahead: usize) -> Rules {
    let spec = |text: &&str| text.parse::<Spec>().expect("written as a limit");
    Rules {
        slots: None,
        limits: limits.iter().map(spec).collect(),
        look_ahead: LookAhead {
            jobs: look_ahead,
            bytes: u64::MAX,
        },
        ..Rules::default()
    }
}

/// A job of the key of its number.
fn job(nth: u64, keys: u64) -> Job {
    let place = Place::new("-", nth + 1);
    let target: Target = "http://api/".parse().expect("it is a URL");
    Job {
        units: Some(Units {
            input: 60,
            output: 40,
            source: UnitsFrom::Job,
        }),
        keys: [Arc::from((nth % keys).to_string())].into(),
        ..Job::get(place, target, Origin("http://api".into()))
    }
}

/// An engine to which so many jobs were read at the start, spread over `keys`.
fn engine(limits: &[&str], jobs: u64, keys: u64) -> Engine {
    let mut engine = Engine::new(rules(limits, usize::MAX));
    let mut actions = Vec::new();
    engine.decide(Tick::ZERO, &mut actions);
    for nth in 0..jobs {
        let line = Event::read(Ok(job(nth, keys)), Tick::ZERO);
        engine.tell(Tick::ZERO, line, &mut actions);
    }
    engine
}

/// An engine in the middle of a run: many jobs are done, as many at once as ever will be, and so many wait. What is kept
/// of jobs in flight has its memory: a decision that gets some is one of thousands.
fn running(limits: &[&str], waiting: u64) -> Engine {
    let mut engine = engine(limits, 0, 1);
    live(&mut engine, jobs_of(MANY, 1), 0, AT_ONCE);
    for nth in 0..waiting {
        let line = Event::read(Ok(job(nth, 1)), NOW);
        engine.tell(NOW, line, &mut Vec::new());
    }
    engine
}

/// The moment at which [`running`] is.
const NOW: Tick = Tick(MANY * STEP);

/// A grant a millisecond, nothing else happens.
fn grants(engine: &mut Engine) -> usize {
    let mut granted = 0;
    let mut actions = Vec::with_capacity(4);
    for nth in 1..=FEW {
        engine.decide(Tick(NOW.0 + nth * STEP), &mut actions);
        granted += sent(&actions);
        actions.clear();
    }
    granted
}

fn sent(actions: &[Action]) -> usize {
    let is_sent = |action: &&Action| matches!(action, Action::Send(..));
    actions.iter().filter(is_sent).count()
}

/// One decision that grants a job, over so many of the stacked limits.
#[divan::bench(args = [0, 1, 4])]
fn grants_one_job_over_limits(bencher: Bencher, limits: usize) {
    let few = if limits == 0 { FEW } else { 2 * FEW };
    bencher
        .counter(ItemsCount::new(FEW))
        .with_inputs(|| running(&STACK[..limits], few))
        .bench_local_refs(|engine| black_box(grants(engine)));
}

/// One decision that finds the head held by the last of four limits.
#[divan::bench]
fn finds_the_head_held_by_four_limits(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(FEW))
        .with_inputs(|| {
            let mut engine = running(&STACK, 2 * FEW);
            engine.decide(Tick(NOW.0 + STEP), &mut Vec::new());
            engine
        })
        .bench_local_refs(|engine| {
            let mut actions = Vec::new();
            for nth in 1..=FEW {
                black_box(engine.decide(Tick(NOW.0 + STEP + nth), &mut actions));
            }
            assert_eq!(sent(&actions), 0);
        });
}

/// The whole life of a job under four limits: read, decided, sent, answered, ended, recorded.
#[divan::bench]
fn whole_life_of_a_job_under_four_limits(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(MANY))
        .with_inputs(|| (engine(&STACK, 16, 1), jobs_of(MANY, 1)))
        .bench_local_values(|(mut engine, jobs)| live(&mut engine, jobs, 0, 1));
}

/// The same while 10 000 jobs wait in one lane.
#[divan::bench]
fn whole_life_of_a_job_while_10_000_wait(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(MANY))
        .with_inputs(|| (engine(&STACK, 10_000, 1), jobs_of(MANY, 1)))
        .bench_local_values(|(mut engine, jobs)| live(&mut engine, jobs, 0, 1));
}

/// The same over 200 000 lanes, each with a limit of its own that holds its second job.
#[divan::bench(sample_count = 10)]
fn whole_life_of_a_job_over_200_000_lanes(bencher: Bencher) {
    const KEYS: u64 = 200_000;
    let limits = ["10M/s bucket burst=200000", "1/h per=field:key"];
    bencher
        .counter(ItemsCount::new(MANY))
        .with_inputs(|| {
            let mut engine = engine(&limits, 2 * KEYS, KEYS);
            engine.decide(Tick(1), &mut Vec::new());
            (engine, jobs_of(MANY, MANY))
        })
        .bench_local_values(|(mut engine, jobs)| {
            live(&mut engine, jobs, 1, 1);
            engine
        });
}

/// What an answer says of its server's limits: nothing, as nearly all do.
#[divan::bench]
fn reads_a_head_that_says_nothing_of_limits(bencher: Bencher) {
    let fields = [
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("content-type", "application/json"),
        ("content-length", "1234"),
        ("connection", "keep-alive"),
        ("access-control-allow-origin", "*"),
        ("alt-svc", "h3=\":443\"; ma=86400"),
        ("x-request-id", "req_123"),
        ("x-content-type-options", "nosniff"),
        ("server", "cloudflare"),
        ("cf-ray", "8f2a-FRA"),
        ("strict-transport-security", "max-age=31536000"),
        ("vary", "Origin"),
    ];
    let head = Head {
        at: Tick::ZERO,
        wall: UNIX_EPOCH,
        status: StatusCode::OK,
        headers: Fields::of(fields),
    };
    let provider = Provider::of_host("api.openai.com");
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| {
        for _ in 0..MANY {
            black_box(quota::of_head(black_box(&head), provider));
        }
    });
}

/// The page for one who looks at `/metrics`.
#[divan::bench]
fn tells_its_figures(bencher: Bencher) {
    let about = Arc::new(About {
        setup: rules(&STACK, 1).setup(),
        started: Duration::ZERO,
    });
    bencher
        .with_inputs(|| running(&STACK, FEW))
        .bench_local_refs(|engine| {
            let (ask, page) = Ask::new(Arc::clone(&about));
            ask.answer(&engine.figures(NOW));
            page
        });
}

fn jobs_of(count: u64, keys: u64) -> Vec<Job> {
    let fresh = |nth: u64| Job {
        keys: [Arc::from(format!("fresh {}", nth % keys))].into(),
        ..job(nth, keys)
    };
    (0..count).map(fresh).collect()
}

/// Jobs come one each millisecond and are sent when they may; of so many at a time the answers come then, and they are
/// written.
fn live(engine: &mut Engine, jobs: Vec<Job>, from: u64, together: usize) {
    let mut actions = Vec::with_capacity(8);
    let mut flying: Vec<Ticket> = Vec::new();
    let mut now = from;
    let mut jobs = jobs.into_iter();
    while jobs.len() > 0 {
        for job in jobs.by_ref().take(together) {
            now += STEP;
            engine.tell(Tick(now), Event::read(Ok(job), Tick(now)), &mut actions);
            engine.decide(Tick(now), &mut actions);
            for action in actions.drain(..) {
                if let Action::Send(ticket, ..) = action {
                    flying.push(ticket);
                }
            }
        }
        for ticket in flying.drain(..) {
            let at = Tick(now);
            engine.tell(at, Event::Sent(ticket, at), &mut actions);
            let reply = simulated::reply(StatusCode::OK);
            let head = Box::new(reply.head.clone());
            engine.tell(at, Event::Answered(ticket, head), &mut actions);
            engine.tell(
                at,
                Event::Ended(ticket, at, Box::new(Ok(reply))),
                &mut actions,
            );
        }
        let written: Vec<Ticket> = actions
            .drain(..)
            .filter_map(|action| match action {
                Action::Record(ticket, _) => Some(ticket),
                Action::Read(_)
                | Action::Prepare(..)
                | Action::Send(..)
                | Action::Store(_)
                | Action::Stop(_) => None,
            })
            .collect();
        for ticket in written {
            engine.tell(Tick(now), Event::Recorded(ticket), &mut actions);
        }
        actions.clear();
    }
}
