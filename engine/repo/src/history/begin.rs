//! `change begin` and `change abort` (workflow, section 4.1).

use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// What `change begin` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct BeginOptions {
    /// Input state; else the workspace's, else head's, else none.
    pub from: Option<String>,
    /// An existing intent.
    pub intent: Option<String>,
    /// A new intent's summary.
    pub intent_summary: Option<String>,
    /// Who acts; the default producer when absent.
    pub producer: Option<String>,
    /// `default` when absent.
    pub workspace: Option<String>,
    /// The directory the change will be captured from, absolute.
    pub worktree: Option<PathBuf>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginFacts {
    /// The state the change starts from; `None` for a first change.
    pub input_state: Option<Gid>,
    /// The intent.
    pub intent: Option<Gid>,
    /// Its name.
    pub intent_name: Option<String>,
    /// Its summary.
    pub intent_summary: Option<String>,
    /// Who acts.
    pub producer: Gid,
    /// The workspace.
    pub workspace: String,
    /// Its directory, when it is not the repository root.
    pub worktree: Option<PathBuf>,
}

/// Records that a change is in progress.
///
/// # Errors
/// `AlreadyPending`, `WrongFamily`, `Unresolved`, `Invalid`, `WorkspaceName`, `Store`.
pub fn begin(repo: &Repo, options: &BeginOptions) -> Result<BeginFacts> {
    let _ = (repo, options);
    unimplemented!()
}

/// What was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbortFacts {
    /// The workspace.
    pub workspace: String,
    /// The intent, which stays.
    pub intent: Option<Gid>,
}

/// Removes the pending record of a workspace (`default` when absent), readable or not. Files stay as they are.
///
/// # Errors
/// `NothingPending`, `WorkspaceName`, `Store`.
pub fn abort(repo: &Repo, workspace: Option<&str>, now_ms: i64) -> Result<AbortFacts> {
    let _ = (repo, workspace, now_ms);
    unimplemented!()
}
