//! One outcome as one line of JSON. Floor 4: doors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use memchr::memchr2;
use serde::Serialize;

use super::body::{self, compact};
use super::format::Format;
use super::text::Text;
use crate::choice::chosen;
use crate::fields::Fields;
use crate::job::{History, JobHash, Keys, without_credentials};
use crate::json::run;
use crate::limit::{Counts, KeyBy, Spec, keys_of};
use crate::outcome::{Credentials, FailureKind, Hop, Outcome, Try, UnitsSpent};
use crate::secret::is_credential_of_answer;
use crate::stream::Stream;
use crate::units::{Tick, nanos};

/// What stands in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// How an outcome is written.
    pub format: Format,
    /// The start of the run, since the Unix epoch.
    pub epoch: Duration,
    /// Bodies of answers.
    pub body: Keep,
    /// Headers of answers.
    pub headers: Keep,
    /// Whether the input file has to be named.
    pub inputs: Inputs,
    /// How units are told.
    pub units: Tell,
    /// The keys that limits are kept for, by the word after `per=`, in the order of the run.
    pub keys: Vec<String>,
}

/// Whether units are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Input and output together.
    Total,
    /// Each of them too: a limit counts one of them.
    Apart,
}

impl Form {
    /// What lines hold of `limits`, beside what they always hold.
    #[must_use]
    pub fn for_limits(self, limits: &[Spec]) -> Self {
        let apart = |limit: &Spec| match limit.counts {
            Counts::Requests | Counts::Units => false,
            Counts::Input | Counts::Output => true,
        };
        Self {
            units: if limits.iter().any(apart) {
                Tell::Apart
            } else {
                Tell::Total
            },
            keys: keys_of(limits).iter().map(KeyBy::to_string).collect(),
            ..self
        }
    }
}

/// Whether a part of the answers is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is.
    Keep,
    /// Its field is null.
    None,
}

impl Keep {
    /// Each, with its word.
    pub const WORDS: [(&'static str, Self); 2] = [("keep", Self::Keep), ("none", Self::None)];
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(&Self::WORDS, text)
    }
}

/// How many files the jobs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// One: a line number says it all.
    One,
    /// Several: each result names its `file`.
    Several,
}

impl Form {
    /// Adds the line of an outcome, with its line break; the fields in the order of the contract.
    pub(super) fn line(&self, outcome: &Outcome, out: &mut Text) {
        let reply = outcome.reply.as_ref();
        let job = outcome.line.as_ref().ok();
        let (place, id, hash) = match &outcome.line {
            Ok(job) => (&job.place, job.id.as_deref(), job.hash),
            Err(bad) => (&bad.place, bad.id.as_deref(), bad.hash),
        };
        let mut line = Object::begin(out);
        line.put("seq", outcome.seq);
        line.put("line", place.line);
        match self.inputs {
            Inputs::One => {}
            Inputs::Several => line.string("file", Some(&place.file)),
        }
        line.string("id", id);
        hexadecimal(hash, line.key("job"));
        // It takes the place of an earlier result, which failed.
        if job.is_some_and(|job| job.history == History::Failed) {
            line.put("again", true);
        }
        if let Some(job) = job.filter(|job| job.round > 0) {
            line.put("round", job.round);
        }
        line.string("status", Some(outcome.status.word()));
        line.put("http_status", outcome.tries.last().and_then(status));
        line.put("attempts", outcome.tries.len());
        line.millis("queue_ms", outcome.queue);
        match outcome.queue {
            Some(_) => waits(outcome, line.key("wait_ms")),
            None => line.null("wait_ms"),
        }
        line.millis("latency_ms", outcome.latency());
        line.millis("connect_ms", outcome.connect());
        line.millis("since_due_ms", outcome.since_due());
        match outcome.units {
            Some(spent) => self.tokens(spent, line.key("tokens")),
            None => line.null("tokens"),
        }
        if let Some(job) = job.filter(|_| !self.keys.is_empty()) {
            line.put("per", self.per(&job.keys));
        }
        self.tries(outcome, line.key("tries"));
        line.string("url", job.map(|job| job.target.shown()).as_deref());
        match (self.headers, reply) {
            (Keep::Keep, Some(reply)) => headers(&reply.head.headers, line.key("headers")),
            (Keep::Keep, None) | (Keep::None, _) => line.null("headers"),
        }
        match (self.body, reply) {
            (Keep::Keep, Some(reply)) => body::put(&reply.body, &mut line),
            (Keep::Keep, None) | (Keep::None, _) => line.null("body"),
        }
        match job.and_then(|job| job.meta()) {
            Some(meta) => one_line(meta, line.key("meta")),
            None => line.null("meta"),
        }
        line.error(error(outcome));
        line.end();
        out.push(b'\n');
    }

