//! One line of results, as it is read back. Floor 4: doors.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Needs;
use crate::job::{History, JobHash, Keys};
use crate::outcome::{
    Credentials, Failure, FailureKind, Hop, Reached, Spent, Try, UnitsSpent, Waits,
};
use crate::proof::Event;
use crate::stream::{Gaps, Pace, Stream};
use crate::units::Tick;

/// Names that stand in many lines, each once.
pub(super) type Names = HashSet<Arc<str>>;

/// The one copy of a name.
pub(super) fn once(name: &str, names: &mut Names) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let name: Arc<str> = name.into();
    names.insert(Arc::clone(&name));
    name
}

/// What is read of a line; fields that are not named here are passed over.
#[derive(Deserialize)]
pub(super) struct Row<'a> {
    #[serde(default)]
    pub(super) seq: Option<u64>,
    #[serde(default)]
    pub(super) line: Option<u64>,
    #[serde(default, borrow)]
    pub(super) file: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) job: Option<Cow<'a, str>>,
    /// Of the input, from 0.
    #[serde(default)]
    pub(super) round: u32,
    /// It takes the place of an earlier result, which failed.
    #[serde(default)]
    pub(super) again: bool,
    #[serde(default, borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(default)]
    tokens: Option<Tokens>,
    #[serde(default, borrow)]
    per: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    #[serde(default)]
    pub(super) tries: Option<Vec<Made>>,
    #[serde(default)]
    pub(super) attempts: Option<u64>,
    #[serde(default)]
    pub(super) http_status: Option<u16>,
    #[serde(default)]
    pub(super) latency_ms: Option<f64>,
    #[serde(default)]
    pub(super) since_due_ms: Option<f64>,
    /// Milliseconds by name; read only where they are asked for.
    #[serde(default, borrow)]
    pub(super) wait_ms: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) error: Option<Why>,
}

/// A try.
#[derive(Deserialize)]
pub(super) struct Made {
    granted_us: Option<u64>,
    /// Null if it never left; a try that does not say it is none.
    #[serde(deserialize_with = "Deserialize::deserialize")]
    sent_us: Option<u64>,
    first_byte_us: Option<u64>,
    done_us: Option<u64>,
    due_us: Option<u64>,
    http_status: Option<u16>,
    error: Option<Why>,
    #[serde(default)]
    tokens: Option<Tokens>,
    #[serde(default)]
    stream: Option<Box<Streamed>>,
    #[serde(default)]
    hops: Vec<Onward>,
}

/// What was seen of an answer that was a stream of events.
#[derive(Deserialize)]
struct Streamed {
    events: u64,
    token_events: u64,
    first_token_us: Option<u64>,
    last_token_us: Option<u64>,
    ttft_ms: Option<f64>,
    gap_ms: Option<GapsOf>,
    output_tokens: Option<u64>,
    token_ms: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
struct GapsOf {
    mean: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

/// A redirect that a try followed.
#[derive(Deserialize)]
struct Onward {
    http_status: u16,
    granted_us: Option<u64>,
    sent_us: Option<u64>,
    first_byte_us: Option<u64>,
    #[serde(default)]
    per: Option<BTreeMap<String, String>>,
}

/// Why something failed.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Why {
    pub(super) kind: Kind,
}

/// A kind of failure; `None` for one that this version does not know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(pub(super) Option<FailureKind>);

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = <Cow<'de, str>>::deserialize(from)?;
        Ok(Self(FailureKind::of(&word)))
    }
}

#[derive(Clone, Copy, Deserialize)]
struct Tokens {
    reserved: u64,
    used: u64,
    #[serde(default)]
    input: Option<Spent>,
    #[serde(default)]
    output: Option<Spent>,
}

