//! Numbers that mostly grow, or stay, evenly: blocks of 64 hold a line and what each number lies above it
//! (docs/STORAGE.md, "Pack index").

use super::bits::{self, BitWriter};
use crate::{FormatError, Result};
use std::ops::Range;

/// Numbers of a block.
const BLOCK: usize = 64;
/// Bytes that tell of a block: base (6), slope (4), start of its numbers (5), their width (1).
const HEAD: usize = 6 + 4 + 5 + 1;
/// Numbers and distances have at most this many bits.
const MAX_BITS: u32 = 47;

/// Where a sequence lies in an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    range: Range<usize>,
    count: u32,
}

/// The bytes of a sequence.
///
/// # Errors
/// `TooLarge` for a number of more than 47 bits.
pub(super) fn build(values: &[u64]) -> Result<Vec<u8>> {
    let (mut heads, mut data) = (Vec::new(), Vec::new());
    for block in values.chunks(BLOCK) {
        let limit = bits::mask(MAX_BITS);
        if let Some(found) = block.iter().copied().find(|value| *value > limit) {
            return Err(FormatError::TooLarge { what: "number in an index", found, limit });
        }
        let (base, slope, width) = line(block);
        heads.extend_from_slice(&base.to_le_bytes()[..6]);
        heads.extend_from_slice(&slope.to_le_bytes());
        heads.extend_from_slice(&(data.len() as u64).to_le_bytes()[..5]);
        heads.push(width as u8);
        let mut writer = BitWriter::default();
        for (at, value) in (0i64..).zip(block) {
            writer.put((value.cast_signed() - base - i64::from(slope) * at).cast_unsigned(), width);
        }
        data.append(&mut writer.finish());
    }
    heads.append(&mut data);
    Ok(heads)
}

/// Base, slope and width of what lies above the line, for the line that leaves least.
fn line(block: &[u64]) -> (i64, i32, u32) {
    let number = |at: usize| block.get(at).copied().unwrap_or_default().cast_signed();
    let steps = (block.len() as i64 - 1).max(1);
    let mean = i32::try_from((number(block.len() - 1) - number(0)) / steps).unwrap_or(0);
    let above = |slope: i32| {
        let levels = || (0i64..).zip(block).map(move |(at, v)| v.cast_signed() - i64::from(slope) * at);
        let (least, most) = (levels().min().unwrap_or(0), levels().max().unwrap_or(0));
        (least, slope, bits::width_of((most - least).cast_unsigned()))
    };
    let lines = [0, 1, -1, mean].map(above);
    lines.into_iter().min_by_key(|(_, _, width)| *width).unwrap_or_default()
}

impl Sequence {
    /// The sequence of `count` numbers in this range of an index.
    pub(super) fn new(range: Range<usize>, count: u32) -> Sequence {
        Sequence { range, count }
    }

    /// The number at this place of the sequence.
    pub(super) fn get(&self, index: &[u8], at: u32) -> Option<u64> {
        (at < self.count).then_some(())?;
        let (block, within) = (at as usize / BLOCK, at as usize % BLOCK);
        let bytes = index.get(self.range.clone())?;
        let head = bytes.get(block * HEAD..)?.first_chunk::<HEAD>()?;
        let [a, b, c, d, e, f, s0, s1, s2, s3, p0, p1, p2, p3, p4, width] = *head;
        // The base keeps its sign.
        let base = i64::from_le_bytes([0, 0, a, b, c, d, e, f]) >> 16;
        let slope = i64::from(i32::from_le_bytes([s0, s1, s2, s3]));
        let start = u64::from_le_bytes([p0, p1, p2, p3, p4, 0, 0, 0]);
        let data = bytes.get((self.count as usize).div_ceil(BLOCK) * HEAD..)?;
        let width = u32::from(width);
        let bit = start * 8 + within as u64 * u64::from(width);
        let above = bits::get(data, bit, width)?.cast_signed();
        u64::try_from(base.checked_add(slope * within as i64)?.checked_add(above)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        let noise = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        let rows: [Vec<u64>; 7] = [
            vec![],
            vec![7],
            (0..200).collect(),
            (0..200).rev().collect(),
            (0..300).map(|n| n * 777 + noise(n) % 100).collect(),
            (0..130).map(noise).collect(),
            vec![(1 << 47) - 1, 0, (1 << 47) - 1],
        ];
        for values in rows {
            let bytes = build(&values).unwrap();
            let count = values.len() as u32;
            let sequence = Sequence::new(0..bytes.len(), count);
            for (at, value) in (0..).zip(&values) {
                assert_eq!(sequence.get(&bytes, at), Some(*value));
            }
            assert_eq!(sequence.get(&bytes, count), None);
            // Damage makes other numbers, or none.
            for at in 0..bytes.len() {
                let mut bad = bytes.clone();
                bad[at] ^= 0xff;
                let _ = (0..count).filter_map(|n| sequence.get(&bad, n)).count();
            }
        }
        assert!(build(&[1 << 47]).is_err());
        let steps: Vec<u64> = (0..6400).map(|n| n / 32).collect();
        assert!(build(&steps).unwrap().len() < 6400 * 5 / 8);
    }
}
