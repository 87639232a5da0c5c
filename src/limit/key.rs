//! What a limit may be kept apart for: `host`, `header:x-tenant`, `field:/meta/team`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderName;

use super::Spec;

/// What a limit may be kept apart for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyBy {
    /// The host, and the port if it is not the scheme's own.
    Host,
    /// A header of the job, in lower case.
    Header(Arc<str>),
    /// A field of the job's line, or a JSON pointer (RFC 6901) into it.
    Field(Arc<str>),
}

/// The form that a key is written in, for messages.
pub const KEY_FORM: &str = "host, header:NAME, field:NAME or field:/json/pointer";

/// The keys of the limits of a run, each once, in the order in which the limits name them.
pub fn keys_of(limits: &[Spec]) -> Vec<KeyBy> {
    let mut keys: Vec<KeyBy> = Vec::new();
    for key in limits.iter().filter_map(|limit| limit.per.as_ref()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// The same, with the key of limits that are learnt behind them, if that is another.
pub fn all_keys(limits: &[Spec], learnt: Option<&KeyBy>) -> Vec<KeyBy> {
    let mut keys = keys_of(limits);
    let learnt = learnt.filter(|key| !keys.contains(key)).cloned();
    keys.extend(learnt);
    keys
}

impl fmt::Display for KeyBy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => out.write_str("host"),
            Self::Header(name) => write!(out, "header:{name}"),
            Self::Field(name) => write!(out, "field:{name}"),
        }
    }
}

impl FromStr for KeyBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("`{text}` {why}; write {KEY_FORM}"));
        if text == "host" {
            return Ok(Self::Host);
        }
        if let Some(name) = text.strip_prefix("header:") {
            return match HeaderName::from_bytes(name.as_bytes()) {
                Ok(name) => Ok(Self::Header(name.as_str().into())),
                Err(_) => wrong("names no header"),
            };
        }
        match text.strip_prefix("field:") {
            None => wrong("is no key"),
            Some("") => wrong("names no field"),
            // A limit is written in words.
            Some(name) if name.contains(char::is_whitespace) => wrong("has a space"),
            Some(name) if name.starts_with('/') && !is_pointer(name) => wrong("is no JSON pointer"),
            Some(name) => Ok(Self::Field(name.into())),
        }
    }
}

/// RFC 6901 §3: `~` stands only before 0 or 1.
fn is_pointer(text: &str) -> bool {
    let mut escapes = text.split('~').skip(1);
    escapes.all(|after| after.starts_with(['0', '1']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_shown_with_its_header_in_lower_case() {
        for (text, shown) in [
            ("host", "host"),
            ("header:X-Api-Key", "header:x-api-key"),
            ("field:key", "field:key"),
            ("field:/meta/a~1b", "field:/meta/a~1b"),
        ] {
            let key: Result<KeyBy, String> = text.parse();
            assert_eq!(key.map(|key| key.to_string()), Ok(shown.to_owned()));
        }
    }

    #[test]
    fn what_names_nothing_is_no_key() {
        for text in [
            "",
            "Host",
            "hosts",
            "header:",
            "header:a b",
            "header:ä",
            "header",
            "field:",
            "field",
            "field:a b",
            "field:/a~2",
            "field:/a~",
            "key",
        ] {
            let why = text.parse::<KeyBy>().unwrap_err();
            assert!(why.contains(&format!("`{text}`")), "{why}");
            assert!(why.ends_with(KEY_FORM), "{why}");
        }
    }
}
