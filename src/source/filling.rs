//! What the command line gives to each row: templates, and the values that fill them. Floor 4: doors.

use std::borrow::Cow;
use std::env;
use std::fmt::{self, Write as _};

use http::HeaderName;
use serde_json::value::RawValue;

use super::draft::{Content, Fault, Spot};
use super::spec::Spec;
use super::template::{Hole, Place, Template, is_json};
use super::unknown::meant;
use crate::error::Problem;
use crate::headers::Headers;
use crate::job::is_secret_parameter;
use crate::secret::{Hidden, is_secret_header};
use crate::units::Secret;

/// More names are not listed.
const LISTED: usize = 20;

/// A text of the command line whose holes are filled from rows.
struct Text {
    parts: Vec<(Box<str>, Piece)>,
    end: Box<str>,
}

enum Piece {
    /// The value of this name, by its place among all.
    Row(usize, Place),
    /// A variable of the environment, as it is written there.
    Env(Secret),
}

/// A name that stands in a hole.
#[derive(Debug)]
struct Asked {
    name: Box<str>,
    /// The option in which it stands first.
    option: Box<str>,
    from: From,
    /// Whether it fills a place of credentials.
    is_secret: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Row,
    Seq,
    Uuid,
}

/// The templates of the command line for one input.
#[derive(Debug)]
pub(super) struct Filling {
    names: Vec<Asked>,
    is_settled: bool,
    url: Option<Text>,
    /// What of the URL may not be shown.
    pub(super) hidden: Hidden,
    body: Option<(Text, Form)>,
    /// Headers that differ from row to row.
    headers: Vec<(HeaderName, Text)>,
    /// The others of the command line.
    pub(super) common: Headers,
}

/// What is known of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// It is a JSON text.
    Json,
    /// It is one if it shows.
    Open,
}

/// What a row makes of the templates.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) url: Option<(String, Spot)>,
    pub(super) body: Option<FilledBody>,
}

/// What a row makes of `--data`.
pub(super) struct FilledBody {
    pub(super) text: String,
    /// The same without what is of the environment: what the job is known by. `None` if nothing is.
    pub(super) known_by: Option<String>,
    pub(super) content: Content,
}

/// What a row has of a name.
pub(super) enum Value<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A JSON value as it stands in the row.
    Json(&'a str),
}

/// What rows have that do not say it themselves.
#[derive(Default)]
pub(super) struct Own {
    /// The position of the row, from 0.
    pub(super) seq: u64,
    /// A name of its own, where that is asked for.
    pub(super) uuid: Option<String>,
}

