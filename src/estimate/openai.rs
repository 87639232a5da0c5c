//! The tokens of a request to `OpenAI`, by its own recipes. Floor 3: rules.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Encoding, Estimate};
use crate::json::{self, Member};

/// Tokens around each message: `OpenAI` cookbook, "How to count tokens with tiktoken", §6.
const MESSAGE: u64 = 3;
/// Tokens of a `name` besides its text: the same.
const NAME: u64 = 1;
/// Tokens that open the reply: the same.
const PRIMING: u64 = 3;

/// The members of a request that count.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    functions: Option<&'a RawValue>,
    #[serde(borrow)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    max_output_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    n: Option<&'a RawValue>,
}

/// Tokens of a request with `messages`, `prompt` or `input`; `None` of any other body.
///
/// - A message (of chat, or in the `input` of a response) is 3 and its string values, 1 more for a `name`;
///   the reply's opening is 3: the guide named above, §6. Of an array in `content` the `text` of its parts
///   counts: what an image costs does not follow from its bytes.
/// - A `prompt`, and the `input` of embeddings, is a text, an array of them, or tokens already:
///   `api_request_parallel_processor.py` of the cookbook, without its default of 15 for `max_tokens`.
/// - The strings in `tools` and `functions`, and `instructions`: the guide says only that they cost extra.
///
/// The output is the largest of `max_tokens`, `max_completion_tokens` and `max_output_tokens`, for each
/// of `n` answers to each prompt (the script).
pub(super) fn estimate(body: &[u8]) -> Option<Estimate> {
    let request = request(body)?;
    let model = request.model.and_then(string).unwrap_or_default();
    let count = Count(Encoding::of_model(&model));
    let extra = [request.instructions, request.tools, request.functions];
    let extra = extra
        .into_iter()
        .flatten()
        .map(|value| count.strings(value.get()));
    let listed = [request.messages, request.prompt, request.input];
    let listed = listed.into_iter().flatten().map(|value| count.list(value));
    Some(Estimate {
        input: extra.chain(listed).sum(),
        output: request.output(),
    })
}

/// The output of [`estimate`].
pub(super) fn output(body: &[u8]) -> Option<u64> {
    request(body).map(|request| request.output())
}

fn request(body: &[u8]) -> Option<Request<'_>> {
    let body = body.trim_ascii_start();
    // An array would be read as the members in their order.
    if body.first() != Some(&b'{') {
        return None;
    }
    let request: Request<'_> = serde_json::from_slice(body).ok()?;
    let listed = [request.messages, request.prompt, request.input];
    listed.iter().any(Option::is_some).then_some(request)
}

impl Request<'_> {
    fn output(&self) -> u64 {
        let caps = [
            self.max_tokens,
            self.max_completion_tokens,
            self.max_output_tokens,
        ];
        let most = caps.into_iter().filter_map(whole).max().unwrap_or(0);
        let prompts = self.prompt.map_or(1, prompts);
        most.saturating_mul(whole(self.n).unwrap_or(1))
            .saturating_mul(prompts)
    }
}

/// Texts or arrays of tokens in an array are a prompt each; anything else is one.
fn prompts(prompt: &RawValue) -> u64 {
    let elements = elements(prompt.get()).unwrap_or_default();
    let each = elements.iter().filter(|element| !is_number(element));
    (each.count() as u64).max(1)
}

/// Counts by one encoding.
#[derive(Clone, Copy)]
struct Count(Encoding);

impl Count {
    /// A text; or an array of texts, of tokens, of arrays of tokens, or of messages.
    fn list(self, value: &RawValue) -> u64 {
        let Some(elements) = elements(value.get()) else {
            return self.strings(value.get());
        };
        let tokens = elements.iter().map(|element| self.element(element)).sum();
        let is_message = |element: &&RawValue| element.get().starts_with('{');
        if elements.iter().any(is_message) {
            PRIMING + tokens
        } else {
            tokens
        }
    }

    fn element(self, element: &RawValue) -> u64 {
        if is_number(element) {
            return 1;
        }
        let element = element.get();
        match (elements(element), json::members(element)) {
            (Some(tokens), _) => tokens.len() as u64,
            (None, Ok(members)) => self.message(&members),
            (None, Err(_)) => self.strings(element),
        }
    }

    fn message(self, members: &[Member<'_>]) -> u64 {
        let member = |(name, value): &Member<'_>| match (&**name, elements(value)) {
            ("content", Some(parts)) => parts.iter().map(|part| self.part(part)).sum(),
            ("name", _) => NAME + self.strings(value),
            _ => self.strings(value),
        };
        MESSAGE + members.iter().map(member).sum::<u64>()
    }

    /// A part of a message: text, an image, sound.
    fn part(self, part: &RawValue) -> u64 {
        let text = json::find(part.get(), &["text"]);
        text.map_or(0, |text| self.strings(text.get()))
    }

    /// All strings in a value, each by itself.
    fn strings(self, value: &str) -> u64 {
        self.0.count_strings(value.as_bytes()).input
    }
}

fn elements(value: &str) -> Option<Vec<&RawValue>> {
    let array = value.starts_with('[');
    array.then(|| serde_json::from_str(value).ok())?
}

