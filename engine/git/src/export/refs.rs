//! Which refs the target gets: each is created, unchanged or moved forward; anything else needs to be forced.

use super::target::Target;
use crate::{GitError, Result};
use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet};

/// Refusals told one by one.
const TOLD: usize = 5;

/// What becomes of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefChange {
    /// It was not there.
    Created,
    /// It was there already.
    Unchanged,
    /// It led to the new commit.
    Forward,
    /// It was moved by force; what it named may now be named by nothing.
    Forced,
}

/// A ref of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefOutcome {
    /// Its name, from `refs/` on; what is no UTF-8 in it as U+FFFD.
    pub name: String,
    /// What it named, by its Git name.
    pub old: Option<String>,
    /// What it names.
    pub new: String,
    /// How it came there.
    pub change: RefChange,
}

/// A ref to be written.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) name: BString,
    pub(super) old: Option<ObjectId>,
    pub(super) new: ObjectId,
    pub(super) change: RefChange,
}

/// Whether `name` is a ref Git accepts.
///
/// # Errors
/// `Refused`.
pub(super) fn check_name(name: &BStr) -> Result<()> {
    let valid = gix::validate::reference::name(name);
    match valid {
        Ok(_) if name.starts_with(b"refs/") => Ok(()),
        Ok(_) => Err(GitError::Refused { reason: format!("{name:?} is no ref below refs/") }),
        Err(error) => Err(GitError::Refused { reason: format!("{name:?} is no name for a ref: {error}") }),
    }
}

/// Plans the refs. `leads` answers whether the first commit is the second or an ancestor of it.
///
/// # Errors
/// `Refused` naming what would be dropped.
pub(super) fn plan(
    target: &Target,
    wanted: &BTreeMap<BString, ObjectId>,
    leads: &mut dyn FnMut(&ObjectId, &ObjectId) -> Result<bool>,
    force: bool,
) -> Result<Vec<Edit>> {
    let there = target.refs();
    let mut edits = Vec::with_capacity(wanted.len());
    let mut problems = Vec::new();
    for (name, new) in wanted {
        check_name(name.as_bstr())?;
        let old = there.get(name).copied();
        let change = match old {
            None => RefChange::Created,
            Some(old) if old == *new => RefChange::Unchanged,
            Some(old) => {
                // Tags stay where they are: nobody expects them to move.
                let forward = !name.starts_with(b"refs/tags/") && leads(&old, new)?;
                let worktree = target.worktree_of(name.as_bstr());
                if !forward {
                    problems.push(format!("{name} is at {old}, which {new} does not lead back to"));
                } else if let Some(dir) = worktree {
                    problems.push(format!("{name} is checked out (by {})", dir.display()));
                }
                if forward && worktree.is_none() { RefChange::Forward } else { RefChange::Forced }
            }
        };
        edits.push(Edit { name: name.clone(), old, new: *new, change });
    }
    let clash = clash(there.keys().chain(wanted.keys()));
    if let Some((outer, inner)) = clash {
        let reason = format!("{} cannot have both {outer} and {inner}", target.path.display());
        return Err(GitError::Refused { reason });
    }
    if problems.is_empty() || force {
        return Ok(edits);
    }
    let more = problems.len().saturating_sub(TOLD);
    problems.truncate(TOLD);
    let mut reason = format!("nothing was exported to {}: {}", target.path.display(), problems.join("; "));
    if more > 0 {
        reason.push_str(&format!("; and {more} more"));
    }
    reason.push_str(". Choose another --branch or place, or move them with --force");
    Err(GitError::Refused { reason })
}

/// Two names of which one would have to be a file and a folder.
fn clash<'n>(names: impl Iterator<Item = &'n BString>) -> Option<(&'n BStr, &'n BStr)> {
    let names: BTreeSet<&BStr> = names.map(|name| name.as_bstr()).collect();
    names.iter().find_map(|inner| {
        let mut outer = inner.find_iter(b"/").map(|at| inner.get(..at).unwrap_or_default().as_bstr());
        outer.find_map(|outer| names.get(outer).map(|outer| (*outer, *inner)))
    })
}

impl Edit {
    pub(super) fn outcome(&self) -> RefOutcome {
        RefOutcome {
            name: self.name.to_string(),
            old: self.old.map(|id| id.to_string()),
            new: self.new.to_string(),
            change: self.change,
        }
    }
}
