//! What the tests of the program share: a server to send to, and the program itself.

pub(crate) mod program;
pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything here takes on a busy machine: reaching it means that something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A loopback port where nothing listens: `tcpmux`, which only root could open.
pub(crate) const CLOSED: &str = "127.0.0.1:1";

/// A file of `fixtures/cases`, in which the address `127.0.0.1:8080` stands for the server's.
pub(crate) fn case(name: &str, server: &server::Server) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/cases")
        .join(name);
    let text = std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    replaced(&text, b"127.0.0.1:8080", server.host().as_bytes())
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(old.len()).position(|found| found == old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// The verdicts, in the order of the input.
pub(crate) fn statuses(results: &[Value]) -> Vec<&str> {
    results
        .iter()
        .map(|line| line["status"].as_str().expect("every result has a status"))
        .collect()
}

/// The message of a result's error, empty if it has none.
pub(crate) fn message(result: &Value) -> &str {
    result["error"]["message"].as_str().unwrap_or_default()
}

/// The most of `moments` (sorted) that fall into any half-open window of `length`.
pub(crate) fn most_in_any(length: Duration, moments: &[Duration]) -> usize {
    let counts = moments.iter().enumerate().map(|(first, from)| {
        let inside = moments[first..].iter();
        inside.take_while(|at| **at < *from + length).count()
    });
    counts.max().unwrap_or(0)
}
