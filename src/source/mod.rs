//! The input: files and standard input as one stream of jobs and bad lines. Floor 4: doors.

mod at;
mod batches;
#[cfg(test)]
mod cases;
mod chosen;
mod count;
mod cuts;
mod draft;
mod elements;
mod field;
mod filling;
mod formats;
#[cfg(test)]
mod formats_cases;
mod framing;
mod hash;
mod ids;
mod keeper;
mod keys;
mod lines;
mod log_fields;
mod members;
mod objects;
mod once;
mod opening;
mod packed;
mod pick;
mod reader;
mod record;
mod resume;
mod rewrite;
mod rounds;
mod rows;
mod rules;
mod shown;
mod spec;
mod spread;
mod strict;
mod target;
mod targets;
mod template;
mod unknown;

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Exit, Problem};
use crate::job::{BadLine, Job, Place, Units, UnitsFrom, without_credentials};
use crate::letters::calm;

pub use batches::Batches;
pub use chosen::{Alone, Chosen, Found, Written};
pub use count::Total;
use draft::{Fault, Spot};
use filling::{Filling, Own};
pub use formats::Format;
use formats::{Asked, Columns, Needs, Read};
use framing::Framing;
use ids::Ids;
use keeper::Keeper;
use lines::LONGEST;
use once::OnceKeys;
use opening::Opening;
use packed::Spoilt;
use pick::Picker;
use record::{Extent, Record};
use rules::Rules;
use spread::Spread;
use unknown::Unknown;

pub use log_fields::LogFields;
pub use pick::{Filter, Pick, Shard};
pub use reader::{Line, Reader};
pub use resume::{Failed, Foreign, Resume, unclaimed, unmatched};
pub use rewrite::Rewrite;
pub use rounds::Rounds;
pub use spec::{Credentials, Input, Spec, Times, UnitsRule, empty, inputs};
pub use strict::check_strict;
pub use target::HttpUrl;
pub use template::Template;

/// Opens the input. Nothing of it is read yet.
///
/// # Errors
/// A usage problem if any file is missing, a directory or unreadable.
pub fn open(spec: &Spec) -> Result<Source, Problem> {
    let rules = Rules::new(spec)?;
    if spec.url.is_some() {
        Filling::of(spec)?;
    }
    let mut waiting = Vec::with_capacity(spec.inputs.len());
    for input in &spec.inputs {
        spec.repeat.fits(input)?;
        waiting.push((
            input.clone(),
            early(input).map_err(|why| unreadable(input, &why))?,
        ));
    }
    Ok(Source {
        names: spec
            .inputs
            .iter()
            .map(|input| input.name().into())
            .collect(),
        waiting: waiting.into_iter(),
        opened: 0,
        inputs: spec.inputs.clone(),
        repeat: spec.repeat,
        found_before: 0,
        current: None,
        spec: spec.clone(),
        rows: 0,
        uuids: OnceKeys::new(spec.run),
        keeper: Keeper::default(),
        rules,
        ids: Ids::new(),
        unknown: Unknown::new(),
        spread: Spread::default(),
        picker: Picker::of(&spec.pick),
        left: spec.limit_jobs,
        found: 0,
        good: 0,
        peeked: None,
    })
}

/// Opens a file to see that it can be. A regular file is closed again, as there may be more of them than
/// a process may hold open; a pipe is kept, as it can be opened only once.
fn early(input: &Input) -> io::Result<Option<File>> {
    match input {
        Input::File(path) => {
            let file = File::open(path)?;
            let kind = file.metadata()?;
            if kind.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok((!kind.is_file()).then_some(file))
        }
        Input::Stdin | Input::Spooled(_) => Ok(None),
    }
}

