//! Reads results into figures. Floor 4: doors.

use super::row::{Made, Names, Row, Told, status};
use super::scan::{Seen, damaged, read};
use super::{Needs, Results, Scan, unreadable};
use crate::error::Problem;
use crate::metrics::{Done, Measure, Tally};
use crate::outcome::{Status, Try, UnitsSpent};
use crate::proof::Event;
use crate::units::Tick;

/// What adds up over the lines of results, in whatever order they are read.
///
/// Memory: 56 bytes a try where limits are proved, 120 if one counts units, and 16 where flights are kept.
#[derive(Debug)]
pub struct Figures {
    /// Moments of the results are told since this one, which counts from the Unix epoch.
    zero: Tick,
    needs: Needs,
    names: Names,
    /// Sums over jobs and tries.
    pub tally: Tally,
    /// Means over a part of them.
    pub measure: Measure,
    /// Grant and end of every try; empty unless they are needed.
    pub flights: Vec<(Tick, Tick)>,
    /// What is to be proved.
    pub proving: Proving,
}

/// Whether there is anything to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prove {
    /// There is no limit.
    Nothing,
    /// There are limits.
    Limits,
}

/// The sends that limits are held against.
#[derive(Debug)]
pub enum Proving {
    /// There is no limit.
    Nothing,
    /// All of them; the line stands in `source`.
    Sends(Vec<Event>),
    /// Results do not tell enough: why.
    Untold(String),
}

impl Figures {
    /// Nothing yet, with room for so many tries. `needs` are those of the limits that are to be proved;
    /// `measure` is what the means are taken over.
    pub fn new(zero: Tick, needs: Needs, measure: Measure, tries: u64, what: Prove) -> Self {
        let tries = usize::try_from(tries).unwrap_or(0);
        Self {
            zero,
            tally: Tally::default(),
            measure,
            flights: Vec::with_capacity(if needs.flights { tries } else { 0 }),
            proving: match what {
                Prove::Nothing => Proving::Nothing,
                Prove::Limits => Proving::Sends(Vec::with_capacity(tries)),
            },
            names: Names::default(),
            needs,
        }
    }

    /// Adds a file that was scanned; fails at the place where it cannot be read any more. `source` is added to the lines of its sends.
    pub fn add(&mut self, results: &mut Results, scan: &Scan, source: u64) -> Result<(), Problem> {
        let (path, shown) = (results.path.clone(), results.shown());
        let unreadable = |why| unreadable(&path, &why);
        let mut replaced = scan.replaced.iter().copied().peekable();
        let mut lines = results.lines().map_err(unreadable)?;
        while let Some(raw) = lines.next().map_err(unreadable)? {
            if raw.number > scan.last || scan.torn == Some(raw.number) {
                break;
            }
            let counts = match replaced.next_if_eq(&raw.number) {
                Some(_) => Counts::Tries,
                None => Counts::Job,
            };
            let at = At {
                file: &shown,
                line: raw.number,
                source: source | raw.number,
            };
            let seen = read(&raw);
            let added = seen.and_then(|seen| Ok(self.line(&seen, counts, at)?));
            added.map_err(|why| damaged(&shown, &raw, &why, "| shaper report -"))?;
        }
        Ok(())
    }

    /// Adds a try that no line tells of; moments since the Unix epoch.
    pub fn unrecorded(&mut self, mut made: Try) {
        let at = |at: Tick| Tick(at.0.saturating_sub(self.zero.0));
        (made.due, made.granted, made.done) = (at(made.due), at(made.granted), at(made.done));
        made.sent = made.sent.map(at);
        for hop in &mut made.hops {
            hop.sent = hop.sent.map(at);
        }
        self.tally.tries += 1;
        self.made(&made);
    }

    /// Adds a send that is to be proved and that no line tells of.
    pub fn send(&mut self, event: Event) {
        if let Proving::Sends(events) = &mut self.proving {
            events.push(since(self.zero, event));
        }
    }

