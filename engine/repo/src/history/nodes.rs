//! The parts of stored objects that history is computed from, read and checked once.

use crate::{RepoError, Result};
use gemel_object::families::{Change, Claim, Evidence, Release, Residual, State, Trajectory};
use gemel_object::{
    ClaimKind, Disposition, EvidenceKind, EvidenceOutcome, Gid, Limits, Object, ObjectError,
    ResidualSeverity, TrajectoryOutcome,
};
use gemel_store::Store;

/// A change without its operations and texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeNode {
    pub(crate) id: Gid,
    pub(crate) intent: Option<Gid>,
    pub(crate) input: Option<Gid>,
    pub(crate) result: Option<Gid>,
    pub(crate) parents: Vec<Gid>,
    pub(crate) claims: Vec<Gid>,
    pub(crate) evidence: Vec<Gid>,
    pub(crate) residuals: Vec<Gid>,
    /// 0 when absent.
    pub(crate) created_at_ms: i64,
}

/// One version of a trajectory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrajectoryNode {
    pub(crate) id: Gid,
    pub(crate) previous: Option<Gid>,
    pub(crate) intent: Option<Gid>,
    pub(crate) base: Option<Gid>,
    pub(crate) outcome: Option<TrajectoryOutcome>,
    pub(crate) changes: Vec<Gid>,
    pub(crate) evidence: Vec<Gid>,
    pub(crate) residuals: Vec<Gid>,
    pub(crate) created_at_ms: Option<i64>,
    /// 0 when absent.
    pub(crate) updated_at_ms: i64,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimNode {
    pub(crate) id: Gid,
    pub(crate) subject: Option<String>,
    pub(crate) subject_refs: Vec<Gid>,
    pub(crate) predicate: String,
    pub(crate) kind: Option<ClaimKind>,
    pub(crate) evidence: Vec<Gid>,
    pub(crate) residuals: Vec<Gid>,
    pub(crate) supersedes: Option<Gid>,
    pub(crate) change: Option<Gid>,
    /// 0 when absent.
    pub(crate) created_at_ms: i64,
}

/// An evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EvidenceNode {
    pub(crate) id: Gid,
    pub(crate) kind: EvidenceKind,
    pub(crate) subject: Option<String>,
    pub(crate) subject_refs: Vec<Gid>,
    pub(crate) outcome: Option<EvidenceOutcome>,
    /// Passed and total cases.
    pub(crate) counts: Option<(u64, u64)>,
    /// Name of the first tool.
    pub(crate) tool: Option<String>,
    pub(crate) environment: Option<Gid>,
    pub(crate) evaluated: Option<Gid>,
    /// 0 when absent.
    pub(crate) created_at_ms: i64,
}

/// One version of a residual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResidualNode {
    pub(crate) id: Gid,
    pub(crate) previous: Option<Gid>,
    pub(crate) summary: String,
    /// Medium when absent.
    pub(crate) severity: ResidualSeverity,
    /// Open when absent (FAM-15).
    pub(crate) disposition: Disposition,
    pub(crate) claims: Vec<Gid>,
    pub(crate) changes: Vec<Gid>,
    pub(crate) origin: Option<Gid>,
    /// Intent of the scope.
    pub(crate) intent: Option<Gid>,
    /// Trajectories of the scope.
    pub(crate) trajectories: Vec<Gid>,
    /// Paths of the scope.
    pub(crate) paths: Vec<String>,
    /// Entities of the scope.
    pub(crate) entities: Vec<Gid>,
    /// When the disposition was decided; `None` without an event.
    pub(crate) decided_at_ms: Option<i64>,
    /// 0 when absent.
    pub(crate) first_observed_ms: i64,
    /// 0 when absent.
    pub(crate) created_at_ms: i64,
}

