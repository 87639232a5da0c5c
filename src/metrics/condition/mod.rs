//! Conditions on the figures of a run that is over: `p99>500ms`, `failed>1%`. Floor 3: rules.

mod bound;
mod metric;

use std::fmt;
use std::str::FromStr;

pub use bound::{Bound, Figure, Op};
pub(crate) use metric::nearest_of;

use super::littles::Theory;
use super::{Counts, Summary};
use bound::{Compared, Unit};
use metric::Metric;

/// `METRIC OP VALUE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    written: String,
    /// Its name alone.
    name: String,
    metric: Metric,
    op: Op,
    bound: Bound,
}

/// What became of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The condition, as it was written.
    pub written: String,
    /// The figure as a number, with its unit; `None` if the run has no such figure.
    pub value: Option<(f64, Option<&'static str>)>,
    /// Whether it is true. Of a figure that is not known it is: nothing is good because nothing came.
    pub is_true: bool,
    /// `p99 = 812 ms > 500 ms`.
    pub told: String,
}

/// A condition taken apart: the name, how it is compared, and the value; `None` if it has no such parts.
pub(crate) fn parts(text: &str) -> Option<(&str, Op, &str)> {
    let (name, rest) = text.split_at(text.find(['<', '>'])?);
    let ops = [Op::AtLeast, Op::AtMost, Op::Above, Op::Below];
    let op = ops.into_iter().find(|op| rest.starts_with(op.sign()))?;
    let (name, value) = (name.trim(), rest[op.sign().len()..].trim());
    let odd = value.starts_with(['<', '>', '=']) || name.ends_with(['!', '=']);
    (!name.is_empty() && !value.is_empty() && !odd).then_some((name, op, value))
}

const FORM: &str = "write METRIC OP VALUE, in quotes as a shell takes > and < for itself: 'p99>500ms', 'failed>1%'; \
    OP is > >= < or <=";

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, op, value) = parts(text).ok_or(FORM)?;
        let metric: Metric = name.parse()?;
        let bound = Bound::read(value, metric.unit());
        let bound = bound.filter(|bound| match bound {
            Bound::Share { .. } => metric.has_shares(),
            Bound::Time(_) | Bound::Count(_) | Bound::Rate(_) => true,
        });
        let bound = bound.ok_or_else(|| {
            let (own, example) = (metric.unit(), metric.example());
            match Unit::of(value) {
                Some(given) if given != own => format!(
                    "{name} is {}, {value} is {}; write {name}{}{example}",
                    own.named(),
                    given.named(),
                    op.sign()
                ),
                Some(_) => format!(
                    "{name} is a whole number; write {name}{}{example}",
                    op.sign()
                ),
                None => format!("{value:?} is no value; write {name}{}{example}", op.sign()),
            }
        })?;
        if metric.unit() == Unit::Count {
            bound.open(op, name)?;
        }
        Ok(Self {
            written: text.trim().to_owned(),
            name: name.to_owned(),
            metric,
            op,
            bound,
        })
    }
}

/// A run that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Its figures.
    pub summary: &'a Summary,
    /// What theory says beside them.
    pub theory: &'a Theory,
    /// All lines that were read; `None` if nothing tells of those without a result.
    pub lines: Option<&'a Counts>,
}

