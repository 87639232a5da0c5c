//! Rows of a table, whose cells may hold line ends within quotes. RFC 4180. Floor 4: doors.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::memchr;

use super::cuts::{Cut, Cutter, Rest};
use super::lines::KEPT;
use super::record::{Cells, End};

/// Finds rows, and what stands in their cells. A row ends with CR, LF or CR LF.
pub(super) struct Rows {
    reader: Reader,
    delimiter: u8,
    /// Where in a row that is too long what was let go of it ends.
    quotes: Quotes,
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
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            delimiter,
            quotes: Quotes::default(),
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
    fn row(&mut self, bytes: &[u8], end: End) -> Cut {
        let at = match end {
            End::Mark => self.from..self.at - 1,
            End::Input => self.from..self.at,
        };
        if end == End::Input {
            let mut quotes = self.quotes;
            let opened = quotes.pass(self.delimiter, &bytes[at.clone()]);
            if quotes == Quotes::Open {
                return Cut::Broken {
                    at: at.start..opened.map_or(at.end, |quote| at.start + quote + 1),
                    why: "the quote that opens here is never closed",
                };
            }
        }
        self.quotes = Quotes::default();
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

    fn passes_over(&mut self, bytes: &[u8]) -> Option<usize> {
        self.quotes.pass(self.delimiter, bytes)
    }

    fn cells(&self) -> Cells<'_> {
        Cells {
            text: &self.text[..self.written],
            ends: &self.ends[..self.ended],
            delimiter: self.delimiter,
        }
    }
}

/// Whether a place in a row is within quotes, as the parser takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Quotes {
    /// A cell begins.
    #[default]
    Due,
    /// In a cell, and no longer or never in quotes.
    None,
    Open,
    /// Behind a quote within quotes: it closes them, or is half of one that is written twice.
    Closed,
}

impl Quotes {
    /// Goes on behind these bytes of a row. Where the quote stands in them that is open there.
    fn pass(&mut self, delimiter: u8, bytes: &[u8]) -> Option<usize> {
        let mut opened = None;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            *self = match self {
                Self::Due if *byte == b'"' => {
                    opened = Some(at);
                    Self::Open
                }
                Self::Due | Self::None | Self::Closed if *byte == delimiter => Self::Due,
                Self::Closed if *byte == b'"' => Self::Open,
                Self::Due | Self::Closed => Self::None,
                Self::None | Self::Open => {
                    let mark = if *self == Self::Open { b'"' } else { delimiter };
                    let Some(length) = memchr(mark, &bytes[at..]) else {
                        break;
                    };
                    at += length;
                    match self {
                        Self::Open => Self::Closed,
                        _ => Self::Due,
                    }
                }
            };
            at += 1;
        }
        opened.filter(|_| *self == Self::Open)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cuts::cut_in_pieces;
    use super::super::draft::Spot;
    use super::super::lines::LONGEST;
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
                (whole, "the quote that opens here is never closed"),
                "{text}"
            );
        }
        assert_eq!(cut("a\n\"x\"", 100).1, "");
    }

    #[test]
    fn a_quote_that_is_never_closed_is_told_where_it_opens_however_far_behind_the_input_ends() {
        let far = "y\n".repeat(LONGEST / 2 + 1);
        for behind in ["y\nz\n", &*far] {
            let text = format!("a,b\n1,\"x\ny\",\"{behind}");
            let mut cuts = cut_in_pieces(text.as_bytes(), usize::MAX, Rows::new(b','));
            cuts.next().unwrap();
            let row = cuts.next().unwrap().unwrap();
            assert!(matches!(row.extent, Extent::Broken(_)), "{:?}", row.extent);
            let (below, column) = row.place_of(Spot::Byte(row.bytes.len().max(1) as u64));
            assert_eq!((row.line + below, column), (3, 4));
            assert_eq!(cuts.next().unwrap(), None);
        }
    }

    #[test]
    fn a_row_above_the_bound_is_too_long_even_if_it_comes_at_once() {
        for beyond in [0_usize, 1] {
            let cell = "x".repeat(LONGEST - 2 + beyond);
            let text = format!("a,b\n1,{cell}\n2,y\n");
            let mut cuts = cut_in_pieces(text.as_bytes(), usize::MAX, Rows::new(b','));
            cuts.next().unwrap();
            let row = cuts.next().unwrap().unwrap();
            let is_whole = row.extent == Extent::Whole;
            assert_eq!((is_whole, row.line), (beyond == 0, 2));
            assert_eq!(cuts.next().unwrap().unwrap().bytes, b"2,y");
        }
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
