//! Entries that keep gemel 0.12 out of a store of this layout.
//!
//! 0.12 reads no schema: any `.gemel` with a `meta.json` is its own, shows as an empty repository and is written
//! into. It does stop where it finds a plain file in the place of a folder, so a store holds such a file under
//! every name that 0.12 uses. Which names are needed was found by trying every command of the published program
//! (docs/decisions/stopping-0.12.md).

use super::disk::{self, Kind};
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use std::io::ErrorKind;
use std::path::Path;

/// Names of the stoppers under `.gemel`, in the order they are created: 0.12 begins its own `init` with `objects`.
pub const STOPPERS: [&str; 7] =
    ["objects", "refs", "index", "journal", "worktrees", "exchange-state", "remotes.json"];

/// Content of every stopper. It must not parse as JSON: 0.12 takes any JSON in `remotes.json` for "no remotes".
pub const STOPPER_TEXT: &str = "This .gemel directory belongs to gemel 0.13 or newer (schema gemel.meta.v2); gemel 0.12 cannot read it.\n";

/// Creates the stoppers that are absent from `dir`; the caller syncs the directory. The files are not synced: cut
/// short or empty they stop as well. A new store writes them before its `meta.json`, an existing one restores them
/// when it is opened for writing.
///
/// # Errors
/// `CorruptFile` when something that is not a plain file has one of the names; `Io`.
pub(super) fn write_stoppers(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    for name in STOPPERS {
        let path = dir.join(name);
        match disk::kind(vfs, &path)? {
            Some(Kind::File) => {}
            Some(_) => return Err(in_the_way(&path)),
            None => write_stopper(vfs, &path)?,
        }
    }
    Ok(())
}

/// What is wrong with the stoppers of `dir`: each name that is absent or no plain file, with the reason. Another
/// text in a stopper is harmless and not reported.
///
/// # Errors
/// `Io`.
pub fn check_stoppers(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<(&'static str, &'static str)>> {
    let mut wrong = Vec::new();
    for name in STOPPERS {
        match disk::kind(vfs, &dir.join(name))? {
            Some(Kind::File) => {}
            Some(_) => wrong.push((name, "is no plain file: gemel 0.12 may have written here")),
            None => wrong.push((name, "is absent: gemel 0.12 would write here")),
        }
    }
    Ok(wrong)
}

/// Creates one stopper; fine if another process just did.
pub(super) fn write_stopper(vfs: &dyn Vfs, path: &Path) -> Result<()> {
    let mut file = match vfs.create_new(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(e) => return Err(StoreError::io("create", path)(e)),
    };
    file.append(STOPPER_TEXT.as_bytes()).map_err(StoreError::io("write", path))
}

fn in_the_way(path: &Path) -> StoreError {
    StoreError::CorruptFile {
        path: path.to_owned(),
        offset_bytes: 0,
        detail: "a plain file that stops gemel 0.12 belongs here, something else was found".to_owned(),
    }
}