impl Row<'_> {
    /// What it says of the results before it.
    pub(super) fn history(&self) -> History {
        if self.again {
            History::Failed
        } else {
            History::New
        }
    }

    /// The tries, if the line tells of any.
    pub(super) fn tries(&self) -> &[Made] {
        self.tries.as_deref().unwrap_or_default()
    }

    /// The content that names the job, if the line tells it.
    pub(super) fn hash(&self) -> Result<Option<JobHash>, &'static str> {
        let Some(text) = self.job.as_deref() else {
            return Ok(None);
        };
        let hash = JobHash::of(text).ok_or("its `job` is not 16 hex digits")?;
        Ok(Some(hash))
    }

    /// The values of the keys that are needed; none for a job that was never tried.
    pub(super) fn keys(&self, needs: &Needs, names: &mut Names) -> Result<Keys, String> {
        if self.tries().is_empty() {
            return Ok(Keys::default());
        }
        let each = needs.keys.iter();
        let values: Result<Vec<_>, _> = each.map(|key| self.key(key, names)).collect();
        Ok(values?.into())
    }

    fn key(&self, key: &str, names: &mut Names) -> Result<Arc<str>, String> {
        let value = self.per.as_ref().and_then(|per| per.get(key));
        let value = value.ok_or_else(|| {
            format!("does not tell its {key}, for which a limit is kept apart (`per`)")
        })?;
        Ok(once(value, names))
    }

    /// The units of a try: its own; those of its job, if that had only this one.
    pub(super) fn units(&self, made: &Made, needs: &Needs) -> Result<Option<UnitsSpent>, String> {
        if !needs.units {
            return Ok(None);
        }
        let of_job = self.tokens.filter(|_| self.tries().len() == 1);
        let tokens = made.tokens.or(of_job);
        let tokens = tokens.ok_or("a try does not tell its tokens, which a limit counts")?;
        if needs.parts && (tokens.input.is_none() || tokens.output.is_none()) {
            return Err("a try does not tell its input and output tokens apart".to_owned());
        }
        Ok(Some(tokens.units()))
    }

    /// What the job waited for.
    pub(super) fn waits(&self, names: &mut Names) -> Result<Waits, String> {
        let Some(raw) = self.wait_ms else {
            return Ok(Waits::new());
        };
        let told: BTreeMap<Cow<str>, f64> =
            serde_json::from_str(raw.get()).map_err(|why| format!("its wait_ms: {why}"))?;
        let each = told.iter();
        each.map(|(name, ms)| Ok((once(name, names), span("wait_ms", *ms)?)))
            .collect()
    }

    /// What it tells of its job beside the tries.
    pub(super) fn told(&self, names: &mut Names) -> Result<Told, String> {
        let told = |name, ms: Option<f64>| ms.map(|ms| span(name, ms)).transpose();
        Ok(Told {
            service: told("latency_ms", self.latency_ms)?,
            since_due: told("since_due_ms", self.since_due_ms)?,
            waits: self.waits(names)?,
            pace: self.tries().last().map(Made::pace).transpose()?.flatten(),
            error: self.error.map(Why::known).transpose()?,
        })
    }

    /// What no line of another run has; `None` if it tells no moment.
    pub(super) fn print(&self) -> Option<Print> {
        let first = self.tries().first()?;
        first.span()?;
        Some(Print {
            seq: self.seq,
            job: self.hash().ok().flatten(),
            moments: [
                first.granted_us,
                first.sent_us,
                first.first_byte_us,
                first.done_us,
            ],
        })
    }
}

/// What a line tells of its job beside the tries.
pub(super) struct Told {
    pub(super) service: Option<Duration>,
    pub(super) since_due: Option<Duration>,
    pub(super) waits: Waits,
    /// Of its last answer, if that was a stream.
    pub(super) pace: Option<Pace>,
    /// Why it is not `ok`.
    pub(super) error: Option<FailureKind>,
}

/// By which a line is known again: the job, and to the microsecond when its first try was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Print {
    seq: Option<u64>,
    job: Option<JobHash>,
    moments: [Option<u64>; 4],
}

impl Why {
    fn known(self) -> Result<FailureKind, String> {
        let unknown = "its error has a kind that this version does not know";
        self.kind.0.ok_or_else(|| unknown.to_owned())
    }
}

impl Tokens {
    fn units(self) -> UnitsSpent {
        UnitsSpent {
            total: Spent {
                reserved: self.reserved,
                used: self.used,
            },
            input: self.input.unwrap_or_default(),
            output: self.output.unwrap_or_default(),
        }
    }
}

