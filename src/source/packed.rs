//! Compressed inputs, as they were before. Floor 4: doors.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
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
    /// In a way that is not undone here.
    Foreign(&'static Foreign),
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

/// A form that another program undoes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    magic: &'static [u8],
    /// In words.
    what: &'static str,
    /// Writes what is in FILE to stdout.
    command: &'static str,
}

/// By their first bytes, as file(1) knows them, of which `?` is any; none of them opens a text.
static FOREIGN: [Foreign; 9] = [
    Foreign::new(b"\xfd7zXZ\0", "xz", "xz -dc FILE"),
    Foreign::new(b"BZh?1AY&SY", "bzip2", "bzip2 -dc FILE"),
    Foreign::new(b"\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"),
    Foreign::new(b"\x5d\0\0", "lzma", "xz -dc FILE"),
    Foreign::new(b"LZIP\x01", "lzip", "lzip -dc FILE"),
    Foreign::new(b"\x1f\x9d", "compress (.Z)", "gzip -dc FILE"),
    Foreign::new(
        b"PK\x03\x04",
        "a zip archive (so is a spreadsheet: save that as CSV)",
        "unzip -p FILE",
    ),
    Foreign::new(b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z e -so FILE"),
    Foreign::new(
        b"SQLite format 3\0",
        "a database of SQLite",
        "sqlite3 -csv -header FILE 'SELECT …'",
    ),
];

impl Foreign {
    /// Whether these are its first bytes, and whether they are all.
    fn opens(&self, head: &[u8]) -> Option<bool> {
        let mut pairs = self.magic.iter().zip(head);
        let fits = pairs.all(|(own, byte)| own == byte || *own == b'?');
        fits.then_some(head.len() >= self.magic.len())
    }

    const fn new(magic: &'static [u8], what: &'static str, command: &'static str) -> Self {
        Self {
            magic,
            what,
            command,
        }
    }

    pub(super) fn spoilt(&self) -> Spoilt {
        Spoilt {
            what: format!("it is {}", self.what),
            mend: format!("read what is in it: {} | shaper run -", self.command),
        }
    }
}

impl Packed {
    pub(super) fn told(head: &[u8]) -> Told {
        let passed = [
            [head.first().copied().unwrap_or(0) & 0x0f | 0x50].as_slice(),
            &PASSED,
        ]
        .concat();
        let own = [
            (&GZIP[..], Self::Gzip),
            (&ZSTD[..], Self::Zstd),
            (&passed[..], Self::Zstd),
        ];
        let mut is_open = false;
        for (magic, packed) in own {
            if head.starts_with(magic) {
                return Told::Packed(packed);
            }
            is_open |= magic.starts_with(head);
        }
        for foreign in &FOREIGN {
            match foreign.opens(head) {
                Some(true) => return Told::Foreign(foreign),
                Some(false) => is_open = true,
                None => {}
            }
        }
        if is_open { Told::Open } else { Told::Plain }
    }

    /// Also that of the program that undoes it.
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// What was this, and within it this again.
    pub(super) fn twice(self, within: Self) -> Spoilt {
        let (own, inner) = (self.name(), within.name());
        Spoilt {
            what: format!("it is {inner} data within {own} data"),
            mend: format!("undo both: {own} -dc FILE | {inner} -dc | shaper run -"),
        }
    }

    /// The input as it was. What is damaged or cut off is a [`Spoilt`].
    pub(super) fn undone(self, input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        let input = BufReader::with_capacity(64 << 10, input);
        let name = self.name();
        match self {
            Self::Gzip => Box::new(Undoing {
                name,
                reader: Members::new(input),
            }),
            Self::Zstd => Box::new(Undoing {
                name,
                reader: Frames::new(input),
            }),
        }
    }
}

impl fmt::Display for Packed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
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

/// Behind the compressed data stands something else.
#[derive(Debug, thiserror::Error)]
#[error("something else stands behind it")]
struct Behind;

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
            let cause = why.get_ref();
            if let Some(cause) = cause
                && cause.is::<Spoilt>()
            {
                return why;
            }
            if let Some(cause) = cause
                && cause.is::<Behind>()
            {
                return Spoilt {
                    what: format!("behind its {name} data stands what is none"),
                    mend: format!("all before it was read; {name} -dc FILE 2>/dev/null | shaper run - reads just that"),
                }
                .into();
            }
            let what = match why.kind() {
                io::ErrorKind::UnexpectedEof => format!("its {name} data is cut off"),
                _ => format!("its {name} data is damaged: {why}"),
            };
            let mend = format!("fetch or write the file again; {name} -t FILE tests it");
            Spoilt { what, mend }.into()
        })
    }
}

