//! A server that costs little, in a process of its own: this program again. It stamps what arrives, and keeps a
//! strict sliding window if it is asked to.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::env;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

/// The word that makes a bench the server.
const SERVE: &str = "serve";

/// Begins the path of a job that is refused twice.
pub(crate) const REFUSED: &str = "/refused/";

/// How long the window of the strict server is.
const PERIOD: u64 = 1_000_000_000;

const OK: &[u8] =
    b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";

/// A moment that all processes of this machine share, in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let time = Duration::try_from(time).expect("the time since boot is not negative");
    u64::try_from(time.as_nanos()).expect("584 years fit")
}

/// The server, on every address of this machine.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) port: u16,
    process: Child,
    told: BufReader<ChildStdout>,
}

/// What has arrived since the last question.
pub(crate) struct Arrived {
    /// The moments, in order.
    pub(crate) at: Vec<u64>,
    /// How many of them were answered 429.
    pub(crate) refused: u64,
}

impl Server {
    /// Starts it on a core of its own, if one is named.
    pub(crate) fn start(core: Option<usize>) -> Self {
        let this = env::current_exe().expect("it runs");
        let mut command = on_core(core, this.display());
        let process = command
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = process.spawn().expect("the server starts");
        let mut told = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut port = String::new();
        told.read_line(&mut port).expect("the server says its port");
        Self {
            port: port.trim().parse().expect("a port is a number"),
            process,
            told,
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// From now on at most so many are accepted in any second, or as many as come; forgets what has arrived.
    pub(crate) fn accept(&mut self, most: Option<u64>) {
        self.ask(&format!("accept {}", most.unwrap_or(0)));
        self.arrived();
    }

    /// What has arrived since this was asked last.
    pub(crate) fn arrived(&mut self) -> Arrived {
        self.ask("arrived");
        let mut answer = String::new();
        self.told.read_line(&mut answer).expect("it answers");
        let mut numbers = answer
            .split_whitespace()
            .map(|word| word.parse().expect("a number"));
        let refused = numbers.next().expect("refusals come first");
        Arrived {
            at: numbers.collect(),
            refused,
        }
    }

    fn ask(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("it is piped");
        writeln!(input, "{line}").expect("the server listens");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It ends with its input, and nothing hangs on how.
        self.process.wait().ok();
    }
}

/// A program that is kept to one core.
pub(crate) fn on_core(core: Option<usize>, program: impl Display) -> Command {
    match core {
        None => Command::new(program.to_string()),
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &core.to_string(), &program.to_string()]);
            command
        }
    }
}

/// What the server knows.
#[derive(Default)]
struct State {
    arrived: Vec<u64>,
    refused: u64,
    /// Those accepted within the last period, and how many may be; none: all.
    accepted: VecDeque<u64>,
    most: u64,
    /// Tries so far of jobs that are to be refused again.
    tries: HashMap<String, u32>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Serves until its input ends, if this process is to be the server.
pub(crate) fn serve_if_asked() {
    if env::args().nth(1).is_none_or(|word| word != SERVE) {
        return;
    }
    let (tell, mut asked) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            tell.send(line).expect("the server outlives its input");
        }
        #[expect(clippy::exit, reason = "nothing here outlives its parent")]
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("sockets are to be had");
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("0.0.0.0:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        println!("{}", address.port());
        loop {
            tokio::select! {
                Some(line) = asked.recv() => carry_out(&line),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => drop(spawn_local(connection(stream))),
                    Err(why) => {
                        eprintln!("the server has no room: {why}");
                        sleep(Duration::from_millis(10)).await;
                    }
                },
            }
        }
    });
}

fn carry_out(line: &str) {
    STATE.with_borrow_mut(|state| {
        if let Some(most) = line.strip_prefix("accept ") {
            state.most = most.parse().expect("a number");
            return;
        }
        // What comes next is of another program.
        state.accepted.clear();
        let refused = std::mem::take(&mut state.refused);
        let arrived = state.arrived.drain(..).map(|at| at.to_string());
        let words: Vec<_> = [refused.to_string()].into_iter().chain(arrived).collect();
        println!("{}", words.join(" "));
    });
}

/// Serves a connection to its end. Requests come one after the other; the length of a body is announced.
async fn connection(mut stream: TcpStream) {
    stream.set_nodelay(true).ok();
    let (mut buffer, mut filled) = (vec![0; 16 << 10], 0);
    while let Ok(more @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += more;
        let Some(head) = buffer[..filled]
            .windows(4)
            .position(|end| end == b"\r\n\r\n")
        else {
            continue;
        };
        if filled < head + 4 + length(&buffer[..head]) {
            continue;
        }
        let reply = STATE.with_borrow_mut(|state| state.answer(&buffer[..head]));
        if stream.write_all(&reply).await.is_err() {
            return;
        }
        filled = 0;
    }
}

/// What a head says of its body.
fn length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.find(|line| {
        line.get(..NAME.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
    });
    let value = line.and_then(|line| std::str::from_utf8(&line[NAME.len()..]).ok());
    value.map_or(0, |value| {
        value.trim().parse().expect("a length is a number")
    })
}

impl State {
    fn answer(&mut self, head: &[u8]) -> std::borrow::Cow<'static, [u8]> {
        let at = now();
        self.arrived.push(at);
        if self.most > 0 && !self.accepts(at) {
            self.refused += 1;
            return TOO_MANY.into();
        }
        let path = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match path.strip_prefix(REFUSED.as_bytes()) {
            Some(job) => self.refuse(std::str::from_utf8(job).expect("jobs are numbered")),
            None => OK.into(),
        }
    }

    /// A sliding log: those of the last period are counted.
    fn accepts(&mut self, at: u64) -> bool {
        while self
            .accepted
            .front()
            .is_some_and(|&first| first + PERIOD <= at)
        {
            self.accepted.pop_front();
        }
        let accepts = (self.accepted.len() as u64) < self.most;
        if accepts {
            self.accepted.push_back(at);
        }
        accepts
    }

    /// The first and the second try are refused; every other job may come back at once, a few only in a second.
    fn refuse(&mut self, job: &str) -> std::borrow::Cow<'static, [u8]> {
        let tries = self.tries.entry(job.to_owned()).or_default();
        *tries += 1;
        if *tries > 2 {
            self.tries.remove(job);
            return OK.into();
        }
        let nth: u64 = job.parse().expect("jobs are numbered");
        let wait = match nth {
            _ if nth.is_multiple_of(300_000) => "retry-after: 1\r\n",
            _ if nth.is_multiple_of(2) => "retry-after: 0\r\n",
            _ => "",
        };
        let head = format!("HTTP/1.1 429 Too Many Requests\r\n{wait}content-length: 0\r\n\r\n");
        head.into_bytes().into()
    }
}
