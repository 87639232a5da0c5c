//! The thread that writes results: whole lines, all that is queued at once. Floor 4: doors.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use super::{Batch, Form};
use crate::engine::{Event, Ticket};
use crate::error::{Exit, Problem};

/// So much text goes into one write, and not much more of it is in memory.
const ONE_WRITE: usize = 1 << 20;

/// An open target, and its name for messages.
pub(super) struct Writer {
    name: String,
    out: Out,
}

enum Out {
    File(File),
    Stdout(io::Stdout),
}

impl Writer {
    pub(super) fn file(path: &Path, file: File) -> Self {
        Self {
            name: path.display().to_string(),
            out: Out::File(file),
        }
    }

    pub(super) fn stdout() -> Self {
        Self {
            name: "standard output".to_owned(),
            out: Out::Stdout(io::stdout()),
        }
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
            let problem = self.problem(&why);
            let _ = tell.send(Event::SinkLost(problem.clone()));
            problem
        })
    }

    fn write_all(
        &mut self,
        form: &Form,
        batches: &Receiver<Batch>,
        tell: &UnboundedSender<Event>,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        let mut lines = Vec::new();
        while let Ok(first) = batches.recv() {
            for (ticket, outcome) in std::iter::once(first).chain(batches.try_iter()).flatten() {
                form.write(&outcome, &mut text);
                lines.push((ticket, text.len()));
                if text.len() >= ONE_WRITE {
                    self.put(&mut text, &mut lines, tell)?;
                }
            }
            self.put(&mut text, &mut lines, tell)?;
        }
        self.close()
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
        let (written, done) = match &mut self.out {
            Out::File(file) => write_to(file, text, lines),
            Out::Stdout(stdout) => {
                stdout.write_all(text)?;
                (text.len(), stdout.flush())
            }
        };
        for (ticket, _) in lines.drain(..).take_while(|&(_, end)| end <= written) {
            let _ = tell.send(Event::Recorded(ticket));
        }
        text.clear();
        text.shrink_to(ONE_WRITE);
        done
    }

    /// A disk may refuse at the very end what it took before.
    fn close(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::File(file) if file.metadata()?.is_file() => file.sync_all(),
            Out::File(_) | Out::Stdout(_) => Ok(()),
        }
    }

    fn problem(&self, why: &io::Error) -> Problem {
        match self.out {
            // Whoever read it has had enough: nothing to complain of.
            Out::Stdout(_) if why.kind() == io::ErrorKind::BrokenPipe => {
                Problem::new(Exit::PipeClosed, "", "")
            }
            Out::File(_) | Out::Stdout(_) => {
                let what = format!("cannot write results to {}: {why}", self.name);
                let mend = "make room there, or name another file with -o; what was written is whole lines";
                Problem::new(Exit::Unwritten, what, mend)
            }
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
