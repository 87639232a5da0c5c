//! What a long run holds: `cargo bench --bench soak [-- JOBS [NAME...]]` (a quarter of an hour, on Linux;
//! promise: from a tenth of the jobs on memory grows by at most 30 MB, and 40 bytes for each id, whatever is
//! answered and by however many hosts). With fewer than 100 000 jobs the start is a part of it.
//!
//! `SHAPER=path` runs another build in place of this one.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use shaper::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

/// Jobs of a run, if the command line says nothing else.
const JOBS: u64 = 3_000_000;

/// How much memory may grow after a tenth of the jobs, in kB of 1000 bytes.
const GROWTH: u64 = 30_000;

/// What each id may add to that, in bytes: a second job with the same one is to be found.
const ID: u64 = 40;

/// Loopback addresses that are asked in turn.
const HOSTS: u64 = 200_000;

/// What the system charges CPU time in: `USER_HZ`, 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// How often the program is looked at.
const PERIOD: Duration = Duration::from_millis(5);

/// The word that makes this program the server.
const SERVE: &str = "serve";

/// Lines that the program has been given.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// A way to be asked for long.
struct Soak {
    name: &'static str,
    what: &'static str,
    line: fn(u64, port: u16) -> String,
    /// Bytes that each job may leave behind.
    each: u64,
}

const SOAKS: [Soak; 4] = [
    Soak {
        name: "urls",
        what: "URLs of one host",
        line: |nth, port| format!("http://127.0.0.1:{port}/{nth}"),
        each: 0,
    },
    Soak {
        name: "ids",
        what: "JSON lines with ids, of one host",
        line: |nth, port| format!(r#"{{"id":"job-{nth}","url":"http://127.0.0.1:{port}/{nth}"}}"#),
        each: ID,
    },
    Soak {
        name: "refused",
        what: "URLs of one host, every third answered 429 twice",
        line: |nth, port| match nth % 3 {
            0 => format!("http://127.0.0.1:{port}{REFUSED}{nth}"),
            _ => format!("http://127.0.0.1:{port}/{nth}"),
        },
        each: 0,
    },
    Soak {
        name: "hosts",
        what: "URLs of 200000 hosts in turn",
        line: |nth, port| {
            let host = nth % HOSTS;
            let [.., high, middle, low] = host.to_be_bytes();
            format!("http://127.{}.{middle}.{low}:{port}/{nth}", high + 1)
        },
        each: 0,
    },
];

fn main() {
    // Each connection is a file, here as in the program.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).expect("the soft limit may be raised to the hard one");
    let words: Vec<String> = env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SERVE) {
        return serve();
    }
    let jobs = words.iter().find_map(|word| word.parse().ok());
    let named = |soak: &Soak| words.iter().any(|word| word == soak.name);
    let all = !SOAKS.iter().any(named);
    for soak in SOAKS.iter().filter(|soak| all || named(soak)) {
        run(soak, jobs.unwrap_or(JOBS));
    }
}

/// Memory and CPU time of a program, as the system counts them.
#[derive(Default)]
struct Used {
    /// Resident now, in kB.
    now: u64,
    /// CPU time in ticks.
    ticks: u64,
}

/// What is found of a run.
#[derive(Default)]
struct Found {
    /// Resident after a tenth of the jobs, in kB.
    early: u64,
    /// The most after that.
    most: u64,
    /// Just before the end.
    last: Used,
}

