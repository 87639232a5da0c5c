//! The members of an object as most programs write it, in half the time. Floor 1: words.
//!
//! What is taken here is JSON by RFC 8259. Not all JSON is taken: what is refused, `serde_json` reads, and says
//! what is wrong with it.

use std::borrow::Cow;

use super::members::Member;

/// The members of an object. `None` if it is none, or has other blanks between its words than spaces, a name with an
/// escape, or more than 63 brackets around a value.
pub(super) fn members(text: &str) -> Option<Vec<Member<'_>>> {
    let bytes = text.as_bytes();
    let mut place = Place { bytes, at: 0 };
    let mut members = Vec::with_capacity(8);
    place.blanks();
    place.take(b'{')?;
    place.blanks();
    if place.take(b'}').is_none() {
        loop {
            let name = place.plain_name(text)?;
            let start = place.at;
            place.value()?;
            members.push((Cow::Borrowed(name), &text[start..place.at]));
            place.blanks();
            match place.next()? {
                b',' => place.blanks(),
                b'}' => break,
                _ => return None,
            }
        }
    }
    place.blanks();
    (place.at == bytes.len()).then_some(members)
}

struct Place<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Place<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// A name without escapes, and what stands before its value.
    fn plain_name<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        self.take(b'"')?;
        let start = self.at;
        self.at += run(&self.bytes[start..]);
        let name = &text[start..self.at];
        self.take(b'"')?;
        self.colon()?;
        Some(name)
    }

    /// A name, and what stands before its value.
    fn name(&mut self) -> Option<()> {
        self.take(b'"')?;
        self.string()?;
        self.colon()
    }

    fn colon(&mut self) -> Option<()> {
        self.blanks();
        self.take(b':')?;
        self.blanks();
        Some(())
    }

    /// To the end of a value, from its first byte.
    fn value(&mut self) -> Option<()> {
        // The brackets around the place, the innermost in the lowest bit; the highest one is above them all.
        let mut around: u64 = OUTSIDE;
        loop {
            match self.next()? {
                b'"' => self.string()?,
                b'{' => {
                    around = inside(around, OBJECT)?;
                    self.blanks();
                    if self.peek()? != b'}' {
                        self.name()?;
                        continue;
                    }
                }
                b'[' => {
                    around = inside(around, ARRAY)?;
                    self.blanks();
                    if self.peek()? != b']' {
                        continue;
                    }
                }
                b'0' => self.fraction()?,
                b'1'..=b'9' => self.number()?,
                b'-' => match self.next()? {
                    b'0' => self.fraction()?,
                    b'1'..=b'9' => self.number()?,
                    _ => return None,
                },
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                _ => return None,
            }
            loop {
                if around == OUTSIDE {
                    return Some(());
                }
                self.blanks();
                match (self.next()?, around & 1) {
                    (b'}', OBJECT) | (b']', ARRAY) => around >>= 1,
                    (b',', OBJECT) => {
                        self.blanks();
                        self.name()?;
                        break;
                    }
                    (b',', ARRAY) => {
                        self.blanks();
                        break;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// To the end of a string, from behind its first quote. As in `serde_json`, half a surrogate pair is taken.
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += run(&self.bytes[self.at..]);
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => {}
                _ => return None,
            }
            match self.next()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                b'u' => {
                    let digits = self.bytes.get(self.at..self.at + 4)?;
                    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                    self.at += 4;
                }
                _ => return None,
            }
        }
    }

    /// To the end of a number, from behind its first digit, which is not 0.
    fn number(&mut self) -> Option<()> {
        self.digits();
        self.fraction()
    }

    /// What may stand behind the whole part of a number.
    fn fraction(&mut self) -> Option<()> {
        if self.take(b'.').is_some() {
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Some(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Option<()> {
        self.next()?.is_ascii_digit().then(|| self.digits())
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        let here = self.bytes.get(self.at..)?;
        here.starts_with(rest).then(|| self.at += rest.len())
    }
}

const OUTSIDE: u64 = 1;
const ARRAY: u64 = 0;
const OBJECT: u64 = 1;

/// The brackets around a place within one more; `None` if they are too many.
fn inside(around: u64, bracket: u64) -> Option<u64> {
    (around.leading_zeros() > 0).then_some((around << 1) | bracket)
}

/// How many bytes of a string stand before the first quote, backslash or control character.
#[inline]
pub fn run(bytes: &[u8]) -> usize {
    match word(bytes) {
        Some(short) if short < 8 => short,
        Some(_) | None => long_run(bytes),
    }
}

fn long_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk::<16>()
        && !block
            .iter()
            .fold(false, |found, byte| found | ends_run(*byte))
    {
        at += 16;
    }
    while let Some(plain) = word(&bytes[at..]) {
        at += plain;
        if plain < 8 {
            return at;
        }
    }
    let rest = &bytes[at..];
    at + rest
        .iter()
        .position(|byte| ends_run(*byte))
        .unwrap_or(rest.len())
}

/// In two comparisons: `^ 2` leaves control characters below the blank, and takes only the quote to it.
fn ends_run(byte: u8) -> bool {
    byte ^ 2 <= b' ' || byte == b'\\'
}

/// The same of the first eight bytes, all at once; `None` if there are fewer.
///
/// A byte below `n` borrows, which shows in its highest bit. The bytes behind one that does may seem to, wrongly: only the
/// first counts.
fn word(bytes: &[u8]) -> Option<usize> {
    const EACH: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let below = |word: u64, n: u8| word.wrapping_sub(EACH * u64::from(n)) & !word;
    let found = below(word ^ (EACH * 2), b' ' + 1) | below(word ^ (EACH * u64::from(b'\\')), 1);
    let found = found & (EACH << 7);
    Some(found.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::members::by_serde;
    use super::*;

    /// What is taken here, `serde_json` takes, and finds the same in it.
    fn taken(text: &str) -> bool {
        let Some(members) = members(text) else {
            return false;
        };
        assert_eq!(by_serde(text).ok(), Some(members), "{text}");
        true
    }

    #[test]
    fn the_lines_of_most_programs_are_taken() {
        for text in [
            "{}",
            " { } ",
            r#"{"url":"http://h/","headers":{"a":["b","c"]},"body":{"n":[1,-0.5e+3,0,{}],"t":true}}"#,
            r#"{"id": "job-1", "tokens": 100, "meta": [], "body": [[], [false, null, {"a": {}}]]}"#,
            r#"{"body":"a\"b\\c\/\b\f\n\r\t\u00e9\ud83d\ude00 and forty letters more, so that blocks are passed over","at":0.25}"#,
            r#"{"body":"é ü 😀","":1E9,"a":1e-5,"a":-10}"#,
        ] {
            assert!(taken(text), "{text}");
            for cut in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert!(
                    !taken(&text[..cut]) || text[cut..].trim().is_empty(),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_json_is_refused_and_so_is_what_is_rare() {
        for text in [
            "",
            "[]",
            "1",
            "{",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":.5}",
            "{\"a\":+1}",
            "{\"a\":-}",
            "{\"a\":1e}",
            "{\"a\":1e+}",
            "{\"a\":-a}",
            "{\"a\":tru}",
            "{\"a\":nulL}",
            "{\"a\":NaN}",
            "{\"a\":1,}",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":1}}",
            "{\"a\":1}x",
            "{\"a\":[1,]}",
            "{\"a\":[,1]}",
            "{\"a\":[1 2]}",
            "{\"a\":[1}}",
            "{\"a\":{\"b\":1]}",
            "{\"a\":{\"b\",\"c\"}}",
            "{\"a\":{\"b\":1,}}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"b\u{1}\"}",
            "{\"a\":\"a word and \u{1f} another\"}",
            "{\t\"a\":1}",
            "{\"\\u0061\":1}",
            "{\"a\u{1}\":1}",
        ] {
            assert!(!taken(text), "{text}");
        }
        let deep = |levels| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(taken(&deep(63)) && !taken(&deep(64)));
    }

    #[test]
    fn a_run_ends_before_the_first_byte_that_ends_it_wherever_that_stands() {
        for length in 0..120 {
            let plain = "é!#[]^~\u{7f} ".repeat(20).into_bytes();
            assert_eq!(run(&plain[..length]), length);
            for end in [b'"', b'\\', 0, 0x1f] {
                let mut bytes = plain.clone();
                bytes[length] = end;
                // What is read wrongly behind it is of no account.
                bytes[length + 1] ^= 1;
                assert_eq!(run(&bytes), length, "{end}");
            }
        }
    }

    /// Texts that are JSON, or nearly.
    fn nearly() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => "[{}\\[\\]:,\" 0-9eE.+\\-]",
            4 => prop::sample::select(vec![
                "\"a\":", "\"b\"", "\"\\n\"", "\\u00e", "true", "false", "null", "{\"a\":1}", "[1,2]", "é",
            ]).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    /// JSON of any form, with any strings.
    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[ -~]{0,80}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::hash_map("[a-z\"\\\\]{0,9}", inner, 0..6)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn nothing_is_taken_that_serde_refuses_or_reads_otherwise(
            inside in nearly(), whole in nearly(),
        ) {
            taken(&whole);
            taken(&format!("{{\"a\":{inside}}}"));
            taken(&format!("{{\"a\":\"{inside}\"}}"));
        }

        #[test]
        fn every_value_is_taken_and_no_damage_to_it_that_serde_sees(
            value in value(), at in any::<prop::sample::Index>(), byte in 0_u8..0x80,
        ) {
            let text = format!("{{\"a\":{value},\"b\":[{value}]}}");
            prop_assert!(taken(&text), "{}", text);
            let spread = text.replace("\",", "\" , ").replace('[', "[ ");
            taken(&spread);
            let mut damaged = text.into_bytes();
            let at = at.index(damaged.len());
            damaged[at] = byte;
            if let Ok(damaged) = std::str::from_utf8(&damaged) {
                taken(damaged);
            }
        }
    }
}
