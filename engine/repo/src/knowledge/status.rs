//! `status` (query surface, section 4.1).

use crate::Result;
use crate::content::{WorktreeRequest, delta_worktree};
use crate::facts::{Named, Omitted, PathChange, Progress, Reference, Uncertainty};
use crate::history::nodes::ResidualNode;
use crate::history::view;
use crate::history::workspace::{Head, Standing, Workspace};
use crate::knowledge::assess::{Assessment, assess};
use crate::knowledge::claims::{ClaimStatus, Derived, is_unsettled};
use crate::knowledge::lists::EvidenceEntry;
use crate::knowledge::policy::RequiredFacts;
use crate::knowledge::readiness::{Readiness, Reason, severity_rank};
use crate::knowledge::required::{self, EvidenceRow};
use crate::knowledge::scope::{Scope, ScopeKind};
use crate::knowledge::session::Session;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::world::World;
use crate::names::Namer;
use gemel_object::Gid;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Evidence told at most.
const MAX_EVIDENCE: usize = 1000;

/// What `status` is told.
#[derive(Clone, Debug, Default)]
pub struct StatusOptions {
    /// `default` when absent.
    pub workspace: Option<String>,
    /// `trajectory` or `repository` instead of the default scope.
    pub scope: Option<String>,
    /// Whether every file is read, whatever the stat cache says.
    pub verify: bool,
    /// Whether the evidence of the scope and what readiness is judged by are told, too.
    pub verbose: bool,
}

/// Claims of the scope by derived status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// All of the scope: those below but the superseded ones, which are left out of it.
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
    /// `no evidence` or `no conclusive evidence`, when unverified.
    pub unverified_reason: Option<&'static str>,
    /// Evidence for it, ascending.
    pub supporting: Vec<Gid>,
    /// Evidence against it, ascending.
    pub contradicting: Vec<Gid>,
    /// Evidence that may require refresh, ascending.
    pub stale: Vec<Gid>,
    /// Unsettled residuals that it names or that name it, newest versions, ascending.
    pub unsettled: Vec<Gid>,
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
    /// How its state stands to head's.
    pub standing: Standing,
    /// The directory compared.
    pub dir: PathBuf,
}

/// What a verdict is judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusInputs {
    /// Evidence of the scope's claims and changes, newest first, then by identity; 1000 rows at most.
    pub evidence: Vec<EvidenceEntry>,
    /// Required combinations, ascending.
    pub required: Vec<RequiredFacts>,
    /// Those of them that nothing in scope satisfies.
    pub missing: Vec<RequiredFacts>,
    /// Unsettled residuals of the scope, ascending.
    pub unsettled: Vec<Gid>,
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
    /// Names of the claims, residuals and evidence told about.
    pub names: BTreeMap<Gid, String>,
    /// Claims of the scope, counted.
    pub claims: ClaimCounts,
    /// Claims of the scope, ascending; of more than a thousand those that reasons name, and with `verbose` the first.
    pub claim_list: Vec<ClaimRow>,
    /// Platforms, then oracles.
    pub evidence: Vec<EvidenceRow>,
    /// Residuals of the scope, unsettled ones first, by severity.
    pub residuals: Vec<ResidualRow>,
    /// Closed trajectories with the current intent.
    pub previous_attempts: u64,
    /// Verdict and reasons.
    pub readiness: Readiness,
    /// What it is judged by, when asked for.
    pub inputs: Option<StatusInputs>,
    /// The workspace.
    pub workspace: WorkspaceStatus,
    /// Folders and files left out.
    pub omitted: Vec<Omitted>,
    /// Freshness nobody can tell, an incoherent capture, forked chains.
    pub uncertainty: Vec<Uncertainty>,
}

