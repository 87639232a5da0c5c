//! Whether the limits were kept: lines of a report, and values for programs. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::limit::{Counts, Leaves};
use crate::proof::{Grants, Mark, Minute, Most, Proved, Proven, Verdict};
use crate::units::{Tick, long_span, show_span};

/// The limits for programs; `place` is where a mark is told.
pub(super) fn limits(proven: &Proven, place: &dyn Fn(Mark) -> Value) -> Vec<Value> {
    let most = |most: &Most| {
        let ends = (most.sends > 0).then(|| (place(most.first), place(most.last)));
        let (first, last) = ends.unzip();
        json!({
            "sum": number(most.sum),
            "sends": most.sends,
            "first": first,
            "last": last,
            "key": most.key.as_deref(),
        })
    };
    let each = proven.limits.iter().map(|proved| {
        let (verdict, over) = match proved.verdict {
            Verdict::Kept => ("kept", 0),
            Verdict::IfClocksAgree => ("kept_if_clocks_agree", 0),
            Verdict::ByAnswers(over) => ("exceeded_by_answers", over),
            Verdict::ByOversized(over) => ("exceeded_by_oversized", over),
            Verdict::Exceeded(over) => ("exceeded", over),
        };
        json!({
            "name": *proved.limit.name,
            "spec": proved.limit.to_string(),
            "verdict": verdict,
            "over": number(over),
            "span_us": micros(proved.span),
            "promised": proved.promised,
            "most": most(&proved.most),
            "used": number(proved.used),
            "granted": proved.granted.as_ref().map(|granted| match granted {
                Grants::Stretch(stretch, allowed) => {
                    json!({ "most": most(stretch), "allowed": number(*allowed) })
                }
                Grants::Own(own) => json!({ "most": most(own) }),
                Grants::Around(around, length) => {
                    json!({ "most": most(around), "span_us": micros(*length) })
                }
            }),
        })
    });
    each.collect()
}

/// The worst minute for programs; null where no limit counts units.
pub(super) fn minute(proven: &Proven, place: &dyn Fn(Mark) -> Value) -> Value {
    proven.minute.as_ref().map_or(Value::Null, |minute| {
        let from = |most: &Most| (most.sends > 0).then(|| place(most.first));
        json!({
            "reserved": number(minute.promised.sum),
            "used": number(minute.used.sum),
            "reserved_first": from(&minute.promised),
            "used_first": from(&minute.used),
        })
    })
}

/// One line of the report of a run: `kept  --qps 10 (b + rT): 10 of at most 11 in any 1s (from +3.20 s)`.
pub(super) fn line(name: &str, proved: &Proved) -> String {
    let promise = proved.limit.kind.promise();
    format!(
        "{}  {name} ({promise}): {}",
        verdict(proved),
        fullest(proved)
    )
}

/// The fullest window: `10 of at most 11 in any 1s (from +3.20 s)`.
pub(super) fn fullest(proved: &Proved) -> String {
    let (unit, span) = (unit(proved.limit.counts), exact(proved.span));
    let (most, promised) = (&proved.most, proved.promised);
    let mut text = format!("{} of at most {promised}{unit} in any {span}", most.sum);
    if proved.limit.leaves == Leaves::Reply {
        text.push_str(", at the server");
    }
    if proved.verdict.is_kept() && most.sum > u128::from(promised) {
        text.push_str(" as sent, kept as granted");
    }
    if most.sends > 0 {
        let from = show_span(most.first.at.since(Tick::ZERO));
        let _ = write!(text, " (from +{from}{})", whose(most));
    }
    text
}

/// `98000 tokens in any 60 s by what was reserved, 61200 by what was used`.
pub(super) fn minute_text(minute: &Minute) -> String {
    format!(
        "{} tokens in any 60 s by what was reserved, {} by what was used",
        minute.promised.sum, minute.used.sum
    )
}

pub(super) fn verdict(proved: &Proved) -> String {
    let unit = unit(proved.limit.counts);
    match proved.verdict {
        Verdict::Kept => "kept".to_owned(),
        Verdict::IfClocksAgree => "NOT PROVED: kept only if the clocks agree".to_owned(),
        Verdict::ByAnswers(over) => {
            format!("EXCEEDED by answers that used more than they reserved: {over}{unit}")
        }
        Verdict::ByOversized(over) => {
            format!("EXCEEDED by {over}{unit}, by a job larger than it ever holds")
        }
        Verdict::Exceeded(over) => format!("EXCEEDED by {over}{unit}"),
    }
}

pub(super) fn whose(most: &Most) -> String {
    let key = most.key.as_ref();
    match key.map(|key| &**key) {
        None => String::new(),
        Some("") => ", for jobs without a value".to_owned(),
        Some(key) => format!(", for {key}"),
    }
}

pub(super) fn unit(counts: Counts) -> &'static str {
    match counts {
        Counts::Requests => "",
        Counts::Units => " tokens",
        Counts::Input => " input tokens",
        Counts::Output => " output tokens",
    }
}

/// A span as it is, without rounding: `1s`, `2ms 1us`, `365d`.
pub(super) fn exact(span: Duration) -> String {
    let part = Duration::from_nanos(span.subsec_nanos().into());
    let part = humantime::format_duration(part).to_string();
    match (span.as_secs(), span.subsec_nanos()) {
        (_, 0) => long_span(span),
        (0, _) => part,
        _ => format!("{} {part}", long_span(span)),
    }
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// JSON numbers end at 64 bits.
pub(super) fn number(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}
