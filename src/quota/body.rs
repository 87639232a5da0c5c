//! What the body of a refusal says. Floor 3: rules.

use std::time::Duration;

use http::StatusCode;
use memchr::memmem;
use serde_json::value::RawValue;

use super::asked::longest;
use super::{Word, span};
use crate::json;

/// How much of a body is read: a longer one is no message of a server.
const READ: usize = 64 << 10;

/// What comes before a wait in the text of a message: Gemini "Please retry in 10h17m5.72s.", `OpenAI` and
/// Groq "Please try again in 5.289s.", Azure "Please retry after 12 seconds."
const BEFORE: [&str; 4] = [
    "retry in ",
    "try again in ",
    "retry after ",
    "try again after ",
];

/// Units that are written out.
const WORDS: [(&str, u64); 5] = [
    ("millisecond", 1_000_000),
    ("second", 1_000_000_000),
    ("minute", 60 * 1_000_000_000),
    ("hour", 3_600 * 1_000_000_000),
    ("day", 86_400 * 1_000_000_000),
];

/// Codes and types of errors that no waiting mends. `OpenAI` ("Error codes", developers.openai.com):
/// `insufficient_quota` and the two of billing; Anthropic ("Errors", docs.anthropic.com): `billing_error`.
const SPENT: [&str; 4] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
];

/// The same in words, where the code does not tell: Anthropic has it as an `invalid_request_error`.
const SPENT_WORDS: [&str; 1] = ["credit balance is too low"];

/// What Google calls a limit that comes back soon, also in a 403: `reason` of `errors` ("Resolve errors" of Drive and of
/// Calendar, developers.google.com), and of `ErrorInfo` in `details` beside `status` ("Errors", cloud.google.com/apis).
/// `dailyLimitExceeded` and `quotaExceeded` are none: those are not to be tried again.
const LIMITED: [&str; 4] = [
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "RATE_LIMIT_EXCEEDED",
    "RESOURCE_EXHAUSTED",
];

/// GitHub ("Rate limits for the REST API"): such a refusal may have no header, then "wait for at least one
/// minute before retrying".
const SECONDARY: &str = "secondary rate limit";
const SECONDARY_WAIT: Duration = Duration::from_secs(60);

/// How many letters of a message are kept as words for people.
const KEPT: usize = 300;

/// What the body of an answer says that refuses; nothing, unless `status` is an error.
///
/// Of JSON the members that servers put it in are read, of anything else the text. The wait is the longest of
/// `RetryInfo` of Google (`google/rpc/error_details.proto`), of a number `retry_after` in seconds
/// (docs.discord.com, "Rate Limits") and of the message: Gemini rounds the first down.
pub fn of_body(status: StatusCode, body: &[u8]) -> Word {
    if !(status.is_client_error() || status.is_server_error()) {
        return Word::default();
    }
    let text = &body[..body.len().min(READ)];
    match std::str::from_utf8(text).ok().and_then(Fault::read) {
        Some(fault) => fault.word(),
        None => Word {
            wait: in_text(text),
            ..Word::default()
        },
    }
}

/// What an error in JSON says of itself.
#[derive(Default)]
struct Fault {
    message: Option<String>,
    /// `code` and `type`, where they are text.
    codes: Vec<String>,
    delay: Option<Duration>,
    retry_after: Option<Duration>,
    /// It names one of [`LIMITED`].
    limited: bool,
}

impl Fault {
    /// `None` if it is no JSON object, nor a list that begins with one, as Gemini streams it.
    fn read(text: &str) -> Option<Self> {
        let mut fault = Self::default();
        for (name, value) in json::members(first(text)?).ok()? {
            match value.as_bytes() {
                [b'{', ..] if name == "error" => {
                    for (name, value) in json::members(value).ok()? {
                        fault.add(&name, value);
                    }
                }
                _ => fault.add(&name, value),
            }
        }
        Some(fault)
    }

