//! A JSON object whose values stay as they stand in the text. Floor 1: words.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::plain;

/// A name, borrowed unless it has escapes, and its value as it stands in the text.
pub type Member<'a> = (Cow<'a, str>, &'a str);

/// The members of an object in their order.
///
/// Read without recursion, so no depth of nesting can overflow the stack.
pub fn members(text: &str) -> Result<Vec<Member<'_>>, serde_json::Error> {
    members_in(text, Vec::with_capacity(8))
}

/// The same in memory that is there already: see [`memory_of`].
pub fn members_in<'a>(
    text: &'a str,
    memory: Vec<Member<'a>>,
) -> Result<Vec<Member<'a>>, serde_json::Error> {
    match plain::members_in(text, memory) {
        Some(members) => Ok(members),
        None => by_serde(text),
    }
}

/// The memory of a list, unless that is much.
pub fn memory_of<'a>(members: Vec<Member<'_>>) -> Vec<Member<'a>> {
    // The standard library collects in place what comes of a list.
    let mut memory: Vec<_> = members.into_iter().map_while(|_| None).collect();
    memory.shrink_to(64);
    memory
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_list_is_used_again_unless_it_is_much() {
        let text = "{\"a\":1,\"b\":2}".to_owned();
        let first = members(&text).unwrap();
        let memory = first.as_ptr().addr();
        let second = members_in(r#"{"c":3}"#, memory_of(first)).unwrap();
        assert_eq!(second, [(Cow::Borrowed("c"), "3")]);
        assert_eq!(second.as_ptr().addr(), memory);
        let many = vec![second[0].clone(); 1_000];
        assert!(memory_of(many).capacity() < 1_000);
    }
}
