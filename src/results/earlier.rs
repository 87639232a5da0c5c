//! What earlier runs have left in a file of results, and its mending. Floor 4: doors.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::done::{Done, Name};
use super::row::{Names, Row};
use super::{LineEnd, Lines, Needs, batch, no_result, unreadable};
use crate::error::{Exit, Problem, to_write};
use crate::file::{self, path_with};
use crate::letters::calm_path;
use crate::proof::Event;
use crate::sink::Format;
use crate::units::Tick;

/// What is done with lines that are no results, other than a torn last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The first is a problem, and nothing is changed.
    Refuse,
    /// They go to `FILE.bad`.
    SetAside,
}

/// What earlier runs have left. Nothing is changed before [`Earlier::mend`].
#[derive(Debug, Default)]
pub struct Earlier {
    /// The jobs that have a result.
    pub done: Done,
    /// Tries that were sent and that a limit may still count, moments since the Unix epoch. Those that do
    /// not tell their keys or units have none.
    pub sends: Vec<Event>,
    /// Sends that were longer ago.
    pub older: u64,
    /// What the first line does not tell that a limit counts, with its number.
    pub untold: Option<(u64, String)>,
    /// How the file ends.
    pub tail: Tail,
    /// Lines that are no results: where each begins, and how long it is with its end.
    bad: Vec<(u64, u64)>,
}

/// How a file of results ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tail {
    /// With the end of a line, or there is nothing.
    #[default]
    Whole,
    /// With a whole result that has no line end.
    Unended,
    /// With so many bytes of a result, from this offset on.
    Torn {
        /// Bytes before it.
        offset: u64,
        /// Bytes of it.
        length: u64,
    },
}

/// Reads a file of results that is to be gone on with. Of the sends only those since `since` are kept.
///
/// Memory: 16 bytes a job (24 while it reads), and 56 to 120 bytes for each send since then.
///
/// A batch does not tell when anything was sent.
pub fn look(
    path: &Path,
    format: Format,
    needs: &Needs,
    since: Tick,
    damage: Damage,
) -> Result<Earlier, Problem> {
    let shown = calm_path(path);
    let unreadable = |why| unreadable(path, &why);
    let mut lines = Lines::new(File::open(path).map_err(unreadable)?);
    let (mut earlier, mut names) = (Earlier::default(), Names::default());
    let mut foreign = false;
    while let Some(raw) = lines.next().map_err(unreadable)? {
        let length = raw.bytes.len() as u64;
        let text = std::str::from_utf8(raw.bytes).map_err(|why| why.to_string());
        let taken = text.and_then(|text| {
            if let Some(read) = batch::read(format, text) {
                let line = read?;
                let seq = line.seq.unwrap_or(raw.number);
                let done = &mut earlier.done;
                done.add(line.name, line.status, seq, line.history);
                return Ok(());
            }
            let row: Row = serde_json::from_str(text).map_err(|why| why.to_string())?;
            earlier.add(&row, raw.number, needs, since, &mut names)
        });
        match (taken, raw.end, damage) {
            (Ok(()), LineEnd::Newline, _) => {}
            (Ok(()), LineEnd::File, _) => earlier.tail = Tail::Unended,
            (Err(_), LineEnd::File, _) => {
                foreign = !matches!(raw.bytes.first(), Some(b'{' | 0));
                earlier.tail = Tail::Torn {
                    offset: raw.offset,
                    length,
                };
            }
            (Err(_), LineEnd::Newline, Damage::SetAside) => {
                earlier.bad.push((raw.offset, length + 1));
            }
            (Err(why), LineEnd::Newline, Damage::Refuse) => {
                let what = format!("{}; nothing was changed", no_result(&why));
                let place = format!("{shown}:{}", raw.number);
                return Err(Problem::usage(what, mend(raw.number)).at(place));
            }
        }
    }
    earlier.done.put_in_order();
    if earlier.done.is_empty() && (foreign || !earlier.bad.is_empty()) {
        let what = "holds no result: it was not written by shaper";
        let mend = "name another file with -o";
        return Err(Problem::usage(what, mend).at(shown));
    }
    Ok(earlier)
}

fn mend(line: u64) -> &'static str {
    if line == 1 {
        "if this is no file of results, name another with -o; else restore it, or say --repair"
    } else {
        "restore the file; or say --repair, which sets such lines aside in FILE.bad and runs their jobs again"
    }
}

