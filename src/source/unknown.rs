//! Fields that no job has: told once each, with the field that was probably meant. Floor 4: doors.

use std::collections::HashSet;

/// From this similarity (Jaro-Winkler, 0 to 1) on a field is suggested; below it pairs have little in common.
const SIMILAR: f64 = 0.8;

/// So many names are told, so that memory stays bounded when every line brings another.
const TOLD: usize = 100;

/// The unknown fields so far.
pub(super) struct Unknown {
    seen: HashSet<String>,
    notices: Vec<String>,
}

impl Unknown {
    /// None met yet.
    pub(super) fn new() -> Self {
        Self {
            seen: HashSet::new(),
            notices: Vec::new(),
        }
    }

    /// Notes a field that is none of `known`, met at `place` (`jobs.jsonl:3:17`).
    pub(super) fn meet(&mut self, field: &str, known: &[&str], place: impl FnOnce() -> String) {
        let shown: String = field.chars().take(64).collect();
        if self.seen.len() > TOLD || self.seen.contains(&shown) {
            return;
        }
        let notice = if self.seen.len() == TOLD {
            format!("more than {TOLD} unknown fields; further ones are not told")
        } else {
            let mend = meant(&shown, known).map_or_else(
                || "leave it out, or put what is your own into \"meta\"".to_owned(),
                |name| format!("did you mean {name:?}?"),
            );
            format!("{}: unknown field {shown:?}\n  mend: {mend}", place())
        };
        self.seen.insert(shown);
        self.notices.push(notice);
    }

    /// The notices since the last call.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}

/// The known name that is probably meant.
pub(super) fn meant<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = name.to_lowercase();
    let alike = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&lower, name), name))
        .filter(|(likeness, _)| *likeness >= SIMILAR);
    let most = alike.max_by(|(a, _), (b, _)| a.total_cmp(b));
    most.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &[&str]) -> Vec<String> {
        let mut unknown = Unknown::new();
        for (nth, field) in fields.iter().enumerate() {
            unknown.meet(field, &["method", "url", "id"], || {
                format!("j:{}:9", nth + 1)
            });
        }
        unknown.take()
    }

    #[test]
    fn a_field_is_told_once_with_its_place_and_what_was_meant() {
        assert_eq!(
            told(&["metod", "metod", "URL", "colour"]),
            [
                "j:1:9: unknown field \"metod\"\n  mend: did you mean \"method\"?",
                "j:3:9: unknown field \"URL\"\n  mend: did you mean \"url\"?",
                "j:4:9: unknown field \"colour\"\n  mend: leave it out, or put what is your own into \"meta\"",
            ]
        );
    }

    #[test]
    fn endless_new_fields_are_told_up_to_a_bound() {
        let names: Vec<String> = (0..500).map(|n| format!("x{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(told(&names).len(), TOLD + 1);
    }
}