fn run(soak: &Soak, jobs: u64) {
    let server = Server::start();
    let clock = Clock::start();
    let program = env::var_os("SHAPER").unwrap_or(env!("CARGO_BIN_EXE_shaper").into());
    let mut program = Command::new(program)
        .args(["run", "-", "-c", "100", "-o", "/dev/null", "--quiet"])
        .args(["--backoff", "1ms..2ms", "--report", "none"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the program starts");
    GIVEN.store(0, Ordering::Relaxed);
    let input = program.stdin.take().expect("it is piped");
    let (line, port) = (soak.line, server.port);
    let feed = thread::spawn(move || give(input, jobs, |nth| line(nth, port)));
    let found = watch(&mut program, jobs);
    let seconds = Duration::from_nanos(clock.now().0).as_secs_f64();
    feed.join().expect("every line was taken");
    let allowed = found.early + GROWTH + soak.each * (jobs - jobs / 10) / 1_000;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let (lines, cpu) = (jobs as f64, found.last.ticks as f64 / TICKS_PER_SECOND);
    println!(
        "{:8} {jobs} {}: {} kB after a tenth, {} kB at the end, {} kB at most{}",
        soak.name,
        soak.what,
        found.early,
        found.last.now,
        found.most,
        if found.most > allowed {
            "  TOO MUCH"
        } else {
            ""
        },
    );
    println!(
        "         {seconds:.1} s, {:.0} jobs/s, {:.2} s of CPU per 100000 jobs",
        lines / seconds,
        cpu / (lines / 100_000.0),
    );
}

fn give(input: ChildStdin, jobs: u64, line: impl Fn(u64) -> String) {
    let mut input = BufWriter::new(input);
    for nth in 0..jobs {
        writeln!(input, "{}", line(nth)).expect("the program reads to the end");
        GIVEN.store(nth, Ordering::Relaxed);
    }
}

/// Waits for the end.
fn watch(program: &mut Child, jobs: u64) -> Found {
    let mut found = Found::default();
    loop {
        if let Some(used) = used(program.id()) {
            found.last = used;
        }
        if GIVEN.load(Ordering::Relaxed) < jobs / 10 {
            (found.early, found.most) = (found.last.now, 0);
        }
        found.most = found.most.max(found.last.now);
        if let Some(status) = program.try_wait().expect("it is ours") {
            assert!(status.success(), "every job is ok: {status}");
            return found;
        }
        thread::sleep(PERIOD);
    }
}

/// `None` once the program has let go of its memory.
fn used(id: u32) -> Option<Used> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Behind the name, which may hold blanks: fields 14 and 15 are the times, see proc(5).
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(2);
    Some(Used {
        now: kibibytes * 1024 / 1000,
        ticks: times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum(),
    })
}

/// This program again, as a server on every address of this machine.
struct Server {
    port: u16,
    process: Child,
}

impl Server {
    fn start() -> Self {
        let this = env::current_exe().expect("it runs");
        let mut process = Command::new(this)
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut port = String::new();
        let told = process.stdout.take().expect("it is piped");
        let read = BufReader::new(told).read_line(&mut port);
        read.expect("the server says its port");
        Self {
            port: port.trim().parse().expect("a port is a number"),
            process,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It ends with its input, and nothing hangs on how.
        self.process.wait().ok();
    }
}

/// Begins the path of a job that is refused twice.
const REFUSED: &str = "/refused/";

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

/// Answers until its input ends.
fn serve() {
    thread::spawn(|| {
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        #[expect(clippy::exit, reason = "nothing here outlives its parent")]
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("sockets are to be had");
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let listener = TcpListener::bind("0.0.0.0:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        println!("{}", address.port());
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(spawn_local(answer(stream))),
                Err(why) => {
                    eprintln!("the server has no room: {why}");
                    sleep(Duration::from_millis(10)).await;
                }
            }
        }
    });
}

thread_local! {
    /// Tries so far of jobs that are to be refused again.
    static TRIES: RefCell<HashMap<String, u32>> = HashMap::new().into();
}

/// Serves a connection to its end. Requests have no body, and come one after the other.
async fn answer(mut stream: TcpStream) {
    stream.set_nodelay(true).ok();
    let (mut head, mut filled) = ([0; 1024], 0);
    while let Ok(more @ 1..) = stream.read(&mut head[filled..]).await {
        filled += more;
        if !head[..filled].ends_with(b"\r\n\r\n") {
            continue;
        }
        let line = std::str::from_utf8(&head[..filled]).expect("heads are ASCII");
        let path = line.split(' ').nth(1).expect("a path follows the method");
        let reply = match path.strip_prefix(REFUSED) {
            Some(job) => refused(job),
            None => OK.to_owned(),
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
        filled = 0;
    }
}

/// The first and the second try are refused; every other job may come back at once, a few only in a second.
fn refused(job: &str) -> String {
    let tries = TRIES.with_borrow_mut(|all| {
        let tries = all.entry(job.to_owned()).or_default();
        *tries += 1;
        let tries = *tries;
        if tries > 2 {
            all.remove(job);
        }
        tries
    });
    let nth: u64 = job.parse().expect("jobs are numbered");
    let wait = match nth {
        _ if tries > 2 => return OK.to_owned(),
        _ if nth.is_multiple_of(300_000) => "retry-after: 1\r\n",
        _ if nth.is_multiple_of(2) => "retry-after: 0\r\n",
        _ => "",
    };
    format!("HTTP/1.1 429 Too Many Requests\r\n{wait}content-length: 0\r\n\r\n")
}
