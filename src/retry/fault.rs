//! Where the body of an answer says that it is no success. Floor 3: rules.

use std::str::FromStr;

use serde_json::value::RawValue;

use crate::json::Pointer;

/// A JSON pointer (RFC 6901) to what stands in a body only if something is wrong: `/error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultAt {
    written: Box<str>,
    pointer: Pointer,
}

/// So many letters of what is wrong are told; the body stands in the result.
const TOLD: usize = 200;

impl FaultAt {
    /// What is wrong, for people; `None` if nothing stands there, or null, false, 0, `""`, `[]` or `{}`. A body that is
    /// no JSON, as one that was cut, is wrong by itself.
    pub fn read(&self, body: &[u8]) -> Option<Box<str>> {
        let text = std::str::from_utf8(body).ok();
        let json = text.filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
        let Some(json) = json else {
            let what = format!(
                "the body is no JSON, so {} cannot be looked for",
                self.written
            );
            return Some(what.into());
        };
        self.in_json(json)
    }

    /// The same of a part of a body, which may be no JSON.
    pub fn in_json(&self, json: &str) -> Option<Box<str>> {
        let value = self.pointer.find(json)?.get();
        if is_nothing(value) {
            return None;
        }
        Some(Self::told(
            &format!("{} of the body is", self.written),
            value,
        ))
    }

    /// As much of a value as is told, behind these words.
    pub fn told(before: &str, value: &str) -> Box<str> {
        let mut told: String = value.chars().take(TOLD).collect();
        if told.len() < value.len() {
            told.push('…');
        }
        format!("{before} {told}").into()
    }
}

/// Of a JSON text without blanks around it. It may be nearly all of the body: nothing is built of it.
fn is_nothing(json: &str) -> bool {
    match json.as_bytes() {
        [b'[' | b'{', rest @ ..] => matches!(rest.trim_ascii_start(), [b']' | b'}', ..]),
        b"null" | b"false" | b"\"\"" => true,
        _ => json.parse() == Ok(0.0),
    }
}

impl FromStr for FaultAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(pointer) if !text.is_empty() => Ok(Self {
                written: text.into(),
                pointer,
            }),
            Ok(_) => Err("write where it stands: /error or /error/code".to_owned()),
            Err(why) => Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pointer: &str, body: &str) -> Option<Box<str>> {
        let at: FaultAt = pointer.parse().unwrap();
        at.read(body.as_bytes())
    }

    #[test]
    fn nothing_is_wrong_where_nothing_stands() {
        for body in [
            r#"{"ok":true}"#,
            r#"{"error":null}"#,
            r#"{"error": false}"#,
            r#"{"error":0}"#,
            r#"{"error": -0.0e7 }"#,
            r#"{"error":""}"#,
            r#"{"error":[ ]}"#,
            r#"{"error":{ } }"#,
            "[1]",
            "7",
        ] {
            assert_eq!(read("/error", body), None, "{body}");
        }
    }

    #[test]
    fn what_stands_there_is_told_and_not_all_of_it_if_it_is_long() {
        let told = read(
            "/error/code",
            r#"{"error":{"code":429,"message":"slow down"}}"#,
        );
        assert_eq!(told.as_deref(), Some("/error/code of the body is 429"));
        let long = format!(r#"{{"error":"{}"}}"#, "ä".repeat(1_000));
        let told = read("/error", &long).unwrap();
        assert!(told.ends_with('…') && told.chars().count() < 240, "{told}");
    }

    #[test]
    fn a_body_that_is_no_json_or_was_cut_is_wrong() {
        for body in ["", "busy", r#"{"ok":tr"#, "{} {}"] {
            assert!(read("/error", body).is_some(), "{body}");
        }
        let at: FaultAt = "/error".parse().unwrap();
        assert!(at.read(b"\xff{}").is_some());
    }

    #[test]
    fn a_depth_that_no_reader_takes_is_wrong_and_no_danger() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let told = read("/error", &format!(r#"{{"error":{deep}}}"#));
        assert!(told.is_some());
        assert_eq!(read("/other", &format!(r#"{{"error":{deep}}}"#)), None);
    }

    #[test]
    fn a_pointer_to_the_whole_and_nonsense_are_refused() {
        for text in ["", "error", "/a~"] {
            assert!(text.parse::<FaultAt>().is_err(), "{text}");
        }
    }
}
