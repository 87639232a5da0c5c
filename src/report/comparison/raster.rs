//! Sends over the first part of a run, in cells of equal width. Floor 4: doors.

use std::time::Duration;

use crate::report::Glyphs;
use crate::units::{Rate, Tick, nanos};

/// Cells of a raster.
pub const CELLS: usize = 40;

/// Periods of a window that a raster shows at least, to see what a boundary does.
const PERIODS: u32 = 2;

/// Sends at the rate that a raster shows at least, to see how even they are.
const SENDS: u32 = 20;

/// Sends over the first part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    /// The width of a cell.
    pub width: Duration,
    /// The first begins with the run.
    pub cells: Vec<Cell>,
}

/// What was sent within a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cell {
    /// Tries that were sent.
    pub sent: u64,
    /// Those of them that were answered with 429.
    pub refused: u64,
}

impl Raster {
    /// An empty one that suits a window and a rate.
    pub fn new(window: &Rate, rate: &Rate) -> Self {
        let each = rate.period.as_nanos() / u128::from(rate.count.get());
        let each = Duration::from_nanos(u64::try_from(each).unwrap_or(u64::MAX));
        let span = window.period.saturating_mul(PERIODS);
        let span = span.max(each.saturating_mul(SENDS));
        let least = nanos(span).div_ceil(CELLS as u64);
        Self {
            width: round(Duration::from_nanos(least)),
            cells: vec![Cell::default(); CELLS],
        }
    }

    /// A try was sent.
    pub fn sent(&mut self, at: Tick) {
        if let Some(cell) = self.at(at) {
            cell.sent += 1;
        }
    }

    /// A try that was sent then was answered with 429.
    pub fn refused(&mut self, sent: Tick) {
        if let Some(cell) = self.at(sent) {
            cell.refused += 1;
        }
    }

    fn at(&mut self, at: Tick) -> Option<&mut Cell> {
        let place = usize::try_from(at.0 / nanos(self.width)).ok()?;
        self.cells.get_mut(place)
    }
}

/// The next longer span that people count in.
fn round(span: Duration) -> Duration {
    const LARGE: [u64; 13] = [
        2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200,
    ];
    let day = 86_400;
    let small = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
    let small = small.chain([1_000_000_000]).map(Duration::from_nanos);
    let large = LARGE
        .into_iter()
        .chain([3 * 3_600, 6 * 3_600, 12 * 3_600])
        .map(Duration::from_secs);
    let days = (0..).map_while(|power| Some(Duration::from_secs(day * 2u64.checked_pow(power)?)));
    let mut all = small.chain(large).chain(days);
    all.find(|&round| round >= span).unwrap_or(span)
}

/// The marks of a raster: for each the largest count that it stands for.
pub(super) struct Scale {
    glyphs: Glyphs,
    steps: [u64; 3],
}

impl Scale {
    /// 1, 4 and 10 up to ten a second, in proportion above that.
    pub(super) fn new(rate: &Rate, glyphs: Glyphs) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a power of ten fits")]
        let fits = |unit: &u64| *unit as f64 * 10.0 <= rate.per_second().max(10.0);
        let units = std::iter::successors(Some(1u64), |unit| unit.checked_mul(10));
        let unit = units.take_while(fits).last().unwrap_or(1);
        Self {
            glyphs,
            steps: [1, 4, 10].map(|step| unit.saturating_mul(step)),
        }
    }

    fn marks(&self) -> [char; 5] {
        match self.glyphs {
            Glyphs::Unicode => ['·', '▁', '▂', '▄', '█'],
            Glyphs::Ascii => ['.', '-', '+', 'x', '#'],
        }
    }

    pub(super) fn mark(&self, count: u64) -> char {
        let marks = self.marks();
        match self.steps.iter().position(|&step| count <= step) {
            _ if count == 0 => marks[0],
            Some(step) => marks[step + 1],
            None => marks[4],
        }
    }

    /// `· 0`, `▁ 1`, `▂ 2-4`, `▄ 5-10`, `█ 11+`
    pub(super) fn legend(&self) -> Vec<String> {
        let marks = self.marks();
        let mut parts = vec![format!("{} 0", marks[0])];
        let mut from = 1;
        for (mark, &to) in marks[1..].iter().zip(&self.steps) {
            parts.push(if from == to {
                format!("{mark} {to}")
            } else {
                format!("{mark} {from}-{to}")
            });
            from = to.saturating_add(1);
        }
        parts.push(format!("{} {from}+", marks[4]));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(window: &str, rate: &str) -> Duration {
        Raster::new(&window.parse().unwrap(), &rate.parse().unwrap()).width
    }

    #[test]
    fn a_raster_shows_two_periods_and_twenty_sends() {
        let millis = Duration::from_millis;
        assert_eq!(width("10/s", "10"), millis(50));
        assert_eq!(width("100/250ms", "100/250ms"), millis(20));
        assert_eq!(width("1/h", "1/h"), millis(1_800_000));
        assert_eq!(width("1M/s", "1M/s"), millis(50));
        assert_eq!(width("5/us", "5/us"), Duration::from_nanos(100));
        assert_eq!(width("1/7000d", "1/7000d"), 4096 * millis(86_400_000));
        let longest = width("1/18446744073s", "1/18446744073s");
        assert!(longest > Duration::from_secs(400_000_000), "{longest:?}");
    }

    #[test]
    fn what_is_beyond_the_last_cell_is_left_out() {
        let rate = "10".parse().unwrap();
        let mut raster = Raster::new(&rate, &rate);
        for at in [0, 49_999_999, 50_000_000, 1_999_999_999, 2_000_000_000] {
            raster.sent(Tick(at));
        }
        raster.refused(Tick(50_000_000));
        let sent: u64 = raster.cells.iter().map(|cell| cell.sent).sum();
        assert_eq!(sent, 4);
        assert_eq!(
            raster.cells[1],
            Cell {
                sent: 1,
                refused: 1
            }
        );
        assert_eq!(raster.cells[39].sent, 1);
    }

    #[test]
    fn marks_grow_with_the_rate() {
        let scale = |rate: &str| Scale::new(&rate.parse().unwrap(), Glyphs::Ascii);
        assert_eq!(
            scale("10").legend().join("  "),
            ". 0  - 1  + 2-4  x 5-10  # 11+"
        );
        assert_eq!(scale("0.5").legend(), scale("10").legend());
        assert_eq!(
            scale("100").legend().join("  "),
            ". 0  - 1-10  + 11-40  x 41-100  # 101+"
        );
        let marks: String = [0, 1, 2, 4, 5, 10, 11]
            .map(|count| scale("10").mark(count))
            .iter()
            .collect();
        assert_eq!(marks, ".-++xx#");
    }
}
