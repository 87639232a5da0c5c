//! What one line of progress says. Floor 4: doors.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Snapshot;
use crate::letters::calm;
use crate::limit::Counts;
use crate::metrics::{Owner, Setup};
use crate::units::{Tick, long_span, three_digits};

/// One column stays free for the cursor.
fn room(columns: Option<u16>) -> usize {
    columns.map_or(usize::MAX, |columns| usize::from(columns.saturating_sub(1)))
}

/// Calm, and cut so that the terminal does not break it.
pub(super) fn fitted(line: &str, columns: Option<u16>) -> String {
    let line = calm(line);
    let mut room = room(columns);
    let fits = |letter: &char| {
        let left = room.checked_sub(letter.width().unwrap_or(0));
        room = left.unwrap_or(0);
        left.is_some()
    };
    line.chars().take_while(fits).collect()
}

/// Everything that a line can say.
pub(super) struct Line<'a> {
    pub(super) now: Tick,
    pub(super) snapshot: &'a Snapshot,
    /// Results per second.
    pub(super) rate: f64,
    /// For the limits and their names.
    pub(super) setup: &'a Setup,
}

impl Line<'_> {
    /// `12s 60/100 ok 60 failed 0 5.0/s left 8s, held by --qps 5, in flight 1 of 10`; what the columns do not
    /// hold is left out from the end.
    pub(super) fn plain(&self, columns: Option<u16>) -> String {
        let elapsed = Duration::from_secs(self.now.since(Tick::ZERO).as_secs());
        let elapsed = long_span(elapsed);
        let counts = &self.snapshot.counts;
        let invalid = match counts.invalid {
            0 => String::new(),
            invalid => format!(" invalid {invalid}"),
        };
        let more = [
            self.left().map(|left| format!("left {left}")),
            self.held(),
            Some(self.in_flight()),
            self.refused(),
        ];
        let mut line = format!(
            "{} {} ok {} failed {}{invalid} {:.1}/s",
            elapsed.replace(' ', ""),
            self.of_total(),
            counts.ok,
            counts.failed,
            self.rate
        );
        let mut between = " ";
        for fact in more.into_iter().flatten() {
            let longer = format!("{line}{between}{fact}");
            if longer.width() > room(columns) {
                break;
            }
            (line, between) = (longer, ", ");
        }
        line
    }

    /// As many facts as the columns hold: those that matter least are left out first.
    pub(super) fn bar(&self, columns: Option<u16>) -> String {
        let counts = &self.snapshot.counts;
        let invalid = (counts.invalid > 0).then(|| format!("invalid {}", counts.invalid));
        let left = self.left().map(|left| format!("{left} left"));
        let waiting = format!("waiting {}", self.snapshot.waiting);
        let mut parts: Vec<(Rank, String)> = [
            (Rank::Done, Some(self.of_total())),
            (Rank::Rate, Some(format!("{}/s", three_digits(self.rate)))),
            (Rank::Asked, self.of_asked()),
            (Rank::Failed, Some(format!("failed {}", counts.failed))),
            (Rank::Failed, invalid),
            (Rank::Refused, self.refused()),
            (Rank::Left, left),
            (Rank::Held, self.held()),
            (Rank::Flight, Some(self.in_flight())),
            (Rank::Waiting, Some(waiting)),
        ]
        .into_iter()
        .filter_map(|(rank, text)| Some((rank, text?)))
        .collect();
        loop {
            let asked = parts.iter().any(|(rank, _)| *rank == Rank::Asked);
            let shown = parts
                .iter()
                .filter(|(rank, _)| *rank != Rank::Rate || !asked);
            let texts: Vec<&str> = shown.map(|(_, text)| &**text).collect();
            let line = texts.join("  ");
            let least = parts.iter().map(|(rank, _)| *rank).max();
            match least {
                Some(least) if least > Rank::Done && line.width() > room(columns) => {
                    parts.retain(|(rank, _)| *rank < least);
                }
                Some(_) | None => return line,
            }
        }
    }

    fn of_total(&self) -> String {
        let done = self.snapshot.counts.done();
        match self.snapshot.total {
            Some(total) => format!("{done}/{total}"),
            None => done.to_string(),
        }
    }

    /// `9.80 of 10/s`, in place of the rate alone: of the lowest limit on requests that is one for all of them.
    fn of_asked(&self) -> Option<String> {
        let limits = self.setup.limits.iter();
        let for_all = limits.filter(|spec| spec.counts == Counts::Requests && spec.per.is_none());
        let asked = for_all.map(|spec| &spec.rate);
        let lowest = asked.min_by(|one, other| one.per_second().total_cmp(&other.per_second()));
        Some(format!(
            "{} of {}",
            three_digits(self.rate),
            lowest?.shown()
        ))
    }

    fn in_flight(&self) -> String {
        let in_flight = self.snapshot.in_flight;
        match self.setup.slots {
            Some(slots) => format!("in flight {in_flight} of {slots}"),
            None => format!("in flight {in_flight}"),
        }
    }

    fn refused(&self) -> Option<String> {
        let refused = self.snapshot.refused;
        (refused > 0).then(|| format!("429s {refused}"))
    }

    fn held(&self) -> Option<String> {
        let owner = self.snapshot.binds;
        let next = self.next_in();
        let next = next.map_or(String::new(), |next| format!(", {next}"));
        (owner != Owner::Nothing).then(|| format!("held by {}{next}", self.setup.name_of(owner)))
    }

    /// `next in 59m 58s`: a wait so long that it might be taken for a standstill.
    fn next_in(&self) -> Option<String> {
        let span = self.snapshot.until?.since(self.now);
        let shown = long_span(span);
        (span >= LONG).then(|| format!("next in {shown}"))
    }

    /// In whole seconds; from an hour on in minutes, from a day on in hours. Rounded up.
    fn left(&self) -> Option<String> {
        let left = self.snapshot.left?;
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let unit = match seconds {
            ..3_600 => 1,
            3_600..86_400 => 60,
            86_400.. => 3_600,
        };
        let span = Duration::from_secs(seconds.div_ceil(unit) * unit);
        Some(long_span(span).replace(' ', ""))
    }
}

