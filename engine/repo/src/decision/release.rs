//! `release`: a state that is handed out, with what is known about it (workflow, section 14).

use super::{cannot_make, non_empty, put, said};
use crate::facts::{Named, Uncertainty};
use crate::history::state_of;
use crate::knowledge::assess::{Assessment, assess};
use crate::knowledge::chains::Newest;
use crate::knowledge::claims::ClaimStatus;
use crate::knowledge::handoff;
use crate::knowledge::required::{self, Combination};
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::world::World;
use crate::knowledge::{EvidenceRow, Readiness, Session, Verdict};
use crate::names::{Accept, Allocator, Kind, Namer, resolve_in};
use crate::{RepoError, Result};
use gemel_object::families::{NewArtifact, NewRelease};
use gemel_object::{EvidenceOutcome, Family, Gid};
use gemel_store::Refs;
use gemel_store::refs::check_name;
use std::collections::BTreeSet;

/// What `release` is told.
#[derive(Clone, Debug, Default)]
pub struct ReleaseOptions {
    /// The trajectory: its name or any version.
    pub trajectory: String,
    /// Its name; the next `Rl<n>` when absent.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The case it is about.
    pub case: Option<String>,
    /// The state; else the result of the trajectory's last change, else its base.
    pub state: Option<String>,
    /// The verdict it must have at least.
    pub require: Option<String>,
    /// Files that are shipped, `NAME=DIGEST` with 64 hex digits.
    pub artifacts: Vec<String>,
    /// The release that it follows.
    pub supersedes: Option<String>,
    /// Who releases; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A release with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFacts {
    /// The release.
    pub release: Gid,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// The state.
    pub state: Gid,
    /// The trajectory, newest version.
    pub trajectory: Gid,
    /// The case, if one was named.
    pub cases: Vec<Gid>,
    /// All changes of the trajectory, ascending.
    pub changes: Vec<Gid>,
    /// Claims at their newest versions, ascending.
    pub claims: Vec<Gid>,
    /// Unsettled residuals at their newest versions, ascending.
    pub open_residuals: Vec<Gid>,
    /// Verdict and reasons.
    pub readiness: Readiness,
    /// Evidence that supports claims or satisfies what is required, ascending.
    pub readiness_evidence: Vec<Gid>,
    /// Platforms with their outcomes.
    pub verification_scope: Vec<EvidenceRow>,
    /// The release that it follows.
    pub supersedes: Option<Named>,
    /// Evidence whose freshness is not known for sure.
    pub uncertainty: Vec<Uncertainty>,
}

/// Publishes a release.
///
/// # Errors
/// `Unresolved`, `WrongFamily`, `EnumValue`, `NameTaken`, `Invalid`, `BelowVerdict`, `Store`. Nothing is then recorded.
pub fn release(session: &mut Session<'_>, options: &ReleaseOptions) -> Result<ReleaseFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let refs = world.refs.clone();
    let limits = repo.limits(&refs)?;
    let required = options.require.as_deref().map(verdict).transpose()?;
    let given = options.name.as_deref().map(|name| format!("{}{name}", Kind::Release.namespace()));
    if let Some(full) = &given {
        check_free(&refs, full)?;
    }
    let artifacts: Vec<(&str, [u8; 32])> =
        options.artifacts.iter().map(|text| artifact(text)).collect::<Result<_>>()?;
    let resolve = |text: &str, family: Family| resolve_in(repo, &refs, text, Accept::only(family));
    let case = options.case.as_deref().map(|text| resolve(text, Family::Case)).transpose()?;
    let supersedes = options.supersedes.as_deref().map(|text| resolve(text, Family::Release)).transpose()?;
    let producer = repo.producer(&refs, options.producer.as_deref(), None)?;
    let newest = world.newest_trajectory(repo, &options.trajectory)?;
    let state = match &options.state {
        Some(text) => state_of(repo, &refs, text)?,
        None => last_state(world, &newest)?,
    };
    let known = assess(world, ScopeKind::Of(newest.node.id))?;
    if let Some(required) = required
        && known.readiness.verdict > required
    {
        return Err(below(&newest.name, &known, required));
    }
    let mut changes = world.sequence(&newest.node.id)?;
    changes.sort_unstable();
    let claims: Vec<Gid> = known.scope.claims.iter().map(|claim| claim.node.id).collect();
    let open_residuals: Vec<Gid> = handoff::unsettled(&known).collect();
    let readiness_evidence = proof(world, &known)?;
    let rows = required::rows(world, &known.scope, &known.required)?;
    let verification_scope =
        rows.into_iter().filter(|row| matches!(row, EvidenceRow::Platform { .. })).collect();

    let writer = repo.store().writer()?;
    let mut transaction = repo.store().transaction()?;
    let mut names = Allocator::new(transaction.refs());
    let full = match given {
        Some(full) => {
            check_free(transaction.refs(), &full)?;
            full
        }
        None => names.next(Kind::Release)?.full,
    };
    let name = full.trim_start_matches(Kind::Release.namespace()).to_owned();
    let shipped: Vec<NewArtifact<'_>> = artifacts
        .iter()
        .map(|(name, digest)| NewArtifact {
            name: Some(name),
            digest: Some(digest.as_slice()),
            ..NewArtifact::default()
        })
        .collect();
    let made = NewRelease {
        name: Some(&name),
        version: said(&options.version),
        state: Some(state),
        changes: non_empty(&changes),
        cases: non_empty(case.as_slice()),
        claims: non_empty(&claims),
        residuals: non_empty(&open_residuals),
        artifacts: non_empty(&shipped),
        producer: Some(producer),
        created_at: Some(options.now_ms),
        ..NewRelease::default()
    };
    let made = made.encode(&limits).map_err(cannot_make(Family::Release))?;
    put(&writer, &made)?;
    writer.commit()?;
    transaction.set(full, made.id);
    names.save(&mut transaction);
    transaction.commit("release", options.now_ms)?;
    let namer = Namer::find(repo.store(), &refs, supersedes)?;
    Ok(ReleaseFacts {
        release: made.id,
        name,
        version: said(&options.version).map(str::to_owned),
        state,
        trajectory: newest.node.id,
        cases: case.into_iter().collect(),
        changes,
        claims,
        open_residuals,
        readiness: known.readiness.clone(),
        readiness_evidence,
        verification_scope,
        supersedes: supersedes.map(|id| namer.named(id)),
        uncertainty: known.uncertainty.clone(),
    })
}

