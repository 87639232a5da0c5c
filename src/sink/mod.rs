//! Takes outcomes and has them written as lines of results. Floor 4: doors.

mod anthropic;
mod beside;
mod body;
mod cells;
mod cookbook;
mod format;
mod here;
mod line;
mod lock;
mod openai;
mod syncer;
mod text;
mod vegeta;
mod worker;
mod writer;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::clock::Clock;
use crate::engine::{Event, Ticket};
use crate::error::{Exit, Problem};
use crate::letters::calm_path;
use crate::outcome::{Outcome, Reply};
use crate::units::{Tick, parse_duration};
use beside::Beside;
pub use format::{CustomId, Format};
use here::Here;
pub use line::{Form, Inputs, Keep, Tell};
pub use lock::{holder, lock};
pub use text::Text;
use worker::Worker;
pub use writer::SIGN_OF_LIFE;
use writer::{ONE_WRITE, Writer};

/// Where results go, and what stands in them.
#[derive(Debug, Clone)]
pub struct SinkSpec {
    /// Where they go.
    pub target: Target,
    /// What is done with results that are there already.
    pub existing: Existing,
    /// When they have to be on the disk.
    pub fsync: Fsync,
    /// What a line holds.
    pub form: Form,
}

/// Where results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file, device or named pipe.
    File(PathBuf),
    /// Standard output.
    Stdout,
    /// They are counted and not kept.
    Nowhere,
}

/// What is done with a regular file that has content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is left alone, and the run does not begin.
    Refuse,
    /// Its content is replaced.
    Overwrite,
    /// Results are added behind it.
    Continue,
}

/// When results have to be on the disk, and not only in the file: a killed program loses none of those, a
/// machine without power does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fsync {
    /// When the system likes it.
    Never,
    /// When the run is over.
    #[default]
    End,
    /// Each time that so much has passed, and when the run is over.
    Each(Duration),
}

impl FromStr for Fsync {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "end" => Ok(Self::End),
            _ => match parse_duration(text) {
                Ok(span) if !span.is_zero() => Ok(Self::Each(span)),
                Ok(_) | Err(_) => {
                    Err("write never, end, or a time above zero: 1s, 500ms".to_owned())
                }
            },
        }
    }
}

impl SinkSpec {
    /// Refuses what [`Sink::open`] would refuse, as far as that shows without touching anything.
    pub fn check(&self) -> Result<(), Problem> {
        match &self.target {
            Target::File(path) => check(path, self.existing),
            Target::Stdout | Target::Nowhere => Ok(()),
        }
    }
}

/// A body of more bytes than this has its line made by a thread of its own, and so have all that come after it.
const LARGE: usize = 1 << 20;

/// The way to the results.
///
/// A regular file is written to right here, once for all results of a turn: a slot that waits for a thread to write
/// costs more than the write. What may wait for somebody else is written by a thread of its own, so that it holds up
/// no sends: a pipe, a device, and a file whose disk has shown that it can be slow.
#[derive(Debug)]
pub struct Sink {
    form: Form,
    clock: Clock,
    /// How threads tell what became of it.
    tell: UnboundedSender<Event>,
    /// What nobody has heard yet of what was done here.
    told: Vec<Event>,
    way: Way,
    /// None: nothing is brought to the disk before the end.
    syncer: Option<Worker<()>>,
}

#[derive(Debug)]
enum Way {
    Here(Here),
    Beside(Beside),
    /// They are counted and not kept.
    Nowhere,
    /// Nothing more can be written.
    Lost(Problem),
}

