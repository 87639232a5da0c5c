//! Reads lines of results back: what was sent, and when. Floor 4: doors.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::error::Problem;
use crate::job::Keys;
use crate::outcome::{Spent, UnitsSpent};
use crate::proof::Event;
use crate::units::Tick;

/// What is read of a file of results. Memory: 56 bytes a try, 72 with flights, 120 with units.
#[derive(Debug, Default)]
pub struct Sends {
    /// Every try that was sent. Moments count from the Unix epoch; `source` is the line, from 1.
    pub events: Vec<Event>,
    /// Grant and end of every try, sent or not; empty where they are not needed.
    pub flights: Vec<(Tick, Tick)>,
    /// Lines that were read.
    pub results: u64,
    /// The last line, if it is not whole: it was passed over.
    pub torn: Option<u64>,
}

/// What a limit needs to know of each try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// When each try ended.
    pub flights: bool,
    /// Units.
    pub units: bool,
    /// Input and output apart.
    pub parts: bool,
    /// Keys, by the word after `per=`.
    pub keys: Vec<String>,
}

/// Refuses what [`read`] would refuse before it reads.
pub fn check(path: &Path) -> Result<(), Problem> {
    regular(path).map(drop).map_err(|why| {
        let mend = "name a file that `shaper run -o` has written";
        let what = format!("cannot be read: {why}");
        Problem::usage(what, mend).at(path.display().to_string())
    })
}

/// Reads a file of results. A last line without its end that makes no sense was torn; any other such line
/// is a problem, and so is one that does not tell what is needed.
pub fn read(path: &Path, needs: &Needs) -> Result<Sends, Problem> {
    let shown = path.display().to_string();
    let unreadable = |why: io::Error| {
        let mend = "name a file that `shaper run -o` has written";
        Problem::usage(format!("cannot be read: {why}"), mend).at(shown.clone())
    };
    let file = regular(path).map_err(unreadable)?;
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let (mut sends, mut names, mut line) = (Sends::default(), Names::default(), Vec::new());
    for number in 1.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Row>(&line) {
            Ok(row) => row
                .add(number, needs, &mut names, &mut sends)
                .map_err(|what| {
                    let mend = "give limits that these results can tell about, or whole results";
                    Problem::usage(what, mend).at(format!("{shown}:{number}"))
                })?,
            Err(_) if !line.ends_with(b"\n") => sends.torn = Some(number),
            Err(why) => return Err(damaged(&shown, number, &why)),
        }
    }
    if sends.results == 0 {
        let mend = "name a file that `shaper run -o` has written";
        return Err(Problem::usage("has no results: there is nothing to prove", mend).at(shown));
    }
    Ok(sends)
}

/// A device or a pipe may have no end.
fn regular(path: &Path) -> io::Result<File> {
    let kind = path.metadata()?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

fn damaged(shown: &str, line: u64, why: &serde_json::Error) -> Problem {
    let column = why.column().max(1);
    let why = why.to_string();
    let why = why.split(" at line ").next().unwrap_or_default();
    let mend = if line == 1 {
        "name a file that `shaper run -o` has written"
    } else {
        "the lines before it are whole: keep those in a file of their own"
    };
    Problem::usage(format!("is no result: {why}"), mend).at(format!("{shown}:{line}:{column}"))
}

/// Each value of a key once.
type Names = HashSet<Arc<str>>;

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(default)]
    tokens: Option<Tokens>,
    #[serde(default, borrow)]
    per: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    tries: Vec<Made>,
}

#[derive(Deserialize)]
struct Made {
    granted_us: Option<u64>,
    /// Null if it never left; a try that does not say it is none.
    #[serde(deserialize_with = "Deserialize::deserialize")]
    sent_us: Option<u64>,
    first_byte_us: Option<u64>,
    done_us: Option<u64>,
    #[serde(default)]
    tokens: Option<Tokens>,
}

#[derive(Clone, Copy, Deserialize)]
struct Tokens {
    reserved: u64,
    used: u64,
    #[serde(default)]
    input: Option<Spent>,
    #[serde(default)]
    output: Option<Spent>,
}

