//! What several benches share: the life of a job without its request, a server in a process of its own, and what the
//! system says of a process.

// Each bench uses its own part of it.
#![allow(dead_code)]

use tikv_jemallocator::Jemalloc;

pub(crate) mod life;
pub(crate) mod process;
pub(crate) mod server;

/// As in the program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;
