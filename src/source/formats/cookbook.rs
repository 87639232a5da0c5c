//! Request lines of the `OpenAI` cookbook: bodies and nothing else, but for their `metadata`. Floor 4: doors.

use std::borrow::Cow;

use super::{Asked, Known, Needs, Read, Shows};
use crate::job::Repeat;
use crate::json::Member;
use crate::kept::Body;
use crate::source::draft::{Content, Draft, Fault, Fields};
use crate::source::members;
use crate::source::opening::First;

pub(super) const FORMAT: Known = Known {
    name: "cookbook",
    extensions: &[],
    shows,
    frame: |first| first.frame_of_objects(),
    is_comment: |_| false,
    needs: Needs::RequestUrl,
    has_rows: false,
    fields: &[],
    read,
};

/// What has a `model` and something to ask it.
fn shows(first: &First<'_>) -> Shows {
    first.shows_object(|names| {
        let has_one = |of: &[&[u8]]| of.iter().any(|name| names.contains(name));
        has_one(&[b"model"])
            && has_one(&[b"input", b"messages", b"prompt"])
            && !has_one(&[b"url", b"custom_id"])
    })
}

/// Reads a body. Its `metadata` is kept for the result and not sent, whatever it is.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    (None, draft(asked))
}

fn draft<'a>(asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
    let text = asked.record.text()?;
    let members = members::read(text, asked.record.end)?;
    let url = asked
        .request_url
        .expect("the option is there, as the format needs it");
    let own = |member: &&Member<'_>| member.0 == "metadata";
    let metadata = members.iter().rev().find(own).map(|(_, value)| *value);
    let body = match metadata {
        Some(_) => Body::Apart(without_metadata(&members).into()),
        None => Body::InLine(text.trim_ascii().as_bytes()),
    };
    Ok(Draft {
        body: Some(body),
        content: Content::Json,
        meta: metadata.map(Cow::Borrowed),
        repeat: Repeat::Always,
        fields: Fields::Json(members),
        ..Draft::of_url(url.reveal().to_owned(), 1)
    })
}

/// Names and values as they stand there, without the blanks between them.
fn without_metadata(members: &[Member<'_>]) -> String {
    let mut body = String::from("{");
    for (name, value) in members.iter().filter(|(name, _)| name != "metadata") {
        if body.len() > 1 {
            body.push(',');
        }
        body += &serde_json::Value::from(&**name).to_string();
        body.push(':');
        body += value;
    }
    body.push('}');
    body
}
