//! `shaper report`: again from files of results. Floor 6: front.

mod failed;
mod gather;
mod limits;

use std::path::PathBuf;

use super::args::ReportArgs;
use super::files::{self, Taken};
use super::show;
use crate::error::{Exit, Problem};
use crate::manifest;
use crate::report::against::Against;

pub(super) fn report(args: &ReportArgs) -> Result<Exit, Problem> {
    if args.failed_jobs {
        return failed::copy(args);
    }
    files::shown(&args.show, taken(args))?;
    let piped = |paths: &[PathBuf]| paths.iter().any(|path| path.as_os_str() == "-");
    if piped(&args.results) && piped(&args.against) {
        let what = "both runs are read from standard input";
        return Err(Problem::usage(what, "name a file for one of them"));
    }
    let run = gather::report(&args.results, &args.limits)?;
    let run = run.judged(&args.conditions.fail_if);
    let run = if args.against.is_empty() {
        show::again(&args.show, &run)?;
        run
    } else {
        let against = gather::report(&args.against, &args.limits)?;
        let both = Against { run, against };
        show::against(&args.show, &both)?;
        both.run
    };
    show::true_conditions(&run);
    Ok(if run.conditions.iter().any(|judged| judged.is_true) {
        Exit::ConditionTrue
    } else {
        Exit::AllOk
    })
}

/// Files that a report must not replace: those that it is read from.
fn taken(args: &ReportArgs) -> Vec<Taken<'_>> {
    let each = args.results.iter().chain(&args.against);
    let each = each.flat_map(|path| {
        let beside = manifest::path_of(path);
        [
            Taken::new(path, "the results are read from it"),
            Taken::new(beside, "it tells what the run was"),
        ]
    });
    each.collect()
}
