//! Trees: the one family large enough to deserve its own code. The entry written by every program is recognised by
//! its shape; the others (entries with extensions) go through the schema like any record.

use crate::blob::write_header;
use crate::families::ENTRY;
use crate::varint::{self, read_uint, uint_len, write_uint};
use crate::view::{Record, take_bytes, take_uint};
use crate::{
    Encoded, EnvelopeHeader, Family, GID_LEN, Gid, LimitKind, Limits, Object, ObjectError, Value,
    is_path_segment,
};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// A file.
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link; the blob is its target text.
    Link,
    /// A directory.
    Directory,
}

impl Mode {
    /// Every mode, in the order of the schema tables.
    pub const ALL: [Mode; 4] = [Mode::File, Mode::Executable, Mode::Link, Mode::Directory];

    /// The number stored.
    pub fn bits(self) -> u32 {
        match self {
            Mode::File => 0o100_644,
            Mode::Executable => 0o100_755,
            Mode::Link => 0o120_000,
            Mode::Directory => 0o040_000,
        }
    }

    /// The mode stored as `bits` (FAM-02).
    pub fn from_bits(bits: u64) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| u64::from(mode.bits()) == bits)
    }

    /// The family an entry of this mode points to (FAM-03).
    pub fn target_family(self) -> Family {
        if self == Mode::Directory { Family::Tree } else { Family::Blob }
    }

    /// The canonical encoding of [`Mode::bits`], which has three bytes for each of the four.
    #[inline]
    fn coded(self) -> [u8; 3] {
        match self {
            Mode::File => [0xA4, 0x83, 0x02],
            Mode::Executable => [0xED, 0x83, 0x02],
            Mode::Link => [0x80, 0xC0, 0x02],
            Mode::Directory => [0x80, 0x80, 0x01],
        }
    }

    #[inline]
    fn from_coded(coded: [u8; 3]) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.coded() == coded)
    }
}

/// An entry of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The name: one path segment.
    pub name: &'a str,
    /// What it is.
    pub mode: Mode,
    /// Its content: a tree for a directory, a blob otherwise.
    pub target: Gid,
    /// The record as stored, its length in front.
    stored: &'a [u8],
}

/// A validated tree.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    entries: &'a [u8],
    len: u64,
}

impl<'a> Tree<'a> {
    /// Views `object` as a tree.
    ///
    /// # Errors
    /// `FamilyMismatch` when it is of another family.
    pub fn view(object: &Object<'a>) -> Result<Tree<'a>, ObjectError> {
        let mut entries = object.record_of(Family::Tree)?.get(0x01).map_or(&[][..], |field| field.raw);
        let len = take_uint(&mut entries).unwrap_or(0);
        Ok(Tree { entries, len })
    }

    /// Validates `envelope` and views it.
    ///
    /// # Errors
    /// What [`Object::decode`] answers, or `FamilyMismatch`.
    pub fn decode(envelope: &'a [u8], limits: &Limits) -> Result<Tree<'a>, ObjectError> {
        Object::decode(envelope, limits).and_then(|object| Tree::view(&object))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entries, ascending by name.
    pub fn iter(&self) -> Entries<'a> {
        Entries { data: self.entries }
    }

    /// The entry named `name`. Walks the tree: build a map for many lookups in a large one.
    pub fn get(&self, name: &str) -> Option<Entry<'a>> {
        self.iter().take_while(|entry| entry.name <= name).find(|entry| entry.name == name)
    }
}

impl<'a> IntoIterator for Tree<'a> {
    type Item = Entry<'a>;
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

/// Iterates over the entries of a [`Tree`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    data: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        let plain = plain_entry(self.data);
        let (name, mode, target, len) = match plain {
            Some(plain) => (plain.name, plain.mode, Gid::from_bytes(plain.target)?, plain.len),
            None => irregular_entry(self.data)?,
        };
        let (stored, rest) = self.data.split_at_checked(len)?;
        self.data = rest;
        Some(Entry { name: std::str::from_utf8(name).ok()?, mode, target, stored })
    }
}

