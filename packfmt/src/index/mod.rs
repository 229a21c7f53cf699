//! The index of a pack: from key to place, and from ordinal to key (docs/STORAGE.md, "Pack index").
//!
//! Keys stand in sorted order, so that a key's rank finds its place, and an fst over the shortest distinguishing
//! prefix of each key finds its rank. The index is derived from the pack and may be rebuilt at any time.

mod build;
mod prefixes;

pub use build::{IndexBuilder, Place};
pub use prefixes::Prefixes;

use crate::frame::{check_of, checksum};
use crate::varint::Reader;
use crate::{FormatError, KEY_LEN, Key, Result};
use std::ops::Range;

const MAGIC: &[u8; 4] = b"GIDX";
/// Version of the index layout this build reads and writes.
pub const VERSION: u32 = 1;

const DIGEST_LEN: usize = KEY_LEN - 1;
/// Length of a stored [`Place`] in bytes.
pub(crate) const PLACE_LEN: usize = 6;
const FANOUT_LEN: usize = 256 * 4;
const SEGMENT_LEN: usize = 16;
const DICTIONARY_LEN: usize = 8;

const VERSION_AT: usize = MAGIC.len();
const PACK_AT: usize = VERSION_AT + 4;
const COVERED_AT: usize = PACK_AT + 8;
const OBJECTS_AT: usize = COVERED_AT + 8;
const FOREIGN_AT: usize = OBJECTS_AT + 4;
const SEGMENTS_AT: usize = FOREIGN_AT + 4;
const DICTIONARIES_AT: usize = SEGMENTS_AT + 4;
const ENDING_AT: usize = DICTIONARIES_AT + 4;
const PREFIXES_AT: usize = ENDING_AT + 4;
const CHECKS_AT: usize = PREFIXES_AT + 8;
const HEADER_CHECK_AT: usize = CHECKS_AT + 4 * 4;
const HEADER_LEN: usize = HEADER_CHECK_AT + 4;
const _: () = assert!(HEADER_LEN == 72);

/// Bytes that hold any rank among `objects` objects.
fn rank_width(objects: u32) -> usize {
    4 - objects.saturating_sub(1).leading_zeros() as usize / 8
}

/// Bytes at the end of the covered part that tell packs apart; no mark is shorter.
const ENDING_BYTES: usize = 16;

/// A check over the last bytes of the covered part of a pack: they hold a mark, which sums up a batch.
pub fn ending(covered: &[u8]) -> u32 {
    check_of(&[&covered[covered.len().saturating_sub(ENDING_BYTES)..]])
}

/// A part of the index that carries a check of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Fan-out, foreign segments and dictionary offsets; verified when opened.
    Lists,
    /// The sorted keys.
    Keys,
    /// Places and the order of ordinals.
    Places,
    /// The fst; verified before it is used.
    Prefixes,
}

const SECTIONS: [(Section, &str); 4] = [
    (Section::Lists, "index lists"),
    (Section::Keys, "index keys"),
    (Section::Places, "index places"),
    (Section::Prefixes, "index prefixes"),
];

/// A run of foreign keys in the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignRun {
    /// Offset in the pack of the first key's bytes.
    pub offset: u64,
    /// Number of the first key.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

/// The foreign key with this number, by `runs` in ascending order, from the bytes of the pack behind offset `base`.
pub fn foreign_key(runs: &[ForeignRun], bytes: &[u8], base: u64, number: u32) -> Option<Key> {
    let run = runs[..runs.partition_point(|run| run.first <= number)].last()?;
    let within = number - run.first;
    (within < run.count).then_some(())?;
    let start = usize::try_from(run.offset.checked_sub(base)?).ok()?;
    let at = start.checked_add(usize::try_from(within).ok()?.checked_mul(KEY_LEN)?)?;
    bytes.get(at..at.checked_add(KEY_LEN)?)?.try_into().ok()
}

/// Numbers and ranges of a checked index; accessors take the bytes again, so that it can be kept beside them.
#[derive(Clone, Debug)]
pub struct Index {
    /// Number of the pack.
    pub pack: u64,
    /// Bytes of the pack this index covers.
    pub covered: u64,
    /// Objects covered.
    pub objects: u32,
    /// Foreign keys covered.
    pub foreign: u32,
    /// What [`ending`] says of the pack: an index serves the pack it was made from only.
    pub ending: u32,
    fanout: Vec<u32>,
    runs: Vec<ForeignRun>,
    dictionaries: Vec<u64>,
    digests: Range<usize>,
    places: Range<usize>,
    order: Range<usize>,
    prefixes: Range<usize>,
    checks: [u32; 4],
}

