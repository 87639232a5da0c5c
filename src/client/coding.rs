//! Bodies as they were before they were compressed. RFC 9110 §8.4. Floor 4: doors.

use std::cell::RefCell;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::rc::Rc;

use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use flate2::write;
use http::HeaderName;
use http::header::{CONTENT_ENCODING, TRANSFER_ENCODING};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::coming::{Coming, PIECE, Shape};
use crate::fields::{Fields, text};

/// What is asked for where a job does not say it, as `accept-encoding`.
pub(super) const TAKEN: &str = "gzip, deflate, br, zstd";

/// The largest window that a server may use (RFC 9659 §3).
const ZSTD_WINDOW: u64 = 8 << 20;

/// How a body was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Why a body cannot be had as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spoilt {
    /// It is longer than is kept.
    TooLong,
    /// It comes in more parts than one that is kept may.
    TooManyParts,
    /// It is not whole, or never was what it says.
    Damaged(String),
}

/// Where the bytes come from that are to be undone.
pub(super) type Source<'a> = Box<dyn BufRead + 'a>;

impl Coding {
    fn of(name: &str) -> Option<Self> {
        Some(match &*name.to_ascii_lowercase() {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    fn undo<'a>(self, mut source: Source<'a>, most: u64) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(Gzip {
                member: Some(GzDecoder::new(source)),
                left: SOME_PARTS.saturating_add(most / PART_HOLDS),
            }),
            Self::Deflate if source.fill_buf()?.first().is_some_and(|it| is_wrapped(*it)) => {
                Box::new(ZlibDecoder::new(source))
            }
            Self::Deflate => Box::new(DeflateDecoder::new(source)),
            Self::Brotli if source.fill_buf()?.first().is_some_and(|it| is_large(*it)) => {
                return Err(io::Error::other("its window is larger than 16 MiB"));
            }
            Self::Brotli => Box::new(brotli_decompressor::Decompressor::new(source, 4096)),
            Self::Zstd => Box::new(Zstd::of(source)),
        })
    }

    /// The most that is held of what came out already, to go on from there: RFC 1951 §2, RFC 7932 §9.1, RFC 9659 §3.
    pub(super) fn window(self) -> u64 {
        match self {
            Self::Gzip | Self::Deflate => 32 << 10,
            Self::Brotli => 16 << 20,
            Self::Zstd => ZSTD_WINDOW,
        }
    }

    /// What takes a body that begins with this byte piece by piece, and gives out what it was as far as that can be told;
    /// `None` where nothing undoes it so: what we have for `zstd` keeps a window back.
    pub(super) fn undone_into(
        self,
        out: impl Write + 'static,
        first: u8,
    ) -> Option<Box<dyn Write>> {
        Some(match self {
            Self::Gzip => Box::new(write::MultiGzDecoder::new(out)),
            Self::Deflate if is_wrapped(first) => Box::new(write::ZlibDecoder::new(out)),
            Self::Deflate => Box::new(write::DeflateDecoder::new(out)),
            Self::Brotli if is_large(first) => return None,
            Self::Brotli => Box::new(brotli_decompressor::DecompressorWriter::new(out, 4096)),
            Self::Zstd => return None,
        })
    }
}

/// Servers send `deflate` with and without its wrapping (RFC 9110 §8.4.1.2). The first byte of that has 8 below.
fn is_wrapped(first: u8) -> bool {
    first & 15 == 8
}

/// Whether what is compressed by `br` wants a window of up to 1 GiB, which RFC 7932 (§9.1) has no word for.
fn is_large(first: u8) -> bool {
    first & 0x7f == 0x11
}

/// A body may come in so many parts, and another for each so many bytes that are kept: each takes its time, however
/// little is in it.
const SOME_PARTS: u64 = 1000;
const PART_HOLDS: u64 = 1 << 10;

/// What undoes `gzip`. A body may be several members (RFC 1952 §2.2).
struct Gzip<'a> {
    /// `None`: it is over.
    member: Option<GzDecoder<Source<'a>>>,
    /// So many may come behind it.
    left: u64,
}

