//! What imports kept for the way back: raw bodies and the refs (git interchange, section 1.9).

use super::workers::in_order;
use crate::import::keep::{self, RAW, REFS};
use crate::object::{ObjectKind, hash_body};
use crate::{GitError, Result};
use gemel_object::families::Mapping;
use gemel_object::{EnvelopeHeader, Family, Gid, Limits, MappingKind};
use gemel_store::{RefValue, Refs, Store};
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::hash::Kind;
use gix::hashtable::HashMap;
use std::collections::BTreeMap;

/// Bytes of decoded objects that each reader keeps.
pub(super) const KEPT_BYTES: usize = 32 << 20;
/// Objects and bytes that one thread reads in a row.
pub(super) const PART: (usize, u64) = (2048, 24 << 20);
/// Longest text of refs that is read: a line is 40 bytes and a name.
const MAX_REFS_BYTES: u64 = 1 << 30;

/// What `HEAD` said when the refs were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SavedHead {
    Branch(BString),
    Detached(ObjectId),
}

/// The refs of a Git repository as they were taken.
#[derive(Clone, Debug)]
pub(super) struct SavedRefs {
    pub(super) format: Kind,
    pub(super) head: Option<SavedHead>,
    pub(super) refs: BTreeMap<BString, ObjectId>,
}

/// Names of raw bodies with their mappings.
#[derive(Debug, Default)]
pub(super) struct RawIndex {
    pub(super) commits: HashMap<ObjectId, Gid>,
    pub(super) tags: HashMap<ObjectId, Gid>,
    pub(super) trees: HashMap<ObjectId, Gid>,
    /// Files in parts.
    pub(super) files: HashMap<ObjectId, BTreeMap<u32, Gid>>,
}

impl RawIndex {
    /// Lists them.
    ///
    /// # Errors
    /// `Mapping` for a name that is none; those of refs.
    pub(super) fn read(refs: &Refs) -> Result<RawIndex> {
        let mut index = RawIndex::default();
        for (name, value) in refs.scan(RAW)? {
            let RefValue::Id(mapping) = value? else { continue };
            let rest = name.get(RAW.len()..).unwrap_or_default();
            let malformed = || GitError::Mapping {
                name: name.clone(),
                id: mapping,
                detail: "the name is not that of a Git object".to_owned(),
            };
            let (kind, rest) = rest.split_once('/').ok_or_else(malformed)?;
            let (hex, part) = rest.split_once('/').map_or((rest, None), |(hex, part)| (hex, Some(part)));
            let id = ObjectId::from_hex(hex.as_bytes()).map_err(|_| malformed())?;
            match (kind, part) {
                ("commit", None) => index.commits.insert(id, mapping),
                ("tag", None) => index.tags.insert(id, mapping),
                ("tree", None) => index.trees.insert(id, mapping),
                ("blob", Some(part)) => {
                    let part = part.parse().map_err(|_| malformed())?;
                    index.files.entry(id).or_default().insert(part, mapping)
                }
                _ => return Err(malformed()),
            };
        }
        Ok(index)
    }

    /// The mapping of a whole body.
    pub(super) fn of(&self, kind: ObjectKind, id: &ObjectId) -> Option<Gid> {
        match kind {
            ObjectKind::Commit => self.commits.get(id).copied(),
            ObjectKind::Tag => self.tags.get(id).copied(),
            ObjectKind::Tree => self.trees.get(id).copied(),
            ObjectKind::Blob => None,
        }
    }
}

/// The ref of a raw body, or of one part of it.
pub(super) fn ref_name(kind: ObjectKind, id: &ObjectId, part: Option<u32>) -> String {
    keep::RawObject { kind, id: *id, part, blob: Gid::new(Family::Blob, [0; 32]) }.ref_name()
}

/// The blob that a mapping of section 1.9 points to, if it is the mapping that its name says.
///
/// # Errors
/// `Mapping`.
pub(super) fn blob_of(mapping: &Gid, envelope: &[u8], from: &str, name: &dyn Fn() -> String) -> Result<Gid> {
    let wrong = |detail: String| GitError::Mapping { name: name(), id: *mapping, detail };
    let decoded = Mapping::decode(envelope, &Limits::DEFAULT).map_err(|e| wrong(e.to_string()))?;
    if decoded.kind() != MappingKind::External || decoded.from() != from {
        return Err(wrong(format!("it maps {:?}, not {from:?}", decoded.from())));
    }
    match decoded.to() {
        blob if blob.family() == Family::Blob => Ok(blob),
        other => Err(wrong(format!("it leads to {other}, which is no blob"))),
    }
}

