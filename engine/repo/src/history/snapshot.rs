//! `snapshot`: the worktree becomes a named state (workflow, sections 3.5 and 3).

use crate::facts::{Omitted, Progress, Uncertainty};
use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// What `snapshot` is told.
#[derive(Clone, Debug, Default)]
pub struct SnapshotOptions {
    /// Name instead of the next `S<n>`.
    pub label: Option<String>,
    /// Whether an existing label may move.
    pub force: bool,
    /// The workspace whose state moves; `default` when absent.
    pub workspace: Option<String>,
    /// The directory captured; the workspace's own, else the repository root.
    pub worktree: Option<PathBuf>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Unix milliseconds, for the journal.
    pub now_ms: i64,
}

/// What was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotFacts {
    /// The state.
    pub state: Gid,
    /// Its name.
    pub name: String,
    /// Regular files.
    pub files: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of file content.
    pub bytes: u64,
    /// Whether nothing changed while it was read.
    pub coherent: bool,
    /// Passes made, 1 to 3.
    pub attempts: u32,
    /// Folders and files left out, with the reason.
    pub omitted: Vec<Omitted>,
    /// An incoherent capture.
    pub uncertainty: Vec<Uncertainty>,
}

/// Captures the worktree, names the state, and makes it the workspace's.
///
/// # Errors
/// `NameTaken`, `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn snapshot(repo: &Repo, options: &SnapshotOptions, progress: &dyn Progress) -> Result<SnapshotFacts> {
    let _ = (repo, options, progress);
    unimplemented!()
}
