//! Whether an event carries a part of an answer, by the shapes of the APIs. Floor 3: rules.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Name;

/// Whether these data carry text, reasoning, or the arguments of a call:
/// - `OpenAI` chat and what speaks like it: in `choices[].delta`; completions: in `choices[].text`;
/// - `OpenAI` responses (`response.output_text.delta`), Anthropic (`content_block_delta`), Cohere (`content-delta`):
///   in `delta`, if `type` ends in that word;
/// - Gemini: in `candidates[].content.parts`;
/// - all others: if they are there at all, and not the `[DONE]` of `OpenAI`.
///
/// The first event of a chat that names a role, pings, a last one that tells usage alone, errors and all else that such
/// an API says beside its answer carry none. What is no JSON, or was cut, is judged by what can be read of it.
pub(super) fn is_token(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    if !data.starts_with(b"{") {
        return !data.is_empty() && data != b"[DONE]";
    }
    let mut said = Said::default();
    let mut json = serde_json::Deserializer::from_slice(data);
    // Whether it is whole is nothing to us.
    (&mut said).deserialize(&mut json).ok();
    said.is_token()
}

/// What an event says of itself.
#[derive(Debug, Default)]
struct Said {
    kind: Kind,
    /// Whether `delta` has text; `None` if there is none.
    delta: Option<bool>,
    /// The same of `choices` or `candidates`; `Some(false)` also of an error.
    answer: Option<bool>,
}

/// What `type` tells.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    #[default]
    Any,
    /// A part of an answer.
    Delta,
    /// Something beside it.
    Beside,
}

impl Kind {
    fn of(word: &str) -> Self {
        match word {
            // Anthropic.
            "message_start"
            | "content_block_start"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
            | "ping"
            | "error" => Self::Beside,
            _ if word.ends_with("delta") => Self::Delta,
            _ if word.starts_with("response.") => Self::Beside,
            // Cohere.
            _ if word.ends_with("-start") || word.ends_with("-end") => Self::Beside,
            _ => Self::Any,
        }
    }
}

