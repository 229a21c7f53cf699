//! Making an index.

use super::{
    FANOUT_LEN, ForeignRun, HEADER_CHECK_AT, HEADER_LEN, MAGIC, PLACE_LEN, VERSION, prefixes, rank_width,
};
use crate::frame::{MAX_OFFSET, check_of};
use crate::group::MAX_OBJECTS;
use crate::{FormatError, Key, Result};

const SLOT_BITS: u32 = 12;
const _: () = assert!(MAX_OFFSET == 1 << (PLACE_LEN as u32 * 8 - SLOT_BITS) && MAX_OBJECTS == 1 << SLOT_BITS);

/// Where an object is stored: a frame, and its slot when the frame is a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Offset of the frame, below [`crate::frame::MAX_OFFSET`].
    pub offset: u64,
    /// Slot in a group, below [`crate::group::MAX_OBJECTS`]; 0 otherwise.
    pub slot: u16,
}

impl Place {
    /// Reads the stored form.
    pub(crate) fn unpack(raw: [u8; PLACE_LEN]) -> Place {
        let [a, b, c, d, e, f] = raw;
        let packed = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        Place { offset: packed >> SLOT_BITS, slot: (packed & ((1 << SLOT_BITS) - 1)) as u16 }
    }

    /// The stored form: 36 bits of offset above 12 bits of slot, little-endian.
    pub(crate) fn pack(self) -> [u8; PLACE_LEN] {
        let [a, b, c, d, e, f, ..] = (self.offset << SLOT_BITS | u64::from(self.slot)).to_le_bytes();
        [a, b, c, d, e, f]
    }
}

/// What an index is made of.
#[derive(Clone, Debug, Default)]
pub struct IndexBuilder {
    /// Number of the pack.
    pub pack: u64,
    /// Bytes of the pack that are covered.
    pub covered: u64,
    /// What [`super::ending`] says of those bytes.
    pub ending: u32,
    /// Key and place of every object, by ordinal.
    pub objects: Vec<(Key, Place)>,
    /// Runs of foreign keys, by number.
    pub foreign: Vec<ForeignRun>,
    /// Offsets of dictionary frames, by number.
    pub dictionaries: Vec<u64>,
}

impl IndexBuilder {
    /// The bytes of the index file.
    ///
    /// # Errors
    /// `TooLarge` when there are more than 2^32 objects.
    pub fn build(&self) -> Result<Vec<u8>> {
        let count = number("objects", self.objects.len())?;
        let mut sorted: Vec<u32> = (0..count).collect();
        sorted.sort_unstable_by(|&a, &b| self.key(a).cmp(self.key(b)));
        let mut out = vec![0; HEADER_LEN];
        let mut below = 0;
        for class in 0..=255u8 {
            below += sorted[below as usize..].partition_point(|&o| self.key(o)[0] <= class) as u32;
            out.extend_from_slice(&below.to_le_bytes());
        }
        let digests_at = out.len();
        debug_assert_eq!(digests_at, HEADER_LEN + FANOUT_LEN);
        sorted.iter().for_each(|&o| out.extend_from_slice(&self.key(o)[1..]));
        let places_at = out.len();
        sorted.iter().for_each(|&o| out.extend_from_slice(&self.objects[o as usize].1.pack()));
        let mut ranks = vec![0u32; self.objects.len()];
        (0..).zip(&sorted).for_each(|(rank, &o)| ranks[o as usize] = rank);
        let width = rank_width(count);
        ranks.iter().for_each(|rank| out.extend_from_slice(&rank.to_le_bytes()[..width]));
        let lists_at = out.len();
        for run in &self.foreign {
            out.extend_from_slice(&run.offset.to_le_bytes());
            out.extend_from_slice(&run.first.to_le_bytes());
            out.extend_from_slice(&run.count.to_le_bytes());
        }
        self.dictionaries.iter().for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
        let prefixes_at = out.len();
        out.extend_from_slice(&prefixes::build(sorted.iter().map(|&o| self.key(o)))?);
        let checks = [
            check_of(&[&out[HEADER_LEN..digests_at], &out[lists_at..prefixes_at]]),
            check_of(&[&out[digests_at..places_at]]),
            check_of(&[&out[places_at..lists_at]]),
            check_of(&[&out[prefixes_at..]]),
        ];
        let header = self.header(count, (out.len() - prefixes_at) as u64, checks)?;
        out[..HEADER_LEN].copy_from_slice(&header);
        Ok(out)
    }

