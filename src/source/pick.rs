//! Which jobs of an input are taken: `--filter`, `--sample` and `--shard`. Floor 4: doors.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;

use twox_hash::XxHash3_64;
use url::{Host, Url};

use crate::job::{BadLine, Job};
use crate::units::{Share, counted};

/// Which jobs are taken. Lines that make no job are told whatever is picked, by one shard.
#[derive(Debug, Clone, Default)]
pub struct Pick {
    /// All of these hold for them.
    pub filters: Vec<Filter>,
    /// So many of them, the same ones each time.
    pub sample: Option<Share>,
    /// This part of the lines.
    pub shard: Option<Shard>,
}

impl Pick {
    /// Whether some may be left.
    pub(super) fn is_some(&self) -> bool {
        !self.filters.is_empty() || self.sample.is_some() || self.shard.is_some()
    }
}

/// `method=GET,HEAD`, `host=*.example.test`, `path!=/health*`: a part of the request is one of these, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    part: Part,
    /// Whether it has to be one of them.
    wanted: bool,
    globs: Vec<Box<str>>,
}

/// What of a request is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Method,
    Host,
    Path,
}

impl Part {
    /// A pattern as requests have this part; `None` if none could ever be like it.
    fn pattern(self, glob: &str) -> Option<Box<str>> {
        match self {
            // As methods are read.
            Self::Method => Some(glob.to_ascii_uppercase().into()),
            Self::Host if glob.contains(['/', '@']) => None,
            Self::Host if glob.is_ascii() => Some(glob.to_ascii_lowercase().into()),
            // As names are looked up.
            Self::Host => Some(Host::parse(glob).ok()?.to_string().into()),
            Self::Path if glob.starts_with(['/', '*']) && !glob.contains(['?', '#']) => {
                Some(escaped(glob).into())
            }
            Self::Path => None,
        }
    }
}

/// As the WHATWG rules write what is no visible ASCII in a path.
fn escaped(glob: &str) -> String {
    glob.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_graphic() {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("memory takes all");
        }
        text
    })
}

/// Whether a pattern of hosts has a port. An address of IPv6 has colons in brackets.
fn has_port(glob: &str) -> bool {
    let name = glob.rfind(']').map_or(0, |end| end + 1);
    glob[name..].contains(':')
}

/// Name and port, that of the scheme too.
fn with_port(url: &Url) -> String {
    let port = url.port_or_known_default();
    let host = url.host_str().unwrap_or_default();
    port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

const PARTS: [(&str, Part); 3] = [
    ("method", Part::Method),
    ("host", Part::Host),
    ("path", Part::Path),
];

const FILTER_FORM: &str = "write method=GET,HEAD, path=/api/* or host=*.example.test (with :PORT, if that counts; a path begins with / or *, without a query), or != for what is left out; * stands for anything";

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, globs) = text.split_once('=').ok_or(FILTER_FORM)?;
        let (name, wanted) = match name.strip_suffix('!') {
            Some(name) => (name, false),
            None => (name, true),
        };
        let mut parts = PARTS.iter();
        let part = parts
            .find(|(own, _)| *own == name.trim())
            .map(|(_, part)| *part);
        let part = part.ok_or(FILTER_FORM)?;
        let globs = globs.split(',').map(|glob| {
            let glob = Some(glob.trim()).filter(|glob| !glob.is_empty());
            let glob = glob.ok_or(FILTER_FORM)?;
            let none = || format!("no {} is like {glob:?}; {FILTER_FORM}", name.trim());
            part.pattern(glob).ok_or_else(none)
        });
        Ok(Self {
            part,
            wanted,
            globs: globs.collect::<Result<_, _>>()?,
        })
    }
}

impl Filter {
    fn takes(&self, job: &Job) -> bool {
        let url = &job.target.url;
        let found = self.globs.iter().any(|glob| {
            let text = match self.part {
                Part::Method => Cow::Borrowed(job.method.as_str()),
                Part::Host if has_port(glob) => Cow::Owned(with_port(url)),
                Part::Host => Cow::Borrowed(url.host_str().unwrap_or_default()),
                Part::Path => Cow::Borrowed(url.path()),
            };
            fits(glob.as_bytes(), text.as_bytes())
        });
        found == self.wanted
    }
}

/// Whether a text is what a pattern says, in which `*` stands for anything. Goes back to the last `*` alone, as an
/// earlier one could take no less: time is at most the product of the lengths.
fn fits(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star = None;
    while seen < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(byte) if *byte == text[seen] => {
                at += 1;
                seen += 1;
            }
            Some(_) | None => {
                let Some((before, taken)) = star else {
                    return false;
                };
                star = Some((before, taken + 1));
                (at, seen) = (before + 1, taken + 1);
            }
        }
    }
    glob[at..].iter().all(|byte| *byte == b'*')
}

