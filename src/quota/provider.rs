//! Whose answers are read, and how their fields tell a limit. Floor 3: rules.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::fields::Fields;
use super::table::PROVIDERS;
use super::{Means, Quota, moment, span};
use crate::limit::Counts;

/// Whose answers are read. The unit of a number depends on who says it, never on its size.
pub struct Provider {
    pub(super) name: &'static str,
    /// Ends of the names of its hosts.
    pub(super) hosts: &'static [&'static str],
    /// Fields that only its answers have; `…-*` is any that begins so.
    pub(super) marks: &'static [&'static str],
    /// The field that names the limit, where that depends on the request.
    pub(super) named_by: Option<&'static str>,
    pub(super) limits: &'static [Told],
    /// How they are told.
    pub(super) form: Form,
    /// What is true at their resets.
    pub(super) means: Means,
    /// What a 429 asks for that says nothing.
    pub(super) unsaid: Option<Duration>,
}

/// One limit.
pub(super) struct Told {
    name: &'static str,
    counts: Counts,
    period: Option<Duration>,
    /// Its fields: `limit`, `remaining` and `reset` in the place of the `*`.
    fields: &'static str,
}

/// How a limit is told.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Its reset is the time until then: seconds, or a duration of Go.
    Span,
    /// The same, in a field `reset-after`.
    After,
    /// Its reset is a date by RFC 3339, or seconds since the Unix epoch.
    Moment,
    /// Who says it is not known, so only what can be read in one way is: not a bare number.
    Unknown,
    /// In one field and without a reset: `used/limit`.
    Used,
}

impl Provider {
    /// A row whose limits are told in this form.
    pub(super) const fn new(name: &'static str, form: Form, means: Means) -> Self {
        Self {
            name,
            hosts: &[],
            marks: &[],
            named_by: None,
            limits: &[],
            form,
            means,
            unsaid: None,
        }
    }

    /// A row of which not even that is known.
    pub(super) const fn unknown(name: &'static str) -> Self {
        Self::new(name, Form::Unknown, Means::Over)
    }

    /// The word for it on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        PROVIDERS.iter()
    }

    /// The provider of this name; an error that says what to write instead, if there is none.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let found = Self::all().find(|row| row.name == name);
        found.ok_or_else(|| {
            let [names @ .., last] = &PROVIDERS.each_ref().map(|row| row.name);
            format!("write {} or {last}", names.join(", "))
        })
    }

    /// The provider that this host belongs to, by its name or the end of it; `None` of a host of nobody known.
    pub fn of_host(host: &str) -> Option<&'static Self> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let is_below = |end: &&str| {
            let rest = host.strip_suffix(*end);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        Self::all().find(|row| row.hosts.iter().any(is_below))
    }

    /// The provider whose marks are among the fields of an answer that speaks of limits.
    pub(super) fn betrayed_by(fields: &Fields<'_>) -> Option<&'static Self> {
        if fields.is_empty() {
            return None;
        }
        Self::all().find(|row| row.marks.iter().any(|mark| fields.has(mark)))
    }

    /// The limits that these fields tell.
    pub(super) fn quotas(&self, fields: &Fields<'_>) -> Vec<Quota> {
        let name = self.named_by.and_then(|name| fields.first(name));
        let told = self.limits.iter();
        let told = told.filter_map(|told| self.read(told, fields));
        let named = |quota: Quota| match name {
            Some(name) => Quota {
                name: Cow::Owned(name.to_owned()),
                ..quota
            },
            None => quota,
        };
        told.map(named).collect()
    }

    /// `None` if the fields do not tell it. Given twice, the least is left and the reset the latest.
    fn read(&self, told: &Told, fields: &Fields<'_>) -> Option<Quota> {
        let (limit, remaining, reset) = self.numbers(told, fields)?;
        // Azure writes 0 or -1 for what it does not tell (openai-dotnet#838).
        let over = reset.is_none_or(|reset| reset.is_zero());
        if limit == Some(0) || (limit, remaining) == (None, None) && over {
            return None;
        }
        Some(Quota {
            name: Cow::Borrowed(told.name),
            counts: told.counts,
            limit,
            period: told.period.filter(|period| covers(*period, reset)),
            remaining: remaining.map(|left| left.min(limit.unwrap_or(left))),
            reset,
            means: self.means,
        })
    }

    fn numbers(&self, told: &Told, fields: &Fields<'_>) -> Option<Numbers> {
        let count = |part| fields.part(told.fields, part).filter_map(span::count).min();
        let apart = |reset, read: &dyn Fn(&str) -> Option<Duration>| {
            let resets = fields.part(told.fields, reset).filter_map(read);
            (count("limit"), count("remaining"), resets.max())
        };
        let date = |text: &str| moment::until_rfc3339(text, fields.now());
        Some(match self.form {
            Form::Span => apart("reset", &span::read),
            Form::After => apart("reset-after", &span::read),
            Form::Moment => apart("reset", &|text| {
                moment::until_epoch(text, fields.now()).or_else(|| date(text))
            }),
            Form::Unknown => apart("reset", &|text| span::go(text).or_else(|| date(text))),
            Form::Used => {
                let pairs = fields.values(told.fields).filter_map(used);
                let left = pairs.map(|(used, limit)| (limit.saturating_sub(used), limit));
                let (left, limit) = left.min()?;
                (Some(limit), Some(left), None)
            }
        })
    }
}

/// Limit, remaining and reset.
type Numbers = (Option<u64>, Option<u64>, Option<Duration>);

/// A provider is its row.
impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Provider {}

impl fmt::Debug for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