    fn key(&self, ordinal: u32) -> &Key {
        &self.objects[ordinal as usize].0
    }

    fn header(&self, objects: u32, prefixes: u64, checks: [u32; 4]) -> Result<Vec<u8>> {
        let foreign: u32 = self.foreign.last().map_or(0, |run| run.first + run.count);
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&self.pack.to_le_bytes());
        header.extend_from_slice(&self.covered.to_le_bytes());
        let counts = [
            objects,
            foreign,
            number("foreign runs", self.foreign.len())?,
            number("dictionaries", self.dictionaries.len())?,
        ];
        counts.iter().for_each(|n| header.extend_from_slice(&n.to_le_bytes()));
        header.extend_from_slice(&self.ending.to_le_bytes());
        header.extend_from_slice(&prefixes.to_le_bytes());
        checks.iter().for_each(|n| header.extend_from_slice(&n.to_le_bytes()));
        debug_assert_eq!(header.len(), HEADER_CHECK_AT);
        let check = check_of(&[&header]);
        header.extend_from_slice(&check.to_le_bytes());
        Ok(header)
    }
}

fn number(what: &'static str, n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| FormatError::TooLarge { what, found: n as u64, limit: u64::from(u32::MAX) })
}

#[cfg(test)]
mod tests {
    use super::super::{Index, Prefixes, Section};
    use super::*;
    use crate::KEY_LEN;

    fn key(n: u64) -> Key {
        let mut key = [0; KEY_LEN];
        key[1..].copy_from_slice(blake3::hash(&n.to_le_bytes()).as_bytes());
        key[0] = 1 + (n % 5) as u8;
        key
    }

    fn sample(n: u64) -> IndexBuilder {
        IndexBuilder {
            pack: 4,
            covered: 1 << 30,
            ending: 5,
            objects: (0..n)
                .map(|i| (key(i), Place { offset: i * 1000 + 1, slot: (i % 4096) as u16 }))
                .collect(),
            foreign: vec![ForeignRun { offset: 2, first: 0, count: 2 }],
            dictionaries: vec![99],
        }
    }

    #[test]
    fn every_object_is_found_by_key_and_ordinal() {
        for n in [0, 1, 2, 700, 5000] {
            let builder = sample(n);
            let bytes = builder.build().unwrap();
            let index = Index::open(&bytes).unwrap();
            index.verify_all(&bytes).unwrap();
            let prefixes = Prefixes::open(&index, &bytes, bytes[index.prefix_range()].to_vec()).unwrap();
            for i in 0..n {
                let rank = index.find(&bytes, &key(i)).unwrap();
                assert_eq!(prefixes.find(&key(i)), Some(rank));
                assert_eq!(index.key(&bytes, rank), Some(key(i)));
                assert_eq!(index.place(&bytes, rank), Some(builder.objects[i as usize].1));
                assert_eq!(index.rank_of_ordinal(&bytes, i as u32), Some(rank));
            }
            for i in n..n + 500 {
                assert_eq!(index.find(&bytes, &key(i)), None);
                assert!(prefixes.find(&key(i)).is_none_or(|rank| !index.holds(&bytes, rank, &key(i))));
            }
            assert_eq!(index.dictionaries(), [99]);
            assert_eq!(index.foreign_key(&[7; 80], 1), Some([7; KEY_LEN]));
            assert_eq!(index.foreign_key(&[7; 80], 2), None);
        }
    }

    #[test]
    fn every_flip_and_cut_is_seen() {
        let bytes = sample(40).build().unwrap();
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            let seen = Index::open(&bad).and_then(|index| index.verify_all(&bad));
            assert!(seen.is_err(), "byte {i}");
            assert!(Index::open(&bytes[..i]).is_err());
        }
    }

    #[test]
    fn a_garbage_fst_is_never_opened() {
        let bytes = sample(40).build().unwrap();
        let index = Index::open(&bytes).unwrap();
        let mut bad = bytes.clone();
        let at = index.prefix_range().start + 5;
        bad[at] ^= 1;
        assert!(index.verify(&bad, Section::Prefixes).is_err());
        assert!(Prefixes::open(&index, &bad, bad[index.prefix_range()].to_vec()).is_err());
    }
}
