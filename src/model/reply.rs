//! A verdict of the modelled API as an HTTP answer. Floor 3: rules.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use serde::Serialize;

use super::{Answer, Model, Quota, RetryAfter, Verdict};
use crate::units::{Tick, nanos};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const SECOND: u64 = 1_000_000_000;

impl Model {
    /// The answer to a request for `path` that arrived at `arrived`: a JSON body, the quota in
    /// `X-RateLimit-*` (reset in seconds since the Unix epoch, rounded up), on a 429 `Retry-After`.
    pub fn reply(
        &self,
        verdict: &Verdict,
        arrived: Tick,
        method: &Method,
        path: &str,
    ) -> Response<Bytes> {
        let mut headers = HeaderMap::with_capacity(6);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(quota) = verdict.quota {
            self.tell(quota, &mut headers);
        }
        let (status, body) = match verdict.answer {
            Answer::Ok => (StatusCode::OK, self.content(verdict.number, method, path)),
            Answer::Refused(wait) => self.refuse(wait, arrived, &mut headers),
            Answer::Failed(StatusCode::TOO_MANY_REQUESTS) => {
                self.refuse(Some(Duration::ZERO), arrived, &mut headers)
            }
            Answer::Failed(status) => (status, unavailable(status)),
        };
        let mut reply = Response::new(body);
        *reply.status_mut() = status;
        *reply.headers_mut() = headers;
        reply
    }

    fn content(&self, number: u64, method: &Method, path: &str) -> Bytes {
        json(&Content {
            ok: true,
            n: number,
            method: method.as_str(),
            path,
            usage: self.spec.tokens.map(|tokens| Usage {
                total_tokens: tokens.get(),
            }),
        })
    }

    fn tell(&self, quota: Quota, headers: &mut HeaderMap) {
        headers.insert(LIMIT, quota.limit.into());
        headers.insert(REMAINING, quota.remaining.into());
        if let Some(at) = quota.reset_at {
            headers.insert(RESET, self.epoch_seconds(at).into());
        }
    }

    fn refuse(
        &self,
        wait: Option<Duration>,
        arrived: Tick,
        headers: &mut HeaderMap,
    ) -> (StatusCode, Bytes) {
        let Some(wait) = wait else {
            return refusal("costs more than the limit ever holds", None);
        };
        let form = match self.spec.retry_after {
            RetryAfter::Seconds => Some(nanos(wait).div_ceil(SECOND).max(1).into()),
            RetryAfter::Date => Some(self.date(arrived.after(wait))),
            RetryAfter::None => None,
        };
        if let Some(value) = form {
            headers.insert(RETRY_AFTER, value);
        }
        let millis = nanos(wait).div_ceil(1_000_000);
        let message = format!("the limit holds this request in {millis} ms");
        #[expect(clippy::cast_precision_loss, reason = "exact up to 285 000 years")]
        refusal(&message, Some(millis as f64 / 1e3))
    }

    /// RFC 9110 §5.6.7, rounded up to the second. A `u64` of nanoseconds ends in 2554, the form in 9999.
    fn date(&self, at: Tick) -> HeaderValue {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(self.epoch_seconds(at));
        HeaderValue::from_str(&httpdate::fmt_http_date(moment)).expect("an HTTP-date is ASCII")
    }

    /// Seconds since the Unix epoch, rounded up.
    fn epoch_seconds(&self, at: Tick) -> u64 {
        nanos(self.epoch).saturating_add(at.0).div_ceil(SECOND)
    }
}

#[derive(Serialize)]
struct Content<'a> {
    ok: bool,
    n: u64,
    method: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct Usage {
    total_tokens: u64,
}

#[derive(Serialize)]
struct Fault<'a> {
    error: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'static str,
    message: &'a str,
    /// Seconds, rounded up to whole milliseconds; null for never.
    retry_after: Option<f64>,
}

fn unavailable(status: StatusCode) -> Bytes {
    json(&Fault {
        error: "unavailable",
        message: &format!("a failure of the model: {status}"),
    })
}

fn refusal(message: &str, retry_after: Option<f64>) -> (StatusCode, Bytes) {
    let body = Refusal {
        error: "rate_limit_exceeded",
        message,
        retry_after,
    };
    (StatusCode::TOO_MANY_REQUESTS, json(&body))
}

fn json(body: &impl Serialize) -> Bytes {
    let text = serde_json::to_vec(body).expect("text and numbers are always JSON");
    text.into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::limit::{Guard, Setting};

    /// The second of two requests at once, half a second after the epoch.
    fn second(spec: &str) -> Response<Bytes> {
        let setting = Setting {
            guard: Guard::Of(Duration::ZERO),
            epoch: Duration::from_millis(500),
        };
        let mut model = Model::new(&spec.parse().unwrap(), setting, 0);
        model.arrive(Tick(0), 1);
        let verdict = model.arrive(Tick(0), 1);
        model.reply(&verdict, Tick(0), &Method::POST, "/v1/x\"y")
    }

    fn header<'a>(reply: &'a Response<Bytes>, name: &str) -> Option<&'a str> {
        reply
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap())
    }

    fn body(reply: &Response<Bytes>) -> Value {
        serde_json::from_slice(reply.body()).unwrap()
    }

    #[test]
    fn an_accepted_request_is_echoed_with_usage_and_quota() {
        let reply = second("tokens=42,limit=5/2s window");
        assert_eq!(reply.status(), StatusCode::OK);
        assert_eq!(
            body(&reply),
            json!({"ok": true, "n": 1, "method": "POST", "path": "/v1/x\"y", "usage": {"total_tokens": 42}})
        );
        let quota = ["limit", "remaining", "reset"]
            .map(|name| header(&reply, &format!("x-ratelimit-{name}")).unwrap());
        assert_eq!(quota, ["5", "3", "3"], "reset is 2.5 s, rounded up");
    }

    #[test]
    fn a_refusal_says_when_to_come_back_in_the_form_asked_for() {
        let limit = "limit=1/1350ms window";
        let reply = second(limit);
        assert_eq!(reply.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(header(&reply, "retry-after"), Some("2"));
        assert_eq!(body(&reply)["error"], "rate_limit_exceeded");
        assert_eq!(body(&reply)["retry_after"], 1.35);
        let date = second(&format!("{limit},retry-after=date"));
        assert_eq!(
            header(&date, "retry-after"),
            Some("Thu, 01 Jan 1970 00:00:02 GMT")
        );
        let silent = second(&format!("{limit},retry-after=none"));
        assert_eq!(header(&silent, "retry-after"), None);
        let long = second("limit=1/4810ms window");
        assert_eq!(body(&long)["retry_after"].to_string(), "4.81");
        let soon = second("limit=1/1ms window");
        assert_eq!(header(&soon, "retry-after"), Some("1"), "at least 1");
    }

    #[test]
    fn a_failure_has_its_status_and_no_wait() {
        let reply = second("fail=503:100%");
        assert_eq!(reply.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(body(&reply)["error"], "unavailable");
        assert_eq!(header(&reply, "retry-after"), None);
        let refused = second("fail=429:100%");
        assert_eq!(body(&refused)["error"], "rate_limit_exceeded");
        assert_eq!(header(&refused, "retry-after"), Some("1"));
    }
}
