//! The table of disciplines: a name, its limits, how jobs come to the line. Floor 5: drive.

use std::time::Duration;

use super::conduct::Conduct;
use crate::limit::{Counts, KeyBy, Kind, Spec};
use crate::report::comparison::Numbers;
use crate::units::{Cost, Rate};

/// The processes that do not know of each other.
pub(super) const PROCESSES: u64 = 4;

/// The key that keeps the limits of processes apart.
const PROCESS: &str = "process";

/// One discipline, in whatever numbers.
pub struct Discipline {
    /// Its word for `--discipline`.
    pub key: &'static str,
    /// What it is, for help.
    pub about: &'static str,
    /// Whether it is shown at several latencies, too.
    pub(super) stills: Stills,
    pub(super) slots: Slots,
    /// Shown by its name in these numbers.
    pub(super) name: fn(&Numbers) -> String,
    /// Its limits in these numbers; `None`: they have none for it.
    pub(super) limits: fn(&Numbers) -> Option<Vec<Spec>>,
    pub(super) conduct: Conduct,
}

/// Whether a discipline is shown at several latencies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stills {
    Shown,
    NotShown,
}

/// Whether a discipline has slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slots {
    Some,
    None,
}

/// Every discipline, in the order of printing. The bad examples cannot be reached from `run`.
pub const DISCIPLINES: [Discipline; 17] = [
    Discipline {
        key: "semaphore",
        about: "slots and no rate",
        stills: Stills::Shown,
        slots: Slots::Some,
        name: |it| format!("semaphore {}", it.slots.get()),
        limits: |_| Some(Vec::new()),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "sleep",
        about: "who finds all slots taken sleeps for 1 s, then queues",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |it| format!("semaphore {}, sleep(1) if full", it.slots.get()),
        limits: |_| Some(Vec::new()),
        conduct: Conduct::Sleeps,
    },
    Discipline {
        key: "processes",
        about: "4 processes with --qps each",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| {
            let all = Rate {
                count: it
                    .rate
                    .count
                    .saturating_mul(PROCESSES.try_into().expect("it is 4")),
                ..it.rate.clone()
            };
            format!("{PROCESSES} processes x qps {} = {}", it.rate, all_of(&all))
        },
        limits: |it| {
            let per = Some(KeyBy::Field(PROCESS.into()));
            let one = bucket(&it.rate, Cost::ONE);
            Some(vec![Spec { per, ..one }])
        },
        conduct: Conduct::Processes,
    },
    Discipline {
        key: "burst",
        about: "a bucket that holds --burst",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| {
            let (burst, count) = (it.burst.get(), it.rate.count.get());
            let times = if burst > count && burst.is_multiple_of(count) {
                format!(" ({} x rate)", burst / count)
            } else {
                String::new()
            };
            format!("qps {}, burst {burst}{times}", it.rate)
        },
        limits: |it| Some(vec![bucket(&it.rate, it.burst)]),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "fixed",
        about: "fixed windows; what does not fit waits",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| format!("fixed window {}", per(&it.window)),
        limits: |it| Some(vec![Spec::fixed("fixed", it.window.clone())]),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "drop",
        about: "fixed windows; what does not fit is dropped",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| format!("fixed window {}, drops", per(&it.window)),
        limits: |it| Some(vec![Spec::fixed("fixed", it.window.clone())]),
        conduct: Conduct::Drops,
    },
    Discipline {
        key: "counter",
        about: "two counts, the older one weighed",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| format!("window-counter {}", per(&it.window)),
        limits: |it| {
            let kind = Kind::COUNTER;
            let fixed = Spec::fixed("counter", it.window.clone());
            Some(vec![Spec { kind, ..fixed }])
        },
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "sliding",
        about: "at most so many in ANY window",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| format!("sliding window {}", per(&it.window)),
        limits: |it| Some(vec![Spec::window("window", it.window.clone())]),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "leaky",
        about: "a leaky bucket: evenly spaced",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| format!("leaky {}", per(&it.rate)),
        limits: |it| {
            let kind = Kind::LEAKY;
            let bucket = Spec::bucket("leaky", Counts::Requests, it.rate.clone(), Cost::ONE);
            Some(vec![Spec { kind, ..bucket }])
        },
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "qps",
        about: "a bucket that holds 1: evenly spaced",
        stills: Stills::Shown,
        slots: Slots::None,
        name: |it| format!("qps {}", it.rate),
        limits: |it| Some(vec![bucket(&it.rate, Cost::ONE)]),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "both",
        about: "slots and --qps",
        stills: Stills::Shown,
        slots: Slots::Some,
        name: |it| format!("semaphore {} + qps {}", it.slots.get(), it.rate),
        limits: |it| Some(vec![bucket(&it.rate, Cost::ONE)]),
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "tpm",
        about: "slots, --qps and --tpm",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |it| {
            let tpm = it.tpm.map_or(0, Cost::get);
            format!("sem. {} + qps {} + tpm {tpm}", it.slots.get(), it.rate)
        },
        limits: |it| {
            let tpm = it.tpm?;
            let rate = Rate::new(tpm.get(), Duration::from_secs(60))?;
            let tpm = Spec::bucket("tpm", Counts::Units, rate, tpm);
            Some(vec![bucket(&it.rate, Cost::ONE), tpm])
        },
        conduct: Conduct::Honest,
    },
    Discipline {
        key: "early",
        about: "--qps permits taken at queueing; then the sender stalls",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |_| "permits early, sender stalls".to_owned(),
        limits: |it| Some(vec![bucket(&it.rate, Cost::ONE)]),
        conduct: Conduct::Early,
    },
    Discipline {
        key: "late",
        about: "--qps permits taken at the send; the same stall",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |_| "permits late, sender stalls".to_owned(),
        limits: |it| Some(vec![bucket(&it.rate, Cost::ONE)]),
        conduct: Conduct::Late,
    },
    Discipline {
        key: "storm",
        about: "--burst; what is refused goes again at once, past the limits",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |_| "burst, retries bypass limits".to_owned(),
        limits: |it| Some(vec![bucket(&it.rate, it.burst)]),
        conduct: Conduct::Storm,
    },
    Discipline {
        key: "retry",
        about: "--burst; what is refused rests and meets every limit again",
        stills: Stills::NotShown,
        slots: Slots::Some,
        name: |_| "burst, retries re-enter limits".to_owned(),
        limits: |it| Some(vec![bucket(&it.rate, it.burst)]),
        conduct: Conduct::Retries,
    },
    Discipline {
        key: "limit",
        about: "the limits of --limit together",
        stills: Stills::NotShown,
        slots: Slots::None,
        name: |it| {
            let each: Vec<String> = it.own.iter().map(ToString::to_string).collect();
            format!("--limit {}", each.join(" + "))
        },
        limits: |it| (!it.own.is_empty()).then(|| it.own.clone()),
        conduct: Conduct::Honest,
    },
];

