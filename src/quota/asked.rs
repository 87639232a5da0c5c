//! The wait that an answer asks for by a header of its own. Floor 3: rules.

use std::time::Duration;

use super::fields::Fields;
use super::{moment, span};

/// Fields that name a wait in milliseconds. `OpenAI` and Azure send the first (its client reads it before
/// `Retry-After`: openai-python, `_parse_retry_after_header`), Cosmos DB the second.
const MILLIS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// The wait that an answer asks for, rounded up to the next nanosecond: in milliseconds, else by
/// `Retry-After`. The longest if one is given twice; at most 584 years.
///
/// `None` if nothing is asked, or only what is malformed, zero or past.
pub(super) fn wait(fields: &Fields<'_>) -> Option<Duration> {
    millis(fields).or_else(|| retry_after(fields))
}

/// Milliseconds, with a fraction or without; or `00:00:00.033`, as the Gremlin API of Cosmos DB prints it.
fn millis(fields: &Fields<'_>) -> Option<Duration> {
    let values = MILLIS.iter().flat_map(|name| fields.values(name));
    longest(values.filter_map(|text| span::millis(text).or_else(|| span::clock(text))))
}

/// RFC 9110 §10.2.3: seconds (here with a fraction, too) or an HTTP-date in one of the three forms of
/// §5.6.7, which counts from [`Fields::now`].
pub(super) fn retry_after(fields: &Fields<'_>) -> Option<Duration> {
    let values = fields.values("retry-after");
    longest(values.filter_map(|text| {
        span::seconds(text).or_else(|| moment::until_http_date(text, fields.now()))
    }))
}

/// The longest of them that is not zero.
pub(super) fn longest(spans: impl Iterator<Item = Duration>) -> Option<Duration> {
    spans.filter(|span| !span.is_zero()).max()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::super::tests::{WALL, bytes, head_at};
    use super::*;

    const LONGEST: Duration = Duration::from_nanos(u64::MAX);
    const RETRY_AFTER: &str = "retry-after";
    const DATE: &str = "date";

    fn asked(fields: &[(&str, &[u8])]) -> Option<Duration> {
        retry_after(&Fields::of(&head_at(UNIX_EPOCH + WALL, 429, fields)))
    }

    fn alone(value: &str) -> Option<Duration> {
        asked(&[(RETRY_AFTER, value.as_bytes())])
    }

    /// By whichever header.
    fn any(fields: &[(&str, &str)]) -> Option<Duration> {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect();
        wait(&Fields::of(&head_at(UNIX_EPOCH + WALL, 429, &fields)))
    }

    #[test]
    fn seconds_are_taken_whole_fractional_and_spaced() {
        for (text, millis) in [
            ("2", 2_000),
            ("0.5", 500),
            ("  2  ", 2_000),
            ("1.50", 1_500),
        ] {
            assert_eq!(alone(text), Some(Duration::from_millis(millis)), "{text:?}");
        }
    }

    #[test]
    fn a_wait_is_rounded_up_to_the_next_nanosecond() {
        assert_eq!(alone("0.00000000001"), Some(Duration::from_nanos(1)));
        assert_eq!(
            alone("1.0000000001"),
            Some(Duration::from_nanos(1_000_000_001))
        );
        assert_eq!(alone("1.0000000000"), Some(Duration::from_secs(1)));
    }

    #[test]
    fn the_longer_of_two_waits_holds() {
        let both: [(&str, &[u8]); 2] = [(RETRY_AFTER, b"2"), (RETRY_AFTER, b"5")];
        assert_eq!(asked(&both), Some(Duration::from_secs(5)));
    }

    #[test]
    fn what_is_malformed_or_zero_asks_nothing() {
        for text in [
            "", " ", "-1", "-0", "NaN", "inf", "1e400", "1m0s", "+2", "2s", ".5", "1.", "1.2.3",
            "0", "0.0", "2, 5", "soon", "0x10",
        ] {
            assert_eq!(alone(text), None, "{text:?}");
        }
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn a_number_too_large_is_the_longest_wait() {
        assert_eq!(alone("99999999999999999999"), Some(LONGEST));
        assert_eq!(alone(&"9".repeat(400)), Some(LONGEST));
        assert_eq!(alone("86400"), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn a_date_counts_in_each_of_its_three_forms() {
        for text in [
            "Sun, 06 Nov 1994 08:49:40 GMT",
            "Sunday, 06-Nov-94 08:49:40 GMT",
            "Sun Nov  6 08:49:40 1994",
        ] {
            assert_eq!(alone(text), Some(Duration::from_secs(3)), "{text}");
        }
        assert_eq!(alone("Fri, 31 Dec 9999 23:59:59 GMT"), Some(LONGEST));
    }

    #[test]
    fn a_past_date_and_another_zone_ask_nothing() {
        for text in [
            "Sun, 06 Nov 1994 07:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 17:49:40 +0900",
        ] {
            assert_eq!(alone(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_counts_from_the_clock_of_the_server() {
        let at = (RETRY_AFTER, b"Sun, 06 Nov 1994 09:49:40 GMT".as_slice());
        let date = (DATE, b"Sun, 06 Nov 1994 09:49:37 GMT".as_slice());
        assert_eq!(asked(&[at, date]), Some(Duration::from_secs(3)));
        assert_eq!(
            asked(&[at, (DATE, b"today")]),
            Some(Duration::from_secs(3_603))
        );
    }

    #[test]
    fn milliseconds_go_before_retry_after() {
        for (value, micros) in [
            ("1500", 1_500_000),
            ("0.5", 500),
            ("00:00:00.033", 33_000),
            ("00:01:02", 62_000_000),
        ] {
            let told = Some(Duration::from_micros(micros));
            for name in MILLIS {
                assert_eq!(any(&[(name, value)]), told, "{name}: {value}");
                assert_eq!(any(&[(RETRY_AFTER, "10"), (name, value)]), told);
            }
        }
        let both = [(MILLIS[0], "100"), (MILLIS[0], "300"), (MILLIS[1], "200")];
        assert_eq!(any(&both), Some(Duration::from_millis(300)));
    }

    #[test]
    fn milliseconds_that_ask_nothing_leave_it_to_retry_after() {
        for value in [
            "", "0", "-1", "NaN", "1e3", "soon", "1:2", "00:00:00", "1:2:3:4", "a:b:c",
        ] {
            assert_eq!(any(&[(MILLIS[0], value)]), None, "{value}");
            let both = [(MILLIS[0], value), (RETRY_AFTER, "10")];
            assert_eq!(any(&both), Some(Duration::from_secs(10)), "{value}");
        }
        assert_eq!(any(&[(MILLIS[0], &"9".repeat(50))]), Some(LONGEST));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            value in bytes(),
            date in bytes(),
            number in "[0-9]{0,30}[.]?[0-9]{0,30}",
            day in "(Sun, |Sunday, |Sun )[0-9A-Za-z :-]{15,25}( GMT)?",
        ) {
            for text in [&value[..], number.as_bytes(), day.as_bytes()] {
                for name in [RETRY_AFTER, MILLIS[0], MILLIS[1]] {
                    let head = head_at(UNIX_EPOCH + WALL, 429, &[(name, text), (DATE, &date)]);
                    prop_assert!(wait(&Fields::of(&head)).is_none_or(|wait| wait <= LONGEST));
                }
            }
        }
    }
}
