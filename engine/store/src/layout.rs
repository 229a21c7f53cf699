//! What a `.gemel` directory holds, and telling ours from others (docs/STORAGE.md, "Directory").

use crate::packs::PACK_SUFFIX;
use crate::vfs::Vfs;
use crate::{Result, StoreError, legacy};
use std::path::Path;

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
pub(crate) const GITIGNORE_TEXT: &str = "*\n!.gitignore\n!exchange/\n!exchange/**\n";

/// Longest [`META`], in bytes.
pub(crate) const META_MAX: u64 = 64 << 10;

/// Restores the files that keep older programs out, and completes a migration that was stopped while tidying up.
/// Called with the lock held.
///
/// # Errors
/// `CorruptFile` when something else has one of their names, `Io`.
pub(crate) fn close_to_older(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    legacy::close(vfs, dir)
}

/// Writes [`GITIGNORE`] unless there is one; an empty one is what a loss of power leaves of it.
///
/// # Errors
/// `Io`.
pub(crate) fn write_gitignore(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let path = dir.join(GITIGNORE);
    match vfs.stat(&path).map_err(StoreError::io("examine", &path))? {
        Some(entry) if entry.is_dir || entry.size_bytes > 0 => return Ok(()),
        _ => {}
    }
    let temp = vfs.temp_path(dir);
    write_synced(vfs, &temp, GITIGNORE_TEXT.as_bytes())?;
    vfs.rename(&temp, &path).map_err(StoreError::io("rename", &temp))?;
    vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))
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
    // The first pack alone is what `init` was stopped at: it holds nothing that cannot be made again.
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
