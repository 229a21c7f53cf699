//! Directories that nothing is checked out into: the store and other repository metadata, also when a link leads there.

use super::names::is_metadata_name;
use crate::content::error::{ContentError, Result};
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Refuses a target in the store, or in a `.git` or `.gemel` that the repository itself does not lie in.
///
/// # Errors
/// `ProtectedTarget`; `Io` when the target cannot be followed to where it is.
pub(super) fn check(target: &Path, store_dir: &Path) -> Result<()> {
    let real = real_path(target).map_err(ContentError::io("examine", target))?;
    let store = real_path(store_dir).map_err(ContentError::io("examine", store_dir))?;
    // A link called `.gemel` may lead to a store anywhere; the repository is where the link is.
    let home = store_dir.parent().and_then(|dir| real_path(dir).ok()).unwrap_or_default();
    let shields = |dir: &Path| {
        let name = dir.file_name().and_then(OsStr::to_str);
        name.is_some_and(is_metadata_name) && !home.starts_with(dir)
    };
    if real.starts_with(store) || real.ancestors().any(shields) {
        return Err(ContentError::ProtectedTarget { path: target.to_owned() });
    }
    Ok(())
}

/// `path` without links, as far as it exists; what is missing is taken as it will be made.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for above in path.ancestors() {
        match above.canonicalize() {
            Ok(mut real) => {
                for part in path.strip_prefix(above).unwrap_or(Path::new("")).components() {
                    match part {
                        Component::ParentDir => drop(real.pop()),
                        part => real.push(part),
                    }
                }
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}
