//! Moments as headers write them, as the time until then. Floor 3: rules.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::span;
use crate::units::nanos;

/// The three forms of RFC 9110 §5.6.7.
pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text).ok()
}

/// The time from `now` to an HTTP-date, zero if it is past.
pub(super) fn until_http_date(text: &str, now: SystemTime) -> Option<Duration> {
    Some(until(http_date(text)?, now))
}

/// The time from `now` to a moment by RFC 3339, in UTC; zero if it is past.
pub(super) fn until_rfc3339(text: &str, now: SystemTime) -> Option<Duration> {
    Some(until(humantime::parse_rfc3339(text).ok()?, now))
}

/// The time from `now` to a moment in seconds since the Unix epoch, zero if it is past.
pub(super) fn until_epoch(text: &str, now: SystemTime) -> Option<Duration> {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(span::seconds(text)?.saturating_sub(since))
}

/// At most 584 years.
fn until(at: SystemTime, now: SystemTime) -> Duration {
    let span = at.duration_since(now).unwrap_or_default();
    Duration::from_nanos(nanos(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T12:00:00Z.
    const NOON: u64 = 1_796_040_000;

    fn noon() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOON)
    }

    #[test]
    fn a_moment_of_rfc_3339_is_in_utc() {
        for (text, millis) in [
            ("2026-11-30T12:00:07Z", 7_000),
            ("2026-11-30T12:00:00.250Z", 250),
            ("2026-11-30T12:01:00+00:00", 60_000),
            ("2026-11-30T11:59:59Z", 0),
        ] {
            let span = until_rfc3339(text, noon());
            assert_eq!(span, Some(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "2026-11-30T12:00:07",
            "2026-11-30T12:00:07+02:00",
            "7",
            "2026-13-30T12:00:07Z",
        ] {
            assert_eq!(until_rfc3339(text, noon()), None, "{text}");
        }
    }

    #[test]
    fn seconds_since_the_epoch_may_have_a_fraction() {
        let until = |text: &str| until_epoch(text, noon());
        assert_eq!(until("1796040060"), Some(Duration::from_secs(60)));
        assert_eq!(until("1796040000.470"), Some(Duration::from_millis(470)));
        assert_eq!(until("60"), Some(Duration::ZERO), "it is past");
        assert_eq!(until("-1"), None);
        assert!(until(&"9".repeat(60)).is_some());
    }
}
