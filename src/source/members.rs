//! A record that is a JSON object: its fields, each with its place. Floor 4: doors.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use bytes::Bytes;
use http::Method;
use memchr::memchr;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::draft::{self, Content, Fault, Spot};
use super::formats::Asked;
use super::keeper::Keeper;
use super::record::End;
use crate::headers::{NAMED, misnamed};
use crate::json::{self, Member};
use crate::kept::Body;
use crate::letters::calm_path;

/// The fields of a record that is an object.
pub(super) fn read(text: &str, end: End) -> Result<Vec<Member<'_>>, Fault> {
    json::members(text).map_err(|why| not_json(text, &why, end))
}

/// All fields of a record, and those that were asked for by their names.
type Named<'a, const N: usize> = (Context<'a>, Vec<Member<'a>>, [Option<&'a str>; N]);

/// The fields of a record, and those of these names. Others are told; it is a fault if one is there twice.
pub(super) fn named<'a, const N: usize>(
    asked: &mut Asked<'_, 'a>,
    names: [&str; N],
) -> Result<Named<'a, N>, Fault> {
    let line = asked.record.text()?;
    let members = read(line, asked.record.end)?;
    let context = Context { line };
    let mut fields = [None; N];
    for (name, value) in &members {
        let Some(nth) = names.iter().position(|known| *known == name) else {
            (asked.unknown)(name, context.column(value));
            continue;
        };
        if fields[nth].replace(*value).is_some() {
            return Err(context.twice(name, value));
        }
    }
    Ok((context, members, fields))
}

/// Messages repeat nothing of the line: it may hold a credential.
fn not_json(text: &str, why: &serde_json::Error, end: End) -> Fault {
    let lines = text
        .split_inclusive('\n')
        .take(why.line().saturating_sub(1));
    let column = lines.map(str::len).sum::<usize>() as u64 + why.column() as u64;
    match (why.classify(), end) {
        (Category::Eof, End::Input) => Fault::new(
            column,
            "input ends inside a record",
            "the file or the program that writes it was cut off; complete the last line",
        ),
        (Category::Data, End::Input | End::Mark) => Fault::new(
            (text.len() - text.trim_ascii_start().len()) as u64 + 1,
            "a job is a JSON object",
            "write {\"url\":\"http://...\"} for each; an array of them is --format json",
        ),
        (Category::Eof | Category::Syntax | Category::Io, End::Input | End::Mark) => {
            if why.is_syntax()
                && let Some(fault) = behind(text, column)
            {
                return fault;
            }
            let text = why.to_string();
            let reason = text
                .rsplit_once(" at line ")
                .map_or(&*text, |split| split.0);
            Fault::new(
                column,
                format!("not valid JSON: {}", plainly(reason)),
                "write one whole JSON object for each job, without NaN or Infinity",
            )
        }
    }
}

/// What stands behind a whole object, in which the parser has stopped at this byte, if that is another one, or a comma
/// as between the elements of an array.
fn behind(text: &str, column: u64) -> Option<Fault> {
    let stop = usize::try_from(column).ok()?.checked_sub(1)?;
    let (object, rest) = text.split_at_checked(stop)?;
    if serde_json::from_str::<&RawValue>(object).is_err() {
        return None;
    }
    let (what, mend) = match rest.as_bytes().first()? {
        b'{' | b'[' => (
            "a second JSON value stands on this line",
            "write one on each line (jq -c . FILE does so), or say --format json",
        ),
        b',' => (
            "a comma stands behind the object",
            "leave it out: one object on each line; an array of them, in [ ], is --format json",
        ),
        _ => return None,
    };
    Some(Fault::new(column, what, mend))
}

/// The parser's reason in words for who has written the line.
fn plainly(reason: &str) -> &str {
    match reason {
        "EOF while parsing a list" => "the line ends inside an array",
        "EOF while parsing a string" => "the line ends inside a string",
        "EOF while parsing a value" => "the line ends where a value is due",
        "EOF while parsing an object" => "the line ends inside an object",
        "expected ident" => "the only bare words are true, false and null",
        "expected value" => {
            "here a value is due: a string in double quotes, a number, true, false, null, [ or {"
        }
        "key must be a string" => "here the name of a field is due, in double quotes",
        "trailing characters" => "something stands behind the end of the object",
        "trailing comma" => "a comma stands behind the last field or value",
        clear => clear,
    }
}

/// A body, if there is one, and of what kind it is.
pub(super) type Said<'a> = (Option<Body<'a>>, Content);

/// A record that is an object, for what is said of its fields.
pub(super) struct Context<'a> {
    pub(super) line: &'a str,
}

impl<'a> Context<'a> {
    /// Byte of the line at which a value of it starts, from 1.
    pub(super) fn column(&self, value: &str) -> u64 {
        (value.as_ptr().addr() - self.line.as_ptr().addr()) as u64 + 1
    }

    /// The same, or 1 where there is none.
    pub(super) fn column_of(&self, field: Option<&str>) -> u64 {
        field.map_or(1, |value| self.column(value))
    }

    pub(super) fn twice(&self, name: &str, value: &str) -> Fault {
        let what = format!("{name:?} is given twice");
        self.fault(value, what, "keep one of them")
    }

