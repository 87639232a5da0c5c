//! The URL of a job, by the WHATWG rules and `--base-url`. Floor 4: doors.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use url::{ParseError, Url};

use crate::job::{Target, origin_of, without_credentials};
use crate::secret::Hidden;

/// A URL of the command line, `http` or `https`. It is shown without its credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl FromStr for HttpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write http://HOST or https://HOST";
        let url = Url::parse(text).map_err(|why| format!("{why}; {FORM}"))?;
        match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            scheme => Err(format!("scheme {scheme} is not supported; {FORM}")),
        }
    }
}

impl HttpUrl {
    /// All of it, for the wire only.
    pub(super) fn reveal(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&without_credentials(self.0.as_str()))
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// What a relative URL is joined to.
pub(super) struct Base {
    whole: Url,
    /// The same with a slash at the end of its path.
    folder: Url,
}

impl Base {
    pub(super) fn new(HttpUrl(whole): HttpUrl) -> Self {
        let mut folder = whole.clone();
        if !folder.path().ends_with('/') {
            let path = format!("{}/", folder.path());
            folder.set_path(&path);
        }
        Self { whole, folder }
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> Cow<'_, str> {
        origin_of(&self.whole)
    }

    /// RFC 3986 §5.2, but every path goes below that of the base, as clients of APIs have it: base `http://h/a` and `/b`,
    /// or `b`, make `http://h/a/b`. Batches name `/v1/...`, and bases often end so: it stands once then.
    fn join(&self, text: &str) -> Result<Url, ParseError> {
        if text.starts_with(['?', '#']) {
            return self.whole.join(text);
        }
        let is_slash = |letter: char| matches!(letter, '/' | '\\');
        let Some(rest) = text.strip_prefix(is_slash) else {
            return self.folder.join(text);
        };
        let mut url = self.whole.join(text)?;
        let before = self.whole.path().trim_end_matches('/');
        if !rest.starts_with(is_slash) && !before.is_empty() {
            let path = format!("{}{}", without_overlap(before, url.path()), url.path());
            url.set_path(&path);
        }
        Ok(url)
    }
}

/// The first path without what it ends with and the second begins with, as many whole segments as there are.
fn without_overlap<'a>(before: &'a str, path: &str) -> &'a str {
    let mut slashes = before.match_indices('/').map(|(at, _)| at);
    let overlap = slashes.find(|at| {
        let rest = path.strip_prefix(&before[*at..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    overlap.map_or(before, |at| &before[..at])
}

/// Why a text is no target: what is wrong, and how to mend it.
pub(super) type NoTarget = (String, String);

/// The target that `text` names. A URL with a scheme stays as it is, whatever its origin.
///
/// Messages repeat nothing of the text but scheme, host and port: the rest may be a credential.
pub(super) fn resolve(text: &str, base: Option<&Base>) -> Result<Target, NoTarget> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let scheme = scheme(trimmed);
    let (url, relative) = match scheme {
        Some(name) if name.eq_ignore_ascii_case("http") || name.eq_ignore_ascii_case("https") => {
            (Url::parse(trimmed), false)
        }
        Some(name) => {
            return Err((
                format!("scheme not supported: {name:?}"),
                "only http and https requests can be made".to_owned(),
            ));
        }
        None => (relative(trimmed, base)?, true),
    };
    let mut url = url.map_err(|why| no_url(trimmed, why))?;
    url.set_fragment(None);
    let written = if relative { url.as_str() } else { text };
    Ok(Target {
        written: written.into(),
        url,
        hidden: Hidden::default(),
    })
}

/// RFC 3986 §3.1. A name with a number behind its colon is a host with its port.
fn scheme(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain);
    (named && !rest.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

fn relative(text: &str, base: Option<&Base>) -> Result<Result<Url, ParseError>, NoTarget> {
    let below = text.strip_prefix("//").unwrap_or(text);
    let authority = below.split(['/', '?', '#']).next().unwrap_or(below);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host_first = below.len() < text.len();
    let with_port = !host_first && authority.contains(':');
    match base {
        Some(base) if !with_port => Ok(base.join(text)),
        None if !host_first && text.starts_with(['/', '?', '#', '.']) => Err((
            "relative URL needs --base-url".to_owned(),
            "name the server with --base-url http://HOST, or write whole URLs".to_owned(),
        )),
        Some(_) | None => Err((
            "no scheme, did you mean http://...?".to_owned(),
            format!("write http:// or https:// before {host:?}"),
        )),
    }
}

fn no_url(text: &str, why: ParseError) -> NoTarget {
    let host = text.split(['/', '?', '#']).nth(2).unwrap_or_default();
    let zone = host.contains('[') && host.contains('%');
    if why == ParseError::InvalidIpv6Address && zone {
        return (
            "zone ids are not supported".to_owned(),
            "leave out the % and what follows it in the brackets".to_owned(),
        );
    }
    (
        format!("not a URL: {why}"),
        "write it as http://HOST[:PORT]/PATH".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Base {
        Base::new(text.parse().unwrap())
    }

    fn wire(text: &str, base: Option<&Base>) -> String {
        match resolve(text, base) {
            Ok(target) => target.url.to_string(),
            Err((what, _)) => what,
        }
    }

    #[test]
    fn a_relative_url_is_joined_to_the_base() {
        let host = base("http://h");
        assert_eq!(
            wire("/v1/chat/completions", Some(&host)),
            "http://h/v1/chat/completions"
        );
        let v1 = base("http://h:8080/v1");
        assert_eq!(wire("/chat", Some(&v1)), "http://h:8080/v1/chat");
        assert_eq!(wire("chat", Some(&v1)), "http://h:8080/v1/chat");
        assert_eq!(wire("?q=1", Some(&v1)), "http://h:8080/v1?q=1");
        assert_eq!(wire("//other/x", Some(&v1)), "http://other/x");
        assert_eq!(
            &*resolve("/a b", Some(&v1)).unwrap().written,
            "http://h:8080/v1/a%20b"
        );
    }

    #[test]
    fn the_path_of_the_base_stands_before_that_of_a_job_and_what_both_have_once() {
        let chat = "/v1/chat?a=1";
        for (base_url, text, url) in [
            ("http://h/openai", chat, "http://h/openai/v1/chat?a=1"),
            ("http://h/openai/", chat, "http://h/openai/v1/chat?a=1"),
            ("http://h/v1", chat, "http://h/v1/chat?a=1"),
            ("http://h/openai/v1/", chat, "http://h/openai/v1/chat?a=1"),
            ("http://h/a/v1/chat", chat, "http://h/a/v1/chat?a=1"),
            ("http://h/v", chat, "http://h/v/v1/chat?a=1"),
            ("http://h/v1", "/v12/a", "http://h/v1/v12/a"),
            ("http://h/a/a", "/a/a/a", "http://h/a/a/a"),
            ("http://h/a", "/../../b", "http://h/a/b"),
            ("http://h/a", "/", "http://h/a/"),
            ("http://h/a", "/.//b", "http://h/a//b"),
            ("http://h/a%20b", "/%2F%20", "http://h/a%20b/%2F%20"),
            ("http://h/a", "", "http://h/a/"),
        ] {
            assert_eq!(wire(text, Some(&base(base_url))), url, "{base_url} {text}");
        }
    }

    #[test]
    fn a_url_with_a_scheme_keeps_its_origin_under_a_base() {
        let host = base("http://h/v1");
        assert_eq!(wire("https://other/x", Some(&host)), "https://other/x");
        assert_eq!(wire("http:x", Some(&host)), "http://x/");
    }

    #[test]
    fn a_host_with_a_port_is_no_path_under_a_base() {
        let host = base("http://h");
        for text in ["localhost:8080/g", "127.0.0.1:8080/a", "[::1]:80/a"] {
            assert!(wire(text, Some(&host)).starts_with("no scheme"), "{text}");
        }
    }

    #[test]
    fn a_message_repeats_no_credentials() {
        for text in [
            "//u:canary@h:1/?key=canary",
            "u@canary",
            "http://u:canary@[h/canary",
        ] {
            let told = format!("{:?}", resolve(text, None).unwrap_err());
            assert!(!told.contains("u:canary"), "{told}");
            assert!(!told.contains("key=canary"), "{told}");
        }
    }

    #[test]
    fn a_base_of_another_scheme_is_refused() {
        for text in ["ftp://me:canary@h/", "http://me:canary@["] {
            let why = text.parse::<HttpUrl>().unwrap_err();
            assert!(
                why.contains("http://HOST") && !why.contains("canary"),
                "{why}"
            );
        }
        let base: HttpUrl = "http://me:canary@h/?key=canary".parse().unwrap();
        assert_eq!(
            format!("{base} {base:?}"),
            "http://***@h/?key=*** http://***@h/?key=***"
        );
    }
}