impl Index {
    /// Reads and checks header, lengths and lists of an index file.
    ///
    /// # Errors
    /// `Cut`, `Unknown`, `Version`, `Checksum`, `Mismatch`.
    pub fn open(bytes: &[u8]) -> Result<Index> {
        let mut reader = Reader::new(bytes);
        let magic = reader.array::<4>("index header")?;
        if &magic != MAGIC {
            return Err(FormatError::Unknown {
                what: "index magic",
                found: u64::from(u32::from_be_bytes(magic)),
            });
        }
        let version = u32::from_le_bytes(reader.array("index header")?);
        let pack = u64::from_le_bytes(reader.array("index header")?);
        let covered = u64::from_le_bytes(reader.array("index header")?);
        let mut number = || reader.array("index header").map(u32::from_le_bytes);
        let [objects, foreign, segments, dictionaries, ending] =
            [number()?, number()?, number()?, number()?, number()?];
        let prefixes_len = u64::from_le_bytes(reader.array("index header")?);
        let mut number = || reader.array("index header").map(u32::from_le_bytes);
        let checks = [number()?, number()?, number()?, number()?];
        let expected = number()?;
        let found = check_of(&[&bytes[..HEADER_CHECK_AT]]);
        if found != expected {
            return Err(checksum("index header", 0, expected, found));
        }
        if version != VERSION {
            return Err(FormatError::Version { what: "pack index", found: version, supported: VERSION });
        }
        let layout = Layout::new(objects, segments, dictionaries, prefixes_len, bytes.len() as u64)?;
        let mut index = Index {
            pack,
            covered,
            objects,
            foreign,
            ending,
            fanout: Vec::new(),
            runs: Vec::new(),
            dictionaries: Vec::new(),
            digests: layout.digests,
            places: layout.places,
            order: layout.order,
            prefixes: layout.prefixes,
            checks,
        };
        index.verify(bytes, Section::Lists)?;
        index.read_lists(bytes, layout.lists, segments)?;
        Ok(index)
    }

    fn read_lists(&mut self, bytes: &[u8], lists: Range<usize>, segments: u32) -> Result<()> {
        let fanout = &bytes[HEADER_LEN..HEADER_LEN + FANOUT_LEN];
        self.fanout = fanout.as_chunks::<4>().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
        let sorted = self.fanout.windows(2).all(|w| w[0] <= w[1]);
        let last = self.fanout.last().copied().unwrap_or(0);
        if !sorted || last != self.objects {
            let (expected, found) = (u64::from(self.objects), u64::from(last));
            return Err(FormatError::Mismatch { what: "index fan-out", expected, found });
        }
        let mut reader = Reader::new(&bytes[lists]);
        let mut next = 0u32;
        for _ in 0..segments {
            let offset = u64::from_le_bytes(reader.array("foreign run")?);
            let first = u32::from_le_bytes(reader.array("foreign run")?);
            let count = u32::from_le_bytes(reader.array("foreign run")?);
            if first != next {
                return Err(FormatError::Mismatch {
                    what: "foreign run",
                    expected: next.into(),
                    found: first.into(),
                });
            }
            next = first.saturating_add(count);
            self.runs.push(ForeignRun { offset, first, count });
        }
        if next != self.foreign {
            return Err(FormatError::Mismatch {
                what: "foreign keys",
                expected: self.foreign.into(),
                found: next.into(),
            });
        }
        while reader.remaining() > 0 {
            self.dictionaries.push(u64::from_le_bytes(reader.array("dictionary offset")?));
        }
        Ok(())
    }

    /// Verifies the check of one section.
    ///
    /// # Errors
    /// `Checksum`.
    pub fn verify(&self, bytes: &[u8], section: Section) -> Result<()> {
        let part = |range: Range<usize>| bytes.get(range).unwrap_or_default();
        let (slot, parts) = match section {
            Section::Lists => {
                (0, [part(HEADER_LEN..self.digests.start), part(self.order.end..self.prefixes.start)])
            }
            Section::Keys => (1, [part(self.digests.clone()), &[]]),
            Section::Places => (2, [part(self.places.clone()), part(self.order.clone())]),
            Section::Prefixes => (3, [part(self.prefixes.clone()), &[]]),
        };
        let (expected, found) = (self.checks[slot], check_of(&parts));
        if found == expected {
            Ok(())
        } else {
            Err(checksum(SECTIONS[slot].1, HEADER_LEN as u64, expected, found))
        }
    }

    /// Verifies every section; used by fsck.
    ///
    /// # Errors
    /// The first `Checksum`.
    pub fn verify_all(&self, bytes: &[u8]) -> Result<()> {
        SECTIONS.iter().try_for_each(|(section, _)| self.verify(bytes, *section))
    }

