//! What the next worker on a trajectory needs to know (workflow, section 5): derived, for closed and open ones alike.

use crate::Result;
use crate::facts::{Omitted, Uncertainty};
use crate::history::graph::ChangeSet;
use crate::history::nodes;
use crate::history::view;
use crate::knowledge::assess::{Assessment, assess};
use crate::knowledge::claims::{ClaimStatus, is_unsettled};
use crate::knowledge::freshness::{Freshness, Subjects};
use crate::knowledge::scope::ScopeKind;
use crate::knowledge::sets::ScopedClaim;
use crate::knowledge::steps;
use crate::knowledge::trajectory::HandoffFacts;
use crate::knowledge::world::World;
use gemel_object::families::Residual;
use gemel_object::{Gid, TrajectoryOutcome};
use std::collections::BTreeSet;

/// Objects recommended at most.
const MAX_RECOMMENDED: usize = 32;

/// What a person or agent adds to a handoff.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Added<'a> {
    pub(crate) summary: Option<&'a str>,
    pub(crate) next_steps: &'a [String],
}

/// A handoff with what has to be said beside it.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) handoff: HandoffFacts,
    pub(crate) omitted: Vec<Omitted>,
    pub(crate) uncertainty: Vec<Uncertainty>,
}

/// Derives the handoff of the trajectory with the newest version `newest`, which ends with `outcome` or is open.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn derive(
    world: &mut World<'_>,
    newest: &Gid,
    outcome: Option<TrajectoryOutcome>,
    added: Added<'_>,
) -> Result<Derived> {
    let known = assess(world, ScopeKind::Of(*newest))?;
    let open_residuals: Vec<Gid> = unsettled(&known).collect();
    let mut changes = ChangeSet::default();
    world.graph.include_sequence(&mut changes, newest)?;
    let counts = counts(&known, changes.len(), outcome);
    let mut next_steps: Vec<String> =
        steps::of_scope(&known).into_iter().map(|step| step.rationale).collect();
    next_steps.sort_unstable();
    next_steps.extend(added.next_steps.iter().cloned());
    let mut seen = BTreeSet::new();
    next_steps.retain(|step| seen.insert(step.clone()));
    let (recommended_objects, omitted) = recommended(world, &known, newest)?;
    let evidence: BTreeSet<Gid> =
        known.statuses.iter().flat_map(|derived| derived.evidence.iter().copied()).collect();
    let handoff = HandoffFacts {
        summary: Some(added.summary.map_or(counts, str::to_owned)),
        completed: completed(&known),
        remaining: remaining(world, &known)?,
        open_residuals,
        important_evidence: evidence.into_iter().collect(),
        recommended_objects,
        next_steps,
        derived: true,
    };
    Ok(Derived { handoff, omitted, uncertainty: known.uncertainty.clone() })
}

/// Outcome and counts of a trajectory, in a line.
pub(crate) fn counts(known: &Assessment, changes: usize, outcome: Option<TrajectoryOutcome>) -> String {
    let outcome = outcome.map_or("incomplete", |outcome| outcome.as_str());
    let (residuals, claims) = (unsettled(known).count(), open_claims(known).count());
    format!("{outcome}: {changes} change(s), {residuals} open residual(s), {claims} open claim(s)")
}

/// The unsettled residuals of a scope, ascending.
pub(crate) fn unsettled(known: &Assessment) -> impl Iterator<Item = Gid> + '_ {
    known.scope.residuals.iter().filter(|(_, node)| is_unsettled(node.disposition)).map(|(id, _)| *id)
}

/// The claims of a scope that are not settled, ascending.
pub(crate) fn open_claims(known: &Assessment) -> impl Iterator<Item = &ScopedClaim> {
    let settled = |status| matches!(status, ClaimStatus::Supported | ClaimStatus::Superseded);
    let claims = known.scope.claims.iter().zip(&known.statuses);
    claims.filter(move |(_, derived)| !settled(derived.status)).map(|(claim, _)| claim)
}

