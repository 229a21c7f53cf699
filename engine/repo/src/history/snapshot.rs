//! `snapshot`: the worktree becomes a named state (workflow, sections 3 and 3.5).

use crate::content::{CaptureRequest, CompareWith, capture, root_tree};
use crate::facts::{Named, Omitted, Progress, Uncertainty};
use crate::history::view;
use crate::history::workspace::{Workspace, record_name};
use crate::names::{Allocator, Kind, Namer};
use crate::{Repo, RepoError, Result};
use gemel_object::Gid;
use gemel_store::Refs;
use gemel_store::refs::check_name;
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
    /// The directory captured, absolute; the workspace's own, else the repository root.
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
    /// The state recorded before, when the files are still those of it.
    pub unchanged_since: Option<Named>,
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
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
    let label = options.label.as_deref().map(|label| format!("refs/names/{label}"));
    if let Some(full) = &label {
        check_name(full)?;
    }
    let dir = options.worktree.clone().unwrap_or_else(|| workspace.dir(repo));
    let writer = repo.store().writer()?;
    let recorded = workspace.recorded(&refs)?;
    let request = CaptureRequest {
        root: &dir,
        recorded,
        cache: Some(&workspace.cache_name(repo, &dir)),
        compare_with: CompareWith::Nothing,
        verify: options.verify,
        limits: &repo.limits(&refs)?,
        progress,
    };
    let captured = capture(repo.store(), &writer, &request)?;
    if let Some(full) = &label {
        check_free(&refs, full, captured.state, options.force)?;
    }
    writer.commit()?;
    let unchanged_since = match recorded {
        Some(state) if root_tree(repo.store(), &state)? == captured.root_tree => {
            Some(Namer::find(repo.store(), &refs, [state])?.named(state))
        }
        _ => None,
    };
    let mut omitted = view::omitted(&captured.omitted);
    omitted.extend(view::root_rules(repo.store(), &dir, recorded)?);

    let mut transaction = repo.store().transaction()?;
    let mut names = Allocator::new(transaction.refs());
    let full = match label {
        Some(full) => {
            check_free(transaction.refs(), &full, captured.state, options.force)?;
            full
        }
        None => names.next(Kind::State)?.full,
    };
    let name = full.trim_start_matches("refs/names/").to_owned();
    transaction.set(full, captured.state);
    transaction.set(record_name(&workspace.name, "state"), captured.state);
    workspace.set_path(&mut transaction, repo, &dir)?;
    names.save(&mut transaction);
    transaction.commit("snapshot", options.now_ms)?;
    Ok(SnapshotFacts {
        state: captured.state,
        name,
        files: captured.files,
        symlinks: captured.symlinks,
        bytes: captured.bytes,
        coherent: captured.coherent,
        attempts: captured.attempts,
        unchanged_since,
        omitted,
        uncertainty: view::capture_uncertainty(&captured),
    })
}

/// Refuses a name that stands for something else, unless it is a label and `force` is given: numbered names are
/// given once (workflow, section 1).
///
/// # Errors
/// `NameTaken`, `Store`.
pub(crate) fn check_free(refs: &Refs, full: &str, id: Gid, force: bool) -> Result<()> {
    match refs.get(full)? {
        Some(existing) if existing != id && (!force || Kind::of_name(full).is_some()) => {
            Err(RepoError::NameTaken { name: full.to_owned(), existing })
        }
        _ => Ok(()),
    }
}