    /// The fst's bytes, for [`Prefixes::open`].
    pub fn prefix_range(&self) -> Range<usize> {
        self.prefixes.clone()
    }

    /// The key of this rank in sorted order.
    pub fn key(&self, bytes: &[u8], rank: u32) -> Option<Key> {
        let at = rank as usize * DIGEST_LEN;
        let digest = bytes.get(self.digests.clone())?.get(at..at + DIGEST_LEN)?;
        let class = self.fanout.partition_point(|&below| below <= rank);
        let mut key = [0; KEY_LEN];
        key[0] = u8::try_from(class).ok()?;
        key[1..].copy_from_slice(digest);
        Some(key)
    }

    /// Where the object of this rank is stored.
    pub fn place(&self, bytes: &[u8], rank: u32) -> Option<Place> {
        let at = rank as usize * PLACE_LEN;
        let raw: [u8; PLACE_LEN] =
            bytes.get(self.places.clone())?.get(at..at + PLACE_LEN)?.try_into().ok()?;
        Some(Place::unpack(raw))
    }

    /// The rank of the object with this ordinal.
    pub fn rank_of_ordinal(&self, bytes: &[u8], ordinal: u32) -> Option<u32> {
        (ordinal < self.objects).then_some(())?;
        let width = rank_width(self.objects);
        let at = ordinal as usize * width;
        let mut raw = [0; 4];
        raw[..width].copy_from_slice(bytes.get(self.order.clone())?.get(at..at + width)?);
        Some(u32::from_le_bytes(raw)).filter(|&rank| rank < self.objects)
    }

    /// Ranks of keys with class byte `class`.
    pub fn class(&self, class: u8) -> Range<u32> {
        let end = self.fanout.get(usize::from(class)).copied().unwrap_or(0);
        let start = class.checked_sub(1).and_then(|c| self.fanout.get(usize::from(c))).copied().unwrap_or(0);
        start..end
    }

    /// The rank of `key`, by binary search.
    pub fn find(&self, bytes: &[u8], key: &Key) -> Option<u32> {
        let rank = self.lower_bound(bytes, key[0], &key[1..]);
        (self.class(key[0]).contains(&rank) && self.holds(bytes, rank, key)).then_some(rank)
    }

    /// Whether `key` has this rank.
    pub fn holds(&self, bytes: &[u8], rank: u32, key: &Key) -> bool {
        self.class(key[0]).contains(&rank) && self.digest(bytes, rank) == Some(&key[1..])
    }

    fn digest<'b>(&self, bytes: &'b [u8], rank: u32) -> Option<&'b [u8]> {
        let at = rank as usize * DIGEST_LEN;
        bytes.get(self.digests.clone())?.get(at..at + DIGEST_LEN)
    }

    /// The first rank of the class whose digest is not below `digest` (which may be a prefix).
    pub fn lower_bound(&self, bytes: &[u8], class: u8, digest: &[u8]) -> u32 {
        let Range { mut start, mut end } = self.class(class);
        while start < end {
            let middle = start + (end - start) / 2;
            if self.digest(bytes, middle).is_some_and(|found| found < digest) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }

    /// The foreign key with this number, read from the pack.
    pub fn foreign_key(&self, pack: &[u8], number: u32) -> Option<Key> {
        foreign_key(&self.runs, pack, 0, number)
    }

    /// Runs of foreign keys, in order.
    pub fn foreign_runs(&self) -> &[ForeignRun] {
        &self.runs
    }

    /// Offsets of the dictionary frames, by number.
    pub fn dictionaries(&self) -> &[u64] {
        &self.dictionaries
    }
}

/// Where the sections of an index file lie.
struct Layout {
    digests: Range<usize>,
    places: Range<usize>,
    order: Range<usize>,
    lists: Range<usize>,
    prefixes: Range<usize>,
}

impl Layout {
    fn new(objects: u32, segments: u32, dictionaries: u32, prefixes: u64, file: u64) -> Result<Layout> {
        let mut at = (HEADER_LEN + FANOUT_LEN) as u64;
        let mut section = |len: u64| {
            let start = at;
            at = at.saturating_add(len);
            start as usize..at as usize
        };
        let n = u64::from(objects);
        let digests = section(n * DIGEST_LEN as u64);
        let places = section(n * PLACE_LEN as u64);
        let order = section(n * rank_width(objects) as u64);
        let lists = section(
            u64::from(segments) * SEGMENT_LEN as u64 + u64::from(dictionaries) * DICTIONARY_LEN as u64,
        );
        let prefixes = section(prefixes);
        if at != file {
            return Err(FormatError::Mismatch { what: "index length", expected: at, found: file });
        }
        Ok(Layout { digests, places, order, lists, prefixes })
    }
}
