//! Random cases: each is a few numbers, so that a failing one shrinks to the simplest that fails.

use std::time::Duration;

use proptest::prelude::*;
use shaper::limit::{Anchor, Bucket, Counter, Fixed, Leaky, Limit, Slots, Spec, Window};
use shaper::units::{Cost, Rate};

use super::reference::{Reference, Rule};

/// A limit under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Bucket,
    Leaky,
    Window,
    Counter,
    FixedEpoch,
    FixedFirst,
    Slots,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 7] = [
        Self::Bucket,
        Self::Leaky,
        Self::Window,
        Self::Counter,
        Self::FixedEpoch,
        Self::FixedFirst,
        Self::Slots,
    ];
}

/// The numbers of a limit: small counts, and periods whose quotients are no whole nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) algorithm: Algorithm,
    pub(crate) count: u64,
    pub(crate) period: u64,
    burst: u64,
    start: u64,
    phase: u64,
}

impl Numbers {
    pub(crate) fn real(&self) -> Box<dyn Limit> {
        let rate = Rate::new(self.count, Duration::from_nanos(self.period)).unwrap();
        let burst = Cost::new(self.burst).unwrap();
        let epoch = Duration::from_nanos(3 * self.period + self.phase);
        match self.algorithm {
            Algorithm::Bucket => Box::new(Bucket::new(&rate, burst, self.start)),
            Algorithm::Leaky => Box::new(Leaky::new(&rate, burst, self.start)),
            Algorithm::Window => Box::new(Window::new(&rate, Duration::ZERO)),
            Algorithm::Counter => Box::new(Counter::new(&rate, epoch)),
            Algorithm::FixedEpoch => Box::new(Fixed::new(&rate, Anchor::Epoch, epoch)),
            Algorithm::FixedFirst => Box::new(Fixed::new(&rate, Anchor::First, epoch)),
            Algorithm::Slots => Box::new(Slots::new(Cost::new(self.count).unwrap())),
        }
    }

    /// The limit that promises a bound for windows of a length; buckets promise one for what flows.
    pub(crate) fn spec(&self) -> Option<Spec> {
        let kind = match self.algorithm {
            Algorithm::Window => "window",
            Algorithm::Counter => "window-counter",
            Algorithm::FixedEpoch => "fixed",
            Algorithm::FixedFirst => "fixed anchor=first",
            Algorithm::Bucket | Algorithm::Leaky | Algorithm::Slots => return None,
        };
        let text = format!("{}/{}ns {kind}", self.count, self.period);
        Some(text.parse().unwrap())
    }

    pub(crate) fn reference(&self) -> Reference {
        let phase = i128::from(self.phase);
        let rule = match self.algorithm {
            Algorithm::Bucket | Algorithm::Leaky => Rule::Bucket {
                burst: self.burst.into(),
                start: self.start.into(),
            },
            Algorithm::Window => Rule::Window,
            Algorithm::Counter => Rule::Counter { phase },
            Algorithm::FixedEpoch => Rule::Fixed { phase },
            Algorithm::FixedFirst => Rule::First,
            Algorithm::Slots => Rule::Slots,
        };
        Reference::new(rule, self.count.into(), self.period.into())
    }
}

pub(crate) fn numbers(algorithm: Algorithm) -> impl Strategy<Value = Numbers> {
    (1u64..9, 1u64..9, any::<u32>(), any::<u32>()).prop_map(move |(count, burst, period, rest)| {
        // Mostly prime to the count; some tiny, where every rounding shows.
        let period = match period % 4 {
            0 => 1 + u64::from(period / 4 % 50),
            _ => 1000 + u64::from(period / 4 % 2_000_000),
        };
        Numbers {
            algorithm,
            count,
            period,
            burst,
            start: u64::from(rest % 3 + 1) * burst / 3,
            phase: u64::from(rest / 3) % period,
        }
    })
}

/// What became of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    NeverSent,
    Unknown,
    /// Used so much, at most what it took.
    Known(u64),
    /// Used so much.
    Owed(u64),
}

/// One job. Spans are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) arrives: u64,
    /// What it takes of each limit.
    pub(crate) costs: [u64; 3],
    /// From its grant to its send.
    pub(crate) leaves: u64,
    /// From its send to its end.
    pub(crate) lasts: u64,
    pub(crate) end: End,
    /// From its arrival on, if it still waits then.
    pub(crate) cancelled: Option<u64>,
    /// It failed: how long it rests before it pays again, with all that it paid before kept.
    pub(crate) again: Option<u64>,
    /// The guard of sliding windows from its arrival on.
    pub(crate) guard: Option<u64>,
}

/// What a case may hold besides arrivals, costs and refunds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strain {
    /// Nothing that a rule does not promise its bound for.
    Bounded,
    /// Usage above the reserve, costs above the capacity, guards that change.
    Owing,
}

/// Jobs from raw numbers: zero is the plainest.
pub(crate) fn jobs(raw: &[u64], limits: &[Numbers], strain: Strain) -> Vec<Job> {
    let period = limits[0].period;
    let mut arrives = 0;
    let job = |raw: &u64| {
        let mut bits = Bits(*raw);
        arrives += bits.span(period);
        let end = bits.next(3);
        let mut costs = [0; 3];
        for (cost, limit) in costs.iter_mut().zip(limits) {
            let of = limit.reference().capacity();
            let most = u64::try_from(of).unwrap();
            *cost = 1 + bits.next(4) % most;
            if strain == Strain::Owing && bits.next(4) == 15 && limit.algorithm != Algorithm::Slots
            {
                *cost += most * (1 + bits.next(1));
            }
        }
        let known = bits.next(4);
        let end = match (end, strain) {
            (0..3, _) => End::Unknown,
            (3, _) => End::NeverSent,
            (7, Strain::Owing) => End::Owed(2 * known),
            _ => End::Known(known),
        };
        Job {
            arrives,
            costs,
            leaves: bits.span(period) * bits.next(1),
            lasts: 1 + bits.span(period),
            end,
            cancelled: (bits.next(3) == 7).then(|| bits.span(period)),
            again: (bits.next(3) == 7).then(|| bits.span(period)),
            guard: (strain == Strain::Owing && bits.next(3) == 7).then(|| bits.span(period)),
        }
    };
    raw.iter().map(job).collect()
}

/// Random numbers from one number.
struct Bits(u64);

impl Bits {
    fn next(&mut self, bits: u32) -> u64 {
        let value = self.0 & ((1 << bits) - 1);
        // Bits that are used up make room for others that depend on them; zero stays zero.
        self.0 = self
            .0
            .rotate_right(bits)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        value
    }

    /// Nothing, a part of the period, or what lies about its end.
    fn span(&mut self, period: u64) -> u64 {
        let (class, part) = (self.next(3), self.next(8));
        match class {
            0..3 => 0,
            3 => period * part / 1024,
            4 => period * part / 256,
            5 => period * part / 64,
            6 => period,
            _ => period - 1,
        }
    }
}
