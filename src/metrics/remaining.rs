//! How long a run still takes, by arithmetic: each ceiling for itself, and the lowest decides. Floor 3: rules.
//!
//! A mean over the run so far says nothing where a burst has ended or a limit begins to bind; this does.

use std::time::Duration;

use crate::outcome::UnitsSpent;

/// How tries have gone so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Tries for each line that has its result: 1 without retries, less with lines that are never sent.
    pub tries: f64,
    /// Mean time of a try in flight.
    pub latency: Duration,
    /// Tries per second since the first grant.
    pub rate: f64,
    /// Time for each result, where the run rests again and again.
    pub rests: Option<Duration>,
    /// Tries that ended, and what they reserved and used.
    pub ended: u64,
    /// The units of all those.
    pub units: UnitsSpent,
}

/// What is left of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// Lines without a result; those in flight are among them.
    pub jobs: u64,
    /// Tries in flight.
    pub in_flight: u64,
    /// Most tries in flight; `None` without a limit.
    pub slots: Option<u64>,
    /// Since the last try was granted.
    pub since_last: Duration,
}

impl Left {
    /// Tries that are still to be granted.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate from a mean"
    )]
    pub fn sends(&self, pace: &Pace) -> u64 {
        let all = (self.jobs as f64 * pace.tries).ceil() as u64;
        all.saturating_sub(self.in_flight)
    }

    /// The time until all is done. `rates` are the times in which each rate limit, and rests that come again, by
    /// themselves let the tries go that are left.
    ///
    /// The last try goes when the slowest of them and the slots let it, and is answered one latency later.
    #[expect(clippy::cast_precision_loss, reason = "an estimate from a mean")]
    pub fn time(&self, pace: &Pace, rates: impl IntoIterator<Item = Duration>) -> Duration {
        let sends = self.sends(pace);
        if sends == 0 {
            return pace.latency.saturating_sub(self.since_last);
        }
        let by_slots = self.slots.map_or(Duration::ZERO, |slots| {
            let free = slots.saturating_sub(self.in_flight);
            let turns = sends.saturating_sub(free) as f64 / slots.max(1) as f64;
            let span = turns * pace.latency.as_secs_f64();
            Duration::try_from_secs_f64(span).unwrap_or(Duration::MAX)
        });
        let last = rates.into_iter().fold(by_slots, Duration::max);
        last.saturating_add(pace.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pace(tries: f64) -> Pace {
        Pace {
            tries,
            latency: SECOND,
            rate: 1.0,
            rests: None,
            ended: 10,
            units: UnitsSpent::default(),
        }
    }

    fn left(jobs: u64, in_flight: u64) -> Left {
        Left {
            jobs,
            in_flight,
            slots: Some(10),
            since_last: Duration::ZERO,
        }
    }

    #[test]
    fn slots_take_a_latency_for_each_round_of_them_and_the_last_try_one_more() {
        assert_eq!(left(110, 10).time(&pace(1.0), []), 11 * SECOND);
        // Six of them are free: they go at once.
        assert_eq!(left(110, 4).time(&pace(1.0), []), 11 * SECOND);
        let unlimited = Left {
            slots: None,
            ..left(110, 10)
        };
        assert_eq!(unlimited.time(&pace(1.0), []), SECOND);
    }

    #[test]
    fn the_slowest_rate_decides_where_it_is_slower_than_the_slots() {
        let rates = [4 * SECOND, 60 * SECOND];
        assert_eq!(left(110, 10).time(&pace(1.0), rates), 61 * SECOND);
        assert_eq!(left(1010, 10).time(&pace(1.0), rates), 101 * SECOND);
    }

    #[test]
    fn tries_that_will_be_repeated_are_still_to_be_sent() {
        assert_eq!(left(100, 10).sends(&pace(1.0)), 90);
        assert_eq!(left(100, 10).sends(&pace(1.5)), 140);
        assert_eq!(left(100, 10).sends(&pace(0.5)), 40, "half are never sent");
    }

    #[test]
    fn at_the_end_only_what_is_in_flight_takes_time() {
        let last = Left {
            since_last: Duration::from_millis(400),
            ..left(3, 3)
        };
        let most = [60 * SECOND];
        assert_eq!(last.time(&pace(1.0), most), Duration::from_millis(600));
    }
}
