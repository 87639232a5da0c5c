//! The histogram of throughput: answers per second, with marks on the same axis. Floor 4: doors.

use super::fold;

/// How the bars are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks and dashes.
    Unicode,
    /// Seven bits only.
    Ascii,
}

impl Glyphs {
    /// The unit of a bar.
    fn block(self) -> &'static str {
        match self {
            Self::Unicode => "█",
            Self::Ascii => "#",
        }
    }

    /// What stands where a line was cut.
    pub(super) fn cut(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "~",
        }
    }

    /// What stands for a figure that there is none of.
    pub(super) fn dash(self) -> &'static str {
        match self {
            Self::Unicode => "—",
            Self::Ascii => "-",
        }
    }
}

/// Something that is shown at its place on the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    /// Answers per second.
    pub(super) rate: f64,
    /// What it is.
    pub(super) text: String,
}

/// The most rows of seconds.
const BINS: u64 = 6;

/// The most rows, gaps not counted.
const ROWS: usize = 8;

/// The most rows that have a mark and no second: each may have a gap beside it.
const MARKS: usize = 3;

/// Columns of the longest bar, and of that on a narrow page.
const WIDTH: usize = 22;
const SHORT: usize = 12;

/// Columns from which on a page is no narrow one.
const WIDE: usize = 70;

/// A range of rates and the seconds that were in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) seconds: u64,
    pub(super) marks: Vec<String>,
}

impl Row {
    pub(super) fn label(&self) -> String {
        if self.low == self.high {
            format!("{}/s", self.low)
        } else {
            format!("{}-{}/s", self.low, self.high)
        }
    }
}

/// The lines of the histogram in `room` columns; none without a whole second. Marks that have no room beside
/// their bar stand under it.
pub(super) fn histogram(
    per_second: &[u32],
    marks: &[Mark],
    glyphs: Glyphs,
    room: usize,
) -> Vec<String> {
    let rows = rows(per_second, marks);
    let labels = rows.iter().map(|row| row.label().len()).max().unwrap_or(0);
    let most = rows.iter().map(|row| row.seconds).max().unwrap_or(0).max(1);
    let width = if room < WIDE { SHORT } else { WIDTH };
    let mut lines = Vec::new();
    let mut last: Option<u64> = None;
    for row in &rows {
        if last.is_some_and(|high| row.low > high + 1) {
            lines.push(format!("{:>labels$}", ":"));
        }
        last = Some(row.high);
        let length = (row.seconds * width as u64).div_ceil(most);
        let bar = (0..)
            .take(width)
            .map(|at| if at < length { glyphs.block() } else { " " });
        let mut line = format!("{:>labels$} {:>6} s  ", row.label(), row.seconds);
        line.extend(bar);
        if row.marks.is_empty() {
            lines.push(line.trim_end().to_owned());
            continue;
        }
        let marks = row.marks.join("; ");
        if fold::width(&line) + ARROW.len() + fold::width(&marks) <= room {
            lines.push(format!("{line}{ARROW}{marks}"));
        } else {
            let indent = labels + ARROW.len();
            lines.push(line.trim_end().to_owned());
            let before = format!("{:labels$}{ARROW}", "");
            lines.extend(fold::hung(&before, indent, &marks, room));
        }
    }
    lines
}

/// What leads from a mark to its bar.
const ARROW: &str = "  <- ";

/// Even bins over what was observed, and a row for each mark beyond them.
fn rows(per_second: &[u32], marks: &[Mark]) -> Vec<Row> {
    rows_in(per_second, marks, (BINS, ROWS, MARKS))
}

/// The same in at most so many rows: of seconds, all, and those that have a mark alone.
pub(super) fn rows_in(
    per_second: &[u32],
    marks: &[Mark],
    (bins, most_rows, most_marks): (u64, usize, usize),
) -> Vec<Row> {
    let observed = || per_second.iter().map(|&count| u64::from(count));
    let (Some(least), Some(most)) = (observed().min(), observed().max()) else {
        return Vec::new();
    };
    let width = (most - least + 1).div_ceil(bins);
    let count = (most - least + 1).div_ceil(width);
    let mut rows: Vec<Row> = (0..count)
        .map(|bin| Row {
            low: least + bin * width,
            high: least + (bin + 1) * width - 1,
            seconds: 0,
            marks: Vec::new(),
        })
        .collect();
    for rate in observed() {
        let bin = usize::try_from((rate - least) / width).expect("at most a few bins");
        rows[bin].seconds += 1;
    }
    // A bin that is empty is part of a gap.
    rows.retain(|row| row.seconds > 0);
    let mut room = most_rows.saturating_sub(rows.len()).min(most_marks);
    for mark in marks {
        let rate = whole(mark.rate);
        let within = |row: &Row| (row.low..=row.high).contains(&rate);
        if let Some(at) = rows.iter().position(within) {
            rows[at].marks.push(mark.text.clone());
        } else if room == 0 {
            let at = nearest(&rows, rate);
            let text = format!("{} ({rate}/s)", mark.text);
            rows[at].marks.push(text);
        } else {
            room -= 1;
            let at = rows.partition_point(|row| row.high < rate);
            let row = Row {
                low: rate,
                high: rate,
                seconds: 0,
                marks: vec![mark.text.clone()],
            };
            rows.insert(at, row);
        }
    }
    rows
}

/// The row that stands closest to a rate for which there is no room.
fn nearest(rows: &[Row], rate: u64) -> usize {
    let distance = |row: &Row| row.low.saturating_sub(rate) + rate.saturating_sub(row.high);
    (0..rows.len())
        .min_by_key(|&at| distance(&rows[at]))
        .unwrap_or(0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates; rates are never negative"
)]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(rate: f64, text: &str) -> Mark {
        Mark {
            rate,
            text: text.to_owned(),
        }
    }

    #[test]
    fn every_mark_is_on_the_axis_also_where_no_second_was() {
        let marks = [mark(10.0, "mean"), mark(201.4, "slots"), mark(3.0, "low")];
        let lines = histogram(&[9, 10, 10, 11], &marks, Glyphs::Ascii, 96);
        assert_eq!(
            lines,
            [
                "  3/s      0 s                          <- low",
                "    :",
                "  9/s      1 s  ###########",
                " 10/s      2 s  ######################  <- mean",
                " 11/s      1 s  ###########",
                "    :",
                "201/s      0 s                          <- slots",
            ]
        );
    }

    #[test]
    fn many_values_are_binned_evenly_and_each_second_is_counted_once() {
        let per_second: Vec<u32> = (0..100).map(|second| 350 + second).collect();
        let marks: Vec<Mark> = (1..=9).map(|n| mark(f64::from(n) * 1e3, "x")).collect();
        let rows = rows(&per_second, &marks);
        assert!(rows.len() <= ROWS, "{rows:?}");
        assert_eq!(rows.iter().map(|row| row.seconds).sum::<u64>(), 100);
        assert_eq!(rows.iter().map(|row| row.marks.len()).sum::<usize>(), 9);
        let widths: Vec<u64> = rows[..6].iter().map(|row| row.high - row.low).collect();
        assert!(widths.iter().all(|&width| width == widths[0]), "{rows:?}");
    }

    #[test]
    fn without_a_whole_second_there_is_no_histogram() {
        assert!(histogram(&[], &[mark(1.0, "x")], Glyphs::Ascii, 96).is_empty());
    }
}
