//! When jobs are due: as they can go, at a rate that may change with time, or when they were recorded. Floor 3: rules.

mod due;
mod gaps;
mod ramp;
mod speed;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use due::Due;
pub use gaps::Gaps;
pub use ramp::Ramp;
pub use speed::Speed;

/// When jobs are due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// As slots and limits allow.
    #[default]
    Closed,
    /// All at the start.
    Once,
    /// At these rates, and so far apart.
    Paced(Ramp, Gaps),
    /// When they were recorded, so many times as fast.
    Replay(Speed),
}

impl Arrivals {
    /// Whether each job has a moment at which it is due, whatever limits and slots allow.
    pub fn are_scheduled(&self) -> bool {
        match self {
            Self::Closed => false,
            Self::Once | Self::Paced(..) | Self::Replay(_) => true,
        }
    }

    /// When the last job is due, if there is a moment after which none is.
    pub fn end(&self) -> Option<Duration> {
        match self {
            Self::Paced(ramp, _) => ramp.ends(),
            Self::Closed | Self::Once | Self::Replay(_) => None,
        }
    }

    /// The same in options: `--arrivals even --qps 10`, `--replay --speed 2x`.
    pub fn as_options(&self) -> String {
        match self {
            Self::Closed | Self::Once => format!("--arrivals {self}"),
            Self::Paced(ramp, gaps) => match (ramp.constant(), gaps) {
                (Some(rate), _) => format!("--arrivals {gaps} --qps {rate}"),
                (None, Gaps::Even) => format!("--ramp {ramp}"),
                (None, Gaps::Poisson) => format!("--ramp {ramp} --arrivals {gaps}"),
            },
            Self::Replay(speed) if *speed == Speed::default() => "--replay".to_owned(),
            Self::Replay(speed) => format!("--replay --speed {speed}"),
        }
    }
}

impl fmt::Display for Arrivals {
    /// As it is read back: `closed`, `even 10`, `even 10@0s,20@1m`, `replay 2x`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => out.write_str("closed"),
            Self::Once => out.write_str("once"),
            Self::Paced(ramp, gaps) => write!(out, "{gaps} {ramp}"),
            Self::Replay(speed) => write!(out, "replay {speed}"),
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.split_once(' ') {
            None if text == "closed" => Self::Closed,
            None if text == "once" => Self::Once,
            Some(("replay", speed)) => Self::Replay(speed.parse()?),
            Some((gaps, ramp)) if ramp.contains('@') => Self::Paced(ramp.parse()?, gaps.parse()?),
            Some((gaps, rate)) => Self::Paced(Ramp::of(rate.parse()?)?, gaps.parse()?),
            None => {
                return Err(
                    "write closed, once, even RAMP, poisson RAMP or replay SPEED".to_owned(),
                );
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read_back_from_its_words() {
        for (text, options) in [
            ("closed", "--arrivals closed"),
            ("once", "--arrivals once"),
            ("even 10", "--arrivals even --qps 10"),
            ("poisson 600rpm", "--arrivals poisson --qps 600rpm"),
            ("even 10@0s", "--ramp 10@0s"),
            ("even 0@0s,100/s@1m", "--ramp 0@0s,100/s@1m"),
            ("poisson 5@1s,9@2s", "--ramp 5@1s,9@2s --arrivals poisson"),
            ("replay 1x", "--replay"),
            ("replay 2.5x", "--replay --speed 2.5x"),
        ] {
            let arrivals: Arrivals = text.parse().unwrap();
            assert_eq!(arrivals.to_string(), text);
            assert_eq!(arrivals.as_options(), options);
        }
        for text in [
            "",
            "open",
            "even",
            "even ten",
            "evenly 10@0s",
            "replay",
            "replay x",
        ] {
            assert!(text.parse::<Arrivals>().is_err(), "{text}");
        }
    }
}
