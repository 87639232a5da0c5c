//! What a run tells of itself when it is over. Floor 4: doors.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{MOST, Unrecorded};
use crate::engine::{End, Signal, Stopped};
use crate::error::{Exit, Problem};
use crate::limit::Spec;
use crate::metrics::{self, MeanUnits, Owner, Part, StoreSeen, Taken, Told, Unseen};
use crate::outcome::UnitsSpent;
use crate::report::{Report, Standing, learnt};
use crate::units::{Tick, nanos, of_millis};

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How: `finished`, `interrupted`, ….
    pub how: String,
    /// What was lost, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The rule that ended it before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// What its results do not tell; `None` of older versions.
    #[serde(default)]
    pub figures: Option<Figures>,
    /// Lines by what became of them.
    pub counts: BTreeMap<String, u64>,
    /// Tries that were granted.
    pub tries: u64,
    /// Tries that were sent and have ended.
    pub sends: u64,
    /// Tries that had not ended: they may have been sent.
    #[serde(default)]
    pub cut_off: u64,
    /// Tries that have ended, of jobs that have no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<Unrecorded>,
}

/// Figures that results do not tell. Times in milliseconds, to the nanosecond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The first grant, since the start.
    pub begun_ms: f64,
    /// From the first grant to the end.
    pub elapsed_ms: f64,
    /// The part that means and shares are taken over.
    pub part: Stretch,
    /// Whose time that part was.
    pub held_back: Vec<Held>,
    /// The most tries in flight at once.
    pub peak_in_flight: u64,
    /// Tries after the first of a job.
    pub retries: u64,
    /// Pauses that a server asked for.
    pub pauses: u64,
    /// Failed tries that were not repeated as the server may have acted on them.
    pub unrepeated: u64,
    /// Answers that did not say what they used, where a limit counts units.
    pub untold: u64,
    /// Retries that their budget has held; of older versions none.
    #[serde(default)]
    pub retries_held: u64,
    /// For how long, all together.
    #[serde(default)]
    pub retries_held_ms: f64,
    /// How often an origin was paused as it failed again and again; of older versions never.
    #[serde(default)]
    pub breaks: u64,
    /// For how long, all together.
    #[serde(default)]
    pub broken_ms: f64,
    /// What was seen of the store through which limits were shared; nothing if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
    /// What jobs waited for, summed; results do not tell it of jobs that were never sent.
    pub waits_ms: BTreeMap<String, f64>,
    /// What tries reserved and used, where a limit counts units.
    pub units: UnitsSpent,
    /// What filled the look-ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_of: Option<String>,
    /// Jobs that were late, by what held them; of older versions none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub late_by: BTreeMap<String, u64>,
    /// What was learnt of the limits of the servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnt: Vec<learnt::Kept>,
    /// What the answers have told of limits.
    #[serde(default)]
    pub evidence: Evidence,
}

/// What the answers of a run have told of limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The limits that they tell.
    pub limits: Vec<Stated>,
    /// Requests that the server has counted on one of them.
    pub counted: u64,
    /// Those of them that this run has not sent.
    pub others: u64,
}

/// A limit as answers told it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// As it is written: `requests 60/m`.
    pub limit: String,
    /// The least that was left of it, if that was told.
    pub least: Option<u64>,
}

/// Time of one owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Whose: `slot`, `input`, …, or `limit 1`, the first of the limits.
    pub owner: String,
    /// As reports call it.
    pub name: String,
    /// How much.
    pub ms: f64,
}

/// A part of a run, from its start on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// `steady` or `whole`.
    pub which: String,
    /// Its beginning, since the start.
    pub from_ms: f64,
    /// Its end, likewise.
    pub to_ms: f64,
    /// Mean tries in flight.
    pub in_flight: f64,
    /// Tries ended per second.
    pub rate_per_s: f64,
    /// Their mean time in flight.
    pub mean_ms: Option<f64>,
    /// Tries ended.
    pub ended: u64,
    /// Of these, answers with status 429.
    #[serde(default)]
    pub refused: u64,
    /// Their mean units.
    pub units: MeanUnits,
    /// In how many of its whole seconds so many tries ended.
    pub answers_per_second: BTreeMap<u32, u64>,
}

/// What was seen of the store through which limits were shared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// Tries that asked for their grant.
    pub asks: u64,
    /// Of those, refused.
    pub refused: u64,
    /// Of those, granted ahead and not used.
    #[serde(default)]
    pub lapsed: u64,
    /// The most runs that shared it at once.
    pub members: u32,
    /// How often it was away.
    pub times_away: u64,
    /// For how long, all together.
    pub away_ms: f64,
    /// How often it had lost what it held.
    pub emptied: u64,
}

impl Store {
    fn of(seen: StoreSeen) -> Self {
        Self {
            asks: seen.asks,
            refused: seen.refused,
            lapsed: seen.lapsed,
            members: seen.members,
            times_away: seen.times_away,
            away_ms: ms(seen.away),
            emptied: seen.emptied,
        }
    }

