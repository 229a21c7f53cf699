//! The history of head, and which of some changes stand first and last in it.

use crate::Result;
use crate::history::graph::ChangeSet;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Which end of a history is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl World<'_> {
    /// The changes that lead to head, itself included.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn leading(&mut self) -> Result<Arc<ChangeSet>> {
        if let Some(leading) = &self.leading {
            return Ok(leading.clone());
        }
        let head = self.refs.get("refs/head")?;
        let leading = Arc::new(self.graph.ancestors(head)?);
        Ok(self.leading.insert(leading).clone())
    }

    /// The result of the head change.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn head_state(&mut self) -> Result<Option<Gid>> {
        let Some(head) = self.refs.get("refs/head")? else { return Ok(None) };
        Ok(self.change(&head)?.and_then(|change| change.result))
    }

    /// The root tree of the head state.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn head_root(&mut self) -> Result<Option<Gid>> {
        match self.head_state()? {
            Some(state) => self.graph.root(&state),
            None => Ok(None),
        }
    }

    /// Known changes by the root tree of their results.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn ending(&mut self) -> Result<Arc<HashMap<Gid, Vec<Gid>>>> {
        if let Some(ending) = &self.ending {
            return Ok(ending.clone());
        }
        let known = self.known()?;
        let mut ending: HashMap<Gid, Vec<Gid>> = HashMap::new();
        for (change, _, result) in self.graph.roots_of(&known)? {
            if let Some(root) = result {
                ending.entry(root).or_default().push(change);
            }
        }
        Ok(self.ending.insert(Arc::new(ending)).clone())
    }

    /// Changes with an operation on exactly `path`, or that moved something from or to it. They need not be known.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn touching_path(&mut self, path: &str) -> Result<Vec<Gid>> {
        let mut found = self.ledger()?.about(path);
        found.retain(|id| id.family() == Family::Change);
        Ok(found)
    }

    /// Of some changes the one that stands first: in head's history if one of them does, else anywhere.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn first_touching(&mut self, changes: &[Gid]) -> Result<Option<Gid>> {
        let leading = self.among_leading(changes)?;
        let candidates = if leading.is_empty() { changes.to_vec() } else { leading };
        self.end(&candidates, End::First)
    }

    /// Of some changes the one that stands last in head's history.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn last_touching(&mut self, changes: &[Gid]) -> Result<Option<Gid>> {
        let candidates = self.among_leading(changes)?;
        self.end(&candidates, End::Last)
    }

    fn among_leading(&mut self, changes: &[Gid]) -> Result<Vec<Gid>> {
        let leading = self.leading()?;
        Ok(changes.iter().copied().filter(|id| self.graph.holds(&leading, id)).collect())
    }

    /// The change that stands first or last by time, then by identity; but never one that another of them leads to, or
    /// comes from: clocks differ, descent does not.
    fn end(&mut self, changes: &[Gid], end: End) -> Result<Option<Gid>> {
        let mut open = Vec::with_capacity(changes.len());
        for id in changes {
            let created = self.change(id)?.map_or(0, |change| change.created_at_ms);
            open.push((if end == End::First { created } else { created.saturating_neg() }, *id));
        }
        open.sort_unstable();
        let Some((_, mut best)) = open.first().copied() else { return Ok(None) };
        let order = self.order()?;
        let mut seen = HashSet::new();
        while open.len() > 1 && seen.insert(best) {
            let from = [best];
            match end {
                End::First => {
                    let above = order.ancestors(&self.graph, &from);
                    open.retain(|(_, id)| *id != best && order.is_ancestor(&self.graph, &above, id));
                }
                End::Last => {
                    let below = order.descendants(&self.graph, &from);
                    open.retain(|(_, id)| *id != best && order.is_descendant(&self.graph, &below, id));
                }
            }
            if let Some((_, next)) = open.first() {
                best = *next;
            }
        }
        Ok(Some(best))
    }
}