impl Filling {
    /// Of the options of a command line; `None` if they have neither a URL for rows nor any hole. Variables of the
    /// environment are read here.
    pub(super) fn of(spec: &Spec) -> Result<Option<Self>, Problem> {
        let mut filling = Self {
            names: Vec::new(),
            is_settled: false,
            url: None,
            hidden: Hidden::default(),
            body: None,
            headers: Vec::new(),
            common: Headers::default(),
        };
        let body = spec.body.as_deref().map(str::from_utf8);
        let body = body.transpose().unwrap_or_default();
        let headers = spec.headers.lines().iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| {
                let name = HeaderName::from_bytes(name).expect("it was one before");
                (name, String::from_utf8_lossy(value))
            })
            .collect();
        let mut texts = headers.iter().map(|(_, value)| &**value).chain(body);
        if spec.url.is_none() && !texts.any(|text| text.contains("{{")) {
            return Ok(None);
        }
        if let Some(url) = &spec.url {
            filling.url = Some(filling.add_url(url)?);
        }
        if let Some(body) = body {
            let template = template(body, "--data")?;
            let (places, form) = match template.places_in_json() {
                Some(places) => (places, Form::Json),
                None => (vec![Place::Text; template.parts.len()], Form::Open),
            };
            filling.body = Some((filling.text(&template, &places, "--data")?, form));
        }
        filling.add_headers(&headers)?;
        Ok(Some(filling))
    }

    /// A header of which one value has a hole for rows is filled for each; the values of others stay the same.
    fn add_headers(&mut self, all: &[(HeaderName, Cow<'_, str>)]) -> Result<(), Problem> {
        let mut texts = Vec::new();
        for (name, value) in all {
            let option = format!("-H {name}");
            let template = template(value, &option)?;
            let places = vec![Place::Header; template.parts.len()];
            texts.push((name, self.text(&template, &places, &option)?));
        }
        let is_of_rows = |wanted: &HeaderName| {
            texts
                .iter()
                .any(|(name, text)| *name == wanted && text.is_of_rows())
        };
        let (of_rows, common): (Vec<_>, Vec<_>) = texts
            .iter()
            .map(|(name, text)| (*name, text, is_of_rows(name)))
            .partition(|it| it.2);
        for (name, text, _) in common {
            let value = text.filled(&[], Env::Told).unwrap_or_default();
            let is_sent = self.common.add_text(name, &value);
            debug_assert!(is_sent, "each part of it could be sent");
        }
        let of_rows: Vec<HeaderName> = of_rows.into_iter().map(|(name, ..)| name.clone()).collect();
        for (name, text) in texts {
            if of_rows.contains(name) {
                for (_, piece) in &text.parts {
                    if let Piece::Row(nth, _) = piece {
                        self.names[*nth].is_secret |= is_secret_header(name.as_str());
                    }
                }
                self.headers.push((name.clone(), text));
            }
        }
        Ok(())
    }

    /// What is of the environment stands behind the host, for that is told in reports.
    fn add_url(&mut self, url: &Template) -> Result<Text, Problem> {
        let text = self.text(url, &url.places_in_url(), "--url")?;
        let mut before = String::new();
        for ((plain, piece), (_, hole)) in text.parts.iter().zip(&url.parts) {
            before += plain;
            match (piece, hole) {
                (Piece::Row(nth, _), _) => {
                    let parameter = before.rsplit(['?', '&', '#', ';']).next();
                    let parameter = parameter.and_then(|pair| pair.strip_suffix('='));
                    self.names[*nth].is_secret |= parameter.is_some_and(is_secret_parameter);
                }
                (Piece::Env(value), Hole::Env(name)) => {
                    let whole = before.split_once("://").map_or(&*before, |(_, rest)| rest);
                    if !whole.contains(['/', '?', '#']) {
                        return Err(Problem::usage(
                            format!("--url has {{{{env:{name}}}}} before its path"),
                            format!(
                                "give the host by --base-url \"${name}\", and a credential by -H"
                            ),
                        ));
                    }
                    self.hidden.add(value.reveal());
                    self.hidden.add(&variable(name, "--url")?);
                }
                (Piece::Env(_), Hole::Row(_)) => {}
            }
            before.push('x');
        }
        Ok(text)
    }

    fn text(
        &mut self,
        template: &Template,
        places: &[Place],
        option: &str,
    ) -> Result<Text, Problem> {
        let mut parts = Vec::with_capacity(template.parts.len());
        for ((before, hole), place) in template.parts.iter().zip(places) {
            let piece = match hole {
                Hole::Row(name) => Piece::Row(self.nth(name, option), *place),
                Hole::Env(name) => {
                    let value = variable(name, option)?;
                    let mut written = String::new();
                    let value = Value::Text(Cow::Owned(value));
                    value.write(*place, &mut written).map_err(|why| {
                        let what = format!("{option}: the variable {name:?} {}", why.what);
                        Problem::usage(what, why.mend)
                    })?;
                    Piece::Env(Secret::new(written))
                }
            };
            parts.push((before.clone(), piece));
        }
        Ok(Text {
            parts,
            end: template.end.clone(),
        })
    }

    fn nth(&mut self, name: &str, option: &str) -> usize {
        let known = self.names.iter().position(|own| *own.name == *name);
        known.unwrap_or_else(|| {
            self.names.push(Asked {
                name: name.into(),
                option: option.into(),
                from: From::Row,
                is_secret: false,
            });
            self.names.len() - 1
        })
    }

    /// Whether it is known what rows have.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Whether rows have a URL of the command line.
    pub(super) fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// Takes what a row has, by the first one. A name that it has goes before one that every row has by itself.
    pub(super) fn settle<'n>(
        &mut self,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), Fault> {
        for own in &mut self.names {
            own.from = match &*own.name {
                name if known.clone().any(|known| *known == *name) => From::Row,
                "seq" => From::Seq,
                "uuid" => From::Uuid,
                name => {
                    let all: Vec<&str> = known.collect();
                    let listed = all.iter().take(LISTED).map(|name| format!("{name:?}"));
                    let mut listed: Vec<String> = listed.collect();
                    if all.len() > LISTED {
                        listed.push(format!("{} more", all.len() - LISTED));
                    }
                    let what = format!(
                        "{} names {name:?}, which is no column; there are {}",
                        own.option,
                        listed.join(", ")
                    );
                    let mend = meant(name, &[&all[..], &["seq", "uuid"]].concat());
                    let mend = mend.map_or_else(
                        || "name one of them, {{seq}}, {{uuid}} or {{env:NAME}}".to_owned(),
                        |name| format!("did you mean {{{{{name}}}}}?"),
                    );
                    return Err(Fault::new(1, what, mend));
                }
            };
        }
        self.is_settled = true;
        Ok(())
    }

    /// A name of which each run and each place in an input has another value.
    pub(super) fn of_the_run(&self) -> Option<&str> {
        let mut names = self.names.iter();
        let own = names.find(|own| own.from != From::Row)?;
        Some(&own.name)
    }

    /// Whether rows are asked for a name of their own.
    pub(super) fn wants_uuid(&self) -> bool {
        self.names.iter().any(|own| own.from == From::Uuid)
    }

    /// Whether what a row has of this name fills a place of credentials.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|own| *own.name == *name && own.is_secret)
    }

    /// What a row makes of it. Headers that it has not itself are added.
    pub(super) fn filled<'v>(
        &self,
        own: &Own,
        headers: &mut Headers,
        mut value_of: impl FnMut(&str) -> Result<(Value<'v>, Spot), Fault>,
    ) -> Result<Filled, Fault> {
        let mut values = Vec::with_capacity(self.names.len());
        for name in &self.names {
            values.push(match name.from {
                From::Row => value_of(&name.name)?,
                From::Seq => (Value::Text(own.seq.to_string().into()), Spot::Byte(1)),
                From::Uuid => {
                    let uuid = own.uuid.clone().unwrap_or_default();
                    (Value::Text(uuid.into()), Spot::Byte(1))
                }
            });
        }
        let fault = |(nth, why): (usize, Wrong)| {
            let what = format!("{:?} {}", self.names[nth].name, why.what);
            Fault::new(values[nth].1, what, why.mend)
        };
        let url = self.url.as_ref().map(|url| {
            let at = url.parts.iter().find_map(|(_, piece)| match piece {
                Piece::Row(nth, _) => Some(values[*nth].1),
                Piece::Env(_) => None,
            });
            let text = url.filled(&values, Env::Told).map_err(fault)?;
            Ok((text, at.unwrap_or(Spot::Byte(1))))
        });
        let body = self.body.as_ref().map(|(body, form)| {
            let text = body.filled(&values, Env::Told).map_err(fault)?;
            let is_json = *form == Form::Json || is_json(&text);
            let known_by = body.has_env().then(|| body.filled(&values, Env::Masked));
            Ok(FilledBody {
                known_by: known_by.transpose().map_err(fault)?,
                content: Content::of(is_json),
                text,
            })
        });
        let mut others = Headers::default();
        for (name, text) in &self.headers {
            let value = text.filled(&values, Env::Told).map_err(fault)?;
            let is_sent = others.add_text(name, &value);
            debug_assert!(is_sent, "each part of it could be sent");
        }
        headers.add_missing(others.lines());
        Ok(Filled {
            url: url.transpose()?,
            body: body.transpose()?,
        })
    }
}

