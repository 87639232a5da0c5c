//! A table of jobs, whose first row names the fields. Floor 4: doors.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderName;
use memchr::memmem;
use serde_json::value::RawValue;

use super::{Asked, Known, Needs, Read, Shows};
use crate::kept::Body;
use crate::source::at::{At, Stamp};
use crate::source::draft::{self, Content, Draft, Fault, Fields, Spot};
use crate::source::field::{self, Field};
use crate::source::filling::{Filled, Filling, Value};
use crate::source::framing::Frame;
use crate::source::members;
use crate::source::opening::First;
use crate::source::record::Record;
use crate::source::rows::Rows;

pub(super) const COMMAS: Known = Known {
    name: "csv",
    extensions: &["csv"],
    shows: |first| shows(first, b','),
    frame: |_| Some(Frame::Cut(|| Box::new(Rows::new(b',')))),
    is_comment: |_| false,
    needs: Needs::Columns,
    has_rows: true,
    fields: &field::COLUMNS,
    read,
};

pub(super) const TABS: Known = Known {
    name: "tsv",
    extensions: &["tsv", "tab"],
    shows: |first| shows(first, b'\t'),
    frame: |_| Some(Frame::Cut(|| Box::new(Rows::new(b'\t')))),
    is_comment: |_| false,
    needs: Needs::Columns,
    has_rows: true,
    fields: &field::COLUMNS,
    read,
};

/// A table names its columns, and one of them is `url`. By its name alone, whatever has no brackets: if it begins with a
/// URL, [`Columns::of`] asks for the names.
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
        Some(_) if has_url(first) => Shows::ByName,
        Some(_) if names_url => Shows::Surely,
        Some(_) => Shows::ByName,
    }
}

/// Whether a URL stands in the first row, which names no column then.
pub(super) fn has_url(first: &First<'_>) -> bool {
    let line = first.line();
    line.is_some_and(|line| memmem::find(line, b"://").is_some())
}

/// What stands in a column.
#[derive(Debug, PartialEq, Eq)]
enum Column {
    Of(Field),
    Header(HeaderName),
    /// Nothing that makes a job; limits may be kept apart by it.
    Other,
}

impl Column {
    /// `None` if it would be of a header that is none.
    fn of(name: &str) -> Option<Self> {
        Some(match (Field::of(name), name.strip_prefix("h:")) {
            (Some(Field::Headers | Field::Key), _) | (None, None) => Self::Other,
            (Some(field), _) => Self::Of(field),
            (None, Some(header)) => Self::Header(HeaderName::from_bytes(header.as_bytes()).ok()?),
        })
    }
}

/// The columns of a table, in their order.
#[derive(Debug)]
pub(in crate::source) struct Columns(Vec<(Box<str>, Column)>);

impl Columns {
    /// As the first row names them, of which `filling` takes its own. `unknown` is told those that mean nothing.
    pub(in crate::source) fn of(
        record: &Record<'_>,
        filling: Option<&mut Filling>,
        mut unknown: impl FnMut(&str, Spot),
    ) -> Result<Self, Fault> {
        record.text()?;
        record.quoted_as_a_whole()?;
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
            if column == Column::Other && name != "key" && filling.is_none() {
                unknown(name, Spot::Cell(nth));
            }
            all.push((name.into(), column));
        }
        let url = all
            .iter()
            .position(|(_, column)| *column == Column::Of(Field::Url));
        match (filling.as_ref().is_some_and(|it| it.has_url()), url) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(nth)) => {
                let what = "there is a column \"url\", and --url";
                return Err(Fault::new(Spot::Cell(nth), what, "keep one of them"));
            }
            (false, None) => {
                if let Some(nth) = all.iter().position(|(name, _)| name.contains("://")) {
                    let what = "the first row has a URL, and no names of columns";
                    let mend = "put a row of names before it, as url,method,body; a list with one URL on each line is --format urls";
                    return Err(Fault::new(Spot::Cell(nth), what, mend));
                }
                let is_url = |(name, _): &&(Box<str>, Column)| name.eq_ignore_ascii_case("url");
                if let Some((name, _)) = all.iter().find(is_url) {
                    let mend = format!("names are told apart by case: write {name:?} as \"url\"");
                    return Err(Fault::new(1, "no column is \"url\"", mend));
                }
                let mend = match &all[..] {
                    [(only, _)] if only.contains(';') => "separate columns with commas, not with ;",
                    _ => "name the columns in the first row, one of them \"url\", or give --url",
                };
                return Err(Fault::new(1, "no column is \"url\"", mend));
            }
        }
        if let Some(filling) = filling {
            filling.settle(all.iter().map(|(name, _)| &**name))?;
        }
        Ok(Self(all))
    }
}

