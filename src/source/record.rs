//! What of an input makes one result, as it stands there. Floor 4: doors.

use csv_core::ReaderBuilder;
use memchr::{memchr, memchr_iter, memrchr};

use super::draft::{Fault, Spot};
use super::hash;
use crate::job::JobHash;

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// What ends every one, as LF or CR LF does a line.
    Mark,
    /// The end of the input: it may be torn.
    Input,
}

/// One record without what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Its bytes, without the byte order mark if that opens the input; its beginning if it is too long.
    pub(super) bytes: &'a [u8],
    /// Whether these are all.
    pub(super) extent: Extent,
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    /// Bytes before it on that line.
    pub(super) before: u64,
    /// What ends it.
    pub(super) end: End,
    /// What stands in its cells; none but for a row of a table.
    pub(super) cells: Cells<'a>,
}

/// The cells of a row, without quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cells<'a> {
    /// One behind the other.
    pub(super) text: &'a [u8],
    /// Where each ends.
    pub(super) ends: &'a [usize],
    /// What stands between them in the row.
    pub(super) delimiter: u8,
}

impl<'a> Cells<'a> {
    /// Where one begins in the row of these bytes, with its quotes.
    fn offset(self, row: &[u8], nth: usize) -> usize {
        let mut reader = ReaderBuilder::new().delimiter(self.delimiter).build();
        let mut text = vec![0; row.len() + 1];
        (0..nth).fold(0, |at, _| at + reader.read_field(&row[at..], &mut text).1)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let each = begins.zip(self.ends);
        each.map(move |(begin, end)| &self.text[begin..*end])
    }
}

impl Record<'_> {
    /// See [`JobHash`].
    pub(super) fn hash(&self) -> JobHash {
        match self.extent {
            Extent::Whole | Extent::Broken(_) => hash::of_line(self.bytes),
            Extent::Longer { hash, .. } => hash,
        }
    }

    /// Where that is: lines below the first one, and the byte of that line, from 1.
    pub(super) fn place_of(&self, spot: Spot) -> (u64, u64) {
        let byte = match spot {
            Spot::Byte(byte) => byte,
            Spot::Cell(nth) => self.cells.offset(self.bytes, nth) as u64 + 1,
        };
        let before = usize::try_from(byte.saturating_sub(1)).unwrap_or(usize::MAX);
        let before = &self.bytes[..before.min(self.bytes.len())];
        match memrchr(b'\n', before) {
            Some(last) => {
                let below = memchr_iter(b'\n', before).count() as u64;
                (below, byte - 1 - last as u64)
            }
            None => (0, self.before + byte),
        }
    }
}

/// How much of a record is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// The beginning of one that is longer than [`super::lines::LONGEST`].
    Longer {
        /// Its bytes, without a byte order mark.
        length: u64,
        /// Over all of them.
        hash: JobHash,
    },
    /// What is there of one with which the text stops to be one of its format: why. Nothing comes behind it.
    Broken(&'static str),
}

impl<'a> Record<'a> {
    /// A fault if something stands behind the closing quote of a cell: the parser would join both.
    ///
    /// RFC 4180 §2.5: a cell is quoted as a whole, or not at all; a quote within one that is not is a letter.
    pub(super) fn quoted_as_a_whole(&self) -> Result<(), Fault> {
        let (row, delimiter) = (self.bytes, self.cells.delimiter);
        if memchr(b'"', row).is_none() {
            return Ok(());
        }
        let mut at = 0;
        while let Some(cell) = row.get(at..) {
            if !cell.starts_with(b"\"") {
                let Some(length) = memchr(delimiter, cell) else {
                    return Ok(());
                };
                at += length + 1;
                continue;
            }
            at += 1;
            while let Some(length) = memchr(b'"', &row[at..]) {
                at += length + 1;
                if row.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            if let Some(behind) = row.get(at)
                && *behind != delimiter
            {
                return Err(Fault::new(
                    at as u64 + 1,
                    "something stands behind the closing quote of a field",
                    "quote the field as a whole; a \" within quotes is written twice, as \"\"",
                ));
            }
            at += 1;
        }
        Ok(())
    }

    /// All of it as text.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.bytes).map_err(|why| {
            let at = why.valid_up_to() as u64 + 1;
            let (_, byte) = self.place_of(Spot::Byte(at));
            let what = format!("invalid UTF-8 at byte {byte} of the line");
            Fault::new(at, what, "save the file as UTF-8")
        })
    }
}