impl Told {
    const fn new(
        name: &'static str,
        counts: Counts,
        period: Option<Duration>,
        fields: &'static str,
    ) -> Self {
        Self {
            name,
            counts,
            period,
            fields,
        }
    }

    /// So many requests.
    pub(super) const fn requests(period: Option<Duration>, fields: &'static str) -> Self {
        Self::new("requests", Counts::Requests, period, fields)
    }

    /// So many tokens, sent and answered.
    pub(super) const fn tokens(period: Option<Duration>, fields: &'static str) -> Self {
        Self::new("tokens", Counts::Units, period, fields)
    }

    /// So many that are sent.
    pub(super) const fn input(period: Option<Duration>, fields: &'static str) -> Self {
        Self::new("input-tokens", Counts::Input, period, fields)
    }

    /// So many that are answered.
    pub(super) const fn output(period: Option<Duration>, fields: &'static str) -> Self {
        Self::new("output-tokens", Counts::Output, period, fields)
    }

    /// The same by another name.
    pub(super) const fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

/// Whether a limit of this period can have this reset: within it, to the grain of a second. `OpenAI` has
/// limits of a day under the name of those of a minute: 197 of 200 left, full again in 16 minutes.
fn covers(period: Duration, reset: Option<Duration>) -> bool {
    let grain = Duration::from_secs(1);
    reset.is_none_or(|reset| reset <= period + grain)
}

/// `10/40`.
fn used(text: &str) -> Option<(u64, u64)> {
    let (used, limit) = text.split_once('/')?;
    Some((span::count(used.trim())?, span::count(limit.trim())?))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::super::of_head;
    use super::super::tests::{WALL, bytes, head_at};
    use super::*;

    const LONGEST: Duration = Duration::from_nanos(u64::MAX);

    #[test]
    fn a_host_belongs_to_its_provider() {
        for (host, name) in [
            ("api.openai.com", Some("openai")),
            ("my-resource.openai.azure.com", Some("azure")),
            ("API.GROQ.com.", Some("groq")),
            ("api.together.xyz", Some("together")),
            ("api.anthropic.com", Some("anthropic")),
            ("github.com", Some("github")),
            ("discord.com", Some("discord")),
            ("generativelanguage.googleapis.com", Some("gemini")),
            ("us-central1-aiplatform.googleapis.com", Some("gemini")),
            ("acme.gorgias.com", Some("gorgias")),
            ("acme.myshopify.com", Some("shopify")),
            ("notopenai.com", None),
            ("openai.com.evil.example", None),
            ("127.0.0.1", None),
            ("", None),
        ] {
            let found = Provider::of_host(host).map(Provider::name);
            assert_eq!(found, name, "{host}");
        }
    }

    #[test]
    fn a_name_finds_its_row_and_another_is_told_all_names() {
        for row in Provider::all() {
            assert_eq!(Provider::named(row.name), Ok(row));
        }
        let names = "write azure, openai, groq, together, anthropic, github, discord, gemini, gorgias, \
                     shopify, ietf or generic";
        assert_eq!(Provider::named("OpenAI"), Err(names.to_owned()));
    }

    /// All fields that any row reads, and those that every answer may have.
    fn names() -> Vec<String> {
        let told = Provider::all().flat_map(|row| row.limits);
        let told = told.flat_map(|told| {
            let parts = ["limit", "remaining", "reset", "reset-after"];
            parts.map(|part| told.fields.replace('*', part))
        });
        let named = Provider::all().filter_map(|row| row.named_by);
        let others = [
            "date",
            "retry-after",
            "retry-after-ms",
            "x-ms-retry-after-ms",
            "x-should-retry",
            "ratelimit",
            "ratelimit-policy",
            "ratelimit-limit",
            "ratelimit-remaining",
            "ratelimit-reset",
        ];
        told.chain(named.chain(others).map(str::to_owned)).collect()
    }

    /// Numbers, spans, dates and fields of structure, nearly right; and any bytes.
    fn values() -> impl Strategy<Value = Vec<u8>> {
        let text = "[0-9]{0,25}[.]?[0-9]{0,25}|[0-9]{1,20}/[0-9]{1,20}\
             |([0-9]{1,22}(h|m|s|ms|us|ns)){1,4}|[0-9]{1,3}:[0-9]{1,3}:[0-9]{1,3}\
             |20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.][0-9]{0,12})?Z\
             |\"[a-c]\";[qrwt]=[0-9]{1,16}(;[qrwt]=[0-9]{1,16}){0,3}\
             |(limit|remaining|reset)=[0-9]{1,9}(, (limit|remaining|reset)=[0-9]{1,9}){0,3}";
        prop_oneof![bytes(), text.prop_map(String::into_bytes)]
    }

    proptest! {
        #[test]
        fn no_field_makes_it_panic_or_say_what_cannot_be(
            fields in prop::collection::vec((prop::sample::select(names()), values()), 1..8),
            row in 0..=PROVIDERS.len(),
            status in prop::sample::select(&[200, 403, 429, 503][..]),
        ) {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &value[..])).collect();
            let head = head_at(UNIX_EPOCH + WALL, status, &fields);
            let word = of_head(&head, PROVIDERS.get(row));
            prop_assert!(word.wait.is_none_or(|wait| !wait.is_zero() && wait <= LONGEST));
            for quota in &word.quotas {
                prop_assert!(quota.limit != Some(0));
                if let (Some(limit), Some(remaining)) = (quota.limit, quota.remaining) {
                    prop_assert!(remaining <= limit);
                }
                for span in [quota.period, quota.reset, quota.returns()].into_iter().flatten() {
                    prop_assert!(span <= LONGEST);
                }
            }
        }
    }
}