/// The mend guesses what was meant instead of a file.
fn unreadable(input: &Input, why: &io::Error) -> Problem {
    let name = input.name();
    let spoilt = why.get_ref().and_then(|why| why.downcast_ref::<Spoilt>());
    if let Some(Spoilt { what, mend }) = spoilt {
        return Problem::usage(format!("cannot be read: {what}"), mend.clone()).at(name);
    }
    let mend = if name.contains("://") {
        "jobs come from files; for one URL: echo URL | shaper run".to_owned()
    } else if name.contains('=') {
        format!(
            "name a file of jobs; as the value of an option it needs its =: --mock={}",
            calm(&name)
        )
    } else {
        "name a file of jobs that you may read".to_owned()
    };
    Problem::usage(format!("cannot be read: {why}"), mend).at(without_credentials(&name))
}

/// A stream of lines. Memory does not grow with it, but for the table of its ids.
///
/// Each line that is neither blank nor a comment is one item: a job, or what is wrong with the line. An
/// outer problem means that reading broke; it is the last item.
pub struct Source {
    names: Vec<Arc<str>>,
    waiting: std::vec::IntoIter<(Input, Option<File>)>,
    opened: usize,
    /// All of them, for the next round.
    inputs: Vec<Input>,
    repeat: Rounds,
    /// Items of the rounds before this one.
    found_before: u64,
    current: Option<Current>,
    spec: Spec,
    /// Records so far, whatever became of them.
    rows: u64,
    uuids: OnceKeys,
    keeper: Keeper,
    rules: Rules,
    ids: Ids,
    unknown: Unknown,
    /// What is read and not yet picked.
    spread: Spread,
    picker: Picker,
    left: Option<u64>,
    /// Items so far, and the jobs among them.
    found: u64,
    good: u64,
    /// Read by [`Source::peek`] and not yet given out.
    peeked: Option<Item>,
}

/// A line that is a job or is not; the outer problem is the last item.
type Item = Result<Result<Job, BadLine>, Problem>;

struct Current {
    records: Framing,
    input: Input,
    folder: PathBuf,
    format: Format,
    /// Whether what is read as jobs may be targets of vegeta.
    is_doubted: bool,
    /// Of what more may come later, as of a pipe, where it comes from: nothing is held back for that.
    stalls: Option<OwnedFd>,
    /// Of a table, when its first row is read.
    columns: Option<Columns>,
    /// What it fills of the command line.
    filling: Option<Filling>,
}

impl Iterator for Source {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if let Some(item) = self.peeked.take() {
            return Some(item);
        }
        if self.left == Some(0) {
            return None;
        }
        let item = loop {
            if self.current.is_none() && self.spread.is_empty() {
                let (input, file) = self.next_input()?;
                match Current::open(input, file, &self.spec, &self.rules) {
                    Ok(current) => self.current = Some(current),
                    Err(problem) => break Err(problem),
                }
                self.opened += 1;
            }
            if let Some(item) = self.step() {
                break item;
            }
        };
        Some(self.given(item))
    }
}

impl Source {
    /// The next input, of this round or the next one. A round in which there was nothing is the last.
    fn next_input(&mut self) -> Option<(Input, Option<File>)> {
        let next = self.waiting.next();
        if next.is_some()
            || self.found == self.found_before
            || !self.repeat.has(self.rules.round + 1)
        {
            return next;
        }
        self.rules.round += 1;
        self.found_before = self.found;
        self.opened = 0;
        let again = self.inputs.iter().cloned();
        let again: Vec<_> = again.map(|input| (input, None)).collect();
        self.waiting = again.into_iter();
        self.waiting.next()
    }

    /// Waits for the first item; `None` if there is none.
    pub fn peek(&mut self) -> Option<&Item> {
        if self.peeked.is_none() {
            self.peeked = self.next();
        }
        self.peeked.as_ref()
    }

    /// One warning for each unknown field met since the last call: with its first place and, if one is
    /// near, the field that was probably meant.
    pub fn notices(&mut self) -> Vec<String> {
        self.unknown.take()
    }

    /// What was read and not taken, for people: `of 6 lines: 1 by --filter, 3 by --shard`.
    pub fn left(&self) -> Option<String> {
        self.picker.left()
    }

