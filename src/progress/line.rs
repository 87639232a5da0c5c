//! What one line of progress says. Floor 4: doors.

use std::time::Duration;

use unicode_width::UnicodeWidthChar;

use super::Snapshot;
use crate::metrics::Owner;
use crate::units::{Tick, three_digits};

/// Cut so that the terminal does not break it: one column stays free for the cursor. Control
/// characters, which could move it, become spaces.
pub(super) fn fitted(line: &str, columns: Option<u16>) -> String {
    let mut room = columns.map_or(usize::MAX, |columns| usize::from(columns.saturating_sub(1)));
    let mut shown = String::new();
    for char in line.chars() {
        // Control characters have no width.
        let (char, width) = char.width().map_or((' ', 1), |width| (char, width));
        let Some(left) = room.checked_sub(width) else {
            break;
        };
        room = left;
        shown.push(char);
    }
    shown
}

fn of_total(snapshot: &Snapshot) -> String {
    let done = snapshot.counts.done();
    match snapshot.total {
        Some(total) => format!("{done}/{total}"),
        None => done.to_string(),
    }
}

/// `12s 60/100 ok 60 failed 0 5.0/s`.
pub(super) fn plain_line(now: Tick, snapshot: &Snapshot, rate: f64, binds: &str) -> String {
    let elapsed = Duration::from_secs(now.since(Tick::ZERO).as_secs());
    let elapsed = humantime::format_duration(elapsed).to_string();
    let counts = &snapshot.counts;
    let invalid = match counts.invalid {
        0 => String::new(),
        invalid => format!(" invalid {invalid}"),
    };
    format!(
        "{} {} ok {} failed {}{invalid} {rate:.1}/s{}",
        elapsed.replace(' ', ""),
        of_total(snapshot),
        counts.ok,
        counts.failed,
        next_in(now, snapshot).map_or(String::new(), |next| format!(" held by {binds}, {next}"))
    )
}

/// What matters most stands first: a narrow terminal cuts the rest.
pub(super) fn bar_line(now: Tick, snapshot: &Snapshot, rate: f64, binds: &str) -> String {
    let counts = &snapshot.counts;
    let mut parts = vec![
        of_total(snapshot),
        format!("{}/s", three_digits(rate)),
        format!("failed {}", counts.failed),
    ];
    if counts.invalid > 0 {
        parts.push(format!("invalid {}", counts.invalid));
    }
    parts.extend(left(snapshot, rate).map(|left| format!("{left} left")));
    parts.push(format!("in flight {}", snapshot.in_flight));
    parts.push(format!("waiting {}", snapshot.waiting));
    if snapshot.binds != Owner::Nothing {
        let next = next_in(now, snapshot).map_or(String::new(), |next| format!(", {next}"));
        parts.push(format!("held by {binds}{next}"));
    }
    parts.join("  ")
}

/// `next in 59m 58s`: a wait so long that it might be taken for a standstill.
fn next_in(now: Tick, snapshot: &Snapshot) -> Option<String> {
    let span = snapshot.until?.since(now);
    let shown = humantime::format_duration(Duration::from_secs(span.as_secs()));
    (span >= LONG).then(|| format!("next in {shown}"))
}

/// A wait that is worth a word.
const LONG: Duration = Duration::from_secs(5);

/// At this rate, in whole seconds; `None` if the total is not known or nothing moves.
#[expect(clippy::cast_precision_loss, reason = "shown in whole seconds")]
fn left(snapshot: &Snapshot, rate: f64) -> Option<String> {
    let undone = snapshot.total?.saturating_sub(snapshot.counts.done());
    let seconds = (undone as f64 / rate).ceil();
    let span = Duration::try_from_secs_f64(seconds).ok()?;
    Some(
        humantime::format_duration(span)
            .to_string()
            .replace(' ', ""),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::metrics::Counts;

    pub(in super::super) fn snapshot(ok: u64) -> Snapshot {
        Snapshot {
            counts: Counts {
                read: ok,
                ok,
                ..Counts::default()
            },
            total: Some(100),
            in_flight: 1,
            waiting: 16,
            binds: Owner::Slot,
            until: None,
        }
    }

    #[test]
    fn a_line_is_cut_by_the_columns_that_its_letters_take() {
        assert_eq!(fitted("a\x1b[1mb", Some(5)), "a [1");
        assert_eq!(fitted("日本語.urls", Some(6)), "日本");
        assert_eq!(fitted("e\u{301}e\u{301}e", Some(3)), "e\u{301}e\u{301}");
        assert_eq!(fitted("abc", Some(1)), "");
        assert_eq!(fitted("abc", None), "abc");
    }

    #[test]
    fn a_long_wait_tells_when_it_ends() {
        let rare = Snapshot {
            until: Some(Tick::ZERO.after(Duration::from_secs(3600))),
            ..snapshot(1)
        };
        let now = Tick::ZERO.after(Duration::from_secs(10));
        let line = plain_line(now, &rare, 0.0, "--qps 1/h");
        assert_eq!(
            line,
            "10s 1/100 ok 1 failed 0 0.0/s held by --qps 1/h, next in 59m 50s"
        );
        let line = bar_line(now, &rare, 0.0, "--qps 1/h");
        assert!(
            line.ends_with("held by --qps 1/h, next in 59m 50s"),
            "{line}"
        );
    }

    #[test]
    fn the_redrawn_line_says_how_far_how_fast_and_what_binds() {
        let line = bar_line(Tick::ZERO, &snapshot(60), 5.0, "slots");
        assert_eq!(
            line,
            "60/100  5.00/s  failed 0  8s left  in flight 1  waiting 16  held by slots"
        );
        let line = bar_line(
            Tick::ZERO,
            &Snapshot {
                total: None,
                ..snapshot(0)
            },
            0.0,
            "slots",
        );
        assert!(
            !line.contains("left") && line.starts_with("0  0/s"),
            "{line}"
        );
    }
}
