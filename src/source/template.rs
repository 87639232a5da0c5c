//! `--url-template`: a URL with names in double braces, filled from each row. Floor 4: doors.

use std::fmt::Write as _;
use std::str::FromStr;

/// A URL with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTemplate {
    /// What stands before each hole, and the name that fills it.
    holes: Vec<(Box<str>, Box<str>)>,
    /// What stands behind the last one.
    end: Box<str>,
}

impl FromStr for UrlTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write a URL with names of columns in it: http://HOST/items/{{id}}";
        let mut holes = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("{{") {
            let (name, behind) = behind.split_once("}}").ok_or(FORM)?;
            let name = name.trim();
            if name.is_empty() || name.contains(['{', '}']) {
                return Err(FORM.to_owned());
            }
            holes.push((before.into(), name.into()));
            rest = behind;
        }
        if holes.is_empty() {
            return Err(FORM.to_owned());
        }
        Ok(Self {
            holes,
            end: rest.into(),
        })
    }
}

impl UrlTemplate {
    /// The names that fill it.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.holes.iter().map(|(_, name)| &**name)
    }

    /// The URL, with what fills its holes in their order. In a path or a query each of those is one part: all but
    /// letters, digits and `-._~` is escaped (RFC 3986 §2.3).
    pub(super) fn filled<'v>(&self, values: impl IntoIterator<Item = &'v str>) -> String {
        let mut url = String::with_capacity(128);
        for ((before, _), value) in self.holes.iter().zip(values) {
            url += before;
            for byte in value.bytes() {
                if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                    url.push(char::from(byte));
                } else {
                    let _ = write!(url, "%{byte:02X}");
                }
            }
        }
        url += &self.end;
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parts_of_a_url_whatever_stands_in_them() {
        let template: UrlTemplate = "http://h/{{id}}/x?q={{ q }}#f".parse().unwrap();
        assert_eq!(template.names().collect::<Vec<_>>(), ["id", "q"]);
        let url = template.filled(["a/b c?é", "1&x=2+%"]);
        assert_eq!(url, "http://h/a%2Fb%20c%3F%C3%A9/x?q=1%26x%3D2%2B%25#f");
        let parsed = url::Url::parse(&url).unwrap();
        assert_eq!(parsed.query_pairs().next().unwrap().1, "1&x=2+%");
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in [
            "",
            "http://h/",
            "http://h/{{",
            "http://h/{{}}",
            "http://h/{{ }}",
            "{{a{{b}}",
        ] {
            assert!(text.parse::<UrlTemplate>().is_err(), "{text}");
        }
    }
}
