//! The fields of the IETF draft "`RateLimit` header fields for HTTP", in all its versions. Floor 3: rules.
//!
//! draft-ietf-httpapi-ratelimit-headers: from 08 on a list of policies and one of what is left of them (§3,
//! §4), in 07 a dictionary of the limit that is nearest, up to 06 a field for each of its numbers. They are
//! structured fields (RFC 9651): one that is malformed is ignored whole, as its §4.2 says.

use std::borrow::Cow;
use std::time::Duration;

use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parameters, Parser, StringRef, TokenRef};

use super::fields::Fields;
use super::{Means, Quota, asked, span};
use crate::limit::Counts;

/// What these fields tell.
#[derive(Default)]
pub(super) struct Told {
    /// Limits on requests: of what else they count, no limit here does.
    pub(super) quotas: Vec<Quota>,
    /// The longest time until a spent limit, of whatever it counts, is there again.
    pub(super) wait: Option<Duration>,
}

/// A limit as it is announced.
struct Policy {
    /// Up to 07 it has none.
    name: Option<String>,
    limit: u64,
    period: Option<Duration>,
    requests: bool,
}

/// How a limit stands.
struct Level {
    name: Option<String>,
    /// Up to 07 it tells which policy it is of.
    limit: Option<u64>,
    remaining: u64,
    reset: Option<Duration>,
}

impl Level {
    fn is_of(&self, policy: &Policy) -> bool {
        match &self.name {
            Some(name) => policy.name.as_ref() == Some(name),
            None => policy.name.is_none() && self.limit == Some(policy.limit),
        }
    }
}

/// What the fields of an answer tell.
pub(super) fn read(fields: &Fields<'_>) -> Told {
    let policies = fields.list("ratelimit-policy");
    let mut policies = policies
        .and_then(|text| policies_of(&text))
        .unwrap_or_default();
    let levels = match fields.list("ratelimit") {
        Some(text) => levels_of(&text)
            .or_else(|| level_of(&text))
            .unwrap_or_default(),
        None => apart(fields, &mut policies).into_iter().collect(),
    };
    let spent = levels.iter().filter(|level| level.remaining == 0);
    let wait = asked::longest(spent.filter_map(|level| level.reset));
    let own = levels.iter().map(|level| {
        let mut policies = policies.iter();
        policies.position(|policy| level.is_of(policy))
    });
    let own: Vec<_> = own.collect();
    let told = levels.iter().zip(&own);
    let told = told.map(|(level, own)| (own.map(|at| &policies[at]), Some(level)));
    let others = (0..policies.len()).filter(|at| !own.contains(&Some(*at)));
    let others = others.map(|at| (Some(&policies[at]), None));
    let all = told.chain(others);
    Told {
        quotas: all
            .filter_map(|(policy, level)| quota(policy, level))
            .collect(),
        wait,
    }
}

/// `None` if it counts no requests, or is a limit of nothing.
fn quota(policy: Option<&Policy>, level: Option<&Level>) -> Option<Quota> {
    let limit = policy.map(|policy| policy.limit);
    let limit = limit.or(level.and_then(|level| level.limit));
    let requests = policy.is_none_or(|policy| policy.requests);
    (requests && limit != Some(0)).then_some(())?;
    let name = policy.and_then(|policy| policy.name.as_ref());
    let name = name.or(level.and_then(|level| level.name.as_ref()));
    let remaining = level.map(|level| level.remaining);
    Some(Quota {
        name: name.map_or(Cow::Borrowed("RateLimit"), |name| Cow::Owned(name.clone())),
        counts: Counts::Requests,
        limit,
        period: policy.and_then(|policy| policy.period),
        remaining: remaining.map(|left| left.min(limit.unwrap_or(left))),
        reset: level.and_then(|level| level.reset),
        means: Means::Over,
    })
}

/// `"burst";q=100;w=60, "daily";q=1000;w=86400`; up to 07 `100;w=60, 1000;w=86400`.
fn policies_of(text: &str) -> Option<Vec<Policy>> {
    let each = |item: Item| {
        let (name, limit) = match &item.bare_item {
            BareItem::Integer(_) => (None, whole(&item.bare_item)?),
            named => (Some(word(named)?), number(&item.params, "q")??),
        };
        let period = number(&item.params, "w")?.filter(|period| *period > 0);
        let unit = item.params.get("qu").map(word);
        Some(Policy {
            name,
            limit,
            period: period.map(span::of_seconds),
            requests: unit.is_none_or(|unit| unit.is_some_and(|unit| unit == "requests")),
        })
    };
    items(text)?.into_iter().map(each).collect()
}

