//! Which way requests take to their servers. Floor 4: doors.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use url::{Host, Url};

use crate::error::Problem;
use crate::letters::calm;
use crate::units::Secret;

/// Which way requests take.
#[derive(Debug, Clone, Default)]
pub enum Route {
    /// By the proxies that the system is set to, where it has such settings; else past all.
    #[default]
    System,
    /// Past all proxies.
    NoProxy,
    /// By these.
    Proxies(Arc<Proxies>),
    /// Past all proxies; to another place where one of these says so, the first that does.
    ConnectTo(Arc<[Detour]>),
    /// All through this socket of the system.
    Unix(PathBuf),
}

/// The proxies of a run.
#[derive(Debug, Default)]
pub struct Proxies {
    /// For requests of `http`, and of `https`; with where it is named.
    pub(super) http: Option<(Proxy, &'static str)>,
    pub(super) https: Option<(Proxy, &'static str)>,
    /// What goes past them: names, addresses and networks, with commas between them.
    pub(super) except: String,
}

impl Route {
    /// The way that the environment names; `of` is the value of a variable. Small letters go before large ones, as curl has it.
    ///
    /// A problem if a value is no proxy.
    pub fn of_environment(of: impl Fn(&str) -> Option<String>) -> Result<Self, Problem> {
        let first = |names: [&'static str; 2]| {
            let mut set = names.into_iter().filter_map(|name| Some((of(name)?, name)));
            set.find(|(value, _)| !value.is_empty())
        };
        let read = |(text, name): (String, &'static str)| match text.parse() {
            Ok(proxy) => Ok((proxy, name)),
            Err(form) => Err(Problem::usage(
                format!("{name}, of the environment, names no proxy"),
                form,
            )),
        };
        // Whoever sends a request to a CGI program sets this one: CVE-2016-5385.
        let large = if of("REQUEST_METHOD").is_some() {
            "http_proxy"
        } else {
            "HTTP_PROXY"
        };
        let all = ["all_proxy", "ALL_PROXY"];
        let http = first(["http_proxy", large]).or_else(|| first(all));
        let https = first(["https_proxy", "HTTPS_PROXY"]).or_else(|| first(all));
        let (http, https) = (http.map(read).transpose()?, https.map(read).transpose()?);
        if http.is_none() && https.is_none() {
            return Ok(Self::System);
        }
        let except = except(&of);
        Ok(Proxies {
            http,
            https,
            except,
        }
        .way())
    }

    /// By this proxy, but for what `no_proxy` names in the environment.
    pub fn by(proxy: &Proxy, of: impl Fn(&str) -> Option<String>) -> Self {
        let named = Some((proxy.clone(), "--proxy"));
        let (http, https) = (named.clone(), named);
        let except = except(&of);
        Proxies {
            http,
            https,
            except,
        }
        .way()
    }

    /// The proxies on the way.
    pub(super) fn proxies(&self) -> Matcher {
        match self {
            Self::System => Matcher::from_system(),
            Self::Proxies(proxies) => {
                let url = |proxy: &Option<(Proxy, _)>| {
                    proxy
                        .as_ref()
                        .map_or_else(String::new, |(proxy, _)| proxy.reveal().to_owned())
                };
                let builder = Matcher::builder()
                    .http(url(&proxies.http))
                    .https(url(&proxies.https));
                builder.no(&*proxies.except).build()
            }
            Self::NoProxy | Self::ConnectTo(_) | Self::Unix(_) => Matcher::builder().build(),
        }
    }

    /// Whether what is for this server is sent to another place that the command line names. Proxies are on the way.
    pub(super) fn leads_away(&self, url: &Url) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::ConnectTo(detours) => {
                let place = url.host().zip(url.port_or_known_default());
                place.is_some_and(|(host, port)| {
                    detours.iter().any(|it| it.of(&host, port).is_some())
                })
            }
            Self::System | Self::NoProxy | Self::Proxies(_) => false,
        }
    }

    /// The proxy for requests of this scheme, without its password.
    pub(super) fn proxy(&self, scheme: &str) -> Option<String> {
        let Self::Proxies(proxies) = self else {
            return None;
        };
        let proxy = if scheme == "https" {
            &proxies.https
        } else {
            &proxies.http
        };
        proxy.as_ref().map(|(proxy, _)| proxy.place())
    }

    /// What is said of the proxies before the first send; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let Self::Proxies(proxies) = self else {
            return None;
        };
        let told = |proxy: &Option<(Proxy, &str)>| {
            proxy
                .as_ref()
                .map(|(proxy, name)| format!("{} ({name})", proxy.place()))
        };
        let (http, https) = (told(&proxies.http), told(&proxies.https));
        let by = match (http, https) {
            (Some(http), Some(https)) if http == https => http,
            (http, https) => {
                let http = http.map(|proxy| format!("{proxy} for http"));
                let https = https.map(|proxy| format!("{proxy} for https"));
                http.into_iter().chain(https).collect::<Vec<_>>().join(", ")
            }
        };
        let (names, unknown): (Vec<_>, Vec<_>) = (proxies.except.split(','))
            .filter(|name| !name.is_empty())
            .partition(|name| is_known(name));
        let told = |before: &str, names: &[&str], behind: &str| match names {
            [] => String::new(),
            names => format!("{before}{}{behind}", calm(&names.join(","))),
        };
        let except = told(", but for ", &names, "");
        let unknown = told(
            "; no_proxy has ",
            &unknown,
            ", which excepts nothing: write names, addresses or networks, without a port",
        );
        Some(format!(
            "note: requests go by the proxy {by}{except}{unknown}"
        ))
    }
}