    fn seen(self) -> StoreSeen {
        StoreSeen {
            asks: self.asks,
            refused: self.refused,
            lapsed: self.lapsed,
            members: self.members,
            times_away: self.times_away,
            away: of_millis(self.away_ms),
            emptied: self.emptied,
        }
    }
}

impl Ended {
    /// The figures of a report; the start of the run in microseconds since the Unix epoch. `None` for a run
    /// that is not over.
    pub fn of(report: &Report, started_us: u64) -> Option<Self> {
        let Standing::Over(end) = &report.facts.end else {
            return None;
        };
        let summary = &report.summary;
        let counts = &summary.tally.counts;
        let counted = [
            ("read", counts.read),
            ("ok", counts.ok),
            ("failed", counts.failed),
            ("invalid", counts.invalid),
            ("skipped", counts.skipped),
            ("cancelled", counts.cancelled),
            ("done_before", counts.done_before),
        ];
        let unrecorded = summary.unrecorded.iter();
        Some(Self {
            how: end.word().to_owned(),
            why: match end {
                End::InputLost(problem) | End::SinkLost(problem) | End::StoreLost(problem) => {
                    Some(problem.to_string())
                }
                End::Finished | End::TimeUp | End::Stopped(_) | End::Signalled(_) => None,
            },
            stopped: match end {
                End::Stopped(stopped) => Some(stopped.clone()),
                End::Finished
                | End::TimeUp
                | End::InputLost(_)
                | End::SinkLost(_)
                | End::StoreLost(_)
                | End::Signalled(_) => None,
            },
            figures: Some(Figures::of(report)),
            counts: counted.map(|(name, count)| (name.to_owned(), count)).into(),
            tries: summary.tally.tries,
            sends: summary.tally.sends.count,
            cut_off: summary.unseen.unwrap_or_default().cut_off,
            unrecorded: unrecorded
                .map(|left| Unrecorded::of(left, started_us))
                .collect(),
        })
    }

    /// Lines that have a result, by what the run has counted.
    pub fn done(&self) -> u64 {
        let counted = ["ok", "failed", "invalid", "skipped"];
        counted.iter().map(|word| self.count(word)).sum()
    }

    /// Lines of which this became.
    pub fn count(&self, word: &str) -> u64 {
        self.counts.get(word).copied().unwrap_or(0)
    }

    /// How it ended; `None` for a word that this version does not know.
    pub fn end(&self) -> Option<End> {
        let lost = |exit| {
            let why = self.why.as_deref().unwrap_or("nothing tells why");
            Problem::new(exit, why, "")
        };
        match self.how.as_str() {
            "finished" => Some(End::Finished),
            "time_up" => Some(End::TimeUp),
            "input_lost" => Some(End::InputLost(lost(Exit::Usage))),
            "results_lost" => Some(End::SinkLost(lost(Exit::Unwritten))),
            "store_lost" => Some(End::StoreLost(lost(Exit::Store))),
            "stopped" => self.stopped.clone().map(End::Stopped),
            "interrupted" => Some(End::Signalled(Signal::Interrupt)),
            "terminated" => Some(End::Signalled(Signal::Terminate)),
            _ => None,
        }
    }
}

impl Figures {
    fn of(report: &Report) -> Self {
        let (summary, stretch) = (&report.summary, &report.summary.stretch);
        let since_start = |at: Tick| ms(at.since(Tick::ZERO));
        let unseen = summary.unseen.unwrap_or_default();
        let (shares, waits) = (stretch.shares.iter(), summary.tally.waits.iter());
        let late_by = summary.late_by.iter().flatten();
        let mut seconds: BTreeMap<u32, u64> = BTreeMap::new();
        for &answers in &stretch.per_second {
            *seconds.entry(answers).or_default() += 1;
        }
        Self {
            begun_ms: since_start(summary.begun),
            elapsed_ms: ms(summary.elapsed),
            part: Stretch {
                which: match stretch.part {
                    Part::Steady => "steady",
                    Part::Whole | Part::Recorded => "whole",
                }
                .to_owned(),
                from_ms: since_start(stretch.from),
                to_ms: since_start(stretch.to),
                in_flight: stretch.in_flight,
                rate_per_s: stretch.rate,
                mean_ms: stretch.mean.map(ms),
                ended: stretch.ended,
                refused: stretch.refused,
                units: stretch.units,
                answers_per_second: seconds,
            },
            held_back: shares
                .map(|(owner, span)| Held {
                    owner: owner.word().into_owned(),
                    name: report.setup.name_of(*owner),
                    ms: ms(*span),
                })
                .collect(),
            peak_in_flight: summary.peak_in_flight,
            retries: summary.tally.retries,
            pauses: unseen.pauses,
            unrepeated: unseen.unrepeated,
            untold: unseen.untold,
            retries_held: unseen.retries_held,
            retries_held_ms: ms(unseen.retries_held_for),
            breaks: unseen.breaks,
            broken_ms: ms(unseen.broken_for),
            store: (unseen.store != StoreSeen::default()).then(|| Store::of(unseen.store)),
            waits_ms: waits
                .map(|(name, span)| (name.to_string(), ms(span)))
                .collect(),
            units: summary.tally.units,
            full_of: summary.full_of.clone(),
            late_by: late_by
                .map(|(owner, count)| (owner.word().into_owned(), *count))
                .collect(),
            learnt: learnt::kept(&summary.learning),
            evidence: Evidence::from(&summary.evidence),
        }
    }

