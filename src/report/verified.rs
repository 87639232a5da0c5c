//! The page of `verify`: whether results show their limits kept. Floor 4: doors.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::fold::{ending, width};
use super::page::{Look, Page};
use super::proof::{self, exact, micros, minute_text, number, unit, verdict, whose};
use super::text::{CUT_OFF, RUNNING};
use crate::letters::calm;
use crate::limit::{Leaves, Promise, Spec};
use crate::metrics::{Owner, Setup};
use crate::proof::{Grants, LINE_BITS, Mark, Most, Proved, Proven, Verdict};
use crate::terminal::Columns;
use crate::units::{counted, show_moment, show_span};

/// What `verify` has found in files of results. Moments count from the Unix epoch.
#[derive(Debug)]
pub struct Verified {
    /// The files, in order.
    pub files: Vec<Facts>,
    /// What was found of the limits.
    pub proven: Proven,
    /// The slots of the run, and the most that were taken; each file by itself.
    pub slots: Option<(u64, u128)>,
    /// How late grants may have been charged.
    pub slack: Duration,
    /// How far apart the clocks of the files may be.
    pub skew: Duration,
}

/// One file of results.
#[derive(Debug)]
pub struct Facts {
    /// Its name as given.
    pub name: String,
    /// Its lines.
    pub results: u64,
    /// Tries in it that were sent.
    pub sends: u64,
    /// Its last line, if that was torn.
    pub torn: Option<u64>,
    /// What was sent and is not in it.
    pub unseen: Unseen,
}

/// Sends that no line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// So many: the run has counted its sends.
    Counted(u64),
    /// None, and there are so many more than the run has counted: something was added.
    Beyond(u64),
    /// The run goes on: those that are in flight, at most so many, and the tries of jobs that rest.
    Running(Option<u64>),
    /// One of the runs before the last was killed: the same.
    Killed(Option<u64>),
    /// The run was cut off: those that were in flight, at most so many, and the tries of jobs that rested.
    CutOff(Option<u64>),
    /// There is no telling, as no run file stands beside it.
    Unknown,
}

impl Verified {
    /// Whether all limits are proved.
    pub fn is_kept(&self) -> bool {
        let slots_kept = |(slots, most): (u64, u128)| most <= u128::from(slots);
        let mut limits = self.proven.limits.iter();
        limits.all(|proved| proved.verdict.is_kept()) && self.slots.is_none_or(slots_kept)
    }

    /// The page for people.
    pub fn text(&self, columns: Columns) -> String {
        let mut page = Page::new(Look {
            columns,
            ..Look::default()
        });
        for file in &self.files {
            let seen = format!(
                "{}, {}",
                counted(file.results, "result"),
                counted(file.sends, "send")
            );
            page.file(&file.name, &seen);
            if let Some(line) = file.torn {
                let torn = "is torn and was passed over: one result more was begun";
                page.hung(&format!("  line {line} "), 4, torn);
            }
            page.hung("  not seen: ", 4, &file.unseen.text());
        }
        let setup = self.setup();
        for (number, proved) in self.proven.limits.iter().enumerate() {
            let name = setup.name_of(Owner::Limit(number));
            page.heading(&name, &verdict(proved));
            self.limit(&mut page, proved);
        }
        if let Some((slots, most)) = self.slots {
            let verdict = if most <= u128::from(slots) {
                "kept"
            } else {
                "EXCEEDED"
            };
            page.heading(&format!("slots {slots}"), verdict);
            page.hung("  most in flight at once  ", 4, &most.to_string());
        }
        if let Some(minute) = &self.proven.minute {
            page.heading("worst minute", &minute_text(minute));
            self.ends(&mut page, &minute.promised);
        }
        let kept = if self.is_kept() { "kept" } else { "NOT KEPT" };
        let all: u64 = self.files.iter().map(|file| file.sends).sum();
        let allowed = if self.skew.is_zero() {
            String::new()
        } else {
            format!(", with clocks up to {} apart", exact(self.skew))
        };
        page.gap();
        let told = format!(
            "{}, told in whole microseconds{allowed}",
            counted(all, "send")
        );
        page.hung(&format!("{kept}: "), 2, &told);
        page.into_text()
    }

