//! Which limit binds when: the time of a run in few parts. Floor 4: doors.

use std::time::Duration;

use crate::metrics::{Cell, Owner, Timeline};
use crate::units::{Tick, nanos};

/// The most parts that are told.
const MOST: usize = 8;

/// A part is at least so much of the time, in a thousandth; what a run begins with may be shorter, as a burst
/// is.
const LEAST: u64 = 20;
const FIRST: u64 = 2;

/// A part of the time in which one owner has most.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    pub(super) from: Tick,
    pub(super) to: Tick,
    /// Who has most of it.
    pub(super) owner: Owner,
    /// How much of it, in per cent.
    pub(super) percent: u64,
    /// Tries sent per second.
    pub(super) rate: f64,
    /// Mean tries in flight.
    pub(super) in_flight: f64,
}

/// Cells that are told as one.
#[derive(Debug, Clone, Default)]
struct Part {
    cells: u64,
    sent: u64,
    flight: f64,
    /// Nanoseconds of each owner.
    owners: Vec<(Owner, u64)>,
}

impl Part {
    fn of(timeline: &Timeline, cell: &Cell) -> Self {
        Self {
            cells: 1,
            sent: cell.sent,
            flight: timeline.in_flight(cell),
            owners: cell
                .owners()
                .map(|(owner, span)| (owner, nanos(span)))
                .collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.sent += other.sent;
        self.flight += other.flight;
        for &(owner, span) in &other.owners {
            match self.owners.iter_mut().find(|(own, _)| *own == owner) {
                Some((_, sum)) => *sum += span,
                None => self.owners.push((owner, span)),
            }
        }
    }

    /// Who has most of it, and how much; the first of equals by rank.
    fn most(&self) -> (Owner, u64) {
        let most = self
            .owners
            .iter()
            .max_by_key(|(owner, span)| (*span, std::cmp::Reverse(*owner)));
        most.copied().unwrap_or((Owner::Nothing, 0))
    }

    fn owner(&self) -> Owner {
        self.most().0
    }
}

/// The parts of a run that was over at `end`.
pub(super) fn phases(timeline: &Timeline, end: Tick) -> Vec<Phase> {
    let cells = timeline.cells();
    let all = cells.len() as u64;
    let mut parts: Vec<Part> = Vec::new();
    for cell in cells {
        join(&mut parts, Part::of(timeline, cell));
    }
    while let Some(short) = shortest(&parts, all) {
        let part = parts.remove(short);
        let before = short.checked_sub(1).map(|at| (at, &parts[at]));
        let behind = parts.get(short).map(|part| (short, part));
        // It goes to whom it resembles, else to the longer one.
        let beside = before.into_iter().chain(behind);
        let to = beside.max_by_key(|(_, other)| (other.owner() == part.owner(), other.cells));
        if let Some((to, _)) = to {
            parts[to].add(&part);
        }
        for part in std::mem::take(&mut parts) {
            join(&mut parts, part);
        }
    }
    let width = nanos(timeline.width());
    let mut from = timeline.from();
    let told = parts.into_iter().map(|part| {
        let to = Tick(from.0.saturating_add(part.cells.saturating_mul(width))).min(end);
        let phase = told(&part, from, to, timeline.width());
        from = to;
        phase
    });
    told.collect()
}

/// One more part: of the last one, if that has the same owner.
fn join(parts: &mut Vec<Part>, part: Part) {
    match parts.last_mut() {
        Some(last) if last.owner() == part.owner() => last.add(&part),
        Some(_) | None => parts.push(part),
    }
}

/// The shortest part, if it is too short to be told or there are too many.
fn shortest(parts: &[Part], all: u64) -> Option<usize> {
    if parts.len() < 2 {
        return None;
    }
    let least = |nth: usize| if nth == 0 { FIRST } else { LEAST };
    let too_short = |nth: usize| parts[nth].cells * 1000 < all * least(nth);
    let shortest =
        |places: &mut dyn Iterator<Item = usize>| places.min_by_key(|nth| parts[*nth].cells);
    let short = shortest(&mut (0..parts.len()).filter(|nth| too_short(*nth)));
    short.or_else(|| (parts.len() > MOST).then(|| shortest(&mut (1..parts.len())))?)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn told(part: &Part, from: Tick, to: Tick, width: Duration) -> Phase {
    let span = to.since(from);
    let (owner, most) = part.most();
    let seconds = span.max(Duration::from_nanos(1)).as_secs_f64();
    let all: u128 = part.owners.iter().map(|(_, span)| u128::from(*span)).sum();
    let percent = (u128::from(most) * 200 + all) / (2 * all).max(1);
    Phase {
        from,
        to,
        owner,
        percent: u64::try_from(percent).unwrap_or(100),
        rate: part.sent as f64 / seconds,
        in_flight: part.flight * width.as_secs_f64() / seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(count: u64) -> Tick {
        Tick(count * 1_000_000_000)
    }

    /// Who held the time until when, in seconds; one send a second.
    fn timeline(parts: &[(u64, Owner)]) -> (Timeline, Tick) {
        let mut timeline = Timeline::default();
        let mut from = 0;
        for &(to, owner) in parts {
            timeline.held(second(from), second(to), owner);
            timeline.flight(second(from), second(to), 2);
            (from..to).for_each(|at| timeline.sent(second(at)));
            from = to;
        }
        (timeline, second(from))
    }

    fn shown(parts: &[(u64, Owner)]) -> Vec<(u64, u64, Owner)> {
        let (timeline, end) = timeline(parts);
        let phases = phases(&timeline, end);
        let seconds = |at: Tick| (at.0 + 500_000_000) / 1_000_000_000;
        phases
            .iter()
            .map(|phase| (seconds(phase.from), seconds(phase.to), phase.owner))
            .collect()
    }

    #[test]
    fn a_burst_that_ends_is_one_part_and_what_binds_then_another() {
        let (slots, tpm) = (Owner::Slot, Owner::Limit(0));
        assert_eq!(
            shown(&[(58, slots), (600, tpm)]),
            [(0, 58, slots), (58, 600, tpm)]
        );
        // Of an hour it is less than two per cent, and still told.
        let long = shown(&[(58, slots), (3600, tpm)]);
        assert_eq!(long.len(), 2, "{long:?}");
        assert!((56..=60).contains(&long[0].1), "{long:?}");
        let (timeline, end) = timeline(&[(50, slots), (100, tpm)]);
        let phases = phases(&timeline, end);
        assert!(phases[0].percent >= 99 && phases[1].percent >= 99);
        assert!((phases[1].rate - 1.0).abs() < 0.05, "{phases:?}");
        assert!((phases[1].in_flight - 2.0).abs() < 0.05, "{phases:?}");
    }

    #[test]
    fn what_alternates_is_one_part_of_who_has_most() {
        let window = Owner::Limit(0);
        let parts: Vec<_> = (1..=100)
            .flat_map(|nth| [(nth * 10 - 9, Owner::Slot), (nth * 10, window)])
            .collect();
        assert_eq!(shown(&parts), [(0, 1000, window)]);
    }

    #[test]
    fn there_are_few_parts_whatever_happens() {
        let owners = [Owner::Slot, Owner::Limit(0), Owner::Limit(1)];
        let parts: Vec<_> = (1..=40)
            .zip(owners.into_iter().cycle())
            .map(|(nth, owner)| (nth * 25 + nth % 7, owner))
            .collect();
        let shown = shown(&parts);
        assert!((1..=MOST).contains(&shown.len()), "{shown:?}");
        assert!(
            shown.windows(2).all(|pair| pair[0].1 == pair[1].0),
            "{shown:?}"
        );
        assert_eq!(
            shown.last().map(|last| last.1),
            parts.last().map(|last| last.0)
        );
        assert_eq!(phases(&Timeline::default(), Tick::ZERO), []);
    }
}
