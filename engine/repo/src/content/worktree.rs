//! What a directory differs in from the recorded state, without writing objects (workflow, sections 10 and 17).

use crate::content::capture::Omission;
use crate::content::delta::PathDelta;
use crate::content::error::Result;
use crate::facts::Progress;
use gemel_object::{Gid, Limits, Mode};
use gemel_store::Store;
use std::path::Path;

/// What a comparison is told.
#[derive(Clone, Copy)]
pub struct WorktreeRequest<'a> {
    /// The directory.
    pub root: &'a Path,
    /// The workspace's recorded state: decides which ignored paths are content, and is compared with unless `against`
    /// names another.
    pub recorded: Option<Gid>,
    /// The state to compare with, when it is not the recorded one.
    pub against: Option<Gid>,
    /// Name of the workspace's stat cache; none: every file is read.
    pub cache: Option<&'a str>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Upper bounds on objects.
    pub limits: &'a Limits,
    /// Hears how far the reading is.
    pub progress: &'a dyn Progress,
}

/// How a directory differs from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeDelta {
    /// What differs, by path: `before` in the state, `after` in the directory.
    pub changes: Vec<PathDelta>,
    /// The root tree a capture would have made.
    pub root_tree: Gid,
    /// Whether nothing changed while it was read.
    pub coherent: bool,
    /// Nested repositories, and what a capture would refuse.
    pub omitted: Vec<Omission>,
}

/// Compares a directory with a state. Only changed files are read; the stat cache is refreshed when something was
/// learnt, and failing to do so is no failure.
///
/// # Errors
/// `Io`, `Store`, `CorruptObject`, `Limit`.
pub fn delta_worktree(store: &Store, request: &WorktreeRequest<'_>) -> Result<WorktreeDelta> {
    let _ = (store, request);
    unimplemented!()
}

/// Reads a file or link of a directory once, without following links, and checks that it is still `expected`.
///
/// # Errors
/// `Changed` when it is not; `Io`, `Limit`.
pub fn read_worktree(root: &Path, path: &str, expected: (Mode, Gid), limits: &Limits) -> Result<Vec<u8>> {
    let _ = (root, path, expected, limits);
    unimplemented!()
}
