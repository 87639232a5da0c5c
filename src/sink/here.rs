//! Writes where the run goes on, at the end of each turn. Floor 4: doors.

use super::Form;
use super::writer::{Lines, SIGN_OF_LIFE, Writer};
use crate::engine::{Event, Ticket};
use crate::error::Problem;
use crate::outcome::Outcome;
use crate::units::Tick;

/// A regular file, and what is still to be written to it.
#[derive(Debug)]
pub(super) struct Here {
    writer: Writer,
    lines: Lines,
    wrote: Tick,
    /// It shows no life before, however much is written meanwhile: a timer that is set again for each write costs
    /// more than all else here.
    due: Tick,
}

impl Here {
    pub(super) fn new(writer: Writer, now: Tick) -> Self {
        Self {
            writer,
            lines: Lines::default(),
            wrote: now,
            due: now.after(SIGN_OF_LIFE),
        }
    }

    /// Returns how much text waits.
    pub(super) fn record(&mut self, ticket: Ticket, outcome: &Outcome, form: &Form) -> usize {
        self.lines.add(ticket, outcome, form)
    }

    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn put(&mut self, told: &mut Vec<Event>) -> Result<(), Problem> {
        self.writer
            .put(&mut self.lines, &mut |event| told.push(event))
    }

    pub(super) fn wrote(&mut self, now: Tick) {
        self.wrote = now;
    }

    pub(super) fn due(&self) -> Tick {
        self.due
    }

    pub(super) fn live(&mut self, now: Tick) {
        if now < self.due {
            return;
        }
        if now >= self.wrote.after(SIGN_OF_LIFE) {
            self.writer.live();
            self.wrote = now;
        }
        self.due = self.wrote.after(SIGN_OF_LIFE);
    }

    /// Nothing waits to be written.
    pub(super) fn into_writer(self) -> Writer {
        self.writer
    }
}
