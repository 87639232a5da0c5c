//! `shaper report --failed-jobs`: the lines of failed jobs, to be run again, or why they cannot be.

use std::fs;

use serde_json::Value;

use crate::support::program::{OUT, Output, RUN, Shaper};
use crate::support::server::{Server, Step};

/// Refuses targets with `bad` in them.
fn server() -> Server {
    Server::answering(|ask| {
        if ask.target.contains("bad") {
            Step::status(400)
        } else {
            Step::ok()
        }
    })
}

fn run() -> Shaper {
    Shaper::run().args(["--quiet"]).with_results()
}

/// The report, in the directory of what was done before.
fn report(done: Output) -> Shaper {
    done.again().args(["report", OUT, "--failed-jobs"])
}

fn jobs(results: &[Value]) -> Vec<&str> {
    let jobs = results.iter().map(|line| line["job"].as_str());
    jobs.map(|job| job.expect("each has one")).collect()
}

#[test]
fn the_lines_of_failed_jobs_are_copied_byte_for_byte() {
    let server = server();
    let bad = format!(
        " {{\"url\" : \"{}\",\"body\":{{\"q\": 1.0}}, \"meta\":\"\u{e9}\\u00e9\"}}\t",
        server.url("/bad")
    );
    let last = format!("{{\"url\":\"{}\"}}", server.url("/bad/last"));
    let good = format!("{{\"url\":\"{}\"}}", server.url("/good"));
    let text = format!("\u{feff}{bad}\r\n\n{good}\nno job\n{bad}\n{last}");
    let done = run().jobs("jobs.jsonl", text).ends(1);
    let report = report(done).ends(0);
    report.says("3 failed jobs copied");
    assert_eq!(report.text(), format!("{bad}\n{bad}\n{last}\n"));
}

#[test]
fn a_list_of_urls_is_copied_without_its_comments() {
    let server = server();
    let done = run()
        .jobs("jobs.urls", "# all\n/good\n  /bad?a=1 \n# more\n\n/bad?a=2")
        .args(["--base-url", &server.url("/")])
        .output();
    let report = report(done).ends(0);
    report.says("they were given: --base-url http://");
    assert_eq!(report.text(), "  /bad?a=1 \n/bad?a=2\n");
}

#[test]
fn what_is_copied_can_be_run_again_and_makes_the_same_jobs() {
    let server = server();
    let text = format!(
        "{{\"id\":\"a\",\"url\":\"{0}\"}}\n{{\"url\":\"{1}\",\"body\":\"x\"}}\n{{\"url\":\"{0}\",\"headers\":{{\"x\":\"1\"}}}}\n",
        server.url("/bad"),
        server.url("/good")
    );
    let done = run().jobs("jobs.jsonl", text).args(["-X", "PUT"]).output();
    let first = done.results();
    let report = report(done).ends(0);
    report.says("again with what they were given: -X PUT");
    let again = run()
        .jobs("again.jsonl", &report.stdout)
        .args(["-X", "PUT"])
        .ends(1);
    let (first, second) = (jobs(&first), again.results());
    assert_eq!(jobs(&second), [first[0], first[2]], "{report}");
}

#[test]
fn a_retried_job_that_became_ok_is_not_copied() {
    let server = Server::answering(|ask| match (ask.target, ask.nth_of_target) {
        ("/later", 0) | ("/never", _) => Step::status(400),
        _ => Step::ok(),
    });
    let list = ["/later", "/never", "/good"].map(|target| server.url(target) + "\n");
    let done = run().jobs("jobs.urls", list.concat()).ends(1);
    let both = report(done).output();
    assert_eq!(both.text(), list[..2].concat());
    let retried = both
        .again()
        .args(["run", "jobs.urls", "--quiet", "-o", OUT])
        .args(["--resume", "--retry-failed"])
        .ends(1);
    let one = report(retried).ends(0);
    assert_eq!(one.text(), list[1]);
}

#[test]
fn where_nothing_failed_nothing_is_copied() {
    let server = server();
    let done = run().jobs("jobs.urls", server.list(3)).ends(0);
    let report = report(done).ends(0);
    report.says("none of 3 results");
    assert_eq!(report.text(), "");
}

