//! Verification of packs: checksums, hashes, canonical form. Reads only; goes on after any damage.

use super::decode::{self, Found, Piece, chunk_plain};
use super::kept::{Decoded, Kept};
use super::pack::{Pack, index_path};
use super::set::{INDEX_SUFFIX, NEW_SUFFIX, PackSet};
use crate::{Result, Store, StoreError};
use gemel_object::{Family, Gid, Limits, Object};
use gemel_packfmt::frame::{HEADER_LEN, Kind};
use gemel_packfmt::index::Place;
use gemel_packfmt::{FormatError, KEY_LEN};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Objects that one thread looks at in the order in which they lie, and bytes of them kept decoded for what stands on them.
const PART_OBJECTS: usize = 4096;
/// See [`PART_OBJECTS`].
const KEPT_BYTES: usize = 64 << 20;

/// How deep verification goes; each depth includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Headers, indexes and the check of every frame.
    Checksums,
    /// Every object is decoded and hashed.
    Hashes,
    /// Every object is validated field by field: it is the one encoding of its content.
    Canonical,
}

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A pack cannot be opened or a part of it cannot be read.
    DamagedPack,
    /// An object's stored bytes do not decode or hash to another identity.
    CorruptObject,
    /// An object hashes right and is no valid object.
    InvalidObject,
    /// A derived index is damaged or contradicts its pack.
    Index,
    /// A derived index is missing: lost with power in the instant of its making, or deleted.
    IndexMissing,
    /// A session was stopped before it committed; nothing acknowledged is affected.
    Interrupted,
    /// A file nobody will use again.
    Leftover,
}

/// One finding of [`Store::verify`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// In which file.
    pub path: PathBuf,
    /// Where.
    pub offset_bytes: u64,
    /// The object, if it is about one.
    pub id: Option<Gid>,
    /// What was found.
    pub detail: String,
}

/// Result of [`Store::verify`].
#[derive(Clone, Debug, Default)]
pub struct VerifyReport {
    /// Objects listed by packs; an object stored twice counts twice.
    pub objects: u64,
    /// Objects without a finding.
    pub objects_ok: u64,
    /// Findings, sorted.
    pub findings: Vec<Finding>,
}

/// Told of every object that hashes to its identity, from several threads: its identity and its envelope. For a
/// chunked blob, which may be larger than memory, the envelope is cut after its first chunk.
pub type Visit<'v> = &'v (dyn Fn(&Gid, &[u8]) + Sync);

impl Store {
    /// Verifies all packs to `depth`.
    ///
    /// # Errors
    /// Only when the packs cannot be listed at all.
    pub fn verify(&self, depth: Depth, visit: Visit<'_>) -> Result<VerifyReport> {
        let set = self.fresh_set()?;
        let found = Findings::default();
        for (path, error) in &set.damaged {
            found.add(FindingKind::DamagedPack, path.clone(), 0, None, error);
        }
        let mut report = VerifyReport::default();
        for pack in &set.packs {
            verify_structure(pack, &found);
            let placed = placed(pack, &found);
            report.objects += placed.len() as u64;
            let ok: u64 = match depth {
                Depth::Checksums => placed.len() as u64,
                _ => placed
                    .par_chunks(PART_OBJECTS)
                    .map(|part| {
                        let mut kept = Kept::new(KEPT_BYTES);
                        part.iter()
                            .filter(|object| {
                                verify_object(&set, pack, object, &mut kept, (depth, visit), &found)
                            })
                            .count() as u64
                    })
                    .sum(),
            };
            report.objects_ok += ok;
        }
        self.leftovers(&set, &found)?;
        // Refs that cannot be read are told of by who looks at them.
        for behind in self.behind().unwrap_or_default() {
            let detail =
                format!("ends here, before what was acknowledged ({} bytes)", behind.acknowledged_bytes);
            found.add(FindingKind::DamagedPack, behind.path, behind.end_bytes, None, detail);
        }
        // Without readable refs nothing can be excused as a session that was stopped.
        let settled = self.settled().ok();
        report.findings = found.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        for finding in &mut report.findings {
            let Some(pack) = set.packs.iter().find(|pack| pack.path == finding.path) else { continue };
            let end = settled.as_ref().map_or(u64::MAX, |ends| ends.get(&pack.number).copied().unwrap_or(0));
            let of_pack = matches!(finding.kind, FindingKind::DamagedPack | FindingKind::CorruptObject);
            if of_pack && finding.offset_bytes >= end {
                finding.kind = FindingKind::Interrupted;
            }
        }
        report.findings.sort();
        report.findings.dedup();
        Ok(report)
    }

