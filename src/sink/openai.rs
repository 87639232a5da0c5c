//! Results as the Batch API of `OpenAI` returns them. Floor 4: doors.

use super::body;
use super::format::{CustomId, put_error};
use super::line::{Form, Keep, Object, error};
use super::text::Text;
use crate::fields::text;
use crate::outcome::{Outcome, Reply};

/// `{"id":"batch_req_7","custom_id":"r-1","response":{"status_code":200,"request_id":"q","body":{}},"error":null}`, as
/// the reference of the API has it; one file holds what failed, too, with both its answer and its error.
pub(super) fn write(form: &Form, outcome: &Outcome, out: &mut Text) {
    let mut line = Object::begin(out);
    line.put("id", format!("batch_req_{}", outcome.seq));
    line.put("custom_id", CustomId::from(outcome).to_string());
    match &outcome.reply {
        Some(reply) => response(form, reply, line.key("response")),
        None => line.put("response", ()),
    }
    match error(outcome) {
        Some(error) => put_error(["code", "message"], &error, line.key("error")),
        None => line.put("error", ()),
    }
    line.end();
    out.push(b'\n');
}

fn response(form: &Form, reply: &Reply, out: &mut Text) {
    let id = reply.head.headers.get(&REQUEST_ID).and_then(text);
    let mut object = Object::begin(out);
    object.put("status_code", reply.head.status.as_u16());
    object.put("request_id", id.unwrap_or_default());
    match form.body {
        Keep::Keep => body::put(&reply.body, &mut object),
        Keep::None => object.put("body", ()),
    }
    object.end();
}

const REQUEST_ID: http::HeaderName = http::HeaderName::from_static("x-request-id");
