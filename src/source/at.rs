//! When a job was recorded: `at`, as seconds or as an RFC 3339 date. Floor 4: doors.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use super::draft::{Fault, Spot};
use crate::job::Place;

/// The field of a record that says when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp<'a> {
    /// What it is called there.
    pub(super) name: Cow<'a, str>,
    /// What it says; `None` if it is not there.
    pub(super) at: Option<At<'a>>,
    /// How it is written.
    pub(super) form: &'static str,
}

impl<'a> Stamp<'a> {
    /// That of a job.
    pub(super) fn of_job(at: Option<At<'a>>) -> Self {
        Self {
            name: Cow::Borrowed("at"),
            at,
            form: "write seconds from 0 (0.250), or a date of RFC 3339 (\"2026-11-30T09:00:00.250Z\")",
        }
    }
}

/// When a record says that it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At<'a> {
    /// A JSON value as it stands there, and where that is.
    Json(&'a str, Spot),
    /// The same of a text without quotes.
    Text(&'a str, Spot),
    /// Since the Unix epoch.
    Known(Duration),
    /// What its format cannot have there.
    Unread(Spot),
}

/// What the moments of an input count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// A start of their own.
    Start,
    /// 1970.
    Epoch,
}

/// Less is no date, however it is written: a recording takes less than the 31 years to 2001, and was made later.
const DATES: Duration = Duration::from_secs(1_000_000_000);

/// So many seconds are the year 5138, and as milliseconds 1973.
const MILLIS: Duration = Duration::from_secs(100_000_000_000);

/// The moment that a record says: seconds from a start, or since the Unix epoch.
fn read(stamp: &Stamp<'_>) -> Result<(Duration, Since), Fault> {
    let (name, form) = (&stamp.name, stamp.form);
    let at = stamp.at.ok_or_else(|| {
        let what = format!("{name:?} is missing, and the run is a replay");
        Fault::new(1, what, form)
    })?;
    let (moment, is_date, at) = match at {
        At::Known(moment) => (Some(moment), true, Spot::Byte(1)),
        At::Unread(at) => (None, true, at),
        At::Json(json, at) => match serde_json::from_str::<String>(json) {
            Ok(date) => (date_time(&date), true, at),
            Err(_) => (seconds(json), false, at),
        },
        At::Text(text, at) => match seconds(text) {
            None => (date_time(text), true, at),
            seconds => (seconds, false, at),
        },
    };
    match moment {
        None => Err(Fault::new(at, format!("{name:?} is no moment"), form)),
        Some(moment) if moment >= MILLIS && !is_date => {
            let what = format!("{name:?} is later than the year 5000: these may be milliseconds");
            Err(Fault::new(at, what, form))
        }
        Some(moment) if moment >= DATES => Ok((moment, Since::Epoch)),
        Some(moment) => Ok((moment, Since::Start)),
    }
}

/// The moments of all records of an input, whose differences count: all of them are counted from the same.
#[derive(Debug, Default)]
pub(super) struct Moments {
    /// What those so far count from, and where the first of them stands.
    first: Option<(Since, Place)>,
}

impl Moments {
    /// What a record says.
    pub(super) fn read(
        &mut self,
        stamp: &Stamp<'_>,
        place: impl FnOnce() -> Place,
    ) -> Result<Duration, Fault> {
        let (moment, since) = read(stamp)?;
        let (first, of) = self.first.get_or_insert_with(|| (since, place()));
        if *first == since {
            return Ok(moment);
        }
        let name = &stamp.name;
        let what = match since {
            Since::Start => format!("{name:?} is seconds from a start, and a date at {of}"),
            Since::Epoch => format!("{name:?} is a date, and seconds from a start at {of}"),
        };
        let mend = "count all from the same: write dates, or seconds from 0, in every line";
        let at = stamp.at.map_or(Spot::Byte(1), At::spot);
        Err(Fault::new(at, what, mend))
    }
}

impl At<'_> {
    /// Where it stands.
    fn spot(self) -> Spot {
        match self {
            Self::Json(_, at) | Self::Text(_, at) | Self::Unread(at) => at,
            Self::Known(_) => Spot::Byte(1),
        }
    }
}