/// How much a fact matters: the greatest goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Done,
    Rate,
    Failed,
    Left,
    Asked,
    Held,
    Refused,
    Flight,
    Waiting,
}

/// A wait that is worth a word.
const LONG: Duration = Duration::from_secs(5);

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::metrics::Counts as Lines;

    pub(in super::super) fn snapshot(ok: u64) -> Snapshot {
        Snapshot {
            counts: Lines {
                read: ok,
                ok,
                ..Lines::default()
            },
            total: Some(100),
            in_flight: 1,
            waiting: 16,
            refused: 0,
            binds: Owner::Slot,
            until: None,
            left: None,
        }
    }

    #[test]
    fn a_line_is_cut_by_the_columns_that_its_letters_take_and_none_of_them_acts() {
        assert_eq!(fitted("a\x1b[1mb\u{202e}", None), "a\\u{1b}[1mb\\u{202e}");
        assert_eq!(fitted("a\x1b[1mb", Some(5)), "a\\u{");
        assert_eq!(fitted("日本語.urls", Some(6)), "日本");
        assert_eq!(fitted("e\u{301}e\u{301}e", Some(3)), "e\u{301}e\u{301}");
        assert_eq!(fitted("abc", Some(1)), "");
        assert_eq!(fitted("abc", None), "abc");
    }

    fn setup(slots: Option<u64>, limits: &[&str]) -> Setup {
        Setup {
            slots,
            limits: limits.iter().map(|limit| limit.parse().unwrap()).collect(),
            ..Setup::default()
        }
    }

    fn bar(snapshot: &Snapshot, rate: f64, limits: &[&str], columns: Option<u16>) -> String {
        let setup = setup(Some(20), limits);
        let now = Tick::ZERO;
        let line = Line {
            now,
            snapshot,
            rate,
            setup: &setup,
        };
        line.bar(columns)
    }

    /// A run with everything that can be told.
    fn full() -> Snapshot {
        Snapshot {
            left: Some(Duration::from_millis(7_900)),
            refused: 3,
            binds: Owner::Limit(0),
            ..snapshot(60)
        }
    }

    const LIMITS: [&str; 3] = ["10/s name=qps", "tokens 5/s", "1/h per=host"];

    #[test]
    fn a_long_wait_tells_when_it_ends() {
        let rare = Snapshot {
            until: Some(Tick::ZERO.after(Duration::from_secs(3600))),
            binds: Owner::Limit(0),
            ..snapshot(1)
        };
        let setup = setup(None, &["1/h name=qps"]);
        let line = Line {
            now: Tick::ZERO.after(Duration::from_secs(10)),
            snapshot: &rare,
            rate: 0.0,
            setup: &setup,
        };
        assert_eq!(
            line.plain(None),
            "10s 1/100 ok 1 failed 0 0.0/s held by --qps 1/h, next in 59m 50s, in flight 1"
        );
        assert_eq!(
            line.bar(None),
            "1/100  0 of 1/h  failed 0  held by --qps 1/h, next in 59m 50s  in flight 1  waiting 16"
        );
    }

    #[test]
    fn both_lines_say_how_far_how_fast_what_binds_and_how_long_it_takes() {
        assert_eq!(
            bar(&full(), 9.8, &LIMITS, None),
            "60/100  9.80 of 10/s  failed 0  429s 3  8s left  held by --qps 10  in flight 1 of 20  \
             waiting 16"
        );
        let setup = setup(Some(20), &LIMITS);
        let line = Line {
            now: Tick::ZERO.after(Duration::from_secs(72)),
            snapshot: &full(),
            rate: 9.8,
            setup: &setup,
        };
        assert_eq!(
            line.plain(None),
            "1m12s 60/100 ok 60 failed 0 9.8/s left 8s, held by --qps 10, in flight 1 of 20, 429s 3"
        );
        let narrow = "1m12s 60/100 ok 60 failed 0 9.8/s left 8s";
        assert_eq!(line.plain(Some(55)), narrow);
        let unknown = Snapshot {
            total: None,
            binds: Owner::Nothing,
            ..snapshot(0)
        };
        assert_eq!(
            bar(&unknown, 0.0, &[], None),
            "0  0/s  failed 0  in flight 1 of 20  waiting 16"
        );
    }

    #[test]
    fn a_narrow_terminal_leaves_out_what_matters_least_and_cuts_no_fact() {
        for (columns, line) in [
            (
                120,
                "60/100  9.80 of 10/s  failed 0  429s 3  8s left  held by --qps 10  in flight 1 of 20  waiting 16",
            ),
            (
                90,
                "60/100  9.80 of 10/s  failed 0  429s 3  8s left  held by --qps 10  in flight 1 of 20",
            ),
            (
                80,
                "60/100  9.80 of 10/s  failed 0  429s 3  8s left  held by --qps 10",
            ),
            (
                60,
                "60/100  9.80 of 10/s  failed 0  8s left  held by --qps 10",
            ),
            (40, "60/100  9.80 of 10/s  failed 0  8s left"),
            (39, "60/100  9.80/s  failed 0  8s left"),
            (32, "60/100  9.80/s  failed 0"),
            (20, "60/100  9.80/s"),
            (10, "60/100"),
            (3, "60/100"),
        ] {
            assert_eq!(bar(&full(), 9.8, &LIMITS, Some(columns)), line, "{columns}");
            assert!(columns < 8 || line.width() < columns.into(), "{columns}");
        }
    }

    #[test]
    fn what_is_left_has_the_digits_that_one_can_believe() {
        for (millis, shown) in [
            (0, "0s left"),
            (1, "1s left"),
            (65_000, "1m5s left"),
            (3_599_500, "1h left"),
            (3_601_000, "1h1m left"),
            (90_000_000, "1d1h left"),
        ] {
            let snapshot = Snapshot {
                left: Some(Duration::from_millis(millis)),
                ..snapshot(60)
            };
            let line = bar(&snapshot, 5.0, &[], None);
            assert!(line.contains(&format!("  {shown}  ")), "{shown}: {line}");
        }
    }
}
