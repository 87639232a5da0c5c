//! Values of options: their types, and how they are read. Floor 6: front.
//!
//! Messages say the accepted range; clap adds the flag and the value.

use std::env;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};
use http::{HeaderName, HeaderValue, Method};

use super::typo::near;
use crate::client::Proxy;
use crate::engine::{Order, StopIf};
use crate::quota::Provider;
use crate::report::Glyphs;
use crate::report::hdr::Hdr;
use crate::source::Shard;
use crate::units::{Cost, Rate, parse_count, parse_duration, parse_span};

/// A bound that an option gives, or takes away: `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bound<T> {
    /// At most so many.
    At(T),
    /// No limit.
    Unlimited,
}

impl<T: Clone> Bound<T> {
    /// As the engine takes it.
    pub(super) fn limit(&self) -> Option<T> {
        match self {
            Self::At(bound) => Some(bound.clone()),
            Self::Unlimited => None,
        }
    }
}

/// What a bucket holds: so many, or a time's worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Burst {
    /// So many requests.
    Count(Cost),
    /// What flows in during this time.
    Worth(Duration),
}

/// A header value from the command line: it may be a credential.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Value(pub(super) HeaderValue);

impl std::fmt::Debug for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("***")
    }
}

/// A header of the command line, or a file of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderFrom {
    Line(HeaderName, Value),
    File(PathBuf),
}

/// Forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportForm {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
    /// No report.
    None,
}

/// Forms of the progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressKind {
    /// A line that is redrawn in a terminal, else plain lines.
    Auto,
    /// The line that is redrawn.
    Bar,
    /// Plain lines, one each 10 s.
    Plain,
    /// Nothing.
    None,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorWhen {
    /// In a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// One of a few words: shells offer them, and a slip is answered with the nearest.
pub(super) fn one_of<T>(words: impl Into<PossibleValuesParser>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    words.into().try_map(|word| word.parse::<T>())
}

/// The same of a choice, whose words are its own.
pub(super) fn choice<T>(words: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    one_of(words.iter().map(|(word, _)| *word))
}

/// Words or something else: shells offer the words, and a slip is answered with the nearest.
pub(super) fn or_else<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    OrElse {
        words,
        rest: |text: &str| text.parse::<T>(),
    }
}

#[derive(Clone)]
struct OrElse<P> {
    words: &'static [&'static str],
    rest: P,
}

impl<P: TypedValueParser> TypedValueParser for OrElse<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.rest
            .parse_ref(command, arg, value)
            .map_err(|mut said| {
                let words = self.words.iter().map(|word| (*word).to_owned());
                let near = near(&value.to_string_lossy(), words);
                if !near.is_empty() {
                    said.insert(ContextKind::SuggestedValue, ContextValue::Strings(near));
                }
                said
            })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().map(PossibleValue::new)))
    }
}

/// One of the providers whose headers are known.
pub(super) fn provider() -> impl TypedValueParser<Value = &'static Provider> {
    let names = Provider::all().map(|row| PossibleValue::new(row.name()));
    PossibleValuesParser::new(names).try_map(|name| Provider::named(&name))
}

/// What `--ascii` means, given or not.
pub(super) fn glyphs(is_ascii: bool) -> Glyphs {
    if is_ascii {
        Glyphs::Ascii
    } else {
        Glyphs::Unicode
    }
}

/// What `--ordered` means, given or not.
pub(super) fn order(given: bool) -> Order {
    if given {
        Order::ByInput
    } else {
        Order::ByCompletion
    }
}

pub(super) fn count(text: &str) -> Result<Cost, String> {
    parse_count(text).map(|count| Cost::new(count).expect("a count is above zero"))
}

/// What fits into a comparison that takes seconds.
pub(super) fn few(text: &str) -> Result<Cost, String> {
    match count(text) {
        Ok(jobs) if jobs.get() <= 1_000_000 => Ok(jobs),
        Ok(_) | Err(_) => Err("write a whole number from 1 to 1M".to_owned()),
    }
}

pub(super) fn count_or_none(text: &str) -> Result<Bound<Cost>, String> {
    or_none(text, count)
}

pub(super) fn rate_or_none(text: &str) -> Result<Bound<Rate>, String> {
    or_none(text, str::parse)
}

pub(super) fn stop_or_none(text: &str) -> Result<Bound<StopIf>, String> {
    or_none(text, str::parse)
}

fn or_none<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<Bound<T>, String> {
    if text == "none" {
        return Ok(Bound::Unlimited);
    }
    if text.eq_ignore_ascii_case("none") {
        return Err("did you mean none?".to_owned());
    }
    parse(text)
        .map(Bound::At)
        .map_err(|why| format!("{why}, or none"))
}

