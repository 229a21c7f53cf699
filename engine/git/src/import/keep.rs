//! Bodies that make the way back exact (git interchange, section 1.9).

use super::source::Reader;
use super::tree::{self, EntryKind};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::families::{Mapping, NewMapping};
use gemel_object::{Encoded, Gid, Limits, MappingKind, Mode, ObjectError, blob_envelope};
use gemel_repo::RepoError;
use gemel_store::{NewObject, Refs, Store, Writer};
use gix::ObjectId;
use gix::hashtable::HashSet;

/// Where mappings of this module are named.
pub(crate) const RAW: &str = "refs/mappings/import/git_raw/";
/// Names the text of the refs taken.
pub(crate) const REFS: &str = "refs/mappings/import/git_refs";
/// Version of the table of section 1.9, as extension 80 of its mappings.
const EXTENSION: (u8, &[u8]) = (0x80, &[1]);
/// Length of the parts of a file that no object can hold.
const PART_BYTES: usize = 256 << 20;

/// A Git body kept as a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawObject {
    pub(crate) kind: ObjectKind,
    pub(crate) id: ObjectId,
    /// Its place among the parts of a file.
    pub(crate) part: Option<u32>,
    pub(crate) blob: Gid,
}

impl RawObject {
    /// The ref of its mapping.
    pub(crate) fn ref_name(&self) -> String {
        let part = self.part.map(|part| format!("/{part}")).unwrap_or_default();
        format!("{RAW}{}/{}{part}", self.kind.name(), self.id)
    }

    /// Its mapping.
    ///
    /// # Errors
    /// As for any object.
    pub(crate) fn mapping(&self, producer: Gid, limits: &Limits) -> Result<Encoded, ObjectError> {
        let part = self.part.map(|part| format!(":part:{part}")).unwrap_or_default();
        external(&format!("git-object:{}:{}{part}", self.kind.name(), self.id), self.blob, producer, limits)
    }
}

/// A mapping of section 1.9.
///
/// # Errors
/// As for any object.
pub(crate) fn external(from: &str, to: Gid, producer: Gid, limits: &Limits) -> Result<Encoded, ObjectError> {
    NewMapping {
        kind: Some(MappingKind::External),
        from: Some(from),
        to: Some(to),
        producer: Some(producer),
        created_at: Some(0),
        extensions: &[EXTENSION],
        ..NewMapping::default()
    }
    .encode(limits)
}

/// The bodies a run keeps.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) objects: Vec<RawObject>,
    whole: HashSet<ObjectId>,
    /// Files that were absent.
    pub(crate) missing: u64,
}

