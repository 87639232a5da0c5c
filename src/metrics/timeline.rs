//! What happened when, in cells of equal width that widen with the run. Floor 3: rules.

use std::time::Duration;

use http::StatusCode;

use super::Owner;
use crate::units::{Tick, nanos};

/// The most cells: more than a chart has columns, also right after five became one.
const CELLS: u64 = 2048;

/// The widths of cells, in milliseconds; the next one whenever the cells do not reach. Each is a whole part of the
/// next, and of a second, or a whole number of them: limits count by the second, the minute, the hour and the day, and
/// cells of another length would hold now more, now fewer of their periods.
const WIDTHS: [u64; 17] = [
    10, 20, 100, 200, 1_000, 2_000, 10_000, 20_000, 60_000, 120_000, 600_000, 1_200_000, 3_600_000,
    7_200_000, 21_600_000, 43_200_000, 86_400_000,
];

/// Nanoseconds of a millisecond.
const MILLI: u64 = 1_000_000;

/// What happened in each cell of time. Memory: at most 2048 cells, whatever the run.
///
/// Nothing depends on the order in which it is told, so runs are added up by telling of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Nanoseconds.
    width: u64,
    /// The number of the first cell: cell `n` is from `n` to `n + 1` widths after time zero.
    first: u64,
    cells: Vec<Cell>,
}

/// What happened in one cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// Tries that were sent.
    pub sent: u64,
    /// Tries that ended.
    pub ended: u64,
    /// Of these, answers with status 429.
    pub refused: u64,
    /// Time integral of the tries in flight, in nanoseconds; stays at the largest.
    flight: u64,
    /// Nanoseconds of each owner, by its place.
    owners: Vec<u64>,
}

impl Cell {
    /// Whose time it was, and how much.
    pub fn owners(&self) -> impl Iterator<Item = (Owner, Duration)> {
        let each = self.owners.iter().enumerate();
        each.filter(|&(_, &span)| span > 0)
            .map(|(place, &span)| (Owner::at(place), Duration::from_nanos(span)))
    }

    fn credit(&mut self, owner: Owner, span: u64) {
        let place = owner.place();
        if self.owners.len() <= place {
            self.owners.resize(place + 1, 0);
        }
        self.owners[place] += span;
    }

    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.ended += other.ended;
        self.refused += other.refused;
        self.flight = self.flight.saturating_add(other.flight);
        for (owner, span) in other.owners() {
            self.credit(owner, nanos(span));
        }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width: WIDTHS[0] * MILLI,
            first: 0,
            cells: Vec::new(),
        }
    }
}

impl Timeline {
    /// The start of the first cell.
    pub fn from(&self) -> Tick {
        Tick(self.first * self.width)
    }

    /// The width of each cell.
    pub fn width(&self) -> Duration {
        Duration::from_nanos(self.width)
    }

    /// The cells, without gaps.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Mean tries in flight in a cell.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    pub fn in_flight(&self, cell: &Cell) -> f64 {
        cell.flight as f64 / self.width as f64
    }

    /// A try was sent.
    pub fn sent(&mut self, at: Tick) {
        self.cell(at).sent += 1;
    }

    /// A try ended, with this status if one came.
    pub fn ended(&mut self, at: Tick, status: Option<StatusCode>) {
        let cell = self.cell(at);
        cell.ended += 1;
        cell.refused += u64::from(status == Some(StatusCode::TOO_MANY_REQUESTS));
    }

    /// So many tries were in flight meanwhile.
    pub fn flight(&mut self, from: Tick, to: Tick, tries: u64) {
        if tries > 0 {
            self.over(from, to, |cell, span| {
                cell.flight = cell.flight.saturating_add(span.saturating_mul(tries));
            });
        }
    }

    /// The time was this owner's meanwhile.
    pub fn held(&mut self, from: Tick, to: Tick, owner: Owner) {
        self.over(from, to, |cell, span| cell.credit(owner, span));
    }

    /// Each cell that this time touches, with the nanoseconds of it in there.
    fn over(&mut self, from: Tick, to: Tick, mut add: impl FnMut(&mut Cell, u64)) {
        if to <= from {
            return;
        }
        let first = self.reach(from);
        let begin = self.from().0 + first as u64 * self.width;
        if to.0 <= begin.saturating_add(self.width) {
            return add(&mut self.cells[first], to.0 - from.0);
        }
        let last = self.reach(Tick(to.0 - 1));
        let first = self.reach(from);
        let (start, width) = (self.from().0, self.width);
        for (nth, cell) in self.cells[first..=last].iter_mut().enumerate() {
            let begin = start + (first + nth) as u64 * width;
            add(
                cell,
                to.0.min(begin.saturating_add(width)) - from.0.max(begin),
            );
        }
    }

    fn cell(&mut self, at: Tick) -> &mut Cell {
        let place = self.reach(at);
        &mut self.cells[place]
    }

    /// Makes room for this moment, and says in which cell it is.
    #[inline]
    fn reach(&mut self, at: Tick) -> usize {
        // Time goes on, so it is nearly always the last one; a division costs more than all the rest.
        if let Some(last) = self.cells.len().checked_sub(1) {
            let begin = (self.first + last as u64) * self.width;
            if at
                .0
                .checked_sub(begin)
                .is_some_and(|into| into < self.width)
            {
                return last;
            }
        }
        self.reach_out(at)
    }

    /// The same for a moment that is not in the last cell.
    fn reach_out(&mut self, at: Tick) -> usize {
        loop {
            let number = at.0 / self.width;
            if let Some(place) = number.checked_sub(self.first).map(place)
                && place < self.cells.len()
            {
                return place;
            }
            if self.cells.is_empty() {
                self.first = number;
            }
            let end = self.first + self.cells.len() as u64;
            let (first, end) = (self.first.min(number), end.max(number + 1));
            if end - first > CELLS {
                self.widen();
                continue;
            }
            let before = place(self.first - first);
            if before > 0 {
                let cells = std::iter::repeat_n(Cell::default(), before);
                self.cells.splice(0..0, cells);
                self.first = first;
            }
            self.cells.resize(place(end - first), Cell::default());
            return place(number - first);
        }
    }

    /// Goes on to the next width: some cells become one. Beyond a day it is doubled.
    fn widen(&mut self) {
        let mut widths = WIDTHS.into_iter().map(|width| width * MILLI);
        let wider = widths.find(|width| *width > self.width);
        let wider = wider.unwrap_or(self.width * 2);
        let together = wider / self.width;
        let mut cells: Vec<Cell> = Vec::new();
        for (number, cell) in (self.first..).zip(self.cells.drain(..)) {
            match cells.last_mut() {
                Some(last) if number % together != 0 => last.add(&cell),
                Some(_) | None => cells.push(cell),
            }
        }
        self.cells = cells;
        self.width = wider;
        self.first /= together;
    }
}

