//! Moments in order, in little memory. Floor 3: rules.

use std::collections::VecDeque;

/// A queue of moments, none before the last one, as the steps from each to the next: seven bits a byte, the lowest
/// first, so two bytes up to 16 us and three up to 2 ms.
///
/// In pieces: one long buffer would be moved, and was there twice, each time that it grows.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// All but the first moment, as steps. Only the last piece is added to.
    pieces: VecDeque<Vec<u8>>,
    /// How much of the first piece is behind the first moment.
    from: usize,
    /// A piece to be used again.
    spare: Vec<u8>,
    first: u64,
    last: u64,
    len: usize,
}

/// The length of a piece.
const PIECE: usize = 4096;

/// The most bytes of a step of 64 bits.
const LONGEST: usize = 10;

/// Says of a byte that another one of its step follows.
const MORE: u8 = 0x80;

impl Moments {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The earliest.
    pub(super) fn first(&self) -> Option<u64> {
        (self.len > 0).then_some(self.first)
    }

    /// The latest.
    pub(super) fn last(&self) -> Option<u64> {
        (self.len > 0).then_some(self.last)
    }

    /// One more; before the last it counts as the last.
    pub(super) fn push(&mut self, at: u64) {
        self.len += 1;
        if self.len == 1 {
            (self.first, self.last) = (at, at);
            return;
        }
        let mut step = at.saturating_sub(self.last);
        self.last += step;
        let piece = match self.pieces.back_mut() {
            Some(piece) if piece.len() + LONGEST <= PIECE => piece,
            Some(_) | None => {
                let mut next = std::mem::take(&mut self.spare);
                next.reserve_exact(PIECE);
                self.pieces.push_back(next);
                self.pieces.back_mut().expect("it was just pushed")
            }
        };
        while step >= u64::from(MORE) {
            piece.push(lowest(step) | MORE);
            step >>= 7;
        }
        piece.push(lowest(step));
    }

    /// Takes the earliest.
    pub(super) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
        let Some(piece) = self.pieces.front() else {
            return;
        };
        let mut step = 0;
        for (nth, byte) in piece[self.from..].iter().enumerate() {
            step |= u64::from(byte & !MORE) << (7 * nth);
            self.from += 1;
            if byte & MORE == 0 {
                break;
            }
        }
        self.first += step;
        if self.from == piece.len() {
            self.from = 0;
            if let Some(mut read) = self.pieces.pop_front() {
                read.clear();
                self.spare = read;
            }
        }
    }
}

fn lowest(step: u64) -> u8 {
    step.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_in_its_order(
            steps in proptest::collection::vec((0..64_u32, any::<u64>(), 0..3_u8), 0..2_000),
        ) {
            let (mut moments, mut plain) = (Moments::default(), VecDeque::new());
            let mut at = 0_u64;
            for (bits, step, pops) in steps {
                at = at.saturating_add(step >> bits);
                moments.push(at);
                plain.push_back(at);
                for _ in 1..pops {
                    moments.pop();
                    plain.pop_front();
                }
                prop_assert_eq!(moments.first(), plain.front().copied());
                prop_assert_eq!(moments.last(), plain.back().copied());
                prop_assert_eq!(moments.len(), plain.len());
            }
            while let Some(first) = plain.pop_front() {
                prop_assert_eq!(moments.first(), Some(first));
                moments.pop();
            }
            prop_assert_eq!((moments.first(), moments.pieces.len()), (None, 0));
        }
    }

    #[test]
    fn a_hundred_thousand_in_a_second_take_two_bytes_each() {
        let mut moments = Moments::default();
        (0..100_000).for_each(|nth| moments.push(nth * 10_000));
        let held: usize = moments.pieces.iter().map(Vec::capacity).sum();
        assert!(held <= 51 * PIECE, "{held} bytes");
    }
}
