//! Requests of an `OpenAI` batch, one a line. Floor 4: doors.

use super::{Asked, Known, Needs, Read, Shows};
use crate::job::Repeat;
use crate::kept::Body;
use crate::source::draft::{Content, Draft, Fields, Reach};
use crate::source::members;
use crate::source::opening::First;

/// The fields of a request.
pub(super) const FORMAT: Known = Known {
    name: "openai-batch",
    extensions: &[],
    shows,
    frame: |first| first.frame_of_objects(),
    is_comment: |_| false,
    needs: Needs::Base,
    has_rows: false,
    fields: &FIELDS,
    read,
};

const FIELDS: [&str; 4] = ["custom_id", "method", "url", "body"];

/// What has a `custom_id`, and is no request of Anthropic.
fn shows(first: &First<'_>) -> Shows {
    first.shows_object(|names| names.contains(&&b"custom_id"[..]))
}

/// Reads a request. Its URL is relative to `--base-url`, or of the same origin.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let (context, members, [id, method, url, body]) = match members::named(asked, FIELDS) {
        Ok(read) => read,
        Err(fault) => return (None, Err(fault)),
    };
    let id = match context.required("custom_id", id) {
        Ok(id) => Some(id.into()),
        Err(fault) => return (None, Err(fault)),
    };
    let draft = || {
        context.required("method", method)?;
        let method = context.method(method)?;
        let text = context.required("url", url)?;
        let body = context.object("body", body)?;
        Ok(Draft {
            method,
            reach: Reach::Base,
            body: Some(Body::InLine(body.as_bytes())),
            content: Content::Json,
            repeat: Repeat::Always,
            fields: Fields::Json(members),
            ..Draft::of_url(text, context.column_of(url))
        })
    };
    (id, draft())
}
