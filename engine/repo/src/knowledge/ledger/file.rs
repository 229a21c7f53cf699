//! The kept form of a ledger (docs/STORAGE.md, "Ledger").
//!
//! Identities are numbered by their order. Every number and offset is checked against the length of what it points into,
//! and a file whose checksum does not match is as good as none.

use crate::history::table::index;
use fst::{IntoStreamer, Map, Streamer};
use gemel_object::{GID_LEN, Gid};
use gemel_store::RefsMark;
use gemel_store::vfs::FileBytes;
use std::collections::HashMap;
use std::ops::Range;

const MAGIC: &[u8; 8] = b"gmlledg1";
pub(super) const CHECK: usize = 32;
/// Lengths in bytes of the sections, in their order.
const SECTIONS: usize = 11;
const HEADER: usize = 8 + SECTIONS * 4;
/// An operand: the first bytes of its digest, and the number of the change.
const OPERAND: usize = 4 + 4;

/// The sections of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Check of the file that this one goes with; empty for one that stands alone.
    Base,
    /// What was seen of the refs.
    Mark,
    /// Identities that were looked for and are not stored.
    Missing,
    /// Identities ascending.
    Ids,
    /// One bit an identity: its facts are here.
    Members,
    /// Where the sources of each identity begin, and a last one where they end.
    Starts,
    /// Numbers of the objects that name each identity.
    Sources,
    /// From subject to the place of its list.
    Subjects,
    /// From reversed subject to the same.
    Reversed,
    /// Lists of numbers, each after its length.
    Lists,
    /// Operands, ascending.
    Operands,
}

/// A file, or what would be one.
#[derive(Debug)]
enum Bytes {
    Kept(FileBytes),
    Made(Vec<u8>),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Kept(bytes) => bytes,
            Bytes::Made(bytes) => bytes,
        }
    }
}

/// The facts of many objects, to be looked up.
#[derive(Debug)]
pub(super) struct Segment {
    bytes: Bytes,
    sections: [Range<usize>; SECTIONS],
}

impl Segment {
    /// `None` for anything but a whole file of this version.
    pub(super) fn open(bytes: FileBytes) -> Option<Segment> {
        Segment::of(Bytes::Kept(bytes))
    }

    /// A file just made.
    pub(super) fn made(bytes: Vec<u8>) -> Option<Segment> {
        Segment::of(Bytes::Made(bytes))
    }

    fn of(bytes: Bytes) -> Option<Segment> {
        let all = bytes.as_ref();
        let (content, check) = all.split_at_checked(all.len().checked_sub(CHECK)?)?;
        if !content.starts_with(MAGIC) || blake3::hash(content).as_bytes() != check {
            return None;
        }
        let mut sections: [Range<usize>; SECTIONS] = Default::default();
        let mut at = HEADER;
        for (n, section) in sections.iter_mut().enumerate() {
            let end = at.checked_add(index(u32_at(content, 8 + n * 4)?))?;
            *section = at..end;
            at = end;
        }
        if at != content.len() {
            return None;
        }
        let part =
            |section: Section| sections.get(section as usize).and_then(|range| content.get(range.clone()));
        let ids = part(Section::Ids)?.len() / GID_LEN;
        let fits = part(Section::Ids)?.len() == ids * GID_LEN
            && part(Section::Members)?.len() == ids.div_ceil(8)
            && part(Section::Starts)?.len() == (ids + 1) * 4
            && [Section::Sources, Section::Lists].iter().all(|s| part(*s).is_some_and(|p| p.len() % 4 == 0))
            && part(Section::Operands)?.len() % OPERAND == 0;
        fits.then_some(Segment { bytes, sections })
    }

    fn part(&self, section: Section) -> &[u8] {
        let range = self.sections.get(section as usize).cloned().unwrap_or_default();
        self.bytes.as_ref().get(range).unwrap_or_default()
    }

    /// What names this file.
    pub(super) fn check(&self) -> &[u8] {
        let all = self.bytes.as_ref();
        all.get(all.len().saturating_sub(CHECK)..).unwrap_or_default()
    }

    /// Check of the file that this one goes with.
    pub(super) fn base(&self) -> &[u8] {
        self.part(Section::Base)
    }

    /// What was seen of the refs when it was made.
    pub(super) fn mark(&self) -> Option<RefsMark> {
        RefsMark::from_bytes(self.part(Section::Mark))
    }

    /// Identities that refs lead to and that were not stored when it was made.
    pub(super) fn missing(&self) -> impl Iterator<Item = Gid> {
        self.part(Section::Missing).as_chunks::<GID_LEN>().0.iter().filter_map(Gid::from_bytes)
    }

    /// The map of a section; opening one looks at its ends only.
    fn map(&self, section: Section) -> Option<Map<&[u8]>> {
        Map::new(self.part(section)).ok()
    }

    fn len(&self) -> usize {
        self.part(Section::Ids).len() / GID_LEN
    }

