//! An answer that is a stream of events, while it comes and out of its coding. Floor 4: doors.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use super::coding::Coding;
use crate::sse::Meter;
use crate::stream::Stream;
use crate::units::Tick;

/// What is seen of it.
pub(super) struct Streaming {
    seen: Seen,
    undoing: Undoing,
    /// The tokens that its usage tells, once it is whole.
    output: Option<u64>,
    /// So much of its body came.
    length: u64,
}

/// How its events are had from the pieces of its body.
enum Undoing {
    /// They stand there.
    Nothing,
    /// Its first byte says how its coding is undone.
    Begins(Coding),
    /// Piece by piece.
    GoesOn(Coding, Box<dyn Write>),
    /// From the whole of it: the coding, or what undoes it, gives out nothing before.
    AtTheEnd,
    /// What came is no such coding, or holds too much.
    Broken,
}

/// The meter, at the end of all that undoes codings; all copies are one.
#[derive(Clone)]
struct Seen(Rc<RefCell<Metering>>);

struct Metering {
    meter: Meter,
    /// When the piece came that is undone now.
    at: Tick,
    /// So many bytes may come out of it.
    most: u64,
    /// And so many more.
    left: u64,
    /// And so many out of that piece.
    of_piece: u64,
}

/// No stream of tokens gives out so much at once: one that does is not looked at before it is whole, as that takes as
/// long as many sends.
const OF_PIECE: u64 = 1 << 20;

/// Of shorter bodies all is held that there may be.
const SHORT: u64 = 512 << 10;

impl Metering {
    fn begins(&mut self, at: Tick) {
        self.at = at;
        self.of_piece = OF_PIECE;
    }
}