/// An entry of the usual shape: name, mode and target, and nothing else.
struct Plain<'a> {
    name: &'a [u8],
    mode: Mode,
    target: &'a [u8; GID_LEN],
    /// Bytes of the entry, its length included.
    len: usize,
}

/// Bytes of mode and target with their tags and lengths.
const TAIL_LEN: usize = 2 + 3 + 3 + GID_LEN;

/// The most bytes before a name: three lengths and a tag.
const MAX_HEAD_LEN: usize = 3 * varint::MAX_LEN + 1;

/// Recognises the entry at the front of `data`. What it accepts obeys every rule but those of names and families.
#[inline]
fn plain_entry(data: &[u8]) -> Option<Plain<'_>> {
    let (len, start) = read_uint(data, 0, data.len()).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    let record = data.get(start..end)?;
    if record.first() != Some(&0x01) {
        return None;
    }
    let (field_len, length_at) = read_uint(record, 1, record.len()).ok()?;
    let (name_len, name_at) = read_uint(record, length_at, record.len()).ok()?;
    let name_end = name_at.checked_add(usize::try_from(name_len).ok()?)?;
    if (name_end - length_at) as u64 != field_len {
        return None;
    }
    let name = record.get(name_at..name_end)?;
    let tail: &[u8; TAIL_LEN] = record.get(name_end..)?.try_into().ok()?;
    let [0x02, 0x03, m0, m1, m2, 0x03, 0x22, 0x21, ..] = *tail else { return None };
    let target = tail.last_chunk::<GID_LEN>()?;
    Some(Plain { name, mode: Mode::from_coded([m0, m1, m2])?, target, len: end })
}

fn irregular_entry(data: &[u8]) -> Option<(&[u8], Mode, Gid, usize)> {
    let mut rest = data;
    let (name, mode, target) = parts(take_bytes(&mut rest)?)?;
    Some((name, Mode::from_bits(mode)?, target, data.len() - rest.len()))
}

/// Name, mode and target of any well-formed entry.
fn parts(record: &[u8]) -> Option<(&[u8], u64, Gid)> {
    let record = Record::new(record, ENTRY);
    Some((record.optional::<&[u8]>(0x01)?, record.optional(0x02)?, record.optional(0x03)?))
}

/// Whether `body` is a tree body of plain entries only that obeys every rule. A `false` says nothing: the general
/// checks then find what is wrong, or that the tree is merely unusual.
pub(crate) fn is_plain(body: &[u8], limits: &Limits) -> bool {
    plain_count(body, limits).is_some()
}

fn plain_count(body: &[u8], limits: &Limits) -> Option<()> {
    let mut data = body.strip_prefix(&[0x01])?;
    let mut field = take_bytes(&mut data)?;
    let count = take_uint(&mut field)?;
    let permitted = limits.max_array_elements.min(limits.max_refs_per_object);
    if !data.is_empty() || count > permitted || limits.max_record_depth < 2 {
        return None;
    }
    let mut previous: &[u8] = &[];
    for _ in 0..count {
        let entry = plain_entry(field)?;
        let family = entry.mode.target_family();
        let fits = entry.name.len() as u64 <= limits.max_string_bytes;
        if !fits || !is_name(entry.name) || entry.name <= previous || entry.target[0] != family.code() {
            return None;
        }
        previous = entry.name;
        field = field.get(entry.len..)?;
    }
    field.is_empty().then_some(())
}

/// Whether `name` is UTF-8 and one path segment.
#[inline]
fn is_name(name: &[u8]) -> bool {
    is_path_segment(name) && (name.is_ascii() || std::str::from_utf8(name).is_ok())
}

/// FAM-01 to FAM-04 on a well-formed body: each entry's name, mode, target and order, entry by entry.
pub(crate) fn check(object: &Object<'_>) -> Result<(), ObjectError> {
    let Some(Value::Array(entries)) = object.record().get(0x01).and_then(|field| field.value()) else {
        return Ok(());
    };
    let mut previous: &[u8] = &[];
    for (index, entry) in (0u64..).zip(entries.iter()) {
        let Value::Record(record) = entry else { continue };
        let Some((name, mode, target)) = parts(record.data()) else { continue };
        if !is_path_segment(name) {
            return Err(ObjectError::InvalidTreeName { index });
        }
        let mode = Mode::from_bits(mode).ok_or(ObjectError::InvalidTreeMode { index, mode })?;
        check_target(index, mode, &target)?;
        if index > 0 && name <= previous {
            return Err(ObjectError::InvalidTreeOrder { index });
        }
        previous = name;
    }
    Ok(())
}

