//! A real `redis-server` of a test's own: started on a free port in a folder of its own, ended with the test.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use redis::{Client, Connection, ConnectionLike, FromRedisValue};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Where its program is; Valkey's is the same to us.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// What is said where there is none.
const MISSING: &str = "no redis-server: these tests talk to a real one. Install it: \
    apt-get install redis-server, dnf install valkey, or brew install redis";

/// How long it is looked for after its start, and how often.
const LOOKS: (u32, Duration) = (1000, Duration::from_millis(5));

/// A server that runs.
pub(crate) struct Server {
    port: u16,
    folder: TempDir,
    options: Vec<String>,
    child: Child,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// With more options of its own.
    pub(crate) fn with(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for it");
        let own = [
            "--save",
            "",
            "--appendonly",
            "no",
            "--unixsocket",
            "redis.sock",
        ];
        let all = own.iter().chain(options);
        Self::in_folder(folder, all.map(ToString::to_string).collect())
    }

    fn in_folder(folder: TempDir, options: Vec<String>) -> Self {
        let port = free_port();
        let child = launch(port, &folder, &options);
        Self {
            port,
            folder,
            options,
            child,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// A sentinel that watches over a master, and needs nobody to agree with it.
    pub(crate) fn sentinel(master: &Self, service: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for it");
        let port = master.port.to_string();
        // A failover that did not come to its end, as on a busy machine, is tried again after twice its time.
        let config = format!(
            "sentinel monitor {service} 127.0.0.1 {port} 1\nsentinel down-after-milliseconds {service} 500\n\
             sentinel failover-timeout {service} 5000\n"
        );
        let file = folder.path().join("sentinel.conf");
        std::fs::write(&file, config).expect("its folder is ours");
        let file = file.to_str().expect("a path of ours is text").to_owned();
        // Its file, which it writes to, stands before all else.
        Self::in_folder(folder, vec![file, "--sentinel".to_owned()])
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    pub(crate) fn connection(&self) -> Connection {
        let client = Client::open(self.url()).expect("it is an address");
        client.get_connection().expect("it answers")
    }

    /// A command by its words.
    pub(crate) fn says<T: FromRedisValue>(&self, words: &[&str]) -> T {
        says(&mut self.connection(), words)
    }

    /// Every key of it, with its time to live in milliseconds, minus one for ever.
    pub(crate) fn keys(&self) -> Vec<(String, i64)> {
        let mut connection = self.connection();
        let keys: Vec<String> = says(&mut connection, &["KEYS", "*"]);
        let with_ttl = keys.into_iter().map(|key| {
            let left = says(&mut connection, &["PTTL", &key]);
            (key, left)
        });
        with_ttl.collect()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }

    /// Again, on the same port, with nothing in it.
    pub(crate) fn restart(&mut self) {
        self.child = launch(self.port, &self.folder, &self.options);
    }

    /// It stands still, and nobody is told.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// It goes on.
    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("it is a process");
        let pid = Pid::from_raw(pid).expect("it is not zero");
        kill_process(pid, signal).expect("it is ours");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A cluster talks to itself ten thousand ports above.
pub(crate) fn free_port() -> u16 {
    loop {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it is bound").port();
        if port < 55_000 {
            return port;
        }
    }
}

pub(crate) fn says<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let answer = connection.req_command(&command);
    let answer = answer.unwrap_or_else(|why| panic!("{words:?}: {why}"));
    T::from_redis_value(answer).unwrap_or_else(|why| panic!("{words:?}: {why}"))
}

fn launch(port: u16, folder: &TempDir, options: &[String]) -> Child {
    let log = folder.path().join("log");
    let out = File::options().create(true).append(true).open(&log);
    let out = out.expect("its folder is ours");
    let port_word = port.to_string();
    let start = |program: &&str| {
        let mut command = Command::new(program);
        command.args(options);
        command.args(["--port", &port_word, "--bind", "127.0.0.1"]);
        command.args(["--logfile", "", "--dir"]).arg(folder.path());
        command.current_dir(folder.path()).stdin(Stdio::null());
        command.stdout(out.try_clone().expect("a file can be open twice"));
        command.spawn().ok()
    };
    let mut child = PROGRAMS.iter().find_map(start).expect(MISSING);
    let (looks, pause) = LOOKS;
    for _ in 0..looks {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return child;
        }
        if child.try_wait().expect("it is ours").is_some() {
            break;
        }
        thread::sleep(pause);
    }
    let _ = child.kill();
    let _ = child.wait();
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    panic!("redis-server does not start: {said}");
}
