//! A limit as it is written: `tokens 100000/m bucket burst=5000`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Anchor, Counts, KeyBy, Kind, Leaves, Spec};
use crate::units::{Cost, Rate, exact_span, parse_count, parse_duration};

/// The form that a limit is written in, for messages.
pub fn limit_form() -> String {
    let counts = COUNTS.map(|(word, _)| word).join("|");
    let kinds: Vec<_> = Kind::all().map(Kind::word).collect();
    format!(
        "[{counts}] N/DUR [{}] [burst=N] [start=N] [anchor=epoch|first] [guard=DUR] \
         [per=host|header:NAME|field:NAME] [at=send|reply] [name=WORD]",
        kinds.join("|")
    )
}

const COUNTS: [(&str, Counts); 4] = [
    ("requests", Counts::Requests),
    ("tokens", Counts::Units),
    ("input-tokens", Counts::Input),
    ("output-tokens", Counts::Output),
];

impl Counts {
    /// The word for it in a limit.
    pub fn word(self) -> &'static str {
        let mut rows = COUNTS.iter();
        let row = rows.find(|(_, counts)| *counts == self);
        row.map_or("", |(word, _)| word)
    }
}

/// All but the name, in a form that is read as the same limit.
impl fmt::Display for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts != Counts::Requests {
            write!(out, "{} ", self.counts.word())?;
        }
        for part in self.rate.written.split_whitespace() {
            out.write_str(part)?;
        }
        write!(out, " {}", self.kind.word())?;
        if self.kind.has_burst() {
            write!(out, " burst={}", self.burst.get())?;
            if self.start != self.burst.get() {
                write!(out, " start={}", self.start)?;
            }
        }
        match self.anchor {
            Anchor::Epoch => {}
            Anchor::First => out.write_str(" anchor=first")?,
        }
        if let Some(guard) = self.guard {
            write!(out, " guard={}", exact_span(guard))?;
        }
        if let Some(key) = &self.per {
            write!(out, " per={key}")?;
        }
        match self.leaves {
            Leaves::Send => Ok(()),
            Leaves::Reply => out.write_str(" at=reply"),
        }
    }
}

/// The most characters of a name: it stands in every result and in lines of reports.
const NAME: usize = 32;

/// What the words after the rate say, each at most once.
#[derive(Default)]
struct Words<'a> {
    kind: Option<Kind>,
    burst: Option<u64>,
    start: Option<u64>,
    anchor: Option<Anchor>,
    guard: Option<Duration>,
    per: Option<KeyBy>,
    leaves: Option<Leaves>,
    name: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn read(&mut self, word: &'a str) -> Result<(), String> {
        if let Some(kind) = Kind::all().find(|kind| kind.word() == word) {
            return once(&mut self.kind, kind, "a kind");
        }
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        let says = |why: String| format!("`{word}`: {why}");
        let one_of = |forms: &str| says(format!("write {forms}"));
        match option {
            "burst" => once(&mut self.burst, parse_count(value).map_err(says)?, option),
            "start" => once(&mut self.start, parse_start(value).map_err(says)?, option),
            "anchor" => {
                let anchor = match value {
                    "epoch" => Anchor::Epoch,
                    "first" => Anchor::First,
                    _ => return Err(one_of("anchor=epoch or anchor=first")),
                };
                once(&mut self.anchor, anchor, option)
            }
            "guard" => once(&mut self.guard, parse_guard(value).map_err(says)?, option),
            "per" => once(&mut self.per, value.parse().map_err(says)?, option),
            "at" => {
                let leaves = match value {
                    "send" => Leaves::Send,
                    "reply" => Leaves::Reply,
                    _ => return Err(one_of("at=send or at=reply")),
                };
                once(&mut self.leaves, leaves, option)
            }
            "name" if (1..=NAME).contains(&value.chars().count()) => {
                once(&mut self.name, value, option)
            }
            "name" => Err(one_of(&format!("name=WORD of at most {NAME} characters"))),
            _ => Err(format!("`{word}` is not known")),
        }
    }

    /// Nothing was said that another kind has.
    fn fit(&self, kind: Kind) -> Result<(), String> {
        let only = |given: bool, option: &str, has: fn(Kind) -> bool| {
            if !given || has(kind) {
                return Ok(());
            }
            let all = Kind::all().filter(|kind| has(*kind));
            let words: Vec<_> = all.map(Kind::word).collect();
            let have = if words.len() == 1 { "has" } else { "have" };
            let (kind, words) = (kind.word(), words.join(" and "));
            Err(format!(
                "`{option}=` does not fit {kind}: only {words} {have} it"
            ))
        };
        only(self.burst.is_some(), "burst", Kind::has_burst)?;
        only(self.start.is_some(), "start", Kind::has_burst)?;
        only(self.anchor.is_some(), "anchor", Kind::has_anchor)?;
        only(self.guard.is_some(), "guard", Kind::is_log)?;
        only(self.leaves.is_some(), "at", Kind::is_log)?;
        if self.guard.is_some() && self.leaves == Some(Leaves::Reply) {
            return Err("`guard=` does not fit at=reply: there is no jitter left to guard".into());
        }
        Ok(())
    }
}

