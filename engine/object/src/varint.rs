//! Integers of the encoding (object model, section 1): groups of seven bits, lowest first.

use crate::ObjectError;

/// Longest encoding of a 64-bit value.
pub(crate) const MAX_LEN: usize = 10;

/// Reads the integer at `at`, which must end before `bound`. Returns the value and the offset after it.
#[inline]
pub(crate) fn read_uint(bytes: &[u8], at: usize, bound: usize) -> Result<(u64, usize), ObjectError> {
    match bytes.get(at) {
        Some(&byte) if byte < 0x80 && at < bound => Ok((u64::from(byte), at + 1)),
        _ => read_long(bytes, at, bound),
    }
}

fn read_long(bytes: &[u8], at: usize, bound: usize) -> Result<(u64, usize), ObjectError> {
    let within = bytes.get(at..bound).unwrap_or_default();
    let mut value = 0u64;
    for (index, &byte) in within.iter().take(MAX_LEN).enumerate() {
        let group = u64::from(byte & 0x7F);
        if index == MAX_LEN - 1 {
            if group > 1 {
                return Err(ObjectError::IntegerOverflow { at });
            }
            if byte & 0x80 != 0 {
                return Err(ObjectError::NonCanonicalInteger { at });
            }
        }
        value |= group << (7 * index);
        if byte & 0x80 == 0 {
            if byte == 0 && index > 0 {
                return Err(ObjectError::NonCanonicalInteger { at });
            }
            return Ok((value, at + index + 1));
        }
    }
    Err(ObjectError::Varint { at, bound })
}

/// Appends the canonical encoding of `value`.
#[inline]
pub(crate) fn write_uint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes of the canonical encoding of `value`.
#[inline]
pub(crate) fn uint_len(value: u64) -> usize {
    let bits = (64 - value.leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

/// The unsigned value that stands for `value`.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The signed value that `coded` stands for.
#[inline]
pub(crate) fn unzigzag(coded: u64) -> i64 {
    (coded >> 1).cast_signed() ^ -(coded & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        write_uint(&mut out, value);
        out
    }

    #[test]
    fn known_unsigned_encodings() {
        assert_eq!(bytes(0), [0x00]);
        assert_eq!(bytes(127), [0x7F]);
        assert_eq!(bytes(128), [0x80, 0x01]);
        assert_eq!(bytes(33188), [0xA4, 0x83, 0x02]);
        assert_eq!(bytes(u64::MAX), [[0xFF; 9].as_slice(), &[0x01]].concat());
    }

    #[test]
    fn known_signed_encodings() {
        let table =
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (63, 126), (-64, 127), (64, 128), (i64::MAX, u64::MAX - 1)];
        for (value, coded) in table.into_iter().chain([(i64::MIN, u64::MAX)]) {
            assert_eq!(zigzag(value), coded);
            assert_eq!(unzigzag(coded), value);
        }
    }

    #[test]
    fn every_length_reads_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, (1u64 << shift) | 1] {
                let coded = bytes(value);
                assert_eq!(coded.len(), uint_len(value));
                assert_eq!(read_uint(&coded, 0, coded.len()), Ok((value, coded.len())));
                for cut in 0..coded.len() {
                    assert_eq!(read_uint(&coded, 0, cut), Err(ObjectError::Varint { at: 0, bound: cut }));
                }
            }
        }
    }

    #[test]
    fn rejected_encodings() {
        let check = |coded: &[u8], name: &str| {
            let error = read_uint(coded, 0, coded.len()).unwrap_err();
            assert_eq!(error.name(), name, "{coded:02x?}");
        };
        check(&[0x80, 0x00], "NonCanonicalInteger");
        check(&[0x81, 0x00], "NonCanonicalInteger");
        check(&[[0xFF; 9].as_slice(), &[0x02]].concat(), "IntegerOverflow");
        check(&[[0x80; 9].as_slice(), &[0x00]].concat(), "NonCanonicalInteger");
        check(&[[0x80; 10].as_slice(), &[0x01]].concat(), "NonCanonicalInteger");
        check(&[0x80; 10], "NonCanonicalInteger");
        check(&[0xFF; 11], "IntegerOverflow");
        check(&[0x80], "Varint");
        check(&[0x80; 9], "Varint");
        check(&[], "Varint");
    }
}
