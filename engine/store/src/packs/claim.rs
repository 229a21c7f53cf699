//! Taking a pack to append to: an existing one whose lock is free, or a new one.

use super::effort::PACK_BYTES;
use super::pack::Pack;
use super::set::{NEW_SUFFIX, PACK_SUFFIX, PackSet, number_of, pack_name};
use crate::vfs::{AppendFile, Vfs};
use crate::{Result, StoreError};
use gemel_packfmt::frame;
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
const LOCK_NAME: &str = "lock";

/// Takes an existing pack if `reuse` allows it and one is free, else makes a new one.
///
/// # Errors
/// `Io`.
pub(crate) fn claim(vfs: &dyn Vfs, dir: &Path, set: &PackSet, reuse: bool) -> Result<Claim> {
    if reuse {
        for known in &set.packs {
            if known.end() < PACK_BYTES
                && known.is_sound()
                && let Some(claim) = claim_existing(vfs, known)?
            {
                return Ok(claim);
            }
        }
    }
    create(vfs, dir)
}

fn claim_existing(vfs: &dyn Vfs, known: &Pack) -> Result<Option<Claim>> {
    let mut file = match vfs.open_append(&known.path) {
        Ok(file) => file,
        // Replaced meanwhile, or on a disk that cannot be written.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("open", &known.path)(error)),
    };
    if !file.try_lock().map_err(StoreError::io("lock", &known.path))? {
        return Ok(None);
    }
    // Others may have appended, or stopped half-way, since the set was made.
    let Ok(pack) = Pack::open(vfs, &known.path, known.number) else { return Ok(None) };
    let usable = pack.is_sound() && pack.end() < PACK_BYTES && pack.end() == file.len_bytes();
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
        let used = number_of(&entry.name, PACK_SUFFIX).or_else(|| number_of(&entry.name, ".idx"));
        last = last.max(used.unwrap_or(0));
    }
    let number = last + 1;
    let path = dir.join(pack_name(number, NEW_SUFFIX));
    let mut file = vfs.create_new(&path).map_err(StoreError::io("create", &path))?;
    if !file.try_lock().map_err(StoreError::io("lock", &path))? {
        let busy = std::io::Error::from(std::io::ErrorKind::WouldBlock);
        return Err(StoreError::io("lock", &path)(busy));
    }
    file.append(&frame::header(number)).map_err(StoreError::io("write", &path))?;
    Ok(Claim { number, file, path, pack: None })
}

/// Removes what a session left that ended before its first commit; one at work holds the lock.
fn remove_if_dead(vfs: &dyn Vfs, path: &Path, number: u64) -> Result<()> {
    let Ok(mut file) = vfs.open_append(path) else { return Ok(()) };
    if file.try_lock().map_err(StoreError::io("lock", path))? {
        vfs.remove_file(path).map_err(StoreError::io("remove", path))?;
        let index = path.with_file_name(pack_name(number, ".idx"));
        if vfs.stat(&index).is_ok_and(|found| found.is_some()) {
            vfs.remove_file(&index).map_err(StoreError::io("remove", &index))?;
        }
    }
    Ok(())
}
