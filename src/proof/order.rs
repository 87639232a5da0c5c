//! The proof while a run goes: tries end in any order and are proved in that of grants and sends.
//! Floor 3: rules.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::{Event, Proven, Prover, Terms};
use crate::job::Keys;
use crate::limit::Spec;
use crate::outcome::Try;
use crate::units::Tick;

/// Proves a run while it goes. Nothing is kept for a run without limits.
///
/// Memory: what has ended since the oldest try in flight was granted, beside that of [`Prover`].
#[derive(Debug)]
pub struct Proof {
    /// `None` where there is nothing to prove.
    prover: Option<Prover>,
    /// Moments of grants in order, and how many tries of each are in flight.
    flying: VecDeque<(Tick, u64)>,
    /// What has ended, in the order of grants, and from then on in that of sends: moments with the
    /// places of events.
    ended: BinaryHeap<Reverse<(Tick, usize)>>,
    granted: BinaryHeap<Reverse<(Tick, usize)>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
}

impl Proof {
    /// A run that begins `epoch` after the Unix epoch and charges grants for up to `slack` ago.
    pub fn new(limits: &[Spec], slack: Duration, epoch: Duration) -> Self {
        let terms = Terms {
            slack,
            epoch,
            ..Terms::default()
        };
        Self::by((!limits.is_empty()).then(|| Prover::new(limits, terms)))
    }

    /// Of a run whose limits nobody doubts: it tells the worst minute, if any of them counts units.
    pub fn of_minute(limits: &[Spec]) -> Self {
        Self::by(Prover::of_minute(limits))
    }

    /// Of a run that nobody asks about.
    pub fn nothing() -> Self {
        Self::by(None)
    }

    fn by(prover: Option<Prover>) -> Self {
        Self {
            prover,
            flying: VecDeque::new(),
            ended: BinaryHeap::new(),
            granted: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
        }
    }

    /// A try was granted, none before the last one.
    pub fn granted(&mut self, now: Tick) {
        if self.prover.is_none() {
            return;
        }
        match self.flying.back_mut() {
            Some((at, tries)) if *at == now => *tries += 1,
            Some(_) | None => self.flying.push_back((now, 1)),
        }
    }

    /// A try that was granted has ended; `keys` are those of its job.
    pub fn ended(&mut self, ended: &Try, keys: &Keys) {
        if self.prover.is_none() {
            return;
        }
        let place = self.flying.partition_point(|(at, _)| *at < ended.granted);
        if let Some((_, tries)) = self.flying.get_mut(place) {
            *tries = tries.saturating_sub(1);
        }
        while self.flying.front().is_some_and(|(_, tries)| *tries == 0) {
            self.flying.pop_front();
        }
        // Whatever is still to end was granted at or after this moment, and sent no earlier.
        let known = self
            .flying
            .front()
            .map_or(Tick(u64::MAX), |oldest| oldest.0);
        for event in Event::all_of(ended, keys) {
            self.sort(event, known);
        }
        self.release(known);
    }

    /// An event waits for those before it; where all before it are known, it is told at once.
    fn sort(&mut self, event: Event, known: Tick) {
        let Some(prover) = &mut self.prover else {
            return;
        };
        let first_granted = first(&self.ended);
        let in_turn = event.granted <= known.min(first_granted);
        if in_turn {
            prover.granted(&event);
            let none_before = self.ended.is_empty() || first_granted > known;
            if none_before && event.sent <= known.min(first(&self.granted)) {
                prover.sent(&event);
                return;
            }
        }
        let place = self.free.pop().unwrap_or(self.events.len());
        if in_turn {
            self.granted.push(Reverse((event.sent, place)));
        } else {
            self.ended.push(Reverse((event.granted, place)));
        }
        if place == self.events.len() {
            self.events.push(Some(event));
        } else {
            self.events[place] = Some(event);
        }
    }

    /// What was found.
    pub fn close(mut self) -> Proven {
        self.release(Tick(u64::MAX));
        let unseen = self.flying.iter().map(|(_, tries)| tries).sum();
        let proven = self.prover.map(Prover::close).unwrap_or_default();
        Proven { unseen, ..proven }
    }

    fn release(&mut self, known: Tick) {
        let Some(prover) = &mut self.prover else {
            return;
        };
        while let Some(place) = next(&mut self.ended, known) {
            if let Some(event) = &self.events[place] {
                prover.granted(event);
                self.granted.push(Reverse((event.sent, place)));
            }
        }
        while let Some(place) = next(&mut self.granted, known) {
            if let Some(event) = self.events[place].take() {
                prover.sent(&event);
                self.free.push(place);
            }
        }
    }
}

/// The moment of the first that waits; the end of time if none does.
fn first(waiting: &BinaryHeap<Reverse<(Tick, usize)>>) -> Tick {
    waiting
        .peek()
        .map_or(Tick(u64::MAX), |Reverse((at, _))| *at)
}

