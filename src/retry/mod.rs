//! Whether a job is tried again. Floor 3: rules.

mod budget;
mod fault;
mod rest;
mod which;

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderName, Method, StatusCode};

use crate::choice::chosen;
use crate::job::{Job, Repeat};
use crate::outcome::{Failure, Reached, Reply, Status};
use crate::statuses::Statuses;

pub use budget::Budget;
pub use fault::FaultAt;
pub use rest::{Backoff, Jitter};
pub use which::RetryOn;

/// The rules for trying again. One for the whole run; it remembers nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Answers that are successes.
    pub ok: Statuses,
    /// After which ends a job is tried again.
    pub on: RetryOn,
    /// Tries in all, the first one included.
    pub max_attempts: NonZeroU32,
    /// The longest wait that a server may ask for; `None`: any.
    pub max_retry_after: Option<Duration>,
    /// The longest that a job may take, from its first send on; `None`: any time.
    pub max_elapsed: Option<Duration>,
    /// Between which bounds rests grow.
    pub backoff: Backoff,
    /// How rests are spread.
    pub jitter: Jitter,
    /// What may be sent twice.
    pub retry_unsafe: RetryUnsafe,
    /// The same seed gives the same rests.
    pub seed: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ok: Statuses::success(),
            on: RetryOn::default(),
            max_attempts: NonZeroU32::new(5).expect("5 is not zero"),
            max_retry_after: None,
            max_elapsed: None,
            backoff: Backoff::default(),
            jitter: Jitter::Full,
            retry_unsafe: RetryUnsafe::Idempotent,
            seed: 0,
        }
    }
}

/// What a server says in an answer about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Said {
    /// Not before so long.
    pub wait: Option<Duration>,
    /// Whether it helps at all, if that is said.
    pub again: Option<bool>,
    /// It refuses for its limits: more than it wants was sent.
    pub refused: bool,
}

/// What has been done for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    /// Its position in the input.
    pub seq: u64,
    /// Its tries so far, from 1.
    pub tries: u32,
    /// The rest before the last of them, zero before the first.
    pub last_rest: Duration,
    /// Since its first send; zero if it was never sent.
    pub elapsed: Duration,
}

/// What comes after a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The job has its result.
    Done(Final),
    /// Another try, not before this rest is over.
    Again(Duration),
}

/// Why a try was the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Final {
    /// Success.
    Ok,
    /// Trying again would change nothing.
    Hopeless,
    /// As many tries as are allowed.
    LastTry,
    /// The server asks for a longer wait than is allowed.
    TooLong,
    /// The job has no time left for another.
    OutOfTime,
    /// The server may have acted on it already, and `--retry-unsafe` forbids to send it twice.
    Unsafe,
}

impl Final {
    /// The verdict on the job.
    pub fn status(self) -> Status {
        match self {
            Self::Ok => Status::Ok,
            Self::Hopeless | Self::LastTry | Self::TooLong | Self::OutOfTime | Self::Unsafe => {
                Status::Failed
            }
        }
    }
}

/// RFC 9110 §9.2.2.
const IDEMPOTENT: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::PUT,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];

/// By its value a server knows a request that it has had.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl Policy {
    /// One try for each job.
    pub fn once() -> Self {
        Self {
            max_attempts: NonZeroU32::MIN,
            ..Self::default()
        }
    }

    /// What comes after a try of this job; `said` is what the server says: its wait is a floor, to which jitter is only
    /// added.
    pub fn after(
        &self,
        job: &Job,
        made: Made,
        end: &Result<Reply, Failure>,
        said: Said,
    ) -> Verdict {
        let maybe_done = match end {
            Ok(reply) if self.ok.has(reply.head.status.as_u16()) => match reply.fault {
                None => return Verdict::Done(Final::Ok),
                Some(_) => false,
            },
            Ok(reply) if !self.repeats(reply.head.status, said.again) => {
                return Verdict::Done(Final::Hopeless);
            }
            Err(failure) if !self.on.failure(failure.kind) => {
                return Verdict::Done(Final::Hopeless);
            }
            Ok(_) => false,
            Err(failure) => failure.reached != Reached::NotSent,
        };
        let asked = said.wait;
        if self.is_too_long(asked) {
            return Verdict::Done(Final::TooLong);
        }
        if made.tries >= self.max_attempts.get() {
            Verdict::Done(Final::LastTry)
        } else if maybe_done && !self.retry_unsafe.allows(job) {
            Verdict::Done(Final::Unsafe)
        } else {
            let rest = self.rest(made.seq, made.tries, made.last_rest, asked);
            match self.max_elapsed {
                Some(most) if made.elapsed.saturating_add(rest) >= most => {
                    Verdict::Done(Final::OutOfTime)
                }
                Some(_) | None => Verdict::Again(rest),
            }
        }
    }

    /// Whether the same request may well succeed after an answer of `status`, unless that is a success; the word of the
    /// server goes before its status.
    pub fn repeats(&self, status: StatusCode, again: Option<bool>) -> bool {
        let own = self.ok.has(status.as_u16());
        !own && again.unwrap_or_else(|| self.on.answer(status))
    }

    /// Whether a wait that such an answer asks for holds for its key, be the job itself sent again or not.
    pub fn heeds(&self, status: StatusCode, again: Option<bool>, refused: bool) -> bool {
        let own = self.ok.has(status.as_u16());
        !own && (refused || status.is_server_error() || self.repeats(status, again))
    }

    /// Whether a server asks for a longer wait than is waited for.
    pub fn is_too_long(&self, asked: Option<Duration>) -> bool {
        self.max_retry_after.is_some() && asked > self.max_retry_after
    }

    /// Why an answer with the status of a success is none, by its body; `None` if it is one, or has another status.
    pub fn fault<'a>(&self, reply: &'a Reply) -> Option<&'a str> {
        let fault = reply.fault.as_deref()?;
        self.ok.has(reply.head.status.as_u16()).then_some(fault)
    }
}

