//! Results as the parallel request processor of the `OpenAI` Cookbook saves them. Floor 4: doors.

use bytes::Bytes;

use super::body::put_value;
use super::line::{Form, Keep, error, put};
use super::text::Text;
use crate::outcome::{Outcome, Status};

/// `[request, answer]`, or with metadata `[request, answer, metadata]`. What failed has in the place of its answer the
/// list of its errors, one for each try, and behind them what was answered last.
pub(super) fn write(form: &Form, outcome: &Outcome, out: &mut Text) {
    let job = outcome.line.as_ref().ok();
    out.push(b'[');
    match job.filter(|job| job.body().is_some()) {
        Some(job) => put_value(&job.shared_body(), out),
        None => put((), out),
    }
    out.push(b',');
    match &outcome.reply {
        Some(reply) if outcome.status == Status::Ok && form.body == Keep::Keep => {
            put_value(&reply.body, out);
        }
        _ if outcome.status == Status::Ok => put((), out),
        _ => put_errors(form, outcome, out),
    }
    if let Some(meta) = job.and_then(|job| job.meta()) {
        out.push(b',');
        put_value(&Bytes::copy_from_slice(meta), out);
    }
    out.extend_from_slice(b"]\n");
}

fn put_errors(form: &Form, outcome: &Outcome, out: &mut Text) {
    put(errors(outcome), out);
    let answer = outcome.reply.as_ref().map(|reply| &reply.body);
    let kept = answer.filter(|body| form.body == Keep::Keep && !body.is_empty());
    if let Some(body) = kept {
        // The list goes on: its bracket stands last.
        out.pop();
        out.push(b',');
        put_value(body, out);
        out.push(b']');
    }
}

/// Of each try, and of the job where that says more.
fn errors(outcome: &Outcome) -> Vec<String> {
    let of_try = |made: &crate::outcome::Try| match (&made.failure, made.status) {
        (Some(failure), _) => Some(failure.message.clone()),
        (None, Some(status)) => Some(format!("status {status}")),
        (None, None) => None,
    };
    let mut errors: Vec<_> = outcome.tries.iter().filter_map(of_try).collect();
    let last = error(outcome).map(|error| error.message.into_owned());
    errors.extend(last.filter(|last| errors.last() != Some(last)));
    errors
}
