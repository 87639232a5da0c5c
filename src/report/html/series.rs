//! The timeline of a run in as many bins as a chart has room for. Floor 4: doors.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::metrics::{Cell, Owner, Summary};
use crate::units::{Tick, nanos};

/// The most bins.
const MOST: u64 = 300;

/// The fewest, as far as there are cells.
const FEWEST: u64 = 16;

/// A bin has room for so many tries at least: with fewer its rate would be an accident.
const TRIES: u64 = 8;

/// Widths of bins, in milliseconds: whole parts of a second, a minute, an hour or a day, or whole numbers of them. A
/// bin of another length would hold now more, now fewer periods of a limit, and a steady run would seem to beat.
const WIDTHS: [u64; 23] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
    300_000, 600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000,
    86_400_000,
];

/// What happened over time, in bins of equal width.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// When the first bin begins, in seconds since the first send.
    pub(super) start: f64,
    /// The width of a bin, in seconds.
    pub(super) width: f64,
    /// When the last bin ends: it is longer or shorter than the others.
    pub(super) end: f64,
    pub(super) bins: Vec<Bin>,
}

/// Means over one bin.
#[derive(Debug, Default, Clone)]
pub(super) struct Bin {
    /// Per second.
    pub(super) sent: f64,
    pub(super) ended: f64,
    pub(super) refused: f64,
    pub(super) in_flight: f64,
    /// Parts of the time, which add up to 1 where any of it has an owner.
    pub(super) owners: BTreeMap<Owner, f64>,
}

impl Series {
    pub(super) fn of(summary: &Summary) -> Self {
        let timeline = &summary.tally.timeline;
        let cells = timeline.cells();
        // Slots that are taken and freed together come in waves as long as a try takes.
        let wave = summary.stretch.mean.unwrap_or_default() * 2;
        let together = together(
            summary.tally.tries,
            wave,
            cells.len() as u64,
            timeline.width(),
        );
        let chunks = chunks(cells, usize::try_from(together).unwrap_or(usize::MAX));
        let width = timeline.width().as_secs_f64();
        let mean = |cells: &[Cell]| Bin::of(cells, width, |cell| timeline.in_flight(cell));
        let start = since(timeline.from(), zero(summary));
        Self {
            start,
            width: width * float(together),
            end: start + width * float(cells.len() as u64),
            bins: chunks.into_iter().map(mean).collect(),
        }
    }

    /// When a bin begins, in seconds.
    pub(super) fn at(&self, bin: usize) -> f64 {
        self.start + self.width * float(bin as u64)
    }

    /// Who had any of the time, most of it first.
    pub(super) fn owners(&self) -> Vec<Owner> {
        let mut sums: BTreeMap<Owner, f64> = BTreeMap::new();
        for (owner, share) in self.bins.iter().flat_map(|bin| &bin.owners) {
            *sums.entry(*owner).or_default() += share;
        }
        let mut owners: Vec<_> = sums.into_iter().collect();
        owners.sort_by(|one, other| other.1.total_cmp(&one.1));
        owners.into_iter().map(|(owner, _)| owner).collect()
    }
}

impl Bin {
    fn of(cells: &[Cell], width: f64, in_flight: impl Fn(&Cell) -> f64) -> Self {
        let count = float(cells.len() as u64);
        let per_second =
            |part: fn(&Cell) -> u64| float(cells.iter().map(part).sum()) / (width * count);
        let mut owners: BTreeMap<Owner, f64> = BTreeMap::new();
        for (owner, span) in cells.iter().flat_map(Cell::owners) {
            *owners.entry(owner).or_default() += span.as_secs_f64();
        }
        let all: f64 = owners.values().sum();
        for share in owners.values_mut() {
            *share /= all;
        }
        Self {
            sent: per_second(|cell| cell.sent),
            ended: per_second(|cell| cell.ended),
            refused: per_second(|cell| cell.refused),
            in_flight: cells.iter().map(in_flight).sum::<f64>() / count,
            owners,
        }
    }
}

