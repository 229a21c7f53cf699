//! Making an index.

use super::table::{self, brief_of};
use super::{COUNTS, ForeignRun, HEADER_LEN, MAGIC, PARTS, SECTIONS, VERSION, WORD_OBJECTS, sequence};
use crate::frame::check_of;
use crate::{FormatError, Key, Result};

/// Where an object is stored: a frame, and its number in the pack, by which a group knows its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Offset of the frame, below [`crate::frame::MAX_OFFSET`].
    pub offset: u64,
    /// Ordinal of the object.
    pub ordinal: u32,
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
    /// Which keys are to be brief, by ordinal; none behind its end.
    pub brief: Vec<bool>,
    /// Runs of foreign keys, by number.
    pub foreign: Vec<ForeignRun>,
    /// Offsets of dictionary frames, by number.
    pub dictionaries: Vec<u64>,
}

impl IndexBuilder {
    /// The bytes of the index file.
    ///
    /// # Errors
    /// `TooLarge` when there are more than 2^32 objects, or an offset is too large.
    pub fn build(&self) -> Result<Vec<u8>> {
        let objects = number("objects", self.objects.len())?;
        let (heads, tables) = self.tables(objects)?;
        let (held, [whole, classes, digests]) = self.keys()?;
        let (frames, of_ordinals, offsets) = self.places()?;
        let mut lists = heads.concat();
        for run in &self.foreign {
            lists.extend_from_slice(&run.offset.to_le_bytes());
            lists.extend_from_slice(&run.first.to_le_bytes());
            lists.extend_from_slice(&run.count.to_le_bytes());
        }
        self.dictionaries.iter().for_each(|offset| lists.extend_from_slice(&offset.to_le_bytes()));
        let parts = [lists, whole, classes, digests, of_ordinals, offsets, tables];
        let counts = [
            objects,
            held,
            frames,
            number("tables", heads.len())?,
            self.foreign.last().map_or(0, |run| run.first + run.count),
            number("foreign runs", self.foreign.len())?,
            self.ending,
        ];
        Ok(self.assemble(&counts, &parts))
    }

    fn is_brief(&self, ordinal: usize) -> bool {
        self.brief.get(ordinal).copied().unwrap_or_default()
    }

    /// The tables in the order of their keys, and what tells of each.
    fn tables(&self, objects: u32) -> Result<(Vec<Vec<u8>>, Vec<u8>)> {
        let keys = self.objects.iter().map(|(key, _)| *key);
        let mut sorted: Vec<(Key, u32)> = keys.zip(0..).collect();
        let of = |(key, ordinal): &(Key, u32)| (key[0], self.is_brief(*ordinal as usize));
        sorted.sort_unstable_by_key(|entry| (of(entry), *entry));
        let (mut heads, mut out) = (Vec::new(), Vec::new());
        for part in sorted.chunk_by(|a, b| of(a) == of(b)) {
            let (class, brief) = part.first().map(of).unwrap_or_default();
            let mut head = Vec::with_capacity(16);
            debug_assert!(part.is_sorted_by_key(|(key, _)| brief_of(key)));
            table::put((class, brief), part, objects, &mut head, &mut out)?;
            heads.push(head);
        }
        Ok((heads, out))
    }

    /// How many keys are held; which, their classes and their digests.
    fn keys(&self) -> Result<(u32, [Vec<u8>; 3])> {
        let (mut whole, mut classes, mut digests) = (Vec::new(), Vec::new(), Vec::new());
        for (word, objects) in self.objects.chunks(WORD_OBJECTS as usize).enumerate() {
            whole.extend_from_slice(&number("keys", classes.len())?.to_le_bytes());
            let mut bits = 0u64;
            for (at, (key, _)) in objects.iter().enumerate() {
                if !self.is_brief(word * WORD_OBJECTS as usize + at) {
                    bits |= 1 << at;
                    classes.push(u64::from(key[0]));
                    digests.extend_from_slice(&key[1..]);
                }
            }
            whole.extend_from_slice(&bits.to_le_bytes());
        }
        Ok((number("keys", classes.len())?, [whole, sequence::build(&classes)?, digests]))
    }

