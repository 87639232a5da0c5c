//! A list of URLs, one a line. Floor 4: doors.

use super::draft::Draft;
use super::formats::{Asked, Read};

/// Whether the line is a comment: `#` is its first character that is not blank.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// The URL of a line that is neither blank nor a comment; blanks around it are no part of it.
pub(super) fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let draft = asked.text().map(|line| {
        let url = line.trim_ascii();
        let blanks = line.len() - line.trim_ascii_start().len();
        Draft::of_url(url, blanks as u64 + 1)
    });
    (None, draft)
}
