//! The loose objects of a 0.12 store: `objects/<2 hex>/<64 hex>.gce` holds one envelope each, the file is named by
//! its digest. Every one is read, validated and hashed (STO-01, T-08).

use super::disk::{self, Kind};
use super::finding::Findings;
use super::{Progress, Step};
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use gemel_object::{EnvelopeHasher, EnvelopeHeader, Family, Gid, Limits, Object, refs_of};
use rayon::prelude::*;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Folder of the objects.
pub(super) const OBJECTS: &str = "objects";
/// Blobs from this size on are read in pieces.
pub(super) const STREAM_BYTES: u64 = 4 << 20;
/// Piece of a streamed blob.
const PIECE_BYTES: usize = 1 << 20;
/// Other objects from this size on are read one at a time, so that memory holds one of them.
const ALONE_BYTES: u64 = 16 << 20;

/// One loose object file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loose {
    digest: [u8; 32],
    /// Length of the file.
    pub(super) size_bytes: u64,
    /// Known and sound once verified.
    pub(super) id: Option<Gid>,
}

impl Loose {
    /// Its path below `.gemel`.
    pub(super) fn path(&self) -> PathBuf {
        path_of(&self.digest, "gce")
    }
}

/// All objects of a store, by digest, and which refer to which.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) all: Vec<Loose>,
    /// Per object the positions of those it refers to, as far as they are there.
    pub(super) edges: Vec<Box<[u32]>>,
    /// Digests of the tombstones found beside the objects, ascending.
    pub(super) tombs: Vec<[u8; 32]>,
}

impl Objects {
    /// Position of a sound object.
    pub(super) fn find(&self, id: &Gid) -> Option<usize> {
        let at = self.position(id.digest())?;
        (self.all[at].id == Some(*id)).then_some(at)
    }

    /// Whether a tombstone stands for `id`.
    pub(super) fn has_tomb(&self, id: &Gid) -> bool {
        self.tombs.binary_search_by(|t| t.as_slice().cmp(id.digest())).is_ok()
    }

    fn position(&self, digest: &[u8]) -> Option<usize> {
        self.all.binary_search_by(|o| o.digest.as_slice().cmp(digest)).ok()
    }
}

/// `objects/<2 hex>/<64 hex>.<extension>`.
pub(super) fn path_of(digest: &[u8; 32], extension: &str) -> PathBuf {
    let hex = blake3::Hash::from_bytes(*digest).to_hex();
    Path::new(OBJECTS).join(&hex[..2]).join(format!("{hex}.{extension}"))
}

/// Lists the object files of the store in `dir`; nothing is read yet.
pub(super) fn list(vfs: &dyn Vfs, dir: &Path, findings: &mut Findings) -> Result<Objects> {
    let mut objects = Objects::default();
    let root = dir.join(OBJECTS);
    match disk::kind(vfs, &root)? {
        Some(Kind::Dir) => {}
        None => findings.error("corrupt-store", OBJECTS, "the folder of the objects is absent"),
        Some(_) => findings.error("not-plain", OBJECTS, "not a folder; not followed"),
    }
    if findings.has_errors() {
        return Ok(objects);
    }
    for entry in disk::list(vfs, &root)? {
        let name = entry.name.to_string_lossy();
        let path = Path::new(OBJECTS).join(&entry.name);
        let fan_out = name.len() == 2 && name.bytes().all(is_hex);
        match entry.kind {
            Kind::Dir if fan_out => list_fan_out(vfs, dir, &path, &name, &mut objects, findings)?,
            Kind::Link | Kind::Other if fan_out => {
                findings.error(
                    "not-plain",
                    path,
                    "a link or special file in the place of a folder; not followed",
                );
            }
            _ => stray(&path, &name, findings),
        }
    }
    objects.all.sort_unstable_by_key(|o| o.digest);
    objects.tombs.sort_unstable();
    Ok(objects)
}

