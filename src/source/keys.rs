//! The values of a job that limits are kept apart for. Floor 4: doors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderName;
use http::header::HOST;
use ring::digest::{SHA256, digest};
use serde_json::value::RawValue;
use twox_hash::XxHash3_128;
use url::Url;

use super::Credentials;
use super::draft::Fields;
use super::shown::shown;
use crate::error::Problem;
use crate::headers::{Lines, NAMED, misnamed};
use crate::job::{Keys, host_of, without_credentials};
use crate::json::{self, Member, Pointer};
use crate::limit::KeyBy;
use crate::secret::{is_secret_field, is_secret_header};

/// So many values of a key are shared by the jobs that have them: those met last.
const SHARED: usize = 32;

/// The keys that a run asks for, with what was met of each.
pub(super) struct KeyTable(Vec<Column>);

/// One key, and its values so far.
struct Column {
    by: By,
    secrecy: Secrecy,
    named: Credentials,
    /// Hashes of values that may not be shown, with their numbers: 32 bytes each, roughly.
    numbers: HashMap<u128, usize>,
    recent: Vec<Arc<str>>,
}

/// Whether the values of a key may be credentials, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    Shown,
    Numbered,
}

enum By {
    Host,
    Header(HeaderName),
    Field(Pointer),
}

impl KeyTable {
    /// A usage problem if a name is no header, or a pointer no pointer.
    pub(super) fn new(per: &[KeyBy], named: Credentials) -> Result<Self, Problem> {
        let column = |key: &KeyBy| {
            let by = By::new(key)?;
            Ok(Column {
                secrecy: by.secrecy(),
                by,
                named,
                numbers: HashMap::new(),
                recent: Vec::new(),
            })
        };
        per.iter().map(column).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a key is that field of a line, or within it.
    pub(super) fn has_field(&self, name: &str) -> bool {
        self.0.iter().any(|column| match &column.by {
            By::Host | By::Header(_) => false,
            By::Field(pointer) => pointer
                .steps()
                .first()
                .is_some_and(|first| **first == *name),
        })
    }

    /// The values of a job, in the order of the run; what it does not have is empty.
    pub(super) fn of(&mut self, fields: &Fields<'_>, url: &Url, headers: Lines<'_>) -> Keys {
        let columns = self.0.iter_mut();
        columns
            .map(|column| column.of(fields, url, headers))
            .collect()
    }
}

impl By {
    fn new(key: &KeyBy) -> Result<Self, Problem> {
        match key {
            KeyBy::Host => Ok(Self::Host),
            KeyBy::Header(name) => match HeaderName::from_bytes(name.as_bytes()) {
                Ok(name) => Ok(Self::Header(name)),
                Err(_) => Err(Problem::usage(misnamed(name), NAMED).at("per")),
            },
            KeyBy::Field(name) if name.starts_with('/') => match name.parse() {
                Ok(pointer) => Ok(Self::Field(pointer)),
                Err(form) => {
                    Err(Problem::usage(format!("{name:?} is not a pointer"), form).at("per"))
                }
            },
            KeyBy::Field(name) => Ok(Self::Field(Pointer::to_member(name))),
        }
    }

    fn secrecy(&self) -> Secrecy {
        let secret = match self {
            Self::Host => false,
            Self::Header(name) => is_secret_header(name.as_str()),
            Self::Field(pointer) => is_secret_field(pointer.steps()),
        };
        if secret {
            Secrecy::Numbered
        } else {
            Secrecy::Shown
        }
    }
}

impl Column {
    fn of(&mut self, fields: &Fields<'_>, url: &Url, headers: Lines<'_>) -> Arc<str> {
        let host = || Cow::Borrowed(host_of(url));
        let value = match &self.by {
            By::Host => bytes(host()),
            By::Header(name) => match header(headers, name) {
                Some(value) => value,
                None if name == HOST => bytes(host()),
                None => bytes(Cow::Borrowed("")),
            },
            By::Field(pointer) => bytes(field(fields, pointer.steps())),
        };
        let shown = match self.secrecy {
            Secrecy::Numbered if value.is_empty() => Cow::Borrowed(""),
            Secrecy::Numbered => Cow::Owned(self.named(&value)),
            Secrecy::Shown if holds_credentials(&value) => Cow::Owned(self.named(&value)),
            Secrecy::Shown => shown(&value),
        };
        self.shared(&shown)
    }

