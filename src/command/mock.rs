//! `shaper mock`. Floor 6: front.

use tokio::signal::unix::{SignalKind, signal};

use super::args::MockArgs;
use super::print;
use super::run::{one_thread, unheard};
use crate::error::{Exit, Problem};
use crate::mock::{self, ArrivalLog};
use crate::model::ModelSpec;

pub(super) fn mock(args: &MockArgs) -> Result<Exit, Problem> {
    let spec = spec(args)?;
    let arrivals = args
        .arrivals_file
        .as_deref()
        .map(ArrivalLog::create)
        .transpose()?;
    let served = mock::serve(args.listen, spec, args.seed, arrivals)?;
    print(&format!("listening on http://{}\n", served.address()))?;
    let exit = until_signal()?;
    served.stop()?;
    Ok(exit)
}

fn spec(args: &MockArgs) -> Result<ModelSpec, Problem> {
    let one = |word: &'static str, value: &Option<String>| value.clone().map(|value| (word, value));
    let many = |word: &'static str, values: &[String]| {
        values
            .iter()
            .map(move |value| (word, value.clone()))
            .collect()
    };
    let limits: Vec<_> = many("limit", &args.limit);
    let faults: Vec<_> = many("fail", &args.fail);
    let words: Vec<(&str, String)> = one("latency", &args.latency)
        .into_iter()
        .chain(limits)
        .chain(one("slots", &args.slots))
        .chain(faults)
        .chain(one("tokens", &args.tokens))
        .chain(one("retry-after", &args.retry_after))
        .collect();
    ModelSpec::from_words(words.iter().map(|(word, value)| (*word, value.as_str())))
        .map_err(|why| Problem::usage(why, "see shaper mock --help"))
}

/// Waits for Ctrl-C or SIGTERM: the ordinary ends of a server.
fn until_signal() -> Result<Exit, Problem> {
    let runtime = one_thread()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|why| unheard(&why))?;
        let mut terminate = signal(SignalKind::terminate()).map_err(|why| unheard(&why))?;
        tokio::select! {
            _ = interrupt.recv() => Ok(Exit::Interrupted),
            _ = terminate.recv() => Ok(Exit::Terminated),
        }
    })
}