fn completed(known: &Assessment) -> Vec<String> {
    let supported = known.scope.claims.iter().zip(&known.statuses);
    let supported = supported.filter(|(_, derived)| derived.status == ClaimStatus::Supported);
    let lines: BTreeSet<String> =
        supported.map(|(claim, _)| format!("verified: {}", claim.node.predicate)).collect();
    lines.into_iter().collect()
}

fn remaining(world: &World<'_>, known: &Assessment) -> Result<Vec<String>> {
    let mut lines = resolve_lines(world, known)?;
    lines.extend(verify_lines(known));
    let missing = known.required.difference(&known.satisfied);
    lines.extend(
        missing.map(|missing| format!("{}/{} verification", missing.platform.os, missing.platform.arch)),
    );
    Ok(lines.into_iter().collect())
}

/// What the unsettled residuals of a scope ask for, in words.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn resolve_lines(world: &World<'_>, known: &Assessment) -> Result<BTreeSet<String>> {
    let line = |id: Gid| {
        nodes::read(world.store(), &id, |object| {
            let residual = Residual::view(object)?;
            let class = residual.classification().map_or("other", |class| class.as_str());
            Ok(format!("resolve {class}: {}", residual.summary()))
        })
    };
    unsettled(known).map(line).collect()
}

/// What the claims of a scope ask for, in words.
pub(crate) fn verify_lines(known: &Assessment) -> BTreeSet<String> {
    open_claims(known).map(|claim| format!("verify: {}", claim.node.predicate)).collect()
}

/// Evidence that may require refresh, its causes, and failed attempts; in this order as far as the cap allows.
fn recommended(world: &mut World<'_>, known: &Assessment, newest: &Gid) -> Result<(Vec<Gid>, Vec<Omitted>)> {
    let (mut stale, mut causes) = (BTreeSet::new(), BTreeSet::new());
    for (claim, derived) in known.scope.claims.iter().zip(&known.statuses) {
        for evidence in &derived.stale {
            stale.insert(*evidence);
            causes.extend(caused_by(world, claim, evidence)?);
        }
    }
    let attempts = failed_attempts(world, newest)?;
    let mut all: Vec<Gid> = stale.into_iter().chain(causes).chain(attempts).collect();
    let cut: Vec<String> = all.iter().skip(MAX_RECOMMENDED).map(Gid::to_string).collect();
    all.truncate(MAX_RECOMMENDED);
    all.sort_unstable();
    let omitted = if cut.is_empty() {
        Vec::new()
    } else {
        vec![view::omitted_list("recommended_object", "limit", cut)]
    };
    Ok((all, omitted))
}

/// The changes that made evidence of a claim require a refresh.
fn caused_by(world: &mut World<'_>, claim: &ScopedClaim, evidence: &Gid) -> Result<Vec<Gid>> {
    let anchor = world.evidence(evidence)?.and_then(|node| node.evaluated).or(claim.declared_at);
    let subjects = Subjects { text: claim.node.subject.as_deref(), references: &claim.node.subject_refs };
    match world.with_judge(|world, judge| judge.freshness(world, anchor, subjects))? {
        Freshness::MayRequireRefresh(causes) => Ok(causes),
        Freshness::Fresh | Freshness::Unknown => Ok(Vec::new()),
    }
}

/// Other trajectories with the same intent that did not get there, newest versions, ascending.
fn failed_attempts(world: &mut World<'_>, newest: &Gid) -> Result<Vec<Gid>> {
    let own = world.graph.trajectory_head(newest)?.and_then(|head| head.intent);
    let Some(intent) = own else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for named in world.trajectories()?.iter().filter(|named| named.id != *newest) {
        let head = world.graph.trajectory_head(&named.id)?.filter(|head| head.intent == Some(intent));
        if head.and_then(|head| head.outcome).is_some_and(has_failed) {
            found.push(named.id);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether an attempt ended without reaching its intent or being replaced.
pub(crate) fn has_failed(outcome: TrajectoryOutcome) -> bool {
    use TrajectoryOutcome::{Abandoned, Completed, Inconclusive, Interrupted, Rejected, Superseded};
    match outcome {
        Abandoned | Inconclusive | Interrupted | Rejected => true,
        Completed | Superseded => false,
    }
}
