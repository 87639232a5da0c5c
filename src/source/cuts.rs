//! Records that what stands in them cuts out of an input, each as soon as it is there. Floor 4: doors.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::hash::LongLine;
use super::lines::{BYTE_ORDER_MARK, KEPT, LONGEST};
use super::record::{Cells, End, Extent, Record};

/// So many bytes are asked for at a time, at least.
const PIECE: usize = 64 << 10;

/// Finds records in bytes as they come.
pub(super) trait Cutter: Send {
    /// Looks on from where it stopped: `bytes` are those that were not let go, and others behind them. Behind the last
    /// ones of the input it finds a record, or that it is over.
    fn cut(&mut self, bytes: &[u8], rest: Rest) -> Cut;

    /// So many bytes at the front are gone; they may be the beginning of a record.
    fn let_go(&mut self, bytes: usize);

    /// These are of a record that is too long, and let go next. Where in them something was opened, and not closed in
    /// them, that has to be closed.
    fn passes_over(&mut self, _bytes: &[u8]) -> Option<usize> {
        None
    }

    /// Those of the record found last.
    fn cells(&self) -> Cells<'_> {
        Cells::default()
    }
}

/// What comes behind the bytes that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Unknown,
    Nothing,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// More bytes are needed. Those before here belong to no record.
    More(usize),
    Record {
        at: Range<usize>,
        end: End,
        /// Where to look on.
        behind: usize,
    },
    /// The input is no whole text of its format: why. Nothing comes behind it.
    Broken { at: Range<usize>, why: &'static str },
    /// There is no other record.
    Over,
}

/// The records of one input, in order.
pub(super) struct Cuts {
    input: Box<dyn Read + Send>,
    cutter: Box<dyn Cutter>,
    buffer: Vec<u8>,
    /// What is there and not let go.
    held: Range<usize>,
    /// The line on which that begins, from 1, and the bytes before it on that line.
    line: u64,
    before: u64,
    is_begun: bool,
    rest: Rest,
    longest: usize,
    long: Option<Long>,
    /// At the front of what is held, and not given out.
    found: Option<Found>,
    /// Bytes of the record given out last, and of what ends it.
    given: usize,
}

/// A record of which the beginning was let go. A place is a line, from 1, and the bytes before it on that line.
struct Long {
    line: LongLine,
    begins: (u64, u64),
    /// Where something was opened that has to be closed.
    opened: Option<(u64, u64)>,
}

#[derive(Clone, Copy)]
struct Found {
    length: usize,
    with_end: usize,
    extent: Extent,
    end: End,
    line: u64,
    before: u64,
}

impl Cuts {
    pub(super) fn new(input: Box<dyn Read + Send>, cutter: Box<dyn Cutter>) -> Self {
        Self::bounded(input, cutter, LONGEST)
    }

    fn bounded(input: Box<dyn Read + Send>, cutter: Box<dyn Cutter>, longest: usize) -> Self {
        Self {
            input,
            cutter,
            buffer: Vec::new(),
            held: 0..0,
            line: 1,
            before: 0,
            is_begun: false,
            rest: Rest::Unknown,
            longest,
            long: None,
            found: None,
            given: 0,
        }
    }

    /// Whether the next record is here already, so that nobody has to wait for it.
    pub(super) fn is_next_here(&mut self) -> bool {
        matches!(self.look(), Look::Found(_))
    }

