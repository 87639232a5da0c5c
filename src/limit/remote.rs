//! A limit whose state is in a store that several processes share: here it is known only until when that has refused.
//! Floor 3: rules.

use super::adaptive::KEPT;
use super::debts::Debts;
use super::meter::later;
use super::{Hold, Known, Learnt, Lesson, Level, Limit, Moment, NeverFits, Ready, Receipt, Used};
use crate::units::{Cost, Rate, Tick, nanos};

/// Everything fits that the store has not refused: it is asked. Alone, without the store, another limit stands in.
#[derive(Debug)]
pub struct Remote {
    most: Cost,
    of: Of,
    /// Nothing fits before.
    shut: Tick,
    stand_in: Option<Box<dyn Limit>>,
    /// What was taken of the one that stands in.
    debts: Debts,
}

/// What the store holds.
#[derive(Debug)]
enum Of {
    /// So many per so many nanoseconds.
    Rate(u64, u64),
    Slots,
    /// What all together have learnt of a server's own limit, and when that was heard of.
    Learnt(Known, Tick),
}

impl Remote {
    /// A rate that lets so many through at once.
    pub fn rate(rate: &Rate, most: Cost) -> Self {
        Self {
            of: Of::Rate(rate.count.get(), nanos(rate.period)),
            ..Self::slots(most)
        }
    }

    /// What is learnt of a server's own limit.
    pub fn learnt() -> Self {
        Self {
            of: Of::Learnt(Known::default(), Tick::ZERO),
            ..Self::slots(Cost::MAX)
        }
    }

    /// When nothing matters any more that was taken then: a window that lies behind another has passed, and a bucket is full.
    fn grown_at(&self, taken: Tick) -> Tick {
        let span = match self.of {
            Of::Rate(count, period) => {
                let filling = u128::from(self.most.get()) * u128::from(period) / u128::from(count);
                filling.max(2 * u128::from(period))
            }
            Of::Slots => 0,
            Of::Learnt(..) => KEPT.as_nanos(),
        };
        later(taken, span)
    }

    /// So many slots.
    pub fn slots(most: Cost) -> Self {
        Self {
            most,
            of: Of::Slots,
            shut: Tick::ZERO,
            stand_in: None,
            debts: Debts::default(),
        }
    }
}

/// What has to be there of a part of the limit: of a cost above it, all of it, and the rest is owed.
fn within(limit: &dyn Limit, from: Tick, cost: Cost) -> Cost {
    match limit.ready(from, cost) {
        Ready::Never(NeverFits { capacity, .. }) => Cost::new(capacity).unwrap_or(Cost::ONE),
        Ready::At(_) | Ready::OnRelease => cost,
    }
}

