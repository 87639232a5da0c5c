//! The thread that reads the input, and hands its lines to an async loop. Floor 4: doors.

use std::io;
use std::sync::Arc;
use std::time::Duration;
use std::{thread, vec};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::resume::Found;
use super::{Resume, Source};
use crate::error::{Exit, Problem};
use crate::job::{BadLine, History, Job};
use crate::outcome::Status;
use crate::units::Tick;

/// Bytes of lines read ahead, roughly; one line may be longer, and then stands alone.
const AHEAD: u32 = 4 << 20;

/// A line counts as so many bytes at least, so that no more than 256 are read ahead.
const LEAST: u32 = AHEAD / 256;

/// Bytes of lines that are handed over together: what that costs is shared by 16.
const TOGETHER: u32 = 16 * LEAST;

/// A line that took longer than this to be read, as one whose body is a file may, does not wait for the next one.
const SLOW: Duration = Duration::from_micros(100);

/// What the reader hands over.
#[derive(Debug)]
pub enum Line {
    /// A line, and the moment at which the input had it ready, or the first of those that were there with it.
    Read(Result<Arc<Job>, Box<BadLine>>, Tick),
    /// A line that has its result from an earlier run, and that moment.
    DoneBefore(Status, Tick),
    /// A warning for people.
    Notice(String),
    /// The end of the input; the problem, if reading broke. The last line of all.
    Ended(Result<(), Problem>),
}

/// Lines as they come from a thread of their own, at most 256 and about 4 MiB ahead.
pub struct Reader {
    batches: mpsc::UnboundedReceiver<Batch>,
    taken: Batch,
}

/// Lines that are handed over together. Their room is free again when the loop has taken the last one.
#[derive(Default)]
struct Batch {
    lines: vec::IntoIter<Line>,
    room: Option<OwnedSemaphorePermit>,
}

impl Batch {
    fn next(&mut self) -> Option<Line> {
        let line = self.lines.next();
        if self.lines.len() == 0 {
            self.room = None;
        }
        line
    }
}

impl Reader {
    /// Starts reading at once. `clock` is asked when the first of some lines is ready, before they wait for room. What
    /// `resume` knows the result of is told as such.
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
        let (sender, batches) = mpsc::unbounded_channel();
        let runtime = Handle::current();
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || Feed::new(sender, runtime).all(source, resume, clock))
            .map_err(|why| no_thread(&why))?;
        Ok(Self {
            batches,
            taken: Batch::default(),
        })
    }

    /// A line that is ready now; `None` if there is none, or none to come.
    pub fn try_next(&mut self) -> Option<Line> {
        let line = self.taken.next();
        line.or_else(|| {
            self.taken = self.batches.try_recv().ok()?;
            self.taken.next()
        })
    }

    /// The next line, when it is there; `None` after [`Line::Ended`]. Nothing is lost if the wait is dropped.
    pub async fn next(&mut self) -> Option<Line> {
        if let Some(line) = self.taken.next() {
            return Some(line);
        }
        self.taken = self.batches.recv().await?;
        self.taken.next()
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
    sender: mpsc::UnboundedSender<Batch>,
    runtime: Handle,
    room: Arc<Semaphore>,
    /// Room that is taken and not yet filled.
    spare: Option<OwnedSemaphorePermit>,
    lines: Vec<Line>,
    /// Bytes of these lines.
    bytes: u32,
}

impl Feed {
    fn new(sender: mpsc::UnboundedSender<Batch>, runtime: Handle) -> Self {
        Self {
            sender,
            runtime,
            room: Arc::new(Semaphore::new(AHEAD as usize)),
            spare: None,
            lines: Vec::new(),
            bytes: 0,
        }
    }

