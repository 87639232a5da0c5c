//! What made jobs late: sent after the request limits alone would have let them go. Floor 4: doors.

use std::time::Duration;

use super::Report;
use crate::limit::{Leaves, Spec};
use crate::metrics::{LATE, Owner, Part, Waited, waited};
use crate::shape::Arrivals;
use crate::units::show_span;

/// What held jobs from their first send after they were due.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// What is called so.
    Held(String),
    /// Retries: their permits were those of jobs that had not been sent yet. Of this limit.
    Retries(String),
    /// The sends of an earlier run, of which this limit was full.
    Earlier(String),
}

/// What held the jobs, and how long.
struct Hold {
    /// `None` for a limit of which nothing but its name is told.
    owner: Option<Owner>,
    name: String,
    span: Duration,
}

impl Late {
    /// Its name for programs, as that of an owner.
    pub(super) fn name(self) -> String {
        match self {
            Self::Held(name) | Self::Earlier(name) => name,
            Self::Retries(_) => "retries".to_owned(),
        }
    }
}

impl std::fmt::Display for Late {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held(name) => out.write_str(name),
            Self::Retries(limit) => write!(out, "retries, which took permits of {limit}"),
            Self::Earlier(limit) => write!(out, "{limit}, full of the sends of an earlier run"),
        }
    }
}

impl Report {
    /// What made jobs late; `None` if none was, or if nothing that is told held them.
    ///
    /// Due times are those of the request limits, so these delay nothing but by the permits that they give to others.
    /// Of the time that jobs waited for one, so much is the retries' as of the tries.
    pub(super) fn late_by(&self) -> Option<Late> {
        let tally = &self.summary.tally;
        if tally.late == 0 {
            return None;
        }
        let (planned, others): (Vec<Hold>, Vec<Hold>) =
            self.holds().into_iter().partition(|hold| self.plans(hold));
        let planned = planned.into_iter().max_by_key(|hold| hold.span);
        let other = others.into_iter().max_by_key(|hold| hold.span);
        let held = other.as_ref().map_or(Duration::ZERO, |hold| hold.span);
        let (retries, tries) = (u128::from(tally.retries), u128::from(tally.tries));
        let by_retries =
            |hold: &Hold| hold.span.as_nanos() * retries > held.as_nanos() * tries.max(1);
        let other = other.map(|hold| Late::Held(hold.name));
        match planned {
            Some(hold) if by_retries(&hold) => Some(Late::Retries(hold.name)),
            // Who held for less than a job is late by has not made it late.
            Some(hold) if held < LATE && self.goes_on() => Some(Late::Earlier(hold.name)),
            Some(hold) if held < LATE => Some(Late::Held(hold.name)),
            Some(_) | None => other,
        }
    }

    /// How many were sent late, and what held them; `None` if none was.
    pub(super) fn late(&self) -> Option<String> {
        let tally = &self.summary.tally;
        let by = self.late_by();
        let by = by.map_or(String::new(), |by| format!(", held by {by}"));
        (tally.late > 0).then(|| {
            format!(
                "{} of {} jobs were first sent over {} after they were due{by}",
                tally.late,
                tally.since_due.count(),
                show_span(LATE),
            )
        })
    }

    /// What held jobs that had not been sent yet.
    fn holds(&self) -> Vec<Hold> {
        let stretch = &self.summary.stretch;
        let holds: Vec<Hold> = match stretch.part {
            Part::Steady | Part::Whole => {
                let shares = stretch.shares.iter();
                let hold = |&(owner, span): &(Owner, Duration)| Hold {
                    owner: Some(owner),
                    name: self.setup.name_of(owner),
                    span,
                };
                shares.map(hold).collect()
            }
            Part::Recorded => {
                let waits = waited(&self.summary, &self.setup).into_iter();
                // A job rests after its first send.
                let waits = waits.filter(|wait| wait.owner != Some(Owner::Backoff));
                let hold = |wait: Waited| Hold {
                    owner: wait.owner,
                    name: wait.name,
                    span: wait.span,
                };
                waits.map(hold).collect()
            }
        };
        let none = [Owner::Nothing, Owner::Input].map(Some);
        let holds = holds.into_iter();
        holds.filter(|hold| !none.contains(&hold.owner)).collect()
    }

    /// Whether it is a limit that due times know of. What depends on costs, replies or keys is not on the schedule.
    fn plans(&self, hold: &Hold) -> bool {
        let on_schedule = |limit: &Spec| {
            !limit.counts.is_units() && limit.leaves != Leaves::Reply && limit.per.is_none()
        };
        match hold.owner {
            Some(Owner::Limit(number)) => {
                self.setup.arrivals == Arrivals::Closed
                    && self.setup.limits.get(number).is_some_and(on_schedule)
            }
            Some(_) => false,
            None => ["limit qps", "limit rpm", "limit window"].contains(&&*hold.name),
        }
    }

    /// Whether an earlier run had sent before.
    fn goes_on(&self) -> bool {
        let sources = self.sources.as_ref();
        let goes_on = sources.is_some_and(|sources| sources.runs > sources.files.len());
        self.summary.tally.counts.done_before > 0 || goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    /// A run that this limit held for 10 s and the client for so many milliseconds.
    fn late(client: u64, of: impl Fn(&mut Report)) -> Option<String> {
        let mut report = samples::held_by_qps();
        report.summary.tally.late = 5;
        let client = (Owner::Client, Duration::from_millis(client));
        let qps = (Owner::Limit(0), Duration::from_secs(10));
        report.summary.stretch.shares = vec![qps, client];
        of(&mut report);
        report.late_by().map(|late| late.to_string())
    }

    #[test]
    fn the_client_is_named_only_where_it_held_the_most_of_what_is_not_planned() {
        let retries = |report: &mut Report| {
            (report.summary.tally.retries, report.summary.tally.tries) = (10, 100);
        };
        let resumed = |report: &mut Report| report.summary.tally.counts.done_before = 1;
        let none = |_: &mut Report| {};
        let by_retries = "retries, which took permits of --qps 10";
        let earlier = "--qps 10, full of the sends of an earlier run";
        assert_eq!(late(400, none).as_deref(), Some("client"));
        assert_eq!(late(10, none).as_deref(), Some("--qps 10"));
        assert_eq!(late(10, resumed).as_deref(), Some(earlier));
        assert_eq!(late(400, resumed).as_deref(), Some("client"));
        assert_eq!(late(999, retries).as_deref(), Some(by_retries));
        assert_eq!(late(1001, retries).as_deref(), Some("client"));
        assert_eq!(late(400, |report| report.summary.tally.late = 0), None);
        let idle = |report: &mut Report| report.summary.stretch.shares.clear();
        assert_eq!(late(400, idle), None);
    }
}
