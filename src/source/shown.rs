//! A value of the input as it may be shown. Floor 4: doors.

use std::borrow::Cow;

use twox_hash::XxHash3_64;

use crate::letters::acts;

/// A longer value, in bytes, is shortened.
const SHOWN: usize = 256;

/// Bytes that the hash behind a changed value takes: ` #` and 16 hex digits.
const MARK: usize = 18;

/// A value as it may be shown: at most [`SHOWN`] bytes, and no letter that acts on others. One that had
/// to be changed for it ends in a hash of all of it, so that different values stay different.
pub(super) fn shown(value: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(value);
    if let Cow::Borrowed(text) = text
        && value.len() <= SHOWN
        && !text.contains(acts)
    {
        return Cow::Borrowed(text);
    }
    let mut short = String::with_capacity(SHOWN);
    for letter in text.chars() {
        let escaped = acts(letter).then(|| letter.escape_unicode().to_string());
        let letter = escaped.unwrap_or_else(|| letter.to_string());
        if short.len() + letter.len() > SHOWN - MARK {
            break;
        }
        short.push_str(&letter);
    }
    let hash = XxHash3_64::oneshot(value);
    Cow::Owned(format!("{short} #{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_escaped_and_stays_distinct() {
        let key = shown("x\u{1b}[2J\u{202e}".as_bytes());
        assert!(key.starts_with("x\\u{1b}[2J\\u{202e} #"), "{key}");
        assert_ne!(shown(b"x\\u{1b}[2J\\u{202e}"), key);
        assert_ne!(shown(b"x\x1b[2J"), shown(b"x\x1b[2K"));
    }

    #[test]
    fn a_megabyte_is_shortened_and_stays_distinct() {
        let value = |last| "é".repeat(500_000) + last;
        let (one, other) = (value("1"), value("2"));
        let short = shown(one.as_bytes());
        assert!(short.len() <= SHOWN && short.starts_with("éé"), "{short}");
        assert_ne!(short, shown(other.as_bytes()));
        let longest = "x".repeat(SHOWN);
        assert_eq!(shown(longest.as_bytes()), longest);
    }

    #[test]
    fn a_value_that_is_no_text_stays_distinct() {
        assert_eq!(shown("é".as_bytes()), "é");
        assert_ne!(shown(b"\xFF"), shown(b"\xFE"));
    }
}