    fn limit(&self, page: &mut Page, proved: &Proved) {
        let unit = unit(proved.limit.counts);
        let (promise, so) = self.promise(proved);
        page.hung("  promise   ", page.indent(), &promise);
        if let Some(so) = so {
            page.hung(&" ".repeat(page.indent()), page.indent(), &so);
        }
        if let Some(granted) = &proved.granted {
            let (most, how) = match granted {
                Grants::Stretch(most, allowed) => {
                    let length = show_span(most.last.at.since(most.first.at));
                    (
                        most,
                        format!("within {length} at the closest, {allowed} allowed"),
                    )
                }
                Grants::Own(most) => (most, "in one of its windows at most".to_owned()),
                Grants::Around(most, length) => {
                    (most, format!("in any {} at most", exact(*length)))
                }
            };
            let granted = format!("{}{unit} {how}{}", most.sum, whose(most));
            page.hung("  granted   ", page.indent(), &granted);
            self.ends(page, most);
        }
        page.hung("  sent      ", page.indent(), &Self::sent(proved));
        self.ends(page, &proved.most);
    }

    /// What is promised, and of which moments.
    fn promise(&self, proved: &Proved) -> (String, Option<String>) {
        let (limit, unit) = (&proved.limit, unit(proved.limit.counts));
        let (count, span) = (limit.rate.count, exact(proved.span));
        let promise = match limit.kind.promise() {
            Promise::Flow => {
                let rate = format!(
                    "at most {} + {} x (T + {}){unit} granted in any time T,",
                    limit.burst.get(),
                    limit.rate.shown(),
                    exact(self.slack + Duration::from_micros(1)),
                );
                return (rate, Some(format!("so {} in any {span}", proved.promised)));
            }
            Promise::AnyPeriod => match limit.leaves {
                Leaves::Send => format!("at most {count}{unit} sent in any {span}"),
                Leaves::Reply => {
                    format!("at most {count}{unit} counted by the server in any {span}")
                }
            },
            Promise::TwoPeriods => {
                format!("at most {}{unit} granted in any {span}", proved.promised)
            }
            Promise::OwnPeriods => format!(
                "at most {count}{unit} granted in each of its windows of {span}, so {} in any {span}",
                proved.promised
            ),
        };
        (promise, None)
    }

    /// The most that was sent, and what a server can have seen of it.
    fn sent(proved: &Proved) -> String {
        let (most, unit) = (&proved.most, unit(proved.limit.counts));
        let span = exact(proved.span);
        let mut text = match proved.limit.leaves {
            Leaves::Send => format!("{}{unit} in any {span} at most", most.sum),
            Leaves::Reply => format!(
                "{}{unit} in any {span} at most, as a server counts, whatever the network did",
                most.sum
            ),
        };
        if proved.verdict == Verdict::IfClocksAgree {
            text.push_str(", as far apart as the clocks may be");
        }
        let left = u128::from(proved.promised).saturating_sub(most.sum);
        if left > 0 {
            let _ = write!(text, ", {left} below the promise");
        }
        if proved.limit.counts.is_units() {
            let _ = write!(text, "; really used {}", proved.used);
        }
        text + &whose(most)
    }

    fn ends(&self, page: &mut Page, most: &Most) {
        if most.sends == 0 {
            return;
        }
        for (word, mark) in [("first", most.first), ("last", most.last)] {
            let indent = page.indent();
            let at = format!(
                "{:indent$}{word:<6}{}",
                "",
                show_moment(Duration::from_nanos(mark.at.0))
            );
            page.place(&at, &self.place(mark));
        }
    }

    fn place(&self, mark: Mark) -> String {
        let (file, line) = (
            mark.source >> LINE_BITS,
            mark.source & ((1 << LINE_BITS) - 1),
        );
        let file = usize::try_from(file)
            .ok()
            .and_then(|file| self.files.get(file));
        match file {
            // What no line tells stands in the run file.
            Some(file) if line == 0 => format!("{}.run", file.name),
            Some(file) => format!("{}:{line}", file.name),
            None => format!("line {line}"),
        }
    }

