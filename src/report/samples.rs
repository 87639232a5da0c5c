//! Runs that the tests of reports look at, made by hand without an engine. Floor 4: doors.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use super::{Facts, Report, Source, Sources, Standing};
use crate::engine::{End, Refund, Signal};
use crate::error::{Exit, Problem};
use crate::job::{BadLine, JobHash, Keys, Place};
use crate::limit::{Counts, Spec};
use crate::metrics::{HoldOn, LONGEST, Metrics, Owner, Part, Setup, Summary, Turn, Unseen};
use crate::outcome::{
    Failure, FailureKind, Outcome, Reached, Spent, Status, Try, UnitsSpent, Waits,
};
use crate::proof::{Event, Proof, Proven, Prover, Terms};
use crate::units::{Cost, Tick};

/// A run of equal jobs: as many at once as `slots`, one every `every`.
pub(super) struct Run {
    pub(super) jobs: u64,
    pub(super) slots: u64,
    pub(super) every: Duration,
    pub(super) latency: Duration,
    pub(super) owner: Owner,
    /// The status of a job by its number.
    pub(super) status: fn(u64) -> Option<u16>,
    /// How much earlier than sent each was due.
    pub(super) late: Duration,
}

pub(super) fn setup(slots: u64, limits: &[(&str, &str)]) -> Setup {
    let limit = |(name, rate): &(&str, &str)| {
        Spec::bucket(name, Counts::Requests, rate.parse().unwrap(), Cost::ONE)
    };
    Setup {
        slots: Some(slots),
        limits: limits.iter().map(limit).collect(),
        ..Setup::default()
    }
}

pub(super) fn facts() -> Facts {
    Facts {
        started: Some(Duration::from_micros(1_796_055_006_975_293)),
        inputs: vec!["jobs.jsonl".to_owned()],
        seed: Some(42),
        transport: Some("reqwest".to_owned()),
        refund: Refund::Unused,
        end: Standing::Over(End::Finished),
    }
}

/// `--concurrency 20 --qps 10` against an API that answers in 99.3 ms.
pub(super) fn held_by_qps() -> Report {
    let run = Run {
        jobs: 600,
        slots: 20,
        every: Duration::from_millis(100),
        latency: Duration::from_micros(99_300),
        owner: Owner::Limit(0),
        status: |_| Some(200),
        late: Duration::ZERO,
    };
    Report::new(run.metrics(), setup(20, &[("qps", "10")]), facts())
}

/// `--concurrency 20` alone, against an API that answers in 50 ms.
pub(super) fn held_by_slots() -> Report {
    let run = Run {
        jobs: 4000,
        slots: 20,
        every: Duration::ZERO,
        latency: Duration::from_millis(50),
        owner: Owner::Slot,
        status: |job| Some(if job % 10 == 9 { 429 } else { 200 }),
        late: Duration::from_secs(2),
    };
    Report::new(run.metrics(), setup(20, &[]), facts())
}

/// Jobs that were answered by streams, every tenth of which broke off.
pub(super) fn streamed() -> Report {
    let run = Run {
        jobs: 600,
        slots: 20,
        every: Duration::from_millis(100),
        latency: Duration::from_millis(900),
        owner: Owner::Limit(0),
        status: |job| Some(if job % 10 == 9 { 400 } else { 200 }),
        late: Duration::ZERO,
    };
    let Report {
        mut summary, setup, ..
    } = Report::new(run.metrics(), setup(20, &[("qps", "10")]), facts());
    let streams = summary.tally.streams.get_or_insert_default();
    (streams.answers, streams.by_events, streams.output) = (600, 60, 24_600);
    let micros = Duration::from_micros;
    for job in 0..600 {
        let failed = job % 10 == 9;
        for (book, span) in [
            (&mut streams.first_token, micros(80_000 + 700 * job)),
            (&mut streams.mean_gap, micros(9_000 + 20 * job)),
            (&mut streams.longest_gap, micros(20_000 + 40 * job)),
            (&mut streams.per_token, micros(8_000 + 20 * job)),
        ] {
            let latencies = if failed {
                &mut book.failed
            } else {
                &mut book.ok
            };
            latencies.add(span);
        }
    }
    Report::new(summary, setup, facts())
}

/// Ten jobs that could not connect.
pub(super) fn unconnected() -> Report {
    let run = Run {
        jobs: 10,
        slots: 10,
        every: Duration::ZERO,
        latency: Duration::from_millis(1),
        owner: Owner::Input,
        status: |_| None,
        late: Duration::ZERO,
    };
    Report::new(run.metrics(), setup(10, &[]), facts())
}

/// What is proved of these limits by one send each 30 ms for 3 s, of 70 tokens of which 40 are used.
pub(super) fn proven(limits: &[Spec]) -> Proven {
    let total = Spent {
        reserved: 70,
        used: 40,
    };
    let units = UnitsSpent {
        total,
        ..UnitsSpent::default()
    };
    let mut prover = Prover::new(limits, Terms::default());
    for number in 0..100 {
        let at = Tick(number * 30_000_000);
        let event = Event {
            granted: at,
            sent: at,
            answered: at,
            units: Some(Box::new(units)),
            keys: Box::default(),
            source: 0,
        };
        prover.granted(&event);
        prover.sent(&event);
    }
    prover.close()
}

