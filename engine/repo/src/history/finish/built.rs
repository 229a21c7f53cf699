//! The objects of a change: first those that do not depend on where it stands, then the change and the version of its
//! trajectory (workflow, sections 4.2 to 4.5).

use super::{Captured, FinishOptions, Inputs};
use crate::facts::Uncertainty;
use crate::history::agent::RunContext;
use crate::history::declared::{DeclareContext, Declared, declare};
use crate::history::lineage::Lineage;
use crate::history::objects::{non_empty, put};
use crate::history::operations::operations;
use crate::{Repo, RepoError, Result};
use gemel_object::families::{NewChange, NewTrajectory};
use gemel_object::{Encoded, Family, Gid, ObjectError};
use gemel_store::{Refs, Writer};
use rayon::prelude::*;

/// Objects that do not depend on where the change stands.
pub(super) struct Built {
    pub(super) operations: Vec<Encoded>,
    pub(super) declared: Declared,
    pub(super) agent_run: Option<Encoded>,
    linked_run: Option<Gid>,
    pub(super) uncertainty: Vec<Uncertainty>,
}

impl Built {
    pub(super) fn make(
        repo: &Repo,
        refs: &Refs,
        inputs: &Inputs,
        captured: &Captured,
        options: &FinishOptions,
    ) -> Result<Built> {
        let operations = operations(&captured.deltas, inputs.producer, options.now_ms, &inputs.limits)?;
        let context = DeclareContext {
            repo,
            refs,
            limits: &inputs.limits,
            producer: inputs.producer,
            input_state: inputs.input(),
            result_state: captured.state,
            now_ms: options.now_ms,
        };
        let declared = declare(context, &inputs.specs)?;
        let run = RunContext {
            producer: inputs.producer,
            input_state: inputs.input(),
            intent: inputs.intent(),
            context_manifest: inputs.context_manifest,
            instruction_digest: inputs.instruction_digest.as_ref().map(<[u8; 32]>::as_slice),
            environment: inputs.environment,
            disclosure: inputs.disclosure.unwrap_or(inputs.run_disclosure),
            started_at_ms: inputs.pending.started_at_ms,
            ended_at_ms: options.now_ms,
        };
        let agent_run =
            if options.agent.is_empty() { None } else { Some(options.agent.encode(run, &inputs.limits)?) };
        let unstated = inputs.specs.evidence.iter().zip(&declared.evidence).filter(|(spec, _)| !spec.stated);
        let uncertainty = unstated.map(|(spec, evidence)| Uncertainty {
            class: "evidence_outcome",
            ids: vec![evidence.id.to_string()],
            reason: format!("no outcome was stated for {:?}: recorded as inconclusive", spec.subject),
        });
        Ok(Built {
            operations,
            agent_run,
            linked_run: inputs.agent_run,
            uncertainty: uncertainty.collect(),
            declared,
        })
    }

    pub(super) fn run(&self) -> Option<Gid> {
        self.agent_run.as_ref().map(|run| run.id).or(self.linked_run)
    }

    pub(super) fn put(&self, writer: &Writer<'_>) -> Result<()> {
        self.operations.par_iter().try_for_each(|operation| put(writer, operation))?;
        let Declared { evidence, claims, residuals } = &self.declared;
        evidence
            .iter()
            .chain(claims)
            .chain(residuals)
            .chain(&self.agent_run)
            .try_for_each(|object| put(writer, object))
    }

    /// The change and the version of its trajectory.
    pub(super) fn in_lineage(
        &self,
        inputs: &Inputs,
        captured: &Captured,
        lineage: &Lineage,
        options: &FinishOptions,
    ) -> Result<(Encoded, Encoded)> {
        let operations = ids(&self.operations);
        let (claims, evidence, residuals) = (
            unique(&self.declared.claims),
            unique(&self.declared.evidence),
            unique(&self.declared.residuals),
        );
        let change = NewChange {
            summary: Some(&inputs.summary),
            intent: inputs.intent(),
            input_state: inputs.input(),
            operations: non_empty(&operations),
            resulting_state: Some(captured.state),
            producer: Some(inputs.producer),
            agent_run: self.run(),
            context_manifest: inputs.context_manifest,
            disclosure: inputs.disclosure,
            instruction_digest: inputs.instruction_digest.as_ref().map(<[u8; 32]>::as_slice),
            environment: inputs.environment,
            claims: non_empty(&claims),
            evidence: non_empty(&evidence),
            residuals: non_empty(&residuals),
            causal_parents: non_empty(lineage.parent.as_slice()),
            created_at: Some(options.now_ms),
            ..NewChange::default()
        }
        .encode(&inputs.limits)
        .map_err(|source| too_much(source, operations.len()))?;
        let continued = lineage.trajectory.as_ref().map(|continued| &continued.version);
        let trajectory = NewTrajectory {
            previous: continued.map(|version| version.id),
            intent: inputs.intent(),
            base_state: continued.map_or(inputs.input(), |version| version.base),
            producer: Some(inputs.producer),
            agent_run: self.run(),
            added_changes: Some(&[change.id]),
            added_evidence: non_empty(&evidence),
            added_residuals: non_empty(&residuals),
            created_at: Some(continued.and_then(|version| version.created_at_ms).unwrap_or(options.now_ms)),
            updated_at: Some(options.now_ms),
            ..NewTrajectory::default()
        }
        .encode(&inputs.limits)
        .map_err(|source| RepoError::Object { family: Family::Trajectory, source })?;
        Ok((change, trajectory))
    }
}

/// A change that refers to more than an object may nearly always has too many operations.
fn too_much(source: ObjectError, operations: usize) -> RepoError {
    match source {
        ObjectError::RefCountExceeded { max, found } => RepoError::Limit {
            what: format!(
                "references of a change with {operations} operations (`gemel change abort`, record the files with \
                 `gemel snapshot`, then begin the change from there)"
            ),
            found,
            limit: max,
        },
        source => RepoError::Object { family: Family::Change, source },
    }
}

pub(super) fn ids(objects: &[Encoded]) -> Vec<Gid> {
    objects.iter().map(|object| object.id).collect()
}

/// Identities in order, each once: the same spec twice is one object.
fn unique(objects: &[Encoded]) -> Vec<Gid> {
    let mut seen = std::collections::HashSet::new();
    objects.iter().map(|object| object.id).filter(|id| seen.insert(*id)).collect()
}
