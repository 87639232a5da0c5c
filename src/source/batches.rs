//! The thread that reads the input, and hands over whole batches: for who takes them as fast as they come. Floor 4: doors.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::vec;

use super::Source;
use super::reader::no_thread;
use crate::error::Problem;
use crate::job::{BadLine, Job};

/// Lines of a batch: the cost of handing it over is shared by so many.
const LINES: usize = 256;

/// Bytes of a batch, roughly; one line may be longer, and ends it.
const BYTES: u64 = 1 << 20;

/// Batches read ahead.
const AHEAD: usize = 4;

/// Lines as they come from a thread of their own, at most five batches ahead.
#[derive(Debug)]
pub struct Batches {
    reader: Receiver<Batch>,
    lines: vec::IntoIter<Result<Job, BadLine>>,
    notices: Vec<String>,
    problem: Option<Problem>,
}

#[derive(Debug, Default)]
struct Batch {
    lines: Vec<Result<Job, BadLine>>,
    notices: Vec<String>,
    /// Why there is no other batch, if reading broke.
    problem: Option<Problem>,
}

impl Batches {
    /// Starts reading at once. The thread ends with the input, or at its next batch after this is dropped.
    ///
    /// A problem if the system gives no thread.
    pub fn spawn(source: Source) -> Result<Self, Problem> {
        let (sender, reader) = sync_channel(AHEAD);
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || feed(source, &sender))
            .map_err(|why| no_thread(&why))?;
        Ok(Self {
            reader,
            lines: Vec::new().into_iter(),
            notices: Vec::new(),
            problem: None,
        })
    }

    /// Warnings for people, since the last call.
    pub fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Why the last line was the last, if reading broke.
    pub fn problem(&mut self) -> Option<Problem> {
        self.problem.take()
    }
}

impl Iterator for Batches {
    type Item = Result<Job, BadLine>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(line);
            }
            let batch = self.reader.recv().ok()?;
            self.notices.extend(batch.notices);
            self.problem = self.problem.take().or(batch.problem);
            self.lines = batch.lines.into_iter();
        }
    }
}

/// Reads to the end, or until nobody takes what is read.
fn feed(mut source: Source, sender: &SyncSender<Batch>) {
    loop {
        let (batch, goes_on) = batch(&mut source);
        if sender.send(batch).is_err() || !goes_on {
            return;
        }
    }
}

/// The next lines, and whether there may be more.
fn batch(source: &mut Source) -> (Batch, bool) {
    let mut batch = Batch {
        lines: Vec::with_capacity(LINES),
        ..Batch::default()
    };
    let (mut bytes, mut goes_on) = (0, true);
    while goes_on && batch.lines.len() < LINES && bytes < BYTES {
        match source.next() {
            Some(Ok(line)) => {
                bytes += line.as_ref().map_or(512, Job::size);
                batch.lines.push(line);
            }
            Some(Err(problem)) => {
                batch.problem = Some(problem);
                goes_on = false;
            }
            None => goes_on = false,
        }
    }
    batch.notices = source.notices();
    if !goes_on && batch.problem.is_none() {
        batch.notices.extend(source.left_note());
    }
    (batch, goes_on)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::super::{Input, Spec, open};
    use super::*;
    use crate::error::Exit;

    fn open_all(inputs: &[&NamedTempFile]) -> Source {
        let spec = Spec {
            inputs: inputs
                .iter()
                .map(|file| Input::File(file.path().to_owned()))
                .collect(),
            ..Spec::default()
        };
        open(&spec).unwrap()
    }

    fn file(lines: impl Iterator<Item = String>) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
        file
    }

    #[test]
    fn every_line_comes_once_and_in_order() {
        let count = 3 * LINES as u64 + 7;
        let file = file((0..count).map(|nth| match nth % 100 {
            99 => r#"{"method":"GET","colour":1}"#.to_owned(),
            _ => format!(r#"{{"url":"http://h/{nth}"}}"#),
        }));
        let mut batches = Batches::spawn(open_all(&[&file])).unwrap();
        let lines: Vec<u64> = batches
            .by_ref()
            .map(|line| match line {
                Ok(job) => job.place.line,
                Err(bad) => bad.place.line,
            })
            .collect();
        assert_eq!(lines, (1..=count).collect::<Vec<_>>());
        assert_eq!(batches.notices().len(), 1, "one field is not known");
        assert_eq!(batches.problem(), None);
    }

    #[test]
    fn a_file_that_is_lost_meanwhile_is_a_problem_behind_its_lines() {
        let first = file((0..10).map(|nth| format!("http://h/{nth}")));
        let second = file(std::iter::once("http://h/".to_owned()));
        let source = open_all(&[&first, &second]);
        second.close().unwrap();
        let mut batches = Batches::spawn(source).unwrap();
        assert_eq!(batches.by_ref().count(), 10);
        let problem = batches.problem().expect("the second file is gone");
        assert!(problem.what.contains("cannot be read"), "{problem}");
        assert_ne!(problem.exit, Exit::AllOk);
    }
}