/// Looks at the worktree and the recorded knowledge. Records nothing.
///
/// # Errors
/// `EnumValue` (scope), `WorkspaceName`, `Store`, and whatever the capture refuses.
pub fn status(
    session: &mut Session<'_>,
    options: &StatusOptions,
    progress: &dyn Progress,
) -> Result<StatusFacts> {
    let kind = ScopeKind::parse(options.scope.as_deref())?;
    let repo = session.repo();
    let refs = session.world()?.refs.clone();
    let workspace = Workspace::load(&refs, options.workspace.as_deref())?;
    let dir = workspace.dir(repo);
    let delta = delta_worktree(
        repo.store(),
        &WorktreeRequest {
            root: &dir,
            recorded: workspace.recorded(&refs)?,
            against: None,
            cache: Some(&workspace.cache_name(repo, &dir)),
            verify: options.verify,
            limits: &repo.limits(&refs)?,
            progress,
        },
    )?;
    let world = session.world()?;
    let known = assess(world, kind)?;
    let mut omitted = view::omitted(&delta.omitted);
    let readiness = Readiness {
        reasons: first(&known.readiness.reasons, "readiness_reason", &mut omitted),
        ..known.readiness
    };
    let residuals = residual_rows(&known.scope, &mut omitted);
    let claims = claim_rows(&known, &readiness, options.verbose, &mut omitted);
    let head = Head::of(&refs)?;
    let state = head.state.or(workspace.state);
    let named = [known.current.as_ref().map(|node| node.id), known.intent, state, workspace.state];
    let namer =
        Namer::find(repo.store(), &refs, named.into_iter().flatten().chain(told(&claims, &residuals)))?;
    let intent = known.intent.map(|id| view::intent_reference(repo.store(), id, &namer)).transpose()?;
    let mut uncertainty = view::coherence(delta.coherent);
    uncertainty.extend(first(&known.uncertainty, "uncertainty", &mut omitted));
    let standing = head.standing(&mut world.graph, workspace.state.as_ref())?;
    let names = told(&claims, &residuals).filter_map(|id| Some((id, namer.get(&id)?))).collect();
    let evidence = required::rows(world, &known.scope, &known.required)?;
    let previous_attempts = previous_attempts(world, known.intent)?;
    let inputs = match options.verbose {
        true => Some(inputs(world, &known, &mut omitted)?),
        false => None,
    };
    Ok(StatusFacts {
        trajectory: known.current.as_ref().map(|node| Reference {
            id: node.id,
            name: namer.get(&node.id),
            summary: intent.as_ref().and_then(|intent| intent.summary.clone()),
        }),
        intent,
        state: state.map(|id| namer.named(id)),
        changed: view::path_changes(&delta.changes),
        names,
        claims: count(&known.statuses, known.scope.superseded),
        claim_list: claims,
        evidence,
        residuals,
        previous_attempts,
        readiness,
        workspace: WorkspaceStatus {
            state: workspace.state.map(|id| namer.named(id)),
            pending: workspace.pending.is_some(),
            standing,
            name: workspace.name,
            dir,
        },
        inputs,
        omitted,
        uncertainty,
    })
}

/// Most rows of each list of an answer: what concerns more of the scope is counted.
const LISTED: usize = 1000;

/// The first of a list, and how many are left out.
fn first<T: Clone>(list: &[T], class: &'static str, omitted: &mut Vec<Omitted>) -> Vec<T> {
    omitted.extend(view::left_out(class, list.len().saturating_sub(LISTED)));
    list.iter().take(LISTED).cloned().collect()
}

