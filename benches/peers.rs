//! This program beside others that send requests, in turn, against one server: `benches/peers.sh` installs them and
//! runs this (a quarter of an hour on two cores that do nothing else).
//!
//! Client and server have a core each. Every figure is a median of the rounds, every ratio one of the ratios within
//! a round, as the speed of a machine drifts. A tool that is not there is left out. This program reads a different
//! job for each request and writes a line of results for each, under a limit and with retries; the others repeat
//! one request and write nothing.
//!
//! `SHAPER=path` runs another build in place of this one (`cargo build --profile dist`), `PEERS=folder` is where
//! the others are, `ROUNDS=7` how often each is run.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

mod support;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::WaitIdOptions;
use support::process::{TICKS_PER_SECOND, most_resident, over, ticks};
use support::server::{Arrived, Server, now, on_core, serve_if_asked};

/// The cores of server and client.
const CORES: [usize; 2] = [0, 1];

/// Requests of a run without a rate, and the connections that they go over.
const REQUESTS: u64 = 100_000;
const CONNECTIONS: u64 = 50;

/// Seconds of a run at a rate, and its connections, by rate.
const SECONDS: u64 = 4;
const PACED: [(u64, u64); 2] = [(1_000, 10), (10_000, 50)];

/// What a strict server accepts in any second, and the connections that ask for that.
const STRICT: (u64, u64) = (1_000, 20);

/// Programs that are only started, for their median.
const STARTS: usize = 21;

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A body of about 250 bytes.
const BODY: &str = r#"{"model":"small","temperature":0,"max_tokens":64,"messages":[{"role":"user","content":"Say in one sentence, and in plain words, what the following review complains of: the parcel came late, and nobody answered the two letters that I wrote."}]}"#;

/// One of the programs.
struct Peer {
    name: &'static str,
    program: &'static str,
    /// What stands behind it for such a run; `None` if it cannot do that.
    words: fn(&Given) -> Option<String>,
}

/// What a run is given.
struct Given {
    url: String,
    connections: u64,
    requests: u64,
    /// Per second; `None`: as fast as it can.
    rate: Option<u64>,
    /// Whether the server counts in a window.
    strict: bool,
    folder: PathBuf,
}

impl Given {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// `option` and the rate, if there is one.
    fn at(&self, option: &str) -> String {
        self.rate
            .map_or(String::new(), |rate| format!("{option} {rate} "))
    }

    /// The same for a program whose rate is one of each connection.
    fn at_each(&self, option: &str) -> String {
        let each = self.rate.map(|rate| rate / self.connections);
        each.map_or(String::new(), |rate| format!("{option} {rate} "))
    }
}

const SHAPER: &str = "shaper";

const PEERS: [Peer; 8] = [
    Peer {
        name: SHAPER,
        program: SHAPER,
        words: |given| {
            let rate = match given.rate {
                Some(rate) if given.strict => format!("--window {rate}/1s"),
                Some(rate) => format!("--qps {rate}"),
                None => "--qps 1000000 --burst 1000000".to_owned(),
            };
            Some(format!(
                "run {} -c {} {rate} --limit-jobs {} --quiet --report none --overwrite -o {}",
                given.file("jobs.jsonl"),
                given.connections,
                given.requests,
                given.file("results.jsonl"),
            ))
        },
    },
    Peer {
        name: "oha",
        program: "bin/oha",
        words: |given| {
            Some(format!(
                "-n {} -c {} {}--no-tui -m POST -T application/json -D {} {}",
                given.requests,
                given.connections,
                given.at("-q"),
                given.file("body"),
                given.url,
            ))
        },
    },
    Peer {
        name: "wrk",
        program: "wrk",
        words: |given| {
            let words = format!(
                "-t1 -c{} -d2s -s {} {}",
                given.connections,
                given.file("post.lua"),
                given.url,
            );
            given.rate.is_none().then_some(words)
        },
    },
    Peer {
        name: "h2load",
        program: "h2load",
        words: |given| {
            Some(format!(
                "--h1 -t1 -n {} -c {} {}-d {} {}",
                given.requests,
                given.connections,
                given.at_each("--rps"),
                given.file("body"),
                given.url,
            ))
        },
    },
    Peer {
        name: "ab",
        program: "ab",
        words: |given| {
            let words = format!(
                "-q -k -n {} -c {} -T application/json -p {} {}",
                given.requests,
                given.connections,
                given.file("body"),
                given.url,
            );
            given.rate.is_none().then_some(words)
        },
    },
    Peer {
        name: "hey",
        program: "hey",
        words: |given| {
            Some(format!(
                "-n {} -c {} {}-m POST -T application/json -D {} {}",
                given.requests,
                given.connections,
                given.at_each("-q"),
                given.file("body"),
                given.url,
            ))
        },
    },
    Peer {
        name: "autocannon",
        program: "node_modules/.bin/autocannon",
        words: |given| {
            Some(format!(
                "-a {} -c {} {}-n -m POST -i {} {}",
                given.requests,
                given.connections,
                given.at("-R"),
                given.file("body"),
                given.url,
            ))
        },
    },
    Peer {
        name: "k6",
        program: "bin/k6",
        words: |given| {
            let script = match given.rate {
                Some(rate) => format!("paced-{rate}.js"),
                None => "flood.js".to_owned(),
            };
            Some(format!(
                "run --quiet --no-usage-report {}",
                given.file(&script)
            ))
        },
    },
];

