//! Everything that adds up, whatever the order in which it is told. Floor 3: rules.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use super::{ByVerdict, Counts, LATE, Lateness, Sends, Streams, Timeline};
use crate::outcome::{FailureKind, Outcome, Status, Try, UnitsSpent, Waits};
use crate::stream::Pace;
use crate::units::{Tick, nanos, whole_micros};

/// The most moments of sending that are kept one by one: a raster shows no more.
const FIRST_SENDS: usize = 10_000;

/// Sums over jobs and tries. A run tells them as they happen, a file of results line by line.
#[derive(Debug, Default)]
pub struct Tally {
    /// Lines of input.
    pub counts: Counts,
    /// Tries that were sent; here and below in whole microseconds, as results tell them.
    pub sends: Sends,
    /// The moments of the first 10 000 of them, as they ended.
    pub first_sends: Vec<Tick>,
    /// Tries granted.
    pub tries: u64,
    /// Tries after the first of a job.
    pub retries: u64,
    /// Jobs whose first send was late by more than [`LATE`].
    pub late: u64,
    /// Answers by status, over all tries.
    pub statuses: BTreeMap<u16, u64>,
    /// Tries without a whole answer, by kind.
    pub try_failures: BTreeMap<FailureKind, u64>,
    /// Jobs that are not `ok`, by kind.
    pub failures: BTreeMap<FailureKind, u64>,
    /// First byte written to last byte read, of a job's last try.
    pub service: ByVerdict,
    /// Last byte minus due.
    pub since_due: ByVerdict,
    /// First send minus due.
    pub lateness: Lateness,
    /// What the jobs waited for, summed.
    pub waits: Waits,
    /// What all tries reserved and used, where a limit counts units.
    pub units: UnitsSpent,
    /// Of answers that were streams of events; `None` if there was none.
    pub streams: Option<Box<Streams>>,
    /// What happened when.
    pub timeline: Timeline,
}

/// What no line of results tells, so only a run itself adds it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unseen {
    /// Tries that were granted and had not ended when the run did: they may have been sent.
    pub cut_off: u64,
    /// Pauses that a server asked for.
    pub pauses: u64,
    /// Failed tries that were not repeated as the server may have acted on them.
    pub unrepeated: u64,
    /// Answers that did not say what they used, where a limit counts units.
    pub untold: u64,
    /// Retries that their budget has held.
    pub retries_held: u64,
    /// For how long, all together.
    pub retries_held_for: Duration,
    /// How often an origin was paused as it failed again and again.
    pub breaks: u64,
    /// For how long, all together.
    pub broken_for: Duration,
    /// Of the store through which limits were shared.
    pub store: StoreSeen,
}

/// What a run has seen of the store through which it shares limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSeen {
    /// Tries that asked for their grant.
    pub asks: u64,
    /// Of those, refused: they asked again.
    pub refused: u64,
    /// Of those, granted ahead and not used.
    pub lapsed: u64,
    /// The most runs that shared it at once, this one among them.
    pub members: u32,
    /// How often it was away.
    pub times_away: u64,
    /// For how long, all together.
    pub away: Duration,
    /// How often it had lost what it held.
    pub emptied: u64,
}

impl Unseen {
    /// The same of another run.
    pub(super) fn add(&mut self, other: Self) {
        self.cut_off += other.cut_off;
        self.pauses += other.pauses;
        self.unrepeated += other.unrepeated;
        self.untold += other.untold;
        self.retries_held += other.retries_held;
        self.retries_held_for += other.retries_held_for;
        self.breaks += other.breaks;
        self.broken_for += other.broken_for;
        let (own, store) = (&mut self.store, other.store);
        own.asks += store.asks;
        own.refused += store.refused;
        own.lapsed += store.lapsed;
        own.members = own.members.max(store.members);
        own.times_away += store.times_away;
        own.away += store.away;
        own.emptied += store.emptied;
    }
}

/// What is counted of a job that has its last word, in whole microseconds: results tell no more, so what is
/// counted of them is the same.
#[derive(Debug)]
pub struct Done<'a> {
    /// The verdict.
    pub status: Status,
    /// Why it is not `ok`.
    pub error: Option<FailureKind>,
    /// First byte written to last byte read; `None` if it was never sent.
    pub service: Option<Duration>,
    /// Last byte minus due; `None` if it was never sent.
    pub since_due: Option<Duration>,
    /// First send minus due; `None` if it was never sent.
    pub late: Option<Duration>,
    /// Of its last answer, if that was a stream of events.
    pub pace: Option<Pace>,
    /// What it waited for.
    pub waits: &'a Waits,
}

impl<'a> Done<'a> {
    /// What is counted of this outcome.
    pub fn of(outcome: &'a Outcome) -> Self {
        let (first, last) = (outcome.tries.first(), outcome.tries.last());
        Self {
            status: outcome.status,
            error: outcome.error.as_ref().map(|(kind, _)| *kind),
            service: outcome.latency().map(whole_micros),
            since_due: outcome.since_due().map(whole_micros),
            late: first.and_then(|first| {
                let [sent, due] =
                    [first.sent?, first.due].map(|at| whole_micros(at.since(Tick::ZERO)));
                Some(sent.saturating_sub(due))
            }),
            pace: last.and_then(|last| Some(last.stream.as_ref()?.pace(last.sent?))),
            waits: &outcome.waits,
        }
    }
}

impl Tally {
    /// A try has ended.
    pub fn ended(&mut self, done: &Try) {
        if let Some(spent) = done.units {
            self.units.add(spent);
        }
        for sent in done.sends() {
            let sent = Tick(nanos(whole_micros(sent.since(Tick::ZERO))));
            self.sends.add(sent);
            if self.first_sends.len() < FIRST_SENDS {
                self.first_sends.push(sent);
            }
            self.timeline.sent(sent);
        }
        self.timeline.ended(done.done, done.status);
        if let Some(status) = done.status {
            *self.statuses.entry(status.as_u16()).or_default() += 1;
        }
        if let Some(stream) = &done.stream {
            self.streams.get_or_insert_default().ended(stream);
        }
        if let Some(failure) = &done.failure {
            *self.try_failures.entry(failure.kind).or_default() += 1;
        }
    }

    /// A job has its last word.
    pub fn done(&mut self, done: &Done<'_>) {
        if let Some(kind) = done.error {
            *self.failures.entry(kind).or_default() += 1;
        }
        for (latencies, latency) in [
            (&mut self.service, done.service),
            (&mut self.since_due, done.since_due),
        ] {
            if let Some(latency) = latency {
                latencies.of(done.status).add(latency);
            }
        }
        if let Some(pace) = done.pace {
            let streams = self.streams.get_or_insert_default();
            streams.done(pace, done.status);
        }
        if let Some(late) = done.late {
            self.late += u64::from(late > LATE);
            self.lateness.add(late);
        }
        for (name, span) in done.waits.iter() {
            self.waits.add(name, whole_micros(span));
        }
    }

    /// Answers with this status, over all tries.
    pub fn answers(&self, status: StatusCode) -> u64 {
        self.statuses.get(&status.as_u16()).copied().unwrap_or(0)
    }

    /// A line has its result.
    pub fn recorded(&mut self, status: Status) {
        match status {
            Status::Ok => self.counts.ok += 1,
            Status::Failed => self.counts.failed += 1,
            Status::Invalid => self.counts.invalid += 1,
            Status::Skipped => self.counts.skipped += 1,
        }
    }
}
