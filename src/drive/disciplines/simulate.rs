//! A trial in virtual time, in front of the modelled API. Floor 5: drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::trial::{Out, Trial};
use crate::engine::{Event, Ticket};
use crate::job::Units;
use crate::metrics::Stretch;
use crate::model::{Answer, Model, ModelSpec};
use crate::outcome::{Head, Reply, Usage};
use crate::report::comparison::Figures;
use crate::units::{Cost, Tick};

/// The modelled API in virtual time: what leaves arrives at once.
struct Server<'a> {
    spec: &'a ModelSpec,
    model: &'a mut Model,
    epoch: Duration,
    /// Answers on their way, first in, first out at one moment.
    answers: BinaryHeap<Reverse<Coming>>,
    count: u64,
}

struct Coming {
    at: Tick,
    count: u64,
    ticket: Ticket,
    reply: Box<Reply>,
}

impl PartialEq for Coming {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
    }
}

impl Eq for Coming {}

impl PartialOrd for Coming {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coming {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.count).cmp(&(other.at, other.count))
    }
}

/// Runs a trial to its end. The run begins `epoch` after the Unix epoch.
pub(super) fn simulate(
    mut trial: Trial<'_>,
    spec: &ModelSpec,
    model: &mut Model,
    epoch: Duration,
) -> (Figures, Stretch) {
    let mut server = Server {
        spec,
        model,
        epoch,
        answers: BinaryHeap::new(),
        count: 0,
    };
    let mut now = Tick::ZERO;
    loop {
        let wake = trial.turn(now);
        let told = trial.comes_back();
        for out in trial.take() {
            trial.tell(now, Event::Sent(out.ticket, now));
            server.arrive(now, &out, told);
        }
        if trial.ended().is_some() {
            return trial.close(now);
        }
        let answer = server.answers.peek().map(|Reverse(answer)| answer.at);
        let next = [wake, answer].into_iter().flatten().min();
        now = now.max(next.expect("a run that is not over waits for something"));
        while let Some(Coming {
            at, ticket, reply, ..
        }) = server.next(now)
        {
            trial.tell(now, Event::Answered(ticket, Box::new(reply.head.clone())));
            trial.tell(now, Event::Ended(ticket, at, Box::new(Ok(*reply))));
        }
    }
}

impl Server<'_> {
    /// A request arrives; one that comes back later is told when, in the headers.
    fn arrive(&mut self, now: Tick, out: &Out, told: bool) {
        let units = match self.spec.tokens {
            Some(tokens) => tokens.get(),
            None => out.job.units.map_or(1, Units::reserve),
        };
        let verdict = self.model.arrive(now, units);
        let status = match verdict.answer {
            Answer::Ok => StatusCode::OK,
            Answer::Refused(_) => StatusCode::TOO_MANY_REQUESTS,
            Answer::Failed(status) => status,
        };
        let headers = if told && status != StatusCode::OK {
            let reply = self.model.reply(&verdict, now, &out.job.method, "/");
            reply.into_parts().0.headers
        } else {
            HeaderMap::new()
        };
        let at = verdict.answered_at;
        let head = Head {
            at,
            wall: UNIX_EPOCH + self.epoch + at.since(Tick::ZERO),
            status,
            headers,
        };
        let used = self.spec.tokens.map(Cost::get).map(Usage::of);
        self.count += 1;
        self.answers.push(Reverse(Coming {
            at,
            count: self.count,
            ticket: out.ticket,
            reply: Box::new(Reply {
                head,
                body: Bytes::new(),
                used: used.filter(|_| status.is_success()),
            }),
        }));
    }

    /// The next answer that is here.
    fn next(&mut self, now: Tick) -> Option<Coming> {
        self.answers.peek().filter(|answer| answer.0.at <= now)?;
        self.answers.pop().map(|Reverse(answer)| answer)
    }
}
