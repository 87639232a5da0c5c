//! Every limit of a run against what was sent, in order. Floor 3: rules.

use std::time::Duration;

use super::span::Span;
use super::terms::Terms;
use super::track::Track;
use super::{Event, Minute, Proven};
use crate::limit::{Counts, Spec, keys_of};
use crate::units::nanos;

/// Finds the worst window of every limit. Memory: one period of each limit (of a bucket the span that is
/// told for it, 1 s or 60 s), and one minute if units are counted; of a key only while there is
/// anything in its windows.
#[derive(Debug)]
pub struct Prover {
    tracks: Vec<Track>,
    minute: Option<(Span, Span, Minute)>,
}

/// What events that are all there prove, in whatever order they come: they are put in order.
pub fn prove(limits: &[Spec], terms: Terms, events: &mut [Event]) -> Proven {
    let mut prover = Prover::new(limits, terms);
    events.sort_unstable_by_key(|event| (event.granted, event.source));
    for event in &*events {
        prover.granted(event);
    }
    events.sort_unstable_by_key(|event| (event.sent, event.source));
    for event in &*events {
        prover.sent(event);
    }
    prover.close()
}

impl Prover {
    /// Nothing seen yet.
    pub fn new(limits: &[Spec], terms: Terms) -> Self {
        let keys = keys_of(limits);
        let number = |limit: &Spec| {
            let per = limit.per.as_ref()?;
            keys.iter().position(|key| key == per)
        };
        let each = limits.iter();
        let minute = 60 * nanos(Duration::from_secs(1));
        let units = limits.iter().any(|limit| limit.counts.is_units());
        Self {
            tracks: each
                .map(|limit| Track::new(limit, number(limit), terms))
                .collect(),
            minute: units.then(|| (Span::new(minute), Span::new(minute), Minute::default())),
        }
    }

    /// The same for the worst minute alone; `None` where no limit counts units.
    pub fn of_minute(limits: &[Spec]) -> Option<Self> {
        let whole = Self::new(limits, Terms::default());
        whole.minute.is_some().then_some(Self {
            tracks: Vec::new(),
            ..whole
        })
    }

    /// The next event in the order of grants.
    pub fn granted(&mut self, event: &Event) {
        for track in &mut self.tracks {
            track.granted(event);
        }
    }

    /// The next event in the order of sends.
    pub fn sent(&mut self, event: &Event) {
        for track in &mut self.tracks {
            track.sent(event);
        }
        if let Some((promised, used, minute)) = &mut self.minute {
            let weight = event.weight(Counts::Units);
            let (mark, at) = (event.sent_mark(), event.sent.0);
            promised.add(mark, at, weight.promised, &mut minute.promised);
            used.add(mark, at, weight.used, &mut minute.used);
        }
    }

