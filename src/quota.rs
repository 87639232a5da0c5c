//! What the headers of an answer say about the server's own limits. Floor 3: rules.

use std::time::{Duration, SystemTime};

use http::HeaderName;
use http::header::{DATE, RETRY_AFTER};

use crate::fields::{Fields, text};
use crate::outcome::Head;
use crate::units::nanos;

/// The wait that a server asks for, rounded up to the next nanosecond; the longest if it asks twice.
///
/// RFC 9110 §10.2.3: seconds (here with a fraction, too) or an HTTP-date in one of the three forms of
/// §5.6.7. A date counts from the answer's own `Date`, so a wrong clock at either end changes nothing,
/// else from [`Head::wall`]. `None` if nothing is asked, or only what is malformed, zero or past. At most 584 years.
pub fn retry_after(head: &Head) -> Option<Duration> {
    // Nearly all answers ask for nothing: no date is read for those.
    head.headers.get(&RETRY_AFTER)?;
    let now = texts(&head.headers, &DATE)
        .find_map(|text| httpdate::parse_http_date(text).ok())
        .unwrap_or(head.wall);
    texts(&head.headers, &RETRY_AFTER)
        .filter_map(|text| seconds(text).or_else(|| until(text, now)))
        .filter(|span| !span.is_zero())
        .max()
}

/// The values of a header that are text, without the white space around them.
fn texts<'a>(fields: &'a Fields, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = fields.get_all(name);
    values.filter_map(|value| Some(text(value)?.trim_matches([' ', '\t'])))
}

/// `2` or `0.5`: no sign, no exponent, no unit. Too large a number is the longest span there is.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, part) = match text.split_once('.') {
        Some((whole, part)) => (digits(whole)?, digits(part)?),
        None => (digits(text)?, ""),
    };
    let mut span: u64 = 0;
    let nine = part.bytes().chain(std::iter::repeat(b'0')).take(9);
    for digit in whole.bytes().chain(nine) {
        span = span
            .saturating_mul(10)
            .saturating_add((digit - b'0').into());
    }
    let rest = part.bytes().skip(9).any(|digit| digit != b'0');
    Some(Duration::from_nanos(span.saturating_add(rest.into())))
}

fn digits(text: &str) -> Option<&str> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then_some(text)
}

/// The time from `now` to an HTTP-date; `None` if it is past.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let at = httpdate::parse_http_date(text).ok()?;
    let span = at.duration_since(now).ok()?;
    Some(Duration::from_nanos(nanos(span)))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use http::{HeaderName, StatusCode};
    use proptest::prelude::*;

    use super::*;
    use crate::units::Tick;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 §5.6.7.
    const WALL: Duration = Duration::from_secs(784_111_777);
    const LONGEST: Duration = Duration::from_nanos(u64::MAX);

    fn asked(headers: &[(HeaderName, &[u8])]) -> Option<Duration> {
        retry_after(&Head {
            at: Tick::ZERO,
            wall: UNIX_EPOCH + WALL,
            status: StatusCode::TOO_MANY_REQUESTS,
            headers: Fields::of(headers.iter().cloned()),
        })
    }

    fn alone(value: &str) -> Option<Duration> {
        asked(&[(RETRY_AFTER, value.as_bytes())])
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
        let both: [(HeaderName, &[u8]); 2] = [(RETRY_AFTER, b"2"), (RETRY_AFTER, b"5")];
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
        assert_eq!(asked(&[at.clone(), date]), Some(Duration::from_secs(3)));
        assert_eq!(
            asked(&[at, (DATE, b"today")]),
            Some(Duration::from_secs(3_603))
        );
    }

    /// What a header value may hold: RFC 9110 §5.5.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\t'), 0x20..=0x7e_u8, 0x80..=0xff_u8];
        prop::collection::vec(byte, 0..40)
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
                asked(&[(RETRY_AFTER, text), (DATE, &date)]);
            }
        }
    }
}
