//! A table of jobs, whose first row names the fields. Floor 4: doors.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderName;
use memchr::memmem;
use serde_json::value::RawValue;

use super::at::At;
use super::draft::{self, Draft, Fault, Fields, Spot};
use super::formats::{Asked, Read, Shows};
use super::jsonl;
use super::opening::First;
use super::record::Record;
use super::template::UrlTemplate;
use crate::kept::Body;

/// The columns of a table that mean something; those of headers are `h:NAME`.
pub(super) const FIELDS: [&str; 14] = [
    "id",
    "method",
    "url",
    "h:NAME",
    "body",
    "body_base64",
    "body_file",
    "tokens",
    "weight",
    "input_tokens",
    "output_tokens",
    "at",
    "key",
    "meta",
];

/// A table names its columns, and one of them is `url`. By its name alone, what begins with no URL.
pub(super) fn shows(first: &First<'_>, delimiter: u8) -> Shows {
    let Some(line) = first.line() else {
        return Shows::Open;
    };
    let mut cells = line
        .split(|byte| *byte == delimiter)
        .map(<[u8]>::trim_ascii);
    let is_url = |cell: &[u8]| cell == b"url" || cell == b"\"url\"";
    let names_url = cells.clone().any(is_url) && cells.nth(1).is_some();
    match first.byte() {
        Some(b'{' | b'[' | b'#') | None => Shows::No,
        Some(_) if memmem::find(line, b"://").is_some() => Shows::No,
        Some(_) if names_url => Shows::Surely,
        Some(_) => Shows::ByName,
    }
}

/// What stands in a column.
#[derive(Debug, PartialEq, Eq)]
enum Column {
    Id,
    Method,
    Url,
    Header(HeaderName),
    Body,
    BodyBase64,
    BodyFile,
    Tokens,
    InputTokens,
    OutputTokens,
    At,
    Meta,
    /// Nothing that makes a job; limits may be kept apart by it.
    Other,
}

impl Column {
    /// `None` if it would be of a header that is none.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "method" => Self::Method,
            "url" => Self::Url,
            "body" => Self::Body,
            "body_base64" => Self::BodyBase64,
            "body_file" => Self::BodyFile,
            "tokens" | "weight" => Self::Tokens,
            "input_tokens" => Self::InputTokens,
            "output_tokens" => Self::OutputTokens,
            "at" => Self::At,
            "meta" => Self::Meta,
            other => match other.strip_prefix("h:") {
                Some(header) => Self::Header(HeaderName::from_bytes(header.as_bytes()).ok()?),
                None => Self::Other,
            },
        })
    }
}

/// The columns of a table, in their order.
#[derive(Debug)]
pub(super) struct Columns {
    all: Vec<(Box<str>, Column)>,
    /// What the URL is made of, and the columns that fill it.
    template: Option<(UrlTemplate, Vec<usize>)>,
}

impl Columns {
    /// As the first row names them. `unknown` is told those that mean nothing.
    pub(super) fn of(
        record: &Record<'_>,
        template: Option<&UrlTemplate>,
        mut unknown: impl FnMut(&str, Spot),
    ) -> Result<Self, Fault> {
        record.text()?;
        let mut all: Vec<(Box<str>, Column)> = Vec::new();
        for (nth, cell) in record.cells.iter().enumerate() {
            let name = String::from_utf8_lossy(cell);
            let name = name.trim();
            let Some(column) = Column::of(name) else {
                let what = format!("column {name:?} is of no header");
                return Err(Fault::new(
                    Spot::Cell(nth),
                    what,
                    "write h:NAME, as h:X-Tenant",
                ));
            };
            let same = |(other, known): &(Box<str>, Column)| match column {
                Column::Other => **other == *name,
                _ => *known == column,
            };
            if !name.is_empty() && all.iter().any(same) {
                let what = format!("column {name:?} is there twice");
                return Err(Fault::new(Spot::Cell(nth), what, "keep one of them"));
            }
            if column == Column::Other && name != "key" && template.is_none() {
                unknown(name, Spot::Cell(nth));
            }
            all.push((name.into(), column));
        }
        let url = all.iter().position(|(_, column)| *column == Column::Url);
        let template = match (template, url) {
            (Some(template), None) => Some((template.clone(), fillers(template, &all)?)),
            (Some(_), Some(nth)) => {
                let what = "there is a column \"url\", and --url-template";
                return Err(Fault::new(Spot::Cell(nth), what, "keep one of them"));
            }
            (None, Some(_)) => None,
            (None, None) => {
                let mend = match &all[..] {
                    [(only, _)] if only.contains(';') => "separate columns with commas, not with ;",
                    _ => {
                        "name the columns in the first row, one of them \"url\", or give --url-template"
                    }
                };
                return Err(Fault::new(1, "no column is \"url\"", mend));
            }
        };
        Ok(Self { all, template })
    }
}

