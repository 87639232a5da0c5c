//! `--stop-if`: a run ends before its time, and another goes on with it.

use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};
use crate::support::statuses;

fn forty(server: &Server, args: &[&str]) -> Shaper {
    Shaper::run()
        .jobs("jobs.urls", server.list(40))
        .args(["-c", "1"])
        .args(args)
        .with_results()
        .reporting()
}

#[test]
fn a_wrong_key_stops_the_run_after_twenty_answers_and_the_right_one_goes_on() {
    let server = Server::answering(|ask| match ask.nth {
        0..20 => Step::status(401),
        _ => Step::ok(),
    });
    let done = forty(&server, &[]).ends(1);
    done.says("stopping early: 20 answers 401 or 403 in a row, and no job was ok")
        .says("the run was stopped early: 20 answers")
        .says("mend: give a key that is valid (--bearer-env, -H), then go on")
        .says("--resume --retry-failed");
    assert_eq!(server.requests().len(), 20);
    let counts = done.counts();
    assert_eq!((counts.failed, counts.ok), (20, 0));
    assert!(counts.cancelled > 0, "some were read ahead: {counts:?}");
    let report = done.report();
    assert_eq!(report["ended"], "stopped");
    assert_eq!(
        report["stopped_by"]["rule"],
        "401,403>=20 in a row before ok"
    );
    let more = done
        .again()
        .args(["run", "jobs.urls", "--resume", "--retry-failed"])
        .with_results()
        .reporting()
        .ends(0);
    assert_eq!(more.report()["counts"]["ok"], 40);
    assert_eq!(server.requests().len(), 60);
}

#[test]
fn the_usual_rule_can_be_taken_away_and_others_stand_beside_it() {
    let server = Server::start([Step::status(403)]);
    forty(&server, &["--stop-if", "none"])
        .ends(1)
        .never_says("stopped early");
    assert_eq!(server.requests().len(), 40);
    let own = forty(&server, &["--stop-if", "failed>=5"]).ends(1);
    own.says("5 jobs failed (--stop-if 'failed>=5')");
    assert_eq!(statuses(&own.results()), ["failed"; 5]);
    let both = forty(&server, &["--stop-if", "failed>=30"]).ends(1);
    both.says("20 answers 401 or 403 in a row");
    let alone = ["--stop-if", "failed>=30", "--stop-if", "none"];
    forty(&server, &alone).ends(1).says("30 jobs failed");
}

#[test]
fn a_run_that_was_stopped_early_is_no_success_whatever_its_conditions() {
    let server = Server::start([Step::status(404)]);
    let run = |condition| {
        let args = ["--quiet", "--stop-if", "404>2", "--fail-if", condition];
        forty(&server, &args).output()
    };
    let kept = run("failed>90");
    kept.exits(1)
        .says("the run was stopped early: 3 answers 404")
        .never_says("finishing");
    let broken = run("failed>1");
    broken.exits(5).says("failed: failed = 3 > 1");
}

#[test]
fn a_rule_that_cannot_be_read_is_a_usage_error() {
    let server = Server::start([Step::ok()]);
    for (rule, says) in [
        ("failed", "in quotes"),
        ("p99>1s", "failed, invalid, retries"),
        ("failed<3", "begins with none"),
        ("failed>3 in row", "no count"),
    ] {
        let done = forty(&server, &["--stop-if", rule]).ends(2);
        done.says("--stop-if").says(says).says("or none");
        assert!(!done.path(OUT).exists(), "{done}");
    }
    assert_eq!(server.requests().len(), 0);
}
