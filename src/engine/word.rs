//! What a server says about its own limits: it rests the key, closes it, or ends the run. Floor 3: rules.

use std::time::Duration;

use http::StatusCode;

use super::heads::LaneId;
use super::lanes::Rest;
use super::talk::Ticket;
use super::{Action, Engine, IN_A_LANE, Stopped};
use crate::letters::calm;
use crate::outcome::Reply;
use crate::quota::{self, Word};
use crate::retry::Said;
use crate::units::{Tick, show_span};

impl Engine {
    /// An answer of `status`, told at `at`, says this. The wait that it asks for holds for its whole key.
    pub(super) fn hear(&mut self, ticket: Ticket, status: StatusCode, at: Tick, word: &Word) {
        let lane = self.roll.peek(ticket).lane.expect(IN_A_LANE);
        let refuses = word.refuses(status);
        let again = word.again_after(status);
        // Of a 403 the body may tell.
        if refuses || status != StatusCode::FORBIDDEN {
            self.lanes.answered(lane, refuses);
        }
        if !word.quotas.is_empty() {
            let granted = self.roll.work(ticket).current().granted;
            let account = self.lanes.account(lane);
            self.metrics.hears(account, (at, granted), &word.quotas);
        }
        let retry = &self.rules.retry;
        let asked = word.wait.filter(|_| retry.heeds(status, again, refuses));
        let work = self.roll.work(ticket);
        work.said = Said {
            wait: asked,
            again,
            refused: refuses,
        };
        work.current().retry_after = asked;
        if let Some(wait) = asked {
            self.rest(lane, at.after(wait));
        }
    }

    /// A whole answer that refuses may say in its body what its head does not.
    pub(super) fn hear_body(&mut self, ticket: Ticket, reply: &Reply) {
        let status = reply.head.status;
        let retry = &self.rules.retry;
        if retry.ok.has(status.as_u16()) {
            return;
        }
        let word = quota::of_body(status, &reply.body);
        let lane = self.roll.peek(ticket).lane.expect(IN_A_LANE);
        let said = &mut self.roll.work(ticket).said;
        if !said.refused && status == StatusCode::FORBIDDEN {
            self.lanes.answered(lane, word.refuses(status));
        }
        said.refused |= word.refuses(status);
        let said = *said;
        if let Some(spent) = &word.spent {
            let told = format!("a quota is spent: {}", calm(spent));
            self.roll.work(ticket).said.again = Some(false);
            self.stops.stop(Stopped::SPENT, told);
            return;
        }
        let again = said.again.or(word.again_after(status));
        let heeds = self.rules.retry.heeds(status, again, said.refused);
        let work = self.roll.work(ticket);
        work.said.again = again;
        if let (None, Some(wait), true) = (said.wait, word.wait, heeds) {
            work.said.wait = Some(wait);
            work.current().retry_after = Some(wait);
            self.rest(lane, reply.head.at.after(wait));
        }
    }

    /// Nothing of this key is sent until then: its server wants that.
    pub(super) fn rest(&mut self, lane: LaneId, until: Tick) {
        self.lanes.pause(lane, until, Rest::Asked);
        self.share_pause(lane, until);
        self.rush(lane);
        self.metrics.paused();
    }

    /// The server of this key asks for a longer wait than is allowed: all of the key that is not in flight is
    /// withdrawn, and the run ends when no key is open.
    pub(super) fn close_key(&mut self, lane: LaneId, wait: Duration, actions: &mut Vec<Action>) {
        let Some(waiting) = self.lanes.close(lane) else {
            return;
        };
        for ticket in waiting {
            self.leaves_lane(ticket, lane);
            self.vanish(ticket, actions);
        }
        let roll = &self.roll;
        let resting = self
            .rests
            .take(|ticket| roll.peek(ticket).lane == Some(lane));
        let early = self
            .agenda
            .take(|ticket| roll.peek(ticket).lane == Some(lane));
        let asking = self.askers_of(lane);
        for ticket in &asking {
            self.unask(*ticket);
        }
        for ticket in resting.into_iter().chain(early).chain(asking) {
            self.vanish(ticket, actions);
        }
        if self.lanes.are_closed() {
            let told = format!("{}, and no key is open", self.too_long_a_wait(wait));
            self.stops.stop(Stopped::LONG_WAIT, told);
        }
    }

    /// Both numbers of a wait that is not waited for; that of the server in seconds, as servers tell it.
    pub(super) fn too_long_a_wait(&self, wait: Duration) -> String {
        let most = self.rules.retry.max_retry_after.unwrap_or_default();
        let (seconds, span, most) = (in_seconds(wait), show_span(wait), show_span(most));
        let wait = if span == seconds {
            span
        } else {
            format!("{seconds} ({span})")
        };
        format!("the server asks to wait {wait}, the longest is {most}")
    }
}

/// Rounded up to whole ones where people are told less of it.
fn in_seconds(span: Duration) -> String {
    let whole = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    match span.as_secs() {
        0..120 => show_span(span),
        _ => format!("{whole} s"),
    }
}
