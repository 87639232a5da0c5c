//! A JSON array of jobs, or jobs one behind the other on any number of lines. Floor 4: doors.

use super::{Known, Needs, Shows, jsonl};
use crate::source::field;
use crate::source::framing::Frame;
use crate::source::opening::First;

pub(super) const FORMAT: Known = Known {
    name: "json",
    extensions: &["json"],
    shows,
    frame: |_| Some(Frame::ELEMENTS),
    is_comment: |_| false,
    needs: Needs::Nothing,
    has_rows: true,
    fields: &field::NAMES,
    read: jsonl::read,
};

/// `[` opens an array where a value stands behind it, and a number, which may be an address, by its name alone; a `{`
/// alone on its line opens an object of several lines. Any other JSON is told by the name, and then that it is no job.
fn shows(first: &First<'_>) -> Shows {
    match first.text() {
        [b'[', rest @ ..] => match rest.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'"' | b']') => Shows::Surely,
            Some(_) => Shows::ByName,
            None if first.is_all() => Shows::Surely,
            None => Shows::Open,
        },
        [b'{', ..] => match first.line() {
            Some(b"{") => Shows::Likely,
            Some(_) => Shows::No,
            None => Shows::Open,
        },
        text if first.opens_url() && !opens_value(text) => Shows::No,
        _ => Shows::ByName,
    }
}

/// Whether a number or a word of JSON stands there.
fn opens_value(text: &[u8]) -> bool {
    let words: [&[u8]; 3] = [b"null", b"true", b"false"];
    text.first().is_some_and(u8::is_ascii_digit) || words.iter().any(|word| text.starts_with(word))
}