    /// The next record; `None` at the end. Waits for as much of the input as tells where it ends.
    pub(super) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let found = loop {
            match self.look() {
                Look::Found(found) => break found,
                Look::Over => return Ok(None),
                Look::Further => self.fill()?,
            }
        };
        self.found = None;
        self.given = found.with_end;
        let start = self.held.start;
        Ok(Some(Record {
            bytes: &self.buffer[start..start + found.length],
            extent: found.extent,
            line: found.line,
            before: found.before,
            end: found.end,
            cells: self.cutter.cells(),
        }))
    }

    /// Looks for the next record in what is there.
    fn look(&mut self) -> Look {
        if let Some(found) = self.found {
            return Look::Found(found);
        }
        if !self.is_begun {
            return Look::Further;
        }
        self.let_go(self.given);
        self.given = 0;
        let cut = self.cutter.cut(&self.buffer[self.held.clone()], self.rest);
        let (at, end, behind, extent) = match cut {
            Cut::Over => return Look::Over,
            Cut::More(begun) => {
                self.let_go(begun);
                self.pass_over();
                return match self.rest {
                    Rest::Unknown => Look::Further,
                    Rest::Nothing => Look::Over,
                };
            }
            Cut::Record { at, end, behind } => (at, end, behind, Extent::Whole),
            Cut::Broken { at, why } => {
                let behind = at.end;
                (at, End::Input, behind, Extent::Broken(why))
            }
        };
        self.let_go(at.start);
        let mut found = Found {
            length: at.len(),
            with_end: behind - at.start,
            extent,
            end,
            line: self.line,
            before: self.before,
        };
        let long = self.long.take();
        let opened = match (extent, &long) {
            (Extent::Broken(_), Some(long)) => {
                let last = self.cutter.passes_over(&self.buffer[self.held.clone()]);
                last.map(|at| self.place_of(at)).or(long.opened)
            }
            _ => None,
        };
        if let Some(opened) = opened {
            found.length = 0;
            (found.line, found.before) = opened;
        } else if long.is_some() || found.length > self.longest {
            let (mut line, begins) = match long {
                Some(Long { line, begins, .. }) => (line, begins),
                None => (LongLine::begun(b""), (self.line, self.before)),
            };
            let start = self.held.start;
            line.goes_on(&self.buffer[start..start + found.length]);
            let (length, hash) = line.ended();
            found.extent = Extent::Longer { length, hash };
            (found.line, found.before) = begins;
        }
        self.found = Some(found);
        Look::Found(found)
    }

    /// What is held is the beginning of a record. Of one that is too long no more than a piece is held.
    fn pass_over(&mut self) {
        if self.held.len() <= self.longest && self.long.is_none() {
            return;
        }
        let held = &self.buffer[self.held.clone()];
        let opened = self.cutter.passes_over(held);
        let opened = opened.map(|at| self.place_of(at));
        let begins = (self.line, self.before);
        let long = self.long.get_or_insert_with(|| Long {
            line: LongLine::begun(b""),
            begins,
            opened: None,
        });
        long.line.goes_on(&self.buffer[self.held.clone()]);
        long.opened = opened.or(long.opened);
        self.let_go(self.held.len());
    }

    fn let_go(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        (self.line, self.before) = self.place_of(bytes);
        self.held.start += bytes;
        self.cutter.let_go(bytes);
    }

    /// Behind so many bytes of what is held: the line, and the bytes before it on that line.
    fn place_of(&self, bytes: usize) -> (u64, u64) {
        let before = &self.buffer[self.held.start..self.held.start + bytes];
        match memrchr(b'\n', before) {
            Some(last) => {
                let lines = memchr_iter(b'\n', before).count();
                (self.line + lines as u64, (bytes - last - 1) as u64)
            }
            None => (self.line, self.before + bytes as u64),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.held.start > 0 {
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
        }
        let there = self.held.end;
        if self.buffer.len() > 4 * KEPT && there < KEPT {
            self.buffer.truncate(KEPT);
            self.buffer.shrink_to_fit();
        }
        if self.buffer.len() < there + PIECE {
            self.buffer.resize(there + PIECE.max(there / 2), 0);
        }
        self.read()?;
        // A byte order mark is no part of the text.
        while !self.is_begun {
            let head = &self.buffer[self.held.clone()];
            let is_open = head.len() < BYTE_ORDER_MARK.len() && self.rest == Rest::Unknown;
            if is_open && BYTE_ORDER_MARK.starts_with(head) {
                self.read()?;
                continue;
            }
            if head.starts_with(BYTE_ORDER_MARK) {
                self.held.start = BYTE_ORDER_MARK.len();
            }
            self.is_begun = true;
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let read = loop {
            match self.input.read(&mut self.buffer[self.held.end..]) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.held.end += read;
        if read == 0 {
            self.rest = Rest::Nothing;
        }
        Ok(())
    }
}

enum Look {
    Found(Found),
    Further,
    Over,
}

/// The records of a text that comes in pieces of so many bytes.
#[cfg(test)]
pub(super) fn cut_in_pieces(text: &[u8], piece: usize, cutter: impl Cutter + 'static) -> Cuts {
    struct Pieces(io::Cursor<Vec<u8>>, usize);
    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(into.len());
            self.0.read(&mut into[..most])
        }
    }
    let input = Pieces(io::Cursor::new(text.to_vec()), piece);
    Cuts::new(Box::new(input), Box::new(cutter))
}