impl Kept {
    /// Keeps a body as one blob.
    ///
    /// # Errors
    /// `Unfit`; those of the store.
    pub(crate) fn body(
        &mut self,
        kind: ObjectKind,
        id: ObjectId,
        body: &[u8],
        (writer, limits): (&Writer<'_>, &Limits),
    ) -> Result<()> {
        if self.whole.insert(id) {
            let blob = put(body, &id, writer, limits)?;
            self.objects.push(RawObject { kind, id, part: None, blob });
        }
        Ok(())
    }

    /// Keeps a file in parts.
    ///
    /// # Errors
    /// `Missing`, `Damaged`; those of the store.
    pub(crate) fn file(
        &mut self,
        reader: &mut Reader,
        id: ObjectId,
        (writer, limits): (&Writer<'_>, &Limits),
    ) -> Result<()> {
        if !self.whole.insert(id) {
            return Ok(());
        }
        let body = reader.body(&id, ObjectKind::Blob, &String::new)?;
        // The envelope adds a few bytes to a part.
        let most = usize::try_from(limits.max_object_bytes.saturating_sub(64)).unwrap_or(usize::MAX);
        let part_bytes = PART_BYTES.min(most.max(1));
        let empty = [body].into_iter().filter(|body| body.is_empty());
        for (part, bytes) in (0..).zip(body.chunks(part_bytes).chain(empty)) {
            let blob = put(bytes, &id, writer, limits)?;
            self.objects.push(RawObject { kind: ObjectKind::Blob, id, part: Some(part), blob });
        }
        Ok(())
    }

    /// Keeps an object that no change leads to, and all that it holds. `has` tells what can be made from states; with
    /// `allow_missing`, absent files of trees are counted and passed over.
    ///
    /// # Errors
    /// `Missing`, `Damaged`; those of the store.
    pub(crate) fn closure(
        &mut self,
        reader: &mut Reader,
        tip: ObjectId,
        has: &dyn Fn(&ObjectId) -> bool,
        allow_missing: bool,
        to: (&Writer<'_>, &Limits),
    ) -> Result<()> {
        let mut stack = vec![(tip, String::from("named by a ref"), false)];
        while let Some((id, at, file)) = stack.pop() {
            if has(&id) || self.whole.contains(&id) || (id.is_empty_tree() && reader.header(&id)?.is_none()) {
                continue;
            }
            if file && allow_missing && reader.header(&id)?.is_none() {
                self.missing += 1;
                continue;
            }
            let damaged = |detail: String| GitError::Damaged { oid: id.to_string(), at: at.clone(), detail };
            let format = id.kind();
            let (kind, body) = reader.read(&id, &|| at.clone())?;
            let below = || format!("held by {} {id}", kind.name());
            match kind {
                ObjectKind::Blob => {
                    self.file(reader, id, to)?;
                    continue;
                }
                ObjectKind::Tree => {
                    let mut rest = body;
                    while !rest.is_empty() {
                        let (mode, _, entry) = tree::take(&mut rest, format)
                            .ok_or_else(|| damaged("an entry is cut short or malformed".to_owned()))?;
                        let (entry_kind, _) = tree::kind_of(mode).map_err(damaged)?;
                        if let EntryKind::Content(mode) = entry_kind {
                            stack.push((entry, below(), mode != Mode::Directory));
                        }
                    }
                }
                ObjectKind::Commit => {
                    let (tree, parents) = super::commit::links(body, format).map_err(damaged)?;
                    stack.push((tree, below(), false));
                    stack.extend(parents.into_iter().map(|parent| (parent, below(), false)));
                }
                ObjectKind::Tag => {
                    let target = tag_target(body, format)
                        .ok_or_else(|| damaged("its first line does not name an object".to_owned()))?;
                    stack.push((target, below(), false));
                }
            }
            self.body(kind, id, body, to)?;
        }
        Ok(())
    }
}

/// The objects named in the refs that an earlier run took: all that they lead to is kept.
///
/// # Errors
/// Those of the store.
pub(crate) fn listed(store: &Store, refs: &Refs) -> Result<HashSet<ObjectId>> {
    let Some(mapping) = refs.get(REFS)? else { return Ok(HashSet::default()) };
    let bytes = store.read(&mapping)?;
    let Ok(mapping) = Mapping::decode(&bytes, &Limits::DEFAULT) else { return Ok(HashSet::default()) };
    let text = gemel_repo::content::read_blob(store, &mapping.to()).map_err(RepoError::from)?;
    let words = text.split(|byte| matches!(byte, b' ' | b'\n'));
    Ok(words.filter_map(|word| ObjectId::from_hex(word).ok()).collect())
}

/// The object a tag stands for.
pub(crate) fn tag_target(body: &[u8], format: gix::hash::Kind) -> Option<ObjectId> {
    let hex = body.strip_prefix(b"object ")?.get(..format.len_in_hex())?;
    ObjectId::from_hex(hex).ok()
}

fn put(body: &[u8], id: &ObjectId, writer: &Writer<'_>, limits: &Limits) -> Result<Gid> {
    let encoded = blob_envelope(body, limits).map_err(|e| GitError::Damaged {
        oid: id.to_string(),
        at: "kept as it is".to_owned(),
        detail: e.to_string(),
    })?;
    writer.put(NewObject { id: encoded.id, bytes: encoded.bytes, base: None })?;
    Ok(encoded.id)
}