/// Why no more of them are read.
#[derive(Debug, thiserror::Error)]
#[error("it has too many parts")]
struct TooManyParts;

impl Read for Gzip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            let mut source = self.member.take().expect("it is there").into_inner();
            if !source.fill_buf()?.is_empty() {
                let left = self.left.checked_sub(1);
                self.left = left.ok_or_else(|| io::Error::other(TooManyParts))?;
                self.member = Some(GzDecoder::new(source));
            }
        }
        Ok(0)
    }
}

/// What undoes `zstd`. A body may be several frames, of which some are to be skipped (RFC 8878 §3.1).
enum Zstd<'a> {
    /// A frame begins next, or nothing does. The decoder is used again: a frame may be next to nothing.
    Between(Source<'a>, FrameDecoder),
    Within(StreamingDecoder<Begun<'a>, FrameDecoder>),
    Over,
}

/// A frame whose first bytes were read.
struct Begun<'a> {
    first: [u8; 4],
    /// So many of them are given out.
    from: usize,
    rest: Source<'a>,
}

impl Read for Begun<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut first = &self.first[self.from..];
        if first.is_empty() {
            return self.rest.read(into);
        }
        let read = first.read(into)?;
        self.from += read;
        Ok(read)
    }
}

impl<'a> Zstd<'a> {
    fn of(source: Source<'a>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        Self::Between(source, decoder)
    }

    fn next(mut source: Source<'a>, decoder: FrameDecoder) -> io::Result<Self> {
        while !source.fill_buf()?.is_empty() {
            let mut first = [0; 4];
            source.read_exact(&mut first)?;
            if !matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) {
                let frame = Begun {
                    first,
                    from: 0,
                    rest: source,
                };
                let frame = StreamingDecoder::new_with_decoder(frame, decoder);
                let frame = frame.map_err(|_| io::Error::other("a frame begins otherwise"))?;
                return Ok(Self::Within(frame));
            }
            let mut length = [0; 4];
            source.read_exact(&mut length)?;
            let length = u32::from_le_bytes(length).into();
            if io::copy(&mut source.by_ref().take(length), &mut io::sink())? < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self::Over)
    }
}

impl Read for Zstd<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            *self = match mem::replace(self, Self::Over) {
                Self::Over => return Ok(0),
                Self::Between(source, decoder) => Self::next(source, decoder)?,
                Self::Within(mut frame) => {
                    let read = frame.read(into)?;
                    if read > 0 {
                        *self = Self::Within(frame);
                        return Ok(read);
                    }
                    let (frame, decoder) = frame.into_parts();
                    let told = decoder.get_checksum_from_data();
                    if told.is_some() && told != decoder.get_calculated_checksum() {
                        return Err(io::Error::other("its checksum is of something else"));
                    }
                    Self::Between(frame.rest, decoder)
                }
            };
        }
    }
}

/// One coding of several: what it gives out is bounded, and what was wrong first is told.
struct Layer<'a> {
    reader: Box<dyn Read + 'a>,
    coding: Coding,
    left: u64,
    spoilt: Rc<RefCell<Option<Spoilt>>>,
}

impl Read for Layer<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let spoilt = match self.reader.read(into) {
            Ok(read) => match self.left.checked_sub(read as u64) {
                Some(left) => {
                    self.left = left;
                    return Ok(read);
                }
                None => Spoilt::TooLong,
            },
            Err(why) => spoilt(self.coding, &why),
        };
        self.spoilt.borrow_mut().get_or_insert(spoilt);
        Err(io::Error::other("it is spoilt"))
    }
}

/// What it means that this coding could not be undone.
fn spoilt(coding: Coding, why: &io::Error) -> Spoilt {
    let is_parts = <dyn Error + Send + Sync>::is::<TooManyParts>;
    if why.get_ref().is_some_and(is_parts) {
        return Spoilt::TooManyParts;
    }
    Spoilt::Damaged(format!("no whole {}: {why}", coding.name()))
}