impl Condition {
    /// Whether it is true of a run.
    pub fn judge(&self, run: Known<'_>) -> Judged {
        let Self {
            written,
            name,
            metric,
            op,
            bound,
        } = self;
        let (value, is_true, told) = match metric.of(run) {
            Ok(figure) => {
                let is_true = bound.holds(*op, figure);
                let Compared {
                    figure: its,
                    bound: own,
                    parts,
                } = bound.compared(*op, figure);
                let told = if is_true {
                    format!("{name} = {its} {own}{parts}")
                } else {
                    format!("{name} {own}, it is {its}{parts}")
                };
                (Some(bound.number(figure)), is_true, told)
            }
            Err(why) => {
                let told = format!(
                    "{name} {} {} cannot be told: {why}",
                    op.sign(),
                    bound.shown()
                );
                (None, true, told)
            }
        };
        Judged {
            written: written.clone(),
            value,
            is_true,
            told,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::{Metrics, Sends, Setup};
    use crate::proof::Proof;
    use crate::units::Tick;

    fn why(text: &str) -> String {
        text.parse::<Condition>().unwrap_err()
    }

    /// A run of 1000 lines, 20 of them cancelled, whose jobs took 1 ms, 2 ms and so on.
    fn summary() -> Summary {
        let metrics = Metrics::new(Duration::ZERO, Proof::nothing());
        let mut summary = metrics.close(Tick::ZERO);
        let counts = &mut summary.tally.counts;
        (counts.read, counts.ok, counts.failed, counts.cancelled) = (1000, 930, 50, 20);
        for millis in 1..=900 {
            summary.tally.service.ok.add(Duration::from_millis(millis));
            summary
                .tally
                .since_due
                .ok
                .add(Duration::from_millis(millis + 1000));
        }
        let streams = summary.tally.streams.get_or_insert_default();
        for millis in [100, 200, 600] {
            streams.first_token.ok.add(Duration::from_millis(millis));
        }
        streams.longest_gap.ok.add(Duration::from_millis(40));
        summary.tally.lateness.add(Duration::from_millis(400));
        summary
            .tally
            .statuses
            .extend([(200, 930), (429, 30), (500, 25), (503, 15)]);
        (
            summary.tally.tries,
            summary.tally.retries,
            summary.tally.late,
        ) = (1000, 50, 9);
        summary.tally.sends = Sends {
            count: 191,
            first: Tick::ZERO,
            last: Tick(20_000_000_000),
        };
        summary
    }

    fn judged(text: &str, summary: &Summary) -> Judged {
        let setup = Setup {
            slots: Some(20),
            ..Setup::default()
        };
        let theory = Theory::of(&setup, summary);
        let condition: Condition = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        condition.judge(Known {
            summary,
            theory: &theory,
            lines: Some(&summary.tally.counts),
        })
    }

    #[test]
    fn every_figure_is_compared_with_a_value_of_its_kind() {
        let summary = summary();
        for (text, is_true, told) in [
            ("p99>500ms", true, "p99 = 891 ms > 500 ms"),
            (" p50 <= 0.5 ", true, "p50 = 450 ms <= 500 ms"),
            ("p99.9>2s", false, "p99.9 > 2.00 s, it is 900 ms"),
            ("due_p99>1s", true, "due_p99 = 1.89 s > 1.00 s"),
            ("mean>450ms", true, "mean = 450.5 ms > 450 ms"),
            ("due_max>=1.9s", true, "due_max = 1900 ms >= 1900 ms"),
            ("ttft_p50>100ms", true, "ttft_p50 = 200 ms > 100 ms"),
            ("ttft_p90>500ms", true, "ttft_p90 = 600 ms > 500 ms"),
            ("gap_max>1s", false, "gap_max > 1.00 s, it is 40.0 ms"),
            ("elapsed>10m", false, "elapsed > 10m, it is 0 s"),
            ("failed>1%", true, "failed = 5.1 % > 1 % (50 of 980)"),
            ("failed>50", false, "failed > 50, it is 50"),
            ("failed>=50", true, "failed = 50 >= 50"),
            (
                "cancelled>2%",
                false,
                "cancelled > 2 %, it is 2 % (20 of 1000)",
            ),
            ("ok<1k", true, "ok = 930 < 1000"),
            ("retries>5%", false, "retries > 5 %, it is 5 % (50 of 1000)"),
            ("late_max>=1s", false, "late_max >= 1.00 s, it is 400 ms"),
            ("late>1%", false, "late > 1 %, it is 1 % (9 of 900)"),
            ("429>0", true, "429 = 30 > 0"),
            ("5xx>4%", false, "5xx > 4 %, it is 4 % (40 of 1000)"),
            ("429,503>44", true, "429,503 = 45 > 44"),
            ("rate<9.6/s", true, "rate = 9.50/s < 9.60/s"),
            ("rate<570rpm", false, "rate < 9.5/s, it is 9.5/s"),
            ("tries>999", true, "tries = 1000 > 999"),
        ] {
            let judged = judged(text, &summary);
            assert_eq!((judged.is_true, &*judged.told), (is_true, told), "{text}");
            assert_eq!(judged.written, text.trim());
        }
        let number = |text| judged(text, &summary).value;
        assert_eq!(number("mean>1s"), Some((450.5, Some("ms"))));
        assert_eq!(number("5xx>4%"), Some((4.0, Some("%"))));
        assert_eq!(number("rate<9/s"), Some((9.5, Some("/s"))));
        assert_eq!(number("failed>9"), Some((50.0, None)));
    }

    #[test]
    fn a_figure_that_is_not_known_makes_its_condition_true_whichever_way_it_points() {
        let metrics = Metrics::new(Duration::ZERO, Proof::nothing());
        let empty = metrics.close(Tick::ZERO);
        for text in [
            "p99>500ms",
            "due_p50<1s",
            "max>1h",
            "ttft_p99>1h",
            "gap_max<1s",
            "rate<1/s",
            "rate>1/s",
            "ratio<50%",
        ] {
            let judged = judged(text, &empty);
            assert!(judged.is_true && judged.value.is_none(), "{judged:?}");
            assert!(judged.told.contains("cannot be told: "), "{judged:?}");
        }
        for text in ["failed>0", "failed>0%", "429>1%", "tries>0", "cancelled>0%"] {
            assert!(
                !judged(text, &empty).is_true,
                "{text}: of none it is nothing"
            );
        }
    }

    #[test]
    fn shares_that_part_some_runs_from_others_are_taken() {
        for text in [
            "ok<100%",
            "failed>=100%",
            "failed<=0%",
            "failed>0%",
            "ratio<120%",
        ] {
            assert!(text.parse::<Condition>().is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_condition_is_told() {
        for (text, says) in [
            ("p99", "in quotes"),
            ("p99=500ms", "in quotes"),
            ("p99>", "in quotes"),
            (">5", "in quotes"),
            ("p99>>5", "in quotes"),
            ("failed!=>5", "in quotes"),
            ("p99>5%", "p99 is a time, 5% is a share; write p99>500ms"),
            ("p99>9/s", "p99 is a time, 9/s is a rate"),
            (
                "failed>1s",
                "failed is a count, 1s is a time; write failed>10 or 1%",
            ),
            (
                "tries>1%",
                "tries is a count, 1% is a share; write tries>10",
            ),
            ("failed>1.5", "failed is a count, 1.5 is a number"),
            (
                "rate<9ms",
                "rate is a rate, 9ms is a time; write rate<9.5/s",
            ),
            (
                "ratio<5",
                "ratio is a share, 5 is a number; write ratio<90%",
            ),
            ("p99>fast", "\"fast\" is no value; write p99>500ms"),
            ("failed>-1", "\"-1\" is no value"),
            ("p100>1s", "no figure is called \"p100\", did you mean max?"),
            ("due_p100>1s", "did you mean due_max?"),
            ("failed>101%", "so this is never true"),
            ("failed>100%", "so this is never true"),
            ("failed>=0%", "so this is always true"),
            ("ok<101%", "so this is always true"),
            ("5xx<=100%", "so this is always true"),
            ("late<0%", "so this is never true"),
            ("p0>1s", "no figure is called"),
            ("p999>1s", "did you mean p99.9?"),
            ("faild>1", "did you mean failed?"),
            ("due_p999>1", "did you mean due_p99.9?"),
            ("ttft_p100>1s", "did you mean ttft_max?"),
            ("tftt_p99>1s", "did you mean ttft_p99?"),
            ("P99>1s", "did you mean p99?"),
            ("retires>1", "did you mean retries?"),
            ("600>1", "there are p50"),
            ("latency>1s", "there are p50"),
        ] {
            let why = why(text);
            assert!(why.contains(says), "{text}: {why}");
        }
        assert!(!why("latency>1s").contains("did you mean"));
    }
}
