//! Bytes as they go over a wire.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// The head of the next message with the empty line behind it, and nothing of what follows. Fails at the end of the
/// connection.
pub(crate) fn head(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

/// The target of the request that this is the head of.
pub(crate) fn target(head: &[u8]) -> String {
    let target = head.split(|byte| *byte == b' ').nth(1);
    String::from_utf8_lossy(target.unwrap_or_default()).into_owned()
}

/// The length of the body that a head says; 0 if it says none.
pub(crate) fn length(head: &[u8]) -> u64 {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    length.unwrap_or(0)
}

/// The same bytes, packed as closely as they can be.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}