    /// The same for a run that started at this moment. Owners are given other names, or none; `cut_off` are
    /// tries that had not ended.
    pub fn told(
        &self,
        started: Tick,
        cut_off: u64,
        named: impl Fn(Owner) -> Option<Owner>,
    ) -> Told {
        let at = |ms: f64| started.after(of_millis(ms));
        let (held, waits) = (self.held_back.iter(), self.waits_ms.iter());
        let part = &self.part;
        let seconds = part.answers_per_second.iter();
        Told {
            stretch: metrics::Stretch {
                part: match part.which.as_str() {
                    "steady" => Part::Steady,
                    _ => Part::Whole,
                },
                from: at(part.from_ms),
                to: at(part.to_ms),
                gaps: Duration::ZERO,
                shares: held
                    .filter_map(|held| Some((named(Owner::of(&held.owner)?)?, of_millis(held.ms))))
                    .collect(),
                in_flight: part.in_flight,
                ended: part.ended,
                refused: part.refused,
                rate: part.rate_per_s,
                mean: part.mean_ms.map(of_millis),
                units: part.units,
                per_second: seconds
                    .flat_map(|(answers, count)| {
                        let count = usize::try_from(*count).unwrap_or(usize::MAX);
                        std::iter::repeat_n(*answers, count)
                    })
                    .take(metrics::SECONDS)
                    .collect(),
            },
            peak_in_flight: self.peak_in_flight,
            unseen: Unseen {
                cut_off,
                pauses: self.pauses,
                unrepeated: self.unrepeated,
                untold: self.untold,
                retries_held: self.retries_held,
                retries_held_for: of_millis(self.retries_held_ms),
                breaks: self.breaks,
                broken_for: of_millis(self.broken_ms),
                store: self.store.map(Store::seen).unwrap_or_default(),
            },
            retries: self.retries,
            waits: waits
                .map(|(name, ms)| (name.as_str().into(), of_millis(*ms)))
                .collect(),
            units: self.units,
            full_of: self.full_of.clone(),
            late_by: self
                .late_by
                .iter()
                .filter_map(|(owner, count)| Some((named(Owner::of(owner)?)?, *count)))
                .collect(),
            learning: learnt::learning(&self.learnt, started),
            evidence: self.evidence.told(),
        }
    }

    /// First grant and end of a run that started at this moment.
    pub fn span(&self, started: Tick) -> (Tick, Tick) {
        let begun = started.after(of_millis(self.begun_ms));
        (begun, begun.after(of_millis(self.elapsed_ms)))
    }
}

impl From<&metrics::Evidence> for Evidence {
    fn from(evidence: &metrics::Evidence) -> Self {
        let stated = evidence.stated.iter();
        Self {
            limits: stated
                .map(|it| Stated {
                    limit: format!("{} {}", it.counts.word(), it.rate),
                    least: it.least.map(|least| least.min(MOST)),
                })
                .collect(),
            counted: evidence.taken.counted.min(MOST),
            others: evidence.taken.others.min(MOST),
        }
    }
}

impl Evidence {
    /// The same as the run had it. A limit that this version does not know is none.
    fn told(&self) -> metrics::Evidence {
        let stated = self.limits.iter();
        let stated = stated.filter_map(|it| {
            let Spec { counts, rate, .. } = it.limit.parse().ok()?;
            let least = it.least;
            Some(metrics::Stated {
                counts,
                rate,
                least,
            })
        });
        metrics::Evidence {
            stated: stated.collect(),
            taken: Taken {
                counted: self.counted,
                others: self.others,
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
fn ms(span: Duration) -> f64 {
    nanos(span) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_read_back_from_its_word() {
        let lost = |exit| Problem::new(exit, "it broke", "");
        let stopped = Stopped {
            rule: "failed>50".to_owned(),
            told: "51 jobs failed".to_owned(),
        };
        for end in [
            End::Finished,
            End::InputLost(lost(Exit::Usage)),
            End::SinkLost(lost(Exit::Unwritten)),
            End::Stopped(stopped.clone()),
            End::Signalled(Signal::Interrupt),
            End::Signalled(Signal::Terminate),
        ] {
            let told = Ended {
                how: end.word().to_owned(),
                why: Some("it broke".to_owned()),
                stopped: Some(stopped.clone()),
                figures: None,
                counts: BTreeMap::new(),
                tries: 0,
                sends: 0,
                cut_off: 0,
                unrecorded: Vec::new(),
            };
            assert_eq!(told.end(), Some(end));
        }
    }
}