impl Proxies {
    /// Past all where everything is excepted: libraries take a `*` for all names, and not for addresses.
    fn way(self) -> Route {
        if self.except.split(',').any(|name| name.trim() == "*") {
            Route::NoProxy
        } else {
            Route::Proxies(Arc::new(self))
        }
    }
}

/// What goes past every proxy.
fn except(of: &impl Fn(&str) -> Option<String>) -> String {
    let all = of("no_proxy").or_else(|| of("NO_PROXY"));
    let all = all.unwrap_or_default();
    let each = all.split(',').map(str::trim);
    // `*.h.test`, as some write `.h.test`.
    let each = each.map(|name| match name.strip_prefix('*') {
        Some(rest) if rest.starts_with('.') => rest,
        Some(_) | None => name,
    });
    each.filter(|name| !name.is_empty())
        .collect::<Vec<_>>()
        .join(",")
}

/// Whether this excepts something: a name, an address or a network, and not one with a port or a pattern.
fn is_known(name: &str) -> bool {
    let (address, bits) = name.split_once('/').unwrap_or((name, "0"));
    let is_address = address.parse::<IpAddr>().is_ok() && bits.parse::<u8>().is_ok();
    is_address || !name.contains([':', '/', '*'])
}

/// A proxy. Its user and password cannot be printed.
#[derive(Debug, Clone)]
pub struct Proxy(Arc<Secret>);

impl Proxy {
    /// Its URL, for the library only.
    pub(super) fn reveal(&self) -> &str {
        self.0.reveal()
    }

    /// Scheme, host and port.
    fn place(&self) -> String {
        let url = Url::parse(self.reveal()).expect("it was read as one");
        let port = url
            .port()
            .map_or_else(String::new, |port| format!(":{port}"));
        format!(
            "{}://{}{port}",
            url.scheme(),
            url.host_str().unwrap_or_default()
        )
    }
}

impl FromStr for Proxy {
    type Err = String;

    /// The message does not hold the URL: that may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "write [http://]HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or none";
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url = Url::parse(&text).map_err(|why| format!("{why}; {FORM}"))?;
        match url.scheme() {
            "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h"
                if url.has_host() && matches!(url.path(), "" | "/") =>
            {
                Ok(Self(Arc::new(Secret::new(text))))
            }
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
            "ftp://h:1",
            "http://",
            ":::",
            "u:canary@:",
            "http//u:canary@h:1",
        ] {
            let why = text.parse::<Proxy>().unwrap_err();
            assert!(
                why.contains("HOST:PORT") && !why.contains("canary"),
                "{text}: {why}"
            );
        }
        let proxy: Proxy = "u:canary@h:1".parse().unwrap();
        assert!(!format!("{proxy:?}").contains("canary"));
        assert_eq!(proxy.place(), "http://h:1");
    }

    /// The note on the way that these variables name.
    fn note(variables: &[(&str, &str)]) -> Option<String> {
        let of = |name: &str| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let way = Route::of_environment(of).unwrap();
        way.note()
            .map(|note| note.replace("note: requests go by the proxy ", ""))
    }

    #[test]
    fn small_letters_go_before_large_ones_and_all_before_none() {
        for (variables, told) in [
            (&[][..], None),
            (&[("http_proxy", "")], None),
            (
                &[("http_proxy", "a:1"), ("HTTP_PROXY", "b:1")],
                Some("http://a:1 (http_proxy) for http"),
            ),
            (
                &[("HTTP_PROXY", "b:1")],
                Some("http://b:1 (HTTP_PROXY) for http"),
            ),
            (&[("HTTP_PROXY", "b:1"), ("REQUEST_METHOD", "GET")], None),
            (
                &[("ALL_PROXY", "socks5://u:p@b:1")],
                Some("socks5://b:1 (ALL_PROXY)"),
            ),
            (
                &[
                    ("all_proxy", "a:1"),
                    ("https_proxy", "c:1"),
                    ("no_proxy", "x.test"),
                ],
                Some(
                    "http://a:1 (all_proxy) for http, http://c:1 (https_proxy) for https, but for x.test",
                ),
            ),
            (&[("all_proxy", "a:1"), ("no_proxy", "x, *")], None),
            (
                &[
                    ("all_proxy", "a:1"),
                    ("no_proxy", "*.x.test, 10.0.0.0/8,h:80 ,::1,a*b"),
                ],
                Some(
                    "http://a:1 (all_proxy), but for .x.test,10.0.0.0/8,::1; no_proxy has h:80,a*b, which excepts nothing: \
                     write names, addresses or networks, without a port",
                ),
            ),
        ] {
            assert_eq!(note(variables).as_deref(), told, "{variables:?}");
        }
    }

    #[test]
    fn a_value_that_names_no_proxy_is_told_with_its_variable() {
        let of = |name: &str| (name == "http_proxy").then(|| ":::".to_owned());
        let why = Route::of_environment(of).unwrap_err().to_string();
        assert!(why.contains("http_proxy"), "{why}");
    }
}
