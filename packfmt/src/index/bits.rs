//! Numbers of any width, one behind the other, lowest bits first.

/// Widest number that [`get`] reads in one go.
pub(super) const MAX_WIDTH: u32 = 57;

/// Bits that hold every number up to `largest`.
pub(super) fn width_of(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// The lowest `width` bits.
pub(super) fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

/// Bytes that hold `count` numbers of `width` bits.
pub(super) fn bytes_for(count: u64, width: u32) -> u64 {
    count.saturating_mul(u64::from(width)).div_ceil(8)
}

/// Numbers being written.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    out: Vec<u8>,
    pending: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends the lowest `width` bits, at most [`MAX_WIDTH`], of a number.
    pub(super) fn put(&mut self, value: u64, width: u32) {
        self.pending |= (value & mask(width)) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.out.push(self.pending as u8);
            self.pending >>= 8;
            self.filled -= 8;
        }
    }

    /// The bytes, the last one filled up with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.out.push(self.pending as u8);
        }
        self.out
    }
}

/// The number of `width` bits, at most [`MAX_WIDTH`], at bit `at`.
#[inline]
pub(super) fn get(bytes: &[u8], at: u64, width: u32) -> Option<u64> {
    let start = usize::try_from(at / 8).ok()?;
    let shift = (at % 8) as u32;
    if width > MAX_WIDTH {
        return None;
    }
    let rest = bytes.get(start..)?;
    let word = match rest.first_chunk::<8>() {
        Some(raw) => u64::from_le_bytes(*raw),
        None => {
            if (shift + width).div_ceil(8) as usize > rest.len() {
                return None;
            }
            let mut raw = [0; 8];
            raw[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(raw)
        }
    };
    Some(word >> shift & mask(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for width in 0..=MAX_WIDTH {
            let values: Vec<u64> =
                (0..70u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask(width)).collect();
            let mut writer = BitWriter::default();
            values.iter().for_each(|value| writer.put(*value, width));
            let bytes = writer.finish();
            assert_eq!(bytes.len() as u64, bytes_for(70, width));
            for (at, value) in (0u64..).zip(&values) {
                assert_eq!(get(&bytes, at * u64::from(width), width), Some(*value));
            }
            if width >= 8 {
                assert_eq!(get(&bytes, 70 * u64::from(width), width), None);
            }
        }
        assert_eq!((width_of(0), width_of(1), width_of(255), width_of(256)), (0, 1, 8, 9));
        assert_eq!(get(&[0; 32], 0, 58), None);
    }
}
