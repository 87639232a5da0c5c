//! How many times as fast as it was recorded a run goes: `2x`. Floor 3: rules.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::units::decimal;

/// A factor above zero, as a fraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speed {
    times: u64,
    /// Divided by this.
    by: u64,
}

impl Default for Speed {
    /// As it was recorded.
    fn default() -> Self {
        Self { times: 1, by: 1 }
    }
}

impl Speed {
    /// What a span of the record takes, rounded up to the nanosecond; at most 584 years.
    pub fn span(&self, recorded: Duration) -> Duration {
        let nanos = recorded.as_nanos().saturating_mul(self.by.into());
        let nanos = nanos.div_ceil(self.times.into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut part) = (self.times / self.by, self.times % self.by);
        write!(out, "{whole}")?;
        if part > 0 {
            out.write_str(".")?;
        }
        // The divisor has no other factors than those of ten.
        while part > 0 {
            let next = u128::from(part) * 10;
            write!(out, "{}", next / u128::from(self.by))?;
            part = u64::try_from(next % u128::from(self.by)).expect("it is below the divisor");
        }
        out.write_str("x")
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number = text.strip_suffix('x').unwrap_or(text);
        match decimal(number) {
            Some((times @ 1.., by)) => Ok(Self { times, by }),
            Some(_) | None => {
                Err("write a factor above 0: 2x is twice as fast, 0.5x half".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_divided_exactly_and_rounded_up() {
        for (text, shown, nanos) in [
            ("2x", "2x", 500_000_000),
            ("60", "60x", 16_666_667),
            ("0.5x", "0.5x", 2_000_000_000),
            ("1.25x", "1.25x", 800_000_000),
            ("1k", "1000x", 1_000_000),
        ] {
            let speed: Speed = text.parse().unwrap();
            assert_eq!(speed.to_string(), shown);
            assert_eq!(shown.parse::<Speed>(), Ok(speed.clone()));
            let second = Duration::from_secs(1);
            assert_eq!(speed.span(second), Duration::from_nanos(nanos), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_speed() {
        for text in ["", "x", "0x", "0", "-1x", "nan", "2xx", "fast", "1e99x"] {
            let why = text.parse::<Speed>().unwrap_err();
            assert!(
                why.contains("above 0") && why.contains("2x"),
                "{text}: {why}"
            );
        }
    }
}
