//! Results in the form of a batch, read to be gone on with: only which job each is of, and whether it is one. Floor 4: doors.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::done::{Name, hash};
use crate::job::History;
use crate::outcome::Status;
use crate::sink::{CustomId, Format};

/// A line in either form: one of the two tells whether it is good.
#[derive(Deserialize)]
struct Row {
    custom_id: String,
    /// Of `OpenAI`: null where there was none.
    error: Option<IgnoredAny>,
    /// Of Anthropic.
    result: Option<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    word: String,
}

/// Whether a run can go on with results in this form.
pub fn can_go_on(format: Format) -> bool {
    format == Format::Shaper || is_ok(format).is_some()
}

/// A line in such a form.
pub(super) struct Line {
    pub(super) name: Name,
    pub(super) status: Status,
    /// The position in the input, if it tells that.
    pub(super) seq: Option<u64>,
    pub(super) history: History,
}

/// Whether a row is of a job that succeeded; `None` if it does not tell.
type IsOk = fn(&Row) -> Option<bool>;

/// How a form of batches tells it; `None`: the form is another.
fn is_ok(format: Format) -> Option<IsOk> {
    match format {
        Format::OpenAi => Some(|row| Some(row.error.is_none())),
        Format::Anthropic => Some(|row| Some(row.result.as_ref()?.word == "succeeded")),
        Format::Shaper
        | Format::Cookbook
        | Format::VegetaJson
        | Format::VegetaCsv
        | Format::Csv => None,
    }
}

/// What a line in such a form is the result of; `None`: the form is another.
pub(super) fn read(format: Format, line: &str) -> Option<Result<Line, String>> {
    let is_ok = is_ok(format)?;
    let row = serde_json::from_str::<Row>(line).map_err(|why| why.to_string());
    Some(row.and_then(|row| {
        let is_ok = is_ok(&row).ok_or("missing field `result`")?;
        Ok(named(&row.custom_id, is_ok))
    }))
}

fn named(id: &str, is_ok: bool) -> Line {
    let status = if is_ok { Status::Ok } else { Status::Failed };
    let (name, status, seq, history) = match CustomId::of(id) {
        CustomId::Own(id) => (Name::Id(hash(id), None), status, None, History::New),
        CustomId::Job(job, seq, history) => (Name::Job(job), status, Some(seq), history),
        CustomId::BadLine(why, job) => (Name::Job(job), why.into(), None, History::New),
    };
    Line {
        name,
        status,
        seq,
        history,
    }
}
