//! Bodies as they were before they were compressed. RFC 9110 §8.4. Floor 4: doors.

use std::io::{self, Read, Write};

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::StreamingDecoder;

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
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoilt {
    /// It is longer than is kept.
    TooLong,
    /// It is not whole, or never was what it says.
    Damaged(String),
}

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

    fn undo(self, body: &[u8], most: u64) -> Result<Vec<u8>, Spoilt> {
        let mut into = Vec::new();
        let read = match self {
            Self::Gzip => whole(MultiGzDecoder::new(body), most, &mut into),
            Self::Deflate if body.first().is_some_and(|first| is_wrapped(*first)) => {
                whole(ZlibDecoder::new(body), most, &mut into)
            }
            Self::Deflate => whole(DeflateDecoder::new(body), most, &mut into),
            Self::Brotli => {
                let reader = brotli_decompressor::Decompressor::new(body, 4096);
                whole(reader, most, &mut into)
            }
            Self::Zstd => zstd(body, most, &mut into),
        };
        read.map_err(|why| Spoilt::Damaged(format!("no whole {}: {why}", self.name())))?;
        if into.len() as u64 > most {
            return Err(Spoilt::TooLong);
        }
        Ok(into)
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
            Self::Brotli => Box::new(brotli_decompressor::DecompressorWriter::new(out, 4096)),
            Self::Zstd => return None,
        })
    }
}

/// Servers send `deflate` with and without its wrapping (RFC 9110 §8.4.1.2). The first byte of that has 8 below.
fn is_wrapped(first: u8) -> bool {
    first & 15 == 8
}

/// All of it, and no more than one byte beyond what is kept.
fn whole(reader: impl Read, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let left = most.saturating_add(1).saturating_sub(into.len() as u64);
    reader.take(left).read_to_end(into).map(drop)
}

/// A body may be several frames, of which some are to be skipped (RFC 8878 §3.1).
fn zstd(mut body: &[u8], most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    while !body.is_empty() && into.len() as u64 <= most {
        if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] = body {
            let length = u32::from_le_bytes([*a, *b, *c, *d]);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            body = rest.get(length..).ok_or(io::ErrorKind::UnexpectedEof)?;
            continue;
        }
        let frame = StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_WINDOW);
        let frame = frame.map_err(|_| io::Error::other("a frame begins otherwise"))?;
        whole(frame, most, into)?;
    }
    Ok(())
}

/// The body as it was; as it came where nothing says that it was compressed, or in a way that is not known.
pub(super) fn decoded(headers: &Fields, body: Vec<u8>, most: u64) -> Result<Vec<u8>, Spoilt> {
    if body.is_empty() {
        return Ok(body);
    }
    let mut last_first = codings(headers).into_iter().rev();
    last_first.try_fold(body, |body, coding| coding.undo(&body, most))
}

/// More than one is rare, and each is another chance to be a bomb.
const MOST_CODINGS: usize = 3;

/// How the body was compressed, first to last; none if one of them is not known.
pub(super) fn codings(headers: &Fields) -> Vec<Coding> {
    let named = headers.get_all(&CONTENT_ENCODING).filter_map(text);
    let each = named.flat_map(|value| value.split(',')).map(str::trim);
    let each = each.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
    let all: Option<Vec<Coding>> = each.map(Coding::of).collect();
    all.filter(|all| all.len() <= MOST_CODINGS)
        .unwrap_or_default()
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
        decoded(
            &Fields::of([("content-encoding", coding)]),
            body.to_vec(),
            most,
        )
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
    fn what_is_not_known_and_what_is_nothing_stay_as_they_came() {
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
        assert_eq!(undone("gzip", b"", MOST), Ok(Vec::new()), "of a HEAD");
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