/// Reads a row. A cell that is empty is none.
fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    let record = asked.record;
    let columns = asked.columns.expect("the first row was read as columns");
    let text = match cells_text(&record) {
        Ok(text) => text,
        Err(fault) => return (None, Err(fault)),
    };
    let (wanted, found) = (columns.0.len(), record.cells.ends.len());
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
    for ((name, _), end) in columns.0.iter().zip(record.cells.ends) {
        row.cells.push((name, &text[begin..*end]));
        begin = *end;
    }
    let id = row.cell(Field::Id).map(|(_, id)| Box::from(id));
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
    record.quoted_as_a_whole()?;
    Ok(str::from_utf8(record.cells.text).unwrap_or_default())
}

struct Row<'a> {
    columns: &'a Columns,
    cells: Vec<(&'a str, &'a str)>,
}

impl<'a> Row<'a> {
    /// What stands in the cell of this field, unless that is nothing, with its place in the row.
    fn cell(&self, wanted: Field) -> Option<(usize, &'a str)> {
        let mut columns = self.columns.0.iter();
        let nth = columns.position(|(_, column)| *column == Column::Of(wanted))?;
        let (_, text) = self.cells[nth];
        (!text.is_empty()).then_some((nth, text))
    }

    fn draft(&self, asked: &mut Asked<'_, 'a>) -> Result<Draft<'a>, Fault> {
        let filling = asked.filling;
        let written = match filling {
            Some(filling) if filling.has_url() => None,
            Some(_) | None => Some(self.url()?),
        };
        let method = self.cell(Field::Method).map(|(nth, text)| {
            draft::method(text.trim()).ok_or_else(|| members::no_method(Spot::Cell(nth)))
        });
        self.headers(asked)?;
        let filled = filling
            .map(|filling| self.filled(asked, filling))
            .transpose()?;
        let Filled { url, body: given } = filled.unwrap_or_default();
        let url = url.map(|(url, at)| (url.into(), at));
        let (url, url_at) = written.or(url).expect("one of them is there");
        let (body, content, known_by) = match (self.body(asked)?, given) {
            (None, Some(given)) => {
                let body = Body::Apart(given.text.into());
                (Some(body), given.content, given.known_by)
            }
            (own, _) => (own, Content::Other, None),
        };
        Ok(Draft {
            method: method.transpose()?,
            body,
            content,
            known_by,
            filling,
            units: draft::SaidUnits {
                whole: self.count(Field::Tokens)?,
                input: self.count(Field::InputTokens)?,
                output: self.count(Field::OutputTokens)?,
            },
            at: Some(Stamp::of_job(
                self.cell(Field::At)
                    .map(|(nth, text)| At::Text(text.trim(), Spot::Cell(nth))),
            )),
            meta: self.meta(filling),
            ..Draft::of_url(url, url_at)
        })
    }

    fn url(&self) -> Result<(Cow<'a, str>, Spot), Fault> {
        let url = self
            .cell(Field::Url)
            .filter(|(_, url)| !url.trim().is_empty());
        let url = url.map(|(nth, url)| (url.into(), Spot::Cell(nth)));
        url.ok_or_else(|| Fault::new(1, "\"url\" is empty", "give every row a \"url\""))
    }

    fn filled(&self, asked: &mut Asked<'_, 'a>, filling: &Filling) -> Result<Filled, Fault> {
        filling.filled(asked.own, &mut asked.keeper.headers, |name| {
            let nth = self.cells.iter().position(|(own, _)| *own == name);
            let nth = nth.expect("the first row has it");
            Ok((Value::Text(self.cells[nth].1.into()), Spot::Cell(nth)))
        })
    }

    /// With templates, all that is no field of a job, unless there is a column of that name.
    fn meta(&self, filling: Option<&Filling>) -> Option<Cow<'a, str>> {
        let own = self.cell(Field::Meta).map(|(_, text)| json_of(text));
        own.or_else(|| {
            let filling = filling?;
            let columns = self.columns.0.iter().zip(&self.cells);
            let others =
                columns.filter(|((name, column), _)| *column == Column::Other && **name != *"key");
            let others: serde_json::Map<_, _> = others
                .map(|(_, (name, value))| {
                    let shown = if filling.is_secret(name) {
                        "***"
                    } else {
                        value
                    };
                    ((*name).to_owned(), shown.into())
                })
                .collect();
            (!others.is_empty()).then(|| serde_json::Value::from(others).to_string().into())
        })
    }

    fn headers(&self, asked: &mut Asked<'_, 'a>) -> Result<(), Fault> {
        for (nth, (name, column)) in self.columns.0.iter().enumerate() {
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

    fn count(&self, field: Field) -> Result<Option<u64>, Fault> {
        let count = self.cell(field).map(|(nth, text)| {
            text.trim().parse().map_err(|_| {
                let (name, _) = &self.columns.0[nth];
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
        let ways = [Field::Body, Field::BodyBase64, Field::BodyFile].map(|way| self.cell(way));
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
            let bytes: Bytes = members::file(asked.folder, "body_file ", path).map_err(|what| {
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