/// Milliseconds that a line tells, in whole microseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates, and is not below zero"
)]
pub(super) fn span(name: &str, ms: f64) -> Result<Duration, String> {
    if ms < 0.0 {
        return Err(format!("{name} is below zero"));
    }
    Ok(Duration::from_micros((ms * 1_000.0).round() as u64))
}

impl Streamed {
    fn as_stream(&self, at: impl Fn(Tick) -> Tick) -> Result<Stream, String> {
        let at = |us: Option<u64>| us.map(|us| at(tick(us)));
        let gaps = self.gap_ms.map(|gaps| {
            Ok::<_, String>(Gaps {
                p50: span("gap_ms", gaps.p50)?,
                p99: span("gap_ms", gaps.p99)?,
                max: span("gap_ms", gaps.max)?,
            })
        });
        Ok(Stream {
            events: self.events,
            tokens: self.token_events,
            span: at(self.first_token_us).zip(at(self.last_token_us)),
            gaps: gaps.transpose()?,
            output: self.output_tokens,
        })
    }

    fn pace(&self) -> Result<Pace, String> {
        let told = |name, ms: Option<f64>| ms.map(|ms| span(name, ms)).transpose();
        Ok(Pace {
            first_token: told("ttft_ms", self.ttft_ms)?,
            mean_gap: told("gap_ms", self.gap_ms.map(|gaps| gaps.mean))?,
            longest_gap: told("gap_ms", self.gap_ms.map(|gaps| gaps.max))?,
            per_token: told("token_ms", self.token_ms)?,
        })
    }
}

impl Made {
    /// What is counted of its answer, if that was a stream.
    fn pace(&self) -> Result<Option<Pace>, String> {
        let stream = self.stream.as_deref();
        stream.map(Streamed::pace).transpose()
    }

    /// Grant and end, if it tells both.
    pub(super) fn flight(&self) -> Option<(Tick, Tick)> {
        let granted = self.granted_us.or(self.sent_us);
        granted.map(tick).zip(self.done_us.map(tick))
    }

    /// Grant, or what is told in its place, and end; `None` if it tells no moment.
    pub(super) fn span(&self) -> Option<(Tick, Tick)> {
        let from = self.granted_us.or(self.sent_us).or(self.done_us)?;
        let to = self.done_us.or(self.first_byte_us).or(self.sent_us);
        Some((tick(from), tick(to.unwrap_or(from))))
    }

    /// The units that it tells itself.
    pub(super) fn own_units(&self) -> Option<UnitsSpent> {
        self.tokens.map(Tokens::units)
    }

    /// The status that came.
    pub(super) fn status(&self) -> Result<Option<StatusCode>, String> {
        self.http_status.map(status).transpose()
    }

    /// As it was, with moments since `zero`; `None` if it tells no moment.
    pub(super) fn as_try(
        &self,
        units: Option<UnitsSpent>,
        zero: Tick,
    ) -> Result<Option<Try>, String> {
        let Some((granted, done)) = self.span() else {
            return Ok(None);
        };
        let at = |moment: Tick| Tick(moment.0.saturating_sub(zero.0));
        let status = self.status()?;
        let kind = self.error.map(Why::known).transpose()?;
        let reached = match (self.sent_us, status) {
            (None, _) => Reached::NotSent,
            (Some(_), None) => Reached::Sent,
            (Some(_), Some(_)) => Reached::Answered,
        };
        Ok(Some(Try {
            due: at(self.due_us.map_or(granted, tick)),
            granted: at(granted),
            sent: self.sent_us.map(|us| at(tick(us))),
            connected: None,
            first_byte: self.first_byte_us.map(|us| at(tick(us))),
            done: at(done),
            status,
            retry_after: None,
            failure: kind.map(|kind| Failure::new(kind, reached, "")),
            units,
            stream: self
                .stream
                .as_ref()
                .map(|stream| stream.as_stream(at).map(Box::new))
                .transpose()?,
            hops: self
                .hops
                .iter()
                .map(|hop| hop.as_hop(at))
                .collect::<Result<_, _>>()?,
        }))
    }

