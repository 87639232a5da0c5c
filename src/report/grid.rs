//! A table that fits its terminal: in one piece, in two, or as lines of cells that are never torn. Floor 4: doors.

use std::ops::Range;

/// The fewest columns that a name is cut to before the cells go below it.
const SHORTEST_NAME: usize = 24;

/// What stands before a line that belongs to the one above.
const INDENT: usize = 2;

/// A table with a name and cells in each row.
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    /// Of a row without cells there is nothing to tell.
    pub(super) rows: Vec<(String, Option<Vec<String>>)>,
    /// What stands for a cell that is not there.
    pub(super) none: &'static str,
}

/// A column of it.
pub(super) struct Column {
    /// The two lines of its heading.
    pub(super) head: [&'static str; 2],
    /// What stands before and behind a cell that has no heading above it.
    pub(super) words: [&'static str; 2],
    pub(super) side: Side,
}

/// At which side the cells of a column are even.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Cut to so many characters, the last one saying so.
pub(super) fn cut(text: &str, room: usize, sign: &str) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(room.saturating_sub(1)).collect();
    shown.push_str(sign);
    shown
}

/// The columns of names: those of the longest, cut if `rest` columns beside it leave less; `None` if that is
/// too few.
pub(super) fn names<'a>(
    names: impl Iterator<Item = &'a str>,
    rest: usize,
    columns: usize,
) -> Option<usize> {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let room = columns.checked_sub(rest)?;
    let least = longest.min(SHORTEST_NAME);
    (room >= least).then(|| longest.min(room))
}

impl Grid {
    /// The lines of the whole table, else of its two halves, else of its cells; the heading is `title`.
    pub(super) fn lines(&self, title: &str, columns: usize, sign: &str) -> Vec<String> {
        let all = 0..self.columns.len();
        if let Some(lines) = self.wide(title, all.clone(), columns, sign) {
            return lines;
        }
        let (first, second) = (0..all.end / 2, all.end / 2..all.end);
        let halves = self
            .wide(title, first, columns, sign)
            .zip(self.wide("", second, columns, sign));
        match halves {
            Some((first, second)) => [first, vec![String::new()], second].concat(),
            None => self.folded(title, columns, sign),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.0.as_str())
    }

    fn widths(&self) -> Vec<usize> {
        let of = |(nth, column): (usize, &Column)| {
            let rows = self.rows.iter().filter_map(|row| row.1.as_ref());
            let cells = rows.map(|cells| cells[nth].chars().count());
            let heads = column.head.iter().map(|head| head.chars().count());
            cells.chain(heads).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(of).collect()
    }

    /// These columns beside the names, if there is room for them: names are cut before there is none.
    fn wide(
        &self,
        title: &str,
        shown: Range<usize>,
        columns: usize,
        sign: &str,
    ) -> Option<Vec<String>> {
        let widths = &self.widths()[shown.clone()];
        let (gap, names) = [2, 1].into_iter().find_map(|gap| {
            let all: usize = widths.iter().map(|width| width + gap).sum();
            let names = names(self.names(), all + INDENT, columns)?;
            let whole = self.names().all(|name| name.chars().count() <= names);
            (gap == 1 || whole).then_some((gap, names))
        })?;
        let row = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
            let mut line = format!("{name:<width$}", width = names + INDENT);
            for ((cell, width), column) in cells.zip(widths).zip(&self.columns[shown.clone()]) {
                line.push_str(&" ".repeat(gap));
                let cell = match column.side {
                    Side::Left => format!("{cell:<width$}"),
                    Side::Right => format!("{cell:>width$}"),
                };
                line.push_str(&cell);
            }
            line.trim_end().to_owned()
        };
        let head = |nth: usize| {
            let columns = self.columns[shown.clone()].iter();
            columns.map(move |column| column.head[nth])
        };
        let mut lines = vec![row("", &mut head(0)), row(title, &mut head(1))];
        for (name, cells) in &self.rows {
            let name = format!("  {}", cut(name, names, sign));
            let cell = |nth: usize| {
                cells
                    .as_ref()
                    .map_or(self.none, |cells| cells[nth].as_str())
            };
            lines.push(row(&name, &mut shown.clone().map(cell)));
        }
        Some(lines)
    }

    fn folded(&self, title: &str, columns: usize, sign: &str) -> Vec<String> {
        let mut lines = vec![title.to_owned()];
        for (name, cells) in &self.rows {
            lines.push(format!("  {}", cut(name, columns - INDENT, sign)));
            let Some(cells) = cells else {
                lines.push(format!("    {}", self.none));
                continue;
            };
            let cells = cells.iter().zip(&self.columns).map(|(cell, column)| {
                let [before, behind] = column.words;
                format!("{before}{cell}{behind}")
            });
            let cells: Vec<String> = cells.collect();
            let packed = packed(&cells, 3, columns - 2 * INDENT);
            lines.extend(packed.iter().map(|line| format!("    {line}")));
        }
        lines
    }
}

/// Parts with so many spaces between them, in lines of at most `room` columns but for longer parts.
pub(super) fn packed(parts: &[String], gap: usize, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + gap + part.chars().count() <= room => {
                line.push_str(&" ".repeat(gap));
                line.push_str(part);
            }
            Some(_) | None => lines.push(part.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let column = |head, words, side| Column { head, words, side };
        let row = |name: &str, cells: [&str; 3]| {
            let cells = cells.map(str::to_owned).into();
            (name.to_owned(), Some(cells))
        };
        Grid {
            columns: vec![
                column(["most in", "1 s"], ["", " in 1 s"], Side::Right),
                column(["", "p50"], ["p50 ", ""], Side::Right),
                column(["", "bound by"], ["bound by ", ""], Side::Left),
            ],
            rows: vec![
                row("semaphore 20", ["400", "1.25 s", "slots"]),
                row("a name of thirty characters xx", ["10", "50.0 ms", "qps"]),
            ],
            none: "-",
        }
    }

    #[test]
    fn with_room_cells_stand_in_columns() {
        assert_eq!(
            grid().lines("FIGURES", 80, "~"),
            [
                "                                  most in",
                "FIGURES                               1 s      p50  bound by",
                "  semaphore 20                        400   1.25 s  slots",
                "  a name of thirty characters xx       10  50.0 ms  qps",
            ]
        );
    }

    #[test]
    fn with_less_names_are_cut_first() {
        let lines = grid().lines("FIGURES", 54, "~");
        assert_eq!(
            lines[3],
            "  a name of thirty character~      10 50.0 ms qps"
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= 54),
            "{lines:?}"
        );
    }

    #[test]
    fn with_less_than_that_it_is_in_two_pieces() {
        let lines = grid().lines("FIGURES", 45, "~");
        let head = |line: &str| line.split_whitespace().last().map(str::to_owned);
        assert_eq!(head(&lines[1]).as_deref(), Some("1 s").and(Some("s")));
        assert_eq!(lines[4], "");
        assert!(lines[6].trim_start().starts_with("p50"), "{lines:?}");
        assert_eq!(lines.len(), 9);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 45),
            "{lines:?}"
        );
    }

    #[test]
    fn without_room_cells_are_folded_and_never_torn() {
        assert_eq!(
            grid().lines("FIGURES", 30, "~"),
            [
                "FIGURES",
                "  semaphore 20",
                "    400 in 1 s   p50 1.25 s",
                "    bound by slots",
                "  a name of thirty characters~",
                "    10 in 1 s   p50 50.0 ms",
                "    bound by qps",
            ]
        );
    }
}
