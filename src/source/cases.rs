//! Inputs from public bug reports, and what must come of them. Floor 4: doors.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, Method};
use proptest::prelude::*;

use super::opening::First;
use super::*;
use crate::estimate::Estimator;
use crate::limit::KeyBy;
use crate::units::Tick;

/// What a test compares: the line and the wire form of its URL, or what is wrong with it.
pub(super) type Seen = Vec<(u64, String)>;

pub(super) fn case(name: &str) -> Spec {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    Spec {
        inputs: vec![Input::File(folder.join(name))],
        ..Spec::default()
    }
}

pub(super) fn text(bytes: impl AsRef<[u8]>) -> Spec {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes.as_ref()).unwrap();
    Spec {
        inputs: vec![Input::Spooled(Arc::new(file))],
        ..Spec::default()
    }
}

pub(super) fn named(format: &str) -> Format {
    format.parse().unwrap()
}

pub(super) fn lines(spec: &Spec) -> Vec<Result<Job, BadLine>> {
    open(spec).unwrap().map(Result::unwrap).collect()
}

pub(super) fn jobs(spec: &Spec) -> Vec<Job> {
    lines(spec).into_iter().map(Result::unwrap).collect()
}

pub(super) fn seen(spec: &Spec) -> Seen {
    let line = |line: Result<Job, BadLine>| match line {
        Ok(job) => {
            let path = &job.target.url[url::Position::BeforePath..];
            (job.place.line, path.to_owned())
        }
        Err(bad) => (bad.place.line, bad.what),
    };
    lines(spec).into_iter().map(line).collect()
}

pub(super) fn want<const N: usize>(lines: [(u64, &str); N]) -> Seen {
    lines.map(|(line, what)| (line, what.to_owned())).into()
}

pub(super) fn bad(line: impl AsRef<[u8]>) -> BadLine {
    let mut lines = lines(&text(line));
    assert_eq!(lines.len(), 1);
    lines.remove(0).unwrap_err()
}

/// A job whose other fields are `fields`.
fn with(fields: &str) -> String {
    format!("{{\"url\":\"http://h/\",{fields}}}\n")
}

#[test]
fn a_list_saved_on_windows_gives_its_urls_unchanged() {
    assert_eq!(
        seen(&case("01-bom-crlf.urls")),
        want([(1, "/a"), (2, "/b")])
    );
}

#[test]
fn blanks_and_comments_are_no_jobs_but_lines() {
    let mut list = case("04-blanks-comments.urls");
    let all = want([(4, "/a"), (5, "/b"), (7, "/c"), (8, "/d")]);
    assert_eq!(seen(&list), all);
    list.limit_jobs = Some(2);
    assert_eq!(seen(&list), all[..2]);
    assert_eq!(seen(&case("04-blank.jsonl")), want([(1, "/a"), (4, "/b")]));
}

#[test]
fn a_last_line_without_a_newline_is_a_line() {
    for name in ["05-noeol.jsonl", "05-noeol.urls"] {
        assert_eq!(seen(&case(name)), want([(1, "/a"), (2, "/b")]), "{name}");
    }
    assert_eq!(seen(&case("05-noeol.csv")), want([(2, "/a"), (3, "/b")]));
}

#[test]
fn what_is_no_object_is_told_where_it_begins() {
    for (line, column) in [("[1]\n", 1), ("  7\n", 3), ("\t\"http://h/\"\n", 2)] {
        let spec = Spec {
            format: Some(named("jsonl")),
            ..text(line)
        };
        let bad = lines(&spec).remove(0).unwrap_err();
        assert_eq!((bad.column, &*bad.what), (column, "a job is a JSON object"));
    }
}

#[test]
fn a_line_of_a_list_that_is_no_url_is_told_as_what_it_is() {
    let list = "# a list\nhttp://h/a b\n http://h/a https://h/b\n{\"url\":\"http://h/c\"}\n";
    assert_eq!(
        seen(&text(list)),
        want([
            (2, "/a%20b"),
            (3, "a second URL stands on this line"),
            (
                4,
                "this is a JSON object, and the file was taken for a list of URLs"
            ),
        ])
    );
    let bad: Vec<_> = lines(&text(list))
        .into_iter()
        .filter_map(Result::err)
        .collect();
    assert_eq!([bad[0].column, bad[1].column], [13, 1]);
}

#[test]
fn two_json_values_on_a_line_are_told_as_such_whoever_names_the_format() {
    let line = "{\"url\":\"http://h/a\"} {\"url\":\"http://h/b\"}\n";
    for format in [None, Some(named("jsonl")), Some(named("openai-batch"))] {
        let spec = Spec {
            format,
            base_url: Some("http://h".parse().unwrap()),
            ..text(line)
        };
        let bad = lines(&spec).remove(0).unwrap_err();
        assert_eq!(
            (bad.column, &*bad.what),
            (22, "a second JSON value stands on this line")
        );
        assert!(bad.mend.contains("jq -c .") && bad.mend.contains("--format json"));
    }
    let json = Spec {
        format: Some(named("json")),
        ..text(line)
    };
    assert_eq!(seen(&json), want([(1, "/a"), (1, "/b")]));
    for (line, column, what) in [
        (
            "{\"url\":\"http://h/\"},\n",
            20,
            "a comma stands behind the object",
        ),
        (
            "{\"url\":\"http://h/\"}x\n",
            20,
            "not valid JSON: something stands behind the end of the object",
        ),
        (
            "{\"url\":\"http://h/\"{}}\n",
            19,
            "not valid JSON: expected `,` or `}`",
        ),
    ] {
        let bad = bad(line);
        assert_eq!((bad.column, &*bad.what), (column, what));
    }
}

