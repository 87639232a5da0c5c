//! A page: what bounds one process on a machine with many cores, and how several go past it. Floor 5: drive.
//!
//! # In short
//!
//! A run is one thread, helped by others. It fills one core and a quarter of a second one; of 32 cores the other thirty
//! stay idle. Most runs never come there: they wait for their API. At `--qps 10000` the whole program was busy for a
//! quarter of its time, at `--qps 1000` for a twentieth (`benches/peers.sh`). Only where `top -H` shows `run` near 100 % do more cores help, and then as more
//! processes, each with a part of the jobs and a share of the limits, and one report of all their results.
//!
//! # What each thread does
//!
//! | thread | its work | processor time, `run` = 100 |
//! |---|---|---|
//! | `run` | the engine, sockets, HTTP, TLS, result lines and their write to a file | 100 |
//! | `input` | reads, parses and checks lines, at most 256 ahead | 22 |
//! | `results` | result lines and their write, only where they do not go to a file | not measured |
//! | `fsync` | waits for the disk, only with `--fsync DUR` | 1 (each 100 ms) |
//! | `shaper`, `count`, `signals`, `metrics` | wait, or count lines for the progress | 1 |
//!
//! For a request of 550 bytes with a short answer, over 50 kept connections of loopback and under one limit, with all
//! that the kernel does for it. TLS has no thread of its own: over `https` it is work of `run`.
//!
//! `run` saturates first; `input` could feed four of it. So one process uses at most 1.25 cores, and with the second makes
//! at most 1.2 times the requests of one core.
//!
//! It is one thread on purpose: one owner holds all state of the engine, so there is no lock, first come is first
//! served, and a job takes all of its limits at one instant or none.
//!
//! # Measured
//!
//! ```sh
//! cargo build --profile dist
//! SHAPER=target/dist/shaper cargo bench --bench cores
//! ```
//!
//! Two cores, of which the server takes a half of one. Processor time in us for each request, and requests a second
//! against those of one process on one core (90 000): what was reached here beside the server, and what the busiest
//! thread has time for where each has a core of its own.
//!
//! | | `run` | `input` | reached | time for |
//! |---|---|---|---|---|
//! | one process, one core | 8.3 | 1.8 | 1 | 1.1 |
//! | one process, both cores | 8.8 | 2.6 | 1.03 | 1.25 |
//! | the same, `--fsync 100ms` | 8.9 | 2.6 | 0.99 | 1.25 |
//! | two processes, one core | 8.4 | 1.8 | 0.97 | 1.1 |
//! | two processes, both cores | 8.5 | 2.0 | 1.24 | 2.6 |
//!
//! A second process on the same core makes nothing faster. With both cores the two took what the server left; they
//! share nothing here, and a request costs either what it costs one alone.
//!
//! # Past it
//!
//! 200 000 requests a second and at most 800 slots, by eight processes:
//!
//! ```sh
//! split -n l/8 -d jobs.jsonl part-             # whole lines; parts of about the same size
//! for part in part-0?; do
//!     shaper run $part -c 100 --qps 25000 --quiet -o results-$part.jsonl &
//! done; wait
//! shaper report results-part-0?.jsonl -c 800 --qps 200000 --burst 8
//! ```
//!
//! - Begin with one process, look at `run` in `top -H`, and take as many as bring it below 80 %. Some 25 fill 32 cores;
//!   the kernel, the network and the server are likely to be full before.
//! - Processes know nothing of each other: of `n` each gets one `n`th of `-c`, `--qps`, `--rpm`, `--tpm` and
//!   `--window`. Windows add up exactly. Of buckets the bursts add up too: `n` processes at `--qps` may send `n` at
//!   once, which is `--burst n` for all.
//! - What one does not use of its share is lost to the others, above all once it has finished: make the parts alike
//!   (`shuf jobs.jsonl | split -n r/8 -d - part-` deals the lines out).
//! - A pause that a server asks for holds only the process that was told.
//! - That an id comes once is held within a part, not across all. `--resume` needs the same parts and their results.
//! - `report` of all results is one report, and the limits given to it are proved against all processes together; so
//!   does `verify`, also for several machines (`--clock-skew`).
//! - `ulimit -n` is for each process. Ports of one address are for all: with the usual `ip_local_port_range` some
//!   28 000 connections to one server.
//!
//! `compare`, and what `plan` tells of other bounds, use all cores already, one simulation on each; `report` and
//! `verify` use one.
