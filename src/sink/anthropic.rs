//! Results as the Message Batches API of Anthropic returns them. Floor 4: doors.

use super::body;
use super::format::{CustomId, put_error};
use super::line::{Form, Keep, Object, error};
use crate::outcome::Outcome;

/// `{"custom_id":"r-1","result":{"type":"succeeded","message":{}}}`; what failed is `errored`, with the error that was
/// answered, or one that stands for it.
pub(super) fn write(form: &Form, outcome: &Outcome, out: &mut Vec<u8>) {
    let mut line = Object::begin(out);
    line.put("custom_id", CustomId::from(outcome).to_string());
    let mut result = Object::begin(line.key("result"));
    let answer = outcome.reply.as_ref().map(|reply| &*reply.body);
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
                outer.end();
            }
        }
    }
    result.end();
    line.end();
    out.push(b'\n');
}

/// `{"type":"error","error":{"type":"invalid_request_error","message":"…"}}`.
fn is_error(answer: &[u8]) -> bool {
    let answer = serde_json::from_slice::<serde_json::Value>(answer);
    answer.is_ok_and(|answer| answer["type"] == "error" && answer["error"].is_object())
}