    /// The same as a note at the end.
    fn left_note(&self) -> Option<String> {
        let left = self.left()?;
        Some(format!("note: left {left}"))
    }

    /// The next item, if that is here and nobody has to wait for it.
    fn next_here(&mut self) -> Option<Item> {
        if let Some(item) = self.peeked.take() {
            return Some(item);
        }
        while self.left != Some(0) && self.is_next_here() {
            if let Some(item) = self.step() {
                return Some(self.given(item));
            }
        }
        None
    }

    /// Whether the next step waits for nobody.
    fn is_next_here(&mut self) -> bool {
        let current = self.current.as_mut();
        self.spread.is_ready() || current.is_some_and(|current| current.records.is_next_here())
    }

    /// Goes on by an item that is held, or a line. `None`: by nothing that is given out.
    fn step(&mut self) -> Option<Item> {
        let item = match self.spread.next() {
            Some(item) => item,
            None => self.read_on()?,
        };
        let is_taken = item.as_ref().map_or(true, |line| self.picker.takes(line));
        is_taken.then_some(item)
    }

    /// Reads a line, unless what is held would wait for it.
    fn read_on(&mut self) -> Option<Item> {
        let current = self.current.as_mut()?;
        if !self.spread.is_empty()
            && !current.records.is_next_here()
            && current.stalls.as_ref().is_some_and(spread::is_silent)
        {
            self.spread.settle();
            return None;
        }
        let Some(line) = self.line() else {
            self.current = None;
            self.spread.settle();
            return None;
        };
        let item = line.transpose()?;
        let second = match self.rules.times {
            Times::Needed => self.keeper.second,
            Times::Ignored | Times::Read => None,
        };
        self.spread.pass(item, second)
    }

    /// Whether a file was read for the last line, which takes its time.
    fn has_read_file(&self) -> bool {
        self.keeper.has_read_file
    }

    /// Notes what is given out. A problem is the last.
    fn given(&mut self, item: Item) -> Item {
        let problem = match &item {
            Ok(line) => self.count(line).err(),
            Err(problem) => Some(problem.clone()),
        };
        let Some(problem) = problem else {
            return item;
        };
        self.left = Some(0);
        Err(self.while_running(problem))
    }

    /// Whether the input goes on behind the lines that are wanted.
    fn is_cut(&self) -> bool {
        self.left == Some(0)
    }

