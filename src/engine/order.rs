//! Results in the order of the input: what is held back, and who may go meanwhile. Floor 3: rules.
//!
//! Sending is held back, not memory: a slot is free only when its result is written, so a result that waits
//! for an older one keeps its slots. That must never leave too few for the older one:
//!
//! > For each job without slots, those that younger ones hold leave it as many as it needs.
//!
//! Everyone older is written before it, and gives back; so the oldest job always finds its slots, every line
//! becomes the oldest one, and every run ends. A job that is read is the youngest, one that comes to rest had
//! its slots beside those of the younger ones, and [`InOrder::lets`] keeps the rule at each grant.

use std::collections::{BTreeMap, BTreeSet};

use super::talk::Ticket;
use crate::outcome::Outcome;
use crate::units::Cost;

/// Where there is no limit of slots: most jobs in flight and results held back, with a place for the oldest.
/// Few in random worlds, which hold no thousand lines.
pub(super) const UNLIMITED: usize = if cfg!(test) { 7 } else { 1000 };

/// How far a line has come that is not yet handed over.
#[derive(Debug)]
enum Line {
    /// It was just read.
    Fresh,
    /// It waits, rests or is in flight.
    Open(Ticket),
    /// It waits for an older one.
    Finished(Ticket, Box<Outcome>),
}

/// Lines that were read and whose results are not yet handed over, in the order of the input.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// What is vanished is not here.
    lines: BTreeMap<u64, Line>,
    /// Those of them that are finished.
    finished: usize,
    /// Jobs without slots, by how many each needs.
    waiting: BTreeMap<Cost, BTreeSet<u64>>,
    /// Jobs with slots, in flight or held back.
    holding: BTreeMap<u64, Cost>,
    /// The slots of all those.
    held: u64,
    /// Those of them that results have.
    held_back: u64,
    /// Slots of results that are handed over and not yet written.
    writing: BTreeMap<u64, Cost>,
}

impl Line {
    fn result(self) -> Option<(Ticket, Box<Outcome>)> {
        match self {
            Self::Finished(ticket, outcome) => Some((ticket, outcome)),
            Self::Fresh | Self::Open(_) => None,
        }
    }
}

impl InOrder {
    /// A line was read.
    pub(super) fn read(&mut self, seq: u64) {
        self.lines.insert(seq, Line::Fresh);
    }

    /// A job that was read, or that rests, has to get its slots.
    pub(super) fn waits(&mut self, seq: u64, ticket: Ticket, slots: Cost) {
        self.gives_back(seq);
        self.lines.insert(seq, Line::Open(ticket));
        self.waiting.entry(slots).or_default().insert(seq);
    }

    /// A job has got its slots.
    pub(super) fn goes(&mut self, seq: u64, slots: Cost) {
        self.waits_no_more(seq, slots);
        self.holding.insert(seq, slots);
        self.held += slots.get();
    }

    /// A job will have no result.
    pub(super) fn vanishes(&mut self, seq: u64, slots: Cost) {
        self.waits_no_more(seq, slots);
        self.gives_back(seq);
        self.lines.remove(&seq);
    }

    fn waits_no_more(&mut self, seq: u64, slots: Cost) {
        if let Some(alike) = self.waiting.get_mut(&slots) {
            alike.remove(&seq);
            if alike.is_empty() {
                self.waiting.remove(&slots);
            }
        }
    }

    /// A line has its result. It is given out by [`InOrder::next`] when it is the oldest.
    pub(super) fn finishes(&mut self, ticket: Ticket, outcome: Box<Outcome>) {
        let seq = outcome.seq;
        if let Ok(job) = &outcome.line {
            self.waits_no_more(seq, job.slots);
        }
        self.held_back += self.holding.get(&seq).map_or(0, |slots| slots.get());
        self.finished += 1;
        self.lines.insert(seq, Line::Finished(ticket, outcome));
    }

