//! Cutting identities out of an envelope, and splicing them back (docs/STORAGE.md, "Cut form").
//!
//! Identities are random bytes that no compressor shrinks. They are replaced by short codes; what is left, the
//! *cut form*, is `count`, the gaps between identities, then the remaining bytes.

use crate::varint::{self, Reader};
use crate::{FormatError, KEY_LEN, Key, Result};

/// Appends the cut form of `bytes`, whose keys stand at `positions` (ascending, not overlapping).
///
/// # Errors
/// `Mismatch` when positions overlap or leave the bytes.
pub fn cut(bytes: &[u8], positions: &[u32], out: &mut Vec<u8>) -> Result<()> {
    varint::put(out, positions.len() as u64);
    let mut at = 0usize;
    for &position in positions {
        let position = position as usize;
        if position < at || position + KEY_LEN > bytes.len() {
            return Err(FormatError::Mismatch {
                what: "key position",
                expected: at as u64,
                found: position as u64,
            });
        }
        varint::put(out, (position - at) as u64);
        at = position + KEY_LEN;
    }
    let mut at = 0usize;
    for &position in positions {
        out.extend_from_slice(&bytes[at..position as usize]);
        at = position as usize + KEY_LEN;
    }
    out.extend_from_slice(&bytes[at..]);
    Ok(())
}

/// The number of keys a cut form expects.
///
/// # Errors
/// `Cut`, `TooLarge` when it cannot be true.
pub fn key_count(form: &[u8]) -> Result<usize> {
    Reader::new(form).len_within("key count")
}

/// Appends the bytes whose cut form is `form`, with `keys` spliced in.
///
/// # Errors
/// `Mismatch` when the number of keys differs, `Cut` when the form ends early.
pub fn splice(form: &[u8], keys: &[Key], out: &mut Vec<u8>) -> Result<()> {
    let mut reader = Reader::new(form);
    let count = reader.len_within("key count")?;
    if count != keys.len() {
        return Err(FormatError::Mismatch { what: "keys", expected: count as u64, found: keys.len() as u64 });
    }
    let mut gaps = reader.clone();
    for _ in 0..count {
        reader.uint("key gap")?;
    }
    out.reserve(reader.remaining() + count * KEY_LEN);
    for key in keys {
        let gap = gaps.len_within("key gap")?;
        out.extend_from_slice(reader.take("cut bytes", gap)?);
        out.extend_from_slice(key);
    }
    out.extend_from_slice(reader.rest());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splicing_restores_what_was_cut() {
        let bytes: Vec<u8> = (0..200u8).collect();
        for positions in [vec![], vec![0], vec![10, 43, 160], vec![167]] {
            let keys: Vec<Key> = positions
                .iter()
                .map(|&p: &u32| bytes[p as usize..p as usize + KEY_LEN].try_into().unwrap())
                .collect();
            let mut form = Vec::new();
            cut(&bytes, &positions, &mut form).unwrap();
            let mut back = Vec::new();
            splice(&form, &keys, &mut back).unwrap();
            assert_eq!(back, bytes);
            assert!(positions.is_empty() || splice(&form, &keys[1..], &mut Vec::new()).is_err());
        }
        assert!(cut(&bytes, &[168], &mut Vec::new()).is_err());
        assert!(cut(&bytes, &[20, 30], &mut Vec::new()).is_err());
    }
}