/// Nobody can replay a job of which nothing can say when it was.
pub(super) fn nowhere() -> Fault {
    let what = "nothing says when it was, and the run is a replay";
    let mend = "give jobs with \"at\" (--format jsonl), or a rate of your own in place of --replay (--qps, --ramp)";
    Fault::new(1, what, mend)
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = serde_json::from_str(text).ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// RFC 3339 §5.6, from 1970 on.
pub(super) fn date_time(text: &str) -> Option<Duration> {
    let local = |date: &str| {
        let date = humantime::parse_rfc3339(&format!("{date}Z")).ok()?;
        date.duration_since(SystemTime::UNIX_EPOCH).ok()
    };
    if let Some(date) = text.strip_suffix(['Z', 'z']) {
        return local(date);
    }
    let (date, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |digits: &str, most: u64| {
        let plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain.then(|| digits.parse::<u64>().ok())??;
        (number <= most).then_some(number)
    };
    let offset_by = number(hours, 23)? * 3600 + number(minutes, 59)? * 60;
    let offset_by = Duration::from_secs(offset_by);
    match offset.as_bytes()[0] {
        b'+' => local(date)?.checked_sub(offset_by),
        b'-' => local(date)?.checked_add(offset_by),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(at: At<'_>) -> Stamp<'_> {
        Stamp::of_job(Some(at))
    }

    fn millis(text: &str) -> Option<u128> {
        read(&stamp(At::Json(text, Spot::Byte(9))))
            .ok()
            .map(|(at, _)| at.as_millis())
    }

    #[test]
    fn a_moment_is_seconds_or_a_date() {
        for (text, at) in [
            ("0", 0),
            ("0.250", 250),
            ("1e3", 1_000_000),
            ("1795993200.5", 1_795_993_200_500),
            ("\"1970-01-01T00:00:01.5Z\"", 1_500),
            ("\"1970-01-01T02:00:01+02:00\"", 1_000),
            ("\"1970-01-01T00:00:01-00:30\"", 1_801_000),
        ] {
            assert_eq!(millis(text), Some(at), "{text}");
        }
    }

    #[test]
    fn a_text_needs_no_quotes() {
        for (text, at) in [("0.25", 250), ("1970-01-01T00:00:01.5Z", 1_500)] {
            assert_eq!(
                read(&stamp(At::Text(text, Spot::Byte(1))))
                    .unwrap()
                    .0
                    .as_millis(),
                at
            );
        }
        assert_eq!(
            read(&stamp(At::Text("noon", Spot::Cell(4))))
                .unwrap_err()
                .at,
            Spot::Cell(4)
        );
    }

    #[test]
    fn what_counts_from_another_moment_than_the_first_is_told_with_the_place_of_that() {
        let place = |line| move || Place::new("a.jsonl", line);
        let mut moments = Moments::default();
        let mut at = |text, line| moments.read(&stamp(At::Json(text, Spot::Byte(7))), place(line));
        assert!(at("\"2026-11-30T09:00:00Z\"", 3).is_ok());
        assert!(
            at("1795993200.5", 4).is_ok(),
            "seconds since 1970 are a date"
        );
        let told = at("0.25", 5).unwrap_err();
        assert_eq!(
            told.what,
            "\"at\" is seconds from a start, and a date at a.jsonl:3"
        );
        let mut moments = Moments::default();
        let mut at = |text, line| moments.read(&stamp(At::Text(text, Spot::Cell(2))), place(line));
        assert!(at("0", 2).is_ok() && at("86400.5", 3).is_ok());
        let told = at("2026-11-30T09:00:00Z", 4).unwrap_err();
        assert_eq!(
            told.what,
            "\"at\" is a date, and seconds from a start at a.jsonl:2"
        );
        assert_eq!(told.at, Spot::Cell(2));
    }

    #[test]
    fn nonsense_is_told_with_its_column_and_both_forms() {
        for text in [
            "-1",
            "1e99",
            "1795993200500",
            "true",
            "[]",
            "\"\"",
            "\"0.25\"",
            "\"yesterday\"",
            "\"1970-01-01T00:00:01\"",
            "\"1970-01-01T00:00:01+2:00\"",
            "\"1970-01-01T00:00:01+24:00\"",
            "\"1970-01-01T00:00:01ä00:00\"",
            "\"1970-13-01T00:00:01Z\"",
            "\"1970-01-01T00:00:01+02:00\\u0000\"",
        ] {
            let why = read(&stamp(At::Json(text, Spot::Byte(9)))).expect_err(text);
            assert_eq!(why.at, Spot::Byte(9), "{text}");
            assert!(why.mend.contains("0.250") && why.mend.contains("RFC 3339"));
        }
    }
}
