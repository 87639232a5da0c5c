//! Few open files: slots are cut to what they allow, and no job fails for want of one.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, prlimit};

use crate::support::program::{OUT, Running, Shaper};
use crate::support::server::{Server, Step};

#[test]
fn slots_are_cut_to_what_the_open_files_allow_and_no_job_fails() {
    for slots in ["500", "none"] {
        let server = Server::start([Step::ok().after(Duration::from_millis(20))]);
        let done = Shaper::run()
            .jobs("jobs.urls", server.list(300))
            .args(["-c", slots])
            .files_at_once(64)
            .with_results()
            .reporting()
            .ends(0);
        done.says("warning: 64 open files")
            .says(&format!("-c {slots} is cut to"))
            .says("mend: allow more open files (ulimit -n")
            .never_says("first failed");
        assert_eq!(done.stderr.matches("warning").count(), 1, "{done}");
        assert_eq!(done.counts().ok, 300);
        assert_eq!(server.requests().len(), 300, "none was tried twice");
        let shown = done.stderr.split_once("LIMITS      ").expect("it begins");
        let (shown, _) = shown.1.split_once(" slots").expect("it shows the slots");
        let most: usize = shown.parse().expect("they are a number");
        assert!((1..64).contains(&most), "{done}");
        assert!(server.most_open() <= most, "{}", server.most_open());
        assert!(
            done.files().contains(&format!("{OUT}.run")),
            "{:?}",
            done.files()
        );
    }
}

#[test]
fn where_the_open_files_bind_and_no_slots_were_asked_for_that_is_said() {
    let server = Server::start([Step::ok().after(Duration::from_millis(50))]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(200))
        .args(["-c", "none", "--arrivals", "once"])
        .files_at_once(64)
        .with_results()
        .reporting()
        .ends(0);
    done.says("all that the open files allow");
    let told = done.report();
    let verdict = told["verdict"].as_str().expect("there is one");
    assert!(
        verdict.starts_with("the open files chose this rate"),
        "{verdict}"
    );
    assert_eq!(told["binding"], "open files");
    let slots = told["slots"].as_u64().expect("they are cut");
    let late = told["lateness"]["by"]["open files"].as_u64();
    let waited = 200 - slots;
    // Where the machine is busy for longer than an answer takes, it is the one to blame.
    assert!(
        (waited / 2..=waited).contains(&late.unwrap_or(0)),
        "{}",
        told["lateness"]
    );
    let again = done.retold().output();
    let again = again.json();
    for key in ["verdict", "binding", "lateness"] {
        assert_eq!(again[key], told[key], "results tell the same");
    }
}

#[test]
fn the_open_files_that_are_advised_are_enough_for_the_slots_that_were_asked() {
    let server = Server::start([Step::ok()]);
    let with = |files: u32| {
        Shaper::run()
            .jobs("jobs.urls", server.list(5))
            .args(["-c", "150", "--metrics", "0", "--mock=latency=1ms"])
            .files_at_once(files)
            .with_results()
            .output()
    };
    let few = with(64);
    let (_, advised) = few.stderr.split_once("(ulimit -n ").expect("it is told");
    let (advised, _) = advised.split_once(')').expect("it ends");
    let enough = with(advised.parse().expect("a number"));
    enough.exits(0).never_says("warning").says("150 slots");
}

#[test]
fn the_usual_slots_are_cut_where_even_they_do_not_fit() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(50))
        .files_at_once(28)
        .with_results()
        .reporting()
        .ends(0);
    done.says("warning: 28 open files");
    assert_eq!(done.counts().ok, 50);
}

#[test]
fn hosts_that_are_busy_in_turn_fit_into_few_files() {
    let server = Server::everywhere(Step::ok().after(Duration::from_millis(5)));
    let hosts = server.hosts(40);
    // Each host in bursts, while the first one is asked all the time.
    let first = hosts.lines().next().expect("there are forty");
    let bursts = hosts
        .lines()
        .flat_map(|host| [host; 12].into_iter().chain([first; 2]));
    let list: Vec<&str> = bursts.collect();
    let done = Shaper::run()
        .args(["-", "-c", "100"])
        .stdin(list.join("\n"))
        .files_at_once(64)
        .with_results()
        .reporting()
        .ends(0);
    done.never_says("first failed");
    assert_eq!(done.counts().ok, 560);
    assert_eq!(server.requests().len(), 560, "none was tried twice");
}

#[test]
fn a_modelled_api_in_the_same_process_has_its_half_of_the_files() {
    let done = Shaper::run()
        .args(["-", "-c", "500", "--mock=latency=20ms"])
        .stdin("http://api.example/\n".repeat(200))
        .files_at_once(64)
        .with_results()
        .reporting()
        .ends(0);
    done.says("-c 500 is cut to").never_says("first failed");
    assert_eq!(done.counts().ok, 200);
}

#[test]
fn where_not_one_connection_fits_nothing_is_sent_and_the_results_are_left_alone() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .file(OUT, "old\n")
        .args(["--overwrite"])
        .files_at_once(16)
        .with_results()
        .ends(2);
    done.says("16 open files are too few for a single connection")
        .says("ulimit -n");
    assert_eq!(server.requests().len(), 0);
    assert_eq!(done.bytes(OUT), b"old\n");
}

#[test]
fn enough_open_files_are_no_reason_for_a_warning() {
    let server = Server::start([Step::ok()]);
    let done = Shaper::run()
        .jobs("jobs.urls", server.list(3))
        .args(["-c", "20"])
        .files_at_once(128)
        .with_results()
        .ends(0);
    done.says("LIMITS      20 slots").never_says("warning");
}

#[test]
fn files_that_run_out_on_the_way_are_not_laid_on_the_server() {
    let server = Server::everywhere(Step::ok());
    let mut running = Shaper::run()
        .args(["-", "-c", "1", "--max-attempts", "1"])
        .stdin_stays_open()
        .files_at_once(64)
        .with_results()
        .start();
    let hosts = server.hosts(2);
    let (first, second) = hosts.split_at(hosts.find('\n').expect("it is a list") + 1);
    running.write(first);
    running.until("a request", || server.requests().len() == 1);
    let allow = |files, running: &Running| {
        let limit = Rlimit {
            current: Some(files),
            maximum: Some(64),
        };
        prlimit(Some(running.pid()), Resource::Nofile, limit).expect("it is our child");
    };
    allow(3, &running);
    running.write(second);
    running.until_it_says("too many open files");
    allow(64, &running);
    let done = running.wait();
    done.exits(1)
        .says("mend: allow more open files (ulimit -n)")
        .never_says("start the server");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_name_that_has_no_address_may_be_misspelt() {
    let done = Shaper::run()
        .args(["-", "--max-attempts", "1"])
        .stdin("http://no-such-host.invalid/\n")
        .with_results()
        .ends(1);
    let kind = &done.results()[0]["error"]["kind"];
    // Without a resolver it is a failed connect, which says nothing of the name.
    if kind == "dns" {
        done.says("mend: the name may be misspelt");
    }
}
