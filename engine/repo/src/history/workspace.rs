//! Workspaces and their records (workflow, section 10).

use crate::facts::{Named, Omitted, PathChange, Progress};
use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// Its name.
    pub name: String,
    /// The state materialised in it.
    pub state: Option<Named>,
    /// The change it finished last.
    pub change: Option<Named>,
    /// Its directory, when it is not the repository root.
    pub path: Option<PathBuf>,
    /// Whether a change is in progress.
    pub pending: bool,
    /// Whether the pending record does not read.
    pub pending_corrupt: bool,
    /// Whether its content differs from the head state's.
    pub behind: bool,
}

/// All workspaces with a record, by name.
///
/// # Errors
/// `Store`.
pub fn workspace_list(repo: &Repo) -> Result<Vec<WorkspaceFacts>> {
    let _ = repo;
    unimplemented!()
}

/// Removes the records of a workspace; its files stay.
///
/// # Errors
/// `NoWorkspace`, `WorkspaceName`; `AlreadyPending` with a change in progress, unless `force`.
pub fn workspace_remove(repo: &Repo, name: &str, force: bool, now_ms: i64) -> Result<WorkspaceFacts> {
    let _ = (repo, name, force, now_ms);
    unimplemented!()
}

/// What is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingFacts {
    /// The workspace.
    pub workspace: String,
    /// Where the change starts.
    pub input_state: Option<Named>,
    /// Its intent.
    pub intent: Option<crate::facts::Reference>,
    /// Who acts.
    pub producer: Option<Gid>,
    /// The directory it will be captured from.
    pub worktree: PathBuf,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// What differs from the input state so far, by path.
    pub changed: Vec<PathChange>,
    /// Folders and files left out.
    pub omitted: Vec<Omitted>,
}

/// The pending change of a workspace (`default` when absent) and the delta so far. Writes nothing.
///
/// # Errors
/// `NothingPending`, `PendingCorrupt`, `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn change_status(repo: &Repo, workspace: Option<&str>, progress: &dyn Progress) -> Result<PendingFacts> {
    let _ = (repo, workspace, progress);
    unimplemented!()
}