    fn setup(&self) -> Setup {
        let limits = self.proven.limits.iter();
        Setup {
            slots: self.slots.map(|(slots, _)| slots),
            limits: limits.map(|proved| proved.limit.clone()).collect(),
            ..Setup::default()
        }
    }

    /// The page for programs: one object.
    pub fn json(&self) -> Value {
        let place = |mark: Mark| json!({ "us": mark.at.0 / 1_000, "place": self.place(mark) });
        let files = self.files.iter().map(|file| {
            let (unseen, cut_off) = match file.unseen {
                Unseen::Counted(sends) => (Some(sends), false),
                Unseen::Beyond(_) => (Some(0), false),
                Unseen::Running(sends) => (sends, false),
                Unseen::Killed(sends) | Unseen::CutOff(sends) => (sends, true),
                Unseen::Unknown => (None, false),
            };
            json!({
                "name": file.name,
                "results": file.results,
                "sends": file.sends,
                "torn_line": file.torn,
                "unseen": unseen,
                "running": matches!(file.unseen, Unseen::Running(_)),
                "cut_off": cut_off,
            })
        });
        json!({
            "kept": self.is_kept(),
            "files": files.collect::<Vec<_>>(),
            "limits": proof::limits(&self.proven, &place),
            "slots": self.slots.map(|(slots, most)| json!({ "slots": slots, "most": number(most) })),
            "worst_minute": proof::minute(&self.proven, &place),
            "slack_us": micros(self.slack),
            "clock_skew_us": micros(self.skew),
        })
    }
}

impl Page {
    /// Where what is said of a limit begins.
    fn indent(&self) -> usize {
        if self.columns() < 60 { 4 } else { 12 }
    }

    /// What is spoken of, and what is to be said of it.
    fn heading(&mut self, name: &str, verdict: &str) {
        self.gap();
        self.hung(&format!("{name}    "), 4, verdict);
    }

    /// A file and what was seen of it, beside its name if there is room.
    fn file(&mut self, name: &str, seen: &str) {
        let name = calm(name);
        if width(&name) * 2 <= self.columns() {
            self.hung(&format!("{name}: "), 2, seen);
        } else {
            self.line(&format!("{}:", end_of(&name, self.columns() - 1)));
            self.hung("  ", 2, seen);
        }
    }

    /// A moment and where it stands.
    fn place(&mut self, moment: &str, place: &str) {
        let place = calm(place);
        if width(moment) + 2 + width(&place) <= self.columns() {
            self.line(&format!("{moment}  {place}"));
        } else {
            self.line(moment);
            let indent = " ".repeat(self.indent() + 6);
            let room = self.columns() - indent.len();
            self.line(&format!("{indent}{}", end_of(&place, room)));
        }
    }
}

/// Of a long name only the end, where the file and the line are told.
fn end_of(name: &str, room: usize) -> Cow<'_, str> {
    if width(name) <= room {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("...{}", ending(name, room - 3)))
}

impl Unseen {
    fn text(self) -> String {
        match self {
            Self::Counted(0) => "nothing, the run has counted as many sends".to_owned(),
            Self::Counted(sends) => {
                format!("{sends} more that the run has counted, or cut off in flight")
            }
            Self::Beyond(sends) => {
                format!("nothing; not of the run that stands beside it: {sends}")
            }
            Self::Running(slots) => {
                format!(
                    "{RUNNING}: {} in flight, and earlier tries of jobs that rest",
                    up_to(slots)
                )
            }
            Self::Killed(slots) => format!(
                "a run before the last was killed: {} in flight, and earlier tries of jobs that rested",
                up_to(slots)
            ),
            Self::CutOff(slots) => {
                format!(
                    "{CUT_OFF}: {} in flight, and earlier tries of jobs that rested",
                    up_to(slots)
                )
            }
            Self::Unknown => "unknown, as no run file stands beside it".to_owned(),
        }
    }
}

fn up_to(slots: Option<u64>) -> String {
    slots.map_or_else(|| "all".to_owned(), |slots| format!("up to {slots}"))
}

/// The names of limits in messages: `10 bucket burst=1, 40/1s window`.
pub fn named(limits: &[Spec]) -> String {
    let each = limits.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join(", ")
}