/// Reads an object and takes from its view what is needed.
///
/// # Errors
/// `Store`; `CorruptObject` when the bytes are no object of the family that the identity names.
pub(crate) fn read<T>(
    store: &Store,
    id: &Gid,
    take: impl FnOnce(&Object<'_>) -> Result<T, ObjectError>,
) -> Result<T> {
    let bytes = store.read(id)?;
    Object::parse(&bytes, &Limits::DEFAULT)
        .and_then(|object| take(&object))
        .map_err(|e| RepoError::CorruptObject { id: *id, detail: e.to_string() })
}

/// # Errors
/// As [`read`].
pub(crate) fn change(store: &Store, id: &Gid) -> Result<ChangeNode> {
    read(store, id, |object| change_of(id, object))
}

/// # Errors
/// `FamilyMismatch`.
pub(crate) fn change_of(id: &Gid, object: &Object<'_>) -> Result<ChangeNode, ObjectError> {
    let change = Change::view(object)?;
    Ok(ChangeNode {
        id: *id,
        intent: change.intent(),
        input: change.input_state(),
        result: change.resulting_state(),
        parents: change.causal_parents().iter().collect(),
        claims: change.claims().iter().collect(),
        evidence: change.evidence().iter().collect(),
        residuals: change.residuals().iter().collect(),
        created_at_ms: change.created_at().unwrap_or(0),
    })
}

/// # Errors
/// As [`read`].
pub(crate) fn trajectory(store: &Store, id: &Gid) -> Result<TrajectoryNode> {
    read(store, id, |object| trajectory_of(id, object))
}

/// # Errors
/// `FamilyMismatch`.
pub(crate) fn trajectory_of(id: &Gid, object: &Object<'_>) -> Result<TrajectoryNode, ObjectError> {
    let trajectory = Trajectory::view(object)?;
    Ok(TrajectoryNode {
        id: *id,
        previous: trajectory.previous(),
        intent: trajectory.intent(),
        base: trajectory.base_state(),
        outcome: trajectory.outcome(),
        changes: trajectory.added_changes().iter().collect(),
        evidence: trajectory.added_evidence().iter().collect(),
        residuals: trajectory.added_residuals().iter().collect(),
        created_at_ms: trajectory.created_at(),
        updated_at_ms: trajectory.updated_at().or(trajectory.created_at()).unwrap_or(0),
    })
}

/// # Errors
/// As [`read`].
pub(crate) fn claim(store: &Store, id: &Gid) -> Result<ClaimNode> {
    read(store, id, |object| {
        let claim = Claim::view(object)?;
        Ok(ClaimNode {
            id: *id,
            subject: claim.subject().map(str::to_owned),
            subject_refs: claim.subject_refs().iter().collect(),
            predicate: claim.predicate().to_owned(),
            kind: claim.predicate_kind(),
            evidence: claim.evidence().iter().collect(),
            residuals: claim.residuals().iter().collect(),
            supersedes: claim.supersedes(),
            change: claim.change(),
            created_at_ms: claim.created_at().unwrap_or(0),
        })
    })
}

/// # Errors
/// As [`read`].
pub(crate) fn evidence(store: &Store, id: &Gid) -> Result<EvidenceNode> {
    read(store, id, |object| {
        let evidence = Evidence::view(object)?;
        let counts = evidence.result().and_then(|result| result.counts());
        Ok(EvidenceNode {
            id: *id,
            kind: evidence.kind(),
            subject: evidence.subject().map(str::to_owned),
            subject_refs: evidence.subject_refs().iter().collect(),
            outcome: evidence.result().map(|result| result.outcome()),
            counts: counts.map(|counts| (counts.passed(), counts.total())),
            tool: evidence.tools().iter().next().map(|tool| tool.name().to_owned()),
            environment: evidence.environment(),
            evaluated: evidence.evaluated_state(),
            created_at_ms: evidence.created_at().unwrap_or(0),
        })
    })
}

/// # Errors
/// As [`read`].
pub(crate) fn residual(store: &Store, id: &Gid) -> Result<ResidualNode> {
    read(store, id, |object| {
        let residual = Residual::view(object)?;
        let scope = residual.scope();
        Ok(ResidualNode {
            id: *id,
            previous: residual.previous(),
            summary: residual.summary().to_owned(),
            severity: residual.severity().unwrap_or(ResidualSeverity::Medium),
            disposition: residual.disposition_event().map_or(Disposition::Open, |event| event.disposition()),
            claims: residual.affected_claims().iter().collect(),
            changes: residual.affected_changes().iter().collect(),
            origin: residual.origin_evidence(),
            intent: scope.as_ref().and_then(|scope| scope.intent()),
            trajectories: scope.iter().flat_map(|scope| scope.trajectories().iter()).collect(),
            paths: scope.iter().flat_map(|scope| scope.paths().iter()).map(str::to_owned).collect(),
            entities: scope.iter().flat_map(|scope| scope.entities().iter()).collect(),
            decided_at_ms: residual.disposition_event().map(|event| event.at().unwrap_or(0)),
            first_observed_ms: residual.first_observed_at().unwrap_or(0),
            created_at_ms: residual.created_at().unwrap_or(0),
        })
    })
}

/// The root tree of a state.
///
/// # Errors
/// As [`read`].
pub(crate) fn root_tree(store: &Store, id: &Gid) -> Result<Gid> {
    read(store, id, |object| Ok(State::view(object)?.root_tree()))
}

/// The state of a release.
///
/// # Errors
/// As [`read`].
pub(crate) fn release_state(store: &Store, id: &Gid) -> Result<Gid> {
    read(store, id, |object| Ok(Release::view(object)?.state()))
}
