//! The jobs of a comparison: equal ones, or those of files. Floor 5: drive.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Exit, Problem};
use crate::job::{Job, Keys, NoJob, Origin, Place, Target, Units, UnitsFrom};
use crate::shape::{Arrivals, Due};
use crate::source;
use crate::units::{Tick, nanos};

/// The jobs of a comparison, each discipline gets the same.
#[derive(Debug)]
pub struct Work {
    list: List,
    template: Template,
    /// Lines that make no job.
    pub invalid: u64,
    /// What was read and not taken, for people.
    pub left: Option<String>,
}

#[derive(Debug)]
enum List {
    /// By each moment so many have come, and all cost so many units.
    Equal(Vec<(Tick, u64)>, u64),
    /// As far as virtual time needs them.
    Bare(Vec<Bare>),
    /// As they are sent.
    Whole(Vec<(Tick, Job)>),
}

/// What limits see of a job: about 80 bytes.
#[derive(Debug)]
struct Bare {
    at: Tick,
    origin: Origin,
    units: Option<Units>,
    keys: Keys,
}

/// How much of the jobs of files is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// What limits see.
    Bare,
    /// All of it, to be sent.
    Whole,
}

impl Work {
    /// Equal jobs that all come at once.
    pub fn equal(count: u64, units: u64) -> Self {
        Self::at([(Tick::ZERO, count)], units)
    }

    /// Equal jobs that come in groups, in the order of their moments.
    pub(super) fn at(groups: impl Into<Vec<(Tick, u64)>>, units: u64) -> Self {
        let mut groups = groups.into();
        let mut come = 0;
        for group in &mut groups {
            come += group.1;
            group.1 = come;
        }
        Self {
            list: List::Equal(groups, units),
            template: Template::new(),
            invalid: 0,
            left: None,
        }
    }

    /// All jobs of files, in the order of their arrival. A job without a moment comes with the one before it.
    ///
    /// `told` hears of bad lines and unknown fields. A problem that ends the reading is one of usage, as
    /// nothing was sent.
    pub fn read(
        spec: &source::Spec,
        keep: Keep,
        told: &mut dyn FnMut(String),
    ) -> Result<Self, Problem> {
        let mut source = source::open(spec)?;
        let mut moments = Vec::new();
        let (mut bare, mut whole) = (Vec::new(), Vec::new());
        let (mut last, mut invalid) = (None, 0);
        while let Some(line) = source.next() {
            let line = line.map_err(|problem| Problem {
                exit: Exit::Usage,
                ..problem
            })?;
            match line {
                Ok(job) => {
                    last = job.at.or(last);
                    moments.push(last);
                    match keep {
                        Keep::Bare => bare.push(Bare {
                            at: Tick::ZERO,
                            origin: job.origin,
                            units: job.units,
                            keys: job.keys,
                        }),
                        Keep::Whole => whole.push((Tick::ZERO, job)),
                    }
                }
                Err(bad) if bad.why == NoJob::Skipped => {}
                Err(bad) => {
                    invalid += 1;
                    told(bad.to_string());
                }
            }
            source.notices().into_iter().for_each(&mut *told);
        }
        // Those before the first moment come with the earliest.
        let start = moments.iter().flatten().min().copied().unwrap_or_default();
        let moments = moments
            .into_iter()
            .map(|at| Tick(nanos(at.unwrap_or(start).saturating_sub(start))));
        let list = match keep {
            Keep::Bare => {
                for (job, at) in bare.iter_mut().zip(moments) {
                    job.at = at;
                }
                bare.sort_by_key(|job: &Bare| job.at);
                List::Bare(bare)
            }
            Keep::Whole => {
                for (job, at) in whole.iter_mut().zip(moments) {
                    job.0 = at;
                }
                whole.sort_by_key(|job: &(Tick, Job)| job.0);
                List::Whole(whole)
            }
        };
        Ok(Self {
            list,
            template: Template::new(),
            invalid,
            left: source.left(),
        })
    }

