//! The options by which processes share limits. Floor 6: front.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use clap::Args;

use super::super::values::{choice, count};
use super::run::RuleArgs;
use crate::engine::share::{Account, OnLoss, Sharing};
use crate::error::Problem;
use crate::job::Job;
use crate::letters::calm_path;
use crate::limit::Spec;
use crate::manifest::Shared;
use crate::store::Address;
use crate::units::{Cost, parse_span};

/// The variable that names the store where no option does.
pub(super) const IN_ENVIRONMENT: &str = "SHAPER_REDIS";

/// This store, trusted by the authorities of a file, if one is named.
pub(in crate::command) fn trusting(
    address: &Address,
    authorities: Option<&Path>,
) -> Result<Address, Problem> {
    let Some(path) = authorities else {
        return Ok(address.clone());
    };
    let text = fs::read(path).map_err(|why| {
        let what = format!("cannot be read: {why}");
        Problem::usage(what, "name a PEM file").at(calm_path(path))
    })?;
    Ok(address.clone().trusting(text))
}

/// Limits that several processes keep together.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sharing limits between processes")]
pub(in crate::command) struct ShareArgs {
    /// All rate limits, and what --adaptive learns, are kept together with every process that gives this Redis (or Valkey) and the same --redis-key:
    /// redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss:// for TLS, `unix:///PATH`, redis+sentinel://, redis+cluster://
    #[arg(long, value_name = "URL", env = IN_ENVIRONMENT, hide_env_values = true)]
    pub(in crate::command) redis: Option<Address>,
    /// The name of what is shared; default: made of the origin and the credentials of the first job, and then a job with
    /// others ends the run
    #[arg(long, value_name = "NAME")]
    pub(in crate::command) redis_key: Option<String>,
    /// For rediss: trust the authorities of this PEM file, in place of those of the system
    #[arg(long, value_name = "FILE")]
    pub(in crate::command) redis_cacert: Option<PathBuf>,
    /// Requests in flight of all processes together; -c is that of each
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = count)]
    pub(in crate::command) shared_concurrency: Option<Cost>,
    /// While Redis is away: stop (nothing is sent; after --store-grace the run ends), local (each process keeps its part
    /// of the limits), open (no shared limit holds)
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = choice(&OnLoss::WORDS), hide_possible_values = true)]
    pub(in crate::command) on_store_fail: OnLoss,
    /// The longest that a run waits for Redis to come back
    #[arg(long, value_name = "DUR", default_value = "10s", allow_hyphen_values = true, value_parser = parse_span)]
    pub(in crate::command) store_grace: Duration,
    /// The longest that one command may take
    #[arg(long, value_name = "DUR", default_value = "1s", allow_hyphen_values = true, value_parser = parse_span)]
    pub(in crate::command) store_timeout: Duration,
}

impl ShareArgs {
    /// Where these limits, and those that are learnt, are shared; nothing where no store is given.
    pub(in crate::command) fn address(
        &self,
        rules: &RuleArgs,
        limits: &[Spec],
    ) -> Result<Option<Address>, Problem> {
        let named = self.redis_key.is_some() || self.shared_concurrency.is_some();
        let Some(address) = &self.redis else {
            let what = "--redis-key and --shared-concurrency have no store to share limits through";
            let mend = "name it: --redis URL, or SHAPER_REDIS";
            return if named {
                Err(Problem::usage(what, mend))
            } else {
                Ok(None)
            };
        };
        let has_rates = !limits.is_empty() || rules.retry.adaptive;
        if !has_rates && self.shared_concurrency.is_none() {
            // A store that the environment names is for the runs that have something to share.
            if !named && env::var_os(IN_ENVIRONMENT).is_some() {
                return Ok(None);
            }
            return Err(Problem::usage(
                "--redis has nothing to share: there is no rate limit",
                "give --qps, --window or another limit, --adaptive, or --shared-concurrency N",
            ));
        }
        trusting(address, self.redis_cacert.as_deref()).map(Some)
    }

    /// What is shared; `first` is the first job, whose account it is if it has no name.
    pub(in crate::command) fn sharing(&self, first: Option<&Job>) -> Result<Sharing, Problem> {
        let only = match (&self.redis_key, first) {
            (Some(_), _) => None,
            (None, Some(job)) => Some(Account::of(job)),
            (None, None) => {
                return Err(Problem::usage(
                    "without --redis-key the first job tells whose the shared limits are, and the first line is none",
                    "mend the line, or name them: --redis-key NAME",
                ));
            }
        };
        Ok(Sharing {
            slots: self.shared_concurrency,
            on_loss: self.on_store_fail,
            grace: self.store_grace,
            fresh: self.store_timeout,
            only,
        })
    }

    /// What is kept of it beside the results.
    pub(in crate::command) fn kept(&self, sharing: Option<&Sharing>) -> Option<Shared> {
        let (sharing, address) = (sharing?, self.redis.as_ref()?);
        Some(Shared {
            store: address.to_string(),
            key: self.name(sharing),
            concurrency: sharing.slots.map(Cost::get),
        })
    }

    /// The name of what is shared.
    pub(in crate::command) fn name(&self, sharing: &Sharing) -> String {
        let own = self.redis_key.clone();
        own.unwrap_or_else(|| {
            sharing
                .only
                .map_or(String::new(), |account| account.to_string())
        })
    }
}
