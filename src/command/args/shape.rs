//! The options that say when jobs are due, and for how long. Floor 6: front.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::super::values::{Bound, one_of, or_else};
use crate::error::Problem;
use crate::shape::{Arrivals, Gaps, Ramp, Speed};
use crate::source::Rounds;
use crate::units::{Rate, parse_span};

/// When jobs are due.
#[derive(Debug, Args)]
#[command(next_help_heading = "When jobs are due, and for how long")]
pub(in crate::command) struct ShapeArgs {
    /// Each job is due when it was recorded, `at`: seconds from the first, or RFC 3339; what is late is sent all the same
    #[arg(long, conflicts_with_all = ["arrivals", "ramp"])]
    pub(in crate::command) replay: bool,
    /// So many times as fast as it was recorded: 2x, 0.5x
    #[arg(
        long,
        value_name = "FACTOR",
        default_value = "1x",
        allow_hyphen_values = true
    )]
    speed: Speed,
    /// When jobs are due: closed (as slots and limits allow), once (all at the start), even or poisson (at --qps, which
    /// is then no limit, or at the rates of --ramp)
    #[arg(long, value_name = "WHEN", default_value = "closed", value_parser = one_of::<When>(["closed", "once", "even", "poisson"]), hide_possible_values = true)]
    arrivals: When,
    /// Jobs are due at these rates, linear between the times and the same before and behind them: 10@0s,100@30s,100@5m
    #[arg(long, value_name = "RATE@T,…", allow_hyphen_values = true)]
    ramp: Option<Ramp>,
    /// Read the files so many times, one round after the other: N, forever; ids may come again in each
    #[arg(long, value_name = "N|forever", default_value = "1", allow_hyphen_values = true, value_parser = or_else::<Rounds>(&["forever"]), hide_possible_values = true)]
    pub(in crate::command) repeat: Rounds,
    /// After this time nothing new is sent, and what is in flight ends
    #[arg(
        id = "for",
        short = 'z',
        long = "for",
        value_name = "DUR",
        allow_hyphen_values = true,
        value_parser = parse_span
    )]
    pub(in crate::command) time: Option<Duration>,
}

/// The words of `--arrivals`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Closed,
    Once,
    Paced(Gaps),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "closed" => Ok(Self::Closed),
            "once" => Ok(Self::Once),
            gaps => gaps.parse().map(Self::Paced),
        }
    }
}

impl ShapeArgs {
    /// Whether `--qps` says when jobs are due, and limits nothing.
    pub(in crate::command) fn takes_qps(&self) -> bool {
        self.ramp.is_none() && matches!(self.arrivals, When::Paced(_))
    }

    /// When jobs are due; `qps` is what that option says.
    pub(in crate::command) fn arrivals(
        &self,
        qps: Option<&Bound<Rate>>,
    ) -> Result<Arrivals, Problem> {
        let is_original = self.speed == Speed::default();
        if !self.replay && !is_original {
            return Err(Problem::usage(
                format!("--speed {} has no record to replay", self.speed),
                "give --replay with it: each job is then due at its \"at\"",
            ));
        }
        let beyond = |why| Problem::usage(format!("--qps: {why}"), "write a lower rate");
        Ok(match (self.arrivals, &self.ramp) {
            _ if self.replay => Arrivals::Replay(self.speed.clone()),
            (When::Closed, None) => Arrivals::Closed,
            (When::Once, None) => Arrivals::Once,
            (When::Closed, Some(ramp)) => Arrivals::Paced(ramp.clone(), Gaps::Even),
            (When::Paced(gaps), Some(ramp)) => Arrivals::Paced(ramp.clone(), gaps),
            (When::Once, Some(_)) => {
                return Err(Problem::usage(
                    "--arrivals once and --ramp do not go together",
                    "leave one out: a ramp says itself when jobs are due",
                ));
            }
            (When::Paced(gaps), None) => match qps {
                Some(Bound::At(rate)) => {
                    let ramp = Ramp::of(rate.clone()).map_err(beyond)?;
                    Arrivals::Paced(ramp, gaps)
                }
                Some(Bound::Unlimited) | None => {
                    return Err(Problem::usage(
                        format!("--arrivals {gaps} has no rate"),
                        "give it with --qps RATE, or rates that change with --ramp",
                    ));
                }
            },
        })
    }
}
