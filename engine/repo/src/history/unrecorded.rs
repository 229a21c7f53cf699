//! Whether the files of a workspace are those of a state: what a tool observed there is then said of that state.

use crate::content::{ContentError, WorktreeRequest, delta_worktree};
use crate::facts::Progress;
use crate::history::workspace::Workspace;
use crate::{Repo, RepoError, Result};
use gemel_object::Gid;
use gemel_store::Refs;

/// How the files of a workspace stand to a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// They are its files.
    Same,
    /// They differ in these paths.
    Differ(Vec<String>),
    /// Nobody can tell, for this reason.
    Unknown(String),
}

/// Compares the files of a workspace with `state`.
///
/// # Errors
/// `Store`; what a capture would refuse makes them `Unknown`.
pub(crate) fn files_against(
    repo: &Repo,
    refs: &Refs,
    workspace: &Workspace,
    state: Gid,
    progress: &dyn Progress,
) -> Result<Files> {
    let dir = workspace.dir(repo);
    let request = WorktreeRequest {
        root: &dir,
        recorded: workspace.recorded(refs)?,
        against: Some(state),
        cache: Some(&workspace.cache_name(repo, &dir)),
        verify: false,
        limits: &repo.limits(refs)?,
        progress,
    };
    match delta_worktree(repo.store(), &request) {
        Ok(delta) if !delta.coherent => Ok(Files::Unknown("files changed while they were read".to_owned())),
        Ok(delta) if delta.changes.is_empty() => Ok(Files::Same),
        Ok(delta) => Ok(Files::Differ(delta.changes.into_iter().map(|change| change.path).collect())),
        Err(ContentError::Store(error)) => Err(RepoError::Store(error)),
        Err(error) => Ok(Files::Unknown(error.to_string())),
    }
}
