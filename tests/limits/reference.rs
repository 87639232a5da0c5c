//! Each limit once more, from the rules R1 to R7 and by brute force: every event is kept, nothing is forgotten
//! but what a rule forgets. It shares no code with the limits that it judges.

use std::collections::BTreeMap;

/// By which rule a reference counts. Moments and spans are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `min(burst, level + elapsed x count / period)`.
    Bucket { burst: i128, start: i128 },
    /// A sliding log: an event at e is inside the window that ends at t iff t - period < e.
    Window,
    /// The two-window counter; the first window began so long before zero.
    Counter { phase: i128 },
    /// Windows `[k x period, (k + 1) x period)`; the first one began so long before zero.
    Fixed { phase: i128 },
    /// Windows that begin with the first event, and anew with the first one at or after their end.
    First,
    /// So many in flight.
    Slots,
}

/// When a cost fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(i128),
    OnRelease,
    Never,
}

/// One take and what became of it.
#[derive(Debug, Clone)]
struct Event {
    at: i128,
    cost: i128,
    /// When it was sent; `None` while it is on its way.
    sent: Option<i128>,
    /// What it has used, once that is settled.
    used: Option<i128>,
    /// Starts of the windows in a row that pay, in order, with what each pays.
    paid: Vec<(i128, i128)>,
    /// How many of its parts have left a sliding window for ever.
    forgotten: i128,
}

/// What happened to a bucket, in the order in which it was told.
#[derive(Debug, Clone, Copy)]
enum Step {
    Take { at: i128, event: usize },
    Owe { at: i128, units: i128 },
}

/// A window of a row: what it counts, and whether an event began in it.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    units: i128,
    own: bool,
}

/// A limit with all that ever happened to it.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    pub(crate) rule: Rule,
    pub(crate) count: i128,
    pub(crate) period: i128,
    /// How much longer than its period a sliding window is kept.
    pub(crate) guard: i128,
    events: Vec<Event>,
    steps: Vec<Step>,
    row: BTreeMap<i128, Load>,
}

impl Reference {
    pub(crate) fn new(rule: Rule, count: i128, period: i128) -> Self {
        Self {
            rule,
            count,
            period,
            guard: 0,
            events: Vec::new(),
            steps: Vec::new(),
            row: BTreeMap::new(),
        }
    }

    /// The most that fits at once.
    pub(crate) fn capacity(&self) -> i128 {
        match self.rule {
            Rule::Bucket { burst, .. } => burst,
            Rule::Window
            | Rule::Counter { .. }
            | Rule::Fixed { .. }
            | Rule::First
            | Rule::Slots => self.count,
        }
    }

    /// R2: the smallest moment from `from` on at which it is ready.
    pub(crate) fn ready(&self, from: i128, cost: i128) -> When {
        if cost > self.capacity() {
            return When::Never;
        }
        match self.rule {
            Rule::Bucket { .. } => {
                let level = self.level(from);
                first(from, |t| {
                    level + (t - from) * self.count >= cost * self.period
                })
            }
            Rule::Window => {
                let ends = self.inside(from).into_iter();
                let ends = ends.map(|(sent, _)| sent + self.period + self.guard);
                self.earliest_of(from, ends, cost)
            }
            Rule::Fixed { .. } | Rule::First => {
                let ends = self.row.keys().map(|start| start + self.period);
                self.earliest_of(from, ends, cost)
            }
            Rule::Counter { phase } => {
                let mut start = (from + phase) / self.period * self.period - phase;
                loop {
                    let (begins, end) = (from.max(start), start + self.period);
                    let (previous, current) = self.pair(start);
                    let fits = |t| self.counter_fits(previous, current, t - start, cost);
                    if fits(end - 1) {
                        return first(begins, fits);
                    }
                    start = end;
                }
            }
            Rule::Slots if self.fits(from, from, cost) => When::At(from),
            Rule::Slots => When::OnRelease,
        }
    }

    /// All that was taken has been sent, or has ended.
    pub(crate) fn nothing_flies(&self) -> bool {
        self.events.iter().all(|event| event.sent.is_some())
    }

    /// The most that fits at `at`.
    pub(crate) fn remaining(&self, at: i128) -> i128 {
        let costs = 1..=self.capacity();
        costs.take_while(|&cost| self.fits(at, at, cost)).count() as i128
    }

    fn earliest_of(&self, from: i128, ends: impl Iterator<Item = i128>, cost: i128) -> When {
        let moments = ends.filter(|&end| end > from).chain([from]);
        let mut moments: Vec<i128> = moments.collect();
        moments.sort_unstable();
        let first = moments.into_iter().find(|&t| self.fits(t, from, cost));
        When::At(first.expect("when all have left, it fits"))
    }

    /// Whether `cost` fits at `t`, if it is `now`.
    fn fits(&self, t: i128, now: i128, cost: i128) -> bool {
        match self.rule {
            Rule::Bucket { .. } => self.level(t) >= cost * self.period,
            Rule::Window => {
                let inside = self.inside(now).into_iter();
                let inside = inside.filter(|(sent, _)| t - (self.period + self.guard) < *sent);
                inside.map(|(_, units)| units).sum::<i128>() + cost <= self.count
            }
            Rule::Fixed { .. } | Rule::First => {
                let load = self.row.range(t - self.period + 1..=t).next_back();
                load.map_or(0, |(_, load)| load.units) + cost <= self.count
            }
            Rule::Counter { phase } => {
                let start = (t + phase) / self.period * self.period - phase;
                let (previous, current) = self.pair(start);
                self.counter_fits(previous, current, t - start, cost)
            }
            Rule::Slots => {
                let taken = self.events.iter().filter(|event| event.used.is_none());
                taken.map(|event| event.cost).sum::<i128>() + cost <= self.count
            }
        }
    }

