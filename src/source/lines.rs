//! Physical lines of an input, of any length, each as soon as it is there. Floor 4: doors.

use std::io::{self, BufRead, BufReader, Read};

/// A line that was longer than this does not keep its memory.
const KEPT: usize = 1 << 20;

/// What ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// LF or CR LF.
    Newline,
    /// The end of the input: the line may be torn.
    Input,
}

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawLine<'a> {
    /// Its bytes, without the byte order mark if that opens the input.
    pub(super) bytes: &'a [u8],
    /// From 1.
    pub(super) number: u64,
    /// What ends it.
    pub(super) end: LineEnd,
}

/// The lines of one input, in order.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of what `input` gives, from its next byte on.
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            reader: BufReader::with_capacity(64 << 10, input),
            line: Vec::new(),
            number: 0,
        }
    }

    /// How many were given out.
    pub(super) fn count(&self) -> u64 {
        self.number
    }

    /// The next line, blank ones too; `None` at the end. Waits for a whole line, and for nothing behind it.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        if self.reader.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut bytes = &*self.line;
        if self.number == 1 {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        let (bytes, end) = match bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, LineEnd::Newline),
            None => (bytes, LineEnd::Input),
        };
        Ok(Some(RawLine {
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
            number: self.number,
            end,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &'static [u8]) -> Vec<(Vec<u8>, LineEnd)> {
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
                (b"a".to_vec(), LineEnd::Newline),
                (b"\xEF\xBB\xBFb".to_vec(), LineEnd::Input)
            ]
        );
    }

    #[test]
    fn blank_lines_are_lines_and_an_empty_input_has_none() {
        assert_eq!(lines(b"\n\r\na").len(), 3);
        assert_eq!(lines(b"").len(), 0);
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