/// Nothing was read.
pub(super) fn empty() -> Report {
    let summary = Metrics::new(Duration::ZERO, Proof::nothing()).close(Tick::ZERO);
    Report::new(summary, setup(20, &[("qps", "10")]), facts())
}

/// One job alone.
fn single(status: fn(u64) -> Option<u16>, latency: Duration) -> Summary {
    let run = Run {
        jobs: 1,
        slots: 1,
        every: Duration::ZERO,
        latency,
        owner: Owner::Input,
        status,
        late: Duration::ZERO,
    };
    run.metrics()
}

/// A name that would break out of a page, a table or a line.
pub(super) const HOSTILE: &str =
    "</script><img src=x onerror=alert(1)>\"'&;,=\u{202e}\u{e9}\u{1f600}";

/// Everything that a report can tell at once, and more names than have room.
pub(super) fn fullest() -> Report {
    let Report { mut summary, .. } = held_by_slots();
    summary.stretch.units.total = 850.0;
    summary.stretch.per_second = (0..400).map(|second| 300 + second).collect();
    let kinds = [FailureKind::Timeout, FailureKind::Dns, FailureKind::Limit];
    summary
        .tally
        .failures
        .extend(kinds.map(|kind| (kind, 1_234_567)));
    summary
        .tally
        .try_failures
        .extend(kinds.map(|kind| (kind, 1_234_567)));
    let statuses = (100..1000).map(|status| (status, 1_234_567));
    summary.tally.statuses.extend(statuses);
    summary.tally.waits.add(&HOSTILE.into(), LONGEST);
    summary.tally.retries = 2000;
    summary.unseen = Some(Unseen {
        unrepeated: 7,
        untold: 3,
        ..Unseen::default()
    });
    (
        summary.tally.counts.cancelled,
        summary.tally.counts.done_before,
    ) = (1_234_567_890, 12);
    summary.tally.counts.read += 1_234_567_890;
    let owners = (0..5).map(Owner::Limit).chain([
        Owner::Input,
        Owner::Sink,
        Owner::Order,
        Owner::Client,
        Owner::LookAhead,
        Owner::HostSlot,
    ]);
    let shares = owners.map(|owner| (owner, Duration::from_secs(5)));
    summary.stretch.shares.extend(shares);
    summary.full_of = Some(HOSTILE.to_owned());
    let mut setup = setup(20, &[("qps", "250"), ("rpm", "9000/m")]);
    setup.per_host = Some(4);
    let more = [
        "tokens 1M/s name=tps",
        "input-tokens 90000/m window name=mine",
        "5/s window",
        "1M/s fixed",
        "3/s window-counter",
        "7/s leaky burst=3",
    ];
    setup
        .limits
        .extend(more.map(|limit| limit.parse().unwrap()));
    setup.limits[3].name = HOSTILE.repeat(9).into();
    summary.proof = proven(&setup.limits);
    let mut facts = facts();
    facts.inputs = vec![format!("a/long/path/to/{HOSTILE}.jsonl"); 9];
    let lost = "results cannot be written: No space left on device (os error 28)";
    let lost = Problem::new(Exit::Unwritten, lost, "make room");
    facts.end = Standing::Over(End::SinkLost(lost));
    Report::new(summary, setup, facts)
}

/// Results of which nothing tells the run.
pub(super) fn recorded() -> Report {
    let Report {
        mut summary, setup, ..
    } = held_by_slots();
    summary.stretch.part = Part::Recorded;
    summary.stretch.shares.clear();
    let waits = [("slot", 800), ("backoff", 150), ("tpm", 50)];
    let waits = waits.map(|(name, seconds)| (name.into(), Duration::from_secs(seconds)));
    summary.tally.waits = waits.into_iter().collect();
    summary.unseen = None;
    let facts = Facts {
        started: None,
        inputs: Vec::new(),
        seed: None,
        transport: None,
        end: Standing::Untold,
        ..facts()
    };
    Report::new(summary, setup, facts).from(Sources {
        files: vec![source("standing.jsonl", Some(4001))],
        runs: 1,
        notes: vec!["nothing tells the limits".to_owned()],
    })
}

fn source(name: &str, torn: Option<u64>) -> Source {
    Source {
        name: name.to_owned(),
        results: 4000,
        replaced: 7,
        torn,
    }
}

/// Everything at once, read from many files.
pub(super) fn fullest_again() -> Report {
    let names = (0..12).map(|number| format!("{number}{HOSTILE}"));
    fullest().from(Sources {
        files: names.map(|name| source(&name, Some(4001))).collect(),
        runs: 40,
        notes: vec![HOSTILE.repeat(9); 9],
    })
}

