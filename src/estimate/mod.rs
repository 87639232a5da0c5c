//! What a request is likely to cost in LLM tokens, guessed from its body. Floor 3: rules.

#[cfg(feature = "bpe")]
mod encoding;
#[cfg(feature = "bpe")]
mod openai;
mod text;

use std::str::FromStr;

#[cfg(feature = "bpe")]
pub use encoding::Encoding;
use text::Body;

/// How tokens are guessed from a body: its text, and the most that the answer may take.
///
/// The text of a JSON object or array is its string values, all levels, without escapes; keys, numbers
/// and punctuation are not counted. Any other body is text as a whole. The answer's maximum is the largest
/// whole number among the top-level fields `max_tokens`, `max_completion_tokens` and `max_output_tokens`,
/// else 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// Bytes of text in UTF-8 / 4, rounded up.
    #[default]
    Chars,
    /// The tokens of each string by itself.
    #[cfg(feature = "bpe")]
    Tokens(Encoding),
    /// As the cookbook of `OpenAI` counts its requests, by the encoding of their `model`; the output is for
    /// each of `n` answers. A body that is no such request is counted by [`Encoding::O200k`].
    #[cfg(feature = "bpe")]
    OpenAi,
}

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Of what it sends.
    pub input: u64,
    /// The most that its answer may take; 0 if it does not say.
    pub output: u64,
}

/// Bytes of text in one token, roughly, of English in the common encodings.
const BYTES_PER_TOKEN: u64 = 4;

impl Estimator {
    /// Input and output of a request with this body.
    pub fn estimate(self, body: &[u8]) -> Estimate {
        match self {
            Self::Chars => chars(body),
            #[cfg(feature = "bpe")]
            Self::Tokens(encoding) => encoding.estimate(body),
            #[cfg(feature = "bpe")]
            Self::OpenAi => {
                openai::estimate(body).unwrap_or_else(|| Encoding::O200k.estimate(body))
            }
        }
    }

    /// Each word that one is written with; the last three are of a build with the feature `bpe`.
    pub const WORDS: [&str; 4] = ["chars", "o200k", "cl100k", "openai"];

    /// The output of [`Estimator::estimate`] alone, which costs nothing for its text.
    pub fn output(self, body: &[u8]) -> u64 {
        match self {
            Self::Chars => Body::of(body).output(),
            #[cfg(feature = "bpe")]
            Self::Tokens(_) => Body::of(body).output(),
            #[cfg(feature = "bpe")]
            Self::OpenAi => openai::output(body).unwrap_or_else(|| Body::of(body).output()),
        }
    }
}

fn chars(body: &[u8]) -> Estimate {
    let (bytes, output) = match Body::of(body) {
        Body::Json(json) => {
            let mut bytes = 0;
            let output = text::scan(json, |_, length| bytes += length);
            (bytes, output)
        }
        Body::Text(text) => (text.len() as u64, 0),
    };
    Estimate {
        input: bytes.div_ceil(BYTES_PER_TOKEN),
        output,
    }
}

impl FromStr for Estimator {
    type Err = String;

    #[cfg(feature = "bpe")]
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "chars" => Ok(Self::Chars),
            "o200k" => Ok(Self::Tokens(Encoding::O200k)),
            "cl100k" => Ok(Self::Tokens(Encoding::Cl100k)),
            "openai" => Ok(Self::OpenAi),
            _ => Err("write chars, o200k, cl100k or openai".to_owned()),
        }
    }

    #[cfg(not(feature = "bpe"))]
    fn from_str(text: &str) -> Result<Self, String> {
        const BUILD: &str = "cargo build --release --features bpe";
        match text {
            "chars" => Ok(Self::Chars),
            "o200k" | "cl100k" | "openai" => Err(format!(
                "this program was built without encodings; write chars, or build it with {BUILD}"
            )),
            _ => Err(format!(
                "write chars, o200k, cl100k or openai, the last three in a program built with {BUILD}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(not(feature = "bpe"))]
    const ALL: [Estimator; 1] = [Estimator::Chars];
    #[cfg(feature = "bpe")]
    const ALL: [Estimator; 3] = [
        Estimator::Chars,
        Estimator::Tokens(Encoding::O200k),
        Estimator::OpenAi,
    ];

    #[test]
    fn text_is_a_token_for_each_four_bytes_rounded_up() {
        for (body, input) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééé", 2)] {
            let estimate = Estimator::Chars.estimate(body.as_bytes());
            assert_eq!(estimate, Estimate { input, output: 0 }, "{body}");
        }
    }

    #[test]
    fn the_strings_of_a_body_are_one_text() {
        let body = br#"{"a":"abc","b":["de",{"c":"f"}],"max_tokens":5}"#;
        let estimate = Estimator::Chars.estimate(body);
        assert_eq!(
            estimate,
            Estimate {
                input: 2,
                output: 5
            }
        );
        assert_eq!(Estimator::Chars.output(body), 5);
    }

    #[test]
    fn a_word_that_is_no_estimator_is_refused_with_all_that_are() {
        assert_eq!("chars".parse(), Ok(Estimator::Chars));
        let why = "gpt2".parse::<Estimator>().unwrap_err();
        assert!(why.contains("chars, o200k, cl100k or openai"), "{why}");
    }

    #[cfg(feature = "bpe")]
    #[test]
    fn each_word_is_an_estimator_with_its_own_count() {
        let body =
            br#"{"messages":[{"role":"user","content":"hello world"}],"max_tokens":5,"n":2}"#;
        for (word, input, output) in [
            ("chars", 4, 5),
            ("o200k", 3, 5),
            ("cl100k", 3, 5),
            ("openai", 9, 10),
        ] {
            let estimator: Estimator = word.parse().unwrap();
            let estimate = estimator.estimate(body);
            assert_eq!(estimate, Estimate { input, output }, "{word}");
            assert_eq!(estimator.output(body), output, "{word}");
        }
    }

    #[cfg(not(feature = "bpe"))]
    #[test]
    fn a_program_without_encodings_says_how_to_build_one_with_them() {
        for word in ["o200k", "cl100k", "openai"] {
            let why = word.parse::<Estimator>().unwrap_err();
            assert!(why.contains("--features bpe"), "{why}");
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic_and_output_is_the_same_alone(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            json in "[\\[{\",:}\\]a-z0-9\\\\ -]{0,40}",
            value in "(\"[a-z\\\\u0-9]{0,8}\"|-?[0-9]{1,20}|\\[[0-9,]{0,8}\\]|null|\\{\\})",
        ) {
            let names = ["messages", "prompt", "input", "tools", "max_tokens", "n", "model"];
            let request = names.map(|name| format!("\"{name}\":[{{\"content\":{value}}},{value}],\"x{name}\":{value}"));
            let request = format!("{{{}}}", request.join(","));
            for body in [&bytes[..], json.as_bytes(), request.as_bytes()] {
                for estimator in ALL {
                    prop_assert_eq!(estimator.estimate(body).output, estimator.output(body));
                }
            }
        }
    }
}
