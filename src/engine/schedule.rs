//! The schedule: when each job should go, by its own time or by the request limits alone. Floor 3: rules.

use std::collections::VecDeque;

use super::rules::Rules;
use crate::job::Job;
use crate::limit::{Counts, Limit, Ready, Spec, Used};
use crate::shape::{Arrivals, Due};
use crate::units::{Cost, Tick};

/// Due times. Those that jobs or the command line give count from the start of the run, whatever happens.
///
/// Where they have none, it is by the request limits, which start with the run and know nothing of slots, units,
/// pauses or the server: shifted only while the input had no line ready.
#[derive(Debug)]
pub(super) struct Schedule {
    due: Due,
    limits: Vec<Box<dyn Limit>>,
    /// When the first line was asked for.
    start: Option<Tick>,
    last: Tick,
    /// Lines asked for and not yet here: since when, and how many.
    asks: VecDeque<(Tick, usize)>,
}

/// How a line came that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Came {
    pub(super) asked_at: Tick,
    /// The input was late with it.
    pub(super) starved: bool,
}

impl Schedule {
    pub(super) fn new(rules: &Rules) -> Self {
        let ours = |spec: &&Spec| spec.counts == Counts::Requests && spec.per.is_none();
        let limits = match rules.arrivals {
            // What others share is no schedule of one.
            Arrivals::Closed if rules.sharing.is_none() => rules.limits.iter().filter(ours),
            Arrivals::Closed | Arrivals::Once | Arrivals::Paced(..) | Arrivals::Replay(_) => {
                [].iter().filter(ours)
            }
        };
        Self {
            due: Due::new(&rules.arrivals, rules.retry.seed),
            limits: limits.map(|spec| spec.build(&rules.setting)).collect(),
            start: None,
            last: Tick::ZERO,
            asks: VecDeque::new(),
        }
    }

    /// More lines are wanted from `now` on.
    pub(super) fn asked(&mut self, now: Tick, lines: usize) {
        self.start.get_or_insert(now);
        if self.asks.is_empty() && self.last == Tick::ZERO {
            self.last = now;
        }
        self.asks.push_back((now, lines));
    }

    /// When the run has begun; `None` before it has asked for a line.
    pub(super) fn start(&self) -> Option<Tick> {
        self.start
    }

    /// The next line came and had been ready at `ready_at`. If that was later than it was asked for, the input was what
    /// held it.
    pub(super) fn read(&mut self, ready_at: Tick) -> Came {
        let Some((asked_at, lines)) = self.asks.front_mut() else {
            return Came {
                asked_at: ready_at,
                starved: false,
            };
        };
        let (asked_at, starved) = (*asked_at, ready_at > *asked_at);
        *lines -= 1;
        if *lines == 0 {
            self.asks.pop_front();
        }
        if starved {
            self.last = self.last.max(ready_at);
        }
        Came { asked_at, starved }
    }

    /// When the job that was just read is due; `None` without a time of its own or a request limit: then it is due
    /// when it is granted.
    pub(super) fn due(&mut self, job: &Job) -> Option<Tick> {
        let start = self.start.unwrap_or_default();
        self.due.next(job, start).or_else(|| self.by_limits())
    }

    /// The latest moment so far at which a job is due by a time of its own.
    pub(super) fn latest(&self) -> Tick {
        self.due.latest()
    }

    /// When the last of so many jobs is due, if that can be told.
    pub(super) fn last_of(&self, jobs: u64) -> Option<Tick> {
        self.due.last_of(jobs, self.start.unwrap_or_default())
    }

    fn by_limits(&mut self) -> Option<Tick> {
        if self.limits.is_empty() {
            return None;
        }
        for limit in &self.limits {
            match limit.ready(self.last, Cost::ONE) {
                Ready::At(at) => self.last = at,
                Ready::OnRelease | Ready::Never(_) => {}
            }
        }
        for limit in &mut self.limits {
            let mut hold = limit.take(self.last, Cost::ONE);
            limit.moved(&mut hold, self.last);
            limit.settle(hold, self.last, Used::Unknown);
        }
        Some(self.last)
    }
}