/// The place of the first that waits, if it is not after `known`.
fn next(waiting: &mut BinaryHeap<Reverse<(Tick, usize)>>, known: Tick) -> Option<usize> {
    let &Reverse((at, _)) = waiting.peek()?;
    let first = (at <= known).then(|| waiting.pop());
    first.flatten().map(|Reverse((_, place))| place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::{Spent, UnitsSpent};
    use crate::proof::Grants;

    fn a_try(granted: u64, until_sent: u64, until_done: u64, units: u64) -> Try {
        let total = Spent {
            reserved: units,
            used: units / 2,
        };
        let sent = Tick(granted + until_sent);
        Try {
            due: Tick(granted),
            granted: Tick(granted),
            sent: (until_sent > 0).then_some(sent),
            connected: None,
            first_byte: None,
            done: Tick(sent.0 + until_done),
            status: None,
            retry_after: None,
            failure: None,
            units: Some(UnitsSpent {
                total,
                ..UnitsSpent::default()
            }),
            stream: None,
            hops: Vec::new(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn in_whatever_order_tries_end_the_proof_is_that_of_all_in_order(
            tries in proptest::collection::vec((0..20_u64, 0..30_u64, 0..200_u64, 0..5_u64), 1..20),
        ) {
            let limits = ["3/50ns window", "2/20ns burst=2", "4/60ns fixed", "tokens 6/40ns window"];
            let limits: Vec<Spec> = limits
                .iter()
                .map(|limit| {
                    let (rate, kind) = limit.trim_start_matches("tokens ").split_once(' ').unwrap();
                    let (count, period) = rate.split_once('/').unwrap();
                    let period: u64 = period.trim_end_matches("ns").parse().unwrap();
                    let tokens = if limit.starts_with("tokens") { "tokens " } else { "" };
                    let mut limit: Spec = format!("{tokens}{count}/s {kind}").parse().unwrap();
                    limit.rate.period = Duration::from_nanos(period);
                    limit
                })
                .collect();
            let mut at = 0;
            let mut tries: Vec<Try> = tries
                .into_iter()
                .map(|(gap, until_sent, until_done, units)| {
                    at += gap;
                    a_try(at, until_sent, until_done, units)
                })
                .collect();
            let terms = Terms { slack: Duration::from_nanos(3), ..Terms::default() };
            let mut prover = Prover::new(&limits, terms);
            let keys = Keys::default();
            let mut events: Vec<Event> =
                tries.iter().flat_map(|made| Event::all_of(made, &keys)).collect();
            for event in &events {
                prover.granted(event);
            }
            events.sort_by_key(|event| event.sent);
            for event in &events {
                prover.sent(event);
            }

            let mut proof = Proof::new(&limits, terms.slack, Duration::ZERO);
            let mut grants: Vec<Tick> = tries.iter().map(|made| made.granted).collect();
            tries.sort_by_key(|made| made.done);
            for ended in &tries {
                let begun = grants.partition_point(|granted| *granted <= ended.done);
                grants.drain(..begun).for_each(|granted| proof.granted(granted));
                proof.ended(ended, &Keys::default());
            }
            let (live, whole) = (proof.close(), prover.close());
            let most = |granted: &Grants| match granted {
                Grants::Own(most) => most.sum,
                // Of several stretches that are as bad, any may be told.
                Grants::Stretch(..) | Grants::Around(..) => 0,
            };
            let figures = |proven: &Proven| -> Vec<_> {
                let each = proven.limits.iter();
                each.map(|it| (it.verdict, it.most.sum, it.used, it.granted.as_ref().map(most)))
                    .collect()
            };
            prop_assert_eq!(figures(&live), figures(&whole));
            prop_assert_eq!(live.minute.map(|it| it.used.sum), whole.minute.map(|it| it.used.sum));
        }
    }

    #[test]
    fn only_what_may_still_be_overtaken_is_kept() {
        let limits = ["10/s".parse().unwrap()];
        let mut proof = Proof::new(&limits, Duration::ZERO, Duration::ZERO);
        proof.granted(Tick(0));
        for at in 1..100 {
            proof.granted(Tick(at));
            proof.ended(&a_try(at, 1, 1, 0), &Keys::default());
        }
        assert_eq!(proof.ended.len(), 99, "the first may have been sent last");
        proof.ended(&a_try(0, 500, 1, 0), &Keys::default());
        assert_eq!((proof.ended.len(), proof.granted.len()), (0, 0));
        assert!(proof.flying.is_empty());
        proof.granted(Tick(700));
        assert_eq!(proof.close().unseen, 1);
    }

    #[test]
    fn nothing_is_kept_for_a_run_without_limits() {
        let mut proof = Proof::new(&[], Duration::ZERO, Duration::ZERO);
        proof.granted(Tick(0));
        proof.ended(&a_try(0, 1, 1, 9), &Keys::default());
        assert!(proof.flying.is_empty() && proof.ended.is_empty());
        assert_eq!(proof.close(), Proven::default());
    }
}