/// The problem of options that have what is filled for rows, where nothing is a row: it would be sent as it stands.
pub(super) fn without_rows(spec: &Spec) -> Result<(), Problem> {
    let headers = spec.headers.lines().iter();
    let headers =
        headers.map(|(name, value)| (format!("-H {}", String::from_utf8_lossy(name)), value));
    let body = spec.body.as_deref().map(|body| ("--data".to_owned(), body));
    for (option, text) in headers.chain(body) {
        let template = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let holes = template.into_iter().flat_map(|it: Template| it.parts);
        let asked = holes.into_iter().find_map(|(_, hole)| match hole {
            Hole::Env(name) => Some(format!("env:{name}")),
            Hole::Row(name) if matches!(&*name, "seq" | "uuid") => Some(name.to_string()),
            Hole::Row(_) => None,
        });
        if let Some(asked) = asked {
            return Err(Problem::usage(
                format!(
                    "{option} has {{{{{asked}}}}}, which is filled for rows alone, and no jobs are read as rows"
                ),
                "give rows a --url; credentials of jobs: --bearer-env NAME, or -H @FILE",
            ));
        }
    }
    Ok(())
}

/// The value of a variable.
fn variable(name: &str, option: &str) -> Result<String, Problem> {
    let value = env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let what = format!("{option} names {{{{env:{name}}}}}, and this variable is not set");
        Problem::usage(what, format!("export {name} with a text in it"))
    })
}

