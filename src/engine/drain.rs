//! How a run ends before its time: nothing new is sent, what is in flight ends. Floor 3: rules.

use super::held::Phase;
use super::order::InOrder;
use super::{Action, End, Engine, Signal, Stopped, Wish};
use crate::units::{Tick, least};

impl Engine {
    /// Whether nothing new is sent.
    pub(super) fn is_draining(&self) -> bool {
        let lost = self.asking.as_ref().and_then(|asking| asking.lost());
        let by_rule = self.stops.stopped().is_some();
        self.ending.has_begun() || by_rule || self.time_up || lost.is_some()
    }

    /// The rule that has ended the run before its time, once one has.
    pub fn stopped_by(&self) -> Option<&Stopped> {
        self.stops.stopped()
    }

    /// Why the run ends before its time, if it does, and when at the latest. A signal weighs more than a rule.
    pub(super) fn early_end(&self) -> Option<(End, Option<Tick>)> {
        if !self.is_draining() {
            return None;
        }
        let signal = self.ending.first().map(End::Signalled);
        let rule = self.stops.stopped().cloned().map(End::Stopped);
        let lost = self.asking.as_ref().and_then(|asking| asking.lost());
        let lost = lost.cloned().map(End::StoreLost);
        let time = self.time_up.then_some(End::TimeUp);
        Some((signal.or(rule).or(lost).or(time)?, self.over_at()))
    }

    /// When a run that is draining is over at the latest.
    pub(super) fn over_at(&self) -> Option<Tick> {
        let wished = self.ending.over().map(|(_, at)| at);
        let stopped = self.stopped_at.zip(self.rules.grace);
        let stopped = stopped.map(|(at, grace)| at.after(grace));
        least(wished, stopped)
    }

    /// The first signal withdraws all that is not in flight, the second stops.
    pub(super) fn signalled(&mut self, signal: Signal, at: Tick, actions: &mut Vec<Action>) {
        match self.ending.wish(signal, at) {
            Wish::Drain => self.withdraw_all(actions),
            Wish::Same => {}
            Wish::Stop => self.stop(End::Signalled(signal), actions),
        }
    }

    /// A rule that has just become true withdraws all that is not in flight.
    pub(super) fn heed_rules(&mut self, actions: &mut Vec<Action>) {
        if self.stops.stopped().is_some() && self.stopped_at.is_none() {
            self.stopped_at = Some(self.now);
            self.withdraw_all(actions);
        }
    }

    /// When the time of the run is over, if that is still to come.
    pub(super) fn time_ends(&self) -> Option<Tick> {
        let time = least(self.rules.arrivals.end(), self.rules.time)?;
        let ends = self.schedule.start()?.after(time);
        (!self.is_draining()).then_some(ends)
    }

    /// At the end of its time nothing new is sent.
    pub(super) fn heed_time(&mut self, actions: &mut Vec<Action>) {
        if self.time_ends().is_some_and(|ends| ends <= self.now) {
            self.time_up = true;
            self.withdraw_all(actions);
        }
    }

    /// Everything that is not in flight is withdrawn, and what is held back and was never sent.
    pub(super) fn withdraw_all(&mut self, actions: &mut Vec<Action>) {
        self.gives_back_ahead(None);
        self.agenda.clear();
        self.lanes.clear();
        self.rests.clear();
        let untried = self.in_order.as_mut().map(InOrder::give_up_untried);
        for ticket in untried.into_iter().flatten() {
            self.forget(ticket);
        }
        for ticket in self.roll.grounded() {
            if self.roll.peek(ticket).phase == Phase::Asking {
                self.unask(ticket);
            }
            self.vanish(ticket, actions);
        }
    }

    /// What is finished is handed over first, if anybody takes it: it was paid for.
    pub(super) fn stop(&mut self, end: End, actions: &mut Vec<Action>) {
        match (&mut self.in_order, &end) {
            (
                Some(in_order),
                End::Finished
                | End::TimeUp
                | End::InputLost(_)
                | End::StoreLost(_)
                | End::Stopped(_)
                | End::Signalled(_),
            ) => {
                for (ticket, outcome) in in_order.rest() {
                    self.write(ticket, outcome, actions);
                }
            }
            (Some(_), End::SinkLost(_)) | (None, _) => {}
        }
        // What was taken without the store counts there, if it can still be told.
        if self.gate.is_alone() {
            self.gate.goes_alone(None, self.now);
            self.tell_store(actions);
        }
        self.stopped = true;
        actions.push(Action::Stop(end));
    }
}
