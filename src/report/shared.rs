//! The page of `status`: who shares limits, and what is left of each. Floor 4: doors.

use std::time::Duration;

use serde_json::{Value, json};

use super::page::{Look, Page, Tone};
use crate::limit::{Known, Pace};
use crate::shared::{self, Lane, SPAN, Shared, Status};
use crate::terminal::Columns;
use crate::units::{counted, exact_span, millis, show_moment, show_span, three_digits};

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
            let now = match (limit.now, &limit.learnt) {
                (Some((fits, waiting)), _) => format!(
                    "{fits} of {} free, {} waiting",
                    limit.most,
                    counted(waiting, "run")
                ),
                (None, None) => of_values(limit),
                (None, Some(lanes)) => match &lanes[..] {
                    [] => "nothing is known of the limit of a server".to_owned(),
                    [lane] => known(&lane.known),
                    lanes => {
                        let each = lanes.iter();
                        let each = each.map(|lane| format!("{} {}", lane.name, known(&lane.known)));
                        each.collect::<Vec<_>>().join("; ")
                    }
                },
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
                "values": limit.values.iter().map(value).collect::<Vec<_>>(),
                "learnt": limit.learnt.as_ref().map(|lanes| lanes.iter().map(learnt).collect::<Vec<_>>()),
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

/// `1f3a09bc12de 3 of 10 free, 2 runs waiting`, of each.
fn of_values(limit: &Shared) -> String {
    let each = limit.values.iter().map(|value| {
        format!(
            "{} {} of {} free, {} waiting",
            value.name,
            value.fits,
            limit.most,
            counted(value.waiting, "run")
        )
    });
    let each = each.collect::<Vec<_>>().join("; ");
    if each.is_empty() {
        "one for each value of its key".to_owned()
    } else {
        each
    }
}

fn value(value: &shared::Value) -> Value {
    json!({
        "value": value.name,
        "free": value.fits,
        "waiting": value.waiting,
    })
}

/// `84.0/s (refused 2 times); tells 100 in 1s`.
fn known(known: &Known) -> String {
    let counts = [(known.refused, "refused"), (known.used_up, "used up")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, how)| format!("{how} {}", counted(*count, "time")));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let pace = known.pace.map(|pace| match &*counts {
        "" => format!("{pace}"),
        counts => format!("{pace} ({counts})"),
    });
    let told = known.told.iter().filter_map(|told| {
        let limit = told.limit?;
        Some(match told.period {
            Some(period) => format!("tells {limit}/{}", exact_span(period)),
            None => format!("tells {limit}, and not in which time"),
        })
    });
    pace.into_iter().chain(told).collect::<Vec<_>>().join(", ")
}

fn learnt(lane: &Lane) -> Value {
    let told = lane.known.told.iter().map(|told| {
        json!({
            "name": told.name,
            "limit": told.limit,
            "period_ms": told.period.map(millis),
        })
    });
    json!({
        "lane": lane.name,
        "per_s": lane.known.pace.map(Pace::per_second),
        "mean_per_s": lane.known.mean.map(Pace::per_second),
        "refused": lane.known.refused,
        "used_up": lane.known.used_up,
        "told": told.collect::<Vec<_>>(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn per_second(units: i64, span: Duration) -> String {
    three_digits(units as f64 / span.as_secs_f64())
}
