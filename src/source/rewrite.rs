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
        let pattern = Regex::new(pattern).map_err(|why| format!("{why}; {FORM}"))?;
        every_group_is_there(&pattern, to)?;
        Ok(Self {
            pattern,
            to: to.to_owned(),
            times,
        })
    }
}

/// An error that names the first group of this text that the pattern has not: it would be nothing, and the URL another.
///
/// As the library reads it: a name within `${}`, else all letters, digits and `_` behind the `$`; `$$` is a `$`.
fn every_group_is_there(pattern: &Regex, to: &str) -> Result<(), String> {
    let mut rest = to;
    while let Some((_, behind)) = rest.split_once('$') {
        let within = behind.strip_prefix('{').and_then(|it| it.split_once('}'));
        let is_other = |it: char| !it.is_ascii_alphanumeric() && it != '_';
        let (name, braced) = match within {
            Some((name, _)) => (name, true),
            None => (behind.split(is_other).next().unwrap_or_default(), false),
        };
        rest = behind.strip_prefix('$').unwrap_or(behind);
        let has = |name: &str| match name.parse::<usize>() {
            Ok(number) => number < pattern.captures_len(),
            Err(_) => pattern.capture_names().flatten().any(|own| own == name),
        };
        if name.is_empty() && !braced || has(name) {
            continue;
        }
        let shown = if braced {
            format!("${{{name}}}")
        } else {
            format!("${name}")
        };
        let ends = (1..name.len()).rev();
        let meant = ends
            .map(|end| name.split_at(end))
            .find(|(group, _)| !braced && has(group));
        let mend = match (meant, pattern.captures_len() - 1) {
            (Some((group, text)), _) => {
                format!("write ${{{group}}}{text} for group {group} and then {text:?}")
            }
            (None, 0) => {
                "PATTERN has none; put ( ) around what TO takes, or write $$ for a $".into()
            }
            (None, 1) => "PATTERN has one, $1; write $$ for a $".into(),
            (None, count) => format!("PATTERN has {count}, $1 to ${count}; write $$ for a $"),
        };
        return Err(format!("{shown} is a group that PATTERN has not; {mend}"));
    }
    Ok(())
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
            (
                "s,/v1/(.*),/new/${1}x,",
                "http://h/v1/a",
                Some("http://h/new/ax"),
            ),
            (
                "s,/v1/(?<id>.*),/$id/$0,",
                "http://h/v1/a",
                Some("http://h/a//v1/a"),
            ),
            ("s,/(a),/$$1$-$,", "http://h/a", Some("http://h/$1$-$")),
        ] {
            let rewrite: Rewrite = rewrite.parse().unwrap();
            assert_eq!(rewrite.of(url).as_deref(), becomes, "{url}");
        }
    }

    #[test]
    fn a_group_that_the_pattern_has_not_is_told_before_any_url_is_wrong() {
        for (text, group, mend) in [
            ("s#/v1/(.*)#/new/$1x#", "$1x is", "write ${1}x for group 1"),
            (
                "s#(?<id>a)#$id_2#",
                "$id_2 is",
                "write ${id}_2 for group id",
            ),
            ("s#(a)(b)#$12#", "$12 is", "write ${1}2 for group 1"),
            ("s#(a)#$9#", "$9 is", "has one, $1;"),
            ("s#(a)(b)#x${name}#", "${name} is", "has 2, $1 to $2;"),
            ("s#a#${}#", "${} is", "has none;"),
            ("s#a#$$$b#", "$b is", "has none;"),
        ] {
            let why = text.parse::<Rewrite>().unwrap_err();
            assert!(
                why.starts_with(group) && why.contains(mend),
                "{text}: {why}"
            );
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