impl Seen {
    /// All that is to be had out of a piece.
    fn all_of(&self, piece: &[u8], writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(piece)?;
        writer.flush()?;
        // What undoes `br` gives out its buffer at each call, and may have more.
        loop {
            let left = self.0.borrow().left;
            let _ = writer.write(&[])?;
            if self.0.borrow().left == left {
                return Ok(());
            }
        }
    }
}

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let metering = &mut *self.0.borrow_mut();
        let less = |left: u64| left.checked_sub(bytes.len() as u64);
        metering.left = less(metering.left).ok_or(io::ErrorKind::FileTooLarge)?;
        metering.of_piece = less(metering.of_piece).unwrap_or(0);
        if metering.of_piece == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        metering.meter.take(metering.at, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Streaming {
    /// Of a body in these codings, of which at most so many bytes are looked at.
    pub(super) fn new(codings: &[Coding], most: u64) -> Self {
        let undoing = match *codings {
            [] => Undoing::Nothing,
            [one] => Undoing::Begins(one),
            _ => Undoing::AtTheEnd,
        };
        let metering = Metering {
            meter: Meter::default(),
            at: Tick::ZERO,
            most,
            left: most,
            of_piece: OF_PIECE,
        };
        Self {
            seen: Seen(Rc::new(RefCell::new(metering))),
            undoing,
            output: None,
            length: 0,
        }
    }

    /// A piece of its body came at this moment, as it was sent.
    pub(super) fn came(&mut self, at: Tick, piece: &[u8]) {
        let Some(&first) = piece.first() else {
            return;
        };
        self.length += piece.len() as u64;
        self.seen.0.borrow_mut().begins(at);
        if let Undoing::Begins(coding) = self.undoing {
            self.undoing = match coding.undone_into(self.seen.clone(), first) {
                Some(writer) => Undoing::GoesOn(coding, writer),
                None => Undoing::AtTheEnd,
            };
        }
        let taken = match &mut self.undoing {
            Undoing::Nothing => self.seen.write_all(piece),
            Undoing::GoesOn(_, writer) => self.seen.all_of(piece, &mut **writer),
            Undoing::Begins(_) | Undoing::AtTheEnd | Undoing::Broken => return,
        };
        if taken.is_err() {
            let left = self.seen.0.borrow().of_piece;
            // What undoes a coding gives out what it still has when it is dropped.
            self.undoing = match left {
                0 => Undoing::AtTheEnd,
                _ => Undoing::Broken,
            };
        }
        if self.holds_too_much() {
            self.undoing = Undoing::AtTheEnd;
        }
    }

    /// Whether the body and the window of what undoes it, of which so much is there as was written to, are more than a
    /// body may be alone.
    fn holds_too_much(&self) -> bool {
        let Undoing::GoesOn(coding, _) = self.undoing else {
            return false;
        };
        let Metering { most, left, .. } = *self.seen.0.borrow();
        let window = coding.window().min(most - left);
        self.length + window > most.max(SHORT)
    }

    /// Whether its events are to be counted when it is whole.
    pub(super) fn counts_at_the_end(&self) -> bool {
        matches!(self.undoing, Undoing::AtTheEnd)
    }

    /// It is whole: the tokens that its usage tells, and what was then counted of it.
    pub(super) fn is_whole(&mut self, output: Option<u64>, counted: Option<Box<Meter>>) {
        self.output = output;
        if let Some(meter) = counted {
            self.seen.0.borrow_mut().meter = *meter;
        }
    }

    /// What was seen of it until now. Without the moments of its events none is told.
    pub(super) fn told(&self) -> Stream {
        let told = self.seen.0.borrow().meter.seen(self.output);
        match self.undoing {
            Undoing::AtTheEnd => Stream {
                span: None,
                gaps: None,
                ..told
            },
            Undoing::Nothing | Undoing::Begins(_) | Undoing::GoesOn(..) | Undoing::Broken => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;
    use crate::client::coding::codings;
    use crate::fields::Fields;

    const MOST: u64 = 1 << 20;

    fn event(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    }

    fn of(coding: &str, most: u64) -> Streaming {
        let headers = Fields::of([("content-encoding", coding)]);
        Streaming::new(&codings(&headers).unwrap(), most)
    }

    /// Three events, each with all that its coding has of it, and what is behind them.
    fn coded(coding: &str) -> Vec<Vec<u8>> {
        fn pieces<W: Write>(
            mut encoder: W,
            take: impl Fn(&mut W) -> Vec<u8>,
            end: impl FnOnce(W) -> Vec<u8>,
        ) -> Vec<Vec<u8>> {
            let mut pieces: Vec<Vec<u8>> = ["a", "b", "c"]
                .map(|text| {
                    encoder.write_all(event(text).as_bytes()).unwrap();
                    encoder.flush().unwrap();
                    take(&mut encoder)
                })
                .into();
            pieces.push(end(encoder));
            pieces
        }
        let level = Compression::default();
        match coding {
            "gzip" => pieces(
                GzEncoder::new(Vec::new(), level),
                |encoder| std::mem::take(encoder.get_mut()),
                |encoder| encoder.finish().unwrap(),
            ),
            "deflate" => pieces(
                ZlibEncoder::new(Vec::new(), level),
                |encoder| std::mem::take(encoder.get_mut()),
                |encoder| encoder.finish().unwrap(),
            ),
            "raw deflate" => pieces(
                DeflateEncoder::new(Vec::new(), level),
                |encoder| std::mem::take(encoder.get_mut()),
                |encoder| encoder.finish().unwrap(),
            ),
            "br" => BROTLI.map(<[u8]>::to_vec).into(),
            _ => pieces(Vec::new(), std::mem::take, |rest| rest),
        }
    }

    /// The same as `zlib.createBrotliCompress` of Node.js writes it, with a flush behind each.
    const BROTLI: [&[u8]; 4] = [
        b"\x0b\x17\x80data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        &[
            0x70, 0x01, 0x80, 0x5f, 0x4a, 0x8c, 0xac, 0x1a, 0x70, 0x26, 0x7c, 0x08, 0x31, 0x00,
        ],
        &[
            0x70, 0x01, 0x80, 0x5f, 0x62, 0xac, 0x1a, 0x30, 0x22, 0x00, 0x18, 0x0c,
        ],
        &[0x03],
    ];

    #[test]
    fn an_event_has_the_moment_of_the_piece_that_holds_the_end_of_it_compressed() {
        for coding in ["", "gzip", "deflate", "raw deflate", "br"] {
            let mut streaming = of(coding.trim_start_matches("raw "), MOST);
            for (at, piece) in (1..).zip(coded(coding)) {
                streaming.came(Tick(at * 1_000_000), &piece);
                let told = streaming.told();
                let seen = at.min(3);
                assert_eq!((told.events, told.tokens), (seen, seen), "{coding}");
                let span = Some((Tick(1_000_000), Tick(seen * 1_000_000)));
                assert_eq!(told.span, span, "{coding}");
            }
        }
    }

    #[test]
    fn what_gives_out_nothing_before_its_end_is_counted_without_moments() {
        let body = event("a") + &event("b");
        for coding in ["zstd", "gzip, br"] {
            let mut streaming = of(coding, MOST);
            let zstd = compress_to_vec(body.as_bytes(), CompressionLevel::Fastest);
            streaming.came(Tick(7), &zstd);
            assert_eq!(streaming.told(), Stream::default(), "{coding}");
            assert!(streaming.counts_at_the_end());
            let mut meter = Meter::default();
            meter.take(Tick::ZERO, body.as_bytes());
            streaming.is_whole(Some(2), Some(Box::new(meter)));
            let told = streaming.told();
            assert_eq!((told.events, told.tokens), (2, 2), "{coding}");
            assert_eq!((told.span, told.gaps), (None, None), "{coding}");
        }
    }

    #[test]
    fn a_bomb_is_not_looked_at_to_its_end() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let event = event("a");
        for _ in 0..100_000 {
            encoder.write_all(event.as_bytes()).unwrap();
        }
        let mut streaming = of("gzip", MOST);
        streaming.came(Tick(7), &encoder.finish().unwrap());
        let most = MOST / event.len() as u64;
        let told = streaming.told().events;
        assert!(told > most / 2 && told <= most, "{told} of {most}");
    }

    /// A part of a body of `br` as it is, behind the size of its window if it is the first. RFC 7932 §9.1 and §9.2.
    fn stored(is_first: bool, part: &[u8]) -> Vec<u8> {
        let length = u32::try_from(part.len() - 1).unwrap();
        let head = if is_first {
            0x0b | length << 7 | 1 << 23
        } else {
            length << 3 | 1 << 19
        };
        [&head.to_le_bytes()[..3], part].concat()
    }

    #[test]
    fn all_events_of_a_long_piece_have_its_moment() {
        let mut streaming = of("br", MOST);
        let piece = stored(true, event("a").repeat(1000).as_bytes());
        streaming.came(Tick(7), &piece);
        let told = streaming.told();
        assert_eq!((told.events, told.span), (1000, Some((Tick(7), Tick(7)))));
    }

    #[test]
    fn a_body_and_the_window_that_undoes_it_are_no_more_than_a_body_may_be() {
        let part = event("a").repeat(1000);
        let length = part.len() as u64;
        let mut streaming = of("br", 19 * length);
        for nth in 1..=10 {
            streaming.came(Tick(nth), &stored(nth == 1, part.as_bytes()));
            let told = streaming.told();
            // Each part is there twice.
            let is_seen = nth < 10;
            assert_eq!(told.span.is_some(), is_seen, "{nth}");
            assert_eq!(streaming.counts_at_the_end(), !is_seen, "{nth}");
        }
    }

    #[test]
    fn what_gives_out_too_much_at_once_is_counted_when_it_is_whole() {
        let body = event("a").repeat(100_000);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body.as_bytes()).unwrap();
        let mut streaming = of("gzip", 64 << 20);
        streaming.came(Tick(7), &encoder.finish().unwrap());
        assert!(streaming.counts_at_the_end());
        assert_eq!(streaming.told().span, None);
    }

    proptest! {
        #[test]
        fn however_it_is_cut_a_coded_body_has_the_events_of_the_plain_one(
            coding in prop::sample::select(&["", "gzip", "deflate", "raw deflate", "br"][..]),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut body = coded(coding).concat();
            if let Some((place, byte)) = damage {
                let place = place.index(body.len());
                body[place] = byte;
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            cuts.sort_unstable();
            let mut streaming = of(coding.trim_start_matches("raw "), MOST);
            let mut from = 0;
            for to in cuts.into_iter().chain([body.len()]) {
                streaming.came(Tick(to as u64), &body[from..to]);
                from = to;
            }
            let told = streaming.told();
            prop_assert!(damage.is_some() || (told.events, told.tokens) == (3, 3), "{:?}", told);
        }
    }
}