    fn raw(&self, num: usize) -> Option<&[u8; GID_LEN]> {
        self.part(Section::Ids).as_chunks::<GID_LEN>().0.get(num)
    }

    fn id(&self, num: u32) -> Option<Gid> {
        Gid::from_bytes(self.raw(index(num))?)
    }

    fn find(&self, id: &Gid) -> Option<usize> {
        self.part(Section::Ids).as_chunks::<GID_LEN>().0.binary_search(id.as_bytes()).ok()
    }

    /// Whether the facts of an object are here.
    pub(super) fn holds(&self, id: &Gid) -> bool {
        self.find(id).is_some_and(|num| self.is_member(num))
    }

    /// Number of objects whose facts are here.
    pub(super) fn members(&self) -> usize {
        self.part(Section::Members).iter().map(|byte| index(byte.count_ones())).sum()
    }

    fn is_member(&self, num: usize) -> bool {
        self.part(Section::Members).get(num / 8).is_some_and(|byte| byte & (1 << (num % 8)) != 0)
    }

    fn words(&self, section: Section, range: Range<usize>) -> impl Iterator<Item = u32> {
        let words = self.part(section).as_chunks::<4>().0.get(range).unwrap_or_default();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }

    fn list(&self, at: u64) -> impl Iterator<Item = Gid> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let len = self.words(Section::Lists, at..at.saturating_add(1)).next().unwrap_or(0);
        let start = at.saturating_add(1);
        let nums = self.words(Section::Lists, start..start.saturating_add(index(len)));
        nums.filter_map(|num| self.id(num))
    }

    /// Objects about exactly `subject`.
    pub(super) fn about(&self, subject: &str, found: &mut Vec<Gid>) {
        if let Some(at) = self.map(Section::Subjects).and_then(|map| map.get(subject)) {
            found.extend(self.list(at));
        }
    }

    /// Objects about something that begins with `prefix`.
    pub(super) fn below(&self, prefix: &str, found: &mut Vec<Gid>) {
        self.starting(Section::Subjects, prefix, found);
    }

    /// Objects about something whose reversed form begins with `prefix`.
    pub(super) fn ending(&self, prefix: &str, found: &mut Vec<Gid>) {
        self.starting(Section::Reversed, prefix, found);
    }

    fn starting(&self, section: Section, prefix: &str, found: &mut Vec<Gid>) {
        let Some(map) = self.map(section) else { return };
        let mut walk = map.range().ge(prefix).into_stream();
        while let Some((key, at)) = walk.next() {
            if !key.starts_with(prefix.as_bytes()) {
                return;
            }
            found.extend(self.list(at));
        }
    }

    /// Objects that name `id`.
    pub(super) fn naming(&self, id: &Gid, found: &mut Vec<Gid>) {
        let Some(num) = self.find(id) else { return };
        found.extend(self.sources(num).filter_map(|source| self.id(source)));
    }

    fn sources(&self, num: usize) -> impl Iterator<Item = u32> {
        let mut bounds = self.words(Section::Starts, num..num.saturating_add(2)).map(index);
        let range = bounds.next().zip(bounds.next()).map_or(0..0, |(start, end)| start..end);
        self.words(Section::Sources, range)
    }

    /// Changes that may have an operation that names `id`: some may not.
    pub(super) fn operating(&self, id: &Gid, found: &mut Vec<Gid>) {
        let rows = self.part(Section::Operands).as_chunks::<OPERAND>().0;
        let wanted = digits(id);
        let hash = |row: &[u8; OPERAND]| u32_at(row, 0).unwrap_or(0);
        let start = rows.partition_point(|row| hash(row) < wanted);
        let same = rows.iter().skip(start).take_while(|row| hash(row) == wanted);
        found.extend(same.filter_map(|row| self.id(u32_at(row, 4)?)));
    }

    /// Adds everything that is told here.
    pub(super) fn unfold(&self, rows: &mut Rows) {
        let ids = |num: usize| self.raw(num).and_then(Gid::from_bytes);
        for num in 0..self.len() {
            let Some(id) = ids(num) else { continue };
            if self.is_member(num) {
                rows.members.push(id);
            }
            rows.naming.extend(self.sources(num).filter_map(|source| Some((id, self.id(source)?))));
        }
        let subjects = self.map(Section::Subjects);
        let mut walk = subjects.as_ref().map(Map::stream);
        while let Some((key, at)) = walk.as_mut().and_then(Streamer::next) {
            if let Ok(text) = std::str::from_utf8(key) {
                rows.subjects.extend(self.list(at).map(|id| (text.to_owned(), id)));
            }
        }
        for row in self.part(Section::Operands).as_chunks::<OPERAND>().0 {
            let change = u32_at(row, 4).and_then(|num| self.id(num));
            rows.operands.extend(u32_at(row, 0).zip(change));
        }
    }
}