fn check_target(index: u64, mode: Mode, target: &Gid) -> Result<(), ObjectError> {
    let found = target.family();
    if found == mode.target_family() {
        Ok(())
    } else {
        Err(ObjectError::InvalidTreeTargetFamily { index, found })
    }
}

/// Writes a tree, entry after entry in ascending order. Reusable, so that writing many trees allocates once each.
#[derive(Clone, Debug, Default)]
pub struct TreeBuilder {
    entries: Vec<u8>,
    count: u64,
    last_name: std::ops::Range<usize>,
    longest_name: usize,
}

impl TreeBuilder {
    /// An empty tree.
    pub fn new() -> TreeBuilder {
        TreeBuilder::default()
    }

    /// Forgets all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.count = 0;
        self.last_name = 0..0;
        self.longest_name = 0;
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `InvalidTreeName`, `InvalidTreeTargetFamily` or `InvalidTreeOrder`; the builder stays as it was.
    pub fn push(&mut self, name: &str, mode: Mode, target: &Gid) -> Result<(), ObjectError> {
        let name = name.as_bytes();
        self.check(name, mode, target)?;
        self.entries.reserve(MAX_HEAD_LEN + name.len() + TAIL_LEN);
        self.push_head(name.len());
        let name_at = self.entries.len();
        self.entries.extend_from_slice(name);
        let [m0, m1, m2] = mode.coded();
        self.entries.extend_from_slice(&[0x02, 0x03, m0, m1, m2, 0x03, 0x22, 0x21]);
        self.entries.extend_from_slice(target.as_bytes());
        self.note(name_at, name.len());
        Ok(())
    }

    /// Adds an entry of another tree as it is stored there, extensions included.
    ///
    /// # Errors
    /// `InvalidTreeOrder`, and what else [`TreeBuilder::push`] answers; the builder stays as it was.
    pub fn push_entry(&mut self, entry: &Entry<'_>) -> Result<(), ObjectError> {
        self.check(entry.name.as_bytes(), entry.mode, &entry.target)?;
        let name_at = self.entries.len() + name_offset(entry.stored);
        self.entries.extend_from_slice(entry.stored);
        self.note(name_at, entry.name.len());
        Ok(())
    }

    /// Writes what stands before a name: the length of the record, the tag, the two lengths of the field.
    #[inline]
    fn push_head(&mut self, name_len: usize) {
        let record_len = 3 + name_len + TAIL_LEN;
        if let (Ok(record @ 0..0x80), Ok(name)) = (u8::try_from(record_len), u8::try_from(name_len)) {
            self.entries.extend_from_slice(&[record, 0x01, name + 1, name]);
            return;
        }
        let name_len = name_len as u64;
        let field_len = name_len + uint_len(name_len) as u64;
        write_uint(&mut self.entries, 1 + uint_len(field_len) as u64 + field_len + TAIL_LEN as u64);
        self.entries.push(0x01);
        write_uint(&mut self.entries, field_len);
        write_uint(&mut self.entries, name_len);
    }

    fn check(&self, name: &[u8], mode: Mode, target: &Gid) -> Result<(), ObjectError> {
        let index = self.count;
        if !is_path_segment(name) {
            return Err(ObjectError::InvalidTreeName { index });
        }
        check_target(index, mode, target)?;
        let previous = self.entries.get(self.last_name.clone()).unwrap_or_default();
        if index > 0 && name <= previous { Err(ObjectError::InvalidTreeOrder { index }) } else { Ok(()) }
    }

    fn note(&mut self, name_at: usize, name_len: usize) {
        self.last_name = name_at..name_at + name_len;
        self.longest_name = self.longest_name.max(name_len);
        self.count += 1;
    }