impl Earlier {
    fn add(
        &mut self,
        row: &Row,
        line: u64,
        needs: &Needs,
        since: Tick,
        names: &mut Names,
    ) -> Result<(), String> {
        let (name, status) = Name::of_row(row)?;
        row.tries()
            .iter()
            .try_for_each(super::row::Made::is_in_order)?;
        let seq = row.seq.unwrap_or(line);
        self.done.add(name, status, seq, row.history());
        let mut untold = None;
        let keys = row.keys(needs, names);
        let keys = keys.unwrap_or_else(|why| {
            untold = Some(why);
            Box::default()
        });
        for made in row.tries().iter().filter(|made| made.was_sent()) {
            if !made.was_there_since(since) {
                self.older += 1;
                continue;
            }
            let units = row.units(made, needs).unwrap_or_else(|why| {
                untold = Some(why);
                None
            });
            let told = (needs, &mut *names);
            self.sends
                .extend(made.events(units, keys.clone(), line, told));
            if let Some(why) = untold.take() {
                self.untold.get_or_insert((line, why));
            }
        }
        Ok(())
    }

    /// How many lines are set aside.
    pub fn set_aside(&self) -> usize {
        self.bad.len()
    }

    /// Makes the file end with a whole line, and sets aside what is no result: first copied beside it, then
    /// taken out. Where lines in the middle go, the file is replaced by another, at once or not at all.
    ///
    /// Returns the file to go on with, locked as `lock` does it.
    pub fn mend(
        &self,
        path: &Path,
        file: File,
        lock: impl Fn(&File) -> Result<(), Problem>,
    ) -> Result<File, Problem> {
        let unwritten = |path: &Path, why: io::Error| {
            let what = format!("{} cannot be written: {why}", calm_path(path));
            let mend = format!("{}; the results are as they were", to_write(&why));
            Problem::new(Exit::Unwritten, what, mend)
        };
        let here = |why| unwritten(path, why);
        let mut file = file;
        if let Tail::Torn { offset, length } = self.tail {
            let torn = path_with(path, ".torn");
            copy(&mut file, [(offset, length)], &torn).map_err(|why| unwritten(&torn, why))?;
            file.set_len(offset).map_err(here)?;
        }
        if self.tail == Tail::Unended {
            file.write_all(b"\n").map_err(here)?;
        }
        if !self.bad.is_empty() {
            let bad = path_with(path, ".bad");
            let lines = self.bad.iter().copied();
            copy(&mut file, lines, &bad).map_err(|why| unwritten(&bad, why))?;
            let mut locked = Ok(());
            let new = file::replaced(path, |new| {
                locked = lock(new);
                self.copy_without_bad(&mut file, new)
            });
            locked?;
            file = new.map_err(here)?;
        }
        Ok(file)
    }

    /// All but the lines that are no results.
    fn copy_without_bad(&self, file: &mut File, to: &mut File) -> io::Result<()> {
        let (mut from, end) = (0, file.metadata()?.len());
        for (offset, length) in self.bad.iter().copied().chain([(end, 0)]) {
            file.seek(SeekFrom::Start(from))?;
            io::copy(&mut (&mut *file).take(offset - from), to)?;
            from = offset + length;
        }
        Ok(())
    }
}

/// The line of the first result that no line of the input has claimed.
pub fn first_unclaimed(path: &Path, done: &mut Done) -> Option<u64> {
    let mut lines = Lines::new(File::open(path).ok()?);
    while let Some(raw) = lines.next().ok()? {
        let Ok(row) = serde_json::from_slice::<Row>(raw.bytes) else {
            continue;
        };
        if Name::of_row(&row).is_ok_and(|(name, _)| done.has_left(name)) {
            return Some(raw.number);
        }
    }
    None
}

/// Adds these parts of a file to another, each as a line, and has them on the disk.
fn copy(file: &mut File, parts: impl IntoIterator<Item = (u64, u64)>, to: &Path) -> io::Result<()> {
    let mut to = file::added(to)?;
    for (offset, length) in parts {
        file.seek(SeekFrom::Start(offset))?;
        let mut part = Vec::new();
        file.take(length).read_to_end(&mut part)?;
        if !part.ends_with(b"\n") {
            part.push(b'\n');
        }
        to.write_all(&part)?;
    }
    to.sync_all()
}
