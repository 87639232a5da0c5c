//! A JSON object whose values stay as they stand in the text. Floor 1: words.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::plain;

/// A name, borrowed unless it has escapes, and its value as it stands in the text.
pub type Member<'a> = (Cow<'a, str>, &'a str);

/// The members of an object in their order. Fails where the text is no whole object.
///
/// Read without recursion, so no depth of nesting can overflow the stack.
pub fn members(text: &str) -> Result<Vec<Member<'_>>, serde_json::Error> {
    match plain::members(text) {
        Some(members) => Ok(members),
        None => by_serde(text),
    }
}

/// The same of all that is JSON, or what is wrong with it.
pub(super) fn by_serde(text: &str) -> Result<Vec<Member<'_>>, serde_json::Error> {
    serde_json::from_str(text).map(|Members(members)| members)
}

struct Members<'a>(Vec<Member<'a>>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Members<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = map.next_entry::<_, &RawValue>()? {
            members.push((name, value.get()));
        }
        Ok(Members(members))
    }
}

/// The name of a member: borrowed, unless it has escapes.
#[derive(Deserialize)]
pub struct Name<'a>(#[serde(borrow)] pub Cow<'a, str>);