    /// How many frames hold objects, the number of its frame for each object, and the offsets of frames.
    fn places(&self) -> Result<(u32, Vec<u8>, Vec<u8>)> {
        let mut offsets: Vec<u64> = self.objects.iter().map(|(_, place)| place.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let frame_of = |place: &Place| offsets.binary_search(&place.offset).unwrap_or(0) as u64;
        let of_ordinals: Vec<u64> = self.objects.iter().map(|(_, place)| frame_of(place)).collect();
        Ok((number("frames", offsets.len())?, sequence::build(&of_ordinals)?, sequence::build(&offsets)?))
    }

    /// Header and parts.
    fn assemble(&self, counts: &[u32; COUNTS], parts: &[Vec<u8>; PARTS]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.pack.to_le_bytes());
        out.extend_from_slice(&self.covered.to_le_bytes());
        counts.iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        parts.iter().for_each(|part| out.extend_from_slice(&(part.len() as u64).to_le_bytes()));
        for (covered, _) in SECTIONS {
            let covered: Vec<&[u8]> = parts[covered].iter().map(Vec::as_slice).collect();
            out.extend_from_slice(&check_of(&covered).to_le_bytes());
        }
        let check = check_of(&[&out]);
        out.extend_from_slice(&check.to_le_bytes());
        debug_assert_eq!(out.len(), HEADER_LEN);
        parts.iter().for_each(|part| out.extend_from_slice(part));
        out
    }
}

pub(super) fn number(what: &'static str, n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| FormatError::TooLarge { what, found: n as u64, limit: u64::from(u32::MAX) })
}

#[cfg(test)]
mod tests {
    use super::super::Index;
    use super::*;
    use crate::KEY_LEN;

    fn key(n: u64) -> Key {
        let mut key = [0; KEY_LEN];
        key[1..].copy_from_slice(blake3::hash(&n.to_le_bytes()).as_bytes());
        key[0] = 1 + (n % 5) as u8;
        key
    }

    /// Every third object has a brief key; some share a frame.
    fn sample(n: u64) -> IndexBuilder {
        IndexBuilder {
            pack: 4,
            covered: 1 << 30,
            ending: 5,
            objects: (0..n)
                .map(|i| (key(i), Place { offset: i / 3 * 1000 + i % 2 * 70_000, ordinal: i as u32 }))
                .collect(),
            brief: (0..n).map(|i| i % 3 == 1).collect(),
            foreign: vec![ForeignRun { offset: 2, first: 0, count: 2 }],
            dictionaries: vec![99],
        }
    }

    #[test]
    fn every_object_is_found_by_key_and_ordinal() {
        for n in [0, 1, 2, 63, 64, 65, 700, 20_000] {
            let builder = sample(n);
            let bytes = builder.build().unwrap();
            let index = Index::open(&bytes).unwrap();
            index.verify_all(&bytes).unwrap();
            for i in 0..n {
                let ordinal = i as u32;
                let brief = i % 3 == 1;
                assert_eq!(index.is_brief(&bytes, ordinal), brief);
                assert_eq!(index.find(&bytes, &key(i)), (!brief).then_some(ordinal));
                assert_eq!(index.perhaps(&bytes, &key(i)).any(|found| found == ordinal), brief);
                assert_eq!(index.key(&bytes, ordinal), (!brief).then(|| key(i)));
                assert_eq!(index.place(&bytes, ordinal), Some(builder.objects[i as usize].1));
            }
            assert_eq!(index.place(&bytes, n as u32), None);
            assert_eq!(index.key(&bytes, n as u32), None);
            assert!(!index.is_brief(&bytes, n as u32));
            for i in n..n + 500 {
                assert_eq!(index.find(&bytes, &key(i)), None);
                assert_eq!(index.perhaps(&bytes, &key(i)).count(), 0);
            }
            assert_eq!(index.dictionaries(), [99]);
            assert_eq!(index.foreign_key(&[7; 80], 1), Some([7; KEY_LEN]));
            assert_eq!(index.foreign_key(&[7; 80], 2), None);
        }
    }

