//! Which jobs of an input are taken, and where they go: `--filter`, `--sample`, `--shard`, `--rewrite`.

use std::collections::BTreeSet;

use crate::support::program::{Output, Shaper};
use crate::support::server::{Server, Step};

fn run(list: impl AsRef<[u8]>, options: &[&str]) -> Output {
    Shaper::run()
        .jobs("jobs.urls", list)
        .args(options)
        .with_results()
        .reporting()
        .output()
}

fn lines(done: &Output) -> BTreeSet<u64> {
    let results = done.results();
    let lines = results
        .iter()
        .map(|it| it["line"].as_u64().expect("it has one"));
    lines.collect()
}

#[test]
fn a_filter_takes_some_jobs_and_the_others_are_told() {
    let server = Server::everywhere(Step::ok());
    let list = ["/api/a", "/health", "/api/b", "/x"].map(|path| server.url(path) + "\n");
    let list = list.concat();
    let done = run(
        &list,
        &["--filter", "path=/api/*,/x", "--filter", "path!=*/b"],
    );
    done.exits(0).says("note: left of 4 lines: 2 by --filter");
    assert_eq!(lines(&done), BTreeSet::from([1, 4]));
    assert_eq!(done.report()["counts"]["read"], 2);
    let done = run(&list, &["--filter", "method=POST"]);
    done.exits(2)
        .says("no request in jobs.urls is taken; left of 4 lines: 4 by --filter");
    run(&list, &["--filter", "paths=/x"])
        .exits(2)
        .says("--filter")
        .says("path=/api/*");
}

#[test]
fn shards_share_all_lines_and_each_is_gone_on_with() {
    let server = Server::everywhere(Step::ok());
    let list = server.list(20) + "ftp://bad/\n";
    let mut all = BTreeSet::new();
    for nth in 0..3 {
        let done = run(&list, &["--shard", &format!("{nth}/3")]);
        done.exits(i32::from(nth == 2));
        let own = lines(&done);
        assert_eq!(own.len(), 7, "{done}");
        all.extend(own);
        let again = done
            .again()
            .args(["run", "jobs.urls", "--resume", "-o", "out.jsonl", "--shard"])
            .args([format!("{nth}/3")])
            .output();
        again.exits(i32::from(nth == 2));
        assert_eq!(again.results().len(), 7);
    }
    assert_eq!(all.len(), 21);
    assert_eq!(server.requests().len(), 20);
    let pod = Shaper::run()
        .jobs("jobs.urls", &list)
        .env("JOB_COMPLETION_INDEX", "1")
        .args(["--shard", "auto/3"])
        .with_results()
        .ends(0);
    assert_eq!(lines(&pod).first(), Some(&2));
    for shard in ["3/3", "1", "x/2", "auto/2"] {
        run(&list, &["--shard", shard]).exits(2).says("--shard");
    }
}

#[test]
fn a_sample_is_the_same_each_time_and_a_part_of_a_larger_one() {
    let server = Server::everywhere(Step::ok());
    let list = server.list(200);
    let of = |share: &str| lines(run(&list, &["--sample", share]).exits(0));
    let (small, again, large) = (of("10%"), of("10%"), of("40%"));
    assert_eq!(small, again);
    assert!(small.is_subset(&large) && small.len() < large.len());
    assert!((5..40).contains(&small.len()), "{small:?}");
    assert_eq!(of("100%").len(), 200);
    for share in ["0%", "101%", "10", "-1%"] {
        run(&list, &[&format!("--sample={share}")])
            .exits(2)
            .says("--sample");
    }
}

#[test]
fn a_rewritten_url_is_the_one_that_is_sent_and_told() {
    let server = Server::everywhere(Step::ok());
    let to = format!("s#^https?://[^/]*/v1#{}#", server.url("/v2"));
    let list = "https://api.test/v1/a?b\nhttp://other.test/v1/c\n";
    let done = run(list, &["--rewrite", &to, "--rewrite", "s/c$/d/", "-c", "1"]);
    done.exits(0);
    assert_eq!(server.targets(), ["/v2/a?b", "/v2/d"]);
    assert_eq!(done.results()[1]["url"], server.url("/v2/d"));
    run(list, &["--rewrite", "a=b"])
        .exits(2)
        .says("--rewrite")
        .says("s#PATTERN#TO#");
    let done = run(list, &["--rewrite", "s#^https?#ftp#"]);
    done.exits(1);
    assert_eq!(done.results()[0]["status"], "invalid");

    let refusing = Server::everywhere(Step::status(400));
    let to = format!("s#^https?://[^/]*#{}#", refusing.url(""));
    let done = run(list, &["--rewrite", &to]);
    done.exits(1);
    let failed = |done: Output, options: &[&str]| {
        done.again()
            .args(["report", "out.jsonl", "--failed-jobs"])
            .args(options)
            .output()
    };
    let without = failed(done, &[]);
    without.says("the run had --rewrite, whose text is not kept");
    let with = failed(without, &["--rewrite", &to]);
    with.exits(0);
    assert_eq!(with.text(), list);
}

#[test]
fn whichever_command_takes_none_of_the_lines_says_what_left_them() {
    let left = "no request in jobs.urls is taken; left of 3 lines: 2 by --filter, 1 by --shard";
    for command in ["run", "plan", "check", "compare"] {
        Shaper::plain()
            .args([command])
            .jobs("jobs.urls", "http://h/1\nhttp://h/2\nhttp://h/3\n")
            .args(["--filter", "path=/x", "--shard", "0/2"])
            .ends(2)
            .says(left)
            .says("--allow-empty");
    }
}

#[test]
fn results_are_gone_on_with_under_another_filter_and_no_job_is_sent_twice() {
    let server = Server::everywhere(Step::ok());
    let list = ["/a/1", "/a/2", "/b/1", "/c"].map(|path| server.url(path) + "\n");
    let list = list.concat();
    let go_on = |done: Output, options: &[&str]| {
        done.again()
            .args(["run", "jobs.urls", "--resume", "-o", "out.jsonl"])
            .args(options)
            .output()
    };
    let first = run(&list, &["--filter", "path=/a/*"]);
    first.exits(0);
    let second = go_on(first, &["--filter", "path=/b/*"]);
    second
        .exits(0)
        .says("2 results in out.jsonl match no line that is taken; they stay there");
    assert_eq!(lines(&second), BTreeSet::from([1, 2, 3]));
    let third = go_on(second, &[]);
    third.exits(0);
    assert_eq!(lines(&third), BTreeSet::from([1, 2, 3, 4]));
    assert_eq!(server.requests().len(), 4);
    let other = third
        .again()
        .args(["run"])
        .jobs("other.urls", "http://h/a/9\n")
        .args(["--resume", "-o", "out.jsonl", "--filter", "path=/a/*"]);
    other
        .ends(2)
        .says("4 results match no line of other.urls, the first is this one");
}

#[test]
fn the_results_of_one_shard_are_not_taken_for_those_of_another() {
    let server = Server::everywhere(Step::ok());
    let list = (server.url("/same") + "\n").repeat(4);
    let first = run(&list, &["--shard", "0/2"]);
    first.exits(0);
    let other = first
        .again()
        .args([
            "run",
            "jobs.urls",
            "--resume",
            "-o",
            "out.jsonl",
            "--shard",
            "1/2",
        ])
        .ends(2);
    other
        .says("holds results of --shard 0/2, and this run takes --shard 1/2")
        .says("name another file with -o");
    assert_eq!(server.requests().len(), 2);
}