impl Sink {
    /// Makes or empties the file, after the checks of [`SinkSpec::check`]; or goes on with `held`, which is
    /// locked and whole.
    ///
    /// Waits for a reader if it is a named pipe.
    pub fn open(
        spec: &SinkSpec,
        held: Option<File>,
        clock: Clock,
        tell: UnboundedSender<Event>,
    ) -> Result<Self, Problem> {
        let syncer = match spec.fsync {
            Fsync::Each(each) => Some(syncer::waiting(each, tell.clone())?),
            Fsync::Never | Fsync::End => None,
        };
        // Only now is a file made or emptied.
        let head = spec.form.format.head();
        let mut out = match (&spec.target, held) {
            (Target::File(path), Some(held)) => Some(Writer::file(path, held, spec.fsync)),
            (Target::File(path), None) => {
                spec.check()?;
                let file = create(path, spec.existing)?;
                Some(Writer::file(path, file, spec.fsync))
            }
            (Target::Stdout, _) => Some(Writer::stdout(spec.fsync)?),
            (Target::Nowhere, _) => None,
        };
        if let Some(out) = &mut out {
            out.begin(head)?;
        }
        let (way, syncer) = match out {
            Some(out) if out.is_regular() => {
                let syncer = match syncer {
                    Some(waiting) => Some(waiting.with(out.handle()?)),
                    None => None,
                };
                (Way::Here(Here::new(out, clock.now())), syncer)
            }
            Some(out) => {
                let beside = Beside::waiting(&spec.form, &tell)?;
                (Way::Beside(Beside::new(beside.with(out))), None)
            }
            None => (Way::Nowhere, None),
        };
        Ok(Self {
            form: spec.form.clone(),
            clock,
            tell,
            told: Vec::new(),
            way,
            syncer,
        })
    }

    /// Takes an outcome. It is answered by [`Event::Recorded`] when its line is in the file; if that cannot be, one
    /// [`Event::SinkLost`] answers for all. Threads tell this, what was done here is to be heard: see [`Sink::hear`].
    pub fn record(&mut self, ticket: Ticket, outcome: Box<Outcome>) {
        let large = |reply: &Reply| reply.body.len() > LARGE;
        if matches!(self.way, Way::Here(_)) && outcome.reply.as_ref().is_some_and(large) {
            // To write it as JSON takes as long as many sends.
            self.put(Duration::MAX);
            self.step_aside();
        }
        match &mut self.way {
            Way::Here(here) => {
                if here.record(ticket, &outcome, &self.form) >= ONE_WRITE {
                    self.put(Duration::MAX);
                }
            }
            Way::Beside(beside) => beside.record(ticket, outcome),
            Way::Nowhere => self.told.push(Event::Recorded(ticket)),
            Way::Lost(_) => {}
        }
    }

    /// Writes what was taken, or has it written: once a write has taken longer than `patience`, a thread writes. When
    /// nobody takes answers any more, nothing more is written.
    pub fn write(&mut self, patience: Duration) {
        match &mut self.way {
            Way::Here(here) if here.has_lines() => self.put(patience),
            Way::Beside(beside) => beside.write(),
            Way::Here(_) | Way::Nowhere | Way::Lost(_) => {}
        }
    }

    fn put(&mut self, patience: Duration) {
        let Way::Here(here) = &mut self.way else {
            return;
        };
        let before = self.clock.now();
        if let Err(problem) = here.put(&mut self.told) {
            self.way = Way::Lost(problem);
            return;
        }
        let now = self.clock.now();
        here.wrote(now);
        if now.since(before) > patience {
            self.step_aside();
        }
    }

    /// Adds what is told and was not heard yet, in its order.
    pub fn hear(&mut self, events: &mut Vec<Event>) {
        events.append(&mut self.told);
    }

    /// From now on a thread writes; where there is none to be had, it goes on here.
    fn step_aside(&mut self) {
        let Ok(beside) = Beside::waiting(&self.form, &self.tell) else {
            return;
        };
        self.way = match std::mem::replace(&mut self.way, Way::Nowhere) {
            Way::Here(here) => Way::Beside(Beside::new(beside.with(here.into_writer()))),
            other => other,
        };
    }

    /// When [`Sink::live`] wants to be called; `None`: never, as nothing is written on this thread.
    pub fn due(&self) -> Option<Tick> {
        match &self.way {
            Way::Here(here) => Some(here.due()),
            Way::Beside(_) | Way::Nowhere | Way::Lost(_) => None,
        }
    }

    /// Shows that the run lives, if it is time to.
    pub fn live(&mut self, now: Tick) {
        if let Way::Here(here) = &mut self.way {
            here.live(now);
        }
    }

