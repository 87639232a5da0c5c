//! The limits of a server as they are learnt from its answers. Floor 3: rules.

use std::time::Duration;

use super::pace::{Pace, Search};
use super::{Hold, Level, Limit, Ready, Used};
use crate::units::{Cost, Tick};

/// What one answer teaches.
#[derive(Debug, Clone, Copy)]
pub enum Lesson<'a> {
    /// A request that was granted then was taken.
    Accepted {
        /// Its grant.
        granted: Tick,
        /// When its answer began.
        at: Tick,
    },
    /// It was refused.
    Refused {
        /// Its grant.
        granted: Tick,
        /// When its answer began.
        at: Tick,
        /// When the server takes more again, if it says so.
        back: Option<Tick>,
    },
    /// The server tells how a limit stands.
    Told(&'a Standing<'a>),
}

impl Lesson<'_> {
    /// The server's name of the limit, where that is told.
    pub fn name(&self) -> &str {
        match self {
            Self::Told(said) => said.name,
            Self::Accepted { .. } | Self::Refused { .. } => "",
        }
    }
}

/// How a limit of a server stands, by what it says.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// When the answer began.
    pub at: Tick,
    /// The server's name of it.
    pub name: &'a str,
    /// The most that it holds.
    pub limit: Option<u64>,
    /// In which time that much may be taken.
    pub period: Option<Duration>,
    /// What is left of it.
    pub left: Option<u64>,
    /// When it is full again.
    pub full_at: Option<Tick>,
    /// Whether it comes back bit by bit until then, and not all at once.
    pub refills: bool,
}

/// What is known anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learnt {
    /// The server was found to take this much.
    Found(Pace, Why),
    /// It says that a limit of it is this: so many, in this time.
    Told(u64, Option<Duration>),
}

/// How a pace was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server refused more.
    Refused,
    /// It said that all was used up.
    UsedUp,
    /// It took what was asked for, and is asked for more.
    Accepted,
}

/// A limit that nobody has given: what the server's answers tell of it, and a pace that is found where it refuses.
#[derive(Debug, Default)]
pub struct Adaptive {
    search: Search,
    told: Vec<Told>,
    /// The next one may go then, by the pace.
    next: Tick,
    last: Tick,
    /// All that was ever taken.
    taken: u64,
    /// The same at the grant of the request whose answer began last: the server has counted so much.
    heard: u64,
    /// Requests that are not answered yet.
    flying: u64,
}

/// What the server has told of one limit.
#[derive(Debug)]
struct Told {
    name: Box<str>,
    at: Tick,
    limit: Option<u64>,
    period: Option<Duration>,
    left: Option<u64>,
    full_at: Option<Tick>,
    refills: bool,
    /// All that was taken when the request of that answer was granted,
    heard: u64,
    /// and what was taken since: the answer does not know of it.
    out: u64,
}

/// A limit of a longer period is not paced: who has few jobs waits for nothing, and for many it comes to the same.
const PACED: Duration = Duration::from_secs(60);

/// What is learnt is forgotten if nothing is sent for so long.
const KEPT: Duration = Duration::from_secs(600);

impl Told {
    /// The pace that it allows, where it is paced.
    fn paced(&self) -> Option<Pace> {
        let period = self.period.filter(|period| *period <= PACED)?;
        Some(Pace::of(self.limit?, period))
    }

    /// Until when what was told holds: one period of it after its reset, as far as that is known.
    fn ends(&self) -> Option<Tick> {
        let full_at = self.full_at?;
        let span = full_at.since(self.at).max(Duration::from_secs(1));
        Some(full_at.after(self.period.unwrap_or(span)))
    }

    /// From when on `cost` fits, not before `from`, if `more` is taken first.
    fn opens(&self, from: Tick, cost: u64, more: u64) -> Tick {
        let need = self.out.saturating_add(more).saturating_add(cost);
        let (Some(left), Some(full_at), Some(ends)) = (self.left, self.full_at, self.ends()) else {
            return from;
        };
        if need <= left || from >= ends {
            return from;
        }
        let limit = self.limit.unwrap_or(u64::MAX);
        let opens = if self.refills && limit > left && need <= limit {
            let span = u128::from(full_at.0.saturating_sub(self.at.0));
            let (lacks, all) = (need - left, limit - left);
            let wait = (u128::from(lacks) * span).div_ceil(all.into());
            Tick(
                self.at
                    .0
                    .saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)),
            )
        } else if need <= limit || self.out.saturating_add(more) == 0 {
            full_at
        } else {
            ends
        };
        opens.max(from)
    }
}

