//! What runs share, in the numbers of the store. Floor 4: doors.

use std::time::Duration;

use serde::Serialize;
use twox_hash::XxHash3_128;

use crate::engine::share::Common;
use crate::error::Problem;
use crate::limit::{Anchor, Counts, KeyBy, Leaves, Promise, Setting, Spec};
use crate::units::{Cost, gcd, nanos};

/// What is shared, under which name, and how the store is to be used.
#[derive(Debug, Clone)]
pub struct Shared {
    /// All who give this name share these limits.
    pub name: String,
    /// The limits, in the order of the command line.
    pub limits: Vec<(Common, Spec)>,
    /// How windows are kept that do not say it themselves.
    pub setting: Setting,
    /// Tries in flight of all together.
    pub slots: Option<Cost>,
    /// By which keys, beside the origin, is kept apart what all learn of the limits of servers; `None`: nothing is learnt.
    pub learnt_per: Option<Vec<KeyBy>>,
    /// How long ago a try may be charged for.
    pub slack: Duration,
    /// How long a try that was granted takes to be sent at most.
    pub sends: Duration,
    /// The same to the head of its answer.
    pub hold: Duration,
    /// How long one command may take.
    pub timeout: Duration,
}

/// The script counts with whole numbers that a double holds exactly. A full bucket, twice, is below this.
pub(super) const EXACT: u64 = 1 << 52;
/// The most that one limit counts: products of two counts and fifteen bits stay exact.
const COUNT: u64 = 1 << 36;
/// The longest period, 35 years: added to any date of ours it stays exact.
const PERIOD: u64 = 1 << 50;

/// The rule of what is learnt.
pub(super) const LEARNT: &str = "learnt";

/// A slot that is held comes free after so long unless it is renewed.
pub(super) const SLOT_LASTS: Duration = Duration::from_secs(15);

/// What tells that a data base was emptied is kept for so long at least, in microseconds: a store that hung has not lost
/// anything.
const AT_LEAST: u64 = 60_000_000;

/// Who waits for units asks again after so long: those who hold some may give them back.
const POLL_UNITS: Duration = Duration::from_millis(100);
/// The same for requests: only what was never sent comes back.
const POLL_REQUESTS: Duration = Duration::from_secs(1);

/// One limit as the script has it. Spans are microseconds.
#[derive(Debug, Clone, Serialize)]
struct Rule {
    kind: &'static str,
    /// So many per period, as they are.
    count: u64,
    period: u64,
    /// The most that fits at once.
    most: u64,
    /// Bucket: what flows in each microsecond, levels to a unit, the level that is full, that at the start.
    c: u64,
    p: u64,
    full: u64,
    start: u64,
    /// Window: kept so much longer; on its way for at most so long.
    guard: u64,
    hold: u64,
    /// Fixed: windows begin with a take.
    first: bool,
    /// Slots: one that is held lasts so long.
    ttl: u64,
    /// Who waits asks again after so long.
    poll: u64,
    /// What it counts and by which key: others must mean the same.
    counts: &'static str,
    per: String,
}

/// What is shared, checked, as the store keeps it.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// The limits for the script.
    pub(super) limits: String,
    /// The same for people.
    pub(super) text: String,
    /// The same one by one, and how the keys of each begin.
    pub(super) texts: String,
    pub(super) stems: String,
    /// Tells these from others.
    pub(super) hash: String,
    /// The longest time, in microseconds, that anything counts.
    pub(super) kept: u64,
    rows: Vec<Row>,
}

/// A limit by its place in the script's list.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) of: Common,
    /// How its keys begin.
    pub(super) stem: String,
    /// Whether it has a log beside its state.
    pub(super) log: bool,
    /// Whether it heeds when a try left.
    pub(super) heeds_moves: bool,
    /// Whether it is learnt.
    pub(super) learns: bool,
    /// The most that one try may cost of it, so that numbers stay exact; what is above is owed as this.
    pub(super) dearest: u64,
    /// The most that fits at once.
    pub(super) most: u64,
}

