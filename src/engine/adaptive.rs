//! What answers teach of the limits of their servers. Floor 3: rules.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::talk::Ticket;
use super::{Engine, IN_A_LANE};
use crate::limit::{Counts, Known, Lesson, Standing};
use crate::outcome::Head;
use crate::quota::{Means, Word};
use crate::units::Tick;

impl Engine {
    /// The head of an answer, and what it says of its server's limits.
    pub(super) fn learn(&mut self, ticket: Ticket, head: &Head, word: &Word) {
        if !self.rules.adaptive {
            return;
        }
        // What is there again only later than is waited for is asked for: its refusal closes the key, and says why.
        let longest = self.rules.retry.max_retry_after;
        let waited_for = |reset: &Duration| longest.is_none_or(|longest| *reset <= longest);
        for quota in &word.quotas {
            let standing = Standing {
                at: head.at,
                name: quota.name.clone(),
                limit: quota.limit,
                period: quota.period,
                left: quota.remaining,
                full_at: quota
                    .reset
                    .filter(waited_for)
                    .map(|reset| head.at.after(reset)),
                refills: quota.means == Means::Full,
            };
            self.teach(ticket, quota.counts, &Lesson::Told(standing));
        }
        if !word.refuses(head.status) && !head.status.is_server_error() {
            let granted = self.roll.work(ticket).current().granted_last();
            let (at, lesson) = (head.at, Counts::Requests);
            self.teach(ticket, lesson, &Lesson::Accepted { granted, at });
        }
    }

    /// A try has ended, perhaps with a refusal; by then its body has said what its head did not.
    pub(super) fn learn_refusal(&mut self, ticket: Ticket) {
        if !self.rules.adaptive {
            return;
        }
        let work = self.roll.work(ticket);
        let asked = work.said.wait;
        let refused = work.said.refused;
        let last = work.current();
        let (Some(status), Some(at)) = (last.status, last.first_byte_last()) else {
            return;
        };
        if refused || status == StatusCode::SERVICE_UNAVAILABLE {
            let lesson = Lesson::Refused {
                granted: last.granted_last(),
                at,
                back: asked.map(|wait| at.after(wait)),
            };
            self.teach(ticket, Counts::Requests, &lesson);
        }
    }

    fn teach(&mut self, ticket: Ticket, counts: Counts, lesson: &Lesson) {
        let held = self.roll.peek(ticket);
        let (states, lane) = (held.holds.shared_states(), held.lane.expect(IN_A_LANE));
        if let Some(learnt) = self.gate.learn(&held.holds, counts, lesson) {
            let name = self.lanes.name(lane);
            self.metrics
                .learnt(&name, self.now, counts, lesson.name(), learnt);
        }
        self.lanes.given_back(&states);
    }

    /// All who share a store know this now of the limits of this lane's server.
    pub(super) fn is_taught(&mut self, counts: Counts, lane: &Arc<str>, mut known: Known) {
        let now = self.now;
        for said in &mut known.told {
            said.at = now;
            said.full_at = said.full_at.map(|span| now.after(span.since(Tick::ZERO)));
        }
        // A lane is named by its origin and the values of its keys.
        let name = lane.replace('\0', " ");
        self.metrics.known(&name, now, counts, &known);
        self.gate.knows(counts, lane, &known, now);
    }
}
