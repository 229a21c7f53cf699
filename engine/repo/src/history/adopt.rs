//! Files of the repository root that something else has written: a Git checkout beside an import.

use crate::content::root_tree;
use crate::history::workspace::{DEFAULT_WORKSPACE, Workspace, record_name};
use crate::{Repo, Result};
use gemel_object::Gid;

/// Lets the default workspace stand at `state` instead of `before` (`None`: head had no state): Git has written the
/// files of the root, and its history says which state they are of. A workspace that stands elsewhere, or that has a
/// change in progress, stays. Answers whether it moved.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub fn adopt(repo: &Repo, before: Option<Gid>, state: Gid, now_ms: i64) -> Result<bool> {
    let mut transaction = repo.store().transaction()?;
    let workspace = Workspace::load(transaction.refs(), None)?;
    let stood_at = match (workspace.state, before) {
        (Some(own), Some(before)) => {
            own == before || root_tree(repo.store(), &own)? == root_tree(repo.store(), &before)?
        }
        (None, _) => true,
        (Some(_), None) => false,
    };
    if !stood_at || workspace.pending.is_some() || workspace.state == Some(state) {
        return Ok(false);
    }
    transaction.set(record_name(DEFAULT_WORKSPACE, "state"), state);
    transaction.commit("import-git", now_ms)?;
    Ok(true)
}