impl Limit for Remote {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        match &self.stand_in {
            Some(limit) => limit.ready(from, within(&**limit, from, cost)),
            None => Ready::At(from.max(self.shut)),
        }
    }

    /// What a job before this one leaves is known to the store alone, which keeps to the order in which it is asked.
    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        match &self.stand_in {
            Some(limit) => limit.ready_after(from, taken, within(&**limit, from, cost)),
            None => Ready::At(from.max(self.shut)),
        }
    }

    /// As if nobody else took anything, and all of it were there.
    fn earliest(&self, from: Tick, total: u128) -> Tick {
        if let Some(limit) = &self.stand_in {
            return limit.earliest(from, total);
        }
        let beyond = total.saturating_sub(self.most.get().into());
        let span = match self.of {
            Of::Rate(count, period) => beyond.saturating_mul(period.into()) / u128::from(count),
            Of::Slots | Of::Learnt(..) => 0,
        };
        later(from.max(self.shut), span)
    }

    fn fresh_at(&self) -> Option<Tick> {
        let Some(limit) = &self.stand_in else {
            return Some(match &self.of {
                Of::Learnt(known, heard_at) if *known != Known::default() => {
                    self.shut.max(heard_at.after(KEPT))
                }
                Of::Rate(..) | Of::Slots | Of::Learnt(..) => self.shut,
            });
        };
        let owed = self.debts.last().map(|last| self.grown_at(last));
        Some(limit.fresh_at()?.max(owed.unwrap_or_default()))
    }

    /// The most that may be left.
    fn level(&mut self, at: Tick) -> Level {
        if let Some(limit) = &mut self.stand_in {
            return limit.level(at);
        }
        let is_shut = at < self.shut;
        Level {
            remaining: if is_shut { 0 } else { self.most.get() },
            full_at: Some(at.max(self.shut)),
        }
    }

    fn charge(&mut self, at: Tick, cost: Cost) -> Receipt {
        let Some(limit) = &mut self.stand_in else {
            return Receipt { at, entry: 0 };
        };
        if !matches!(self.of, Of::Slots) {
            self.debts.add(at, cost.get(), self.most);
        }
        limit.charge(at, cost)
    }

    fn moved(&mut self, hold: &mut Hold, at: Tick) {
        if let Some(limit) = &mut self.stand_in {
            let moved = self.debts.strike(hold.at, hold.cost.get());
            self.debts.add(at, moved, self.most);
            limit.moved(hold, at);
        }
    }

    fn settle(&mut self, hold: Hold, at: Tick, used: Used) {
        if let Some(limit) = &mut self.stand_in {
            let (cost, used_of_it) = (hold.cost.get(), used.of(hold.cost.get()));
            self.debts.strike(hold.at, cost.saturating_sub(used_of_it));
            self.debts
                .add(at, used_of_it.saturating_sub(cost), self.most);
            limit.settle(hold, at, used);
        }
    }

    fn settles_on(&self) -> Moment {
        match self.of {
            Of::Rate(..) | Of::Learnt(..) => Moment::Ended,
            Of::Slots => Moment::Recorded,
        }
    }

    /// The store is told, and with it all; what an answer here tells is what is known here until then.
    fn learn(&mut self, lesson: &Lesson) -> Option<Learnt> {
        if let Some(limit) = &mut self.stand_in {
            return limit.learn(lesson);
        }
        if let (Of::Learnt(known, heard_at), Lesson::Told(said)) = (&mut self.of, lesson) {
            known.hears(said);
            *heard_at = said.at;
        }
        None
    }

    fn begins_with(&mut self, known: &Known, at: Tick) {
        if let Of::Learnt(own, heard_at) = &mut self.of {
            own.clone_from(known);
            *heard_at = at;
        }
    }

    /// What was refused behind others has a later moment than they.
    fn shut(&mut self, now: Tick, until: Tick) {
        self.shut = if self.shut > now {
            self.shut.min(until)
        } else {
            until
        };
    }

    /// What has refused it knows nothing of the one that stands in, nor after that.
    fn stands_in(&mut self, limit: Option<Box<dyn Limit>>, now: Tick) -> Vec<(Tick, Cost)> {
        self.stand_in = limit;
        if let (Some(limit), Of::Learnt(known, _)) = (&mut self.stand_in, &self.of) {
            limit.begins_with(known, now);
        }
        self.shut = Tick::ZERO;
        self.debts.told()
    }
}

/// No limit: what stands in where a run is to go on without.
#[derive(Debug)]
pub struct Free(pub Moment);

impl Limit for Free {
    fn ready(&self, from: Tick, _cost: Cost) -> Ready {
        Ready::At(from)
    }

    fn ready_after(&self, from: Tick, _taken: Cost, _cost: Cost) -> Ready {
        Ready::At(from)
    }

    fn earliest(&self, from: Tick, _total: u128) -> Tick {
        from
    }

    fn fresh_at(&self) -> Option<Tick> {
        Some(Tick::ZERO)
    }

    fn level(&mut self, at: Tick) -> Level {
        Level {
            remaining: u64::MAX,
            full_at: Some(at),
        }
    }

    fn charge(&mut self, at: Tick, _cost: Cost) -> Receipt {
        Receipt { at, entry: 0 }
    }

