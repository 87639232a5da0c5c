//! Answers on their way in virtual time. Floor 5: drive.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::engine::Ticket;
use crate::outcome::{Failure, Reply};
use crate::units::Tick;

/// Answers on their way; those of one moment come in the order of their requests.
#[derive(Default)]
pub(super) struct Answers {
    heap: BinaryHeap<Reverse<Answer>>,
    count: u64,
}

/// How a try ends, and when.
pub(super) struct Answer {
    pub(super) at: Tick,
    count: u64,
    pub(super) ticket: Ticket,
    pub(super) end: Box<Result<Reply, Failure>>,
}

impl Answers {
    /// One more, to come at this moment.
    pub(super) fn add(&mut self, at: Tick, ticket: Ticket, mut end: Result<Reply, Failure>) {
        if let Ok(reply) = &mut end {
            reply.head.at = at;
        }
        self.count += 1;
        self.heap.push(Reverse(Answer {
            at,
            count: self.count,
            ticket,
            end: Box::new(end),
        }));
    }

    /// When the next one comes.
    pub(super) fn next(&self) -> Option<Tick> {
        self.heap.peek().map(|Reverse(answer)| answer.at)
    }

    /// The next one, if it has come by now.
    pub(super) fn take(&mut self, now: Tick) -> Option<Answer> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(answer)| answer)
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
    }
}

impl Eq for Answer {}

impl PartialOrd for Answer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Answer {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.count).cmp(&(other.at, other.count))
    }
}
