//! What the tests of the program share: a server to send to, and the program itself.

pub(crate) mod nginx;
pub(crate) mod program;
pub(crate) mod recorded;
pub(crate) mod secure;
pub(crate) mod server;
pub(crate) mod two;
pub(crate) mod wire;

use std::env;
use std::hint;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use program::{Output, Shaper};
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

/// The moment of that name of each try that has it, sorted: `granted_us`, `sent_us`.
pub(crate) fn moments(results: &[Value], name: &str) -> Vec<Duration> {
    let tries = results.iter().filter_map(|line| line["tries"].as_array());
    let mut moments: Vec<Duration> = tries
        .flatten()
        .filter_map(|made| made[name].as_u64())
        .map(Duration::from_micros)
        .collect();
    moments.sort();
    moments
}

/// The most tries of `results` that were in flight at once: from the grant to the end, which a try that
/// is granted in the same microsecond comes after.
pub(crate) fn most_at_once(results: &[Value]) -> usize {
    let (granted, done) = (moments(results, "granted_us"), moments(results, "done_us"));
    let open = granted.iter().enumerate().map(|(before, at)| {
        let ended = done.partition_point(|end| end <= at);
        before + 1 - ended
    });
    open.max().unwrap_or(0)
}

/// Buckets may be charged this much in the past, see `--qps`; nothing else may come early.
pub(crate) const SLACK: Duration = Duration::from_millis(2);

/// How far two grants (sorted) may have been apart for a bucket: they may be charged [`SLACK`] ago, and
/// are rounded down to a microsecond.
pub(crate) fn gaps(granted: &[Duration]) -> Vec<Duration> {
    let pairs = granted.windows(2);
    pairs
        .map(|pair| pair[1].abs_diff(pair[0]) + SLACK + Duration::from_micros(1))
        .collect()
}

/// Fails the test if any stretch of `granted` (sorted) holds more than a bucket lets through in it: the
/// burst, and the rate times the stretch and [`SLACK`].
#[track_caller]
pub(crate) fn bucket_holds(burst: u128, per_second: u128, granted: &[Duration]) {
    // Each moment is rounded down to a microsecond.
    let tolerance = SLACK + Duration::from_micros(1);
    for (first, from) in granted.iter().enumerate() {
        for (count, to) in (1..).zip(&granted[first..]) {
            let stretch = to.abs_diff(*from);
            let most = burst * 1_000_000 + per_second * (stretch + tolerance).as_micros();
            assert!(
                count * 1_000_000 <= most,
                "{count} granted in {stretch:?} at {per_second}/s, burst {burst}: {granted:?}"
            );
        }
    }
}

/// The same with each, at once: waits are waited for once.
pub(crate) fn at_once<T: Send>(each: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for one in each {
            let test = &test;
            scope.spawn(move || test(one));
        }
    });
}

/// Rounds of a test of kills; more of them in a soak by hand: `SHAPER_ROUNDS=200 cargo test --test cli crash`.
pub(crate) fn rounds(usual: u64) -> u64 {
    let asked = env::var("SHAPER_ROUNDS").ok();
    asked
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(usual)
}

/// The same numbers in each run, in no order.
pub(crate) fn random(seed: u64, below: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below
}

/// Keeps every core busy until it is dropped.
pub(crate) struct Busy(Arc<AtomicBool>);

impl Busy {
    /// Begins now.
    pub(crate) fn cores() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(2, NonZeroUsize::get) {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        Self(over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The most of `moments` (sorted) that fall into any half-open window of `length`.
pub(crate) fn most_in_any(length: Duration, moments: &[Duration]) -> usize {
    let counts = moments.iter().enumerate().map(|(first, from)| {
        let inside = moments[first..].iter();
        inside.take_while(|at| **at < *from + length).count()
    });
    counts.max().unwrap_or(0)
}

/// What comes of the same command by each transport; each ends so.
pub(crate) fn by_each_transport(code: i32, shaper: impl Fn() -> Shaper) -> Vec<Output> {
    let run = |transport: &str| shaper().args(["--transport", transport]).ends(code);
    ["direct", "reqwest"].map(run).into()
}
