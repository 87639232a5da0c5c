//! The rules that a limit can follow, and what each promises. Floor 3: rules.

use std::fmt;
use std::time::Duration;

use super::{Limit, RULES, Setting, Spec, bucket, counter, fixed, leaky, window};

/// All that is known of a rule.
pub(super) struct Rule {
    /// The word for it in a limit.
    pub(super) word: &'static str,
    /// What such a server is said to count by.
    pub(super) like: &'static str,
    /// Which servers count like this, in one sentence.
    pub(super) mirrors: &'static str,
    pub(super) promise: Promise,
    /// The rule of a limit with its state, as new.
    pub(super) build: fn(&Spec, &Setting) -> Box<dyn Limit>,
    /// How long ago what was taken may still count.
    pub(super) reach: fn(&Spec, &Setting) -> Duration,
}

/// What holds in ANY window under a rule. How it is proved, shared and told of follows from this alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Of grants: a burst, and what flows in.
    Flow,
    /// Of sends, or of what a server counts of them: the count in any period. It keeps the moment of each.
    AnyPeriod,
    /// Of grants: the count in each whole period, and with the weight of the one before it less than twice that in any.
    TwoPeriods,
    /// Of grants: the count in each whole period, so twice that in any.
    OwnPeriods,
}

impl fmt::Display for Promise {
    /// The most in ANY window: of length T, with burst b and rate r; or of one period, with N per period.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Flow => "b + rT",
            Self::AnyPeriod => "N",
            Self::TwoPeriods => "2N - 1",
            Self::OwnPeriods => "2N",
        })
    }
}

/// The rule that a limit follows: one of the table.
#[derive(Clone, Copy)]
pub struct Kind(&'static Rule);

impl Kind {
    /// Token bucket.
    pub const BUCKET: Self = Self(&bucket::RULE);
    /// Leaky bucket as a meter.
    pub const LEAKY: Self = Self(&leaky::RULE);
    /// Sliding window.
    pub const WINDOW: Self = Self(&window::RULE);
    /// Sliding counter over two windows.
    pub const COUNTER: Self = Self(&counter::RULE);
    /// Fixed window.
    pub const FIXED: Self = Self(&fixed::RULE);

    /// Every rule, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        RULES.iter().map(|rule| Self(rule))
    }

    /// The word for it in a limit.
    pub fn word(self) -> &'static str {
        self.0.word
    }

    /// What holds in any window.
    pub fn promise(self) -> Promise {
        self.0.promise
    }

    /// Which servers count like this, in one sentence.
    pub fn mirrors(self) -> &'static str {
        self.0.mirrors
    }

    /// Whether it fills up to a burst, and does not count in periods.
    pub fn has_burst(self) -> bool {
        self.0.promise == Promise::Flow
    }

    /// Whether it keeps the moment of each send: room for jitter and when a send leaves are its own.
    pub fn is_log(self) -> bool {
        self.0.promise == Promise::AnyPeriod
    }

    /// Whether it has windows of its own, and something says where the first begins.
    pub fn has_anchor(self) -> bool {
        self.0.promise == Promise::OwnPeriods
    }

    /// What such a server is said to count by: `a token bucket`.
    pub fn like(self) -> &'static str {
        self.0.like
    }

    /// The rule of `spec` with its state, as new.
    pub(super) fn build(self, spec: &Spec, setting: &Setting) -> Box<dyn Limit> {
        (self.0.build)(spec, setting)
    }

    /// How long ago what was taken under `spec` may still count.
    pub(super) fn reach(self, spec: &Spec, setting: &Setting) -> Duration {
        (self.0.reach)(spec, setting)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.0.word == other.0.word
    }
}

impl Eq for Kind {}

impl fmt::Debug for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.word)
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
            assert!(kind.mirrors().ends_with('.'));
        }
    }
}
