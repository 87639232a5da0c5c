//! How the body of an answer stands in a result. Floor 4: doors.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;

/// Deeper bodies stand as text: common readers of JSON, this program's included, give up at 128.
const DEEPEST: usize = 100;

/// The two fields of a result that can hold a body; exactly one is there.
#[derive(Debug, Default, Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Embedded<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Embedded<'a> {
    Json(Box<RawValue>),
    Text(&'a str),
    Nothing,
}

impl<'a> Body<'a> {
    /// `"body":null`.
    pub(super) fn nothing() -> Self {
        Self {
            body: Some(Embedded::Nothing),
            body_base64: None,
        }
    }

    /// JSON as JSON on one line, other text as a string, anything else as base64.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Self {
                body: None,
                body_base64: Some(STANDARD.encode(bytes)),
            };
        };
        let json = serde_json::from_str::<&RawValue>(text).ok();
        let body = match json.map(compact) {
            Some((json, depth)) if depth <= DEEPEST => Embedded::Json(json),
            Some(_) | None => Embedded::Text(text),
        };
        Self {
            body: Some(body),
            body_base64: None,
        }
    }
}

/// The same value without white space outside of strings, numbers as they were written, and how
/// deep it nests. Strings of valid JSON hold no line breaks (RFC 8259 §7), so it is one line.
pub(super) fn compact(json: &RawValue) -> (Box<RawValue>, usize) {
    let json = json.get();
    let mut text = String::with_capacity(json.len());
    let (mut depth, mut deepest): (usize, usize) = (0, 0);
    let mut rest = json;
    while let Some(at) = rest.find(['"', ' ', '\t', '\r', '\n', '[', '{', ']', '}']) {
        text.push_str(&rest[..at]);
        let end = match rest.as_bytes()[at] {
            b'"' => at + string_length(&rest[at..]),
            _ => at + 1,
        };
        match rest.as_bytes()[at] {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                text.push_str(&rest[at..end]);
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                text.push_str(&rest[at..end]);
            }
            _ => text.push_str(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    let compacted =
        RawValue::from_string(text).expect("white space outside of strings says nothing");
    (compacted, deepest)
}

/// The length of the string that JSON begins with, quotes included.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        serde_json::to_string(&Body::of(bytes)).unwrap()
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
        for (depth, start) in [
            (100, "{\"body\":[["),
            (101, "{\"body\":\"[["),
            (100_000, "{\"body\":\"[["),
        ] {
            let body = "[".repeat(depth) + &"]".repeat(depth);
            let shown = shown(body.as_bytes());
            assert!(shown.starts_with(start), "{depth}: {}", &shown[..20]);
            serde_json::from_str::<serde_json::Value>(&shown).unwrap();
        }
    }
}