    /// The name of a value that may not be shown.
    fn named(&mut self, value: &[u8]) -> String {
        if self.named == Credentials::Hashed {
            let hash = digest(&SHA256, value);
            let hash = hash.as_ref().iter().take(6);
            return hash.fold("key ".to_owned(), |name, byte| format!("{name}{byte:02x}"));
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(XxHash3_128::oneshot(value));
        format!("key {}", number.or_insert(next))
    }

    /// One text for all jobs that have it, as far as it was met lately. What is met often moves ahead.
    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(at) = self.recent.iter().position(|known| **known == *text) {
            let known = Arc::clone(&self.recent[at]);
            self.recent.swap(at, at.saturating_sub(1));
            return known;
        }
        if self.recent.len() == SHARED {
            self.recent.pop();
        }
        let new = Arc::from(text);
        self.recent.push(Arc::clone(&new));
        new
    }
}

/// All values of a header, as one: RFC 9110 §5.3.
fn header<'a>(headers: Lines<'a>, name: &HeaderName) -> Option<Cow<'a, [u8]>> {
    let mut values = headers.get_all(name);
    let mut all = Cow::Borrowed(values.next()?);
    for value in values {
        let all = all.to_mut();
        all.extend_from_slice(b", ");
        all.extend_from_slice(value);
    }
    Some(all)
}

/// What stands there; nothing if the steps lead nowhere.
fn field<'a>(fields: &Fields<'a>, steps: &[Box<str>]) -> Cow<'a, str> {
    let value = match fields {
        Fields::None => None,
        Fields::Json(members) => member(members, steps).map(text),
        Fields::Cells(cells) => {
            let mut cells = cells.iter();
            let cell = cells.find(|(name, _)| matches!(steps, [step] if **step == **name));
            cell.map(|(_, value)| Cow::Borrowed(*value))
        }
    };
    value.unwrap_or_default()
}

/// Only the field is read, and that only if the steps lead into it.
fn member<'a>(fields: &[Member<'a>], steps: &[Box<str>]) -> Option<&'a str> {
    let (first, rest) = steps.split_first()?;
    let named = fields.iter().rev().find(|(name, _)| **name == **first);
    let (_, value) = named?;
    if rest.is_empty() {
        Some(value)
    } else {
        json::find(value, rest).map(RawValue::get)
    }
}

/// A string without quotes and escapes, anything else as written but for blanks; nothing for null.
fn text(json: &str) -> Cow<'_, str> {
    match json.as_bytes()[0] {
        b'"' if json.contains('\\') => {
            // An escape that is no character stays as it is written.
            serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned)
        }
        b'"' => Cow::Borrowed(&json[1..json.len() - 1]),
        b'{' | b'[' => Cow::Owned(compact(json)),
        b'n' => Cow::Borrowed(""),
        _ => Cow::Borrowed(json),
    }
}

/// JSON without the blanks between its words.
fn compact(json: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    json.chars()
        .filter(|&letter| {
            let kept = in_string || !letter.is_ascii_whitespace();
            if letter == '"' && !escaped {
                in_string = !in_string;
            }
            escaped = letter == '\\' && !escaped;
            kept
        })
        .collect()
}

