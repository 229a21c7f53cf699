//! What a `.gemel` directory holds, and telling ours from others (docs/STORAGE.md, "Directory").

use crate::packs::PACK_SUFFIX;
use crate::vfs::Vfs;
use crate::{Result, StoreError, legacy, refs};
use std::path::Path;
use std::sync::Arc;

/// The file that says what this directory is.
pub(crate) const META: &str = "meta.json";
/// Directory of packs and their indexes.
pub(crate) const PACKS: &str = "packs";
/// Directory of derived files.
pub(crate) const CACHE: &str = "cache";
/// File locked by whoever changes refs.
pub(crate) const LOCK: &str = "lock";

/// Content of [`META`]: the schema, and nothing that changes.
pub(crate) const META_TEXT: &str = "{\n  \"schema\": \"gemel.meta.v2\"\n}\n";
/// Keeps git away from everything else here.
pub(crate) const GITIGNORE: &str = ".gitignore";
/// What git may see: the exchange material, and this file.
const GITIGNORE_TEXT: &str = "*\n!.gitignore\n!exchange/\n!exchange/**\n";

/// Longest [`META`], in bytes.
pub(crate) const META_MAX: u64 = 64 << 10;

/// Creates the layout in `dir`; [`META`] comes last and makes it a store.
///
/// # Errors
/// `AlreadyExists`, `Legacy`, `Io`.
pub(crate) fn create(disk: &Arc<dyn Vfs>, dir: &Path) -> Result<()> {
    let vfs = disk.as_ref();
    check_absent(vfs, dir)?;
    create_dir(vfs, dir)?;
    // Of several that create it at once, one does and the others find it done.
    let lock = dir.join(LOCK);
    let _guard = vfs.lock(&lock).map_err(StoreError::io("lock", &lock))?;
    check_absent(vfs, dir)?;
    close_to_older(vfs, dir)?;
    for part in [PACKS, CACHE] {
        let path = dir.join(part);
        vfs.create_dir_all(&path).map_err(StoreError::io("create", &path))?;
    }
    refs::init(disk, dir)?;
    vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))?;
    replace(vfs, dir, META, META_TEXT.as_bytes())?;
    vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))
}

fn check_absent(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    match check(vfs, dir) {
        Ok(()) => Err(StoreError::AlreadyExists { path: dir.into() }),
        Err(StoreError::NotARepository { .. }) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Creates `dir` and what is missing above it, so that a loss of power takes none of them away later.
fn create_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let above = || dir.ancestors().skip(1);
    let mut standing = None;
    for parent in above() {
        if vfs.stat(parent).map_err(StoreError::io("examine", parent))?.is_some() {
            standing = Some(parent);
            break;
        }
    }
    vfs.create_dir_all(dir).map_err(StoreError::io("create", dir))?;
    for parent in above() {
        vfs.sync_dir(parent).map_err(StoreError::io("sync", parent))?;
        if Some(parent) == standing {
            break;
        }
    }
    Ok(())
}

/// Restores the files that keep older programs out, and completes a migration that was stopped while tidying up.
/// Called with the lock held.
///
/// # Errors
/// `CorruptFile` when something else has one of their names, `Io`.
pub(crate) fn close_to_older(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    legacy::close(vfs, dir)
}

/// Writes [`GITIGNORE`] unless there is one.
///
/// # Errors
/// `Io`.
pub(crate) fn write_gitignore(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let path = dir.join(GITIGNORE);
    if vfs.stat(&path).map_err(StoreError::io("examine", &path))?.is_some() {
        return Ok(());
    }
    replace(vfs, dir, GITIGNORE, GITIGNORE_TEXT.as_bytes())?;
    vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))
}

/// Writes a small file whole or not at all; one that exists is replaced.
fn replace(vfs: &dyn Vfs, dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (temp, path) = (vfs.temp_path(dir), dir.join(name));
    write_synced(vfs, &temp, bytes)?;
    vfs.rename(&temp, &path).map_err(StoreError::io("rename", &temp))
}

/// Writes a new file and syncs it; the directory is the caller's to sync.
///
/// # Errors
/// `Io`; what was written by then stays.
pub(crate) fn write_synced(vfs: &dyn Vfs, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = vfs.create_new(path).map_err(StoreError::io("create", path))?;
    file.append(bytes).map_err(StoreError::io("write", path))?;
    file.sync().map_err(StoreError::io("sync", path))
}

/// What a directory without [`META`] is: no store, or one that lost the file. `init` writes it before any pack.
fn absent(vfs: &dyn Vfs, dir: &Path) -> Result<StoreError> {
    let packs = dir.join(PACKS);
    let has_packs = match vfs.list(&packs) {
        Ok(entries) => entries.iter().any(|entry| entry.name.ends_with(PACK_SUFFIX)),
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            false
        }
        Err(error) => return Err(StoreError::io("list", &packs)(error)),
    };
    if !has_packs {
        return Ok(StoreError::NotARepository { path: dir.into() });
    }
    let detail =
        format!("the file is missing beside packs; put it back with the content {}", META_TEXT.trim_end());
    Ok(StoreError::CorruptFile { path: dir.join(META), offset_bytes: 0, detail })
}

/// Whether `dir` is a store this build reads.
///
/// # Errors
/// `NotARepository`, `Legacy`, `UnknownVersion`, `CorruptFile`, `Io`.
pub(crate) fn check(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let path = dir.join(META);
    let text = match vfs.read(&path, META_MAX) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Err(match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => absent(vfs, dir)?,
                _ => StoreError::io("read", &path)(error),
            });
        }
    };
    match legacy::recognise(vfs, dir, &text)? {
        legacy::Layout::Current => Ok(()),
        _ => Err(StoreError::Legacy { path: dir.into() }),
    }
}
