//! The text of a body, and the most output that it asks for. Floor 3: rules.

use serde::de::IgnoredAny;

/// Body fields that cap the answer; the larger counts if a request has several.
const OUTPUT_FIELDS: [&[u8]; 3] = [
    b"max_tokens",
    b"max_completion_tokens",
    b"max_output_tokens",
];

/// A body as its text is found.
pub(super) enum Body<'a> {
    /// A JSON object or array: [`scan`] finds its texts.
    Json(&'a [u8]),
    /// Anything else is one text.
    Text(&'a [u8]),
}

impl<'a> Body<'a> {
    /// Blanks around a body are no part of it.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let body = bytes.trim_ascii();
        let json = matches!(body.first(), Some(b'{' | b'['))
            && serde_json::from_slice::<IgnoredAny>(body).is_ok();
        if json {
            Self::Json(body)
        } else {
            Self::Text(body)
        }
    }

    /// The largest whole number among its output fields, else 0.
    pub(super) fn output(&self) -> u64 {
        match self {
            Self::Json(json) => scan(json, |_, _| {}),
            Self::Text(_) => 0,
        }
    }
}

/// Gives each string value of valid JSON to `each`: as it stands there, with its quotes, and its length in
/// bytes of UTF-8, without escapes. The largest whole number among its output fields, else 0.
///
/// A flat scan: depth costs no stack.
pub(super) fn scan(json: &[u8], mut each: impl FnMut(&[u8], u64)) -> u64 {
    let mut output = 0;
    let (mut at, mut depth) = (0, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let (length, end) = string(json, at);
                match json[end + 1..].trim_ascii_start().strip_prefix(b":") {
                    Some(value) if depth == 1 && OUTPUT_FIELDS.contains(&&json[at..end]) => {
                        output = output.max(whole_number(value).unwrap_or(0));
                    }
                    Some(_) => {}
                    None => each(&json[at - 1..=end], length),
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    output
}

/// Length in UTF-8 of the string that starts at `at`, behind its quote, and where its closing quote stands.
fn string(json: &[u8], mut at: usize) -> (u64, usize) {
    let mut length = 0;
    loop {
        let plain = json[at..]
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\'))
            .expect("a string of valid JSON is closed");
        length += plain as u64;
        at += plain;
        if json[at] == b'"' {
            return (length, at);
        }
        if json[at + 1] == b'u' {
            length += match &json[at + 2..at + 6] {
                [b'0', b'0', b'0'..=b'7', _] => 1,
                [b'0', b'0'..=b'7', ..]
                | [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => 2,
                _ => 3,
            };
            at += 6;
        } else {
            length += 1;
            at += 2;
        }
    }
}

/// The whole number that a JSON value is; `None` for any other value.
fn whole_number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii_start();
    let end = value
        .iter()
        .position(|byte| matches!(byte, b',' | b'}') || byte.is_ascii_whitespace())?;
    std::str::from_utf8(&value[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of text, and the answer's maximum.
    fn tally(body: impl AsRef<[u8]>) -> (u64, u64) {
        match Body::of(body.as_ref()) {
            Body::Json(json) => {
                let mut length = 0;
                let output = scan(json, |_, bytes| length += bytes);
                (length, output)
            }
            Body::Text(text) => (text.len() as u64, 0),
        }
    }

    #[test]
    fn only_string_values_of_a_json_body_are_text() {
        let body = r#"{"key":["abcd",{"deep":"efgh"}],"n":123456}"#;
        assert_eq!(tally(body), (8, 0));
    }

    #[test]
    fn the_largest_output_field_at_the_top_counts() {
        let two = r#"{"max_tokens":10,"max_output_tokens" : 30 ,"text":"abcd"}"#;
        assert_eq!(tally(two), (4, 30));
        assert_eq!(tally(r#"{"max_completion_tokens":7}"#), (0, 7));
        for ignored in [
            r#"{"a":{"max_tokens":10}}"#,
            r#"{"max_tokens":1.5}"#,
            r#"{"max_tokens":-1}"#,
            r#"{"max_tokens":null}"#,
            r#"{"max_tokens":99999999999999999999}"#,
        ] {
            assert_eq!(tally(ignored), (0, 0), "{ignored}");
        }
    }

    #[test]
    fn an_escape_counts_as_the_bytes_that_it_stands_for() {
        assert_eq!(string(br#"a\n\"\\b""#, 0), (5, 8));
        assert_eq!(string(br#"\u0041""#, 0), (1, 6));
        assert_eq!(string(br#"\u00e9""#, 0), (2, 6));
        assert_eq!(string(br#"\u4e2d""#, 0), (3, 6));
        assert_eq!(string(br#"\ud83d\ude00""#, 0), (4, 12));
    }

    #[test]
    fn broken_json_is_text_as_a_whole() {
        assert_eq!(tally(r#"{"a":"abcd"#), (10, 0));
    }

    #[test]
    fn a_hundred_thousand_levels_are_read() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(tally(deep), (0, 0));
    }
}
