//! Results as a table for spreadsheets. Floor 4: doors.

use std::borrow::Cow;

use bytes::Bytes;

use super::line::{Form, Keep, error};
use super::text::{Shape, Text};
use crate::outcome::Outcome;
use crate::units::millis;

/// The names of the columns.
pub(super) const HEAD: &str = "seq,line,file,id,status,http_status,attempts,queue_ms,latency_ms,connect_ms,since_due_ms,\
                               tokens_reserved,tokens_used,url,error_kind,error_message,body,body_base64,meta\n";

/// A row. Text that a spreadsheet would take for a formula has a `'` before it (OWASP, CSV Injection).
pub(super) fn write(form: &Form, outcome: &Outcome, out: &mut Text) {
    let job = outcome.line.as_ref().ok();
    let (place, id) = match &outcome.line {
        Ok(job) => (&job.place, job.id.as_deref()),
        Err(bad) => (&bad.place, bad.id.as_deref()),
    };
    let last = outcome.tries.last();
    let (kind, message) = error(outcome).map_or_else(Default::default, |it| (it.kind, it.message));
    let body = outcome.reply.as_ref().filter(|_| form.body == Keep::Keep);
    // Bytes that are no text stand in the next cell.
    let (between, body) = match body.map(|reply| (&reply.body, str::from_utf8(&reply.body))) {
        Some((bytes, Err(_))) => (1, Some((bytes, Shape::Base64))),
        Some((bytes, Ok(text))) => {
            let before = if text.starts_with(is_formula) {
                "'"
            } else {
                ""
            };
            (0, Some((bytes, Shape::Cell(before))))
        }
        None => (0, None),
    };
    let meta = job.and_then(|job| job.meta()).map(String::from_utf8_lossy);
    let units = outcome.units.map(|spent| spent.total);
    let meta = safe(&meta.unwrap_or_default()).into_owned();
    let around = ["", &meta];
    record(
        [
            &*outcome.seq.to_string(),
            &place.line.to_string(),
            &safe(&place.file),
            &safe(id.unwrap_or_default()),
            outcome.status.word(),
            &number(last.and_then(|last| last.status).map(|it| it.as_u16())),
            &outcome.tries.len().to_string(),
            &number(outcome.queue.map(millis)),
            &number(outcome.latency().map(millis)),
            &number(outcome.connect().map(millis)),
            &number(outcome.since_due().map(millis)),
            &number(units.map(|spent| spent.reserved)),
            &number(units.map(|spent| spent.used)),
            &safe(&job.map_or(Cow::Borrowed(""), |job| job.target.shown())),
            kind,
            &safe(&message),
        ]
        .into_iter()
        .chain(around.into_iter().take(between)),
        body,
        around.into_iter().skip(between),
        out,
    );
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn safe(text: &str) -> Cow<'_, str> {
    if text.starts_with(is_formula) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn is_formula(first: char) -> bool {
    ['=', '+', '-', '@', '\t', '\r', '\n'].contains(&first)
}

/// One row, quoted where that is needed (RFC 4180), with a body between two parts of it.
pub(super) fn record<'a>(
    before: impl IntoIterator<Item = &'a str>,
    body: Option<(&Bytes, Shape)>,
    after: impl IntoIterator<Item = &'a str>,
    out: &mut Text,
) {
    cells(before.into_iter().chain([""]), out);
    // An empty cell ends the first part: what stands before it is the place of the body.
    out.pop();
    if let Some((body, shape)) = body {
        out.body(body, shape);
    }
    cells([""].into_iter().chain(after), out);
}

fn cells<'a>(cells: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    let mut writer = csv::Writer::from_writer(out);
    let written = writer
        .write_record(cells)
        .and_then(|()| Ok(writer.flush()?));
    written.expect("memory takes all, and every row has as many cells");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_spreadsheet_would_take_for_a_formula_is_marked() {
        for text in ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1"] {
            assert_eq!(safe(text), format!("'{text}"));
        }
        for text in ["", "a=1", " =1", "http://h/-"] {
            assert_eq!(safe(text), text);
        }
    }
}
