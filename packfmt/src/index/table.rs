//! From key to ordinal: one table for each class of keys, in order of the keys (docs/STORAGE.md, "Pack index").
//!
//! The first bits of a key choose a bucket of about twenty entries; an entry has a few bits more, and the ordinal. Where
//! the index holds the whole key those few sort out most of the other keys; where it does not they are all there is, and
//! there are more of them.

use super::bits::{self, BitWriter};
use crate::varint::Reader;
use crate::{FormatError, Key, Result};
use std::ops::Range;

/// Bits of a key that the index tells of one that it does not hold.
pub(super) const BRIEF_BITS: u32 = 40;
/// Bits in an entry of a key that it holds.
const WHOLE_LOW_BITS: u32 = 10;
/// Entries of a bucket, as a power of two: at least so many, and fewer than twice as many.
const BUCKET_SHIFT: u32 = 4;
/// Classes, each with two tables.
const MAX_TABLES: u64 = 512;

/// A table in an index.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) class: u8,
    /// Whether its keys are told by [`BRIEF_BITS`] only.
    pub(super) brief: bool,
    count: u32,
    /// What is to be added to the beginning of each bucket.
    bias: i64,
    /// Bits of the beginning of a bucket.
    start_width: u32,
    bucket_bits: u32,
    low_bits: u32,
    ordinal_bits: u32,
    starts: Range<usize>,
    entries: Range<usize>,
}

/// The first [`BRIEF_BITS`] bits of a digest.
pub(super) fn brief_of(key: &Key) -> u64 {
    let [_, a, b, c, d, e, ..] = *key;
    u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
}

fn bucket_bits_of(count: u32) -> u32 {
    bits::width_of(count.into()).saturating_sub(1 + BUCKET_SHIFT)
}

fn low_bits_of(brief: bool, bucket_bits: u32) -> u32 {
    if brief { BRIEF_BITS - bucket_bits } else { WHOLE_LOW_BITS }
}

/// Appends a table for keys in ascending order: what tells of it to `heads`, the table to `out`.
///
/// # Errors
/// `TooLarge` for more than 2^32 keys.
pub(super) fn put(
    (class, brief): (u8, bool),
    keys: &[(Key, u32)],
    objects: u32,
    heads: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = super::build::number("objects", keys.len())?;
    let bucket_bits = bucket_bits_of(count);
    let low_bits = low_bits_of(brief, bucket_bits);
    let ordinal_bits = bits::width_of(objects.saturating_sub(1).into());
    let bucket_of = |key: &Key| brief_of(key) >> (BRIEF_BITS - bucket_bits);
    let mut from = 0;
    let above: Vec<i64> = (0..1u64 << bucket_bits)
        .map(|bucket| {
            from += keys[from..].iter().take_while(|(key, _)| bucket_of(key) < bucket).count();
            from as i64 - even_start(bucket, count, bucket_bits)
        })
        .collect();
    let (least, most) = (above.iter().min().copied().unwrap_or(0), above.iter().max().copied().unwrap_or(0));
    let start_width = bits::width_of((most - least).cast_unsigned());
    let mut starts = BitWriter::default();
    above.iter().for_each(|start| starts.put((start - least).cast_unsigned(), start_width));
    let mut entries = BitWriter::default();
    for (key, ordinal) in keys {
        entries.put(brief_of(key) >> (BRIEF_BITS - bucket_bits - low_bits), low_bits);
        entries.put(u64::from(*ordinal), ordinal_bits);
    }
    heads.extend_from_slice(&[class, brief.into(), start_width as u8]);
    heads.extend_from_slice(&count.to_le_bytes());
    heads.extend_from_slice(&least.to_le_bytes());
    out.append(&mut starts.finish());
    out.append(&mut entries.finish());
    Ok(())
}

/// Where a bucket would begin if keys were spread evenly.
fn even_start(bucket: u64, count: u32, bucket_bits: u32) -> i64 {
    ((bucket * u64::from(count)) >> bucket_bits).cast_signed()
}

