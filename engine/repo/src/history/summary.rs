//! What an object says of itself in a line (query surface, section 1.7).

use crate::Result;
use crate::facts::Reference;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::Namer;
use gemel_object::families::{
    Case, Change, Checkpoint, Claim, Evidence, Intent, Reconciliation, Release, Residual, SemanticEntity,
    Trajectory,
};
use gemel_object::{Family, Gid, Object, ObjectError};
use gemel_store::Store;

/// The summary of an object; `None` when its family has none that is cheap, or when it is not stored.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn summary(store: &Store, id: &Gid) -> Result<Option<String>> {
    let family = id.family();
    if matches!(family, Family::Blob | Family::Tree | Family::State) {
        return Ok(None);
    }
    Ok(stored(nodes::read(store, id, |object| summary_of(family, object)))?.flatten())
}

fn summary_of(family: Family, object: &Object<'_>) -> Result<Option<String>, ObjectError> {
    let text = match family {
        Family::Intent => Intent::view(object)?.summary().to_owned(),
        Family::Change => Change::view(object)?.summary().to_owned(),
        Family::Case => Case::view(object)?.summary().to_owned(),
        Family::Residual => Residual::view(object)?.summary().to_owned(),
        Family::Checkpoint => Checkpoint::view(object)?.summary().to_owned(),
        Family::Reconciliation => Reconciliation::view(object)?.summary().to_owned(),
        Family::Claim => Claim::view(object)?.predicate().to_owned(),
        Family::Release => Release::view(object)?.name().to_owned(),
        Family::SemanticEntity => {
            let entity = SemanticEntity::view(object)?;
            match entity.module_path() {
                "" => entity.name().to_owned(),
                path => format!("{path}::{}", entity.name()),
            }
        }
        Family::Evidence => {
            let evidence = Evidence::view(object)?;
            match evidence.result() {
                Some(result) => format!("{}: {}", evidence.kind().as_str(), result.outcome().as_str()),
                None => evidence.kind().as_str().to_owned(),
            }
        }
        Family::Trajectory => {
            let trajectory = Trajectory::view(object)?;
            let outcome = trajectory.outcome().map_or("incomplete", |outcome| outcome.as_str());
            match trajectory.termination_reason() {
                Some(reason) => format!("{outcome}: {reason}"),
                None => outcome.to_owned(),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(text))
}

/// An object with summary and the name that `namer` found.
///
/// # Errors
/// `Store`, `CorruptObject`.
pub(crate) fn reference(store: &Store, namer: &Namer, id: Gid) -> Result<Reference> {
    Ok(Reference { id, name: namer.get(&id), summary: summary(store, &id)? })
}