    /// First byte written to last byte read; `None` if it was never sent, or its moments go back.
    pub(super) fn service(&self) -> Option<Duration> {
        let span = self.done_us?.checked_sub(self.sent_us?)?;
        Some(Duration::from_micros(span))
    }

    /// Whether it left.
    pub(super) fn was_sent(&self) -> bool {
        self.sent_us.is_some()
    }

    /// Whether anything of it happened at `since` or later.
    pub(super) fn was_there_since(&self, since: Tick) -> bool {
        let last = self.done_us.or(self.first_byte_us).or(self.sent_us);
        last.is_some_and(|last| tick(last) >= since)
    }

    /// As a proof sees it: all its requests that were sent. A redirect has the keys of its job, but for those that it
    /// tells itself.
    pub(super) fn events(
        &self,
        units: Option<UnitsSpent>,
        keys: Keys,
        line: u64,
        (needs, names): (&Needs, &mut Names),
    ) -> impl Iterator<Item = Event> {
        let event = |[granted, sent, answered]: [Option<u64>; 3], units, keys| {
            let sent = sent?;
            Some(Event {
                granted: tick(granted.unwrap_or(sent)),
                sent: tick(sent),
                answered: tick(answered.or(self.done_us).unwrap_or(sent)),
                units,
                keys,
                source: line,
            })
        };
        let hops = self.hops.iter().map(|hop| {
            let moments = [hop.granted_us, hop.sent_us, hop.first_byte_us];
            event(moments, None, hop.keys(&keys, needs, names))
        });
        let hops: Vec<_> = hops.collect();
        let first = [self.granted_us, self.sent_us, self.first_byte_us];
        let first = event(first, units.map(Box::new), keys);
        first.into_iter().chain(hops.into_iter().flatten())
    }

    /// Moments of one try follow each other, and none is beyond what a `u64` of nanoseconds holds.
    pub(super) fn is_in_order(&self) -> Result<(), String> {
        let hops = self.hops.iter();
        let hops = hops.flat_map(|hop| moments(hop.granted_us, hop.sent_us, hop.first_byte_us));
        let moments = moments(self.granted_us, self.sent_us, self.first_byte_us).into_iter();
        let moments = moments.chain(hops).chain([("done_us", self.done_us)]);
        let mut last = ("", 0);
        for (name, at) in moments.filter_map(|(name, at)| Some((name, at?))) {
            if at > u64::MAX / 1_000 {
                return Err(format!("{name} is beyond the year 2554"));
            }
            if at < last.1 {
                return Err(format!("{name} is before {}", last.0));
            }
            last = (name, at);
        }
        Ok(())
    }
}

impl Onward {
    /// The values of the keys that are needed, where they are not those of its job.
    fn keys(&self, of_job: &Keys, needs: &Needs, names: &mut Names) -> Keys {
        let each = of_job.iter().zip(&needs.keys);
        let value = |(known, key): (&Arc<str>, &String)| {
            let own = self.per.as_ref().and_then(|per| per.get(key));
            own.map_or_else(|| known.clone(), |own| once(own, names))
        };
        each.map(value).collect()
    }

    fn as_hop(&self, at: impl Fn(Tick) -> Tick) -> Result<Hop, String> {
        let at = |us: Option<u64>| us.map(|us| at(tick(us)));
        Ok(Hop {
            url: Box::default(),
            status: status(self.http_status)?,
            credentials: Credentials::Kept,
            keys: Keys::default(),
            granted: at(self.granted_us),
            sent: at(self.sent_us),
            first_byte: at(self.first_byte_us),
        })
    }
}

/// The moments of a request, by their names.
fn moments(
    granted: Option<u64>,
    sent: Option<u64>,
    first_byte: Option<u64>,
) -> [(&'static str, Option<u64>); 3] {
    [
        ("granted_us", granted),
        ("sent_us", sent),
        ("first_byte_us", first_byte),
    ]
}

pub(super) fn status(code: u16) -> Result<StatusCode, String> {
    StatusCode::from_u16(code).map_err(|_| format!("http_status {code} is none"))
}

/// Microseconds since the Unix epoch.
fn tick(micros: u64) -> Tick {
    Tick(micros.saturating_mul(1_000))
}
