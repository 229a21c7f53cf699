//! `status` (query surface, section 4.1).

use crate::facts::{Named, Omitted, PathChange, Progress, Reference, Uncertainty};
use crate::knowledge::Readiness;
use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// What `status` is told.
#[derive(Clone, Debug, Default)]
pub struct StatusOptions {
    /// `default` when absent.
    pub workspace: Option<String>,
    /// `trajectory` or `repository` instead of the default scope.
    pub scope: Option<String>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
}

/// Claims of the scope by derived status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// All of them.
    pub proposed: u64,
    /// `SUPPORTED`.
    pub supported: u64,
    /// `PARTIALLY_SUPPORTED`.
    pub partially_supported: u64,
    /// `CONTRADICTED`.
    pub contradicted: u64,
    /// `UNVERIFIED`.
    pub unverified: u64,
    /// `STALE`.
    pub stale: u64,
    /// `SUPERSEDED`.
    pub superseded: u64,
}

/// A claim with its derived status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRow {
    /// The claim, newest refinement.
    pub id: Gid,
    /// What is claimed.
    pub predicate: String,
    /// About what.
    pub subject: Option<String>,
    /// Derived status, as in answers.
    pub status: &'static str,
    /// Rule that gave it: `8.1.1` to `8.1.5`.
    pub basis: &'static str,
    /// Evidence for it, ascending.
    pub supporting: Vec<Gid>,
    /// Evidence against it, ascending.
    pub contradicting: Vec<Gid>,
    /// Evidence that may require refresh, ascending.
    pub stale: Vec<Gid>,
}

/// A residual at its newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidualRow {
    /// The newest version.
    pub id: Gid,
    /// What is unresolved.
    pub summary: String,
    /// `low` to `blocking`; absent in the object reads as `medium`.
    pub severity: String,
    /// Newest disposition.
    pub disposition: String,
}

/// The workspace, as `status` sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// Its name.
    pub name: String,
    /// The state materialised in it.
    pub state: Option<Named>,
    /// Whether a change is in progress.
    pub pending: bool,
    /// Whether its content differs from the head state's.
    pub behind: bool,
    /// The directory compared.
    pub dir: PathBuf,
}

/// Evidence by platform, or by oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRow {
    /// Newest outcome on a platform.
    Platform {
        /// Operating system family.
        platform: String,
        /// Processor architecture.
        arch: String,
        /// `fail`, `pass`, `inconclusive` or `not_run`.
        result: &'static str,
    },
    /// Agreement with an oracle.
    Oracle {
        /// Its name.
        oracle: String,
        /// Cases that agreed.
        passed: u64,
        /// Cases compared, at least 1.
        total: u64,
    },
}

/// Where things stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusFacts {
    /// The current trajectory; `None` without one or when it is closed.
    pub trajectory: Option<Reference>,
    /// Its intent (head's without one).
    pub intent: Option<Reference>,
    /// Head's state, else the workspace's.
    pub state: Option<Named>,
    /// What differs between the directory and the workspace's state, by path.
    pub changed: Vec<PathChange>,
    /// Claims of the scope, counted.
    pub claims: ClaimCounts,
    /// Claims of the scope, ascending.
    pub claim_list: Vec<ClaimRow>,
    /// Platforms, then oracles.
    pub evidence: Vec<EvidenceRow>,
    /// Residuals of the scope, unsettled ones first, by severity.
    pub residuals: Vec<ResidualRow>,
    /// Closed trajectories with the current intent.
    pub previous_attempts: u64,
    /// Verdict and reasons.
    pub readiness: Readiness,
    /// The workspace.
    pub workspace: WorkspaceStatus,
    /// Folders and files left out.
    pub omitted: Vec<Omitted>,
    /// Freshness nobody can tell, an incoherent capture, forked chains.
    pub uncertainty: Vec<Uncertainty>,
}

/// Looks at the worktree and the recorded knowledge. Writes nothing.
///
/// # Errors
/// `EnumValue` (scope), `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn status(repo: &Repo, options: &StatusOptions, progress: &dyn Progress) -> Result<StatusFacts> {
    let _ = (repo, options, progress);
    unimplemented!()
}
