//! The limits and whether they were kept. Floor 4: doors.

use std::fmt::Write as _;

use super::Run;
use super::markup::{Name, Table, Text, nothing};
use super::top::{DASH, rate};
use crate::metrics::littles::Cause;
use crate::proof::Proved;
use crate::report::proof;

pub(super) fn section(run: &Run<'_>) -> String {
    let report = run.report;
    let mut out = String::from("<h2>Limits</h2>");
    let setup = &report.setup;
    if setup.limits.is_empty() {
        let slots = match setup.slots {
            None => "no limit of slots either".to_owned(),
            Some(1) => "1 slot is the only limit".to_owned(),
            Some(slots) => format!("{slots} slots are the only limit"),
        };
        let is = if report.sources.is_some() {
            "is known"
        } else {
            "was set"
        };
        return out + &nothing(&format!("no rate limit {is}; {slots}."));
    }
    out.push_str(
        "<p class=\"lead\">The proof looks at every window that a limit promises something of, from the recorded moments, apart \
         from the code that let the requests go.</p>",
    );
    let rows = setup.limits.iter().enumerate().map(|(number, limit)| {
        let mut ceilings = report.theory.ceilings.iter();
        let ceiling =
            ceilings.find(|ceiling| matches!(ceiling.cause, Cause::Limit(of, _) if of == number));
        let proved = report.summary.proof.limits.get(number);
        vec![
            Name(setup.all_of(number)).to_string(),
            format!("<code>{}</code>", Text(limit)),
            limit.kind.promise().to_string(),
            rate(ceiling.map(|ceiling| ceiling.rate)),
            proved.map_or(DASH.to_owned(), verdict),
            proved.map_or(DASH.to_owned(), |it| Text(proof::fullest(it)).to_string()),
        ]
    });
    let table = Table {
        caption: "Rate limits",
        headings: &[
            "<<limit",
            "<<as --limit takes it",
            "promise",
            "ceiling",
            "<<proof",
            "<<fullest window",
        ],
        rows: rows.collect(),
    };
    let _ = write!(out, "{table}");
    let proven = &report.summary.proof;
    if let Some(minute) = &proven.minute {
        let _ = write!(out, "<p>Worst minute: {}.</p>", proof::minute_text(minute));
    }
    if proven.unseen > 0 {
        let _ = write!(
            out,
            "<p>{} tries were cut off and are not in the proof.</p>",
            proven.unseen
        );
    }
    out
}

/// A word and a sign, not a colour alone.
fn verdict(proved: &Proved) -> String {
    let (class, sign) = if proved.verdict.is_kept() {
        ("good", "&#10003;")
    } else {
        ("bad", "&#10007;")
    };
    format!(
        "<b class=\"{class}\">{sign} {}</b>",
        Text(proof::verdict(proved))
    )
}