    /// The next line; `Some(Ok(None))` if it is no job, `None` at the end of the input.
    fn line(&mut self) -> Option<Result<Option<Result<Job, BadLine>>, Problem>> {
        let current = self.current.as_mut()?;
        let raw = match current.records.next() {
            Ok(raw) => raw?,
            Err(why) => return Some(Err(unreadable(&current.input, &why))),
        };
        let format = current.format;
        if format.passes_over(&raw) {
            return Some(Ok(None));
        }
        if format.needs() == Needs::Columns && current.columns.is_none() {
            let name = calm(&self.names[self.opened - 1]);
            let filling = current.filling.as_mut();
            let columns = columns(&raw, &name, &self.rules, filling, &mut self.unknown);
            return match columns {
                Ok(columns) => {
                    current.columns = Some(columns);
                    Some(Ok(None))
                }
                Err(problem) => Some(Err(problem)),
            };
        }
        if let Some(filling) = &mut current.filling
            && !filling.is_settled()
            && let Ok(members) = raw.text().and_then(|text| members::read(text, raw.end))
        {
            let names = members.iter().map(|(name, _)| &**name);
            if let Err(fault) = filling.settle(names) {
                let place = shown_place(&calm(&self.names[self.opened - 1]), &raw, fault.at);
                return Some(Err(Problem::usage(fault.what, fault.mend).at(place)));
            }
        }
        let wants_uuid = current.filling.as_ref().is_some_and(Filling::wants_uuid);
        let uuid = wants_uuid.then(|| self.uuids.next(None, raw.hash(), 0));
        let own = Own {
            seq: self.rows,
            uuid,
        };
        self.rows += 1;
        let input = self.opened - 1;
        let line = raw.line;
        let place = || Place::new(Arc::clone(&self.names[input]), line);
        let name = &self.names[input];
        let mut unknown = |field: &str, column: u64| {
            if !self.rules.keys.has_field(field) {
                let place = || shown_place(&calm(name), &raw, Spot::Byte(column));
                self.unknown.meet(field, format.fields(), place);
            }
        };
        let keeper = &mut self.keeper;
        keeper.clear();
        let asked = Asked {
            record: raw,
            folder: &current.folder,
            keeper,
            request_url: self.rules.request_url.as_ref(),
            has_base: self.rules.has_base(),
            log_fields: self.rules.log_fields.as_ref(),
            columns: current.columns.as_ref(),
            filling: current.filling.as_ref(),
            own: &own,
            is_doubted: &mut current.is_doubted,
            unknown: &mut unknown,
        };
        let (mut id, draft) = read(format, asked);
        let headers = &mut keeper.headers;
        let job = match draft.and_then(|draft| self.rules.job(place, &mut id, draft, headers)) {
            Ok(job) => job,
            Err(fault) => return Some(Ok(Some(Err(fault.of(&raw, place(), id))))),
        };
        let here = ids::Line {
            input: input as u64,
            number: line,
        };
        let first = job.id.as_ref().and_then(|id| self.ids.claim(id, here));
        // In a later round it has claimed its id itself.
        let Some(first) = first.filter(|first| *first != here) else {
            return Some(Ok(Some(Ok(job))));
        };
        let fault = duplicate(&job, first, here, &self.names);
        Some(Ok(Some(Err(fault.of(&raw, job.place, job.id)))))
    }

    fn count(&mut self, line: &Result<Job, BadLine>) -> Result<(), Problem> {
        if let Ok(job) = line {
            let guessed = matches!(
                job.units,
                Some(Units {
                    source: UnitsFrom::Estimate,
                    ..
                })
            );
            if self.good == 0 && guessed && job.body().is_none() {
                let (counts, instead) = match self.rules.units {
                    UnitsRule::Price(_) => ("--price", "leave --price out"),
                    UnitsRule::Reserve(_) | UnitsRule::Learn(_) | UnitsRule::Ignored => {
                        ("a limit", "limit requests instead")
                    }
                };
                return Err(Problem::usage(
                    format!("{counts} counts units, and the first job has neither \"tokens\" nor a body to estimate them from"),
                    format!("give jobs a \"tokens\" field, or {instead}"),
                )
                .at(job.place.to_string()));
            }
            self.good += 1;
        }
        self.found += 1;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        Ok(())
    }

    /// Once a line was given out, something may have been sent: the exit may no longer say otherwise.
    fn while_running(&self, mut problem: Problem) -> Problem {
        if self.found > 0 && problem.exit == Exit::Usage {
            problem.exit = Exit::SomeFailed;
        }
        problem
    }
}

