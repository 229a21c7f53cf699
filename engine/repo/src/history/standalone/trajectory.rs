//! What is recorded outside a change enters a trajectory through a new version of it (workflow, sections 6 and 7).

use super::desk::{Locked, cannot_make};
use crate::Result;
use crate::history::graph::{ChangeSet, Graph};
pub(super) use crate::history::lineage::NamedTrajectory;
use crate::history::lineage::named_trajectories;
use crate::history::nodes;
use crate::history::objects::non_empty;
use crate::names::Kind;
use gemel_object::families::NewTrajectory;
use gemel_object::{Family, Gid, Limits};
use gemel_store::Refs;

/// What a version adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Added<'a> {
    pub(super) evidence: &'a [Gid],
    pub(super) residuals: &'a [Gid],
}

/// The open trajectory that is current, if it has a name.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn current(graph: &mut Graph<'_>, refs: &Refs) -> Result<Option<NamedTrajectory>> {
    let Some(id) = refs.get("refs/trajectories/current")? else { return Ok(None) };
    if graph.trajectory_head(&id)?.is_none_or(|head| head.outcome.is_some()) {
        return Ok(None);
    }
    Ok(named_trajectories(refs)?.into_iter().find(|named| named.id == id))
}

/// The open trajectory in which one of `claims` was declared, the current one first; else the current one.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(super) fn of_claim(
    graph: &mut Graph<'_>,
    refs: &Refs,
    claims: &[Gid],
) -> Result<Option<NamedTrajectory>> {
    let current = current(graph, refs)?;
    let others = named_trajectories(refs)?;
    let is_current = |named: &NamedTrajectory| current.as_ref().is_some_and(|found| found.id == named.id);
    let others = others.into_iter().rev().filter(|named| !is_current(named)).collect::<Vec<_>>();
    for named in current.iter().chain(&others) {
        if graph.trajectory_head(&named.id)?.is_none_or(|head| head.outcome.is_some()) {
            continue;
        }
        let mut sequence = ChangeSet::default();
        graph.include_sequence(&mut sequence, &named.id)?;
        let declaring = graph.declaring(&sequence)?;
        if declaring.iter().any(|change| change.claims.iter().any(|claim| claims.contains(claim))) {
            return Ok(Some(named.clone()));
        }
    }
    Ok(current)
}

/// Adds a version to `named` unless it lists everything already; its name moves, and `current` with it. Answers the
/// newest version.
///
/// # Errors
/// `Store`, `CorruptObject`, `Object`.
pub(super) fn extend(
    locked: &mut Locked<'_>,
    graph: &mut Graph<'_>,
    named: &NamedTrajectory,
    added: Added<'_>,
    limits: &Limits,
) -> Result<Gid> {
    let (evidence, residuals) = graph.listed_besides(&named.id)?;
    let new = |ids: &[Gid], listed: &[Gid]| -> Vec<Gid> {
        ids.iter().filter(|id| !listed.contains(id)).copied().collect()
    };
    let (evidence, residuals) = (new(added.evidence, &evidence), new(added.residuals, &residuals));
    if evidence.is_empty() && residuals.is_empty() {
        return Ok(named.id);
    }
    let node = nodes::trajectory(locked.store, &named.id)?;
    let producer = nodes::read(locked.store, &named.id, |object| {
        Ok(gemel_object::families::Trajectory::view(object)?.producer())
    })?;
    let version = NewTrajectory {
        previous: Some(named.id),
        intent: node.intent,
        base_state: node.base,
        producer,
        added_evidence: non_empty(&evidence),
        added_residuals: non_empty(&residuals),
        created_at: Some(node.created_at_ms.unwrap_or(locked.now_ms)),
        updated_at: Some(locked.now_ms),
        ..NewTrajectory::default()
    };
    let version = version.encode(limits).map_err(cannot_make(Family::Trajectory))?;
    locked.put(&version)?;
    locked.transaction.set(format!("{}{}", Kind::Trajectory.namespace(), named.name), version.id);
    if locked.refs().get("refs/trajectories/current")? == Some(named.id) {
        locked.transaction.set("refs/trajectories/current", version.id);
    }
    Ok(version.id)
}