    /// The same jobs, as they come by this schedule; those that never come are left out. The same seed gives the same
    /// times.
    #[must_use]
    pub fn arriving(mut self, arrivals: &Arrivals, seed: u64) -> Self {
        let all = self.count();
        let mut due = Due::new(arrivals, seed);
        let job = self.template.job(0);
        let mut moment = |at: Tick| match arrivals {
            Arrivals::Closed | Arrivals::Once => Some(at),
            Arrivals::Replay(speed) => Some(Tick::ZERO.after(speed.span(at.since(Tick::ZERO)))),
            Arrivals::Paced(..) => due
                .next(&job, Tick::ZERO)
                .filter(|due| *due < Tick(u64::MAX)),
        };
        match &mut self.list {
            List::Equal(groups, _) => {
                let mut moments = Vec::new();
                for number in 0..all {
                    let group = groups.partition_point(|group| group.1 <= number);
                    let Some(at) = moment(groups[group].0) else {
                        break;
                    };
                    moments.push((at, number + 1));
                }
                *groups = moments;
            }
            List::Bare(jobs) => {
                let come = jobs.iter_mut().map_while(|job| {
                    job.at = moment(job.at)?;
                    Some(())
                });
                let come = come.count();
                jobs.truncate(come);
            }
            List::Whole(jobs) => {
                let come = jobs.iter_mut().map_while(|job| {
                    job.0 = moment(job.0)?;
                    Some(())
                });
                let come = come.count();
                jobs.truncate(come);
            }
        }
        self
    }

    /// How many.
    pub fn count(&self) -> u64 {
        match &self.list {
            List::Equal(groups, _) => groups.last().map_or(0, |group| group.1),
            List::Bare(jobs) => jobs.len() as u64,
            List::Whole(jobs) => jobs.len() as u64,
        }
    }

    /// What each costs of limits on units, if all are equal.
    pub fn units(&self) -> Option<u64> {
        match self.list {
            List::Equal(_, units) => Some(units),
            List::Bare(_) | List::Whole(_) => None,
        }
    }

    /// From the first arrival to the last.
    pub fn span(&self) -> Duration {
        let last = match &self.list {
            List::Equal(groups, _) => groups.last().map(|group| group.0),
            List::Bare(jobs) => jobs.last().map(|job| job.at),
            List::Whole(jobs) => jobs.last().map(|job| job.0),
        };
        last.unwrap_or_default().since(Tick::ZERO)
    }

    /// The servers of jobs that are sent, in the order of meeting them.
    pub fn servers(&self) -> Vec<String> {
        let jobs = match &self.list {
            List::Equal(..) | List::Bare(_) => &[][..],
            List::Whole(jobs) => jobs,
        };
        let mut met = HashSet::new();
        let origins = jobs.iter().map(|(_, job)| &job.origin);
        let new = origins.filter(|origin| met.insert(*origin));
        new.map(ToString::to_string).collect()
    }

    /// When the job of this number arrives; `None` behind the last. None arrives before the one before it.
    pub(super) fn arrival(&self, number: u64) -> Option<Tick> {
        match &self.list {
            List::Equal(groups, _) => {
                let group = groups.partition_point(|group| group.1 <= number);
                groups.get(group).map(|group| group.0)
            }
            List::Bare(jobs) => jobs.get(place(number)).map(|job| job.at),
            List::Whole(jobs) => jobs.get(place(number)).map(|job| job.0),
        }
    }

    /// The job of this number, as it is sent.
    pub(super) fn job(&self, number: u64) -> Job {
        match &self.list {
            List::Equal(_, units) => Job {
                units: Some(Units {
                    input: *units,
                    output: 0,
                    source: UnitsFrom::Job,
                }),
                ..self.template.job(number)
            },
            List::Bare(jobs) => {
                let known = &jobs[place(number)];
                Job {
                    origin: known.origin.clone(),
                    units: known.units,
                    keys: known.keys.clone(),
                    ..self.template.job(number)
                }
            }
            List::Whole(jobs) => jobs[place(number)].1.clone(),
        }
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What jobs that are never looked at have in common.
#[derive(Debug)]
struct Template {
    file: Arc<str>,
    target: Target,
    origin: Origin,
}

impl Template {
    fn new() -> Self {
        Self {
            file: "-".into(),
            target: "http://api.test/".parse().expect("it is a URL"),
            origin: Origin("http://api.test".into()),
        }
    }

    fn job(&self, nth: u64) -> Job {
        let place = Place::new(Arc::clone(&self.file), nth + 1);
        Job::get(place, self.target.clone(), self.origin.clone())
    }
}
