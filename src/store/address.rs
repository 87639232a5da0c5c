//! Where a store is, and who may use it: `redis://user:password@host:6379/0` and its kin. Floor 4: doors.

use std::fmt;
use std::str::FromStr;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

/// The spellings that [`Address`] takes, for messages.
pub const ADDRESS_FORMS: &str = "redis://[USER:PASSWORD@]HOST[:PORT][/DB] (rediss:// for TLS), \
    unix:///PATH[?db=DB&user=USER&pass=PASSWORD], redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/SERVICE[/DB], \
    or redis+cluster://[USER:PASSWORD@]HOST[:PORT],…";

/// A store. It is shown without user and password.
#[derive(Clone)]
pub struct Address {
    pub(super) kind: Kind,
    /// Servers to begin with, each with what they are told of who comes.
    pub(super) servers: Vec<ConnectionInfo>,
    /// Who signs for servers, as PEM; `None`: those whom the system trusts.
    pub(super) authorities: Option<Vec<u8>>,
    shown: String,
}

/// How servers work together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// One alone.
    One,
    /// Sentinels that know which server is the master of a service.
    Sentinels {
        /// Its name.
        service: String,
    },
    /// A cluster, each of whose servers knows the others.
    Cluster,
}

/// Where sentinels listen unless it is said.
const SENTINEL_PORT: u16 = 26_379;
/// Where servers do.
const PORT: u16 = 6_379;

impl FromStr for Address {
    type Err = String;

    /// What is wrong is told without the text: it may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("write {ADDRESS_FORMS}");
        let text = text.trim();
        let (scheme, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (scheme, many) = scheme.split_once('+').unwrap_or((scheme, ""));
        let plain = match (scheme, many) {
            ("redis" | "valkey", "unix" | "socket") | ("unix", "") => "unix",
            ("redis" | "valkey", _) => "redis",
            ("rediss" | "valkeys", _) => "rediss",
            _ => return Err(wrong()),
        };
        if plain == "unix" {
            let server = format!("unix:{rest}").into_connection_info();
            let server = server.map_err(|_| wrong())?;
            let shown = shown_of("unix:", &server);
            return Ok(Self {
                kind: Kind::One,
                servers: vec![server],
                authorities: None,
                shown,
            });
        }
        let rest = rest.strip_prefix("//").ok_or_else(wrong)?;
        let (who, place) = match rest.rsplit_once('@') {
            Some((who, place)) => (format!("{who}@"), place),
            None => (String::new(), rest),
        };
        let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
        let (service, database) = match (many, path.split_once('/')) {
            ("sentinel", Some((service, database))) => (service, database),
            ("sentinel", None) => (path, ""),
            _ => ("", path),
        };
        let port = if many == "sentinel" {
            SENTINEL_PORT
        } else {
            PORT
        };
        let server = |host: &str| {
            if host.is_empty() {
                return Err(wrong());
            }
            let url = format!("{plain}://{who}{}/{database}", with_port(host, port));
            url.into_connection_info().map_err(|_| wrong())
        };
        let servers = hosts
            .split(',')
            .map(server)
            .collect::<Result<Vec<_>, _>>()?;
        let kind = match many {
            "" if servers.len() == 1 => Kind::One,
            "sentinel" if !service.is_empty() => Kind::Sentinels {
                service: service.to_owned(),
            },
            "cluster" => Kind::Cluster,
            _ => return Err(wrong()),
        };
        let joint = if many.is_empty() { "" } else { "+" };
        Ok(Self {
            kind,
            servers,
            authorities: None,
            shown: format!("{plain}{joint}{many}://{place}"),
        })
    }
}

/// A port where none is said; in brackets an address of IPv6 may hold colons.
fn with_port(host: &str, port: u16) -> String {
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    if after.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    }
}

fn shown_of(scheme: &str, server: &ConnectionInfo) -> String {
    match server.addr() {
        ConnectionAddr::Unix(path) => format!("{scheme}{}", crate::letters::calm_path(path)),
        other => format!("{scheme}{other}"),
    }
}

impl Address {
    /// With `rediss` trusts those whom the authorities of this PEM text have signed, and nobody else; otherwise those whom
    /// the system trusts.
    #[must_use]
    pub fn trusting(mut self, authorities: Vec<u8>) -> Self {
        self.authorities = Some(authorities);
        self
    }

    /// What is said to the first server is said to all.
    pub(super) fn first(&self) -> &ConnectionInfo {
        self.servers.first().expect("an address names a server")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_every_spelling_and_shown_without_its_password() {
        for (text, shown, servers) in [
            ("redis://h", "redis://h", vec!["h:6379"]),
            ("redis://u:s3cret@h:7/3", "redis://h:7/3", vec!["h:7"]),
            ("rediss://:s3cret@h/1", "rediss://h/1", vec!["h:6379"]),
            ("valkey://h", "redis://h", vec!["h:6379"]),
            ("redis://[::1]:7", "redis://[::1]:7", vec!["::1:7"]),
            (
                "unix:///run/r.sock?db=2&pass=s3cret",
                "unix:/run/r.sock",
                vec!["/run/r.sock"],
            ),
            (
                "redis+sentinel://:s3cret@a,b:9/main/2",
                "redis+sentinel://a,b:9/main/2",
                vec!["a:26379", "b:9"],
            ),
            (
                "rediss+cluster://u:s3cret@a,b:9",
                "rediss+cluster://a,b:9",
                vec!["a:6379", "b:9"],
            ),
        ] {
            let address: Address = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("s3cret"));
            let hosts = address.servers.iter();
            let hosts: Vec<_> = hosts.map(|server| server.addr().to_string()).collect();
            assert_eq!(hosts, servers);
        }
        let address: Address = "redis+sentinel://u:p%40ss@a/main/2".parse().unwrap();
        let service = "main".to_owned();
        assert_eq!(address.kind, Kind::Sentinels { service });
        assert_eq!(address.first().redis_settings().db(), 2);
        assert_eq!(address.first().redis_settings().username(), Some("u"));
        assert_eq!(address.first().redis_settings().password(), Some("p@ss"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for text in [
            "",
            "h",
            "http://s3cret@h",
            "redis:h",
            "redis://",
            "redis://s3cret@",
            "redis://a,b",
            "redis://h/s3cret",
            "redis+sentinel://a",
            "redis+other://a",
            "redis://h:s3cret",
        ] {
            let why = text.parse::<Address>().unwrap_err();
            assert!(
                why.starts_with("write redis://") && !why.contains("s3cret"),
                "{why}"
            );
        }
    }
}
