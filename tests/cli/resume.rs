//! `--resume`: what is done is not sent again, what is not is, and nothing that is there is harmed.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Gate, Server, Step};
use crate::support::{case, message, statuses};

/// A run of these jobs with this file of results.
fn with(jobs: &[u8], results: &[u8]) -> Shaper {
    Shaper::run()
        .jobs("jobs.jsonl", jobs)
        .file(OUT, results)
        .with_results()
}

/// The same command line once more, going on.
fn resume(done: Output) -> Shaper {
    done.again()
        .args(["run", "jobs.jsonl", "--resume"])
        .with_results()
        .reporting()
}

fn ids(results: &[Value]) -> Vec<&str> {
    results
        .iter()
        .map(|line| line["id"].as_str().unwrap_or_default())
        .collect()
}

fn jobs_of(server: &Server, names: &[&str]) -> String {
    let line = |name: &&str| {
        format!(
            "{{\"id\":\"{name}\",\"url\":\"{}\"}}\n",
            server.url(&format!("/{name}"))
        )
    };
    names.iter().map(line).collect()
}

#[test]
fn a_torn_last_line_is_cut_off_and_told_and_its_job_runs() {
    let server = Server::start([Step::ok()]);
    let (jobs, torn) = (
        case("81-jobs.jsonl", &server),
        case("81-out-torn.jsonl", &server),
    );
    let done = with(&jobs, &torn).args(["--resume"]).reporting().ends(0);
    done.says("22 bytes at byte 188");
    assert_eq!(server.targets(), ["/c", "/d", "/e"]);
    assert_eq!(ids(&done.results()), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        done.bytes("out.jsonl.torn"),
        b"{\"seq\":2,\"id\":\"c\",\"sta\n"
    );
    assert_eq!(done.counts().ok, 5);
    assert_eq!(done.report()["counts"]["done_before"], 2);
}

#[test]
fn a_whole_last_line_without_its_newline_is_kept() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let whole = case("81-out-torn.jsonl", &server);
    let done = with(&jobs, &whole[..187]).args(["--resume"]).ends(0);
    assert_eq!(server.targets(), ["/c", "/d", "/e"]);
    assert_eq!(ids(&done.results()), ["a", "b", "c", "d", "e"]);
    assert!(!done.path("out.jsonl.torn").exists());
}

#[test]
fn damage_in_the_middle_stops_with_its_line_and_changes_nothing() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let bad = case("83-out-midbad.jsonl", &server);
    let refused = with(&jobs, &bad).args(["--resume"]).ends(2);
    refused.says("out.jsonl:2: ").says("--repair");
    assert_eq!(refused.bytes(OUT), bad);
    assert_eq!(server.requests().len(), 0);
    let repaired = resume(refused).args(["--repair"]).ends(0);
    repaired.says("1 line");
    assert_eq!(server.targets(), ["/b", "/d", "/e"]);
    assert_eq!(ids(&repaired.results()), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        repaired.bytes("out.jsonl.bad"),
        b"{\"seq\":1,\"id\":\"b\",\"sta\n"
    );
}

#[test]
fn lines_of_nothing_and_bytes_of_zero_are_damage_too() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let whole = case("86-out-onefailed.jsonl", &server);
    for bad in [
        &b"{}\n"[..],
        b"[1]\n",
        b"{\"seq\":0,\"status\":\"ok\"}\n",
        b"{\"id\":\"c\",\"status\":\"done\"}\n",
        b"{\"job\":\"12\",\"status\":\"ok\"}\n",
        b"\xff\xfe\n",
        b"\0\0\0\0\n",
    ] {
        let damaged = [bad, &whole].concat();
        let refused = with(&jobs, &damaged).args(["--resume"]).ends(2);
        refused.says("out.jsonl:1: ");
        assert_eq!(refused.bytes(OUT), damaged);
    }
    assert_eq!(server.requests().len(), 0);
    // What a machine without power leaves at the end of a file.
    let zeros = [&whole[..], b"\0\0\0\0"].concat();
    let done = with(&jobs, &zeros).args(["--resume"]).ends(1);
    done.says("4 bytes");
    assert_eq!(done.results().len(), 5);
}

