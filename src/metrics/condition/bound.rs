//! What a figure is compared with, and how: `>500ms`, `<=1%`, `<9.5/s`. Floor 3: rules.

use std::time::Duration;

use crate::units::{Rate, decimal, millis, parse_duration, show_span, three_digits};

/// How a figure is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

impl Op {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// Whether `value op bound` is true; nothing is true of what has no order.
    fn holds<T: PartialOrd + Copy>(self, value: T, bound: T) -> bool {
        match self {
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
        }
    }
}

/// A figure beside what it is compared with, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// `812 ms`, `3 %`.
    pub figure: String,
    /// `> 500 ms`, `> 1 %`.
    pub bound: String,
    /// ` (30 of 1000)`; empty if it is no share of a count.
    pub parts: String,
}

/// What a figure is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A time.
    Time(Duration),
    /// So many.
    Count(u64),
    /// Per cent, as `number / scale`, so that no comparison of counts is rounded.
    Share {
        /// Its digits.
        number: u64,
        /// What they are divided by.
        scale: u64,
    },
    /// Per second.
    Rate(f64),
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A time.
    Time(Duration),
    /// So many of so many.
    Count {
        /// How many.
        count: u64,
        /// Of how many; `None` if a share of them means nothing.
        of: Option<u64>,
    },
    /// Per cent.
    Share(f64),
    /// Per second.
    Rate(f64),
}

/// What a value is, for messages: `a time`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Count,
    Share,
    Rate,
    /// A bare number: seconds, how many, or per second.
    Number,
}

impl Unit {
    /// With its article.
    pub(super) fn named(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Count => "a count",
            Self::Share => "a share",
            Self::Rate => "a rate",
            Self::Number => "a number",
        }
    }

    /// What a value written like this is; `None` if it is nothing of all that.
    pub(super) fn of(text: &str) -> Option<Self> {
        if decimal(text).is_some() {
            Some(Self::Number)
        } else if share(text).is_some() {
            Some(Self::Share)
        } else if text.parse::<Rate>().is_ok() {
            Some(Self::Rate)
        } else {
            parse_duration(text).is_ok().then_some(Self::Time)
        }
    }
}

/// A share of at least nothing, in per cent.
fn share(text: &str) -> Option<Bound> {
    let (number, scale) = decimal(text.strip_suffix('%')?.trim_end())?;
    Some(Bound::Share { number, scale })
}

impl Bound {
    /// The bound that `text` is for a figure of this unit; `None` if it is none.
    pub(super) fn read(text: &str, unit: Unit) -> Option<Self> {
        match unit {
            Unit::Time => parse_duration(text).ok().map(Self::Time),
            Unit::Count => match decimal(text) {
                Some((count, 1)) => Some(Self::Count(count)),
                Some(_) => None,
                None => share(text),
            },
            Unit::Share | Unit::Number => share(text),
            Unit::Rate => {
                let rate = text.parse::<Rate>();
                rate.ok().map(|rate| Self::Rate(rate.per_second()))
            }
        }
    }

    /// A count, or a share of one; `None` if `text` is neither.
    pub fn counted(text: &str) -> Option<Self> {
        Self::read(text, Unit::Count)
    }

    /// What is wrong with a share that all shares of a count are on the same side of.
    pub fn open(&self, op: Op, name: &str) -> Result<(), String> {
        let Self::Share { number, scale } = self else {
            return Ok(());
        };
        let all = 100 * u128::from(*scale);
        let number = u128::from(*number);
        let least = op.holds(0, number);
        let most = op.holds(all, number);
        if least != most {
            return Ok(());
        }
        let ever = if least { "always" } else { "never" };
        let sign = op.sign();
        Err(format!(
            "{name} is from 0 % to 100 %, so this is {ever} true; write a share between them: {name}{sign}5%"
        ))
    }

    /// Whether `figure op self`; false if they cannot be compared.
    pub fn holds(&self, op: Op, figure: Figure) -> bool {
        match (self, figure) {
            (Self::Time(bound), Figure::Time(time)) => op.holds(time, *bound),
            (Self::Rate(bound), Figure::Rate(rate)) => op.holds(rate, *bound),
            (Self::Count(bound), Figure::Count { count, .. }) => op.holds(count, *bound),
            (Self::Share { number, scale }, Figure::Count { count, of }) => {
                let wide = |number: u64| u128::from(number);
                let all = of.unwrap_or(0);
                op.holds(wide(count) * 100 * wide(*scale), wide(*number) * wide(all))
            }
            (Self::Share { number, scale }, Figure::Share(share)) => {
                op.holds(share, per_cent(*number, *scale))
            }
            (
                Self::Time(_) | Self::Rate(_) | Self::Count(_) | Self::Share { .. },
                Figure::Time(_) | Figure::Rate(_) | Figure::Count { .. } | Figure::Share(_),
            ) => false,
        }
    }

