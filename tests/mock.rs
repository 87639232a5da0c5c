//! The modelled API as a client sees it, over real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "tests may unwrap, and so may what they are made of"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use shaper::mock::{ArrivalLog, Mock, serve};

fn mock(spec: &str, arrivals: Option<ArrivalLog>) -> Mock {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    serve(listen, spec.parse().unwrap(), 1, arrivals).unwrap()
}

/// One connection that is kept.
struct Client(BufReader<TcpStream>);

struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> u64 {
        self.header(name).expect(name).parse().expect(name)
    }
}

impl Client {
    fn connect(mock: &Mock) -> Self {
        let stream = TcpStream::connect(mock.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Self(BufReader::new(stream))
    }

    fn write(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn ask(&mut self, request: &str) -> Reply {
        self.write(request);
        let mut line = || {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let status = line().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = std::iter::repeat_with(&mut line)
            .take_while(|line| !line.is_empty())
            .map(|line| {
                let (name, value) = line.split_once(": ").unwrap();
                (name.to_ascii_lowercase(), value.to_owned())
            })
            .collect();
        let mut reply = Reply {
            status,
            headers,
            body: Value::Null,
        };
        let mut body = vec![0; usize::try_from(reply.number("content-length")).unwrap()];
        self.0.read_exact(&mut body).unwrap();
        reply.body = serde_json::from_slice(&body).unwrap();
        reply
    }
}

const GET: &str = "GET /a?key=canary HTTP/1.1\r\nhost: h\r\n\r\n";
const POST: &str = "POST /v1 HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n\
    3\r\nabc\r\n0\r\n\r\n";

fn epoch_seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// The lines of a file, once there are so many of them.
fn lines(path: &Path, wanted: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap();
        if text.lines().count() >= wanted || began.elapsed() > Duration::from_secs(5) {
            let parse = |line| serde_json::from_str(line).unwrap();
            return text.lines().map(parse).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_kept_connection_carries_one_answer_after_another_with_the_quota() {
    let mock = mock("latency=1ms,limit=2/m window,tokens=7", None);
    let mut client = Client::connect(&mock);

    let first = client.ask(POST);
    assert_eq!(first.status, 200);
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.body["ok"], true);
    assert_eq!(first.body["n"], 0);
    assert_eq!(first.body["method"], "POST");
    assert_eq!(first.body["path"], "/v1");
    assert_eq!(first.body["usage"]["total_tokens"], 7);
    assert_eq!(first.number("x-ratelimit-limit"), 2);
    assert_eq!(first.number("x-ratelimit-remaining"), 1);
    let reset = first.number("x-ratelimit-reset");
    let now = epoch_seconds();
    assert!((now + 58..=now + 61).contains(&reset), "{reset} at {now}");

    assert_eq!(client.ask(GET).number("x-ratelimit-remaining"), 0);

    let refused = client.ask(GET);
    assert_eq!(refused.status, 429);
    let told = refused.number("retry-after");
    assert!((59..=60).contains(&told), "{told} s");
    assert_eq!(refused.body["error"], "rate_limit_exceeded");
    let exact = refused.body["retry_after"].as_f64().unwrap();
    assert!(exact > 58.0 && exact <= 60.0, "{exact} s");
    assert_eq!(refused.number("x-ratelimit-remaining"), 0);
}

#[test]
fn a_short_wait_is_told_as_one_second() {
    let mock = mock("latency=1ms,limit=1/500ms window", None);
    let mut client = Client::connect(&mock);
    client.ask(GET);
    let refused = client.ask(GET);
    assert_eq!((refused.status, refused.number("retry-after")), (429, 1));
}

#[test]
fn no_answer_comes_before_its_latency() {
    let mock = mock("latency=30ms", None);
    let mut client = Client::connect(&mock);
    for _ in 0..5 {
        let began = Instant::now();
        client.ask(GET);
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(30), "{took:?}");
    }
}

#[test]
fn every_arrival_has_its_line_answered_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arrivals.jsonl");
    let log = ArrivalLog::create(&path).unwrap();
    let mock = mock("latency=20ms,limit=1/m window", Some(log));
    let mut client = Client::connect(&mock);
    client.ask(GET);
    client.ask(POST);
    assert_eq!(lines(&path, 2).len(), 2, "within the second");
    client.write(GET);
    drop(client);
    let found = lines(&path, 3);
    mock.stop().unwrap();

    let statuses: Vec<_> = found.iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, ["ok", "failed", "failed"]);
    for (seq, line) in found.iter().enumerate() {
        let only = &line["tries"][0];
        let micros = |name: &str| only[name].as_u64().unwrap();
        assert_eq!(line["seq"], seq);
        assert_eq!(line["http_status"], only["http_status"]);
        assert!(micros("sent_us") / 1_000_000 >= epoch_seconds() - 60);
        assert!(micros("done_us") >= micros("sent_us"), "{line}");
    }
    assert_eq!(found[1]["http_status"], 429);
    assert_eq!(found[1]["tries"][0]["retry_after_ms"], 60_000);
    assert_eq!(found[2]["error"]["kind"], "reset");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("canary"), "{text}");
    assert!(ArrivalLog::create(&path).is_err(), "content is kept");
}

#[test]
fn an_address_in_use_is_a_problem_that_names_it() {
    let first = mock("", None);
    let taken = first.address();
    let problem = serve(taken, "".parse().unwrap(), 1, None).expect_err("taken");
    assert!(problem.what.contains(&taken.to_string()), "{problem}");
    drop(first);
    serve(taken, "".parse().unwrap(), 1, None).expect("free again");
}

#[test]
fn a_stream_that_is_asked_for_comes_token_by_token_and_its_arrival_is_over_with_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arrivals.jsonl");
    let log = ArrivalLog::create(&path).unwrap();
    let mock = mock("latency=60ms,tokens=3", Some(log));
    let mut client = Client::connect(&mock);
    let began = Instant::now();
    client.write("POST /v1 HTTP/1.1\r\nhost: h\r\ncontent-length: 15\r\n\r\n{\"stream\":true}");
    let mut text = String::new();
    while !text.ends_with("0\r\n\r\n") {
        client.0.read_line(&mut text).unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(60));
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let data: Vec<&str> = data.collect();
    let [first, _, _, usage, "[DONE]"] = *data else {
        panic!("{data:?}")
    };
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["choices"][0]["delta"]["content"], " 1");
    let usage: Value = serde_json::from_str(usage).unwrap();
    assert_eq!(usage["usage"]["total_tokens"], 3);
    let found = lines(&path, 1);
    let only = &found[0]["tries"][0];
    let micros = |name: &str| only[name].as_u64().unwrap();
    assert!(
        micros("first_byte_us") - micros("sent_us") >= 20_000,
        "{only}"
    );
    assert!(micros("done_us") - micros("sent_us") >= 60_000, "{only}");
    assert_eq!(found[0]["status"], "ok");
}