/// What is seen of a run.
struct Seen {
    seconds: f64,
    cpu: f64,
    /// The most that was resident, in MB.
    memory: f64,
    arrived: Arrived,
}

fn main() {
    serve_if_asked();
    let folder = tempfile::tempdir().expect("a folder for jobs");
    let rounds = env::var("ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(7);
    let mut bench = Bench {
        server: Server::start(Some(CORES[0])),
        folder: folder.path().to_owned(),
        programs: env::var_os("PEERS").map(PathBuf::from),
        rounds,
    };
    bench.write_inputs();
    bench.flood();
    for (rate, connections) in PACED {
        bench.paced(rate, connections);
    }
    bench.strict();
    bench.starts();
}

struct Bench {
    server: Server,
    folder: PathBuf,
    programs: Option<PathBuf>,
    rounds: usize,
}

impl Bench {
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/chat/completions", self.server.port)
    }

    fn write_inputs(&self) {
        let url = self.url();
        let mut jobs = String::new();
        for nth in 0..REQUESTS {
            let body = BODY.replacen("small", &format!("m-{nth:06}"), 1);
            let _ = writeln!(
                jobs,
                r#"{{"url":"{url}","method":"POST","headers":{{"authorization":"Bearer 0123456789abcdef0123456789abcdef","content-type":"application/json","x-request-id":"7f3c{nth:028}"}},"meta":{{"row":{nth},"of":"reviews.csv"}},"body":{body}}}"#
            );
        }
        let post = format!(
            "wrk.method = \"POST\"\nwrk.headers[\"content-type\"] = \"application/json\"\nwrk.body = [[{BODY}]]\n"
        );
        let k6 = |options: &str| {
            format!(
                "import http from 'k6/http';\nexport const options = {options};\nconst body = `{BODY}`;\nexport default () => http.post('{url}', body, {{headers: {{'content-type': 'application/json'}}}});\n"
            )
        };
        let mut files = vec![
            ("jobs.jsonl".to_owned(), jobs),
            ("body".to_owned(), BODY.to_owned()),
            ("post.lua".to_owned(), post),
            (
                "flood.js".to_owned(),
                k6(&format!(
                    "{{vus: {CONNECTIONS}, iterations: {}}}",
                    REQUESTS / 4
                )),
            ),
        ];
        for (rate, connections) in PACED {
            let options = format!(
                "{{scenarios: {{it: {{executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{SECONDS}s', preAllocatedVUs: {connections}, maxVUs: {connections}}}}}}}"
            );
            files.push((format!("paced-{rate}.js"), k6(&options)));
        }
        for (name, text) in files {
            fs::write(self.folder.join(name), text).expect("there is room");
        }
    }

    /// The program itself; `None` if it is not there.
    fn program(&self, peer: &Peer) -> Option<PathBuf> {
        if peer.name == SHAPER {
            return Some(
                env::var_os("SHAPER").map_or(env!("CARGO_BIN_EXE_shaper").into(), PathBuf::from),
            );
        }
        let own = self
            .programs
            .as_ref()
            .map(|folder| folder.join(peer.program));
        let path = env::var_os("PATH").unwrap_or_default();
        let theirs = env::split_paths(&path).map(|folder| folder.join(peer.program));
        own.into_iter()
            .chain(theirs)
            .find(|program| program.is_file())
    }

    fn given(&self, connections: u64, requests: u64) -> Given {
        Given {
            url: self.url(),
            connections,
            requests,
            rate: None,
            strict: false,
            folder: self.folder.clone(),
        }
    }

    fn given_rate(&self, connections: u64, rate: u64) -> Given {
        Given {
            rate: Some(rate),
            ..self.given(connections, rate * SECONDS)
        }
    }

    /// Runs a program to its end.
    fn run(&mut self, program: &Path, words: &str) -> Seen {
        self.server.arrived();
        let mut command = on_core(Some(CORES[1]), program.display());
        command.args(words.split(' ')).stdin(Stdio::null());
        let started = now();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("taskset is there");
        let mut memory = 0;
        while !over(&child, WaitIdOptions::NOHANG) {
            memory = most_resident(child.id()).map_or(memory, |most| most.max(memory));
            thread::sleep(LOOK);
        }
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let seen = Seen {
            seconds: (now() - started) as f64 / 1e9,
            cpu: ticks(child.id()).unwrap_or_default() as f64 / TICKS_PER_SECOND,
            memory: memory as f64 / 1e3,
            arrived: self.server.arrived(),
        };
        child.wait().expect("it is ours");
        assert!(
            !seen.arrived.at.is_empty(),
            "{} {words}: nothing arrived",
            program.display()
        );
        seen
    }

    /// All programs that can, in turn, round after round: what was seen, by program.
    fn rounds(&mut self, given: &Given) -> Vec<(&'static str, Vec<Seen>)> {
        let runs = PEERS.iter().filter_map(|peer| {
            let program = self.program(peer)?;
            Some((peer.name, program, (peer.words)(given)?))
        });
        let runs: Vec<_> = runs.collect();
        let mut all: Vec<_> = runs.iter().map(|(name, ..)| (*name, Vec::new())).collect();
        for _ in 0..self.rounds {
            for ((_, program, words), (_, seen)) in runs.iter().zip(&mut all) {
                seen.push(self.run(program, words));
            }
        }
        all
    }

    fn flood(&mut self) {
        self.server.accept(None);
        let given = self.given(CONNECTIONS, REQUESTS);
        let all = self.rounds(&given);
        println!("{REQUESTS} POST requests, {CONNECTIONS} connections\n");
        println!(
            "| program | CPU s per 100 000 | CPU of shaper / of it | requests/s | shaper / it | MB |"
        );
        println!("|---|---|---|---|---|---|");
        let (_, own) = &all[0];
        for (name, seen) in &all {
            let ratio = |figure: fn(&Seen) -> f64| {
                middle(
                    own.iter()
                        .zip(seen)
                        .map(|(own, it)| figure(own) / figure(it)),
                )
            };
            println!(
                "| {name} | {:.2} | {:.2} | {:.0} | {:.2} | {:.1} |",
                middle(seen.iter().map(|seen| cpu_each(seen) * 1e5)),
                ratio(cpu_each),
                middle(seen.iter().map(speed)),
                ratio(speed),
                middle(seen.iter().map(|seen| seen.memory)),
            );
        }
    }

    fn paced(&mut self, rate: u64, connections: u64) {
        self.server.accept(None);
        let given = self.given_rate(connections, rate);
        let all = self.rounds(&given);
        println!(
            "\n{rate} requests a second for {SECONDS} s, {connections} connections, as they arrive\n"
        );
        println!(
            "| program | reached | variation of gaps | late p99 us | most in 1 s, % | CPU s per 10 000 |"
        );
        println!("|---|---|---|---|---|---|");
        for (name, seen) in &all {
            let paces: Vec<_> = seen
                .iter()
                .map(|seen| Pace::of(&seen.arrived.at, rate))
                .collect();
            let figure = |figure: fn(&Pace) -> f64| middle(paces.iter().map(figure));
            println!(
                "| {name} | {:.1} | {:.2} | {:.0} | {:.0} | {:.2} |",
                figure(|pace| pace.rate),
                figure(|pace| pace.variation),
                figure(|pace| pace.late),
                figure(|pace| pace.most),
                middle(seen.iter().map(|seen| cpu_each(seen) * 1e4)),
            );
        }
    }

    fn strict(&mut self) {
        let (most, connections) = STRICT;
        let given = Given {
            strict: true,
            ..self.given_rate(connections, most)
        };
        self.server.accept(Some(most));
        let all = self.rounds(&given);
        println!(
            "\nA server that accepts {most} in any second, asked for {most} a second for {SECONDS} s\n"
        );
        println!("| program | answered 429 | accepted a second |");
        println!("|---|---|---|");
        for (name, seen) in &all {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let refused = |seen: &Seen| seen.arrived.refused as f64;
            // In whole seconds: a window lets its first ones go at once.
            let accepted = |seen: &Seen| {
                let at = &seen.arrived.at;
                let seconds = SECONDS - 1;
                let within = at
                    .iter()
                    .take_while(|it| *it - at[0] < seconds * 1_000_000_000);
                #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
                let rate = within.count() as f64 / seconds as f64;
                rate * (1.0 - refused(seen) / count(at))
            };
            println!(
                "| {name} | {:.0} | {:.1} |",
                middle(seen.iter().map(refused)),
                middle(seen.iter().map(accepted)),
            );
        }
        self.server.accept(None);
    }

    fn starts(&mut self) {
        println!("\nStart, in ms\n");
        println!("| program | --version | to the first request |");
        println!("|---|---|---|");
        for peer in &PEERS {
            let Some(program) = self.program(peer) else {
                continue;
            };
            let version = (0..STARTS).map(|_| {
                let started = now();
                let mut command = on_core(Some(CORES[1]), program.display());
                let ended = command
                    .arg("--version")
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
                ended.expect("taskset is there");
                millis(started, now())
            });
            let version = middle(version);
            let given = self.given(1, 1);
            let first = (peer.words)(&given).map(|words| {
                middle((0..STARTS.min(self.rounds)).map(|_| {
                    let started = now();
                    let seen = self.run(&program, &words);
                    millis(started, seen.arrived.at[0])
                }))
            });
            let first = first.map_or("-".to_owned(), |first| format!("{first:.1}"));
            println!("| {} | {version:.1} | {first} |", peer.name);
        }
    }
}