fn bucket(rate: &Rate, burst: Cost) -> Spec {
    Spec::bucket("qps", Counts::Requests, rate.clone(), burst)
}

/// With its period: `10/s`.
fn per(rate: &Rate) -> String {
    if rate.period == Duration::from_secs(1) {
        format!("{}/s", rate.count)
    } else {
        rate.to_string()
    }
}

/// A rate that nobody has written.
fn all_of(rate: &Rate) -> String {
    let written = Rate::new(rate.count.get(), rate.period);
    written.map_or_else(String::new, |rate| rate.shown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::disciplines::tests::numbers;

    #[test]
    fn every_discipline_has_a_key_and_a_name_of_its_own() {
        let numbers = Numbers {
            own: vec!["5/s".parse().unwrap()],
            ..numbers("20")
        };
        let mut keys: Vec<&str> = DISCIPLINES.iter().map(|row| row.key).collect();
        let mut names: Vec<String> = DISCIPLINES.iter().map(|row| (row.name)(&numbers)).collect();
        for row in &DISCIPLINES {
            assert!((row.limits)(&numbers).is_some(), "{}", row.key);
            assert!((row.name)(&numbers).len() <= 36, "{}", row.key);
            assert!(row.about.len() <= 60, "{}", row.key);
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        names.sort_unstable();
        names.dedup();
        assert_eq!((keys.len(), names.len()), (all, all));
        assert_eq!(
            (DISCIPLINES[2].name)(&numbers),
            "4 processes x qps 20 = 80/s"
        );
    }
}