#[test]
fn an_edited_file_is_refused_before_anything_is_copied() {
    let server = server();
    let line = |target: &str| format!("{{\"url\":\"{}\"}}\n", server.url(target));
    let text = [line("/bad/1"), line("/good"), line("/bad/2")];
    let mut done = run().jobs("jobs.jsonl", text.concat()).output();
    let job = done.results()[2]["job"].clone();
    let job = job.as_str().expect("it has one");
    let sizes = format!("{} bytes then", text.concat().len());
    for (edited, words) in [
        (text[..2].concat() + &line("/bad/3"), job),
        (text[..2].concat() + "\n", "is blank or a comment"),
        (text[..2].concat(), "has 2 lines"),
        (text[..2].concat() + "{\"url\"", "makes no job: input ends"),
        (
            text[..2].concat() + &text[2].replace('{', "{\"id\":\"b\","),
            "has no id",
        ),
    ] {
        let refused = report(done).file("jobs.jsonl", &edited).ends(2);
        refused.says("jobs.jsonl:3: ").says(words);
        refused.says("nothing was copied").says("(out.jsonl:");
        refused.says("mend: restore the file");
        if edited.len() != text.concat().len() {
            refused.says(&sizes);
        }
        assert_eq!(refused.text(), "", "{edited}");
        done = refused;
    }
    report(done).file("jobs.jsonl", text.concat()).ends(0);
}

#[test]
fn what_the_run_was_given_and_is_not_kept_is_asked_for() {
    let server = server();
    let base = format!("http://user:canary@{}/", server.host());
    let done = run()
        .jobs("jobs.urls", "/bad\n")
        .args(["--base-url", &base, "--data", "canary"])
        .ends(1);
    let refused = report(done).ends(2);
    refused
        .says("the run had --data, whose text is not kept")
        .says("the run had --base-url with credentials")
        .never_says("canary");
    let other = report(refused)
        .args(["--base-url", &base, "--data", "other"])
        .ends(2);
    other.says("--data may be another").never_says("canary");
    let report = report(other)
        .args(["--base-url", &base, "--data", "canary"])
        .ends(0);
    report.never_says("canary").says("--data ***");
    assert_eq!(report.text(), "/bad\n");
}

#[test]
fn jobs_from_stdin_are_listed() {
    let server = server();
    let text = format!(
        "{{\"id\":\"a\",\"url\":\"{}\"}}\n\n{{\"url\":\"{}\"}}\n",
        server.url("/bad/1?key=canary"),
        server.url("/bad/2")
    );
    let done = run().stdin(&text).ends(1);
    let listed = report(done).ends(1);
    listed
        .says("2 failed jobs came from standard input")
        .says("line 1  id \"a\"  http://")
        .says("/bad/1?key=***")
        .says("line 3  http://")
        .never_says("canary");
    assert_eq!(listed.text(), "");
    let file = format!("{{\"url\":\"{}\"}}\n", server.url("/bad/3"));
    let both = run()
        .stdin(&text)
        .args(["-"])
        .jobs("b.jsonl", &file)
        .output();
    let report = report(both).ends(1);
    report.says("1 failed job copied").says("line 3");
    assert_eq!(report.text(), file);
}

#[test]
fn several_inputs_are_copied_in_their_order_and_one_format_at_a_time() {
    let server = server();
    let list = |name: &str| server.url(&format!("/bad/{name}")) + "\n";
    let job = |name: &str| format!("{{\"url\":\"{}\"}}\n", server.url(&format!("/bad/{name}")));
    let two = run()
        .jobs("b/jobs.urls", list("1") + &list("2"))
        .jobs("a/jobs.urls", list("3"))
        .output();
    let all = report(two).ends(0);
    assert_eq!(all.text(), list("1") + &list("2") + &list("3"));
    let mixed = run()
        .jobs("a.urls", list("1"))
        .jobs("b.jsonl", job("2"))
        .output();
    let mut done = report(mixed).ends(2);
    done.says("a.urls holds jobs as urls, b.jsonl as jsonl")
        .says("mend: copy one format at a time: --format urls");
    assert_eq!(done.text(), "");
    for (format, wanted) in [("urls", list("1")), ("jsonl", job("2"))] {
        done = report(done).args(["--format", format]).ends(1);
        done.says("1 failed job left out");
        assert_eq!(done.text(), wanted);
    }
}

#[test]
fn job_files_are_found_from_elsewhere() {
    let server = server();
    let list = server.url("/bad") + "\n";
    let done = run().jobs("in/jobs.urls", &list).output();
    let results = done.path(OUT);
    let elsewhere = Shaper::plain()
        .args(["report", "--failed-jobs"])
        .args([&results])
        .ends(0);
    assert_eq!(elsewhere.text(), list);
    // The folder of the run is gone; beside the results the names are the same.
    let moved = Shaper::plain()
        .file("new/in/jobs.urls", &list)
        .file("new/out.jsonl", done.bytes(OUT));
    let run = String::from_utf8(done.bytes(RUN)).expect("it is text");
    let folder = results.parent().and_then(|it| it.to_str());
    let run = run.replace(folder.expect("it is text"), "/gone");
    let moved = moved
        .file("new/out.jsonl.run", &run)
        .args(["report", "new/out.jsonl", "--failed-jobs"])
        .ends(0);
    assert_eq!(moved.text(), list);
    fs::remove_file(done.path("in/jobs.urls")).expect("it is there");
    let missing = done
        .again()
        .file(RUN, run)
        .args(["report", "./out.jsonl", "--failed-jobs"])
        .ends(2);
    missing
        .says("in/jobs.urls: the job file is not there")
        .says("tried /gone/in/jobs.urls and ./in/jobs.urls")
        .says("mend: put it back");
}

