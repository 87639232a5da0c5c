//! The disciplines of `compare`: a name, its limits, how jobs come to the line. Floor 5: drive.
//!
//! The bad examples live here and cannot be reached from `run`.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::simulated::{self, Line, Seen, Simulation};
use crate::engine::{Grant, LookAhead, Rules};
use crate::job::{Job, Origin, Place, Target};
use crate::limit::{Counts, Guard, Setting, Spec};
use crate::metrics::Summary;
use crate::model::{Answer, Latency, Model, ModelSpec};
use crate::outcome::{Failure, Reply};
use crate::report::comparison::{Comparison, Held, Numbers, Row};
use crate::retry::Policy;
use crate::units::{Cost, Rate, Tick};

/// The articles run several processes that do not know of each other.
const PROCESSES: u64 = 4;

/// A bucket of several times the rate, as often advised.
const BURST: u64 = 4;

/// Fixed windows are counted from the epoch; the run begins this long before a boundary.
const BEFORE_BOUNDARY: Duration = Duration::from_millis(50);

/// The API's latencies in the first table.
const LATENCIES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// One way to hold jobs back.
struct Discipline {
    name: String,
    slots: Option<Cost>,
    limits: Vec<Spec>,
    comes: Comes,
    processes: u64,
    tables: Tables,
}

/// Where a discipline is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// What it holds still, and all jobs at once.
    Both,
    /// All jobs at once.
    AtOnce,
}

/// How jobs come to the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// All at the start.
    AtOnce,
    /// Who finds the semaphore full sleeps for a second, then queues: the anti-pattern.
    SleepIfFull,
}

/// The rows of the second table.
fn disciplines(numbers: &Numbers) -> Vec<Discipline> {
    let Numbers { slots, rate, .. } = numbers;
    let count = rate.count.get();
    let bucket = |burst: u64| {
        let burst = Cost::new(burst).expect("a rate is above zero");
        vec![Spec::bucket("qps", Counts::Requests, rate.clone(), burst)]
    };
    let row = |name: String, slots: Option<Cost>, limits: Vec<Spec>| Discipline {
        name,
        slots,
        limits,
        comes: Comes::AtOnce,
        processes: 1,
        tables: Tables::AtOnce,
    };
    let both = |row: Discipline| Discipline {
        tables: Tables::Both,
        ..row
    };
    let some = Some(*slots);
    let semaphore = format!("semaphore {}", slots.get());
    let burst = count.saturating_mul(BURST);
    vec![
        both(row(semaphore.clone(), some, Vec::new())),
        Discipline {
            comes: Comes::SleepIfFull,
            ..row(format!("{semaphore}, sleep(1) if full"), some, Vec::new())
        },
        Discipline {
            processes: PROCESSES,
            ..row(
                format!("qps {rate} in {PROCESSES} processes"),
                None,
                bucket(1),
            )
        },
        row(
            format!("qps {rate}, burst {burst} ({BURST} x rate)"),
            None,
            bucket(burst),
        ),
        row(
            format!("fixed window {}", per(rate)),
            None,
            vec![Spec::fixed("fixed", rate.clone())],
        ),
        row(
            format!("sliding window {}", per(rate)),
            None,
            vec![Spec::window("window", rate.clone())],
        ),
        both(row(format!("qps {rate}"), None, bucket(1))),
        both(row(format!("{semaphore} + qps {rate}"), some, bucket(1))),
    ]
}

fn per(rate: &Rate) -> String {
    let second = Duration::from_secs(1);
    if rate.period == second {
        format!("{}/s", rate.count)
    } else {
        rate.to_string()
    }
}

/// Runs every discipline in virtual time.
pub fn compare(numbers: &Numbers) -> Comparison {
    let rows = disciplines(numbers);
    let held = |row: &Discipline| Held {
        name: row.name.clone(),
        columns: LATENCIES
            .iter()
            .map(|&latency| {
                let stretch = run(row, numbers.jobs, latency).1.stretch;
                (stretch.rate, stretch.in_flight)
            })
            .collect(),
    };
    Comparison {
        numbers: numbers.clone(),
        latencies: LATENCIES.to_vec(),
        held: rows
            .iter()
            .filter(|row| row.tables == Tables::Both)
            .map(held)
            .collect(),
        rows: rows.iter().map(|row| at_once(row, numbers)).collect(),
    }
}

