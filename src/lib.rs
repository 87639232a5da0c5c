//! A traffic shaper and load replayer: runs a list of HTTP requests under limits, and says whose wait it was.
//!
//! What users are promised stands in README and the pages of `docs/`; here is the map of the code. The modules stand in floor
//! order, and each uses only what stands on its floor or above it in this list: words, records, rules, doors, drive, front.
//! A test reads every file against it.
//!
//! Times are [`units::Tick`]: nanoseconds since the run began. Whole numbers inside; waits are rounded up, allowances down.
//! A request that failed is a result ([`outcome::Outcome`]), never an `Err`; what ends the run is an [`error::Problem`],
//! which says what, where, and how to mend it.
//!
//! # The way of one job
//!
//! 1. [`source`] reads a line, in a thread of its own, and makes a [`job::Job`] of it, or a [`job::BadLine`].
//! 2. [`drive::live`] tells it to the [`engine`], with the time. A driver decides nothing.
//! 3. The engine puts it into its lane. As soon as all that it needs is free at one instant (slots, each [`limit`], the
//!    part of others that share them) it asks for the send: [`engine::Action::Send`].
//! 4. [`client`] sends it and tells what came, as an [`outcome::Reply`] or an [`outcome::Failure`].
//! 5. The engine has [`retry`] and [`quota`] judge that. The job is over, or rests and comes back to its old place.
//! 6. When it is over, [`sink`] writes its line, and [`metrics`] have counted it. When all are, [`report`] tells the figures.
//!
//! In virtual time [`drive::simulated`] takes the place of [`drive::live`], and [`model`] that of the server: the same
//! engine, to the nanosecond. `plan`, `compare` and nearly every test run so. One run is explained so, and is run as a test:
//! [`drive::worked_example`]. What bounds one process on many cores: [`drive::many_cores`].
//!
//! # The ways of other things
//!
//! - **A retry** never leaves the engine: `engine/rests.rs` keeps when it comes back, its lane its place, and it is granted
//!   as a first try is.
//! - **A limit** is text that [`limit::Spec`] reads. [`limit::Kind`] builds the rule of it for the engine,
//!   [`proof`] proves it from what was sent, by other code, and `store/lua` keeps it where it is shared.
//! - **A bad line** goes the way of a job that ended when it came: the engine counts it and has it recorded.
//! - **Ctrl-C** is heard by [`signals`], which needs no runtime, and is one more thing that the engine is told: it grants no
//!   more, waits for what is in flight, and asks for the end. A second one ends at once.
//!
//! # Where a new thing goes
//!
//! Help, completions and messages are made of the tables; the pages of `docs/` name it.
//!
//! | a new | is one file | and one row of |
//! |---|---|---|
//! | rule for limits | in `limit/`, which says what it promises; of a new promise the compiler asks how it is proved, shared and told of | `limit/mod.rs`, with its `mod` |
//! | format of inputs | in `source/formats/` | `source/formats/mod.rs`, with its `mod` |
//! | form of results | in `sink/` | `sink/format.rs`, with its variant; the `mod` in `sink/mod.rs` |
//! | way in which servers tell their limits | — | `quota/table.rs` |
//! | status or failure that is tried again | — | `retry/which.rs` |
//! | discipline of `compare` | — | `drive/disciplines/table.rs` |
//! | figure that `--fail-if` and `--stop-if` know | — | `metrics/condition/metric.rs` |

#![cfg_attr(test, allow(clippy::unwrap_used))]

// Floor 1, words: quantities, problems, chance, secrets and JSON in place.
pub mod choice;
pub mod dice;
pub mod error;
pub mod json;
pub mod letters;
pub mod secret;
pub mod statuses;
pub mod units;

// Floor 2, records: what is read and what became of it.
pub mod fields;
pub mod headers;
pub mod job;
pub mod kept;
pub mod outcome;
pub mod stream;

// Floor 3, rules: pure, told the time.
pub mod engine;
pub mod estimate;
pub mod limit;
pub mod metrics;
pub mod model;
pub mod proof;
pub mod quota;
pub mod redirect;
pub mod retry;
pub mod shape;
pub mod shared;
pub mod sse;
pub mod usage;

// Floor 4, doors: what touches the world.
pub mod client;
pub mod clock;
pub mod endpoint;
pub mod file;
pub mod manifest;
pub mod mock;
pub mod progress;
pub mod report;
pub mod results;
pub mod signals;
pub mod sink;
pub mod source;
pub mod store;
pub mod terminal;

// Floor 5, drive: what carries the engine through a run.
pub mod drive;

// Floor 6, front: the command line.
pub mod command;