#[test]
fn a_byte_that_is_no_utf8_spoils_its_own_line_only() {
    let what = "invalid UTF-8 at byte 54 of the line";
    let spec = case("06-bad-utf8.jsonl");
    assert_eq!(seen(&spec), want([(1, "/a"), (2, what), (3, "/c")]));
    let problem = check_strict(spec).unwrap_err();
    assert_eq!(problem.exit, Exit::Usage);
    assert!(problem.what.contains(what), "{problem}");
}

#[test]
fn a_line_of_ten_mebibytes_is_a_job_like_any_other() {
    let body = "x".repeat(10 << 20);
    let big = with(&format!("\"body\":\"{body}\"")) + "{\"url\":\"http://h/c\"}";
    let jobs = jobs(&text(big));
    assert_eq!(jobs[0].body().map(<[u8]>::len), Some(10 << 20));
    assert_eq!(jobs[1].target.url.path(), "/c");
}

#[test]
fn the_second_job_of_an_id_is_invalid_and_names_both_lines() {
    let spec = case("09-dup-ids.jsonl");
    let what = "duplicate id \"a\" (lines 1 and 3)";
    assert_eq!(seen(&spec), want([(1, "/0"), (2, "/1"), (3, what)]));
    assert!(check_strict(spec).unwrap_err().what.contains(what));
}

#[test]
fn ids_are_unique_across_inputs() {
    let mut spec = text("{\"id\":\"a\",\"url\":\"http://h/\"}");
    spec.inputs.extend(case("05-noeol.jsonl").inputs);
    let bad = lines(&spec).remove(1).unwrap_err();
    let path = spec.inputs[1].name();
    assert_eq!(bad.what, format!("duplicate id \"a\" (-:1 and {path}:1)"));
    assert_eq!(bad.id.as_deref(), Some("a"));
}

#[test]
fn an_invalid_line_does_not_take_its_id() {
    let spec = text("{\"id\":\"a\"}\n{\"id\":\"a\",\"url\":\"http://h/\"}\n");
    assert_eq!(seen(&spec), want([(1, "\"url\" is missing"), (2, "/")]));
}

#[test]
fn a_url_that_is_missing_empty_or_null_is_named() {
    assert_eq!(
        seen(&case("10-missing.jsonl")),
        want([
            (1, "\"url\" is missing"),
            (2, "\"url\" is missing"),
            (3, "\"url\" is empty"),
            (4, "\"url\" is null"),
            (5, "/e"),
        ])
    );
    let last = lines(&case("10-missing.jsonl")).pop().unwrap().unwrap();
    assert_eq!(last.method, Method::GET);
}

#[test]
fn an_unknown_field_is_told_with_the_one_that_was_meant() {
    let spec = case("12-unknown.jsonl");
    let mut source = open(&spec).unwrap();
    assert_eq!(
        source
            .by_ref()
            .filter(|line| matches!(line, Ok(Ok(_))))
            .count(),
        2
    );
    let notices = source.notices();
    let [notice] = &notices[..] else {
        panic!("{notices:?}");
    };
    let (place, mend) = notice.split_once(": unknown field \"metod\"\n").unwrap();
    assert!(place.contains(".jsonl:1:"), "{place}");
    assert_eq!(mend, "  mend: did you mean \"method\"?");
    assert!(source.notices().is_empty());
    assert!(check_strict(spec).unwrap_err().what.contains(notice));
}

#[test]
fn every_known_field_is_taken_without_a_word() {
    let line = with(
        "\"id\":\"a\",\"method\":\"put\",\"headers\":{},\"body\":\"\",\"tokens\":1,\"input_tokens\":1,\
         \"output_tokens\":1,\"at\":0.25,\"key\":\"tenant-7\",\"meta\":{\"row\" : 1}",
    );
    let mut source = open(&text(line)).unwrap();
    let job = source.next().unwrap().unwrap().unwrap();
    assert!(source.notices().is_empty());
    assert_eq!(job.id.as_deref(), Some("a"));
    assert_eq!(job.method, Method::PUT);
    assert_eq!(job.body(), Some(&b""[..]));
    assert_eq!(job.meta(), Some(&b"{\"row\" : 1}"[..]));
}

#[test]
fn numbers_that_json_does_not_have_are_refused_where_they_stand() {
    let lines = lines(&case("13-nan.jsonl"));
    assert!(lines[0].is_ok() && lines[3].is_ok());
    for (line, column) in [(1, 71), (2, 72)] {
        let bad = lines[line].as_ref().unwrap_err();
        assert!(bad.what.starts_with("not valid JSON"), "{bad}");
        assert_eq!(bad.column, column, "{bad}");
    }
}

#[test]
fn what_is_no_json_is_told_in_words_that_need_no_parser() {
    for (line, told) in [
        (
            "{\"url\":nope}\n",
            "the only bare words are true, false and null",
        ),
        ("{\"url\":}\n", "here a value is due"),
        (
            "{url:1}\n",
            "here the name of a field is due, in double quotes",
        ),
        (
            "{\"url\":\"a\",}\n",
            "a comma stands behind the last field or value",
        ),
        (
            "{\"url\":\"a\"} x\n",
            "something stands behind the end of the object",
        ),
        ("{\"url\":[1\n", "the line ends inside an array"),
        ("{\"url\":\"a\n", "the line ends inside a string"),
        ("{\"url\":\n", "the line ends where a value is due"),
        ("{\"url\":1\n", "the line ends inside an object"),
        ("{\"url\":{\n", "the line ends inside an object"),
    ] {
        let what = bad(line).what;
        assert!(
            what.starts_with(&format!("not valid JSON: {told}")),
            "{line}: {what}"
        );
    }
}

