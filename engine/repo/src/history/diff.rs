//! `diff`, textual dimension (workflow, section 17).

use crate::facts::{Omitted, Progress, Uncertainty};
use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// What `diff` is told.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// First side: a state, or a change, trajectory or release that has one. Absent: the workspace's state.
    pub a: Option<String>,
    /// Second side; absent: the working tree.
    pub b: Option<String>,
    /// `default` when absent.
    pub workspace: Option<String>,
}

/// One side of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// A stored state.
    State {
        /// The state.
        id: Gid,
        /// Its name.
        name: Option<String>,
    },
    /// The files of a directory.
    Worktree {
        /// The directory.
        dir: PathBuf,
    },
    /// Nothing recorded yet.
    Empty,
}

/// How a path differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// Only on the second side.
    Added,
    /// On both, with other bytes or mode.
    Modified,
    /// On both, as another kind of thing.
    TypeChanged,
    /// Only on the first side.
    Deleted,
    /// The same bytes under another path.
    Renamed {
        /// The path on the first side.
        from: String,
    },
}

/// What a path holds on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffSide {
    /// Mode: 0o100644, 0o100755 or 0o120000.
    pub mode: u32,
    /// The blob; stored unless the side is the working tree.
    pub blob: Gid,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffEntry {
    /// The path (on the second side, when renamed).
    pub path: String,
    /// How it differs.
    pub kind: DiffKind,
    /// What the first side holds.
    pub old: Option<DiffSide>,
    /// What the second side holds.
    pub new: Option<DiffSide>,
}

/// The difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffFacts {
    /// First side.
    pub a: Side,
    /// Second side.
    pub b: Side,
    /// What differs, by path.
    pub entries: Vec<DiffEntry>,
    /// Folders and files left out.
    pub omitted: Vec<Omitted>,
    /// An incoherent capture.
    pub uncertainty: Vec<Uncertainty>,
}

impl DiffFacts {
    /// The bytes an entry has on the first side; empty when it has none.
    ///
    /// # Errors
    /// `Store`; `Invalid` when a file changed since it was compared.
    pub fn old_bytes(&self, repo: &Repo, entry: &DiffEntry) -> Result<Vec<u8>> {
        let _ = (repo, entry);
        unimplemented!()
    }

    /// The bytes an entry has on the second side; empty when it has none.
    ///
    /// # Errors
    /// As [`DiffFacts::old_bytes`].
    pub fn new_bytes(&self, repo: &Repo, entry: &DiffEntry) -> Result<Vec<u8>> {
        let _ = (repo, entry);
        unimplemented!()
    }
}

/// Compares two sides by path. Nothing is written.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn diff(repo: &Repo, options: &DiffOptions, progress: &dyn Progress) -> Result<DiffFacts> {
    let _ = (repo, options, progress);
    unimplemented!()
}