/// A number of cells as a place among them.
fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Tick {
        Tick(count * MILLI)
    }

    fn sums(timeline: &Timeline) -> (u64, u64, Duration) {
        let cells = timeline.cells().iter();
        let spans = cells.clone().flat_map(Cell::owners).map(|(_, span)| span);
        (
            cells.clone().map(|cell| cell.sent).sum(),
            cells.map(|cell| cell.flight).sum(),
            spans.sum(),
        )
    }

    #[test]
    fn whatever_its_length_and_order_a_run_has_at_most_2048_cells_that_hold_all_of_it() {
        let moments = [7, 0, 3, 123_456, 90_000, 40, 86_400_000, 5_000];
        let mut orders = [moments, moments];
        orders[1].reverse();
        let [first, second] = orders.map(|moments| {
            let mut timeline = Timeline::default();
            for at in moments {
                timeline.sent(ms(at));
                timeline.flight(ms(at), ms(at + 150), 3);
                timeline.held(ms(at), ms(at + 70), Owner::Slot);
                assert!(timeline.cells().len() <= 2048);
            }
            timeline
        });
        let count = moments.len() as u64;
        let whole = (
            count,
            count * 450_000_000,
            Duration::from_millis(70 * count),
        );
        assert_eq!(sums(&first), whole);
        assert_eq!(first, second);
    }

    #[test]
    fn a_cell_of_any_run_is_a_whole_part_of_a_second_or_whole_seconds() {
        const SECOND: u64 = 1_000_000_000;
        for pair in WIDTHS.windows(2) {
            assert_eq!(pair[1] % pair[0], 0, "{pair:?}");
        }
        for seconds in [
            1,
            15,
            30,
            100,
            700,
            3_000,
            30_000,
            1_000_000,
            10_000_000_000,
        ] {
            let mut timeline = Timeline::default();
            timeline.sent(Tick::ZERO);
            timeline.sent(Tick(seconds * SECOND));
            let (width, cells) = (nanos(timeline.width()), timeline.cells().len());
            let whole = SECOND.is_multiple_of(width) || width.is_multiple_of(SECOND);
            assert!(whole, "{seconds} s: {width} ns");
            assert!(seconds < 5 || cells >= 300, "{seconds} s: {cells} cells");
        }
    }

    #[test]
    fn a_million_tries_in_flight_for_years_do_not_overflow() {
        let mut timeline = Timeline::default();
        timeline.flight(Tick::ZERO, Tick(u64::MAX), 1_000_000);
        timeline.flight(Tick::ZERO, Tick(u64::MAX), 1_000_000);
        assert!(timeline.in_flight(&timeline.cells()[0]) > 1.0);
    }

    #[test]
    fn a_long_time_is_spread_over_its_cells() {
        let mut timeline = Timeline::default();
        timeline.flight(ms(5), ms(25), 2);
        let means: Vec<f64> = timeline
            .cells()
            .iter()
            .map(|cell| timeline.in_flight(cell))
            .collect();
        assert_eq!(means, [1.0, 2.0, 1.0]);
        assert_eq!(
            (timeline.from(), timeline.width()),
            (ms(0), Duration::from_millis(10))
        );
    }
}
