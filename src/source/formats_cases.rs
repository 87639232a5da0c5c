//! Inputs in the formats of other tools, and what must come of them. Floor 4: doors.

use http::header::CONTENT_TYPE;
use http::{HeaderName, Method};
use proptest::prelude::*;

use super::cases::{Seen, case, jobs, lines, named, pipe, seen, text, want};
use super::opening::{First, Opening};
use super::*;
use crate::headers::Headers;
use crate::job::Repeat;
use crate::limit::KeyBy;

fn told(text: &str, name: &str) -> Format {
    let input = Input::File(name.into());
    Format::of(&First::new(text.as_bytes(), true), &input).unwrap()
}

/// The same of a format that is given.
fn as_format(format: Format, bytes: impl AsRef<[u8]>) -> Spec {
    Spec {
        format: Some(format),
        base_url: Some("http://h".parse().unwrap()),
        request_url: (format == named("cookbook"))
            .then(|| "http://h/v1/embeddings".parse().unwrap()),
        batches: Repeat::Always,
        ..text(bytes)
    }
}

/// Why the input ends before it began.
fn refused(spec: &Spec) -> Problem {
    open(spec).unwrap().next().unwrap().unwrap_err()
}

/// The first lines of the messages of bad records.
fn faults(spec: &Spec) -> Vec<String> {
    let bad = lines(spec).into_iter().filter_map(Result::err);
    bad.map(|bad| bad.to_string().lines().next().unwrap().to_owned())
        .collect()
}

fn header<'a>(job: &'a Job, name: &'static str) -> Option<&'a [u8]> {
    job.headers().get_all(&HeaderName::from_static(name)).next()
}

#[test]
fn a_format_is_told_by_its_first_bytes_and_else_by_the_name() {
    for (text, name, format) in [
        ("id,url\n", "a", named("csv")),
        ("\u{feff}\"url\",\"id\"\r\n", "a", named("csv")),
        ("id\turl\n", "a.csv", named("tsv")),
        ("url\n", "a.csv", named("csv")),
        ("url\n", "a", named("urls")),
        ("http://h/?a=1,url,2\n", "a", named("urls")),
        ("http://h/?a=1,url,2\n", "a.csv", named("csv")),
        (
            "{\"custom_id\":\"a\",\"method\":\"POST\"}",
            "a.jsonl",
            named("openai-batch"),
        ),
        (
            "{\"custom_id\":\"a\",\"params\":{}}",
            "a",
            named("anthropic-batch"),
        ),
        (
            "[{\"custom_id\":\"a\",\"params\":{}}]",
            "a",
            named("anthropic-batch"),
        ),
        ("{ \"requests\": [{", "a.json", named("anthropic-batch")),
        (
            "{\"x\":{\"url\":1},\"requests\":[{",
            "a",
            named("anthropic-batch"),
        ),
        (
            "{ \"x\": 1,\n\"y\": [],\n \"requests\": [",
            "a",
            named("anthropic-batch"),
        ),
        (
            "{\"url\":\"http://h/\",\"requests\":[]}",
            "a",
            named("jsonl"),
        ),
        ("{\"x\":1}\n{\"requests\":[]}", "a", named("jsonl")),
        ("{\n  \"requests\": [", "a.json", named("anthropic-batch")),
        ("{\"model\":\"m\",\"input\":\"x\"}", "a", named("cookbook")),
        (
            "{\"url\":\"/\",\"body\":{\"custom_id\":1,\"model\":1}}",
            "a",
            named("jsonl"),
        ),
        ("{\"a\":\"}\\\",\\\"custom_id\\\":\"}", "a", named("jsonl")),
        ("{\n\"url\":\"/\"}", "a", named("json")),
        ("[1,{\"url\":\"/\"}]", "a.json", named("json")),
        ("[null,{\"url\":\"/\"}]", "a.json", named("json")),
        ("[-1]", "a.json.gz", named("json")),
        ("5", "a.json", named("json")),
        ("null\n", "a.json", named("json")),
        ("\"a\"", "a.json", named("json")),
        ("[::1]/a\n", "a", named("urls")),
        ("127.0.0.1/a\n", "a", named("urls")),
        ("http://h/a\n", "a.json", named("urls")),
    ] {
        assert_eq!(told(text, name), format, "{text} {name}");
    }
}

#[test]
fn a_batch_of_anthropic_may_say_other_things_before_its_requests() {
    let batch = "{ \"model\": \"m\",\n  \"options\": {\"requests\": []},\n  \"requests\": [\n\
                 {\"custom_id\":\"a\",\"params\":{}},\n{\"custom_id\":\"b\",\"params\":{}}]}";
    let spec = Spec {
        base_url: Some("http://h".parse().unwrap()),
        ..text(batch)
    };
    let ids: Vec<_> = jobs(&spec).into_iter().map(|job| job.id.unwrap()).collect();
    assert_eq!(ids, ["a", "b"].map(Box::<str>::from));
}

#[test]
fn no_more_of_a_pipe_is_read_than_tells_its_format() {
    for first in [
        "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/\",\"body\":{}}\n",
        "id,url\na,http://h/\n",
        "{\"requests\":[{\"custom_id\":\"a\",\"params\":{}}",
        "[{\"custom_id\":\"a\",\"params\":{}}",
    ] {
        let (mut spec, _reader, mut writer) = pipe();
        spec.base_url = Some("http://h".parse().unwrap());
        io::Write::write_all(&mut writer, first.as_bytes()).unwrap();
        let line = open(&spec).unwrap().next().unwrap().unwrap();
        assert!(line.is_ok(), "{first}");
    }
}

#[test]
fn a_cell_holds_line_ends_and_an_empty_one_is_none() {
    let jobs = jobs(&case("16-multiline.csv"));
    let said: Vec<_> = jobs
        .iter()
        .map(|job| (job.place.line, job.method.as_str(), job.body()))
        .collect();
    let body = "line1\nline \"2\"\r3".as_bytes();
    assert_eq!(said, [(2, "POST", Some(body)), (4, "GET", None)]);
    assert_eq!(jobs[0].id.as_deref(), Some("r1"));
}

