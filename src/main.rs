//! The program: hands the command line over and turns the answer into an exit code.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Jobs are made on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    ExitCode::from(shaper::command::main(std::env::args_os()).code())
}
