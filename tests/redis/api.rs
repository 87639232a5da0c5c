//! `shaper mock` as a process of its own.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::PATIENCE;

/// `shaper mock`, which writes down what arrives.
pub(super) struct Api {
    child: Child,
    folder: TempDir,
    pub(super) address: String,
}

impl Api {
    pub(super) fn start(options: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let (free, began) = (crate::server::free_port(), Instant::now());
        let address = format!("127.0.0.1:{free}");
        let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"));
        program.args(["mock", "--listen", &address]).args(options);
        program.args(["--arrivals-file", "arrivals.jsonl"]);
        program.current_dir(folder.path());
        program.stdout(Stdio::null()).stderr(Stdio::null());
        let child = program.spawn().unwrap();
        while TcpStream::connect(&address).is_err() {
            assert!(began.elapsed() < PATIENCE, "the API never listens");
            thread::sleep(Duration::from_millis(5));
        }
        Self {
            child,
            folder,
            address,
        }
    }

    /// The proof of these limits over what has arrived, which is counted: exit code and page.
    pub(super) fn verify(mut self, limit: &str) -> (Option<i32>, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_shaper"));
        program.args(["verify", "arrivals.jsonl", "--limit", limit]);
        let output = program.current_dir(self.folder.path()).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).unwrap())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
