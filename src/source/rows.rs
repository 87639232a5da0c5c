//! Rows of a table, whose cells may hold line ends within quotes. RFC 4180. Floor 4: doors.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::cuts::{Cut, Cutter, Rest};
use super::lines::KEPT;
use super::record::{Cells, End};

/// Finds rows, and what stands in their cells. A row ends with CR, LF or CR LF.
pub(super) struct Rows {
    reader: Reader,
    delimiter: u8,
    /// Where the row begins, or the ends of lines before it.
    from: usize,
    /// Where to look on.
    at: usize,
    /// What stands in the cells, without quotes, one behind the other; where each ends.
    text: Vec<u8>,
    written: usize,
    ends: Vec<usize>,
    ended: usize,
    is_over: bool,
}

impl Rows {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            reader: reader(delimiter),
            delimiter,
            from: 0,
            at: 0,
            text: vec![0; 1 << 10],
            written: 0,
            ends: vec![0; 16],
            ended: 0,
            is_over: false,
        }
    }

    /// A row of which all was looked at.
    fn row(&self, bytes: &[u8], end: End) -> Cut {
        let at = match end {
            End::Mark => self.from..self.at - 1,
            End::Input => self.from..self.at,
        };
        if end == End::Input && is_open(self.delimiter, &bytes[at.clone()]) {
            return Cut::Broken {
                at,
                why: "input ends inside a quoted field",
            };
        }
        Cut::Record {
            at,
            end,
            behind: self.at,
        }
    }
}

impl Cutter for Rows {
    fn cut(&mut self, bytes: &[u8], rest: Rest) -> Cut {
        if self.is_over {
            return Cut::Over;
        }
        if self.from == self.at {
            (self.written, self.ended) = (0, 0);
            self.text.truncate(KEPT);
            self.text.shrink_to(KEPT);
        }
        loop {
            let input = &bytes[self.at..];
            if input.is_empty() && rest == Rest::Unknown {
                return Cut::More(self.from);
            }
            let (text, ends) = (&mut self.text[self.written..], &mut self.ends[self.ended..]);
            let (result, read, written, ended) = self.reader.read_record(input, text, ends);
            self.at += read;
            self.written += written;
            self.ended += ended;
            // The ends of lines before a row are none of it.
            let blank = |byte: &&u8| matches!(byte, b'\r' | b'\n');
            self.from += bytes[self.from..self.at].iter().take_while(blank).count();
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record if input.is_empty() => {
                    self.is_over = true;
                    return self.row(bytes, End::Input);
                }
                ReadRecordResult::Record => return self.row(bytes, End::Mark),
                ReadRecordResult::End => {
                    self.is_over = true;
                    return Cut::Over;
                }
            }
        }
    }

    fn let_go(&mut self, bytes: usize) {
        if bytes > self.from {
            // Of a row that is too long nothing is read.
            (self.written, self.ended) = (0, 0);
        }
        self.at -= bytes;
        self.from = self.from.saturating_sub(bytes);
    }

    fn cells(&self) -> Cells<'_> {
        Cells {
            text: &self.text[..self.written],
            ends: &self.ends[..self.ended],
            delimiter: self.delimiter,
        }
    }
}

/// Whether a row ends within quotes: then a line end behind it is a part of it.
fn is_open(delimiter: u8, row: &[u8]) -> bool {
    let row = [row, b"\n"].concat();
    let (mut text, mut ends) = (vec![0; row.len() + 1], vec![0; row.len() + 1]);
    let (result, ..) = reader(delimiter).read_record(&row, &mut text, &mut ends);
    !matches!(result, ReadRecordResult::Record)
}

fn reader(delimiter: u8) -> Reader {
    ReaderBuilder::new().delimiter(delimiter).build()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cuts::cut_in_pieces;
    use super::super::draft::Spot;
    use super::super::record::Extent;
    use super::*;

    type Row = (u64, Vec<String>);

    /// The rows with their lines, and why there are no more.
    fn cut(text: &str, piece: usize) -> (Vec<Row>, &'static str) {
        let mut cuts = cut_in_pieces(text.as_bytes(), piece, Rows::new(b','));
        let mut rows = Vec::new();
        while let Some(record) = cuts.next().unwrap() {
            if let Extent::Broken(why) = record.extent {
                return (rows, why);
            }
            let cells = record.cells.iter();
            let cells = cells.map(|cell| String::from_utf8_lossy(cell).into_owned());
            rows.push((record.line, cells.collect()));
        }
        (rows, "")
    }

    fn row(line: u64, cells: &[&str]) -> Row {
        (line, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn quotes_hold_line_ends_and_each_row_has_its_line() {
        let text = "\u{feff}a,b\r\n\r\n1,\"x\n\"\"y\"\"\r\"\n\n2,\r3,\"\"\"\"";
        let wanted = [
            row(1, &["a", "b"]),
            row(3, &["1", "x\n\"y\"\r"]),
            row(6, &["2", ""]),
        ];
        for piece in [1, 2, 3, 100] {
            let (rows, why) = cut(text, piece);
            assert_eq!((&rows[..3], why), (&wanted[..], ""), "{piece}");
            assert_eq!(rows[3].1, ["3", "\""], "{piece}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_told() {
        for (text, whole) in [("a,b\n1,\"x\n2,y\n", 1), ("\"", 0), ("a\n\"x\"\"", 1)] {
            let (rows, why) = cut(text, 100);
            assert_eq!(
                (rows.len(), why),
                (whole, "input ends inside a quoted field"),
                "{text}"
            );
        }
        assert_eq!(cut("a\n\"x\"", 100).1, "");
    }

    #[test]
    fn a_cell_is_found_in_its_row() {
        let mut cuts = cut_in_pieces(b"ab,\"c\"\"\n\",,d\n", 100, Rows::new(b','));
        let row = cuts.next().unwrap().unwrap();
        let places: Vec<_> = (0..4).map(|nth| row.place_of(Spot::Cell(nth))).collect();
        assert_eq!(places, [(0, 1), (0, 4), (1, 3), (1, 4)]);
    }

    #[test]
    fn a_row_that_is_too_long_keeps_nothing() {
        let mut rows = Rows::new(b',');
        assert_eq!(
            rows.cut(b"1,2\n\"aaa,", Rest::Unknown),
            Cut::Record {
                at: 0..3,
                end: End::Mark,
                behind: 4
            }
        );
        rows.let_go(4);
        assert_eq!(rows.cut(b"\"aaa,", Rest::Unknown), Cut::More(0));
        assert_eq!(rows.written, 4);
        rows.let_go(5);
        assert_eq!(rows.written, 0);
        assert_eq!(
            rows.cut(b"b\",c\n", Rest::Unknown),
            Cut::Record {
                at: 0..4,
                end: End::Mark,
                behind: 5
            }
        );
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_library(text in "[a,\"\n\r\u{e9} ]{0,30}", piece in 1_usize..9) {
            let mut reader = csv::ReaderBuilder::new();
            let mut reader = reader.has_headers(false).flexible(true).from_reader(text.as_bytes());
            let wanted: Vec<Vec<String>> = reader
                .records()
                .map(|record| record.unwrap().iter().map(str::to_owned).collect())
                .collect();
            let (rows, why) = cut(&text, piece);
            let found: Vec<_> = rows.into_iter().map(|(_, cells)| cells).collect();
            prop_assert_eq!(&found[..], &wanted[..found.len()]);
            prop_assert_eq!(found.len() + usize::from(!why.is_empty()), wanted.len());
        }
    }
}