/// Which requests may be sent again after a try that the server may have acted on: it was sent, and
/// no whole answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryUnsafe {
    /// None.
    Never,
    /// Those of an idempotent method (RFC 9110 §9.2.2), with an `Idempotency-Key` or of a batch.
    Idempotent,
    /// All.
    Always,
}

impl RetryUnsafe {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("never", Self::Never),
        ("idempotent", Self::Idempotent),
        ("always", Self::Always),
    ];

    /// Whether this request is one of those.
    pub fn allows(self, job: &Job) -> bool {
        match self {
            Self::Never => false,
            Self::Idempotent => {
                let is_idempotent =
                    IDEMPOTENT.contains(&job.method) || job.repeat == Repeat::Always;
                is_idempotent || job.headers().has(&IDEMPOTENCY_KEY)
            }
            Self::Always => true,
        }
    }
}

impl FromStr for RetryUnsafe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use bytes::Bytes;
    use http::HeaderValue;

    use super::*;
    use crate::fields::Fields;
    use crate::headers::Headers;
    use crate::job::{Origin, Place, Target};
    use crate::kept::Kept;
    use crate::outcome::{FailureKind, Head};
    use crate::units::Tick;

    fn job(method: Method) -> Job {
        let target: Target = "http://127.0.0.1/".parse().unwrap();
        let origin = Origin("http://127.0.0.1:80".into());
        Job {
            method,
            ..Job::get(Place::new("-", 1), target, origin)
        }
    }

    fn answer(status: u16) -> Reply {
        Reply {
            head: Head {
                at: Tick::ZERO,
                wall: UNIX_EPOCH,
                status: StatusCode::from_u16(status).unwrap(),
                headers: Fields::default(),
            },
            body: Bytes::new(),
            used: None,
            fault: None,
        }
    }

    fn failure(kind: FailureKind, reached: Reached) -> Result<Reply, Failure> {
        Err(Failure::new(kind, reached, ""))
    }

    fn nth(tries: u32) -> Made {
        Made {
            tries,
            ..Made::default()
        }
    }

    fn first(policy: &Policy, method: Method, end: &Result<Reply, Failure>) -> Verdict {
        policy.after(&job(method), nth(1), end, Said::default())
    }

    #[test]
    fn a_success_is_done_and_final_answers_are_not_retried() {
        let policy = Policy::default();
        for status in [200, 201, 204, 299] {
            let verdict = first(&policy, Method::POST, &Ok(answer(status)));
            assert_eq!(verdict, Verdict::Done(Final::Ok), "{status}");
        }
        for status in [300, 301, 304, 400, 401, 403, 404, 410, 422, 501, 505] {
            let verdict = first(&policy, Method::GET, &Ok(answer(status)));
            assert_eq!(verdict, Verdict::Done(Final::Hopeless), "{status}");
        }
    }

    #[test]
    fn passing_answers_are_retried_for_every_method() {
        let policy = Policy {
            retry_unsafe: RetryUnsafe::Never,
            ..Policy::default()
        };
        for status in [408, 425, 429, 500, 502, 503, 504, 529] {
            for method in [Method::GET, Method::POST, Method::PATCH] {
                let verdict = first(&policy, method, &Ok(answer(status)));
                assert!(
                    matches!(verdict, Verdict::Again(_)),
                    "{status}: {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_a_success_is_neither_repeated_nor_failed() {
        let policy = Policy {
            ok: "200,404,503".parse().unwrap(),
            ..Policy::default()
        };
        for (status, verdict) in [(404, Final::Ok), (503, Final::Ok), (201, Final::Hopeless)] {
            let said = first(&policy, Method::GET, &Ok(answer(status)));
            assert_eq!(said, Verdict::Done(verdict), "{status}");
        }
    }

    #[test]
    fn the_number_of_tries_is_exact() {
        for most in [1, 3, 5] {
            let policy = Policy {
                max_attempts: NonZeroU32::new(most).unwrap(),
                ..Policy::default()
            };
            let end = Ok(answer(500));
            let made = (1..10).find(|&tries| {
                let verdict = policy.after(&job(Method::GET), nth(tries), &end, Said::default());
                verdict == Verdict::Done(Final::LastTry)
            });
            assert_eq!(made, Some(most));
        }
    }

    #[test]
    fn a_job_whose_time_would_be_over_before_the_next_try_is_final() {
        let policy = Policy {
            max_elapsed: Some(Duration::from_secs(5)),
            backoff: "1s..1s".parse().unwrap(),
            jitter: Jitter::None,
            ..Policy::default()
        };
        for (millis, asked, again) in [
            (3_999, None, true),
            (4_000, None, false),
            (0, Some(5), false),
            (0, Some(4), true),
        ] {
            let made = Made {
                elapsed: Duration::from_millis(millis),
                ..nth(1)
            };
            let said = Said {
                wait: asked.map(Duration::from_secs),
                ..Said::default()
            };
            let verdict = policy.after(&job(Method::GET), made, &Ok(answer(503)), said);
            let expected = Verdict::Done(Final::OutOfTime);
            assert_eq!(verdict != expected, again, "{millis} ms: {verdict:?}");
        }
    }

    #[test]
    fn failures_that_cannot_pass_are_final() {
        let policy = Policy {
            retry_unsafe: RetryUnsafe::Always,
            ..Policy::default()
        };
        for (kind, reached) in [
            (FailureKind::Dns, Reached::NotSent),
            (FailureKind::Tls, Reached::NotSent),
            (FailureKind::BodyTooLarge, Reached::Answered),
        ] {
            let verdict = first(&policy, Method::GET, &failure(kind, reached));
            assert_eq!(verdict, Verdict::Done(Final::Hopeless), "{kind}");
        }
    }

    #[test]
    fn a_request_that_never_left_is_always_tried_again() {
        let policy = Policy {
            retry_unsafe: RetryUnsafe::Never,
            ..Policy::default()
        };
        for kind in [FailureKind::Connect, FailureKind::Timeout] {
            let verdict = first(&policy, Method::POST, &failure(kind, Reached::NotSent));
            assert!(matches!(verdict, Verdict::Again(_)), "{kind}: {verdict:?}");
        }
    }

    #[test]
    fn a_request_that_may_have_been_done_is_sent_twice_only_if_that_is_harmless() {
        let ends = [
            failure(FailureKind::Timeout, Reached::Sent),
            failure(FailureKind::Reset, Reached::Sent),
            failure(FailureKind::IncompleteBody, Reached::Answered),
        ];
        let mut keyed = job(Method::POST);
        let mut headers = Headers::default();
        headers.add(&IDEMPOTENCY_KEY, &HeaderValue::from_static("k-1"));
        keyed.kept = Kept::of(&headers, None, None);
        let jobs = [
            job(Method::GET),
            job(Method::DELETE),
            keyed,
            job(Method::POST),
        ];
        for (rule, again) in [
            (RetryUnsafe::Never, [false; 4]),
            (RetryUnsafe::Idempotent, [true, true, true, false]),
            (RetryUnsafe::Always, [true; 4]),
        ] {
            let policy = Policy {
                retry_unsafe: rule,
                ..Policy::default()
            };
            for (job, again) in jobs.iter().zip(again) {
                for end in &ends {
                    let verdict = policy.after(job, nth(1), end, Said::default());
                    let retried = matches!(verdict, Verdict::Again(_));
                    assert_eq!(retried, again, "{rule:?} {} {end:?}", job.method);
                    assert!(retried || verdict == Verdict::Done(Final::Unsafe));
                }
            }
        }
    }

    #[test]
    fn what_may_be_sent_twice_is_read_and_nonsense_is_told_the_forms() {
        assert_eq!("always".parse(), Ok(RetryUnsafe::Always));
        let why = "yes".parse::<RetryUnsafe>().unwrap_err();
        assert!(why.contains("idempotent"), "{why}");
    }
}