/// So much longer may be what nothing makes shorter when it is in a coding.
pub(super) const LONGER: u64 = 64 << 10;

/// The body as it was before these codings, first to last, of which at most so much is kept. `left` tells how much of
/// the source is held beside it: what is read takes the place of that, and is no shorter.
pub(super) fn undone(
    codings: &[Coding],
    mut source: Source<'_>,
    most: u64,
    left: impl Fn() -> usize,
) -> Result<Vec<u8>, Spoilt> {
    let first = Rc::new(RefCell::new(None));
    let told = |coding: Coding, why: &io::Error| {
        let first = first.borrow_mut().take();
        first.unwrap_or_else(|| spoilt(coding, why))
    };
    let outermost = *codings.first().unwrap_or(&Coding::Gzip);
    for coding in codings.iter().rev() {
        let undone = coding.undo(source, most);
        let layer = Layer {
            reader: undone.map_err(|why| told(*coding, &why))?,
            coding: *coding,
            left: most,
            spoilt: Rc::clone(&first),
        };
        source = Box::new(BufReader::with_capacity(PIECE, layer));
    }
    let mut whole = Coming::new(Shape::Whole, None, most).expect("nothing is announced");
    loop {
        let piece = source.fill_buf();
        let piece = piece.map_err(|why| told(outermost, &why))?;
        if piece.is_empty() {
            return Ok(whole.into_whole());
        }
        let read = piece.len();
        whole.room(read).extend_from_slice(piece);
        source.consume(read);
        let held = (whole.len() + left()) as u64;
        if whole.is_too_long() || held > most.saturating_add(LONGER) {
            return Err(Spoilt::TooLong);
        }
    }
}

/// More than one is rare, and each is another chance to be a bomb.
const MOST_CODINGS: usize = 3;

/// How the body was compressed, first to last: what the server has in this form, then what it did for the way here
/// (RFC 9112 §7), which nobody asks for. None of the first if one of them is not known: then that is what was asked
/// for. Fails if one of the second is not known, as what comes is not what was asked for.
pub(super) fn codings(headers: &Fields) -> Result<Vec<Coding>, Spoilt> {
    let mut all = Vec::new();
    let content = list(headers, &CONTENT_ENCODING).map(Coding::of);
    let content: Option<Vec<Coding>> = content.collect();
    all.extend(content.into_iter().flatten());
    if all.len() > MOST_CODINGS {
        all.clear();
    }
    let mut on_the_way = list(headers, &TRANSFER_ENCODING).peekable();
    while let Some(name) = on_the_way.next() {
        let is_last = on_the_way.peek().is_none();
        match Coding::of(name) {
            Some(coding) if all.len() < 2 * MOST_CODINGS => all.push(coding),
            None if is_last && name.eq_ignore_ascii_case("chunked") => {}
            Some(_) | None => {
                let name: String = name.chars().take(20).collect();
                let why = format!("in the transfer-encoding {name:?}, which is not taken");
                return Err(Spoilt::Damaged(why));
            }
        }
    }
    Ok(all)
}

