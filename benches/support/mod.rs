//! What several benches share: a server in a process of its own, and what the system says of a process.

// Each bench uses its own part of it.
#![allow(dead_code)]

pub(crate) mod process;
pub(crate) mod server;
