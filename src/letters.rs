//! Text that others wrote, as it may stand among ours. Floor 1: words.

use std::borrow::Cow;
use std::path::Path;

/// Whether a letter acts on what stands around it: controls move a cursor or end a line, and some turn the direction
/// of a line. Unicode TR 9 §2.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// The text with such letters written out, `\u{1b}`: each of them is seen, and none acts.
pub fn calm(text: &str) -> Cow<'_, str> {
    written_out(text, acts)
}

/// The same of a text in lines, which stay lines.
pub fn calm_lines(text: &str) -> Cow<'_, str> {
    written_out(text, |letter| letter != '\n' && acts(letter))
}

/// The name of a file, likewise.
pub fn calm_path(path: impl AsRef<Path>) -> String {
    calm(&path.as_ref().to_string_lossy()).into_owned()
}

fn written_out(text: &str, wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&wrong) {
        return Cow::Borrowed(text);
    }
    let mut calm = String::with_capacity(text.len());
    for letter in text.chars() {
        if wrong(letter) {
            calm.extend(letter.escape_unicode());
        } else {
            calm.push(letter);
        }
    }
    Cow::Owned(calm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_act_are_written_out_and_all_others_stay() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            (
                "x\u{202e}y\u{2066}\u{200f}",
                "x\\u{202e}y\\u{2066}\\u{200f}",
            ),
            ("two\nlines", "two\\u{a}lines"),
            (
                "日本 é \u{1f469}\u{200d}\u{1f680}",
                "日本 é \u{1f469}\u{200d}\u{1f680}",
            ),
        ] {
            assert_eq!(calm(text), shown);
        }
        assert_eq!(calm_lines("two\nlines\r"), "two\nlines\\u{d}");
        assert!(matches!(calm("plain"), Cow::Borrowed("plain")));
        assert_eq!(calm_path("a\nb/\u{1b}c"), "a\\u{a}b/\\u{1b}c");
    }
}
