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
    let report = report.judged(&args.conditions.fail_if);
    show::again(&args.show, &report)?;
    show::true_conditions(&report);
    Ok(if report.conditions.iter().any(|judged| judged.is_true) {
        Exit::ConditionTrue
    } else {
        Exit::AllOk
    })
}
