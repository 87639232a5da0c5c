//! The flags that are shorthand, as limits. Floor 6: front.

use std::sync::Arc;
use std::time::Duration;

use super::args::{LimitArgs, RuleArgs};
use super::values::{Bound, Burst};
use crate::error::Problem;
use crate::limit::{Counts, KeyBy, Spec, all_keys};
use crate::metrics::Owner;
use crate::units::{Cost, Rate};

impl RuleArgs {
    /// The limits that are given.
    pub(super) fn specs(&self) -> Result<Vec<Spec>, Problem> {
        // What says when jobs are due is no limit.
        let qps = self.limits.qps.as_ref();
        let qps = qps.filter(|_| !self.shape.takes_qps());
        if self.retry.adaptive {
            self.limits.beside_others(qps)
        } else {
            self.limits.specs_with(qps)
        }
    }

    /// The keys by which limits are kept apart: these, and those that are learnt.
    pub(super) fn keys(&self, limits: &[Spec]) -> Vec<KeyBy> {
        all_keys(limits, self.learnt_per())
    }

    /// By which of them those that are learnt are.
    pub(super) fn learnt_per(&self) -> Option<&KeyBy> {
        self.limits.per.as_ref().filter(|_| self.retry.adaptive)
    }
}

impl LimitArgs {
    /// The limits in the order: qps, rpm, tpm, tps, windows, and those that are written out. Flags are
    /// shorthand for limit specs. Each has a name of its own.
    pub(super) fn specs(&self) -> Result<Vec<Spec>, Problem> {
        self.specs_with(self.qps.as_ref())
    }

    /// The same with this in the place of `--qps`.
    fn specs_with(&self, qps: Option<&Bound<Rate>>) -> Result<Vec<Spec>, Problem> {
        let specs = self.beside_others(qps)?;
        if let (Some(key), []) = (&self.per, &specs[..]) {
            return Err(Problem::usage(
                format!("--per {key} has no limit to keep apart"),
                "give --qps or another limit with it, or --adaptive",
            ));
        }
        Ok(specs)
    }

    /// The same where limits that are learnt may be kept apart, too.
    fn beside_others(&self, qps: Option<&Bound<Rate>>) -> Result<Vec<Spec>, Problem> {
        let mut specs = self.shorthand(qps)?;
        specs.extend(self.limit.iter().cloned());
        for spec in &mut specs {
            spec.per = spec.per.take().or_else(|| self.per.clone());
        }
        name_apart(&mut specs)?;
        Ok(specs)
    }

    fn shorthand(&self, qps: Option<&Bound<Rate>>) -> Result<Vec<Spec>, Problem> {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let per = |count: Option<&Bound<Cost>>, period| Rate::new(bound(count)?.get(), period);
        let requests = [("qps", bound(qps)), ("rpm", per(self.rpm.as_ref(), minute))];
        let units = [
            ("tpm", per(self.tpm.as_ref(), minute)),
            ("tps", per(self.tps.as_ref(), second)),
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
        let windows = self.window.iter().cloned();
        specs.extend(windows.map(|rate| Spec::window("window", rate)));
        Ok(specs)
    }
}

/// Gives each limit a name of its own: `window`, `window2`, as results count waits by name.
///
/// Two names that the user gave and that are one, or that of another wait, are a usage problem.
pub(super) fn name_apart(specs: &mut [Spec]) -> Result<(), Problem> {
    let mut taken: Vec<Arc<str>> = Vec::new();
    for spec in specs {
        let own = spec.name.clone();
        let usual = &*own == spec.kind.word();
        let twice = taken.contains(&own);
        if is_taken(&own) || (twice && !usual) {
            let what = if twice {
                format!("--limit: two limits have the name {own}")
            } else {
                format!("--limit: none can have the name {own}: other waits are counted under it")
            };
            return Err(Problem::usage(what, "give one another name=WORD"));
        }
        let mut names = (2..).map(|nth| Arc::from(format!("{own}{nth}")));
        while taken.contains(&spec.name) {
            spec.name = names.next().expect("numbers do not end");
        }
        taken.push(spec.name.clone());
    }
    Ok(())
}

/// Whether results or `/metrics` count other time under this name; `store` is kept for that of limits that are shared.
fn is_taken(name: &str) -> bool {
    Owner::of(name).is_some() || name == "store"
}

/// No option and `none` are the same.
fn bound<T: Clone>(given: Option<&Bound<T>>) -> Option<T> {
    given.and_then(Bound::limit)
}

impl Burst {
    /// In requests, rounded down, at least 1.
    pub(super) fn of(self, rate: &Rate) -> Cost {
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
    use super::*;

    /// Words of one value stand with `_` between them.
    fn specs(line: &str) -> Result<Vec<Spec>, Problem> {
        let words = line.split(' ').map(|word| word.replace('_', " "));
        let words = ["shaper", "run"]
            .map(str::to_owned)
            .into_iter()
            .chain(words);
        let Command::Run(run) = Cli::try_parse_from(words).unwrap().command else {
            panic!("it is a run")
        };
        run.rules.limits.specs()
    }

    fn limits(line: &str) -> Vec<String> {
        let specs = specs(line).unwrap();
        specs
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
        assert_eq!(
            limits("--qps 10 --limit 5/s --limit tokens_9/m_leaky_name=out --per host"),
            [
                "qps 10 bucket burst=1 per=host",
                "bucket 5/s bucket burst=1 per=host",
                "out tokens 9/m leaky burst=9 per=host"
            ]
        );
    }

    #[test]
    fn a_limit_has_a_name_of_its_own() {
        for line in [
            "--qps 10 --limit 5/s_name=qps",
            "--limit 5/s_name=slot",
            "--limit 5/s_name=order",
            "--limit 5/s_name=input",
            "--limit 5/s_name=a --limit 6/s_name=a",
        ] {
            let why = specs(line).unwrap_err();
            assert!(why.what.contains("name"), "{line}: {why}");
        }
        assert_eq!(
            limits("--limit 5/s --limit 6/m"),
            ["bucket 5/s bucket burst=1", "bucket2 6/m bucket burst=1"]
        );
    }
}