/// One row of the second table: what the modelled API says to the sends of all processes together.
fn at_once(row: &Discipline, numbers: &Numbers) -> Row {
    let (sends, _) = run(row, numbers.jobs, numbers.latency);
    let model = ModelSpec {
        latency: Latency::Fixed(numbers.latency),
        limits: vec![Spec::window("api", numbers.rate.clone())],
        ..ModelSpec::default()
    };
    let mut model = Model::new(&model, setting(&numbers.rate), 0);
    let refused = sends
        .iter()
        .filter(|&&at| match model.arrive(at, 0).answer {
            Answer::Refused { .. } => true,
            Answer::Ok | Answer::Failed(_) => false,
        })
        .count();
    Row {
        name: row.name.clone(),
        sends,
        refused: refused as u64,
    }
}

/// The moments of all sends in order, and the figures of the first process.
fn run(row: &Discipline, jobs: Cost, latency: Duration) -> (Vec<Tick>, Summary) {
    let mut sends = Vec::new();
    let mut first = None;
    for process in 0..row.processes {
        let jobs = (jobs.get() + process) / row.processes;
        let rules = Rules {
            slots: row.slots,
            limits: row.limits.clone(),
            setting: row
                .limits
                .first()
                .map_or(Setting::VIRTUAL, |limit| setting(&limit.rate)),
            retry: Policy::once(),
            timeout: Duration::MAX,
            look_ahead: LookAhead {
                jobs: usize::MAX,
                bytes: u64::MAX,
            },
            ..Rules::default()
        };
        let mut api = |_: Tick, _: &Job, _: &Grant| -> (Duration, Result<Reply, Failure>) {
            (latency, Ok(simulated::reply(StatusCode::OK)))
        };
        let mut watch = |seen: Seen<'_>| {
            if let Seen::Sent(at, ..) = seen {
                sends.push(at);
            }
        };
        let (summary, _) = Simulation::new(rules, lines(row, jobs), &mut api, &mut watch).run();
        first.get_or_insert(summary);
    }
    sends.sort_unstable();
    (sends, first.expect("there is at least one process"))
}

fn setting(rate: &Rate) -> Setting {
    let epoch = rate.period.saturating_sub(BEFORE_BOUNDARY);
    Setting {
        guard: Guard::Of(Duration::ZERO),
        epoch,
    }
}

/// Equal jobs, in the order in which they come to the line.
fn lines(row: &Discipline, jobs: u64) -> impl Iterator<Item = Line> {
    let comes = row.comes;
    let slots = row.slots.map_or(u64::MAX, Cost::get);
    let origin = Origin(Arc::from("http://api"));
    let file: Arc<str> = "-".into();
    let target = Target {
        written: "http://api/".into(),
        url: "http://api/".parse().expect("it is a URL"),
    };
    (0..jobs).map(move |nth| {
        let at = match comes {
            Comes::SleepIfFull if nth >= slots => Tick::ZERO.after(Duration::from_secs(1)),
            Comes::SleepIfFull | Comes::AtOnce => Tick::ZERO,
        };
        let place = Place {
            file: file.clone(),
            line: nth + 1,
        };
        (at, Ok(Job::get(place, target.clone(), origin.clone())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::three_digits;

    fn comparison() -> Comparison {
        compare(&Numbers {
            slots: Cost::new(20).unwrap(),
            rate: "10".parse().unwrap(),
            jobs: Cost::new(1000).unwrap(),
            latency: Duration::from_millis(50),
        })
    }

    #[test]
    fn a_semaphore_is_refused_970_of_1000_times_and_a_smooth_rate_never() {
        let figures: Vec<(u64, u64, String)> = comparison()
            .rows
            .iter()
            .map(|row| {
                (
                    row.most_in(Duration::from_secs(1)),
                    row.refused,
                    three_digits(row.last().since(Tick::ZERO).as_secs_f64()),
                )
            })
            .collect();
        let expected = [
            (400, 970, "2.45"),
            (400, 960, "3.40"),
            (40, 750, "24.9"),
            (49, 39, "96.0"),
            (20, 10, "98.0"),
            (10, 0, "99.0"),
            (10, 0, "99.9"),
            (10, 0, "99.9"),
        ];
        let expected = expected.map(|(most, refused, last)| (most, refused, last.to_owned()));
        assert_eq!(figures, expected);
    }
}
