//! The modelled API as it is written: `latency=50ms,limit=10/1s window,fail=503:1%`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::StatusCode;

use crate::limit;
use crate::units::{Cost, Share, exact_span, parse_count, parse_span};

/// How a server behaves: how long it takes, what it refuses, how often it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpec {
    /// From the start of the work on a request to its answer.
    pub latency: Latency,
    /// All hold; requests that meet one of them too early are refused.
    pub limits: Vec<limit::Spec>,
    /// Requests worked on at once; more wait inside, in order. `None`: no bound.
    pub slots: Option<Cost>,
    /// Their shares add up to at most 100 %.
    pub faults: Vec<Fault>,
    /// The usage that every `ok` reply reports. Over HTTP also what a request costs of limits that
    /// count units; 1 without it, as a server cannot know what the job reserved.
    pub tokens: Option<Cost>,
    /// How a refusal says when to come back.
    pub retry_after: RetryAfter,
}

/// The form of a whole [`ModelSpec`], for messages.
pub const SPEC_FORM: &str = "a comma list of latency=50ms|exp:50ms|p50:80ms/p99:400ms, limit=SPEC, \
     slots=N, fail=503:1%, tokens=N, retry-after=seconds|date|none";

impl Default for ModelSpec {
    /// 100 ms, no limit.
    fn default() -> Self {
        Self {
            latency: Latency::Fixed(Duration::from_millis(100)),
            limits: Vec::new(),
            slots: None,
            faults: Vec::new(),
            tokens: None,
            retry_after: RetryAfter::Seconds,
        }
    }
}

impl ModelSpec {
    /// The default, changed by these words; only `limit` and `fail` may come more than once.
    ///
    /// The error names the word, its value and the accepted form.
    pub fn from_words<'a>(
        words: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, String> {
        let mut spec = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for (word, value) in words {
            if seen.contains(&word) && !["limit", "fail"].contains(&word) {
                return Err(format!("`{word}` is given twice"));
            }
            seen.push(word);
            spec.set(word, value)
                .map_err(|why| format!("`{word}={value}`: {why}"))?;
        }
        Ok(spec)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<(), String> {
        match word {
            "latency" => self.latency = value.parse()?,
            "limit" => self.limits.push(limit(value)?),
            "slots" => self.slots = Cost::new(parse_count(value)?),
            "fail" => {
                self.faults.push(value.parse()?);
                let total: u64 = self.faults.iter().map(|fault| fault.share.0).sum();
                if total > Share::ALL {
                    return Err("the shares add up to more than 100%".to_owned());
                }
            }
            "tokens" => self.tokens = Cost::new(parse_count(value)?),
            "retry-after" => self.retry_after = value.parse()?,
            _ => return Err(format!("not known; write {SPEC_FORM}")),
        }
        Ok(())
    }
}

impl FromStr for ModelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let words = text.split(',').map(|word| {
            let (word, value) = word
                .split_once('=')
                .ok_or_else(|| format!("`{}` has no value; write {SPEC_FORM}", word.trim()))?;
            Ok((word.trim(), value.trim()))
        });
        Self::from_words(words.collect::<Result<Vec<_>, String>>()?)
    }
}

impl fmt::Display for ModelSpec {
    /// As it can be read again; what is as usual is left out, but for the latency.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "latency={}", self.latency)?;
        for limit in &self.limits {
            write!(out, ",limit={limit}")?;
        }
        if let Some(slots) = self.slots {
            write!(out, ",slots={}", slots.get())?;
        }
        for Fault { status, share } in &self.faults {
            write!(out, ",fail={}:{share}", status.as_u16())?;
        }
        if let Some(tokens) = self.tokens {
            write!(out, ",tokens={}", tokens.get())?;
        }
        match self.retry_after {
            RetryAfter::Seconds => Ok(()),
            RetryAfter::Date => out.write_str(",retry-after=date"),
            RetryAfter::None => out.write_str(",retry-after=none"),
        }
    }
}

impl Latency {
    /// Half of the answers take no longer.
    pub fn median(self) -> Duration {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => mean.mul_f64(std::f64::consts::LN_2),
            Self::LogNormal { p50, .. } => p50,
        }
    }
}

/// How long the work on a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Always the same.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// Log-normal through these two quantiles.
    LogNormal {
        /// Half of the answers are faster.
        p50: Duration,
        /// 99 of 100 answers are faster; not below `p50`.
        p99: Duration,
    },
}

impl fmt::Display for Latency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(span) => out.write_str(&exact_span(*span)),
            Self::Exponential(mean) => write!(out, "exp:{}", exact_span(*mean)),
            Self::LogNormal { p50, p99 } => {
                write!(out, "p50:{}/p99:{}", exact_span(*p50), exact_span(*p99))
            }
        }
    }
}

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str = "write 50ms (fixed), exp:50ms (exponential, its mean) or \
             p50:80ms/p99:400ms (log-normal), times above zero";
        let span = |text: &str| parse_span(text).map_err(|why| format!("{why}; {FORMS}"));
        if let Some(mean) = text.strip_prefix("exp:") {
            return Ok(Self::Exponential(span(mean)?));
        }
        let Some(quantiles) = text.strip_prefix("p50:") else {
            return Ok(Self::Fixed(span(text)?));
        };
        let (p50, p99) = quantiles.split_once("/p99:").ok_or(FORMS)?;
        let (p50, p99) = (span(p50)?, span(p99)?);
        if p99 < p50 {
            return Err(format!("p99 is below p50; {FORMS}"));
        }
        Ok(Self::LogNormal { p50, p99 })
    }
}