impl Current {
    fn open(input: Input, file: Option<File>, spec: &Spec, rules: &Rules) -> Result<Self, Problem> {
        let mut stalls = match (&input, &file) {
            (Input::Stdin, _) if !is_regular(&io::stdin()) => of_its_own(&io::stdin()),
            (Input::File(_), Some(file)) => of_its_own(file),
            (Input::Stdin | Input::File(_) | Input::Spooled(_), _) => None,
        };
        let bytes: io::Result<Box<dyn io::Read + Send>> = match (&input, file) {
            (Input::Stdin, _) => Ok(Box::new(io::stdin())),
            (Input::Spooled(file), _) => {
                let mut file = Arc::clone(file);
                file.rewind().map(|()| Box::new(file) as _)
            }
            (Input::File(_), Some(file)) => Ok(Box::new(file)),
            (Input::File(path), None) => File::open(path).map(|file| Box::new(file) as _),
        };
        let opened = bytes.and_then(|bytes| {
            let mut opening = Opening::of(bytes)?;
            // Parts of it are read before they can be undone.
            stalls = stalls.take().filter(|_| !opening.is_packed);
            let format = match (spec.format, &spec.url) {
                (Some(format), _) => format,
                (None, Some(_)) => opening.format_of_rows(&input)?,
                (None, None) => opening.format(&input)?,
            };
            Ok((format, opening.framing(format)?))
        });
        let (format, records) = opened.map_err(|why| unreadable(&input, &why))?;
        let is_table = format.needs() == Needs::Columns;
        let filling = if is_table || spec.url.is_some() {
            Filling::of(spec)?
        } else {
            filling::without_rows(spec).map_err(|problem| problem.at(input.name()))?;
            None
        };
        rules
            .suit(format, filling.as_ref())
            .map_err(|problem| problem.at(input.name()))?;
        Ok(Self {
            records,
            folder: input.folder(),
            input,
            format,
            is_doubted: spec.format.is_none() && format == Format::JSONL,
            stalls,
            columns: None,
            filling,
        })
    }
}

/// The same input, to be asked whether more of it is there; `None` if nothing tells.
fn of_its_own(input: &impl AsFd) -> Option<OwnedFd> {
    input.as_fd().try_clone_to_owned().ok()
}

/// Whether all of this input is there.
fn is_regular(input: &impl AsFd) -> bool {
    let file = input.as_fd().try_clone_to_owned().map(File::from);
    let kind = file.and_then(|file| file.metadata());
    kind.is_ok_and(|kind| kind.is_file())
}

/// The columns of a table, by its first row.
fn columns(
    row: &Record<'_>,
    name: &str,
    rules: &Rules,
    filling: Option<&mut Filling>,
    unknown: &mut Unknown,
) -> Result<Columns, Problem> {
    let told = |field: &str, at: Spot| {
        if !rules.keys.has_field(field) {
            unknown.meet(field, &field::COLUMNS, || shown_place(name, row, at));
        }
    };
    let columns = match row.extent {
        Extent::Whole => Columns::of(row, filling, told),
        Extent::Longer { length, .. } => Err(too_long(length)),
        Extent::Broken(why) => Err(broken(why, row.bytes)),
    };
    columns.map_err(|fault| {
        Problem::usage(fault.what, fault.mend).at(shown_place(name, row, fault.at))
    })
}

fn shown_place(name: &str, record: &Record<'_>, at: Spot) -> String {
    let (below, column) = record.place_of(at);
    format!("{name}:{}:{column}", record.line + below)
}

fn read<'a>(format: Format, mut asked: Asked<'_, 'a>) -> Read<'a> {
    match asked.record.extent {
        Extent::Whole => format.read(&mut asked),
        Extent::Longer { length, .. } => (None, Err(too_long(length))),
        Extent::Broken(why) => (None, Err(broken(why, asked.record.bytes))),
    }
}

fn too_long(length: u64) -> Fault {
    Fault::new(
        LONGEST as u64 + 1,
        format!("the line has {length} bytes, a job at most {LONGEST} (64 MiB)"),
        "give each job a line of its own, and a large body a file (\"body_file\")",
    )
}

/// Where the text stops to be one: behind what there is of the record.
fn broken(why: &'static str, bytes: &[u8]) -> Fault {
    Fault::new(
        bytes.len().max(1) as u64,
        why,
        "mend the file there; what stands behind this place is unread",
    )
}

fn duplicate(job: &Job, first: ids::Line, here: ids::Line, names: &[Arc<str>]) -> Fault {
    let id = job.id.as_deref().unwrap_or_default();
    let lines = if first.input == here.input {
        format!("lines {} and {}", first.number, here.number)
    } else {
        let name = usize::try_from(first.input).map_or("", |input| &names[input]);
        format!("{}:{} and {}", calm(name), first.number, job.place)
    };
    Fault::new(
        1,
        format!("duplicate id {id:?} ({lines})"),
        "give each job an id of its own, or none",
    )
}
