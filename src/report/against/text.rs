//! Two runs beside each other, for people. Floor 4: doors.

use std::fmt::Write as _;

use super::{Against, Figure};
use crate::metrics::Owner;
use crate::metrics::noise::Noise;
use crate::report::Report;
use crate::report::page::{Look, Page, Tone};
use crate::report::proof::verdict;
use crate::units::counted;

/// Columns of what a figure belongs to, of its name, of a figure and of a ratio; the least of each that can be
/// read; and of a mark.
const GROUP: [usize; 2] = [12, 2];
const LABEL: [usize; 2] = [18, 14];
const FIGURE: [usize; 2] = [12, 10];
const RATIO: usize = 9;
const MARK: usize = 2;

/// The most lines about whose time it was, and about limits.
const HELD: usize = 5;
const PROVED: usize = 4;

/// The columns that the page has room for.
#[derive(Debug, Clone, Copy)]
struct Columns {
    group: usize,
    label: usize,
    figure: usize,
    change: bool,
    ratio: bool,
}

impl Columns {
    fn of(columns: usize) -> Self {
        let wide = GROUP[0] + LABEL[0] + 2 * FIGURE[0] + MARK;
        let of = |widths: [usize; 2]| widths[usize::from(columns < wide)];
        Self {
            group: of(GROUP),
            label: of(LABEL),
            figure: of(FIGURE),
            change: columns >= wide + FIGURE[0],
            ratio: columns >= wide + FIGURE[0] + RATIO,
        }
    }
}

impl Against {
    /// The whole page.
    pub fn text(&self, look: Look) -> String {
        let mut page = Page::new(look);
        let runs = [("RUN", &self.run), ("AGAINST", &self.against)];
        for (heading, report) in runs {
            let text = format!("{}: {}", name(report), report.diagnosis.verdict);
            page.section(heading, &text, Tone::Calm);
        }
        let [run, against] = [limits(&self.run), limits(&self.against)];
        if run == against {
            page.section("LIMITS", &format!("both: {run}"), Tone::Calm);
        } else {
            page.section(
                "LIMITS",
                &format!("not the same: {run}; against {against}"),
                Tone::Alarm,
            );
        }
        let inputs = [&self.run, &self.against].map(|report| report.facts.inputs.join(" "));
        if inputs[0] != inputs[1] {
            let [run, against] = inputs.map(|input| {
                if input.is_empty() {
                    "not told".to_owned()
                } else {
                    input
                }
            });
            page.section(
                "INPUT",
                &format!("not the same: {run}; against {against}"),
                Tone::Alarm,
            );
        }
        page.gap();
        let columns = Columns::of(page.columns());
        page.line(&columns.row("", "", ["run", "against", "change", "ratio"], ""));
        let mut group = "";
        let mut held = 0;
        for figure in self.figures() {
            held += usize::from(figure.group == "HELD BACK");
            if figure.group == "HELD BACK" && held > HELD {
                continue;
            }
            let heading = if figure.group == group {
                ""
            } else {
                figure.group
            };
            group = figure.group;
            page.figure(columns, heading, &figure);
        }
        page.gap();
        page.proofs(self);
        page.legend();
        page.into_text()
    }

    /// What the results of both are called.
    pub fn names(&self) -> [String; 2] {
        [&self.run, &self.against].map(name)
    }
}

impl Columns {
    fn row(self, group: &str, label: &str, cells: [&str; 4], mark: &str) -> String {
        let [run, against, change, ratio] = cells;
        let Self {
            group: indent,
            label: width,
            figure,
            ..
        } = self;
        let mut row = format!("{group:<indent$}{label:<width$}{run:>figure$}{against:>figure$}");
        if self.change {
            let _ = write!(row, "{change:>figure$}");
        }
        if self.ratio {
            let _ = write!(row, "{ratio:>RATIO$}");
        }
        let _ = write!(row, " {mark}");
        row.trim_end().to_owned()
    }
}

impl Page {
    fn figure(&mut self, columns: Columns, heading: &str, figure: &Figure) {
        let dash = self.glyphs().dash();
        let shown = |value: Option<f64>| {
            value.map_or_else(|| dash.to_owned(), |value| figure.unit.shown(value))
        };
        let change = figure.difference().map_or_else(
            || dash.to_owned(),
            |change| {
                let size = figure.unit.shown(change.abs());
                match change {
                    0.0 => size,
                    change if change > 0.0 => format!("+{size}"),
                    _ => format!("-{size}"),
                }
            },
        );
        let ratio = figure.ratio();
        let ratio = ratio.map_or_else(|| dash.to_owned(), |ratio| format!("{ratio:.2}"));
        let mark = match figure.noise {
            Some(Noise::Within) => "~",
            Some(Noise::TooFew) => "?",
            Some(Noise::Beyond) => "*",
            None => "",
        };
        let above = columns.group < GROUP[0];
        if above && !heading.is_empty() {
            self.line(heading);
        }
        let group = if above { "" } else { heading };
        let (run, against) = (shown(figure.run), shown(figure.against));
        self.line(&columns.row(
            group,
            &self.cut(&figure.label, columns.label - 1),
            [&run, &against, &change, &ratio],
            mark,
        ));
    }

