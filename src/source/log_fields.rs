//! Where a JSON log has what a request was, if its names are its own: `--log-fields`. Floor 4: doors.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;

use crate::json::{self, Member, Pointer};

/// Pairs of a part of a request and the field that has it: the name of a member, or a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFields {
    written: String,
    pub(super) url: Pointer,
    pub(super) method: Option<Pointer>,
    pub(super) host: Option<Pointer>,
    pub(super) at: Option<Pointer>,
    pub(super) took: Option<Took>,
    pub(super) body: Option<Pointer>,
}

/// How long a request took, in which unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Took {
    Seconds(Pointer),
    Millis(Pointer),
}

/// How people are told of a field: by its name, or with the way to it.
pub(super) fn name(pointer: &Pointer) -> Cow<'_, str> {
    match pointer.steps() {
        [name] => Cow::Borrowed(name),
        _ => Cow::Owned(pointer.to_string()),
    }
}

/// What a record has there, as it is written; null is nothing.
pub(super) fn find<'a>(pointer: &Pointer, members: &[Member<'a>]) -> Option<&'a str> {
    let (first, rest) = pointer.steps().split_first()?;
    let (_, value) = members.iter().find(|(name, _)| **name == **first)?;
    let value = if rest.is_empty() {
        value
    } else {
        json::find(value, rest).map(RawValue::get)?
    };
    (value != "null").then_some(value)
}

const FORM: &str = "write PART=FIELD,... with the parts url, method, host, at, took or took_ms, and body, of which url has to be \
                    there; a field is a name, or a JSON pointer (/http/url)";

impl FromStr for LogFields {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const PARTS: [&str; 7] = ["url", "method", "host", "at", "took", "took_ms", "body"];
        let mut found = [const { None }; PARTS.len()];
        for pair in text.split(',') {
            let (part, field) = pair.split_once('=').ok_or(FORM)?;
            let nth = PARTS.iter().position(|known| *known == part);
            let nth = nth.ok_or_else(|| format!("{part:?} is no part of a request; {FORM}"))?;
            if found[nth].replace(pointer(field)?).is_some() {
                return Err(format!("{part} is given twice; {FORM}"));
            }
        }
        let [url, method, host, at, took, took_ms, body] = found;
        let took = match (took, took_ms) {
            (Some(_), Some(_)) => return Err(format!("took is given as took_ms, too; {FORM}")),
            (Some(seconds), None) => Some(Took::Seconds(seconds)),
            (None, Some(millis)) => Some(Took::Millis(millis)),
            (None, None) => None,
        };
        Ok(Self {
            written: text.to_owned(),
            url: url.ok_or_else(|| format!("url is missing; {FORM}"))?,
            method,
            host,
            at,
            took,
            body,
        })
    }
}

impl fmt::Display for LogFields {
    /// As it was given.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

fn pointer(field: &str) -> Result<Pointer, String> {
    match field {
        "" => Err(FORM.to_owned()),
        field if field.starts_with('/') => field.parse(),
        name => Ok(Pointer::to_member(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_name_or_a_pointer() {
        let text = r#"{"http.url":"/a","http":{"url":"/b","list":[1,2]},"none":null}"#;
        let members = json::members(text).unwrap();
        for (field, value) in [
            ("http.url", Some("\"/a\"")),
            ("/http/url", Some("\"/b\"")),
            ("/http/list/1", Some("2")),
            ("/http/url/x", None),
            ("none", None),
            ("url", None),
        ] {
            let fields: LogFields = format!("url={field}").parse().unwrap();
            assert_eq!(find(&fields.url, &members), value, "{field}");
        }
    }

    #[test]
    fn what_is_no_map_is_told_what_is_allowed() {
        for (text, told) in [
            ("", "write PART=FIELD"),
            ("url", "write PART=FIELD"),
            ("url=", "write PART=FIELD"),
            ("url=a,", "write PART=FIELD"),
            ("url=/a~2", "JSON pointer"),
            ("url=a,verb=b", "\"verb\" is no part of a request"),
            ("url=a,url=b", "url is given twice"),
            ("url=a,took=b,took_ms=c", "took is given as took_ms, too"),
            ("method=a", "url is missing"),
        ] {
            let why = text.parse::<LogFields>().unwrap_err();
            assert!(why.contains(told), "{text}: {why}");
        }
    }
}