/// The columns that fill a template, in its order.
fn fillers(template: &UrlTemplate, all: &[(Box<str>, Column)]) -> Result<Vec<usize>, Fault> {
    let filler = |name: &str| {
        let nth = all.iter().position(|(own, _)| **own == *name);
        nth.ok_or_else(|| {
            let what = format!("--url-template names {name:?}, which is no column");
            Fault::new(1, what, "name the columns in the first row")
        })
    };
    template.names().map(filler).collect()
}

/// Reads a row. A cell that is empty is none.
pub(super) fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let record = asked.record;
    let columns = asked.columns.expect("the first row was read as columns");
    let text = match cells_text(&record) {
        Ok(text) => text,
        Err(fault) => return (None, Err(fault)),
    };
    let (wanted, found) = (columns.all.len(), record.cells.ends.len());
    if wanted != found {
        let what = format!("expected {wanted} fields, found {found}");
        let mend = "give each row the fields of the first one; quote what holds a delimiter";
        return (None, Err(Fault::new(1, what, mend)));
    }
    let mut row = Row {
        columns,
        cells: Vec::with_capacity(found),
    };
    let mut begin = 0;
    for ((name, _), end) in columns.all.iter().zip(record.cells.ends) {
        row.cells.push((name, &text[begin..*end]));
        begin = *end;
    }
    let id = row.cell(&Column::Id).map(|(_, id)| Box::from(id));
    let draft = row.draft(asked);
    let draft = draft.map(|draft| Draft {
        fields: Fields::Cells(row.cells),
        ..draft
    });
    (id, draft)
}

/// Of a row that is UTF-8 the cells are, too: quotes and line ends are bytes of their own.
fn cells_text<'a>(record: &Record<'a>) -> Result<&'a str, Fault> {
    record.text()?;
    Ok(str::from_utf8(record.cells.text).unwrap_or_default())
}

struct Row<'a> {
    columns: &'a Columns,
    cells: Vec<(&'a str, &'a str)>,
}

impl<'a> Row<'a> {
    /// What stands in the cell of this column, unless that is nothing, with its place in the row.
    fn cell(&self, wanted: &Column) -> Option<(usize, &'a str)> {
        let mut columns = self.columns.all.iter();
        let nth = columns.position(|(_, column)| column == wanted)?;
        let (_, text) = self.cells[nth];
        (!text.is_empty()).then_some((nth, text))
    }

    fn draft(&self, asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
        let (url, nth) = self.url()?;
        let method = self.cell(&Column::Method).map(|(nth, text)| {
            draft::method(text.trim()).ok_or_else(|| jsonl::no_method(Spot::Cell(nth)))
        });
        self.headers(asked)?;
        let body = self.body(asked)?;
        Ok(Draft {
            method: method.transpose()?,
            body,
            units: draft::SaidUnits {
                whole: self.count(&Column::Tokens, "tokens")?,
                input: self.count(&Column::InputTokens, "input_tokens")?,
                output: self.count(&Column::OutputTokens, "output_tokens")?,
            },
            at: self
                .cell(&Column::At)
                .map(|(nth, text)| At::Text(text.trim(), Spot::Cell(nth))),
            meta: self.meta(),
            ..Draft::of_url(url, Spot::Cell(nth))
        })
    }

