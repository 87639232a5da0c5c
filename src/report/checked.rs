//! The page of `check`: what an input holds, and what is wrong with it. Floor 4: doors.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::page::{Look, Page, Tone};
use crate::job::{BadLine, Job, NoJob, Place, UnitsFrom, host_of};
use crate::units::counted;

/// What was found in an input. Memory: 8 bytes a job, and what hosts, methods and kinds of problems take.
#[derive(Debug, Default)]
pub struct Checked {
    inputs: Vec<String>,
    jobs: u64,
    bad: u64,
    /// Lines that are understood and not sent, by why.
    skipped: BTreeMap<String, u64>,
    /// Fields that no job has.
    warnings: u64,
    /// Bad lines, by what mends them.
    mends: BTreeMap<String, u64>,
    methods: BTreeMap<String, u64>,
    hosts: BTreeMap<String, u64>,
    bodies: Bodies,
    units: Reserves,
    /// What names each job by its content, until all is read.
    names: Vec<u64>,
    /// Jobs whose method, URL, headers and body are those of one before.
    repeated: u64,
    /// What was read and not taken, in words.
    left: Option<String>,
    /// The first problems, where a program is to read them.
    listed: Vec<Value>,
}

/// The bodies of the jobs, in bytes.
#[derive(Debug, Default)]
struct Bodies {
    count: u64,
    whole: u128,
    largest: Option<(u64, Place)>,
}

/// What jobs reserve of limits on units.
#[derive(Debug, Default)]
struct Reserves {
    /// Jobs that say it themselves, and those that are estimated.
    said: u64,
    estimated: u64,
    input: u128,
    output: u128,
    most: Option<(u64, Place)>,
}

/// So many problems stand in the object for programs; the rest are counted.
pub const LISTED: usize = 10_000;

impl Checked {
    /// Nothing was read of these yet.
    pub fn of(inputs: Vec<String>) -> Self {
        Self {
            inputs,
            ..Self::default()
        }
    }

    /// Counts a line.
    pub fn add(&mut self, line: &Result<Job, BadLine>) {
        match line {
            Ok(job) => self.job(job),
            Err(bad) if bad.why == NoJob::Skipped => {
                *self.skipped.entry(bad.what.clone()).or_default() += 1;
            }
            Err(bad) => {
                self.bad += 1;
                *self.mends.entry(bad.mend.clone()).or_default() += 1;
            }
        }
    }

    /// Counts what else is wrong, and nothing is sent for with `--strict`.
    pub fn warn(&mut self) {
        self.warnings += 1;
    }

    /// Keeps a problem for the object.
    pub fn list(&mut self, bad: &BadLine) {
        if self.listed.len() < LISTED {
            self.listed.push(json!({
                "file": &*bad.place.file,
                "line": bad.place.line + bad.below,
                "column": bad.column,
                "what": bad.what,
                "mend": bad.mend,
                "id": bad.id.as_deref(),
            }));
        }
    }

    /// Whether there is any problem.
    pub fn has_problems(&self) -> bool {
        self.bad + self.warnings > 0
    }

    fn read(&self) -> u64 {
        self.jobs + self.bad + self.skipped.values().sum::<u64>()
    }

    fn job(&mut self, job: &Job) {
        self.jobs += 1;
        self.names.push(job.hash.0);
        count(&mut self.methods, job.method.as_str());
        count(&mut self.hosts, host_of(&job.target.url));
        let larger =
            |most: &Option<(u64, Place)>, size| most.as_ref().is_none_or(|(most, _)| size > *most);
        if let Some(body) = job.body() {
            let size = body.len() as u64;
            self.bodies.count += 1;
            self.bodies.whole += u128::from(size);
            if larger(&self.bodies.largest, size) {
                self.bodies.largest = Some((size, job.place.clone()));
            }
        }
        if let Some(units) = job.units {
            match units.source {
                UnitsFrom::Job => self.units.said += 1,
                UnitsFrom::Estimate => self.units.estimated += 1,
            }
            self.units.input += u128::from(units.input);
            self.units.output += u128::from(units.output);
            if larger(&self.units.most, units.reserve()) {
                self.units.most = Some((units.reserve(), job.place.clone()));
            }
        }
    }