/// Reads what tells of `count` tables, which lie one behind the other in `tables` of an index of `objects` objects.
///
/// # Errors
/// `Cut`, `TooLarge`, `Unknown`, `Mismatch` when they are not in order, do not hold `objects` keys, or do not fill the
/// range.
pub(super) fn read_heads(
    reader: &mut Reader<'_>,
    count: u32,
    objects: u32,
    tables: Range<usize>,
) -> Result<Vec<Table>> {
    if u64::from(count) > MAX_TABLES {
        let found = u64::from(count);
        return Err(FormatError::TooLarge { what: "tables of an index", found, limit: MAX_TABLES });
    }
    let mut at = tables.start as u64;
    let mut section = |len: u64| {
        let start = at;
        at = at.saturating_add(len);
        usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(at).unwrap_or(usize::MAX)
    };
    let (mut found, mut keys) = (Vec::<Table>::new(), 0u64);
    for _ in 0..count {
        let [class, brief, start_width] = reader.array("table of an index")?;
        let count = u32::from_le_bytes(reader.array("table of an index")?);
        let bias = i64::from_le_bytes(reader.array("table of an index")?);
        let start_width = u32::from(start_width);
        let ordered = found.last().is_none_or(|last| (last.class, last.brief) < (class, brief != 0));
        if brief > 1 || !ordered || start_width > bits::MAX_WIDTH {
            let found = u64::from(class) << 16 | u64::from(brief) << 8 | u64::from(start_width);
            return Err(FormatError::Unknown { what: "table of an index", found });
        }
        let bucket_bits = bucket_bits_of(count);
        let low_bits = low_bits_of(brief == 1, bucket_bits);
        let ordinal_bits = bits::width_of(objects.saturating_sub(1).into());
        keys += u64::from(count);
        found.push(Table {
            class,
            brief: brief == 1,
            count,
            bias,
            start_width,
            bucket_bits,
            low_bits,
            ordinal_bits,
            starts: section(bits::bytes_for(1 << bucket_bits, start_width)),
            entries: section(bits::bytes_for(u64::from(count), low_bits + ordinal_bits)),
        });
    }
    if keys != u64::from(objects) {
        let (expected, found) = (u64::from(objects), keys);
        return Err(FormatError::Mismatch { what: "keys in tables", expected, found });
    }
    if at != tables.end as u64 {
        let (expected, found) = (at, tables.end as u64);
        return Err(FormatError::Mismatch { what: "tables of an index", expected, found });
    }
    Ok(found)
}

impl Table {
    /// Places of the entries in a bucket.
    fn bucket(&self, index: &[u8], bucket: u64) -> Option<Range<u64>> {
        let start = self.start(index, bucket)?;
        let end = self.start(index, bucket + 1)?;
        (start <= end).then_some(start..end)
    }

    fn start(&self, index: &[u8], bucket: u64) -> Option<u64> {
        if bucket >= 1 << self.bucket_bits {
            return Some(self.count.into());
        }
        let starts = index.get(self.starts.clone())?;
        let above = bits::get(starts, bucket * u64::from(self.start_width), self.start_width)?.cast_signed();
        let even = even_start(bucket, self.count, self.bucket_bits);
        let start = u64::try_from(even.checked_add(self.bias)?.checked_add(above)?).ok()?;
        (start <= u64::from(self.count)).then_some(start)
    }

    /// Ordinals of keys that agree with `key` in all bits that the table tells.
    #[inline]
    pub(super) fn agreeing<'i>(&'i self, index: &'i [u8], key: &Key) -> impl Iterator<Item = u32> + 'i {
        let brief = brief_of(key);
        let wanted = brief >> (BRIEF_BITS - self.bucket_bits - self.low_bits) & bits::mask(self.low_bits);
        let Range { mut start, end } =
            self.bucket(index, brief >> (BRIEF_BITS - self.bucket_bits)).unwrap_or_default();
        let entries = index.get(self.entries.clone()).unwrap_or_default();
        let width = u64::from(self.low_bits + self.ordinal_bits);
        let low = move |at: u64| bits::get(entries, at * width, self.low_bits).unwrap_or(0);
        let mut behind = end;
        while start < behind {
            let middle = start + (behind - start) / 2;
            if low(middle) < wanted {
                start = middle + 1;
            } else {
                behind = middle;
            }
        }
        (start..end)
            .take_while(move |at| low(*at) == wanted)
            .filter_map(move |at| self.ordinal(entries, at * width))
    }

    fn ordinal(&self, entries: &[u8], bit: u64) -> Option<u32> {
        let ordinal = bits::get(entries, bit + u64::from(self.low_bits), self.ordinal_bits)?;
        u32::try_from(ordinal).ok()
    }

    /// Ordinals of keys whose first bits may be the `width` upper ones of `wanted`, which has [`BRIEF_BITS`]; ascending by
    /// key.
    pub(super) fn beginning<'i>(
        &'i self,
        index: &'i [u8],
        wanted: u64,
        width: u32,
    ) -> impl Iterator<Item = u32> + 'i {
        let told = (self.bucket_bits + self.low_bits).min(width);
        let wanted = wanted >> (BRIEF_BITS - told);
        let first_bucket = match told.checked_sub(self.bucket_bits) {
            Some(more) => wanted >> more,
            None => wanted << (self.bucket_bits - told),
        };
        let entries = index.get(self.entries.clone()).unwrap_or_default();
        let entry_bits = u64::from(self.low_bits + self.ordinal_bits);
        // Buckets lie one behind the other; in a damaged index they may not, and no entry is told twice.
        let mut told_up_to = 0;
        (first_bucket..1 << self.bucket_bits)
            .flat_map(move |bucket| {
                let Range { start, end } = self.bucket(index, bucket).unwrap_or_default();
                let own = start.max(told_up_to)..end;
                told_up_to = told_up_to.max(end);
                own.map(move |at| (bucket, at * entry_bits))
            })
            .map(move |(bucket, bit)| {
                let low = bits::get(entries, bit, self.low_bits).unwrap_or(0);
                ((bucket << self.low_bits | low) >> (self.bucket_bits + self.low_bits - told), bit)
            })
            .skip_while(move |(begin, _)| *begin < wanted)
            .take_while(move |(begin, _)| *begin == wanted)
            .filter_map(move |(_, bit)| self.ordinal(entries, bit))
    }
}
