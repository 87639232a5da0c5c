//! Rules that end a run early: `failed>50`, `401,403>=20 in a row before ok`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::metrics::condition::{Bound, Figure, Op, nearest_of, parts};
use crate::outcome::Status;
use crate::statuses::Statuses;

/// `METRIC OP VALUE [in a row] [before ok]`.
#[derive(Debug, Clone, PartialEq)]
pub struct StopIf {
    written: String,
    what: What,
    op: Op,
    bound: Bound,
    counts: Counts,
    until: Until,
}

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// Jobs that failed, of those that have their last word.
    Failed,
    /// Lines that make no job, of the same.
    Invalid,
    /// Tries that will be repeated, of all that ended.
    Retries,
    /// Answers with such a status, of all answers.
    Answers(Statuses),
}

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// Those since the last one that is none of them.
    InARow,
}

/// Until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    TheEnd,
    /// A job that is ok shows that the rule was wrong.
    FirstOk,
}

/// A share of less says little: nothing stops for one.
const LEAST: u64 = 100;

/// The rule that holds unless it is taken away: a key that is wrong fails every job.
const USUAL: &str = "401,403>=20 in a row before ok";

const FORM: &str = "write METRIC OP VALUE, in quotes as a shell takes > for itself: 'failed>50', '429>10%', \
    '5xx>=10 in a row'; OP is > or >=";

const IN_A_ROW: &str = "in a row";
const BEFORE_OK: &str = "before ok";

impl StopIf {
    /// A run whose key is wrong or missing, before it fails every job.
    pub fn usual() -> Self {
        USUAL.parse().expect("it can be read")
    }
}

impl FromStr for StopIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let written = text.trim();
        let (rest, until) = match written.strip_suffix(BEFORE_OK) {
            Some(rest) => (rest.trim_end(), Until::FirstOk),
            None => (written, Until::TheEnd),
        };
        let (rest, counts) = match rest.strip_suffix(IN_A_ROW) {
            Some(rest) => (rest, Counts::InARow),
            None => (rest, Counts::All),
        };
        let (name, op, value) = parts(rest).ok_or(FORM)?;
        let what = match name {
            "failed" => What::Failed,
            "invalid" => What::Invalid,
            "retries" => What::Retries,
            _ => What::Answers(Statuses::read(name).ok_or_else(|| {
                let words = ["failed", "invalid", "retries"].map(str::to_owned);
                let meant = nearest_of(&name.to_lowercase(), words.into_iter());
                let meant = meant.map_or(String::new(), |near| format!(", did you mean {near}?"));
                format!(
                    "while a run goes on {name:?} is not counted{meant}; there are failed, invalid, retries and \
                     statuses of answers: 429, 5xx, 401,403"
                )
            })?),
        };
        let bound = Bound::counted(value).ok_or_else(|| {
            format!("{value:?} is no count and no share: write {name}>50, {name}>10%")
        })?;
        let grows = match op {
            Op::Above | Op::AtLeast => !bound.holds(op, NONE),
            Op::Below | Op::AtMost => false,
        };
        if !grows {
            return Err(format!(
                "a run stops when something has become too much, and begins with none: write {name}>50"
            ));
        }
        bound.open(op, name)?;
        match (&what, &bound, counts) {
            (_, Bound::Share { .. }, Counts::InARow) => Err(format!(
                "a share is never {IN_A_ROW}: write {name}>=20 {IN_A_ROW}"
            )),
            (What::Invalid | What::Retries, _, Counts::InARow) => Err(format!(
                "{name} are not counted {IN_A_ROW}: write {name}>50"
            )),
            _ => Ok(Self {
                written: written.to_owned(),
                what,
                op,
                bound,
                counts,
                until,
            }),
        }
    }
}

/// Where every run begins.
const NONE: Figure = Figure::Count {
    count: 0,
    of: Some(LEAST),
};

impl fmt::Display for StopIf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

/// Which rule has ended a run, and what it saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// As the rule was written.
    pub rule: String,
    /// `20 answers 401 or 403 in a row, and no job was ok`.
    pub told: String,
}

impl Stopped {
    /// A server asks for a longer wait than is allowed, and no key is left for which none does.
    pub const LONG_WAIT: &'static str = "--max-retry-after";

    /// A server says that a quota is spent.
    pub const SPENT: &'static str = "its quota";

