//! Physical lines of an input, each as soon as it is there. Floor 4: doors.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr;

use super::hash::LongLine;
use super::record::{Cells, End, Extent, Record};
use crate::job::JobHash;

/// Bytes of a line before its LF. Of a longer one only the length and the hash are learned: so much of jobs is held
/// in all, too.
pub(super) const LONGEST: usize = 64 << 20;

/// A line that was longer than this does not keep its memory.
pub(super) const KEPT: usize = 1 << 20;

/// The lines of one input, in order.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    longest: usize,
    /// Bytes of the buffer that the line given out last stands in.
    given: usize,
    /// A line that does not stand in the buffer as a whole.
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of what `input` gives, from its next byte on.
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self::bounded(input, LONGEST)
    }

    fn bounded(input: Box<dyn Read + Send>, longest: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, input),
            longest,
            given: 0,
            line: Vec::new(),
            number: 0,
        }
    }

    /// How many were given out.
    pub(super) fn count(&self) -> u64 {
        self.number
    }

    /// Whether the next line is here already, so that nobody has to wait for it.
    pub(super) fn is_next_here(&self) -> bool {
        self.next_in_buffer().is_some()
    }

    /// The end of the next line in what is read ahead and not yet given out.
    fn next_in_buffer(&self) -> Option<usize> {
        memchr(b'\n', &self.reader.buffer()[self.given..]).filter(|at| *at <= self.longest)
    }

    /// The next line, blank ones too; `None` at the end. Waits for a whole line, and for nothing behind it.
    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        let in_buffer = self.next_in_buffer();
        self.reader.consume(std::mem::take(&mut self.given));
        match in_buffer {
            Some(at) => {
                self.given = at + 1;
                self.number += 1;
                let bytes = &self.reader.buffer()[..at];
                Ok(Some(whole(bytes, self.number, End::Mark)))
            }
            None => self.collect(),
        }
    }

    /// A line that is read in several pieces, or too long.
    fn collect(&mut self) -> io::Result<Option<Record<'_>>> {
        let most = self.longest as u64 + 1;
        let mut reader = (&mut self.reader).take(most);
        if reader.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.len() > self.longest && !self.line.ends_with(b"\n") {
            let begun = LongLine::begun(without_mark(&self.line, self.number));
            self.line.truncate(KEPT);
            self.line.shrink_to(KEPT);
            let ((length, hash), end) = self.pass_over(begun)?;
            return Ok(Some(Record {
                bytes: without_mark(&self.line, self.number),
                extent: Extent::Longer { length, hash },
                line: self.number,
                before: 0,
                end,
                cells: Cells::default(),
            }));
        }
        let (bytes, end) = match self.line.strip_suffix(b"\n") {
            Some(bytes) => (bytes, End::Mark),
            None => (&*self.line, End::Input),
        };
        Ok(Some(whole(bytes, self.number, end)))
    }

    /// Reads the rest of a line, and holds none of it.
    fn pass_over(&mut self, mut line: LongLine) -> io::Result<((u64, JobHash), End)> {
        loop {
            let ahead = match self.reader.fill_buf() {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                ahead => ahead?,
            };
            let line_end = ahead.iter().position(|byte| *byte == b'\n');
            line.goes_on(&ahead[..line_end.unwrap_or(ahead.len())]);
            let (read, end) = match line_end {
                Some(at) => (at + 1, Some(End::Mark)),
                None if ahead.is_empty() => (0, Some(End::Input)),
                None => (ahead.len(), None),
            };
            self.reader.consume(read);
            if let Some(end) = end {
                return Ok((line.ended(), end));
            }
        }
    }
}

/// A line of these bytes before its LF.
fn whole(bytes: &[u8], number: u64, end: End) -> Record<'_> {
    let bytes = without_mark(bytes, number);
    Record {
        bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
        extent: Extent::Whole,
        line: number,
        before: 0,
        end,
        cells: Cells::default(),
    }
}