    /// What was found.
    pub fn close(self) -> Proven {
        Proven {
            limits: self.tracks.into_iter().map(Track::proved).collect(),
            minute: self.minute.map(|(_, _, minute)| minute),
            unseen: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limit::{Anchor, Leaves};
    use crate::outcome::{Spent, UnitsSpent};
    use crate::proof::track::SWEEP;
    use crate::proof::{Grants, LINE_BITS, Proved, Verdict};
    use crate::units::Tick;

    const MILLI: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MILLI;

    fn event(at: u64) -> Event {
        Event {
            granted: Tick(at),
            sent: Tick(at),
            answered: Tick(at),
            units: None,
            keys: Box::default(),
            source: 0,
        }
    }

    fn units(at: u64, reserved: u64, used: u64) -> Event {
        let total = Spent { reserved, used };
        let units = UnitsSpent {
            total,
            ..UnitsSpent::default()
        };
        Event {
            units: Some(Box::new(units)),
            ..event(at)
        }
    }

    fn proved(limit: Spec, terms: Terms, events: &[Event]) -> Proved {
        let mut prover = Prover::new(&[limit], terms);
        for event in events {
            prover.granted(event);
        }
        for event in events {
            prover.sent(event);
        }
        prover.close().limits.remove(0)
    }

    fn verdict(limit: &str, terms: Terms, events: &[Event]) -> Verdict {
        proved(limit.parse().unwrap(), terms, events).verdict
    }

    fn even(count: u64, gap: u64) -> Vec<Event> {
        (0..count).map(|number| event(number * gap)).collect()
    }

    #[test]
    fn a_window_is_kept_at_exactly_a_period_and_exceeded_by_one_a_nanosecond_earlier() {
        let mut sends = vec![event(7), event(8), event(7 + SECOND)];
        let none = Terms::default();
        assert_eq!(verdict("2/1s window", none, &sends), Verdict::Kept);
        sends[2] = event(6 + SECOND);
        assert_eq!(verdict("2/1s window", none, &sends), Verdict::Exceeded(1));
    }

    #[test]
    fn a_bucket_has_its_burst_its_rate_and_the_slack_and_not_a_nanosecond_more() {
        let slack = Terms {
            slack: Duration::from_millis(2),
            ..Terms::default()
        };
        let hundred = Terms::default();
        assert_eq!(
            verdict("10/s", hundred, &even(50, 100 * MILLI)),
            Verdict::Kept
        );
        let mut early = even(50, 100 * MILLI);
        early[49] = event(49 * 100 * MILLI - 2 * MILLI);
        assert_eq!(verdict("10/s", hundred, &early), Verdict::Exceeded(1));
        assert_eq!(verdict("10/s", slack, &early), Verdict::Kept);
        early[49] = event(49 * 100 * MILLI - 2 * MILLI - 1);
        let found = proved("10/s".parse().unwrap(), slack, &early);
        assert_eq!(found.verdict, Verdict::Exceeded(1));
        let Some(Grants::Stretch(granted, allowed)) = found.granted else {
            panic!("a bucket is decided by a stretch: {found:?}");
        };
        assert_eq!((granted.sum, allowed), (2, 1));
        assert_eq!(granted.first.at, Tick(48 * 100 * MILLI));
        assert_eq!((found.promised, found.most.sum), (11, 11));
    }

    #[test]
    fn a_fixed_window_is_decided_by_its_own_windows_and_shows_the_worst_of_any() {
        let mut sends: Vec<Event> = (0..5).map(|late| event(SECOND - 1 - late)).rev().collect();
        sends.extend((0..5).map(|late| event(SECOND + late)));
        let found = proved("5/1s fixed".parse().unwrap(), Terms::default(), &sends);
        assert_eq!(found.verdict, Verdict::Kept);
        assert_eq!((found.promised, found.most.sum), (10, 10));
        let own = |granted| matches!(granted, Some(Grants::Own(most)) if most.sum == 5);
        assert!(own(found.granted));
        sends.push(event(SECOND + 9));
        let found = verdict("5/1s fixed", Terms::default(), &sends);
        assert_eq!(found, Verdict::Exceeded(1));
    }

    #[test]
    fn windows_from_the_first_send_on_hold_twice_their_count_in_any_period() {
        let mut limit: Spec = "5/1s fixed".parse().unwrap();
        limit.anchor = Anchor::First;
        let kept = proved(limit.clone(), Terms::default(), &even(10, 1));
        assert_eq!((kept.verdict, kept.promised), (Verdict::Kept, 10));
        let found = proved(limit, Terms::default(), &even(11, 1));
        assert_eq!(found.verdict, Verdict::Exceeded(1));
    }

    #[test]
    fn with_reply_a_send_counts_until_a_period_after_its_answer() {
        let mut limit: Spec = "1/1s window".parse().unwrap();
        let mut first = event(0);
        first.answered = Tick(5);
        let sends = [first, event(SECOND + 4)];
        let verdict =
            |limit: &Spec, sends: &[Event]| proved(limit.clone(), Terms::default(), sends).verdict;
        assert_eq!(verdict(&limit, &sends), Verdict::Kept);
        limit.leaves = Leaves::Reply;
        assert_eq!(verdict(&limit, &sends), Verdict::Exceeded(1));
        let [first, _] = sends;
        assert_eq!(verdict(&limit, &[first, event(SECOND + 5)]), Verdict::Kept);
    }

    #[test]
    fn answers_that_use_more_than_they_reserved_are_told_apart_from_sends_that_should_not_have_been()
     {
        let limit = "tokens 100/1s window";
        let none = Terms::default();
        let refused = units(2, 60, 0);
        let kept = [units(0, 60, 40), refused, units(3, 60, 60)];
        assert_eq!(verdict(limit, none, &kept), Verdict::Kept);
        let surprised = [units(0, 60, 130), units(3, 40, 10)];
        let found = proved(limit.parse().unwrap(), none, &surprised);
        assert_eq!(found.verdict, Verdict::ByAnswers(40));
        assert_eq!((found.most.sum, found.used), (70, 140));
        let exceeded = [units(0, 60, 130), units(3, 60, 60)];
        assert_eq!(verdict(limit, none, &exceeded), Verdict::Exceeded(20));
        let oversized = [units(0, 150, 150)];
        assert_eq!(verdict(limit, none, &oversized), Verdict::ByOversized(50));
    }

    #[test]
    fn periods_within_the_slack_allow_what_may_have_been_charged_in_it() {
        let slack = Terms {
            slack: Duration::from_millis(2),
            ..Terms::default()
        };
        // Charged for the present and for one and two milliseconds ago.
        let at_once = |count| vec![event(SECOND); count];
        let limit = "4/1ms fixed anchor=first";
        assert_eq!(verdict(limit, slack, &at_once(16)), Verdict::Kept);
        assert_eq!(verdict(limit, slack, &at_once(17)), Verdict::Exceeded(1));
        assert_eq!(
            verdict(limit, Terms::default(), &at_once(9)),
            Verdict::Exceeded(1)
        );
    }

    #[test]
    fn each_key_has_its_own_window_and_the_worst_is_named() {
        let mut limit: Spec = "2/1s window".parse().unwrap();
        limit.per = Some(crate::limit::KeyBy::Host);
        let of = |at: u64, key: &str| Event {
            keys: Box::new([key.into()]),
            ..event(at)
        };
        let mut sends = Vec::new();
        for number in 0..1_000 {
            sends.push(of(2 * number, &format!("host {number}")));
            sends.push(of(2 * number + 1, &format!("host {number}")));
        }
        sends.push(of(3 * SECOND, "c"));
        sends.push(of(3 * SECOND + 1, "c"));
        sends.push(of(3 * SECOND + 2, "c"));
        let found = proved(limit, Terms::default(), &sends);
        assert_eq!(found.verdict, Verdict::Exceeded(1));
        assert_eq!(found.most.key.as_deref(), Some("c"));
    }

    #[test]
    fn keys_that_are_idle_are_forgotten() {
        for limit in ["2/1s window", "2/s", "2/1s fixed"] {
            let mut limit: Spec = limit.parse().unwrap();
            limit.per = Some(crate::limit::KeyBy::Host);
            let mut prover = Prover::new(&[limit], Terms::default());
            for number in 0..10_000 {
                let event = Event {
                    keys: Box::new([number.to_string().into()]),
                    ..event(number * 100 * MILLI)
                };
                prover.granted(&event);
                prover.sent(&event);
            }
            let states = prover.tracks[0].keys();
            assert!(states <= 2 * SWEEP, "{states} states are kept");
        }
    }

    #[test]
    fn the_worst_minute_tells_what_was_reserved_and_what_was_used() {
        let limit: Spec = "tokens 1000/h".parse().unwrap();
        let mut prover = Prover::new(&[limit], Terms::default());
        for event in [
            units(0, 100, 10),
            units(59 * SECOND, 100, 120),
            units(60 * SECOND, 100, 20),
        ] {
            prover.sent(&event);
        }
        let minute = prover.close().minute.unwrap();
        assert_eq!((minute.promised.sum, minute.used.sum), (120, 140));
    }

    #[test]
    fn under_a_skew_only_what_holds_for_all_clocks_is_proved() {
        let skew = |nanos| Terms {
            skew: Duration::from_nanos(nanos),
            ..Terms::default()
        };
        let sends = [event(0), event(SECOND + 5)];
        for limit in ["1/1s window", "1/s", "1/1s fixed"] {
            let kept = verdict(limit, skew(SECOND / 2), &sends);
            assert_eq!(kept, Verdict::Kept, "{limit}: one clock agrees with itself");
        }
        let [first, mut other] = sends;
        other.source = 1 << LINE_BITS;
        let sends = [first, other];
        assert_eq!(verdict("1/1s window", skew(5), &sends), Verdict::Kept);
        assert_eq!(
            verdict("1/1s window", skew(6), &sends),
            Verdict::Exceeded(1)
        );
        assert_eq!(verdict("1/s", skew(5), &sends), Verdict::Kept);
        assert_eq!(verdict("1/s", skew(6), &sends), Verdict::Exceeded(1));
    }

    #[test]
    fn no_sends_keep_every_limit() {
        for limit in ["1/s", "1/1s window", "tokens 5/1s fixed"] {
            assert_eq!(verdict(limit, Terms::default(), &[]), Verdict::Kept);
        }
    }

    #[test]
    fn extremes_neither_panic_nor_wrap() {
        for limit in [
            "1/500y window",
            "10000000000M/1us",
            "tokens 1/1us fixed",
            "1/1ns",
        ] {
            let Ok(limit) = limit.parse::<Spec>() else {
                continue;
            };
            let sends = [
                units(0, u64::MAX, u64::MAX),
                units(u64::MAX, u64::MAX, u64::MAX),
            ];
            proved(limit, Terms::default(), &sends);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Sends that an exact window let through, to the nanosecond, then told in whole microseconds.
        #[test]
        fn rounding_down_to_microseconds_calls_no_window_exceeded(
            period in 1_000..9_000_u64,
            count in 1..4_usize,
            gaps in proptest::collection::vec(0..4_000_u64, 1..20),
        ) {
            let mut exact: Vec<u64> = Vec::new();
            for gap in gaps {
                let at = exact.last().copied().unwrap_or(0) + gap;
                let room = exact.len().checked_sub(count).map_or(0, |nth| exact[nth] + period);
                exact.push(at.max(room));
            }
            let told: Vec<Event> = exact.iter().map(|at| event(at / 1_000 * 1_000)).collect();
            let rate = crate::units::Rate::new(count as u64, Duration::from_nanos(period)).unwrap();
            let terms = Terms { rounding: Duration::from_micros(1), ..Terms::default() };
            let found = proved(Spec::window("w", rate), terms, &told);
            prop_assert_eq!(found.verdict, Verdict::Kept, "{:?}", exact);
        }
    }
}