/// One part of an input that several processes share: every Nth line, from the Ith on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: u64,
    count: u64,
}

impl Shard {
    /// `I/N`, or `auto/N` with the index that `variable` holds. Fails if I is not below N, or the variable is not set.
    pub fn of(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        const FORM: &str =
            "write I/N, I from 0 to N - 1, as in 0/4; auto/N takes I from JOB_COMPLETION_INDEX";
        let (index, count) = text.split_once('/').ok_or(FORM)?;
        let index = match index {
            "auto" => match variable(INDEX) {
                Some(index) if index.is_empty() => return Err(format!("{INDEX} is empty; {FORM}")),
                Some(index) if index.parse::<u64>().is_err() => {
                    return Err(format!("{INDEX} is {index:?}, and no whole number; {FORM}"));
                }
                Some(index) => index,
                None => return Err(format!("{INDEX} is not set; {FORM}")),
            },
            index => index.to_owned(),
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| FORM.to_owned());
        let (index, count) = (number(&index)?, number(count)?);
        if index >= count {
            return Err(format!("{index} is not below {count}; {FORM}"));
        }
        Ok(Self { index, count })
    }

    fn takes(self, nth: u64) -> bool {
        nth % self.count == self.index
    }
}

/// What Kubernetes sets in each pod of an indexed job.
const INDEX: &str = "JOB_COMPLETION_INDEX";

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.index, self.count)
    }
}

/// Picks, and counts what it leaves.
#[derive(Debug, Default)]
pub(super) struct Picker {
    pick: Pick,
    /// Lines so far.
    nth: u64,
    /// What `--filter`, `--sample` and `--shard` have left, each.
    left: [u64; 3],
}

impl Picker {
    pub(super) fn of(pick: &Pick) -> Self {
        Self {
            pick: pick.clone(),
            ..Self::default()
        }
    }

    /// Whether the next line is taken.
    pub(super) fn takes(&mut self, line: &Result<Job, BadLine>) -> bool {
        let nth = self.nth;
        self.nth += 1;
        let [filtered, sampled, sharded] = &mut self.left;
        let pick = &self.pick;
        let leaves = if pick.shard.is_some_and(|shard| !shard.takes(nth)) {
            sharded
        } else if let Ok(job) = line {
            if !pick.filters.iter().all(|filter| filter.takes(job)) {
                filtered
            } else if pick.sample.is_some_and(|share| point(job) >= share.0) {
                sampled
            } else {
                return true;
            }
        } else {
            return true;
        };
        *leaves += 1;
        false
    }

    /// Lines that are not taken, by what leaves them: `of 6 lines: 1 by --filter, 3 by --shard`; `None` if all are.
    pub(super) fn left(&self) -> Option<String> {
        let left = ["--filter", "--sample", "--shard"]
            .into_iter()
            .zip(self.left);
        let left = left.filter(|(_, count)| *count > 0);
        let left: Vec<_> = left
            .map(|(option, count)| format!("{count} by {option}"))
            .collect();
        let lines = counted(self.nth, "line");
        (!left.is_empty()).then(|| format!("of {lines}: {}", left.join(", ")))
    }
}