/// The claims of the scope, ascending: the first of them, and those that a reason names; without `verbose` only these.
fn claim_rows(
    known: &Assessment,
    readiness: &Readiness,
    verbose: bool,
    omitted: &mut Vec<Omitted>,
) -> Vec<ClaimRow> {
    let named: BTreeSet<Gid> = readiness
        .reasons
        .iter()
        .filter_map(|reason| match reason {
            Reason::Claim { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    let rows = known.scope.claims.iter().zip(&known.statuses).enumerate();
    let all = known.scope.claims.len();
    let first = if verbose || all <= LISTED { LISTED } else { 0 };
    let listed = rows.filter(|(at, (claim, _))| *at < first || named.contains(&claim.node.id));
    let listed: Vec<ClaimRow> = listed.map(|(_, row)| claim_row(row)).collect();
    if verbose {
        omitted.extend(view::left_out("claim", all.saturating_sub(listed.len())));
    }
    listed
}

/// What readiness is judged by, in full.
fn inputs(world: &mut World<'_>, known: &Assessment, omitted: &mut Vec<Omitted>) -> Result<StatusInputs> {
    let mut all: BTreeSet<Gid> = known.scope.evidence.list().iter().copied().collect();
    all.extend(known.statuses.iter().flat_map(|derived| derived.evidence.iter().copied()));
    let mut nodes = Vec::with_capacity(all.len());
    for id in &all {
        nodes.extend(world.evidence(id)?);
    }
    nodes.sort_by_key(|node| (Reverse(node.created_at_ms), node.id));
    if nodes.len() > MAX_EVIDENCE {
        let cut = nodes.iter().skip(MAX_EVIDENCE).map(|node| node.id.to_string()).collect();
        omitted.push(view::omitted_list("evidence", "limit", cut));
        nodes.truncate(MAX_EVIDENCE);
    }
    let unsettled = known.scope.residuals.values().filter(|node| is_unsettled(node.disposition));
    Ok(StatusInputs {
        evidence: world.evidence_rows(&nodes)?,
        required: known.required.iter().map(RequiredFacts::of).collect(),
        missing: known.required.difference(&known.satisfied).map(RequiredFacts::of).collect(),
        unsettled: unsettled.map(|node| node.id).collect(),
    })
}

/// Claims, and what speaks for and against them.
fn told<'k>(claims: &'k [ClaimRow], residuals: &'k [ResidualRow]) -> impl Iterator<Item = Gid> + 'k {
    let of_claim = |claim: &'k ClaimRow| {
        [claim.id]
            .into_iter()
            .chain(claim.contradicting.iter().chain(&claim.stale).chain(&claim.unsettled).copied())
    };
    claims.iter().flat_map(of_claim).chain(residuals.iter().map(|residual| residual.id))
}

fn count(statuses: &[Arc<Derived>], superseded: u64) -> ClaimCounts {
    let mut counts = ClaimCounts { proposed: statuses.len() as u64, superseded, ..ClaimCounts::default() };
    for derived in statuses {
        match derived.status {
            ClaimStatus::Supported => counts.supported += 1,
            ClaimStatus::PartiallySupported => counts.partially_supported += 1,
            ClaimStatus::Contradicted => counts.contradicted += 1,
            ClaimStatus::Unverified => counts.unverified += 1,
            ClaimStatus::Stale => counts.stale += 1,
            ClaimStatus::Superseded => counts.superseded += 1,
        }
    }
    counts
}

/// The row of a claim.
pub(crate) fn claim_row((claim, derived): (&ScopedClaim, &Arc<Derived>)) -> ClaimRow {
    ClaimRow {
        id: claim.node.id,
        predicate: claim.node.predicate.clone(),
        subject: claim.node.subject.clone(),
        status: derived.status.as_str(),
        basis: derived.basis,
        unverified_reason: derived.unverified_reason,
        supporting: derived.supporting.clone(),
        contradicting: derived.contradicting.clone(),
        stale: derived.stale.clone(),
        unsettled: derived.unsettled.clone(),
    }
}

/// Unsettled ones first; then by severity, first observation and identity (object model, section 15.4).
fn residual_rows(scope: &Scope, omitted: &mut Vec<Omitted>) -> Vec<ResidualRow> {
    let mut nodes: Vec<_> = scope.residuals.values().collect();
    nodes.sort_by_key(|node| {
        (!is_unsettled(node.disposition), severity_rank(node.severity), node.first_observed_ms, node.id)
    });
    omitted.extend(view::left_out("residual", nodes.len().saturating_sub(LISTED)));
    nodes.into_iter().take(LISTED).map(residual_row).collect()
}

/// The row of a residual.
pub(crate) fn residual_row(node: &Arc<ResidualNode>) -> ResidualRow {
    ResidualRow {
        id: node.id,
        summary: node.summary.clone(),
        severity: node.severity.as_str().to_owned(),
        disposition: node.disposition.as_str().to_owned(),
    }
}

/// Closed trajectories with the intent.
fn previous_attempts(world: &mut World<'_>, intent: Option<Gid>) -> Result<u64> {
    if intent.is_none() {
        return Ok(0);
    }
    let mut count = 0;
    for named in world.trajectories()?.iter() {
        let head = world.graph.trajectory_head(&named.id)?;
        count += u64::from(head.is_some_and(|head| head.intent == intent && head.outcome.is_some()));
    }
    Ok(count)
}
