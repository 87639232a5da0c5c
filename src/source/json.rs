//! A JSON array of jobs, or jobs one behind the other on any number of lines. Floor 4: doors.

use super::formats::Shows;
use super::opening::First;

/// `[` opens an array where a value stands behind it, and not an address; a `{` alone on its line an object of several
/// lines.
pub(super) fn shows(first: &First<'_>) -> Shows {
    match first.text() {
        [b'[', rest @ ..] => match rest.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'"' | b']') => Shows::Surely,
            Some(_) => Shows::No,
            None if first.is_all() => Shows::Surely,
            None => Shows::Open,
        },
        [b'{', ..] => match first.line() {
            Some(b"{") => Shows::Likely,
            Some(_) => Shows::No,
            None => Shows::Open,
        },
        _ if first.opens_url() => Shows::No,
        _ => Shows::ByName,
    }
}
