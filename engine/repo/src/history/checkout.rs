//! `checkout` (workflow, section 11).

use crate::facts::{Named, Omitted, Progress};
use crate::{Repo, Result};
use std::path::PathBuf;

/// What `checkout` is told.
#[derive(Clone, Debug, Default)]
pub struct CheckoutOptions {
    /// A state, or a change, trajectory or release that has one.
    pub state: String,
    /// The directory written; the workspace's own, else the repository root.
    pub dir: Option<PathBuf>,
    /// The workspace whose state moves; `default` when neither it nor `dir` is given, none with `dir` alone.
    pub workspace: Option<String>,
    /// Whether files that the state does not hold stay.
    pub overlay: bool,
    /// Whether unrecorded files in the way are lost.
    pub force: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Unix milliseconds, for the journal.
    pub now_ms: i64,
}

/// What was written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutFacts {
    /// The state.
    pub state: Named,
    /// The directory.
    pub dir: PathBuf,
    /// Whether other files stayed.
    pub overlay: bool,
    /// The workspace whose state moved.
    pub workspace: Option<String>,
    /// Paths removed (or to be removed, in a dry run), ascending.
    pub removed: Vec<String>,
    /// Files and links written (or to be written), ascending.
    pub written: Vec<String>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Paths of the state that are never written, with the reason.
    pub omitted: Vec<Omitted>,
}

/// Makes a directory hold a state. All checks run before the first write.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `UnrecordedWork`, `WorkspaceName`, `Store`, and whatever the content refuses.
pub fn checkout(repo: &Repo, options: &CheckoutOptions, progress: &dyn Progress) -> Result<CheckoutFacts> {
    let _ = (repo, options, progress);
    unimplemented!()
}