    /// What has ended the run: an option, or the server.
    pub fn by(&self) -> String {
        match &*self.rule {
            Self::LONG_WAIT => Self::LONG_WAIT.to_owned(),
            Self::SPENT => "the server".to_owned(),
            rule => format!("--stop-if '{rule}'"),
        }
    }
}

/// What the rules of a run have counted.
#[derive(Debug)]
pub(super) struct Stops {
    rules: Vec<(StopIf, u64)>,
    /// Jobs that have their last word, tries that ended, answers.
    jobs: u64,
    tries: u64,
    answers: u64,
    ok: u64,
    stopped: Option<Stopped>,
}

/// Something that rules count.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Job(Status),
    Answer(u16),
    Retry,
}

impl Stops {
    /// Nothing yet.
    pub(super) fn new(rules: &[StopIf]) -> Self {
        Self {
            rules: rules.iter().map(|rule| (rule.clone(), 0)).collect(),
            jobs: 0,
            tries: 0,
            answers: 0,
            ok: 0,
            stopped: None,
        }
    }

    /// Something else than one of the rules ends the run.
    pub(super) fn stop(&mut self, rule: &str, told: String) {
        self.stopped.get_or_insert_with(|| Stopped {
            rule: rule.to_owned(),
            told,
        });
    }

    /// The first rule that has ended the run.
    pub(super) fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// A try has ended, with this status if an answer came.
    pub(super) fn ended(&mut self, status: Option<u16>) {
        self.tries += 1;
        if let Some(status) = status {
            self.answers += 1;
            self.look(Seen::Answer(status));
        }
    }

    /// It will be repeated.
    pub(super) fn retried(&mut self) {
        self.look(Seen::Retry);
    }

    /// A line has its last word.
    pub(super) fn done(&mut self, status: Status) {
        self.jobs += 1;
        self.ok += u64::from(status == Status::Ok);
        self.look(Seen::Job(status));
    }

    fn look(&mut self, seen: Seen) {
        for (rule, count) in &mut self.rules {
            let Some((is_one, of)) = rule.what.of(seen, self.jobs, self.tries, self.answers) else {
                continue;
            };
            let is_share = matches!(rule.bound, Bound::Share { .. });
            match (is_one, rule.counts) {
                (true, _) => *count += 1,
                (false, Counts::All) if is_share => {}
                // A count is only passed when it grows.
                (false, Counts::All) => continue,
                (false, Counts::InARow) => {
                    *count = 0;
                    continue;
                }
            }
            let figure = Figure::Count {
                count: *count,
                of: Some(of),
            };
            let too_early = is_share && of < LEAST;
            let too_late = rule.until == Until::FirstOk && self.ok > 0;
            if !too_early && !too_late && rule.bound.holds(rule.op, figure) {
                self.stopped.get_or_insert_with(|| Stopped {
                    rule: rule.written.clone(),
                    told: rule.told(*count, of),
                });
            }
        }
    }
}

impl What {
    /// Whether this is one of them, and of how many; `None` if it says nothing about them.
    fn of(&self, seen: Seen, jobs: u64, tries: u64, answers: u64) -> Option<(bool, u64)> {
        match (self, seen) {
            (Self::Failed, Seen::Job(status)) => Some((status == Status::Failed, jobs)),
            (Self::Invalid, Seen::Job(status)) => Some((status == Status::Invalid, jobs)),
            (Self::Retries, Seen::Retry) => Some((true, tries)),
            (Self::Answers(statuses), Seen::Answer(status)) => {
                Some((statuses.has(status), answers))
            }
            (
                Self::Failed | Self::Invalid | Self::Retries | Self::Answers(_),
                Seen::Job(_) | Seen::Retry | Seen::Answer(_),
            ) => None,
        }
    }
}

