//! `shaper report --failed-jobs`: copies the lines of jobs that failed to stdout. Floor 6: front.

use std::collections::HashSet;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

use super::super::args::ReportArgs;
use super::super::not_it::NotIt;
use super::super::origin::Run;
use super::super::verify::once;
use super::super::{say, unwritten};
use crate::error::{Exit, Problem};
use crate::letters::{calm, calm_path};
use crate::results::{self, FailedJob, FailedJobs};
use crate::source::{Alone, Chosen, Format, Found, Template};
use crate::units::counted;

/// Copied lines above this, in bytes, wait in a file that has no name.
const IN_MEMORY: usize = 16 << 20;

pub(super) fn copy(args: &ReportArgs) -> Result<Exit, Problem> {
    args.results
        .iter()
        .try_for_each(|path| results::check(path))?;
    once(&args.results)?;
    let mut copy = Copy::new();
    for path in &args.results {
        copy.all(&Run::of(path, args)?)?;
    }
    copy.pour()
}

/// Lines that are to go to stdout when all of them are found, and what is told then.
struct Copy {
    lines: BufWriter<SpooledTempFile>,
    /// Of the lines, and a file of them.
    format: Option<(Format, PathBuf)>,
    /// Of the lines.
    ids: HashSet<Box<str>>,
    copied: u64,
    /// The lines as a run would read them, until one could be taken for something else.
    alone: Option<Alone>,
    /// Failed jobs that cannot be copied.
    left: u64,
    notes: Vec<String>,
}

impl Copy {
    fn new() -> Self {
        Self {
            lines: BufWriter::new(SpooledTempFile::new(IN_MEMORY)),
            format: None,
            ids: HashSet::new(),
            copied: 0,
            alone: Some(Alone::default()),
            left: 0,
            notes: Vec::new(),
        }
    }

    /// The failed jobs of a file of results.
    fn all(&mut self, run: &Run) -> Result<(), Problem> {
        let shown = calm_path(run.results);
        let passing = run.passing();
        let only = run.only();
        let failed = results::failed(run.results, |file| {
            file.or(only).is_some_and(|name| passing.contains(name))
        })?;
        let FailedJobs {
            jobs,
            results,
            torn,
        } = failed;
        if let Some(line) = torn {
            let note = format!("{shown}:{line}: the last line is torn: it was passed over");
            self.notes.push(note);
        }
        if jobs.is_empty() {
            self.notes.push(format!(
                "{shown}: none of {} tells of a failed job",
                counted(results, "result")
            ));
        }
        let before = self.copied;
        for (name, jobs) in run.by_input(jobs)? {
            if passing.contains(&*name) {
                self.list(run, &name, &jobs);
            } else {
                self.file(run, &name, &jobs)?;
            }
        }
        let options = run.options();
        if self.copied > before && !options.is_empty() {
            self.notes.push(format!(
                "{shown}: run its jobs again with what they were given: {options}"
            ));
        }
        Ok(())
    }

    /// Jobs whose lines nobody has.
    fn list(&mut self, run: &Run, name: &str, jobs: &[FailedJob]) {
        let input = if name == "-" {
            "standard input".into()
        } else {
            calm(name)
        };
        let shown = calm_path(run.results);
        let mut note = format!(
            "{shown}: {} came from {input}, which cannot be read again:",
            counted(jobs.len() as u64, "failed job")
        );
        for job in jobs {
            note += "\n  line ";
            note += &job.line.to_string();
            if let Some(id) = &job.id {
                note.extend(["  id \"", &id.escape_debug().to_string(), "\""]);
            }
            if let Some(url) = &job.url {
                note.extend(["  ", &url.escape_debug().to_string()]);
            }
        }
        self.notes.push(note);
        self.left += jobs.len() as u64;
    }

