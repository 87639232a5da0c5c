//! The thread that reads the input, and hands its lines to an async loop. Floor 4: doors.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::resume::Found;
use super::{Resume, Source};
use crate::error::{Exit, Problem};
use crate::job::{BadLine, History, Job};
use crate::outcome::Status;
use crate::units::Tick;

/// Lines read ahead of the loop.
const AHEAD: usize = 256;

/// Bytes of lines read ahead, roughly; one line may be longer, and then stands alone.
const AHEAD_BYTES: u32 = 4 << 20;

/// What the reader hands over.
#[derive(Debug)]
pub enum Line {
    /// A line, and the moment at which the input had it ready.
    Read(Box<Result<Job, BadLine>>, Tick),
    /// A line that has its result from an earlier run, and the moment at which the input had it ready.
    DoneBefore(Status, Tick),
    /// A warning for people.
    Notice(String),
    /// The end of the input; the problem, if reading broke. The last line of all.
    Ended(Result<(), Problem>),
}

/// Lines as they come from a thread of their own, at most 256 and about 4 MiB ahead.
pub struct Reader {
    lines: mpsc::Receiver<Held>,
}

/// The room of a line is free again when the loop has taken it.
struct Held {
    line: Line,
    _room: Option<OwnedSemaphorePermit>,
}

impl Reader {
    /// Starts reading at once. `clock` is asked when a line is ready, before it waits for room. What `resume`
    /// knows the result of is told as such.
    ///
    /// The thread ends with the input, or at the next line after the reader is dropped; while a silent
    /// input blocks it, it holds nothing up.
    ///
    /// # Errors
    /// A problem if the system gives no thread.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn spawn(
        source: Source,
        resume: Option<Resume>,
        clock: impl Fn() -> Tick + Send + 'static,
    ) -> Result<Self, Problem> {
        let (sender, lines) = mpsc::channel(AHEAD);
        let runtime = Handle::current();
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || Feed::new(sender, runtime).all(source, resume, clock))
            .map_err(|why| no_thread(&why))?;
        Ok(Self { lines })
    }

    /// A line that is ready now; `None` if there is none, or none to come.
    pub fn try_next(&mut self) -> Option<Line> {
        self.lines.try_recv().ok().map(|held| held.line)
    }

    /// The next line, when it is there; `None` after [`Line::Ended`]. Nothing is lost if the wait is dropped.
    pub async fn next(&mut self) -> Option<Line> {
        self.lines.recv().await.map(|held| held.line)
    }
}

pub(super) fn no_thread(why: &io::Error) -> Problem {
    Problem::new(
        Exit::Usage,
        format!("no thread to read the input: {why}"),
        "allow this user more processes (ulimit -u)",
    )
}

/// The loop has gone: there is nobody to read for.
struct Gone;

struct Feed {
    sender: mpsc::Sender<Held>,
    room: Arc<Semaphore>,
    runtime: Handle,
}

impl Feed {
    fn new(sender: mpsc::Sender<Held>, runtime: Handle) -> Self {
        Self {
            sender,
            room: Arc::new(Semaphore::new(AHEAD_BYTES as usize)),
            runtime,
        }
    }

    fn all(
        &self,
        mut source: Source,
        mut resume: Option<Resume>,
        clock: impl Fn() -> Tick,
    ) -> Result<(), Gone> {
        let mut seq = 0;
        loop {
            let line = source.next();
            let ready_at = clock();
            for notice in source.notices() {
                self.hand(Line::Notice(notice), None)?;
            }
            let mut line = match line {
                Some(Ok(line)) => line,
                Some(Err(problem)) => return self.hand(Line::Ended(Err(problem)), None),
                None => {
                    let left = resume.as_mut().and_then(|resume| resume.left(&source));
                    left.map_or(Ok(()), |left| self.hand(Line::Notice(left), None))?;
                    return self.hand(Line::Ended(Ok(())), None);
                }
            };
            let found = resume
                .as_mut()
                .map_or(Ok(Found::New), |resume| resume.find(&line, seq));
            seq += 1;
            match (found, &mut line) {
                (Ok(Found::Done(status)), _) => {
                    self.hand(Line::DoneBefore(status, ready_at), None)?;
                    continue;
                }
                (Ok(Found::Again), Ok(job)) => job.history = History::Failed,
                (Ok(Found::New | Found::Again), _) => {}
                (Err(problem), _) => {
                    return self.hand(Line::Ended(Err(source.while_running(problem))), None);
                }
            }
            let room = self.room_for(&line);
            self.hand(Line::Read(Box::new(line), ready_at), room)?;
        }
    }

    fn room_for(&self, line: &Result<Job, BadLine>) -> Option<OwnedSemaphorePermit> {
        let size = line.as_ref().map_or(512, Job::size);
        let size = u32::try_from(size).map_or(AHEAD_BYTES, |size| size.min(AHEAD_BYTES));
        let room = Arc::clone(&self.room);
        room.try_acquire_many_owned(size)
            .or_else(|_| {
                let room = Arc::clone(&self.room);
                self.runtime.block_on(room.acquire_many_owned(size))
            })
            .ok()
    }

    /// Waits, if it must, until half of the lines are taken: the loop then wakes this thread once for all of
    /// them, and not for each.
    fn hand(&self, line: Line, room: Option<OwnedSemaphorePermit>) -> Result<(), Gone> {
        let held = Held { line, _room: room };
        match self.sender.try_send(held) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Gone),
            Err(TrySendError::Full(held)) => {
                let room = self.sender.reserve_many(AHEAD / 2);
                let mut room = self.runtime.block_on(room).map_err(|_| Gone)?;
                room.next().expect("half of all is at least one").send(held);
                Ok(())
            }
        }
    }
}
