//! Compressed inputs, as they were before. Floor 4: doors.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window of a frame, as of `zstd -d` without `--long`.
const WINDOW: u64 = 128 << 20;

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packed {
    Gzip,
    Zstd,
}

/// What the first bytes of an input say of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Packed(Packed),
    Plain,
    /// More of them will.
    Open,
}

/// RFC 1952 §2.3.1: two bytes, and the only method there is.
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];

/// RFC 8878 §3.1.1.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// RFC 8878 §3.1.2, behind a first byte of 0x50 to 0x5f: a frame that is passed over.
const PASSED: [u8; 3] = [0x2a, 0x4d, 0x18];

impl Packed {
    pub(super) fn told(head: &[u8]) -> Told {
        let passed = [
            [head.first().copied().unwrap_or(0) & 0x0f | 0x50].as_slice(),
            &PASSED,
        ]
        .concat();
        let all = [
            (&GZIP[..], Self::Gzip),
            (&ZSTD[..], Self::Zstd),
            (&passed[..], Self::Zstd),
        ];
        for (magic, packed) in all {
            if head.starts_with(magic) {
                return Told::Packed(packed);
            }
            if magic.starts_with(head) {
                return Told::Open;
            }
        }
        Told::Plain
    }

    /// The input as it was. What is damaged or cut off is a [`Spoilt`].
    pub(super) fn undone(self, input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let input = BufReader::with_capacity(64 << 10, input);
        match self {
            Self::Gzip => Box::new(Undoing {
                name: "gzip",
                reader: MultiGzDecoder::new(input),
            }),
            Self::Zstd => Box::new(Undoing {
                name: "zstd",
                reader: Frames::new(input),
            }),
        }
    }
}

/// Why an input that can be read is no text.
#[derive(Debug)]
pub(super) struct Spoilt {
    pub(super) what: String,
    pub(super) mend: String,
}

impl fmt::Display for Spoilt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)
    }
}

impl Error for Spoilt {}

impl From<Spoilt> for io::Error {
    fn from(why: Spoilt) -> Self {
        Self::new(io::ErrorKind::InvalidData, why)
    }
}

/// Names what the data was when it is not whole.
struct Undoing<R> {
    name: &'static str,
    reader: R,
}

impl<R: Read> Read for Undoing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reader.read(into).map_err(|why| {
            if why.kind() == io::ErrorKind::Interrupted {
                return why;
            }
            let name = self.name;
            let what = match why.kind() {
                io::ErrorKind::UnexpectedEof => format!("its {name} data is cut off"),
                _ => format!("its {name} data is damaged: {why}"),
            };
            let mend = format!("fetch or write the file again; {name} -t FILE tests it");
            Spoilt { what, mend }.into()
        })
    }
}

/// Frames of zstd, one behind the other, are one text.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Self {
            source,
            decoder,
            is_within: false,
        }
    }

    /// Goes into the next frame, or past one that is no data.
    fn enter(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let passed = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                if passed < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(why) => return Err(damage(why)),
        }
        Ok(())
    }

    /// At the end of a frame: RFC 8878 §3.1.1, a checksum of what was in it.
    fn leave(&mut self) -> io::Result<()> {
        self.is_within = false;
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("its checksum is another"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_within {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.enter()?;
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(damage)?;
            }
            match self.decoder.read(into)? {
                0 if into.is_empty() => return Ok(0),
                0 => self.leave()?,
                read => return Ok(read),
            }
        }
    }
}

/// The end of the input within a frame is told as such.
fn damage(why: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&why);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>();
        if inner.is_some_and(|why| why.kind() == io::ErrorKind::UnexpectedEof) {
            return io::ErrorKind::UnexpectedEof.into();
        }
        cause = error.source();
    }
    io::Error::other(why)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn undone(packed: &[u8]) -> Result<Vec<u8>, String> {
        let Told::Packed(how) = Packed::told(packed) else {
            panic!("{packed:?}");
        };
        let mut text = Vec::new();
        let mut reader = how.undone(Box::new(io::Cursor::new(packed.to_vec())));
        match reader.read_to_end(&mut text) {
            Ok(_) => Ok(text),
            Err(why) => Err(why.to_string()),
        }
    }

    fn text() -> Vec<u8> {
        (0..20_000)
            .flat_map(|nth| format!("http://h/{nth}\n").into_bytes())
            .collect()
    }

    #[test]
    fn members_and_frames_behind_each_other_are_one_text() {
        let both = [text(), text()].concat();
        let passed = [0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        for packed in [
            [gzip(&text()), gzip(b""), gzip(&text())].concat(),
            [zstd(&text()), zstd(&text())].concat(),
            [
                &passed[..],
                &zstd(&text()),
                &passed,
                &zstd(&text()),
                &passed,
            ]
            .concat(),
        ] {
            assert!(undone(&packed) == Ok(both.clone()));
        }
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_told_by_name() {
        for (name, packed) in [("gzip", gzip(&text())), ("zstd", zstd(&text()))] {
            for cut in [1, 3, packed.len() / 2] {
                let told = undone(&packed[..packed.len() - cut]).unwrap_err();
                assert_eq!(told, format!("its {name} data is cut off"), "{cut}");
            }
            let mut wrong = packed.clone();
            let last = wrong.len() - 1;
            wrong[last] ^= 1;
            let told = undone(&wrong).unwrap_err();
            assert!(
                told.starts_with(&format!("its {name} data is damaged: ")),
                "{told}"
            );
            let behind = [&packed[..], b"no data"].concat();
            let told = undone(&behind).unwrap_err();
            assert!(told.starts_with(&format!("its {name} data is ")), "{told}");
        }
    }

    #[test]
    fn a_beginning_is_open_as_long_as_it_may_be_either() {
        for (head, told) in [
            (&b""[..], Told::Open),
            (b"\x1f", Told::Open),
            (b"\x1f\x8b\x08", Told::Packed(Packed::Gzip)),
            (b"\x1f\x8b\x07", Told::Plain),
            (b"(", Told::Open),
            (b"(\xb5\x2f\xfd", Told::Packed(Packed::Zstd)),
            (b"P*", Told::Open),
            (b"POST", Told::Plain),
            (b"/a", Told::Plain),
            (b"{", Told::Plain),
        ] {
            assert_eq!(Packed::told(head), told, "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            magic in prop::sample::select(vec![&GZIP[..], &ZSTD, &[0x50, 0x2a, 0x4d, 0x18]]),
        ) {
            let _ = undone(&[magic, &bytes].concat());
        }
    }
}
