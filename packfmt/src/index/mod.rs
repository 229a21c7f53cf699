//! The index of a pack: from key to place, and from ordinal to key (docs/STORAGE.md, "Pack index").
//!
//! Everything is told by ordinal, in columns; tables in the order of the keys lead from a key to its ordinal. Of an
//! object whose key whoever reads the pack can quickly make from its bytes the index holds no key, only the first 40
//! bits of it, to find it by: its key is *brief*. The index is derived from the pack and may be rebuilt at any time.

mod bits;
mod build;
mod sequence;
mod table;

pub use build::{IndexBuilder, Place};

use crate::frame::{MAX_OFFSET, check_of, checksum};
use crate::varint::Reader;
use crate::{FormatError, KEY_LEN, Key, Result};
use sequence::Sequence;
use std::ops::Range;
use table::{BRIEF_BITS, Table};

const MAGIC: &[u8; 4] = b"GIDX";
/// Version of the index layout this build reads and writes.
pub const VERSION: u32 = 2;

const DIGEST_LEN: usize = KEY_LEN - 1;
/// Objects of a word of the column that tells which keys the index holds: how many before it (4), a bit for each (8).
const WORD_OBJECTS: u32 = 64;
const WORD_LEN: usize = 4 + 8;

/// Parts of an index, in the order in which they lie behind the header, which has the length of each.
const LISTS: usize = 0;
const WHOLE: usize = 1;
const CLASSES: usize = 2;
const DIGESTS: usize = 3;
const FRAMES: usize = 4;
const OFFSETS: usize = 5;
const TABLES: usize = 6;
const PARTS: usize = 7;

/// Counts in the header.
const COUNTS: usize = 7;
/// Magic, version, number of the pack, covered bytes, counts, lengths of parts, checks of sections; then a check.
const HEADER_CHECK_AT: usize = 4 + 4 + 8 + 8 + COUNTS * 4 + PARTS * 8 + SECTIONS.len() * 4;
const HEADER_LEN: usize = HEADER_CHECK_AT + 4;
const _: () = assert!(HEADER_LEN == 128);

/// Bytes at the end of the covered part that tell packs apart; no mark is shorter.
const ENDING_BYTES: usize = 16;

/// A check over the last bytes of the covered part of a pack: they hold a mark, which sums up a batch.
pub fn ending(covered: &[u8]) -> u32 {
    check_of(&[&covered[covered.len().saturating_sub(ENDING_BYTES)..]])
}

