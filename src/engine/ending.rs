//! How a run is ended from outside: one wish drains it, a second one or the end of the grace stops it. Floor 3: rules.

use std::time::Duration;

use super::talk::Signal;
use crate::units::Tick;

/// The wishes for an end so far. Whoever has heard the same signals at the same moments says the same.
#[derive(Debug, Clone)]
pub struct Ending {
    grace: Option<Duration>,
    first: Option<(Signal, Tick)>,
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
        Self { grace, first: None }
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
            Some(_) => Wish::Stop,
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

    /// When a drain that has begun is over at the latest.
    pub fn until(&self) -> Option<Tick> {
        let ((_, at), grace) = (self.first?, self.grace?);
        Some(at.after(grace))
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
            assert_eq!((ending.first(), ending.until()), (Some(first), None));
        }
    }

    #[test]
    fn the_grace_counts_from_the_first_signal() {
        let mut ending = Ending::new(Some(Duration::from_secs(5)));
        assert_eq!(ending.until(), None);
        ending.wish(Signal::Terminate, millis(100));
        ending.wish(Signal::Terminate, millis(200));
        assert_eq!(ending.until(), Some(millis(5_100)));
    }
}