/// A limit of a server: it counts arrivals, all together.
fn limit(text: &str) -> Result<limit::Spec, String> {
    let spec: limit::Spec = text.parse()?;
    if spec.per.is_some() || spec.guard.is_some() || spec.leaves == limit::Leaves::Reply {
        return Err("a server's limit has no per, guard or at=reply".to_owned());
    }
    Ok(spec)
}

/// A share of the requests that the limits let through is answered with this status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// 400 to 599. 429 is a refusal by a rule that no limit here models; its wait is told as zero.
    pub status: StatusCode,
    /// How many.
    pub share: Share,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write STATUS:N%, status 400 to 599, up to four decimals, above 0% and at \
             most 100%: 503:1%, 500:0.25%";
        let (status, share) = text.split_once(':').ok_or(FORM)?;
        let status = StatusCode::from_bytes(status.as_bytes()).map_err(|_| FORM)?;
        if !(status.is_client_error() || status.is_server_error()) {
            return Err(FORM.to_owned());
        }
        let share = share.parse().map_err(|_| FORM)?;
        Ok(Self { status, share })
    }
}

/// The form of `Retry-After` on a refusal: RFC 9110 §10.2.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAfter {
    /// Whole seconds, rounded up, at least 1.
    Seconds,
    /// An HTTP-date, rounded up to the second.
    Date,
    /// No such header.
    None,
}

impl FromStr for RetryAfter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "seconds" => Ok(Self::Seconds),
            "date" => Ok(Self::Date),
            "none" => Ok(Self::None),
            _ => Err("write seconds, date or none".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_spec_is_read() {
        let spec: ModelSpec = "latency=p50:80ms/p99:400ms, limit=10/1s window,\
             limit=tokens 1000/m burst=50,slots=8,fail=503:1%,fail=500:0.25%,tokens=1k,retry-after=date"
            .parse()
            .unwrap();
        let millis = Duration::from_millis;
        let latency = Latency::LogNormal {
            p50: millis(80),
            p99: millis(400),
        };
        let shares: Vec<_> = spec
            .faults
            .iter()
            .map(|fault| (fault.status.as_u16(), fault.share.0))
            .collect();
        assert_eq!(spec.latency, latency);
        assert_eq!(spec.limits.len(), 2);
        assert_eq!(spec.slots, Cost::new(8));
        assert_eq!(shares, [(503, 10_000), (500, 2_500)]);
        assert_eq!(spec.tokens, Cost::new(1000));
        assert_eq!(spec.retry_after, RetryAfter::Date);
    }

    #[test]
    fn a_spec_that_is_shown_is_read_back_as_it_was() {
        for text in [
            "",
            "latency=exp:1500us,slots=8,retry-after=none",
            "latency=p50:80ms/p99:400ms,limit=10/1s window,limit=tokens 1000/m burst=50,\
             fail=503:1%,fail=500:0.2501%,tokens=1k,retry-after=date",
        ] {
            let spec: ModelSpec = text.parse().unwrap();
            assert_eq!(spec.to_string().parse(), Ok(spec), "{text}");
        }
        assert_eq!(ModelSpec::default().to_string(), "latency=100ms");
    }

    #[test]
    fn an_empty_spec_is_a_tenth_of_a_second_and_no_limit() {
        assert_eq!(" ".parse(), Ok(ModelSpec::default()));
        assert_eq!("latency=100ms".parse(), Ok(ModelSpec::default()));
    }

    #[test]
    fn nonsense_is_refused_with_the_accepted_form() {
        for (text, form) in [
            ("speed=9", "latency=50ms|exp:50ms"),
            ("latency", "latency=50ms|exp:50ms"),
            ("latency=0s", "exp:50ms"),
            ("latency=exp:", "exp:50ms"),
            ("latency=p50:80ms", "p50:80ms/p99:400ms"),
            ("latency=p50:80ms/p99:40ms", "p50:80ms/p99:400ms"),
            ("latency=-1ms", "write a time"),
            ("latency=1s,latency=2s", "twice"),
            ("limit=ten", "N/DUR"),
            ("limit=10/s window at=reply", "at=reply"),
            ("limit=10/s sliding", "window-counter|fixed"),
            ("slots=0", "whole number from 1"),
            ("tokens=1.5", "whole number from 1"),
            ("fail=503", "STATUS:N%"),
            ("fail=503:0%", "STATUS:N%"),
            ("fail=503:101%", "STATUS:N%"),
            ("fail=503:0.00001%", "STATUS:N%"),
            ("fail=503:1", "STATUS:N%"),
            ("fail=200:1%", "STATUS:N%"),
            ("fail=503:60%,fail=500:50%", "100%"),
            ("retry-after=1", "seconds, date or none"),
            ("latency=1s,", "has no value"),
        ] {
            let why = text.parse::<ModelSpec>().expect_err(text);
            assert!(why.contains(form), "{text}: {why}");
        }
    }
}
