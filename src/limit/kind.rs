//! The table of rules that a limit can follow, one row each. Floor 3: rules.

use std::time::Duration;

use super::{Bucket, Counter, Fixed, Leaky, Limit, Setting, Spec, Window};

/// The rules that a limit can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Token bucket.
    Bucket,
    /// Leaky bucket as a meter.
    Leaky,
    /// Sliding window.
    Window,
    /// Sliding counter over two windows.
    Counter,
    /// Fixed window.
    Fixed,
}

/// One row a rule.
struct Row {
    kind: Kind,
    word: &'static str,
    like: &'static str,
    promise: &'static str,
    mirrors: &'static str,
    build: fn(&Spec, &Setting) -> Box<dyn Limit>,
    /// How long ago what was taken may still count.
    reach: fn(&Spec, &Setting) -> Duration,
}

const KINDS: [Row; 5] = [
    Row {
        kind: Kind::Bucket,
        word: "bucket",
        like: "a token bucket",
        promise: "b + rT",
        mirrors: "Servers that refill a quota steadily and let unused quota pile up to a burst.",
        build: |spec, _| Box::new(Bucket::new(&spec.rate, spec.burst, spec.start)),
        reach: two_fillings,
    },
    Row {
        kind: Kind::Leaky,
        word: "leaky",
        like: "GCRA",
        promise: "b + rT",
        mirrors: "Proxies that space requests evenly (GCRA, nginx limit_req); with the same burst it is the bucket.",
        build: |spec, _| Box::new(Leaky::new(&spec.rate, spec.burst, spec.start)),
        reach: two_fillings,
    },
    Row {
        kind: Kind::Window,
        word: "window",
        like: "a rolling window",
        promise: "N",
        mirrors: "Servers that log each request and look back one period: never over in any window.",
        build: |spec, setting| Box::new(Window::new(&spec.rate, setting.guard(spec))),
        // A guard that is measured stays below 1 %; what was sent late of a grant counts from its send.
        reach: |spec, setting| spec.rate.period + setting.guard(spec).max(spec.rate.period / 100),
    },
    Row {
        kind: Kind::Counter,
        word: "window-counter",
        like: "a two-count gateway",
        promise: "2N - 1",
        mirrors: "Gateways that keep two counts and weigh the previous one by what is left of it.",
        build: |spec, setting| Box::new(Counter::new(&spec.rate, setting.epoch)),
        reach: |spec, _| spec.rate.period * 2,
    },
    Row {
        kind: Kind::Fixed,
        word: "fixed",
        like: "whole periods",
        promise: "2N",
        mirrors: "Servers that count in whole minutes or hours and start again from zero.",
        build: |spec, setting| Box::new(Fixed::new(&spec.rate, spec.anchor, setting.epoch)),
        reach: |spec, _| spec.rate.period,
    },
];

/// A bucket that is taken to have been empty so long ago is as full now as the real one, unless that was
/// full then and has given more than its rate ever since.
fn two_fillings(spec: &Spec, _: &Setting) -> Duration {
    let filling = u128::from(spec.burst.get()) * spec.rate.period.as_nanos();
    let filling = filling.div_ceil(spec.rate.count.get().into());
    let twice = u64::try_from(filling.saturating_mul(2)).unwrap_or(u64::MAX);
    Duration::from_nanos(twice).max(spec.rate.period)
}

impl Kind {
    /// Every rule, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|row| row.kind)
    }

    /// The word for it in a limit.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// The most in ANY window: of length T, with burst b and rate r; or of one period, with N per period.
    pub fn promise(self) -> &'static str {
        self.row().promise
    }

    /// Which servers count like this, in one sentence.
    pub fn mirrors(self) -> &'static str {
        self.row().mirrors
    }

    /// Whether it fills up to a burst, and does not count in periods.
    pub fn has_burst(self) -> bool {
        match self {
            Self::Bucket | Self::Leaky => true,
            Self::Window | Self::Counter | Self::Fixed => false,
        }
    }

    /// What such a server is said to count by: `a token bucket`.
    pub fn like(self) -> &'static str {
        self.row().like
    }

    /// The rule of `spec` with its state, as new.
    pub(super) fn build(self, spec: &Spec, setting: &Setting) -> Box<dyn Limit> {
        (self.row().build)(spec, setting)
    }

    /// How long ago what was taken under `spec` may still count.
    pub(super) fn reach(self, spec: &Spec, setting: &Setting) -> Duration {
        (self.row().reach)(spec, setting)
    }

    fn row(self) -> &'static Row {
        let mut rows = KINDS.iter();
        rows.find(|row| row.kind == self)
            .expect("each kind has its row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_word_and_is_found_by_it() {
        for kind in Kind::all() {
            let spec: Spec = format!("3/s {}", kind.word()).parse().unwrap();
            assert_eq!(spec.kind, kind);
            assert!(kind.mirrors().ends_with('.') && !kind.promise().is_empty());
        }
    }
}
