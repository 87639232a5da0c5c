//! `shaper status`: who shares limits, and what is left of them. Floor 6: front.

use std::io;

use super::args::{StatusArgs, trusting};
use super::print;
use super::run::one_thread;
use super::values::ReportForm;
use crate::clock::Clock;
use crate::error::{Exit, Problem};
use crate::report::csv;
use crate::report::shared::SharedPage;
use crate::store::status;
use crate::terminal::Columns;

pub(super) fn status(args: &StatusArgs) -> Result<Exit, Problem> {
    let clock = Clock::start();
    let (name, timeout) = (&args.redis_key, args.store_timeout);
    let address = trusting(&args.redis, args.redis_cacert.as_deref())?;
    let seen = one_thread()?.block_on(status::look(&address, name, timeout, clock))?;
    let page = SharedPage {
        name,
        address: address.to_string(),
        seen: seen.unwrap_or_default(),
    };
    match args.report {
        ReportForm::Text => print(&page.text(Columns::of(&io::stdout())))?,
        ReportForm::Json => print(&format!("{}\n", page.json()))?,
        ReportForm::Csv => print(&csv::table(&page.json()))?,
        ReportForm::None => {}
    }
    Ok(Exit::AllOk)
}
