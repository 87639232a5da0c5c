//! What bounds a run, and what each owner of time is called beside it. Floor 3: rules.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Owner;
use crate::limit::{Counts, Kind, Spec};
use crate::shape::Arrivals;
use crate::units::Rate;

/// The bounds of a run, as far as theory and reports need them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setup {
    /// Slots; `None` without a limit.
    pub slots: Option<u64>,
    /// What sets their number.
    pub slots_by: SlotsBy,
    /// Slots of each origin; `None` without a limit.
    pub per_host: Option<u64>,
    /// The rate limits, in the order of the command line.
    pub limits: Vec<Spec>,
    /// The runs that went on at once.
    pub runs: AtOnce,
    /// When jobs were due.
    pub arrivals: Arrivals,
}

/// What sets the number of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotsBy {
    /// Who runs it.
    #[default]
    Option,
    /// The open files: no number was asked for, and there is no room for more connections.
    Files,
}

/// How many runs went on at once, and whose the limits were. The slots are those of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtOnce {
    /// One at a time.
    #[default]
    One,
    /// So many, and the first limits, so many of them, hold for all runs together.
    Together(u64, usize),
    /// So many, each of them with all limits for itself.
    Each(u64),
    /// So many, each of them with limits for itself that others had not.
    Unlike(u64),
}

impl AtOnce {
    /// How many at once.
    pub fn count(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Together(count, _) | Self::Each(count) | Self::Unlike(count) => count.max(1),
        }
    }

    /// How many times what the limit of this number lets through they can send; `None` where it bounds only some
    /// of them.
    pub(super) fn times(self, number: usize) -> Option<u64> {
        match self {
            Self::One => Some(1),
            Self::Together(_, limits) => (number < limits).then_some(1),
            Self::Each(count) => Some(count.max(1)),
            Self::Unlike(_) => None,
        }
    }
}

impl Setup {
    /// What an owner is called in reports: `--qps 10`, `slots`, `input`.
    pub fn name_of(&self, owner: Owner) -> String {
        match owner {
            Owner::Nothing => "nothing".to_owned(),
            Owner::Input => "input".to_owned(),
            Owner::LookAhead => "look-ahead".to_owned(),
            Owner::Slot => match self.slots_by {
                SlotsBy::Option => "slots".to_owned(),
                SlotsBy::Files => "open files".to_owned(),
            },
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
            Owner::Adaptive => "--adaptive".to_owned(),
            Owner::Store => "store".to_owned(),
            Owner::SharedSlot => "--shared-concurrency".to_owned(),
            Owner::Limit(number) => self
                .limits
                .get(number)
                .map_or_else(|| owner.word().into_owned(), as_option),
        }
    }

    /// What the limit of this number is called where it is that of all runs: `--qps 10`, `2 x --qps 10`.
    pub fn all_of(&self, number: usize) -> String {
        let name = self.name_of(Owner::Limit(number));
        match self.runs.times(number) {
            None | Some(1) => name,
            Some(times) => format!("{times} x {name}"),
        }
    }

    /// What an owner is called in results and at `/metrics`: `qps`, `slot`, `input`.
    pub fn word_of(&self, owner: Owner) -> Cow<'_, str> {
        if let Owner::Limit(number) = owner
            && let Some(limit) = self.limits.get(number)
        {
            Cow::Borrowed(&*limit.name)
        } else {
            owner.word()
        }
    }

    /// Whose a wait is that results tell by this word; `None` for a limit that is not among these.
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

/// The option that keeps to so many per period: `--rpm 60`, `--window 100/10s`, `--limit "tokens 9/h"`.
pub(super) fn option_for(counts: Counts, rate: &Rate) -> String {
    let written = &*rate.written;
    let mut options = OPTIONS.iter().filter(|(_, own, _)| *own == counts);
    let option = options.find_map(|(option, _, unsaid)| {
        let number = written.strip_suffix(unsaid)?;
        Some(format!("--{option} {number}"))
    });
    option.unwrap_or_else(|| match counts {
        Counts::Requests => format!("--window {written}"),
        Counts::Units | Counts::Input | Counts::Output => {
            format!("--limit \"{} {written}\"", counts.word())
        }
    })
}

/// A limit as the option that gives it, `--qps 10`; one without an option of its own as a spec that has its name:
/// `--limit tokens 100k/m bucket`, `--limit 5/s name=mine`.
fn as_option(spec: &Spec) -> String {
    let (name, written) = (&*spec.name, &*spec.rate.written);
    let bucket = OPTIONS.iter().find(|(option, counts, _)| {
        *option == name && *counts == spec.counts && spec.kind == Kind::BUCKET
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
        None => {
            let counts = match spec.counts {
                Counts::Requests => String::new(),
                counts => format!("{} ", counts.word()),
            };
            let named = match name.strip_prefix(spec.kind.word()) {
                Some(number) if number.chars().all(|c| c.is_ascii_digit()) => "",
                Some(_) | None => "name=",
            };
            format!("--limit {counts}{written} {named}{name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_called_as_it_could_be_written() {
        for (text, name, called) in [
            ("10/s", "qps", "--qps 10"),
            ("tokens 100k/m", "tpm", "--tpm 100k"),
            ("tokens 100k/m", "bucket", "--limit tokens 100k/m bucket"),
            ("tokens 100k/m", "bucket2", "--limit tokens 100k/m bucket2"),
            (
                "output-tokens 5/s leaky",
                "mine",
                "--limit output-tokens 5/s name=mine",
            ),
            ("5/s fixed", "fixed", "--limit 5/s fixed"),
            ("5/s window", "window2", "--window 5/s"),
        ] {
            let mut spec: Spec = text.parse().unwrap();
            spec.name = name.into();
            assert_eq!(as_option(&spec), called);
        }
    }

    #[test]
    fn each_rate_has_an_option_that_keeps_to_it() {
        let second = std::time::Duration::from_secs(1);
        for (counts, count, seconds, option) in [
            (Counts::Requests, 60, 60, "--rpm 60"),
            (Counts::Requests, 5, 1, "--qps 5"),
            (Counts::Requests, 5000, 3600, "--window 5000/h"),
            (Counts::Units, 9000, 60, "--tpm 9000"),
            (Counts::Units, 9, 10, "--limit \"tokens 9/10s\""),
            (Counts::Input, 9, 60, "--limit \"input-tokens 9/m\""),
        ] {
            let rate = Rate::new(count, second * seconds).unwrap();
            assert_eq!(option_for(counts, &rate), option);
        }
    }
}