#[test]
fn a_ragged_row_is_invalid_and_those_around_it_run() {
    assert_eq!(
        seen(&case("18-ragged.csv")),
        want([
            (2, "expected 3 fields, found 2"),
            (3, "expected 3 fields, found 4"),
            (4, "/c"),
            (5, "/d"),
        ])
    );
    let quotes = jobs(&case("18-quotes.tsv")).remove(0);
    assert_eq!(quotes.body(), Some(&b"{\"a\": 1}"[..]));
}

#[test]
fn a_table_without_names_is_told_and_not_sent_as_urls() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.csv", "http://h/a,GET\nhttp://h/b,PUT\n"),
        ("b.csv", "1,http://h/a\n"),
        ("c.tsv", "http://h/a\tGET\n"),
        ("d.csv", "http://h/a\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let problem = refused(&Spec {
            inputs: vec![Input::File(path)],
            ..Spec::default()
        });
        assert!(problem.what.contains("no names of columns"), "{problem}");
        assert!(problem.mend.contains("--format urls"), "{problem}");
    }
    let upper = refused(&as_format(named("csv"), "ID,Url\n1,http://h/\n"));
    assert!(upper.mend.contains("write \"Url\" as \"url\""), "{upper}");
    let list = as_format(named("urls"), "http://h/a,GET\n");
    assert_eq!(seen(&list), want([(1, "/a,GET")]));
}

#[test]
fn what_stands_behind_a_closing_quote_is_told_with_its_place() {
    let table = "id,url,body\n\
                 a,http://h/a,\"x\"tail\n\
                 b,http://h/b,\"x\n\"\"y\" ,\n\
                 \"c\"\"\",http://h/c,\"\"\n\
                 d,http://h/d,5\" disk \"x\"\n\
                 \"e\"\"e\"e,http://h/e,x\n";
    let spec = as_format(named("csv"), table);
    let what = "something stands behind the closing quote of a field";
    assert_eq!(
        faults(&spec),
        [
            format!("-:2:17: {what}"),
            format!("-:4:5: {what}"),
            format!("-:7:7: {what}"),
        ]
    );
    let good: Vec<_> = lines(&spec).into_iter().flatten().collect();
    let bodies: Vec<_> = good.iter().map(Job::body).collect();
    assert_eq!(bodies, [None, Some(&b"5\" disk \"x\""[..])]);
    let head = refused(&as_format(named("csv"), "id,\"url\"x\na,http://h/\n"));
    assert_eq!((&*head.what, &*head.place), (what, "-:1:9"));
}

#[test]
fn every_column_is_the_field_of_its_name() {
    let table = "id,method,url,h:X-A,h:Authorization,body,tokens,output_tokens,at,key,meta\n\
                 a,put,http://h/1,x,canary,\"{\"\"q\"\": 1}\",20,5,0.25,t7,\"{\"\"row\"\": 1}\"\n\
                 b,,http://h/2,,,,,,1970-01-01T00:00:02Z,,no json\n";
    let mut spec = text(table);
    spec.units = UnitsRule::Reserve(crate::estimate::Estimator::Chars);
    spec.times = Times::Read;
    spec.per = vec![KeyBy::Field("key".into())];
    let mut source = open(&spec).unwrap();
    let all: Vec<Job> = source.by_ref().map(|line| line.unwrap().unwrap()).collect();
    assert!(source.notices().is_empty(), "{:?}", source.notices());
    let job = &all[0];
    assert_eq!(job.method, Method::PUT);
    assert_eq!(job.body(), Some(&b"{\"q\": 1}"[..]));
    assert_eq!(header(job, "x-a"), Some(&b"x"[..]));
    assert_eq!(header(job, "authorization"), Some(&b"canary"[..]));
    assert!(!format!("{job:?}").contains("canary"));
    assert_eq!(job.meta(), Some(&b"{\"row\": 1}"[..]));
    let units = job.units.unwrap();
    assert_eq!((units.input, units.output), (15, 5));
    assert_eq!(job.at.unwrap().as_millis(), 250);
    assert_eq!(&*job.keys[0], "t7");
    let bare = &all[1];
    assert_eq!((bare.method.as_str(), bare.body()), ("GET", None));
    assert_eq!(bare.headers().iter().count(), 0);
    assert_eq!(bare.meta(), Some(&b"\"no json\""[..]));
    assert_eq!(bare.at.unwrap().as_secs(), 2);
    assert_eq!(&*bare.keys[0], "");
}

#[test]
fn a_cell_is_refused_where_it_stands() {
    let table = "id,url,tokens,method,h:X-A\n\
                 a,http://h/,\"x\",,\n\
                 b,http://h/,,\"a\nb\",\n\
                 c,,,,\n\
                 \"d\n\",ftp://h/,,,\n\
                 e,http://h/,,,\"a\nb\"\n\
                 a,http://h/,,,\n";
    assert_eq!(
        faults(&text(table)),
        [
            "-:2:13: \"tokens\" must be a whole number from 0",
            "-:3:14: \"method\" is not an HTTP method",
            "-:5:1: \"url\" is empty",
            "-:7:3: scheme not supported: \"ftp\"",
            "-:8:15: \"h:X-A\" has a character that cannot be sent",
        ]
    );
    let mut bad = lines(&text(table)).into_iter().filter_map(Result::err);
    assert_eq!(bad.next().unwrap().id.as_deref(), Some("a"));
}

