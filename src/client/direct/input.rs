//! Bytes that were read and not yet taken. Floor 4: doors.

use super::spare::Spare;

/// Without memory until something is there to be read.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Input {
    /// Bytes that were read and not yet taken.
    pub(super) fn held(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// So many of them are taken.
    pub(super) fn take(&mut self, taken: usize) {
        self.from += taken;
    }

    /// Room for more, never none.
    pub(super) fn free(&mut self, spare: &Spare) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = spare.reading();
        }
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        }
        if self.to == self.bytes.len() {
            if self.from == 0 {
                self.bytes.resize(2 * self.to, 0);
            } else {
                self.bytes.copy_within(self.from.., 0);
                (self.from, self.to) = (0, self.to - self.from);
            }
        }
        &mut self.bytes[self.to..]
    }

    /// So many bytes of the room are filled.
    pub(super) fn filled(&mut self, more: usize) {
        self.to += more;
    }

    /// Gives the memory back, unless bytes stand in it.
    pub(super) fn rest(&mut self, spare: &Spare) {
        if self.from == self.to {
            spare.read(std::mem::take(&mut self.bytes));
            (self.from, self.to) = (0, 0);
        }
    }
}