/// Members of gzip, one behind the other, are one text (RFC 1952 §2.2). Zeros behind the last one, as tapes are filled
/// up with, are passed over as gzip does.
struct Members<R> {
    /// `None` where reading has broken.
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(source: R) -> Self {
        Self {
            decoder: Some(GzDecoder::new(source)),
        }
    }

    /// Goes into the next member; whether there is one.
    fn enter(&mut self) -> io::Result<bool> {
        let Some(mut source) = self.decoder.take().map(GzDecoder::into_inner) else {
            return Ok(false);
        };
        let mut passed = 0;
        loop {
            let ahead = source.fill_buf()?;
            match ahead.iter().position(|byte| *byte != 0) {
                None if ahead.is_empty() => return Ok(false),
                None => {
                    let zeros = ahead.len();
                    source.consume(zeros);
                    passed += zeros;
                }
                Some(0) if passed == 0 && ahead[0] == GZIP[0] => break,
                Some(_) => return Err(io::Error::other(Behind)),
            }
        }
        self.decoder = Some(GzDecoder::new(source));
        Ok(true)
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Ok(0);
            };
            match decoder.read(into)? {
                0 if into.is_empty() || !self.enter()? => return Ok(0),
                0 => {}
                read => return Ok(read),
            }
        }
    }
}

/// Frames of zstd, one behind the other, are one text.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_within: bool,
    /// Whether there was one before.
    is_behind: bool,
    /// Why no more of it comes than is decoded.
    end: Option<io::Error>,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Self {
            source,
            decoder,
            is_within: false,
            is_behind: false,
            end: None,
        }
    }

    /// Goes into the next frame, or past one that is no data.
    fn enter(&mut self) -> io::Result<()> {
        let is_frame = match Packed::told(self.source.fill_buf()?) {
            Told::Packed(Packed::Zstd) | Told::Open => true,
            Told::Packed(Packed::Gzip) | Told::Foreign(_) | Told::Plain => false,
        };
        if self.is_behind && !is_frame {
            return Err(io::Error::other(Behind));
        }
        self.is_behind = true;
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

    /// Decodes a block. Where the input ends within the frame, what was decoded before is let out: the decoder holds
    /// the last window back until it has seen a last block, and this one says that nothing more comes.
    fn decode(&mut self) -> io::Result<()> {
        /// RFC 8878 §3.1.1.2: the last block, raw, of no byte; behind it room for a checksum.
        const LAST: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        let one = BlockDecodingStrategy::UptoBlocks(1);
        let decoded = self.decoder.decode_blocks(&mut self.source, one);
        let Err(why) = decoded.map_err(damage) else {
            return Ok(());
        };
        if why.kind() != io::ErrorKind::UnexpectedEof {
            return Err(why);
        }
        let one = BlockDecodingStrategy::UptoBlocks(1);
        let ended = self.decoder.decode_blocks(&LAST[..], one);
        ended.map_err(damage)?;
        self.end = Some(why);
        Ok(())
    }

    /// At the end of a frame: RFC 8878 §3.1.1, a checksum of what was in it.
    fn leave(&mut self) -> io::Result<()> {
        self.is_within = false;
        if let Some(why) = self.end.take() {
            return Err(why);
        }
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
                self.decode()?;
            }
            match self.decoder.read(into)? {
                0 if into.is_empty() => return Ok(0),
                0 => self.leave()?,
                read => return Ok(read),
            }
        }
    }
}

