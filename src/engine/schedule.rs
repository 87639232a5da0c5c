//! The schedule: when each job should go by the request limits alone. Floor 3: rules.

use std::collections::VecDeque;

use super::rules::{Arrivals, Rules};
use crate::limit::{Counts, Limit, Ready, Spec, Used};
use crate::units::{Cost, Tick};

/// Due times: request limits that start with the run and know nothing of slots, units, pauses or the
/// server. Shifted only while the input had no line ready.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Arrivals,
    limits: Vec<Box<dyn Limit>>,
    last: Tick,
    /// Lines asked for and not yet here: since when, and how many.
    asks: VecDeque<(Tick, usize)>,
}

impl Schedule {
    pub(super) fn new(rules: &Rules) -> Self {
        let ours = |spec: &&Spec| spec.counts == Counts::Requests && spec.per.is_none();
        let limits = match rules.arrivals {
            Arrivals::Closed => rules.limits.iter().filter(ours),
            Arrivals::Once => [].iter().filter(ours),
        };
        Self {
            arrivals: rules.arrivals,
            limits: limits.map(|spec| spec.build(&rules.setting)).collect(),
            last: Tick::ZERO,
            asks: VecDeque::new(),
        }
    }

    /// More lines are wanted from `now` on.
    pub(super) fn asked(&mut self, now: Tick, lines: usize) {
        if self.asks.is_empty() && self.last == Tick::ZERO {
            self.last = now;
        }
        self.asks.push_back((now, lines));
    }

    /// The next line came and had been ready at `ready_at`: later than it was asked for, the input was
    /// what held it.
    pub(super) fn read(&mut self, ready_at: Tick) {
        let Some((asked_at, lines)) = self.asks.front_mut() else {
            return;
        };
        let starved = ready_at > *asked_at;
        *lines -= 1;
        if *lines == 0 {
            self.asks.pop_front();
        }
        if starved && self.arrivals == Arrivals::Closed {
            self.last = self.last.max(ready_at);
        }
    }

    /// The moment at which the job that was just read is due; `None` without a request limit: then it
    /// is due when it is granted.
    pub(super) fn due(&mut self) -> Option<Tick> {
        if self.arrivals == Arrivals::Once {
            return Some(self.last);
        }
        if self.limits.is_empty() {
            return None;
        }
        for limit in &self.limits {
            match limit.ready(self.last, Cost::ONE) {
                Ready::At(at) => self.last = at,
                Ready::OnRelease | Ready::Never(_) => {}
            }
        }
        for limit in &mut self.limits {
            let mut hold = limit.take(self.last, Cost::ONE);
            limit.moved(&mut hold, self.last);
            limit.settle(hold, self.last, Used::Unknown);
        }
        Some(self.last)
    }
}