    fn pair(&self, start: i128) -> (i128, i128) {
        let units = |start| self.row.get(&start).map_or(0, |load| load.units);
        (units(start - self.period), units(start))
    }

    /// The part of the previous window that is still inside, and this one, are not above the count.
    fn counter_fits(&self, previous: i128, current: i128, over: i128, cost: i128) -> bool {
        previous * (self.period - over) + (current + cost) * self.period <= self.count * self.period
    }

    /// The level of a bucket at `t`, in units x period, from all that ever happened to it.
    fn level(&self, t: i128) -> i128 {
        let Rule::Bucket { burst, start } = self.rule else {
            unreachable!("only buckets have a level");
        };
        let full = burst * self.period;
        let (mut level, mut last) = (start * self.period, 0);
        let grown = |level: i128, span: i128| (level + span * self.count).min(full);
        for step in &self.steps {
            let (Step::Take { at, .. } | Step::Owe { at, .. }) = *step;
            level = grown(level, at - last);
            last = at;
            match *step {
                // What was given back has never been taken.
                Step::Take { event, .. } => {
                    let Event { cost, used, .. } = self.events[event];
                    level -= used.unwrap_or(cost).min(cost) * self.period;
                }
                Step::Owe { units, .. } => {
                    level -= (units * self.period).min((level + full).max(0));
                }
            }
        }
        grown(level, t - last)
    }

    /// What stands in the log of a sliding window and when it was sent; what is on its way is sent `now`. A
    /// cost above the count stands in the following periods too.
    fn inside(&self, now: i128) -> Vec<(i128, i128)> {
        let mut inside = Vec::new();
        for event in &self.events {
            let at = event.sent.unwrap_or(now);
            let units = event.used.unwrap_or(event.cost);
            let each = if event.cost > self.count {
                self.count
            } else {
                units
            };
            let parts = if units > each { units / each } else { 0 };
            for nth in event.forgotten..=parts {
                let left = (units - nth * each).min(each);
                inside.push((at + nth * self.period, left));
            }
        }
        inside
    }

    pub(crate) fn take(&mut self, at: i128, cost: i128) -> usize {
        let mut paid = Vec::new();
        match self.rule {
            Rule::Bucket { .. } => {
                let event = self.events.len();
                self.steps.push(Step::Take { at, event });
            }
            Rule::Window => self.forget(at),
            Rule::Slots => {}
            Rule::Counter { phase } | Rule::Fixed { phase } => {
                paid = self.pay((at + phase) / self.period * self.period - phase, cost);
            }
            Rule::First => {
                let open = self.row.range(at - self.period + 1..=at).next_back();
                paid = self.pay(open.map_or(at, |(start, _)| *start), cost);
            }
        }
        self.events.push(Event {
            at,
            cost,
            sent: None,
            used: None,
            paid,
            forgotten: 0,
        });
        self.events.len() - 1
    }

    /// Charges the window that began at `start`, and the following ones with what is above the count.
    fn pay(&mut self, mut start: i128, cost: i128) -> Vec<(i128, i128)> {
        let mut paid = Vec::new();
        let mut left = cost;
        self.row.entry(start).or_default().own = true;
        while left > 0 {
            let units = left.min(self.count);
            self.row.entry(start).or_default().units += units;
            paid.push((start, units));
            left -= units;
            start += self.period;
        }
        paid
    }

    /// What has left a sliding window by now stays away, even if the guard grows.
    pub(crate) fn forget(&mut self, now: i128) {
        let kept = self.period + self.guard;
        for event in &mut self.events {
            let Some(sent) = event.sent else { continue };
            let parts = (now - kept - sent + self.period) / self.period;
            event.forgotten = event.forgotten.max(parts);
        }
    }

    pub(crate) fn sent(&mut self, event: usize, at: i128) {
        self.events[event].sent = Some(at);
    }

    /// R7: back goes only into what paid; above the reserve is owed.
    pub(crate) fn settle(&mut self, event: usize, at: i128, used: i128) {
        let event = &mut self.events[event];
        event.sent = event.sent.or(Some(event.at));
        event.used = Some(used);
        let back = event.cost - used;
        if let (Rule::Bucket { .. }, true) = (self.rule, back < 0) {
            self.steps.push(Step::Owe { at, units: -back });
        }
        let mut left = back;
        for (start, paid) in event.paid.iter().rev() {
            let load = self.row.get_mut(start).expect("it was paid there");
            let units = left.min(*paid);
            load.units -= units;
            left -= units;
            if load.units == 0 && !load.own {
                self.row.remove(start);
            }
        }
    }
}

/// The first moment from `from` on at which something holds that stays so.
fn first(from: i128, holds: impl Fn(i128) -> bool) -> When {
    let (mut low, mut span) = (from, 1);
    while !holds(low + span - 1) {
        span *= 2;
    }
    let mut high = low + span - 1;
    while low < high {
        let middle = i128::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    When::At(low)
}
