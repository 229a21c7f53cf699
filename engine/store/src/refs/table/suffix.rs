//! The part of a name that an entry does not share with the one before it (docs/STORAGE.md, "Ref table").
//!
//! Names of mappings end in object names, and names that share all they can differ in nothing but hex digits: those
//! take half a byte each.

use crate::refs::codec::{Input, put_len};
use crate::refs::name::MAX_NAME_BYTES;

/// Added to the length of a suffix of which two digits share a byte.
const PACKED: usize = 2048;
const _: () = assert!(MAX_NAME_BYTES < PACKED);
/// Shortest and longest suffix that is packed.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=64;

/// A suffix as it was read.
pub(super) enum Suffix<'i> {
    Plain(&'i [u8]),
    Digits([u8; 64], usize),
}

impl Suffix<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Suffix::Plain(bytes) => bytes,
            Suffix::Digits(digits, len) => digits.get(..*len).unwrap_or_default(),
        }
    }
}

/// Appends the length and the bytes of a suffix.
pub(super) fn put(out: &mut Vec<u8>, suffix: &[u8]) {
    let digits: Option<Vec<u8>> = match DIGITS.contains(&suffix.len()) {
        true => suffix.iter().map(|byte| digit(*byte)).collect(),
        false => None,
    };
    match digits {
        Some(digits) => {
            put_len(out, PACKED + suffix.len());
            out.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)));
        }
        None => {
            put_len(out, suffix.len());
            out.extend_from_slice(suffix);
        }
    }
}

/// Reads what [`put`] appended; the suffix has at most `max` bytes.
#[inline]
pub(super) fn read<'i>(input: &mut Input<'i>, max: usize) -> Option<Suffix<'i>> {
    let coded = input.len(PACKED + *DIGITS.end())?;
    let Some(len) = coded.checked_sub(PACKED) else {
        return if coded <= max { input.take(coded).map(Suffix::Plain) } else { None };
    };
    if len > max || !DIGITS.contains(&len) {
        return None;
    }
    let packed = input.take(len.div_ceil(2))?;
    let mut digits = [0u8; 64];
    for (at, pair) in digits.chunks_exact_mut(2).zip(packed) {
        at[0] = hex(pair >> 4);
        at[1] = hex(pair & 15);
    }
    // One encoding each: the half that is left over is zero.
    if len % 2 == 1 && packed.last()? & 15 != 0 {
        return None;
    }
    Some(Suffix::Digits(digits, len))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_come_back() {
        for suffix in
            ["", "a", "abcdef0", "abcdef01", "0123456789abcdef0", "C12", "ABCDEF0123", "zabcdef0123"]
        {
            let mut out = Vec::new();
            put(&mut out, suffix.as_bytes());
            let mut input = Input::new(&out);
            assert_eq!(read(&mut input, 64).map(|s| s.bytes().to_vec()), Some(suffix.as_bytes().to_vec()));
            assert!(input.is_empty());
            for cut in 0..out.len() {
                assert!(read(&mut Input::new(&out[..cut]), 64).is_none(), "{suffix} {cut}");
            }
            assert!(suffix.is_empty() || read(&mut Input::new(&out), suffix.len() - 1).is_none());
        }
    }
}