impl Row<'_> {
    fn add(
        &self,
        line: u64,
        needs: &Needs,
        names: &mut Names,
        sends: &mut Sends,
    ) -> Result<(), String> {
        let keys: Keys = if self.tries.is_empty() {
            Keys::default()
        } else {
            let each = needs.keys.iter();
            let values: Result<Vec<_>, _> = each.map(|key| self.key(key, names)).collect();
            values?.into()
        };
        for made in &self.tries {
            made.is_in_order()?;
            let granted = made.granted_us.or(made.sent_us).map(tick);
            let flight = granted.zip(made.done_us.map(tick));
            if let Some((granted, done)) = flight.filter(|_| needs.flights) {
                sends.flights.push((granted, done));
            }
            let Some((sent, granted)) = made.sent_us.map(tick).zip(granted) else {
                continue;
            };
            sends.events.push(Event {
                granted,
                sent,
                answered: made.first_byte_us.or(made.done_us).map_or(sent, tick),
                units: self.units(made, needs)?.map(Box::new),
                keys: keys.clone(),
                source: line,
            });
        }
        sends.results += 1;
        Ok(())
    }

    /// Of the try itself; of its job, if that had only this one.
    fn units(&self, made: &Made, needs: &Needs) -> Result<Option<UnitsSpent>, String> {
        if !needs.units {
            return Ok(None);
        }
        let of_job = self.tokens.filter(|_| self.tries.len() == 1);
        let tokens = made.tokens.or(of_job);
        let tokens = tokens.ok_or("a try does not tell its tokens, which a limit counts")?;
        if needs.parts && (tokens.input.is_none() || tokens.output.is_none()) {
            return Err("a try does not tell its input and output tokens apart".to_owned());
        }
        Ok(Some(UnitsSpent {
            total: Spent {
                reserved: tokens.reserved,
                used: tokens.used,
            },
            input: tokens.input.unwrap_or_default(),
            output: tokens.output.unwrap_or_default(),
        }))
    }

    fn key(&self, key: &str, names: &mut Names) -> Result<Arc<str>, String> {
        let value = self.per.as_ref().and_then(|per| per.get(key));
        let value = value.ok_or_else(|| {
            format!("does not tell its {key}, for which a limit is kept apart (`per`)")
        })?;
        if let Some(name) = names.get(&**value) {
            return Ok(Arc::clone(name));
        }
        let name: Arc<str> = value.as_ref().into();
        names.insert(Arc::clone(&name));
        Ok(name)
    }
}

impl Made {
    /// Moments of one try follow each other, and none is beyond what a `u64` of nanoseconds holds.
    fn is_in_order(&self) -> Result<(), String> {
        let moments = [
            ("granted_us", self.granted_us),
            ("sent_us", self.sent_us),
            ("first_byte_us", self.first_byte_us),
            ("done_us", self.done_us),
        ];
        let told = moments.into_iter();
        let mut last = ("", 0);
        for (name, at) in told.filter_map(|(name, at)| Some((name, at?))) {
            if at > u64::MAX / 1_000 {
                return Err(format!("{name} is beyond the year 2554"));
            }
            if at < last.1 {
                return Err(format!("{name} is before {}", last.0));
            }
            last = (name, at);
        }
        Ok(())
    }
}

/// Microseconds since the Unix epoch.
fn tick(micros: u64) -> Tick {
    Tick(micros.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LINE: &str =
        r#"{"seq":0,"tries":[{"granted_us":1,"sent_us":2,"first_byte_us":9,"done_us":9}]}"#;

    fn from(text: &str, needs: &Needs) -> Result<Sends, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        fs::write(&path, text).unwrap();
        read(&path, needs)
    }

    #[test]
    fn only_what_was_sent_is_an_event_and_unknown_fields_are_passed_over() {
        let none = r#"{"tries":[],"new":{"a":[1]}}"#;
        let unsent =
            r#"{"tries":[{"granted_us":5,"sent_us":null,"first_byte_us":null,"done_us":6}]}"#;
        let needs = Needs {
            flights: true,
            ..Needs::default()
        };
        let sends = from(&format!("{LINE}\n{none}\n{unsent}\n"), &needs).unwrap();
        assert_eq!(
            (sends.results, sends.events.len(), sends.flights.len()),
            (3, 1, 2)
        );
        let event = &sends.events[0];
        assert_eq!(
            (event.granted, event.sent, event.answered, event.source),
            (Tick(1_000), Tick(2_000), Tick(9_000), 1)
        );
    }

    #[test]
    fn a_torn_last_line_is_passed_over_and_damage_elsewhere_is_told_with_its_line() {
        let torn = from(&format!("{LINE}\n{}", &LINE[..40]), &Needs::default()).unwrap();
        assert_eq!((torn.results, torn.torn), (1, Some(2)));
        let whole = from(&format!("{LINE}\n{LINE}"), &Needs::default()).unwrap();
        assert_eq!((whole.results, whole.torn), (2, None));
        let problem = from(
            &format!("{LINE}\n{}\n{LINE}\n", &LINE[..40]),
            &Needs::default(),
        );
        let problem = problem.unwrap_err();
        assert!(problem.place.contains("r.jsonl:2:"), "{problem}");
        for text in ["", "\n", "hello\n", "{}\n", "{\"tries\":1}\n"] {
            assert!(from(text, &Needs::default()).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn what_a_limit_counts_must_be_told() {
        let needs = Needs {
            units: true,
            keys: vec!["host".to_owned()],
            ..Needs::default()
        };
        let tokens = r#","tokens":{"reserved":7,"used":3}"#;
        let of_job = LINE.replacen(
            r#","tries""#,
            &format!(r#"{tokens},"per":{{"host":"h"}},"tries""#),
            1,
        );
        let of_try = LINE
            .replace(r#""done_us":9"#, &format!(r#""done_us":9{tokens}"#))
            .replacen(r#","tries""#, r#","per":{"host":"h"},"tries""#, 1);
        for line in [of_job, of_try] {
            let sends = from(&line, &needs).unwrap();
            let event = &sends.events[0];
            assert_eq!(event.units.as_ref().unwrap().total.used, 3, "{line}");
            assert_eq!(&*event.keys[0], "h");
            let parts = Needs {
                parts: true,
                ..needs.clone()
            };
            assert!(from(&line, &parts).unwrap_err().what.contains("apart"));
            assert!(from(&format!("{LINE}\n{line}"), &needs).is_err());
        }
    }
}