    /// Waits until everything is written, for a regular file also until it is on the disk.
    ///
    /// The first problem of writing, even if it was told before.
    pub fn finish(mut self) -> Result<(), Problem> {
        self.write(Duration::MAX);
        let synced = self.syncer.take().map_or(Ok(()), Worker::finish);
        let written = match std::mem::replace(&mut self.way, Way::Nowhere) {
            Way::Here(here) => here.into_writer().close(),
            Way::Beside(beside) => beside.finish(),
            Way::Nowhere => Ok(()),
            Way::Lost(problem) => Err(problem),
        };
        synced.and(written)
    }
}

/// A run that breaks off leaves the results that it has.
impl Drop for Sink {
    fn drop(&mut self) {
        if thread::panicking() {
            self.write(Duration::MAX);
        }
    }
}

/// The problem of a thread that panicked: a mistake in this program.
fn broken() -> Problem {
    Problem::new(
        Exit::Unwritten,
        "the thread that writes results broke off",
        "please report it; what was written is whole lines",
    )
}

fn check(path: &Path, existing: Existing) -> Result<(), Problem> {
    let shown = calm_path(path);
    match path.metadata() {
        Ok(there) if there.is_dir() => Err(unusable(path, "it is a directory")),
        Ok(there) if there.is_file() && there.len() > 0 && existing == Existing::Refuse => {
            let what = format!("{shown} exists, use --resume or --overwrite");
            let mend = "--resume goes on behind its results, --overwrite replaces them; or name another file with -o";
            Err(Problem::usage(what, mend))
        }
        Ok(there) if there.is_file() => {
            let opened = OpenOptions::new().write(true).open(path);
            opened.map(drop).map_err(|why| unusable(path, why))
        }
        Ok(_) => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            match folder
                .unwrap_or(Path::new("."))
                .metadata()
                .map(|folder| folder.is_dir())
            {
                Ok(true) => Ok(()),
                Ok(false) => Err(unusable(path, "its folder is none")),
                Err(_) => Err(unusable(path, "its folder does not exist")),
            }
        }
        Err(why) => Err(unusable(path, why)),
    }
}

/// Opens the file, makes sure that no other run writes to it, and only then empties it.
fn create(path: &Path, existing: Existing) -> Result<File, Problem> {
    // Whoever cuts the file meanwhile leaves no hole in it.
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|why| unusable(path, why))?;
    let there = file.metadata().map_err(|why| unusable(path, why))?;
    if !there.is_file() {
        return Ok(file);
    }
    lock(path, &file)?;
    match existing {
        Existing::Overwrite => file.set_len(0).map_err(|why| unusable(path, why))?,
        Existing::Refuse | Existing::Continue => check(path, existing)?,
    }
    Ok(file)
}

/// Opens results that are to be gone on with, and makes sure that no other run writes to them. `None` if
/// there is no such file: then the run begins anew.
pub fn hold(path: &Path) -> Result<Option<File>, Problem> {
    let there = match path.metadata() {
        Ok(there) => there,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(unusable(path, why)),
    };
    if !there.is_file() {
        let what = format!(
            "--resume needs a file of results, {} is none",
            calm_path(path)
        );
        return Err(Problem::usage(what, "name a regular file with -o"));
    }
    let file = OpenOptions::new().read(true).append(true).open(path);
    let file = file.map_err(|why| unusable(path, why))?;
    lock(path, &file)?;
    Ok(Some(file))
}