#[cfg(test)]
mod tests {
    use super::super::elements::Elements;
    use super::super::hash;
    use super::*;

    fn elements(text: impl Into<Vec<u8>>, longest: usize) -> Cuts {
        let input = Box::new(io::Cursor::new(text.into()));
        Cuts::bounded(input, Box::new(Elements::new(&[])), longest)
    }

    #[test]
    fn of_a_record_that_is_too_long_the_length_and_the_hash_are_learned_and_the_next_one_is_whole()
    {
        let long = format!("\"{}\n{}\"", "x".repeat(150_000), "y".repeat(50_000));
        let mut cuts = elements(format!("[1,\n {long}\n,2]"), 100_000);
        let mut next = || {
            cuts.next()
                .unwrap()
                .map(|it| (it.line, it.before, it.bytes.len(), it.extent))
        };
        assert_eq!(next(), Some((1, 1, 1, Extent::Whole)));
        let (line, before, _, extent) = next().unwrap();
        assert_eq!((line, before), (2, 1));
        let hash = hash::of_line(long.as_bytes());
        let length = long.len() as u64;
        assert_eq!(extent, Extent::Longer { length, hash });
        assert_eq!(next(), Some((4, 1, 1, Extent::Whole)));
        assert_eq!(next(), None);
    }

    #[test]
    fn a_huge_record_does_not_keep_its_memory_and_a_longer_one_never_has_it() {
        let huge = format!("[\"{}\",{}1]", "x".repeat(8 << 20), "1,".repeat(1 << 20));
        let mut cuts = elements(huge, LONGEST);
        assert_eq!(cuts.next().unwrap().unwrap().bytes.len(), (8 << 20) + 2);
        while cuts.next().unwrap().is_some() {}
        assert!(
            cuts.buffer.capacity() <= 4 * KEPT,
            "{}",
            cuts.buffer.capacity()
        );
        let endless = io::Cursor::new(b"[\"".to_vec()).chain(io::repeat(b'x').take(32 << 20));
        let mut cuts = Cuts::bounded(Box::new(endless), Box::new(Elements::new(&[])), KEPT);
        let extent = cuts.next().unwrap().unwrap().extent;
        assert!(matches!(extent, Extent::Longer { .. }), "{extent:?}");
        assert!(
            cuts.buffer.capacity() <= 4 * KEPT,
            "{}",
            cuts.buffer.capacity()
        );
    }

    #[test]
    fn a_record_is_here_if_nothing_is_to_be_waited_for() {
        let mut cuts = elements("[1,2]", LONGEST);
        assert!(!cuts.is_next_here(), "nothing is read yet");
        assert_eq!(cuts.next().unwrap().unwrap().bytes, b"1");
        assert!(cuts.is_next_here());
        assert!(cuts.is_next_here());
        assert_eq!(cuts.next().unwrap().unwrap().bytes, b"2");
        assert!(!cuts.is_next_here());
        assert!(cuts.next().unwrap().is_none());
    }
}
