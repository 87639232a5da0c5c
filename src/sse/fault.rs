//! What a stream says is wrong: its status was sent before it knew. Floor 3: rules.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::data;
use crate::retry::FaultAt;

/// What an event says of itself: `OpenAI` and what speaks like it has `error`, Anthropic the type `error` too, the
/// responses of `OpenAI` `response.failed`.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// What is wrong with the answer that came as this stream, for people: what the first event says that has something at
/// `at`, or, without that, the first that tells an error.
pub fn fault(body: &[u8], at: Option<&FaultAt>) -> Option<Box<str>> {
    // Next to no stream has one, and to look for it is far quicker than to read it.
    let may_tell = |word: &[u8]| memmem::find(body, word).is_some();
    if at.is_none() && !may_tell(b"\"error\"") && !may_tell(b"\"response.failed\"") {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    data(text).find_map(|event| match at {
        Some(at) => at.in_json(event),
        None => error_of(event),
    })
}

fn error_of(event: &str) -> Option<Box<str>> {
    // An array would be read as the members in their order.
    let event = event.trim();
    let said: Said<'_> = serde_json::from_str(event)
        .ok()
        .filter(|_| event.starts_with('{'))?;
    let error: FaultAt = "/error".parse().expect("it is a pointer");
    let is_error = said
        .kind
        .is_some_and(|kind| matches!(kind.get(), "\"error\"" | "\"response.failed\""));
    let told = said.error.and_then(|_| error.in_json(event));
    told.or_else(|| is_error.then(|| FaultAt::told("the stream says", event)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(events: &[&str]) -> String {
        let events = events
            .iter()
            .map(|data| format!("event: x\ndata: {data}\n\n"));
        events.collect()
    }

    #[test]
    fn an_event_that_tells_an_error_is_a_fault_of_its_stream() {
        let token = r#"{"choices":[{"delta":{"content":"an \"error\" of mine"}}],"error":null}"#;
        for (event, told) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "/error of the body is {\"type\":\"overloaded_error\"",
            ),
            (r#"{"error":{"message":"quota"}}"#, "quota"),
            (r#"{"type":"error","code":"x","message":"gone"}"#, "gone"),
            (
                r#"{"type":"response.failed","response":{}}"#,
                "response.failed",
            ),
        ] {
            let said = fault(stream(&[token, event]).as_bytes(), None).unwrap();
            assert!(said.contains(told), "{said}");
        }
        for events in [
            &[token, "[DONE]"][..],
            &[r#"{"type":"message_stop"}"#],
            &[
                r#"["error"]"#,
                r#""error""#,
                "{\"error\"",
                r#"{"text":"\"error\""}"#,
            ],
        ] {
            assert_eq!(fault(stream(events).as_bytes(), None), None, "{events:?}");
        }
        assert_eq!(fault(b"data: \xff \"error\"\n\n", None), None);
    }

    #[test]
    fn a_pointer_is_looked_for_in_each_event() {
        let at: FaultAt = "/code".parse().unwrap();
        let good = stream(&[r#"{"a":1}"#, "[DONE]", r#"{"code":0}"#]);
        assert_eq!(fault(good.as_bytes(), Some(&at)), None);
        let bad = stream(&[r#"{"a":1}"#, r#"{"code":7}"#]);
        let said = fault(bad.as_bytes(), Some(&at)).unwrap();
        assert_eq!(&*said, "/code of the body is 7");
    }
}