/// A point of `[0, Share::ALL)` that a job has each time that its input is read: by its id, else by what it is and
/// where it stands. Of two shares the larger takes all that the smaller does.
fn point(job: &Job) -> u64 {
    let here = [job.hash.0.to_be_bytes(), job.place.line.to_be_bytes()];
    let own = job.id.as_deref().map(str::as_bytes);
    let bits = XxHash3_64::oneshot(own.unwrap_or(here.as_flattened()));
    let scaled = u128::from(bits) * u128::from(Share::ALL);
    u64::try_from(scaled >> 64).expect("it is below the largest share")
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;
    use crate::job::{JobHash, Origin, Place, Target};

    fn job(line: u64, url: &str) -> Job {
        let target: Target = url.parse().unwrap();
        Job {
            hash: JobHash(7),
            ..Job::get(Place::new("-", line), target, Origin("http://h".into()))
        }
    }

    fn takes(filter: &str, url: &str) -> bool {
        filter.parse::<Filter>().unwrap().takes(&job(1, url))
    }

    #[test]
    fn a_filter_looks_at_method_host_and_path() {
        for (filter, url, taken) in [
            ("method=GET", "http://h/", true),
            ("method=POST,PUT", "http://h/", false),
            ("method!=POST", "http://h/", true),
            ("path=/api/*", "http://h/api/v1?x=/no", true),
            ("path=/api/*", "http://h/app", false),
            ("path!=/health*, /metrics", "http://h/metrics", false),
            ("host=*.example.test", "http://a.example.test:81/", true),
            ("host=*.example.test", "http://example.test/", false),
            ("method=get", "http://h/", true),
            ("host=H", "http://h:81/", true),
            ("host=h:81", "http://h:81/", true),
            ("host=h:81", "http://h:82/", false),
            ("host=h:80,g:443", "http://h/", true),
            ("host=*:443", "https://h/", true),
            ("host=[::1]", "http://[::1]:8080/", true),
            ("host=[::1]:8080", "http://[::1]:8080/", true),
            (
                "host=bücher.example.test",
                "http://bücher.example.test/",
                true,
            ),
            ("path=/Zoë b/*", "http://h/Zoë b/1", true),
        ] {
            assert_eq!(takes(filter, url), taken, "{filter} of {url}");
        }
        for text in [
            "",
            "GET",
            "path",
            "path=",
            "query=a",
            "path=/a,,/b",
            "method!GET",
            "host=http://h",
            "host=*.bücher,b ü",
            "path=api/*",
            "path=/a?b=1",
        ] {
            let why = text.parse::<Filter>().unwrap_err();
            assert!(why.contains("path=/api/*"), "{text}: {why}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (glob, text, fit) in [
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcdef", false),
            ("*ab*ab", "abababx", false),
            ("*ab*ab", "xabyab", true),
            ("a", "aa", false),
            ("a**", "a", true),
        ] {
            assert_eq!(
                fits(glob.as_bytes(), text.as_bytes()),
                fit,
                "{glob} of {text}"
            );
        }
    }

    #[test]
    fn shards_take_every_line_once() {
        let none = |_: &str| None;
        let shards: Vec<_> = (0..3)
            .map(|nth| Shard::of(&format!("{nth}/3"), none).unwrap())
            .collect();
        for nth in 0..100 {
            assert_eq!(shards.iter().filter(|shard| shard.takes(nth)).count(), 1);
        }
        let told = |_: &str| Some("2".to_owned());
        assert_eq!(Shard::of("auto/3", told).unwrap(), shards[2]);
        assert!(
            Shard::of("auto/3", none)
                .unwrap_err()
                .contains("JOB_COMPLETION_INDEX is not set")
        );
        for (value, what) in [
            ("", "is empty"),
            ("a", "is \"a\""),
            ("3", "3 is not below 3"),
        ] {
            let set = |_: &str| Some(value.to_owned());
            let why = Shard::of("auto/3", set).unwrap_err();
            assert!(why.contains(what), "{why}");
        }
        for text in ["", "1", "3/3", "0/0", "-1/2", "1/x", "a/2"] {
            assert!(Shard::of(text, none).unwrap_err().contains("I/N"), "{text}");
        }
    }

    #[test]
    fn what_is_left_is_counted_by_what_left_it_and_bad_lines_are_told_once() {
        let mut picker = Picker::of(&Pick {
            filters: vec!["path=/a".parse().unwrap()],
            sample: None,
            shard: Some(Shard::of("1/2", |_| None).unwrap()),
        });
        let bad = BadLine {
            hash: JobHash(1),
            ..BadLine::new(Place::new("-", 1), "", "")
        };
        let lines = [
            Ok(job(1, "http://h/a")),
            Ok(job(2, "http://h/a")),
            Ok(job(3, "http://h/a")),
            Err(bad.clone()),
            Err(bad),
            Ok(job(6, "http://h/b")),
        ];
        let taken: Vec<_> = lines.iter().map(|line| picker.takes(line)).collect();
        assert_eq!(taken, [false, true, false, true, false, false]);
        let left = "of 6 lines: 1 by --filter, 3 by --shard";
        assert_eq!(picker.left().as_deref(), Some(left));
        assert_eq!(Picker::default().left(), None);
    }

    proptest! {
        #[test]
        fn a_sample_is_the_same_each_time_and_grows_with_its_share(
            small in 1..=Share::ALL, large in 1..=Share::ALL, line: u64,
        ) {
            let (small, large) = (small.min(large), small.max(large));
            let takes = |share: u64| point(&job(line, "http://h/")) < share;
            prop_assert_eq!(takes(small), takes(small));
            prop_assert!(!takes(small) || takes(large));
            prop_assert!(takes(Share::ALL));
        }
    }

    #[test]
    fn a_sample_has_about_its_share() {
        let taken = (0..10_000)
            .filter(|line| point(&job(*line, "http://h/")) < 100_000)
            .count();
        assert!((900..1_100).contains(&taken), "{taken}");
    }
}
