//! Gemel to Git: what came from Git is given back byte for byte, and other changes become commits (docs/GIT_INTEROP.md).
//!
//! A run plans, writes one pack, moves refs, and notes in this repository what it made. What stops it leaves refs as they
//! were.

mod carry;
mod commits;
mod content;
mod natives;
mod raw;
mod refs;
mod run;
mod synthesis;
mod target;
mod workers;

pub use refs::{RefChange, RefOutcome};

use crate::Result;
use gemel_repo::Repo;
use gemel_repo::facts::Progress;
use std::path::PathBuf;

/// How changes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As release 0.12 writes them: every change anew, wherever it came from.
    One,
    /// What came from Git as it was, other changes on top of it.
    #[default]
    Two,
}

/// What an export is told.
#[derive(Clone, Debug, Default)]
pub struct ExportRequest {
    /// Git directory, worktree or `.git` file; created as a bare repository if nothing is there (as a plain one if it is
    /// called `.git`).
    pub git_dir: PathBuf,
    /// The branch that gets head, without `refs/heads/`; by default the one that `HEAD` had at import, else `main`.
    pub branch: Option<String>,
    /// How changes are written.
    pub format: Format,
    /// Whether commits name the claims of their change.
    pub include_claims: bool,
    /// Whether refs may lose what they name.
    pub force: bool,
    /// Unix milliseconds, for reference logs and the journal; no object holds it.
    pub now_ms: i64,
}

/// What an export did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportReport {
    /// The branch that has head; `None` without a head, or when `HEAD` is detached.
    pub branch: Option<String>,
    /// The commit of head, by its Git name.
    pub head: Option<String>,
    /// Commits written as they were imported.
    pub replayed: u64,
    /// Commits made of changes.
    pub made: u64,
    /// Objects written, of every kind.
    pub objects: u64,
    /// Bytes of the pack and its index.
    pub pack_bytes: u64,
    /// Mappings noted in this repository.
    pub mappings: u64,
    /// Every ref that was asked for.
    pub refs: Vec<RefOutcome>,
    /// Whether the repository was created.
    pub created: bool,
}

/// Exports to a Git repository.
///
/// # Errors
/// `NotARepository`, `Refused` (with no ref moved), `Absent` and `Damaged` for bytes that are not there or not right,
/// `Mapping`, `Io`, `Git`; those of the repository.
pub fn export(repo: &Repo, request: &ExportRequest, progress: &dyn Progress) -> Result<ExportReport> {
    run::Run::new(repo, request, progress)?.go()
}
