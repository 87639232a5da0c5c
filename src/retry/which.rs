//! After which ends a job is tried again. Floor 3: rules.

use std::str::FromStr;

use http::StatusCode;

use crate::outcome::FailureKind;
use crate::statuses::Statuses;

/// Answers and failures after which the same request may well succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryOn {
    answers: Statuses,
    failures: Vec<FailureKind>,
}

/// RFC 9110 §15: 408, 500, 502, 503, 504; RFC 8470 §5.2: 425; RFC 6585 §4: 429; 529 is "overloaded" at several APIs.
const ANSWERS: [u16; 8] = [408, 425, 429, 500, 502, 503, 504, 529];

/// Failures that may pass by themselves.
const FAILURES: [FailureKind; 4] = [
    FailureKind::Connect,
    FailureKind::Timeout,
    FailureKind::Reset,
    FailureKind::IncompleteBody,
];

impl Default for RetryOn {
    fn default() -> Self {
        Self {
            answers: Statuses::of(ANSWERS),
            failures: FAILURES.into(),
        }
    }
}

impl RetryOn {
    /// Whether an answer of `status` is one of those.
    pub fn answer(&self, status: StatusCode) -> bool {
        self.answers.has(status.as_u16())
    }

    /// Whether such a failure is one of those.
    pub fn failure(&self, kind: FailureKind) -> bool {
        self.failures.contains(&kind)
    }
}

impl FromStr for RetryOn {
    type Err = String;

    /// A list in place of the usual one: statuses and failures.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "write statuses and failures: 429,5xx,connect,timeout,reset,incomplete_body, or none";
        let mut on = Self {
            answers: Statuses::of([]),
            failures: Vec::new(),
        };
        if text == "none" {
            return Ok(on);
        }
        for word in text.split(',').map(str::trim) {
            match FAILURES.into_iter().find(|kind| kind.word() == word) {
                Some(kind) => on.failures.push(kind),
                None => on.answers = on.answers.and(Statuses::read(word).ok_or(FORM)?),
            }
        }
        Ok(on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(on: &RetryOn, status: u16) -> bool {
        on.answer(StatusCode::from_u16(status).unwrap())
    }

    #[test]
    fn a_list_takes_the_place_of_the_usual_one() {
        let on: RetryOn = "409, 5xx,reset".parse().unwrap();
        assert!(after(&on, 409) && after(&on, 501) && on.failure(FailureKind::Reset));
        assert!(!after(&on, 429) && !on.failure(FailureKind::Timeout));
        let none: RetryOn = "none".parse().unwrap();
        assert!(!after(&none, 503) && !none.failure(FailureKind::Connect));
    }

    #[test]
    fn what_cannot_pass_and_nonsense_are_told_the_words() {
        for text in ["", "dns", "tls", "429,", "timeouts", "600", "5xx reset"] {
            let why = text.parse::<RetryOn>().unwrap_err();
            assert!(why.contains("incomplete_body"), "{text}: {why}");
        }
    }
}
