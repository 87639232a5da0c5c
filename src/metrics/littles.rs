//! Little's law: the theory that is set beside what was observed. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use super::{Setup, Summary};
use crate::limit::Spec;
use crate::units::{show_span, three_digits};

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

/// What theory says about a run, or a part of it.
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
    /// The theory of `setup` for what was observed in a run. How long a refused connect took is no latency.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn of(setup: &Setup, summary: &Summary) -> Self {
        let stretch = &summary.stretch;
        let mean = stretch.mean.filter(|_| summary.was_answered());
        let of_limit = |(number, spec): (usize, &Spec)| {
            // A limit for each value of a key sets no ceiling for all of them together, nor one of some runs for all.
            let cost = stretch.units.of(spec.counts);
            if spec.per.is_some() || cost <= 0.0 {
                return None;
            }
            let rate = spec.rate.per_second() / cost * setup.runs.times(number)? as f64;
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
        if let (Some(slots), Some(mean)) = (setup.slots, mean.filter(|mean| !mean.is_zero())) {
            let rate = slots as f64 / mean.as_secs_f64();
            ceilings.push(Ceiling {
                rate,
                cause: Cause::Slots(slots, mean),
            });
            ceilings.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        }
        let in_flight = mean.map(|mean| stretch.rate * mean.as_secs_f64());
        Self {
            ceilings,
            in_flight,
            crossover,
        }
    }

    /// `slots / latency`, per second; `None` without an answer or without a limit of slots.
    pub fn slots_ceiling(&self) -> Option<&Ceiling> {
        self.ceilings
            .iter()
            .find(|ceiling| matches!(ceiling.cause, Cause::Slots(..)))
    }

    /// A rate as a share of it, 1 for all; `None` where there is none.
    pub fn ratio(&self, rate: f64) -> Option<f64> {
        let ceiling = self.slots_ceiling()?.rate;
        (ceiling > 0.0).then(|| rate / ceiling)
    }
}