    /// Whether both kept their limits.
    fn proofs(&mut self, both: &Against) {
        let mut heading = "PROOF";
        for (word, report) in [("run", &both.run), ("against", &both.against)] {
            let proven = report.summary.proof.limits.iter().enumerate();
            for (number, proved) in proven.take(PROVED) {
                let name = report.setup.name_of(Owner::Limit(number));
                let tone = if proved.verdict.is_kept() {
                    Tone::Calm
                } else {
                    Tone::Alarm
                };
                self.section(
                    heading,
                    &format!("{word}: {name} {}", verdict(proved)),
                    tone,
                );
                heading = "";
            }
        }
    }

    fn legend(&mut self) {
        let text = "~ may be chance, ? too few to tell, * more than chance if jobs are independent; no mark: \
                    whether it is chance is not judged";
        self.section("CHANCE", text, Tone::Calm);
    }
}

fn name(report: &Report) -> String {
    let files = report.sources.iter().flat_map(|sources| &sources.files);
    let names: Vec<&str> = files.map(|file| &*file.name).collect();
    match &names[..] {
        [] => "a run".to_owned(),
        [only] => (*only).to_owned(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// `20 slots, --qps 10`.
fn limits(report: &Report) -> String {
    let setup = &report.setup;
    let slots = setup.slots.map(|slots| counted(slots, "slot"));
    let slots = slots.unwrap_or_else(|| "no slots told".to_owned());
    let limits = (0..setup.limits.len()).map(|number| setup.all_of(number));
    std::iter::once(slots)
        .chain(limits)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fold::width;
    use crate::report::samples;
    use crate::terminal;

    fn page(run: Report, against: Report, columns: usize) -> String {
        let look = Look {
            columns: terminal::Columns::new(columns),
            ..Look::default()
        };
        Against { run, against }.text(look)
    }

    #[test]
    fn the_table_has_as_many_columns_as_the_page_has_room_for() {
        for columns in 40..=100 {
            let page = page(samples::fullest_again(), samples::held_by_qps(), columns);
            for line in page.lines() {
                assert!(width(line) <= columns, "{columns}: {line:?} in\n{page}");
            }
            assert!(page.contains("400/s"), "{columns}:\n{page}");
            let mut lines = page.lines();
            let heading = lines.find(|line| line.trim_start().starts_with("run "));
            let told = heading.is_some_and(|line| line.contains("change"));
            assert_eq!(told, columns >= 68, "{columns}:\n{page}");
        }
    }

    #[test]
    fn every_run_can_be_compared_with_any() {
        for (name, report) in samples::all() {
            let both = Against {
                run: report,
                against: samples::held_by_qps(),
            };
            let turned = |Against { run, against }| Against {
                run: against,
                against: run,
            };
            let told = both.json().to_string();
            assert!(!told.contains("NaN") && !told.contains("inf"), "{told}");
            let page = both.text(Look::default());
            assert!(page.contains("\nAGAINST "), "{name}:\n{page}");
            let page = turned(both).text(Look::default());
            assert!(page.contains("\nAGAINST "), "against {name}:\n{page}");
        }
    }

    #[test]
    fn streams_are_compared_where_there_are_any() {
        let both = page(samples::streamed(), samples::streamed(), 100);
        let rows = [
            "FIRST TOKEN p50",
            "LONGEST GAP p50",
            "TOKENS      of streams",
        ];
        for row in rows {
            assert!(both.contains(row), "{row}:\n{both}");
        }
        let one = page(samples::streamed(), samples::held_by_qps(), 100);
        let first = one.lines().find(|line| line.starts_with("FIRST TOKEN"));
        assert!(first.is_some_and(|line| line.contains(" — ")), "{one}");
        let none = page(samples::held_by_qps(), samples::held_by_slots(), 100);
        assert!(rows.iter().all(|row| !none.contains(row)), "{none}");
    }

    #[test]
    fn a_mark_says_what_json_says_also_of_two_equal_runs() {
        let both = Against {
            run: samples::held_by_qps(),
            against: samples::held_by_qps(),
        };
        let page = both.text(Look::default());
        let rows = page.lines().filter(|line| line.ends_with(['~', '?', '*']));
        let marks: Vec<_> = rows.filter_map(|row| row.chars().last()).collect();
        let told = both.json();
        let chances = told["change"].as_array().unwrap().iter();
        let chances: Vec<_> = chances
            .filter_map(|change| match change["chance"].as_str()? {
                "within" => Some('~'),
                "too_few" => Some('?'),
                _ => Some('*'),
            })
            .collect();
        assert_eq!(marks, chances, "{page}");
        assert!(marks.contains(&'~') && !marks.contains(&'*'), "{page}");
    }

    #[test]
    fn a_name_that_has_no_room_is_seen_to_be_cut() {
        let narrow = page(samples::held_by_qps(), samples::held_by_qps(), 40);
        assert!(narrow.contains("  theory of sl…"), "{narrow}");
    }

    #[test]
    fn what_nobody_tells_is_a_dash() {
        let page = page(samples::recorded(), samples::held_by_slots(), 100);
        assert!(!page.contains("HELD BACK"), "{page}");
        let words =
            "LIMITS      both: 20 slots\nINPUT       not the same: not told; against jobs.jsonl\n";
        assert!(page.contains(words), "{page}");
    }
}
