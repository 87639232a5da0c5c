//! Lines of results as they are written: long bodies are put into their form on the way out. Floor 4: doors.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::ops::{Deref, DerefMut, Range};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use bytes::Bytes;

use super::LARGE;
use super::body::compact;

/// Text, and between its parts long bodies, of which no copy is held.
#[derive(Debug, Default)]
pub struct Text {
    bytes: Vec<u8>,
    /// Each with its place, in their order.
    long: Vec<(usize, Long)>,
}

/// A body, and how it stands in the text.
#[derive(Clone)]
struct Long {
    body: Bytes,
    shape: Shape,
}

impl fmt::Debug for Long {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes as {:?}", self.body.len(), self.shape)
    }
}

/// How a body stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It is JSON, and stands on one line.
    Json,
    /// It is text, and stands as a string of JSON.
    String,
    /// It stands as base64, without quotes.
    Base64,
    /// It is text, and stands as a cell of a table, quoted where that is needed, behind these letters. RFC 4180.
    Cell(&'static str),
}

impl Deref for Text {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Text {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Text {
    /// Forgets it; of its memory so much is kept.
    pub(super) fn forget(&mut self, kept: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(kept);
        self.long.clear();
    }

    /// About as many bytes as it will have.
    pub(super) fn length(&self) -> usize {
        let long = self.long.iter().map(|(_, long)| long.body.len());
        self.bytes.len() + long.sum::<usize>()
    }

    /// Adds a body.
    pub(super) fn body(&mut self, body: &Bytes, shape: Shape) {
        if body.len() > LARGE {
            let long = Long {
                body: body.clone(),
                shape,
            };
            self.long.push((self.bytes.len(), long));
        } else {
            let put = shape.put(body, &mut self.bytes);
            put.expect("memory takes all");
        }
    }

    /// The part of it, if no body is left out of it.
    pub(super) fn plain(&self, part: Range<usize>) -> Option<&[u8]> {
        self.long.is_empty().then(|| &self.bytes[part])
    }

    /// Writes the part with its bodies: all that do not stand at its very end, as none does of a line.
    pub(super) fn write(&self, part: Range<usize>, out: &mut impl Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(ONE_PIECE, out);
        let mut from = part.start;
        let within = self.long.iter().filter(|(at, _)| part.contains(at));
        for (at, long) in within {
            out.write_all(&self.bytes[from..*at])?;
            long.shape.put(&long.body, &mut out)?;
            from = *at;
        }
        out.write_all(&self.bytes[from..part.end])?;
        out.flush()
    }
}

/// So much of a long body is written at once.
const ONE_PIECE: usize = 256 << 10;

impl Shape {
    fn put(self, body: &[u8], out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json => compact(text(body), out).map(drop),
            Self::String => Ok(serde_json::to_writer(out, text(body))?),
            Self::Base64 => {
                let mut out = EncoderWriter::new(out, &STANDARD);
                out.write_all(body)?;
                out.finish().map(drop)
            }
            Self::Cell(before) => {
                let is_special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
                let quote = if body.iter().any(is_special) {
                    "\""
                } else {
                    ""
                };
                write!(out, "{quote}{before}")?;
                let mut parts = text(body).split('"');
                out.write_all(parts.next().unwrap_or_default().as_bytes())?;
                for part in parts {
                    out.write_all(b"\"\"")?;
                    out.write_all(part.as_bytes())?;
                }
                out.write_all(quote.as_bytes())
            }
        }
    }
}

fn text(body: &[u8]) -> &str {
    str::from_utf8(body).expect("it was found to be text")
}

#[cfg(test)]
mod tests {
    use base64::Engine;

    use super::*;
    use crate::sink::body::put_value;
    use crate::sink::cells::record;

    /// As it is written, and how much of it was held before.
    fn written(mut text: Text) -> (String, usize) {
        let held = text.len();
        text.push(b'\n');
        let mut out = Vec::new();
        text.write(0..text.len(), &mut out).unwrap();
        out.pop();
        (String::from_utf8(out).unwrap(), held)
    }

    #[test]
    fn a_long_body_stands_as_a_short_one_and_no_copy_of_it_is_held() {
        let string = |text: &str| serde_json::to_string(text).unwrap();
        for times in [1, LARGE] {
            let text = "Zoë\n\"x".repeat(times);
            let list = format!(
                "[{}0 ]",
                "{ \"a\" : \"b \\\" c\" , \"d\" : 1.0 },".repeat(times)
            );
            let compact = format!("[{}0]", r#"{"a":"b \" c","d":1.0},"#.repeat(times));
            let bytes = b"\xff\0ab".repeat(times);
            let base64 = format!("{{\"body_base64\":\"{}\"}}", STANDARD.encode(&bytes));
            for (body, expected) in [
                (text.clone().into_bytes(), string(&text)),
                (list.into_bytes(), compact),
                (bytes, base64),
            ] {
                let body = Bytes::from(body);
                let mut text = Text::default();
                put_value(&body, &mut text);
                let length = text.length();
                let (line, held) = written(text);
                assert!(line == expected, "{}", &expected[..20]);
                if body.len() > LARGE {
                    assert!(held <= 20, "{held} bytes are held");
                    assert!(length >= body.len());
                }
            }
        }
    }

    #[test]
    fn a_cell_is_quoted_where_that_is_needed_however_long_it_is() {
        let long = "x".repeat(LARGE);
        for (body, cell) in [
            ("", ""),
            ("a b", "a b"),
            ("a,\"b\"\n", "\"a,\"\"b\"\"\n\""),
            (&*long, &*long),
            (&*(long.clone() + ",\""), &*format!("\"{long},\"\"\"")),
        ] {
            let mut text = Text::default();
            let body = Bytes::copy_from_slice(body.as_bytes());
            record(["1", ""], Some((&body, Shape::Cell(""))), ["2"], &mut text);
            let (row, _) = written(text);
            assert!(row == format!("1,,{cell},2\n"), "{}", &row[..10]);
        }
        let mut text = Text::default();
        let body = Bytes::from_static(b"=1");
        record(["1"], Some((&body, Shape::Cell("'"))), ["", ""], &mut text);
        record(["1"], Some((&body, Shape::Base64)), [""], &mut text);
        record(["1"], None, ["", "2"], &mut text);
        assert_eq!(written(text).0, "1,'=1,,\n1,PTE=,\n1,,,2\n");
    }
}
