//! What one answer says of its server's limits, by its headers and its body. Floor 3: rules.
//!
//! Everything is told, nothing is remembered. What is malformed says nothing; waits are rounded up,
//! allowances down, and no span is longer than 584 years.

mod asked;
mod body;
mod fields;
mod ietf;
mod moment;
mod provider;
mod span;
mod table;

pub use body::of_body;
pub use provider::Provider;

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

use crate::limit::Counts;
use crate::outcome::Head;
use fields::Fields;

/// What an answer says of its server's limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// The wait that it asks for, a floor for what is sent after it; also where it refuses nothing. Never zero.
    pub wait: Option<Duration>,
    /// Whether the same request may succeed later: `x-should-retry`, which goes before rules by status
    /// (openai-python, `_should_retry`).
    pub again: Option<bool>,
    /// The limits that it tells, in the order of its provider, those of the IETF fields last.
    pub quotas: Vec<Quota>,
    /// What is spent and does not come back by waiting (credit, a budget), in the words and letters of the server.
    pub spent: Option<Box<str>>,
    /// Whether its body says that more was sent than its limits allow.
    pub limited: bool,
}

/// One limit of a server, as far as an answer tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// As the server calls it.
    pub name: Cow<'static, str>,
    /// What it counts.
    pub counts: Counts,
    /// The most that it holds; never zero.
    pub limit: Option<u64>,
    /// In which time that much may be taken.
    pub period: Option<Duration>,
    /// What is left of it, at most the limit.
    pub remaining: Option<u64>,
    /// The time from the answer's first byte to its reset, zero if that is past.
    pub reset: Option<Duration>,
    /// What is true at its reset.
    pub means: Means,
}

/// What is true of a limit at its reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// It is full again, having refilled all the while.
    Full,
    /// Its window is over and the next one begins, full.
    Over,
}

impl Quota {
    /// The time until something of it is there again, if it is spent: its reset; of requests that refill all
    /// the while their share of that. What a job takes of units is not known here: it waits for all of them.
    fn returns(&self) -> Option<Duration> {
        let reset = self.reset?;
        match (self.means, self.counts, self.limit) {
            (Means::Full, Counts::Requests, Some(limit)) => {
                let nanos = reset.as_nanos().div_ceil(u128::from(limit));
                Some(Duration::from_nanos(
                    u64::try_from(nanos).unwrap_or(u64::MAX),
                ))
            }
            (Means::Full | Means::Over, _, _) => Some(reset),
        }
    }

    /// Whether an answer of `status` tells that nothing of it is left; in a refusal also by telling nothing
    /// but its reset, as Azure did (openai-python#937).
    fn is_spent(&self, status: StatusCode) -> bool {
        match (self.remaining, self.limit) {
            (Some(remaining), _) => remaining == 0,
            (None, None) => status == StatusCode::TOO_MANY_REQUESTS,
            (None, Some(_)) => false,
        }
    }
}

impl Word {
    /// Whether an answer of `status` that says this is refused for its server's limits: 429 (RFC 6585 §4),
    /// or 403 with such a word, as GitHub ("Rate limits for the REST API") and Google have it.
    pub fn refuses(&self, status: StatusCode) -> bool {
        let spent = || self.quotas.iter().any(|quota| quota.remaining == Some(0));
        match status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::FORBIDDEN => self.limited || self.wait.is_some() || spent(),
            _ => false,
        }
    }

    /// Whether the same request may succeed later after an answer of `status`, where this says more of that than the
    /// status.
    pub fn again_after(&self, status: StatusCode) -> Option<bool> {
        let forbidden = status == StatusCode::FORBIDDEN && self.refuses(status);
        self.again.or(forbidden.then_some(true))
    }

    /// The word of a whole answer: this one of its head, and what its body adds.
    #[must_use]
    pub fn and(mut self, body: Self) -> Self {
        self.quotas.extend(body.quotas);
        Self {
            wait: self.wait.or(body.wait),
            again: self.again.or(body.again),
            quotas: self.quotas,
            spent: self.spent.or(body.spent),
            limited: self.limited || body.limited,
        }
    }
}

