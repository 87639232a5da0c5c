//! The fields of an answer that speak of limits. Floor 3: rules.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::time::SystemTime;

use http::header::DATE;

use super::moment;
use crate::outcome::Head;

/// What a name ends with that tells a limit at the shops: `X-Shopify-Shop-Api-Call-Limit`.
const CALL_LIMIT: &[u8] = b"-api-call-limit";

/// The fields of one answer that speak of limits, in their order. Nearly all answers have none: then
/// nothing is kept, and no value was looked at.
pub(super) struct Fields<'a> {
    head: &'a Head,
    told: Vec<Field<'a>>,
    now: OnceCell<SystemTime>,
}

struct Field<'a> {
    name: Cow<'a, str>,
    value: &'a str,
}

impl Field<'_> {
    /// Whether its name is these three in a row.
    fn is(&self, before: &str, part: &str, after: &str) -> bool {
        let name = &*self.name;
        name.len() == before.len() + part.len() + after.len()
            && name.starts_with(before)
            && name[before.len()..].starts_with(part)
            && name.ends_with(after)
    }
}

impl<'a> Fields<'a> {
    /// One pass over all names. A name or a value that is no text is none.
    pub(super) fn of(head: &'a Head) -> Self {
        let told = head.headers.iter().filter(|(name, _)| speaks(name));
        let told = told.filter_map(|(name, value)| {
            Some(Field {
                name: canonical(std::str::from_utf8(name).ok()?),
                value: text(value)?,
            })
        });
        Self {
            head,
            told: told.collect(),
            now: OnceCell::new(),
        }
    }

    /// Whether none speaks of limits.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The values of this name among them, without the white space around them.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.part(name, "")
    }

    /// The same of the name that `pattern` is with `part` in the place of its `*`.
    pub(super) fn part(&self, pattern: &str, part: &str) -> impl Iterator<Item = &'a str> {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        let told = self.told.iter();
        let told = told.filter(move |field| field.is(before, part, after));
        told.map(|field| field.value)
    }

    /// The first value of this name among them.
    pub(super) fn first(&self, name: &str) -> Option<&'a str> {
        self.values(name).next()
    }

    /// All values of this name as one list: RFC 9110 §5.3. `None` if there are none.
    pub(super) fn list(&self, name: &str) -> Option<String> {
        let values: Vec<_> = self.values(name).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Whether the answer has a field of this name, of whatever it speaks; `…-*` is any that begins so.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut all = self.head.headers.iter();
        all.any(|(own, _)| match name.strip_suffix('*') {
            Some(beginning) => own.starts_with(beginning.as_bytes()),
            None => own == name.as_bytes(),
        })
    }

    /// What moments are compared with: the answer's own `Date`, so that a wrong clock at either end
    /// changes nothing, else [`Head::wall`].
    pub(super) fn now(&self) -> SystemTime {
        *self.now.get_or_init(|| {
            let dates = self.head.headers.get_all(&DATE);
            let mut dates = dates.filter_map(|value| moment::http_date(text(value)?));
            dates.next().unwrap_or(self.head.wall)
        })
    }
}

/// Visible ASCII without the white space around it: RFC 9110 §5.5.
fn text(value: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    let value = std::str::from_utf8(value).ok()?;
    let value = value.trim_matches([' ', '\t']);
    value.as_bytes().iter().all(plain).then_some(value)
}

/// Whether a field of this name, which is in lower case, may speak of limits. Its first letters rule out nearly all.
fn speaks(name: &[u8]) -> bool {
    match name {
        [b'a', ..] => name.starts_with(b"anthropic-ratelimit-"),
        [b'r', b'e', ..] => name.starts_with(b"retry-after"),
        [b'r', b'a', ..] => name.starts_with(b"ratelimit"),
        [b'x', b'-', b'r', ..] if name.starts_with(b"x-ratelimit-") => true,
        [b'x', b'-', b'r', ..] if name.starts_with(OTHER.as_bytes()) => true,
        [b'x', b'-', b't', ..] if name.starts_with(b"x-tokenlimit-") => true,
        [b'x', b'-', b's', ..] if name.starts_with(b"x-should-retry") => true,
        [b'x', b'-', b'm', ..] if name.starts_with(b"x-ms-retry-after") => true,
        [b'x', ..] => name.ends_with(CALL_LIMIT),
        _ => false,
    }
}

/// Azure has written both this and `x-ratelimit-`.
const OTHER: &str = "x-rate-limit-";

fn canonical(name: &str) -> Cow<'_, str> {
    match name.strip_prefix(OTHER) {
        Some(rest) => Cow::Owned(format!("x-ratelimit-{rest}")),
        None => Cow::Borrowed(name),
    }
}
