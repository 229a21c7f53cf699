//! Names of what a change brings, and the refs it moves (workflow, section 1).

use super::built::Built;
use crate::Result;
use crate::history::declared::Declared;
use crate::history::lineage::Lineage;
use crate::names::{Allocator, Kind, NewName};
use gemel_object::{Encoded, Gid};
use gemel_store::Transaction;

/// Names for everything new, in the order of the contract.
pub(super) struct Names {
    pub(super) change: NewName,
    pub(super) state: NewName,
    trajectory: Option<NewName>,
    pub(super) claims: Vec<NewName>,
    pub(super) evidence: Vec<NewName>,
    pub(super) residuals: Vec<NewName>,
    pub(super) agent_run: Option<NewName>,
}

impl Names {
    pub(super) fn give(names: &mut Allocator, built: &Built, new_trajectory: bool) -> Result<Names> {
        Ok(Names {
            change: names.next(Kind::Change)?,
            state: names.next(Kind::State)?,
            trajectory: if new_trajectory { Some(names.next(Kind::Trajectory)?) } else { None },
            claims: each(names, Kind::Claim, &built.declared.claims)?,
            evidence: each(names, Kind::Evidence, &built.declared.evidence)?,
            residuals: each(names, Kind::Residual, &built.declared.residuals)?,
            agent_run: built.agent_run.as_ref().map(|_| names.next(Kind::AgentRun)).transpose()?,
        })
    }

    pub(super) fn set(
        &self,
        transaction: &mut Transaction,
        built: &Built,
        lineage: &Lineage,
        change: Gid,
        state: Gid,
        trajectory: Gid,
    ) {
        transaction.set("refs/head", change);
        transaction.set("refs/state/head", state);
        transaction.set(self.change.full.as_str(), change);
        transaction.set(self.state.full.as_str(), state);
        transaction
            .set(format!("{}{}", Kind::Trajectory.namespace(), self.trajectory_name(lineage)), trajectory);
        transaction.set("refs/trajectories/current", trajectory);
        let Declared { evidence, claims, residuals } = &built.declared;
        let lists = [(&self.claims, claims), (&self.evidence, evidence), (&self.residuals, residuals)];
        for (names, objects) in lists {
            for (name, object) in names.iter().zip(objects) {
                transaction.set(name.full.as_str(), object.id);
            }
        }
        if let (Some(name), Some(run)) = (&self.agent_run, &built.agent_run) {
            transaction.set(name.full.as_str(), run.id);
        }
    }

    pub(super) fn trajectory_name(&self, lineage: &Lineage) -> String {
        match (&lineage.trajectory, &self.trajectory) {
            (Some(continued), _) => continued.name.clone(),
            (None, Some(name)) => name.short.clone(),
            (None, None) => String::new(),
        }
    }
}

/// A name for each object; an object declared twice has one.
fn each(names: &mut Allocator, kind: Kind, objects: &[Encoded]) -> Result<Vec<NewName>> {
    let mut given: Vec<NewName> = Vec::with_capacity(objects.len());
    for (at, object) in objects.iter().enumerate() {
        let earlier = objects.iter().take(at).position(|other| other.id == object.id);
        given.push(match earlier.and_then(|at| given.get(at)) {
            Some(name) => name.clone(),
            None => names.next(kind)?,
        });
    }
    Ok(given)
}
