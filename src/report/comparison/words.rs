//! Numbers, spans and servers in words. Floor 4: doors.

use std::time::Duration;

use super::{Comparison, Figures, Jobs, LONG, Others, SHORT, Spike, World};
use crate::engine::Signal;
use crate::limit::{Counts, Promise, Spec};
use crate::model::{Latency, ModelSpec};
use crate::report::fold::TIE;
use crate::report::text::joined;
use crate::units::{Rate, counted, exact_span, show_span};

/// Two digits that matter, without zeros behind the point: `400`, `10`, `0.5`.
pub(in crate::report) fn short(number: f64) -> String {
    if number >= 99.5 {
        return format!("{number:.0}");
    }
    let digits = usize::from(number < 9.95);
    let text = if number >= 0.095 || number == 0.0 {
        format!("{number:.digits$}")
    } else if number >= 0.000_95 {
        format!("{number:.3}")
    } else {
        format!("{number:.1e}")
    };
    match text.split_once('.') {
        Some(_) if !text.contains('e') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Some(_) | None => text,
    }
}

/// `50 ms`, `2 s`.
pub(in crate::report) fn plain_span(span: Duration) -> String {
    let text = show_span(span);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        Some(_) | None => text,
    }
}

/// How an API of this latency answers: `in 50 ms`.
pub(in crate::report) fn latency(latency: Latency) -> String {
    match latency {
        Latency::Fixed(span) => plain_span(span),
        Latency::Exponential(mean) => format!("exp {}", plain_span(mean)),
        Latency::LogNormal { p50, p99 } => {
            format!("{}-{}", plain_span(p50), plain_span(p99))
        }
    }
}

/// The period behind `any`: `second`, `10s`.
fn any(rate: &Rate) -> String {
    let period = exact_span(rate.period);
    match period.as_str() {
        "1s" => "second".to_owned(),
        "1m" => "minute".to_owned(),
        "1h" => "hour".to_owned(),
        "1d" => "day".to_owned(),
        _ => period,
    }
}

/// What a modelled API does, in a sentence.
pub(super) fn api(spec: &ModelSpec) -> String {
    if spec.slots.is_some() || !spec.faults.is_empty() || spec.tokens.is_some() {
        return format!("The modelled API is {spec}.");
    }
    let accepts = |limit: &Spec| match (limit.kind.promise(), limit.counts) {
        (Promise::AnyPeriod, Counts::Requests) => Some(format!(
            "accepts {} in any {}",
            limit.rate.count,
            any(&limit.rate)
        )),
        (Promise::Flow | Promise::AnyPeriod | Promise::TwoPeriods | Promise::OwnPeriods, _) => None,
    };
    let accepts = match spec.limits.as_slice() {
        [] => Some("accepts everything".to_owned()),
        [limit] => accepts(limit),
        _ => None,
    };
    match (spec.latency, accepts) {
        (Latency::Fixed(span), Some(accepts)) => {
            format!(
                "The modelled API answers in {} and {accepts}.",
                plain_span(span)
            )
        }
        _ => format!("The modelled API is {spec}."),
    }
}

/// What was compared: jobs, and what stood at the other end.
pub(in crate::report) fn what(it: &Comparison) -> String {
    let mut sentences = vec![came(it), left_out(&it.jobs), world(&it.world)];
    sentences.retain(|sentence| !sentence.is_empty());
    sentences.join(" ")
}

/// Why less was seen than there was.
pub(in crate::report) fn early(signal: Signal) -> String {
    let by = match signal {
        Signal::Interrupt => "Ctrl-C",
        Signal::Terminate => "SIGTERM",
    };
    format!("Ended early by {by}: what was seen until then.")
}

/// The figures of a discipline, in the order of the columns.
pub(in crate::report) const FIGURES: [&str; 11] = [
    "most in 100 ms",
    "most in 1 s",
    "not sent",
    "ok",
    "API 429",
    "other",
    "p50",
    "p99",
    "peak in flight",
    "all done",
    "bound by",
];

/// Where tries that ended neither well nor with 429 stand among them.
pub(super) const OTHER: usize = 5;

