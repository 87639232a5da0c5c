//! The forms of a report, as they come out of a run.

use crate::support::program::{OUT, Shaper};

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
    let done = run().reporting().output();
    done.exits(1);
    let report = done.report();
    let told = schemas.validate(&report, schema);
    let told = told.map_err(|why| format!("{why:#}"));
    assert_eq!(told.err(), None, "{report}");
    assert_eq!(report["proof"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_table_of_a_run_has_its_figures_and_those_of_its_proof() {
    let done = run()
        .args(["--report", "csv", "--report-file", "-"])
        .output();
    done.exits(1);
    let text = String::from_utf8(done.stdout.clone()).expect("a table is text");
    let results = done.results();
    let failed = results.iter().filter(|line| line["status"] == "failed");
    let failed = format!("\ncounts.failed,,{},lines\n", failed.count());
    assert!(text.starts_with("metric,label,value,unit\n"), "{text}");
    assert!(text.contains(&failed), "{failed} in {text}");
    assert!(text.contains("\nproof.verdict,qps,kept,\n"), "{text}");
    let proved = done.again().args(["verify", OUT, "--report", "csv"]);
    let proved = proved.output();
    proved.exits(0);
    let text = String::from_utf8_lossy(&proved.stdout);
    assert!(text.contains("\nlimits.verdict,window,kept,\n"), "{text}");
    let sends = format!("\nfiles.sends,{OUT},{},sends\n", results.len());
    assert!(text.contains(&sends), "{sends} in {text}");
}
