//! What a run learns of the limits of its servers. Floor 3: rules.

use std::time::Duration;

use super::setup::option_for;
use crate::limit::{Counts, Known, Learnt, Pace, Why};
use crate::units::{Rate, Tick, three_digits};

/// So many keys are told one by one.
const KEYS: usize = 16;

/// So many changes of each; of more every second one is left out.
const CHANGES: usize = 16;

/// What a run has learnt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learning {
    /// Of each key, in the order of their first word.
    pub keys: Vec<KeyLearnt>,
    /// Keys that are not among them.
    pub more: bool,
}

/// What was learnt of one key: an origin, with the values of the keys of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyLearnt {
    /// Its name.
    pub key: String,
    /// What the server tells of its limits.
    pub told: Vec<ToldLimit>,
    /// The requests per second that it is asked for in the end; `None`: for all that there are.
    pub pace: Option<Pace>,
    /// Those that it took since its first word on it.
    pub mean: Option<Pace>,
    /// How that changed where it was refused or used up, since the start.
    pub changes: Vec<(Tick, Pace)>,
    /// How often it refused.
    pub refused: u64,
    /// How often it told that all was used up.
    pub used_up: u64,
    /// All who share a store have learnt it together.
    pub by_all: bool,
}

/// A limit that a server tells.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldLimit {
    /// As the server calls it.
    pub name: String,
    /// What it counts.
    pub counts: Counts,
    /// So many,
    pub limit: u64,
    /// in this time.
    pub period: Option<Duration>,
}

impl Learning {
    /// Something is known anew at `at`; the limit has this name.
    pub(super) fn add(&mut self, key: &str, at: Tick, counts: Counts, name: &str, learnt: Learnt) {
        // What one finds without the store is its part of what all know.
        let Some(own) = self.of(key).filter(|own| !own.by_all) else {
            return;
        };
        match learnt {
            Learnt::Told(limit, period) => own.is_told(name, counts, limit, period),
            Learnt::Found { pace, mean, why } => {
                (own.pace, own.mean) = (pace, mean);
                match why {
                    Why::Accepted => return,
                    Why::Refused => own.refused += 1,
                    Why::UsedUp => own.used_up += 1,
                }
                own.changes(at);
            }
        }
    }

    /// All who share a store know this at `at`.
    pub(super) fn hear(&mut self, key: &str, at: Tick, counts: Counts, known: &Known) {
        let Some(own) = self.of(key) else {
            return;
        };
        own.by_all = true;
        for said in &known.told {
            if let Some(limit) = said.limit {
                own.is_told(&said.name, counts, limit, said.period);
            }
        }
        if counts == Counts::Requests {
            (own.pace, own.mean) = (known.pace, known.mean);
            let before = (own.refused, own.used_up);
            (own.refused, own.used_up) = (known.refused, known.used_up);
            if before != (own.refused, own.used_up) {
                own.changes(at);
            }
        }
    }

    /// What is learnt of this key, as far as there is room for another one.
    fn of(&mut self, key: &str) -> Option<&mut KeyLearnt> {
        let place = self.keys.iter().position(|own| own.key == key);
        if place.is_none() && self.keys.len() == KEYS {
            self.more = true;
            return None;
        }
        let place = place.unwrap_or_else(|| {
            self.keys.push(KeyLearnt {
                key: key.to_owned(),
                ..KeyLearnt::default()
            });
            self.keys.len() - 1
        });
        Some(&mut self.keys[place])
    }

    /// The same with what another run has learnt: of a key that both know, that of the later one.
    pub(super) fn and(mut self, later: &Self) -> Self {
        for key in &later.keys {
            self.keys.retain(|own| own.key != key.key);
            self.keys.push(key.clone());
        }
        self.more |= later.more || self.keys.len() > KEYS;
        self.keys.truncate(KEYS);
        self
    }
}

impl KeyLearnt {
    fn is_told(&mut self, name: &str, counts: Counts, limit: u64, period: Option<Duration>) {
        let told = ToldLimit {
            name: name.to_owned(),
            counts,
            limit,
            period,
        };
        let mut all = self.told.iter_mut();
        match all.find(|own| (&*own.name, own.counts) == (name, counts)) {
            Some(before) => *before = told,
            None => self.told.push(told),
        }
    }

    /// The pace is another since `at`.
    fn changes(&mut self, at: Tick) {
        if self.changes.len() == CHANGES {
            let mut nth = 0;
            self.changes.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        let pace = self.pace.or(self.mean);
        self.changes.extend(pace.map(|pace| (at, pace)));
    }

    /// The options that set it by hand; of several limits that the server tells each its own.
    pub fn options(&self) -> Vec<String> {
        let told = self.told.iter().filter_map(ToldLimit::option);
        let pace = self.pace_by_hand();
        let pace = pace.map(|pace| format!("--qps {}", three_digits(pace.per_second())));
        told.chain(pace).collect()
    }

    /// The pace among them; `None` where the server tells its limit of requests, or nothing was found. A pace that was
    /// corrected more than once may have passed the limit again: then it is what was taken on the whole.
    pub fn pace_by_hand(&self) -> Option<Pace> {
        let requests = |told: &ToldLimit| told.counts == Counts::Requests && told.period.is_some();
        if self.told.iter().any(requests) {
            return None;
        }
        let again = self.refused + self.used_up > 1;
        let mean = self.mean.filter(|_| again || self.pace.is_none());
        self.pace.into_iter().chain(mean).min()
    }
}

impl ToldLimit {
    /// `60/1m requests`.
    pub fn words(&self) -> String {
        let what = self.counts.word();
        match self.rate() {
            Some(rate) => format!("{rate} {what}"),
            None => format!("{} {what}, and not in which time", self.limit),
        }
    }

    /// The option that sets it; `None` where it does not tell in which time.
    pub fn option(&self) -> Option<String> {
        Some(option_for(self.counts, &self.rate()?))
    }

    fn rate(&self) -> Option<Rate> {
        Rate::new(self.limit, self.period?)
    }
}
