//! How long the run still takes, given the level of every limit. Floor 3: rules.

use std::time::Duration;

use super::Engine;
use crate::metrics::{Left, Pace};
use crate::shape::Arrivals;
use crate::units::{Cost, Tick};

impl Engine {
    /// How long a run of `total` lines still takes, if it goes on as it went: by what each limit still holds,
    /// the slots, and the means of cost and latency so far. `None` before the first try has ended.
    ///
    /// The rests that the very last retries will have come on top. Nobody knows when servers will ask for pauses: where they did so
    /// again and again it is taken to go on like that.
    ///
    /// What is kept apart by key or origin has no level for all: there the rate so far decides, if it is the
    /// lowest.
    pub fn time_left(&self, total: u64) -> Option<Duration> {
        let pace = self.metrics.pace()?;
        let jobs = total.saturating_sub(self.metrics.counts().done());
        let left = Left {
            jobs,
            in_flight: self.flying as u64,
            slots: self.rules.slots.map(Cost::get),
            since_last: self.metrics.since_last(),
        };
        if jobs == 0 {
            return Some(Duration::ZERO);
        }
        let sends = left.sends(&pace);
        let from = self.goes_on();
        let limits = self.gate.earliest(from, sends, &pace);
        let rested = self.rests.last();
        let limits = limits.into_iter().chain([from]).chain(rested);
        let scheduled = self.schedule.last_of(total);
        let limits = limits.chain(scheduled);
        let rates = limits.map(|at| at.since(self.now));
        let is_replay = matches!(self.rules.arrivals, Arrivals::Replay(_));
        let kept_apart = self.gate.keeps_apart() || is_replay;
        let observed = kept_apart.then(|| at_rate(sends, &pace));
        let rests = pace.rests.map(|each| {
            let results = u32::try_from(jobs).unwrap_or(u32::MAX);
            each.saturating_mul(results)
        });
        let ends = self.time_ends().map(|at| at.since(self.now));
        let time = left.time(&pace, rates.chain(observed).chain(rests));
        Some(ends.map_or(time, |ends| ends.min(time)))
    }

    /// When the next try may go: where all who wait rest, after that.
    fn goes_on(&self) -> Tick {
        let rests = self.rests.next();
        let opens = self.lanes.first_rest();
        match rests.into_iter().chain(opens).min() {
            Some(at) if self.lanes.waiting_open() == 0 && self.asked == 0 => at.max(self.now),
            Some(_) | None => self.now,
        }
    }
}

/// So many tries at the rate so far.
#[expect(clippy::cast_precision_loss, reason = "an estimate from a mean")]
fn at_rate(sends: u64, pace: &Pace) -> Duration {
    Duration::try_from_secs_f64(sends as f64 / pace.rate).unwrap_or(Duration::MAX)
}