/// What stands in field 02 of the mapping of a raw body.
pub(super) fn label(kind: ObjectKind, id: &ObjectId, part: Option<u32>) -> String {
    let part = part.map(|part| format!(":part:{part}")).unwrap_or_default();
    format!("git-object:{}:{id}{part}", kind.name())
}

/// Where the body of a blob begins.
pub(super) fn body_start(envelope: &[u8]) -> usize {
    EnvelopeHeader::read(envelope, &Limits::DEFAULT).map_or(envelope.len(), |header| header.as_bytes().len())
}

/// One raw body, checked against its name.
///
/// # Errors
/// `Absent`, `Mapping`, `Damaged`; those of the store.
pub(super) fn body(
    store: &Store,
    index: &RawIndex,
    kind: ObjectKind,
    id: &ObjectId,
    at: &str,
) -> Result<Vec<u8>> {
    let absent = || GitError::Absent { what: format!("{} {id}", kind.name()), at: at.to_owned() };
    let mapping = index.of(kind, id).ok_or_else(absent)?;
    let name = || ref_name(kind, id, None);
    let blob = blob_of(&mapping, &store.read(&mapping)?, &label(kind, id, None), &name)?;
    let mut envelope = store.read(&blob)?;
    let body = envelope.split_off(body_start(&envelope));
    check(kind, id, &body)?;
    Ok(body)
}

/// Compares a body with its name.
///
/// # Errors
/// `Damaged`.
pub(super) fn check(kind: ObjectKind, id: &ObjectId, body: &[u8]) -> Result<()> {
    let found = hash_body(id.kind(), kind, body);
    if found == *id {
        return Ok(());
    }
    let detail = format!("the bytes kept for this {} hash to {found}", kind.name());
    Err(GitError::Damaged { oid: id.to_string(), at: "kept by an import".to_owned(), detail })
}

/// The blobs of raw bodies, read in the order in which their mappings lie.
///
/// # Errors
/// `Absent`, `Mapping`; those of the store.
pub(super) fn blobs_of(
    store: &Store,
    index: &RawIndex,
    kind: ObjectKind,
    ids: &[ObjectId],
) -> Result<Vec<(ObjectId, Gid)>> {
    let mut of_mapping: HashMapOfGid<ObjectId> = HashMapOfGid::default();
    for id in ids {
        let absent = || GitError::Absent { what: format!("{} {id}", kind.name()), at: String::new() };
        of_mapping.insert(index.of(kind, id).ok_or_else(absent)?, *id);
    }
    let mappings: Vec<Gid> = of_mapping.keys().copied().collect();
    let mut found = Vec::with_capacity(ids.len());
    visit(
        store,
        &mappings,
        &|mapping, envelope| {
            let Some(id) = of_mapping.get(mapping) else { return Ok(None) };
            let name = || ref_name(kind, id, None);
            Ok(Some((*id, blob_of(mapping, envelope, &label(kind, id, None), &name)?)))
        },
        &mut |pair: Option<(ObjectId, Gid)>| found.extend(pair),
    )?;
    Ok(found)
}

/// A map by identity; digests need no further mixing.
pub(super) type HashMapOfGid<V> = std::collections::HashMap<Gid, V, std::hash::BuildHasherDefault<GidHasher>>;
/// A set of identities.
pub(super) type HashSetOfGid = std::collections::HashSet<Gid, std::hash::BuildHasherDefault<GidHasher>>;

/// Takes eight bytes of a digest as they are.
#[derive(Debug, Default)]
pub(super) struct GidHasher(u64);