fn is_number(value: &RawValue) -> bool {
    value
        .get()
        .starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn whole(value: Option<&RawValue>) -> Option<u64> {
    value?.get().parse().ok()
}

fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of the cookbook's guide, §6, which it says `OpenAI` counted for `gpt-4`, too.
    const EXAMPLE: &str = r#"[
        {"role":"system","content":"You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},
        {"role":"system","name":"example_user","content":"New synergies will help drive top-line growth."},
        {"role":"system","name":"example_assistant","content":"Things working well together will increase revenue."},
        {"role":"system","name":"example_user","content":"Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},
        {"role":"system","name":"example_assistant","content":"Let's talk later when we're less busy about how to do better."},
        {"role":"user","content":"This late pivot means we don't have time to boil the ocean for the client deliverable."}
    ]"#;

    fn estimated(body: &str) -> (u64, u64) {
        let of = estimate(body.as_bytes()).unwrap();
        assert_eq!(output(body.as_bytes()), Some(of.output), "{body}");
        (of.input, of.output)
    }

    #[test]
    fn the_example_of_the_guide_counts_as_it_says() {
        for (model, tokens) in [("gpt-4-0613", 129), ("gpt-3.5-turbo", 129), ("gpt-4o", 124)] {
            let body = format!(r#"{{"model":"{model}","messages":{EXAMPLE}}}"#);
            assert_eq!(estimated(&body), (tokens, 0), "{model}");
        }
    }

    #[test]
    fn a_message_is_three_and_its_strings() {
        let body = |message: &str| estimated(&format!(r#"{{"messages":[{message}]}}"#)).0;
        assert_eq!(
            body(r#"{"role":"user","content":"hello world"}"#),
            3 + 3 + 1 + 2
        );
        assert_eq!(
            body(r#"{"role":"user","name":"hello world"}"#),
            3 + 3 + 1 + 1 + 2
        );
        let parts = r#"{"role":"user","content":[{"type":"text","text":"hello world"},
            {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo"}}]}"#;
        assert_eq!(body(parts), 3 + 3 + 1 + 2);
        let call = r#"{"role":"user","content":null,"tool_calls":[{"function":{"arguments":"hello world"}}]}"#;
        assert_eq!(body(call), 3 + 3 + 1 + 2);
    }

    #[test]
    fn prompts_and_inputs_are_texts_tokens_or_messages() {
        for (body, input) in [
            (r#"{"prompt":"hello world"}"#, 2),
            (r#"{"prompt":["hello world","hello world"]}"#, 4),
            (r#"{"prompt":[15339,1917,0]}"#, 3),
            (r#"{"input":[[15339,1917],[1]]}"#, 3),
            (r#"{"input":"hello world"}"#, 2),
            (
                r#"{"input":["hello world"],"model":"text-embedding-3-small"}"#,
                2,
            ),
            (
                r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hello world"}]}]}"#,
                9,
            ),
            (r#"{"input":"hello world","instructions":"hello world"}"#, 4),
            (
                r#"{"messages":[],"tools":[{"function":{"description":"hello world"}}]}"#,
                2,
            ),
        ] {
            assert_eq!(estimated(body).0, input, "{body}");
        }
    }

    #[test]
    fn the_largest_cap_counts_for_each_answer_to_each_prompt() {
        for (fields, output) in [
            (
                r#""prompt":"","max_tokens":10,"max_completion_tokens":30,"max_output_tokens":20"#,
                30,
            ),
            (r#""messages":[],"max_tokens":10,"n":3"#, 30),
            (r#""prompt":["a","b"],"max_tokens":10,"n":3"#, 60),
            (r#""prompt":[[1],[2]],"max_tokens":10"#, 20),
            (r#""prompt":[1,2],"max_tokens":10"#, 10),
            (r#""messages":[],"max_tokens":null,"n":2"#, 0),
            (
                r#""messages":[],"max_tokens":18446744073709551615,"n":2"#,
                u64::MAX,
            ),
        ] {
            assert_eq!(estimated(&format!("{{{fields}}}")).1, output, "{fields}");
        }
    }

    #[test]
    fn another_body_is_no_request_to_openai() {
        for body in [
            "",
            "hello",
            "[1]",
            "{}",
            r#"{"contents":[]}"#,
            r#"{"input":null}"#,
            r#"{"prompt":"a""#,
        ] {
            assert_eq!(estimate(body.as_bytes()), None, "{body}");
        }
        let other = r#"{"contents":["hello world"],"max_tokens":3}"#;
        let estimate = super::super::Estimator::OpenAi.estimate(other.as_bytes());
        assert_eq!((estimate.input, estimate.output), (2, 3));
    }

    #[test]
    fn a_hundred_thousand_levels_need_no_stack() {
        let deep = "[".repeat(100_000) + "\"hello world\"" + &"]".repeat(100_000);
        for body in [
            format!(r#"{{"messages":[{{"content":{deep},"x":{deep}}}],"tools":{deep}}}"#),
            format!(r#"{{"prompt":{deep}}}"#),
        ] {
            assert!(estimated(&body).0 > 0);
        }
    }
}