/// The option's text, as a template.
fn template(text: &str, option: &str) -> Result<Template, Problem> {
    let parsed = text.parse();
    parsed.map_err(|form: String| Problem::usage(format!("{option} is no template"), form))
}

/// What becomes of variables of the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Env {
    Told,
    Masked,
}

impl fmt::Debug for Text {
    /// What stands in it may be a credential.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl Text {
    fn is_of_rows(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|(_, piece)| matches!(piece, Piece::Row(..)))
    }

    fn has_env(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|(_, piece)| matches!(piece, Piece::Env(_)))
    }

    /// Or the value that cannot stand there, and why.
    fn filled(&self, values: &[(Value<'_>, Spot)], env: Env) -> Result<String, (usize, Wrong)> {
        let mut text = String::with_capacity(128);
        for (before, piece) in &self.parts {
            text += before;
            match (piece, env) {
                (Piece::Row(nth, place), _) => {
                    values[*nth]
                        .0
                        .write(*place, &mut text)
                        .map_err(|why| (*nth, why))?;
                }
                (Piece::Env(value), Env::Told) => text += value.reveal(),
                (Piece::Env(_), Env::Masked) => text += "***",
            }
        }
        text += &self.end;
        Ok(text)
    }
}

/// Why a value cannot stand in a place.
#[derive(Debug, PartialEq, Eq)]
struct Wrong {
    what: &'static str,
    mend: &'static str,
}

impl Value<'_> {
    /// A string as its text, anything else as it is written.
    fn text(&self) -> Result<Cow<'_, str>, Wrong> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::Json(json) if !json.starts_with('"') => Ok(Cow::Borrowed(json)),
            Self::Json(json) => serde_json::from_str(json)
                .map(Cow::Owned)
                .map_err(|_| Wrong {
                    what: "has an escape that is no character",
                    mend: "write a surrogate \\uD800 to \\uDFFF only as a pair",
                }),
        }
    }

    fn write(&self, place: Place, out: &mut String) -> Result<(), Wrong> {
        match (place, self) {
            (Place::Path | Place::Query, _) => {
                let text = self.text()?;
                let what = match (&*text, self, place) {
                    ("", ..) => Some("is empty"),
                    (_, Self::Json("null"), _) => Some("is null"),
                    ("." | "..", _, Place::Path) => Some("is a step in a path"),
                    _ => None,
                };
                if let Some(what) = what {
                    let mend = "it makes another URL: give every row one, or leave this row out";
                    return Err(Wrong { what, mend });
                }
                escape(&text, out);
            }
            (Place::Header, _) => {
                let text = self.text()?;
                if text
                    .bytes()
                    .any(|byte| byte.is_ascii_control() && byte != b'\t')
                {
                    return Err(Wrong {
                        what: "has a character that cannot be sent in a header",
                        mend: "leave out line breaks and control characters",
                    });
                }
                *out += &text;
            }
            (Place::Text, _) => *out += &self.text()?,
            (Place::JsonString, Self::Json(json)) if json.starts_with('"') => {
                *out += &json[1..json.len() - 1];
            }
            (Place::JsonString, Self::Text(text)) => *out += inner(&quoted(text)),
            (Place::JsonString, Self::Json(json)) => *out += inner(&quoted(json)),
            (Place::JsonValue, Self::Json(json)) => *out += json,
            (Place::JsonValue, Self::Text(text)) => match serde_json::from_str::<&RawValue>(text) {
                Ok(json) if !json.get().starts_with(['"', '{', '[']) => *out += json.get(),
                Ok(_) | Err(_) => *out += &quoted(text),
            },
        }
        Ok(())
    }
}