impl StopIf {
    fn told(&self, count: u64, of: u64) -> String {
        let many = match self.bound {
            Bound::Share { .. } => format!("{count} of {of}"),
            Bound::Count(_) | Bound::Time(_) | Bound::Rate(_) => count.to_string(),
        };
        let s = if many == "1" { "" } else { "s" };
        let what = match &self.what {
            What::Failed => format!("{many} job{s} failed"),
            What::Invalid => format!("{many} bad line{s}"),
            What::Retries if s.is_empty() => "1 try was to be repeated".to_owned(),
            What::Retries => format!("{many} tries were to be repeated"),
            What::Answers(statuses) => format!("{many} answer{s} {statuses}"),
        };
        let row = match self.counts {
            Counts::InARow => " in a row",
            Counts::All => "",
        };
        let none = match self.until {
            Until::FirstOk => ", and no job was ok",
            Until::TheEnd => "",
        };
        format!("{what}{row}{none}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(rule: &str) -> Stops {
        Stops::new(&[rule.parse().unwrap_or_else(|why| panic!("{rule}: {why}"))])
    }

    /// How many answers of these it takes to stop, and what is told then.
    fn after(rule: &str, answers: impl IntoIterator<Item = u16>) -> Option<(usize, String)> {
        let mut stops = stops(rule);
        for (nth, status) in answers.into_iter().enumerate() {
            stops.ended(Some(status));
            stops.done(match status {
                200 => Status::Ok,
                _ => Status::Failed,
            });
            if let Some(stopped) = stops.stopped() {
                return Some((nth + 1, stopped.told.clone()));
            }
        }
        None
    }

    #[test]
    fn twenty_refused_keys_in_a_row_stop_a_run_in_which_no_job_was_ok() {
        let refused = |count| [401, 403].into_iter().cycle().take(count);
        let told = "20 answers 401 or 403 in a row, and no job was ok".to_owned();
        assert_eq!(after(USUAL, refused(20)), Some((20, told)));
        assert_eq!(
            after(USUAL, refused(19).chain([404]).chain(refused(19))),
            None
        );
        assert_eq!(after(USUAL, [200].into_iter().chain(refused(99))), None);
        assert_eq!(
            after(USUAL, refused(19).chain([200]).chain(refused(99))),
            None
        );
    }

    #[test]
    fn what_has_no_answer_breaks_no_row_of_answers() {
        let mut stops = stops("401>=3 in a row");
        for status in [Some(401), None, Some(401), None] {
            stops.ended(status);
            assert!(stops.stopped().is_none());
        }
        stops.ended(Some(401));
        let told = stops.stopped().map(|stopped| stopped.told.as_str());
        assert_eq!(told, Some("3 answers 401 in a row"));
    }

    #[test]
    fn counts_stop_when_they_are_too_much_and_shares_when_enough_is_known() {
        let often = |status: u16, of: usize| {
            (1..=9999).map(move |nth| if nth % of == 0 { status } else { 200 })
        };
        for (rule, status, of, answers, told) in [
            ("failed>50", 404, 3, 153, "51 jobs failed"),
            ("429>=10", 429, 2, 20, "10 answers 429"),
            ("5xx>0", 503, 7, 7, "1 answer 5xx"),
            ("failed>10%", 404, 5, 100, "20 of 100 jobs failed"),
            ("429>10%", 429, 5, 100, "20 of 100 answers 429"),
            ("failed>=2 in a row", 404, 1, 2, "2 jobs failed in a row"),
        ] {
            let stopped = after(rule, often(status, of));
            assert_eq!(stopped, Some((answers, told.to_owned())), "{rule}");
        }
        assert_eq!(
            after("failed>20%", often(404, 5)),
            None,
            "a fifth is not above it"
        );
        assert_eq!(after("429>2 in a row", often(429, 2)), None);
    }

    #[test]
    fn retries_and_bad_lines_are_counted_too() {
        let mut repeated = stops("retries>1");
        let mut invalid = stops("invalid>0");
        repeated.ended(None);
        repeated.retried();
        invalid.done(Status::Failed);
        assert!(repeated.stopped().is_none() && invalid.stopped().is_none());
        repeated.retried();
        invalid.done(Status::Invalid);
        let told = |stops: &Stops| stops.stopped().unwrap().told.clone();
        assert_eq!(told(&repeated), "2 tries were to be repeated");
        assert_eq!(told(&invalid), "1 bad line");
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told() {
        for (rule, says) in [
            (
                "failed",
                "'failed>50', '429>10%', '5xx>=10 in a row'; OP is > or >=",
            ),
            ("None", "in quotes"),
            ("faild>1", "did you mean failed?"),
            ("failed>101%", "so this is never true"),
            ("p99>500ms", "\"p99\" is not counted; there are failed"),
            (
                "failed>1s",
                "\"1s\" is no count and no share: write failed>50",
            ),
            ("failed>1.5", "no count and no share"),
            ("failed<5", "begins with none"),
            ("failed>=0", "begins with none"),
            ("429>=0%", "begins with none"),
            ("failed>5% in a row", "a share is never in a row"),
            ("invalid>5 in a row", "not counted in a row"),
            ("failed>5 in row", "no count"),
        ] {
            let why = rule.parse::<StopIf>().unwrap_err();
            assert!(why.contains(says), "{rule}: {why}");
        }
    }
}