    /// Unpublished and temporary files in the packs directory whose writers are gone.
    fn leftovers(&self, set: &PackSet, found: &Findings) -> Result<()> {
        let (vfs, dir) = (self.vfs(), self.packs_dir());
        for entry in vfs.list(dir).map_err(StoreError::io("list", dir))? {
            let path = dir.join(&entry.name);
            let orphan = entry.name.ends_with(INDEX_SUFFIX)
                && !set.packs.iter().any(|pack| index_path(&pack.path) == path);
            let stopped = entry.name.ends_with(NEW_SUFFIX) || entry.name.starts_with("tmp-");
            if stopped || orphan && !set.damaged.iter().any(|(pack, _)| index_path(pack) == path) {
                found.add(FindingKind::Leftover, path, 0, None, "left by a session that was stopped");
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Findings(Mutex<Vec<Finding>>);

impl Findings {
    fn add(
        &self,
        kind: FindingKind,
        path: PathBuf,
        offset_bytes: u64,
        id: Option<Gid>,
        detail: impl ToString,
    ) {
        let finding = Finding { kind, path, offset_bytes, id, detail: detail.to_string() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }

    fn in_pack(&self, kind: FindingKind, pack: &Pack, offset: u64, id: Option<Gid>, detail: impl ToString) {
        self.add(kind, pack.path.clone(), offset, id, detail);
    }
}

/// Header, index and frames of one pack.
fn verify_structure(pack: &Pack, found: &Findings) {
    if let Some(error) = &pack.index_problem {
        found.add(FindingKind::Index, index_path(&pack.path), 0, None, error);
    }
    if let Some(open) = &pack.index
        && let Err(error) = open.index.verify_all(&open.bytes)
    {
        found.add(FindingKind::Index, index_path(&pack.path), 0, None, error);
    }
    if pack.tail.unindexed && pack.index_problem.is_none() {
        found.add(
            FindingKind::IndexMissing,
            index_path(&pack.path),
            0,
            None,
            "the index of this pack is missing",
        );
    }
    for &at in &pack.tail.damage {
        found.in_pack(FindingKind::DamagedPack, pack, at, None, "a batch cannot be read here, others follow");
    }
    if let Some(torn) = pack.torn {
        let detail = format!("{} bytes behind the last batch", torn.file_len_bytes - torn.valid_len_bytes);
        found.in_pack(FindingKind::Interrupted, pack, torn.valid_len_bytes, None, detail);
    }
    let frames = frames(pack, found);
    frames.par_chunks(64).for_each(|part| {
        for &at in part {
            if let Err(error) = pack.frame(at).and_then(|frame| frame.check()) {
                found.in_pack(FindingKind::DamagedPack, pack, at, None, error);
            }
        }
    });
}

/// Offsets of all frames; a place that cannot be parsed ends the walk, and the objects behind it are still found
/// through the index.
fn frames(pack: &Pack, found: &Findings) -> Vec<u64> {
    let mut offsets = Vec::new();
    let mut at = HEADER_LEN as u64;
    while at < pack.end() {
        match pack.frame(at) {
            Ok(frame) => {
                offsets.push(at);
                at = frame.end;
            }
            Err(error) => {
                found.in_pack(FindingKind::DamagedPack, pack, at, None, error);
                break;
            }
        }
    }
    offsets
}

struct Placed {
    id: Gid,
    place: Place,
}

/// All objects a pack lists, in order of place.
fn placed(pack: &Pack, found: &Findings) -> Vec<Placed> {
    let mut objects = Vec::new();
    for ordinal in 0..pack.objects() {
        match pack.by_ordinal(ordinal) {
            Some((key, place)) if key != [0; KEY_LEN] => match Gid::from_bytes(&key) {
                Some(id) => objects.push(Placed { id, place }),
                None => {
                    let detail = format!("object {ordinal} has unknown family {}", key[0]);
                    found.in_pack(FindingKind::Index, pack, place.offset, None, detail);
                }
            },
            _ => found.in_pack(
                FindingKind::DamagedPack,
                pack,
                0,
                None,
                format!("object {ordinal} cannot be identified"),
            ),
        }
    }
    objects.sort_unstable_by_key(|object| (object.place.offset, object.place.ordinal));
    objects
}

fn verify_object(
    set: &PackSet,
    pack: &Pack,
    object: &Placed,
    kept: &mut Kept,
    (depth, visit): (Depth, Visit<'_>),
    found: &Findings,
) -> bool {
    let Placed { id, place } = object;
    let damaged = |detail: String| {
        found.in_pack(FindingKind::CorruptObject, pack, place.offset, Some(*id), detail);
        false
    };
    let chunked = pack.frame(place.offset).is_ok_and(|frame| matches!(frame.kind, Kind::Large { .. }));
    if chunked && id.family() == Family::Blob {
        return match verify_chunks(id, pack, *place) {
            Ok(first) => {
                visit(id, &first);
                true
            }
            Err(error) => damaged(error),
        };
    }
    let piece = match kept.decode(set, pack, *place) {
        Ok(Decoded::Piece(piece)) => piece,
        Ok(Decoded::Bytes(form)) => Arc::new(Piece { form, keys: None }),
        Err(error) => return damaged(error.to_string()),
    };
    let bytes = match piece.keys {
        None => Cow::Borrowed(&piece.form),
        Some(_) => match piece.splice() {
            Ok(bytes) => Cow::Owned(bytes),
            Err(error) => return damaged(error.to_string()),
        },
    };
    if !super::set::hash(id, &bytes) {
        return damaged("its bytes hash to another identity".into());
    }
    let checked = match depth {
        Depth::Canonical => Object::decode(&bytes, &Limits::DEFAULT),
        _ => Object::parse(&bytes, &Limits::DEFAULT),
    };
    if let Err(error) = checked {
        found.in_pack(FindingKind::InvalidObject, pack, place.offset, Some(*id), error);
        return false;
    }
    visit(id, &bytes);
    true
}

/// The first chunk of an object in chunks, which are hashed one after another.
fn verify_chunks(id: &Gid, pack: &Pack, place: Place) -> Result<Vec<u8>, String> {
    let told = |error: FormatError| error.to_string();
    let found = pack.frame(place.offset).and_then(|frame| decode::chunks(pack, &frame)).map_err(told)?;
    let Found::Chunks(chunks, _) = found else { return Err("no chunks".to_owned()) };
    let mut hasher = blake3::Hasher::new();
    let mut first = None;
    for chunk in &chunks {
        let plain = chunk_plain(chunk).map_err(told)?;
        hasher.update(&plain);
        first.get_or_insert(plain);
    }
    match Gid::new(id.family(), *hasher.finalize().as_bytes()) == *id {
        true => Ok(first.unwrap_or_default()),
        false => Err("its bytes hash to another identity".into()),
    }
}