    /// Jobs of a file.
    fn file(&mut self, run: &Run, name: &str, jobs: &[FailedJob]) -> Result<(), Problem> {
        let path = run.find(name)?;
        let mut chosen = Chosen::open(&path, &run.spec)?;
        let format = chosen.format();
        if run.args.format.is_some_and(|wanted| wanted != format) {
            let jobs = jobs.len() as u64;
            let left = counted(jobs, "failed job");
            let note = format!("{}: {left} left out: --format {format}", calm_path(path));
            self.notes.push(note);
            self.left += jobs;
            return Ok(());
        }
        self.mixed(format, &path)?;
        let mut body_files = 0;
        // An input that is named twice has two jobs in each line.
        for jobs in jobs.chunk_by(|one, next| one.line == next.line) {
            let found = chosen.line(jobs[0].line)?;
            for job in jobs {
                match &found {
                    Found::Job(now, written) if job.is(now) => {
                        let body_file = written.body_file.as_ref();
                        body_files += u64::from(body_file.is_some_and(|it| it.is_relative()));
                        self.id(job)?;
                        self.line(written.bytes, run.spec.url.as_ref())?;
                    }
                    found => {
                        let not_it = NotIt {
                            run,
                            job,
                            name,
                            path: &path,
                        };
                        return Err(not_it.problem(found));
                    }
                }
            }
        }
        if body_files > 0 {
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            let folder = calm_path(folder.unwrap_or(Path::new(".")));
            self.notes.push(format!(
                "{}: {} with a body_file: run them from a file in {folder}",
                calm_path(path),
                counted(body_files, "copied line")
            ));
        }
        Ok(())
    }

    /// One output has one format: that of its first line.
    fn mixed(&mut self, format: Format, path: &Path) -> Result<(), Problem> {
        let (first, of) = self.format.get_or_insert_with(|| (format, path.to_owned()));
        if *first == format {
            return Ok(());
        }
        let what = format!(
            "{} holds jobs as {first}, {} as {format}: one output of both could not be run",
            calm_path(of),
            calm_path(path)
        );
        let mend = format!("copy one format at a time: --format {first}, then --format {format}");
        Err(Problem::usage(what, mend))
    }

    /// Ids are unique in the results of one run, and have to be in what is run again.
    fn id(&mut self, job: &FailedJob) -> Result<(), Problem> {
        let Some(id) = &job.id else {
            return Ok(());
        };
        if self.ids.insert(id.clone()) {
            return Ok(());
        }
        let what =
            format!("two failed jobs have the id {id:?}: one output of both could not be run");
        Err(Problem::usage(what, "copy one file of results at a time"))
    }

    /// Keeps a line; `url` is what makes lines rows.
    fn line(&mut self, bytes: &[u8], url: Option<&Template>) -> Result<(), Problem> {
        if let (Some((format, _)), Some(alone), None) = (&self.format, &mut self.alone, url) {
            let is_first = self.copied == 0;
            let what = if is_first && !format.is_told_by(bytes) {
                Some("the first line does not tell its format")
            } else if alone.is_doubtful(*format, bytes) {
                Some("a line does not tell its format")
            } else {
                None
            };
            if let Some(what) = what {
                let note = format!("{what}: run it with --format {format}");
                self.notes.push(note);
                self.alone = None;
            }
        }
        self.copied += 1;
        let written = self.lines.write_all(bytes);
        written
            .and_then(|()| self.lines.write_all(b"\n"))
            .map_err(|why| unkept(&why))
    }

    /// Everything is found: writes it, then tells the rest.
    fn pour(self) -> Result<Exit, Problem> {
        let lines = self.lines.into_inner();
        let mut lines = lines.map_err(|why| unkept(why.error()))?;
        lines.rewind().map_err(|why| unkept(&why))?;
        let mut out = io::stdout().lock();
        io::copy(&mut lines, &mut out)
            .and_then(|_| out.flush())
            .map_err(|why| unwritten(&why))?;
        self.notes.iter().for_each(|note| say(note));
        if self.copied > 0 {
            say(&format!("{} copied", counted(self.copied, "failed job")));
        }
        Ok(if self.left > 0 {
            Exit::SomeFailed
        } else {
            Exit::AllOk
        })
    }
}

fn unkept(why: &io::Error) -> Problem {
    let what = format!("the copied lines cannot be kept in a temporary file: {why}");
    Problem::usage(what, "make room there, or set TMPDIR to another folder")
}