/// `"default";r=50;t=30`.
fn levels_of(text: &str) -> Option<Vec<Level>> {
    let each = |item: Item| {
        Some(Level {
            name: Some(word(&item.bare_item)?),
            limit: None,
            remaining: number(&item.params, "r")??,
            reset: number(&item.params, "t")?.map(span::of_seconds),
        })
    };
    items(text)?.into_iter().map(each).collect()
}

/// `limit=100, remaining=50, reset=30`: draft 07.
fn level_of(text: &str) -> Option<Vec<Level>> {
    let all: Dictionary = Parser::new(text).parse().ok()?;
    let number = |name: &str| match all.get(name) {
        Some(ListEntry::Item(item)) => whole(&item.bare_item),
        Some(ListEntry::InnerList(_)) | None => None,
    };
    Some(vec![Level {
        name: None,
        limit: Some(number("limit")?),
        remaining: number("remaining")?,
        reset: number("reset").map(span::of_seconds),
    }])
}

/// `RateLimit-Limit: 100, 100;w=60` with `RateLimit-Remaining: 50` and `RateLimit-Reset: 30`: up to draft 06.
fn apart(fields: &Fields<'_>, policies: &mut Vec<Policy>) -> Option<Level> {
    let remaining = fields.values("ratelimit-remaining");
    let remaining = remaining.filter_map(span::count).min()?;
    let resets = fields.values("ratelimit-reset").filter_map(span::seconds);
    let mut limits = fields
        .list("ratelimit-limit")
        .and_then(|text| policies_of(&text))
        .unwrap_or_default();
    let limit = (!limits.is_empty()).then(|| limits.remove(0).limit);
    policies.extend(limits);
    Some(Level {
        name: None,
        limit,
        remaining,
        reset: resets.max(),
    })
}

/// A list of which no entry is a list itself.
fn items(text: &str) -> Option<Vec<Item>> {
    let list: List = Parser::new(text).parse().ok()?;
    let item = |entry| match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    };
    list.into_iter().map(item).collect()
}

/// A parameter that is a whole number. The outer `None`: it is there and no such number.
#[expect(clippy::option_option, reason = "not said is not the same as wrong")]
fn number(params: &Parameters, name: &str) -> Option<Option<u64>> {
    match params.get(name) {
        Some(value) => whole(value).map(Some),
        None => Some(None),
    }
}

fn whole(value: &BareItem) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

