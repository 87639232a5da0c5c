//! Little's law: the theory that is set beside what was observed. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::{Owner, Stretch};
use crate::limit::{Counts, Kind, Spec};
use crate::units::{show_span, three_digits};

/// The limits of a run, as far as theory needs them.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Slots; `None` without a limit.
    pub slots: Option<u64>,
    /// Slots of each origin; `None` without a limit.
    pub per_host: Option<u64>,
    /// The rate limits, in the order of the command line.
    pub limits: Vec<Spec>,
}

impl Setup {
    /// What an owner is called in reports: `--qps 10`, `slots`, `input`.
    pub fn name_of(&self, owner: Owner) -> String {
        match owner {
            Owner::Nothing => "nothing".to_owned(),
            Owner::Input => "input".to_owned(),
            Owner::LookAhead => "look-ahead".to_owned(),
            Owner::Slot => "slots".to_owned(),
            Owner::HostSlot => match self.per_host {
                Some(slots) => format!("--per-host {slots}"),
                None => "--per-host".to_owned(),
            },
            Owner::Order => "--ordered".to_owned(),
            Owner::Pause => "pause".to_owned(),
            Owner::Connect => "connect".to_owned(),
            Owner::Backoff => "backoff".to_owned(),
            Owner::Sink => "sink".to_owned(),
            Owner::Client => "client".to_owned(),
            Owner::Limit(number) => self
                .limits
                .get(number)
                .map_or_else(|| format!("limit {}", number + 1), as_option),
        }
    }
}

impl Setup {
    /// Whose a wait is that results tell by this name; `None` for a limit that is not among these.
    pub fn owner_of(&self, wait: &str) -> Option<Owner> {
        let limit = self.limits.iter().position(|limit| &*limit.name == wait);
        limit.map(Owner::Limit).or_else(|| Owner::of(wait))
    }
}

/// Options that stand for a bucket, what it counts, and the period that their number leaves unsaid.
const OPTIONS: [(&str, Counts, &str); 4] = [
    ("qps", Counts::Requests, "/s"),
    ("rpm", Counts::Requests, "/m"),
    ("tps", Counts::Units, "/s"),
    ("tpm", Counts::Units, "/m"),
];

/// A limit as the option that gives it, `--qps 10`; one without an option of its own by its name.
fn as_option(spec: &Spec) -> String {
    let (name, written) = (&*spec.name, &*spec.rate.written);
    let bucket = OPTIONS.iter().find(|(option, counts, _)| {
        *option == name && *counts == spec.counts && spec.kind == Kind::Bucket
    });
    match bucket {
        Some((_, _, unsaid)) => {
            let number = written.strip_suffix(unsaid).unwrap_or(written);
            format!("--{name} {number}")
        }
        None if name.trim_end_matches(|c: char| c.is_ascii_digit()) == "window"
            && spec.counts == Counts::Requests =>
        {
            format!("--window {written}")
        }
        None => format!("--limit {name} {written}"),
    }
}

/// A rate that cannot be passed, and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Requests per second.
    pub rate: f64,
    /// What sets it.
    pub cause: Cause,
}

/// What sets a ceiling.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// `slots / latency`: so many slots, and the mean time in flight.
    Slots(u64, Duration),
    /// A rate limit, by its number in the setup and its name.
    Limit(usize, Arc<str>),
}

/// What theory says about a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Theory {
    /// Every ceiling, lowest first; the slots' own is among them if there are slots and answers.
    pub ceilings: Vec<Ceiling>,
    /// λ·W, to be compared with L; `None` without answers.
    pub in_flight: Option<f64>,
    /// The latency above which the slots bind rather than the lowest request limit.
    pub crossover: Option<Crossover>,
}

/// Where slots and a rate meet: `slots / rate`.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    /// The slots.
    pub slots: u64,
    /// The lowest rate ceiling, per second.
    pub rate: f64,
    /// Their quotient: a slower API is held by the slots.
    pub latency: Duration,
}

impl std::fmt::Display for Crossover {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            slots,
            rate,
            latency,
        } = self;
        let latency = if (1.0..100.0).contains(&latency.as_secs_f64()) {
            format!("{:.1} s", latency.as_secs_f64())
        } else {
            show_span(*latency)
        };
        let verb = if *slots == 1 {
            "slot begins"
        } else {
            "slots begin"
        };
        let rate = plain(*rate);
        write!(
            out,
            "{slots} {verb} to bind when the API is slower than {slots}/{rate} = {latency}"
        )
    }
}

/// A rate without digits that say nothing: `10`, not `10.0`.
pub(crate) fn plain(rate: f64) -> String {
    if (rate - rate.round()).abs() < rate * 5e-4 {
        format!("{rate:.0}")
    } else {
        three_digits(rate)
    }
}

impl Theory {
    /// The theory of `setup` for what was observed in `stretch`.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn of(setup: &Setup, stretch: &Stretch) -> Self {
        let of_limit = |(number, spec): (usize, &Spec)| {
            // A limit for each value of a key sets no ceiling for all of them together.
            let cost = stretch.units.of(spec.counts);
            if spec.per.is_some() || cost <= 0.0 {
                return None;
            }
            let rate = spec.rate.per_second() / cost;
            Some(Ceiling {
                rate,
                cause: Cause::Limit(number, spec.name.clone()),
            })
        };
        let mut ceilings: Vec<Ceiling> = setup
            .limits
            .iter()
            .enumerate()
            .filter_map(of_limit)
            .collect();
        ceilings.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        let crossover = setup
            .slots
            .zip(ceilings.first())
            .map(|(slots, lowest)| Crossover {
                slots,
                rate: lowest.rate,
                latency: Duration::try_from_secs_f64(slots as f64 / lowest.rate)
                    .unwrap_or(Duration::MAX),
            });
        if let (Some(slots), Some(mean)) =
            (setup.slots, stretch.mean.filter(|mean| !mean.is_zero()))
        {
            let rate = slots as f64 / mean.as_secs_f64();
            ceilings.push(Ceiling {
                rate,
                cause: Cause::Slots(slots, mean),
            });
            ceilings.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        }
        let in_flight = stretch.mean.map(|mean| stretch.rate * mean.as_secs_f64());
        Self {
            ceilings,
            in_flight,
            crossover,
        }
    }

    /// `slots / latency`, per second.
    pub fn slots_ceiling(&self) -> Option<&Ceiling> {
        self.ceilings
            .iter()
            .find(|ceiling| matches!(ceiling.cause, Cause::Slots(..)))
    }
}
