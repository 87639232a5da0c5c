//! The page of `status`: who shares limits, and what is left of each. Floor 4: doors.

use std::time::Duration;

use serde_json::{Value, json};

use super::page::{Look, Page, Tone};
use crate::store::status::{SPAN, Status};
use crate::terminal::Columns;
use crate::units::{counted, exact_span, show_moment, show_span, three_digits};

/// What a store was seen to hold.
#[derive(Debug)]
pub struct SharedPage<'a> {
    /// Under which name.
    pub name: &'a str,
    /// Where, without user and password.
    pub address: String,
    /// That.
    pub seen: Status,
}

impl SharedPage<'_> {
    /// The page for people.
    pub fn text(&self, columns: Columns) -> String {
        let mut page = Page::new(Look {
            columns,
            ..Look::default()
        });
        let (members, limits) = (&self.seen.members, &self.seen.limits);
        let runs = match members.len() {
            0 => "nobody shares them now".to_owned(),
            runs => counted(runs as u64, "run"),
        };
        page.section(
            "SHARED",
            &format!("{} at {}: {runs}", self.name, self.address),
            Tone::Calm,
        );
        for member in members {
            let told = format!(
                "since {}, heard {} ago, {} in its last call",
                show_moment(member.since),
                show_span(member.heard),
                counted(member.asks, "ask")
            );
            page.hung(&format!("  {}  ", member.place), 4, &told);
        }
        if limits.is_empty() {
            page.section("LIMITS", "none, and none of late", Tone::Calm);
        }
        for (nth, limit) in limits.iter().enumerate() {
            page.section(
                if nth == 0 { "LIMITS" } else { "" },
                &limit.text,
                Tone::Calm,
            );
            let now = match limit.now {
                Some((fits, waiting)) => format!(
                    "{fits} of {} free, {} waiting",
                    limit.most,
                    counted(waiting, "run")
                ),
                None => "one for each value of its key".to_owned(),
            };
            page.hung("  now     ", 4, &now);
            let minute = SPAN * u32::try_from(limit.used.len()).unwrap_or(1);
            let all: i64 = limit.used.iter().sum();
            let used = format!(
                "{all} in {} = {}/s",
                exact_span(minute),
                per_second(all, minute)
            );
            page.hung("  used    ", 4, &used);
            let spans = limit.used.iter().map(ToString::to_string);
            let spans = spans.collect::<Vec<_>>().join(" ");
            page.hung(&format!("  each {} ", exact_span(SPAN)), 4, &spans);
        }
        page.into_text()
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        let members = self.seen.members.iter().map(|member| {
            json!({
                "place": member.place,
                "since_us": micros(member.since),
                "heard_us_ago": micros(member.heard),
                "asks": member.asks,
            })
        });
        let limits = self.seen.limits.iter().map(|limit| {
            json!({
                "limit": limit.text,
                "most": limit.most,
                "free": limit.now.map(|(fits, _)| fits),
                "waiting": limit.now.map(|(_, waiting)| waiting),
                "used_each_5s": limit.used,
            })
        });
        json!({
            "name": self.name,
            "store": self.address,
            "members": members.collect::<Vec<_>>(),
            "limits": limits.collect::<Vec<_>>(),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn per_second(units: i64, span: Duration) -> String {
    three_digits(units as f64 / span.as_secs_f64())
}
