//! The units that the body of an answer says were used. Floor 3: rules.

use std::str::FromStr;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{self, Pointer};
use crate::outcome::Usage;
use crate::sse::data;

/// Whether the bodies of answers are read for what was used, and where in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum UsageRule {
    /// Bodies are not read.
    #[default]
    Ignored,
    /// In the member `usage`.
    Found,
    /// Where the user says.
    At(UsageAt),
}

impl UsageRule {
    /// What a body says; `None` if it does not, is no JSON, or says what cannot be: below zero, above
    /// 2^53 or no number.
    ///
    /// An object is read as `usage` of these APIs, a number (not of [`UsageRule::Found`]) as the total:
    /// - `OpenAI`: `prompt_tokens`, `completion_tokens` (chat, completions, embeddings) or `input_tokens`,
    ///   `output_tokens` (responses), and `total_tokens`;
    /// - Anthropic: `input_tokens` and `cache_creation_input_tokens` are input, `output_tokens` output.
    ///   `cache_read_input_tokens` does not count: "Rate limits", section "Cache-aware ITPM", of its API
    ///   documentation.
    ///
    /// Without `total_tokens` the parts are the total. Fractions are rounded up. One pass over the body
    /// finds it, which builds nothing and needs no stack for its depth.
    pub fn read(&self, body: &[u8]) -> Option<Usage> {
        let text = || std::str::from_utf8(body).ok();
        match self {
            Self::Ignored => None,
            Self::Found => object(json::find(text()?, &["usage"])?),
            Self::At(UsageAt(pointer)) => {
                let value = pointer.find(text()?)?;
                object(value).or_else(|| Some(Usage::of(amount(value)?)))
            }
        }
    }
}

/// Where events of streams say it: chunks of `OpenAI`, the first event of Anthropic, the last of `OpenAI` responses.
const IN_EVENTS: [&[&str]; 3] = [&["usage"], &["message", "usage"], &["response", "usage"]];

impl UsageRule {
    /// The same rule, but bodies are read in any case.
    pub fn or_found(&self) -> &Self {
        match self {
            Self::Ignored => &Self::Found,
            Self::Found | Self::At(_) => self,
        }
    }

    /// The same of a body that is a stream of events (`text/event-stream`): what the last says that says it, with what
    /// only earlier ones say of input or output.
    pub fn read_stream(&self, body: &[u8]) -> Option<Usage> {
        let text = match self {
            Self::Ignored => return None,
            Self::Found | Self::At(_) => std::str::from_utf8(body).ok()?,
        };
        let said = data(text).filter_map(|event| match self {
            Self::Found if names_usage(event) => IN_EVENTS
                .iter()
                .find_map(|path| object(json::find(event, path)?)),
            Self::Ignored | Self::Found => None,
            Self::At(UsageAt(pointer)) => {
                let value = pointer.find(event)?;
                object(value).or_else(|| Some(Usage::of(amount(value)?)))
            }
        });
        said.reduce(|before, now| {
            let (input, output) = (now.input.or(before.input), now.output.or(before.output));
            let is_whole =
                now.input.is_some() == input.is_some() && now.output.is_some() == output.is_some();
            let total = if is_whole {
                now.total
            } else {
                sum(input, output).unwrap_or(now.total)
            };
            Usage {
                input,
                output,
                total,
            }
        })
    }
}

/// Whether there may be a member of the name in which all of [`IN_EVENTS`] end: next to no event has one, and looking for
/// that is far quicker than reading it. It may be written with escapes.
fn names_usage(event: &str) -> bool {
    let event = event.as_bytes();
    memmem::find(event, b"\"usage\"").is_some() || memmem::find(event, b"\\u").is_some()
}

/// A JSON pointer (RFC 6901) to what was used, into the body of an answer; never to the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageAt(Pointer);

impl FromStr for UsageAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(pointer) if !text.is_empty() => Ok(Self(pointer)),
            Ok(_) => Err("write where it stands: /usage or /usage/total_tokens".to_owned()),
            Err(why) => Err(why),
        }
    }
}

/// The members of `usage` that count; `null` is the same as none.
#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the APIs")]
struct Members<'a> {
    #[serde(borrow)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    total_tokens: Option<&'a RawValue>,
}