fn once<T>(place: &mut Option<T>, value: T, what: &str) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{what} is given twice")),
    }
}

fn parse_start(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => parse_count(text).map_err(|_| "write a whole number from 0: 0, 20, 10k".to_owned()),
    }
}

fn parse_guard(text: &str) -> Result<Duration, String> {
    let guard = parse_duration(text)?;
    match u64::try_from(guard.as_nanos()) {
        Ok(_) => Ok(guard),
        Err(_) => Err("is beyond 584 years".to_owned()),
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: String| format!("{what}; write {}", limit_form());
        let mut list = text.split_whitespace().peekable();
        let counts = list.peek().copied();
        let counts = COUNTS.iter().find(|(word, _)| Some(*word) == counts);
        if counts.is_some() {
            list.next();
        }
        let counts = counts.map_or(Counts::Requests, |(_, counts)| *counts);
        let rate = list
            .next()
            .ok_or_else(|| wrong("a rate is missing".to_owned()))?;
        let rate: Rate = rate
            .parse()
            .map_err(|why| wrong(format!("`{rate}` is no rate, {why}")))?;
        let mut words = Words::default();
        for word in list {
            words.read(word).map_err(wrong)?;
        }
        let kind = words.kind.unwrap_or(Kind::BUCKET);
        words.fit(kind).map_err(wrong)?;
        if words.guard.is_some_and(|guard| guard > rate.period) {
            let period = exact_span(rate.period);
            return Err(wrong(format!("`guard=` is at most the period, {period}")));
        }
        let usual = match (kind.has_burst(), counts) {
            (true, Counts::Requests) => Cost::ONE,
            (true | false, _) => Cost(rate.count),
        };
        let burst = words.burst.and_then(Cost::new).unwrap_or(usual);
        let start = words.start.unwrap_or(burst.get());
        if start > burst.get() {
            let burst = burst.get();
            return Err(wrong(format!("`start={start}` is above burst={burst}")));
        }
        Ok(Self {
            name: words.name.unwrap_or(kind.word()).into(),
            counts,
            rate,
            kind,
            burst,
            start,
            anchor: words.anchor.unwrap_or(Anchor::Epoch),
            guard: words.guard,
            leaves: words.leaves.unwrap_or(Leaves::Send),
            per: words.per,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_limit_is_read_and_shown_as_written() {
        for (text, shown) in [
            ("10/s", "10/s bucket burst=1"),
            ("requests 600rpm bucket burst=20", "600rpm bucket burst=20"),
            ("tokens 1000/m", "tokens 1000/m bucket burst=1000"),
            (
                "output-tokens 5k/m leaky",
                "output-tokens 5k/m leaky burst=5000",
            ),
            ("input-tokens 9/s window", "input-tokens 9/s window"),
            (
                "tokens 1000/m start=0 burst=10",
                "tokens 1000/m bucket burst=10 start=0",
            ),
            ("100/10s window", "100/10s window"),
            ("100/10s guard=0 window", "100/10s window guard=0s"),
            (
                "100/10s guard=1.5s at=send window",
                "100/10s window guard=1500ms",
            ),
            (
                "100/10s at=reply window per=host",
                "100/10s window per=host at=reply",
            ),
            (
                "9/s window-counter per=header:X-Key",
                "9/s window-counter per=header:x-key",
            ),
            ("5/s fixed name=server", "5/s fixed"),
            ("5/s anchor=epoch fixed", "5/s fixed"),
            (
                "5/s anchor=first fixed per=field:/a/b",
                "5/s fixed anchor=first per=field:/a/b",
            ),
        ] {
            assert_eq!(
                text.parse::<Spec>().map(|spec| spec.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_wrong_limit_is_refused_with_the_word_and_the_form() {
        for (text, word) in [
            ("", "rate"),
            ("requests", "rate"),
            ("requests tokens 10/s", "`tokens`"),
            ("window 10/s", "`window`"),
            ("0/s", "`0/s`"),
            ("-1/s", "`-1/s`"),
            ("NaN/s", "`NaN/s`"),
            ("1e30/s", "`1e30/s`"),
            ("none", "`none`"),
            ("10/s 5/s", "`5/s`"),
            ("10/s window fixed", "kind"),
            ("10/s window burst=2", "`burst="),
            ("10/s fixed start=2", "`start="),
            ("10/s window-counter guard=1s", "`guard="),
            ("10/s guard=1s", "`guard="),
            ("10/s at=reply", "`at="),
            ("10/s window anchor=first", "`anchor="),
            ("10/s window guard=1s at=reply", "`guard="),
            ("10/s window guard=-1s", "`guard=-1s`"),
            ("10/s window guard=1000000000000s", "`guard="),
            ("10/s window at=end", "`at=end`"),
            ("10/s fixed anchor=last", "`anchor=last`"),
            ("10/s burst=0", "`burst=0`"),
            ("10/s burst=1.5", "`burst=1.5`"),
            ("10/s burst=1e99", "`burst=1e99`"),
            ("10/s burst=2 burst=2", "burst"),
            ("10/s burst=2 start=3", "`start=3`"),
            ("10/s per=hosts", "`per=hosts`"),
            ("10/s per=header:", "`per=header:`"),
            ("10/s name=", "`name=`"),
            ("10/s name=a name=b", "name"),
            ("10/s window guard=2s", "at most the period"),
            ("10/s start=-1", "from 0"),
            (
                "10/s name=123456789012345678901234567890123",
                "32 characters",
            ),
            ("10/s burst", "`burst`"),
        ] {
            let why = text.parse::<Spec>().expect_err(text);
            assert!(why.contains(word), "{text}: {why}");
            assert!(why.ends_with(&limit_form()), "{text}: {why}");
        }
    }

    /// Any limit that can be written: its words after the rate, in any order.
    fn limits() -> impl Strategy<Value = String> {
        let counts = prop::sample::select(vec![
            "",
            "requests ",
            "tokens ",
            "input-tokens ",
            "output-tokens ",
        ]);
        let rate = (
            1u64..5000,
            prop::sample::select(vec!["s", "m", "250ms", "7us", "1h30m"]),
        );
        let key = prop::sample::select(vec!["per=host", "per=header:X-K", "per=field:/a/b", ""]);
        let words = prop_oneof![
            (1u64..99, 0u64..99).prop_map(|(burst, start)| {
                vec![
                    format!("burst={burst}"),
                    format!("start={}", start.min(burst)),
                ]
            }),
            (1u64..99).prop_map(|burst| vec!["leaky".into(), format!("burst={burst}")]),
            (0u64..=7_000).prop_map(|guard| vec!["window".into(), format!("guard={guard}ns")]),
            Just(vec!["window".into(), "at=reply".into()]),
            Just(vec!["window-counter".into()]),
            Just(vec!["fixed".into(), "anchor=first".into()]),
            Just(vec!["fixed".into()]),
        ];
        (counts, rate, key, words).prop_flat_map(|(counts, (count, period), key, mut words)| {
            words.push(key.to_owned());
            let words = Just(words).prop_shuffle();
            words.prop_map(move |words| format!("{counts}{count}/{period} {}", words.join(" ")))
        })
    }

    proptest! {
        #[test]
        fn every_limit_is_read_again_from_what_it_shows(text in limits()) {
            let spec: Spec = text.parse().map_err(TestCaseError::fail)?;
            prop_assert_eq!(spec.to_string().parse::<Spec>(), Ok(spec));
        }
    }
}
