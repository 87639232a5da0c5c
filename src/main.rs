//! The program: hands the command line over and turns the answer into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(shaper::command::main(std::env::args_os()).code())
}
