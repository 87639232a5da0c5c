//! Look-ahead: how far the input is read. Floor 3: rules.

use crate::units::Cost;

/// The bounds of what is held at once: waiting, resting, in flight and unwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookAhead {
    /// Most jobs.
    pub jobs: usize,
    /// Most bytes, roughly.
    pub bytes: u64,
}

impl Default for LookAhead {
    /// 10 000 jobs and 64 MiB of them.
    fn default() -> Self {
        Self {
            jobs: 10_000,
            bytes: 64 << 20,
        }
    }
}

/// What stands in for the slots where there is no limit.
pub(super) const UNLIMITED: u64 = 1000;

/// What is held now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Jobs in lanes that nothing of their own holds back.
    pub(super) ready: usize,
    /// Lines asked for and not yet here.
    pub(super) asked: usize,
    /// All jobs.
    pub(super) held: usize,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The largest job so far: what the next one is taken for.
    pub(super) largest: u64,
}

impl LookAhead {
    /// How many jobs should be ready: twice the slots, at least 16.
    pub(super) fn wanted(slots: Option<Cost>) -> usize {
        let slots = slots.map_or(UNLIMITED, Cost::get);
        usize::try_from(slots.saturating_mul(2))
            .unwrap_or(usize::MAX)
            .max(16)
    }

    /// Whether so many are missing that asking is worth it: after each line that comes all heads are looked at
    /// again, so they are asked for several at a time. What is left is still more than the slots.
    pub(super) fn is_short(wanted: usize, load: &Load) -> bool {
        wanted.saturating_sub(load.ready + load.asked) > wanted / 4
    }

    /// How many more lines to ask for.
    pub(super) fn ask(&self, wanted: usize, load: &Load) -> usize {
        let asked = load.asked as u64;
        let bytes = self
            .bytes
            .saturating_sub(load.bytes)
            .div_ceil(load.largest.max(1));
        let bytes = usize::try_from(bytes.saturating_sub(asked)).unwrap_or(usize::MAX);
        wanted
            .saturating_sub(load.ready + load.asked)
            .min(self.jobs.saturating_sub(load.held + load.asked))
            .min(bytes)
    }

    /// Whether a bound keeps the input from being read.
    pub(super) fn is_full(&self, load: &Load) -> bool {
        self.ask(usize::MAX, load) == 0 && load.asked == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_slots_are_wanted_and_at_least_sixteen() {
        assert_eq!(LookAhead::wanted(Cost::new(1)), 16);
        assert_eq!(LookAhead::wanted(Cost::new(20)), 40);
        assert_eq!(LookAhead::wanted(None), 2000);
    }

    #[test]
    fn large_jobs_are_asked_for_one_by_one() {
        let bounds = LookAhead::default();
        let mut load = Load {
            ready: 0,
            asked: 0,
            held: 1,
            bytes: 60 << 20,
            largest: 60 << 20,
        };
        assert_eq!(bounds.ask(40, &load), 1);
        load.bytes = 64 << 20;
        assert!(bounds.is_full(&load));
    }
}