#[test]
fn a_job_of_an_input_that_is_named_twice_is_copied_twice() {
    let server = server();
    let list = server.url("/bad") + "\n";
    let done = run().jobs("jobs.urls", &list).args(["jobs.urls"]).output();
    let report = report(done).ends(0);
    assert_eq!(report.text(), list.repeat(2));
}

#[test]
fn lines_that_have_moved_between_runs_are_told() {
    let server = server();
    let list = server.url("/bad") + "\n";
    let done = run().jobs("jobs.urls", &list).output();
    let longer = server.url("/good") + "\n" + &list;
    let resumed = done
        .again()
        .file("jobs.urls", longer)
        .args(["run", "jobs.urls", "--quiet", "-o", OUT, "--resume"])
        .output();
    let refused = report(resumed).ends(2);
    refused
        .says("jobs.urls:1: is job ")
        .says("lines may have moved")
        .says("--resume --retry-failed");
}

#[test]
fn several_files_of_results_are_told_in_their_order() {
    let server = server();
    let list = |name: &str| server.url(&format!("/bad/{name}")) + "\n";
    let first = run().jobs("one.urls", list("1")).output();
    let second = first
        .again()
        .args(["run", "--quiet", "-o", "two.out"])
        .jobs("two.urls", list("2"))
        .ends(1);
    let both = second
        .again()
        .args(["report", "--failed-jobs", "two.out", OUT])
        .ends(0);
    both.says("2 failed jobs copied");
    assert_eq!(both.text(), list("2") + &list("1"));
    let job = format!("{{\"id\":\"a\",\"url\":\"{}\"}}\n", server.url("/bad"));
    let one = run().jobs("a.jsonl", job).output();
    let other = one
        .again()
        .file("b.out", "")
        .args(["run", "--quiet", "a.jsonl", "-o", "b.out"])
        .output();
    let same = report(other).args(["b.out"]).ends(2);
    same.says("two failed jobs have the id \"a\"");
    assert_eq!(same.text(), "");
    let twice = report(both).args(["./out.jsonl"]).ends(2);
    twice.says("named twice");
}

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_a_mend() {
    let server = server();
    let list = server.url("/bad") + "\n";
    let done = run().jobs("jobs.urls", &list).output();
    let whole = String::from_utf8(done.bytes(OUT)).expect("it is text");
    let mut done = report(done).file(OUT, whole.clone() + &whole[..50]).ends(0);
    done.says("out.jsonl:2: the last line is torn");
    assert_eq!(done.text(), list);
    for (text, words) in [
        (format!("{{\n{whole}"), "out.jsonl:1: is no result"),
        (format!("{{}}\n{whole}"), "missing field `status`"),
    ] {
        done = report(done).file(OUT, text).ends(2);
        done.says(words).says("mend: ");
        assert_eq!(done.text(), "");
    }
    done = report(done).file(OUT, &whole).ends(0);
    for (run, words) in [("[", "EOF"), ("{}", "missing field")] {
        done = report(done).file(RUN, run).ends(2);
        done.says(RUN).says(words).says("mend: it stands");
    }
    fs::remove_file(done.path(RUN)).expect("it is there");
    let alone = report(done).ends(2);
    alone.says("out.jsonl.run: does not tell");
    Shaper::plain()
        .args(["report", "none.jsonl", "--failed-jobs"])
        .ends(2)
        .says("none.jsonl: cannot be read");
    for both in [["--report", "json"], ["--qps", "5"]] {
        let both = Shaper::plain()
            .args(["report", OUT, "--failed-jobs"])
            .args(both);
        both.ends(2).says("do not go together");
    }
}

#[test]
fn a_closed_stdout_ends_the_copy_quietly() {
    let server = server();
    let done = run().jobs("jobs.urls", server.url("/bad") + "\n").output();
    let report = report(done).stdout_is_closed().ends(141);
    assert_eq!(report.stderr, "");
}