    /// Reads a member of the whole, or of the `error` in it.
    fn add(&mut self, name: &str, value: &str) {
        match name {
            "message" => self.message = string(value).or(self.message.take()),
            "error" | "detail" => self.message = self.message.take().or_else(|| string(value)),
            "code" | "type" => self.codes.extend(string(value)),
            "retry_after" => self.retry_after = span::seconds(value),
            "details" => {
                self.delay = delay(value);
                self.limited |= reasons(value);
            }
            "errors" => self.limited |= reasons(value),
            "status" => self.limited |= is_limited(value),
            _ => {}
        }
    }

    fn word(self) -> Word {
        let message = self.message.as_deref().unwrap_or_default();
        let secondary = || message.contains(SECONDARY).then_some(SECONDARY_WAIT);
        let told = [self.delay, self.retry_after, in_text(message.as_bytes())];
        Word {
            wait: longest(told.into_iter().flatten()).or_else(secondary),
            spent: self.spent(message),
            limited: self.limited,
            ..Word::default()
        }
    }

    /// The message, or the code if there is none.
    fn spent(&self, message: &str) -> Option<Box<str>> {
        let code = self
            .codes
            .iter()
            .find(|code| SPENT.contains(&code.as_str()));
        let told = SPENT_WORDS.iter().any(|words| message.contains(words));
        let words = match code {
            Some(code) if message.is_empty() => code,
            Some(_) => message,
            None => told.then_some(message)?,
        };
        Some(words.chars().take(KEPT).collect())
    }
}

/// The object that a body is, or the first of a list.
fn first(text: &str) -> Option<&str> {
    let text = text.trim_ascii();
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return list.first().map(|first| first.get());
    }
    text.starts_with('{').then_some(text)
}

fn string(value: &str) -> Option<String> {
    serde_json::from_str(value).ok()
}

/// `retryDelay` of the `RetryInfo` in the details of an error: a protobuf duration, as JSON `"36s"`.
fn delay(details: &str) -> Option<Duration> {
    let details: Vec<&RawValue> = serde_json::from_str(details).ok()?;
    details.into_iter().find_map(|detail| {
        let members = json::members(detail.get()).ok()?;
        let (_, delay) = members.iter().find(|(name, _)| name == "retryDelay")?;
        span::seconds(string(delay)?.strip_suffix('s')?)
    })
}

/// Whether one of a list of objects has a `reason` of those.
fn reasons(list: &str) -> bool {
    let list: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    list.into_iter().any(|one| {
        let members = json::members(one.get()).unwrap_or_default();
        let mut named = members.iter().filter(|(name, _)| name == "reason");
        named.any(|(_, reason)| is_limited(reason))
    })
}

fn is_limited(word: &str) -> bool {
    string(word).is_some_and(|word| LIMITED.contains(&&*word))
}

/// The longest wait that a text asks for.
fn in_text(text: &[u8]) -> Option<Duration> {
    let each = BEFORE.iter().flat_map(|before| {
        let found = memmem::find_iter(text, before.as_bytes());
        found.filter_map(|at| after(&text[at + before.len()..]))
    });
    longest(each)
}