    fn tries(&self, outcome: &Outcome, out: &mut Text) {
        out.push(b'[');
        for (nth, made) in outcome.tries.iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            self.made(made, Object::begin(out));
        }
        out.push(b']');
    }

    fn made(&self, made: &Try, mut line: Object<'_>) {
        line.put("due_us", self.micros(made.due));
        line.put("granted_us", self.micros(made.granted));
        line.put("sent_us", made.sent.map(|at| self.micros(at)));
        line.put("first_byte_us", made.first_byte.map(|at| self.micros(at)));
        line.put("done_us", self.micros(made.done));
        line.put("http_status", status(made));
        let rounded_up = |wait| nanos(wait).div_ceil(1_000_000);
        line.put("retry_after_ms", made.retry_after.map(rounded_up));
        if let Some(spent) = made.units {
            self.tokens(spent, line.key("tokens"));
        }
        if let Some(stream) = &made.stream {
            self.stream(stream, made.sent, line.key("stream"));
        }
        let error = made.failure.as_ref().map(|failure| ErrorRow {
            kind: failure.kind.word(),
            message: Cow::Borrowed(&failure.message),
        });
        line.error(error);
        if !made.hops.is_empty() {
            self.hops(&made.hops, line.key("hops"));
        }
        line.end();
    }

    fn stream(&self, stream: &Stream, sent: Option<Tick>, out: &mut Text) {
        let pace = sent.map(|sent| stream.pace(sent)).unwrap_or_default();
        let (first, last) = stream.span.unzip();
        let mut object = Object::begin(out);
        object.put("events", stream.events);
        object.put("token_events", stream.tokens);
        object.put("first_token_us", first.map(|at| self.micros(at)));
        object.put("last_token_us", last.map(|at| self.micros(at)));
        object.millis("ttft_ms", pace.first_token);
        match stream.gaps {
            Some(gaps) => {
                let mut each = Object::begin(object.key("gap_ms"));
                each.millis("mean", pace.mean_gap);
                each.millis("p50", Some(gaps.p50));
                each.millis("p99", Some(gaps.p99));
                each.millis("max", Some(gaps.max));
                each.end();
            }
            None => object.null("gap_ms"),
        }
        object.put("output_tokens", stream.output);
        object.millis("token_ms", pace.per_token);
        let rounded = |rate: f64| (rate * 1e3).round() / 1e3;
        object.put("tokens_per_s", stream.per_second().map(rounded));
        object.end();
    }

    fn hops(&self, hops: &[Hop], out: &mut Text) {
        out.push(b'[');
        for (nth, hop) in hops.iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            let mut line = Object::begin(out);
            line.string("url", Some(&hop.url));
            line.put("http_status", hop.status.as_u16());
            line.put("granted_us", hop.granted.map(|at| self.micros(at)));
            line.put("sent_us", hop.sent.map(|at| self.micros(at)));
            line.put("first_byte_us", hop.first_byte.map(|at| self.micros(at)));
            let is_dropped = hop.credentials == Credentials::Dropped;
            line.put("credentials_dropped", is_dropped);
            if !self.keys.is_empty() {
                line.put("per", self.per(&hop.keys));
            }
            line.end();
        }
        out.push(b']');
    }

    fn tokens(&self, spent: UnitsSpent, out: &mut Text) {
        let mut object = Object::begin(out);
        object.put("reserved", spent.total.reserved);
        object.put("used", spent.total.used);
        match self.units {
            Tell::Total => {}
            Tell::Apart => {
                object.put("input", spent.input);
                object.put("output", spent.output);
            }
        }
        object.end();
    }

    fn per<'a>(&'a self, keys: &'a Keys) -> BTreeMap<&'a str, &'a str> {
        let values = self.keys.iter().zip(keys);
        values
            .map(|(key, value)| (key.as_str(), &**value))
            .collect()
    }

    /// Since the Unix epoch, rounded down.
    fn micros(&self, at: Tick) -> u64 {
        nanos(self.epoch).saturating_add(at.0) / 1_000
    }
}

