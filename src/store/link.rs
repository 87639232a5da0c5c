//! The connection to a store: one request after the other, and what became of each. Floor 4: doors.

use std::future::Future;
use std::time::Duration;

use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind};

use super::address::Address;
use super::connect::{Open, connect};
use super::request::Request;
use super::script::{self, SCRIPT};
use crate::clock::Clock;
use crate::error::{Exit, Problem};
use crate::units::show_span;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Who is there does not answer, or not yet: sent again over a new connection it may be.
    Waits(String),
    /// Name and password are not taken.
    Refused(String),
    /// However often it is sent.
    Unfit(String),
}

/// A connection that is opened when it is needed, and dropped with whatever it still brings when something failed.
#[derive(Debug)]
pub(super) struct Link {
    address: Address,
    timeout: Duration,
    clock: Clock,
    open: Option<Open>,
}

impl Link {
    pub(super) fn new(address: Address, timeout: Duration, clock: Clock) -> Self {
        Self {
            address,
            timeout,
            clock,
            open: None,
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Runs the script once, on a connection that was opened before if one is.
    pub(super) async fn send(&mut self, request: &Request) -> Result<String, Trouble> {
        let by_hash = command("EVALSHA", SCRIPT.get_hash(), request);
        match self.ask(&by_hash).await {
            Err(why) if why.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {}
            answer => return self.kept(answer),
        }
        let by_text = command("EVAL", script::text(), request);
        let answer = self.ask(&by_text).await;
        self.kept(answer)
    }

    /// One plain command.
    pub(super) async fn asks<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, Trouble> {
        let answer = self.ask(command).await;
        self.kept(answer)
    }

    /// What `INFO` says of one name, if that may be read.
    pub(super) async fn info(&mut self, section: &str, name: &str) -> Option<String> {
        let mut command = redis::cmd("INFO");
        command.arg(section);
        let text: String = self.asks(&command).await.ok()?;
        let value = |line: &str| {
            line.strip_prefix(name)?
                .strip_prefix(':')
                .map(str::to_owned)
        };
        text.lines().find_map(value)
    }

    /// A trouble with its place, and what mends it.
    pub(super) fn problem(&self, trouble: &Trouble) -> Problem {
        let (why, mend) = match trouble {
            Trouble::Waits(why) => (
                why,
                "see that it runs and can be reached from here, or give another --redis URL",
            ),
            Trouble::Refused(why) => (
                why,
                "give user and password: redis://USER:PASSWORD@HOST (also by SHAPER_REDIS)",
            ),
            Trouble::Unfit(why) => (
                why,
                "use Redis 5 or later, or Valkey, and a user who may run scripts on keys `shaper:*`",
            ),
        };
        Problem::new(
            Exit::Store,
            format!("the store of shared limits: {why}"),
            mend,
        )
        .at(self.address.to_string())
    }

    /// After any failure the connection is another one: what it still brings is never read.
    fn kept<T>(&mut self, answer: RedisResult<T>) -> Result<T, Trouble> {
        answer.map_err(|why| {
            self.open = None;
            self.trouble(&why)
        })
    }

    async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        let clock = self.clock;
        let timeout = self.timeout;
        if self.open.is_none() {
            // One that is silent must not keep the next from being asked.
            let servers = u32::try_from(self.address.servers.len()).unwrap_or(1);
            let opened = connect(&self.address, timeout);
            let opened = within(clock, timeout * servers, opened).await?;
            self.open = Some(opened);
        }
        let Some(open) = &mut self.open else {
            unreachable!("it has just been opened")
        };
        let answer = async {
            match open {
                Open::One(connection) => command.query_async(connection).await,
                Open::Cluster(connection) => command.query_async(&mut **connection).await,
            }
        };
        within(clock, timeout, answer).await
    }

    fn trouble(&self, why: &RedisError) -> Trouble {
        let said = match why.detail() {
            Some(detail) => detail.to_owned(),
            None => why.to_string(),
        };
        let said = said.lines().next().unwrap_or_default().to_owned();
        match (why.kind(), why.code()) {
            (ErrorKind::Io, _) if why.is_timeout() => {
                let limit = show_span(self.timeout);
                Trouble::Waits(format!("no answer within {limit}"))
            }
            (ErrorKind::Io, _) => Trouble::Waits(plain(&why.to_string())),
            (ErrorKind::AuthenticationFailed, _) => {
                Trouble::Refused("user and password are not taken".to_owned())
            }
            (_, Some(code @ ("WRONGPASS" | "NOAUTH"))) => {
                Trouble::Refused(format!("{code} {said}"))
            }
            // Who has given no password is not even read, where the command is long.
            _ if said.contains("unauthenticated") => {
                Trouble::Refused("NOAUTH Authentication required".to_owned())
            }
            (
                ErrorKind::Server(
                    ServerErrorKind::BusyLoading
                    | ServerErrorKind::Moved
                    | ServerErrorKind::Ask
                    | ServerErrorKind::TryAgain
                    | ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly,
                )
                | ErrorKind::ClusterConnectionNotFound
                | ErrorKind::MasterNameNotFoundBySentinel
                | ErrorKind::NoValidReplicasFoundBySentinel,
                code,
            ) => Trouble::Waits(coded(code, &said)),
            (_, Some(code @ ("BUSY" | "MISCONF" | "OOM" | "NOREPLICAS" | "UNBLOCKED"))) => {
                Trouble::Waits(coded(Some(code), &said))
            }
            (_, code) if said.contains("max number of clients") => {
                Trouble::Waits(coded(code, &said))
            }
            (_, code) => Trouble::Unfit(coded(code, &said)),
        }
    }
}

/// As the server has said it, without what only those understand who know the script.
fn coded(code: Option<&str>, said: &str) -> String {
    let end = said.find(" script: ").unwrap_or(said.len());
    let said = said[..end].trim_end_matches('.');
    match code {
        Some(code) => format!("{code} {said}"),
        None => said.to_owned(),
    }
}

/// Without the number that the system adds.
fn plain(why: &str) -> String {
    let end = why.find(" (os error");
    why[..end.unwrap_or(why.len())].to_lowercase()
}

fn command(name: &str, script: &str, request: &Request) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(script).arg(request.keys.len());
    command.arg(&request.keys).arg(&request.body);
    command
}

/// What comes late has not come.
async fn within<T>(
    clock: Clock,
    timeout: Duration,
    answer: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    tokio::select! {
        answer = answer => answer,
        () = clock.sleep_until(clock.now().after(timeout)) => {
            Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into())
        }
    }
}
