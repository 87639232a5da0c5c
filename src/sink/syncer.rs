//! Brings results to the disk while more are written. Floor 4: doors.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::writer::Handle;
use super::{Thread, broken, no_thread};
use crate::engine::Event;
use crate::error::Problem;

/// A thread that brings a file to the disk each time that so much has passed: it may take long, and results
/// are written meanwhile.
#[derive(Debug)]
pub(super) struct Syncer {
    to: mpsc::Sender<()>,
    thread: Thread,
}

/// A thread that waits for its file, and ends without one.
pub(super) struct Waiting {
    give: mpsc::Sender<Handle>,
    syncer: Syncer,
}

impl Waiting {
    pub(super) fn with(self, file: Handle) -> Syncer {
        // A thread that waits for it takes it.
        let _ = self.give.send(file);
        self.syncer
    }
}

impl Syncer {
    pub(super) fn waiting(
        each: Duration,
        tell: UnboundedSender<Event>,
    ) -> Result<Waiting, Problem> {
        let (give, given) = mpsc::channel::<Handle>();
        let (to, over) = mpsc::channel();
        let work = move || {
            let Ok(file) = given.recv() else {
                return Ok(());
            };
            while over.recv_timeout(each) == Err(RecvTimeoutError::Timeout) {
                file.sync().inspect_err(|problem| {
                    let _ = tell.send(Event::SinkLost(problem.clone()));
                })?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("fsync".to_owned());
        let thread = thread
            .spawn(work)
            .map_err(|why| no_thread("bring results to the disk", &why))?;
        let syncer = Self { to, thread };
        Ok(Waiting { give, syncer })
    }

    /// The thread ends when nobody tells it anything any more.
    pub(super) fn finish(self) -> Result<(), Problem> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|_| Err(broken()))
    }
}