impl Adaptive {
    fn opens(&self, from: Tick, cost: Cost, more: u64) -> Tick {
        let mut from = from.max(self.last).max(self.next);
        if more > 0
            && let Some(pace) = self.search.pace()
        {
            from = from.after(pace.gap(more));
        }
        let each = self
            .told
            .iter()
            .map(|told| told.opens(from, cost.get(), more));
        each.fold(from, Tick::max)
    }

    fn hear(&mut self, said: &Standing<'_>) -> Option<Learnt> {
        let told = Told {
            name: said.name.into(),
            at: said.at,
            limit: said.limit,
            period: said.period,
            left: said.left,
            full_at: said.full_at,
            refills: said.refills,
            heard: self.heard,
            out: self.taken - self.heard,
        };
        let is_new = self.keep(told);
        let rates = self.told.iter().filter_map(Told::paced);
        if let Some(rate) = rates.min() {
            self.search.told(rate);
            if said.left.is_none() {
                // All of it at the very edge is one too many in every window.
                self.search.begins_with(rate.percent(99), said.at);
            }
        }
        if let (Some(0), false, Some(until)) = (said.left, said.refills, said.full_at)
            && self.search.used_up(said.at, until, said.limit)
        {
            return self.found(Why::UsedUp);
        }
        is_new.then_some(Learnt::Told(said.limit?, said.period))
    }

    /// Whether another limit is told by it than before. Answers overtake each other: what a later request was told
    /// holds.
    fn keep(&mut self, told: Told) -> bool {
        let Some(before) = self.told.iter_mut().find(|own| own.name == told.name) else {
            self.told.push(told);
            return true;
        };
        let is_new = (before.limit, before.period) != (told.limit, told.period);
        if told.heard >= before.heard {
            *before = told;
        }
        is_new
    }

    fn found(&self, why: Why) -> Option<Learnt> {
        Some(Learnt::Found(self.search.pace()?, why))
    }
}

impl Limit for Adaptive {
    fn ready(&self, from: Tick, cost: Cost) -> Ready {
        Ready::At(self.opens(from, cost, 0))
    }

    fn ready_after(&self, from: Tick, taken: Cost, cost: Cost) -> Ready {
        Ready::At(self.opens(from, cost, taken.get()))
    }

    fn earliest(&self, from: Tick, _total: u128) -> Tick {
        from.max(self.last).max(self.next)
    }

    fn fresh_at(&self) -> Option<Tick> {
        let ends = self.told.iter().filter_map(Told::ends);
        let kept = self.last.after(KEPT);
        (self.flying == 0).then(|| ends.fold(kept, Tick::max))
    }

    fn level(&mut self, at: Tick) -> Level {
        let opens = self.opens(at, Cost::ONE, 0);
        Level {
            remaining: u64::from(opens <= at),
            full_at: Some(opens),
        }
    }

    fn take(&mut self, at: Tick, cost: Cost) -> Hold {
        let at = at.max(self.last);
        self.search.grants(at);
        if let Some(pace) = self.search.pace() {
            self.next = at.after(pace.gap(cost.get()));
        }
        self.last = at;
        self.taken = self.taken.saturating_add(cost.get());
        self.flying += 1;
        for told in &mut self.told {
            told.out = told.out.saturating_add(cost.get());
        }
        let entry = self.taken;
        Hold { at, cost, entry }
    }

    /// The head of the answer is here: what it tells knows of this.
    fn moved(&mut self, hold: &mut Hold, _at: Tick) {
        self.heard = hold.entry;
        self.flying -= 1;
    }

    fn settle(&mut self, hold: Hold, _at: Tick, used: Used) {
        if used == Used::NeverSent {
            for told in &mut self.told {
                if told.heard < hold.entry {
                    told.out = told.out.saturating_sub(hold.cost.get());
                }
            }
        }
    }

    fn learn(&mut self, lesson: &Lesson<'_>) -> Option<Learnt> {
        match *lesson {
            Lesson::Accepted { granted, at } => {
                let before = self.search.pace();
                self.search.accepted(granted, at);
                (self.search.pace() != before).then(|| self.found(Why::Accepted))?
            }
            Lesson::Refused { granted, at, back } => self
                .search
                .refused(granted, at, back)
                .then(|| self.found(Why::Refused))?,
            Lesson::Told(said) => self.hear(said),
        }
    }
}
