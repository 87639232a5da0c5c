//! The flags that are shorthand, as limits. Floor 6: front.

use std::time::Duration;

use super::args::LimitArgs;
use super::values::{Bound, Burst};
use crate::error::Problem;
use crate::limit::{Counts, Spec};
use crate::units::{Cost, Rate};

impl LimitArgs {
    /// The limits in the order: qps, rpm, tpm, tps, windows. Flags are shorthand for limit specs.
    pub(super) fn specs(&self) -> Result<Vec<Spec>, Problem> {
        let minute = Duration::from_secs(60);
        let per = |count: Option<&Bound<Cost>>, period, written: &str| {
            bound(count).map(|count| Rate {
                count: count.0,
                period,
                written: format!("{}{written}", count.get()),
            })
        };
        let requests = [
            ("qps", bound(self.qps.as_ref())),
            ("rpm", per(self.rpm.as_ref(), minute, "/m")),
        ];
        let units = [
            ("tpm", per(self.tpm.as_ref(), minute, "/m")),
            ("tps", per(self.tps.as_ref(), Duration::from_secs(1), "/s")),
        ];
        if self.burst.is_some() && requests.iter().all(|(_, rate)| rate.is_none()) {
            return Err(Problem::usage(
                "--burst has no bucket",
                "give --qps or --rpm with it",
            ));
        }
        if self.token_burst.is_some() && units.iter().all(|(_, rate)| rate.is_none()) {
            return Err(Problem::usage(
                "--token-burst has no bucket",
                "give --tpm or --tps with it",
            ));
        }
        let mut specs = Vec::new();
        for (name, rate) in requests {
            if let Some(rate) = rate {
                let burst = self.burst.map_or(Cost::ONE, |burst| burst.of(&rate));
                specs.push(Spec::bucket(name, Counts::Requests, rate, burst));
            }
        }
        for (name, rate) in units {
            if let Some(rate) = rate {
                let burst = self.token_burst.unwrap_or(Cost(rate.count));
                specs.push(Spec::bucket(name, Counts::Units, rate, burst));
            }
        }
        for (nth, rate) in self.window.iter().enumerate() {
            let name = if nth == 0 {
                "window".to_owned()
            } else {
                format!("window{}", nth + 1)
            };
            specs.push(Spec::window(&name, rate.clone()));
        }
        Ok(specs)
    }
}

/// No option and `none` are the same.
fn bound<T: Clone>(given: Option<&Bound<T>>) -> Option<T> {
    given.and_then(Bound::limit)
}

impl Burst {
    /// In requests, rounded down, at least 1.
    fn of(self, rate: &Rate) -> Cost {
        match self {
            Self::Count(count) => count,
            Self::Worth(span) => {
                let worth = u128::from(rate.count.get()) * span.as_nanos() / rate.period.as_nanos();
                Cost::new(u64::try_from(worth).unwrap_or(u64::MAX)).unwrap_or(Cost::ONE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::{Cli, Command};

    fn limits(line: &str) -> Vec<String> {
        let words = ["shaper", "run"].into_iter().chain(line.split(' '));
        let Command::Run(run) = Cli::try_parse_from(words).unwrap().command else {
            panic!("it is a run")
        };
        run.limits
            .specs()
            .unwrap()
            .iter()
            .map(|spec| format!("{} {spec}", spec.name))
            .collect()
    }

    #[test]
    fn flags_are_shorthand_for_limits() {
        assert_eq!(limits("--qps 10"), ["qps 10 bucket burst=1"]);
        assert_eq!(limits("--qps none --rpm none --tpm none"), [""; 0]);
        assert_eq!(limits("--rpm 60 --burst 5"), ["rpm 60/m bucket burst=5"]);
        assert_eq!(
            limits("--qps 10/s --burst 4s"),
            ["qps 10/s bucket burst=40"]
        );
        assert_eq!(
            limits("--tpm 100k"),
            ["tpm tokens 100000/m bucket burst=100000"]
        );
        assert_eq!(
            limits("--window 10/5s --window 100/m"),
            ["window 10/5s window", "window2 100/m window"]
        );
    }
}