    /// The finished object. The builder keeps its entries; [`TreeBuilder::clear`] it to go on with another tree.
    ///
    /// # Errors
    /// `LimitExceeded` or `RefCountExceeded`.
    pub fn finish(&self, limits: &Limits) -> Result<Encoded, ObjectError> {
        let over = |limit, max, found| Err(ObjectError::LimitExceeded { at: 0, limit, max, found });
        if limits.max_record_depth < 2 {
            return over(LimitKind::RecordDepth, limits.max_record_depth, 2);
        }
        if self.count > limits.max_array_elements {
            return over(LimitKind::ArrayElements, limits.max_array_elements, self.count);
        }
        if self.longest_name as u64 > limits.max_string_bytes {
            return over(LimitKind::StringBytes, limits.max_string_bytes, self.longest_name as u64);
        }
        if self.count > limits.max_refs_per_object {
            return Err(ObjectError::RefCountExceeded { max: limits.max_refs_per_object, found: self.count });
        }
        let field_len = (uint_len(self.count) + self.entries.len()) as u64;
        let body_len = 1 + uint_len(field_len) as u64 + field_len;
        let mut bytes = Vec::with_capacity(EnvelopeHeader::MAX_LEN + 21 + self.entries.len());
        write_header(&mut bytes, Family::Tree, body_len);
        let found = bytes.len() as u64 + body_len;
        if found > limits.max_object_bytes {
            return over(LimitKind::ObjectBytes, limits.max_object_bytes, found);
        }
        bytes.push(0x01);
        write_uint(&mut bytes, field_len);
        write_uint(&mut bytes, self.count);
        bytes.extend_from_slice(&self.entries);
        Ok(Encoded { id: Gid::of_envelope(Family::Tree, &bytes), bytes })
    }
}

/// Where the name begins in a stored entry: after the record's length, the tag, and the two lengths of the field.
fn name_offset(stored: &[u8]) -> usize {
    let after_len = read_uint(stored, 0, stored.len()).map_or(0, |(_, at)| at);
    let after_field = read_uint(stored, after_len + 1, stored.len()).map_or(0, |(_, at)| at);
    read_uint(stored, after_field, stored.len()).map_or(0, |(_, at)| at)
}

/// The tree with `entries`, which ascend by name.
///
/// # Errors
/// What [`TreeBuilder::push`] and [`TreeBuilder::finish`] answer.
pub fn tree_envelope<'n>(
    entries: impl IntoIterator<Item = (&'n str, Mode, Gid)>,
    limits: &Limits,
) -> Result<Encoded, ObjectError> {
    let mut builder = TreeBuilder::new();
    for (name, mode, target) in entries {
        builder.push(name, mode, &target)?;
    }
    builder.finish(limits)
}

