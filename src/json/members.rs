//! A JSON object whose values stay as they stand in the text. Floor 1: words.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order, values as they stand in the text.
///
/// Raw values are read without recursion, so no depth of nesting can overflow the stack.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

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
        let mut members = Vec::with_capacity(8);
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// The name of a member: borrowed, unless it has escapes.
#[derive(Deserialize)]
pub struct Name<'a>(#[serde(borrow)] pub Cow<'a, str>);