/// The end of the input within a frame is told as such, and a window that is not held, of data that are whole.
fn damage(why: FrameDecoderError) -> io::Error {
    if let FrameDecoderError::WindowSizeTooBig { requested, .. } = why {
        return Spoilt {
            what: format!(
                "its zstd data has a window of {} MiB, and at most {} MiB are held",
                requested.div_ceil(1 << 20),
                WINDOW >> 20
            ),
            mend: "let zstd undo it: zstd -dc --long=31 FILE | shaper run -".to_owned(),
        }
        .into();
    }
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
            for junk in [&b"no data"[..], b"x", b"\0\0x", &vec![b'x'; 100_000]] {
                let told = undone(&[&packed[..], junk].concat()).unwrap_err();
                assert_eq!(told, format!("behind its {name} data stands what is none"));
            }
        }
    }

    #[test]
    fn zeros_behind_gzip_are_passed_over_as_gzip_does() {
        let filled = [&gzip(&text())[..], &vec![0; 70_000]].concat();
        assert!(undone(&filled) == Ok(text()));
    }

    #[test]
    fn what_stands_before_a_tear_is_read() {
        // Of three megabytes that do not shrink to nothing, more than a window of the decoder.
        let all: Vec<u8> = (0..150_000)
            .flat_map(|nth: u32| {
                format!("http://h/{:08x}\n", nth.wrapping_mul(2_654_435_769)).into_bytes()
            })
            .collect();
        for packed in [gzip(&all), zstd(&all)] {
            let Told::Packed(how) = Packed::told(&packed) else {
                panic!("it is packed");
            };
            let torn = io::Cursor::new(packed[..packed.len() - 9].to_vec());
            let mut given = Vec::new();
            let why = how.undone(Box::new(torn)).read_to_end(&mut given);
            assert!(why.unwrap_err().to_string().ends_with("is cut off"));
            assert!(all.starts_with(&given), "{how:?}");
            assert!(
                all.len() - given.len() <= 128 << 10,
                "{how:?}: {}",
                given.len()
            );
        }
    }

    #[test]
    fn other_forms_are_named_with_the_command_that_undoes_them() {
        for (head, what, mend) in [
            (
                &b"\xfd7zXZ\0\0"[..],
                "it is xz",
                "xz -dc FILE | shaper run -",
            ),
            (
                b"BZh91AY&SY",
                "it is bzip2",
                "bzip2 -dc FILE | shaper run -",
            ),
            (
                b"\x04\x22\x4d\x18",
                "it is lz4",
                "lz4 -dc FILE | shaper run -",
            ),
            (b"PK\x03\x04", "zip archive", "unzip -p FILE | shaper run -"),
        ] {
            let Told::Foreign(foreign) = Packed::told(head) else {
                panic!("{head:?}");
            };
            let Spoilt {
                what: own,
                mend: its,
            } = foreign.spoilt();
            assert!(own.contains(what) && its.ends_with(mend), "{own}: {its}");
        }
        let twice = Packed::Gzip.twice(Packed::Gzip).mend;
        assert_eq!(twice, "undo both: gzip -dc FILE | gzip -dc | shaper run -");
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
            (b"PO", Told::Plain),
            (b"BZ", Told::Open),
            (b"BZhang.example", Told::Plain),
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

    #[test]
    fn a_window_that_is_not_held_is_told_and_is_no_damage() {
        // RFC 8878 §3.1.1.1.2: the exponent 20 stands for 1 GiB.
        let frame = [&ZSTD[..], &[0, 20 << 3], &[1, 0, 0]].concat();
        let mut undone = Packed::Zstd.undone(Box::new(io::Cursor::new(frame)));
        let why = undone.read_to_end(&mut Vec::new()).unwrap_err();
        let spoilt = why.get_ref().and_then(|it| it.downcast_ref::<Spoilt>());
        let spoilt = spoilt.unwrap();
        assert!(spoilt.what.contains("window of 1024 MiB"), "{spoilt}");
        assert!(spoilt.mend.contains("--long=31"), "{}", spoilt.mend);
    }
}
