//! The union of several processes: what arrives of all of them at one server keeps one quota, whatever becomes of the
//! processes and of their store in the meantime.

use std::mem;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::far::Far;
use crate::redis::api::Api;
use crate::server::Server as Redis;
use crate::support::program::{OUT, Output, Running, Shaper};
use crate::support::{PATIENCE, moments, random, rounds, statuses};

/// Processes of a round, and the jobs of each.
const PROCESSES: usize = 4;
const JOBS: usize = 25;

/// One of the processes: it runs, or is to be started again.
enum Process {
    Runs(Box<Running>),
    Fell(Box<Output>, Instant),
    Done(Box<Output>),
}

/// Four processes, one quota.
struct Round {
    redis: Redis,
    /// The way to it.
    far: Far,
    api: Api,
    options: Vec<String>,
    processes: Vec<Process>,
    seed: u64,
}

impl Round {
    fn start(options: &[&str], seed: u64) -> Self {
        Self::start_at(Duration::ZERO, options, seed)
    }

    /// The way to the store and back takes so long.
    fn start_at(way: Duration, options: &[&str], seed: u64) -> Self {
        let redis = Redis::start();
        let mut round = Self {
            far: Far::from(&redis.host(), way / 2),
            redis,
            api: Api::start(&["--latency", "exp:15ms"]),
            options: options.iter().map(ToString::to_string).collect(),
            processes: Vec::new(),
            seed,
        };
        for nth in 0..PROCESSES {
            let address = &round.api.address;
            let line = |job| format!("http://{address}/{nth}/{job}\n");
            let jobs: String = (0..JOBS).map(line).collect();
            let shaper = Shaper::plain().file("jobs.urls", jobs);
            let running = round.dressed(shaper).start();
            round.processes.push(Process::Runs(Box::new(running)));
        }
        round
    }

    fn dressed(&self, shaper: Shaper) -> Shaper {
        let url = self.far.url();
        let store = [
            "--redis",
            &url,
            "--redis-key",
            "one",
            "--store-timeout",
            "300ms",
        ];
        shaper
            .args(["run", "jobs.urls", "--resume", "--timeout", "2s"])
            .args(store)
            .args(&self.options)
            .with_results()
    }

    /// What has ended is looked at; what fell is started again.
    fn look(&mut self) {
        for (nth, process) in mem::take(&mut self.processes).into_iter().enumerate() {
            let next = self.next(nth as u64, process);
            self.processes.push(next);
        }
    }

    fn next(&self, nth: u64, process: Process) -> Process {
        match process {
            Process::Runs(mut running) => {
                if running.lives_for(Duration::from_millis(1)) {
                    return Process::Runs(running);
                }
                let output = Box::new(running.wait());
                match output.code {
                    Some(0) => Process::Done(output),
                    // Killed, or the store was away for longer than a start waits for it.
                    None | Some(4) => {
                        let pause = Duration::from_millis(random(self.seed + nth, 300));
                        Process::Fell(output, Instant::now() + pause)
                    }
                    Some(_) => panic!("{output}"),
                }
            }
            Process::Fell(output, again) if again <= Instant::now() => {
                Process::Runs(Box::new(self.dressed(output.again()).start()))
            }
            other @ (Process::Fell(..) | Process::Done(_)) => other,
        }
    }

    fn is_over(&self) -> bool {
        let mut all = self.processes.iter();
        all.all(|process| matches!(process, Process::Done(_)))
    }

    fn signal(&self, nth: usize, signal: Signal) {
        // It may have ended just now.
        if let Process::Runs(running) = &self.processes[nth] {
            let _ = kill_process(running.pid(), signal);
        }
    }

    /// Something goes wrong.
    fn disturb(&self, nth: u64) {
        let what = random(self.seed * 101 + nth, 6);
        let whom = usize::try_from(random(self.seed * 103 + nth, 4)).unwrap();
        let long = Duration::from_millis(200 + random(self.seed * 107 + nth, 1_500));
        match what {
            0 | 1 => self.signal(whom, Signal::KILL),
            2 => {
                self.signal(whom, Signal::STOP);
                thread::sleep(long);
                self.signal(whom, Signal::CONT);
            }
            3 => {
                let millis = long.as_millis().to_string();
                self.redis.says::<()>(&["CLIENT", "PAUSE", &millis]);
            }
            4 => self.redis.says::<()>(&["SCRIPT", "FLUSH"]),
            _ => {
                self.redis.freeze();
                thread::sleep(long);
                self.redis.thaw();
            }
        }
    }