/// A JSON object that is written as it goes.
pub(super) struct Object<'a> {
    out: &'a mut Text,
    /// What stands before the next name.
    before: u8,
}

impl<'a> Object<'a> {
    pub(super) fn begin(out: &'a mut Text) -> Self {
        Self { out, before: b'{' }
    }

    /// Writes a name that somebody has chosen. What is then added has to be one value.
    fn any_key(&mut self, name: &str) -> &mut Text {
        self.out.push(self.before);
        self.before = b',';
        string(name, self.out);
        self.out.push(b':');
        self.out
    }

    /// The same for a name that has nothing to escape.
    fn plain_key(&mut self, name: &[u8]) -> &mut Text {
        self.out.push(self.before);
        self.before = b',';
        self.out.push(b'"');
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// The same for one in the code.
    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    pub(super) fn key(&mut self, name: &str) -> &mut Text {
        self.begun(name, "")
    }

    /// A name in the code, and what its value begins with, in one piece: its length is known, so the copy is a few stores
    /// and room is looked for once.
    #[inline(always)]
    fn begun(&mut self, name: &str, value: &str) -> &mut Text {
        const LONGEST: usize = 40;
        let (behind, length) = (name.len() + 2, name.len() + value.len() + 4);
        let mut piece = [b'"'; LONGEST];
        piece[0] = self.before;
        piece[2..behind].copy_from_slice(name.as_bytes());
        piece[behind + 1] = b':';
        piece[behind + 2..length].copy_from_slice(value.as_bytes());
        self.out.extend_from_slice(&piece[..length]);
        self.before = b',';
        self.out
    }

    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    pub(super) fn put(&mut self, name: &str, value: impl Serialize) {
        put(value, self.key(name));
    }

    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    fn null(&mut self, name: &str) {
        self.begun(name, "null");
    }

    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    fn string(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(text) => string(text, self.key(name)),
            None => self.null(name),
        }
    }

    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    fn millis(&mut self, name: &str, span: Option<Duration>) {
        match span {
            Some(span) => millis(span, self.key(name)),
            None => self.null(name),
        }
    }

    #[expect(clippy::inline_always, reason = "see Object::begun")]
    #[inline(always)]
    fn error(&mut self, error: Option<ErrorRow<'_>>) {
        match error {
            Some(error) => self.put("error", error),
            None => self.null("error"),
        }
    }