impl Said {
    fn is_token(&self) -> bool {
        match self.kind {
            Kind::Beside => false,
            Kind::Delta => self.delta.or(self.answer).unwrap_or(true),
            Kind::Any => self.answer.unwrap_or(true),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Said {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Said {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            match &*name {
                "type" => {
                    let kind: &RawValue = map.next_value()?;
                    self.kind = Kind::of(kind.get().trim_matches('"'));
                }
                // What is cut within its text has some.
                "delta" => {
                    self.delta = Some(true);
                    self.delta = Some(map.next_value_seed(Text)?);
                }
                "choices" | "candidates" => {
                    self.answer = Some(true);
                    self.answer = Some(map.next_value_seed(Text)?);
                }
                "error" => {
                    let error: Option<IgnoredAny> = map.next_value()?;
                    if error.is_some() {
                        self.answer = Some(false);
                    }
                }
                // Of Gemini: an event without candidates tells usage alone.
                "usageMetadata" => {
                    let IgnoredAny = map.next_value()?;
                    self.answer.get_or_insert(false);
                }
                _ => {
                    let IgnoredAny = map.next_value()?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a value has any text in the places where answers have it.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a part of an answer")
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(!text.is_empty())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let mut has_text = false;
        while let Some(own) = seq.next_element_seed(Text)? {
            has_text |= own;
        }
        Ok(has_text)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut has_text = false;
        while let Some(Name(name)) = map.next_key()? {
            match &*name {
                "delta" | "message" | "content" | "text" | "refusal" | "reasoning"
                | "reasoning_content" | "thinking" | "partial_json" | "tool_calls" | "function"
                | "function_call" | "arguments" | "audio" | "data" | "transcript" | "parts" => {
                    has_text |= map.next_value_seed(Text)?;
                }
                // Gemini sends these whole.
                "functionCall" | "executableCode" | "inlineData" => {
                    let IgnoredAny = map.next_value()?;
                    has_text = true;
                }
                _ => {
                    let IgnoredAny = map.next_value()?;
                }
            }
        }
        Ok(has_text)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_tokens(is: bool, events: &[&str]) {
        for event in events {
            assert_eq!(is_token(event.as_bytes()), is, "{event}");
        }
    }

    #[test]
    fn a_chat_of_openai_and_what_speaks_like_it() {
        assert_tokens(
            true,
            &[
                r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
                r#"{"choices":[{"delta":{"role":"assistant","content":"\n"}}],"usage":null}"#,
                r#"{"choices":[{"delta":{"content":null,"reasoning_content":"Hm"}}]}"#,
                r#"{"choices":[{"delta":{"content":"","reasoning":"Hm"}}]}"#,
                r#"{"choices":[{"delta":{"refusal":"No"}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}}]}"#,
                r#"{"choices":[{"delta":{}},{"delta":{"content":"x"}}]}"#,
                r#"{"id":"cmpl","object":"text_completion","choices":[{"text":" you","index":0}]}"#,
            ],
        );
        assert_tokens(
            false,
            &[
                r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
                r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#,
                r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
                r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#,
                r#"{"error":{"message":"The server had an error","type":"server_error"}}"#,
                "[DONE]",
                " [DONE] ",
            ],
        );
    }

    #[test]
    fn responses_of_openai() {
        assert_tokens(
            true,
            &[
                r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"In"}"#,
                r#"{"delta":"{\"q","type":"response.function_call_arguments.delta"}"#,
                r#"{"type":"response.reasoning_summary_text.delta","delta":"**"}"#,
            ],
        );
        assert_tokens(
            false,
            &[
                r#"{"type":"response.created","response":{"id":"r","output":[]}}"#,
                r#"{"type":"response.output_text.done","text":"In a"}"#,
                r#"{"type":"response.output_text.delta","delta":""}"#,
                r#"{"type":"response.completed","response":{"output":[{"content":[{"text":"In a"}]}],"usage":{"output_tokens":3}}}"#,
                r#"{"type":"error","message":"no"}"#,
            ],
        );
    }

    #[test]
    fn messages_of_anthropic() {
        assert_tokens(
            true,
            &[
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"l"}}"#,
                r#"{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I"}}"#,
            ],
        );
        assert_tokens(
            false,
            &[
                r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":25,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type": "ping"}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#,
                r#"{"type":"message_stop"}"#,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ],
        );
    }

    #[test]
    fn gemini_and_cohere() {
        assert_tokens(
            true,
            &[
                r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"}}],"usageMetadata":{"totalTokenCount":9}}"#,
                r#"{"usageMetadata":{},"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#,
                r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}"#,
            ],
        );
        assert_tokens(
            false,
            &[
                r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}]}"#,
                r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":9}}"#,
                r#"{"usageMetadata":{"totalTokenCount":9}}"#,
                r#"{"type":"message-start","delta":{"message":{"role":"assistant"}}}"#,
                r#"{"type":"message-end","delta":{"usage":{"tokens":{"output_tokens":9}}}}"#,
            ],
        );
    }

    #[test]
    fn of_an_unknown_api_every_event_with_data_is_one() {
        assert_tokens(
            true,
            &[
                "Hello",
                "7",
                "[1]",
                r#"{"token":{"id":5,"text":" a"},"generated_text":null}"#,
                r#"{"error":null,"x":1}"#,
                r#"{"type":"chunk","text":"a"}"#,
                r#"{"type":7}"#,
                r#"{"broken"#,
                "{\"a\":\"\u{0}\"}",
            ],
        );
        assert_tokens(false, &["", "  "]);
    }

    #[test]
    fn what_was_cut_is_judged_by_what_is_there() {
        assert_tokens(
            true,
            &[
                r#"{"type":"response.audio.delta","delta":"UklGR"#,
                r#"{"choices":[{"delta":{"content":"xxxx"#,
                r#"{"candidates":[{"content":{"parts":[{"inlineData":{"data":"iVBO"#,
            ],
        );
        assert_tokens(
            false,
            &[
                r#"{"type":"response.completed","response":{"output":[{"content":[{"text":"In a"#,
                r#"{"error":{"message":"a"},"trace":"long"#,
            ],
        );
    }

    #[test]
    fn no_depth_needs_a_stack() {
        for open in [
            "[",
            "{\"delta\":",
            "{\"choices\":[",
            "{\"content\":{\"text\":",
        ] {
            let deep = format!("{{\"choices\":{}", open.repeat(100_000));
            assert!(is_token(deep.as_bytes()));
        }
    }
}
