//! What was learnt of the limits of the servers: in words, and as it is kept. Floor 4: doors.

use serde::{Deserialize, Serialize};

use super::Report;
use crate::limit::{Counts, Pace};
use crate::metrics::{KeyLearnt, Learning, Owner, ToldLimit};
use crate::units::{Tick, millis, of_millis, show_span};

/// What was learnt of one key, as JSON has it. Times in milliseconds, rates per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    key: String,
    per_s: Option<f64>,
    mean_per_s: Option<f64>,
    refused: u64,
    used_up: u64,
    changes: Vec<Change>,
    told: Vec<ToldKept>,
    options: Vec<String>,
    #[serde(default)]
    by_all: bool,
}

/// How the pace changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Change {
    at_ms: f64,
    per_s: f64,
}

/// A limit that the server tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ToldKept {
    name: String,
    counts: String,
    limit: u64,
    period_ms: Option<f64>,
}

/// Each key, as it is kept.
pub fn kept(learning: &Learning) -> Vec<Kept> {
    learning.keys.iter().map(Kept::of).collect()
}

/// The same, read back, of a run that started at this moment.
pub fn learning(kept: &[Kept], started: Tick) -> Learning {
    Learning {
        keys: kept.iter().map(|kept| kept.learnt(started)).collect(),
        more: false,
    }
}

impl Kept {
    fn of(learnt: &KeyLearnt) -> Self {
        let changes = learnt.changes.iter().map(|(at, pace)| Change {
            at_ms: millis(at.since(Tick::ZERO)),
            per_s: pace.per_second(),
        });
        let told = learnt.told.iter().map(|told| ToldKept {
            name: told.name.clone(),
            counts: told.counts.word().to_owned(),
            limit: told.limit,
            period_ms: told.period.map(millis),
        });
        Self {
            key: learnt.key.clone(),
            per_s: learnt.pace.map(Pace::per_second),
            mean_per_s: learnt.mean.map(Pace::per_second),
            refused: learnt.refused,
            used_up: learnt.used_up,
            changes: changes.collect(),
            told: told.collect(),
            options: learnt.options(),
            by_all: learnt.by_all,
        }
    }

    fn learnt(&self, started: Tick) -> KeyLearnt {
        let changes = self.changes.iter();
        let told = self.told.iter().filter_map(|told| {
            Some(ToldLimit {
                name: told.name.clone(),
                counts: Counts::ALL
                    .into_iter()
                    .find(|counts| counts.word() == told.counts)?,
                limit: told.limit,
                period: told.period_ms.map(of_millis),
            })
        });
        KeyLearnt {
            key: self.key.clone(),
            told: told.collect(),
            pace: self.per_s.map(Pace::per_second_of),
            mean: self.mean_per_s.map(Pace::per_second_of),
            changes: changes
                .map(|it| {
                    (
                        started.after(of_millis(it.at_ms)),
                        Pace::per_second_of(it.per_s),
                    )
                })
                .collect(),
            refused: self.refused,
            used_up: self.used_up,
            by_all: self.by_all,
        }
    }
}

/// Each key in a sentence, at most so many: what it takes, how that was learnt, the own limits beside it, and the
/// options that set it.
pub(super) fn lines(report: &Report, most: usize) -> Vec<String> {
    let Learning { keys, more } = &report.summary.learning;
    let mut lines: Vec<_> = keys
        .iter()
        .take(most)
        .map(|key| line(report, key))
        .collect();
    if *more || keys.len() > most {
        lines.push("and of more keys: --report json tells".to_owned());
    }
    lines
}

fn line(report: &Report, learnt: &KeyLearnt) -> String {
    let mut parts = Vec::new();
    if let Some(pace) = learnt.mean.or(learnt.pace) {
        let counts = [(learnt.refused, "refused"), (learnt.used_up, "used up")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, how)| match count {
            1 => format!("{how} once"),
            count => format!("{how} {count} times"),
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        // The first and the last of them.
        let changes = match &learnt.changes[..] {
            [first, .., last] => vec![first, last],
            few => few.iter().collect(),
        };
        let changes = changes
            .iter()
            .map(|(at, pace)| format!("{pace}\u{a0}at\u{a0}{}", tied(*at)));
        let changes = changes.collect::<Vec<_>>().join(", ");
        let how = [counts, changes]
            .into_iter()
            .filter(|part| !part.is_empty());
        let how = how.collect::<Vec<_>>().join(": ");
        let whom = if learnt.by_all {
            " of all who share it"
        } else {
            ""
        };
        parts.push(if how.is_empty() {
            format!("took {pace}{whom}")
        } else {
            format!("took {pace}{whom} ({how})")
        });
    }
    if !learnt.told.is_empty() {
        let told = learnt.told.iter().map(ToldLimit::words);
        parts.push(format!("tells {}", told.collect::<Vec<_>>().join(", ")));
    }
    let own =
        (0..report.setup.limits.len()).map(|number| report.setup.name_of(Owner::Limit(number)));
    let own = own.collect::<Vec<_>>().join(" ");
    parts.push(if own.is_empty() {
        "own limit: none".to_owned()
    } else {
        format!("own limits: {own}")
    });
    let options = learnt.options().join(" ");
    if !options.is_empty() {
        parts.push(format!("by hand: {options}"));
    }
    format!("{} {}", learnt.key, parts.join("; "))
}

fn tied(at: Tick) -> String {
    show_span(at.since(Tick::ZERO)).replace(' ', "\u{a0}")
}