/// `5.289s` or `12 seconds`, at the beginning of a text.
fn after(text: &[u8]) -> Option<Duration> {
    /// More than the longest span needs.
    const LONG: usize = 80;
    let text = &text[..text.len().min(LONG)];
    let plain = text.utf8_chunks().next()?.valid();
    if let Some((span, _)) = span::go_first(plain) {
        return Some(span);
    }
    let (number, rest) = span::number_first(plain);
    let unit = rest.trim_start();
    let (_, nanos) = WORDS.iter().find(|(word, _)| unit.starts_with(word))?;
    span::of(number, *nanos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(status: u16, body: &str) -> Word {
        of_body(StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    fn wait(body: &str) -> Option<Duration> {
        said(429, body).wait
    }

    const GEMINI: &str = r#"{"error":{"code":429,"message":"You exceeded your current quota.\nPlease retry in 36.429760048s.",
        "status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaValue":"20"}]},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}"#;

    #[test]
    fn gemini_names_its_delay_twice_and_the_longer_holds() {
        let delay = Some(Duration::from_nanos(36_429_760_048));
        assert_eq!(
            wait(GEMINI),
            delay,
            "the delay of the details is rounded down"
        );
        assert_eq!(wait(&format!(" [{GEMINI}\n]\n")), delay);
        let only = GEMINI.replace("retry in", "come back in");
        assert_eq!(wait(&only), Some(Duration::from_secs(36)));
        assert_eq!(said(429, GEMINI).spent, None, "its quota comes back");
        let day =
            r#"{"error":{"message":"Quota exceeded. Please retry in 10h17m5.72s.","details":[]}}"#;
        assert_eq!(wait(day), Some(Duration::from_millis(37_025_720)));
    }

    #[test]
    fn messages_name_a_wait_in_many_ways() {
        for (text, millis) in [
            (
                "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 1881. Please try again in 5.289s. Visit https://",
                5_289,
            ),
            ("Please try again in 6ms.", 6),
            ("Limit: 3 / min. Please try again in 20s.", 20_000),
            ("Please try again in 7m33.456s.", 453_456),
            (
                "have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds. Please go here",
                86_400_000,
            ),
            ("retry after 1 second", 1_000),
            (
                "Please try again in 2 minutes or retry in 1 hour",
                3_600_000,
            ),
        ] {
            let told = Some(Duration::from_millis(millis));
            assert_eq!(wait(text), told, "{text}");
            assert_eq!(
                wait(&format!(r#"{{"error":{{"message":"{text}"}}}}"#)),
                told,
                "{text}"
            );
            assert_eq!(wait(&format!(r#"{{"error":"{text}"}}"#)), told, "{text}");
            assert_eq!(wait(&format!(r#"{{"detail":"{text}"}}"#)), told, "{text}");
        }
        for text in [
            "Resource exhausted. Please try again later.",
            "try again in a few minutes",
            "try again in 5",
            "try again in -5s",
            "try again in 0s",
            "try again in 5 monkeys",
            "try again in ",
            "",
        ] {
            assert_eq!(wait(text), None, "{text}");
        }
    }

    #[test]
    fn a_member_retry_after_is_a_number_of_seconds() {
        let discord =
            r#"{"message":"You are being rate limited.","retry_after":64.57,"global":false}"#;
        assert_eq!(wait(discord), Some(Duration::from_millis(64_570)));
        for value in ["null", "0", "-1", "1e9", "\"5\"", "[]"] {
            assert_eq!(
                wait(&format!(r#"{{"retry_after":{value}}}"#)),
                None,
                "{value}"
            );
        }
    }

    #[test]
    fn a_spent_quota_is_told_in_the_words_of_the_server() {
        let message =
            "You exceeded your current quota, please check your plan and billing details.";
        for (status, kind, code) in [
            (429, "insufficient_quota", "\"insufficient_quota\""),
            (429, "insufficient_quota", "null"),
            (
                400,
                "invalid_request_error",
                "\"billing_hard_limit_reached\"",
            ),
            (402, "billing_error", "null"),
        ] {
            let body = format!(
                r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":{code}}}}}"#
            );
            let spent = said(status, &body).spent;
            assert_eq!(spent.as_deref(), Some(message), "{body}");
            assert_eq!(said(200, &body), Word::default());
        }
        let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;
        assert!(said(400, anthropic).spent.is_some());
        let bare = r#"{"error":{"code":"insufficient_quota"}}"#;
        assert_eq!(said(429, bare).spent.as_deref(), Some("insufficient_quota"));
        let passing =
            r#"{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}"#;
        assert_eq!(said(429, passing), Word::default());
    }

    #[test]
    fn a_secondary_limit_of_github_is_waited_for_a_minute() {
        let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/"}"#;
        let word = said(403, body);
        assert_eq!(word.wait, Some(Duration::from_secs(60)));
        assert!(word.refuses(StatusCode::FORBIDDEN));
        assert!(
            !said(403, r#"{"message":"Must have admin rights"}"#).refuses(StatusCode::FORBIDDEN)
        );
    }

    #[test]
    fn a_403_of_google_that_names_a_limit_which_comes_back_soon_is_a_refusal_and_others_are_not() {
        let drive = |reason: &str| {
            format!(
                r#"{{"error":{{"errors":[{{"domain":"usageLimits","reason":"{reason}","message":"m"}}],"code":403,"message":"m"}}}}"#
            )
        };
        let cloud = |status: &str, reason: &str| {
            format!(
                r#"{{"error":{{"code":403,"message":"m","status":"{status}","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}"}}]}}}}"#
            )
        };
        for (body, refuses) in [
            (drive("rateLimitExceeded"), true),
            (drive("userRateLimitExceeded"), true),
            (drive("dailyLimitExceeded"), false),
            (drive("quotaExceeded"), false),
            (drive("insufficientFilePermissions"), false),
            (cloud("RESOURCE_EXHAUSTED", "X"), true),
            (cloud("PERMISSION_DENIED", "RATE_LIMIT_EXCEEDED"), true),
            (cloud("PERMISSION_DENIED", "API_KEY_INVALID"), false),
        ] {
            let word = said(403, &body);
            assert_eq!(word.refuses(StatusCode::FORBIDDEN), refuses, "{body}");
            assert_eq!(
                word.again_after(StatusCode::FORBIDDEN),
                refuses.then_some(true)
            );
            assert!(!word.refuses(StatusCode::BAD_REQUEST), "{body}");
        }
    }

    #[test]
    fn what_stands_behind_the_first_64_kib_is_not_read() {
        let near = format!("{}retry in 5s.", " ".repeat(READ - 20));
        let far = format!("{}retry in 5s.", " ".repeat(READ));
        assert_eq!(
            (wait(&near), wait(&far)),
            (Some(Duration::from_secs(5)), None)
        );
        let long = format!(r#"{{"message":"retry in 5s. {}"}}"#, "é".repeat(READ));
        assert_eq!(
            wait(&long),
            Some(Duration::from_secs(5)),
            "cut JSON is text"
        );
    }

    #[test]
    fn a_thousand_levels_need_no_stack_and_long_words_are_cut() {
        let deep = "[".repeat(30_000) + &"]".repeat(30_000);
        assert_eq!(
            wait(&format!("{{\"a\":{deep},\"retry_after\":1}}")),
            Some(Duration::from_secs(1))
        );
        let nested = "{\"error\":".repeat(5_000) + "1" + &"}".repeat(5_000);
        assert_eq!(wait(&nested), None);
        let long = "é".repeat(1000);
        let body = format!(r#"{{"code":"insufficient_quota","message":"{long}"}}"#);
        assert_eq!(said(429, &body).spent.unwrap().chars().count(), KEPT);
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            json in "[\\[{\",:}\\]a-z0-9\\\\ -]{0,40}",
            tail in "[0-9]{0,25}[.]?[0-9]{0,25} ?(s|ms|m|h|seconds?|minutes|days|µs|é)?.{0,3}",
        ) {
            let text = format!("try again in {tail}");
            let number = format!("{{\"retry_after\":{tail}}}");
            let delay = format!("{{\"error\":{{\"details\":[{{\"retryDelay\":{tail:?}}}]}}}}");
            for body in [&bytes[..], json.as_bytes(), text.as_bytes(), number.as_bytes(), delay.as_bytes()] {
                let word = of_body(StatusCode::TOO_MANY_REQUESTS, body);
                let longest = Duration::from_nanos(u64::MAX);
                prop_assert!(word.wait.is_none_or(|wait| !wait.is_zero() && wait <= longest));
            }
        }
    }
}
