//! A place in a JSON text, by RFC 6901. Floor 1: words.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Name;

/// The names and indices that lead from the whole of a JSON text to a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Arc<[Box<str>]>);

impl Pointer {
    /// To the member of that name of the whole.
    pub fn to_member(name: &str) -> Self {
        Self([name.into()].into())
    }

    /// The names and indices from the whole inwards, without escapes.
    pub fn steps(&self) -> &[Box<str>] {
        &self.0
    }

    /// What stands there, as it is written; `None` if nothing does, see [`find`].
    pub fn find<'a>(&self, json: &'a str) -> Option<&'a RawValue> {
        find(json, self.steps())
    }
}

/// What stands behind these names and indices. `None` if nothing does, or the text is no JSON.
///
/// Each step reads the value that it starts from once, builds nothing and needs no stack for its depth.
/// RFC 8259 §4 leaves open what a name that is given twice means: here the last one counts.
pub fn find<'a>(json: &'a str, steps: &[impl AsRef<str>]) -> Option<&'a RawValue> {
    let Some((first, rest)) = steps.split_first() else {
        return serde_json::from_str(json).ok();
    };
    let found = step(json, first.as_ref())?;
    rest.iter()
        .try_fold(found, |found, next| step(found.get(), next.as_ref()))
}

fn step<'a>(json: &'a str, step: &str) -> Option<&'a RawValue> {
    // What is anything else would be copied to say what it is.
    if !json.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    let found = Step(step).deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    found
}

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = self.0.iter();
        steps.try_for_each(|step| write!(out, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

impl FromStr for Pointer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write a JSON pointer (RFC 6901): /NAME or /NAME/0/NAME, with ~1 for a / \
             and ~0 for a ~ inside of a name";
        if text.is_empty() {
            return Ok(Self([].into()));
        }
        let steps = text.strip_prefix('/').ok_or(FORM)?.split('/');
        let steps: Option<Vec<_>> = steps.map(unescaped).collect();
        Ok(Self(steps.ok_or(FORM)?.into()))
    }
}

/// RFC 6901 §4: `~1` before `~0`, so that `~01` is `~1`. `None` if a `~` stands alone (§3).
fn unescaped(step: &str) -> Option<Box<str>> {
    let mut escapes = step.split('~').skip(1);
    if !escapes.all(|rest| rest.starts_with(['0', '1'])) {
        return None;
    }
    Some(step.replace("~1", "/").replace("~0", "~").into())
}

/// Finds one member or element of a value.
struct Step<'s>(&'s str);

impl Step<'_> {
    /// RFC 6901 §4: digits without a leading zero. `-` is the element behind the last: none.
    fn index(&self) -> Option<usize> {
        let plain = self.0 == "0" || !self.0.starts_with(['0', '+']);
        plain.then(|| self.0.parse().ok()).flatten()
    }
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                let IgnoredAny = map.next_value()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Some(index) = self.index() else {
            while let Some(IgnoredAny) = seq.next_element()? {}
            return Ok(None);
        };
        for _ in 0..index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = seq.next_element()?;
        while let Some(IgnoredAny) = seq.next_element()? {}
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(pointer: &str, json: &'a str) -> Option<&'a str> {
        let pointer: Pointer = pointer.parse().unwrap();
        pointer.find(json).map(RawValue::get)
    }

    #[test]
    fn the_examples_of_the_rfc_point_where_it_says() {
        let json = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
        for (pointer, value) in [
            ("", json),
            ("/foo", r#"["bar","baz"]"#),
            ("/foo/0", r#""bar""#),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
        ] {
            assert_eq!(found(pointer, json), Some(value), "{pointer}");
        }
        assert_eq!(found("/~01", r#"{"~1":1,"/":2}"#), Some("1"));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let json = r#"{"a":[1,{"b":2}],"c":"d"}"#;
        for pointer in [
            "/x", "/a/2", "/a/-", "/a/01", "/a/+1", "/a/b", "/c/0", "/a/0/0",
        ] {
            assert_eq!(found(pointer, json), None, "{pointer}");
        }
        assert_eq!(found("/a/1/b", json), Some("2"));
        assert_eq!(found("/0", r#"{"0":1}"#), Some("1"));
        for broken in ["", "{", r#"{"a":1"#, r#"{"a":1}}"#, "nan"] {
            assert_eq!(found("/a", broken), None, "{broken}");
        }
    }

    #[test]
    fn the_last_of_two_members_of_one_name_counts() {
        assert_eq!(found("/a", r#"{"a":1,"\u0061":2}"#), Some("2"));
    }

    #[test]
    fn a_text_that_is_no_pointer_is_refused_with_the_form() {
        for text in ["a", "#/a", "/a~", "/~2", "/a/~/b"] {
            let why = text.parse::<Pointer>().unwrap_err();
            assert!(why.contains("/NAME/0/NAME"), "{text}: {why}");
        }
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let json = format!("{{\"deep\":{deep},\"a\":[{deep},7]}}");
        assert_eq!(found("/a/1", &json), Some("7"));
        assert_eq!(found("/deep", &json), Some(&*deep));
    }
}
