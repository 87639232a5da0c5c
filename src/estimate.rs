//! What a request is likely to cost in LLM tokens, guessed from its body. Floor 3: rules.

use serde::de::IgnoredAny;

/// Body fields that cap the answer; the larger counts if a request has several.
const OUTPUT_FIELDS: [&[u8]; 3] = [
    b"max_tokens",
    b"max_completion_tokens",
    b"max_output_tokens",
];

/// Bytes of text in one token, roughly, of English in the common encodings.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens to reserve for a request: bytes of text / 4, rounded up, and the most that the answer may take.
///
/// The text of a JSON object or array is its string values, all levels, as UTF-8 without escapes; keys,
/// numbers and punctuation are not counted. Any other body is text as a whole. The answer's maximum is
/// the largest whole number among the top-level fields `max_tokens`, `max_completion_tokens` and
/// `max_output_tokens`, else 0.
pub fn units(body: &[u8]) -> u64 {
    let body = body.trim_ascii();
    let json = matches!(body.first(), Some(b'{' | b'['))
        && serde_json::from_slice::<IgnoredAny>(body).is_ok();
    let (text, output) = if json {
        tally(body)
    } else {
        (body.len() as u64, 0)
    };
    text.div_ceil(BYTES_PER_TOKEN).saturating_add(output)
}

/// Bytes of string values, and the answer's maximum, of valid JSON. A flat scan: depth costs no stack.
fn tally(json: &[u8]) -> (u64, u64) {
    let (mut text, mut output) = (0, 0);
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
                    None => text += length,
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    (text, output)
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

    #[test]
    fn text_is_a_token_for_each_four_bytes_rounded_up() {
        assert_eq!(units(b""), 0);
        assert_eq!(units(b"a"), 1);
        assert_eq!(units(b"abcd"), 1);
        assert_eq!(units(b"abcde"), 2);
    }

    #[test]
    fn only_string_values_of_a_json_body_are_text() {
        assert_eq!(units(br#"{"key":["abcd",{"deep":"efgh"}],"n":123456}"#), 2);
    }

    #[test]
    fn the_largest_output_field_at_the_top_is_added() {
        assert_eq!(
            units(br#"{"max_tokens":10,"max_output_tokens" : 30 ,"text":"abcd"}"#),
            31
        );
        assert_eq!(units(br#"{"max_completion_tokens":7}"#), 7);
        for ignored in [
            r#"{"a":{"max_tokens":10}}"#,
            r#"{"max_tokens":1.5}"#,
            r#"{"max_tokens":-1}"#,
            r#"{"max_tokens":null}"#,
            r#"{"max_tokens":99999999999999999999}"#,
        ] {
            assert_eq!(units(ignored.as_bytes()), 0, "{ignored}");
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
        assert_eq!(units(br#"{"a":"abcd"#), 3);
    }

    #[test]
    fn a_hundred_thousand_levels_are_estimated() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(units(deep.as_bytes()), 0);
    }
}
