//! How a run is ended from outside: one wish drains it, a second one or the end of the grace stops it. Floor 3: rules.

use std::time::Duration;

use super::talk::Signal;
use crate::units::Tick;

/// The wishes for an end so far. Whoever has heard the same signals at the same moments says the same.
#[derive(Debug, Clone)]
pub struct Ending {
    grace: Option<Duration>,
    first: Option<(Signal, Tick)>,
    /// The first one that is not the same wish.
    second: Option<(Signal, Tick)>,
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Nothing new is sent, what is in flight ends.
    Drain,
    /// Nothing that was not wished already.
    Same,
    /// The end, now.
    Stop,
}

/// `timeout` and some supervisors signal the process and then its group: SIGTERM again within this is the
/// same wish.
const ONE_WISH: Duration = Duration::from_secs(1);

impl Ending {
    /// Nothing is wished. A drain lasts at most `grace`; `None`: as long as what is in flight.
    pub fn new(grace: Option<Duration>) -> Self {
        Self {
            grace,
            first: None,
            second: None,
        }
    }

    /// Takes in a signal that came at `at`.
    pub fn wish(&mut self, signal: Signal, at: Tick) -> Wish {
        match self.first {
            None => {
                self.first = Some((signal, at));
                Wish::Drain
            }
            Some((Signal::Terminate, first))
                if signal == Signal::Terminate && at < first.after(ONE_WISH) =>
            {
                Wish::Same
            }
            Some(_) => {
                self.second.get_or_insert((signal, at));
                Wish::Stop
            }
        }
    }

    /// Whether an end is wished.
    pub fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// The signal that began it.
    pub fn first(&self) -> Option<Signal> {
        self.first.map(|(signal, _)| signal)
    }

    /// When all is over at the latest, and by which signal: at the second one, or at the end of the grace.
    /// `None`: when what is in flight has ended.
    pub fn over(&self) -> Option<(Signal, Tick)> {
        let grace = self.first.zip(self.grace);
        let grace = grace.map(|((signal, at), grace)| (signal, at.after(grace)));
        let both = self.second.into_iter().chain(grace);
        both.min_by_key(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: u64) -> Tick {
        Tick::ZERO.after(Duration::from_millis(count))
    }

    #[test]
    fn the_same_supervisor_asks_twice_within_a_second_and_a_person_at_any_time() {
        use Signal::{Interrupt, Terminate};
        for (first, second, after, wish) in [
            (Interrupt, Interrupt, 1, Wish::Stop),
            (Terminate, Terminate, 999, Wish::Same),
            (Terminate, Terminate, 1000, Wish::Stop),
            (Terminate, Interrupt, 1, Wish::Stop),
            (Interrupt, Terminate, 1, Wish::Stop),
        ] {
            let mut ending = Ending::new(None);
            assert_eq!(ending.wish(first, millis(5)), Wish::Drain);
            let said = ending.wish(second, millis(5 + after));
            assert_eq!(said, wish, "{first:?}, after {after} ms {second:?}");
            let over = (wish == Wish::Stop).then(|| (second, millis(5 + after)));
            assert_eq!((ending.first(), ending.over()), (Some(first), over));
        }
    }

    #[test]
    fn the_grace_counts_from_the_first_signal() {
        let mut ending = Ending::new(Some(Duration::from_secs(5)));
        assert_eq!(ending.over(), None);
        ending.wish(Signal::Terminate, millis(100));
        ending.wish(Signal::Terminate, millis(200));
        let grace = (Signal::Terminate, millis(5_100));
        assert_eq!(ending.over(), Some(grace));
    }

    #[test]
    fn no_later_signal_puts_the_end_off() {
        let mut ending = Ending::new(Some(Duration::from_secs(5)));
        let press = |ending: &mut Ending, at| {
            ending.wish(Signal::Interrupt, millis(at));
            ending.over().map(|(_, at)| at)
        };
        assert_eq!(press(&mut ending, 0), Some(millis(5_000)));
        let mut late = ending.clone();
        for at in [300, 400, 6_000] {
            assert_eq!(press(&mut ending, at), Some(millis(300)), "at {at} ms");
        }
        let after_the_grace = press(&mut late, 6_000);
        assert_eq!(after_the_grace, Some(millis(5_000)));
    }
}
