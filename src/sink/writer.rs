//! The thread that writes results: whole lines, all that is queued at once. Floor 4: doors.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use rustix::time::Timespec;
use tokio::sync::mpsc::UnboundedSender;

use super::{Batch, Form, Fsync, Waiting, no_thread};
use crate::engine::{Event, Ticket};
use crate::error::{Exit, Problem, to_write};
use crate::letters::calm_path;

/// So much text goes into one write, and not much more of it is in memory.
const ONE_WRITE: usize = 1 << 20;

/// So often the file says that its run lives: the time of its last change. After a kill this tells how long
/// ago the last request may have been sent.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// An open target, and its name for messages.
pub(super) struct Writer {
    name: String,
    /// None: it has none.
    path: Option<PathBuf>,
    file: File,
    out: Out,
    fsync: Fsync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Out {
    File,
    Stdout,
}

impl Writer {
    pub(super) fn file(path: &Path, file: File, fsync: Fsync) -> Self {
        Self {
            name: calm_path(path),
            path: Some(path.to_owned()),
            file,
            out: Out::File,
            fsync,
        }
    }

    /// A handle of its own, without the buffer of the library: it takes whole lines, and tells what the
    /// system says.
    pub(super) fn stdout(fsync: Fsync) -> Result<Self, Problem> {
        let handle = io::stdout().as_fd().try_clone_to_owned();
        let file = File::from(handle.map_err(|why| {
            let what = format!("cannot write results to standard output: {why}");
            Problem::new(Exit::Unwritten, what, "name a file with -o")
        })?);
        Ok(Self {
            name: "standard output".to_owned(),
            path: None,
            file,
            out: Out::Stdout,
            fsync,
        })
    }

    /// What a thread of [`syncing`] works on; `None` if it is no regular file.
    pub(super) fn synced(&self) -> Result<Option<Synced>, Problem> {
        if !self.is_regular() {
            return Ok(None);
        }
        let file = self.file.try_clone();
        Ok(Some(Synced {
            file: file.map_err(|why| problem(self.out, &self.name, &why))?,
            out: self.out,
            name: self.name.clone(),
        }))
    }

    fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|there| there.is_file())
    }

    /// Writes until the other end is dropped, or until it cannot.
    pub(super) fn run(
        mut self,
        form: &Form,
        batches: &Receiver<Batch>,
        tell: &UnboundedSender<Event>,
    ) -> Result<(), Problem> {
        let _fallen = Fallen(tell);
        let done = self.write_all(form, batches, tell);
        done.map_err(|why| {
            let problem = problem(self.out, &self.name, &why);
            let _ = tell.send(Event::SinkLost(problem.clone()));
            problem
        })?;
        self.path.as_deref().map_or(Ok(()), |path| self.found(path))
    }

    /// Whether the path still leads to the regular file that was written; where that cannot be told, it does.
    fn found(&self, path: &Path) -> Result<(), Problem> {
        let ours = match self.file.metadata() {
            Ok(ours) if ours.is_file() => ours,
            Ok(_) | Err(_) => return Ok(()),
        };
        let (what, mend) = match path.metadata() {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => return Ok(()),
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Ok(()),
            Ok(_) | Err(_) if ours.nlink() > 0 => (
                "was moved while the run wrote to it: its results are under another name",
                "look for them there; leave the file in its place while a run writes to it",
            ),
            Ok(_) | Err(_) => (
                "was deleted while the run wrote to it: its results are lost",
                "run it again, and leave the file in its place meanwhile",
            ),
        };
        let what = format!("{} {what}", self.name);
        Err(Problem::new(Exit::Unwritten, what, mend))
    }

    fn write_all(
        &mut self,
        form: &Form,
        batches: &Receiver<Batch>,
        tell: &UnboundedSender<Event>,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        let mut lines = Vec::new();
        let regular = self.is_regular();
        loop {
            let first = match batches.recv_timeout(SIGN_OF_LIFE) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) if regular => {
                    self.live();
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return self.close(),
            };
            for (ticket, outcome) in std::iter::once(first).chain(batches.try_iter()).flatten() {
                form.write(&outcome, &mut text);
                lines.push((ticket, text.len()));
                if text.len() >= ONE_WRITE {
                    self.put(&mut text, &mut lines, tell)?;
                }
            }
            self.put(&mut text, &mut lines, tell)?;
        }
    }

    /// A system that cannot say so is no reason to stop.
    fn live(&self) {
        let when = |nanos| Timespec {
            tv_sec: 0,
            tv_nsec: nanos,
        };
        let times = Timestamps {
            last_access: when(UTIME_OMIT),
            last_modification: when(UTIME_NOW),
        };
        let _ = futimens(&self.file, &times);
    }

    /// Writes the text and tells the tickets of its lines, each with the length of the text up to its end.
    ///
    /// If a file takes only a part, the whole lines of that part count and the torn one is cut off.
    fn put(
        &mut self,
        text: &mut Vec<u8>,
        lines: &mut Vec<(Ticket, usize)>,
        tell: &UnboundedSender<Event>,
    ) -> io::Result<()> {
        // The run has made its account: what is written after it would be counted as not written.
        if tell.is_closed() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (written, done) = write_to(&mut self.file, text, lines);
        for (ticket, _) in lines.drain(..).take_while(|&(_, end)| end <= written) {
            let _ = tell.send(Event::Recorded(ticket));
        }
        text.clear();
        text.shrink_to(ONE_WRITE);
        done
    }

    /// A disk may refuse at the very end what it took before. What closing tells, bringing it to the disk
    /// tells, too.
    fn close(&mut self) -> io::Result<()> {
        match self.fsync {
            Fsync::End | Fsync::Each(_) if self.is_regular() => self.file.sync_all(),
            Fsync::End | Fsync::Each(_) | Fsync::Never => Ok(()),
        }
    }
}

