//! Statuses of answers as people name them. Floor 1: words.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Statuses of answers: `429`, `5xx`, `401,403`, `200-299`.
///
/// ```
/// use shaper::statuses::Statuses;
///
/// let refused = Statuses::read("429,5xx").expect("these are statuses");
/// assert!(refused.has(503) && !refused.has(404));
/// assert!(Statuses::read("99").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses(Vec<Class>);

/// Statuses that are named together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    One(u16),
    /// All that begin with this digit.
    Hundred(u16),
    /// Both ends included.
    Range(u16, u16),
}

impl Statuses {
    /// Those of successes. RFC 9110 §15.3.
    pub fn success() -> Self {
        Self(vec![Class::Hundred(2)])
    }

    /// These alone.
    pub fn of(statuses: impl IntoIterator<Item = u16>) -> Self {
        Self(statuses.into_iter().map(Class::One).collect())
    }

    /// The statuses that are written like this; `None` if these are none.
    pub fn read(text: &str) -> Option<Self> {
        text.split(',')
            .map(Class::read)
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Whether this is one of them.
    pub fn has(&self, status: u16) -> bool {
        self.0.iter().any(|class| match *class {
            Class::One(own) => own == status,
            Class::Hundred(first) => first == status / 100,
            Class::Range(first, last) => (first..=last).contains(&status),
        })
    }

    /// How many of these answers.
    pub fn among(&self, answers: &BTreeMap<u16, u64>) -> u64 {
        let own = answers.iter().filter(|(status, _)| self.has(**status));
        own.map(|(_, count)| count).sum()
    }

    /// Those of both.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

impl Class {
    fn read(word: &str) -> Option<Self> {
        let word = word.trim();
        if let Some((first, last)) = word.split_once('-') {
            let (first, last) = (one(first)?, one(last)?);
            return (first <= last).then_some(Self::Range(first, last));
        }
        match word.split_at_checked(1)? {
            (digit @ ("1" | "2" | "3" | "4" | "5"), rest) if rest.eq_ignore_ascii_case("xx") => {
                Some(Self::Hundred(digit.parse().ok()?))
            }
            _ => one(word).map(Self::One),
        }
    }
}

/// A status from 100 to 599.
fn one(word: &str) -> Option<u16> {
    let plain = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let status = plain.then(|| word.parse().ok())??;
    (100..600).contains(&status).then_some(status)
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| "write statuses: 200, 2xx, 200-299, or 200,404".to_owned())
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, class) in self.0.iter().enumerate() {
            if nth > 0 {
                out.write_str(" or ")?;
            }
            match class {
                Class::One(status) => write!(out, "{status}")?,
                Class::Hundred(first) => write!(out, "{first}xx")?,
                Class::Range(first, last) => write!(out, "{first} to {last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_named_alone_by_the_hundred_and_from_one_to_another() {
        for (text, own, others) in [
            ("429", &[429][..], &[428, 430][..]),
            ("5xx", &[500, 599], &[499]),
            ("2XX, 404", &[200, 299, 404], &[300, 403]),
            ("200-299", &[200, 250, 299], &[199, 300]),
            ("204-204", &[204], &[203, 205]),
        ] {
            let statuses: Statuses = text.parse().unwrap();
            assert!(own.iter().all(|status| statuses.has(*status)), "{text}");
            assert!(!others.iter().any(|status| statuses.has(*status)), "{text}");
        }
    }

    #[test]
    fn what_is_no_status_is_told_the_forms() {
        for text in [
            "", "20", "2000", "6xx", "0xx", "xx", "2x", "299-200", "200-", "-299", "099", "600",
            "+20", "200,", "ok",
        ] {
            let why = text.parse::<Statuses>().unwrap_err();
            assert!(why.contains("200-299"), "{text}: {why}");
        }
    }
}