    #[test]
    fn prefixes_lead_to_all_that_begin_with_them() {
        let builder = sample(3000);
        let bytes = builder.build().unwrap();
        let index = Index::open(&bytes).unwrap();
        for (n, bits) in (0..3000).step_by(97).zip([0, 4, 8, 12, 20, 36, 40, 44, 256].into_iter().cycle()) {
            let wanted = key(n);
            let told = |brief: bool| {
                let found = index.beginning(&bytes, (wanted[0], brief), &wanted[1..], bits);
                found.collect::<Vec<u32>>()
            };
            let told = [told(false), told(true)];
            let told_bits = |brief: bool| if brief { 40 } else { 8 };
            let begins = |other: &Key, bits: u32| {
                let (whole, rest) = (bits as usize / 8, bits % 8);
                other[..=whole] == wanted[..=whole]
                    && (rest == 0 || (other[1 + whole] ^ wanted[1 + whole]) >> (8 - rest) == 0)
            };
            for (i, (other, _)) in (0u32..).zip(&builder.objects) {
                let brief = builder.brief[i as usize];
                if begins(other, bits) {
                    assert!(told[usize::from(brief)].contains(&i), "{n} {bits} {i}");
                } else if !begins(other, bits.min(told_bits(brief))) {
                    assert!(!told[usize::from(brief)].contains(&i), "{n} {bits} {i}");
                }
            }
            for told in &told {
                let keys: Vec<Key> =
                    told.iter().map(|ordinal| builder.objects[*ordinal as usize].0).collect();
                assert!(keys.is_sorted());
            }
        }
    }

    #[test]
    fn every_flip_and_cut_is_seen() {
        let bytes = sample(400).build().unwrap();
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            let seen = Index::open(&bad).and_then(|index| index.verify_all(&bad));
            assert!(seen.is_err(), "byte {i}");
            if i % 7 == 0 {
                assert!(Index::open(&bytes[..i]).is_err());
            }
        }
    }

    #[test]
    fn a_damaged_table_yields_no_other_object() {
        let builder = sample(400);
        let bytes = builder.build().unwrap();
        for at in HEADER_LEN..bytes.len() {
            for flip in [1, 0xff] {
                let mut bad = bytes.clone();
                bad[at] ^= flip;
                let Ok(index) = Index::open(&bad) else { continue };
                for i in (0..400).step_by(37) {
                    // A hit has the digest that was asked for, wherever the tables point.
                    let found = index.find(&bad, &key(i));
                    assert!(found.is_none_or(|found| found == i as u32 || index.verify_all(&bad).is_err()));
                    let _ = (index.perhaps(&bad, &key(i)).count(), index.place(&bad, i as u32));
                    let _ = (
                        index.key(&bad, i as u32),
                        index.beginning(&bad, (key(i)[0], false), &[], 0).count(),
                    );
                }
            }
        }
    }

    #[test]
    fn keys_that_begin_alike_are_found() {
        let mut builder = sample(0);
        for n in 0..200u64 {
            let mut key = [7; KEY_LEN];
            key[25..].copy_from_slice(&n.to_be_bytes());
            builder.objects.push((key, Place { offset: n, ordinal: n as u32 }));
            builder.brief.push(n % 2 == 0);
        }
        let bytes = builder.build().unwrap();
        let index = Index::open(&bytes).unwrap();
        for (n, (key, _)) in (0u32..).zip(&builder.objects) {
            assert_eq!(index.find(&bytes, key), (n % 2 == 1).then_some(n));
            assert_eq!(index.perhaps(&bytes, key).count(), 100);
        }
    }
}
