//! One job a line, as a JSON object. Floor 4: doors.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Asked, Known, Needs, Read, Shows, vegeta};
use crate::json::Member;
use crate::kept::Body;
use crate::source::at::{At, Stamp};
use crate::source::draft::{Content, Draft, Fault, Fields, SaidUnits};
use crate::source::field::{self, Field, Values};
use crate::source::framing::Frame;
use crate::source::keeper::Keeper;
use crate::source::members::{self, Context, Said, file, given};
use crate::source::objects;
use crate::source::opening::First;
use crate::source::record::End;

pub(super) const FORMAT: Known = Known {
    name: "jsonl",
    extensions: &["jsonl", "ndjson"],
    shows,
    frame: |_| Some(Frame::Lines),
    is_comment: |_| false,
    needs: Needs::Nothing,
    has_rows: true,
    fields: &field::NAMES,
    read,
};

/// `{` opens a job.
fn shows(first: &First<'_>) -> Shows {
    match first.byte() {
        Some(b'{') if first.line() == Some(b"{") => Shows::No,
        Some(b'{') => Shows::Likely,
        Some(_) if first.opens_url() => Shows::No,
        Some(_) | None => Shows::ByName,
    }
}

/// Reads a job, or a row that fills what the command line says of all.
pub(super) fn read<'a>(asked: &mut Asked<'_, 'a>) -> Read<'a> {
    if let Some(filling) = asked.filling {
        return objects::read(asked, filling);
    }
    let line = match asked.text() {
        Ok(line) => line,
        Err(fault) => return (None, Err(fault)),
    };
    let members = match members::read(line, asked.record.end) {
        Ok(members) => members,
        Err(fault) => return (None, Err(fault)),
    };
    let context = Context { line };
    let mut fields = Values::default();
    let mut twice = None;
    for (name, value) in &members {
        let Some(field) = Field::of(name) else {
            (asked.unknown)(name, context.column(value));
            continue;
        };
        if fields.put(field, name, value).is_some() {
            twice.get_or_insert((name, *value));
        }
    }
    let id = match context.text("id", fields.of(Field::Id)) {
        Ok(id) => id.map(Box::from),
        Err(fault) => return (None, Err(fault)),
    };
    let draft = match twice {
        Some((name, value)) => Err(context.twice(name, value)),
        None => context
            .no_target(&fields, &members, asked.is_doubted)
            .and_then(|()| context.draft(&fields, asked.folder, asked.keeper)),
    };
    let draft = draft.map(|draft| Draft {
        fields: Fields::Json(members),
        ..draft
    });
    (id, draft)
}

/// Whether a line that is a job would be none in a file of which nobody says the format.
pub(in crate::source) fn is_doubtful(line: &str, is_doubted: &mut bool) -> bool {
    let members = members::read(line, End::Mark).unwrap_or_default();
    let mut fields = Values::default();
    for (name, value) in &members {
        if let Some(field) = Field::of(name) {
            fields.put(field, name, value);
        }
    }
    let told = Context { line }.no_target(&fields, &members, is_doubted);
    told.is_err()
}

impl Values<'_> {
    /// Whether it has what only a job has, and no target of vegeta.
    fn has_own(&self) -> bool {
        let own = [
            Field::Id,
            Field::Headers,
            Field::BodyBase64,
            Field::BodyFile,
            Field::Tokens,
            Field::InputTokens,
            Field::OutputTokens,
            Field::At,
            Field::Key,
            Field::Meta,
        ];
        let body = self.of(Field::Body);
        own.iter().any(|field| self.of(*field).is_some())
            || body.is_some_and(|body| !body.starts_with('"'))
    }
}

