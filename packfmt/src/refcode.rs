//! Codes for the identities cut out of an object (docs/STORAGE.md, "Reference codes").
//!
//! A key stored in the same pack is coded by its ordinal, any other by its place in the pack's list of foreign
//! keys. Codes are differences to the code before, so that runs of neighbours become runs of small equal numbers.

use crate::varint::{self, Reader};
use crate::{FormatError, Result};

/// Where a referenced key is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefCode {
    /// The object with this ordinal in the same pack.
    Local(u32),
    /// The key with this number in the pack's foreign list.
    Foreign(u32),
}

/// State of a code sequence: the numbers the next difference is taken to.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    local: i64,
    foreign: i64,
}

impl Codes {
    /// The state at the first code of the object with ordinal `own`.
    pub fn of(own: u32) -> Codes {
        Codes { local: i64::from(own), foreign: 0 }
    }

    /// Appends one code.
    pub fn put(&mut self, code: RefCode, out: &mut Vec<u8>) {
        let (last, value, tag) = match code {
            RefCode::Local(n) => (&mut self.local, i64::from(n), 0),
            RefCode::Foreign(n) => (&mut self.foreign, i64::from(n), 1),
        };
        varint::put(out, varint::zigzag(value - *last) << 1 | tag);
        *last = value;
    }

    /// Reads one code.
    ///
    /// # Errors
    /// `Cut`, or `TooLarge` when it is no 32-bit number.
    pub fn take(&mut self, reader: &mut Reader<'_>) -> Result<RefCode> {
        let raw = reader.uint("reference code")?;
        let foreign = raw & 1 == 1;
        let last = if foreign { &mut self.foreign } else { &mut self.local };
        let value = last.checked_add(varint::unzigzag(raw >> 1)).unwrap_or(-1);
        let number = u32::try_from(value).map_err(|_| FormatError::TooLarge {
            what: "reference code",
            found: value.cast_unsigned(),
            limit: u64::from(u32::MAX),
        })?;
        *last = value;
        Ok(if foreign { RefCode::Foreign(number) } else { RefCode::Local(number) })
    }
}

/// Objects of the same pack that the codes of the object with ordinal `own` stand for, up to the first that cannot be
/// read.
pub fn locals(own: u32, codes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (mut state, mut reader) = (Codes::of(own), Reader::new(codes));
    let next = move || (reader.remaining() > 0).then(|| state.take(&mut reader).ok()).flatten();
    std::iter::from_fn(next).filter_map(|code| match code {
        RefCode::Local(ordinal) => Some(ordinal),
        RefCode::Foreign(_) => None,
    })
}

/// How the key list of an object differs from that of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOp {
    /// Take the next `n` keys of the base.
    Copy(u32),
    /// Pass over the next `n` keys of the base.
    Skip(u32),
    /// Take `n` keys coded here.
    New(u32),
}

/// The edit script from `base` to `target`: common runs are copied, in order.
pub fn key_ops<K: Eq + std::hash::Hash>(base: &[K], target: &[K]) -> Vec<KeyOp> {
    let prefix = base.iter().zip(target).take_while(|(a, b)| a == b).count();
    let suffix =
        base[prefix..].iter().rev().zip(target[prefix..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&base[prefix..base.len() - suffix], &target[prefix..target.len() - suffix]);
    let places: std::collections::HashMap<&K, usize> = old.iter().enumerate().map(|(i, k)| (k, i)).collect();
    let mut ops = Vec::new();
    push(&mut ops, KeyOp::Copy, prefix);
    let (mut at, mut fresh) = (0, 0);
    for key in new {
        match places.get(key) {
            Some(&place) if place >= at => {
                push(&mut ops, KeyOp::New, std::mem::take(&mut fresh));
                push(&mut ops, KeyOp::Skip, place - at);
                push(&mut ops, KeyOp::Copy, 1);
                at = place + 1;
            }
            _ => fresh += 1,
        }
    }
    push(&mut ops, KeyOp::New, fresh);
    push(&mut ops, KeyOp::Skip, if suffix > 0 { old.len() - at } else { 0 });
    push(&mut ops, KeyOp::Copy, suffix);
    ops
}

fn push(ops: &mut Vec<KeyOp>, op: fn(u32) -> KeyOp, n: usize) {
    let Ok(n) = u32::try_from(n) else { return };
    if n == 0 {
        return;
    }
    if let (Some(KeyOp::Copy(last)), KeyOp::Copy(_)) = (ops.last_mut(), op(n)) {
        *last += n;
    } else {
        ops.push(op(n));
    }
}

/// Appends one operation's head; the codes of `New` follow it.
pub fn put_op(op: KeyOp, out: &mut Vec<u8>) {
    let (n, tag) = match op {
        KeyOp::Copy(n) => (n, 0),
        KeyOp::Skip(n) => (n, 1),
        KeyOp::New(n) => (n, 2),
    };
    varint::put(out, u64::from(n) << 2 | tag);
}

/// Reads one operation's head.
///
/// # Errors
/// `Cut`, `TooLarge`, `Unknown`.
pub fn take_op(reader: &mut Reader<'_>) -> Result<KeyOp> {
    let raw = reader.uint_at_most("key operation", u64::from(u32::MAX) << 2 | 3)?;
    let n = (raw >> 2) as u32;
    match raw & 3 {
        0 => Ok(KeyOp::Copy(n)),
        1 => Ok(KeyOp::Skip(n)),
        2 => Ok(KeyOp::New(n)),
        found => Err(FormatError::Unknown { what: "key operation", found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(base: &[u32], target: &[u32], ops: &[KeyOp]) -> Vec<u32> {
        let (mut at, mut made) = (0usize, Vec::new());
        for op in ops {
            match *op {
                KeyOp::Copy(n) => {
                    made.extend_from_slice(&base[at..at + n as usize]);
                    at += n as usize;
                }
                KeyOp::Skip(n) => at += n as usize,
                KeyOp::New(n) => made.extend_from_slice(&target[made.len()..made.len() + n as usize]),
            }
        }
        made
    }

    #[test]
    fn scripts_turn_the_base_into_the_target() {
        let cases: [(&[u32], &[u32]); 8] = [
            (&[], &[]),
            (&[], &[1, 2]),
            (&[1, 2], &[]),
            (&[1, 2, 3, 4], &[1, 9, 3, 4]),
            (&[1, 2, 3, 4], &[1, 3, 4, 5]),
            (&[1, 2, 3, 4, 5, 6], &[1, 7, 3, 5, 8, 6]),
            (&[1, 1, 1], &[1, 1]),
            (&[4, 3, 2, 1], &[1, 2, 3, 4]),
        ];
        for (base, target) in cases {
            assert_eq!(apply(base, target, &key_ops(base, target)), target, "{base:?} -> {target:?}");
        }
    }

    #[test]
    fn codes_round_trip() {
        let codes = [
            RefCode::Local(7),
            RefCode::Local(8),
            RefCode::Foreign(0),
            RefCode::Local(u32::MAX),
            RefCode::Foreign(3),
        ];
        let mut out = Vec::new();
        let mut state = Codes::of(9);
        codes.iter().for_each(|&c| state.put(c, &mut out));
        assert_eq!(locals(9, &out).collect::<Vec<u32>>(), [7, 8, u32::MAX]);
        let (mut state, mut reader) = (Codes::of(9), Reader::new(&out));
        for code in codes {
            assert_eq!(state.take(&mut reader), Ok(code));
        }
    }
}
