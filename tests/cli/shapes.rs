//! When jobs are due: `--replay`, `--arrivals`, `--ramp`, `--for`, and `shaper replay`.

use serde_json::json;

use crate::support::message;
use crate::support::program::{OUT, Output, Shaper};
use crate::support::server::{Server, Step};

/// Jobs with these stamps, in the order of the file.
fn recorded(server: &Server, stamps: &[&str]) -> String {
    let lines = stamps.iter().enumerate();
    let lines = lines.map(|(nth, at)| {
        let url = server.url(&format!("/{nth}"));
        format!("{{\"url\":\"{url}\",\"at\":{at}}}\n")
    });
    lines.collect()
}

/// When each try was due, in microseconds since the first; by the position in the input.
fn due(done: &Output) -> Vec<u64> {
    let mut results = done.results();
    results.sort_by_key(|line| line["seq"].as_u64());
    let due = results
        .iter()
        .map(|line| line["tries"][0]["due_us"].as_u64());
    let due: Vec<u64> = due.map(Option::unwrap_or_default).collect();
    let first = due.iter().min().copied().expect("there are some");
    due.iter().map(|at| at - first).collect()
}

#[test]
fn a_replay_sends_at_the_recorded_times_and_in_their_order() {
    let server = Server::start([Step::ok()]);
    let at = [
        "\"2026-11-30T09:00:00Z\"",
        "\"2026-11-30T10:00:00.400+01:00\"",
        "\"2026-11-30T09:00:00.200Z\"",
    ];
    for command in [&["run", "--replay"][..], &["replay"]] {
        let done = Shaper::plain()
            .args(command)
            .jobs("jobs.jsonl", recorded(&server, &at))
            .args(["--speed", "2x", "-v"])
            .with_results()
            .reporting()
            .ends(0);
        done.says("1000 slots").says("--replay --speed 2x");
        assert_eq!(due(&done), [0, 200_000, 100_000]);
        let mut results = done.results();
        results.sort_by_key(|line| line["tries"][0]["sent_us"].as_u64());
        let order: Vec<_> = results.iter().map(|line| &line["line"]).collect();
        assert_eq!(order, [1, 3, 2]);
        let lateness = done.report()["lateness"].clone();
        assert_eq!(lateness["n"], 3);
        assert_eq!(lateness["schedule"], "--replay --speed 2x");
        let again = done.again();
        let again = again.args(["report", OUT, "--report", "json"]).output();
        let told = again.json();
        assert_eq!(told["lateness"], lateness, "results tell the same");
    }
}

#[test]
fn a_job_without_a_time_is_invalid_in_a_replay_and_only_there() {
    let server = Server::start([Step::ok()]);
    let jobs = format!("{{\"url\":\"{}\"}}\n", server.url("/a")) + &recorded(&server, &["0.1"]);
    let done = Shaper::run()
        .jobs("jobs.jsonl", &jobs)
        .args(["--replay"])
        .with_results()
        .ends(1);
    let told = done.results();
    let bad = told
        .iter()
        .find(|line| line["status"] == "invalid")
        .expect("one is");
    for word in ["jobs.jsonl:1:1", "\"at\" is missing", "0.250", "RFC 3339"] {
        assert!(message(bad).contains(word), "{}", message(bad));
    }
    assert_eq!(server.targets(), ["/0"]);
    Shaper::run()
        .jobs("jobs.jsonl", &jobs)
        .with_results()
        .ends(0);
}

#[test]
fn a_rate_of_arrivals_is_a_schedule_and_no_limit() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(5))
        .args(["--arrivals", "even", "--qps", "50"])
        .with_results()
        .reporting()
        .ends(0);
    done.says("SCHEDULE").never_says("LIMITS      10 slots;");
    assert_eq!(due(&done), [0, 20_000, 40_000, 60_000, 80_000]);
    let told = done.report();
    assert_eq!(told["limits"], json!([]));
    assert_eq!(told["lateness"]["schedule"], "--arrivals even --qps 50");
    assert_eq!(told["lateness"]["n"], 5);
}

#[test]
fn the_rates_of_a_ramp_give_the_times_and_qps_still_limits() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(4))
        .args(["--ramp", "100@0s,100@20ms,50@20ms", "--qps", "40"])
        .with_results()
        .reporting()
        .ends(0);
    done.says("--qps 40");
    assert_eq!(due(&done), [0, 10_000, 20_000, 40_000]);
    assert_eq!(done.report()["limits"][0]["name"], "qps");
}

#[test]
fn the_same_seed_gives_the_same_poisson_process() {
    let server = Server::start([Step::ok()]);
    let times = |seed: &str| {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(20))
            .args(["--arrivals", "poisson", "--qps", "500", "--seed", seed])
            .with_results()
            .ends(0);
        due(&done)
    };
    let first = times("7");
    // Moments are told in whole microseconds since the epoch.
    let same = first.iter().zip(times("7"));
    assert!(
        same.clone().all(|(one, other)| one.abs_diff(other) <= 1),
        "{same:?}"
    );
    assert_ne!(first, times("8"));
}

