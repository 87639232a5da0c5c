//! `FILE.run`: what a file of results does not say of its run. Floor 4: doors.
//!
//! No header, body or key is ever in it.

mod ended;
mod fits;
mod owners;
mod unrecorded;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use ended::{Ended, Figures, Stretch};
pub use fits::{Lines, Misfit};
pub use owners::Owners;
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use unrecorded::Unrecorded;

use crate::error::{Exit, Problem, to_write};
use crate::file::{self, path_with};
use crate::letters::calm_path;
use crate::limit::{KeyBy, Spec, keys_of};
use crate::metrics::SlotsBy;

/// Of a run: its rules from the start on, its figures when it is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of the program.
    pub version: String,
    /// The rate limits in force, in the order of the command line.
    pub limits: Vec<Limit>,
    /// Slots; `None` without a limit.
    pub concurrency: Option<u64>,
    /// Slots of each origin; `None` without a limit.
    pub per_host: Option<u64>,
    /// Grants may have been charged for so many microseconds before them.
    pub slack_us: u64,
    /// What the jobs were read from.
    pub inputs: Vec<Input>,
    /// What relative URLs were relative to, its credentials as `***`.
    pub base_url: Option<String>,
    /// What relative names of inputs were relative to; `None` if nothing tells.
    #[serde(default)]
    pub folder: Option<String>,
    /// What set the slots; of older versions an option.
    #[serde(default)]
    pub slots_by: SlotsBy,
    /// What else jobs were given; `None` if nothing tells.
    #[serde(default)]
    pub given: Option<Given>,
    /// What carried the requests; here and below `None` if nothing tells.
    #[serde(default)]
    pub transport: Option<String>,
    /// When jobs were due, as `--arrivals` says it.
    #[serde(default)]
    pub arrivals: Option<String>,
    /// What became of units that were not used, as `--refund` says it.
    #[serde(default)]
    pub refund: Option<String>,
    /// Where, and under which name, the limits were shared; `None` if they were those of this run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// The most redirects that a try followed.
    #[serde(default)]
    pub redirects: Option<u64>,
    /// Of the jitter.
    pub seed: u64,
    /// The name of the machine.
    pub host: String,
    /// The start, in microseconds since the Unix epoch.
    pub started_us: u64,
    /// `None` until the run is over, and for ever if it was killed.
    pub ended: Option<Ended>,
    /// The runs that this one has gone on from, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Before>,
    /// Whose the time was, over all of these runs that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Owners>,
}

/// A run whose results another has gone on from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// Its rate limits.
    pub limits: Vec<Limit>,
    /// Its slots; `None` without a limit.
    pub concurrency: Option<u64>,
    /// Its start, in microseconds since the Unix epoch.
    pub started_us: u64,
    /// The last moment at which it may have sent, likewise.
    pub last_us: u64,
    /// Tries of it that were sent and have ended; `None` if it was killed.
    pub sends: Option<u64>,
    /// The most tries that may have been sent and are in no line; `None` if nobody knows.
    pub cut_off: Option<u64>,
    /// The most redirects that each of them followed; `None` if nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<u64>,
    /// What its results do not tell; `None` if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// Tries that were sent and have ended, of jobs that had no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<Unrecorded>,
}

/// A rate limit, by its name and as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The name in results and reports.
    pub name: String,
    /// What [`Spec`] reads.
    pub limit: String,
}

/// What shares the limits of a run with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// The store, without user and password.
    pub store: String,
    /// The name of what is shared.
    pub key: String,
    /// Tries in flight of all together; `None` without a limit.
    pub concurrency: Option<u64>,
}

/// An input by its name; size and time of change only of regular files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As given; `-` for standard input.
    pub name: String,
    /// Bytes.
    pub size: Option<u64>,
    /// Microseconds since the Unix epoch.
    pub changed_us: Option<u64>,
}

/// What the command line has given to jobs, as far as it may be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// How the lines of all inputs were read; `None` if by content.
    pub format: Option<String>,
    /// The method of jobs that name none.
    pub method: Option<String>,
    /// The body of jobs that have none.
    pub data: Option<Withheld>,
    /// The URL of each row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Withheld>,
    /// Headers that rows fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Withheld>,
    /// What became of URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Withheld>,
    /// Which part of the lines was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Where the objects of a log have what they tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_fields: Option<String>,
    /// Where lines that are bodies and nothing else were sent, its credentials as `***`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_url: Option<String>,
}

/// A value that was there and is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Withheld {
    /// As credentials are shown.
    #[serde(rename = "***")]
    Value,
}

/// Where the manifest of these results stands.
pub fn path_of(results: &Path) -> PathBuf {
    path_with(results, ".run")
}

/// Refuses a file in that place that is no manifest: it is left alone.
pub fn check(results: &Path) -> Result<(), Problem> {
    let path = path_of(results);
    let there = path.metadata();
    if there.is_ok_and(|there| there.is_dir() || there.len() > 0) && read(results).is_err() {
        let what = format!("{} exists and was not written by shaper", calm_path(path));
        let mend =
            "move it away, or name another file with -o: what a run was is kept beside its results";
        return Err(Problem::usage(what, mend));
    }
    Ok(())
}