#[test]
fn a_line_without_end_is_one_bad_line_and_the_next_is_read() {
    let mut jobs = tempfile::NamedTempFile::new().unwrap();
    // A hole in a file reads as so many zeros.
    jobs.seek(io::SeekFrom::Start(64 << 20)).unwrap();
    jobs.write_all(b"12345\nhttp://h/after\n").unwrap();
    let spec = Spec {
        inputs: vec![Input::File(jobs.path().to_owned())],
        ..Spec::default()
    };
    assert_eq!(count::count(&spec), Some(2));
    let lines = lines(&spec);
    let bad = lines[0].as_ref().unwrap_err();
    assert_eq!(
        (bad.column, &*bad.what),
        (
            (64 << 20) + 1,
            "the line has 67108869 bytes, a job at most 67108864 (64 MiB)"
        )
    );
    assert!(bad.mend.contains("a line of its own"), "{bad}");
    assert_eq!(lines[1].as_ref().unwrap().target.url.path(), "/after");
    assert_eq!(lines.len(), 2);
}

#[test]
fn nesting_has_no_limit_and_reaches_the_server_as_written() {
    let two_hundred = jobs(&case("14-deep200.jsonl"));
    assert!(two_hundred[0].body().unwrap().starts_with(&[b'['; 200]));
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for field in ["body", "meta", "colour"] {
        let mut spec = text(with(&format!("\"{field}\":{deep}")) + "{\"url\":\"http://h/after\"}");
        spec.units = UnitsRule::Reserve(Estimator::Chars);
        spec.body = Some(Bytes::from_static(b"x"));
        assert_eq!(seen(&spec), want([(1, "/"), (2, "/after")]), "{field}");
    }
    let bad = bad(with(&format!("\"body\":{}", "[".repeat(100_000))));
    assert!(bad.what.starts_with("not valid JSON"), "{bad}");
}

#[test]
fn header_values_go_out_as_utf8() {
    let job = jobs(&case("19-header-utf8.jsonl")).remove(0);
    let value = |name| job.headers().get_all(&HeaderName::from_static(name)).next();
    assert_eq!(value("x-name"), Some("Zoë".as_bytes()));
    assert_eq!(value("user-agent"), Some("Версия/1".as_bytes()));
}

#[test]
fn a_header_that_cannot_be_sent_is_named() {
    for (headers, what) in [
        (
            "{\"x-a\":\"a\\nb\"}",
            "header \"x-a\" has a character that cannot be sent",
        ),
        (
            "{\"x a\":\"b\"}",
            "\"x…\" is not a header name: it has a blank",
        ),
        (
            "{\"x:\":\"b\"}",
            "\"x…\" is not a header name: it has a colon",
        ),
        (
            "{\"x\\ny\":\"b\"}",
            "\"x…\" is not a header name: it has a line break",
        ),
        ("{\"x\\u0007y\":\"b\"}", "\"x\\u{7}y\" is not a header name"),
        ("{\"\":\"b\"}", "a header has no name"),
        ("{\"x-a\":1}", "\"x-a\" must be a string"),
        (
            "{\"x-a\":null}",
            "header \"x-a\" must be a string, not null",
        ),
        ("[]", "\"headers\" must be an object of strings"),
    ] {
        let bad = bad(with(&format!("\"headers\":{headers}")));
        assert_eq!(bad.what, what);
    }
    let two = with("\"headers\":{\"x-a\":[\"1\",\"2\"]}");
    assert_eq!(jobs(&text(two))[0].headers().iter().count(), 2);
}

#[test]
fn any_method_may_have_a_body_and_none_need_have_one() {
    let jobs = jobs(&case("21-get-body.jsonl"));
    let said: Vec<_> = jobs
        .iter()
        .map(|job| (job.method.as_str(), job.body()))
        .collect();
    let body = |text: &'static str| Some(text.as_bytes());
    assert_eq!(
        said,
        [
            ("GET", body("{\"q\":1}")),
            ("GET", None),
            ("DELETE", body("x")),
            ("POST", None)
        ]
    );
}

#[test]
fn a_body_goes_out_as_its_kind_says() {
    let job = |fields: &str| jobs(&text(with(fields))).remove(0);
    let object = job("\"body\":{\"q\" : [1.50, \"\\u00e9\"]}");
    assert_eq!(object.body(), Some(&b"{\"q\" : [1.50, \"\\u00e9\"]}"[..]));
    let mut kinds = object.headers().get_all(&CONTENT_TYPE);
    assert_eq!(kinds.next(), Some(&b"application/json"[..]));
    assert_eq!(object.method, Method::POST);
    let typed = job("\"body\":[],\"headers\":{\"Content-Type\":\"a/b\"}");
    assert_eq!(typed.headers().iter().count(), 1);
    let string = job("\"body\":\"a\\nb\"");
    assert_eq!(string.body(), Some(&b"a\nb"[..]));
    assert_eq!(string.headers().iter().count(), 0);
    assert_eq!(job("\"body\":null").body(), None);
    assert_eq!(job("\"body_base64\":\"/wA=\"").body(), Some(&[0xFF, 0][..]));
    for fields in [
        "\"body\":1",
        "\"body\":true",
        "\"body\":\"a\",\"body_base64\":\"\"",
        "\"body_base64\":\"?\"",
        "\"body\":\"\\ud800\"",
    ] {
        assert!(bad(with(fields)).what.contains("body"), "{fields}");
    }
}

