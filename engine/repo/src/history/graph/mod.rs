//! Changes, trajectory versions and states as far as a command has looked at them.
//!
//! Everything here follows from immutable objects, so what was read once stays true; a command may read before it
//! takes the lock and decide under it. An object that is not stored is remembered as such: pruned or remote history
//! ends a walk, it does not fail it.

use crate::history::nodes::{self, ChangeNode, TrajectoryNode};
use crate::{RepoError, Result};
use gemel_object::Gid;
use gemel_store::{Store, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Objects read so far.
pub(crate) struct Graph<'s> {
    store: &'s Store,
    changes: HashMap<Gid, Option<Arc<ChangeNode>>>,
    trajectories: HashMap<Gid, Option<Arc<TrajectoryNode>>>,
    roots: HashMap<Gid, Option<Gid>>,
}

impl<'s> Graph<'s> {
    pub(crate) fn new(store: &'s Store) -> Graph<'s> {
        Graph { store, changes: HashMap::new(), trajectories: HashMap::new(), roots: HashMap::new() }
    }

    pub(crate) fn store(&self) -> &'s Store {
        self.store
    }

    /// A change; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn change(&mut self, id: &Gid) -> Result<Option<Arc<ChangeNode>>> {
        if let Some(known) = self.changes.get(id) {
            return Ok(known.clone());
        }
        let node = stored(nodes::change(self.store, id))?.map(Arc::new);
        self.changes.insert(*id, node.clone());
        Ok(node)
    }

    /// A trajectory version; `None` when it is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn trajectory(&mut self, id: &Gid) -> Result<Option<Arc<TrajectoryNode>>> {
        if let Some(known) = self.trajectories.get(id) {
            return Ok(known.clone());
        }
        let node = stored(nodes::trajectory(self.store, id))?.map(Arc::new);
        self.trajectories.insert(*id, node.clone());
        Ok(node)
    }

    /// The root tree of a state; `None` when the state is not stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn root(&mut self, state: &Gid) -> Result<Option<Gid>> {
        if let Some(known) = self.roots.get(state) {
            return Ok(*known);
        }
        let root = stored(nodes::root_tree(self.store, state))?;
        self.roots.insert(*state, root);
        Ok(root)
    }

    /// Whether two states hold the same content: their root trees are compared, because equal content captured
    /// in two attempts makes two states. Absent equals absent.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn same_content(&mut self, a: Option<&Gid>, b: Option<&Gid>) -> Result<bool> {
        let (Some(a), Some(b)) = (a, b) else { return Ok(a == b) };
        if a == b {
            return Ok(true);
        }
        let (a, b) = (self.root(a)?, self.root(b)?);
        Ok(a.is_some() && a == b)
    }

    /// The versions of a trajectory from `latest` backwards.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn versions(&mut self, latest: &Gid) -> Result<Vec<Arc<TrajectoryNode>>> {
        let mut versions = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some(*latest);
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            let Some(node) = self.trajectory(&id)? else { break };
            next = node.previous;
            versions.push(node);
        }
        Ok(versions)
    }

    /// The changes of a trajectory, oldest first.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn sequence(&mut self, latest: &Gid) -> Result<Vec<Gid>> {
        let mut versions = self.versions(latest)?;
        versions.reverse();
        Ok(versions.iter().flat_map(|version| version.changes.iter().copied()).collect())
    }

    /// The last change of a trajectory, found from its end.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn last_change(&mut self, latest: &Arc<TrajectoryNode>) -> Result<Option<Gid>> {
        let mut seen = HashSet::new();
        let mut version = latest.clone();
        loop {
            if let Some(change) = version.changes.last() {
                return Ok(Some(*change));
            }
            let Some(previous) = version.previous.filter(|id| seen.insert(*id)) else { return Ok(None) };
            match self.trajectory(&previous)? {
                Some(node) => version = node,
                None => return Ok(None),
            }
        }
    }

    /// The state a trajectory has reached: the result of its last change, else its base.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn last_result(&mut self, latest: &Arc<TrajectoryNode>) -> Result<Option<Gid>> {
        match self.last_change(latest)? {
            Some(change) => Ok(self.change(&change)?.and_then(|change| change.result)),
            None => Ok(latest.base),
        }
    }

    /// `start` and everything reachable from it over causal parents (object model, section 15.1).
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn ancestors(&mut self, start: impl IntoIterator<Item = Gid>) -> Result<Ancestors> {
        let mut found = Ancestors::default();
        let mut open: Vec<Gid> = start.into_iter().collect();
        while let Some(id) = open.pop() {
            if found.changes.contains_key(&id) || found.missing.contains(&id) {
                continue;
            }
            match self.change(&id)? {
                Some(change) => {
                    open.extend(&change.parents);
                    found.changes.insert(id, change);
                }
                None => {
                    found.missing.insert(id);
                }
            }
        }
        Ok(found)
    }
}

impl Graph<'_> {
    /// Exactly the changes named, as far as they are stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn just(&mut self, ids: impl IntoIterator<Item = Gid>) -> Result<Ancestors> {
        let mut found = Ancestors::default();
        for id in ids {
            match self.change(&id)? {
                Some(change) => {
                    found.changes.insert(id, change);
                }
                None => {
                    found.missing.insert(id);
                }
            }
        }
        Ok(found)
    }
}

/// A set of changes.
#[derive(Debug, Default)]
pub(crate) struct Ancestors {
    pub(crate) changes: HashMap<Gid, Arc<ChangeNode>>,
    /// Named as parents, but not stored.
    pub(crate) missing: HashSet<Gid>,
}

impl Ancestors {
    pub(crate) fn contains(&self, id: &Gid) -> bool {
        self.changes.contains_key(id)
    }
}

/// Turns "not stored" into `None`.
pub(crate) fn stored<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(RepoError::Store(StoreError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}
