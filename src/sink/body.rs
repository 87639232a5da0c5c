//! How the body of an answer stands in a result. Floor 4: doors.

use std::io::{self, Write};

use bytes::Bytes;
use serde_json::value::RawValue;

use super::LARGE;
use super::line::Object;
use super::text::{Shape, Text};
use crate::json::string_length;

/// Deeper bodies stand as text: common readers of JSON, this program's included, give up at 128.
const DEEPEST: usize = 100;

/// The body of an answer, in one of the two fields that can hold it: JSON as JSON on one line, other text as a
/// string, anything else as base64.
pub(super) fn put(body: &Bytes, line: &mut Object<'_>) {
    put_as("body", body, line);
}

/// The same under another name.
pub(super) fn put_as(name: &str, body: &Bytes, line: &mut Object<'_>) {
    match str::from_utf8(body) {
        Ok(text) if !is_shorter_as_base64(text) => put_text(body, text, line.key(name)),
        Ok(_) | Err(_) => put_base64(body, line.key(&format!("{name}_base64"))),
    }
}

/// The same as a value without a name: bytes that are no text as an object that has them as base64.
pub(super) fn put_value(body: &Bytes, out: &mut Text) {
    if let Ok(text) = str::from_utf8(body) {
        put_text(body, text, out);
    } else {
        let mut object = Object::begin(out);
        put(body, &mut object);
        object.end();
    }
}

/// As a string of base64.
pub(super) fn put_base64(body: &Bytes, out: &mut Text) {
    out.push(b'"');
    out.body(body, Shape::Base64);
    out.push(b'"');
}

/// Whether a long text is mostly of what a string has to escape, as a body of zeros is: its line would be six times as
/// long as it is.
fn is_shorter_as_base64(text: &str) -> bool {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        ..0x20 => 5,
        _ => 0,
    };
    text.len() > LARGE && text.bytes().map(more).sum::<usize>() > text.len() / 3 && !is_json(text)
}

/// Whether it is JSON that stands as such. Reading it takes memory for its depth, which of a long one is looked at first.
fn is_json(text: &str) -> bool {
    let is_deep = || compact(text, &mut io::sink()).is_ok_and(|depth| depth > DEEPEST);
    (text.len() <= LARGE || !is_deep()) && serde_json::from_str::<&RawValue>(text).is_ok()
}

fn put_text(body: &Bytes, text: &str, out: &mut Text) {
    let start = out.len();
    let shape = if !is_json(text) {
        Shape::String
    } else if text.len() > LARGE {
        Shape::Json
    } else {
        // One pass will do, as it can be taken back.
        match compact(text, &mut **out) {
            Ok(..=DEEPEST) => return,
            Ok(_) | Err(_) => Shape::String,
        }
    };
    out.truncate(start);
    out.body(body, shape);
}

/// Writes valid JSON without white space outside of strings, numbers as they were written; returns how deep it
/// nests. Strings of valid JSON hold no line breaks (RFC 8259 §7), so it is one line.
pub(super) fn compact(json: &str, out: &mut impl Write) -> io::Result<usize> {
    let (mut depth, mut deepest): (usize, usize) = (0, 0);
    let mut rest = json.as_bytes();
    // What was seen and not yet written.
    let mut seen = 0;
    while let Some(&byte) = rest.get(seen) {
        match byte {
            b'"' => seen += string_length(&rest[seen..]),
            b' ' | b'\t' | b'\r' | b'\n' => {
                out.write_all(&rest[..seen])?;
                rest = &rest[seen + 1..];
                seen = 0;
            }
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                seen += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                seen += 1;
            }
            _ => seen += 1,
        }
    }
    out.write_all(rest)?;
    Ok(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let mut out = Text::default();
        let mut line = Object::begin(&mut out);
        put(&Bytes::copy_from_slice(bytes), &mut line);
        line.end();
        let mut written = Vec::new();
        out.write(0..out.len(), &mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn json_is_embedded_without_line_breaks_and_with_its_numbers() {
        let body = b" {\r\n\t\"a b\" : [ 1.0, 1e5, 12345678901234567890123 ],\n \"q\\\"\\\\\" : \" x \" }\n";
        assert_eq!(
            shown(body),
            r#"{"body":{"a b":[1.0,1e5,12345678901234567890123],"q\"\\":" x "}}"#
        );
        assert_eq!(shown(b"1.0"), r#"{"body":1.0}"#);
        assert_eq!(shown(b"null"), r#"{"body":null}"#);
    }

    #[test]
    fn text_is_a_string_and_other_bytes_are_base64() {
        assert_eq!(shown("a\nZoë".as_bytes()), r#"{"body":"a\nZoë"}"#);
        assert_eq!(shown(b""), r#"{"body":""}"#);
        assert_eq!(shown(b"{\"a\":NaN}"), r#"{"body":"{\"a\":NaN}"}"#);
        assert_eq!(shown(b"{} {}"), r#"{"body":"{} {}"}"#);
        assert_eq!(shown(&[0xff, 0x00]), r#"{"body_base64":"/wA="}"#);
    }

    #[test]
    fn a_body_nested_too_deep_for_readers_is_a_string() {
        for (depth, blanks, start) in [
            (100, 0, "{\"body\":[["),
            (100, 2 << 20, "{\"body\":[["),
            (101, 0, "{\"body\":\"[["),
            (101, 2 << 20, "{\"body\":\"[["),
            (100_000, 0, "{\"body\":\"[["),
        ] {
            let body = "[".repeat(depth) + &" ".repeat(blanks) + &"]".repeat(depth);
            let shown = shown(body.as_bytes());
            assert!(shown.starts_with(start), "{depth}: {}", &shown[..20]);
            serde_json::from_str::<serde_json::Value>(&shown).unwrap();
        }
    }

    #[test]
    fn a_long_text_that_would_be_much_longer_as_a_string_is_base64() {
        let as_it_is = |bytes: &[u8]| shown(bytes).starts_with("{\"body\":");
        assert!(as_it_is(&[0; 1 << 10]));
        assert!(!as_it_is(&vec![0; 2 << 20]));
        assert!(as_it_is(&vec![b'x'; 2 << 20]));
        let list = format!("[{}\"a\"]", "\"\\n\",".repeat(1 << 19));
        assert!(as_it_is(list.as_bytes()), "it is JSON");
    }
}
