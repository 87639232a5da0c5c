//! The report as one page that needs nothing else: no network, no other file. Floor 4: doors.

mod axis;
mod compared;
mod data;
mod latency;
mod law;
mod limits;
mod markup;
mod raster;
mod rates;
mod roof;
mod series;
mod side_by_side;
mod spread;
mod streams;
#[cfg(test)]
mod tests;
mod time;
mod top;
mod what_came;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

pub use self::compared::compared;
use self::markup::{Name, Text, in_script};
use super::Report;

/// A run, and what it is called beside others.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// Its name; a run alone needs none.
    pub name: &'a str,
    /// What is told of it.
    pub report: &'a Report,
}

/// The charts: version 1.6.32 of `dist/uPlot.iife.min.js` and `dist/uPlot.min.css`, as they are in the package.
const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("uplot/LICENSE");

const BEGIN: &str = include_str!("begin.js");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// A part of what is told of one run: the end of its id, its heading in the list of contents, and its markup.
type Part = (&'static str, &'static str, fn(&Run<'_>) -> String);

const PARTS: [Part; 8] = [
    ("law", "Little's law", law::section),
    ("time", "Over time", time::section),
    ("wait", "Whose wait", time::waits),
    ("latency", "Latency", latency::section),
    ("streams", "Streams", streams::section),
    ("sends", "Every send", raster::section),
    ("limits", "Limits", limits::section),
    ("answers", "Answers and circumstances", what_came::section),
];

/// One of the runs of a page.
struct Run<'a> {
    /// Its place among them.
    nth: usize,
    report: &'a Report,
    /// The same, as programs get it.
    figures: serde_json::Value,
}

/// The page. Of several runs the first part is what they have in common, on the same axes.
pub fn page(runs: &[Named<'_>]) -> String {
    let told = runs.iter().enumerate().map(|(nth, named)| Run {
        nth,
        report: named.report,
        figures: super::json::json(named.report),
    });
    let told: Vec<Run<'_>> = told.collect();
    let mut body = String::new();
    let title = match told.as_slice() {
        [run] => {
            body.push_str(&top::heading(run));
            body.push_str(&one(run));
            run.report.diagnosis.verdict.clone()
        }
        several => {
            body.push_str(&side_by_side::section(runs, several));
            for (run, named) in several.iter().zip(runs) {
                let name = Name(named.name);
                let inside = top::told(run) + &one(run);
                let _ = write!(
                    body,
                    "<details class=\"run\"><summary>{name}</summary>{inside}</details>"
                );
            }
            format!("{} runs side by side", runs.len())
        }
    };
    let data = in_script(&data::of(runs, &told).to_string());
    document(&title, &body, &data)
}

/// What is told of one run after its heading.
fn one(run: &Run<'_>) -> String {
    let mut text = top::figures(run);
    let sections = PARTS.map(|(id, name, part)| (format!("r{}-{id}", run.nth), name, part(run)));
    let shown = sections.iter().filter(|(_, _, inside)| !inside.is_empty());
    text.push_str("<nav aria-label=\"Contents\">");
    for (id, name, _) in shown.clone() {
        let _ = write!(text, "<a href=\"#{id}\">{name}</a>");
    }
    text.push_str("</nav>");
    for (id, _, inside) in shown {
        let _ = write!(text, "<section id=\"{id}\">{inside}</section>");
    }
    text
}

fn document(title: &str, body: &str, data: &str) -> String {
    let charts = format!("{BEGIN}{UPLOT}");
    let style = format!("{UPLOT_STYLE}{STYLE}");
    let allowed = format!(
        "default-src 'none'; script-src {} {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        named(&charts),
        named(SCRIPT),
        named(&style)
    );
    let title = Text(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{allowed}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>shaper: {title}</title>\n\
         <!-- The charts are drawn by uPlot.\n{UPLOT_LICENCE}-->\n\
         <style>{style}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the report</a>\n\
         <div class=\"page\">\n<main id=\"main\">{body}</main>\n\
         <noscript><p class=\"alarm\">The charts over time need JavaScript; their figures stand in the tables.</p></noscript>\n\
         <footer>Made by shaper {version}. This page is whole: it asks for nothing from any network. Its figures are those of \
         the text and JSON reports of the same run.</footer>\n</div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{charts}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// How a policy names a script or a style that it allows: by its hash, so that nothing else runs.
fn named(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(hash))
}
