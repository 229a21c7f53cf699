//! From any version of a trajectory to the name that its newest version has.

use crate::history::lineage::NamedTrajectory;
use crate::history::nodes::TrajectoryNode;
use crate::knowledge::world::World;
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::{Family, Gid};
use std::sync::Arc;

/// A trajectory at its newest version.
#[derive(Clone, Debug)]
pub(crate) struct Newest {
    /// `T1`.
    pub(crate) name: String,
    pub(crate) node: Arc<TrajectoryNode>,
}

impl World<'_> {
    /// The named trajectory that a version belongs to.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn chain_of(&mut self, version: &Gid) -> Result<Option<NamedTrajectory>> {
        let named = self.trajectories()?;
        // Nearly always the newest version is asked for.
        if let Some(found) = named.iter().find(|named| named.id == *version) {
            return Ok(Some(found.clone()));
        }
        let at = self.versions()?.get(version).copied();
        Ok(at.and_then(|at| named.get(at).cloned()))
    }

    /// The trajectory that `text` names by its name or by any of its versions, at its newest version.
    ///
    /// # Errors
    /// As for resolving; `WrongFamily`; `Invalid` for a version of no named trajectory.
    pub(crate) fn newest_trajectory(&mut self, repo: &Repo, text: &str) -> Result<Newest> {
        let id = resolve_in(repo, &self.refs, text, Accept::only(Family::Trajectory))?;
        let stray = || RepoError::Invalid {
            detail: format!("{text} is a version of no trajectory that has a name"),
            ids: vec![id],
        };
        let named = self.chain_of(&id)?.ok_or_else(stray)?;
        let node = self.graph.trajectory(&named.id)?.ok_or_else(stray)?;
        Ok(Newest { name: named.name, node })
    }

    /// The changes of a trajectory, oldest first, each once.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn sequence(&mut self, newest: &Gid) -> Result<Vec<Gid>> {
        let (mut sequence, mut seen) = (Vec::new(), std::collections::HashSet::new());
        for version in self.graph.versions(newest)?.iter().rev() {
            if let Some(node) = self.graph.trajectory(version)? {
                sequence.extend(node.changes.iter().copied().filter(|id| seen.insert(*id)));
            }
        }
        Ok(sequence)
    }
}