    fn all(
        mut self,
        mut source: Source,
        mut resume: Option<Resume>,
        clock: impl Fn() -> Tick,
    ) -> Result<(), Gone> {
        let mut seq = 0;
        let mut before = clock();
        loop {
            let mut line = source.next_here();
            if line.is_none() {
                self.hand()?;
                line = source.next();
            }
            let mut ready_at = before;
            if self.lines.is_empty() || source.has_read_file() {
                ready_at = clock();
            }
            for notice in source.notices() {
                self.add(Line::Notice(notice))?;
            }
            let line = match line {
                Some(Ok(line)) => line,
                Some(Err(problem)) => return self.end(Err(problem)),
                None => {
                    let left = resume.as_mut().and_then(|resume| resume.left(&source));
                    for note in left.into_iter().chain(source.left_note()) {
                        self.add(Line::Notice(note))?;
                    }
                    return self.end(Ok(()));
                }
            };
            let found = resume
                .as_mut()
                .map_or(Ok(Found::New), |resume| resume.find(&line, seq));
            seq += 1;
            let line = match (found, line) {
                (Ok(Found::Done(status)), _) => Line::DoneBefore(status, ready_at),
                (Ok(Found::Again), Ok(mut job)) => {
                    job.history = History::Failed;
                    Line::Read(Ok(Arc::new(job)), ready_at)
                }
                (Ok(Found::New | Found::Again), line) => {
                    Line::Read(line.map(Arc::new).map_err(Box::new), ready_at)
                }
                (Err(problem), _) => return self.end(Err(source.while_running(problem))),
            };
            self.add(line)?;
            if ready_at.since(before) > SLOW {
                self.hand()?;
            }
            before = ready_at;
        }
    }

    fn end(mut self, how: Result<(), Problem>) -> Result<(), Gone> {
        self.add(Line::Ended(how))?;
        self.hand()
    }

    /// Hands a line over with those before it, unless there is room for others with them.
    fn add(&mut self, line: Line) -> Result<(), Gone> {
        let size = match &line {
            Line::Read(Ok(job), _) => u32::try_from(job.size()).unwrap_or(AHEAD),
            Line::Read(Err(_), _) | Line::DoneBefore(..) | Line::Notice(_) | Line::Ended(_) => 0,
        };
        let size = size.clamp(LEAST, AHEAD);
        if self.bytes + size > TOGETHER {
            self.hand()?;
        }
        self.lines.push(line);
        self.bytes += size;
        if self.bytes >= TOGETHER {
            self.hand()?;
        }
        Ok(())
    }

    fn hand(&mut self) -> Result<(), Gone> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let room = self.room_for(bytes);
        let next = Vec::with_capacity((TOGETHER / LEAST) as usize);
        let lines = std::mem::replace(&mut self.lines, next).into_iter();
        self.sender.send(Batch { lines, room }).map_err(|_| Gone)
    }

    /// Waits, if it must, until half of all room is free: the loop then wakes this thread once for many
    /// lines, and not for each.
    fn room_for(&mut self, bytes: u32) -> Option<OwnedSemaphorePermit> {
        let spare = self
            .spare
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = (bytes as usize).saturating_sub(spare);
        if missing > 0 {
            let most = AHEAD as usize - spare;
            let wanted = missing.max(AHEAD as usize / 2).min(most);
            let wanted = u32::try_from(wanted).expect("there is not so much in all");
            let room = Arc::clone(&self.room).acquire_many_owned(wanted);
            let room = self.runtime.block_on(room).ok()?;
            match &mut self.spare {
                Some(spare) => spare.merge(room),
                None => self.spare = Some(room),
            }
        }
        self.spare.as_mut()?.split(bytes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_and_fifty_six_lines_fill_the_room_and_give_it_back() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (sender, mut batches) = mpsc::unbounded_channel();
        let mut feed = Feed::new(sender, runtime.handle().clone());
        for _ in 0..256 {
            let line = Line::DoneBefore(Status::Ok, Tick::ZERO);
            assert!(feed.add(line).is_ok());
        }
        let spare = feed.spare.take().unwrap().num_permits();
        assert_eq!((feed.room.available_permits(), spare), (0, 0));
        let mut taken = 0;
        while let Ok(mut batch) = batches.try_recv() {
            assert!(batch.lines.len() <= 16);
            while batch.next().is_some() {
                taken += 1;
            }
        }
        let free = feed.room.available_permits();
        assert_eq!((taken, free), (256, AHEAD as usize));
    }
}