/// A file that is brought to the disk.
pub(super) struct Synced {
    file: File,
    out: Out,
    name: String,
}

/// A thread that brings a file to the disk each time that so much has passed: it may take long, and results
/// are written meanwhile. It waits for the file, and ends without one.
pub(super) fn syncing(
    each: Duration,
    tell: UnboundedSender<Event>,
) -> Result<Waiting<Synced, ()>, Problem> {
    let (give, given) = mpsc::channel::<Synced>();
    let (to, over) = mpsc::channel();
    let work = move || {
        let Ok(Synced { file, out, name }) = given.recv() else {
            return Ok(());
        };
        while over.recv_timeout(each) == Err(RecvTimeoutError::Timeout) {
            file.sync_data().map_err(|why| {
                let problem = problem(out, &name, &why);
                let _ = tell.send(Event::SinkLost(problem.clone()));
                problem
            })?;
        }
        Ok(())
    };
    let thread = thread::Builder::new().name("fsync".to_owned());
    let thread = thread
        .spawn(work)
        .map_err(|why| no_thread("bring results to the disk", &why))?;
    Ok((give, to, thread))
}

fn problem(out: Out, name: &str, why: &io::Error) -> Problem {
    match out {
        // Whoever read it has had enough: nothing to complain of.
        Out::Stdout if why.kind() == io::ErrorKind::BrokenPipe => {
            Problem::new(Exit::PipeClosed, "", "")
        }
        Out::Stdout => {
            let mend = format!("{}; what was written is whole lines", to_write(why));
            let what = format!("cannot write results to {name}: {why}");
            Problem::new(Exit::Unwritten, what, mend)
        }
        Out::File => {
            let mend = format!(
                "{} and go on with --resume; what was written is whole lines",
                to_write(why)
            );
            let what = format!("cannot write results to {name}: {why}");
            Problem::new(Exit::Unwritten, what, mend)
        }
    }
}

/// Writes to a file, and how much of the text is in it: all, or the lines that are whole.
fn write_to(file: &mut File, text: &[u8], lines: &[(Ticket, usize)]) -> (usize, io::Result<()>) {
    let mut written = 0;
    let why = loop {
        match file.write(&text[written..]) {
            Ok(0) if written < text.len() => break io::ErrorKind::WriteZero.into(),
            Ok(more) if written + more == text.len() => return (text.len(), Ok(())),
            Ok(more) => written += more,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            // A pipe that another program has made so.
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(file, PollFlags::OUT)], None);
            }
            Err(why) => break why,
        }
    };
    let ends = lines.iter().map(|&(_, end)| end);
    let whole = ends.take_while(|&end| end <= written).last().unwrap_or(0);
    // Only a regular file has a place to go back to; the failure that is told is the one of the write.
    if let Ok(at) = file.stream_position() {
        let torn = (written - whole) as u64;
        let _ = file.set_len(at.saturating_sub(torn));
    }
    (whole, Err(why))
}

/// The problem of a writer that panicked: a mistake in this program.
pub(super) fn broken() -> Problem {
    Problem::new(
        Exit::Unwritten,
        "the thread that writes results broke off",
        "please report it; what was written is whole lines",
    )
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
