//! Requests of an Anthropic batch: elements of its `requests`, or one a line. Floor 4: doors.

use super::{Asked, Known, Needs, Read, Shows};
use crate::job::Repeat;
use crate::kept::Body;
use crate::source::draft::{Content, Draft, Fields, Reach};
use crate::source::elements::Elements;
use crate::source::framing::Frame;
use crate::source::members;
use crate::source::opening::First;

/// The fields of a request.
pub(super) const FORMAT: Known = Known {
    name: "anthropic-batch",
    extensions: &[],
    shows,
    frame,
    is_comment: |_| false,
    needs: Needs::Base,
    has_rows: false,
    fields: &FIELDS,
    read,
};

const FIELDS: [&str; 2] = ["custom_id", "params"];

/// Where a request goes, below `--base-url`.
const URL: &str = "/v1/messages";

/// The version of the interface that these requests are written in, unless a header says another.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// An object with `requests`, or requests themselves.
fn shows(first: &First<'_>) -> Shows {
    match first.leads_to(REQUESTS, &NOT_BEFORE) {
        Shows::No => first.shows_object(|names| {
            [&b"custom_id"[..], b"params"]
                .iter()
                .all(|name| names.contains(name))
        }),
        told => told,
    }
}

/// Elements of `requests` where an object of those opens the text.
fn frame(first: &First<'_>) -> Option<Frame> {
    match first.leads_to(REQUESTS, &NOT_BEFORE) {
        Shows::Surely => Some(Frame::Cut(|| Box::new(Elements::new(&["requests"])))),
        Shows::Open if !first.is_all() => None,
        Shows::Open | Shows::No | Shows::ByName | Shows::Likely => first.frame_of_objects(),
    }
}

/// The field that has them all.
const REQUESTS: &[u8] = b"requests";

/// What has one of these before it is a request or a job itself.
const NOT_BEFORE: [&[u8]; 3] = [b"url", b"custom_id", b"params"];

/// Reads a request.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let (context, members, [id, params]) = match members::named(asked, FIELDS) {
        Ok(read) => read,
        Err(fault) => return (None, Err(fault)),
    };
    let id = match context.required("custom_id", id) {
        Ok(id) => Some(id.into()),
        Err(fault) => return (None, Err(fault)),
    };
    let draft = context.object("params", params).map(|body| Draft {
        reach: Reach::Base,
        body: Some(Body::InLine(body.as_bytes())),
        content: Content::Json,
        also: Some(VERSION),
        repeat: Repeat::Always,
        fields: Fields::Json(members),
        ..Draft::of_url(URL, 1)
    });
    (id, draft)
}
