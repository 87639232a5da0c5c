//! What all have learnt of the limits of servers, as the script tells it. Floor 4: doors.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::limit::{Known, Pace, Standing};
use crate::units::Tick;

/// What is known of one state.
#[derive(Debug)]
pub(super) struct Lore {
    /// What the state is called.
    pub(super) key: String,
    /// Another one tells something else.
    pub(super) version: u64,
    /// Moments count from now.
    pub(super) known: Known,
}

/// The same in the words of the script. Large numbers are texts, which no writer rounds; paces are millionths.
#[derive(Debug, Deserialize)]
struct Written {
    key: String,
    version: String,
    pace: Option<String>,
    mean: Option<String>,
    refused: u64,
    used_up: u64,
    told: Option<Vec<Told>>,
}

/// Spans are microseconds.
#[derive(Debug, Deserialize)]
struct Told {
    name: String,
    limit: Option<String>,
    period: Option<String>,
    left: Option<String>,
    /// From now.
    full: Option<String>,
    refills: bool,
}

/// Reads it; `None` if it cannot be read.
pub(super) fn lore_of(text: &str) -> Option<Vec<Lore>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let all: Vec<Written> = serde_json::from_str(text).ok()?;
    all.into_iter().map(Written::lore).collect()
}

/// One of them, for those who only look.
pub(super) fn lore(seen: &Value) -> Option<Lore> {
    Written::deserialize(seen).ok()?.lore()
}

impl Written {
    fn lore(self) -> Option<Lore> {
        let told = self.told.unwrap_or_default().into_iter();
        let told = told.map(Told::standing).collect::<Option<_>>()?;
        let pace = |text: Option<String>| Some(number(text)?.map(Pace::of_millionths));
        Some(Lore {
            key: self.key,
            version: self.version.parse().ok()?,
            known: Known {
                pace: pace(self.pace)?,
                mean: pace(self.mean)?,
                refused: self.refused,
                used_up: self.used_up,
                told,
            },
        })
    }
}

impl Told {
    fn standing(self) -> Option<Standing> {
        let full = number(self.full)?.map(Duration::from_micros);
        Some(Standing {
            at: Tick::ZERO,
            name: self.name.into(),
            limit: number(self.limit)?,
            period: number(self.period)?.map(Duration::from_micros),
            left: number(self.left)?,
            full_at: full.map(|full| Tick::ZERO.after(full)),
            refills: self.refills,
        })
    }
}

/// A number that need not be there; `None` where it is none.
#[expect(
    clippy::option_option,
    reason = "none is there, or what is there is none"
)]
fn number(text: Option<String>) -> Option<Option<u64>> {
    match text {
        None => Some(None),
        Some(text) => text.parse().ok().map(Some),
    }
}
