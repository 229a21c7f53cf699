//! How much two pieces have in common, without compressing either: the hashes of their lines, or of what they refer to.

use crate::packs::decode::Piece;

/// Longest stretch without a line end that counts as one line, about: contents may have none.
const CUT_MASK: u64 = 0x3f;
/// Most hashes kept of a piece; of a longer one only those below a bound are.
const MOST: usize = 1 << 16;

/// The hashes of a piece, ascending.
#[derive(Debug, Default)]
pub(super) struct Likeness(Vec<u32>);

impl Likeness {
    /// Looks at a piece.
    pub(super) fn of(piece: &Piece) -> Likeness {
        let mut hashes: Vec<u32> = match &piece.keys {
            Some(keys) if !keys.is_empty() => {
                keys.iter().map(|key| u32::from_le_bytes([key[1], key[2], key[3], key[4]])).collect()
            }
            _ => lines(&piece.form),
        };
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(MOST);
        Likeness(hashes)
    }

    /// How many hashes the other has and this one lacks: what a difference would have to bring, about.
    pub(super) fn lacks(&self, other: &Likeness) -> usize {
        let (mut at, mut lacking) = (0, 0);
        for hash in &other.0 {
            while self.0.get(at).is_some_and(|own| own < hash) {
                at += 1;
            }
            lacking += usize::from(self.0.get(at) != Some(hash));
        }
        lacking
    }
}

fn lines(bytes: &[u8]) -> Vec<u32> {
    let (mut hashes, mut line, mut rolling) = (Vec::with_capacity(bytes.len() / 24), 0u64, 0u64);
    for &byte in bytes {
        line = (line ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        rolling = (rolling << 1).wrapping_add(u64::from(byte).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if byte == b'\n' || (rolling >> 40) & CUT_MASK == 0 {
            hashes.push((line >> 32) as u32 ^ line as u32);
            line = 0;
        }
    }
    hashes.push((line >> 32) as u32 ^ line as u32);
    hashes
}