    fn url(&self) -> Result<(Cow<'a, str>, usize), Fault> {
        let empty = |at: Spot, name: &str| {
            Fault::new(
                at,
                format!("{name:?} is empty"),
                format!("give every row a {name:?}"),
            )
        };
        let Some((template, fillers)) = &self.columns.template else {
            let url = self
                .cell(&Column::Url)
                .filter(|(_, url)| !url.trim().is_empty());
            let url = url.map(|(nth, url)| (url.into(), nth));
            return url.ok_or_else(|| empty(1.into(), "url"));
        };
        let values = fillers.iter().map(|nth| self.cells[*nth]);
        if let Some((nth, (name, _))) = fillers
            .iter()
            .zip(values.clone())
            .find(|(_, (_, it))| it.is_empty())
        {
            return Err(empty(Spot::Cell(*nth), name));
        }
        Ok((
            template.filled(values.map(|(_, value)| value)).into(),
            fillers[0],
        ))
    }

    /// With a template, all that is no field of a job, unless there is a column of that name.
    fn meta(&self) -> Option<Cow<'a, str>> {
        let own = self.cell(&Column::Meta).map(|(_, text)| json_of(text));
        own.or_else(|| {
            self.columns.template.as_ref()?;
            let columns = self.columns.all.iter().zip(&self.cells);
            let others =
                columns.filter(|((name, column), _)| *column == Column::Other && **name != *"key");
            let others: serde_json::Map<_, _> = others
                .map(|(_, (name, value))| ((*name).to_owned(), (*value).into()))
                .collect();
            (!others.is_empty()).then(|| serde_json::Value::from(others).to_string().into())
        })
    }

    fn headers(&self, asked: &mut Asked<'_, 'a>) -> Result<(), Fault> {
        for (nth, (name, column)) in self.columns.all.iter().enumerate() {
            let (Column::Header(header), (_, value)) = (column, self.cells[nth]) else {
                continue;
            };
            if !value.is_empty() && !asked.keeper.headers.add_text(header, value) {
                let what = format!("{name:?} has a character that cannot be sent");
                return Err(Fault::new(
                    Spot::Cell(nth),
                    what,
                    "leave out line breaks and control characters",
                ));
            }
        }
        Ok(())
    }

    fn count(&self, column: &Column, name: &str) -> Result<Option<u64>, Fault> {
        let count = self.cell(column).map(|(nth, text)| {
            text.trim().parse().map_err(|_| {
                let what = format!("{name:?} must be a whole number from 0");
                Fault::new(
                    Spot::Cell(nth),
                    what,
                    "write it without sign, point and exponent",
                )
            })
        });
        count.transpose()
    }

    fn body(&self, asked: &mut Asked<'_, 'a>) -> Result<Option<Body<'a>>, Fault> {
        let ways = [Column::Body, Column::BodyBase64, Column::BodyFile].map(|way| self.cell(&way));
        let mut given = ways.iter().flatten();
        if let (Some(_), Some((second, _))) = (given.next(), given.next()) {
            let what = "a job has one of \"body\", \"body_base64\" and \"body_file\"";
            return Err(Fault::new(Spot::Cell(*second), what, "keep one of them"));
        }
        let [body, base64, file] = ways;
        if let Some((nth, text)) = base64 {
            let bytes = STANDARD.decode(text.trim()).map_err(|why| {
                let what = format!("\"body_base64\" is not base64: {why}");
                Fault::new(
                    Spot::Cell(nth),
                    what,
                    "use the standard alphabet with padding, RFC 4648 §4",
                )
            })?;
            return Ok(Some(Body::Apart(bytes.into())));
        }
        if let Some((nth, path)) = file {
            asked.keeper.has_read_file = true;
            let bytes: Bytes = jsonl::file(asked.folder, path).map_err(|what| {
                Fault::new(
                    Spot::Cell(nth),
                    what,
                    "the path is relative to the folder of the job file",
                )
            })?;
            return Ok(Some(Body::Apart(bytes)));
        }
        Ok(body.map(|(_, text)| Body::InLine(text.as_bytes())))
    }
}

/// What is JSON stays as it stands there; anything else is a string.
fn json_of(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => Cow::Borrowed(json.get()),
        Err(_) => Cow::Owned(serde_json::Value::from(text).to_string()),
    }
}
