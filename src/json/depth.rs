//! How deep a JSON text nests, before anything reads it. Floor 1: words.

use memchr::memchr2;

/// Whether more brackets are open at once than so many: a reader holds a byte and more for each. What is no JSON has a
/// depth, too.
pub fn is_deeper(text: &[u8], most: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at).filter(|_| text.len() > most) {
        match byte {
            b'"' => {
                at += string_length(&text[at..]);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
        at += 1;
    }
    false
}

/// The length of the string that JSON begins with, quotes included.
pub fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(next) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += next;
        if json[at] == b'"' {
            return at + 1;
        }
        // The byte behind it ends nothing.
        at += 2;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_that_are_open_at_once_and_stand_in_no_string() {
        for (text, depth) in [
            ("", 0),
            ("[]", 1),
            ("[[],{},[]]", 2),
            ("{\"a\":[{}]}", 3),
            ("{\"[[\\\"[\\\\\":\"[[\"}", 1),
            ("]]][[", 2),
            ("\"[[[", 0),
        ] {
            assert!(!is_deeper(text.as_bytes(), depth), "{text}");
            let is_as_deep = depth > 0 && is_deeper(text.as_bytes(), depth - 1);
            assert_eq!(is_as_deep, depth > 0, "{text}");
        }
    }
}
