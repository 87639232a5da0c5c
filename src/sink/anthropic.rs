//! Results as the Message Batches API of Anthropic returns them. Floor 4: doors.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::body;
use super::format::{CustomId, put_error};
use super::line::{Form, Keep, Object, error};
use super::text::Text;
use crate::outcome::Outcome;

/// `{"custom_id":"r-1","result":{"type":"succeeded","message":{}}}`; what failed is `errored`, with the error that was
/// answered, or one that stands for it beside the answer.
pub(super) fn write(form: &Form, outcome: &Outcome, out: &mut Text) {
    let mut line = Object::begin(out);
    line.put("custom_id", CustomId::from(outcome).to_string());
    let mut result = Object::begin(line.key("result"));
    let answer = outcome.reply.as_ref().map(|reply| &reply.body);
    match error(outcome) {
        None => {
            result.put("type", "succeeded");
            match (form.body, answer) {
                (Keep::Keep, Some(answer)) => body::put_as("message", answer, &mut result),
                (Keep::Keep, None) | (Keep::None, _) => result.put("message", ()),
            }
        }
        Some(error) => {
            result.put("type", "errored");
            if let Some(answer) = answer.filter(|answer| is_error(answer)) {
                body::put_as("error", answer, &mut result);
            } else {
                let mut outer = Object::begin(result.key("error"));
                outer.put("type", "error");
                put_error(["type", "message"], &error, outer.key("error"));
                if let (Keep::Keep, Some(answer)) = (form.body, answer) {
                    body::put(answer, &mut outer);
                }
                outer.end();
            }
        }
    }
    result.end();
    line.end();
    out.push(b'\n');
}

/// What says whether an answer is `{"type":"error","error":{"type":"invalid_request_error","message":"…"}}`.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn is_error(answer: &[u8]) -> bool {
    // An array would be read as the members in their order.
    let members = Some(answer.trim_ascii_start()).filter(|text| text.starts_with(b"{"));
    let members = members.and_then(|text| serde_json::from_slice::<Members<'_>>(text).ok());
    members.is_some_and(|it| {
        let kind = it.kind.is_some_and(|kind| kind.get() == "\"error\"");
        kind && it.error.is_some_and(|error| error.get().starts_with('{'))
    })
}
