//! Byte pair encodings: the tokens of a text. Floor 3: rules.

use std::borrow::Cow;

use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

use super::Estimate;
use super::text::{self, Body};

/// The encoder splits a text by an expression that gives up, with a panic, after a million steps; a run
/// of blanks as long as this takes far less. A longer text is counted in pieces, each up to one token
/// too much.
const PIECE: usize = 64 << 10;

/// A vocabulary of tokens and the rule that splits a text into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-5, o1, o3, o4-mini and what comes after them.
    O200k,
    /// `cl100k_base`: GPT-4, GPT-3.5 and the embeddings.
    Cl100k,
}

impl Encoding {
    /// That of a model, by the table of tiktoken (`model.py`); [`Encoding::O200k`] if it is unknown.
    ///
    /// What a router puts before the name (`openai/gpt-4`) does not count. The encodings of models before
    /// GPT-3.5 are taken for `cl100k_base`.
    pub(super) fn of_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        match get_tokenizer(name) {
            None | Some(Tokenizer::O200kBase | Tokenizer::O200kHarmony) => Self::O200k,
            Some(_) => Self::Cl100k,
        }
    }

    /// The tokens of a text. What looks like a special token is text, too.
    ///
    /// The first call of a process builds the encoder: 230 ms and 46 MB of memory for `o200k_base`, 70 ms and
    /// 24 MB for `cl100k_base`; then a kilobyte of prose takes 40 to 65 µs (one core of a small server).
    pub(super) fn count(self, mut text: &str) -> u64 {
        let encoder = self.encoder();
        let mut tokens = 0;
        while !text.is_empty() {
            let mut ends = (0..=PIECE.min(text.len())).rev();
            let end = ends.find(|end| text.is_char_boundary(*end));
            let (piece, rest) = text.split_at(end.expect("each text begins with a boundary"));
            tokens += encoder.count_ordinary(piece) as u64;
            text = rest;
        }
        tokens
    }

    /// The tokens of all strings in valid JSON, each by itself, and its output fields; see [`text::scan`].
    pub(super) fn count_strings(self, json: &[u8]) -> Estimate {
        let mut input = 0;
        let output = text::scan(json, |quoted, _| {
            // Half a surrogate pair is no character; such a text is counted as written.
            let text: Cow<'_, str> =
                serde_json::from_slice(quoted).unwrap_or_else(|_| String::from_utf8_lossy(quoted));
            input += self.count(&text);
        });
        Estimate { input, output }
    }

    /// The same of any body.
    pub(super) fn estimate(self, body: &[u8]) -> Estimate {
        match Body::of(body) {
            Body::Json(json) => self.count_strings(json),
            Body::Text(text) => Estimate {
                input: self.count(&String::from_utf8_lossy(text)),
                output: 0,
            },
        }
    }

    fn encoder(self) -> &'static CoreBPE {
        match self {
            Self::O200k => o200k_base_singleton(),
            Self::Cl100k => cl100k_base_singleton(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Encoding; 2] = [Encoding::O200k, Encoding::Cl100k];

    #[test]
    fn published_counts_are_met() {
        for encoding in BOTH {
            assert_eq!(encoding.count(""), 0);
            assert_eq!(encoding.count("hello world"), 2, "{encoding:?}");
        }
        // OpenAI cookbook, "How to count tokens with tiktoken", §5.
        for (text, cl100k) in [
            ("antidisestablishmentarianism", 6),
            ("2 + 2 = 4", 7),
            ("お誕生日おめでとう", 9),
        ] {
            assert_eq!(Encoding::Cl100k.count(text), cl100k, "{text}");
        }
    }

    #[test]
    fn the_encoding_follows_from_the_model() {
        for (model, encoding) in [
            ("gpt-4o-mini", Encoding::O200k),
            ("gpt-4.1", Encoding::O200k),
            ("gpt-5-nano", Encoding::O200k),
            ("o1", Encoding::O200k),
            ("o3-mini", Encoding::O200k),
            ("ft:gpt-4o:acme", Encoding::O200k),
            ("claude-sonnet-4", Encoding::O200k),
            ("", Encoding::O200k),
            ("gpt-4", Encoding::Cl100k),
            ("gpt-4-0613", Encoding::Cl100k),
            ("openai/gpt-4-turbo", Encoding::Cl100k),
            ("gpt-3.5-turbo-0125", Encoding::Cl100k),
            ("text-embedding-3-small", Encoding::Cl100k),
            ("text-davinci-003", Encoding::Cl100k),
        ] {
            assert_eq!(Encoding::of_model(model), encoding, "{model}");
        }
    }

    #[test]
    fn an_escape_is_the_character_that_it_stands_for() {
        for (body, text) in [
            (r#"["a\u00e9\n"]"#, "aé\n"),
            (r#"["\ud83d\ude00"]"#, "\u{1f600}"),
        ] {
            let input = Encoding::O200k.estimate(body.as_bytes()).input;
            assert_eq!(input, Encoding::O200k.count(text), "{body}");
        }
        assert!(Encoding::O200k.estimate(br#"["\ud83d"]"#).input > 0);
        assert!(Encoding::O200k.estimate(b"\xFF\xFE").input > 0);
    }

    #[test]
    fn what_looks_like_a_special_token_is_text() {
        assert!(Encoding::O200k.count("<|endoftext|>") > 1);
    }

    #[test]
    fn a_long_run_of_one_character_is_counted() {
        for encoding in BOTH {
            for one in ["a", " ", "A", "中"] {
                let characters = 2 * PIECE / one.len();
                let tokens = encoding.count(&(one.repeat(characters) + "."));
                let most = characters as u64 + 1;
                assert!((1..=most).contains(&tokens), "{one:?}: {tokens}");
            }
        }
    }
}
