//! The body of an answer while it comes, and what is left of it while it is read. Floor 4: doors.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::mem;
use std::rc::Rc;

/// A body whose length is announced gets its memory at once, up to this: an announcement costs a server
/// nothing. Longer ones are first shown to come.
const SHORT: usize = 1 << 20;

/// The memory of others doubles up to this: what it has outgrown, as much in all, is not given back to the system.
const GROWS: usize = 128 << 10;

/// Of those so much is to come before.
const SHOWN: usize = 64 << 10;

/// Memory of this length and more is given back to the system at once when it is let go of (`oversize_threshold` of
/// jemalloc), and none of it is there before it is written to.
const GIVEN_BACK: usize = 8 << 20;

/// So many bytes at most are added to a body at once: what is longer than is kept is found out after them.
pub(super) const PIECE: usize = 16 << 10;

/// A long body that is in a coding is held in parts of this length: each is given back when it has been read, so that
/// what comes out of them takes their place.
pub(super) const PART: usize = GIVEN_BACK;

/// The bytes that came until now.
#[derive(Debug, Default)]
pub(super) struct Coming {
    /// What came last: all of it, where it is in one piece.
    last: Vec<u8>,
    parts: VecDeque<Vec<u8>>,
    /// Of all parts.
    length: usize,
    /// At which length it is whole, or too long.
    end: usize,
    /// Up to here its memory grows by little.
    short: usize,
    most: u64,
    shape: Shape,
}

/// How a body is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    /// In one piece, as it is to be kept.
    #[default]
    Whole,
    /// In parts, to be read once.
    Parts,
}

impl Coming {
    /// Of a body of which so much is announced; `None` if that is more than may come.
    pub(super) fn new(shape: Shape, announced: Option<u64>, most: u64) -> Option<Self> {
        if announced.is_some_and(|length| length > most) {
            return None;
        }
        let length = |length| usize::try_from(length).unwrap_or(usize::MAX);
        let (room, short) = match (announced.map(length), shape) {
            (None, _) => (0, GROWS),
            (Some(length), _) if length > SHORT => (SHOWN, SHOWN),
            (Some(length), _) => (length, SHORT),
        };
        Some(Self {
            last: Vec::with_capacity(room),
            end: length(announced.unwrap_or(most)),
            short,
            most,
            shape,
            ..Self::default()
        })
    }

    /// Whether more has come than may.
    pub(super) fn is_too_long(&self) -> bool {
        self.len() as u64 > self.most
    }

    pub(super) fn len(&self) -> usize {
        self.length + self.last.len()
    }

    /// Where to add so many bytes more, behind others.
    pub(super) fn room(&mut self, more: usize) -> &mut Vec<u8> {
        let (room, needed) = (self.last.capacity(), self.last.len() + more);
        if needed > room {
            match self.shape {
                Shape::Whole => self.grow(needed),
                Shape::Parts if room < self.short => {
                    let room = needed.max(2 * room);
                    self.last.reserve_exact(room - self.last.len());
                }
                Shape::Parts if room < PART => {
                    self.last.reserve_exact(PART - self.last.len());
                }
                Shape::Parts => {
                    let full = mem::replace(&mut self.last, Vec::with_capacity(PART));
                    self.length += full.len();
                    self.parts.push_back(full);
                }
            }
        }
        &mut self.last
    }

    /// Room doubles up to a quarter of what may be needed, and is then made for all: a body that is to be refused is not
    /// moved to twice its memory first. What a long one has outgrown is given back.
    fn grow(&mut self, needed: usize) {
        let before = self.last.capacity();
        let all = self.end.saturating_add(PIECE);
        let next = if before < self.short {
            2 * before
        } else {
            (2 * before).max(GIVEN_BACK)
        };
        let is_most = next >= self.end / 2;
        let room = if is_most { all } else { next }.max(needed);
        self.last.reserve_exact(room - self.last.len());
    }

    /// All of it, where it is one piece.
    pub(super) fn only(&self) -> Option<&[u8]> {
        self.parts.is_empty().then_some(&self.last)
    }

    /// All of it, where it is held whole.
    pub(super) fn into_whole(self) -> Vec<u8> {
        debug_assert!(self.parts.is_empty(), "it is held in parts");
        self.last
    }