    /// An object without members has not begun.
    pub(super) fn end(self) {
        if self.before == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

pub(super) fn put(value: impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &value).expect("memory takes all, and every key is a string");
}

/// A string. Nearly all have nothing to escape, and finding that alone is quicker.
fn string(text: &str, out: &mut Vec<u8>) {
    if run(text.as_bytes()) < text.len() {
        return put(text, out);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Milliseconds with one to three decimals, rounded down.
fn millis(span: Duration, out: &mut Vec<u8>) {
    let whole = span.as_secs().saturating_mul(1_000);
    put(whole.saturating_add(span.subsec_millis().into()), out);
    let part = span.subsec_micros() % 1_000;
    let digits = [part / 100, part / 10 % 10, part % 10].map(|digit| DIGITS[digit as usize]);
    let shown = match digits {
        [_, b'0', b'0'] => 1,
        [_, _, b'0'] => 2,
        _ => 3,
    };
    out.push(b'.');
    out.extend_from_slice(&digits[..shown]);
}

/// As a hash is shown, in quotes.
fn hexadecimal(hash: JobHash, out: &mut Vec<u8>) {
    let digits = hash.0.to_be_bytes().map(|byte| {
        let digit = |four: u8| DIGITS[usize::from(four)];
        [digit(byte >> 4), digit(byte & 15)]
    });
    out.push(b'"');
    out.extend_from_slice(digits.as_flattened());
    out.push(b'"');
}

#[derive(Serialize)]
pub(super) struct ErrorRow<'a> {
    pub(super) kind: &'static str,
    pub(super) message: Cow<'a, str>,
}

/// A name with one value has it as a string, with several as a list, where the first of them stands.
fn headers(fields: &Fields, out: &mut Text) {
    let mut object = Object::begin(out);
    let mut lists = Vec::new();
    let mut all = fields.iter();
    while let Some((name, value)) = all.next() {
        if lists.contains(&name) {
            continue;
        }
        let mut others = all.clone().filter(|(other, _)| *other == name).peekable();
        // RFC 9110 §5.1: no letter of a name has to be escaped.
        let out = object.plain_key(name);
        if others.peek().is_none() {
            string(&shown(name, value), out);
            continue;
        }
        lists.push(name);
        out.push(b'[');
        string(&shown(name, value), out);
        for (_, value) in others {
            out.push(b',');
            string(&shown(name, value), out);
        }
        out.push(b']');
    }
    object.end();
}

/// Some are credentials, and URLs may hold some.
pub(super) fn shown<'a>(name: &[u8], value: &'a [u8]) -> Cow<'a, str> {
    match name {
        name if is_credential_of_answer(name) => Cow::Borrowed("***"),
        b"location" | b"content-location" => Cow::Owned(without_credentials(&text(value))),
        _ => text(value),
    }
}

/// Bytes that are no UTF-8 become U+FFFD; nearly all values are, and finding that alone is quicker.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn status(made: &Try) -> Option<u16> {
    made.status.map(|status| status.as_u16())
}

fn waits(outcome: &Outcome, out: &mut Text) {
    let mut object = Object::begin(out);
    for (name, wait) in outcome.waits.iter() {
        millis(wait, object.any_key(name));
    }
    object.end();
}

/// As it was written, unless that breaks the line.
fn one_line(meta: &[u8], out: &mut Vec<u8>) {
    let breaks = memchr2(b'\r', b'\n', meta).is_some();
    match std::str::from_utf8(meta) {
        Ok(text) if breaks => {
            compact(text, out).expect("memory takes all");
        }
        Ok(_) | Err(_) => out.extend_from_slice(meta),
    }
}

