//! Server-sent events as they arrive: how many, which of them carry tokens, and when. Floor 3: rules.

mod cutter;
mod fault;
mod token;

use std::time::Duration;

use hdrhistogram::Histogram;
use memchr::memchr2_iter;

use crate::metrics::LONGEST;
use crate::stream::{Gaps, Stream};
use crate::units::Tick;
use cutter::Cutter;
pub use fault::fault;
use token::is_token;

/// Counts the events of one answer while its body comes. Memory: at most 64 KiB of an event, and up to 14 KiB for
/// the gaps, however long it goes on.
#[derive(Debug, Default)]
pub struct Meter {
    cutter: Cutter,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    events: u64,
    tokens: u64,
    span: Option<(Tick, Tick)>,
    /// In microseconds; `None` before the second token.
    gaps: Option<Histogram<u32>>,
    longest: Duration,
}

/// Significant digits of the gaps of one answer: a third would take eight times the memory for each in flight.
const DIGITS: u8 = 2;

impl Meter {
    /// A piece of the body came at this moment.
    pub fn take(&mut self, at: Tick, piece: &[u8]) {
        let seen = &mut self.seen;
        self.cutter.take(piece, |data| {
            seen.events += 1;
            if is_token(data) {
                seen.token(at);
            }
        });
    }

    /// What was seen until now, of an answer that tells so many tokens.
    pub fn seen(&self, output: Option<u64>) -> Stream {
        let Seen {
            events,
            tokens,
            span,
            ref gaps,
            longest,
        } = self.seen;
        let quantile = |gaps: &Histogram<u32>, quantile| {
            Duration::from_micros(gaps.value_at_quantile(quantile)).min(longest)
        };
        Stream {
            events,
            tokens,
            span,
            gaps: gaps.as_ref().map(|gaps| Gaps {
                p50: quantile(gaps, 0.5),
                p99: quantile(gaps, 0.99),
                max: longest,
            }),
            output,
        }
    }
}

impl Seen {
    fn token(&mut self, at: Tick) {
        self.tokens += 1;
        let Some((_, last)) = &mut self.span else {
            self.span = Some((at, at));
            return;
        };
        let gap = at.since(*last);
        *last = at;
        self.longest = self.longest.max(gap);
        let gaps = self
            .gaps
            .get_or_insert_with(|| Histogram::new(DIGITS).expect("so many digits are allowed"));
        let micros = gap.min(LONGEST).as_nanos().div_ceil(1_000);
        let micros = u64::try_from(micros).expect("an hour fits");
        gaps.record(micros).expect("it grows as far as an hour");
    }
}

/// The data of each event, as the HTML standard has it ("Server-sent events", 9.2.6); JSON stands in one line.
pub fn data(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr2_iter(b'\n', b'\r', text.as_bytes()).chain([text.len()]);
    let mut from = 0;
    let lines = ends.map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        line
    });
    let data = lines.filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| data.strip_prefix(' ').unwrap_or(data))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(count: u64) -> Tick {
        Tick(count * 1_000_000)
    }

    /// One event of a chat, with this text.
    fn chat(text: &str) -> String {
        format!(
            "data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    }

    #[test]
    fn each_token_has_the_moment_of_the_piece_that_ends_its_event() {
        let mut meter = Meter::default();
        let head =
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
        meter.take(millis(5), head.as_bytes());
        meter.take(millis(10), b": keep-alive\n\n");
        let event = chat("Hel");
        let (first, rest) = event.split_at(20);
        meter.take(millis(20), first.as_bytes());
        meter.take(millis(30), rest.as_bytes());
        // Two in one piece came at one moment.
        meter.take(millis(40), (chat("lo") + &chat(" you")).as_bytes());
        meter.take(millis(100), chat("!").as_bytes());
        let usage =
            "data: {\"choices\":[],\"usage\":{\"completion_tokens\":8}}\n\ndata: [DONE]\n\n";
        meter.take(millis(101), usage.as_bytes());
        let expected = Stream {
            events: 7,
            tokens: 4,
            span: Some((millis(30), millis(100))),
            gaps: Some(Gaps {
                p50: Duration::from_micros(10_047),
                p99: Duration::from_millis(60),
                max: Duration::from_millis(60),
            }),
            output: Some(8),
        };
        assert_eq!(meter.seen(Some(8)), expected);
    }

    #[test]
    fn one_token_has_no_gap_and_none_has_no_moment() {
        let mut meter = Meter::default();
        assert_eq!(meter.seen(None), Stream::default());
        meter.take(millis(7), chat("x").as_bytes());
        let seen = meter.seen(None);
        assert_eq!((seen.gaps, seen.span), (None, Some((millis(7), millis(7)))));
    }

    #[test]
    fn a_gap_beyond_an_hour_is_told_as_the_longest() {
        let mut meter = Meter::default();
        for at in [0, 1, 10_000_000_000] {
            meter.take(millis(at), chat("x").as_bytes());
        }
        let gaps = meter.seen(None).gaps.unwrap();
        assert_eq!(gaps.max, Duration::from_millis(9_999_999_999));
        assert!(gaps.p99 >= LONGEST, "{gaps:?}");
        assert_eq!(gaps.p50, Duration::from_micros(1_003));
    }

    #[test]
    fn a_stream_of_any_length_needs_no_more_memory() {
        let mut meter = Meter::default();
        let event = chat("x");
        let piece = event.repeat(100);
        let mut take = |from: u64, to: u64| {
            for at in from..to {
                meter.take(Tick(at * at * 1_000), piece.as_bytes());
            }
        };
        take(0, 100);
        let more = allocation_counter::measure(|| take(100, 200));
        assert!(more.bytes_max < 20 << 10, "{more:?}");
        let long = vec![b'x'; 1 << 20];
        meter.take(Tick::ZERO, b"data: ");
        let endless = allocation_counter::measure(|| {
            for _ in 0..64 {
                meter.take(Tick::ZERO, &long);
            }
        });
        assert!(endless.bytes_max <= 128 << 10, "{endless:?}");
    }

    #[test]
    fn an_event_allocates_nothing() {
        let mut meter = Meter::default();
        let event = chat("x");
        let mut take = || {
            for at in 0..100 {
                meter.take(millis(at), event.as_bytes());
            }
        };
        take();
        let again = allocation_counter::measure(take);
        assert_eq!(again.count_total, 0, "{again:?}");
    }

    /// Pieces of streams, whole and broken.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        const WORDS: [&[u8]; 18] = [
            b"data:",
            b"data",
            b"data: ",
            b" ",
            b":",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"event: ping\n",
            b"{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"",
            b"\"}}",
            b"{\"choices\":[{\"delta\":{\"content\":\"a\\u00e9",
            b"\"}}]}",
            b"[DONE]",
            b"\xef\xbb\xbf",
            b"\xff\x00",
            b"{\"error\":",
        ];
        let word = prop::sample::select(&WORDS[..]).prop_map(<[u8]>::to_vec);
        let word = prop_oneof![4 => word, 1 => prop::collection::vec(any::<u8>(), 0..4)];
        prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn however_a_body_is_cut_its_events_are_the_same(
            body in pieces(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut whole = Meter::default();
            whole.take(Tick::ZERO, &body);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            cuts.sort_unstable();
            let mut cut = Meter::default();
            let mut from = 0;
            for to in cuts.into_iter().chain([body.len()]) {
                cut.take(Tick::ZERO, &body[from..to]);
                from = to;
            }
            prop_assert_eq!(cut.seen(None), whole.seen(None));
            prop_assert!(whole.seen.tokens <= whole.seen.events);
        }
    }
}
