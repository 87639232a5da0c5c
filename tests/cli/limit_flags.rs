//! How limits are written: what is accepted is echoed, the rest is a usage error before anything is sent.

use super::limits::RATES;
use crate::support::program::{OUT, Shaper};
use crate::support::server::{Server, Step};

#[test]
fn every_way_to_write_a_rate_is_understood_by_limit_too() {
    let server = Server::start([Step::ok()]);
    let kinds = ["bucket", "leaky", "window", "window-counter", "fixed"];
    for ((written, shown), kind) in RATES.into_iter().zip(kinds.iter().cycle()) {
        let limit = format!("{written} {kind} name=mine");
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(["--limit", &limit])
            .with_results()
            .ends(0);
        done.says(&format!("--limit {written} name=mine ({shown}, at most "));
    }
    assert_eq!(server.requests().len(), RATES.len());
}

#[test]
fn a_limit_is_echoed_as_it_was_written_with_what_it_lets_through() {
    let server = Server::start([Step::ok()]);
    for (flag, value, shown) in [
        ("--qps", "10", "--qps 10 (10/s, at most 11 in any 1 s;"),
        ("--window", "10/5s", "--window 10/5s"),
        ("--limit", "7/s fixed name=gate", "7/s"),
        ("--limit", "1/30d", "1/30d"),
        (
            "--limit",
            "tokens 9/s",
            "--limit tokens 9/s bucket (9/s, at most 18 tokens in any 1 s",
        ),
    ] {
        let job = format!("{{\"url\":\"{}\",\"tokens\":1}}", server.url("/"));
        let done = Shaper::run()
            .jobs("one.jsonl", job)
            .args([flag, value])
            .with_results()
            .ends(0);
        done.says(shown);
    }
}

#[test]
fn what_a_flag_cannot_mean_is_a_usage_error_with_the_form() {
    let flags = [
        ("--per-host", "0", "from 1"),
        ("--per-host", "-1", "from 1"),
        ("--queue-timeout", "-1s", "write a time"),
        ("--queue-timeout", "nan", "write a time"),
        ("--guard", "-1s", "write a time"),
        ("--limit", "0/s", "write N/DUR"),
        ("--limit", "-1/s", "write N/DUR"),
        ("--limit", "NaN/s", "write N/DUR"),
        ("--limit", "", "N/DUR"),
        ("--limit", "10/s burst=0", "from 1"),
        ("--limit", "10/s burst=2 start=3", "burst=2"),
        ("--limit", "10/s window burst=2", "only bucket and leaky"),
        ("--limit", "10/s at=reply", "only window"),
        ("--limit", "10/s window at=end", "at=send or at=reply"),
        ("--limit", "5/s fixed guard=1ms", "only window"),
        ("--limit", "5/s window anchor=first", "only fixed"),
        ("--limit", "5/s per=nonsense", "field:NAME"),
        ("--limit", "5/s sliding", "window-counter"),
        ("--per", "nonsense", "host, header:NAME, field:NAME"),
        ("--per", "header:", "host, header:NAME, field:NAME"),
        ("--estimate", "nonsense", "chars"),
        ("--refund", "x", "unused, never"),
        ("--oversize", "x", "fail, wait"),
        ("--usage", "x", "/NAME"),
        ("--arrivals", "x", "closed, once, even, poisson"),
        ("--speed", "0x", "above 0"),
        ("--speed", "fast", "2x"),
        ("--ramp", "10", "RATE@TIME"),
        ("--ramp", "10@5s,20@1s", "1s comes after 5s"),
        ("--ramp", "0@0s", "no rate is above 0"),
        ("--ramp", "-1@0s", "rate \"-1\""),
        ("--repeat", "0", "from 1"),
        ("--repeat", "ever", "forever"),
        ("--for", "0s", "above 0s"),
        ("--for", "-1s", "write a time"),
        ("--lookahead", "0", "from 1"),
    ];
    let server = Server::start([Step::ok()]);
    for (flag, value, form) in flags {
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args([flag, value])
            .with_results()
            .ends(2);
        done.says(flag).says(&format!("'{value}'")).says(form);
        done.never_says("unexpected argument");
        assert!(!done.path(OUT).exists(), "{done}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_key_without_a_limit_and_two_limits_with_one_name_are_usage_errors() {
    let server = Server::start([Step::ok()]);
    for (args, word) in [
        (vec!["--per", "host"], "--per host"),
        (
            vec!["--limit", "5/s name=a", "--limit", "9/m name=a"],
            "name a",
        ),
        (vec!["--limit", "5/s name=slot"], "name slot"),
    ] {
        let done = Shaper::run()
            .jobs("one.urls", server.list(1))
            .args(args)
            .with_results()
            .ends(2);
        done.says(word).says("mend:");
    }
    assert_eq!(server.requests().len(), 0);
}