fn list_fan_out(
    vfs: &dyn Vfs,
    dir: &Path,
    folder: &Path,
    prefix: &str,
    objects: &mut Objects,
    findings: &mut Findings,
) -> Result<()> {
    for entry in disk::list(vfs, &dir.join(folder))? {
        let name = entry.name.to_string_lossy();
        let path = folder.join(&entry.name);
        let parsed = name.split_once('.').and_then(|(hex, extension)| Some((digest_of(hex)?, extension)));
        match parsed.filter(|_| name.starts_with(prefix)) {
            Some((_, "gce" | "tomb")) if entry.kind != Kind::File => {
                findings.error("not-plain", path, "a link, folder or special file in the place of an object");
            }
            Some((digest, "gce")) => {
                objects.all.push(Loose { digest, size_bytes: entry.size_bytes, id: None });
            }
            Some((digest, "tomb")) => objects.tombs.push(digest),
            _ => stray(&path, &name, findings),
        }
    }
    Ok(())
}

fn stray(path: &Path, name: &str, findings: &mut Findings) {
    if name.starts_with(".tmp-") {
        findings.note("stale-temp-file", path, "left by an interrupted write; not carried over");
    } else {
        findings.note("stray-file", path, "no object; not carried over");
    }
}

/// What one object file turned out to be.
enum Checked {
    Sound { id: Gid, edges: Box<[u32]>, missing: Vec<Gid> },
    Damaged(String),
}

/// Reads, validates and hashes every object, in parallel; fills in identities and edges.
///
/// # Errors
/// `Io` when the disk fails.
pub(super) fn verify(
    vfs: &dyn Vfs,
    dir: &Path,
    objects: &mut Objects,
    findings: &mut Findings,
    progress: &dyn Progress,
) -> Result<()> {
    let total = objects.all.len() as u64;
    let done = AtomicU64::new(0);
    let alone = Mutex::new(());
    let shared: &Objects = objects;
    let checked: Vec<Checked> = shared
        .all
        .par_iter()
        .map(|loose| {
            let result = check(vfs, dir, loose, shared, &alone);
            progress.at(Step::Verify, done.fetch_add(1, Ordering::Relaxed) + 1, total);
            result
        })
        .collect::<Result<_>>()?;
    let mut absent: HashMap<Gid, PathBuf> = HashMap::new();
    for (loose, checked) in objects.all.iter_mut().zip(checked) {
        let edges = match checked {
            Checked::Sound { id, edges, missing } => {
                loose.id = Some(id);
                for gid in missing {
                    absent.entry(gid).or_insert_with(|| loose.path());
                }
                edges
            }
            Checked::Damaged(detail) => {
                findings.error("corrupt-object", loose.path(), detail);
                Box::default()
            }
        };
        objects.edges.push(edges);
    }
    report_missing(objects, absent, findings);
    Ok(())
}

/// References to objects that are not there were missing before; the new store lacks them alike.
fn report_missing(objects: &Objects, absent: HashMap<Gid, PathBuf>, findings: &mut Findings) {
    let mut absent: Vec<_> = absent.into_iter().collect();
    absent.sort();
    for (gid, path) in absent {
        if objects.has_tomb(&gid) {
            findings.note("pruned-referenced", path, format!("refers to the pruned object {gid}"));
        } else {
            findings.warning("missing-reference", path, format!("refers to {gid}, which is not stored"));
        }
    }
}