/// Parts that a check of the header covers together, and what they are called.
const SECTIONS: [(Range<usize>, &str); 4] = [
    (LISTS..LISTS + 1, "index lists"),
    (WHOLE..DIGESTS + 1, "index keys"),
    (FRAMES..OFFSETS + 1, "index places"),
    (TABLES..TABLES + 1, "index tables"),
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

/// Numbers and ranges of a checked index; accessors take the bytes again, so that it can be kept beside them. Only the
/// header and the lists are verified: what the other parts tell is no worse than a wrong guess, never a panic.
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
    parts: [Range<usize>; PARTS],
    checks: [u32; SECTIONS.len()],
    runs: Vec<ForeignRun>,
    dictionaries: Vec<u64>,
    tables: Vec<Table>,
    classes: Sequence,
    frames: Sequence,
    offsets: Sequence,
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
            let found = u64::from(u32::from_be_bytes(magic));
            return Err(FormatError::Unknown { what: "index magic", found });
        }
        let version = u32::from_le_bytes(reader.array("index header")?);
        // Where older layouts have their check is not known any more.
        if version < VERSION {
            return Err(FormatError::Version { what: "pack index", found: version, supported: VERSION });
        }
        let pack = u64::from_le_bytes(reader.array("index header")?);
        let covered = u64::from_le_bytes(reader.array("index header")?);
        let mut counts = [0; COUNTS];
        for count in &mut counts {
            *count = u32::from_le_bytes(reader.array("index header")?);
        }
        let [objects, held, frames, tables, foreign, runs, ending] = counts;
        let parts = read_parts(&mut reader)?;
        let mut checks = [0; SECTIONS.len()];
        for check in &mut checks {
            *check = u32::from_le_bytes(reader.array("index header")?);
        }
        let expected = u32::from_le_bytes(reader.array("index header")?);
        let found = check_of(&[bytes.get(..HEADER_CHECK_AT).unwrap_or_default()]);
        if found != expected {
            return Err(checksum("index header", 0, expected, found));
        }
        if version != VERSION {
            return Err(FormatError::Version { what: "pack index", found: version, supported: VERSION });
        }
        let words = u64::from(objects.div_ceil(WORD_OBJECTS)) * WORD_LEN as u64;
        let digests = u64::from(held) * DIGEST_LEN as u64;
        for (what, expected, found) in [
            ("index length", parts[TABLES].end as u64, bytes.len() as u64),
            ("words of an index", words, parts[WHOLE].len() as u64),
            ("digests of an index", digests, parts[DIGESTS].len() as u64),
        ] {
            if found != expected {
                return Err(FormatError::Mismatch { what, expected, found });
            }
        }
        let mut index = Index {
            pack,
            covered,
            objects,
            foreign,
            ending,
            checks,
            runs: Vec::new(),
            dictionaries: Vec::new(),
            tables: Vec::new(),
            classes: Sequence::new(parts[CLASSES].clone(), held),
            frames: Sequence::new(parts[FRAMES].clone(), objects),
            offsets: Sequence::new(parts[OFFSETS].clone(), frames),
            parts,
        };
        index.verify(bytes, 0)?;
        index.read_lists(bytes, tables, runs)?;
        Ok(index)
    }

    fn read_lists(&mut self, bytes: &[u8], tables: u32, runs: u32) -> Result<()> {
        let mut reader = Reader::new(bytes.get(self.parts[LISTS].clone()).unwrap_or_default());
        self.tables = table::read_heads(&mut reader, tables, self.objects, self.parts[TABLES].clone())?;
        let mut next = 0u32;
        for _ in 0..runs {
            let offset = u64::from_le_bytes(reader.array("foreign run")?);
            let first = u32::from_le_bytes(reader.array("foreign run")?);
            let count = u32::from_le_bytes(reader.array("foreign run")?);
            if first != next {
                let (expected, found) = (next.into(), first.into());
                return Err(FormatError::Mismatch { what: "foreign run", expected, found });
            }
            next = first.saturating_add(count);
            self.runs.push(ForeignRun { offset, first, count });
        }
        if next != self.foreign {
            let (expected, found) = (self.foreign.into(), next.into());
            return Err(FormatError::Mismatch { what: "foreign keys", expected, found });
        }
        while reader.remaining() > 0 {
            self.dictionaries.push(u64::from_le_bytes(reader.array("dictionary offset")?));
        }
        Ok(())
    }

    /// Verifies the check of one section.
    fn verify(&self, bytes: &[u8], section: usize) -> Result<()> {
        let (parts, what) = SECTIONS[section].clone();
        let range = self.parts[parts.start].start..self.parts[parts.end - 1].end;
        let at = range.start as u64;
        let (expected, found) = (self.checks[section], check_of(&[bytes.get(range).unwrap_or_default()]));
        if found == expected { Ok(()) } else { Err(checksum(what, at, expected, found)) }
    }

    /// Verifies every byte; used by fsck, and before it is told that an object is absent.
    ///
    /// # Errors
    /// The first `Checksum`.
    pub fn verify_all(&self, bytes: &[u8]) -> Result<()> {
        (0..SECTIONS.len()).try_for_each(|section| self.verify(bytes, section))
    }

    /// The number of an object among those whose keys are held; `None` when its key is brief.
    #[inline]
    fn number_held(&self, bytes: &[u8], ordinal: u32) -> Option<u32> {
        (ordinal < self.objects).then_some(())?;
        let at = (ordinal / WORD_OBJECTS) as usize * WORD_LEN;
        let [a, b, c, d, bits @ ..] =
            bytes.get(self.parts[WHOLE].clone())?.get(at..)?.first_chunk::<WORD_LEN>()?;
        let (before, held) = (u32::from_le_bytes([*a, *b, *c, *d]), u64::from_le_bytes(*bits));
        let within = ordinal % WORD_OBJECTS;
        let below = (held & bits::mask(within)).count_ones();
        (held >> within & 1 == 1).then(|| before.saturating_add(below))
    }

    fn digest<'b>(&self, bytes: &'b [u8], held: u32) -> Option<&'b [u8; DIGEST_LEN]> {
        let at = held as usize * DIGEST_LEN;
        bytes.get(self.parts[DIGESTS].clone())?.get(at..)?.first_chunk()
    }

    /// Whether the key of this object is brief.
    pub fn is_brief(&self, bytes: &[u8], ordinal: u32) -> bool {
        ordinal < self.objects && self.number_held(bytes, ordinal).is_none()
    }

    /// The key of the object with this ordinal, unless it is brief.
    pub fn key(&self, bytes: &[u8], ordinal: u32) -> Option<Key> {
        let held = self.number_held(bytes, ordinal)?;
        let mut key = [0; KEY_LEN];
        key[0] = u8::try_from(self.classes.get(bytes, held)?).ok()?;
        key[1..].copy_from_slice(self.digest(bytes, held)?);
        Some(key)
    }

    /// Where the object with this ordinal is stored.
    pub fn place(&self, bytes: &[u8], ordinal: u32) -> Option<Place> {
        let frame = u32::try_from(self.frames.get(bytes, ordinal)?).ok()?;
        let offset = self.offsets.get(bytes, frame)?;
        (offset < MAX_OFFSET).then_some(Place { offset, ordinal })
    }

    fn table(&self, class: u8, brief: bool) -> Option<&Table> {
        self.tables.iter().find(|table| (table.class, table.brief) == (class, brief))
    }

    /// The ordinal of the object with this key, if the key is held.
    #[inline]
    pub fn find(&self, bytes: &[u8], key: &Key) -> Option<u32> {
        let is_key = |ordinal: &u32| {
            let held = self.number_held(bytes, *ordinal);
            held.and_then(|held| self.digest(bytes, held)).is_some_and(|digest| digest == &key[1..])
        };
        self.table(key[0], false)?.agreeing(bytes, key).find(is_key)
    }

    /// Ordinals of objects with brief keys that may have this one.
    pub fn perhaps<'i>(&'i self, bytes: &'i [u8], key: &Key) -> impl Iterator<Item = u32> + 'i {
        let table = self.table(key[0], true);
        table.map(|table| table.agreeing(bytes, key)).into_iter().flatten()
    }

    /// Ordinals of objects of a class whose digests may begin with the first `width` bits of `prefix`, ascending by key;
    /// `brief` chooses those with brief keys or those whose keys are held.
    pub fn beginning<'i>(
        &'i self,
        bytes: &'i [u8],
        (class, brief): (u8, bool),
        prefix: &[u8],
        width: u32,
    ) -> impl Iterator<Item = u32> + 'i {
        let mut first = [0; KEY_LEN];
        first[1..].iter_mut().zip(prefix).for_each(|(to, from)| *to = *from);
        let wanted = table::brief_of(&first);
        let table = self.table(class, brief);
        table.map(|table| table.beginning(bytes, wanted, width.min(BRIEF_BITS))).into_iter().flatten()
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

    /// Bytes of each part, and what it holds.
    pub fn sizes(&self) -> [(&'static str, u64); PARTS] {
        let names = ["lists", "which keys", "classes", "digests", "frames", "offsets", "tables"];
        std::array::from_fn(|part| (names[part], self.parts[part].len() as u64))
    }
}

/// Reads the lengths of the parts: where each lies.
fn read_parts(reader: &mut Reader<'_>) -> Result<[Range<usize>; PARTS]> {
    let mut at = HEADER_LEN;
    let mut parts = [const { 0..0 }; PARTS];
    for part in &mut parts {
        let len = u64::from_le_bytes(reader.array("index header")?);
        let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len)).unwrap_or(usize::MAX);
        (*part, at) = (at..end, end);
    }
    Ok(parts)
}
