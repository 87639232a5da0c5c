//! `shaper report`: again from files of results. Floor 6: front.

mod failed;
mod gather;
mod limits;

use super::args::ReportArgs;
use super::show;
use crate::error::{Exit, Problem};

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Problem> {
    if args.failed_jobs {
        return failed::copy(args);
    }
    let report = gather::report(&args.results, &args.limits)?;
    show::again(&args.show, &report)?;
    Ok(Exit::AllOk)
}