fn check(vfs: &dyn Vfs, dir: &Path, loose: &Loose, objects: &Objects, alone: &Mutex<()>) -> Result<Checked> {
    let path = dir.join(loose.path());
    if loose.size_bytes > Limits::DEFAULT.max_object_bytes {
        let limit = Limits::DEFAULT.max_object_bytes;
        return Ok(Checked::Damaged(format!("{} bytes, more than the limit of {limit}", loose.size_bytes)));
    }
    let streamed = if loose.size_bytes >= STREAM_BYTES { hash_blob(vfs, &path)? } else { None };
    if let Some(hashed) = streamed {
        return Ok(match hashed.and_then(|id| expect(loose, id)) {
            Ok(id) => Checked::Sound { id, edges: Box::default(), missing: Vec::new() },
            Err(detail) => Checked::Damaged(detail),
        });
    }
    // A poisoned lock guards no data.
    let _one = (loose.size_bytes >= ALONE_BYTES).then(|| alone.lock());
    let bytes = match disk::read(vfs, &path, Limits::DEFAULT.max_object_bytes)? {
        Ok(bytes) => bytes,
        Err(detail) => return Ok(Checked::Damaged(detail)),
    };
    let id = match Object::decode(&bytes, &Limits::DEFAULT) {
        Ok(object) => object.id(),
        Err(e) => return Ok(Checked::Damaged(e.to_string())),
    };
    if let Err(detail) = expect(loose, id) {
        return Ok(Checked::Damaged(detail));
    }
    let mut edges = Vec::new();
    let mut missing = Vec::new();
    for found in refs_of(&bytes) {
        match objects.position(found.gid.digest()).and_then(|at| u32::try_from(at).ok()) {
            Some(at) => edges.push(at),
            None => missing.push(found.gid),
        }
    }
    Ok(Checked::Sound { id, edges: edges.into(), missing })
}

fn expect(loose: &Loose, found: Gid) -> Result<Gid, String> {
    if found.digest() == loose.digest { Ok(found) } else { Err(format!("its bytes hash to {found}")) }
}

/// Hashes a blob in pieces; `None` when the file is no blob and must be looked at whole.
fn hash_blob(vfs: &dyn Vfs, path: &Path) -> Result<Option<Result<Gid, String>>> {
    let mut blob = match open_blob(vfs, path)? {
        Ok(Some(blob)) => blob,
        Ok(None) => return Ok(None),
        Err(detail) => return Ok(Some(Err(detail))),
    };
    let mut hasher = EnvelopeHasher::new(&blob.header);
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = blob.header.body_len();
    while left > 0 {
        let n = blob.body.read(&mut piece).map_err(StoreError::io("read", path))?;
        if n == 0 {
            return Ok(Some(Err(format!("ends {left} bytes early"))));
        }
        hasher.update(&piece[..n]);
        left = left.saturating_sub(n as u64);
    }
    Ok(Some(Ok(hasher.finish())))
}

/// A blob file, read up to its body.
pub(super) struct OpenBlob {
    pub(super) header: EnvelopeHeader,
    /// Yields exactly the body as far as the file holds it.
    pub(super) body: Box<dyn Read + Send>,
}

/// Opens a loose object as a blob whose length fits its header; `None` when it is of another family.
pub(super) fn open_blob(vfs: &dyn Vfs, path: &Path) -> Result<Result<Option<OpenBlob>, String>> {
    let (len_bytes, mut source) = vfs.open_plain(path).map_err(StoreError::io("open", path))?;
    let mut prefix = Vec::with_capacity(EnvelopeHeader::MAX_LEN);
    source
        .by_ref()
        .take(EnvelopeHeader::MAX_LEN as u64)
        .read_to_end(&mut prefix)
        .map_err(StoreError::io("read", path))?;
    let header = match EnvelopeHeader::read(&prefix, &Limits::DEFAULT) {
        Ok(header) => header,
        Err(e) => return Ok(Err(e.to_string())),
    };
    if header.family() != Family::Blob {
        return Ok(Ok(None));
    }
    if header.envelope_len() != len_bytes {
        return Ok(Err(format!("{len_bytes} bytes, its header says {}", header.envelope_len())));
    }
    let start = std::io::Cursor::new(prefix.split_off(header.as_bytes().len().min(prefix.len())));
    let body = Box::new(start.chain(source).take(header.body_len()));
    Ok(Ok(Some(OpenBlob { header, body })))
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// 64 lowercase hex digits as bytes.
pub(super) fn digest_of(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 || !hex.bytes().all(is_hex) {
        return None;
    }
    blake3::Hash::from_hex(hex).ok().map(|hash| *hash.as_bytes())
}