/// First bytes of a digest, which is random.
fn digits(id: &Gid) -> u32 {
    id.digest().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Facts of many objects, to be kept.
#[derive(Debug, Default)]
pub(super) struct Rows {
    members: Vec<Gid>,
    /// Subject and object.
    subjects: Vec<(String, Gid)>,
    /// What is named, and by what.
    naming: Vec<(Gid, Gid)>,
    /// First bytes of an operand, and the change.
    operands: Vec<(u32, Gid)>,
    /// What is not stored.
    pub(super) missing: Vec<Gid>,
}

impl Rows {
    /// Adds what one object says.
    pub(super) fn add(&mut self, id: Gid, fact: super::facts::Fact) {
        self.members.push(id);
        self.subjects.extend(fact.subjects.into_iter().map(|subject| (subject, id)));
        self.naming.extend(fact.names.into_iter().map(|named| (named, id)));
        self.operands.extend(fact.operands.iter().map(|operand| (digits(operand), id)));
    }

    /// The bytes of a file that goes with `base`; `None` for more than one can hold.
    pub(super) fn image(mut self, base: &[u8], mark: &RefsMark) -> Option<Vec<u8>> {
        use rayon::slice::ParallelSliceMut;
        let mut ids: Vec<Gid> = self.members.clone();
        ids.extend(self.naming.iter().flat_map(|(named, source)| [*named, *source]));
        ids.par_sort_unstable();
        ids.dedup();
        let nums: HashMap<Gid, u32> = ids.iter().copied().zip(0..).collect();
        let num = |id: &Gid| nums.get(id).copied();
        let mut members = vec![0u8; ids.len().div_ceil(8)];
        for id in &self.members {
            let at = index(num(id)?);
            members[at / 8] |= 1 << (at % 8);
        }
        let (starts, sources) = self.edges(&ids, &num)?;
        self.subjects.par_sort_unstable();
        self.subjects.dedup();
        let (subjects, reversed, lists) = self.subjects(&num)?;
        self.operands.par_sort_unstable();
        self.operands.dedup();
        let mut operands = Vec::with_capacity(self.operands.len() * OPERAND);
        for (hash, change) in &self.operands {
            operands.extend_from_slice(&hash.to_le_bytes());
            operands.extend_from_slice(&num(change)?.to_le_bytes());
        }
        self.missing.sort_unstable();
        self.missing.dedup();
        let missing: Vec<u8> = self.missing.iter().flat_map(|id| *id.as_bytes()).collect();
        let ids: Vec<u8> = ids.iter().flat_map(|id| *id.as_bytes()).collect();
        let sections: [&[u8]; SECTIONS] = [
            base,
            &mark.to_bytes(),
            &missing,
            &ids,
            &members,
            &words(&starts),
            &words(&sources),
            &subjects,
            &reversed,
            &words(&lists),
            &operands,
        ];
        let mut bytes = Vec::from(*MAGIC);
        for section in sections {
            bytes.extend_from_slice(&u32::try_from(section.len()).ok()?.to_le_bytes());
        }
        sections.iter().for_each(|section| bytes.extend_from_slice(section));
        let check = *blake3::hash(&bytes).as_bytes();
        bytes.extend_from_slice(&check);
        Some(bytes)
    }

    /// Where the sources of each identity begin, and the sources.
    fn edges(&mut self, ids: &[Gid], num: &impl Fn(&Gid) -> Option<u32>) -> Option<(Vec<u32>, Vec<u32>)> {
        use rayon::slice::ParallelSliceMut;
        self.naming.par_sort_unstable();
        self.naming.dedup();
        let mut starts = Vec::with_capacity(ids.len() + 1);
        let mut sources = Vec::with_capacity(self.naming.len());
        let mut rows = self.naming.iter().peekable();
        for id in ids {
            starts.push(u32::try_from(sources.len()).ok()?);
            while let Some((_, source)) = rows.next_if(|(named, _)| named == id) {
                sources.push(num(source)?);
            }
        }
        starts.push(u32::try_from(sources.len()).ok()?);
        Some((starts, sources))
    }

    /// The map of subjects, the map of reversed ones, and the lists that both lead to.
    fn subjects(&self, num: &impl Fn(&Gid) -> Option<u32>) -> Option<(Vec<u8>, Vec<u8>, Vec<u32>)> {
        let mut map = fst::MapBuilder::memory();
        let (mut reversed, mut lists) = (Vec::new(), Vec::new());
        for group in self.subjects.chunk_by(|a, b| a.0 == b.0) {
            let Some((subject, _)) = group.first() else { continue };
            let at = u64::try_from(lists.len()).ok()?;
            map.insert(subject, at).ok()?;
            reversed.extend(super::reversed(subject).map(|text| (text, at)));
            lists.push(u32::try_from(group.len()).ok()?);
            for (_, id) in group {
                lists.push(num(id)?);
            }
        }
        reversed.sort_unstable();
        let reversed = Map::from_iter(reversed).ok()?;
        Some((map.into_inner().ok()?, reversed.into_fst().into_inner(), lists))
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