/// What the headers of an answer say. `provider` is whose answer it is, by the host or the command line;
/// without one the headers tell it.
///
/// The wait is that of the first that asks for one: a header in milliseconds; `Retry-After`; a limit of the
/// provider that is spent; one of the IETF fields that is. Of several spent ones the longest.
pub fn of_head(head: &Head, provider: Option<&'static Provider>) -> Word {
    let fields = Fields::of(head);
    let provider = provider.or_else(|| Provider::betrayed_by(&fields));
    let refused = head.status == StatusCode::TOO_MANY_REQUESTS;
    let unsaid = provider.filter(|_| refused).and_then(|row| row.unsaid);
    if fields.is_empty() {
        return Word {
            wait: unsaid,
            ..Word::default()
        };
    }
    let mut quotas = provider.map_or_else(Vec::new, |provider| provider.quotas(&fields));
    let own = || {
        let spent = quotas.iter().filter(|quota| quota.is_spent(head.status));
        asked::longest(spent.filter_map(Quota::returns))
    };
    let resets = quotas
        .iter()
        .any(|quota| quota.is_spent(head.status) && quota.reset.is_some());
    let ietf = ietf::read(&fields);
    let wait = asked::wait(&fields).or_else(own).or(ietf.wait);
    quotas.extend(ietf.quotas);
    Word {
        // A reset that is now says that there is nothing to wait for.
        wait: wait.or(unsaid.filter(|_| !resets)),
        again: again(&fields),
        quotas,
        spent: None,
        limited: false,
    }
}

fn again(fields: &Fields<'_>) -> Option<bool> {
    match fields.first("x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use proptest::prelude::*;

    use super::*;
    use crate::units::Tick;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 §5.6.7.
    pub(super) const WALL: Duration = Duration::from_secs(784_111_777);

    pub(super) fn head_at(wall: SystemTime, status: u16, fields: &[(&str, &[u8])]) -> Head {
        Head {
            at: Tick::ZERO,
            wall,
            status: StatusCode::from_u16(status).unwrap(),
            headers: crate::fields::Fields::of(fields.iter().copied()),
        }
    }

    #[test]
    fn an_answer_that_says_nothing_costs_no_allocation() {
        let fields: [(&str, &[u8]); 12] = [
            ("date", b"Sun, 06 Nov 1994 08:49:37 GMT"),
            ("content-type", b"application/json"),
            ("content-length", b"1234"),
            ("connection", b"keep-alive"),
            ("access-control-allow-origin", b"*"),
            ("alt-svc", b"h3=\":443\"; ma=86400"),
            ("x-request-id", b"req_123"),
            ("x-content-type-options", b"nosniff"),
            ("server", b"cloudflare"),
            ("cf-ray", b"8f2a-FRA"),
            ("strict-transport-security", b"max-age=31536000"),
            ("vary", b"Origin"),
        ];
        let head = head_at(UNIX_EPOCH + WALL, 200, &fields);
        for provider in [None, Provider::of_host("api.openai.com")] {
            let mut word = Word::default();
            let cost = allocation_counter::measure(|| word = of_head(&head, provider));
            assert_eq!((word, cost.count_total), (Word::default(), 0));
        }
    }

    #[test]
    fn should_retry_is_true_false_or_nothing() {
        for (text, again) in [
            ("true", Some(true)),
            ("false", Some(false)),
            ("maybe", None),
        ] {
            let head = head_at(UNIX_EPOCH, 500, &[("x-should-retry", text.as_bytes())]);
            assert_eq!(of_head(&head, None).again, again, "{text}");
        }
    }

    #[test]
    fn a_body_adds_what_the_head_does_not_say() {
        let seconds = |seconds| Word {
            wait: Some(Duration::from_secs(seconds)),
            ..Word::default()
        };
        let spent = Word {
            spent: Some("no credit".into()),
            ..Word::default()
        };
        assert_eq!(seconds(2).and(seconds(9)), seconds(2));
        assert_eq!(Word::default().and(seconds(9)), seconds(9));
        assert_eq!(Word::default().and(spent.clone()), spent);
    }

    #[test]
    fn a_refusal_is_429_or_403_with_a_word_on_limits() {
        let waits = Word {
            wait: Some(Duration::from_secs(1)),
            ..Word::default()
        };
        for (status, plain, with_wait) in
            [(429, true, true), (403, false, true), (503, false, false)]
        {
            let status = StatusCode::from_u16(status).unwrap();
            let refuses = (Word::default().refuses(status), waits.refuses(status));
            assert_eq!(refuses, (plain, with_wait), "{status}");
        }
    }

    /// What a header value may hold: RFC 9110 §5.5.
    pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8];
        prop::collection::vec(byte, 0..40)
    }
}