#[test]
fn a_table_that_cannot_be_read_is_a_usage_problem() {
    for (table, told) in [
        ("id,url,id\n1,2,3\n", "-:1:8: column \"id\" is there twice"),
        (
            "url,tokens,weight\n",
            "-:1:12: column \"weight\" is there twice",
        ),
        ("url,\"h:a b\"\n", "-:1:5: column \"h:a b\" is of no header"),
        ("id,URL\n", "-:1:1: no column is \"url\""),
        (
            "\n\"url,id\nhttp://h/,1\n",
            "-:2:1: the quote that opens here is never closed",
        ),
    ] {
        let problem = refused(&as_format(named("csv"), table));
        assert_eq!(problem.exit, Exit::Usage);
        assert!(problem.to_string().starts_with(told), "{problem}");
    }
    let semicolons = refused(&as_format(named("csv"), "id;url\n"));
    assert!(semicolons.mend.contains("not with ;"), "{semicolons}");
    assert!(
        open(&as_format(named("csv"), "\r\n"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn a_column_that_means_nothing_is_told_once() {
    let spec = text("id,url,metod,tenant\na,http://h/,POST,t\n");
    let mut keyed = spec.clone();
    keyed.per = vec![KeyBy::Field("tenant".into())];
    let notices = |spec: &Spec| {
        let mut source = open(spec).unwrap();
        source.by_ref().for_each(drop);
        source.notices()
    };
    let all = notices(&spec);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(
        all[0].starts_with("-:1:8: unknown field \"metod\"\n  mend: did you mean \"method\"?"),
        "{all:?}"
    );
    assert_eq!(notices(&keyed).len(), 1);
    assert_eq!(&*jobs(&keyed)[0].keys[0], "t");
}

#[test]
fn an_unclosed_quote_is_one_invalid_record_and_not_a_long_body() {
    let spec = text("id,url,body\na,http://h/,x\nb,http://h/,\"y\nc,http://h/,z\n");
    let faults = faults(&spec);
    assert_eq!(faults.len(), 1);
    assert_eq!(
        faults[0],
        "-:3:13: the quote that opens here is never closed"
    );
    assert_eq!(lines(&spec).len(), 2);
}

#[test]
fn a_table_is_counted_without_its_first_row() {
    assert_eq!(count::count(&case("16-multiline.csv")), Some(2));
    assert_eq!(count::count(&case("05-noeol.csv")), Some(2));
}

#[test]
fn a_batch_of_openai_names_its_requests_and_no_other_server() {
    let mut spec = case("32-batch.jsonl");
    spec.base_url = Some("http://127.0.0.1:8080".parse().unwrap());
    spec.batches = Repeat::Always;
    assert_eq!(
        seen(&spec),
        want([
            (1, "/v1/chat/completions"),
            (2, "\"custom_id\" is missing"),
            (3, "\"method\" is missing"),
            (4, "other origin than --base-url"),
            (5, "\"body\" must be an object"),
        ])
    );
    let job = lines(&spec).remove(0).unwrap();
    assert_eq!(
        (job.id.as_deref(), &job.method),
        (Some("q-1"), &Method::POST)
    );
    assert_eq!(job.repeat, Repeat::Always);
    assert!(
        job.headers()
            .get_all(&CONTENT_TYPE)
            .eq([b"application/json"])
    );
    let body = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(job.body(), Some(&body[..]));
    spec.batches = Repeat::ByMethod;
    assert_eq!(lines(&spec).remove(0).unwrap().repeat, Repeat::ByMethod);
    spec.base_url = None;
    let problem = refused(&spec);
    assert_eq!(problem.exit, Exit::Usage);
    assert!(
        problem
            .what
            .contains("openai-batch, which needs --base-url"),
        "{problem}"
    );
}

#[test]
fn a_batch_of_anthropic_is_lines_or_elements() {
    let request = |id: &str| {
        format!("{{\"custom_id\":{id:?},\"params\":{{\"model\":\"m\", \"max_tokens\":64}}}}")
    };
    let (one, two) = (request("a"), request("b"));
    for text in [
        format!("{one}\n{two}\n"),
        format!("[{one},\n{two}]"),
        format!("{{\n  \"requests\": [{one}, {two}]\n}}\n"),
    ] {
        let jobs = jobs(&as_format(named("anthropic-batch"), &text));
        let ids: Vec<_> = jobs.iter().map(|job| job.id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["a", "b"], "{text}");
        let job = &jobs[0];
        assert_eq!(
            (job.target.url.as_str(), &job.method),
            ("http://h/v1/messages", &Method::POST)
        );
        assert_eq!(job.body(), Some(&br#"{"model":"m", "max_tokens":64}"#[..]));
        assert_eq!(header(job, "anthropic-version"), Some(&b"2023-06-01"[..]));
        assert_eq!(job.repeat, Repeat::Always);
    }
    let mut spec = as_format(named("anthropic-batch"), &one);
    let (name, value) = (
        "anthropic-version".parse().unwrap(),
        "2099-01-01".parse().unwrap(),
    );
    spec.headers.add(&name, &value);
    let job = jobs(&spec).remove(0);
    assert_eq!(header(&job, "anthropic-version"), Some(&b"2099-01-01"[..]));
    let wrong = as_format(
        named("anthropic-batch"),
        "{\"custom_id\":\"a\",\"params\":[]}\n{\"params\":{}}",
    );
    assert_eq!(
        faults(&wrong),
        [
            "-:1:27: \"params\" must be an object",
            "-:2:1: \"custom_id\" is missing"
        ]
    );
}

#[test]
fn the_metadata_of_a_cookbook_line_is_kept_and_not_sent() {
    for (line, body, meta) in [
        (
            r#"{"model":"m","input":"é","metadata":{"row_id":7}}"#,
            r#"{"model":"m","input":"é"}"#,
            Some("{\"row_id\":7}"),
        ),
        (
            r#"{"metadata":0, "model": "m" ,"input":[ 1.50 ]}"#,
            r#"{"model":"m","input":[ 1.50 ]}"#,
            Some("0"),
        ),
        (
            r#"{"metadata":null,"model":"m","input":"x"}"#,
            r#"{"model":"m","input":"x"}"#,
            Some("null"),
        ),
        (
            r#" {"model":"m", "input":"x"}"#,
            r#"{"model":"m", "input":"x"}"#,
            None,
        ),
    ] {
        let job = jobs(&as_format(named("cookbook"), line)).remove(0);
        assert_eq!(job.body(), Some(body.as_bytes()), "{line}");
        assert_eq!(job.meta(), meta.map(str::as_bytes), "{line}");
        assert_eq!(
            (job.target.url.path(), &job.method),
            ("/v1/embeddings", &Method::POST)
        );
        assert_eq!(job.repeat, Repeat::Always);
    }
    let mut spec = as_format(named("cookbook"), "{}");
    spec.request_url = None;
    assert!(refused(&spec).what.contains("which needs --request-url"));
    assert_eq!(
        faults(&as_format(named("cookbook"), "[1]")),
        ["-:1:2: a job is a JSON object"]
    );
}

#[test]
fn a_body_that_may_be_base64_of_vegeta_is_not_sent_until_somebody_says_which() {
    let bare = "{\"method\":\"GET\",\"url\":\"http://h/a\"}\n";
    let with = |body: &str| {
        format!("{bare}{{\"method\":\"POST\",\"url\":\"http://h/b\",\"body\":{body}}}\n")
    };
    let bodies = |spec: &Spec| -> Vec<_> {
        let all = jobs(spec).into_iter();
        all.map(|job| job.body().map(<[u8]>::to_vec)).collect()
    };
    for body in [
        "\"aGk=\"",
        "\"aGVsbG8h\"",
        "\"/+8AAQIDBAUGBwgJCgsMDQ4PEBES\"",
    ] {
        let what = "\"body\" may be the text of a job, or base64 of a target of vegeta";
        assert_eq!(
            faults(&text(with(body))),
            [format!("-:2:44: {what}")],
            "{body}"
        );
        let text = as_format(named("jsonl"), with(body));
        assert_eq!(
            bodies(&text)[1].as_deref(),
            Some(body.trim_matches('"').as_bytes())
        );
        let target = as_format(named("vegeta"), with(body));
        assert_ne!(bodies(&target), bodies(&text));
    }
    for body in [
        "\"test\"",
        "\"hi\"",
        "\"a=1&b=2\"",
        "\"\"",
        "{\"a\":\"aGk=\"}",
    ] {
        assert!(faults(&text(with(body))).is_empty(), "{body}");
    }
    let own = "{\"id\":\"1\",\"url\":\"http://h/\"}\n".to_owned() + &with("\"aGk=\"");
    assert_eq!(
        bodies(&text(own))[2].as_deref(),
        Some(&b"aGk="[..]),
        "it is a file of jobs"
    );
    let later =
        bare.to_owned() + "{\"method\":\"GET\",\"url\":\"http://h/\",\"header\":{\"A\":[\"1\"]}}\n";
    let what = "this is a target of vegeta, and the file was taken for jobs";
    assert_eq!(faults(&text(later)), [format!("-:2:44: {what}")]);
}

#[test]
fn targets_of_vegeta_are_read_as_people_write_them() {
    let spec = case("23-targets.vegeta");
    assert_eq!(
        seen(&spec),
        want([(2, "/a"), (4, "/b"), (8, "/c"), (9, "/d")])
    );
    let jobs = jobs(&spec);
    let methods: Vec<_> = jobs.iter().map(|job| job.method.as_str()).collect();
    assert_eq!(methods, ["GET", "POST", "PURGE", "GET"]);
    assert_eq!(header(&jobs[0], "x-a"), Some(&b"1"[..]));
    assert_eq!(jobs[1].body(), Some(&b"{\"n\":1}\n"[..]));
    assert_eq!(
        header(&jobs[1], "content-type"),
        Some(&b"application/json"[..])
    );
    let last = case("05-noeol.vegeta");
    assert_eq!(seen(&last), want([(1, "/a"), (3, "/b")]));
    assert_eq!(
        header(&super::cases::jobs(&last)[1], "x-last"),
        Some(&b"yes"[..])
    );
    assert_eq!(count::count(&last), Some(2));
}

#[test]
fn what_is_wrong_with_a_target_is_told_where_it_stands() {
    let targets = "GET ftp://h/\n\nget http://h/\n\nGET http://h/\nX-A: 1\nno header\n\nGET http://h/\n@nope.json\n";
    let found = faults(&as_format(named("vegeta"), targets));
    assert_eq!(found[0], "-:1:5: scheme not supported: \"ftp\"");
    assert_eq!(found[1], "-:3:1: a target begins with its method");
    assert_eq!(
        found[2],
        "-:7:1: this line is no header, no @FILE and no target"
    );
    assert!(
        found[3].starts_with("-:10:1: @") && found[3].contains("No such file"),
        "{found:?}"
    );
    assert_eq!(found.len(), 4);
}

#[test]
fn targets_of_vegeta_may_be_objects_with_bodies_as_base64() {
    let line = "{\"method\":\"POST\",\"url\":\"http://h/a\",\"header\":{\"Content-Type\":[\"text/plain\"],\"X-A\":[\"1\",\"2\"]},\"body\":\"aGk=\"}";
    let job = jobs(&text(line)).remove(0);
    assert_eq!((&job.method, job.body()), (&Method::POST, Some(&b"hi"[..])));
    assert_eq!(job.headers().iter().count(), 3);
    let wrong = "{\"url\":\"http://h/\",\"header\":{}}\n{\"method\":\"GET\",\"header\":{}}\n\
                 {\"method\":\"GET\",\"url\":\"/\",\"header\":[]}\n{\"method\":\"GET\",\"url\":\"/\",\"body\":\"?\"}";
    let found = faults(&as_format(named("vegeta"), wrong));
    assert_eq!(found[0], "-:1:1: \"method\" is missing");
    assert_eq!(found[1], "-:2:1: \"url\" is missing");
    assert_eq!(found[2], "-:3:36: \"header\" must be an object of strings");
    assert!(
        found[3].starts_with("-:4:34: \"body\" is not base64"),
        "{found:?}"
    );
    assert_eq!(
        told("{\"method\":\"GET\",\"url\":\"/\"}", "a.vegeta"),
        named("vegeta")
    );
    assert_eq!(
        told("{\"method\":\"GET\",\"url\":\"/\"}", "a"),
        named("jsonl")
    );
    assert_eq!(told("# c\n\nGET http://h/\n", "a"), named("vegeta"));
    assert_eq!(told("# c\nhttp://h/\n", "a"), named("urls"));
}

/// The reasons of records that are passed over.
fn skipped(spec: &Spec) -> Seen {
    let lines = lines(spec).into_iter().filter_map(Result::err);
    let lines = lines.filter(|bad| bad.why == crate::job::NoJob::Skipped);
    lines.map(|bad| (bad.place.line, bad.what)).collect()
}

#[test]
fn a_log_of_whole_urls_is_read_and_what_asks_for_no_path_is_passed_over() {
    let line = |request: &str| {
        format!("h - - [01/Jan/1970:00:00:10 +0000] \"{request} HTTP/1.1\" 200 5\n")
    };
    let log = [
        line("GET http://other.test/a?x=1"),
        line("GET HTTPS://other.test"),
        line("OPTIONS *"),
        line("CONNECT other.test:443"),
        line("GET other.test/a"),
        "{\"request\":\"GET http://other.test/b HTTP/1.1\"}\n".to_owned(),
        "{\"method\":\"GET\",\"uri\":\"http://other.test/c\"}\n".to_owned(),
    ];
    let spec = as_format(named("access-log"), log.concat());
    let all = want([
        (1, "/a?x=1"),
        (2, "/"),
        (3, "asks for no path (*)"),
        (4, "a tunnel (CONNECT), and no request to a server"),
        (5, "malformed request"),
        (6, "/b"),
        (7, "/c"),
    ]);
    assert_eq!(seen(&spec), all);
    let first = lines(&spec).remove(0).unwrap();
    assert_eq!(
        first.target.url.host_str(),
        Some("h"),
        "all goes to --base-url"
    );
}

#[test]
fn an_access_log_is_read_with_its_noise_passed_over() {
    let mut spec = case("34-access.log");
    spec.base_url = Some("http://127.0.0.1:8080".parse().unwrap());
    spec.times = Times::Read;
    let lack = "a log has no body of it, and --data gives none";
    let malformed = "malformed request";
    let all = want([
        (1, "/a?x=1"),
        (2, malformed),
        (3, malformed),
        (4, "/b?s=%22hi%22"),
        (5, "/c?x=a%20b"),
        (6, lack),
    ]);
    assert_eq!(seen(&spec), all);
    assert_eq!(
        skipped(&spec),
        want([(2, malformed), (3, malformed), (6, lack)])
    );
    let at: Vec<_> = lines(&spec)
        .into_iter()
        .flatten()
        .map(|job| job.at.unwrap().as_secs())
        .collect();
    assert_eq!(at, [1_760_104_536, 1_760_104_539, 1_760_104_535]);
    assert!(
        check_strict(spec.clone()).is_ok(),
        "nothing is wrong with it"
    );
    spec.body = Some(bytes::Bytes::from_static(b"x"));
    assert_eq!(skipped(&spec).len(), 2, "--data gives the POST its body");
    spec.base_url = None;
    assert!(
        refused(&spec)
            .what
            .contains("access-log, which needs --base-url")
    );
}

#[test]
fn a_log_tells_when_a_request_began() {
    let lines = "h - - [01/Jan/1970:00:00:10 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"a/1.5\" 0.250\n\
                 h - - [01/Jan/1970:01:00:10 +0100] \"GET /b HTTP/1.1\" 200 5\n\
                 {\"time_iso8601\":\"1970-01-01T00:00:10+00:00\",\"request\":\"GET /c HTTP/1.1\",\"request_time\":\"0.5\"}\n\
                 {\"msec\":10.125,\"request_method\":\"GET\",\"request_uri\":\"/d\",\"request_time\":0.125}\n\
                 # a remark\n";
    let mut spec = as_format(named("access-log"), lines);
    spec.times = Times::Read;
    let at: Vec<_> = jobs(&spec)
        .iter()
        .map(|job| job.at.unwrap().as_millis())
        .collect();
    assert_eq!(at, [9_750, 10_000, 9_500, 10_000]);
    assert_eq!(told(lines, "a"), named("access-log"));
    assert_eq!(
        told("{\"msec\":1,\"request\":\"GET / HTTP/1.1\"}\n", "a"),
        named("access-log")
    );
    let wrong = "h - - [yesterday] \"GET /a\" 200 5\nh [01/Jan/1970:00:00:10 +0000] GET\n{}\n";
    let found = faults(&as_format(named("access-log"), wrong));
    assert_eq!(found.len(), 3);
    assert!(
        found
            .iter()
            .all(|it| it.ends_with("this is no line of an access log")),
        "{found:?}"
    );
}

/// The one record of a replay is refused with these words.
fn is_told(format: Format, log_fields: Option<&str>, text: &str, told: &str) {
    let mut spec = as_format(format, text);
    spec.times = Times::Needed;
    spec.log_fields = log_fields.map(|fields| fields.parse().unwrap());
    let found = faults(&spec);
    assert!(
        found.len() == 1 && found[0].contains(told),
        "{text}: {found:?}"
    );
}

#[test]
fn a_message_names_a_field_as_it_stands_in_the_file() {
    let weight = "{\"url\":\"http://h/\",\"at\":0,\"weight\":-1}";
    let noon = "{\"url\":\"http://h/\",\"at\":\"noon\"}";
    let row = "url,at,weight\nhttp://h/,0,many\n";
    let recorded = "1 0123456789abcdef0123 noon\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n";
    let target = "GET http://h/\n@none.json";
    for (format, text, told) in [
        (named("jsonl"), noon, "\"at\" is no moment"),
        (named("jsonl"), weight, "\"weight\" must be a whole number"),
        (named("csv"), row, ":13: \"weight\" must be a whole number"),
        (named("gor"), recorded, "\"timestamp\" is no moment"),
        (named("urls"), "http://h/", "nothing says when it was"),
        (named("vegeta"), target, "-:2:1: @"),
    ] {
        is_told(format, None, text, told);
    }
    let entry = |started| {
        let request = "\"request\":{\"method\":\"GET\",\"url\":\"http://h/\"}";
        format!("{{\"log\":{{\"entries\":[{{{started}{request}}}]}}}}")
    };
    let (wrong, none) = (entry("\"startedDateTime\":\"noon\","), entry(""));
    is_told(
        named("har"),
        None,
        &wrong,
        "-:1:39: \"startedDateTime\" is no",
    );
    is_told(
        named("har"),
        None,
        &none,
        "\"startedDateTime\" is missing, and",
    );
}

#[test]
fn a_message_names_a_field_of_a_log_as_the_command_line_does() {
    for (fields, line, told) in [
        (
            "url=u,at=ts",
            "{\"u\":\"/a\",\"ts\":\"noon\"}",
            ":16: \"ts\" is no moment",
        ),
        (
            "url=u,at=ts",
            "{\"u\":\"/a\"}",
            "\"ts\" is missing, and the run",
        ),
        ("url=u", "{\"u\":\"/a\"}", "\"at\" is missing, and the run"),
        (
            "url=u,at=/t/s",
            "{\"u\":\"/a\",\"t\":{\"s\":true}}",
            "\"/t/s\" is no moment",
        ),
        ("url=/h/u,at=ts", "{\"u\":\"/a\"}", "\"/h/u\" is missing"),
        (
            "url=u,at=ts,took=d",
            "{\"u\":\"/a\",\"ts\":1,\"d\":\"12ms\"}",
            ":22: \"d\" is no",
        ),
    ] {
        is_told(named("access-log"), Some(fields), line, told);
    }
    for (line, told) in [
        (
            "{\"request\":\"GET /a HTTP/1.1\",\"msec\":\"-\"}",
            "\"msec\" is no moment",
        ),
        (
            "{\"verb\":1,\"uri\":\"/a\"}",
            "-:1:9: \"verb\" must be a string",
        ),
    ] {
        is_told(named("access-log"), None, line, told);
    }
}

#[test]
fn a_span_that_cannot_be_read_is_told_where_it_counts_and_one_that_is_not_known_is_none() {
    for (span, times, count) in [
        ("\"12ms\"", Times::Needed, 1),
        ("\"12ms\"", Times::Ignored, 0),
        ("\"-\"", Times::Needed, 0),
        ("\"\"", Times::Needed, 0),
        ("0.5", Times::Needed, 0),
    ] {
        let line = format!("{{\"u\":\"/a\",\"ts\":1,\"d\":{span}}}");
        let mut spec = as_format(named("access-log"), line);
        spec.times = times;
        spec.log_fields = Some("url=u,at=ts,took=d".parse().unwrap());
        assert_eq!(faults(&spec).len(), count, "{span}");
    }
}

#[test]
fn no_line_of_a_log_chooses_the_server() {
    let lines = "h - - [01/Jan/1970:00:00:10 +0000] \"GET http://other/a HTTP/1.1\" 200 5\n\
                 h - - [01/Jan/1970:00:00:10 +0000] \"GET //other/a HTTP/1.1\" 200 5\n\
                 h - - [01/Jan/1970:00:00:10 +0000] \"CONNECT other:443 HTTP/1.1\" 200 5\n";
    let spec = as_format(named("access-log"), lines);
    let all = want([
        (1, "/a"),
        (2, "//other/a"),
        (3, "a tunnel (CONNECT), and no request to a server"),
    ]);
    assert_eq!(seen(&spec), all);
    for job in super::cases::lines(&spec).into_iter().flatten() {
        assert_eq!(job.target.url.host_str(), Some("h"));
    }
}

#[test]
fn entries_of_a_har_file_are_requests_as_they_were_recorded() {
    let mut spec = case("browser.har");
    spec.times = Times::Read;
    let lines = lines(&spec);
    let jobs: Vec<&Job> = lines.iter().flatten().collect();
    let said: Vec<_> = jobs
        .iter()
        .map(|job| (job.method.as_str(), job.target.url.path(), job.body()))
        .collect();
    assert_eq!(
        said,
        [
            ("GET", "/a", None),
            ("POST", "/b", Some(&b"{\"q\":1}"[..])),
            ("POST", "/c", Some(b"a=1+2&b=%C3%A9")),
            ("PUT", "/d", Some(&[0xFF, 0])),
        ]
    );
    let names: Vec<_> = jobs[0].headers().iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&b"user-agent"[..], b"cookie", b"authorization"]);
    assert!(!format!("{:?}", jobs[0]).contains("canary"));
    assert_eq!(
        header(jobs[2], "content-type"),
        Some(&b"application/x-www-form-urlencoded"[..])
    );
    let gaps: Vec<_> = jobs
        .iter()
        .map(|job| job.at.unwrap().abs_diff(jobs[0].at.unwrap()).as_millis())
        .collect();
    assert_eq!(gaps, [0, 250, 500, 750]);
    let whats: Vec<_> = skipped(&spec).into_iter().map(|(_, what)| what).collect();
    assert_eq!(
        whats,
        [
            "its body was not recorded",
            "of its multipart body only the names are recorded",
            "no request of HTTP: \"data\"",
        ]
    );
    assert_eq!(lines.len(), 7);
    assert_eq!(count::count(&spec), Some(7));
    assert_eq!(told("{\n  \"log\": {", "a"), named("har"));
    assert_eq!(told("{\"comment\":\"\",\"log\":{", "a.har"), named("har"));
}

#[test]
fn a_har_file_that_is_torn_or_none_is_told() {
    let entry = "{\"request\":{\"method\":\"GET\",\"url\":\"http://h/a\"}}";
    let torn = format!("{{\"log\":{{\"entries\":[{entry},\n{{\"request\":");
    let spec = as_format(named("har"), torn);
    assert_eq!(
        seen(&spec),
        want([(1, "/a"), (2, "input ends inside a record")])
    );
    let none = faults(&as_format(named("har"), "{\"log\":{\"entries\":7}}"));
    assert_eq!(
        none,
        ["-:1:19: the array of records is not where it should be"]
    );
    let request = |fields: &str| format!("{{\"request\":{{\n\"url\":\"http://h/\",{fields}}}}}");
    let wrong = [
        "{}".to_owned(),
        "{\"request\":[]}".to_owned(),
        "{\"request\":{\"method\":\"GET\"}}".to_owned(),
        "{\"request\":{\"url\":\"\",\"method\":\"GET\"}}".to_owned(),
        "{\"request\":{\"url\":7,\"method\":\"GET\"}}".to_owned(),
        request("\"headers\":[]"),
        request("\"method\":7"),
        request("\"method\":\"GET\",\"headers\":{}"),
        request("\"method\":\"GET\",\"headers\":[7]"),
        request("\"method\":\"GET\",\"headers\":[{\"value\":\"a\"}]"),
        request("\"method\":\"GET\",\"headers\":[{\"name\":\"a\",\"value\":[1]}]"),
        request("\"method\":\"GET\",\"headers\":[{\"name\":\"a b\",\"value\":\"1\"}]"),
        request("\"method\":\"GET\",\"postData\":7"),
        request("\"method\":\"GET\",\"postData\":{\"text\":{}}"),
    ];
    let text = format!("{{\"log\":{{\"entries\":[\n{}]}}}}", wrong.join(",\n"));
    let found = faults(&as_format(named("har"), text));
    let wanted = [
        "-:2:1: \"request\" is missing",
        "-:3:12: \"request\" must be an object",
        "-:4:12: \"url\" is missing",
        "-:5:19: \"url\" is empty",
        "-:6:19: \"url\" must be a string",
        "-:7:12: \"method\" is missing",
        "-:10:28: \"method\" must be a string",
        "-:12:44: \"headers\" must be an array of objects",
        "-:14:45: \"headers\" must be an array of objects",
        "-:16:45: \"name\" is missing",
        "-:18:65: \"value\" must be a string",
        "-:20:45: this header cannot be sent",
        "-:22:45: \"postData\" must be an object",
        "-:24:53: \"text\" must be a string",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn requests_that_goreplay_has_recorded_are_sent_again_and_answers_are_not() {
    let mut spec = case("traffic.gor");
    spec.times = Times::Read;
    let all = jobs(&spec);
    let said: Vec<_> = all
        .iter()
        .map(|job| {
            (
                job.place.line,
                job.method.as_str(),
                job.target.url.as_str(),
                job.body(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (1, "GET", "http://127.0.0.1:8080/a?b=1", None),
            (
                15,
                "POST",
                "http://127.0.0.1:8080/b",
                Some(&b"{\"q\":1}"[..])
            ),
            (23, "POST", "http://127.0.0.1:8080/c", Some(&[0xFF, b'\n'])),
        ]
    );
    assert_eq!(
        all[0].id.as_deref(),
        Some("932079936fa4306fc308d67588178d17d823647c")
    );
    let names: Vec<_> = all[0].headers().iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&b"user-agent"[..], b"authorization"]);
    assert!(!format!("{:?}", all[0]).contains("canary"));
    let gaps: Vec<_> = all
        .iter()
        .map(|job| job.at.unwrap().abs_diff(all[0].at.unwrap()).as_millis())
        .collect();
    assert_eq!(gaps, [0, 250, 125], "they may be out of order");
    assert_eq!(count::count(&spec), Some(3));
    spec.base_url = Some("http://other".parse().unwrap());
    assert_eq!(jobs(&spec)[0].target.url.as_str(), "http://other/a?b=1");
}

#[test]
fn a_recorded_request_that_is_cut_off_is_told() {
    let record =
        |message: &str| format!("1 932079936fa4306f 1785000000000000000 0\n{message}\n🐵🙈🙉\n");
    for (message, what) in [
        (
            "GET /a HTTP/1.1\r\nHost: h\r\n",
            "the head of the request is cut off",
        ),
        (
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
            "its body is cut off: 3 of 9 bytes",
        ),
        (
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
            "its chunks are cut off",
        ),
        ("\u{1}\u{2}", "this is no request: "),
        ("GET /a HTTP/1.1\r\n\r\n", "relative URL needs --base-url"),
    ] {
        let mut spec = as_format(named("gor"), record(message));
        spec.base_url = None;
        let bad = lines(&spec).remove(0).unwrap_err();
        assert!(bad.what.starts_with(what), "{bad}");
        assert_eq!(bad.id.as_deref(), Some("932079936fa4306f"));
    }
}

#[test]
fn a_url_is_made_of_the_cells_of_its_row() {
    let mut spec = as_format(
        named("csv"),
        "id,name,method\n1,a/b,PUT\n2,,\n,c,\n4,x y,\n",
    );
    spec.url = Some("http://h/{{id}}?n={{name}}".parse().unwrap());
    assert_eq!(
        seen(&spec),
        want([
            (2, "/1?n=a%2Fb"),
            (3, "\"name\" is empty"),
            (4, "\"id\" is empty"),
            (5, "/4?n=x%20y"),
        ])
    );
    assert_eq!(faults(&spec)[0], "-:3:3: \"name\" is empty");
    let job = lines(&spec).remove(0).unwrap();
    assert_eq!(
        (job.id.as_deref(), job.meta()),
        (Some("1"), Some(&b"{\"name\":\"a/b\"}"[..]))
    );
    assert_eq!(job.method, Method::PUT);
    let mut source = open(&spec).unwrap();
    source.by_ref().for_each(drop);
    assert!(source.notices().is_empty());
    spec.url = Some("http://h/{{nope}}".parse().unwrap());
    assert!(refused(&spec).what.contains(
        "--url names \"nope\", which is no column; there are \"id\", \"name\", \"method\""
    ));
    let mut both = as_format(named("csv"), "url,id\n");
    both.url = Some("http://h/{{id}}".parse().unwrap());
    assert!(
        refused(&both)
            .to_string()
            .starts_with("-:1:1: there is a column \"url\"")
    );
}

#[test]
fn an_option_for_another_format_is_refused() {
    let mut spec = text("http://h/a\n");
    spec.url = Some("http://h/{{id}}".parse().unwrap());
    let told = refused(&spec);
    assert!(
        told.what
            .contains("read as urls, which has nothing for --url"),
        "{told}"
    );
    let mut spec = text("{\"url\":\"http://h/a\"}\n");
    spec.request_url = Some("http://h".parse().unwrap());
    assert!(refused(&spec).what.contains("nothing for --request-url"));
}

#[test]
fn memory_does_not_grow_with_an_input() {
    let entry = r#"{"request":{"method":"GET","url":"http://h/"},"response":{"content":{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}}"#;
    for (format, head, record) in [
        (named("jsonl"), "", "{\"url\":\"http://h/\"}\n".to_owned()),
        (named("json"), "[7", ",\n{\"url\":\"http://h/\"}".to_owned()),
        (
            named("har"),
            "{\"log\":{\"entries\":[7",
            format!(",{entry}"),
        ),
        (named("har"), "{\"log\":{\"pages\":[7", format!(",{entry}")),
        (named("csv"), "url,id\n", "http://h/,\"a\nb\"\n".to_owned()),
        (named("vegeta"), "", "GET http://h/\nX-A: 1\n\n".to_owned()),
        (
            named("gor"),
            "",
            "1 932079936fa4306f 1785000000000000000\nGET / HTTP/1.1\r\n\r\n\n🐵🙈🙉\n".to_owned(),
        ),
        (
            named("gor"),
            "2 932079936fa4306f 1785000000000000000\n",
            "x\n🐵🙈".to_owned(),
        ),
    ] {
        let size = 32 << 20;
        let bytes = [
            head.as_bytes(),
            &record.as_bytes().repeat(size / record.len()),
        ]
        .concat();
        let input = Box::new(io::Cursor::new(bytes));
        let cost = allocation_counter::measure(|| {
            let opening = Opening::of(input).unwrap();
            let mut records = opening.framing(format).unwrap();
            while records.next().unwrap().is_some() {}
        });
        assert!(cost.bytes_max < 2 << 20, "{format}: {cost:?}");
    }
}

proptest! {
    #[test]
    fn every_row_of_a_table_is_one_item(
        rows in prop::collection::vec(prop::collection::vec("[ab,\t\"\n\r\u{e9}]{0,5}", 1..4), 0..6),
        format in prop_oneof![Just(named("csv")), Just(named("tsv"))],
        torn in any::<bool>(),
    ) {
        let delimiter = if format == named("csv") { b',' } else { b'\t' };
        let mut table = ::csv::WriterBuilder::new();
        let mut table = table.delimiter(delimiter).flexible(true).quote_style(::csv::QuoteStyle::Always).from_writer(Vec::new());
        table.write_record(["id", "url"]).unwrap();
        for row in &rows {
            table.write_record(row).unwrap();
        }
        let mut table = table.into_inner().unwrap();
        if torn {
            table.extend_from_slice(b"\"a\nb,");
        }
        let found = super::cases::lines(&as_format(format, &table)).len();
        prop_assert_eq!(found, rows.len() + usize::from(torn));
    }

    #[test]
    fn every_line_of_a_batch_is_one_item(
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..30),
                "\\{\"(custom_id|params|metadata|body|url)\":[ -~]{0,20}\\}".prop_map(String::into_bytes),
            ],
            0..6,
        ),
        format in prop_oneof![
            Just(named("openai-batch")),
            Just(named("anthropic-batch")),
            Just(named("cookbook")),
        ],
    ) {
        let bytes = [&b"{}\n"[..], &lines.join(&b'\n')].concat();
        let each = bytes.split(|byte| *byte == b'\n');
        let wanted = each.filter(|line| !line.trim_ascii().is_empty()).count();
        prop_assert_eq!(super::cases::lines(&as_format(format, &bytes)).len(), wanted);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            "[1-3\\[\\]{}\",:\\\\ a-cGET/\n\r\t-]{0,80}".prop_map(String::into_bytes),
        ],
        nth in 0_usize..12,
    ) {
        prop_assume!(Opening::of(Box::new(io::Cursor::new(bytes.clone()))).is_ok());
        let names: Vec<_> = Format::names().collect();
        let spec = as_format(names[nth].parse().unwrap(), &bytes);
        let items = open(&spec).unwrap().count() as u64;
        let _ = Format::of(&First::new(&bytes, true), &Input::Stdin);
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), &bytes).unwrap();
        let counted = count::count(&Spec { inputs: vec![Input::File(path.path().into())], ..spec.clone() });
        let is_refused = open(&spec).unwrap().any(|item| item.is_err());
        prop_assert!(is_refused || counted == Some(items), "{counted:?} {items}");
    }

    #[test]
    fn every_line_of_a_log_is_one_item(
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "h - - \\[0[1-9]/Jan/1970:00:00:1[0-9] \\+0000\\] \"[ -~]{0,20}\" 200 1".prop_map(String::into_bytes),
                "\\{\"(request|uri|time|method)\":[ -~]{0,20}\\}".prop_map(String::into_bytes),
            ],
            0..6,
        ),
    ) {
        let bytes = [&b"{}\n"[..], &lines.join(&b'\n')].concat();
        let each = bytes.split(|byte| *byte == b'\n');
        let wanted = each.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#")).count();
        prop_assert_eq!(super::cases::lines(&as_format(named("access-log"), &bytes)).len(), wanted);
    }
}

