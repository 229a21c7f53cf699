//! `diff`, textual dimension (workflow, section 17).

use crate::content::{
    PathDelta, WorktreeRequest, delta_trees, delta_worktree, diff::MAX_TEXT_BYTES, read_blob, read_worktree,
    root_tree, worktree_len,
};
use crate::facts::{Omitted, PathStatus, Progress, Uncertainty};
use crate::history::states::state_of;
use crate::history::view::{self, Paired, paired};
use crate::history::workspace::Workspace;
use crate::names::{self, Namer};
use crate::{Repo, Result};
use gemel_object::{Gid, Limits, Mode};
use gemel_store::Refs;
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
    /// File, executable file or link.
    pub mode: Mode,
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
    /// `Store`; `Content` when a file changed since it was compared.
    pub fn old_bytes(&self, repo: &Repo, entry: &DiffEntry) -> Result<Vec<u8>> {
        let path = match &entry.kind {
            DiffKind::Renamed { from } => from,
            _ => &entry.path,
        };
        bytes(repo, &self.a, path, entry.old.as_ref())
    }

    /// The bytes an entry has on the second side; empty when it has none.
    ///
    /// # Errors
    /// As [`DiffFacts::old_bytes`].
    pub fn new_bytes(&self, repo: &Repo, entry: &DiffEntry) -> Result<Vec<u8>> {
        bytes(repo, &self.b, &entry.path, entry.new.as_ref())
    }
}

impl DiffFacts {
    /// Whether an entry's two sides can be taken for different without reading them whole, because one of them is
    /// longer than what is compared line by line.
    ///
    /// # Errors
    /// `Store`; `Content` when a file cannot be examined.
    pub fn is_too_long(&self, repo: &Repo, entry: &DiffEntry) -> Result<bool> {
        if let (Some(old), Some(new)) = (&entry.old, &entry.new)
            && old.blob == new.blob
        {
            return Ok(false);
        }
        let too_long = |side: &Side, held: Option<&DiffSide>| -> Result<bool> {
            let len = match (side, held) {
                (_, None) | (Side::Empty, _) => 0,
                (Side::State { .. }, Some(held)) => repo.store().len_bytes(&held.blob)?,
                (Side::Worktree { dir }, Some(_)) => worktree_len(dir, &entry.path)?,
            };
            Ok(len > MAX_TEXT_BYTES)
        };
        Ok(too_long(&self.a, entry.old.as_ref())? || too_long(&self.b, entry.new.as_ref())?)
    }
}

fn bytes(repo: &Repo, side: &Side, path: &str, held: Option<&DiffSide>) -> Result<Vec<u8>> {
    match (side, held) {
        (_, None) | (Side::Empty, _) => Ok(Vec::new()),
        (Side::State { .. }, Some(held)) => Ok(read_blob(repo.store(), &held.blob)?),
        (Side::Worktree { dir }, Some(held)) => {
            Ok(read_worktree(dir, path, (held.mode, held.blob), &Limits::DEFAULT)?)
        }
    }
}

/// Compares two sides by path. No argument: the working tree against the workspace's state; one: that state against
/// the working tree; two: the first against the second. Nothing is written.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn diff(repo: &Repo, options: &DiffOptions, progress: &dyn Progress) -> Result<DiffFacts> {
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
    let recorded = workspace.recorded(&refs)?;
    let a = match &options.a {
        Some(text) => Some(state_of(repo, &refs, text)?),
        None => recorded,
    };
    let b = options.b.as_deref().map(|text| state_of(repo, &refs, text)).transpose()?;
    let namer = Namer::find(repo.store(), &refs, a.into_iter().chain(b))?;
    let side = |state: Gid, typed: &Option<String>| -> Result<Side> {
        let name = names::typed(&refs, state, typed.as_deref())?.or_else(|| namer.get(&state));
        Ok(Side::State { id: state, name })
    };
    let a_side = a.map_or(Ok(Side::Empty), |a| side(a, &options.a))?;
    if let Some(b) = b {
        let root = |state: Option<Gid>| state.map(|state| root_tree(repo.store(), &state)).transpose();
        let deltas = delta_trees(repo.store(), root(a)?, root(Some(b))?)?;
        return Ok(DiffFacts {
            a: a_side,
            b: side(b, &options.b)?,
            entries: entries(&deltas),
            omitted: Vec::new(),
            uncertainty: Vec::new(),
        });
    }
    let dir = workspace.dir(repo);
    let delta = compare(repo, &refs, &workspace, a, progress)?;
    Ok(DiffFacts {
        a: a_side,
        b: Side::Worktree { dir },
        entries: entries(&delta.changes),
        omitted: view::omitted(&delta.omitted),
        uncertainty: view::coherence(delta.coherent),
    })
}

fn compare(
    repo: &Repo,
    refs: &Refs,
    workspace: &Workspace,
    against: Option<Gid>,
    progress: &dyn Progress,
) -> Result<crate::content::WorktreeDelta> {
    let dir = workspace.dir(repo);
    let request = WorktreeRequest {
        root: &dir,
        recorded: workspace.recorded(refs)?,
        against,
        cache: Some(&workspace.cache_name(repo, &dir)),
        verify: false,
        limits: &repo.limits(refs)?,
        progress,
    };
    Ok(delta_worktree(repo.store(), &request)?)
}

/// Entries from deltas: a deletion and a creation that are a move become one, under the target.
fn entries(deltas: &[PathDelta]) -> Vec<DiffEntry> {
    let held = |leaf: (Mode, Gid)| DiffSide { mode: leaf.0, blob: leaf.1 };
    let entry = |row: &Paired<'_>| DiffEntry {
        path: row.delta.path.clone(),
        kind: match (row.from, row.status()) {
            (Some(source), _) => DiffKind::Renamed { from: source.path.clone() },
            (None, PathStatus::Added) => DiffKind::Added,
            (None, PathStatus::Deleted) => DiffKind::Deleted,
            (None, PathStatus::TypeChanged) => DiffKind::TypeChanged,
            (None, PathStatus::Modified | PathStatus::Renamed) => DiffKind::Modified,
        },
        old: row.from.map_or(row.delta.before, |source| source.before).map(held),
        new: row.delta.after.map(held),
    };
    paired(deltas).iter().map(entry).collect()
}