/// One part of a path or a query: all but letters, digits and `-._~` is escaped (RFC 3986 §2.3).
fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// As a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn inner(quoted: &str) -> &str {
    &quoted[1..quoted.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value<'_>, place: Place) -> Result<String, &'static str> {
        let mut out = String::new();
        value.write(place, &mut out).map_err(|why| why.what)?;
        Ok(out)
    }

    fn text(text: &str) -> Value<'_> {
        Value::Text(text.into())
    }

    #[test]
    fn a_value_is_one_part_of_a_url_whatever_stands_in_it() {
        let url = |value| written(&value, Place::Path);
        assert_eq!(url(text("a/b c?é%")).unwrap(), "a%2Fb%20c%3F%C3%A9%25");
        assert_eq!(url(Value::Json(r#""1\u00262""#)).unwrap(), "1%262");
        assert_eq!(url(Value::Json("[1]")).unwrap(), "%5B1%5D");
        for (value, what) in [
            (text(""), "is empty"),
            (Value::Json("\"\""), "is empty"),
            (Value::Json("null"), "is null"),
            (text(".."), "is a step in a path"),
        ] {
            assert_eq!(url(value), Err(what));
        }
        assert_eq!(written(&text(".."), Place::Query).unwrap(), "..");
        assert_eq!(written(&text("null"), Place::Query).unwrap(), "null");
    }

    #[test]
    fn whatever_stands_in_a_value_a_json_text_stays_one() {
        for hostile in [
            "",
            "\"",
            "\\",
            "\\\"",
            "a\nb\0",
            "}}{{",
            "1",
            "-1e5",
            "01",
            " 7 ",
            "true",
            "nul",
            "{\"a\":1}",
            "\"x\"",
        ] {
            let value = written(&text(hostile), Place::JsonValue).unwrap();
            let inside = written(&text(hostile), Place::JsonString).unwrap();
            let value: serde_json::Value = serde_json::from_str(&value).unwrap();
            let inside: String = serde_json::from_str(&format!("\"{inside}\"")).unwrap();
            assert_eq!(inside, hostile);
            let is_word = ["1", "-1e5", " 7 ", "true"].contains(&hostile);
            assert_eq!(value.as_str().is_none(), is_word, "{hostile:?}");
            assert!(is_word || value == hostile, "{hostile:?}");
        }
    }

    #[test]
    fn a_member_is_as_it_was_written() {
        for (json, value, inside, plain) in [
            (r#""a\"\u00e9""#, r#""a\"\u00e9""#, r#"a\"\u00e9"#, "a\"é"),
            ("1.50", "1.50", "1.50", "1.50"),
            (
                r#"{"a": "b"}"#,
                r#"{"a": "b"}"#,
                r#"{\"a\": \"b\"}"#,
                r#"{"a": "b"}"#,
            ),
        ] {
            assert_eq!(
                written(&Value::Json(json), Place::JsonValue).unwrap(),
                value
            );
            assert_eq!(
                written(&Value::Json(json), Place::JsonString).unwrap(),
                inside
            );
            assert_eq!(written(&Value::Json(json), Place::Text).unwrap(), plain);
        }
        let lone = written(&Value::Json(r#""\ud800""#), Place::Text);
        assert_eq!(lone, Err("has an escape that is no character"));
    }

    #[test]
    fn a_header_takes_no_line_break() {
        assert_eq!(written(&text("a\tb é"), Place::Header).unwrap(), "a\tb é");
        for hostile in ["a\r\nx: y", "a\nb", "\0", "\u{7f}"] {
            assert!(
                written(&text(hostile), Place::Header).is_err(),
                "{hostile:?}"
            );
        }
    }
}
