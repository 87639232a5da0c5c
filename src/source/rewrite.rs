//! URLs that are sent to another place than they name: `--rewrite`. Floor 4: doors.

use std::str::FromStr;

use regex_lite::Regex;

/// `s#PATTERN#TO#`, as of sed: the first match of a regular expression in a URL becomes this, in which `$1` is its first
/// group; behind a `g` every match does. Any character can stand in the place of `#`.
#[derive(Debug, Clone)]
pub struct Rewrite {
    pattern: Regex,
    to: String,
    times: Times,
}

#[derive(Debug, Clone, Copy)]
enum Times {
    Once,
    Always,
}

const FORM: &str = "write s#PATTERN#TO#, as in s#^https://api.test#http://127.0.0.1:8080#; $1 in TO is the first group of \
                    PATTERN, a g at the end means every match";

impl FromStr for Rewrite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rest = text.strip_prefix('s').ok_or(FORM)?.chars();
        let mark = rest
            .next()
            .filter(|mark| !mark.is_alphanumeric())
            .ok_or(FORM)?;
        let parts: Vec<_> = rest.as_str().split(mark).collect();
        let [pattern, to, flags] = parts[..] else {
            return Err(FORM.to_owned());
        };
        let times = match flags {
            "" => Times::Once,
            "g" => Times::Always,
            _ => return Err(FORM.to_owned()),
        };
        if pattern.is_empty() || to.contains('\\') {
            return Err(FORM.to_owned());
        }
        let pattern = Regex::new(pattern);
        Ok(Self {
            pattern: pattern.map_err(|why| format!("{why}; {FORM}"))?,
            to: to.to_owned(),
            times,
        })
    }
}

impl Rewrite {
    /// The text that a URL becomes; `None`: it stays as it is.
    pub(super) fn of(&self, url: &str) -> Option<String> {
        self.pattern.is_match(url).then(|| {
            let rewritten = match self.times {
                Times::Once => self.pattern.replace(url, &self.to),
                Times::Always => self.pattern.replace_all(url, &self.to),
            };
            rewritten.into_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_rewritten_as_sed_would() {
        for (rewrite, url, becomes) in [
            (
                "s#^https://api.test#http://127.0.0.1:8080#",
                "https://api.test/a?b",
                Some("http://127.0.0.1:8080/a?b"),
            ),
            (
                "s|/v1/user/([^/]+)/ping|/v2/user/$1/ping|",
                "http://h/v1/user/7/ping",
                Some("http://h/v2/user/7/ping"),
            ),
            ("s,a,b,", "http://h/aa", Some("http://h/ba")),
            ("s,a,b,g", "http://h/aa", Some("http://h/bb")),
            ("s,x,y,", "http://h/aa", None),
            ("s,/a$,,", "http://h/a", Some("http://h")),
        ] {
            let rewrite: Rewrite = rewrite.parse().unwrap();
            assert_eq!(rewrite.of(url).as_deref(), becomes, "{url}");
        }
    }

    #[test]
    fn what_is_no_rewrite_is_told_the_form() {
        for text in [
            "",
            "s",
            "a#b",
            "s#a#b",
            "s##b#",
            "s#a#b#x",
            "s#a#b#c#",
            "s#(#b#",
            "saabac",
            "s#(a)#\\1#",
        ] {
            let why = text.parse::<Rewrite>().unwrap_err();
            assert!(why.contains("s#PATTERN#TO#"), "{text}: {why}");
        }
    }
}
