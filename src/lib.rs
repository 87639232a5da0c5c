//! A traffic shaper and load replayer. The modules stand in floor order: each may use what is above it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

// Floor 1, words: quantities, problems, chance, secrets and JSON in place.
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
