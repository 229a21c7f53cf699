//! The objects of a reconciliation (workflow, section 12).

use super::plan::{Made, ReconcilePlan};
use crate::decision::{cannot_make, non_empty, put};
use crate::history::operations::operations;
use crate::{Repo, Result};
use gemel_object::families::{NewChange, NewInteraction, NewReconciliation};
use gemel_object::{Encoded, Family, Gid};
use gemel_store::Refs;

/// A plan, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileFacts {
    /// What was decided.
    pub plan: ReconcilePlan,
    /// What was recorded; `None` for a plan alone.
    pub recorded: Option<Recorded>,
}

/// A recorded reconciliation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The decision.
    pub reconciliation: Gid,
    /// `Re1`.
    pub reconciliation_name: String,
    /// The change that carries it out.
    pub change: Gid,
    /// Its name.
    pub change_name: String,
    /// Its result.
    pub state: Gid,
    /// The name given to it.
    pub state_name: String,
    /// Whether head moved.
    pub applied: bool,
}

/// What is written besides trees and state.
pub(super) struct Objects {
    operations: Vec<Encoded>,
    pub(super) change: Encoded,
    pub(super) reconciliation: Encoded,
}

pub(super) fn objects(repo: &Repo, refs: &Refs, made: &Made, producer: Gid, now_ms: i64) -> Result<Objects> {
    let limits = repo.limits(refs)?;
    let plan = &made.plan;
    let operations = operations(&made.deltas, producer, now_ms, &limits)?;
    let ids: Vec<Gid> = operations.iter().map(|operation| operation.id).collect();
    let summary = format!("reconcile: {}", plan.input_names().join(" + "));
    let change = NewChange {
        summary: Some(&summary),
        intent: made.intent,
        input_state: plan.base_state,
        operations: non_empty(&ids),
        resulting_state: Some(plan.resulting_state),
        producer: Some(producer),
        claims: non_empty(&plan.claims_retained),
        evidence: non_empty(&plan.evidence_retained),
        residuals: non_empty(&plan.unresolved_residuals),
        causal_parents: non_empty(&plan.adopted),
        created_at: Some(now_ms),
        ..NewChange::default()
    };
    let change = change.encode(&limits).map_err(cannot_make(Family::Change))?;
    let summary = format!(
        "reconcile {} trajectories: {} adopted, {} rejected",
        plan.inputs.len(),
        plan.adopted.len(),
        plan.rejected.len()
    );
    let inputs: Vec<Gid> = plan.inputs.iter().map(|input| input.id).collect();
    let interactions: Vec<NewInteraction<'_>> = plan
        .interactions
        .iter()
        .map(|interaction| NewInteraction {
            kind: Some(interaction.kind),
            certainty: Some(interaction.certainty),
            subjects: non_empty(&interaction.subjects),
            severity: Some(interaction.severity),
            detail: Some(&interaction.detail),
            ..NewInteraction::default()
        })
        .collect();
    let reconciliation = NewReconciliation {
        summary: Some(&summary),
        intent: made.intent,
        input_trajectories: non_empty(&inputs),
        input_states: non_empty(plan.base_state.as_slice()),
        adopted_changes: non_empty(&plan.adopted),
        rejected_changes: non_empty(&plan.rejected),
        unresolved_residuals: non_empty(&plan.unresolved_residuals),
        resolved_residuals: non_empty(&plan.resolved_residuals),
        semantic_interactions: non_empty(&interactions),
        claims_retained: non_empty(&plan.claims_retained),
        claims_invalidated: non_empty(&plan.claims_invalidated),
        evidence_retained: non_empty(&plan.evidence_retained),
        resulting_state: Some(plan.resulting_state),
        resulting_change: Some(change.id),
        rationale: Some(&plan.rationale),
        producer: Some(producer),
        created_at: Some(now_ms),
        ..NewReconciliation::default()
    };
    let reconciliation = reconciliation.encode(&limits).map_err(cannot_make(Family::Reconciliation))?;
    Ok(Objects { operations, change, reconciliation })
}

/// Makes everything durable; nothing names it yet.
pub(super) fn store(repo: &Repo, made: &Made, objects: &Objects) -> Result<()> {
    let writer = repo.store().writer()?;
    let all = made.trees.iter().chain([&made.state]).chain(&objects.operations);
    all.chain([&objects.change, &objects.reconciliation]).try_for_each(|object| put(&writer, object))?;
    writer.commit()?;
    Ok(())
}
