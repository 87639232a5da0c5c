//! When each job of a run is due, as its lines are read. Floor 3: rules.

use std::time::Duration;

use super::Arrivals;
use crate::job::Job;
use crate::units::Tick;

/// Due times of one job after the other.
#[derive(Debug)]
pub struct Due {
    arrivals: Arrivals,
    seed: u64,
    /// Jobs so far.
    count: u64,
    /// The integral of the rate when the last one is due.
    integral: u128,
    round: Option<Round>,
    /// The latest so far.
    latest: Tick,
}

/// A round of a record: it goes on when all of the one before is due.
#[derive(Debug)]
struct Round {
    number: u32,
    /// The stamp of its first job, and when that is due.
    first: Duration,
    from: Tick,
}

impl Due {
    /// Of a run that has not begun; the same seed gives the same times.
    pub fn new(arrivals: &Arrivals, seed: u64) -> Self {
        Self {
            arrivals: arrivals.clone(),
            seed,
            count: 0,
            integral: 0,
            round: None,
            latest: Tick::ZERO,
        }
    }

    /// The moment at which this job, the next one, is due in a run that has begun at `start`; `None` where jobs go as
    /// they can. What is never due is so at the end of all time.
    ///
    /// What was recorded before the first of its round is due with it.
    pub fn next(&mut self, job: &Job, start: Tick) -> Option<Tick> {
        let due = match &self.arrivals {
            Arrivals::Closed => return None,
            Arrivals::Once => start,
            Arrivals::Paced(ramp, gaps) => {
                self.integral = gaps.next(self.integral, self.count, self.seed);
                let after = ramp.reaches(self.integral).unwrap_or(u64::MAX);
                start.after(Duration::from_nanos(after))
            }
            Arrivals::Replay(speed) => {
                let at = job.at.unwrap_or_default();
                let round = match self.round.take() {
                    Some(round) if round.number == job.round => round,
                    Some(_) | None => Round {
                        number: job.round,
                        first: at,
                        from: self.latest.max(start),
                    },
                };
                let after = speed.span(at.saturating_sub(round.first));
                let due = round.from.after(after);
                self.round = Some(round);
                due
            }
        };
        self.count += 1;
        self.latest = self.latest.max(due);
        Some(due)
    }

    /// The latest moment so far at which a job is due.
    pub fn latest(&self) -> Tick {
        self.latest
    }

    /// When the last of so many jobs is due, if nothing else is to be known for it.
    pub fn last_of(&self, jobs: u64, start: Tick) -> Option<Tick> {
        match &self.arrivals {
            Arrivals::Closed | Arrivals::Replay(_) => None,
            Arrivals::Once => Some(start),
            Arrivals::Paced(ramp, _) => {
                let more = u128::from(jobs.saturating_sub(self.count));
                let integral = self.integral + more * super::ramp::ONE;
                let after = ramp.reaches(integral)?;
                Some(start.after(Duration::from_nanos(after)))
            }
        }
    }
}
