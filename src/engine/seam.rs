//! What earlier runs have sent: the limits go on from there. Floor 3: rules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::charge::Charge;
use super::rules::{Refund, Rules};
use crate::limit::{Leaves, Past, Since, Spec};
use crate::outcome::Spent;
use crate::proof::Event;
use crate::units::{Cost, Tick};

/// What earlier runs have sent. Nothing, for a run that begins anew.
#[derive(Debug, Clone, Default)]
pub struct Seam {
    /// Moments here count from so long before the start of the run; none is after it.
    before: Duration,
    /// Every try that a limit may still count.
    sends: Vec<Event>,
    /// Whether there were more before those.
    since: Since,
    /// What no result tells of.
    broken: Vec<Broken>,
}

/// A run that was broken off: what it had in flight may have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Broken {
    /// The last moment at which it may have sent.
    at: Tick,
    /// The most tries that it may have had in flight.
    flights: u64,
}

impl Seam {
    /// What counts of the past of a run that begins at `now`, since `zero`: all moments since the Unix epoch. Of
    /// the sends those before `zero` are left out by the caller, who tells whether there were any; of runs that
    /// were cut off each is told with its last moment, and what it had in flight (`None`: any number).
    pub fn between(
        zero: Tick,
        now: Tick,
        sends: impl IntoIterator<Item = Event>,
        since: Since,
        cut_off: impl IntoIterator<Item = (Tick, Option<u64>)>,
    ) -> Self {
        // A clock that was set back makes no moment later than now.
        let inside = |at: Tick| Tick(at.min(now).0.saturating_sub(zero.0));
        let sends = sends.into_iter().map(|send| Event {
            granted: inside(send.granted),
            sent: inside(send.sent),
            answered: inside(send.answered),
            ..send
        });
        let broken = cut_off.into_iter();
        let broken = broken.filter(|&(at, flights)| at >= zero && flights != Some(0));
        let broken = broken.map(|(at, flights)| Broken {
            at: inside(at),
            flights: flights.unwrap_or(u64::MAX),
        });
        Self {
            before: now.since(zero),
            sends: sends.collect(),
            since,
            broken: broken.collect(),
        }
    }
}

/// The past of one rule, for each value of its key.
#[derive(Debug, Default)]
pub(super) struct Pasts {
    by_key: HashMap<Option<Arc<str>>, Past>,
    /// Of a key that no result tells of.
    other: Past,
}

impl Pasts {
    /// Of the state for this value of the key; `None` if the rule has one for all.
    pub(super) fn of(&self, key: Option<&Arc<str>>) -> &Past {
        self.by_key.get(&key.cloned()).unwrap_or(&self.other)
    }
}

impl Seam {
    /// The past of the limit `spec`, kept for the key of this number.
    pub(super) fn pasts(&self, spec: &Spec, key: Option<usize>, rules: &Rules) -> Pasts {
        let charge = Charge::from(spec.counts);
        let mut takes: HashMap<Option<Arc<str>>, Vec<(Tick, Cost)>> = HashMap::new();
        let mut largest = None;
        for send in &self.sends {
            let key = match key.map(|number| send.keys.get(number)) {
                None => None,
                Some(Some(value)) => Some(value.clone()),
                // It does not tell whose it was.
                Some(None) => continue,
            };
            let Some(cost) = cost(charge, send, rules.refund) else {
                continue;
            };
            let at = match spec.leaves {
                Leaves::Reply => send.answered,
                Leaves::Send if spec.kind.has_burst() => send.granted,
                Leaves::Send => send.sent,
            };
            largest = largest.max(Some(cost));
            takes.entry(key).or_default().push((at, cost));
        }
        let now = Tick::ZERO.after(self.before);
        let each = match charge {
            Charge::Slots | Charge::Requests => 1,
            Charge::Units | Charge::Input | Charge::Output => largest.unwrap_or(spec.burst).get(),
        };
        let broken = self.broken.iter().filter_map(|broken| {
            let all = Cost::new(broken.flights.saturating_mul(each))?;
            // A server may count what was in flight until its try would have been given up.
            let at = match spec.leaves {
                Leaves::Send => broken.at,
                Leaves::Reply => broken.at.after(rules.timeout).min(now),
            };
            Some((at, all.min(spec.burst)))
        });
        let broken: Vec<(Tick, Cost)> = broken.collect();
        let past = |takes: Vec<(Tick, Cost)>| {
            let mut takes: Vec<_> = takes.into_iter().chain(broken.iter().copied()).collect();
            takes.sort_unstable();
            Past {
                before: self.before,
                takes,
                since: self.since,
            }
        };
        Pasts {
            by_key: takes
                .into_iter()
                .map(|(key, takes)| (key, past(takes)))
                .collect(),
            other: past(Vec::new()),
        }
    }
}

/// What stays charged of a send; `None` for nothing.
fn cost(charge: Charge, send: &Event, refund: Refund) -> Option<Cost> {
    let Some(units) = send.units.as_deref() else {
        return (charge == Charge::Requests).then_some(Cost::ONE);
    };
    match (charge.spent(*units), refund) {
        (None, _) => Some(Cost::ONE),
        (Some(Spent { used, .. }), Refund::Unused) => Cost::new(used),
        (Some(Spent { reserved, used }), Refund::Never) => Cost::new(reserved.max(used)),
    }
}
