//! What results are written to: whole lines, all that is queued at once. Floor 4: doors.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
use rustix::time::Timespec;

use super::text::Text;
use super::{Form, Fsync};
use crate::engine::{Event, Ticket};
use crate::error::{Exit, Problem, to_write};
use crate::letters::calm_path;
use crate::outcome::Outcome;

/// So much text goes into one write, and not much more of it is in memory.
pub(super) const ONE_WRITE: usize = 1 << 20;

/// So often the file says that its run lives: the time of its last change. After a kill this tells how long
/// ago the last request may have been sent.
pub const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// An open target, and its name for messages.
#[derive(Debug)]
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

    /// Writes what stands before all results.
    pub(super) fn begin(&mut self, head: &str) -> Result<(), Problem> {
        let written = self.file.write_all(head.as_bytes());
        written.map_err(|why| problem(self.out, &self.name, &why))
    }

    /// Another handle of the same file.
    pub(super) fn handle(&self) -> Result<Handle, Problem> {
        let file = self.file.try_clone();
        Ok(Handle {
            file: file.map_err(|why| problem(self.out, &self.name, &why))?,
            out: self.out,
            name: self.name.clone(),
        })
    }

    pub(super) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|there| there.is_file())
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

    /// A system that cannot say so is no reason to stop.
    pub(super) fn live(&self) {
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

    /// Writes the lines and tells their tickets; if that cannot be, tells so.
    ///
    /// If a file takes only a part, the whole lines of that part count and the torn one is cut off.
    pub(super) fn put(
        &mut self,
        lines: &mut Lines,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), Problem> {
        let (written, done) = write_to(&mut self.file, lines);
        for (ticket, _) in (lines.ends.drain(..)).take_while(|&(_, end)| end <= written) {
            tell(Event::Recorded(ticket));
        }
        lines.text.forget(ONE_WRITE);
        done.map_err(|why| {
            let problem = problem(self.out, &self.name, &why);
            tell(Event::SinkLost(problem.clone()));
            problem
        })
    }

    /// The problem of results that nobody wants to hear of any more.
    pub(super) fn unheard(&self) -> Problem {
        problem(self.out, &self.name, &io::ErrorKind::Interrupted.into())
    }

    /// Brings it to the disk, which may refuse at the very end what it took before; what closing tells, that tells, too.
    /// Then makes sure that its path leads there.
    pub(super) fn close(self) -> Result<(), Problem> {
        match self.fsync {
            Fsync::End | Fsync::Each(_) if self.is_regular() => {
                let synced = self.file.sync_all();
                synced.map_err(|why| problem(self.out, &self.name, &why))?;
            }
            Fsync::End | Fsync::Each(_) | Fsync::Never => {}
        }
        self.path.as_deref().map_or(Ok(()), |path| self.found(path))
    }
}

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: Text,
    /// The ticket of each, and the length of the text up to its end.
    ends: Vec<(Ticket, usize)>,
}

impl Lines {
    /// Adds the line of an outcome. Returns how long the text is.
    pub(super) fn add(&mut self, ticket: Ticket, outcome: &Outcome, form: &Form) -> usize {
        form.write(outcome, &mut self.text);
        self.ends.push((ticket, self.text.len()));
        self.text.length()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Where they end, without one that broke off while it was added.
    fn end(&self) -> usize {
        self.ends.last().map_or(0, |&(_, end)| end)
    }
}

/// A handle of a file that is written to.
pub(super) struct Handle {
    file: File,
    out: Out,
    name: String,
}

impl Handle {
    /// Brings what was written to the disk.
    pub(super) fn sync(&self) -> Result<(), Problem> {
        let synced = self.file.sync_data();
        synced.map_err(|why| problem(self.out, &self.name, &why))
    }
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
fn write_to(file: &mut File, lines: &Lines) -> (usize, io::Result<()>) {
    let mut out = Counted { file, written: 0 };
    if let Some(text) = lines.text.plain(0..lines.end()) {
        let done = out.write_all(text);
        let ends = lines.ends.iter().map(|&(_, end)| end);
        let whole = match done {
            Ok(()) => text.len(),
            Err(_) => ends
                .take_while(|&end| end <= out.written)
                .last()
                .unwrap_or(0),
        };
        out.cut(out.written - whole);
        return (whole, done);
    }
    let mut whole = 0;
    for &(_, end) in &lines.ends {
        let before = out.written;
        if let Err(why) = lines.text.write(whole..end, &mut out) {
            out.cut(out.written - before);
            return (whole, Err(why));
        }
        whole = end;
    }
    (whole, Ok(()))
}

/// A file, and how many bytes it has taken.
struct Counted<'a> {
    file: &'a mut File,
    written: usize,
}

impl Counted<'_> {
    /// Takes back so much. Only a regular file has a place to go back to; the failure that is told is the one of the write.
    fn cut(&mut self, torn: usize) {
        if torn > 0
            && let Ok(at) = self.file.stream_position()
        {
            let _ = self.file.set_len(at.saturating_sub(torn as u64));
        }
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Ok(written) => {
                    self.written += written;
                    return Ok(written);
                }
                // A pipe that another program has made so.
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    let _ = poll(&mut [PollFd::new(&*self.file, PollFlags::OUT)], None);
                }
                Err(why) => return Err(why),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
