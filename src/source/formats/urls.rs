//! A list of URLs, one a line. Floor 4: doors.

use super::{Asked, Known, Needs, Read, Shows};
use crate::source::draft::{Draft, Fault};
use crate::source::framing::Frame;

pub(super) const FORMAT: Known = Known {
    name: "urls",
    extensions: &[],
    shows: |_| Shows::No,
    frame: |_| Some(Frame::Lines),
    is_comment,
    needs: Needs::Nothing,
    has_rows: false,
    fields: &[],
    read,
};

/// Whether the line is a comment: `#` is its first character that is not blank.
fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// The URL of a line that is neither blank nor a comment; blanks around it are no part of it.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let draft = asked.text().and_then(|line| {
        let url = line.trim_ascii();
        let blanks = line.len() - line.trim_ascii_start().len();
        let wrong = |at: usize, what, mend| Err(Fault::new((blanks + at) as u64 + 1, what, mend));
        if url.starts_with("{\"") {
            let what = "this is a JSON object, and the file was taken for a list of URLs";
            return wrong(
                0,
                what,
                "say --format jsonl, or begin the file with an object",
            );
        }
        let second = [" http://", " https://"].iter();
        if let Some(at) = second.filter_map(|scheme| url.find(scheme)).min() {
            let what = "a second URL stands on this line";
            return wrong(at + 1, what, "write one URL on each line, and nothing else");
        }
        // A URL would lose them, and lead to another place.
        match url.find(['\t', '\r']) {
            Some(at) => wrong(
                at,
                "a tab or a carriage return within a URL",
                "write one URL on each line, and nothing else; a table needs --format csv or tsv",
            ),
            None => Ok(Draft::of_url(url, blanks as u64 + 1)),
        }
    });
    (None, draft)
}