fn object(value: &RawValue) -> Option<Usage> {
    let json = value.get();
    // An array would be read as the members in their order.
    if !json.starts_with('{') {
        return None;
    }
    let members: Members<'_> = serde_json::from_str(json).ok()?;
    let sent = part(members.prompt_tokens.or(members.input_tokens))?;
    let cached = part(members.cache_creation_input_tokens)?;
    let output = part(members.completion_tokens.or(members.output_tokens))?;
    let input = sum(sent, cached);
    let total = part(members.total_tokens)?.or(sum(input, output))?;
    Some(Usage {
        input,
        output,
        total,
    })
}

/// The outer `None`: there is a value that cannot be an amount.
#[expect(clippy::option_option, reason = "not said is not the same as wrong")]
fn part(value: Option<&RawValue>) -> Option<Option<u64>> {
    match value {
        None => Some(None),
        Some(value) => amount(value).map(Some),
    }
}

/// Both, of which one may be missing. Neither is above 2^53.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
    }
}

/// A number from 0 to 2^53, rounded up to a whole one.
fn amount(value: &RawValue) -> Option<u64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let number: f64 = value.get().parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and from 0 to 2^53"
    )]
    (0.0..=MOST).contains(&number).then(|| number.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usage(input: impl Into<Option<u64>>, output: impl Into<Option<u64>>, total: u64) -> Usage {
        Usage {
            input: input.into(),
            output: output.into(),
            total,
        }
    }

    fn found(body: &str) -> Option<Usage> {
        UsageRule::Found.read(body.as_bytes())
    }

    fn at(pointer: &str, body: &str) -> Option<Usage> {
        UsageRule::At(pointer.parse().unwrap()).read(body.as_bytes())
    }

    /// The amount that `number` stands for.
    fn total(number: &str) -> Option<u64> {
        Some(at("/n", &format!("{{\"n\":{number}}}"))?.total)
    }

    #[test]
    fn the_shapes_of_openai_are_found() {
        let chat = r#"{"id":"c","choices":[{"message":{"content":"\"usage\":{}"}}],"usage":{"prompt_tokens":19,
            "completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8}}}"#;
        assert_eq!(found(chat), Some(usage(19, 10, 29)));
        let responses = r#"{"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":0},
            "output_tokens":87,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":123}}"#;
        assert_eq!(found(responses), Some(usage(36, 87, 123)));
        let embeddings = r#"{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}"#;
        assert_eq!(found(embeddings), Some(usage(8, None, 8)));
        let total = r#"{"usage":{"total_tokens":42}}"#;
        assert_eq!(found(total), Some(Usage::of(42)));
    }

    #[test]
    fn what_anthropic_read_from_its_cache_does_not_count() {
        let body = r#"{"type":"message","usage":{"input_tokens":50,"cache_creation_input_tokens":200,
            "cache_read_input_tokens":100000,"output_tokens":7,"service_tier":"standard"}}"#;
        assert_eq!(found(body), Some(usage(250, 7, 257)));
        let null =
            r#"{"usage":{"input_tokens":5,"cache_creation_input_tokens":null,"output_tokens":7}}"#;
        assert_eq!(found(null), Some(usage(5, 7, 12)));
    }

    #[test]
    fn names_of_both_apis_in_one_object_count_once() {
        let body = r#"{"usage":{"prompt_tokens":5,"input_tokens":5,"completion_tokens":7,"output_tokens":7}}"#;
        assert_eq!(found(body), Some(usage(5, 7, 12)));
    }

    #[test]
    fn a_pointer_leads_to_a_total_or_to_an_object() {
        assert_eq!(
            at("/meta/cost", r#"{"meta":{"cost":12}}"#),
            Some(Usage::of(12))
        );
        assert_eq!(at("/a~1b/1", r#"{"a/b":[0,3]}"#), Some(Usage::of(3)));
        let object = r#"{"result":{"used":{"input_tokens":1,"output_tokens":2}}}"#;
        assert_eq!(at("/result/used", object), Some(usage(1, 2, 3)));
        assert_eq!(at("/other", object), None);
        assert_eq!(at("/result", object), None);
    }

    #[test]
    fn a_fraction_is_rounded_up() {
        for (number, amount) in [
            ("0", 0),
            ("-0", 0),
            ("20.0", 20),
            ("20.5", 21),
            ("2e1", 20),
            ("9007199254740992", 1 << 53),
        ] {
            assert_eq!(total(number), Some(amount), "{number}");
        }
    }

    #[test]
    fn what_cannot_be_an_amount_says_nothing() {
        for wrong in [
            "-1",
            "-0.5",
            "1e300",
            "1e999",
            "18446744073709551616",
            "\"7\"",
            "true",
            "null",
            "[1]",
            "[]",
            "{}",
        ] {
            assert_eq!(total(wrong), None, "{wrong}");
        }
        for body in [
            "",
            "ok",
            "{\"usage\":{\"total_tokens\":1}",
            "{\"usage\":null}",
            "{\"usage\":7}",
            "{\"usage\":[1,2,3,4]}",
            "{\"usage\":{\"prompt_tokens\":-1,\"total_tokens\":5}}",
            "{\"usage\":{\"total_tokens\":\"5\"}}",
            "[{\"usage\":{\"total_tokens\":5}}]",
            "data: {\"usage\":{\"total_tokens\":5}}\n\n",
        ] {
            assert_eq!(found(body), None, "{body}");
        }
        assert_eq!(
            UsageRule::Found.read(b"{\"usage\":{\"total_tokens\":5},\"a\":\"\xFF\"}"),
            None
        );
        assert_eq!(
            UsageRule::Ignored.read(b"{\"usage\":{\"total_tokens\":5}}"),
            None
        );
    }

    #[test]
    fn a_hundred_thousand_levels_and_ten_megabytes_are_read() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let long = "x".repeat(10 << 20);
        let body = format!(
            "{{\"a\":{deep},\"b\":\"{long}\",\"usage\":{{\"c\":{deep},\"total_tokens\":9}}}}"
        );
        assert_eq!(found(&body), Some(Usage::of(9)));
        assert_eq!(at("/usage/total_tokens", &body), Some(Usage::of(9)));
    }

    #[test]
    fn a_text_that_leads_nowhere_is_no_place() {
        for text in ["", "usage", "/~"] {
            let why = text.parse::<UsageAt>().unwrap_err();
            assert!(why.contains("write"), "{text}: {why}");
        }
    }

    #[test]
    fn the_last_event_of_a_stream_that_says_it_counts() {
        let openai = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n\
             data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}\n\n\
             data: [DONE]\n\n";
        let anthropic = "event: message_start\r\n\
             data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\r\n\r\n\
             event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n\
             event: message_delta\r\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\r\n\r\n";
        let responses = "event: response.completed\n\
             data:{\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":4,\"total_tokens\":7}}}\n\n";
        for (stream, told) in [
            (openai, Some(usage(9, 2, 11))),
            (anthropic, Some(usage(25, 15, 40))),
            (responses, Some(usage(3, 4, 7))),
            (
                "data: {\"usage\":{\"total_tokens\":4}}\r\rdata: {\"\\u0075sage\":{\"total_tokens\":5}}",
                Some(Usage::of(5)),
            ),
            ("data: {\"usage\":null}\n\n", None),
            ("", None),
            ("data", None),
        ] {
            assert_eq!(
                UsageRule::Found.read_stream(stream.as_bytes()),
                told,
                "{stream}"
            );
            assert_eq!(UsageRule::Ignored.read_stream(stream.as_bytes()), None);
        }
        let at = UsageRule::At("/usage/total_tokens".parse().unwrap());
        assert_eq!(
            at.read_stream(openai.as_bytes()).map(|used| used.total),
            Some(11)
        );
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            json in "[\\[{\",:}\\]a-z0-9\\\\ -]{0,40}",
            number in "-?[0-9]{0,20}[.]?[0-9]{0,20}(e-?[0-9]{1,4})?",
        ) {
            let usage = format!("{{\"usage\":{{\"total_tokens\":{number},\"input_tokens\":{number}}}}}");
            for body in [&bytes[..], json.as_bytes(), usage.as_bytes()] {
                UsageRule::Found.read(body);
                UsageRule::Found.read_stream(body);
                UsageRule::At("/usage/total_tokens".parse().unwrap()).read(body);
                UsageRule::At("/0".parse().unwrap()).read(body);
            }
        }
    }
}
