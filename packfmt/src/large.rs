//! Objects too large for one frame (docs/STORAGE.md, "Large object"): a list of chunk frames in the same pack,
//! each of bounded size, so that reading and writing them needs bounded memory.

use crate::varint::{self, Reader};
use crate::{FormatError, Result};

/// Plain bytes of a full chunk.
pub const CHUNK_BYTES: usize = 2 << 20;

/// The payload of the list frame at `offset`, whose chunks begin at `chunks` (ascending, before it).
pub fn payload(offset: u64, chunks: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(chunks.len() * 4 + 8);
    varint::put(&mut out, chunks.len() as u64);
    let mut last = offset;
    for &chunk in chunks.iter().rev() {
        varint::put(&mut out, last - chunk);
        last = chunk;
    }
    out
}

/// The chunk offsets named by the list frame at `offset`, in order of content.
///
/// # Errors
/// `Cut`, `TooLarge` when an offset would not lie before the one after it.
pub fn read(offset: u64, payload: &[u8]) -> Result<Vec<u64>> {
    let mut reader = Reader::new(payload);
    let count = reader.len_within("chunk count")?;
    let mut chunks = Vec::with_capacity(count);
    let mut last = offset;
    for _ in 0..count {
        let back = reader.uint_at_most("chunk distance", last)?;
        if back == 0 {
            return Err(FormatError::Mismatch { what: "chunk distance", expected: 1, found: 0 });
        }
        last -= back;
        chunks.push(last);
    }
    chunks.reverse();
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip() {
        let chunks = [20, 1000, 70_000];
        assert_eq!(read(99_000, &payload(99_000, &chunks)), Ok(chunks.to_vec()));
        assert!(read(500, &payload(99_000, &chunks)).is_err());
        assert!(read(99_000, &[2, 0, 0]).is_err());
        assert!(read(99_000, &[200, 1, 1]).is_err());
    }
}