/// For [`crate::Refs`]: the target of the entry at the front of `data` (its offset, and itself) and the entry's length.
#[inline]
pub(crate) fn target(data: &[u8]) -> Option<(usize, Gid, usize)> {
    if let Some(plain) = plain_entry(data) {
        return Some((plain.len - GID_LEN, Gid::from_bytes(plain.target)?, plain.len));
    }
    let mut rest = data;
    let record = take_bytes(&mut rest)?;
    let len = data.len() - rest.len();
    // Walks the fields up to the target, whose value is a length of one byte and the reference.
    let mut fields = record;
    while take_uint(&mut fields)? != 0x03 {
        take_bytes(&mut fields)?;
    }
    let value = take_bytes(&mut fields)?;
    let target = Gid::from_bytes(value.last_chunk::<GID_LEN>()?)?;
    Some((len - fields.len() - GID_LEN, target, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectBuilder, refs_of};

    fn blob(byte: u8) -> Gid {
        Gid::new(Family::Blob, [byte; 32])
    }

    /// A tree whose second entry bears an extension.
    fn extended() -> Encoded {
        let mut builder = ObjectBuilder::new(Family::Tree);
        builder.body().records(
            0x01,
            [("a", false), ("b", true), ("c", false)].into_iter(),
            |entry, (name, extra)| {
                entry
                    .set(0x01, name)
                    .set(0x02, u64::from(Mode::File.bits()))
                    .set(0x03, blob(name.as_bytes()[0]));
                if extra {
                    entry.ext(0x80, b"note");
                }
            },
        );
        builder.finish(&Limits::DEFAULT).unwrap()
    }

    #[test]
    fn entries_with_extensions_are_read_and_carried_over() {
        let encoded = extended();
        let tree = Tree::decode(&encoded.bytes, &Limits::DEFAULT).unwrap();
        assert_eq!(tree.len(), 3);
        let found: Vec<_> = tree.iter().map(|entry| (entry.name, entry.mode, entry.target)).collect();
        let expected = [("a", b'a'), ("b", b'b'), ("c", b'c')];
        assert_eq!(found, expected.map(|(name, byte)| (name, Mode::File, blob(byte))));
        let mut builder = TreeBuilder::new();
        tree.iter().try_for_each(|entry| builder.push_entry(&entry)).unwrap();
        assert_eq!(builder.finish(&Limits::DEFAULT).unwrap(), encoded);
        let refs: Vec<_> = refs_of(&encoded.bytes).map(|found| (found.gid, found.ordinal)).collect();
        assert_eq!(refs, [(blob(b'a'), 0), (blob(b'b'), 1), (blob(b'c'), 2)]);
    }

    #[test]
    fn the_builder_refuses_what_a_reader_refuses() {
        let mut builder = TreeBuilder::new();
        let tree = Gid::new(Family::Tree, [1; 32]);
        builder.push("b", Mode::Directory, &tree).unwrap();
        let mut refuse = |name, mode, target: &Gid, error: &str| {
            assert_eq!(builder.push(name, mode, target).unwrap_err().name(), error, "{name:?}");
        };
        refuse("", Mode::File, &blob(1), "InvalidTreeName");
        refuse("..", Mode::File, &blob(1), "InvalidTreeName");
        refuse("c/d", Mode::File, &blob(1), "InvalidTreeName");
        refuse("c", Mode::Directory, &blob(1), "InvalidTreeTargetFamily");
        refuse("c", Mode::Link, &tree, "InvalidTreeTargetFamily");
        refuse("b", Mode::File, &blob(1), "InvalidTreeOrder");
        refuse("a", Mode::File, &blob(1), "InvalidTreeOrder");
        builder.push("c", Mode::Executable, &blob(1)).unwrap();
        let encoded = builder.finish(&Limits::DEFAULT).unwrap();
        let tree = Tree::decode(&encoded.bytes, &Limits::DEFAULT).unwrap();
        assert_eq!(tree.get("c").map(|entry| entry.mode), Some(Mode::Executable));
        assert!(tree.get("a").is_none() && tree.get("bb").is_none());
        builder.clear();
        let empty = tree_envelope([], &Limits::DEFAULT).unwrap();
        assert_eq!(builder.finish(&Limits::DEFAULT).unwrap(), empty);
        assert_eq!(empty.bytes, b"GEML\x01\x02\x01\x00\x03\x01\x01\x00");
    }

    #[test]
    fn the_builder_keeps_the_limits() {
        let mut builder = TreeBuilder::new();
        for name in ["a", "bb", "ccc"] {
            builder.push(name, Mode::File, &blob(1)).unwrap();
        }
        let encoded = builder.finish(&Limits::DEFAULT).unwrap();
        let all = Limits::DEFAULT;
        let size = encoded.bytes.len() as u64;
        for limits in [
            Limits { max_object_bytes: size - 1, ..all },
            Limits { max_record_depth: 1, ..all },
            Limits { max_array_elements: 2, ..all },
            Limits { max_string_bytes: 2, ..all },
            Limits { max_refs_per_object: 2, ..all },
        ] {
            let written = builder.finish(&limits).unwrap_err().name();
            assert_eq!(Object::decode(&encoded.bytes, &limits).unwrap_err().name(), written, "{limits:?}");
        }
    }

    #[test]
    fn modes_and_their_encoding() {
        for mode in Mode::ALL {
            let mut coded = Vec::new();
            write_uint(&mut coded, u64::from(mode.bits()));
            assert_eq!(coded, mode.coded());
            assert_eq!(Mode::from_bits(u64::from(mode.bits())), Some(mode));
        }
        assert_eq!(Mode::from_bits(0o100_600), None);
    }
}
