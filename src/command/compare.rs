//! `shaper compare`. Floor 6: front.

use std::time::Duration;

use super::args::CompareArgs;
use super::print;
use crate::drive::disciplines;
use crate::error::{Exit, Problem};
use crate::report::comparison::{Marks, Numbers};

/// How long the modelled API takes.
const LATENCY: Duration = Duration::from_millis(50);

pub(super) fn compare(args: &CompareArgs) -> Result<Exit, Problem> {
    let numbers = Numbers {
        slots: args.concurrency,
        rate: args.qps.clone(),
        jobs: args.jobs,
        latency: LATENCY,
    };
    let marks = if args.ascii {
        Marks::Ascii
    } else {
        Marks::Blocks
    };
    print(&disciplines::compare(&numbers).text(marks))?;
    Ok(Exit::AllOk)
}
