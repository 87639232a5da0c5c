//! The page of `shaper help limits`: which limit for which server. Floor 6: front.

use crate::limit::{KEY_FORM, Kind, limit_form};
use crate::report::hung;
use crate::terminal::Columns;

/// From so many columns on, tables have columns.
const WIDE: usize = 72;

/// The flags that are shorthand, and the limits that they stand for.
const SHORTHAND: [(&str, &str); 5] = [
    ("--qps 10", "10/s bucket burst=1 name=qps"),
    ("--rpm 600 --burst 20", "600/m bucket burst=20 name=rpm"),
    ("--tpm 100k", "tokens 100k/m bucket burst=100k name=tpm"),
    ("--tps 2000", "tokens 2000/s bucket burst=2000 name=tps"),
    ("--window 100/10s", "100/10s window"),
];

/// What the table leaves open.
const NOTES: [&str; 7] = [
    "N is the count, P the period, r = N/P, b = burst, T any length of time. A window of any other length \
     than P holds correspondingly more.",
    "b + rT: a bucket with burst N lets up to 2N through in one period. For \"N in any P\" use window, or a \
     safe pair: burst=b and a rate with b + rP at most N.",
    "In a run, grants of buckets may be charged for up to 2 ms ago (the slack): b + r(T + 2 ms).",
    "2N - 1: the two-window counter holds N only for even traffic. 2N: all of it within 2 ns of a boundary.",
    "",
    "A server counts arrivals, not departures. Against one that is as strict as your window:",
    "",
];

const AGAINST: [(&str, &str); 2] = [
    (
        "guard=DUR",
        "(default, measured) the window is kept longer than P by the jitter of the way: at least 5 ms, at \
         most 1 % of P. Costs that much rate; jitter beyond it can still exceed by one.",
    ),
    (
        "at=reply",
        "a send leaves the window one period after the head of its answer came: whatever the way does, the \
         server sees at most N in any window of its own. Costs the latency per period; a request that \
         arrives after its try timed out here is left open.",
    ),
];

const LAST: [&str; 2] = [
    "anchor=first: the first window begins with the first request; the default counts from the Unix epoch.",
    "tokens, input-tokens, output-tokens: each try costs what its job reserves, settled by its answer.",
];

/// Lines so far.
struct Lines {
    text: String,
    columns: usize,
}

impl Lines {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn under(&mut self, before: &str, indent: usize, text: &str) {
        let before = format!("{before:<indent$}");
        for line in hung(&before, indent, text, self.columns) {
            self.line(&line);
        }
    }
}

/// Which limit for which server rule, and the worst case of each.
pub(super) fn limits(columns: Columns) -> String {
    let columns = columns.get();
    let mut page = Lines {
        text: String::new(),
        columns,
    };
    let wide = columns >= WIDE;
    page.under(
        "",
        0,
        "LIMITS: which for which server, and the most that ANY window can hold",
    );
    page.line("");
    let form = format!("\"{}\"", limit_form());
    let form = if wide { form } else { form.replace('|', "| ") };
    page.under("  --limit", 10, &form);
    page.line("");
    if wide {
        page.line("  kind            in any window   mirrors");
    }
    for kind in Kind::all() {
        let (word, promise) = (kind.word(), kind.promise());
        if wide {
            page.under(&format!("  {word:<16}{promise}"), 34, kind.mirrors());
        } else {
            page.line(&format!("  {word}: at most {promise}"));
            page.under("", 4, kind.mirrors());
        }
    }
    page.line("");
    for note in NOTES {
        page.under("", 2, note);
    }
    for (word, text) in AGAINST {
        page.under(&format!("    {word}"), 15, text);
    }
    for note in LAST {
        page.under("", 2, note);
    }
    page.line("");
    if wide {
        page.line("  shorthand                 the same as --limit");
    } else {
        page.line("  shorthand = --limit");
    }
    for (flag, spec) in SHORTHAND {
        let spec = format!("\"{spec}\"");
        if wide {
            page.under(&format!("  {flag}"), 28, &spec);
        } else {
            page.under(&format!("  {flag} ="), 4 + flag.len() + 1, &spec);
        }
    }
    page.line("");
    let keys = format!(
        "per=KEY: one state for each value of {KEY_FORM}; --per KEY for all limits. Idle keys are forgotten \
         when their limit is as new again."
    );
    page.under("", 2, &keys);
    page.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_the_whole_page() {
        let words = |columns| {
            let page = limits(Columns::new(columns));
            let wide = page.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{page}");
            let spec = page.replace("| ", "|");
            spec.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for columns in [40, 60, 72, 80, 100] {
            let page = words(columns);
            for note in NOTES
                .iter()
                .chain(&LAST)
                .chain(AGAINST.map(|(_, text)| text).iter())
            {
                assert!(page.contains(note), "no {note:?} at {columns}");
            }
            for (flag, spec) in SHORTHAND {
                assert!(
                    page.contains(flag) && page.contains(spec),
                    "no {flag} at {columns}"
                );
            }
        }
    }
}
