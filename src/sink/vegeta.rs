//! Results as `vegeta` encodes them, so that its `report` and `plot` read them: one for each job, of its last try.
//! What is skipped is no attack, and has none. Floor 4: doors.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::body::put_base64;
use super::line::{Form, Keep, Object, error, shown};
use super::text::{Shape, Text};
use crate::outcome::{Outcome, Status};
use crate::units::{nanos, show_moment};

/// What both forms tell.
struct Hit<'a> {
    /// Nanoseconds since the Unix epoch: of its send, or, if there was none, of the start of the run.
    sent: u64,
    /// Nanoseconds.
    latency: u64,
    /// 0: no answer.
    code: u16,
    bytes_out: usize,
    bytes_in: usize,
    /// Empty: it is a success.
    error: String,
    body: Option<&'a Bytes>,
    method: String,
    url: String,
    /// By names in the spelling that Go looks them up by.
    headers: BTreeMap<String, Vec<String>>,
}

impl<'a> Hit<'a> {
    fn of(form: &Form, outcome: &'a Outcome) -> Self {
        let (last, job, reply) = (
            outcome.tries.last(),
            outcome.line.as_ref().ok(),
            outcome.reply.as_ref(),
        );
        let sent = last.and_then(|last| last.sent).map_or(0, |at| at.0);
        let mut headers = BTreeMap::<_, Vec<_>>::new();
        let kept = reply.filter(|_| form.headers == Keep::Keep);
        for (name, value) in kept.iter().flat_map(|reply| reply.head.headers.iter()) {
            let values = headers.entry(canonical(name)).or_default();
            values.push(shown(name, value).into_owned());
        }
        let said = match last.and_then(|last| last.status) {
            // As the status line has it.
            Some(status) if error(outcome).is_some_and(|error| error.kind == "http") => {
                Some(status.to_string())
            }
            _ => error(outcome).map(|error| error.message.into_owned()),
        };
        let body = reply.filter(|reply| form.body == Keep::Keep && !reply.body.is_empty());
        Self {
            sent: nanos(form.epoch).saturating_add(sent),
            latency: outcome.latency().map_or(0, nanos),
            code: (last.and_then(|last| last.status)).map_or(0, |status| status.as_u16()),
            bytes_out: job.and_then(|job| job.body()).map_or(0, <[u8]>::len),
            bytes_in: reply.map_or(0, |reply| reply.body.len()),
            error: said.unwrap_or_default(),
            body: body.map(|reply| &reply.body),
            method: job.map_or_else(String::new, |job| job.method.to_string()),
            url: job.map_or_else(String::new, |job| job.target.shown().into_owned()),
            headers,
        }
    }
}

/// `content-type` is `Content-Type`.
fn canonical(name: &[u8]) -> String {
    let mut begins = true;
    let letters = name.iter().map(|byte| {
        let letter = if begins {
            byte.to_ascii_uppercase()
        } else {
            *byte
        };
        begins = *byte == b'-';
        char::from(letter)
    });
    letters.collect()
}

/// The members of `Result` in lib/results.go, in their order.
pub(super) fn write_json(form: &Form, outcome: &Outcome, out: &mut Text) {
    if outcome.status == Status::Skipped {
        return;
    }
    let hit = Hit::of(form, outcome);
    let mut line = Object::begin(out);
    line.put("attack", "");
    line.put("seq", outcome.seq);
    line.put("code", hit.code);
    let sent = std::time::Duration::from_nanos(hit.sent);
    line.put("timestamp", show_moment(sent));
    line.put("latency", hit.latency);
    line.put("bytes_out", hit.bytes_out);
    line.put("bytes_in", hit.bytes_in);
    line.put("error", hit.error);
    match hit.body {
        Some(body) => put_base64(body, line.key("body")),
        None => line.put("body", ()),
    }
    line.put("method", hit.method);
    line.put("url", hit.url);
    line.put("headers", hit.headers);
    line.end();
    out.push(b'\n');
}

/// The twelve columns of its CSV encoder.
pub(super) fn write_csv(form: &Form, outcome: &Outcome, out: &mut Text) {
    if outcome.status == Status::Skipped {
        return;
    }
    let hit = Hit::of(form, outcome);
    let mut headers = String::new();
    for (name, values) in &hit.headers {
        for value in values {
            headers.extend([name, ": ", value, "\r\n"]);
        }
    }
    if !headers.is_empty() {
        headers.push_str("\r\n");
        headers = STANDARD.encode(headers);
    }
    super::cells::record(
        [
            &*hit.sent.to_string(),
            &hit.code.to_string(),
            &hit.latency.to_string(),
            &hit.bytes_out.to_string(),
            &hit.bytes_in.to_string(),
            &hit.error,
        ],
        hit.body.map(|body| (body, Shape::Base64)),
        [
            "",
            &outcome.seq.to_string(),
            &hit.method,
            &hit.url,
            &headers,
        ],
        out,
    );
}
