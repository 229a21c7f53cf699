//! `court`: a recorded command is run once more, under the policy of the repository (workflow, section 15).
//!
//! The only place in the library that starts a process, and the only command that ever executes anything recorded. What it
//! observes becomes new evidence; the source is untouched and no claim is linked.

mod observe;
mod policy;
#[cfg(unix)]
mod process;

pub use policy::{Verdict, Way};

use crate::facts::{Omitted, Progress, Uncertainty};
use crate::history::{EnvironmentOptions, nodes};
use crate::names::{Accept, Namer, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{Config, Evidence};
use gemel_object::{EvidenceKind, EvidenceOutcome, ExecutionPolicy, Family, Gid};
use gemel_store::Refs;

/// Seconds a command gets: as few, as many, and unless told otherwise.
pub const TIMEOUT_S: (u64, u64, u64) = (1, 3600, 300);

/// What `court` is told.
#[derive(Clone, Debug, Default)]
pub struct CourtOptions {
    /// The evidence whose command runs, in any accepted form.
    pub evidence: String,
    /// Whether a `policy_gated` repository is told to run it.
    pub allow: bool,
    /// Seconds, clamped to [`TIMEOUT_S`].
    pub timeout_s: Option<u64>,
    /// Who observes; the shared producer `court-runner` when absent.
    pub producer: Option<String>,
    /// The machine, which is recorded with what is observed.
    pub environment: Option<EnvironmentOptions>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// What would be run, and whether.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourtPlan {
    /// The evidence whose command it is.
    pub source: Gid,
    /// Its name.
    pub source_name: Option<String>,
    /// The command.
    pub command: String,
    /// The policy of the repository.
    pub policy: ExecutionPolicy,
    /// What it says of the command.
    pub verdict: Verdict,
    /// Seconds it would get.
    pub timeout_s: u64,
    kind: EvidenceKind,
    subject: Option<String>,
    subject_refs: Vec<Gid>,
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourtFacts {
    /// The evidence whose command ran.
    pub source: Gid,
    /// The new evidence.
    pub evidence: Gid,
    /// Its name.
    pub name: String,
    /// `pass` for status 0, `fail` for another, `inconclusive` without one, `error` if the command never began.
    pub outcome: EvidenceOutcome,
    /// The exit status, unless a signal ended it.
    pub exit_code: Option<i64>,
    /// BLAKE3 of everything written to standard output; none of a command that was stopped.
    pub stdout_digest: Option<[u8; 32]>,
    /// The same of standard error.
    pub stderr_digest: Option<[u8; 32]>,
    /// The beginning of standard error, or why there is none.
    pub detail: String,
    /// Bytes of output that were not kept.
    pub omitted: Vec<Omitted>,
    /// How it ended, where no status tells; files that are not those of the head state.
    pub uncertainty: Vec<Uncertainty>,
}

/// Tells what the policy says of the command of an evidence. Runs nothing.
///
/// # Errors
/// As for resolving; `WrongFamily`; `Invalid` without a command; `Limit` and `Invalid` for an allowlist that cannot be
/// read; `Store`.
pub fn plan(repo: &Repo, options: &CourtOptions) -> Result<CourtPlan> {
    let refs = repo.store().refs()?;
    let source = resolve_in(repo, &refs, &options.evidence, Accept::only(Family::Evidence))?;
    let (command, kind, subject, subject_refs) = nodes::read(repo.store(), &source, |object| {
        let evidence = Evidence::view(object)?;
        let refs = evidence.subject_refs().iter().collect();
        let text = |text: Option<&str>| text.map(str::to_owned);
        Ok((text(evidence.command()), evidence.kind(), text(evidence.subject()), refs))
    })?;
    let no_command = |detail: &str| RepoError::Invalid {
        detail: format!("invalid: evidence {source} has {detail}"),
        ids: vec![source],
    };
    let command = command.ok_or_else(|| no_command("no reproduction command"))?;
    if command.trim().is_empty() {
        return Err(no_command("an empty reproduction command"));
    }
    if command.contains('\0') {
        return Err(no_command("a reproduction command with a NUL, which no system can start"));
    }
    let policy = policy_of(repo, &refs);
    let (least, most, usual) = TIMEOUT_S;
    Ok(CourtPlan {
        source,
        source_name: Namer::find(repo.store(), &refs, [source])?.get(&source),
        verdict: policy::verdict(repo, policy, options.allow, &command)?,
        command,
        policy,
        timeout_s: options.timeout_s.unwrap_or(usual).clamp(least, most),
        kind,
        subject,
        subject_refs,
    })
}

/// Runs the command of an evidence and records what was observed.
///
/// # Errors
/// As [`plan`]; `ExecutionDenied`; `Invalid` where processes cannot be watched. Nothing has then been run or recorded.
/// `Object` and `Store` when the observation cannot be recorded.
pub fn run(repo: &Repo, options: &CourtOptions, progress: &dyn Progress) -> Result<CourtFacts> {
    let plan = plan(repo, options)?;
    match plan.verdict.clone() {
        Verdict::Denied(detail) => Err(RepoError::ExecutionDenied { detail, id: plan.source }),
        Verdict::Runs(way) => observe::observe(repo, &plan, &way, options, progress),
    }
}

/// The policy of the newest config; nothing runs when it cannot be read.
fn policy_of(repo: &Repo, refs: &Refs) -> ExecutionPolicy {
    let config = refs.get("refs/config").ok().flatten();
    let policy = config
        .map(|id| nodes::read(repo.store(), &id, |object| Ok(Config::view(object)?.execution_policy())));
    policy.and_then(Result::ok).unwrap_or(ExecutionPolicy::NeverAutoExecute)
}
