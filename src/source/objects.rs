//! Rows that are JSON objects: what fills templates, and no jobs. Floor 4: doors.

use std::borrow::Cow;

use super::draft::{Draft, Fault, Fields, Spot};
use super::filling::{Filling, Value};
use super::formats::{Asked, Read};
use super::members::{self, Context};
use crate::json::Member;
use crate::kept::Body;

/// Reads a row. Its `id`, a string or a number, is that of the job; all else is data.
pub(super) fn read<'a>(asked: &mut Asked<'_, 'a>, filling: &'a Filling) -> Read<'a> {
    let row = asked.text().and_then(|line| {
        let members = members::read(line, asked.record.end)?;
        let row = Row {
            context: Context { line },
            members,
        };
        Ok((row.id()?, row))
    });
    match row {
        Ok((id, row)) => (id, row.draft(asked, filling)),
        Err(fault) => (None, Err(fault)),
    }
}

struct Row<'a> {
    context: Context<'a>,
    members: Vec<Member<'a>>,
}

impl<'a> Row<'a> {
    /// The value of that name.
    fn value(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        let mut named = self.members.iter().filter(|(own, _)| own == name);
        match (named.next(), named.next()) {
            (Some((name, _)), Some((_, again))) => Err(self.context.twice(name, again)),
            (first, _) => Ok(first.map(|(_, value)| *value)),
        }
    }

    fn id(&self) -> Result<Option<Box<str>>, Fault> {
        match self.value("id")? {
            Some(text) if text.starts_with('"') => {
                Ok(self.context.text("id", Some(text))?.map(Box::from))
            }
            Some(number) if number.starts_with(|it: char| it == '-' || it.is_ascii_digit()) => {
                Ok(Some(number.into()))
            }
            Some(_) | None => Ok(None),
        }
    }

    fn draft(self, asked: &mut Asked<'_, 'a>, filling: &'a Filling) -> Result<Draft<'a>, Fault> {
        let own = asked.own;
        let filled = filling.filled(own, &mut asked.keeper.headers, |name| {
            let value = self.value(name)?.ok_or_else(|| {
                let mend = "give it to every row, as the first one has it";
                Fault::new(1, format!("{name:?} is missing"), mend)
            })?;
            Ok((Value::Json(value), Spot::Byte(self.context.column(value))))
        })?;
        let (url, url_at) = filled.url.unwrap_or((String::new(), Spot::Byte(1)));
        let meta = self.meta(filling);
        let draft = Draft {
            meta,
            filling: Some(filling),
            fields: Fields::Json(self.members),
            ..Draft::of_url(url, url_at)
        };
        Ok(match filled.body {
            Some(body) => Draft {
                content: body.content,
                known_by: body.known_by,
                body: Some(Body::Apart(body.text.into())),
                ..draft
            },
            None => draft,
        })
    }

    /// All but the id, as it was written.
    fn meta(&self, filling: &Filling) -> Option<Cow<'a, str>> {
        let mut meta = String::new();
        for (name, value) in &self.members {
            if name == "id" {
                continue;
            }
            meta.push(if meta.is_empty() { '{' } else { ',' });
            meta += &serde_json::Value::from(&**name).to_string();
            meta.push(':');
            meta += if filling.is_secret(name) {
                "\"***\""
            } else {
                value
            };
        }
        (!meta.is_empty()).then(|| (meta + "}").into())
    }
}