/// Why a result is none, where it is.
pub(super) fn error(outcome: &Outcome) -> Option<ErrorRow<'_>> {
    match (&outcome.line, &outcome.error) {
        (Err(bad), _) => Some(ErrorRow {
            kind: FailureKind::from(bad.why).word(),
            message: Cow::Owned(bad.to_string()),
        }),
        (Ok(_), Some((kind, message))) => Some(ErrorRow {
            kind: kind.word(),
            message: Cow::Borrowed(message),
        }),
        (Ok(_), None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::UNIX_EPOCH;

    use bytes::Bytes;
    use http::{Method, StatusCode};

    use super::*;
    use crate::headers::Headers;
    use crate::job::{BadLine, Job, JobHash, Origin, Place, Target};
    use crate::kept::Kept;
    use crate::limit::KeyBy;
    use crate::outcome::{Failure, Head, Reached, Reply, Spent, Status, Waits};
    use crate::stream::Gaps;

    const FORM: Form = Form {
        format: Format::Shaper,
        epoch: Duration::from_secs(1_700_000_000),
        body: Keep::Keep,
        headers: Keep::Keep,
        inputs: Inputs::One,
        units: Tell::Total,
        keys: Vec::new(),
    };

    fn place() -> Place {
        Place::new("jobs.jsonl", 1)
    }

    fn meta(text: &str) -> Kept {
        Kept::of(&Headers::default(), None, Some(text))
    }

    fn job() -> Job {
        let target: Target = "http://u:canary@h.test/v1?key=canary".parse().unwrap();
        Job {
            id: Some("a1".into()),
            method: Method::POST,
            kept: meta(r#"{"row": 1}"#),
            hash: JobHash(0x9f3c),
            ..Job::get(place(), target, Origin("http://h.test:80".into()))
        }
    }

    fn reply(body: &'static [u8]) -> Reply {
        Reply {
            head: Head {
                at: Tick(2_000_000),
                wall: UNIX_EPOCH,
                status: StatusCode::OK,
                headers: Fields::of([
                    ("x-a", "1"),
                    ("set-cookie", "sid=canary"),
                    ("x-a", "Zo\u{eb}"),
                ]),
            },
            body: Bytes::from_static(body),
            used: None,
            fault: None,
        }
    }

    fn a_try(start: Tick, status: u16) -> Try {
        Try {
            due: start,
            granted: Tick(start.0 + 1_999),
            sent: Some(Tick(start.0 + 2_000)),
            connected: None,
            first_byte: Some(Tick(start.0 + 1_000_000)),
            done: Tick(start.0 + 1_234_567),
            status: Some(StatusCode::from_u16(status).unwrap()),
            retry_after: None,
            failure: None,
            units: None,
            stream: None,
            hops: Vec::new(),
        }
    }

    fn outcome(body: &'static [u8]) -> Outcome {
        let waits = [("slot", 0), ("qps", 27_600), ("backoff", 1_000_000)];
        Outcome {
            seq: 0,
            line: Ok(Arc::new(job())),
            status: Status::Ok,
            tries: vec![
                Try {
                    retry_after: Some(Duration::from_micros(999_001)),
                    ..a_try(Tick::ZERO, 429)
                },
                Try {
                    granted: Tick(5_000_000),
                    connected: Some(Tick(5_002_000)),
                    ..a_try(Tick(5_000_000), 200)
                },
            ],
            queue: Some(Duration::from_nanos(27_600_999)),
            waits: waits
                .map(|(name, micros)| (name.into(), Duration::from_micros(micros)))
                .into_iter()
                .collect(),
            units: Some(UnitsSpent {
                total: Spent {
                    reserved: 2400,
                    used: 431,
                },
                ..UnitsSpent::default()
            }),
            reply: Some(reply(body)),
            error: None,
        }
    }

    fn written(form: &Form, outcome: &Outcome) -> String {
        let mut out = Text::default();
        form.write(outcome, &mut out);
        let text = String::from_utf8(out.clone()).unwrap();
        let line = text.strip_suffix('\n').expect("a line ends with a break");
        assert!(!line.contains(['\n', '\r']), "{line}");
        assert!(!line.contains("canary"), "{line}");
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|why| panic!("{why}: {line}"));
        line.to_owned()
    }

    #[test]
    fn a_result_is_the_line_of_the_contract() {
        let expected = concat!(
            r#"{"seq":0,"line":1,"id":"a1","job":"0000000000009f3c","status":"ok","http_status":200,"#,
            r#""attempts":2,"queue_ms":27.6,"wait_ms":{"backoff":1000.0,"qps":27.6,"slot":0.0},"#,
            r#""latency_ms":1.232,"connect_ms":0.002,"since_due_ms":6.234,"#,
            r#""tokens":{"reserved":2400,"used":431},"tries":["#,
            r#"{"due_us":1700000000000000,"granted_us":1700000000000001,"sent_us":1700000000000002,"#,
            r#""first_byte_us":1700000000001000,"done_us":1700000000001234,"http_status":429,"#,
            r#""retry_after_ms":1000,"error":null},"#,
            r#"{"due_us":1700000000005000,"granted_us":1700000000005000,"sent_us":1700000000005002,"#,
            r#""first_byte_us":1700000000006000,"done_us":1700000000006234,"http_status":200,"#,
            r#""retry_after_ms":null,"error":null}],"#,
            r#""url":"http://***@h.test/v1?key=***","#,
            r#""headers":{"x-a":["1","Zo"#,
            "\u{eb}",
            r#""],"set-cookie":"***"},"body":{"q":[1,2]},"meta":{"row": 1},"error":null}"#,
        );
        let body = b"{\n  \"q\": [1,\r\n 2]\n}\n";
        assert_eq!(written(&FORM, &outcome(body)), expected);
    }

    #[test]
    fn a_header_that_comes_again_is_a_list_where_it_first_stood() {
        let fields: [(&str, &[u8]); 6] = [
            ("x-b", b"1"),
            ("x-a", b"\xff\""),
            ("X-B", b"2"),
            ("location", b"http://u:canary@h.test/"),
            ("x-c", b""),
            ("x-b", b"1"),
        ];
        let mut out = Text::default();
        headers(&Fields::of(fields), &mut out);
        let expected = concat!(
            r#"{"x-b":["1","2","1"],"x-a":""#,
            "\u{fffd}",
            r#"\"","location":"http://***@h.test/","x-c":""}"#,
        );
        assert_eq!(str::from_utf8(&out).unwrap(), expected);
    }

    #[test]
    fn each_try_tells_its_units_and_a_job_the_values_of_its_keys() {
        let mut outcome = outcome(b"x");
        let spent = |reserved, used| Spent { reserved, used };
        outcome.tries[1].units = Some(UnitsSpent {
            total: spent(2400, 431),
            input: spent(400, 31),
            output: spent(2000, 400),
        });
        let mut job = job();
        job.keys = Box::new(["a.test".into(), "tenant-7".into()]);
        outcome.line = Ok(Arc::new(job));
        let line = written(&FORM, &outcome);
        let tokens =
            r#""retry_after_ms":null,"tokens":{"reserved":2400,"used":431},"error":null}],"#;
        assert!(line.contains(tokens), "{line}");
        assert!(!line.contains("per"), "{line}");

        let mut limits: [Spec; 2] = ["9/s window", "tokens 9/s"].map(|it| it.parse().unwrap());
        limits[0].per = Some(KeyBy::Host);
        limits[1].per = Some(KeyBy::Field("key".into()));
        limits[1].counts = Counts::Output;
        let line = written(&FORM.for_limits(&limits), &outcome);
        assert!(
            line.contains(r#""per":{"field:key":"tenant-7","host":"a.test"},"tries""#),
            "{line}"
        );
        let parts = r#""used":431,"input":{"reserved":400,"used":31},"output":{"reserved":2000,"used":400}}"#;
        assert!(line.contains(parts), "{line}");
    }

    #[test]
    fn a_stream_tells_its_tokens_and_their_pace() {
        let mut outcome = outcome(b"x");
        outcome.tries[0].stream = Some(Box::default());
        outcome.tries[1].stream = Some(Box::new(Stream {
            events: 14,
            tokens: 11,
            span: Some((Tick(12_345_678), Tick(112_345_678))),
            gaps: Some(Gaps {
                p50: Duration::from_micros(9_983),
                p99: Duration::from_micros(20_223),
                max: Duration::from_nanos(20_200_999),
            }),
            output: Some(31),
        }));
        let line = written(&FORM, &outcome);
        let told = concat!(
            r#""retry_after_ms":null,"stream":{"events":14,"token_events":11,"#,
            r#""first_token_us":1700000000012345,"last_token_us":1700000000112345,"#,
            r#""ttft_ms":7.343,"gap_ms":{"mean":10.0,"p50":9.983,"p99":20.223,"max":20.2},"#,
            r#""output_tokens":31,"token_ms":3.333,"tokens_per_s":300.0},"error":null}"#,
        );
        assert!(line.contains(told), "{line}");
        let nothing = concat!(
            r#""retry_after_ms":1000,"stream":{"events":0,"token_events":0,"first_token_us":null,"#,
            r#""last_token_us":null,"ttft_ms":null,"gap_ms":null,"output_tokens":null,"#,
            r#""token_ms":null,"tokens_per_s":null},"error":null}"#,
        );
        assert!(line.contains(nothing), "{line}");
    }

    #[test]
    fn what_is_not_kept_is_null() {
        let form = Form {
            body: Keep::None,
            headers: Keep::None,
            inputs: Inputs::Several,
            ..FORM
        };
        let line = written(&form, &outcome(b"x"));
        assert!(line.contains(r#""headers":null,"body":null,"#), "{line}");
        assert!(
            line.contains(r#""line":1,"file":"jobs.jsonl","id""#),
            "{line}"
        );
    }

    #[test]
    fn an_invalid_line_has_its_place_and_how_to_mend_it() {
        let bad = BadLine {
            column: 17,
            hash: JobHash(1),
            ..BadLine::new(place(), "`url` is missing", "give every line a \"url\"")
        };
        let outcome = Outcome {
            line: Err(bad),
            status: Status::Invalid,
            tries: Vec::new(),
            queue: None,
            waits: Waits::new(),
            units: None,
            reply: None,
            ..outcome(b"")
        };
        let expected = concat!(
            r#"{"seq":0,"line":1,"id":null,"job":"0000000000000001","status":"invalid","#,
            r#""http_status":null,"attempts":0,"queue_ms":null,"wait_ms":null,"latency_ms":null,"#,
            r#""connect_ms":null,"since_due_ms":null,"tokens":null,"tries":[],"url":null,"#,
            r#""headers":null,"body":null,"meta":null,"error":{"kind":"invalid","#,
            r#""message":"jobs.jsonl:1:17: `url` is missing\n  mend: give every line a \"url\""}}"#,
        );
        assert_eq!(written(&FORM, &outcome), expected);
    }

    #[test]
    fn a_failed_try_tells_its_error() {
        let failure = Failure::new(
            FailureKind::Connect,
            Reached::NotSent,
            "no connection to h.test:80",
        );
        let failed = Try {
            sent: None,
            connected: None,
            first_byte: None,
            status: None,
            failure: Some(failure.clone()),
            ..a_try(Tick::ZERO, 200)
        };
        let outcome = Outcome {
            status: Status::Failed,
            tries: vec![failed],
            queue: None,
            reply: None,
            error: Some((failure.kind, failure.message)),
            ..outcome(b"")
        };
        let line = written(&FORM, &outcome);
        let error = r#""error":{"kind":"connect","message":"no connection to h.test:80"}"#;
        assert_eq!(line.matches(error).count(), 2, "{line}");
        assert!(line.contains(r#""latency_ms":null,"#), "{line}");
        assert!(
            line.contains(r#""sent_us":null,"first_byte_us":null,"#),
            "{line}"
        );
    }

    #[test]
    fn a_body_or_meta_with_line_breaks_stays_on_its_line() {
        let mut outcome = outcome(b"[\n1.50,\r\n\"a\\nb\"]");
        let mut job = job();
        job.kept = meta("{\n \"a b\": 1 }");
        outcome.line = Ok(Arc::new(job));
        let line = written(&FORM, &outcome);
        assert!(
            line.contains(r#""body":[1.50,"a\nb"],"meta":{"a b":1},"#),
            "{line}"
        );
    }
}