/// What fields say of a job.
impl<'a> Context<'a> {
    fn draft(
        &self,
        fields: &Values<'a>,
        folder: &Path,
        keeper: &mut Keeper,
    ) -> Result<Draft<'a>, Fault> {
        let url = self.required("url", fields.of(Field::Url))?;
        let method = self.method(fields.of(Field::Method))?;
        self.headers("headers", fields.of(Field::Headers), keeper)?;
        let units = self.units(fields)?;
        keeper.has_read_file = given(fields.of(Field::BodyFile)).is_some();
        let (body, content) = self.body(fields, folder)?;
        Ok(Draft {
            method,
            body,
            content,
            units,
            at: Some(Stamp::of_job(
                given(fields.of(Field::At)).map(|value| At::Json(value, self.column(value).into())),
            )),
            meta: given(fields.of(Field::Meta)).map(Cow::Borrowed),
            ..Draft::of_url(url, self.column_of(fields.of(Field::Url)))
        })
    }

    /// A fault if the object may be a target of vegeta that means something else: its `header`, or a `body` that may be
    /// base64. There is no doubt any more behind one that is a job for sure.
    fn no_target(
        &self,
        fields: &Values<'a>,
        members: &[Member<'a>],
        is_doubted: &mut bool,
    ) -> Result<(), Fault> {
        if !*is_doubted {
            return Ok(());
        }
        if fields.has_own() || fields.of(Field::Method).is_none() || fields.of(Field::Url).is_none()
        {
            *is_doubted = false;
            return Ok(());
        }
        let is_header = |(name, value): &&Member<'a>| name == "header" && value.starts_with('{');
        if let Some((_, value)) = members.iter().find(is_header) {
            let what = "this is a target of vegeta, and the file was taken for jobs";
            let mend = "say --format vegeta; jobs have \"headers\", and are --format jsonl";
            return Err(self.fault(value, what, mend));
        }
        match (
            self.text("body", fields.of(Field::Body))?,
            fields.of(Field::Body),
        ) {
            (Some(text), Some(value)) if vegeta::may_be_base64(&text) => {
                let what = "\"body\" may be the text of a job, or base64 of a target of vegeta";
                let mend = "say which: --format jsonl sends it as it stands, --format vegeta what it stands for";
                Err(self.fault(value, what, mend))
            }
            (Some(_), _) => {
                *is_doubted = false;
                Ok(())
            }
            (None, _) => Ok(()),
        }
    }

    fn units(&self, fields: &Values<'a>) -> Result<SaidUnits, Fault> {
        let (name, whole) = fields.whole();
        Ok(SaidUnits {
            whole: self.count(name, whole)?,
            input: self.count("input_tokens", fields.of(Field::InputTokens))?,
            output: self.count("output_tokens", fields.of(Field::OutputTokens))?,
        })
    }

    fn body(&self, fields: &Values<'a>, folder: &Path) -> Result<Said<'a>, Fault> {
        let ways = [
            fields.of(Field::Body),
            fields.of(Field::BodyBase64),
            fields.of(Field::BodyFile),
        ];
        let mut ways = ways.into_iter().filter_map(given);
        if let (Some(_), Some(second)) = (ways.next(), ways.next()) {
            let what = "a job has one of \"body\", \"body_base64\" and \"body_file\"";
            return Err(self.fault(second, what, "keep one of them"));
        }
        if let Some(value) = given(fields.of(Field::Body)) {
            return self.written_body("body", value);
        }
        if let (Some(text), Some(value)) = (
            self.text("body_base64", fields.of(Field::BodyBase64))?,
            fields.of(Field::BodyBase64),
        ) {
            let bytes = STANDARD.decode(&*text).map_err(|why| {
                let what = format!("\"body_base64\" is not base64: {why}");
                self.fault(
                    value,
                    what,
                    "use the standard alphabet with padding, RFC 4648 §4",
                )
            })?;
            return Ok((Some(Body::Apart(bytes.into())), Content::Other));
        }
        if let (Some(text), Some(value)) = (
            self.text("body_file", fields.of(Field::BodyFile))?,
            fields.of(Field::BodyFile),
        ) {
            let bytes = file(folder, "body_file ", &text).map_err(|what| {
                let mend = "the path is relative to the folder of the job file";
                self.fault(value, what, mend)
            })?;
            return Ok((Some(Body::Apart(bytes)), Content::Other));
        }
        Ok((None, Content::Other))
    }
}