#[test]
fn a_file_that_is_no_result_at_all_is_left_alone_even_to_repair() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    for text in [&b"dear diary\nnothing\n"[..], b"dear diary"] {
        let refused = with(&jobs, text).args(["--resume", "--repair"]).ends(2);
        refused.says("not written by shaper");
        assert_eq!(refused.bytes(OUT), text);
        assert!(!refused.path("out.jsonl.bad").exists());
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_is_set_aside_goes_to_a_file_of_its_own_or_nothing_is_changed() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let torn = case("81-out-torn.jsonl", &server);
    let ready = with(&jobs, &torn).args(["--resume"]);
    std::os::unix::fs::symlink("/dev/null", ready.path("out.jsonl.torn")).expect("it is ours");
    let refused = ready.ends(3);
    refused.says("out.jsonl.torn cannot be written: it is no regular file");
    assert_eq!(refused.bytes(OUT), torn);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_damaged_run_file_is_told_and_without_one_the_results_say_where_to_go_on() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let old = case("86-out-onefailed.jsonl", &server);
    for damaged in ["", "{", "hello"] {
        let refused = with(&jobs, &old)
            .file("out.jsonl.run", damaged)
            .args(["--resume"])
            .ends(2);
        refused
            .says("out.jsonl.run: does not tell what the run was")
            .says("move it away");
        assert_eq!(refused.bytes(OUT), old);
    }
    let done = with(&jobs, &old).args(["--resume"]).ends(1);
    assert_eq!(done.results().len(), 5);
}

#[test]
fn results_that_are_there_are_refused_without_a_word_about_them() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let old = case("86-out-onefailed.jsonl", &server);
    let refused = with(&jobs, &old).ends(2);
    refused.says("out.jsonl exists, use --resume or --overwrite");
    assert_eq!(refused.bytes(OUT), old);
}