    /// The result of the oldest line, if it has one. What is handed over is older than all that is left: its
    /// slots stand in nobody's way.
    pub(super) fn next(&mut self) -> Option<(Ticket, Box<Outcome>)> {
        let oldest = self.lines.first_entry()?;
        match oldest.get() {
            Line::Finished(..) => {}
            Line::Fresh | Line::Open(_) => return None,
        }
        let (seq, line) = oldest.remove_entry();
        self.finished -= 1;
        if let Some(slots) = self.gives_back(seq) {
            self.held_back -= slots.get();
            self.writing.insert(seq, slots);
        }
        line.result()
    }

    /// A result that was handed over is written.
    pub(super) fn written(&mut self, seq: u64) {
        self.writing.remove(&seq);
    }

    /// Gives up the results that cost no try: with those before them left out they would stand behind a gap
    /// that nobody has paid for.
    pub(super) fn give_up_untried(&mut self) -> Vec<Ticket> {
        let mut given_up = Vec::new();
        self.lines.retain(|_, line| match line {
            Line::Finished(ticket, outcome) if outcome.tries.is_empty() => {
                given_up.push(*ticket);
                false
            }
            Line::Finished(..) | Line::Open(_) | Line::Fresh => true,
        });
        self.finished -= given_up.len();
        given_up
    }

    /// All results, in order, whoever is older.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = (Ticket, Box<Outcome>)> + use<> {
        *self = Self {
            lines: std::mem::take(&mut self.lines),
            ..Self::default()
        };
        let lines = std::mem::take(&mut self.lines);
        lines.into_values().filter_map(Line::result)
    }

    fn gives_back(&mut self, seq: u64) -> Option<Cost> {
        let slots = self.holding.remove(&seq);
        self.held -= slots.map_or(0, Cost::get);
        slots
    }

    /// The oldest line, for which all results wait: a job.
    pub(super) fn oldest(&self) -> Option<Ticket> {
        match self.lines.first_key_value()?.1 {
            Line::Open(ticket) => Some(*ticket),
            Line::Fresh | Line::Finished(..) => None,
        }
    }

    /// Results that wait for an older one.
    pub(super) fn finished(&self) -> usize {
        self.finished
    }

    /// All slots that are taken, of results that are being written, too.
    pub(super) fn taken(&self) -> u64 {
        let writing = self.writing.values().map(|slots| slots.get());
        self.held + writing.sum::<u64>()
    }

    /// Whether results that are held back keep a job from so many slots: without them it would have those, and
    /// they are half of what is taken or more.
    ///
    /// Fewer cost little: with ten slots and answers that take 10 to 190 ms, one result or more is held back for
    /// 90 % of the time, and half of the slots for 23 %; the order makes such a run last 31 % of it longer.
    pub(super) fn withholds(&self, slots: Cost, of: Cost) -> bool {
        let others = self.taken() - self.held_back;
        self.held_back > 0 && self.held_back >= others && others + slots.get() <= of.get()
    }

    /// Whether a job may take its slots of so many, or may go where there is no limit of them.
    pub(super) fn lets(&self, seq: u64, slots: Cost, of: Option<Cost>) -> bool {
        let Some(of) = of else {
            let oldest = self.lines.first_key_value().map(|(&oldest, _)| oldest);
            let kept = oldest.is_some_and(|oldest| !self.holding.contains_key(&oldest));
            return oldest == Some(seq) || self.holding.len() + usize::from(kept) < UNLIMITED;
        };
        // Of those that need as much, most is in the way of the oldest.
        let mut first = self.waiting.iter().filter_map(|(needs, alike)| {
            let first = *alike.first()?;
            (first < seq).then_some((first, needs))
        });
        first.all(|(older, needs)| {
            // Of those who are older still there are few: they go before it.
            let oldest = self.holding.range(..older).map(|(_, held)| held.get());
            let younger = self.held - oldest.sum::<u64>();
            needs.get() + slots.get() + younger <= of.get()
        })
    }
}
