//! Targets as vegeta writes them: a line with method and URL, and those that belong to it. Floor 4: doors.

use memchr::memchr;

use super::cuts::{Cut, Cutter, Rest};
use super::record::End;

/// Finds targets. One ends at a blank line, or where the next one begins; comments are no part of one but within it.
#[derive(Default)]
pub(super) struct Targets {
    /// Where the line begins that is looked at, and what of it was.
    line: usize,
    seen: usize,
    /// The target that has begun: its bytes so far.
    from: Option<usize>,
    to: usize,
}

/// What a line is.
enum Kind {
    Blank,
    Comment,
    /// It begins a target.
    Method,
    Other,
}

impl Kind {
    fn of(line: &[u8]) -> Self {
        match line.trim_ascii_start().first() {
            None => Self::Blank,
            Some(b'#') => Self::Comment,
            Some(_) if begins_target(line) => Self::Method,
            Some(_) => Self::Other,
        }
    }
}

/// Capital letters, and something behind a blank.
pub(super) fn begins_target(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let letters = line
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    letters > 0
        && line
            .get(letters)
            .is_some_and(|byte| matches!(byte, b' ' | b'\t'))
}

impl Targets {
    fn target(&mut self, end: End, behind: usize) -> Option<Cut> {
        let from = self.from.take()?;
        Some(Cut::Record {
            at: from..self.to,
            end,
            behind,
        })
    }
}

impl Cutter for Targets {
    fn cut(&mut self, bytes: &[u8], rest: Rest) -> Cut {
        loop {
            let (line, next) = match memchr(b'\n', &bytes[self.seen..]) {
                Some(more) => (&bytes[self.line..self.seen + more], self.seen + more + 1),
                None if rest == Rest::Unknown => {
                    self.seen = bytes.len();
                    return Cut::More(self.from.unwrap_or(self.line));
                }
                None if self.line == bytes.len() => {
                    return self.target(End::Input, bytes.len()).unwrap_or(Cut::Over);
                }
                None => (&bytes[self.line..], bytes.len()),
            };
            let begin = self.line;
            match (Kind::of(line), self.from) {
                (Kind::Blank, Some(_)) => {
                    (self.line, self.seen) = (next, next);
                    if let Some(target) = self.target(End::Mark, next) {
                        return target;
                    }
                }
                (Kind::Method, Some(_)) => {
                    if let Some(target) = self.target(End::Mark, begin) {
                        return target;
                    }
                }
                (Kind::Blank | Kind::Comment, _) => {}
                (Kind::Method | Kind::Other, from) => {
                    self.from = from.or(Some(begin));
                    self.to = begin + line.trim_ascii_end().len();
                }
            }
            (self.line, self.seen) = (next, next);
        }
    }

    fn let_go(&mut self, bytes: usize) {
        self.line -= bytes.min(self.line);
        self.seen -= bytes;
        self.to = self.to.saturating_sub(bytes);
        self.from = self.from.map(|from| from.saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cuts::cut_in_pieces;
    use super::*;

    fn cut(text: &str, piece: usize) -> Vec<(u64, String)> {
        let mut cuts = cut_in_pieces(text.as_bytes(), piece, Targets::default());
        let mut seen = Vec::new();
        while let Some(record) = cuts.next().unwrap() {
            seen.push((
                record.line,
                String::from_utf8_lossy(record.bytes).into_owned(),
            ));
        }
        seen
    }

    #[test]
    fn a_target_ends_at_a_blank_line_or_at_the_next_one() {
        let text = "# c\r\n\r\nGET http://h/a\r\nX-A: 1\r\n# c\r\nPOST http://h/b\n# in\n@body\n\t\n\nget x\ny\nPUT /c";
        let wanted = [
            (3, "GET http://h/a\r\nX-A: 1"),
            (6, "POST http://h/b\n# in\n@body"),
            (11, "get x\ny"),
            (13, "PUT /c"),
        ];
        for piece in [1, 2, 5, 1000] {
            let seen = cut(text, piece);
            let seen: Vec<_> = seen.iter().map(|(line, text)| (*line, &**text)).collect();
            assert_eq!(seen, wanted, "{piece}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_lost(lines in prop::collection::vec("(GET /|#|@b|A: b|x|  |)", 0..12), piece in 1_usize..9) {
            let text = lines.join("\n");
            let whole = cut(&text, usize::MAX);
            prop_assert_eq!(&cut(&text, piece), &whole);
            let told: Vec<String> = whole.iter().flat_map(|(_, it)| it.lines().map(str::to_owned)).collect();
            let own = |line: &&String| !line.trim().is_empty() && !line.starts_with('#');
            prop_assert!(told.iter().filter(own).eq(lines.iter().filter(own)));
        }
    }
}
