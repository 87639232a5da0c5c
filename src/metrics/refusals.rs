//! Why a server refuses though every own limit holds: which reason the evidence speaks for. Floor 3: rules.

use std::cmp::Ordering;

use super::littles::{Cause, Theory, plain};
use super::setup::option_for;
use super::{AtOnce, Owner, Part, Setup, Stated, Summary};
use crate::limit::{Counts, Leaves, Promise, Spec};
use crate::units::Rate;

/// Of what the own limit allows: a server that lets through less, in per cent, has a stricter rule.
const LETS_THROUGH: f64 = 90.0;

/// Own limits were used up, or the server asked for pauses, in this share of the time, in per cent.
const USED_UP: f64 = 90.0;

/// Others use a limit if they took so many requests of it, and this share, in per cent: a few may have been counted
/// twice on their way.
const OTHERS: (u64, u64) = (10, 10);

/// Why it refuses, in the words that go on after a colon.
pub(super) fn why(summary: &Summary, setup: &Setup, theory: &Theory) -> String {
    stricter_told(summary, setup)
        .or_else(|| shared(summary, setup))
        .or_else(|| let_through(summary, setup, theory))
        .unwrap_or_else(|| {
            "the server's rule is stricter than yours, shared with others, or counted otherwise"
                .to_owned()
        })
}

/// The limit that the server tells, where none is set: `the server tells 60/m (requests): --rpm 60`.
pub(super) fn told(summary: &Summary) -> Option<String> {
    let strictest = strictest(summary, |_| true)?;
    Some(format!("the server tells {}", shown(strictest)))
}

/// The lowest limit that was told and may have refused, of those that pass.
fn strictest(summary: &Summary, passes: impl Fn(&Stated) -> bool) -> Option<&Stated> {
    let stated = summary.evidence.stated.iter();
    let near = stated.filter(|it| it.was_near() && passes(it));
    near.min_by(|one, other| slower(&one.rate, &other.rate))
}

/// `60/m (requests)`, and the option for it.
fn shown(stated: &Stated) -> String {
    let Stated { counts, rate, .. } = stated;
    let option = option_for(*counts, rate);
    format!("{rate} ({}): {option}", counts.word())
}

/// The server tells a limit below the own ones of its kind, or one that ran out and that nothing here keeps.
fn stricter_told(summary: &Summary, setup: &Setup) -> Option<String> {
    let own = |counts: Counts| setup.limits.iter().filter(move |own| own.counts == counts);
    let is_below = |it: &Stated| {
        let is_kept = own(it.counts).next().is_some();
        (is_kept || it.least.is_some()) && own(it.counts).all(|own| it.is_below(&own.rate))
    };
    let stated = strictest(summary, is_below)?;
    let lowest = own(stated.counts).min_by(|one, other| slower(&one.rate, &other.rate));
    Some(match lowest {
        Some(own) => {
            let (word, option) = (
                stated.counts.word(),
                option_for(stated.counts, &stated.rate),
            );
            let (rate, own) = (&stated.rate, normal(&own.rate));
            format!("the server tells {rate} ({word}), yours is {own}: {option}")
        }
        None => format!(
            "no limit of yours counts what the server tells, {}",
            shown(stated)
        ),
    })
}

/// A rate with its period in one unit, whatever it was written like: `100/m` for `100rpm`.
fn normal(rate: &Rate) -> String {
    let normal = Rate::new(rate.count.get(), rate.period);
    normal.as_ref().unwrap_or(rate).written.clone()
}

fn slower(one: &Rate, other: &Rate) -> Ordering {
    one.per_second().total_cmp(&other.per_second())
}

/// Of a limit of the server more is gone than was sent here.
fn shared(summary: &Summary, setup: &Setup) -> Option<String> {
    let taken = summary.evidence.taken;
    let share = taken.others.saturating_mul(100) / taken.counted.max(1);
    let used = taken.others >= OTHERS.0 && share >= OTHERS.1;
    let told = used && setup.runs == AtOnce::One;
    told.then(|| {
        format!(
            "others use the server's limit: of {} requests that it counted, {} were not sent here",
            taken.counted, taken.others
        )
    })
}

/// What it let through in the steady part, beside the lowest own limit on requests. One that asks for long pauses
/// after few refusals lets through less, however it counts.
#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn let_through(summary: &Summary, setup: &Setup, theory: &Theory) -> Option<String> {
    let stretch = &summary.stretch;
    if stretch.part != Part::Steady || stretch.refused == 0 {
        return None;
    }
    let (own, spec) = theory.ceilings.iter().find_map(|it| match it.cause {
        Cause::Limit(number, _) => Some((it.rate, setup.limits.get(number)?)),
        Cause::Slots(..) => None,
    })?;
    if spec.counts != Counts::Requests {
        return None;
    }
    let per_cent = |is_of: fn(Owner) -> bool| {
        let all = stretch.shares.iter();
        let spans = all.filter(|(owner, _)| is_of(*owner)).map(|share| share.1);
        let sum: f64 = spans.map(|span| span.as_secs_f64()).sum();
        sum / stretch.span().as_secs_f64() * 100.0 / setup.runs.count() as f64
    };
    let limits = per_cent(|owner| matches!(owner, Owner::Limit(_)));
    let pauses = per_cent(|owner| owner == Owner::Pause);
    if limits + pauses < USED_UP {
        return None;
    }
    let accepted = stretch.ended.saturating_sub(stretch.refused);
    let accepted = accepted as f64 / stretch.ended.max(1) as f64 * stretch.rate;
    let is_less = |rate: f64, than: f64| rate * 100.0 < than * LETS_THROUGH;
    // A window that is kept for longer than its period lets less go than its number.
    let sent = stretch.rate * 100.0 / limits;
    let own = if is_less(sent, own) { sent } else { own };
    let (rate, of, cure) = (plain(accepted), plain(own), counted_otherwise(spec));
    Some(if !is_less(accepted, own) {
        format!("the server counts otherwise, as it let through {rate}/s of your {of}/s: {cure}")
    } else if limits >= USED_UP {
        format!("the server is stricter, as it let through {rate}/s of your {of}/s: --qps {rate}")
    } else {
        format!(
            "the server let through {rate}/s of your {of}/s, with pauses {pauses:.0} % of the time: \
             it counts otherwise ({cure}), or is stricter (a lower --qps tells)"
        )
    })
}

/// The option that keeps to the same number in whatever windows it is counted.
fn counted_otherwise(spec: &Spec) -> String {
    let rate = normal(&spec.rate);
    match (spec.kind.promise(), spec.leaves) {
        (Promise::AnyPeriod, Leaves::Reply) => "only a lower number than yours is left".to_owned(),
        (Promise::AnyPeriod, Leaves::Send) => {
            format!("--limit \"{rate} window at=reply\" waits for its answers")
        }
        (Promise::Flow, _) if spec.burst.get() > 1 => {
            format!("--burst 1 sends none at once, --window {rate} holds in any window")
        }
        (Promise::Flow | Promise::TwoPeriods | Promise::OwnPeriods, _) => {
            format!("--window {rate} holds in any window")
        }
    }
}
