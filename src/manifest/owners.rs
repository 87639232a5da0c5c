//! Whose the time was, moment by moment: few numbers for the longest run. Floor 4: doors.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::{Owner, Timeline};
use crate::units::{Tick, nanos};

/// The time of each owner in cells of equal width, at most 2048 of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owners {
    /// The beginning of the first cell, in microseconds since the Unix epoch.
    from_us: u64,
    /// The width of each cell, in microseconds.
    width_us: u64,
    /// For each owner its microseconds in each cell, equal ones counted: `3*10000 8200` is three whole cells
    /// of 10 ms and 8.2 ms of the next.
    spans: BTreeMap<String, String>,
}

impl Owners {
    /// Of this run and of those before it, if anything tells of them. The start of the run is in microseconds
    /// since the Unix epoch.
    pub fn of(run: &Timeline, started_us: u64, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return Self::written(run, started_us);
        };
        let zero = before.from_us.min(started_us);
        let mut both = Timeline::default();
        before.add_to(&mut both, zero, Some);
        Self::written(run, started_us).add_to(&mut both, zero, Some);
        Self::written(&both, zero)
    }

    fn written(timeline: &Timeline, started_us: u64) -> Self {
        let count = timeline.cells().len();
        let mut spans: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (nth, cell) in timeline.cells().iter().enumerate() {
            for (owner, span) in cell.owners() {
                let own = spans
                    .entry(owner.word().into_owned())
                    .or_insert_with(|| vec![0; count]);
                own[nth] = nanos(span) / 1_000;
            }
        }
        let spans = spans.into_iter();
        Self {
            from_us: started_us + timeline.from().0 / 1_000,
            width_us: nanos(timeline.width()) / 1_000,
            spans: spans
                .map(|(owner, spans)| (owner, counted(&spans)))
                .collect(),
        }
    }

    /// Adds these times to a timeline that begins at this moment, in microseconds since the Unix epoch. Owners
    /// are given other names, or none. Within a cell they follow one another: nothing tells their order.
    pub fn add_to(
        &self,
        timeline: &mut Timeline,
        zero_us: u64,
        named: impl Fn(Owner) -> Option<Owner>,
    ) {
        let mut taken: Vec<u64> = Vec::new();
        for (word, spans) in &self.spans {
            let Some(owner) = Owner::of(word).and_then(&named) else {
                continue;
            };
            for (nth, span) in spans.split(' ').flat_map(repeated).take(MOST).enumerate() {
                if taken.len() <= nth {
                    taken.resize(nth + 1, 0);
                }
                let cell = self.width_us.saturating_mul(nth as u64);
                let from = self.from_us.saturating_add(cell).saturating_add(taken[nth]);
                let from = from.saturating_sub(zero_us).saturating_mul(1_000);
                let span = span.min(self.width_us.saturating_sub(taken[nth]));
                taken[nth] += span;
                let to = Tick(from).after(Duration::from_micros(span));
                timeline.held(Tick(from), to, owner);
            }
        }
    }
}

/// The most cells that are read.
const MOST: usize = 1 << 12;

/// `10000 10000 8200` as `2*10000 8200`.
fn counted(spans: &[u64]) -> String {
    let mut text = String::new();
    for equal in spans.chunk_by(|one, next| one == next) {
        if !text.is_empty() {
            text.push(' ');
        }
        let _ = match (equal, equal.len()) {
            ([], _) => Ok(()),
            ([span, ..], 1) => write!(text, "{span}"),
            ([span, ..], count) => write!(text, "{count}*{span}"),
        };
    }
    text
}

/// What is no number is nothing.
fn repeated(word: &str) -> std::iter::RepeatN<u64> {
    let (count, span) = word.split_once('*').unwrap_or(("1", word));
    let count: usize = count.parse().unwrap_or(0);
    std::iter::repeat_n(span.parse().unwrap_or(0), count.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Tick {
        Tick(count * 1_000_000)
    }

    /// Each owner's time in all cells.
    fn sums(timeline: &Timeline) -> BTreeMap<Owner, Duration> {
        let mut sums = BTreeMap::new();
        for (owner, span) in timeline
            .cells()
            .iter()
            .flat_map(crate::metrics::Cell::owners)
        {
            *sums.entry(owner).or_default() += span;
        }
        sums
    }

    fn run(from: u64, owner: Owner) -> Timeline {
        let mut run = Timeline::default();
        run.held(ms(from), ms(from + 3_000), owner);
        run.held(ms(from + 3_000), ms(from + 3_007), Owner::Nothing);
        run
    }

    #[test]
    fn what_is_written_of_a_run_is_read_to_the_microsecond() {
        let run = run(40, Owner::Limit(1));
        let owners = Owners::of(&run, 1_000_000, None);
        assert_eq!(owners.spans["limit 2"], "300*10000 0");
        assert_eq!(owners.spans["none"], "300*0 7000");
        let mut read = Timeline::default();
        owners.add_to(&mut read, 1_000_000, Some);
        assert_eq!(read, run);
    }

    #[test]
    fn runs_that_follow_each_other_are_told_together() {
        let first = Owners::of(&run(0, Owner::Slot), 5_000_000, None);
        let both = Owners::of(&run(0, Owner::Limit(0)), 95_000_000, Some(&first));
        let mut read = Timeline::default();
        both.add_to(&mut read, 5_000_000, Some);
        let whole = Duration::from_secs(3);
        let told = BTreeMap::from([
            (Owner::Nothing, Duration::from_millis(14)),
            (Owner::Slot, whole),
            (Owner::Limit(0), whole),
        ]);
        assert_eq!(sums(&read), told);
        let last = ms(95_000 - 5_000 + 3_006).0 / nanos(read.width());
        assert_eq!(read.cells().len() as u64, last + 1);
    }

    #[test]
    fn nonsense_in_the_file_is_no_time() {
        let owners = Owners {
            from_us: u64::MAX,
            width_us: u64::MAX,
            spans: BTreeMap::from([
                ("slot".to_owned(), "99999999999999*1 x 3*y".to_owned()),
                ("limit 0".to_owned(), "5".to_owned()),
            ]),
        };
        let mut read = Timeline::default();
        owners.add_to(&mut read, 0, Some);
        assert!(read.cells().len() <= 2048);
    }
}