#[test]
fn a_body_file_is_looked_for_beside_its_job_file() {
    let lines = lines(&case("22-body-file.jsonl"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let missing = &lines[0].as_ref().unwrap_err().what;
    let path = folder.join("nope.json");
    assert!(missing.contains(path.to_str().unwrap()), "{missing}");
    assert!(missing.contains("No such file"), "{missing}");
    let found = lines[1].as_ref().unwrap();
    assert_eq!(found.body(), Some(&b"hello from a file\n"[..]));
    let directory = &lines[2].as_ref().unwrap_err().what;
    assert!(directory.contains("is a directory"), "{directory}");
    let device = bad(with("\"body_file\":\"/dev/zero\""));
    assert!(device.what.contains("not a regular file"), "{device}");
}

#[test]
fn urls_go_out_as_the_whatwg_rules_write_them() {
    assert_eq!(
        seen(&case("24-spaces.urls")),
        want([
            (1, "/a%20b?q=x%20y"),
            (2, "/p|q?x=[1]&y={z}"),
            (3, "/%zz?a=%"),
            (4, "/%2Fok"),
        ])
    );
    let job = jobs(&case("24-spaces.urls")).remove(0);
    assert_eq!(&*job.target.written, "http://127.0.0.1:8080/a b?q=x y");
}

#[test]
fn a_zone_id_and_a_broken_bracket_are_no_address() {
    let seen = seen(&case("27-ipv6.urls"));
    assert_eq!(seen[0].1, "/a");
    assert_eq!(seen[1].1, "zone ids are not supported");
    assert_eq!(seen[2].1, "not a URL: invalid IPv6 address");
    assert_eq!(seen[3].1, "/d");
}

#[test]
fn a_url_without_a_scheme_or_with_another_one_is_refused() {
    let missing = "no scheme, did you mean http://...?";
    assert_eq!(
        seen(&case("28-schemes.urls")),
        want([
            (1, missing),
            (2, missing),
            (3, "relative URL needs --base-url"),
            (4, missing),
            (5, "scheme not supported: \"ftp\""),
            (6, "scheme not supported: \"file\""),
            (7, "/d"),
            (8, "/f"),
        ])
    );
}

#[test]
fn an_input_without_jobs_ends_at_once_and_is_named() {
    for name in ["29-empty.jsonl", "29-comments.urls"] {
        let spec = case(name);
        assert!(open(&spec).unwrap().next().is_none(), "{name}");
        let what = format!("no requests in {}", spec.inputs[0].name());
        assert_eq!(empty(&spec.inputs, None).what, what);
    }
}

#[test]
fn a_line_torn_by_the_end_of_the_input_is_called_so() {
    let seen = seen(&case("30-torn-stdin.txt"));
    assert_eq!(seen, want([(1, "/a"), (2, "input ends inside a record")]));
    assert!(bad("{\"url\":\n").what.starts_with("not valid JSON"));
}

#[test]
fn a_line_is_refused_with_the_byte_at_which_it_went_wrong() {
    for (line, column, what) in [
        ("{\"url\":7}", 8, "\"url\" must be a string"),
        (
            "{\"url\":\"http://h/\",\"method\":\"a b\"}",
            29,
            "\"method\" is not an HTTP method",
        ),
        (
            "{\"url\":\"http://h/\",\"url\":\"\"}",
            26,
            "\"url\" is given twice",
        ),
        (
            "{\"url\":\"http://h/\",\"tokens\":1,\"weight\":2}",
            40,
            "\"weight\" is given twice",
        ),
        (
            "{\"id\":7,\"url\":\"http://h/\"}",
            7,
            "\"id\" must be a string",
        ),
        ("  ftp://h/", 3, "scheme not supported: \"ftp\""),
    ] {
        let bad = bad(line);
        assert_eq!((bad.column, &*bad.what), (column, what), "{line}");
    }
}

#[test]
fn units_are_whole_numbers_and_zero_is_one() {
    let units = |fields: &str| {
        let mut spec = text(with(fields));
        spec.units = UnitsRule::Reserve(Estimator::Chars);
        let units = jobs(&spec)[0].units.unwrap();
        (units.input, units.output, units.source)
    };
    let body = "\"body\":{\"max_tokens\":9,\"q\":\"abcd\"}";
    for (fields, input, output) in [
        ("\"tokens\":0", 0, 0),
        ("\"weight\":5000", 5000, 0),
        ("\"input_tokens\":3,\"output_tokens\":4", 3, 4),
        ("\"input_tokens\":0,\"output_tokens\":0", 0, 0),
        ("\"output_tokens\":4", 0, 4),
        (&format!("\"input_tokens\":3,{body}"), 3, 0),
        (&format!("\"tokens\":20,{body}"), 11, 9),
        (&format!("\"tokens\":5,{body}"), 0, 5),
        (&format!("\"tokens\":20,\"input_tokens\":5,{body}"), 5, 15),
        (&format!("\"tokens\":20,\"output_tokens\":5,{body}"), 15, 5),
        ("\"tokens\":20,\"input_tokens\":30", 20, 0),
        ("\"tokens\":20,\"output_tokens\":30", 0, 20),
    ] {
        assert_eq!(units(fields), (input, output, UnitsFrom::Job), "{fields}");
    }
    assert_eq!(units("\"body\":\"abcde\""), (2, 0, UnitsFrom::Estimate));
    assert_eq!(units(body), (1, 9, UnitsFrom::Estimate));
    for wrong in ["-1", "1.5", "1e3", "\"7\"", "true", "18446744073709551616"] {
        let what = bad(with(&format!("\"tokens\":{wrong}"))).what;
        assert_eq!(what, "\"tokens\" must be a whole number from 0", "{wrong}");
    }
    assert_eq!(jobs(&text(with("\"tokens\":1")))[0].units, None);
}

#[test]
fn a_whole_is_parted_by_what_its_body_asks_for() {
    let mut spec = case("41-usage.jsonl");
    spec.units = UnitsRule::Reserve(Estimator::Chars);
    let parts = jobs(&spec)
        .into_iter()
        .map(|job| (job.units.unwrap().input, job.units.unwrap().output));
    assert_eq!(parts.collect::<Vec<_>>(), [(10, 90); 20]);
}

#[test]
fn each_job_has_its_keys_and_a_field_for_one_is_not_unknown() {
    let line = with("\"tenant\":\"t\",\"headers\":{\"authorization\":\"canary\"},\"metod\":1");
    let mut spec = text(line + "{\"url\":\"http://h:81/\",\"headers\":{\"x-a\":\"own\"}}\n");
    let header = |name: &'static str| KeyBy::Header(name.into());
    spec.per = vec![
        KeyBy::Field("tenant".into()),
        KeyBy::Host,
        header("x-a"),
        header("authorization"),
    ];
    let (name, value) = ("x-a".parse().unwrap(), "line".parse().unwrap());
    spec.headers.add(&name, &value);
    let keys: Vec<Vec<String>> = jobs(&spec)
        .iter()
        .map(|job| job.keys.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(keys, [["t", "h", "line", "key 1"], ["", "h:81", "own", ""]]);
    let mut source = open(&spec).unwrap();
    source.next();
    let notices = source.notices();
    assert!(
        notices.len() == 1 && notices[0].contains("metod"),
        "{notices:?}"
    );
}

#[test]
fn a_url_of_a_list_has_no_fields() {
    let mut spec = text("http://h/a\n");
    spec.per = vec![KeyBy::Field("/body/model".into()), KeyBy::Host];
    let keys = jobs(&spec).remove(0).keys;
    assert_eq!([&*keys[0], &*keys[1]], ["", "h"]);
}

#[test]
fn a_first_job_with_nothing_to_estimate_is_a_usage_problem() {
    let mut spec = case("05-noeol.urls");
    spec.units = UnitsRule::Reserve(Estimator::Chars);
    let mut source = open(&spec).unwrap();
    let problem = source.next().unwrap().unwrap_err();
    assert_eq!(problem.exit, Exit::Usage);
    assert!(problem.mend.contains("\"tokens\""), "{problem}");
    assert!(source.next().is_none());
    let mut later = text(with("\"tokens\":1") + "{\"url\":\"http://h/\"}");
    later.units = UnitsRule::Reserve(Estimator::Chars);
    assert_eq!(jobs(&later)[1].units.unwrap().reserve(), 0);
}

#[test]
fn the_base_url_completes_relative_urls() {
    let mut spec = text("{\"url\":\"/v1/chat/completions\",\"body\":{}}");
    spec.base_url = Some("http://h".parse().unwrap());
    let job = jobs(&spec).remove(0);
    assert_eq!(&*job.target.written, "http://h/v1/chat/completions");
}

#[test]
fn the_content_decides_the_format_and_the_name_only_where_it_cannot() {
    let json = Input::File("a.jsonl".into());
    let other = Input::File("a.txt".into());
    let told = |text: &[u8], input| Format::of(&First::new(text, true), input).unwrap();
    assert_eq!(told(b" {\"url\":", &other), named("jsonl"));
    assert_eq!(told(b"http://h/", &json), named("urls"));
    assert_eq!(told(b"[ {", &other), named("json"));
    assert_eq!(told(b"{\r\n\"url\"", &other), named("json"));
    assert_eq!(told(b"[::1]/", &other), named("urls"));
    assert_eq!(told(b"_next", &json), named("jsonl"));
    assert_eq!(told(b"", &json), named("jsonl"));
}

#[test]
fn a_file_that_cannot_be_read_stops_everything_before_it_starts() {
    let mut spec = case("05-noeol.urls");
    for (path, why) in [
        ("/nope/jobs.jsonl", "No such file"),
        ("/", "is a directory"),
    ] {
        spec.inputs.push(Input::File(path.into()));
        let problem = open(&spec).err().unwrap();
        assert_eq!((problem.exit, &*problem.place), (Exit::Usage, path));
        assert!(problem.what.contains(why), "{problem}");
        spec.inputs.pop();
    }
    let twice = inputs(&["-".into(), "-".into()]);
    assert!(twice.is_err());
}

#[test]
fn strict_lists_twenty_problems_and_counts_the_rest() {
    let problem = check_strict(text("{}\n".repeat(25))).unwrap_err();
    assert!(problem.what.starts_with("25 problems"), "{problem}");
    assert!(problem.what.contains("-:20:1: "), "{problem}");
    assert!(problem.what.ends_with("and 5 more"), "{problem}");
}

#[test]
fn a_checked_input_can_be_read_once_more() {
    let spec = check_strict(text("http://h/a\nhttp://h/b")).unwrap();
    assert_eq!(seen(&spec), want([(1, "/a"), (2, "/b")]));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

/// An input of which only the given end is written so far.
pub(super) fn pipe() -> (Spec, std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let spec = Spec {
        inputs: vec![Input::File(path.into())],
        ..Spec::default()
    };
    (spec, reader, writer)
}

#[test]
fn the_first_line_of_a_stalled_pipe_is_handed_over_at_once() {
    let (spec, _reader, mut writer) = pipe();
    writer
        .write_all(b"{\"url\":\"http://h/a\",\"metod\":1}\n{\"url\"")
        .unwrap();
    let source = open(&spec).unwrap();
    runtime().block_on(async {
        let mut reader = Reader::spawn(source, None, || Tick(7)).unwrap();
        assert!(matches!(reader.next().await, Some(Line::Notice(_))));
        match reader.next().await {
            Some(Line::Read(line, at)) => assert_eq!((line.is_ok(), at.0), (true, 7)),
            other => panic!("{other:?}"),
        }
        drop(writer);
        match reader.next().await {
            Some(Line::Read(line, _)) => assert!(line.is_err()),
            other => panic!("{other:?}"),
        }
        assert!(matches!(reader.next().await, Some(Line::Ended(Ok(())))));
        assert!(reader.next().await.is_none());
    });
}

#[test]
fn a_line_does_not_wait_for_what_is_no_job_behind_it() {
    let (spec, _reader, mut writer) = pipe();
    writer.write_all(b"http://h/a\n# more\n\n").unwrap();
    let source = open(&spec).unwrap();
    runtime().block_on(async {
        let mut reader = Reader::spawn(source, None, Default::default).unwrap();
        assert!(matches!(reader.next().await, Some(Line::Read(Ok(_), _))));
        drop(writer);
        assert!(matches!(reader.next().await, Some(Line::Ended(Ok(())))));
    });
}

#[test]
fn a_thousand_lines_are_handed_over_in_their_order() {
    let spec = text("http://h/\n".repeat(1000));
    runtime().block_on(async {
        let mut reader = Reader::spawn(open(&spec).unwrap(), None, Default::default).unwrap();
        for number in 1..=1000 {
            match reader.next().await {
                Some(Line::Read(line, _)) => assert_eq!(line.unwrap().place.line, number),
                other => panic!("{other:?} at {number}"),
            }
        }
        assert!(matches!(reader.next().await, Some(Line::Ended(Ok(())))));
    });
}

#[test]
fn lines_that_are_there_together_are_ready_at_one_moment_unless_a_file_is_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let plain = with("\"id\":null").repeat(3);
    let filed = with(&format!("\"body_file\":{path:?}")).repeat(2);
    let spec = text(plain.clone() + &filed + &plain);
    let mut moments = Vec::new();
    runtime().block_on(async {
        let asked = AtomicU64::new(0);
        let clock = move || Tick(asked.fetch_add(1, Ordering::Relaxed));
        let mut reader = Reader::spawn(open(&spec).unwrap(), None, clock).unwrap();
        while let Some(Line::Read(line, at)) = reader.next().await {
            assert!(line.is_ok());
            moments.push(at.0);
        }
    });
    assert_eq!(moments, [1, 1, 1, 2, 3, 3, 3, 3]);
}

#[test]
fn lines_longer_than_the_room_are_handed_over_one_by_one() {
    let body = "x".repeat(5 << 20);
    let spec = text(with(&format!("\"body\":\"{body}\"")).repeat(3));
    runtime().block_on(async {
        let mut reader = Reader::spawn(open(&spec).unwrap(), None, Default::default).unwrap();
        for _ in 0..3 {
            assert!(matches!(reader.next().await, Some(Line::Read(..))));
        }
        assert!(matches!(reader.next().await, Some(Line::Ended(Ok(())))));
    });
}

proptest! {
    #[test]
    fn any_bytes_give_one_item_for_each_line_that_is_not_blank(
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[\\[{\",:}\\]a-z0-9\\\\ \u{feff}]{0,40}".prop_map(String::into_bytes),
                "\\{\"url\":\"[ -~]{0,20}\",\"[a-z_]{2,9}\":[ -~]{0,20}\\}".prop_map(String::into_bytes),
            ],
            0..8,
        ),
        format in prop_oneof![Just(named("jsonl")), Just(named("urls"))],
    ) {
        let bytes = lines.join(&b'\n');
        let marked = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let wanted = marked
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
            .filter(|line| format == named("jsonl") || !line.trim_ascii_start().starts_with(b"#"))
            .count();
        prop_assume!(Opening::of(Box::new(io::Cursor::new(bytes.clone()))).is_ok());
        let mut spec = text(&bytes);
        spec.format = Some(format);
        prop_assert_eq!(super::cases::lines(&spec).len(), wanted);
    }
}

#[test]
fn the_moment_of_a_job_is_read_only_where_it_counts() {
    let mut spec = text(
        "{\"url\":\"http://h/a\",\"at\":0.25}\n{\"url\":\"http://h/b\"}\n{\"url\":\"http://h/c\",\"at\":\"noon\"}\n",
    );
    assert!(jobs(&spec).iter().all(|job| job.at.is_none()));
    spec.times = Times::Read;
    let lines = lines(&spec);
    let at = |nth: usize| lines[nth].as_ref().unwrap().at;
    assert_eq!((at(0), at(1)), (Some(Duration::from_millis(250)), None));
    let why = lines[2].as_ref().unwrap_err().to_string();
    assert!(why.starts_with("-:3:26: \"at\" is no moment"), "{why}");
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_input_is_read_as_it_was() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let list = b"\xEF\xBB\xBFhttp://h/a\r\nhttp://h/b".as_slice();
    for packed in [gzip(list), compress_to_vec(list, CompressionLevel::Fastest)] {
        assert_eq!(seen(&text(packed)), want([(1, "/a"), (2, "/b")]));
    }
    let two = [gzip(b"http://h/a\nhttp:"), gzip(b"//h/b\n")].concat();
    assert_eq!(seen(&text(two)), want([(1, "/a"), (2, "/b")]));
}

#[test]
fn a_compressed_input_that_is_cut_off_ends_in_a_problem_behind_its_lines() {
    let lines = "http://h/\n".repeat(100_000);
    let packed = gzip(lines.as_bytes());
    let mut source = open(&text(&packed[..packed.len() / 2])).unwrap();
    let problem = source.find_map(Result::err).unwrap();
    assert_eq!((problem.exit, &*problem.place), (Exit::SomeFailed, "-"));
    assert_eq!(problem.what, "cannot be read: its gzip data is cut off");
    assert!(source.next().is_none());
    let mut wrong = packed.clone();
    wrong[20] ^= 0xFF;
    let problem = open(&text(wrong)).unwrap().find_map(Result::err).unwrap();
    assert!(
        problem.what.contains("its gzip data is damaged"),
        "{problem}"
    );
}

#[test]
fn utf_16_is_told_with_the_way_out() {
    let text16 = |order: fn(u16) -> [u8; 2], mark: &str| {
        let list = format!("{mark}http://h/a\n");
        list.encode_utf16().flat_map(order).collect::<Vec<_>>()
    };
    for (bytes, from) in [
        (text16(u16::to_le_bytes, "\u{feff}"), "UTF-16"),
        (text16(u16::to_be_bytes, "\u{feff}"), "UTF-16"),
        (text16(u16::to_le_bytes, ""), "UTF-16LE"),
        (text16(u16::to_be_bytes, ""), "UTF-16BE"),
        (gzip(&text16(u16::to_le_bytes, "")), "UTF-16LE"),
    ] {
        let problem = open(&text(bytes)).unwrap().next().unwrap().unwrap_err();
        assert_eq!(problem.exit, Exit::Usage);
        assert!(problem.what.contains("UTF-16"), "{problem}");
        assert!(
            problem.mend.contains(&format!("iconv -f {from} -t UTF-8")),
            "{problem}"
        );
    }
}

#[test]
fn utf_32_is_told_by_its_name_and_within_gzip_it_is_undone_first() {
    let text32 = |order: fn(u32) -> [u8; 4], mark: &str| {
        let list = format!("{mark}http://h/a\n");
        let letters = list.chars().map(u32::from);
        letters.flat_map(order).collect::<Vec<_>>()
    };
    let little = text32(u32::to_le_bytes, "\u{feff}");
    for (bytes, mend) in [
        (little.clone(), "iconv -f UTF-32 -t UTF-8 FILE > NEW"),
        (
            text32(u32::to_be_bytes, "\u{feff}"),
            "iconv -f UTF-32 -t UTF-8 FILE",
        ),
        (text32(u32::to_le_bytes, ""), "iconv -f UTF-32LE -t"),
        (text32(u32::to_be_bytes, ""), "iconv -f UTF-32BE -t"),
        (
            gzip(&little),
            "gzip -dc FILE | iconv -f UTF-32 -t UTF-8 | shaper run -",
        ),
    ] {
        let problem = open(&text(bytes)).unwrap().next().unwrap().unwrap_err();
        assert!(problem.what.contains("it is UTF-32,"), "{problem}");
        assert!(problem.mend.contains(mend), "{problem}");
    }
    let page = open(&text(gzip(b"<html>"))).unwrap().next().unwrap();
    let problem = page.unwrap_err();
    assert!(problem.mend.contains("gzip -dc FILE | head"), "{problem}");
}

#[test]
fn a_packing_that_is_not_undone_is_told_with_the_way_out() {
    let xz = b"\xfd7zXZ\0\0\x04".to_vec();
    for (bytes, mend) in [
        (
            gzip(&gzip(b"http://h/\n")),
            "gzip -dc FILE | gzip -dc | shaper run -",
        ),
        (xz.clone(), "xz -dc FILE | shaper run -"),
        (gzip(&xz), "xz -dc FILE | shaper run -"),
    ] {
        let problem = open(&text(bytes)).unwrap().next().unwrap().unwrap_err();
        assert_eq!(problem.exit, Exit::Usage);
        assert!(problem.mend.ends_with(mend), "{problem}");
    }
}

#[test]
fn a_page_is_no_list_of_urls_whatever_they_are_relative_to() {
    for page in [
        "<!DOCTYPE html>\n<p>no",
        "\n <html lang=en>",
        "\u{feff}<?xml version='1.0'?>",
    ] {
        let mut spec = text(page);
        spec.base_url = Some("http://h".parse().unwrap());
        let problem = open(&spec).unwrap().next().unwrap().unwrap_err();
        assert!(problem.what.contains("it is HTML or XML"), "{problem}");
        spec.inputs = text(gzip(page.as_bytes())).inputs;
        assert!(open(&spec).unwrap().next().unwrap().is_err(), "{page}");
    }
    let mut columns = text("<id>,url\n1,http://h/a\n");
    assert_eq!(seen(&columns), want([(2, "/a")]));
    columns.format = Some(named("csv"));
    assert_eq!(seen(&columns), want([(2, "/a")]));
}

#[test]
fn a_compressed_file_is_called_by_what_stands_before_its_ending() {
    let extension = |name: &str| Input::File(name.into()).extension();
    assert_eq!(extension("a.csv.gz").as_deref(), Some("csv"));
    assert_eq!(extension("b/a.JSONL.zst").as_deref(), Some("jsonl"));
    assert_eq!(extension("a.csv").as_deref(), Some("csv"));
    assert_eq!((extension("a"), extension("a.gz")), (None, None));
}

#[test]
fn an_array_of_jobs_is_read_wherever_its_elements_stand() {
    let array = "[{\"id\":\"a\",\"url\":\"http://h/a\"},\n  {\n    \"url\": \"http://h/b\",\n    \"body\": { \"q\" : 1 }\n  }, \
                 {\"url\":\"http://h/c\"}]\n";
    assert_eq!(seen(&text(array)), want([(1, "/a"), (2, "/b"), (5, "/c")]));
    assert_eq!(jobs(&text(array))[1].body(), Some(&b"{ \"q\" : 1 }"[..]));
    let one_by_one = "{\n\"url\":\"http://h/a\"\n}\n{\"url\":\"http://h/b\"}\n";
    assert_eq!(seen(&text(one_by_one)), want([(1, "/a"), (4, "/b")]));
    let hash = |bytes: &str| jobs(&text(bytes)).remove(0).hash;
    assert_eq!(hash(array), hash("{\"url\":\"http://h/a\"}"));
}

#[test]
fn what_is_wrong_with_an_element_is_told_where_it_stands() {
    let array = "[{\"url\":\"http://h/a\"}, 7, {\"id\":\"a\",\n  \"metod\":1,\n  \"url\":\"ftp://h/\"},\n{\"url\":\n}]";
    let spec = text(array);
    let mut source = open(&spec).unwrap();
    let bad: Vec<String> = source
        .by_ref()
        .filter_map(|line| line.unwrap().err())
        .map(|bad| bad.to_string().lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(bad[0], "-:1:24: a job is a JSON object");
    assert_eq!(bad[1], "-:3:9: scheme not supported: \"ftp\"");
    assert!(
        bad[2].starts_with("-:5:1: not valid JSON: here a value is due"),
        "{}",
        bad[2]
    );
    let notices = source.notices();
    assert!(
        notices[0].starts_with("-:2:11: unknown field \"metod\""),
        "{notices:?}"
    );
    let places: Vec<u64> = lines(&spec)
        .into_iter()
        .filter_map(Result::err)
        .map(|bad| bad.place.line)
        .collect();
    assert_eq!(places, [1, 1, 4], "a result tells where its record begins");
}

#[test]
fn an_array_that_breaks_is_one_bad_record_behind_those_that_were_whole() {
    for (array, place, what) in [
        (
            "[{\"url\":\"http://h/a\"}\n{\"url\":\"http://h/b\"}]",
            "-:2:1",
            "between two elements a comma is due",
        ),
        (
            "[{\"url\":\"http://h/a\"},\n{\"url\":",
            "-:2:7",
            "input ends inside a record",
        ),
        (
            "[{\"url\":\"http://h/a\"}\n",
            "-:2:1",
            "input ends inside the array",
        ),
    ] {
        let mut lines = lines(&text(array));
        let bad = lines.pop().unwrap().unwrap_err();
        assert!(
            bad.to_string().starts_with(&format!("{place}: {what}\n")),
            "{bad}"
        );
        assert!(bad.mend.contains("is unread"), "{bad}");
        assert_eq!(lines.len(), 1, "{array}");
        assert!(lines[0].is_ok());
    }
}

#[test]
fn the_first_element_of_a_stalled_pipe_is_a_job() {
    let (spec, _reader, mut writer) = pipe();
    writer.write_all(b"[{\"url\":\"http://h/a\"}").unwrap();
    let mut source = open(&spec).unwrap();
    assert!(source.next().unwrap().unwrap().is_ok());
    writer.write_all(b", {\"url\":\"http://h/b\"}").unwrap();
    assert!(source.next().unwrap().unwrap().is_ok());
    writer.write_all(b"]").unwrap();
    drop(writer);
    assert!(source.next().is_none());
}

proptest! {
    #[test]
    fn nothing_of_an_array_is_lost(
        elements in prop::collection::vec(
            prop_oneof![
                "\\{\"url\":\"http://h/[a-z]{0,9}\"\\}",
                "\\{\"[a-z]{1,3}\":\"[ -!#-\\[\\]-~]{0,9}\"\\}",
                "[1-9][0-9]{0,3}",
                Just("[[],{\"]\":1}]".to_owned()),
            ],
            1..8,
        ),
        gap in "[ \n\t]{1,3}",
        torn in any::<bool>(),
    ) {
        let comma = format!("{gap},{gap}");
        let mut array = format!("{gap}[{gap}{}{gap}]{gap}", elements.join(&comma));
        if torn {
            array.truncate(array.trim_end().len() - 1);
        }
        let mut spec = text(&array);
        spec.format = Some(named("json"));
        prop_assert_eq!(super::cases::lines(&spec).len(), elements.len() + usize::from(torn));
    }
}

#[test]
fn each_round_has_all_lines_again_and_the_same_ones_are_bad() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.jsonl");
    let lines = [
        with("\"id\":\"a\""),
        with("\"id\":\"b\""),
        with("\"id\":\"a\""),
    ];
    std::fs::write(&path, lines.concat()).unwrap();
    let spec = |repeat: &str, limit_jobs| Spec {
        inputs: vec![Input::File(path.clone()); 2],
        repeat: repeat.parse().unwrap(),
        limit_jobs,
        ..Spec::default()
    };
    let shown = |spec: &Spec| {
        let lines = super::open(spec).unwrap().map(Result::unwrap);
        let show = |line: Result<Job, BadLine>| match line {
            Ok(job) => format!("{} {}", job.round, job.place.line),
            Err(bad) => bad.what,
        };
        lines.map(show).collect::<Vec<_>>()
    };
    let rounds = shown(&spec("3", None));
    let bad = |line: &String| line.starts_with("duplicate id");
    assert_eq!(rounds.len(), 3 * 6);
    for (round, lines) in rounds.chunks(6).enumerate() {
        assert_eq!(lines[..2], [format!("{round} 1"), format!("{round} 2")]);
        assert!(lines[2..].iter().all(bad), "{lines:?}");
    }
    assert_eq!(shown(&spec("forever", Some(20))).len(), 20);
    assert_eq!(super::count::count(&spec("3", None)), Some(18));
    assert_eq!(super::count::count(&spec("forever", Some(20))), Some(20));
    assert_eq!(super::count::count(&spec("forever", None)), None);
}

#[test]
fn a_file_without_jobs_is_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.urls");
    std::fs::write(&path, "# nothing\n\n").unwrap();
    let spec = Spec {
        inputs: vec![Input::File(path)],
        repeat: "forever".parse().unwrap(),
        ..Spec::default()
    };
    assert_eq!(super::open(&spec).unwrap().count(), 0);
    assert_eq!(super::count::count(&spec), Some(0));
}

#[test]
fn a_job_of_a_later_round_is_another_one_to_a_server_that_knows_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.jsonl");
    std::fs::write(&path, with("\"id\":\"a\"") + &with("\"method\":\"PUT\"")).unwrap();
    let spec = Spec {
        inputs: vec![Input::File(path)],
        repeat: "2".parse().unwrap(),
        once: Some(7),
        ..Spec::default()
    };
    let keys = super::open(&spec).unwrap().map(|line| {
        let job = line.unwrap().unwrap();
        let name = crate::retry::IDEMPOTENCY_KEY;
        job.headers().get_all(&name).next().unwrap().to_vec()
    });
    let keys: std::collections::BTreeSet<_> = keys.collect();
    assert_eq!(keys.len(), 4);
}