/// So many cells in each bin. What is left over is too short for a rate of its own if it is under half a bin: then it
/// belongs to the bin before.
fn chunks(cells: &[Cell], together: usize) -> Vec<&[Cell]> {
    let over = cells.len() % together;
    let alone = over * 2 >= together || cells.len() < together;
    let whole = cells.len() - if alone { 0 } else { over + together };
    let mut chunks: Vec<&[Cell]> = cells[..whole].chunks(together).collect();
    chunks.extend((!alone).then(|| &cells[whole..]));
    chunks
}

/// What charts call zero: the start of the cell of the first send.
pub(super) fn zero(summary: &Summary) -> Tick {
    let width = nanos(summary.tally.timeline.width());
    match summary.tally.sends.count {
        0 => summary.tally.timeline.from(),
        _ => Tick(summary.tally.sends.first.0 / width * width),
    }
}

/// In seconds; before zero it is negative.
pub(super) fn since(at: Tick, zero: Tick) -> f64 {
    at.since(zero).as_secs_f64() - zero.since(at).as_secs_f64()
}

/// How many cells make a bin that has its share of so many tries, and is as long as a wave of them.
pub(super) fn together(tries: u64, wave: Duration, cells: u64, width: Duration) -> u64 {
    let tries = tries.max(1);
    let waves = wave.as_nanos().div_ceil(width.as_nanos().max(1));
    let fewest = (cells * TRIES / tries)
        .max(cells.div_ceil(MOST))
        .max(u64::try_from(waves).unwrap_or(u64::MAX));
    let wanted = fewest.min(cells / FEWEST).max(1);
    let cell = nanos(width).max(1);
    let mut bins = WIDTHS.into_iter().map(|millis| millis * 1_000_000);
    let bin = bins.find(|bin| *bin / cell >= wanted && bin.is_multiple_of(cell));
    // Cells of days have no smaller parts to be told in.
    bin.map_or(wanted, |bin| bin / cell)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn bins_hold_all_that_the_cells_do() {
        for (name, report) in samples::all() {
            let summary = &report.summary;
            let series = Series::of(summary);
            assert!(
                series.bins.len() as u64 <= MOST,
                "{name}: {}",
                series.bins.len()
            );
            let last = series.bins.len().saturating_sub(1);
            let sent = series.bins.iter().enumerate().map(|(nth, bin)| {
                let end = if nth == last {
                    series.end
                } else {
                    series.at(nth + 1)
                };
                bin.sent * (end - series.at(nth))
            });
            let (sent, all): (f64, f64) = (sent.sum(), float(summary.tally.sends.count));
            assert!(
                (sent - all).abs() < 1e-6 * all.max(1.0),
                "{name}: {sent} of {all}"
            );
            for bin in &series.bins {
                let sum: f64 = bin.owners.values().sum();
                assert!(
                    bin.owners.is_empty() || (sum - 1.0).abs() < 1e-9,
                    "{name}: {bin:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_left_over_is_a_bin_only_if_it_is_half_of_one() {
        let cells = vec![Cell::default(); 25];
        let lengths = |together| -> Vec<usize> {
            chunks(&cells, together).iter().map(|it| it.len()).collect()
        };
        assert_eq!(lengths(10), [10, 10, 5]);
        assert_eq!(lengths(11), [11, 14]);
        assert_eq!(lengths(5), [5, 5, 5, 5, 5]);
        assert_eq!((lengths(25), lengths(40)), (vec![25], vec![25]));
    }

    #[test]
    fn an_even_run_is_even_and_its_bins_are_whole_seconds_or_parts_of_one() {
        let series = Series::of(&samples::held_by_qps().summary);
        assert!((series.width - 1.0).abs() < 1e-9, "{}", series.width);
        let inner = &series.bins[1..series.bins.len() - 1];
        assert!(
            inner.iter().all(|bin| (bin.sent - 10.0).abs() < 1e-6),
            "{inner:?}"
        );
        assert_eq!(series.owners()[0], Owner::Limit(0));
        assert!(series.start == 0.0 && (series.at(1) - 1.0).abs() < 1e-9);
    }
}
