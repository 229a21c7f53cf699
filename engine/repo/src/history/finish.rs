//! `change finish` (workflow, sections 4.2 to 4.5).

use crate::facts::{Omitted, Progress, Uncertainty};
use crate::{Repo, Result};
use gemel_object::Gid;
use std::path::PathBuf;

/// What `change finish` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct FinishOptions {
    /// `change` when absent or empty.
    pub summary: Option<String>,
    /// Claim specs, `subject|predicate|kind|key=value;…`.
    pub claims: Vec<String>,
    /// Evidence specs, `subject|outcome|kind|key=value;…`.
    pub evidence: Vec<String>,
    /// Residual specs, `summary|severity|classification|key=value;…`.
    pub residuals: Vec<String>,
    /// Who acts; else the pending record's producer.
    pub producer: Option<String>,
    /// `default` when absent.
    pub workspace: Option<String>,
    /// The directory captured; else the pending record's, else the workspace's, else the root.
    pub worktree: Option<PathBuf>,
    /// An existing agent run to link.
    pub agent_run: Option<String>,
    /// A run to create; excludes `agent_run` unless empty.
    pub agent: AgentOptions,
    /// A context manifest.
    pub context_manifest: Option<String>,
    /// One of the disclosure set.
    pub disclosure: Option<String>,
    /// 64 hex digits.
    pub instruction_digest: Option<String>,
    /// An environment.
    pub environment: Option<String>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// Description of the agent run that made the change (workflow, section 13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentOptions {
    /// Model family.
    pub model_family: Option<String>,
    /// Model.
    pub model_id: Option<String>,
    /// Harness.
    pub harness: Option<String>,
    /// Permissions.
    pub permissions: Vec<String>,
    /// Tools, `NAME=VERSION`.
    pub tools: Vec<String>,
}

/// What was recorded. Lists are in the order of declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishFacts {
    /// The change.
    pub change: Gid,
    /// Its name.
    pub change_name: String,
    /// Its summary.
    pub summary: String,
    /// The trajectory version that holds it.
    pub trajectory: Gid,
    /// The trajectory's name.
    pub trajectory_name: String,
    /// Whether the trajectory begins with this change.
    pub new_trajectory: bool,
    /// The resulting state.
    pub state: Gid,
    /// Its name.
    pub state_name: String,
    /// Operations, by path.
    pub operations: Vec<Gid>,
    /// Claims.
    pub claims: Vec<Gid>,
    /// Evidence.
    pub evidence: Vec<Gid>,
    /// Residuals.
    pub residuals: Vec<Gid>,
    /// Names of the claims, one each.
    pub claim_names: Vec<String>,
    /// Names of the evidence, one each.
    pub evidence_names: Vec<String>,
    /// Names of the residuals, one each.
    pub residual_names: Vec<String>,
    /// The agent run linked or made.
    pub agent_run: Option<Gid>,
    /// The causal parents.
    pub parents: Vec<Gid>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Folders and files left out of the capture, with the reason.
    pub omitted: Vec<Omitted>,
    /// Incoherent capture; outcomes that were not stated.
    pub uncertainty: Vec<Uncertainty>,
}

/// Captures the worktree and records the pending change.
///
/// # Errors
/// `NothingPending`, `MalformedSpec`, `EmptyPredicate`, `EnumValue`, `WrongFamily`, `Unresolved`, `Invalid`,
/// `PendingCorrupt`, `Store`, and whatever the capture refuses. Refs, counters and the pending record are then as
/// they were.
pub fn finish(repo: &Repo, options: &FinishOptions, progress: &dyn Progress) -> Result<FinishFacts> {
    let _ = (repo, options, progress);
    unimplemented!()
}