#[test]
fn after_its_time_the_run_is_over_and_that_is_a_normal_end() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(50))
        .args(["--arrivals", "even", "--qps", "20", "-z", "200ms"])
        .with_results()
        .reporting()
        .ends(0);
    let told = done.report();
    assert_eq!(told["ended"], "time_up");
    let counts = done.counts();
    // Due before 200 ms; a machine that is busy for long may miss the last of them.
    assert!((1..=4).contains(&counts.ok), "{counts:?}");
    assert_eq!(told["counts"]["read"], counts.ok + counts.cancelled);
    let text = Shaper::plain()
        .args(["report", &done.path(OUT).to_string_lossy()])
        .output();
    assert!(text.text().contains("its time was over"));
}

#[test]
fn a_plan_has_the_times_of_the_run_exactly() {
    let minutes = (0..=60).map(|minute| json!({ "url": "http://h/", "at": minute * 60 }));
    let hour: Vec<String> = minutes.map(|job| job.to_string()).collect();
    let done = Shaper::plain()
        .args([
            "plan",
            "-",
            "--replay",
            "--speed",
            "60x",
            "--latency",
            "250ms",
        ])
        .args(["--report", "json"])
        .stdin(hour.join("\n"))
        .ends(0);
    let told = done.json();
    assert_eq!(told["elapsed_ms"], 60_250.0);
    assert_eq!(
        (&told["lateness"]["max"], &told["slots"]),
        (&json!(0.0), &json!(1000))
    );
    let done = Shaper::plain()
        .args(["plan", "-", "--ramp", "0@0s,10@10s", "--for", "10s"])
        .args(["--latency", "250ms"])
        .stdin("http://h/\n".repeat(100))
        .ends(0);
    let told = done.text();
    for words in ["SCHEDULE", "--ramp 0@0s,10@10s", "ok 50 ", "none over 1ms"] {
        assert!(told.contains(words), "no {words} in {told}");
    }
}

#[test]
fn what_does_not_go_together_is_a_usage_error() {
    let server = Server::start([Step::ok()]);
    for (args, told) in [
        (&["--arrivals", "even"][..], "--arrivals even has no rate"),
        (
            &["--arrivals", "poisson", "--qps", "none"],
            "--arrivals poisson has no rate",
        ),
        (
            &["--arrivals", "even", "--qps", "5", "--burst", "3"],
            "--burst has no bucket",
        ),
        (&["--replay", "--arrivals", "once"], "do not go together"),
        (&["--replay", "--ramp", "5@0s"], "do not go together"),
        (
            &["--arrivals", "once", "--ramp", "5@0s"],
            "--ramp do not go together",
        ),
        (&["--speed", "2x"], "--speed 2x has no record"),
        (&["--for", "5s", "--resume"], "do not go together"),
        (&["--repeat", "2", "--resume"], "do not go together"),
    ] {
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(args)
            .with_results()
            .ends(2);
        done.says(told);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_file_is_read_so_often_and_no_result_takes_the_place_of_another() {
    let server = Server::start([Step::ok()]);
    let jobs = ["a", "b"].map(|id| format!("{}\n", json!({ "id": id, "url": server.url("/") })));
    let done = Shaper::run()
        .jobs("jobs.jsonl", jobs.concat())
        .args(["-c", "1", "--repeat", "3"])
        .with_results()
        .reporting()
        .ends(0);
    assert_eq!(done.counts().ok, 6);
    let results = done.results();
    let told: Vec<_> = results
        .iter()
        .map(|line| (&line["id"], line["round"].as_u64()))
        .collect();
    let of = |round| [(&results[0]["id"], round), (&results[1]["id"], round)];
    assert_eq!(told, [of(None), of(Some(1)), of(Some(2))].concat());
    let again = done.retold().output();
    let told = again.json();
    assert_eq!(
        (
            &told["counts"]["ok"],
            &told["results"]["files"][0]["replaced"]
        ),
        (&json!(6), &json!(0))
    );
}

#[test]
fn what_failed_in_several_rounds_is_copied_once() {
    let server = Server::start([Step::status(400)]);
    let jobs = format!("{}\n", json!({ "id": "a", "url": server.url("/a") }))
        + &format!("{}\n", json!({ "url": server.url("/b") }));
    let done = Shaper::run()
        .jobs("jobs.jsonl", &jobs)
        .args(["--repeat", "3"])
        .with_results()
        .ends(1);
    let copied = done.again().args(["report", OUT, "--failed-jobs"]).output();
    assert_eq!(copied.text(), jobs);
}

#[test]
fn without_an_end_it_goes_on_until_its_time_or_its_number_of_jobs_is_over() {
    let server = Server::start([Step::ok()]);
    for end in [["-n", "7"], ["--for", "300ms"]] {
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(2))
            .args(["-c", "1", "--repeat", "forever"])
            .args(end)
            .with_results()
            .reporting()
            .ends(0);
        let ok = done.counts().ok;
        assert!(ok == 7 || (end[0] == "--for" && ok > 0), "{end:?}: {ok}");
    }
}

#[test]
fn what_cannot_be_read_again_is_not_repeated() {
    let done = Shaper::run()
        .args(["-", "--repeat", "2"])
        .stdin("http://127.0.0.1:1/\n")
        .with_results()
        .ends(2);
    done.says("--repeat 2").says("standard input").says("mend:");
    let pipe = Shaper::run()
        .named_pipe("jobs.urls")
        .args(["jobs.urls", "--repeat", "forever"])
        .with_results()
        .ends(2);
    pipe.says("no regular file");
}