/// Those of one discipline; `none` where there is none.
pub(in crate::report) fn figures(seen: &Figures, none: &str) -> [String; FIGURES.len()] {
    let span = |span: Option<Duration>| span.map_or(none.to_owned(), show_span);
    [
        seen.most_in_short.to_string(),
        seen.most_in_long.to_string(),
        seen.not_sent.to_string(),
        seen.ok.to_string(),
        seen.refused.to_string(),
        seen.others.count().to_string(),
        span(seen.p50),
        span(seen.p99),
        seen.peak_in_flight.to_string(),
        span((seen.sends > 0).then_some(seen.finish)),
        if seen.bound_by.is_empty() {
            none.to_owned()
        } else {
            seen.bound_by.clone()
        },
    ]
}

/// What these figures are.
pub(in crate::report) fn of_figures(others: &Others) -> String {
    let ends = [
        joined(&others.statuses, ", "),
        joined(&others.failures, ", "),
    ];
    let ends: Vec<&str> = ends
        .iter()
        .map(|it| &**it)
        .filter(|it| !it.is_empty())
        .collect();
    let other = match ends.join(", ") {
        ends if ends.is_empty() => ends,
        ends => format!(" Other: tries that ended neither well nor with 429, in all {ends}."),
    };
    let window = |span| format!("(t - {}, t]", plain_span(span)).replace(' ', &TIE.to_string());
    format!(
        "Most sends in any half-open window {}, {}. p50, p99: from a job's arrival to its last answer. \
         Bound by: what held the jobs longest.{other}",
        window(SHORT),
        window(LONG)
    )
}

/// What comes around a boundary.
pub(in crate::report) fn around(spike: &Spike) -> String {
    let come = if spike.jobs == 1 { "comes" } else { "come" };
    format!(
        "{} {come} {} before a boundary of the fixed windows, {} at it",
        counted(spike.jobs, "job"),
        plain_span(spike.before),
        spike.jobs,
    )
}

/// How many jobs came, from where and when.
fn came(it: &Comparison) -> String {
    let all = &it.jobs;
    let count = counted(all.count, "job");
    let of = match (all.inputs.as_slice(), all.units) {
        ([], Some(units)) if it.counts_units() => format!(" of {units} tokens each"),
        ([], _) => String::new(),
        ([name], _) => format!(" of {name}"),
        (names, _) => format!(" of {} files", names.len()),
    };
    let when = match all.span {
        Duration::ZERO => "at once".to_owned(),
        span => format!("that arrive over {}", plain_span(span)),
    };
    format!("{count}{of} {when}.")
}

/// The lines that are left out; empty if none is.
fn left_out(all: &Jobs) -> String {
    match all.invalid {
        0 => String::new(),
        1 => "1 invalid line is left out.".to_owned(),
        count => format!("{count} invalid lines are left out."),
    }
}

/// What stood at the other end.
fn world(world: &World) -> String {
    /// So many servers are named.
    const NAMED: usize = 3;
    match world {
        World::Virtual(model) => format!("{} Nothing is sent.", api(model)),
        World::Mock(model) => format!("{} Sent over HTTP, on loopback.", api(model)),
        World::Servers(servers) => {
            let named = &servers[..servers.len().min(NAMED)];
            let more = match servers.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("Sent for real to {}{more}.", named.join(", "))
        }
    }
}

/// The lowest rate of requests that an API accepts, per second; `None`: it accepts everything.
pub(super) fn accepted(api: &ModelSpec) -> Option<f64> {
    let requests = api.limits.iter();
    let requests = requests.filter(|limit| limit.counts == Counts::Requests);
    requests
        .map(|limit| limit.rate.per_second())
        .reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_span_has_no_zeros_that_say_nothing() {
        assert_eq!(plain_span(Duration::from_secs(7_200)), "2h");
        assert_eq!(plain_span(Duration::from_millis(1_500)), "1.5 s");
    }

    #[test]
    fn a_short_number_has_two_digits_that_matter() {
        for (number, shown) in [
            (0.0, "0"),
            (400.2, "400"),
            (10.0, "10"),
            (0.5, "0.5"),
            (0.0123, "0.012"),
            (0.000_277, "2.8e-4"),
        ] {
            assert_eq!(short(number), shown);
        }
    }

    #[test]
    fn an_api_is_told_in_words_where_it_is_simple() {
        let said = |written: &str| api(&written.parse().unwrap());
        assert_eq!(
            said("latency=50ms,limit=10/s window"),
            "The modelled API answers in 50 ms and accepts 10 in any second."
        );
        assert_eq!(
            said("latency=2s"),
            "The modelled API answers in 2 s and accepts everything."
        );
        assert_eq!(
            said("latency=exp:1s,slots=3"),
            "The modelled API is latency=exp:1s,slots=3."
        );
    }
}
