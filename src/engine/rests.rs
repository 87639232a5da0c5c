//! Jobs at rest before their next try. Floor 3: rules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::talk::Ticket;
use crate::units::Tick;

/// Jobs at rest, by the end of it, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Rests(BinaryHeap<Reverse<(Tick, u64, Ticket)>>);

impl Rests {
    /// How many rest.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The job of this position rests until then.
    pub(super) fn push(&mut self, until: Tick, seq: u64, ticket: Ticket) {
        self.0.push(Reverse((until, seq, ticket)));
    }

    /// The next job whose rest is over at `now`, and when it was.
    pub(super) fn wake(&mut self, now: Tick) -> Option<(Ticket, Tick)> {
        if self.next()? > now {
            return None;
        }
        let Reverse((until, _, ticket)) = self.0.pop()?;
        Some((ticket, until))
    }

    /// The end of the next rest.
    pub(super) fn next(&self) -> Option<Tick> {
        self.0.peek().map(|Reverse((until, ..))| *until)
    }

    /// The end of the last rest.
    pub(super) fn last(&self) -> Option<Tick> {
        self.0.iter().map(|Reverse((until, ..))| *until).max()
    }

    /// These rest no longer: their tickets, in the order of the ends.
    pub(super) fn take(&mut self, are: impl Fn(Ticket) -> bool) -> Vec<Ticket> {
        let rests = std::mem::take(&mut self.0).into_sorted_vec();
        let (own, others): (Vec<_>, Vec<_>) = rests
            .into_iter()
            .rev()
            .partition(|Reverse((_, _, ticket))| are(*ticket));
        self.0 = others.into();
        own.into_iter()
            .map(|Reverse((_, _, ticket))| ticket)
            .collect()
    }

    /// Nobody rests any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
