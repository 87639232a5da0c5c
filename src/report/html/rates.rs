//! Throughput: seconds by how many answers came in each, with every ceiling on the same axis. Floor 4: doors.

use super::markup::Name;
use super::series::float;
use crate::report::Report;
use crate::report::bars::{Row, rows_in};
use crate::report::throughput::marks;
use crate::units::show_span;

/// Rows of the histogram: of seconds, all, and those that have a mark alone.
const ROWS: (u64, usize, usize) = (16, 40, 24);

/// Seconds by how many answers came in each, as rows of a table: the marks are on the same axis.
pub(super) fn histogram(report: &Report) -> String {
    let stretch = &report.summary.stretch;
    let heading = "<h3>Seconds by how many answers came in each</h3>";
    if stretch.per_second.len() < 2 {
        let span = show_span(stretch.span());
        return format!("{heading}<p>Under 2 whole seconds ({span}): no histogram.</p>");
    }
    let marks = marks(report);
    let rows = rows_in(&stretch.per_second, &marks, ROWS);
    let most = rows.iter().map(|row| row.seconds).max().unwrap_or(0).max(1);
    let mut out = format!(
        "{heading}<table class=\"bars\"><caption>{} whole seconds. A row without a bar is a ceiling that no second came to.\
         </caption><thead><tr><th scope=\"col\" class=\"text\">answers</th><th scope=\"col\">seconds</th><td></td>\
         <th scope=\"col\" class=\"text\">what lies there</th></tr></thead><tbody>",
        stretch.per_second.len()
    );
    let mut last: Option<u64> = None;
    for row in &rows {
        if last.is_some_and(|high| row.low > high + 1) {
            out.push_str("<tr class=\"gap\"><td>&#8942;</td><td></td><td class=\"bar\"></td><td class=\"mark\"></td></tr>");
        }
        last = Some(row.high);
        out.push_str(&bar(row, most));
    }
    out + "</tbody></table>"
}

fn bar(row: &Row, most: u64) -> String {
    let share = float(row.seconds) / float(most) * 100.0;
    let class = if row.marks.iter().any(|mark| binds(mark)) {
        "mark binds"
    } else {
        "mark"
    };
    let marks = row.marks.iter().map(|mark| Name(mark).to_string());
    let arrow = if row.marks.is_empty() { "" } else { "&larr; " };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{} s</td><td class=\"bar\"><svg width=\"100%\" height=\"14\" aria-hidden=\"true\">\
         <rect class=\"f1\" width=\"{share:.2}%\" height=\"14\" rx=\"2\"/></svg></td><td class=\"{class}\">{arrow}{}</td></tr>",
        row.label(),
        row.seconds,
        marks.collect::<Vec<_>>().join("; ")
    )
}

/// Whether a mark says that it bounds the run.
pub(super) fn binds(mark: &str) -> bool {
    mark.ends_with(" binds") || mark.ends_with(" bind")
}
