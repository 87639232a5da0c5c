//! How many lines an input has, for who is shown how far the run is: counted beside it, not parsed. Floor 4: doors.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use tokio::sync::oneshot::{self, error::TryRecvError};

use super::formats::Needs;
use super::opening::Opening;
use super::{Input, Spec};

/// Larger inputs are not read twice.
const MOST: u64 = 1 << 30;

/// The lines of an input that make results: not known before somebody wants to know, and never if that is not cheap
/// (standard input, pipes, compressed files, over 1 GiB, where jobs are picked) or the system gives no thread.
#[derive(Debug)]
pub struct Total(State);

#[derive(Debug)]
enum State {
    Unasked(Box<Spec>),
    Counting(oneshot::Receiver<Option<u64>>),
    Counted(Option<u64>),
}

impl Total {
    /// Of this input. Nothing is read yet.
    pub fn of(spec: Spec) -> Self {
        Self(State::Unasked(spec.into()))
    }

    /// Begins to count, on a thread of its own, unless that was done before.
    pub fn ask(&mut self) {
        let State::Unasked(spec) = &mut self.0 else {
            return;
        };
        let spec = std::mem::take(&mut **spec);
        let (tell, told) = oneshot::channel();
        self.0 = State::Counting(told);
        let thread = thread::Builder::new().name("count".to_owned());
        // Without a thread the sender is gone, which is an answer too.
        drop(thread.spawn(move || tell.send(count(&spec))));
    }

    /// Waits for the count, if that was asked for. Nothing is lost if the wait is dropped.
    pub async fn counted(&mut self) {
        if let State::Counting(told) = &mut self.0 {
            self.0 = State::Counted(told.await.ok().flatten());
        }
    }

    /// Whether it is still being counted.
    pub fn is_awaited(&mut self) -> bool {
        self.look();
        matches!(self.0, State::Counting(_))
    }

    /// The lines, as far as that is known.
    pub fn known(&mut self) -> Option<u64> {
        self.look();
        match self.0 {
            State::Counted(total) => total,
            State::Unasked(_) | State::Counting(_) => None,
        }
    }

    fn look(&mut self) {
        if let State::Counting(told) = &mut self.0 {
            match told.try_recv() {
                Ok(total) => self.0 = State::Counted(total),
                Err(TryRecvError::Closed) => self.0 = State::Counted(None),
                Err(TryRecvError::Empty) => {}
            }
        }
    }
}

/// `None` if that cannot be known cheaply.
pub(super) fn count(spec: &Spec) -> Option<u64> {
    if spec.pick.is_some() {
        return None;
    }
    let mut size = 0;
    let mut paths = Vec::new();
    for input in &spec.inputs {
        match input {
            Input::File(path) => {
                let file = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
                size += file.len();
                paths.push((path, input));
            }
            Input::Stdin | Input::Spooled(_) => return None,
        }
    }
    if size > MOST {
        return None;
    }
    let most = spec.limit_jobs.unwrap_or(u64::MAX);
    let mut count = 0;
    for (path, input) in paths {
        count += count_file(path, input, spec, most - count)?;
    }
    let all = spec.repeat.of(count).min(most);
    (all < u64::MAX).then_some(all)
}

/// Lets others have the core before each read: a system lets a thread that goes on and on keep it for some
/// milliseconds, and so long no send would go out.
struct GivesWay(File);

impl Read for GivesWay {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        thread::yield_now();
        self.0.read(into)
    }
}

fn count_file(path: &Path, input: &Input, spec: &Spec, most: u64) -> Option<u64> {
    let mut opening = Opening::of(Box::new(GivesWay(File::open(path).ok()?))).ok()?;
    if opening.is_packed {
        return None;
    }
    let format = match (spec.format, &spec.url) {
        (Some(format), _) => format,
        (None, Some(_)) => opening.format_of_rows(input).ok()?,
        (None, None) => opening.format(input).ok()?,
    };
    let mut records = opening.framing(format).ok()?;
    let mut columns = u64::from(format.needs() == Needs::Columns);
    let mut count = 0;
    while count < most
        && let Some(record) = records.next().ok()?
    {
        if !format.passes_over(&record) {
            count += 1 - std::mem::take(&mut columns);
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::NamedTempFile;

    use super::*;

    fn wait(total: &mut Total) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(total.counted());
    }

    #[test]
    fn lines_are_counted_when_somebody_asks_and_not_before() {
        let mut file = NamedTempFile::new().unwrap();
        writeln!(file, "http://h/a\n\n# no job\nhttp://h/b").unwrap();
        let mut total = Total::of(Spec {
            inputs: vec![Input::File(file.path().to_owned())],
            ..Spec::default()
        });
        wait(&mut total);
        assert!(!total.is_awaited() && total.known().is_none());
        total.ask();
        total.ask();
        wait(&mut total);
        assert!(!total.is_awaited());
        assert_eq!(total.known(), Some(2));
    }

    #[test]
    fn of_standard_input_nothing_is_known_and_nothing_waited_for() {
        let mut total = Total::of(Spec {
            inputs: vec![Input::Stdin],
            ..Spec::default()
        });
        total.ask();
        wait(&mut total);
        assert!(!total.is_awaited());
        assert_eq!(total.known(), None);
    }
}