/// The members of a list but those that do nothing.
fn list<'a>(headers: &'a Fields, name: &'a HeaderName) -> impl Iterator<Item = &'a str> {
    let named = headers.get_all(name).filter_map(text);
    let each = named.flat_map(|value| value.split(',')).map(str::trim);
    each.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"))
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const MOST: u64 = 64 << 20;
    /// `hello hello hello hello\n` as `brotli` writes it, and 10 MiB of zeros.
    const BROTLI: &[u8] = &[
        0x1f, 0x17, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0xd6, 0x0a, 0x20, 0x6c,
        0x6f, 0x4a, 0x11, 0x79, 0xe2, 0x80, 0xae, 0x16,
    ];
    const BROTLI_BOMB: &[u8] = &[
        0x9f, 0xff, 0xff, 0x9f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x13,
    ];

    fn plain() -> Vec<u8> {
        b"hello hello hello hello\n".to_vec()
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn undone(coding: &str, body: &[u8], most: u64) -> Result<Vec<u8>, Spoilt> {
        let codings = codings(&Fields::of([("content-encoding", coding)]))?;
        let mut coming = Coming::new(Shape::Parts, None, u64::MAX).unwrap();
        for piece in body.chunks(PIECE) {
            coming.room(piece.len()).extend_from_slice(piece);
        }
        let parts = coming.into_parts();
        let left = parts.left();
        super::undone(&codings, Box::new(parts), most, || left.get())
    }

    fn compressed() -> Vec<(&'static str, Vec<u8>)> {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&plain()).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(&plain()).unwrap();
        vec![
            ("gzip", gzip(&plain())),
            ("X-GZIP", gzip(&plain())),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", raw.finish().unwrap()),
            (
                "zstd",
                compress_to_vec(&plain()[..], CompressionLevel::Fastest),
            ),
            ("br", BROTLI.to_vec()),
            ("gzip, identity, gzip", gzip(&gzip(&plain()))),
        ]
    }

    #[test]
    fn a_body_is_as_it_was_before_it_was_compressed() {
        for (coding, body) in compressed() {
            assert_eq!(undone(coding, &body, MOST), Ok(plain()), "{coding}");
        }
    }

    #[test]
    fn frames_behind_each_other_are_one_body() {
        let two = [gzip(&plain()), gzip(&plain())].concat();
        assert_eq!(undone("gzip", &two, MOST), Ok([plain(), plain()].concat()));
        let frame = compress_to_vec(&plain()[..], CompressionLevel::Fastest);
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        let three = [&frame[..], &skipped, &frame].concat();
        assert_eq!(
            undone("zstd", &three, MOST),
            Ok([plain(), plain()].concat())
        );
    }

    #[test]
    fn what_is_not_known_stays_as_it_came() {
        for coding in [
            "",
            "identity",
            "compress",
            "gzip, aes128gcm",
            "gzip,gzip,gzip,gzip",
        ] {
            assert_eq!(
                undone(coding, b"abc", MOST),
                Ok(b"abc".to_vec()),
                "{coding}"
            );
        }
    }

    #[test]
    fn no_more_is_kept_than_may_be_and_a_bomb_is_found_at_that() {
        let zeros = vec![0; 3 << 20];
        let bombs = [
            ("gzip", gzip(&zeros)),
            (
                "zstd",
                compress_to_vec(&zeros[..], CompressionLevel::Fastest),
            ),
            ("br", BROTLI_BOMB.to_vec()),
            ("gzip, gzip", gzip(&gzip(&zeros))),
        ];
        for (coding, bomb) in bombs {
            assert!(bomb.len() < 100 << 10, "{coding}: {}", bomb.len());
            let cost = allocation_counter::measure(|| {
                assert_eq!(
                    undone(coding, &bomb, 1 << 20),
                    Err(Spoilt::TooLong),
                    "{coding}"
                );
            });
            assert!(cost.bytes_max < 32 << 20, "{coding}: {cost:?}");
        }
        assert_eq!(undone("gzip", &gzip(&plain()), 24), Ok(plain()));
        assert_eq!(undone("gzip", &gzip(&plain()), 23), Err(Spoilt::TooLong));
    }

    #[test]
    fn a_cut_or_damaged_body_is_told() {
        for (coding, body) in compressed() {
            let cut = &body[..body.len() - 3];
            let spoilt = undone(coding, cut, MOST);
            assert!(
                matches!(spoilt, Err(Spoilt::Damaged(_))),
                "{coding}: {spoilt:?}"
            );
        }
        for coding in ["gzip", "br", "zstd"] {
            let spoilt = undone(coding, b"{\"plain\": true}", MOST);
            assert!(
                matches!(spoilt, Err(Spoilt::Damaged(_))),
                "{coding}: {spoilt:?}"
            );
        }
    }

    #[test]
    fn zstd_that_is_damaged_where_it_can_still_be_read_is_told() {
        let body: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut frame = compress_to_vec(&body[..], CompressionLevel::Uncompressed);
        let place = frame.len() / 2;
        frame[place] ^= 1;
        match undone("zstd", &frame, MOST) {
            Err(Spoilt::Damaged(why)) => assert!(why.contains("checksum"), "{why}"),
            other => panic!("not expected: {other:?}"),
        }
    }

    #[test]
    fn what_was_compressed_on_the_way_is_undone_and_what_is_not_known_there_is_told() {
        let of = |content: &str, on_the_way: &str| {
            let fields = [
                ("content-encoding", content),
                ("transfer-encoding", on_the_way),
            ];
            codings(&Fields::of(fields))
        };
        let (gzip, br) = (Coding::Gzip, Coding::Brotli);
        for (content, on_the_way, all) in [
            ("", "chunked", vec![]),
            ("", "gzip, Chunked", vec![gzip]),
            ("", "x-gzip", vec![gzip]),
            ("br", "identity,gzip ,chunked", vec![br, gzip]),
            ("compress", "gzip", vec![gzip]),
        ] {
            assert_eq!(of(content, on_the_way), Ok(all), "{content}, {on_the_way}");
        }
        for on_the_way in [
            "compress, chunked",
            "chunked, gzip",
            "gzip;q=1",
            "chunked, chunked",
        ] {
            let why = of("", on_the_way).unwrap_err();
            assert!(matches!(why, Spoilt::Damaged(_)), "{on_the_way}: {why:?}");
        }
    }

    #[test]
    fn a_body_that_goes_on_behind_what_it_gives_out_holds_no_more_than_is_kept() {
        let most = 4 << 20;
        let empty = gzip(b"");
        let behind = empty.repeat(most / empty.len());
        let zeros = gzip(&vec![0; most - 1]);
        assert_eq!(
            undone("gzip", &[&zeros[..], &behind].concat(), most as u64),
            Err(Spoilt::TooLong)
        );
        let whole = undone("gzip", &zeros, most as u64).unwrap();
        assert_eq!(whole.len(), most - 1);
    }

    #[test]
    fn a_window_of_br_that_its_standard_does_not_have_is_refused_without_its_memory() {
        // As `brotli --large_window=30` begins.
        let body = [&[0x11, 0x1e], BROTLI].concat();
        let cost = allocation_counter::measure(|| {
            let spoilt = undone("br", &body, MOST);
            assert!(matches!(spoilt, Err(Spoilt::Damaged(_))), "{spoilt:?}");
        });
        assert!(cost.bytes_max < 1 << 20, "{cost:?}");
    }

    #[test]
    fn members_that_hold_next_to_nothing_are_not_read_for_ever() {
        let some = gzip(b"x").repeat(1000);
        assert_eq!(undone("gzip", &some, 2 << 10), Ok(vec![b'x'; 1000]));
        for member in [gzip(b""), gzip(b"x")] {
            let many = member.repeat(3000);
            assert_eq!(undone("gzip", &many, 2 << 10), Err(Spoilt::TooManyParts));
            let in_it = gzip(&member.repeat(60_000));
            assert_eq!(
                undone("gzip, gzip", &in_it, 2 << 20),
                Err(Spoilt::TooManyParts)
            );
        }
    }

    #[test]
    fn any_number_of_frames_takes_no_stack() {
        let frame = compress_to_vec(&b"x"[..], CompressionLevel::Fastest);
        let body = frame.repeat(20_000);
        assert_eq!(undone("zstd", &body, MOST), Ok(vec![b'x'; 20_000]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_keep_too_much(
            coding in prop::sample::select(&["gzip", "deflate", "br", "zstd", "br, gzip"][..]),
            body in prop::collection::vec(any::<u8>(), 0..300),
            magic in any::<bool>(),
        ) {
            let mut body = body;
            if magic && coding == "zstd" {
                body.splice(..0, [0x28, 0xb5, 0x2f, 0xfd]);
            } else if magic {
                body.splice(..0, [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]);
            }
            let read = undone(coding, &body, 1 << 20);
            prop_assert!(read.is_err() || read.is_ok_and(|read| read.len() <= 1 << 20));
        }
    }
}