impl std::hash::Hasher for GidHasher {
    fn write(&mut self, bytes: &[u8]) {
        let tail = bytes.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        self.0 ^= tail;
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Reads objects in the order in which they lie, on all cores; hands what `make` makes of each to `sink`.
///
/// # Errors
/// Those of the store and of `make`.
pub(super) fn visit<T: Send>(
    store: &Store,
    ids: &[Gid],
    make: &(dyn Fn(&Gid, &[u8]) -> Result<T> + Sync),
    sink: &mut (dyn FnMut(T) + Send),
) -> Result<()> {
    let bulk = store.bulk(ids)?;
    let parts = bulk.parts(PART.0, PART.1);
    in_order(
        parts.len(),
        || bulk.reader(KEPT_BYTES),
        |reader, n| {
            let mut made = Vec::new();
            for at in parts.get(n).cloned().unwrap_or_default() {
                if let Some(object) = reader.read(at)? {
                    made.push(make(&object.id, object.bytes())?);
                }
            }
            Ok(made)
        },
        |made| {
            made.into_iter().for_each(&mut *sink);
            Ok(())
        },
    )
}

impl SavedRefs {
    /// What the last import noted; `None` before the first.
    ///
    /// # Errors
    /// `Mapping`; those of the store.
    pub(super) fn read(store: &Store, refs: &Refs) -> Result<Option<SavedRefs>> {
        let Some(mapping) = refs.get(REFS)? else { return Ok(None) };
        let wrong = |detail: String| GitError::Mapping { name: REFS.to_owned(), id: mapping, detail };
        let blob = blob_of(&mapping, &store.read(&mapping)?, "git-refs", &|| REFS.to_owned())?;
        if store.len_bytes(&blob)? > MAX_REFS_BYTES {
            return Err(wrong(format!("the list has more than {MAX_REFS_BYTES} bytes")));
        }
        let envelope = store.read(&blob)?;
        let text = envelope.get(body_start(&envelope)..).unwrap_or_default();
        SavedRefs::parse(text.as_bstr()).map(Some).map_err(wrong)
    }

    fn parse(text: &BStr) -> Result<SavedRefs, String> {
        // A name may hold a CR: only LF ends a line.
        let text = text.strip_suffix(b"\n").ok_or("the list does not end with a line")?;
        let mut lines = text.split(|byte| *byte == b'\n').map(ByteSlice::as_bstr);
        let format = match lines.next().map(AsRef::<[u8]>::as_ref) {
            Some(b"object-format sha1") => Kind::Sha1,
            Some(b"object-format sha256") => Kind::Sha256,
            other => {
                return Err(format!(
                    "the first line is {:?}, which names no object format",
                    other.map(ByteSlice::as_bstr)
                ));
            }
        };
        let id_of = |hex: &[u8]| ObjectId::from_hex(hex).ok().filter(|id| id.kind() == format);
        let head =
            lines.next().and_then(|line| line.strip_prefix(b"HEAD ")).ok_or("the second line is not HEAD")?;
        let head = match id_of(head) {
            Some(id) => Some(SavedHead::Detached(id)),
            None if head.is_empty() => None,
            None => Some(SavedHead::Branch(head.into())),
        };
        let mut refs = BTreeMap::new();
        for line in lines {
            let (hex, name) =
                line.split_once_str(b" ").ok_or_else(|| format!("a line without a name: {line:?}"))?;
            let id = id_of(hex).ok_or_else(|| format!("{:?} is no object name", hex.as_bstr()))?;
            refs.insert(name.into(), id);
        }
        Ok(SavedRefs { format, head, refs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_refs() {
        let oid = "1111111111111111111111111111111111111111";
        let read = |text: &str| SavedRefs::parse(text.into());
        let list =
            read(&format!("object-format sha1\nHEAD refs/heads/main\n{oid} refs/heads/a b\r\n")).unwrap();
        assert_eq!(list.head, Some(SavedHead::Branch("refs/heads/main".into())));
        assert_eq!(list.refs.keys().collect::<Vec<_>>(), ["refs/heads/a b\r"]);
        let detached = read(&format!("object-format sha1\nHEAD {oid}\n")).unwrap();
        assert!(matches!(detached.head, Some(SavedHead::Detached(_))) && detached.refs.is_empty());
        assert_eq!(read("object-format sha1\nHEAD \n").unwrap().head, None);
        for malformed in [
            "",
            "object-format sha1\n",
            "object-format md5\nHEAD a\n",
            "object-format sha1\nHEAD a",
            "object-format sha1\nHEAD a\n11 refs/heads/a\n",
            &format!("object-format sha1\nHEAD a\n{oid}\n"),
            &format!("object-format sha256\nHEAD a\n{oid} refs/heads/a\n"),
        ] {
            assert!(read(malformed).is_err(), "{malformed:?}");
        }
    }
}
