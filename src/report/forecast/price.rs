//! What units cost. Floor 4: doors.

use std::str::FromStr;

use crate::outcome::{Spent, UnitsSpent};
use crate::units::parse_count;

/// The price of so many units: of all, or of input and output apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// As it was written.
    pub written: String,
    parts: Vec<(Part, f64)>,
}

/// What a price is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Input,
    Output,
}

/// The spellings that [`Price`] takes, for messages.
const FORMS: &str =
    "write PRICE/UNITS, both above zero, or of the parts: 2.5/1M, input:2.5/1M,output:10/1M";

impl Price {
    /// What it makes of units that were used, and of the same as they were reserved.
    pub fn of(&self, units: UnitsSpent) -> (f64, f64) {
        let sum = |get: fn(Spent) -> u64| {
            let each = self.parts.iter().map(|(part, each)| {
                let spent = match part {
                    Part::All => units.total,
                    Part::Input => units.input,
                    Part::Output => units.output,
                };
                as_float(get(spent)) * each
            });
            each.sum()
        };
        (sum(|spent| spent.used), sum(|spent| spent.reserved))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a price is shown with two decimals"
)]
fn as_float(count: u64) -> f64 {
    count as f64
}

impl FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts: Vec<(Part, f64)> = Vec::new();
        for piece in text.split(',') {
            let piece = piece.trim();
            let (part, rate) = match piece.split_once(':') {
                None => (Part::All, piece),
                Some(("input", rate)) => (Part::Input, rate),
                Some(("output", rate)) => (Part::Output, rate),
                Some(_) => return Err(FORMS.to_owned()),
            };
            let clashes =
                |(own, _): &(Part, f64)| *own == part || *own == Part::All || part == Part::All;
            if parts.iter().any(clashes) {
                return Err(FORMS.to_owned());
            }
            parts.push((part, each(rate).ok_or(FORMS)?));
        }
        Ok(Self {
            written: text.to_owned(),
            parts,
        })
    }
}

/// The price of one unit.
fn each(rate: &str) -> Option<f64> {
    let (price, units) = rate.split_once('/')?;
    let plain = price
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let price: f64 = price.parse().ok().filter(|_| plain)?;
    let units = parse_count(units).ok()?;
    (price > 0.0 && price.is_finite()).then(|| price / as_float(units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units() -> UnitsSpent {
        let spent = |reserved, used| Spent { reserved, used };
        UnitsSpent {
            total: spent(3_000_000, 1_500_000),
            input: spent(1_000_000, 1_000_000),
            output: spent(2_000_000, 500_000),
        }
    }

    #[test]
    fn units_cost_what_was_used_and_at_most_what_was_reserved() {
        let cost = |text: &str| text.parse::<Price>().unwrap().of(units());
        assert_eq!(cost("2/1M"), (3.0, 6.0));
        assert_eq!(cost("0.002/1k"), (3.0, 6.0));
        assert_eq!(cost("input:2.5/1M,output:10/1M"), (7.5, 22.5));
        assert_eq!(cost("output:10/1M"), (5.0, 20.0));
    }

    #[test]
    fn nonsense_is_no_price() {
        for text in [
            "",
            "0",
            "2",
            "0/1M",
            "-1/1M",
            "nan/1M",
            "inf/1M",
            "1e3/1M",
            "2/0",
            "2/-1",
            "2/x",
            "2/1M/2",
            "/1M",
            "2/",
            "./1M",
            "cached:1/1M",
            "2/1M,3/1M",
            "input:1/1M,input:2/1M",
            "2/1M,input:1/1M",
            "input:1/1M,",
        ] {
            let why = text.parse::<Price>().expect_err(text);
            assert!(why.contains("input:2.5/1M"), "{text}: {why}");
        }
    }
}
