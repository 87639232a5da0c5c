//! How fast virtual time runs: `cargo bench --bench simulated` (half a minute; promises: a million jobs in
//! under 5 s, `compare` in well under 1 s, on two cores).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use shaper::clock::Clock;
use shaper::drive::disciplines::{self, DISCIPLINES, Plan, Work};
use shaper::drive::simulated::{self, Line, Seen, Simulation};
use shaper::engine::{End, Grant, Rules};
use shaper::job::{Job, Origin, Place, Target, Units, UnitsFrom};
use shaper::limit::Spec;
use shaper::model::Latency;
use shaper::outcome::{Failure, Reply};
use shaper::report::comparison::Numbers;
use shaper::units::{Cost, Rate, Tick};

/// Jobs of a run.
const JOBS: u64 = 1_000_000;

/// An odd number: the middle one is printed.
const ROUNDS: usize = 3;

fn main() {
    run("no limit", None, &[]);
    run("20 slots", Cost::new(20), &[]);
    run(
        "20 slots, qps, tpm, window",
        Cost::new(20),
        &[
            "300/s name=qps",
            "tokens 2000000/m name=tpm",
            "3000/10s window",
        ],
    );
    compared(1_000);
    compared(100_000);
}

/// `shaper compare --jobs N`, but for its page.
fn compared(jobs: u64) {
    let rate: Rate = "10".parse().expect("written as a rate");
    let plan = Plan {
        numbers: Numbers {
            slots: Cost::new(20).expect("above zero"),
            burst: Cost::new(40).expect("above zero"),
            window: rate.clone(),
            tpm: Cost::new(30_000),
            own: Vec::new(),
            seed: 0,
            rate,
        },
        chosen: DISCIPLINES.iter().map(|row| row.key).collect(),
        work: Work::equal(jobs, 100),
        inputs: Vec::new(),
        api: "latency=50ms,limit=10/s window"
            .parse()
            .expect("written as an API"),
        latencies: vec![Latency::Fixed(Duration::from_millis(50))],
    };
    let seconds = median(|| {
        let clock = Clock::start();
        let seen = disciplines::compare(&plan);
        assert_eq!(seen.rows.len(), 16);
        seconds(&clock)
    });
    println!("compare, {jobs} jobs in 16 disciplines: {seconds:.2} s");
}

fn run(name: &str, slots: Option<Cost>, limits: &[&str]) {
    let seconds = median(|| {
        let mut api = |_: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
            (
                Duration::from_millis(50),
                Ok(simulated::reply(StatusCode::OK)),
            )
        };
        let mut watch = |_: Seen<'_>| {};
        let clock = Clock::start();
        let simulation = Simulation::new(rules(slots, limits), lines(JOBS), &mut api, &mut watch);
        let (summary, end) = simulation.run();
        let seconds = seconds(&clock);
        assert_eq!((summary.tally.counts.ok, end), (JOBS, End::Finished));
        seconds
    });
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let rate = JOBS as f64 / seconds;
    println!("{JOBS} jobs, {name}: {seconds:.2} s, {rate:.0} jobs/s");
}

fn median(round: impl FnMut() -> f64) -> f64 {
    let mut rounds: Vec<f64> = std::iter::repeat_with(round).take(ROUNDS).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn seconds(clock: &Clock) -> f64 {
    Duration::from_nanos(clock.now().0).as_secs_f64()
}

fn rules(slots: Option<Cost>, limits: &[&str]) -> Rules {
    let spec = |text: &&str| text.parse::<Spec>().expect("written as a limit");
    Rules {
        slots,
        limits: limits.iter().map(spec).collect(),
        ..Rules::default()
    }
}

/// Jobs that are all ready at the start and cost 100 tokens each.
fn lines(count: u64) -> impl Iterator<Item = Line> {
    let file: Arc<str> = "-".into();
    let origin = Origin("http://api".into());
    let target: Target = "http://api/".parse().expect("it is a URL");
    (0..count).map(move |nth| {
        let place = Place::new(Arc::clone(&file), nth + 1);
        let job = Job {
            units: Some(Units {
                input: 100,
                output: 0,
                source: UnitsFrom::Job,
            }),
            ..Job::get(place, target.clone(), origin.clone())
        };
        (Tick::ZERO, Ok(job))
    })
}
