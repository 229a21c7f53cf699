//! Unsigned integers of 7-bit groups, lowest first, as used inside frames.

use crate::{FormatError, Result};

/// Appends `value`.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Maps small negative and positive numbers to small unsigned ones.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Inverse of [`zigzag`].
pub fn unzigzag(value: u64) -> i64 {
    ((value >> 1) ^ (value & 1).wrapping_neg()).cast_signed()
}

/// A cursor over bytes that never reads past their end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads one integer.
    ///
    /// # Errors
    /// `Cut` at the end of the bytes, `TooLarge` above 64 bits.
    pub fn uint(&mut self, what: &'static str) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(FormatError::Cut { what, offset: start as u64 })?;
            self.at += 1;
            if shift == 63 && byte > 1 {
                return Err(FormatError::TooLarge { what, found: u64::MAX, limit: u64::MAX - 1 });
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// Reads one integer of at most `limit`.
    ///
    /// # Errors
    /// As [`Reader::uint`]; `TooLarge` above the limit.
    pub fn uint_at_most(&mut self, what: &'static str, limit: u64) -> Result<u64> {
        let found = self.uint(what)?;
        if found > limit {
            return Err(FormatError::TooLarge { what, found, limit });
        }
        Ok(found)
    }

    /// Reads a number of 32 bits.
    ///
    /// # Errors
    /// As [`Reader::uint_at_most`].
    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        let found = self.uint(what)?;
        u32::try_from(found).map_err(|_| FormatError::TooLarge { what, found, limit: u64::from(u32::MAX) })
    }

    /// Reads a length that must lie within the bytes left.
    ///
    /// # Errors
    /// As [`Reader::uint`]; `TooLarge` when more is declared than is left.
    pub fn len_within(&mut self, what: &'static str) -> Result<usize> {
        let limit = self.remaining() as u64;
        self.uint_at_most(what, limit).map(|n| n as usize)
    }

    /// Takes `len` bytes.
    ///
    /// # Errors
    /// `Cut` when fewer are left.
    pub fn take(&mut self, what: &'static str, len: usize) -> Result<&'a [u8]> {
        let cut = FormatError::Cut { what, offset: self.at as u64 };
        let end = self.at.checked_add(len).ok_or(cut.clone())?;
        let part = self.bytes.get(self.at..end).ok_or(cut)?;
        self.at = end;
        Ok(part)
    }

    /// Takes exactly `N` bytes.
    ///
    /// # Errors
    /// `Cut` when fewer are left.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let cut = FormatError::Cut { what, offset: self.at as u64 };
        self.take(what, N)?.try_into().map_err(|_| cut)
    }

    /// Takes what is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_trip_and_hostile_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(Reader::new(&out).uint("n"), Ok(value));
            assert!(Reader::new(&out[..out.len() - 1]).uint("n").is_err());
        }
        assert!(Reader::new(&[0xff; 11]).uint("n").is_err());
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