#[test]
fn json_that_the_command_line_gives_to_jobs_says_that_it_is_json() {
    let kinds = |body: &'static str, input: &str, own: &[(&'static str, &'static str)]| {
        let mut headers = Headers::default();
        for (name, value) in own {
            assert!(headers.add_text(&HeaderName::from_static(name), value));
        }
        let spec = Spec {
            body: Some(body.into()),
            headers,
            ..text(input)
        };
        let job = jobs(&spec).remove(0);
        let kinds = job.headers().get_all(&CONTENT_TYPE);
        kinds
            .map(|kind| String::from_utf8_lossy(kind).into_owned())
            .collect::<Vec<_>>()
    };
    let inputs = [
        "http://h/a\n",
        "{\"url\":\"http://h/a\"}\n",
        "url,q\nhttp://h/a,1\n",
    ];
    for input in inputs {
        assert_eq!(
            kinds("{\"a\":1}", input, &[]),
            ["application/json"],
            "{input}"
        );
        assert_eq!(kinds(" [1]", input, &[]), ["application/json"], "{input}");
        assert_eq!(kinds("a=1", input, &[]), [""; 0], "{input}");
        assert_eq!(kinds("{a", input, &[]), [""; 0], "{input}");
        let own = [("content-type", "a/b")];
        assert_eq!(kinds("{\"a\":1}", input, &own), ["a/b"], "{input}");
    }
    let filled = "url,q\nhttp://h/a,1\n";
    assert_eq!(kinds("{\"q\":{{q}}}", filled, &[]), ["application/json"]);
    let typed = "{\"url\":\"http://h/a\",\"headers\":{\"Content-Type\":\"c/d\"}}\n";
    assert_eq!(
        kinds("{\"a\":1}", typed, &[("content-type", "a/b")]),
        ["c/d"]
    );
}

#[test]
fn what_is_filled_for_rows_alone_is_never_sent_as_it_stands() {
    let spec = |body: &'static str| Spec {
        body: Some(body.into()),
        ..text("{\"url\":\"http://h/a\"}\n")
    };
    for hole in ["{{uuid}}", "{\"n\":{{seq}}}", "{{env:TOK}}"] {
        let problem = refused(&spec(hole));
        assert_eq!(problem.exit, Exit::Usage, "{problem}");
        assert!(problem.what.contains("--data has {{"), "{problem}");
    }
    let other = jobs(&spec("{{ a template of another tool }}")).remove(0);
    assert_eq!(other.body(), Some(&b"{{ a template of another tool }}"[..]));
}