    /// Both with as many digits as tell them apart.
    pub fn compared(&self, op: Op, figure: Figure) -> Compared {
        let (own, its) = (self.shown(), self.of_its_kind(figure));
        let (own, its) = if own == its {
            (self.in_full(), self.of_its_kind_in_full(figure))
        } else {
            (own, its)
        };
        let parts = match (self, figure) {
            (
                Self::Share { .. },
                Figure::Count {
                    count,
                    of: Some(of),
                },
            ) => {
                format!(" ({count} of {of})")
            }
            (
                Self::Time(_) | Self::Rate(_) | Self::Count(_) | Self::Share { .. },
                Figure::Time(_) | Figure::Rate(_) | Figure::Count { .. } | Figure::Share(_),
            ) => String::new(),
        };
        Compared {
            figure: its,
            bound: format!("{} {own}", op.sign()),
            parts,
        }
    }

    /// For people.
    pub fn shown(&self) -> String {
        match self {
            Self::Time(time) => show_span(*time),
            Self::Count(count) => count.to_string(),
            Self::Share { number, scale } => format!("{} %", per_cent(*number, *scale)),
            Self::Rate(rate) => format!("{}/s", three_digits(*rate)),
        }
    }

    fn in_full(&self) -> String {
        match self {
            Self::Time(time) => format!("{} ms", millis(*time)),
            Self::Rate(rate) => format!("{}/s", six_decimals(*rate)),
            Self::Count(_) | Self::Share { .. } => self.shown(),
        }
    }

    /// The figure as it is compared with this: a count may be a share.
    fn of_its_kind(&self, figure: Figure) -> String {
        match figure {
            Figure::Time(time) => show_span(time),
            Figure::Rate(rate) => format!("{}/s", three_digits(rate)),
            Figure::Share(share) => format!("{} %", plain(share)),
            Figure::Count { count, .. } => match self.value(figure) {
                Some(share) => format!("{} %", plain(share)),
                None => count.to_string(),
            },
        }
    }

    fn of_its_kind_in_full(&self, figure: Figure) -> String {
        match (figure, self.value(figure)) {
            (Figure::Time(time), _) => format!("{} ms", millis(time)),
            (Figure::Rate(rate), _) => format!("{}/s", six_decimals(rate)),
            (Figure::Share(share), _) | (Figure::Count { .. }, Some(share)) => {
                format!("{} %", six_decimals(share))
            }
            (Figure::Count { count, .. }, None) => count.to_string(),
        }
    }

    /// The share that a count is, if this is one: of none it is nothing.
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    fn value(&self, figure: Figure) -> Option<f64> {
        match (self, figure) {
            (Self::Share { .. }, Figure::Count { count, of }) => {
                let of = of.unwrap_or(0);
                Some(if of == 0 {
                    0.0
                } else {
                    count as f64 * 100.0 / of as f64
                })
            }
            (
                Self::Time(_) | Self::Rate(_) | Self::Count(_) | Self::Share { .. },
                Figure::Time(_) | Figure::Rate(_) | Figure::Count { .. } | Figure::Share(_),
            ) => None,
        }
    }

    /// The figure as a number, with its unit: milliseconds, per cent, per second, or how many.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn number(&self, figure: Figure) -> (f64, Option<&'static str>) {
        match (figure, self.value(figure)) {
            (Figure::Time(time), _) => (millis(time), Some("ms")),
            (Figure::Rate(rate), _) => (rate, Some("/s")),
            (Figure::Share(share), _) | (Figure::Count { .. }, Some(share)) => (share, Some("%")),
            (Figure::Count { count, .. }, None) => (count as f64, None),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "it has few digits")]
fn per_cent(number: u64, scale: u64) -> f64 {
    number as f64 / scale as f64
}

/// Three digits, without zeros that say nothing.
fn plain(number: f64) -> String {
    let text = three_digits(number);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn six_decimals(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_compared_without_rounding() {
        let share = Bound::read("0.1%", Unit::Count).unwrap();
        for (count, of, above, at_least) in [
            (1, Some(1000), false, true),
            (2, Some(1999), true, true),
            (u64::MAX / 1000, Some(u64::MAX), false, false),
            (0, Some(0), false, true),
        ] {
            let figure = Figure::Count { count, of };
            assert_eq!(share.holds(Op::Above, figure), above, "{count} of {of:?}");
            assert_eq!(
                share.holds(Op::AtLeast, figure),
                at_least,
                "{count} of {of:?}"
            );
        }
    }

    #[test]
    fn what_is_compared_is_shown_with_the_digits_that_tell_it_apart() {
        let compared = |own: Bound, op, figure| {
            let Compared {
                figure,
                bound,
                parts,
            } = own.compared(op, figure);
            format!("{figure} {bound}{parts}")
        };
        let time = Bound::read("500ms", Unit::Time).unwrap();
        let figure = |micros| Figure::Time(Duration::from_micros(micros));
        assert_eq!(
            compared(time.clone(), Op::Above, figure(812_400)),
            "812 ms > 500 ms"
        );
        assert_eq!(
            compared(time, Op::Above, figure(500_223)),
            "500.223 ms > 500 ms"
        );
        let share = Bound::read("1%", Unit::Count).unwrap();
        let of = Some(100_000);
        let count = Figure::Count { count: 1001, of };
        assert_eq!(
            compared(share, Op::Above, count),
            "1.001 % > 1 % (1001 of 100000)"
        );
        let rate = Bound::read("9.5/s", Unit::Rate).unwrap();
        assert_eq!(
            compared(rate, Op::Below, Figure::Rate(9.499)),
            "9.499/s < 9.5/s"
        );
    }
}
