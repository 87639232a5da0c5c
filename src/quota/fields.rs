//! The fields of an answer that speak of limits. Floor 3: rules.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::time::SystemTime;

use super::moment;
use crate::outcome::Head;

/// What a name ends with that tells a limit at the shops: `X-Shopify-Shop-Api-Call-Limit`.
const CALL_LIMIT: &str = "-api-call-limit";

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
            && begins(name, before)
            && begins(&name[before.len()..], part)
            && ends(name, after)
    }
}

impl<'a> Fields<'a> {
    /// One pass over all names. A value that is no text is none.
    pub(super) fn of(head: &'a Head) -> Self {
        let told = all(head).filter(|(name, _)| speaks(name));
        let told = told.filter_map(|(name, value)| {
            Some(Field {
                name: canonical(name),
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
        all(self.head).any(|(own, _)| match name.strip_suffix('*') {
            Some(beginning) => begins(own, beginning),
            None => own.eq_ignore_ascii_case(name),
        })
    }

    /// What moments are compared with: the answer's own `Date`, so that a wrong clock at either end
    /// changes nothing, else [`Head::wall`].
    pub(super) fn now(&self) -> SystemTime {
        *self.now.get_or_init(|| {
            let dates = all(self.head).filter(|(name, _)| name.eq_ignore_ascii_case("date"));
            let mut dates = dates.filter_map(|(_, value)| moment::http_date(text(value)?));
            dates.next().unwrap_or(self.head.wall)
        })
    }
}

/// All fields of the answer.
fn all(head: &Head) -> impl Iterator<Item = (&str, &[u8])> {
    let fields = head.headers.iter();
    fields.filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value)))
}

/// Visible ASCII without the white space around it: RFC 9110 §5.5.
fn text(value: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    let value = std::str::from_utf8(value).ok()?;
    let value = value.trim_matches([' ', '\t']);
    value.as_bytes().iter().all(plain).then_some(value)
}

/// Whether a field of this name may speak of limits. Its first letter rules out most.
fn speaks(name: &str) -> bool {
    let any = |beginnings: &[&str]| beginnings.iter().any(|beginning| begins(name, beginning));
    match name.as_bytes().first() {
        Some(b'a' | b'A') => any(&["anthropic-ratelimit-"]),
        Some(b'r' | b'R') => any(&["retry-after", "ratelimit"]),
        Some(b'x' | b'X') => {
            any(&[
                "x-ratelimit-",
                "x-rate-limit-",
                "x-tokenlimit-",
                "x-should-retry",
                "x-ms-retry-after",
            ]) || ends(name, CALL_LIMIT)
        }
        Some(_) | None => false,
    }
}

fn begins(name: &str, beginning: &str) -> bool {
    let own = name.as_bytes().get(..beginning.len());
    own.is_some_and(|own| own.eq_ignore_ascii_case(beginning.as_bytes()))
}

fn ends(name: &str, end: &str) -> bool {
    let from = name.len().checked_sub(end.len());
    let own = from.map(|from| &name.as_bytes()[from..]);
    own.is_some_and(|own| own.eq_ignore_ascii_case(end.as_bytes()))
}

/// `x-rate-limit-` is read as `x-ratelimit-`: Azure has written both.
fn canonical(name: &str) -> Cow<'_, str> {
    const OTHER: &str = "x-rate-limit-";
    if begins(name, OTHER) {
        Cow::Owned(format!("x-ratelimit-{}", &name[OTHER.len()..]))
    } else {
        Cow::Borrowed(name)
    }
}