    /// To the end, with so many disturbances.
    fn play(&mut self, disturbances: u64) {
        let began = Instant::now();
        let mut next = (0, began);
        while !self.is_over() {
            assert!(began.elapsed() < PATIENCE, "seed {}: it hangs", self.seed);
            self.look();
            if next.0 < disturbances && next.1 <= Instant::now() {
                self.disturb(next.0);
                let pause = Duration::from_millis(100 + random(self.seed * 109 + next.0, 500));
                next = (next.0 + 1, Instant::now() + pause);
            }
        }
    }

    /// Every job has one result, which is `ok`; the outputs, and the API.
    #[track_caller]
    fn ends(self) -> (Vec<Output>, Api) {
        let outputs = self.processes.into_iter().map(|process| match process {
            Process::Done(output) => *output,
            Process::Runs(_) | Process::Fell(..) => panic!("it is over"),
        });
        let outputs: Vec<_> = outputs.collect();
        for output in &outputs {
            assert_eq!(statuses(&output.results()), vec!["ok"; JOBS], "{output}");
        }
        (outputs, self.api)
    }
}

#[test]
fn no_more_arrives_of_all_than_one_window_lets_through_whatever_happens() {
    for seed in 0..rounds(1) {
        let mut round = Round::start(&["--limit", "15/500ms window at=reply", "-c", "9"], seed);
        round.play(6);
        let (_, api) = round.ends();
        // At the server an arrival counts from its own moment on.
        let (exit, page) = api.verify("15/500ms window");
        assert_eq!(exit, Some(0), "seed {seed}: {page}");
    }
}

/// What all of them tell keeps this.
#[track_caller]
fn keep(outputs: &[Output], limit: &[&str]) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"));
    program
        .arg("verify")
        .args(outputs.iter().map(|output| output.path(OUT)));
    let proved = program.args(limit).output().unwrap();
    let told = String::from_utf8([proved.stdout, proved.stderr].concat()).unwrap();
    assert_eq!(proved.status.code(), Some(0), "{told}");
}

#[test]
fn clocks_of_processes_that_are_hours_and_days_off_change_nothing_of_what_arrives() {
    let (redis, api) = (Redis::start(), Api::start(&["--latency", "5ms"]));
    let url = redis.url();
    let run = |offset| {
        let jobs = format!("http://{}/\n", api.address).repeat(JOBS);
        let shaper = Shaper::plain().file("jobs.urls", jobs);
        let shaper = shaper.args(["run", "jobs.urls", "--redis", &url, "--redis-key", "one"]);
        let shaper = shaper.args(["--limit", "15/500ms window at=reply", "-c", "9"]);
        shaper.with_a_clock_off_by(offset).with_results().start()
    };
    let all: Vec<Running> = ["+0", "+3h", "-100d"].map(run).into();
    let mut told = Vec::new();
    for one in all {
        let done = one.wait();
        assert_eq!(statuses(&done.results()), vec!["ok"; JOBS], "{done}");
        told.push(moments(&done.results(), "sent_us")[0]);
    }
    let hour = Duration::from_secs(3600);
    assert!(told[1].abs_diff(told[0]) > 2 * hour, "{told:?}");
    assert!(told[2].abs_diff(told[0]) > 99 * 24 * hour, "{told:?}");
    let (exit, page) = api.verify("15/500ms window");
    assert_eq!(exit, Some(0), "{page}");
}

#[test]
fn what_all_were_granted_keeps_one_bucket_whatever_happens() {
    for seed in 0..rounds(1) {
        let limit = ["--qps", "40", "--burst", "5"];
        let mut round = Round::start(&limit, seed + 1_000);
        round.play(6);
        let (outputs, _api) = round.ends();
        keep(&outputs, &limit);
    }
}

#[test]
fn what_is_granted_ahead_over_a_long_way_keeps_one_limit_whatever_happens() {
    for seed in 0..rounds(1) {
        let way = Duration::from_millis(60);
        let options = ["--qps", "40", "-c", "20"];
        let mut round = Round::start_at(way, &options, seed + 2_000);
        round.play(6);
        let (outputs, _api) = round.ends();
        // What each believes of the clock of the store is as good as the quickest of the answers that it had.
        keep(&outputs, &["--qps", "40", "--burst", "2"]);
    }
}

#[test]
fn a_store_that_lost_what_it_held_costs_one_window_at_most_and_is_told() {
    for seed in 0..rounds(1) {
        let mut round = Round::start(&["--limit", "15/500ms window at=reply", "-c", "9"], seed);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(1) {
            round.look();
        }
        round.redis.kill();
        round.redis.restart();
        round.play(0);
        let (outputs, api) = round.ends();
        // One that has just begun, or is about to end, knew nothing that was lost.
        let told = |output: &Output| output.stderr.contains("has lost what it held");
        assert!(outputs.iter().any(told), "seed {seed}: {}", outputs[0]);
        let (exit, page) = api.verify("30/500ms window");
        assert_eq!(exit, Some(0), "seed {seed}: {page}");
    }
}
