//! Every send at its place in its period, one row a period. Floor 4: doors.

use std::fmt::Write as _;
use std::time::Duration;

use super::Run;
use super::markup::nothing;
use crate::limit::{Counts, Spec};
use crate::units::{exact_span, nanos};

/// Columns of a row.
const COLUMNS: u16 = 200;

/// The most rows.
const ROWS: usize = 40;

/// The height of a row, and of a column by how many sends are in it at least.
const HEIGHT: u64 = 16;
const LEVELS: [(u64, u64); 4] = [(11, 16), (5, 12), (2, 8), (1, 5)];

/// The period of a row where no window tells one.
const SECOND: Duration = Duration::from_secs(1);

pub(super) fn section(run: &Run<'_>) -> String {
    let summary = &run.report.summary;
    let heading = "<h2>Every send</h2>";
    if summary.tally.first_sends.is_empty() {
        return heading.to_owned() + &nothing("nothing was sent.");
    }
    let window = window(&run.report.setup.limits);
    let period = window.map_or(SECOND, |limit| limit.rate.period);
    let most = window.filter(|limit| limit.counts == Counts::Requests && limit.per.is_none());
    let most = most.map(|limit| limit.rate.count.get());
    let mut sends: Vec<u64> = summary
        .tally
        .first_sends
        .iter()
        .map(|at| nanos(at.since(summary.tally.sends.first)))
        .collect();
    sends.sort_unstable();
    let rows = rows(&sends, nanos(period));
    let all = rows.len();
    let length = exact_span(period);
    let of = most.map_or(String::new(), |most| format!(", which may hold {most}"));
    let mut out = format!(
        "{heading}<p class=\"lead\">Each row is {length} from the first send on{of}; each mark is a send at its place in it, \
         higher where several are close together. Evenly spaced sends make columns, bursts make blocks.</p><dl class=\"raster\">"
    );
    for (nth, row) in rows.iter().enumerate().take(ROWS) {
        let sent: u64 = row.iter().sum();
        let from = exact_span(period * u32::try_from(nth).unwrap_or(u32::MAX));
        let of = most.map_or(String::new(), |most| format!(" of {most}"));
        let _ = write!(
            out,
            "<div><dt>+{from}</dt><dd><svg viewBox=\"0 0 {} {HEIGHT}\" preserveAspectRatio=\"none\" width=\"100%\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{sent} sends\"><path class=\"f1\" d=\"{}\"/></svg></dd><dd>{sent}{of}</dd></div>",
            u32::from(COLUMNS) * 5,
            path(row)
        );
    }
    out.push_str("</dl>");
    let shown: u64 = rows.iter().take(ROWS).flatten().sum();
    if shown < summary.tally.sends.count {
        let rest = summary.tally.sends.count - shown;
        let _ = write!(
            out,
            "<p class=\"lead\">{rest} later sends are not shown.</p>"
        );
    }
    debug_assert!(all >= 1, "there is at least one send");
    out
}

/// The window whose periods are shown: the first.
fn window(limits: &[Spec]) -> Option<&Spec> {
    limits.iter().find(|limit| limit.kind.is_log())
}

/// How many sends are in each column of each row, as far as rows are shown; periods without any have rows, too.
fn rows(sends: &[u64], period: u64) -> Vec<Vec<u64>> {
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for send in sends {
        let Some(row) = usize::try_from(send / period)
            .ok()
            .filter(|row| *row < ROWS)
        else {
            break;
        };
        while rows.len() <= row {
            rows.push(vec![0; COLUMNS.into()]);
        }
        let column = u128::from(send % period) * u128::from(COLUMNS) / u128::from(period);
        rows[row][usize::try_from(column).unwrap_or(0)] += 1;
    }
    rows
}

fn path(row: &[u64]) -> String {
    let mut path = String::new();
    for (column, &count) in row.iter().enumerate() {
        let level = LEVELS.iter().find(|(least, _)| count >= *least);
        if let Some((_, height)) = level {
            let _ = write!(path, "M{} {HEIGHT}v-{height}h4v{height}z", column * 5);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, samples};

    #[test]
    fn every_send_is_at_its_place_and_empty_periods_have_rows() {
        let sends = [0, 5, 999, 1_000, 3_500];
        let rows = rows(&sends, 1_000);
        let sums: Vec<u64> = rows.iter().map(|row| row.iter().sum()).collect();
        assert_eq!(sums, [3, 1, 0, 1]);
        assert_eq!(
            (rows[0][0], rows[0][1], rows[0][199], rows[3][100]),
            (1, 1, 1, 1)
        );
    }

    #[test]
    fn rows_are_periods_of_the_first_window_and_no_more_than_have_room() {
        let Report {
            summary,
            mut setup,
            facts,
            ..
        } = samples::held_by_qps();
        setup.limits.push("20/2s window".parse().unwrap());
        let report = Report::new(summary, setup, facts);
        let text = section(&Run {
            nth: 0,
            report: &report,
            figures: serde_json::Value::Null,
        });
        assert_eq!(text.matches(">20 of 20<").count(), 30, "{text}");
        assert!(!text.contains("later sends"), "{text}");
        let many = samples::held_by_slots();
        let text = section(&Run {
            nth: 0,
            report: &many,
            figures: serde_json::Value::Null,
        });
        assert_eq!(text.matches("<dt>").count(), 10, "{text}");
        assert!(text.len() < 40_000, "{}", text.len());
    }
}
