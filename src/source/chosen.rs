//! Chosen lines of a job file, as they stand there and as what they make. Floor 4: doors.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::draft::{Draft, Fields};
use super::filling::{Filling, Own};
use super::formats::{Asked, Needs, is_doubtful};
use super::framing::Framing;
use super::keeper::Keeper;
use super::lines::Lines;
use super::opening::{First, Opening};
use super::rules::Rules;
use super::{Format, Input, Spec, members, read};
use crate::error::Problem;
use crate::file::regular;
use crate::job::{BadLine, Job, Place};

/// A job file of which a few lines are wanted. It is read as a stream, once.
pub struct Chosen {
    lines: Lines,
    name: Arc<str>,
    input: Input,
    format: Format,
    keeper: Keeper,
    rules: Rules,
    /// What its lines fill, if they are rows.
    filling: Option<Filling>,
}

/// What stands in a line.
#[derive(Debug)]
pub enum Found<'a> {
    /// A job.
    Job(Box<Job>, Written<'a>),
    /// A line that makes no job.
    Bad(BadLine),
    /// Nothing: it is blank or a comment.
    Nothing,
    /// There is no such line, only so many.
    End(u64),
}

/// How a job is written.
#[derive(Debug)]
pub struct Written<'a> {
    /// Its line, without what ends it and without a byte order mark.
    pub bytes: &'a [u8],
    /// The file that its body stands in, as the line names it.
    pub body_file: Option<PathBuf>,
}

impl Chosen {
    /// Opens a file whose lines are read by the rules of `spec`, whatever inputs that names. Fails if it cannot be read, or
    /// lines of its format cannot be copied.
    pub fn open(path: &Path, spec: &Spec) -> Result<Self, Problem> {
        let rules = Rules::new(spec)?;
        let name = path.to_string_lossy().into_owned();
        let input = Input::File(path.to_owned());
        let opened = regular(path).and_then(|file| {
            let mut opening = Opening::of(Box::new(file))?;
            let format = match (spec.format, &spec.url) {
                (Some(format), _) => format,
                (None, Some(_)) => opening.format_of_rows(&input)?,
                (None, None) => opening.format(&input)?,
            };
            Ok((format, opening.framing(format)?))
        });
        let (format, framing) = opened.map_err(|why| unreadable(&name, &why))?;
        let needs = format.needs();
        if needs == Needs::RequestUrl {
            rules
                .suit(format, None)
                .map_err(|problem| problem.at(&*name))?;
        }
        let (Framing::Lines(lines), Needs::Nothing | Needs::Base | Needs::RequestUrl) =
            (framing, needs)
        else {
            let what = format!("holds jobs as {format}, not one in each line");
            return Err(Problem::usage(what, RETRY).at(name));
        };
        let filling = match &spec.url {
            Some(_) => Filling::of(spec)?,
            None => None,
        };
        Ok(Self {
            lines,
            name: name.into(),
            input,
            format,
            keeper: Keeper::default(),
            rules,
            filling,
        })
    }

    /// How its lines are written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The line of this number, from 1, which must be above that of the call before. Lines between are
    /// passed over unread. Fails where reading does.
    pub fn line(&mut self, number: u64) -> Result<Found<'_>, Problem> {
        let unreadable = |why| unreadable(&self.name, &why);
        while self.lines.count() + 1 < number {
            if self.lines.next().map_err(unreadable)?.is_none() {
                return Ok(Found::End(self.lines.count()));
            }
        }
        let count = self.lines.count();
        let Some(raw) = self.lines.next().map_err(unreadable)? else {
            return Ok(Found::End(count));
        };
        if self.format.passes_over(&raw) {
            return Ok(Found::Nothing);
        }
        let place = Place::new(Arc::clone(&self.name), raw.line);
        if let Some(filling) = &mut self.filling
            && !filling.is_settled()
            && let Ok(members) = raw.text().and_then(|text| members::read(text, raw.end))
        {
            let names = members.iter().map(|(name, _)| &**name);
            let settled = filling.settle(names);
            settled
                .map_err(|fault| Problem::usage(fault.what, fault.mend).at(place.to_string()))?;
            if let Some(name) = filling.of_the_run() {
                let what = format!("{{{{{name}}}}} would be another in a copy of this line");
                return Err(Problem::usage(what, RETRY).at(place.to_string()));
            }
        }
        let folder = self.input.folder();
        let keeper = &mut self.keeper;
        keeper.clear();
        let asked = Asked {
            record: raw,
            folder: &folder,
            keeper,
            request_url: self.rules.request_url.as_ref(),
            has_base: self.rules.has_base(),
            log_fields: self.rules.log_fields.as_ref(),
            columns: None,
            filling: self.filling.as_ref(),
            own: &Own::default(),
            is_doubted: &mut false,
            unknown: &mut |_, _| {},
        };
        let (mut id, draft) = read(self.format, asked);
        let body_file = draft.as_ref().ok().and_then(body_file);
        let place = || place.clone();
        let headers = &mut keeper.headers;
        let job = draft.and_then(|draft| self.rules.job(place, &mut id, draft, headers));
        Ok(match job {
            Ok(job) => Found::Job(
                Box::new(job),
                Written {
                    bytes: raw.bytes,
                    body_file,
                },
            ),
            Err(fault) => Found::Bad(fault.of(&raw, place(), id)),
        })
    }
}

