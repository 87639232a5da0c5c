//! What was sent, and when. Floor 4: doors.

use std::path::Path;

use super::row::{Names, Print, Row};
use super::scan::{self, damaged, is_torn};
use super::{Needs, Results, unreadable};
use crate::error::Problem;
use crate::file::regular;
use crate::proof::Event;
use crate::units::Tick;

/// What is read of a file of results. Memory: 56 bytes a try, 72 with flights, 120 with units.
#[derive(Debug, Default)]
pub struct Sends {
    /// Every request that was sent. Moments count from the Unix epoch; `source` is the line, from 1.
    pub events: Vec<Event>,
    /// Grant and end of every try, sent or not; empty where they are not needed.
    pub flights: Vec<(Tick, Tick)>,
    /// First grant and last end, of tries that tell a moment.
    pub span: Option<(Tick, Tick)>,
    /// The first line that was tried.
    pub first: Option<Print>,
    /// Lines that were read.
    pub results: u64,
    /// The last line, if it is not whole: it was passed over.
    pub torn: Option<u64>,
}

/// Refuses what cannot be opened, and what can be read only once: pipes and devices.
pub fn check(path: &Path) -> Result<(), Problem> {
    regular(path)
        .map(drop)
        .map_err(|why| unreadable(path, &why))
}

/// Reads a file of results. A last line without its end that is no result was torn; any other such line
/// is a problem, and so is one that does not tell what is needed.
pub fn read(results: &mut Results, needs: &Needs) -> Result<Sends, Problem> {
    let (path, shown) = (results.path.clone(), results.shown());
    let unreadable = |why| unreadable(&path, &why);
    let (mut sends, mut names) = (Sends::default(), Names::default());
    let mut lines = results.lines().map_err(unreadable)?;
    while let Some(raw) = lines.next().map_err(unreadable)? {
        let sound = scan::read(&raw).and_then(|seen| {
            seen.row.told(&mut names)?;
            let mut tries = seen.row.tries().iter();
            tries.try_for_each(|made| made.as_try(None, Tick::ZERO).map(drop))?;
            Ok(seen.row)
        });
        match sound {
            Ok(row) => row
                .add(raw.number, needs, &mut names, &mut sends)
                .map_err(|what| {
                    let mend = "give limits that these results can tell about, or whole results";
                    Problem::usage(what, mend).at(format!("{shown}:{}", raw.number))
                })?,
            Err(_) if is_torn(&raw) => sends.torn = Some(raw.number),
            Err(why) => return Err(damaged(&shown, &raw, &why, "| shaper verify -")),
        }
    }
    if sends.results == 0 {
        let mend = "name a file that `shaper run -o` has written";
        return Err(Problem::usage("has no results: there is nothing to prove", mend).at(shown));
    }
    Ok(sends)
}

impl Row<'_> {
    fn add(
        &self,
        line: u64,
        needs: &Needs,
        names: &mut Names,
        sends: &mut Sends,
    ) -> Result<(), String> {
        if self.tries.is_none() {
            return Err("is no result: missing field `tries`".to_owned());
        }
        let keys = self.keys(needs, names)?;
        sends.first = sends.first.or_else(|| self.print());
        for made in self.tries() {
            sends.span = both(sends.span, made.span());
            sends
                .flights
                .extend(made.flight().filter(|_| needs.flights));
            if made.was_sent() {
                let units = self.units(made, needs)?;
                let told = (needs, &mut *names);
                sends
                    .events
                    .extend(made.events(units, keys.clone(), line, told));
            }
        }
        sends.results += 1;
        Ok(())
    }
}

/// From the earlier beginning to the later end.
fn both(one: Option<(Tick, Tick)>, other: Option<(Tick, Tick)>) -> Option<(Tick, Tick)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LINE: &str = r#"{"seq":0,"status":"ok","tries":[{"granted_us":1,"sent_us":2,"first_byte_us":9,"done_us":9}]}"#;

    fn from(text: &str, needs: &Needs) -> Result<Sends, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        fs::write(&path, text).unwrap();
        read(&mut Results::open(&path).unwrap(), needs)
    }

    #[test]
    fn only_what_was_sent_is_an_event_and_unknown_fields_are_passed_over() {
        let none = r#"{"status":"failed","tries":[],"new":{"a":[1]}}"#;
        let unsent = r#"{"status":"failed","tries":[{"granted_us":5,"sent_us":null,"first_byte_us":null,"done_us":6}]}"#;
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
    fn a_redirect_is_a_send_of_its_own_and_has_the_keys_that_it_tells() {
        let hops = r#""first_byte_us":3,"done_us":9,"hops":[
            {"http_status":302,"granted_us":3,"sent_us":4,"first_byte_us":5,"per":{"host":"other"}},
            {"http_status":302,"granted_us":6,"sent_us":7,"first_byte_us":8},
            {"http_status":302,"granted_us":null,"sent_us":null,"first_byte_us":null}]"#;
        let hops = hops.replace('\n', "");
        let line = LINE
            .replace(r#""first_byte_us":9,"done_us":9"#, &hops)
            .replacen(r#","tries""#, r#","per":{"host":"h"},"tries""#, 1);
        let needs = Needs {
            keys: vec!["host".to_owned()],
            ..Needs::default()
        };
        let sends = from(&format!("{line}\n"), &needs).unwrap();
        let told = sends.events.iter().map(|event| {
            let moments = [event.granted, event.sent, event.answered];
            (moments.map(|at| at.0 / 1_000), &*event.keys[0])
        });
        let expected = [([1, 2, 3], "h"), ([3, 4, 5], "other"), ([6, 7, 8], "h")];
        assert!(told.eq(expected), "{:?}", sends.events);
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