fn without_mark(bytes: &[u8], number: u64) -> &[u8] {
    match number {
        1 => bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes),
        _ => bytes,
    }
}

/// Of UTF-8, as some editors put it at the beginning of a file.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[cfg(test)]
mod tests {
    use super::super::hash;
    use super::*;

    fn lines(input: &'static [u8]) -> Vec<(Vec<u8>, End)> {
        let mut lines = Lines::new(Box::new(input));
        std::iter::from_fn(|| {
            let line = lines.next().unwrap()?;
            Some((line.bytes.to_vec(), line.end))
        })
        .collect()
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_byte_0_only() {
        let seen = lines(b"\xEF\xBB\xBFa\r\n\xEF\xBB\xBFb");
        assert_eq!(
            seen,
            [
                (b"a".to_vec(), End::Mark),
                (b"\xEF\xBB\xBFb".to_vec(), End::Input)
            ]
        );
    }

    #[test]
    fn a_line_is_here_if_nothing_is_to_be_waited_for() {
        let pieces = [&b"a\nb\nc"[..], b"d\n", b"e"];
        let mut lines = Lines::new(Box::new(Pieces(pieces.into_iter())));
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let line = String::from_utf8_lossy(line.bytes).into_owned();
            seen.push((line, lines.is_next_here()));
        }
        let wanted = [("a", true), ("b", false), ("cd", false), ("e", false)];
        assert_eq!(seen, wanted.map(|(line, here)| (line.to_owned(), here)));
    }

    /// An input that comes in pieces.
    struct Pieces<I>(I);

    impl<I: Iterator<Item = &'static [u8]>> Read for Pieces<I> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.next().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn blank_lines_are_lines_and_an_empty_input_has_none() {
        assert_eq!(lines(b"\n\r\na").len(), 3);
        assert_eq!(lines(b"").len(), 0);
    }

    #[test]
    fn of_a_line_that_is_too_long_the_length_and_the_hash_are_learned_and_the_next_one_is_whole() {
        let input = b"\xEF\xBB\xBF12345678901234\n1234567890\n12345678901\r\n12345678901234";
        let mut lines = Lines::bounded(Box::new(&input[..]), 10);
        let mut next = || {
            let line = lines.next().unwrap()?;
            let length = match line.extent {
                Extent::Whole | Extent::Broken(_) => None,
                Extent::Longer { length, .. } => Some(length),
            };
            Some((length, line.end, line.hash()))
        };
        let hash = |bytes: &[u8]| LongLine::begun(bytes).ended().1;
        let (newline, input) = (End::Mark, End::Input);
        let long = hash(b"12345678901234");
        assert_eq!(next(), Some((Some(14), newline, long)));
        assert_eq!(next(), Some((None, newline, hash::of_line(b"1234567890"))));
        let with_cr = hash(b"12345678901\r");
        assert_eq!(next(), Some((Some(12), newline, with_cr)));
        assert_eq!(next(), Some((Some(14), input, long)));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_never_held_whole() {
        let input = io::repeat(b' ').take(10 << 20);
        let mut lines = Lines::bounded(Box::new(input), 2 << 20);
        let line = lines.next().unwrap().unwrap();
        assert!(matches!(line.extent, Extent::Longer { length, .. } if length == 10 << 20));
        assert!(lines.line.capacity() <= KEPT);
    }

    #[test]
    fn a_huge_line_does_not_keep_its_memory() {
        let input = [&vec![b'x'; 5 << 20][..], b"\na\n"].concat();
        let mut lines = Lines::new(Box::new(io::Cursor::new(input)));
        assert_eq!(lines.next().unwrap().unwrap().bytes.len(), 5 << 20);
        assert_eq!(lines.next().unwrap().unwrap().bytes, b"a");
        assert!(lines.line.capacity() <= KEPT);
    }
}
