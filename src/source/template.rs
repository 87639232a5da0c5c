//! A text with names in double braces, as `--url`, `--data` and `-H` may be. Floor 4: doors.

use std::fmt;
use std::str::FromStr;

use serde::de::IgnoredAny;

/// How it is written. A text that is to have two braces says so in a hole of its own.
const FORM: &str = "write names of columns in it, as in http://HOST/items/{{id}}, also {{seq}}, {{uuid}} and {{env:NAME}}; {{ \"{{\" }} is {{";

/// A text with holes that each row fills.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    /// What stands before each hole, and what fills it.
    pub(super) parts: Vec<(Box<str>, Hole)>,
    /// What stands behind the last one.
    pub(super) end: Box<str>,
}

/// What fills a hole.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Hole {
    /// What the row has of this name.
    Row(Box<str>),
    /// A variable of the environment.
    Env(Box<str>),
}

/// Where a hole stands, and so how its value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the path of a URL, as one part of it.
    Path,
    /// Behind the `?` or `#` of a URL, as one part of that.
    Query,
    /// In the value of a header.
    Header,
    /// In a text of no known form.
    Text,
    /// Within a string of a JSON text.
    JsonString,
    /// Where a JSON text has a value.
    JsonValue,
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut before = String::new();
        let mut rest = text;
        while let Some((plain, behind)) = rest.split_once("{{") {
            before += plain;
            if let Some(quoted) = behind.trim_start().strip_prefix('"') {
                let (literal, behind) = quoted.split_once('"').ok_or(FORM)?;
                before += literal;
                rest = behind.trim_start().strip_prefix("}}").ok_or(FORM)?;
                continue;
            }
            let (name, behind) = behind.split_once("}}").ok_or(FORM)?;
            let name = name.trim();
            if name.is_empty() || name.contains(['{', '}']) {
                return Err(FORM.to_owned());
            }
            let hole = match name.strip_prefix("env:") {
                Some("") => return Err(FORM.to_owned()),
                Some(variable) => Hole::Env(variable.into()),
                None => Hole::Row(name.into()),
            };
            parts.push((std::mem::take(&mut before).into(), hole));
            rest = behind;
        }
        Ok(Self {
            parts,
            end: (before + rest).into(),
        })
    }
}

impl fmt::Debug for Template {
    /// What stands in it may be a credential.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl Template {
    /// Where each hole of a URL stands.
    pub(super) fn places_in_url(&self) -> Vec<Place> {
        let mut place = Place::Path;
        let parts = self.parts.iter();
        parts
            .map(|(before, _)| {
                if before.contains(['?', '#']) {
                    place = Place::Query;
                }
                place
            })
            .collect()
    }

    /// Where each hole stands if this is a JSON object or array; `None` if it is not.
    ///
    /// What stands for the values in this test goes with no letter beside it: `z` is in no escape of a string, and no
    /// value begins or ends with `null`.
    pub(super) fn places_in_json(&self) -> Option<Vec<Place>> {
        let mut places = Vec::with_capacity(self.parts.len());
        let mut sample = String::new();
        let (mut place, mut is_escaped) = (Place::JsonValue, false);
        for (before, _) in &self.parts {
            for letter in before.chars() {
                place = match (place, letter) {
                    (Place::JsonString, '"') if !is_escaped => Place::JsonValue,
                    (Place::JsonValue, '"') => Place::JsonString,
                    (place, _) => place,
                };
                is_escaped = place == Place::JsonString && letter == '\\' && !is_escaped;
            }
            sample += before;
            sample += match place {
                Place::JsonString => "z",
                _ => "null",
            };
            places.push(place);
        }
        sample += &self.end;
        is_json(&sample).then_some(places)
    }
}

/// Whether a text is a JSON object or array.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_ascii_start().starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        text.parse().unwrap()
    }

    fn names(template: &Template) -> Vec<&str> {
        let holes = template.parts.iter().map(|(_, hole)| match hole {
            Hole::Row(name) | Hole::Env(name) => &**name,
        });
        holes.collect()
    }

    #[test]
    fn names_are_as_they_stand_between_the_braces() {
        let holes = template("a{{id}}b{{ Unit price }}c{{x-y}}{{env:HOME}}}}");
        assert_eq!(names(&holes), ["id", "Unit price", "x-y", "HOME"]);
        assert!(matches!(holes.parts[3].1, Hole::Env(_)));
        assert_eq!(&*holes.end, "}}");
    }

    #[test]
    fn braces_are_written_in_quotes() {
        let holes = template(r#"{{ "{{" }}a{{id}}{{"}} {{"}}"#);
        assert_eq!(
            (names(&holes), &*holes.parts[0].0, &*holes.end),
            (vec!["id"], "{{a", "}} {{")
        );
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in [
            "http://h/{{",
            "http://h/{{}}",
            "http://h/{{ }}",
            "{{a{{b}}",
            "{{env:}}",
            "{{\"a}}",
            "{{\"a\" b}}",
        ] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_hole_of_a_json_text_is_in_a_string_or_a_value() {
        use Place::{JsonString, JsonValue};
        for (text, places) in [
            (
                r#"{"a":{{a}},"b":"x {{b}} \"{{c}}","d":[{{d}}]}"#,
                &[JsonValue, JsonString, JsonString, JsonValue][..],
            ),
            (r#" {"{{a}}":"\\","b":{{b}}}"#, &[JsonString, JsonValue]),
            ("[]", &[]),
        ] {
            assert_eq!(template(text).places_in_json().as_deref(), Some(places));
        }
    }

    #[test]
    fn a_text_in_which_a_value_would_be_a_part_of_a_word_is_no_json() {
        for text in [
            "{{a}}",
            "\"{{a}}\"",
            "a={{a}}",
            "[{{a}}] {{b}}",
            "[1{{a}}]",
            "[{{a}}5]",
            "[{{a}}{{b}}]",
            r#"["\{{a}}"]"#,
            r#"["\u{{a}}000"]"#,
            r#"["\u000{{a}}"]"#,
            "{ user(id: {{id}}) }",
        ] {
            assert_eq!(template(text).places_in_json(), None, "{text}");
        }
    }
}