/// The manifest of these results, for its limits; `None` if there is no such file.
pub fn read(results: &Path) -> Result<Option<Manifest>, Problem> {
    find(results).map_err(|why| {
        let what = format!("does not tell the limits of the run: {why}");
        let mend = "give them by options, as to the run: --qps, --window, --tpm";
        Problem::usage(what, mend).at(calm_path(path_of(results)))
    })
}

/// The manifest of these results, or why it cannot be read; `None` if there is no such file.
pub fn find(results: &Path) -> Result<Option<Manifest>, String> {
    match file(&path_of(results)) {
        Ok(bytes) => {
            let run = serde_json::from_slice(&bytes).map_err(|why| why.to_string())?;
            let all = serde_json::from_slice(&bytes).map_err(|why| why.to_string())?;
            countable("it", &all)?;
            Ok(Some(run))
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why.to_string()),
    }
}

/// Whole numbers up to here are exact in every program that reads JSON.
const MOST: u64 = 1 << 53;

/// Counts are added up: what no run counts to is damage. A seed is no count, and slots may be as many as one likes.
fn countable(name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|count| count > MOST) => {
            Err(format!("`{name}` is {number}: no run counts so far"))
        }
        Value::Object(members) => {
            let counts = members
                .iter()
                .filter(|(name, _)| !["seed", "concurrency", "per_host"].contains(&name.as_str()));
            let mut counts = counts.map(|(name, value)| countable(name, value));
            counts.find(Result::is_err).unwrap_or(Ok(()))
        }
        Value::Array(elements) => elements.iter().try_for_each(|value| countable(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// A device or a pipe may have no end, and no manifest has so many bytes.
fn file(path: &Path) -> io::Result<Vec<u8>> {
    const MOST: u64 = 16 << 20;
    let kind = path.metadata()?;
    if !kind.is_file() || kind.len() > MOST {
        return Err(io::Error::other("it is no run file"));
    }
    fs::read(path)
}

impl Manifest {
    /// Its limits, as they were in force. Fails on one that this version does not know.
    pub fn specs(&self) -> Result<Vec<Spec>, String> {
        specs(&self.limits)
    }

    /// This run and those before it, for the one that goes on from it. Results were last changed at `last_us`.
    pub fn before(&self, last_us: u64) -> Vec<Before> {
        let own = Before {
            limits: self.limits.clone(),
            concurrency: self.concurrency,
            started_us: self.started_us,
            last_us,
            sends: self.ended.as_ref().map(|ended| ended.sends),
            cut_off: self.own_cut_off(),
            redirects: self.redirects,
            figures: self.ended.as_ref().and_then(|ended| ended.figures.clone()),
            unrecorded: self
                .ended
                .as_ref()
                .map_or_else(Vec::new, |ended| ended.unrecorded.clone()),
        };
        self.earlier.iter().cloned().chain([own]).collect()
    }

    /// Tries of all its runs that were sent and have ended; `None` if one was killed.
    pub fn sends(&self) -> Option<u64> {
        let earlier = self
            .earlier
            .iter()
            .map(|run| run.sends)
            .sum::<Option<u64>>()?;
        Some(earlier + self.ended.as_ref()?.sends)
    }

    /// The most tries of all its runs that may have been sent and are in no line; `None` if nobody knows.
    pub fn cut_off(&self) -> Option<u64> {
        let earlier = self.earlier.iter().map(|run| run.cut_off);
        earlier.chain([self.own_cut_off()]).sum()
    }

    /// One that was killed may have had as many in flight as it had slots.
    fn own_cut_off(&self) -> Option<u64> {
        let ended = self.ended.as_ref();
        ended.map_or(self.concurrency, |ended| Some(ended.cut_off))
    }

    /// The tries of all its runs that have ended and that no line tells of, as far as they are known. `keys`
    /// are those that it is asked for: where a run had others it is left out.
    pub fn unrecorded(&self, keys: &[KeyBy]) -> impl Iterator<Item = &Unrecorded> {
        let own = self
            .ended
            .iter()
            .map(|ended| (&self.limits, &ended.unrecorded));
        let earlier = self
            .earlier
            .iter()
            .map(|run| (&run.limits, &run.unrecorded));
        let told = earlier
            .chain(own)
            .filter(move |(limits, _)| specs(limits).is_ok_and(|specs| keys_of(&specs) == keys));
        told.flat_map(|(_, sent)| sent)
    }

    /// The same, whatever the keys were.
    pub fn all_unrecorded(&self) -> impl Iterator<Item = &Unrecorded> {
        let own = self.ended.iter().flat_map(|ended| &ended.unrecorded);
        let earlier = self.earlier.iter().flat_map(|run| &run.unrecorded);
        earlier.chain(own)
    }

    /// The slots that none of its runs exceeded; `None` if one had no limit.
    pub fn most_slots(&self) -> Option<u64> {
        let earlier = self.earlier.iter().map(|run| run.concurrency);
        earlier
            .chain([self.concurrency])
            .try_fold(0, |most, slots| Some(slots?.max(most)))
    }

    /// Whether a run before this one had other limits.
    pub fn had_other_limits(&self) -> bool {
        self.earlier.iter().any(|run| run.limits != self.limits)
    }

    /// Writes it beside the results; what was there is replaced at once or not at all.
    pub fn write(&self, results: &Path) -> Result<(), Problem> {
        let path = path_of(results);
        let written = file::replaced(&path, |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        });
        written.map(drop).map_err(|why| {
            let what = format!("{} cannot be written: {why}", calm_path(path));
            let mend = format!("{}, or name another file with -o", to_write(&why));
            Problem::new(Exit::Unwritten, what, mend)
        })
    }
}

impl Before {
    /// Its limits, as they were in force. Fails on one that this version does not know.
    pub fn specs(&self) -> Result<Vec<Spec>, String> {
        specs(&self.limits)
    }
}

fn specs(limits: &[Limit]) -> Result<Vec<Spec>, String> {
    let spec = |row: &Limit| {
        let spec: Spec = row
            .limit
            .parse()
            .map_err(|why| format!("limit `{}`: {why}", row.limit))?;
        let name = row.name.as_str().into();
        Ok(Spec { name, ..spec })
    };
    limits.iter().map(spec).collect()
}

impl From<&Spec> for Limit {
    fn from(spec: &Spec) -> Self {
        Self {
            name: spec.name.to_string(),
            limit: spec.to_string(),
        }
    }
}

impl Input {
    /// As it is now; `-` has no size.
    pub fn named(name: String) -> Self {
        let there = (name != "-").then(|| fs::metadata(&name).ok()).flatten();
        let file = there.filter(fs::Metadata::is_file);
        let since = file.as_ref().and_then(file::changed);
        Self {
            name,
            size: file.map(|file| file.len()),
            changed_us: since.and_then(|since| u64::try_from(since.as_micros()).ok()),
        }
    }
}

/// The name of this machine; empty if it is no text.
pub fn host() -> String {
    let system = rustix::system::uname();
    system.nodename().to_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let limits: [Spec; 2] = ["600rpm burst=4 name=rpm", "tokens 9/10s window name=mine"]
            .map(|limit| limit.parse().unwrap());
        Manifest {
            version: "0.1.0".to_owned(),
            limits: limits.iter().map(Limit::from).collect(),
            concurrency: Some(10),
            per_host: None,
            slack_us: 2_000,
            inputs: vec![Input::named("-".to_owned())],
            base_url: None,
            folder: Some("/data".to_owned()),
            given: Some(Given {
                format: None,
                method: Some("PUT".to_owned()),
                data: Some(Withheld::Value),
                url: None,
                header: None,
                rewrite: None,
                log_fields: None,
                request_url: None,
                shard: None,
            }),
            transport: None,
            shared: None,
            arrivals: None,
            slots_by: SlotsBy::Files,
            refund: None,
            redirects: Some(10),
            seed: 7,
            host: host(),
            started_us: 1_700_000_000_000_000,
            ended: None,
            earlier: Vec::new(),
            owners: None,
        }
    }

    #[test]
    fn what_is_written_is_read_with_names_and_limits() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("out.jsonl");
        assert_eq!(read(&results), Ok(None));
        let manifest = manifest();
        manifest.write(&results).unwrap();
        manifest.write(&results).unwrap();
        assert_eq!(read(&results), Ok(Some(manifest.clone())));
        let shown: Vec<String> = manifest
            .specs()
            .unwrap()
            .iter()
            .map(|spec| format!("{} {spec}", spec.name))
            .collect();
        let expected = ["rpm 600rpm bucket burst=4", "mine tokens 9/10s window"];
        assert_eq!(shown, expected);
        let names = fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), 1, "nothing else is left there");
    }

    #[test]
    fn a_run_before_it_told_what_jobs_were_given_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("out.jsonl");
        let mut told = serde_json::to_value(manifest()).unwrap();
        let fields = told.as_object_mut().unwrap();
        for field in ["folder", "given", "transport", "arrivals", "refund"] {
            fields.remove(field);
        }
        fs::write(path_of(&results), told.to_string()).unwrap();
        let read = read(&results).unwrap().unwrap();
        assert_eq!((read.folder, read.given), (None, None));
    }

    #[test]
    fn a_file_of_someone_else_is_neither_read_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("out.jsonl");
        for bytes in ["{\"version\":\"0.1", "[]", "hello", "{}"] {
            fs::write(path_of(&results), bytes).unwrap();
            let problem = read(&results).unwrap_err();
            assert_eq!(problem.exit, Exit::Usage);
            assert!(problem.place.ends_with("out.jsonl.run"), "{problem}");
            assert!(check(&results).is_err(), "{bytes} would be replaced");
        }
        manifest().write(&results).unwrap();
        check(&results).unwrap();
    }

    #[test]
    fn where_it_cannot_be_written_is_told() {
        let problem = manifest().write(Path::new("/proc/out.jsonl")).unwrap_err();
        assert_eq!(problem.exit, Exit::Unwritten);
        assert!(problem.what.contains("/proc/out.jsonl.run"), "{problem}");
    }
}