/// A string, or a token as some servers write it.
fn word(value: &BareItem) -> Option<String> {
    let string = value.as_string().map(StringRef::as_str);
    let token = || value.as_token().map(TokenRef::as_str);
    string.or_else(token).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::tests::{WALL, head_at};
    use super::super::{Word, of_head};
    use super::*;

    fn said(fields: &[(&str, &str)]) -> Word {
        let fields = fields.iter().map(|(name, text)| (*name, text.as_bytes()));
        let fields: Vec<_> = fields.collect();
        of_head(&head_at(UNIX_EPOCH + WALL, 429, &fields), None)
    }

    /// Name, limit, seconds of the period, remaining, seconds to the reset.
    type Line<'a> = (&'a str, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    fn lines(word: &Word) -> Vec<Line<'_>> {
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs());
        let line = |quota: &'_ Quota| {
            let Quota {
                limit, remaining, ..
            } = *quota;
            (
                limit,
                seconds(quota.period),
                remaining,
                seconds(quota.reset),
            )
        };
        let all = word.quotas.iter().map(|quota| (&*quota.name, line(quota)));
        all.map(|(name, (limit, period, left, reset))| (name, limit, period, left, reset))
            .collect()
    }

    #[test]
    fn policies_and_what_is_left_of_them_are_joined_by_name() {
        // draft 10 §3, §4.
        let word = said(&[
            (
                "RateLimit-Policy",
                "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400",
            ),
            ("RateLimit", "\"daily\";r=50;t=30"),
        ]);
        let told = [
            ("daily", Some(1000), Some(86_400), Some(50), Some(30)),
            ("burst", Some(100), Some(60), None, None),
        ];
        assert_eq!(lines(&word), told);
        assert_eq!(word.wait, None);
    }

    #[test]
    fn a_spent_limit_is_waited_for_and_the_longest_of_two() {
        let word = said(&[
            ("RateLimit", "\"default\";r=0;t=30"),
            (
                "RateLimit",
                "\"daily\";r=0;t=3600;pk=:cHsdsRa894==:, \"hourly\";r=7;t=9000",
            ),
        ]);
        assert_eq!(word.wait, Some(Duration::from_secs(3600)));
        assert_eq!(lines(&word).len(), 3);
        let asked = said(&[("RateLimit", "\"default\";r=0;t=30"), ("Retry-After", "5")]);
        assert_eq!(
            asked.wait,
            Some(Duration::from_secs(5)),
            "Retry-After wins: draft 10 §4"
        );
    }

    #[test]
    fn what_is_not_counted_in_requests_is_waited_for_and_no_quota() {
        let policy = "\"peruser\";q=100;w=60, \"transfer\";q=65535;qu=\"content-bytes\";w=10, \
             \"slots\";q=5;qu=\"concurrent-requests\"";
        let word = said(&[
            ("RateLimit-Policy", policy),
            ("RateLimit", "\"transfer\";r=0;t=10, \"slots\";r=3"),
        ]);
        assert_eq!(lines(&word), [("peruser", Some(100), Some(60), None, None)]);
        assert_eq!(word.wait, Some(Duration::from_secs(10)));
    }

    #[test]
    fn two_partitions_of_one_policy_are_two_quotas() {
        let word = said(&[
            ("RateLimit-Policy", "\"a\";q=9, \"b\";q=5;w=60"),
            ("RateLimit", "\"b\";r=1;pk=:YQ==:, \"b\";r=2;pk=:Yg==:"),
        ]);
        let told = [
            ("b", Some(5), Some(60), Some(1), None),
            ("b", Some(5), Some(60), Some(2), None),
            ("a", Some(9), None, None, None),
        ];
        assert_eq!(lines(&word), told);
    }

    #[test]
    fn draft_07_is_a_dictionary_of_the_nearest_limit() {
        let word = said(&[
            (
                "RateLimit-Policy",
                "100;w=60;comment=\"sliding\", 1000;w=86400",
            ),
            ("RateLimit", "limit=100, remaining=0, reset=50"),
        ]);
        let told = [
            ("RateLimit", Some(100), Some(60), Some(0), Some(50)),
            ("RateLimit", Some(1000), Some(86_400), None, None),
        ];
        assert_eq!(lines(&word), told);
        assert_eq!(word.wait, Some(Duration::from_secs(50)));
    }

    #[test]
    fn up_to_draft_06_each_number_has_its_field() {
        let word = said(&[
            ("RateLimit-Limit", "100, 100;w=60, 1000;w=86400"),
            ("RateLimit-Remaining", "12"),
            ("RateLimit-Reset", "50"),
        ]);
        let told = [
            ("RateLimit", Some(100), Some(60), Some(12), Some(50)),
            ("RateLimit", Some(1000), Some(86_400), None, None),
        ];
        assert_eq!(lines(&word), told);
        let plain = said(&[
            ("RateLimit-Limit", "600"),
            ("RateLimit-Remaining", "0"),
            ("RateLimit-Reset", "7"),
            ("RateLimit-Policy", "600;w=300"),
        ]);
        assert_eq!(
            lines(&plain),
            [("RateLimit", Some(600), Some(300), Some(0), Some(7))]
        );
        assert_eq!(plain.wait, Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_span_too_long_is_the_longest_there_is() {
        let longest = Some(Duration::from_nanos(u64::MAX));
        let policy = ("RateLimit-Policy", "\"a\";q=5;w=999999999999999");
        let word = said(&[policy, ("RateLimit", "\"a\";r=0;t=999999999999999")]);
        assert_eq!((word.wait, word.quotas[0].period), (longest, longest));
        let text = "limit=5, remaining=0, reset=999999999999999";
        assert_eq!(said(&[("RateLimit", text)]).wait, longest);
    }

    #[test]
    fn what_is_malformed_is_ignored_whole() {
        for text in [
            "",
            "\"a\";r=0;t=30, ",
            "\"a\";r=0;t=30,, \"b\";r=0;t=30",
            "\"a\";r=0;t=-30",
            "\"a\";r=-1;t=30",
            "\"a\";r=0;t=1.5",
            "\"a\";r=0;t=\"30\"",
            "\"a\";r=0;t=9999999999999999",
            "\"a\";t=30",
            "\"a;r=0;t=30",
            "(\"a\");r=0;t=30",
            "0;r=0;t=30",
            "limit=100, remaining=-1, reset=30",
            "limit=100, reset=30",
            "\"a\";r=0;t=30, limit=100, remaining=0, reset=30",
        ] {
            assert_eq!(said(&[("RateLimit", text)]), Word::default(), "{text}");
        }
        for text in [
            "\"a\";q=0",
            "\"a\";w=60",
            "\"a\";q=-5;w=60",
            "\"a\";q=5;w=\"60\"",
            "\"a\"",
            "-5;w=60",
        ] {
            assert_eq!(
                said(&[("RateLimit-Policy", text)]),
                Word::default(),
                "{text}"
            );
        }
        for text in ["", "-1", "none"] {
            let fields = [("RateLimit-Remaining", text), ("RateLimit-Reset", "30")];
            assert_eq!(said(&fields), Word::default(), "{text}");
        }
    }
}
