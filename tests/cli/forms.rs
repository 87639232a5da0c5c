//! The forms of a report, as they come out of a run.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};

/// A run against the modelled API with limits on requests and units, and failures.
fn run() -> Shaper {
    let job = |n| format!("{{\"url\":\"http://h/{n}\",\"tokens\":{}}}\n", 10 + n % 7);
    let jobs: String = (0..40).map(job).collect();
    Shaper::run()
        .jobs("jobs.jsonl", jobs)
        .args(["--quiet", "--seed", "5", "-c", "8", "--qps", "200"])
        .args([
            "--tpm",
            "100k",
            "--window",
            "30/100ms",
            "--max-attempts",
            "1",
        ])
        .args(["--mock=latency=5ms,fail=503:20%,tokens=3"])
        .with_results()
}

#[test]
fn the_json_of_a_run_keeps_to_the_schema() {
    const SCHEMA: &str = include_str!("../../fixtures/report.schema.json");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler.add_resource("report", schema).expect("it is new");
    let schema = compiler.compile("report", &mut schemas);
    let schema = schema.expect("the schema is one");
    let done = run().reporting().ends(1);
    let report = done.report();
    let told = schemas.validate(&report, schema);
    if let Err(why) = told {
        panic!("{why:#}\n{report}");
    }
    assert_eq!(report["proof"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_table_of_a_run_has_its_figures_and_those_of_its_proof() {
    let done = run()
        .args(["--report", "csv", "--report-file", "-"])
        .ends(1);
    let text = done.text();
    let results = done.results();
    let failed = results.iter().filter(|line| line["status"] == "failed");
    let failed = format!("\ncounts.failed,,{},lines\n", failed.count());
    assert!(text.starts_with("metric,label,value,unit\n"), "{text}");
    assert!(text.contains(&failed), "{failed} in {text}");
    assert!(text.contains("\nproof.verdict,qps,kept,\n"), "{text}");
    let proved = done.again().args(["verify", OUT, "--report", "csv"]);
    let proved = proved.ends(0);
    let text = proved.text();
    assert!(text.contains("\nlimits.verdict,window,kept,\n"), "{text}");
    let sends = format!("\nfiles.sends,{OUT},{},sends\n", results.len());
    assert!(text.contains(&sends), "{sends} in {text}");
}

#[test]
fn the_latencies_of_a_run_are_a_log_and_percentiles_to_plot() {
    let done = run()
        .args(["--hdr", "run.hlog", "--hdr", "run.since_due_ok.hgrm"])
        .reporting()
        .ends(1);
    let report = done.report();
    let text = fs::read_to_string(done.path("run.hlog")).expect("it was asked for");
    let entries = IntervalLogIterator::new(text.as_bytes());
    let mut clocks = Vec::new();
    let intervals = entries.filter_map(|entry| match entry.expect("every line is understood") {
        LogEntry::Interval(interval) => Some(interval),
        LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
            clocks.push(UNIX_EPOCH + at);
            None
        }
    });
    let mut tags = Vec::new();
    for interval in intervals {
        let bytes = STANDARD.decode(interval.encoded_histogram());
        let bytes = bytes.expect("histograms are base64");
        let read = Deserializer::new().deserialize(&mut &bytes[..]);
        let read: Histogram<u64> = read.expect("histograms can be read");
        let tag = interval.tag().expect("each has one").as_str();
        let (part, verdict) = tag.rsplit_once('_').expect("tags have two parts");
        let told = &report["latency"][part][verdict];
        assert_eq!(told["n"], read.len(), "{tag} of {report}");
        let p90 = told["p90"].as_f64().expect("some failed, some did not");
        let read = Duration::from_nanos(read.value_at_quantile(0.9)).as_secs_f64() * 1e3;
        assert!((read / p90 - 1.0).abs() < 0.001, "{tag}: {read} {p90}");
        tags.push(tag);
    }
    let all = [
        "service_ok",
        "service_failed",
        "since_due_ok",
        "since_due_failed",
    ];
    assert_eq!(tags, all);
    let started = report["started"].as_str().expect("a run knows its start");
    let started = humantime::parse_rfc3339(started).expect("it is a date");
    for clock in clocks {
        let apart = started
            .duration_since(clock)
            .expect("the log has milliseconds");
        assert!(apart < Duration::from_millis(1), "{apart:?} in {text}");
    }
    let text = fs::read_to_string(done.path("run.since_due_ok.hgrm"));
    let text = text.expect("it was asked for");
    let count = report["latency"]["since_due"]["ok"]["n"].as_u64();
    let count = format!("Total count    = {:>12}]", count.expect("a count"));
    assert!(text.contains(&count), "{count} in {text}");
}

#[test]
fn files_beside_a_report_that_have_no_place_are_told_before_anything_is_sent() {
    let server = Server::start([Step::ok()]);
    let list = server.list(2);
    for (option, file, exit, said) in [
        ("--hdr", "no/such/folder/a", 3, "its folder does not exist"),
        ("--hdr", ".", 3, "it is a directory"),
        ("--hdr", "jobs.txt", 2, "the jobs are read from it"),
        ("--hdr", OUT, 2, "name FILE.hlog"),
        ("--hdr", "page.txt", 2, "the page goes there"),
        ("--hdr", "./a", 2, "the latencies go there"),
        ("--hdr", "-", 2, "name a file"),
        ("--html", "-", 2, "name a file"),
        ("--html", "no/such/folder/a", 3, "its folder does not exist"),
        ("--html", "jobs.txt", 2, "the jobs are read from it"),
        ("--html", OUT, 2, "the results go there"),
        ("--html", "out.jsonl.run", 2, "what the run was goes there"),
        ("--html", "report.json", 2, "the report goes there"),
    ] {
        let done = Shaper::run().jobs("jobs.txt", &list).with_results();
        let others: &[&str] = match option {
            "--html" => &[],
            _ => &["--html", "page.txt", "--hdr", "a"],
        };
        let done = done.reporting().args(others).args([option, file]);
        let done = done.ends(exit);
        done.says(said).says(option);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn files_beside_a_report_are_written_also_by_a_quiet_run_that_prints_none() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(2))
        .args(["--quiet", "--report", "none", "--html", "a.html"])
        .args(["--hdr", "/dev/full", "--hdr", "a.hgrm"])
        .with_results()
        .ends(3);
    done.says("/dev/full").says("name another file with --hdr");
    let text = fs::read_to_string(done.path("a.hgrm")).expect("the others are written");
    assert!(text.contains("Total count    =            2]"), "{text}");
    let page = fs::read_to_string(done.path("a.html")).expect("the others are written");
    assert!(page.ends_with("</html>\n"), "{page}");
}

#[test]
fn the_page_of_a_run_holds_its_json_report_and_replaces_an_older_one() {
    let done = run().file("page.html", "old").reporting();
    let done = done.args(["--html", "page.html"]).ends(1);
    let page = fs::read_to_string(done.path("page.html")).expect("it was asked for");
    let (_, data) = page
        .split_once("id=\"data\">")
        .expect("its script has data");
    let (data, _) = data.split_once("</script>").expect("they end");
    let data: Value = serde_json::from_str(data).expect("they are JSON");
    assert_eq!(data["runs"][0]["report"], done.report());
    assert!(page.len() < 400_000, "{}", page.len());
    let beside = fs::read_dir(done.path(".")).expect("it is there");
    let names = beside.map(|entry| entry.expect("it is there").file_name());
    let left = names.filter(|name| name.to_string_lossy().contains(".new"));
    assert_eq!(left.count(), 0, "{done}");
}
