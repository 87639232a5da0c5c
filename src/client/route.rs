//! Which way requests take to their servers. Floor 4: doors.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::{Host, Url};

use crate::units::Secret;

/// Which way requests take.
#[derive(Debug, Clone, Default)]
pub enum Route {
    /// By the proxies that the environment or the system names.
    #[default]
    Environment,
    /// Past all of them.
    NoProxy,
    /// By this proxy, but for what `no_proxy` names.
    Proxy(Arc<Proxy>),
    /// Past all proxies; to another place where one of these says so, the first that does.
    ConnectTo(Arc<[Detour]>),
    /// All through this socket of the system.
    Unix(PathBuf),
}

impl Route {
    /// The proxies on the way.
    pub(super) fn proxies(&self) -> Matcher {
        match self {
            Self::Environment if exempts_all() => Matcher::builder().build(),
            Self::Environment => Matcher::from_system(),
            Self::Proxy(proxy) => {
                let builder = Matcher::builder().all(proxy.reveal());
                builder.no(no_proxy().unwrap_or_default()).build()
            }
            Self::NoProxy | Self::ConnectTo(_) | Self::Unix(_) => Matcher::builder().build(),
        }
    }

    /// The same way where `no_proxy` names everything: libraries take a `*` for all names, and not for addresses.
    pub(super) fn past_exempt(self) -> Self {
        match self {
            Self::Environment | Self::Proxy(_) if exempts_all() => Self::NoProxy,
            route => route,
        }
    }
}

/// What goes past every proxy, by the environment.
fn no_proxy() -> Option<String> {
    let named = env::var("NO_PROXY").or_else(|_| env::var("no_proxy"));
    named.ok()
}

fn exempts_all() -> bool {
    no_proxy().is_some_and(|names| names.split(',').any(|name| name.trim() == "*"))
}

/// A proxy. Its user and password cannot be printed.
#[derive(Debug)]
pub struct Proxy(Secret);

impl Proxy {
    /// Its URL, for the library only.
    pub(super) fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl FromStr for Proxy {
    type Err = String;

    /// The message does not hold the URL: that may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or none";
        let url = Url::parse(text).map_err(|why| format!("{why}; {FORM}"))?;
        match url.scheme() {
            "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h" if url.has_host() => {
                Ok(Self(Secret::new(text)))
            }
            // `localhost:3128` has the scheme `localhost`.
            _ => Err(FORM.to_owned()),
        }
    }
}

/// `HOST1:PORT1:HOST2:PORT2`: what is for the first place is sent to the second. An empty host or port of the first is
/// any, one of the second stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detour {
    from: (Option<String>, Option<u16>),
    to: (Option<Host>, Option<u16>),
}

impl Detour {
    /// Where what is for this host and port goes; `None`: another way.
    pub(super) fn of(&self, host: &Host<&str>, port: u16) -> Option<(Host, u16)> {
        let (from_host, from_port) = &self.from;
        let own = host.to_string();
        let is_meant = from_host
            .as_ref()
            .is_none_or(|from| from.eq_ignore_ascii_case(&own))
            && from_port.is_none_or(|from| from == port);
        let (to_host, to_port) = &self.to;
        is_meant.then(|| {
            let host = to_host.clone().unwrap_or_else(|| host.to_owned());
            (host, to_port.unwrap_or(port))
        })
    }
}

impl FromStr for Detour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write HOST1:PORT1:HOST2:PORT2, as in api.test:443:127.0.0.1:8443; an empty part is any, \
                            or stays as it is; IPv6 in brackets";
        let (from_host, rest) = host(text).ok_or(FORM)?;
        let (from_port, rest) = rest.split_once(':').ok_or(FORM)?;
        let (to_host, to_port) = host(rest).ok_or(FORM)?;
        let port = |text: &str| match text {
            "" => Ok(None),
            port => port.parse().map(Some).map_err(|_| FORM.to_owned()),
        };
        let some = |host: &str| (!host.is_empty()).then(|| host.to_owned());
        let to = some(to_host).map(|host| Host::parse(&host)).transpose();
        Ok(Self {
            from: (some(from_host), port(from_port)?),
            to: (to.map_err(|why| format!("{why}: {FORM}"))?, port(to_port)?),
        })
    }
}

/// The host that `text` begins with, which may be one in brackets, and what stands behind its colon.
fn host(text: &str) -> Option<(&str, &str)> {
    let end = if text.starts_with('[') {
        text.find(']')?
    } else {
        0
    };
    let colon = end + text[end..].find(':')?;
    Some((&text[..colon], &text[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes(detour: &str, host: &str, port: u16) -> Option<String> {
        let detour: Detour = detour.parse().unwrap();
        let host = Host::parse(host).unwrap();
        let host = match &host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(ip) => Host::Ipv4(*ip),
            Host::Ipv6(ip) => Host::Ipv6(*ip),
        };
        detour
            .of(&host, port)
            .map(|(host, port)| format!("{host}:{port}"))
    }

    #[test]
    fn what_is_for_the_first_place_goes_to_the_second() {
        for (detour, host, port, to) in [
            (
                "api.test:443:127.0.0.1:8443",
                "api.test",
                443,
                Some("127.0.0.1:8443"),
            ),
            (
                "API.test:443:127.0.0.1:8443",
                "api.test",
                443,
                Some("127.0.0.1:8443"),
            ),
            ("api.test:443:127.0.0.1:8443", "api.test", 80, None),
            ("api.test:443:127.0.0.1:8443", "other.test", 443, None),
            ("::127.0.0.1:8443", "any.test", 1, Some("127.0.0.1:8443")),
            ("api.test::127.0.0.1:", "api.test", 81, Some("127.0.0.1:81")),
            (":::9", "api.test", 81, Some("api.test:9")),
            ("[::1]:80:[::2]:81", "[::1]", 80, Some("[::2]:81")),
            ("[::1]:80:h.test:81", "[::1]", 80, Some("h.test:81")),
        ] {
            assert_eq!(
                goes(detour, host, port).as_deref(),
                to,
                "{detour} for {host}:{port}"
            );
        }
    }

    #[test]
    fn what_is_no_detour_or_proxy_is_told_the_form() {
        for text in [
            "",
            "a",
            "a:80",
            "a:80:b",
            "a:80:b:x",
            "a:99999:b:1",
            "[::1:80:b:1",
            "a:80:b c:1",
            "::: 9",
        ] {
            let why = text.parse::<Detour>().unwrap_err();
            assert!(why.contains("HOST1:PORT1:HOST2:PORT2"), "{text}: {why}");
        }
        for text in [
            "",
            "localhost:3128",
            "ftp://h:1",
            "canary",
            "http://",
            "//u:canary@h",
        ] {
            let why = text.parse::<Proxy>().unwrap_err();
            assert!(
                why.contains("http://HOST:PORT") && !why.contains("canary"),
                "{text}: {why}"
            );
        }
        let proxy: Proxy = "http://u:canary@h:1".parse().unwrap();
        assert!(!format!("{proxy:?}").contains("canary"));
    }
}
