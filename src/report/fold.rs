//! Text in lines: broken between words, but not between those that belong together. Floor 4: doors.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A space at which no line ends; shown as a space.
pub(super) const TIE: char = '\u{a0}';

/// The text in lines of at most `room` columns, but for longer words. A number stays with its unit and an
/// option with its value: `1.2 s`, `50 %`, `--qps 10`.
pub fn folded(text: &str, room: usize) -> Vec<String> {
    filled(text, room, room)
}

/// The text behind what stands before it on the first line; further lines begin with so many spaces.
pub fn hung(before: &str, indent: usize, text: &str, columns: usize) -> Vec<String> {
    let mut lines = filled(
        text,
        columns.saturating_sub(width(before)),
        columns - indent,
    );
    let spaces = " ".repeat(indent);
    for (number, line) in lines.iter_mut().enumerate() {
        line.insert_str(0, if number == 0 { before } else { &spaces });
    }
    lines
}

/// `first` is the room of the first line.
fn filled(text: &str, first: usize, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in pieces(text) {
        // What belongs together and has no room in a line of its own is words again.
        let words = if width(&piece) > room {
            piece.split([' ', TIE]).collect()
        } else {
            vec![&*piece]
        };
        for word in words {
            let room = if lines.len() == 1 { first } else { room };
            let line = lines.last_mut().expect("there is always one");
            if line.is_empty() {
                line.push_str(word);
            } else if width(line) + 1 + width(word) <= room {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
    }
    for line in &mut lines {
        *line = untied(line);
    }
    lines
}

/// The text for somebody else to break: spaces within what belongs together are no spaces for him.
pub fn tied(text: &str) -> String {
    let pieces = pieces(text).into_iter();
    let tie = |piece: String| piece.replace(' ', &TIE.to_string());
    pieces.map(tie).collect::<Vec<_>>().join(" ")
}

/// The text with all its spaces.
pub fn untied(text: &str) -> String {
    text.replace(TIE, " ")
}

/// Columns of a text in a terminal.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The most of a text that so many columns hold.
pub(super) fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(1);
        taken > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Words, and groups of words that belong together.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut before = "";
    for word in text.split(' ') {
        match pieces.last_mut() {
            Some(last) if belong_together(before, word) => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => pieces.push(word.to_owned()),
        }
        before = word;
    }
    pieces
}

/// Units that stand behind a number.
const UNITS: [&str; 12] = [
    "s", "ms", "us", "m", "h", "d", "%", "/s", "MiB", "MB", "slot", "slots",
];

fn belong_together(word: &str, next: &str) -> bool {
    let bare = next.trim_end_matches([',', ';', ':', '.', ')']);
    let ends_in_digit = word.ends_with(|last: char| last.is_ascii_digit());
    let number = ends_in_digit && UNITS.contains(&bare);
    number || (is_span(word.trim_start_matches('(')) && is_span(bare)) || takes(word, bare)
}

/// `59m`: a part of a span as people write it.
fn is_span(word: &str) -> bool {
    let unit = word.trim_start_matches(|first: char| first.is_ascii_digit());
    unit.len() < word.len() && ["y", "d", "h", "m", "s", "ms", "us"].contains(&unit)
}

/// An option and what may be its value.
fn takes(word: &str, next: &str) -> bool {
    let name = word.trim_start_matches(['(', '`']);
    let name = name.strip_prefix("--").or_else(|| name.strip_prefix('-'));
    name.is_some_and(|name| {
        let of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(of_a_name)
            && next.starts_with(|first: char| first.is_alphanumeric())
    })
}

/// The end of a text, as much as so many columns hold.
pub(super) fn ending(text: &str, columns: usize) -> &str {
    let mut starts = text.char_indices().map(|(at, _)| &text[at..]);
    starts.find(|end| width(end) <= columns).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit_and_an_option_with_its_value() {
        let text = "of 19.7 s the next job waited 19.7 s for --qps 10 (100 %), 0 s for 20 slots, \
                    next in 59m 58s -c 5 /s";
        let together = [
            "19.7 s",
            "--qps 10",
            "(100 %),",
            "0 s",
            "20 slots,",
            "59m 58s",
            "-c 5",
        ];
        for room in 10..60 {
            let lines = folded(text, room);
            let all = lines.join("\n");
            for group in together {
                assert!(all.contains(group), "{group:?} is torn at {room}:\n{all}");
            }
            assert!(
                lines.iter().all(|line| width(line) <= room),
                "{room}:\n{all}"
            );
            assert_eq!(lines.join(" "), text);
        }
    }

    #[test]
    fn letters_have_the_columns_that_a_terminal_gives_them() {
        assert_eq!(folded("日本 語 ab", 5), ["日本", "語 ab"]);
        assert_eq!(
            (beginning("日本語", 5), beginning("abc", 9)),
            ("日本", "abc")
        );
        assert_eq!((ending("日本語", 5), ending("abc", 9)), ("本語", "abc"));
    }

    #[test]
    fn lines_hang_under_the_first() {
        let lines = hung("  sent      ", 4, "11 in any 1s at most", 22);
        assert_eq!(lines, ["  sent      11 in any", "    1s at most"]);
        assert_eq!(hung("", 8, "a bc", 9), ["a bc"]);
    }

    #[test]
    fn what_has_no_room_is_broken_all_the_same() {
        assert_eq!(folded("--timeout 30 s", 9), ["--timeout", "30 s"]);
        assert_eq!(folded("a\u{a0}b c\u{a0}d", 3), ["a b", "c d"]);
        assert_eq!(
            folded("http://a/long/path x", 6),
            ["http://a/long/path", "x"]
        );
    }
}