/// Whether a value is a URL with a credential in it.
fn holds_credentials(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    (text.contains("://") || text.contains('?')) && without_credentials(&text) != *text
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Headers;

    fn field_key(name: &str) -> KeyBy {
        KeyBy::Field(name.into())
    }

    fn table(per: &[KeyBy]) -> KeyTable {
        KeyTable::new(per, Credentials::Numbered).unwrap()
    }

    /// The keys of a line, to which the command line adds `headers`.
    fn keys_with(table: &mut KeyTable, line: &str, url: &str, headers: &[(&str, &str)]) -> Keys {
        let fields = Fields::Json(json::members(line).unwrap());
        let mut all = Headers::default();
        for (name, value) in headers {
            all.add(&name.parse().unwrap(), &value.parse().unwrap());
        }
        table.of(&fields, &Url::parse(url).unwrap(), all.lines())
    }

    fn in_line(field: &str, line: &str) -> Arc<str> {
        keys_with(&mut table(&[field_key(field)]), line, "http://h/", &[])[0].clone()
    }

    fn of_header(table: &mut KeyTable, headers: &[(&str, &str)]) -> Arc<str> {
        keys_with(table, "{}", "http://h/", headers)[0].clone()
    }

    #[test]
    fn a_host_has_its_port_if_that_is_not_the_schemes_own() {
        for (url, host) in [
            ("http://u:canary@H.test:80/a", "h.test"),
            ("https://h.test:443/", "h.test"),
            ("https://h.test:80/", "h.test:80"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            let per = [KeyBy::Host, KeyBy::Header("host".into())];
            let keys = keys_with(&mut table(&per), "{}", url, &[]);
            assert_eq!([&*keys[0], &*keys[1]], [host; 2], "{url}");
        }
        let mut own = table(&[KeyBy::Header("host".into())]);
        assert_eq!(&*of_header(&mut own, &[("host", "other")]), "other");
    }

    #[test]
    fn a_header_counts_with_all_its_values() {
        let mut table = table(&[KeyBy::Header("X-Tenant".into())]);
        assert_eq!(&*of_header(&mut table, &[("x-tenant", "a")]), "a");
        let two = [("x-tenant", "a"), ("x-other", "c"), ("x-tenant", "b")];
        assert_eq!(&*of_header(&mut table, &two), "a, b");
        assert_eq!(&*of_header(&mut table, &[]), "");
    }

    #[test]
    fn a_credential_is_a_number_and_not_kept() {
        let mut table = table(&[KeyBy::Header("authorization".into())]);
        for (value, key) in [
            ("canary 1", "key 1"),
            ("canary 2", "key 2"),
            ("canary 1", "key 1"),
        ] {
            assert_eq!(&*of_header(&mut table, &[("authorization", value)]), key);
        }
        assert_eq!(&*of_header(&mut table, &[]), "");
        let line = r#"{"headers":{"Authorization":"canary"},"body":{"api_key":"canary"},"url":"http://u:canary@h/?q"}"#;
        for field in [
            "headers",
            "/headers/Authorization",
            "/body/api_key",
            "url",
            "/url",
        ] {
            assert_eq!(&*in_line(field, line), "key 1", "{field}");
        }
    }

    #[test]
    fn a_field_is_found_at_the_top_or_by_a_pointer() {
        let line = r#"{"key":"t","meta":{"a/b":1,"c~d":[true,{"e":"f"}]},"body":{"model":"m","n":1.50},"no":null}"#;
        for (field, key) in [
            ("key", "t"),
            ("/key", "t"),
            ("/meta/a~1b", "1"),
            ("/meta/c~0d/0", "true"),
            ("/meta/c~0d/1/e", "f"),
            ("/meta/c~0d/01/e", ""),
            ("/body/model", "m"),
            ("/body/n", "1.50"),
            ("/key/0", ""),
            ("/missing/a", ""),
            ("missing", ""),
            ("no", ""),
            ("", ""),
        ] {
            assert_eq!(&*in_line(field, line), key, "{field}");
        }
    }

    #[test]
    fn an_object_is_as_written_but_for_blanks() {
        let line = "{\"meta\" : { \"a b\" : [ 1.0,\t\" \\\" \" ] , \"c\":\"\\\\\" } }";
        assert_eq!(&*in_line("meta", line), r#"{"a b":[1.0," \" "],"c":"\\"}"#);
    }

    #[test]
    fn an_escape_is_its_character_unless_there_is_none() {
        assert_eq!(&*in_line("a", r#"{"\u0061":"\u00e9\/"}"#), "é/");
        assert_eq!(&*in_line("a", r#"{"a":"\ud800"}"#), r#""\ud800""#);
    }

    #[test]
    fn the_last_of_two_fields_of_one_name_counts() {
        assert_eq!(&*in_line("a", r#"{"a":1,"a":2}"#), "2");
        assert_eq!(&*in_line("/a/b", r#"{"a":{"b":1,"b":2}}"#), "2");
    }

    #[test]
    fn jobs_share_the_values_met_last() {
        let mut table = table(&[field_key("a")]);
        let mut key = |value: usize| {
            let line = format!("{{\"a\":{value}}}");
            keys_with(&mut table, &line, "http://h/", &[])[0].clone()
        };
        let first: Vec<_> = (0..10).map(&mut key).collect();
        let again: Vec<_> = (0..10).map(&mut key).collect();
        let shared = first.iter().zip(&again);
        assert!(
            shared
                .into_iter()
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        for value in 0..1000 {
            assert_eq!(&*key(value), value.to_string());
        }
        assert!(table.0[0].recent.len() <= SHARED);
    }

    #[test]
    fn keys_stand_in_the_order_of_the_run_and_name_their_fields() {
        let per = [field_key("/body/model"), KeyBy::Host, field_key("tenant")];
        let mut table = table(&per);
        let line = r#"{"tenant":"t","body":{"model":"m"}}"#;
        let keys = keys_with(&mut table, line, "http://h/", &[]);
        assert_eq!(
            keys.iter().map(|key| &**key).collect::<Vec<_>>(),
            ["m", "h", "t"]
        );
        assert!(table.has_field("tenant") && table.has_field("body"));
        assert!(!table.has_field("model") && !table.has_field("h"));
    }

    #[test]
    fn a_key_that_nothing_can_have_is_a_usage_problem() {
        for key in [KeyBy::Header("a b".into()), field_key("/a~")] {
            assert!(
                KeyTable::new(std::slice::from_ref(&key), Credentials::Numbered).is_err(),
                "{key:?}"
            );
        }
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let line = format!("{{\"a\":{{\"deep\":{deep},\"b\":1}}}}");
        assert_eq!(&*in_line("/a/b", &line), "1");
        assert!(in_line("/a/deep", &line).starts_with("[[["));
    }
}