#[test]
fn jobs_that_failed_keep_their_result_unless_they_are_to_run_again() {
    let server = Server::start([Step::ok()]);
    let jobs = case("81-jobs.jsonl", &server);
    let old = case("86-out-onefailed.jsonl", &server);
    let kept = with(&jobs, &old).args(["--resume"]).reporting().ends(1);
    kept.says("failed 1 (kept; --retry-failed runs them again)");
    assert_eq!(server.targets(), ["/c", "/d", "/e"]);
    assert_eq!(
        statuses(&kept.results()),
        ["ok", "failed", "ok", "ok", "ok"]
    );
    assert_eq!(kept.counts().failed, 1);
    let again = resume(kept).args(["--retry-failed"]).ends(0);
    assert_eq!(server.targets(), ["/b", "/c", "/d", "/e"]);
    let results = again.results();
    assert_eq!(statuses(&results), ["ok", "failed", "ok", "ok", "ok", "ok"]);
    // The later line is its result: nothing is left to do, and nothing failed.
    let nothing = resume(again).args(["--retry-failed"]).ends(0);
    assert_eq!(nothing.report()["counts"]["ok"], 5);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_job_without_an_id_that_failed_is_run_again_once() {
    let server = Server::start([Step::status(404), Step::ok()]);
    let jobs = format!("{}\n{}\n", server.url("/same"), server.url("/same"));
    let first = Shaper::run()
        .jobs("jobs.jsonl", jobs)
        .with_results()
        .args(["-c", "1"])
        .ends(1);
    let again = resume(first).args(["--retry-failed"]).ends(0);
    assert_eq!(server.requests().len(), 3);
    let nothing = resume(again).args(["--retry-failed"]).ends(0);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(nothing.report()["counts"]["ok"], 2);
}

#[test]
fn another_input_is_refused_before_anything_is_sent_unless_it_is_forced() {
    let server = Server::start([Step::ok()]);
    let jobs = jobs_of(&server, &["a", "b"]);
    let first = with(jobs.as_bytes(), b"").args(["-c", "1"]).ends(0);
    let old = first.bytes(OUT);
    let other_body = jobs.replace("/b\"", "/changed\"");
    let refused = resume(first).file("jobs.jsonl", other_body).ends(2);
    refused
        .says("jobs.jsonl:2: the result of id \"b\"")
        .says("--force-resume");
    let others = jobs_of(&server, &["a", "c"]);
    let refused = resume(refused).file("jobs.jsonl", others).ends(2);
    refused.says("out.jsonl:2: this result matches no line");
    assert_eq!(refused.bytes(OUT), old);
    assert_eq!(server.requests().len(), 2);
    let forced = resume(refused).args(["--force-resume"]).ends(0);
    forced.says("1 result in out.jsonl matches no line");
    assert_eq!(server.targets(), ["/a", "/b", "/c"]);
}

#[test]
fn another_base_url_makes_other_jobs() {
    let server = Server::start([Step::ok()]);
    let run = |shaper: Shaper, base: &str| {
        let base = server.url(base);
        shaper.args(["--base-url", &base]).output()
    };
    let first = run(with(b"{\"url\":\"x\"}\n", b""), "/one/");
    first.exits(0);
    let refused = run(resume(first), "/two/");
    refused.exits(2).says("--base-url");
    let same = run(resume(refused), "/one/");
    same.exits(0);
    assert_eq!(server.targets(), ["/one/x"]);
}

#[test]
fn jobs_are_matched_by_content_and_not_by_position() {
    let server = Server::start([Step::ok()]);
    let lines = |order: &[usize]| -> String {
        let line = |nth: &usize| server.url(&format!("/{nth}\n"));
        order.iter().map(line).collect()
    };
    let first = with(lines(&[0, 1, 2, 1]).as_bytes(), b"").ends(0);
    let more = resume(first)
        .file(
            "jobs.jsonl",
            format!("# new\n{}", lines(&[1, 3, 2, 0, 1, 1])),
        )
        .ends(0);
    // One more of those that were done twice, and the new one.
    assert_eq!(server.targets(), ["/0", "/1", "/1", "/1", "/2", "/3"]);
    assert_eq!(more.report()["counts"]["done_before"], 4);
}

#[test]
fn invalid_lines_keep_their_result_and_are_not_told_twice() {
    let server = Server::start([Step::ok()]);
    let jobs = format!("{{\"id\":1}}\n{}nonsense {{\n", jobs_of(&server, &["a"]));
    let first = with(jobs.as_bytes(), b"").ends(1);
    let lines = first.results().len();
    let again = resume(first).ends(1);
    assert_eq!(again.results().len(), lines);
    assert_eq!(again.counts().invalid, 2);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_missing_or_empty_file_is_a_fresh_start() {
    let server = Server::start([Step::ok()]);
    let jobs = jobs_of(&server, &["a"]);
    Shaper::run()
        .jobs("jobs.jsonl", &jobs)
        .with_results()
        .args(["--resume"])
        .ends(0);
    let empty = with(jobs.as_bytes(), b"").args(["--resume"]).ends(0);
    assert_eq!(server.requests().len(), 2);
    assert_eq!(empty.results().len(), 1);
}

#[test]
fn on_stdin_a_wrong_id_stops_the_run_and_what_is_left_is_told_at_the_end() {
    let server = Server::start([Step::ok()]);
    let jobs = jobs_of(&server, &["a", "b"]);
    let first = with(jobs.as_bytes(), b"").ends(0);
    let piped = |done: Output, jobs: String| {
        done.again()
            .args(["run", "-", "--resume"])
            .with_results()
            .reporting()
            .stdin(jobs)
            .output()
    };
    let more = piped(first, jobs_of(&server, &["b", "c"]));
    more.exits(0).says("1 result in out.jsonl matches no line");
    assert_eq!(server.targets(), ["/a", "/b", "/c"]);
    let wrong = piped(more, jobs.replace("/b\"", "/changed\""));
    assert_ne!(wrong.code, Some(0));
    wrong.says("-:2: the result of id \"b\"");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn what_makes_no_sense_with_resume_is_a_usage_error() {
    let server = Server::start([Step::ok()]);
    let jobs = jobs_of(&server, &["a"]);
    for (args, word) in [
        (&["--resume"][..], "--output"),
        (&["--resume", "-o", "-"], "-o FILE"),
        (&["--resume", "-o", "/dev/null"], "regular file"),
        (&["--resume", "--overwrite", "-o", "o"], "--overwrite"),
        (&["--retry-failed", "-o", "o"], "--resume"),
        (&["--force-resume", "-o", "o"], "--resume"),
        (&["--repair", "-o", "o"], "--resume"),
        (&["--fsync", "0s", "-o", "o"], "never, end"),
        (&["--fsync", "soon", "-o", "o"], "never, end"),
    ] {
        let refused = Shaper::run().jobs("jobs.jsonl", &jobs).args(args).ends(2);
        refused.says(word);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_file_that_a_run_writes_to_is_not_gone_on_with_and_its_holder_is_named() {
    let gate = Gate::default();
    let server = Server::start([Step::ok(), Step::ok().behind(&gate)]);
    let mut running = Shaper::run()
        .jobs("jobs.jsonl", jobs_of(&server, &["a", "b"]))
        .with_results()
        .args(["-c", "1"])
        .start();
    running.until("two requests", || server.requests().len() == 2);
    let out = running.path(OUT);
    let held = format!("another run (process {})", running.id());
    for how in ["--resume", "--overwrite"] {
        let refused = Shaper::run()
            .jobs("jobs.jsonl", jobs_of(&server, &["a", "b"]))
            .args(["-o".as_ref(), out.as_os_str(), how.as_ref()])
            .ends(2);
        refused.says("another run");
        if cfg!(target_os = "linux") {
            refused.says(&held);
        }
    }
    gate.open();
    let done = running.wait();
    done.exits(0);
    assert_eq!(done.results().len(), 2);
}

#[test]
fn with_every_way_of_syncing_the_results_are_whole() {
    let server = Server::start([Step::ok()]);
    for fsync in ["never", "end", "10ms"] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(50))
            .with_results()
            .args(["--qps", "500", "--fsync", fsync])
            .ends(0);
        assert_eq!(done.results().len(), 50);
    }
}

#[test]
fn a_second_run_of_mended_lines_sends_only_those() {
    let server = Server::start([Step::ok()]);
    let jobs = format!("{}{{\"id\":\"b\"}}\n", jobs_of(&server, &["a"]));
    let mut first = with(jobs.as_bytes(), b"").ends(1);
    let bad = first.results();
    assert!(message(&bad[1]).contains("url"), "{bad:?}");
    let mended = jobs_of(&server, &["a", "b"]);
    for _ in 0..2 {
        let done = resume(first).file("jobs.jsonl", &mended).ends(0);
        assert_eq!(server.targets(), ["/a", "/b"]);
        first = done;
    }
}

#[test]
fn of_equal_jobs_those_without_a_result_run_and_each_keeps_its_meta() {
    let gate = Gate::default();
    let behind = Step::ok().behind(&gate);
    let server = Server::start([behind.clone(), behind, Step::status(400), Step::ok()]);
    let url = server.url("/same");
    let line = |row| format!("{{\"url\":\"{url}\",\"meta\":{row}}}\n");
    let jobs: String = (0..4).map(line).collect();
    let mut running = with(jobs.as_bytes(), b"").args(["-c", "3"]).start();
    running.until("four requests", || server.requests().len() == 4);
    let out = running.path(OUT);
    running.until("two results", || {
        std::fs::read_to_string(&out).is_ok_and(|text| text.lines().count() == 2)
    });
    running.signal(Signal::KILL);
    let mut killed = running.wait();
    // It failed and was not to be run again; a later run changes nothing of it.
    for _ in 0..2 {
        killed = resume(killed).ends(1);
        assert_eq!(server.requests().len(), 6);
        let rows = killed.results();
        assert!(
            rows.iter()
                .zip(0..)
                .all(|(row, nth)| row["seq"] == nth && row["meta"] == nth)
        );
        assert_eq!(killed.counts().failed, 1);
    }
    gate.open();
}

#[test]
fn a_job_that_was_run_again_from_another_place_of_the_input_is_done() {
    let server = Server::start([Step::status(400), Step::ok()]);
    let line = |name: &str| server.url(&format!("/{name}\n"));
    let first = with(line("a").as_bytes(), b"").ends(1);
    let moved = [line("b"), line("a")].concat();
    let mut done = resume(first)
        .file("jobs.jsonl", &moved)
        .args(["--retry-failed"])
        .output();
    for _ in 0..2 {
        done.exits(0);
        assert_eq!(server.targets(), ["/a", "/a", "/b"]);
        assert_eq!(done.report()["counts"]["ok"], 2);
        let failed = done.again().args(["report", OUT, "--failed-jobs"]).ends(0);
        failed.says("none of 3 results");
        done = resume(failed).args(["--retry-failed"]).output();
    }
}