    /// A text that has to be there, and not to be blank.
    pub(super) fn required(
        &self,
        name: &str,
        field: Option<&'a str>,
    ) -> Result<Cow<'a, str>, Fault> {
        let text = self.text(name, field)?.unwrap_or_default();
        if !text.trim_ascii().is_empty() {
            return Ok(text);
        }
        let what = match field {
            None => format!("{name:?} is missing"),
            Some("null") => format!("{name:?} is null"),
            Some(_) => format!("{name:?} is empty"),
        };
        let mend = format!("give every line a {name:?}");
        Err(Fault::new(self.column_of(field), what, mend))
    }

    /// An object that has to be there, as it stands there.
    pub(super) fn object(&self, name: &str, field: Option<&'a str>) -> Result<&'a str, Fault> {
        let object = field.filter(|value| value.starts_with('{'));
        object.ok_or_else(|| {
            let what = match field {
                None => format!("{name:?} is missing"),
                Some(_) => format!("{name:?} must be an object"),
            };
            Fault::new(
                self.column_of(field),
                what,
                format!("write {name:?}: {{...}}"),
            )
        })
    }

    pub(super) fn fault(
        &self,
        value: &str,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Fault {
        Fault::new(self.column(value), what, mend)
    }

    pub(super) fn text(
        &self,
        name: &str,
        field: Option<&'a str>,
    ) -> Result<Option<Cow<'a, str>>, Fault> {
        let Some(value) = given(field) else {
            return Ok(None);
        };
        let Some(text) = value.strip_prefix('"') else {
            let what = format!("{name:?} must be a string");
            return Err(self.fault(value, what, "put it in double quotes"));
        };
        if memchr(b'\\', text.as_bytes()).is_none() {
            return Ok(Some(Cow::Borrowed(&text[..text.len() - 1])));
        }
        match serde_json::from_str(value) {
            Ok(text) => Ok(Some(Cow::Owned(text))),
            Err(_) => Err(self.fault(
                value,
                format!("{name:?} has an escape that is no character"),
                "write a surrogate \\uD800 to \\uDFFF only as a pair",
            )),
        }
    }

    pub(super) fn method(&self, field: Option<&'a str>) -> Result<Option<Method>, Fault> {
        let Some(text) = self.text("method", field)? else {
            return Ok(None);
        };
        let method = draft::method(&text).map(Some);
        method.ok_or_else(|| no_method(self.column_of(field)))
    }

    /// A string is one header; an array of strings is one header for each.
    pub(super) fn headers(
        &self,
        field: &str,
        value: Option<&'a str>,
        keeper: &mut Keeper,
    ) -> Result<(), Fault> {
        let Some(value) = given(value) else {
            return Ok(());
        };
        let Ok(members) = json::members(value) else {
            let what = format!("{field:?} must be an object of strings");
            return Err(self.fault(value, what, "write {\"NAME\":\"VALUE\"}"));
        };
        for (name, value) in members {
            let Some(parsed) = keeper.names.of(&name) else {
                return Err(self.fault(value, misnamed(&name), NAMED));
            };
            let mut one = |value| {
                let text = self.text(&name, Some(value))?.ok_or_else(|| {
                    let what = format!("header {name:?} must be a string, not null");
                    self.fault(value, what, "leave it out, or write \"\"")
                })?;
                if keeper.headers.add_text(parsed, &text) {
                    return Ok(());
                }
                let what = format!("header {name:?} has a character that cannot be sent");
                Err(self.fault(value, what, "leave out line breaks and control characters"))
            };
            if !value.starts_with('[') {
                one(value)?;
                continue;
            }
            let values: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| {
                let what = format!("header {name:?} must be a string or an array of strings");
                self.fault(value, what, "put each value in double quotes")
            })?;
            for value in values {
                one(value.get())?;
            }
        }
        Ok(())
    }

    /// A whole number, if it is there.
    pub(super) fn count(&self, name: &str, field: Option<&'a str>) -> Result<Option<u64>, Fault> {
        let Some(value) = given(field) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            let what = format!("{name:?} must be a whole number from 0");
            self.fault(
                value,
                what,
                "write it without sign, point, exponent and quotes",
            )
        })
    }

    /// A body that is a value of this name.
    pub(super) fn written_body(&self, name: &str, value: &'a str) -> Result<Said<'a>, Fault> {
        match value.as_bytes()[0] {
            b'{' | b'[' => Ok((Some(Body::InLine(value.as_bytes())), Content::Json)),
            b'"' => {
                let text = self.text(name, Some(value))?;
                let body = text.map(|text| match text {
                    Cow::Borrowed(text) => Body::InLine(text.as_bytes()),
                    Cow::Owned(text) => Body::Apart(text.into()),
                });
                Ok((body, Content::Other))
            }
            _ => {
                let what = format!("{name:?} must be an object, an array or a string");
                let mend = "put a bare number or true and false in double quotes";
                Err(self.fault(value, what, mend))
            }
        }
    }
}

/// Null is the same as no field.
pub(super) fn given(field: Option<&str>) -> Option<&str> {
    field.filter(|value| *value != "null")
}

pub(super) fn no_method(at: impl Into<Spot>) -> Fault {
    Fault::new(
        at,
        "\"method\" is not an HTTP method",
        "write GET, POST or another word",
    )
}

/// What is in a file that a record names behind this word. Pipes and devices are refused: reading one may never end.
pub(super) fn file(folder: &Path, word: &str, text: &str) -> Result<Bytes, String> {
    let path = folder.join(text);
    let path = std::path::absolute(&path).unwrap_or(path);
    let wrong = |why: &dyn fmt::Display| format!("{word}{}: {why}", calm_path(&path));
    let kind = std::fs::metadata(&path).map_err(|why| wrong(&why))?;
    if kind.is_dir() {
        return Err(wrong(&"is a directory"));
    }
    if !kind.is_file() {
        return Err(wrong(&"is not a regular file"));
    }
    std::fs::read(&path)
        .map(Bytes::from)
        .map_err(|why| wrong(&why))
}