pub(super) fn attempts(text: &str) -> Result<u32, String> {
    let count = parse_count(text)?;
    u32::try_from(count).map_err(|_| format!("at most {}", u32::MAX))
}

pub(super) fn method(text: &str) -> Result<Method, String> {
    let parsed = text.parse();
    parsed.map_err(|_| "write GET, POST or another word of letters".to_owned())
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

pub(super) fn bytes_or_none(text: &str) -> Result<u64, String> {
    if text == "none" {
        return Ok(u64::MAX);
    }
    let (number, unit) = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
        .into_iter()
        .find_map(|(word, unit)| Some((text.strip_suffix(word)?, unit)))
        .unwrap_or((text, 1));
    let wrong = || "write a number of bytes from 1: 1000, 64MiB, 1GiB, or none".to_owned();
    parse_count(number)
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(wrong)
}

pub(super) fn burst(text: &str) -> Result<Burst, String> {
    if let Ok(count) = count(text) {
        return Ok(Burst::Count(count));
    }
    match parse_duration(text) {
        Ok(span) if !span.is_zero() && text.ends_with(|c: char| c.is_ascii_alphabetic()) => {
            Ok(Burst::Worth(span))
        }
        Ok(_) | Err(_) => Err("write a number from 1, or a time above zero: 20, 4s".to_owned()),
    }
}

pub(super) fn window(text: &str) -> Result<Rate, String> {
    const FORM: &str = "write N/DUR, both above zero: 10/1s, 100/m";
    let rate: Rate = text.parse().map_err(|_| FORM)?;
    if text.contains('/') {
        Ok(rate)
    } else {
        Err(FORM.to_owned())
    }
}

/// A file with a name: what goes there is no text for a terminal or a pipe.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("name a file".to_owned()),
        name => Ok(name.into()),
    }
}

/// The ending says which form, and the word before it which latencies: a slip in them would write others.
pub(super) fn latencies(text: &str) -> Result<PathBuf, String> {
    let path = file(text)?;
    if Hdr::foreign_ending(&path).is_some() {
        return Err(
            "name FILE.hlog for a log of all latencies, FILE.hgrm or FILE.txt for percentiles to plot"
                .to_owned(),
        );
    }
    match Hdr::meant(&path) {
        Some(tag) => Err(format!(
            "no latencies are called so, did you mean {tag}? There are service_ok, service_failed, since_due_ok and \
             since_due_failed"
        )),
        None => Ok(path),
    }
}

/// A port alone is one of this machine: who wants to be seen from elsewhere says so.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .strip_prefix("localhost:")
        .or_else(|| text.strip_prefix(':'))
        .unwrap_or(text);
    let port: Result<u16, _> = port.parse();
    let own = port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    own.or_else(|_| text.parse()).map_err(|_| {
        "write PORT, or IP:PORT: 9100, 127.0.0.1:9100, 0.0.0.0:9100, [::1]:9100".to_owned()
    })
}

pub(super) fn span_or_none(text: &str) -> Result<Bound<Duration>, String> {
    or_none(text, parse_span)
}

/// Zero is a span, too: now or never.
pub(super) fn wait_or_none(text: &str) -> Result<Bound<Duration>, String> {
    or_none(text, parse_duration)
}

/// `I/N`, or `auto/N` in a pod of an indexed job.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    Shard::of(text, |name| env::var(name).ok())
}

/// `NAME: VALUE`, or `@FILE` with one in each line.
pub(super) fn header_from(text: &str) -> Result<HeaderFrom, String> {
    match text.strip_prefix('@') {
        Some(file) => Ok(HeaderFrom::File(file.into())),
        None => header_line(text).map(|(name, value)| HeaderFrom::Line(name, value)),
    }
}

/// The message does not hold the value.
pub(super) fn header_line(text: &str) -> Result<(HeaderName, Value), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("it has no colon; write NAME: VALUE, or @FILE")?;
    let name = match name.trim() {
        "" => return Err("it has no name before the colon; write NAME: VALUE".to_owned()),
        name => name,
    };
    let name = name
        .parse()
        .map_err(|_| "the name has a character that no header name may have; write NAME: VALUE")?;
    let value = HeaderValue::from_bytes(value.trim().as_bytes()).map_err(
        |_| "the value has a line break or another control character; write NAME: VALUE",
    )?;
    Ok((name, Value(value)))
}

/// A proxy, or none.
pub(super) fn proxy_or_none(text: &str) -> Result<Bound<Proxy>, String> {
    match text {
        "none" => Ok(Bound::Unlimited),
        url => url.parse().map(Bound::At),
    }
}
