//! Taking a pack to append to: an existing one whose lock is free, or a new one.

use super::effort::PACK_BYTES;
use super::pack::Pack;
use super::publish;
use super::set::{FIRST, INDEX_SUFFIX, NEW_SUFFIX, PACK_SUFFIX, PackSet, number_of, pack_name, pack_path};
use crate::vfs::{AppendFile, Vfs};
use crate::{Result, StoreError};
use gemel_packfmt::frame;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A locked pack file.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) number: u64,
    pub(crate) file: Box<dyn AppendFile>,
    /// Where the file is now.
    pub(crate) path: PathBuf,
    /// The committed part, absent for a new pack.
    pub(crate) pack: Option<Pack>,
}

/// Guards making and removing unpublished packs; held for an instant.
pub(crate) const LOCK_NAME: &str = "lock";

/// Takes an existing pack if `reuse` allows it and one is free, else makes a new one. In a store that is being created
/// that is the first pack.
///
/// # Errors
/// `Io`.
pub(crate) fn claim(
    vfs: &dyn Vfs,
    dir: &Path,
    set: &PackSet,
    settled: &BTreeMap<u64, u64>,
    reuse: bool,
    unseen: bool,
) -> Result<Claim> {
    if unseen && set.packs.is_empty() {
        return create_as(vfs, dir, FIRST);
    }
    if reuse {
        for known in &set.packs {
            if known.number != FIRST
                && known.end() < PACK_BYTES
                && known.is_sound()
                && let Some(claim) = claim_existing(vfs, known, settled)?
            {
                return Ok(claim);
            }
        }
    }
    create(vfs, dir)
}

/// The file of a pack, locked; `None` while another session has it.
pub(crate) fn lock_pack(vfs: &dyn Vfs, path: &Path) -> Result<Option<Box<dyn AppendFile>>> {
    let mut file = match vfs.open_append(path) {
        Ok(file) => file,
        // Replaced meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("open", path)(error)),
    };
    Ok(file.try_lock().map_err(StoreError::io("lock", path))?.then_some(file))
}

fn claim_existing(vfs: &dyn Vfs, known: &Pack, settled: &BTreeMap<u64, u64>) -> Result<Option<Claim>> {
    let Some(file) = lock_pack(vfs, &known.path)? else { return Ok(None) };
    // Others may have appended, or stopped half-way, since the set was made.
    let Ok(mut pack) = Pack::open(vfs, &known.path, known.number) else { return Ok(None) };
    // A batch no ref transaction has followed may not be durable, and what is built on it would not be either.
    let usable = settled.get(&pack.number) == Some(&pack.end())
        && pack.is_sound()
        && pack.end() < PACK_BYTES
        && pack.end() == file.len_bytes();
    if usable && pack.lacks_index() {
        publish::write_index(vfs, &known.path, &pack.index_content())?;
        let Ok(indexed) = Pack::open(vfs, &known.path, known.number) else { return Ok(None) };
        pack = indexed;
    }
    Ok(usable.then(|| Claim { number: known.number, file, path: known.path.clone(), pack: Some(pack) }))
}

fn create(vfs: &dyn Vfs, dir: &Path) -> Result<Claim> {
    let lock = dir.join(LOCK_NAME);
    let _guard = vfs.lock(&lock).map_err(StoreError::io("lock", &lock))?;
    let mut last = 0;
    for entry in vfs.list(dir).map_err(StoreError::io("list", dir))? {
        if let Some(number) = number_of(&entry.name, NEW_SUFFIX) {
            remove_if_dead(vfs, &dir.join(&entry.name), number)?;
            last = last.max(number);
        }
        let used = number_of(&entry.name, PACK_SUFFIX).or_else(|| number_of(&entry.name, INDEX_SUFFIX));
        last = last.max(used.unwrap_or(0));
    }
    create_as(vfs, dir, last + 1)
}

fn create_as(vfs: &dyn Vfs, dir: &Path, number: u64) -> Result<Claim> {
    let path = pack_path(dir, number, NEW_SUFFIX);
    let mut file = vfs.create_new(&path).map_err(StoreError::io("create", &path))?;
    if !file.try_lock().map_err(StoreError::io("lock", &path))? {
        let busy = std::io::Error::from(std::io::ErrorKind::WouldBlock);
        return Err(StoreError::io("lock", &path)(busy));
    }
    file.append(&frame::header(number)).map_err(StoreError::io("write", &path))?;
    Ok(Claim { number, file, path, pack: None })
}

/// Removes what a session left that ended before its first commit; one at work holds the lock. Tells whether it did.
pub(crate) fn remove_if_dead(vfs: &dyn Vfs, path: &Path, number: u64) -> Result<bool> {
    let Some(_locked) = lock_pack(vfs, path)? else { return Ok(false) };
    vfs.remove_file(path).map_err(StoreError::io("remove", path))?;
    let index = path.with_file_name(pack_name(number, INDEX_SUFFIX));
    let published = path.with_file_name(pack_name(number, PACK_SUFFIX));
    let stands = |path: &Path| vfs.stat(path).is_ok_and(|found| found.is_some());
    if stands(&index) && !stands(&published) {
        vfs.remove_file(&index).map_err(StoreError::io("remove", &index))?;
    }
    Ok(true)
}
