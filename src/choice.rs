//! Choices that are written as one of a few words. Floor 1: words.

/// What a word stands for; else which may be written: `write never, idempotent or always`.
pub fn chosen<T: Copy>(words: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, own)| *own).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        match words.split_last() {
            Some((last, [])) => format!("write {last}"),
            Some((last, others)) => format!("write {} or {last}", others.join(", ")),
            None => "there is nothing to choose".to_owned(),
        }
    })
}

/// The word for one of them.
pub fn word_for<T: Copy + PartialEq>(words: &[(&'static str, T)], one: T) -> &'static str {
    let found = words.iter().find(|(_, own)| *own == one);
    found.map(|(word, _)| *word).expect("each has its word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_found_by_its_word_and_else_told_with_all_of_them() {
        let words = [("never", 0), ("idempotent", 1), ("always", 2)];
        assert_eq!(chosen(&words, "always"), Ok(2));
        assert_eq!(word_for(&words, 1), "idempotent");
        let why = chosen(&words, "yes").unwrap_err();
        assert_eq!(why, "write never, idempotent or always");
        let why = chosen(&words[..2], "yes").unwrap_err();
        assert_eq!(why, "write never or idempotent");
    }
}
