//! Targets of vegeta, as JSON lines or as text. Floor 4: doors.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Asked, Known, Needs, Read, Shows};
use crate::kept::Body;
use crate::source::draft::{self, Draft, Fault, Fields};
use crate::source::framing::Frame;
use crate::source::members;
use crate::source::opening::First;
use crate::source::targets::{Targets, begins_target};

/// The fields of a target that is an object.
pub(super) const FORMAT: Known = Known {
    name: "vegeta",
    extensions: &["vegeta", "targets"],
    shows,
    frame,
    is_comment: |_| false,
    needs: Needs::Nothing,
    has_rows: false,
    fields: &FIELDS,
    read,
};

const FIELDS: [&str; 4] = ["method", "url", "header", "body"];

/// A line with a method before its URL, or an object with a `header`. An object without one is read as a job, unless the
/// file is called so; the two differ in what a `body` means, and where that is open it is told: [`may_be_base64`].
fn shows(first: &First<'_>) -> Shows {
    if first.byte() == Some(b'{') {
        let by_names = first.shows_object(|names| {
            let has = |name: &[u8]| names.contains(&name);
            has(b"url") && has(b"header") && !has(b"headers")
        });
        return match by_names {
            Shows::No => Shows::ByName,
            told => told,
        };
    }
    if first.byte() == Some(b'[') {
        return Shows::No;
    }
    let Some(line) = first.line_that(|line| !line.trim_ascii_start().starts_with(b"#")) else {
        return Shows::Open;
    };
    if begins_target(line) {
        Shows::Surely
    } else {
        Shows::No
    }
}

fn frame(first: &First<'_>) -> Option<Frame> {
    match first.byte() {
        Some(b'{') => Some(Frame::Lines),
        Some(_) => Some(Frame::Cut(|| Box::new(Targets::default()))),
        None => first
            .is_all()
            .then_some(Frame::Cut(|| Box::new(Targets::default()))),
    }
}

/// Whether a text may be what vegeta writes for a body: it is padded base64, and as it stands more likely that than a
/// word, for it is padded, or stands for a text, or is long.
pub(super) fn may_be_base64(text: &str) -> bool {
    /// Words of the right alphabet and length are shorter.
    const LONG: usize = 24;
    let Ok(bytes) = STANDARD.decode(text) else {
        return false;
    };
    let is_plain = |text: &str| {
        !text
            .chars()
            .any(|it| it.is_control() && !it.is_whitespace())
    };
    !bytes.is_empty()
        && (text.ends_with('=') || text.len() >= LONG || str::from_utf8(&bytes).is_ok_and(is_plain))
}

/// Reads a target.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let is_object = asked.record.bytes.trim_ascii_start().starts_with(b"{");
    let draft = if is_object {
        object(asked)
    } else {
        text(asked)
    };
    (None, draft)
}

fn object<'a>(asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
    let (context, members, [method, url, header, body]) = members::named(asked, FIELDS)?;
    context.required("method", method)?;
    let text = context.required("url", url)?;
    context.headers("header", header, asked.keeper)?;
    let body = match (context.text("body", body)?, body) {
        (Some(text), Some(value)) => {
            let bytes = STANDARD.decode(&*text).map_err(|why| {
                let what = format!("\"body\" is not base64: {why}");
                context.fault(
                    value,
                    what,
                    "vegeta has bodies as base64; as they are in --format jsonl",
                )
            })?;
            Some(Body::Apart(bytes.into()))
        }
        (Some(_) | None, Some(_) | None) => None,
    };
    Ok(Draft {
        method: context.method(method)?,
        body,
        fields: Fields::Json(members),
        ..Draft::of_url(text, context.column_of(url))
    })
}

fn text<'a>(asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
    let record = asked.record.text()?;
    let mut begin = 0;
    let mut lines = record.split('\n').map(|line| {
        let at = begin as u64 + 1;
        begin += line.len() + 1;
        (at, line.trim())
    });
    let (at, first) = lines.next().expect("a target has a line");
    let blank = [' ', '\t'];
    let Some((method, url)) = first
        .split_once(blank)
        .filter(|_| begins_target(first.as_bytes()))
    else {
        return Err(Fault::new(
            at,
            "a target begins with its method",
            "write GET http://HOST/PATH",
        ));
    };
    let url = without_version(url.trim());
    let url_at = (url.as_ptr().addr() - record.as_ptr().addr()) as u64 + 1;
    let mut body = None;
    for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if let Some(path) = line.strip_prefix('@') {
            asked.keeper.has_read_file = true;
            let bytes = members::file(asked.folder, "@", path).map_err(|what| {
                Fault::new(
                    at,
                    what,
                    "the path is relative to the folder of the job file",
                )
            })?;
            body = Some(Body::Apart(bytes));
            continue;
        }
        let header = line.split_once(':').and_then(|(name, value)| {
            let name = asked.keeper.names.of(name.trim())?;
            asked
                .keeper
                .headers
                .add_text(name, value.trim())
                .then_some(())
        });
        header.ok_or_else(|| {
            let what = "this line is no header, no @FILE and no target";
            Fault::new(
                at,
                what,
                "write NAME: VALUE, or a blank line before the next target",
            )
        })?;
    }
    Ok(Draft {
        method: draft::method(method),
        body,
        ..Draft::of_url(Cow::Borrowed(url), url_at)
    })
}

/// A request line that was copied whole has the version of HTTP at its end.
fn without_version(url: &str) -> &str {
    let split = url.rsplit_once([' ', '\t']);
    let version = split.filter(|(_, last)| last.starts_with("HTTP/"));
    version.map_or(url, |(url, _)| url.trim_end())
}
