//! How fast a run goes that has to rest again and again: from the beginning of its first rest to that of the latest.
//! Floor 3: rules.

use std::time::Duration;

use super::Owner;
use crate::units::Tick;

/// The rests that held the run: pauses that servers asked for, rests of origins, and of all jobs that are left.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// When the first began, and the results that there were by then.
    first: Option<(Tick, u64)>,
    /// When the latest began.
    latest: Tick,
}

impl Rests {
    /// From `now` on, after so many results, this holds the run and no longer that.
    pub(super) fn turn(&mut self, now: Tick, results: u64, before: Owner, owner: Owner) {
        if rests(owner) && !rests(before) {
            self.first.get_or_insert((now, results));
            self.latest = now;
        }
    }

    /// The time for each result since the first rest began. None before the second one: a single rest does not tell
    /// that another comes.
    pub(super) fn per_result(&self, results: u64) -> Option<Duration> {
        let (first, before) = self.first.filter(|(first, _)| *first < self.latest)?;
        let since = u32::try_from(results - before).unwrap_or(u32::MAX);
        self.latest.since(first).checked_div(since)
    }
}

fn rests(owner: Owner) -> bool {
    match owner {
        Owner::Pause | Owner::Connect | Owner::Backoff => true,
        Owner::Nothing
        | Owner::Input
        | Owner::LookAhead
        | Owner::Slot
        | Owner::HostSlot
        | Owner::Order
        | Owner::Sink
        | Owner::Client
        | Owner::Adaptive
        | Owner::Store
        | Owner::SharedSlot
        | Owner::Limit(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_rest_that_comes_again_sets_the_pace_until_it_stays_away() {
        let mut seen = Rests::default();
        seen.turn(at(0), 0, Owner::Nothing, Owner::Slot);
        seen.turn(at(1), 10, Owner::Slot, Owner::Pause);
        seen.turn(at(1), 10, Owner::Pause, Owner::Backoff);
        assert_eq!(seen.per_result(10), None, "it may be the only one");
        seen.turn(at(2), 10, Owner::Backoff, Owner::Slot);
        seen.turn(at(3), 20, Owner::Slot, Owner::Pause);
        let millis = |results| seen.per_result(results).map(|span| span.as_millis());
        assert_eq!(millis(20), Some(200));
        assert_eq!(millis(2_010), Some(1));
    }
}
