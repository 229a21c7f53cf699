//! Looking at a directory that somebody else filled: nothing is followed, nothing is read unbounded.

pub(super) use crate::vfs::EntryKind as Kind;
use crate::vfs::{RawEntry, Vfs};
use crate::{Result, StoreError};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Kind of `path` itself; `None` if absent.
pub(super) fn kind(vfs: &dyn Vfs, path: &Path) -> Result<Option<Kind>> {
    Ok(vfs.stat_raw(path).map_err(StoreError::io("look at", path))?.map(|entry| entry.kind))
}

/// Entries of the directory `path`, ascending by name.
pub(super) fn list(vfs: &dyn Vfs, path: &Path) -> Result<Vec<RawEntry>> {
    vfs.list_raw(path).map_err(StoreError::io("list", path))
}

/// Whole content of a plain file, or why its content cannot be what it should be.
///
/// # Errors
/// `Io` when the disk fails, which says nothing about the file.
pub(super) fn read(vfs: &dyn Vfs, path: &Path, max_bytes: u64) -> Result<Result<Vec<u8>, String>> {
    let (len_bytes, mut source) = match vfs.open_plain(path) {
        Ok(open) => open,
        Err(e) if matches!(e.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => {
            return Ok(Err(e.to_string()));
        }
        Err(e) => return Err(StoreError::io("open", path)(e)),
    };
    if len_bytes > max_bytes {
        return Ok(Err(format!("{len_bytes} bytes, more than {max_bytes}")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(len_bytes).unwrap_or(0));
    // One byte more than announced tells a file that grew meanwhile.
    source.by_ref().take(len_bytes + 1).read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    if bytes.len() as u64 != len_bytes {
        return Ok(Err(format!("changed from {len_bytes} to {} bytes while it was read", bytes.len())));
    }
    Ok(Ok(bytes))
}

/// As [`read`], for text.
pub(super) fn read_text(vfs: &dyn Vfs, path: &Path, max_bytes: u64) -> Result<Result<String, String>> {
    Ok(read(vfs, path, max_bytes)?
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())))
}

/// Removes `path` with everything below it; links are removed, not followed. Absent is fine. Iterative, so that
/// depth costs memory and no stack.
pub(crate) fn remove_tree(vfs: &dyn Vfs, path: &Path) -> Result<()> {
    match kind(vfs, path)? {
        None => return Ok(()),
        Some(Kind::Dir) => {}
        Some(_) => return vfs.remove_file(path).map_err(StoreError::io("remove", path)),
    }
    let mut open = vec![(path.to_owned(), list(vfs, path)?)];
    while let Some((dir, entries)) = open.last_mut() {
        match entries.pop() {
            Some(entry) if entry.kind == Kind::Dir => {
                let below = dir.join(entry.name);
                let entries = list(vfs, &below)?;
                open.push((below, entries));
            }
            Some(entry) => {
                let file = dir.join(entry.name);
                vfs.remove_file(&file).map_err(StoreError::io("remove", &file))?;
            }
            None => {
                vfs.remove_dir(dir).map_err(StoreError::io("remove", &*dir))?;
                open.pop();
            }
        }
    }
    Ok(())
}

/// Makes the entries of a directory durable.
pub(super) fn sync_dir(vfs: &dyn Vfs, path: &Path) -> Result<()> {
    vfs.sync_dir(path).map_err(StoreError::io("sync", path))
}

/// Renames, see [`Vfs::rename`].
pub(super) fn rename(vfs: &dyn Vfs, from: &Path, to: &Path) -> Result<()> {
    vfs.rename(from, to).map_err(StoreError::io("rename", from))
}

/// Creates a directory; fine if it exists.
pub(super) fn create_dir(vfs: &dyn Vfs, path: &Path) -> Result<()> {
    vfs.create_dir_all(path).map_err(StoreError::io("create", path))
}