    /// All is read, and this was not taken of it.
    pub fn close(&mut self, left: Option<String>) {
        self.left = left;
        let mut names = std::mem::take(&mut self.names);
        names.sort_unstable();
        names.dedup();
        self.repeated = self.jobs - names.len() as u64;
    }

    /// For people.
    pub fn text(&self, look: Look) -> String {
        let mut page = Page::new(look);
        let text = format!(
            "{}: {}, {}, {}; nothing is sent",
            self.inputs.join(", "),
            counted(self.read(), "line"),
            counted(self.jobs, "job"),
            counted(self.bad + self.warnings, "problem")
        );
        let tone = if self.has_problems() {
            Tone::Alarm
        } else {
            Tone::Calm
        };
        page.section("CHECK", &text, tone);
        if let Some(left) = &self.left {
            page.section("LEFT", left, Tone::Calm);
        }
        if self.bad > 0 {
            let mends = self
                .mends
                .iter()
                .map(|(mend, count)| format!("{count} x {mend}"));
            for (nth, mend) in mends.enumerate() {
                page.section(if nth == 0 { "MEND" } else { "" }, &mend, Tone::Calm);
            }
        }
        for (nth, (why, count)) in self.skipped.iter().enumerate() {
            let heading = if nth == 0 { "SKIPPED" } else { "" };
            page.section(heading, &format!("{count} x {why}"), Tone::Calm);
        }
        if self.jobs == 0 {
            return page.into_text();
        }
        page.counts("METHODS", &self.methods);
        page.counts("HOSTS", &self.hosts);
        if let Some((size, place)) = &self.bodies.largest {
            let text = format!(
                "{} of {}, {} bytes in all; the largest has {size}, at {place}",
                self.bodies.count,
                counted(self.jobs, "job"),
                self.bodies.whole
            );
            page.section("BODIES", &text, Tone::Calm);
        }
        if let Some((most, place)) = &self.units.most {
            let Reserves {
                said,
                estimated,
                input,
                output,
                ..
            } = &self.units;
            let text = format!(
                "{} reserved: {input} of input, {output} of output; said for {}, estimated for {estimated}; \
                 the most is {most}, at {place}",
                input + output,
                counted(*said, "job")
            );
            page.section("UNITS", &text, Tone::Calm);
        }
        let repeated = self.repeated;
        if repeated > 0 {
            let text = format!(
                "{} with method, URL, headers and body of one before",
                counted(repeated, "job")
            );
            page.section("EQUAL", &text, Tone::Calm);
        }
        page.into_text()
    }

    /// For programs: the first [`LISTED`] problems, and all counts.
    pub fn json(&self) -> Value {
        let most = |most: &Option<(u64, Place)>| {
            let (size, place) = most.as_ref()?;
            Some(json!({"size": size, "file": &*place.file, "line": place.line}))
        };
        let Reserves {
            said,
            estimated,
            input,
            output,
            most: largest,
        } = &self.units;
        json!({
            "inputs": self.inputs,
            "read": self.read(),
            "left": self.left,
            "jobs": self.jobs,
            "problems": self.bad + self.warnings,
            "unknown_fields": self.warnings,
            "by_mend": self.mends,
            "skipped": self.skipped,
            "methods": self.methods,
            "hosts": self.hosts,
            "bodies": {
                "count": self.bodies.count,
                "bytes": number(self.bodies.whole),
                "largest": most(&self.bodies.largest),
            },
            "units": {
                "said": said,
                "estimated": estimated,
                "input": number(*input),
                "output": number(*output),
                "most": most(largest),
            },
            "equal_to_one_before": self.repeated,
            "listed": self.listed,
        })
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

/// The most that a number of JSON says exactly for all its readers is less than this; larger is the largest.
fn number(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}
