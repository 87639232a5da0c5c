//! When a job was recorded: `at`, as seconds or as an RFC 3339 date. Floor 4: doors.

use std::time::{Duration, SystemTime};

use super::draft::{Fault, Spot};

/// When a record says that it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At<'a> {
    /// A JSON value as it stands there, and where that is.
    Json(&'a str, Spot),
    /// The same of a text without quotes.
    Text(&'a str, Spot),
    /// Seconds, or since the Unix epoch.
    Known(Duration),
}

/// The moment that a record says: seconds, or since the Unix epoch. Only differences count.
pub(super) fn read(at: At<'_>) -> Result<Duration, Fault> {
    let (said, at) = match at {
        At::Known(moment) => return Ok(moment),
        At::Json(json, at) => match serde_json::from_str::<String>(json) {
            Ok(date) => (date_time(&date), at),
            Err(_) => (seconds(json), at),
        },
        At::Text(text, at) => (seconds(text).or_else(|| date_time(text)), at),
    };
    said.ok_or_else(|| Fault::new(at, "\"at\" is no moment", MEND))
}

/// Nobody can replay a job of which nothing says when it was.
pub(super) fn missing() -> Fault {
    Fault::new(1, "\"at\" is missing, and the run is a replay", MEND)
}

const MEND: &str =
    "write seconds from 0 (0.250), or a date of RFC 3339 (\"2026-11-30T09:00:00.250Z\")";

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

    fn millis(text: &str) -> Option<u128> {
        read(At::Json(text, Spot::Byte(9)))
            .ok()
            .map(|at| at.as_millis())
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
            assert_eq!(read(At::Text(text, Spot::Byte(1))).unwrap().as_millis(), at);
        }
        assert_eq!(
            read(At::Text("noon", Spot::Cell(4))).unwrap_err().at,
            Spot::Cell(4)
        );
    }

    #[test]
    fn nonsense_is_told_with_its_column_and_both_forms() {
        for text in [
            "-1",
            "1e99",
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
            let why = read(At::Json(text, Spot::Byte(9))).expect_err(text);
            assert_eq!(why.at, Spot::Byte(9), "{text}");
            assert!(why.mend.contains("0.250") && why.mend.contains("RFC 3339"));
        }
    }
}
