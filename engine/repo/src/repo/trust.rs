//! Whether a store found by searching could have been planted by somebody else (threat T-59).

use std::path::Path;

/// Checks the store `found` in `folder`; `above` says that the search had to go up to find it.
///
/// # Errors
/// The reason for distrust.
#[cfg(unix)]
pub(super) fn check(found: &Path, folder: &Path, above: bool) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::geteuid().as_raw();
    // The link itself and what it leads to.
    for meta in [std::fs::symlink_metadata(found), std::fs::metadata(found)].into_iter().flatten() {
        if meta.uid() != me {
            return Err(format!("it belongs to user {} and this process runs as user {me}", meta.uid()));
        }
    }
    match std::fs::metadata(folder) {
        Ok(meta) if above && meta.mode() & 0o002 != 0 => {
            Err(format!("it was found by searching upward and everybody may write to {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Ownership is not looked at where it has another form.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub(super) fn check(_: &Path, _: &Path, _: bool) -> Result<(), String> {
    Ok(())
}
