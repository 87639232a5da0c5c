//! Bytes in, the data of each event out, wherever the pieces are cut. Floor 3: rules.

use std::mem;

use memchr::memchr2;

/// So much of the data of one event is looked at: a token and all that stands around it has a few hundred bytes.
const KEPT: usize = 64 << 10;

/// What may stand before a stream, and is no part of it: U+FEFF in UTF-8.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The one field that is read.
const NAME: [u8; 4] = *b"data";

/// Cuts a stream into events. HTML standard, "Server-sent events", 9.2.5 and 9.2.6.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    at: At,
    /// Whether the event that has begun has data.
    has_data: bool,
    /// Its lines of them, with a line feed between each and the next.
    kept: Vec<u8>,
}

/// The next byte is …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// … the one of the mark before the stream that stands there.
    Mark(usize),
    /// … the first of a line.
    Line,
    /// … the same, unless it is the LF of a CRLF.
    BehindCr,
    /// … behind so much of the name of the field.
    Name(usize),
    /// … behind its colon.
    Colon,
    /// … in its value.
    Value,
    /// … in a line that tells nothing: a comment, another field.
    Other,
}

impl Default for At {
    fn default() -> Self {
        Self::Mark(0)
    }
}

impl Cutter {
    /// Takes the next bytes, and tells the data of each event that ends in them. An event without data is none.
    pub(super) fn take(&mut self, bytes: &[u8], mut event: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let ends = matches!(byte, b'\n' | b'\r');
            let mut taken = 1;
            self.at = match self.at {
                At::Mark(nth) if byte == MARK[nth] && nth + 1 < MARK.len() => At::Mark(nth + 1),
                At::Mark(nth) if byte == MARK[nth] => At::Line,
                At::Line if ends => {
                    if mem::take(&mut self.has_data) {
                        event(&self.kept);
                    }
                    self.kept.clear();
                    behind(byte)
                }
                At::Name(nth) if nth < NAME.len() && byte == NAME[nth] => At::Name(nth + 1),
                At::Name(nth) if nth == NAME.len() && ends => {
                    self.begins_line();
                    behind(byte)
                }
                At::Name(nth) if nth == NAME.len() && byte == b':' => {
                    self.begins_line();
                    At::Colon
                }
                At::Value | At::Other if ends => behind(byte),
                At::Value | At::Other => {
                    taken = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                    if self.at == At::Value {
                        self.keep(&rest[..taken]);
                    }
                    self.at
                }
                At::BehindCr => {
                    taken = usize::from(byte == b'\n');
                    At::Line
                }
                At::Colon => {
                    taken = usize::from(byte == b' ');
                    At::Value
                }
                // The byte is looked at again as what it is then.
                At::Mark(0) => {
                    taken = 0;
                    At::Line
                }
                At::Line => {
                    taken = 0;
                    At::Name(0)
                }
                At::Mark(_) | At::Name(_) => {
                    taken = 0;
                    At::Other
                }
            };
            rest = &rest[taken..];
        }
    }

    /// Another line of data.
    fn begins_line(&mut self) {
        if mem::replace(&mut self.has_data, true) {
            self.keep(b"\n");
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Where the end of a line leads.
fn behind(end: u8) -> At {
    match end {
        b'\r' => At::BehindCr,
        _ => At::Line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of each event, cut into pieces of this length.
    fn events(stream: &[u8], piece: usize) -> Vec<String> {
        let (mut cutter, mut events) = (Cutter::default(), Vec::new());
        for piece in stream.chunks(piece) {
            cutter.take(piece, |data| {
                events.push(String::from_utf8_lossy(data).into_owned());
            });
        }
        events
    }

    fn assert_events(stream: &str, expected: &[&str]) {
        for piece in 1..=stream.len() {
            let told = events(stream.as_bytes(), piece);
            assert_eq!(told, expected, "{stream:?} in pieces of {piece}");
        }
    }

    #[test]
    fn the_examples_of_the_standard_have_the_events_that_it_says() {
        assert_events("data: YHOO\ndata: +2\ndata: 10\n\n", &["YHOO\n+2\n10"]);
        let stream = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
        assert_events(stream, &["first event", "second event", " third event"]);
        // The last block is not ended, and so is none.
        assert_events("data\n\ndata\ndata\n\ndata:", &["", "\n"]);
        assert_events("data:test\n\ndata: test\n\n", &["test", "test"]);
    }

    #[test]
    fn every_end_of_a_line_ends_it_once() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = [
                "data: a", "", "event: x", "data: b", "", "", "data: c", "", "",
            ]
            .join(end);
            assert_events(&stream, &["a", "b", "c"]);
        }
        assert_events("data: a\r\r\ndata: b\n\r\n\n", &["a", "b"]);
    }

    #[test]
    fn comments_other_fields_and_blank_lines_are_no_events() {
        assert_events(": ping\n\n\n:\n\nevent: ping\n\nretry: 10\nid: 7\n\n", &[]);
        assert_events(
            "database: a\n\ndat: b\n\ndatadata: c\n\n data: d\n\nDATA: e\n\n",
            &[],
        );
    }

    #[test]
    fn a_mark_before_the_stream_is_no_part_of_it_and_one_within_is() {
        assert_events("\u{feff}data: a\n\n", &["a"]);
        assert_events("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["b"]);
        assert_eq!(events(b"\xef\xbbdata: a\n\ndata: b\n\n", 1), ["b"]);
    }

    #[test]
    fn of_a_long_event_the_beginning_is_told() {
        let stream = format!("data: {}\ndata: y\n\ndata: z\n\n", "x".repeat(3 * KEPT));
        let told = events(stream.as_bytes(), 1000);
        assert_eq!((told.len(), told[0].len(), &*told[1]), (2, KEPT, "z"));
    }
}