#[test]
fn bodies_in_files_are_told_with_their_folder() {
    let server = server();
    let job = format!(
        "{{\"url\":\"{}\",\"body_file\":\"body\"}}\n",
        server.url("/bad")
    );
    let done = run()
        .file("in/body", "x")
        .jobs("in/jobs.jsonl", &job)
        .output();
    let copy = report(done).ends(0);
    copy.says("1 copied line with a body_file")
        .says("a file in in");
    assert_eq!(copy.text(), job);
    let changed = report(copy).file("in/body", "y").ends(2);
    changed.says("what is in body may have changed");
}

#[test]
fn lines_of_a_log_are_read_by_the_fields_that_the_run_was_given() {
    let server = server();
    let lines = "{\"u\":\"/a\"}\n{\"u\":\"/bad\"}\n";
    let fields = ["--log-fields", "url=u"];
    let done = run()
        .args(["--base-url", &server.url("")])
        .args(fields)
        .jobs("service.jsonl", lines)
        .ends(1);
    let copy = report(done).ends(0);
    copy.says("--log-fields url=u");
    assert_eq!(copy.text(), "{\"u\":\"/bad\"}\n");
}

#[test]
fn bodies_are_copied_where_the_run_has_sent_them() {
    let server = server();
    let lines = "{\"model\":\"m\",\"input\":1}\n{\"model\":\"m\",\"input\":2}\n";
    for (user, path) in [("", "/bad"), ("user:canary@", "/bad?key=canary")] {
        let url = format!("http://{user}{}{path}", server.host());
        let done = run()
            .args(["--request-url", &url])
            .jobs("asked.jsonl", lines)
            .ends(1);
        let mut copy = report(done).output();
        if !user.is_empty() {
            copy.exits(2)
                .says("the run had --request-url with credentials")
                .never_says("canary");
            copy = report(copy).args(["--request-url", &url]).output();
        }
        copy.exits(0)
            .says("--request-url http://")
            .never_says("canary");
        assert_eq!(copy.text(), lines);
    }
}

#[test]
fn rows_are_copied_by_the_url_the_data_and_the_headers_of_the_run_and_run_again_as_they_were() {
    let server = server();
    let rows = "{\"id\":1,\"to\":\"bad\",\"q\":\"a\"}\n{\"id\":2,\"to\":\"good\",\"q\":\"b\"}\n";
    let url = server.url("/{{to}}?key=CANARY");
    let options = [
        "--url",
        &url,
        "--data",
        "{\"q\":\"{{q}}\"}",
        "-H",
        "x-q: {{q}}",
    ];
    let done = run().jobs("rows.jsonl", rows).args(options).ends(1);
    let first = done.results();
    let told = String::from_utf8(done.bytes(RUN)).expect("it is JSON");
    assert!(
        !told.contains("CANARY") && told.contains("\"url\""),
        "{told}"
    );
    let without = report(done).ends(2);
    without
        .says("the run had --url, whose text is not kept")
        .says("give --url, --data and -H as to the run");
    let other = report(without)
        .args(["--url", &url, "--data", "{\"q\":\"{{q}}\"}"])
        .ends(2);
    other.says("the run had -H, whose text is not kept");
    let with = report(other).args(options).ends(0);
    with.says("1 failed job copied")
        .says("--url *** -H *** --data ***");
    assert_eq!(
        with.text(),
        format!("{}\n", rows.lines().next().unwrap_or_default())
    );
    let again = Shaper::run()
        .jobs("again.jsonl", with.text())
        .args(options)
        .with_results()
        .ends(1);
    assert_eq!(again.results()[0]["job"], first[0]["job"]);
}

#[test]
fn a_row_that_would_be_another_in_a_copy_is_not_copied() {
    let server = server();
    let url = server.url("/bad/{{seq}}/{{x}}");
    let done = run()
        .jobs("rows.jsonl", "{\"x\":1}\n{\"x\":2}\n")
        .args(["--url", &url])
        .ends(1);
    let refused = report(done).args(["--url", &url]).ends(2);
    refused
        .says("rows.jsonl:1: {{seq}} would be another in a copy of this line")
        .says("--resume --retry-failed");
    assert!(refused.text().is_empty());
}

#[test]
fn a_line_that_does_not_tell_its_format_alone_is_told_with_the_option_that_does() {
    let server = server();
    let own = format!("{{\"id\":\"a\",\"url\":\"{}\"}}\n", server.url("/good"));
    let open = format!(
        "{{\"method\":\"POST\",\"url\":\"{}\",\"body\":\"aGVsbG8h\"}}\n",
        server.url("/bad")
    );
    let done = run().jobs("jobs.jsonl", own + &open).ends(1);
    let report = report(done).ends(0);
    report.says("a line does not tell its format: run it with --format jsonl");
    assert_eq!(report.text(), open);
}
