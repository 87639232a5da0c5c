//! Writes on a thread of its own, all that is queued at once. Floor 4: doors.

use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use super::worker::{Waiting, Worker};
use super::writer::{Lines, ONE_WRITE, SIGN_OF_LIFE, Writer};
use super::{Form, broken};
use crate::engine::{Event, Ticket};
use crate::error::Problem;
use crate::outcome::Outcome;

/// Outcomes that may be written at once.
pub(super) type Batch = Vec<(Ticket, Box<Outcome>)>;

/// The thread, and what is still to be handed to it.
#[derive(Debug)]
pub(super) struct Beside {
    batch: Batch,
    worker: Worker<Batch>,
}

impl Beside {
    pub(super) fn waiting(
        form: &Form,
        tell: &UnboundedSender<Event>,
    ) -> Result<Waiting<Writer, Batch>, Problem> {
        let (form, tell) = (form.clone(), tell.clone());
        Waiting::spawn("results", "write results", move |writer, batches| {
            run(writer, &form, &batches, &tell)
        })
    }

    pub(super) fn new(worker: Worker<Batch>) -> Self {
        Self {
            batch: Batch::new(),
            worker,
        }
    }

    pub(super) fn record(&mut self, ticket: Ticket, outcome: Box<Outcome>) {
        self.batch.push((ticket, outcome));
    }

    /// Hands over what was taken.
    pub(super) fn write(&mut self) {
        if !self.batch.is_empty() {
            self.worker.tell(mem::take(&mut self.batch));
        }
    }

    pub(super) fn finish(self) -> Result<(), Problem> {
        self.worker.finish()
    }
}

/// Writes until the other end is dropped, or until it cannot.
fn run(
    mut writer: Writer,
    form: &Form,
    batches: &Receiver<Batch>,
    tell: &UnboundedSender<Event>,
) -> Result<(), Problem> {
    let _fallen = Fallen(tell);
    let mut lines = Lines::default();
    let regular = writer.is_regular();
    loop {
        let first = match batches.recv_timeout(SIGN_OF_LIFE) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) if regular => {
                writer.live();
                continue;
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return writer.close(),
        };
        for (ticket, outcome) in std::iter::once(first).chain(batches.try_iter()).flatten() {
            if lines.add(ticket, &outcome, form) >= ONE_WRITE {
                put(&mut writer, &mut lines, tell)?;
            }
        }
        put(&mut writer, &mut lines, tell)?;
    }
}

fn put(
    writer: &mut Writer,
    lines: &mut Lines,
    tell: &UnboundedSender<Event>,
) -> Result<(), Problem> {
    // The run has made its account: what is written after it would be counted as not written.
    if tell.is_closed() {
        return Err(writer.unheard());
    }
    writer.put(lines, &mut |event| {
        let _ = tell.send(event);
    })
}

/// Tells of a panic, so that a run does not wait for ever for what nobody writes.
struct Fallen<'a>(&'a UnboundedSender<Event>);

impl Drop for Fallen<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Event::SinkLost(broken()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_panics_is_told_as_lost() {
        let (tell, mut events) = tokio::sync::mpsc::unbounded_channel();
        let fallen = thread::spawn(move || {
            let _fallen = Fallen(&tell);
            panic!("on purpose, for this test");
        });
        assert!(fallen.join().is_err());
        match events.blocking_recv() {
            Some(Event::SinkLost(problem)) => assert_eq!(problem, broken()),
            other => panic!("not expected: {other:?}"),
        }
    }
}