    fn settle(&mut self, _hold: Hold, _at: Tick, _used: Used) {}

    fn settles_on(&self) -> Moment {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Setting, Spec};
    use super::*;

    fn spec() -> Spec {
        "10/s burst=10".parse().unwrap()
    }

    #[test]
    fn everything_fits_that_was_not_refused() {
        let spec = spec();
        let mut limit = Remote::rate(&spec.rate, spec.burst);
        assert_eq!(limit.ready(Tick(5), Cost::ONE), Ready::At(Tick(5)));
        limit.shut(Tick(0), Tick(700));
        limit.shut(Tick(0), Tick(900));
        assert_eq!(limit.ready(Tick(5), Cost::ONE), Ready::At(Tick(700)));
        assert_eq!(limit.level(Tick(699)).remaining, 0);
        assert_eq!(limit.ready(Tick(900), Cost::ONE), Ready::At(Tick(900)));
        // Ten at once, then one in 100 ms, and all of that after the refusal.
        assert_eq!(limit.earliest(Tick(0), 12), Tick(200_000_700));
    }

    #[test]
    fn what_stands_in_decides_alone_and_begins_empty() {
        let spec = spec();
        let mut limit = Remote::rate(&spec.rate, spec.burst);
        limit.shut(Tick(0), Tick(u64::MAX));
        let quarter = spec.share_of(4, Tick(1_000), &Setting::VIRTUAL);
        limit.stands_in(Some(quarter), Tick(1_000));
        // A quarter of 10/s, and nothing of it is there.
        let first = Tick(1_000).after(Duration::from_millis(400));
        assert_eq!(limit.ready(Tick(1_000), Cost::ONE), Ready::At(first));
        limit.stands_in(None, Tick(1_000));
        assert_eq!(limit.ready(Tick(1_000), Cost::ONE), Ready::At(Tick(1_000)));
    }

    #[test]
    fn a_cost_above_the_part_goes_when_the_part_is_full_and_owes_the_rest() {
        let spec = spec();
        let mut limit = Remote::rate(&spec.rate, spec.burst);
        let quarter = spec.share_of(4, Tick::ZERO, &Setting::VIRTUAL);
        limit.stands_in(Some(quarter), Tick::ZERO);
        let (eight, one) = (Cost::new(8).unwrap(), Tick(400_000_000));
        // Two units at 2.5/s; then 6 are owed, and one more has to come.
        assert_eq!(limit.ready(Tick::ZERO, eight), Ready::At(Tick(2 * one.0)));
        limit.take(Tick(2 * one.0), eight);
        let next = limit.ready(Tick(2 * one.0), Cost::ONE);
        assert_eq!(next, Ready::At(Tick(9 * one.0)));
    }

    #[test]
    fn shares_of_a_limit_are_together_no_more_than_it() {
        for text in [
            "10/s",
            "3/s burst=7",
            "2/1m window",
            "9/s window",
            "5/s fixed",
            "5/s window-counter",
        ] {
            let spec: Spec = text.parse().unwrap();
            for members in [1, 2, 4, 9] {
                let now = Tick(3_000_000_000);
                let end = now.after(Duration::from_secs(600));
                let mut limit = spec.share_of(members, now, &Setting::VIRTUAL);
                let (mut at, mut sends) = (now, 0_u64);
                while let Ready::At(next) = limit.ready(at, Cost::ONE) {
                    if next > end {
                        break;
                    }
                    let mut hold = limit.take(next, Cost::ONE);
                    limit.moved(&mut hold, next);
                    limit.settle(hold, next, Used::Unknown);
                    (at, sends) = (next, sends + 1);
                }
                let all = u64::from(members) * sends;
                let each = spec.rate.count.get();
                let most = (600 / spec.rate.period.as_secs() + 1) * each;
                assert!(
                    sends > 0 && all <= most + u64::from(members) * each,
                    "{text} / {members}: {all} of {most}"
                );
            }
        }
    }
}