fn verdict(text: &str) -> Result<Verdict> {
    const SET: &[&str] = &["READY", "READY_WITH_RESIDUALS", "NOT_READY"];
    let all = [Verdict::Ready, Verdict::ReadyWithResiduals, Verdict::NotReady];
    let found = all.into_iter().find(|verdict| verdict.as_str() == text);
    found.ok_or_else(|| RepoError::EnumValue { field: "require", value: text.to_owned(), allowed: SET })
}

fn check_free(refs: &Refs, full: &str) -> Result<()> {
    check_name(full)?;
    match refs.get(full)? {
        Some(existing) => Err(RepoError::Invalid {
            detail: format!("release {full:?} exists already as {existing}; choose another name"),
            ids: vec![existing],
        }),
        None => Ok(()),
    }
}

/// Reads `NAME=DIGEST`.
fn artifact(text: &str) -> Result<(&str, [u8; 32])> {
    let bad = || RepoError::invalid(format!("--artifact {text:?} is not NAME=DIGEST with 64 hex digits"));
    let (name, hex) = text.rsplit_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(bad)?;
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        let digits = hex.get(2 * at..2 * at + 2).ok_or_else(bad)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
    }
    Ok((name, digest))
}

/// The result of the last change of the sequence, else the base.
fn last_state(world: &mut World<'_>, newest: &Newest) -> Result<Gid> {
    let reached = world.graph.last_result(&newest.node)?.or(newest.node.base);
    reached.ok_or_else(|| RepoError::Invalid {
        detail: format!("{} has no state to release; name one with --state", newest.name),
        ids: vec![newest.node.id],
    })
}

fn below(name: &str, known: &Assessment, required: Verdict) -> RepoError {
    let reasons: Vec<String> = known.readiness.reasons.iter().map(ToString::to_string).collect();
    RepoError::BelowVerdict {
        name: name.to_owned(),
        verdict: known.readiness.verdict.as_str(),
        required: required.as_str(),
        reasons: reasons.join(", "),
    }
}

/// Evidence for supported claims, and what satisfies required verification.
fn proof(world: &mut World<'_>, known: &Assessment) -> Result<Vec<Gid>> {
    let mut found = BTreeSet::new();
    for (claim, derived) in known.scope.claims.iter().zip(&known.statuses) {
        if derived.status == ClaimStatus::Supported {
            found.extend(derived.supporting.iter().copied());
        }
        let Some(kind) = claim.node.kind else { continue };
        for id in &claim.node.evidence {
            let Some(node) = world.evidence(id)? else { continue };
            if node.outcome == Some(EvidenceOutcome::Pass)
                && let Some(platform) = world.platform(&node)?
                && known.required.contains(&Combination { kind: kind.as_str().to_owned(), platform })
            {
                found.insert(*id);
            }
        }
    }
    Ok(found.into_iter().collect())
}
