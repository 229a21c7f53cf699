//! zlib streams.

use zlib_rs::{Deflate, DeflateFlush, Status};

/// Shorter payloads are stored as they are: what compressing would save is less than what setting it up costs.
const STORE_BELOW: usize = 48;
/// zlib header for a window of 32 KiB.
const HEADER: [u8; 2] = [0x78, 0x01];
/// Most bytes of a stored block.
const MAX_STORED: usize = 0xffff;
/// Compression level; see docs/decisions/dependencies.md for the measurement.
const LEVEL: i32 = 4;
/// Bytes of output asked for at a time.
const STEP: usize = 32 << 10;

/// A compressor that is used again and again.
pub(crate) struct Zip {
    deflate: Deflate,
}

impl Zip {
    pub(crate) fn new() -> Zip {
        Zip { deflate: Deflate::new(LEVEL, true, 15) }
    }

    /// Appends the stream of one payload.
    ///
    /// # Errors
    /// The compressor's, in words.
    pub(crate) fn put(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        if payload.len() < STORE_BELOW {
            stored(payload, out);
            return Ok(());
        }
        self.begin();
        self.feed(payload, true, out)
    }

    /// Begins a stream whose payload comes in pieces.
    pub(crate) fn begin(&mut self) {
        self.deflate.reset();
    }

    /// Appends what a piece of the payload becomes.
    ///
    /// # Errors
    /// The compressor's, in words.
    pub(crate) fn feed(&mut self, mut piece: &[u8], last: bool, out: &mut Vec<u8>) -> Result<(), String> {
        let flush = if last { DeflateFlush::Finish } else { DeflateFlush::NoFlush };
        loop {
            let start = out.len();
            // Enough for nearly all at once, and never much more than what comes.
            out.resize(start + (piece.len() / 2 + 64).min(STEP), 0);
            let before = (self.deflate.total_in(), self.deflate.total_out());
            let status =
                self.deflate.compress(piece, &mut out[start..], flush).map_err(|e| e.as_str().to_owned())?;
            let taken = usize::try_from(self.deflate.total_in() - before.0).unwrap_or(usize::MAX);
            let made = usize::try_from(self.deflate.total_out() - before.1).unwrap_or(0);
            let full = start + made == out.len();
            out.truncate(start + made);
            piece = piece.get(taken..).unwrap_or_default();
            match status {
                Status::StreamEnd => return Ok(()),
                _ if !last && piece.is_empty() && !full => return Ok(()),
                _ if taken == 0 && made == 0 && !full => return Err("no progress".to_owned()),
                _ => {}
            }
        }
    }
}

/// Appends a stream of stored blocks.
pub(super) fn stored(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&HEADER);
    let mut blocks = payload.chunks(MAX_STORED);
    let mut next = Some(blocks.next().unwrap_or_default());
    while let Some(block) = next {
        next = blocks.next();
        let len = block.len() as u16;
        out.push(u8::from(next.is_none()));
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&adler(payload).to_be_bytes());
}

/// Adler-32.
fn adler(payload: &[u8]) -> u32 {
    const BASE: u32 = 65521;
    /// Bytes after which the sums have to be reduced.
    const RUN: usize = 5552;
    let (mut a, mut b) = (1u32, 0u32);
    for run in payload.chunks(RUN) {
        for byte in run {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % BASE, b % BASE);
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflated(stream: &[u8], len: usize) -> Vec<u8> {
        let mut inflate = zlib_rs::Inflate::new(true, 15);
        let mut out = vec![0; len + 8];
        let status = inflate.decompress(stream, &mut out, zlib_rs::InflateFlush::Finish).unwrap();
        assert_eq!(status, Status::StreamEnd);
        assert_eq!(inflate.total_in() as usize, stream.len());
        out.truncate(inflate.total_out() as usize);
        out
    }

    #[test]
    fn streams_of_any_length_come_back() {
        let mut zip = Zip::new();
        for len in [0, 1, STORE_BELOW - 1, STORE_BELOW, 1000, STEP, 5 * STEP + 1, 3 << 20] {
            let text: Vec<u8> = (0..len).map(|n| (n * n / 7 % 251) as u8).collect();
            let mut noise = vec![0; len];
            blake3::Hasher::new().finalize_xof().fill(&mut noise);
            for payload in [vec![7; len], text, noise] {
                let mut out = b"before".to_vec();
                zip.put(&payload, &mut out).unwrap();
                assert!(inflated(&out[6..], len) == payload, "{len}");
                let mut plain = Vec::new();
                stored(&payload, &mut plain);
                assert!(inflated(&plain, len) == payload, "{len}");
                let mut pieces = Vec::new();
                zip.begin();
                let (first, second) = payload.split_at(len / 3);
                zip.feed(first, false, &mut pieces).unwrap();
                zip.feed(&[], false, &mut pieces).unwrap();
                zip.feed(second, true, &mut pieces).unwrap();
                assert!(inflated(&pieces, len) == payload, "{len}");
            }
        }
    }
}