/// What finds jobs that cannot be copied.
const RETRY: &str =
    "run those that failed with `shaper run JOBS -o RESULTS --resume --retry-failed`";

fn body_file(draft: &Draft<'_>) -> Option<PathBuf> {
    let Fields::Json(fields) = &draft.fields else {
        return None;
    };
    let (_, value) = fields.iter().find(|(name, _)| name == "body_file")?;
    serde_json::from_str(value).ok()
}

fn unreadable(name: &str, why: &io::Error) -> Problem {
    let mend = "jobs are copied out of the files that they were read from: make it readable";
    Problem::usage(format!("cannot be read: {why}"), mend).at(name)
}

impl Format {
    /// Whether a file that begins with this line is taken for this format, whatever it is called.
    pub fn is_told_by(self, line: &[u8]) -> bool {
        ["jobs", "jobs.jsonl"]
            .map(|name| Input::File(PathBuf::from(name)))
            .iter()
            .all(|input| Self::of(&First::new(line, true), input) == Some(self))
    }
}

/// Lines as they would be read from a file of their own, of which nobody says the format.
#[derive(Debug, Default)]
pub struct Alone {
    /// Whether one was a job for sure, and so all behind it are.
    are_jobs: bool,
}

impl Alone {
    /// Whether this line, behind those before it, could be another thing than the job that it is.
    pub fn is_doubtful(&mut self, format: Format, line: &[u8]) -> bool {
        let line = str::from_utf8(line).unwrap_or_default();
        let mut is_doubted = !self.are_jobs && format == Format::JSONL;
        let is_doubtful = is_doubtful(line, &mut is_doubted);
        self.are_jobs = !is_doubted;
        is_doubtful
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::letters::calm_path;

    /// What stands in these lines, with the bytes of jobs.
    fn seen(text: &[u8], spec: &Spec, numbers: &[u64]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs");
        fs::write(&path, text).unwrap();
        fs::write(folder.path().join("body"), "x").unwrap();
        let mut chosen = Chosen::open(&path, spec).unwrap();
        let show = |number: &u64| match chosen.line(*number).unwrap() {
            Found::Job(job, written) => {
                let bytes = String::from_utf8_lossy(written.bytes);
                let body = written
                    .body_file
                    .map_or(String::new(), |file| format!(" + {}", calm_path(file)));
                format!("{}: {bytes}{body}", job.target.url.path())
            }
            Found::Bad(bad) => bad.what,
            Found::Nothing => "nothing".to_owned(),
            Found::End(count) => format!("{count} lines"),
        };
        numbers.iter().map(show).collect()
    }

    #[test]
    fn a_line_keeps_its_bytes_without_mark_and_line_end() {
        let text = b"\xEF\xBB\xBF{\"url\":\"http://h/a\" }\r\n\n {\"url\":\"http://h/b\"}";
        let lines = seen(text, &Spec::default(), &[1, 2, 3, 4]);
        let wanted = [
            "/a: {\"url\":\"http://h/a\" }",
            "nothing",
            "/b:  {\"url\":\"http://h/b\"}",
            "3 lines",
        ];
        assert_eq!(lines, wanted);
    }

    #[test]
    fn the_format_is_told_by_lines_that_are_passed_over() {
        let text = b"\n# list\n/a\n  # more\n {x}\n";
        let spec = Spec {
            base_url: Some("http://h/".parse().unwrap()),
            ..Spec::default()
        };
        let lines = seen(text, &spec, &[4, 5, 9]);
        assert_eq!(lines, ["nothing", "/%7Bx%7D:  {x}", "5 lines"]);
        let relative = seen(text, &Spec::default(), &[3]);
        assert_eq!(relative, ["relative URL needs --base-url"]);
    }

    #[test]
    fn the_file_of_a_body_is_told() {
        let text = b"{\"url\":\"http://h/a\",\"body_file\":\"body\"}\n";
        let lines = seen(text, &Spec::default(), &[1]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].ends_with("} + body"), "{lines:?}");
    }

    #[test]
    fn what_is_no_regular_file_is_not_read() {
        for path in ["/dev/zero", "/", "/nowhere/jobs"] {
            let opened = Chosen::open(Path::new(path), &Spec::default());
            let problem = opened.map(|_| ()).unwrap_err();
            assert!(problem.to_string().starts_with(&format!("{path}: cannot")));
        }
    }

    #[test]
    fn a_first_line_tells_its_format_or_not() {
        for (line, format, told) in [
            ("{\"url\":\"/a\"}", Format::JSONL, true),
            ("http://h/", Format::URLS, true),
            ("/a", Format::URLS, true),
            ("_next", Format::URLS, false),
            ("{x}", Format::URLS, false),
        ] {
            assert_eq!(format.is_told_by(line.as_bytes()), told, "{line}");
        }
    }
}