fn unusable(path: &Path, why: impl std::fmt::Display) -> Problem {
    let what = format!("cannot write results to {}: {why}", calm_path(path));
    Problem::new(Exit::Unwritten, what, "name another file with -o")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::job::{BadLine, Place};
    use crate::outcome::{Status, Waits};

    fn spec(target: Target, existing: Existing) -> SinkSpec {
        SinkSpec {
            target,
            existing,
            fsync: Fsync::End,
            form: Form {
                format: Format::Shaper,
                epoch: Duration::ZERO,
                body: Keep::Keep,
                headers: Keep::Keep,
                inputs: Inputs::One,
                units: Tell::Total,
                keys: Vec::new(),
            },
        }
    }

    fn file(path: impl Into<PathBuf>, existing: Existing) -> SinkSpec {
        spec(Target::File(path.into()), existing)
    }

    fn record(sink: &mut Sink, numbers: std::ops::Range<u32>) {
        let outcome = |number: u32| Outcome {
            seq: number.into(),
            line: Err(BadLine::new(Place::new("-", 1), "empty", "write a job")),
            status: Status::Invalid,
            tries: Vec::new(),
            queue: None,
            waits: Waits::new(),
            units: None,
            reply: None,
            error: None,
        };
        for number in numbers {
            sink.record(Ticket::numbered(number), Box::new(outcome(number)));
        }
    }

    /// What is told until the sink is finished, and how that ends.
    fn finished(
        mut sink: Sink,
        mut events: UnboundedReceiver<Event>,
    ) -> (Vec<Event>, Result<(), Problem>) {
        sink.write(Duration::MAX);
        let mut told = Vec::new();
        sink.hear(&mut told);
        let end = sink.finish();
        told.extend(std::iter::from_fn(|| events.try_recv().ok()));
        (told, end)
    }

    /// What is told next, here or by a thread.
    fn next(sink: &mut Sink, events: &mut UnboundedReceiver<Event>) -> Event {
        if sink.told.is_empty() {
            return events.blocking_recv().expect("something is told");
        }
        sink.told.remove(0)
    }

    fn tickets(events: &[Event]) -> Vec<Ticket> {
        let ticket = |event: &Event| match event {
            Event::Recorded(ticket) => *ticket,
            other => panic!("not expected: {other:?}"),
        };
        events.iter().map(ticket).collect()
    }

    /// A sink whose thread has to write, as after a slow write.
    fn aside(sink: &mut Sink) {
        sink.step_aside();
        assert!(matches!(sink.way, Way::Beside(_)));
    }

    fn here(_: &mut Sink) {}

    #[test]
    fn each_outcome_is_a_line_and_is_told_when_it_is_in_the_file() {
        for way in [here, aside] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("out.jsonl");
            let (tell, mut events) = unbounded_channel();
            let spec = file(&path, Existing::Refuse);
            let mut sink = Sink::open(&spec, None, Clock::start(), tell).unwrap();
            way(&mut sink);
            record(&mut sink, 0..2);
            sink.write(Duration::MAX);
            assert!(matches!(next(&mut sink, &mut events), Event::Recorded(_)));
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
            record(&mut sink, 2..3);
            sink.write(Duration::MAX);
            record(&mut sink, 3..5_000);
            let (told, end) = finished(sink, events);
            end.unwrap();
            let recorded = tickets(&told);
            assert_eq!(
                recorded,
                (1..5_000).map(Ticket::numbered).collect::<Vec<_>>()
            );
            for (nth, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["seq"], nth);
            }
        }
    }

    #[test]
    fn what_nobody_is_told_of_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (tell, mut events) = unbounded_channel();
        let spec = file(&path, Existing::Refuse);
        let mut sink = Sink::open(&spec, None, Clock::start(), tell).unwrap();
        aside(&mut sink);
        record(&mut sink, 0..1);
        sink.write(Duration::MAX);
        assert!(matches!(events.blocking_recv(), Some(Event::Recorded(_))));
        events.close();
        record(&mut sink, 1..5_000);
        assert!(sink.finish().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_run_that_breaks_off_leaves_the_results_that_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (tell, mut events) = unbounded_channel();
        for (way, told) in [(here as fn(&mut Sink), 0), (aside, 3)] {
            let spec = file(&path, Existing::Overwrite);
            let mut sink = Sink::open(&spec, None, Clock::start(), tell.clone()).unwrap();
            way(&mut sink);
            let run = thread::spawn(move || {
                record(&mut sink, 0..3);
                panic!("on purpose, for this test");
            });
            assert!(run.join().is_err());
            for _ in 0..told {
                assert!(matches!(events.blocking_recv(), Some(Event::Recorded(_))));
            }
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        }
    }

    #[test]
    fn a_run_that_writes_nothing_shows_each_second_that_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (tell, _events) = unbounded_channel();
        let clock = Clock::start();
        let mut sink = Sink::open(&file(&path, Existing::Refuse), None, clock, tell).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let age = || File::options().append(true).open(&path).unwrap();
        let changed = || age().metadata().unwrap().modified().unwrap();
        age().set_modified(long_ago).unwrap();
        let due = sink.due().unwrap();
        sink.live(Tick(due.0 - 1));
        assert_eq!(changed(), long_ago);
        sink.live(due);
        assert!(changed() > long_ago);
        assert_eq!(sink.due(), Some(due.after(SIGN_OF_LIFE)));
    }

    #[test]
    fn results_that_go_nowhere_are_recorded_at_once() {
        let (tell, events) = unbounded_channel();
        let mut sink = Sink::open(
            &spec(Target::Nowhere, Existing::Refuse),
            None,
            Clock::start(),
            tell,
        )
        .unwrap();
        record(&mut sink, 0..2);
        let (told, end) = finished(sink, events);
        end.unwrap();
        assert_eq!(tickets(&told).len(), 2);
    }

    #[test]
    fn a_file_with_content_is_left_alone_unless_it_may_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        fs::write(&path, "old").unwrap();
        let (tell, _events) = unbounded_channel();
        let refused = Sink::open(
            &file(&path, Existing::Refuse),
            None,
            Clock::start(),
            tell.clone(),
        )
        .unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert!(
            refused
                .what
                .ends_with("out.jsonl exists, use --resume or --overwrite")
        );
        let overwrite = file(&path, Existing::Overwrite);
        overwrite.check().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        Sink::open(&overwrite, None, Clock::start(), tell)
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }

    #[test]
    fn a_file_that_another_run_writes_to_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        let (tell, _events) = unbounded_channel();
        let mut first = Sink::open(
            &file(&path, Existing::Refuse),
            None,
            Clock::start(),
            tell.clone(),
        )
        .unwrap();
        for existing in [Existing::Refuse, Existing::Overwrite] {
            let refused =
                Sink::open(&file(&path, existing), None, Clock::start(), tell.clone()).unwrap_err();
            assert_eq!(refused.exit, Exit::Usage);
            let by_us = format!("another run (process {})", std::process::id());
            assert!(
                !cfg!(target_os = "linux") || refused.what.starts_with(&by_us),
                "{refused}"
            );
            // A file with results is refused for these before anybody looks for a lock.
            record(&mut first, 0..1);
            first.write(Duration::MAX);
        }
        first.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        let next = Sink::open(
            &file(&path, Existing::Overwrite),
            None,
            Clock::start(),
            tell,
        )
        .unwrap();
        next.finish().unwrap();
    }

    #[test]
    fn a_check_makes_no_file_and_takes_devices_and_empty_files() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new.jsonl");
        file(&new, Existing::Refuse).check().unwrap();
        assert!(!new.exists());
        fs::write(&new, "").unwrap();
        file(&new, Existing::Refuse).check().unwrap();
        for device in ["/dev/null", "/dev/full"] {
            file(device, Existing::Refuse).check().unwrap();
        }
        for (path, why) in [
            (folder.path().to_owned(), "is a directory"),
            (folder.path().join("no/out.jsonl"), "folder does not exist"),
            (new.join("out.jsonl"), "ot a directory"),
        ] {
            let problem = file(path, Existing::Overwrite).check().unwrap_err();
            assert_eq!(problem.exit, Exit::Unwritten);
            assert!(problem.what.contains(why), "{problem}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told_once_with_path_and_cause() {
        let (tell, events) = unbounded_channel();
        let mut sink = Sink::open(
            &file("/dev/full", Existing::Refuse),
            None,
            Clock::start(),
            tell,
        )
        .unwrap();
        record(&mut sink, 0..3);
        sink.write(Duration::MAX);
        record(&mut sink, 3..4);
        let (told, end) = finished(sink, events);
        let problem = end.unwrap_err();
        assert_eq!(problem.exit, Exit::Unwritten);
        assert!(
            problem.what.contains("/dev/full: No space left on device"),
            "{problem}"
        );
        match &told[..] {
            [Event::SinkLost(lost)] => assert_eq!(*lost, problem),
            other => panic!("not expected: {other:?}"),
        }
    }
}