impl Shared {
    /// The limits in the numbers of the script; a limit that it cannot count exactly is refused.
    pub(super) fn terms(&self) -> Result<Terms, Problem> {
        let plain = |letter: char| !letter.is_control() && !"{}".contains(letter);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            let name = &self.name;
            return Err(Problem::usage(
                format!("--redis-key {name:?} is no name"),
                "give it at least one letter, and none of { and }",
            ));
        }
        let rules = self
            .limits
            .iter()
            .map(|(of, spec)| Ok((*of, self.rule(spec)?)));
        let mut rules = rules.collect::<Result<Vec<_>, Problem>>()?;
        let texts = self.limits.iter().map(|(_, spec)| told(spec));
        let mut texts: Vec<_> = texts.collect();
        if let Some(slots) = self.slots {
            rules.push((Common::Slots, slot_rule(slots)));
            texts.push(format!("{} slots", slots.get()));
        }
        let mut text = texts.join(", ");
        if let Some(keys) = &self.learnt_per {
            let keys = keys.iter().map(ToString::to_string);
            let keys = keys.collect::<Vec<_>>().join(" ");
            for counts in Counts::ALL {
                rules.push((Common::Learnt(counts), learnt_rule(counts, &keys)));
                texts.push(format!("--adaptive {}", counts.word()));
            }
            let and = if text.is_empty() { "" } else { ", " };
            text = format!("{text}{and}--adaptive");
        }
        let rows = rules.iter().enumerate();
        let rows = rows.map(|(place, (of, rule))| Row::new(&self.name, place, *of, rule));
        let rows: Vec<_> = rows.collect();
        let stems: Vec<_> = rows.iter().map(|row| &row.stem).collect();
        let kept = rules.iter().map(|(_, rule)| rule.kept()).max();
        let rules: Vec<_> = rules.iter().map(|(_, rule)| rule).collect();
        let limits = as_json(&rules);
        Ok(Terms {
            hash: format!("{:032x}", XxHash3_128::oneshot(limits.as_bytes())),
            limits,
            text,
            texts: as_json(&texts),
            stems: as_json(&stems),
            kept: kept.unwrap_or(0).max(AT_LEAST),
            rows,
        })
    }

    fn rule(&self, spec: &Spec) -> Result<Rule, Problem> {
        let count = spec.rate.count.get();
        let period = nanos(spec.rate.period);
        let refused = |why: String| {
            Problem::usage(
                format!("limit `{spec}` cannot be shared through Redis: {why}"),
                "write it with smaller numbers, or in a longer unit of time",
            )
        };
        if !period.is_multiple_of(1_000) {
            return Err(refused(
                "its period is no whole number of microseconds".to_owned(),
            ));
        }
        let period = period / 1_000;
        let shared = gcd(count, period);
        let (c, p) = (count / shared, period / shared);
        let full = spec.burst.get().saturating_mul(p);
        let bounds: &[(u64, u64, &str)] = if spec.kind.has_burst() {
            &[
                (
                    full,
                    EXACT / 4,
                    "its burst times its period in microseconds",
                ),
                (c, EXACT >> 21, "its count"),
            ]
        } else {
            &[(count, COUNT, "its count")]
        };
        let period_bound = (period, PERIOD, "its period in microseconds");
        for (number, most, what) in bounds.iter().chain([&period_bound]) {
            if number > most {
                return Err(refused(format!("{what} is {number}, at most {most}")));
            }
        }
        // A grant is used when it is heard of, which is within one command.
        let hold = self.timeout
            + self.slack
            + match spec.leaves {
                Leaves::Send => self.sends,
                Leaves::Reply => self.hold,
            };
        let poll = if spec.counts.is_units() {
            POLL_UNITS
        } else {
            POLL_REQUESTS
        };
        let per = spec.per.as_ref();
        Ok(Rule {
            kind: match spec.kind.promise() {
                Promise::Flow => "bucket",
                Promise::AnyPeriod => "window",
                Promise::TwoPeriods => "counter",
                Promise::OwnPeriods => "fixed",
            },
            // Of buckets only the ratio tells: 600 a minute are 10 a second.
            count: if spec.kind.has_burst() { c } else { count },
            period: if spec.kind.has_burst() { p } else { period },
            most: spec.burst.get(),
            c,
            p,
            full,
            start: spec.start.min(spec.burst.get()).saturating_mul(p),
            guard: micros(self.setting.guard(spec)),
            hold: micros(hold),
            first: spec.anchor == Anchor::First,
            ttl: 0,
            poll: micros(poll),
            counts: spec.counts.word(),
            per: per.map(ToString::to_string).unwrap_or_default(),
        })
    }
}

/// Slots are asked for by time alone.
fn slot_rule(slots: Cost) -> Rule {
    Rule {
        kind: "slots",
        count: slots.get(),
        period: 0,
        most: slots.get(),
        c: 0,
        p: 0,
        full: 0,
        start: 0,
        guard: 0,
        hold: 0,
        first: false,
        ttl: micros(SLOT_LASTS),
        poll: 0,
        counts: "slots",
        per: String::new(),
    }
}

/// A limit for those who do not see how it was given: with its unit of time.
fn told(spec: &Spec) -> String {
    let mut spec = spec.clone();
    spec.rate.written = spec.rate.with_unit();
    spec.to_string()
}

/// What is learnt has its numbers in its state, one for each lane.
fn learnt_rule(counts: Counts, keys: &str) -> Rule {
    Rule {
        kind: LEARNT,
        count: 0,
        most: COUNT,
        ttl: 0,
        poll: micros(POLL_REQUESTS),
        counts: counts.word(),
        per: format!("lane {keys}"),
        ..slot_rule(Cost::ONE)
    }
}

impl Rule {
    /// How long anything of it counts at most.
    fn kept(&self) -> u64 {
        let filling = self.full.checked_div(self.c).unwrap_or(0);
        let windows = self.period.saturating_mul(2) + self.guard + self.hold;
        filling.max(windows).max(self.ttl)
    }
}

impl Row {
    fn new(name: &str, place: usize, of: Common, rule: &Rule) -> Self {
        // Other limits under the same name have states of their own.
        let hash = XxHash3_128::oneshot(as_json(rule).as_bytes());
        Self {
            of,
            stem: format!("shaper:{{{name}}}:{place}-{:08x}", hash & 0xffff_ffff),
            log: matches!(rule.kind, "window" | "slots"),
            heeds_moves: rule.kind == "window",
            learns: rule.kind == LEARNT,
            dearest: (EXACT / 2).checked_div(rule.p).unwrap_or(COUNT),
            most: rule.most,
        }
    }
}

impl Terms {
    /// Which row of the script's list a limit is.
    pub(super) fn place(&self, of: Common) -> Option<usize> {
        self.rows.iter().position(|row| row.of == of)
    }

    pub(super) fn row(&self, place: usize) -> &Row {
        &self.rows[place]
    }
}

/// Microseconds, rounded up: what is kept is kept long enough.
pub(super) fn micros(span: Duration) -> u64 {
    nanos(span).div_ceil(1_000)
}

pub(super) fn as_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts are JSON")
}