    fn line(&mut self, seen: &Seen, counts: Counts, at: At) -> Result<(), String> {
        let row = &seen.row;
        let tries = match &row.tries {
            Some(tries) => tries.len() as u64,
            None => self.without_tries(row, at)?,
        };
        self.tally.tries += tries;
        self.tally.retries += tries.saturating_sub(1);
        let mut whole = Vec::with_capacity(row.tries().len());
        for made in row.tries() {
            let units = self.units(row, made, at);
            match made.as_try(units, self.zero)? {
                Some(made) => {
                    self.made(&made);
                    whole.push(made);
                }
                None => self.without_moments(made, at)?,
            }
        }
        self.sends(row, at);
        let told = row.told(&mut self.names)?;
        match counts {
            Counts::Job => self.job(&told, seen.status, &whole),
            Counts::Tries => {}
        }
        Ok(())
    }

    /// What a line does not say of its job follows from its tries.
    fn job(&mut self, told: &Told, verdict: Status, tries: &[Try]) {
        let first = tries.first();
        let last = tries.last().and_then(|last| Some((last.sent?, last.done)));
        self.tally.done(&Done {
            status: verdict,
            error: told.error,
            service: told
                .service
                .or_else(|| last.map(|(sent, done)| done.since(sent))),
            since_due: told.since_due.or_else(|| Some(last?.1.since(first?.due))),
            late: first.and_then(|first| Some(first.sent?.since(first.due))),
            pace: told.pace,
            waits: &told.waits,
        });
        self.tally.recorded(verdict);
    }

    fn made(&mut self, made: &Try) {
        self.tally.ended(made);
        let timeline = &mut self.tally.timeline;
        timeline.flight(made.granted, made.done, 1);
        self.measure.add(made);
        if self.needs.flights {
            self.flights.push((made.granted, made.done));
        }
    }

    /// What a line tells that has no tries in it: how many there were, and how the last one ended.
    fn without_tries(&mut self, row: &Row, at: At) -> Result<u64, String> {
        let attempts = row.attempts.unwrap_or(0);
        if let Some(code) = row.http_status {
            let code = status(code)?.as_u16();
            *self.tally.statuses.entry(code).or_default() += 1;
        }
        if attempts > 0 {
            self.unproven(at, "does not tell its tries");
        }
        Ok(attempts)
    }

    fn without_moments(&mut self, made: &Made, at: At) -> Result<(), String> {
        if let Some(code) = made.status()? {
            *self.tally.statuses.entry(code.as_u16()).or_default() += 1;
        }
        self.unproven(at, "does not tell when its tries were");
        Ok(())
    }

    fn units(&mut self, row: &Row, made: &Made, at: At) -> Option<UnitsSpent> {
        if !self.needs.units {
            return made.own_units();
        }
        let units = row.units(made, &self.needs);
        if let Err(why) = &units
            && made.was_sent()
        {
            self.unproven(at, why);
        }
        units.unwrap_or_else(|_| made.own_units())
    }

    fn sends(&mut self, row: &Row, at: At) {
        if matches!(self.proving, Proving::Nothing | Proving::Untold(_)) {
            return;
        }
        let keys = match row.keys(&self.needs, &mut self.names) {
            Ok(keys) => keys,
            Err(why) => return self.unproven(at, &why),
        };
        let Proving::Sends(events) = &mut self.proving else {
            return;
        };
        for made in row.tries() {
            let units = row.units(made, &self.needs).ok().flatten();
            let told = (&self.needs, &mut self.names);
            let sends = made.events(units, keys.clone(), at.source, told);
            events.extend(sends.map(|event| since(self.zero, event)));
        }
    }

    fn unproven(&mut self, at: At, why: &str) {
        if let Proving::Sends(_) = self.proving {
            self.proving = Proving::Untold(format!("{}:{} {why}", at.file, at.line));
        }
    }
}

/// Where a line stands.
#[derive(Clone, Copy)]
struct At<'a> {
    file: &'a str,
    line: u64,
    /// What a proof calls it.
    source: u64,
}

/// What is counted of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// The job and its tries.
    Job,
    /// Its tries alone, as another line is the result of the job.
    Tries,
}

/// The same with moments since `zero`.
fn since(zero: Tick, event: Event) -> Event {
    let at = |at: Tick| Tick(at.0.saturating_sub(zero.0));
    Event {
        granted: at(event.granted),
        sent: at(event.sent),
        answered: at(event.answered),
        ..event
    }
}