/// How requests arrived that were to come at a rate.
struct Pace {
    /// `(N - 1) / (last - first)`, per second.
    rate: f64,
    /// Standard deviation of the gaps over their mean.
    variation: f64,
    /// The 99th percentile of what they came later than a schedule in which none is early, in microseconds.
    late: f64,
    /// Most in any second, in per cent of the rate.
    most: f64,
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
impl Pace {
    fn of(at: &[u64], rate: u64) -> Self {
        let gaps: Vec<f64> = at
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let step = 1e9 / rate as f64;
        let off: Vec<f64> = (0..at.len())
            .map(|nth| (at[nth] - at[0]) as f64 - nth as f64 * step)
            .collect();
        let earliest = off.iter().copied().fold(f64::INFINITY, f64::min);
        let mut late: Vec<f64> = off.iter().map(|off| (off - earliest) / 1e3).collect();
        late.sort_by(f64::total_cmp);
        let mut first = 0;
        let mut most = 0;
        for last in 0..at.len() {
            while at[last] - at[first] >= 1_000_000_000 {
                first += 1;
            }
            most = most.max(last + 1 - first);
        }
        Self {
            rate: 1e9 / mean,
            variation: variance.sqrt() / mean,
            late: late[(late.len() - 1) * 99 / 100],
            most: most as f64 / rate as f64 * 100.0,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred thousand")]
fn count(at: &[u64]) -> f64 {
    at.len() as f64
}

fn cpu_each(seen: &Seen) -> f64 {
    seen.cpu / count(&seen.arrived.at)
}

fn speed(seen: &Seen) -> f64 {
    count(&seen.arrived.at) / seen.seconds
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn millis(from: u64, to: u64) -> f64 {
    (to - from) as f64 / 1e6
}

fn middle(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
