//! A thread that works on something for the sink. Floor 4: doors.

use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use super::broken;
use crate::error::Problem;

/// A thread at work, and the way to it.
#[derive(Debug)]
pub(super) struct Worker<T> {
    to: mpsc::Sender<T>,
    thread: JoinHandle<Result<(), Problem>>,
}

/// A thread that waits for what it is to work on, and ends without it: it is there before a file is made or emptied.
pub(super) struct Waiting<W, T> {
    give: mpsc::Sender<W>,
    worker: Worker<T>,
}

impl<W: Send + 'static, T: Send + 'static> Waiting<W, T> {
    /// `does` says for people what it is to do.
    pub(super) fn spawn(
        name: &str,
        does: &str,
        work: impl FnOnce(W, Receiver<T>) -> Result<(), Problem> + Send + 'static,
    ) -> Result<Self, Problem> {
        let (give, given) = mpsc::channel();
        let (to, told) = mpsc::channel();
        let work = move || given.recv().map_or(Ok(()), |on| work(on, told));
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = thread.map_err(|why| {
            let what = format!("no thread to {does}: {why}");
            Problem::usage(what, "allow this user more processes (ulimit -u)")
        })?;
        let worker = Worker { to, thread };
        Ok(Self { give, worker })
    }

    pub(super) fn with(self, on: W) -> Worker<T> {
        // A thread that waits for it takes it.
        let _ = self.give.send(on);
        self.worker
    }
}

impl<T> Worker<T> {
    /// A thread that is gone has said why.
    pub(super) fn tell(&self, what: T) {
        let _ = self.to.send(what);
    }

    /// It ends when nobody tells it anything any more.
    pub(super) fn finish(self) -> Result<(), Problem> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|_| Err(broken()))
    }
}