/// Every kind of run, each with a name.
pub(super) fn all() -> Vec<(&'static str, Report)> {
    let bare = Setup::default();
    let second = Duration::from_secs(1);
    let ok = |_| Some(200);
    let mut interrupted = held_by_qps();
    interrupted.facts.end = Standing::Over(End::Signalled(Signal::Interrupt));
    interrupted.summary.tally.counts.cancelled = 40;
    interrupted.summary.unseen = Some(Unseen {
        cut_off: 3,
        ..Unseen::default()
    });
    interrupted.summary.tally.counts.read += 40;
    let mut scheduled = held_by_slots();
    scheduled.setup.arrivals = "even 0@0s,500/s@10s".parse().unwrap();
    scheduled.summary.late_by = Some([(Owner::Slot, 3900), (Owner::Client, 7)].into());
    let scheduled = Report::new(scheduled.summary, scheduled.setup, scheduled.facts);
    let mut resumed = held_by_qps();
    (
        resumed.summary.tally.counts.done_before,
        resumed.summary.tally.counts.failed,
    ) = (60, 12);
    resumed.summary.tally.counts.read += 12;
    vec![
        ("held by qps", held_by_qps()),
        ("held by slots", held_by_slots()),
        ("streamed", streamed()),
        ("scheduled", scheduled),
        ("unconnected", unconnected()),
        ("empty", empty()),
        (
            "one answer",
            Report::new(single(ok, second), bare.clone(), facts()),
        ),
        (
            "one answer in no time",
            Report::new(single(ok, Duration::ZERO), setup(1, &[]), facts()),
        ),
        (
            "one refusal",
            Report::new(
                single(|_| Some(429), second),
                setup(1, &[("qps", "1")]),
                facts(),
            ),
        ),
        (
            "beyond an hour",
            Report::new(single(ok, LONGEST + second), setup(1, &[]), facts()),
        ),
        ("interrupted", interrupted),
        ("resumed", resumed),
        ("fullest", fullest()),
        ("recorded", recorded()),
        ("fullest again", fullest_again()),
    ]
}

impl Run {
    pub(super) fn metrics(&self) -> Summary {
        let mut metrics = Metrics::new(Duration::ZERO, Proof::nothing());
        let mut ends: BTreeMap<(Tick, u64), Tick> = BTreeMap::new();
        let mut now = Tick::ZERO;
        let (mut next, mut flying) = (0, 0);
        let due = |job: u64| Tick::ZERO.after(self.every * u32::try_from(job).unwrap());
        (0..self.jobs).for_each(|_| metrics.read());
        loop {
            metrics.advance(now);
            while let Some((&(end, job), &sent)) = ends.first_key_value().filter(|it| it.0.0 <= now)
            {
                ends.pop_first();
                flying -= 1;
                self.end(&mut metrics, job, sent, end);
            }
            while next < self.jobs && flying < self.slots && due(next) <= now {
                metrics.granted(now, now);
                ends.insert((now.after(self.latency), next), now);
                (next, flying) = (next + 1, flying + 1);
            }
            let waiting = usize::try_from(self.jobs - next).unwrap();
            metrics.turn(
                now,
                Turn {
                    hold: HoldOn::Open(if waiting > 0 {
                        self.owner
                    } else {
                        Owner::Nothing
                    }),
                    head: None,
                    waiting,
                },
            );
            let end = ends.first_key_value().map(|(&(end, _), _)| end);
            let go = (waiting > 0 && flying < self.slots).then(|| due(next));
            match end.into_iter().chain(go).min() {
                Some(then) => now = then,
                None => return metrics.close(now),
            }
        }
    }

    fn end(&self, metrics: &mut Metrics, job: u64, sent: Tick, end: Tick) {
        let status = (self.status)(job);
        let failure = status
            .is_none()
            .then(|| Failure::new(FailureKind::Connect, Reached::NotSent, "refused"));
        let done = Try {
            due: sent.before(self.late),
            granted: sent,
            sent: status.map(|_| sent),
            connected: None,
            first_byte: status.map(|_| end),
            done: end,
            status: status.map(|status| StatusCode::from_u16(status).unwrap()),
            retry_after: None,
            failure,
            units: None,
            stream: None,
            hops: Vec::new(),
        };
        metrics.ended(end, &done, &Keys::default());
        let (verdict, error) = match status {
            Some(200) => (Status::Ok, None),
            Some(_) => (Status::Failed, Some((FailureKind::Http, String::new()))),
            None => (Status::Failed, Some((FailureKind::Connect, String::new()))),
        };
        metrics.done(&Outcome {
            seq: job,
            line: Err(BadLine {
                hash: JobHash(job),
                ..BadLine::new(Place::new("jobs.jsonl", job + 1), "", "")
            }),
            status: verdict,
            tries: vec![done],
            queue: None,
            waits: Waits::new(),
            units: None,
            reply: None,
            error,
        });
        metrics.recorded(verdict);
    }
}
