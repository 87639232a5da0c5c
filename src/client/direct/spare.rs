//! Memory for requests and answers that is used again. Floor 4: doors.

use std::cell::RefCell;

/// What is read at once, at most.
const READ: usize = 16 << 10;

/// Longer memory for a request is not kept.
const WRITTEN: usize = 16 << 10;

/// So many pieces of each kind are kept: a piece is in use only while bytes are written or read, or when they come
/// in parts.
const KEPT: usize = 64;

/// Pieces that nobody uses.
#[derive(Debug, Default)]
pub(super) struct Spare {
    reading: Pieces,
    writing: Pieces,
}

type Pieces = RefCell<Vec<Vec<u8>>>;

impl Spare {
    /// Memory of [`READ`] bytes, with anything in it.
    pub(super) fn reading(&self) -> Vec<u8> {
        take(&self.reading).unwrap_or_else(|| vec![0; READ])
    }

    /// It has been read from.
    pub(super) fn read(&self, piece: Vec<u8>) {
        if piece.len() == READ {
            keep(&self.reading, piece);
        }
    }

    /// Memory for a request, empty.
    pub(super) fn writing(&self) -> Vec<u8> {
        take(&self.writing).unwrap_or_default()
    }

    /// It has been written.
    pub(super) fn written(&self, mut piece: Vec<u8>) {
        if piece.capacity() <= WRITTEN {
            piece.clear();
            keep(&self.writing, piece);
        }
    }
}

fn take(pieces: &Pieces) -> Option<Vec<u8>> {
    pieces.borrow_mut().pop()
}

fn keep(pieces: &Pieces, piece: Vec<u8>) {
    let mut pieces = pieces.borrow_mut();
    if pieces.len() < KEPT {
        pieces.push(piece);
    }
}
