//! `shaper help`: how a command is used, and which limit suits which server. Floor 6: front.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::args::{Cli, HelpArgs};
use super::print;
use crate::error::{Exit, Problem};
use crate::limit::{KEY_FORM, Kind, LIMIT_FORM};
use crate::report::folded;

pub(super) fn help(args: &HelpArgs) -> Result<Exit, Problem> {
    let mut program = Cli::command();
    program.build();
    let page = match args.topic.as_deref() {
        None => program.render_help().to_string(),
        Some("limits") => limits(),
        Some(topic) => {
            let Some(command) = program.find_subcommand_mut(topic) else {
                let what = format!("there is no help on {topic}");
                return Err(Problem::usage(
                    what,
                    "shaper help lists the commands; shaper help limits",
                ));
            };
            command.render_help().to_string()
        }
    };
    print(&page).map(|()| Exit::AllOk)
}

/// The flags that are shorthand, and the limits that they stand for.
const SHORTHAND: [(&str, &str); 5] = [
    ("--qps 10", "10/s bucket burst=1 name=qps"),
    ("--rpm 600 --burst 20", "600/m bucket burst=20 name=rpm"),
    ("--tpm 100k", "tokens 100k/m bucket burst=100k name=tpm"),
    ("--tps 2000", "tokens 2000/s bucket burst=2000 name=tps"),
    ("--window 100/10s", "100/10s window"),
];

/// Which limit for which server rule, and the worst case of each.
fn limits() -> String {
    let mut page = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(page, "{text}");
    };
    line("LIMITS: which for which server, and the most that ANY window can hold");
    line("");
    let form = format!("--limit \"{LIMIT_FORM}\"");
    let (first, rest) = form.split_at(form.find(" [burst").unwrap_or(form.len()));
    line(&format!("  {first}"));
    line(&format!("          {}", rest.trim_start()));
    line("");
    line("  kind            in any window   mirrors");
    for kind in Kind::all() {
        let (mut word, mut promise) = (kind.word(), kind.promise());
        for text in folded(kind.mirrors(), 64) {
            line(&format!("  {word:<16}{promise:<16}{text}"));
            (word, promise) = ("", "");
        }
    }
    line("");
    for text in NOTES {
        line(format!("  {text}").trim_end());
    }
    line("");
    line("  shorthand                 the same as --limit");
    for (flag, spec) in SHORTHAND {
        line(&format!("  {flag:<26}\"{spec}\""));
    }
    line("");
    line(&format!(
        "  per=KEY: one state for each value of {KEY_FORM};"
    ));
    line("  --per KEY for all limits. Idle keys are forgotten when their limit is as new again.");
    page
}

/// What the table leaves open.
const NOTES: [&str; 15] = [
    "N is the count, P the period, r = N/P, b = burst, T any length of time. A window of any other length",
    "than P holds correspondingly more.",
    "b + rT: a bucket with burst N lets up to 2N through in one period. For \"N in any P\" use window, or a",
    "safe pair: burst=b and a rate with b + rP at most N.",
    "In a run, grants of buckets may be charged for up to 2 ms ago (the slack): b + r(T + 2 ms).",
    "2N - 1: the two-window counter holds N only for even traffic. 2N: all of it within 2 ns of a boundary.",
    "",
    "A server counts arrivals, not departures. Against one that is as strict as your window:",
    "  guard=DUR  (default, measured) the window is kept longer than P by the jitter of the way: at least",
    "             5 ms, at most 1 % of P. Costs that much rate; jitter beyond it can still exceed by one.",
    "  at=reply   a send leaves the window one period after the head of its answer came: whatever the way",
    "             does, the server sees at most N in any window of its own. Costs the latency per period;",
    "             a request that arrives after its try timed out here is left open.",
    "anchor=first: the first window begins with the first request; the default counts from the Unix epoch.",
    "tokens, input-tokens, output-tokens: each try costs what its job reserves, settled by its answer.",
];