    /// All of it, to be read.
    pub(super) fn into_parts(self) -> Parts {
        let left = Rc::new(Cell::new(self.len()));
        let mut queue = self.parts;
        queue.push_back(self.last);
        Parts {
            queue,
            from: 0,
            left,
        }
    }
}

/// A body that is read once: a part that was read is let go of.
pub(super) struct Parts {
    queue: VecDeque<Vec<u8>>,
    /// So much of the first was read.
    from: usize,
    left: Rc<Cell<usize>>,
}

impl Parts {
    /// Tells how many bytes are still to be read, whoever reads them.
    pub(super) fn left(&self) -> Rc<Cell<usize>> {
        Rc::clone(&self.left)
    }
}

impl BufRead for Parts {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.queue.front().is_some_and(|it| it.len() == self.from) {
            self.queue.pop_front();
            self.from = 0;
        }
        let first = self.queue.front();
        Ok(first.map_or(&[], |first| &first[self.from..]))
    }

    fn consume(&mut self, read: usize) {
        self.from += read;
        self.left.set(self.left.get() - read);
    }
}

impl Read for Parts {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come(shape: Shape, body: &[u8], announced: Option<u64>) -> Coming {
        let mut coming = Coming::new(shape, announced, 64 << 20).unwrap();
        for piece in body.chunks(PIECE) {
            coming.room(piece.len()).extend_from_slice(piece);
        }
        coming
    }

    #[test]
    fn a_body_is_read_as_it_came_and_each_part_is_let_go_of() {
        for length in [
            0,
            1,
            PIECE,
            SHORT + 1,
            PART - 1,
            PART,
            PART + 1,
            2 * PART + 7,
        ] {
            let body: Vec<u8> = (0..=250).cycle().take(length).collect();
            for announced in [None, Some(body.len() as u64)] {
                let whole = come(Shape::Whole, &body, announced);
                assert!(whole.into_whole() == body, "{length}");
                let parts = come(Shape::Parts, &body, announced);
                assert_eq!(parts.len(), length);
                assert_eq!(parts.only().is_some(), length <= PART, "{length}");
                let mut parts = parts.into_parts();
                let (left, mut read) = (parts.left(), Vec::new());
                while !parts.fill_buf().unwrap().is_empty() {
                    let held: usize = parts.queue.iter().map(Vec::len).sum();
                    assert!(held < left.get() + PART, "{held} of {}", left.get());
                    let piece = parts.fill_buf().unwrap();
                    read.extend_from_slice(piece);
                    let taken = piece.len();
                    parts.consume(taken);
                }
                assert!(read == body, "{length}");
                assert_eq!(left.get(), 0);
            }
        }
    }

    #[test]
    fn what_is_announced_too_long_gets_no_memory_and_what_comes_is_found_too_long() {
        assert!(Coming::new(Shape::Whole, Some(101), 100).is_none());
        let mut coming = Coming::new(Shape::Parts, Some(100), 100).unwrap();
        coming.room(100).extend_from_slice(&[7; 100]);
        assert!(!coming.is_too_long());
        coming.room(1).push(7);
        assert!(coming.is_too_long());
    }

    #[test]
    fn what_a_long_body_outgrows_is_short_or_given_back() {
        const LENGTH: usize = 64 << 20;
        for (announced, most_short) in [(None, 2 * GROWS), (Some(LENGTH as u64), SHOWN)] {
            let mut coming = Coming::new(Shape::Whole, announced, LENGTH as u64).unwrap();
            let mut rooms = vec![];
            for _ in 0..LENGTH / PIECE {
                coming.room(PIECE).extend_from_slice(&[7; PIECE]);
                if rooms.last() != Some(&coming.last.capacity()) {
                    rooms.push(coming.last.capacity());
                }
            }
            let outgrown = rooms[..rooms.len() - 1].iter();
            let short: usize = outgrown.filter(|room| **room < GIVEN_BACK).sum();
            assert!(short <= most_short, "{rooms:?}");
            assert_eq!(rooms.last(), Some(&(LENGTH + PIECE)));
        }
    }
}
