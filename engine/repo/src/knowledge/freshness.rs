//! Whether evidence still speaks about a state (object model, section 15.2). Evidence is never declared invalid.

use crate::Result;
use crate::content::root_tree;
use crate::history::graph::ChangeSet;
use crate::history::nodes;
use crate::knowledge::world::World;
use gemel_object::{Gid, Limits, Mode, Tree};
use std::collections::HashMap;
use std::sync::Arc;

/// What can be said of an evidence, relative to the queried state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Nothing that it is about has changed.
    Fresh,
    /// These changes touched what it is about; none are named when the anchor is not in the history of the state.
    MayRequireRefresh(Vec<Gid>),
    /// Nobody can tell.
    Unknown,
}

/// What an evidence or a claim is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subjects<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) references: &'a [Gid],
}

/// Judges evidence against one state.
pub(crate) struct Judge {
    /// The queried state and its root tree; `None`: nothing is recorded.
    state: Option<(Gid, Option<Gid>)>,
    /// The change that it results from.
    head: Option<Gid>,
    /// Changes that lead to it, from the first time on that they are asked for.
    history: Option<ChangeSet>,
    /// Changes between an anchor and the state, by the anchor's root tree; `None`: no path.
    between: HashMap<Gid, Option<Arc<Vec<Gid>>>>,
}

impl Judge {
    /// Judges against `state`, the result of `head`.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn new(world: &mut World<'_>, head: Option<Gid>, state: Option<Gid>) -> Result<Judge> {
        let state = match state {
            Some(state) => Some((state, world.graph.root(&state)?)),
            None => None,
        };
        Ok(Judge { state, head, history: None, between: HashMap::new() })
    }

    /// The freshness of what was observed at `anchor` about `subjects`.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn freshness(
        &mut self,
        world: &mut World<'_>,
        anchor: Option<Gid>,
        subjects: Subjects<'_>,
    ) -> Result<Freshness> {
        let Some(anchor) = anchor else { return Ok(Freshness::Unknown) };
        let Some(between) = self.between(world, &anchor)? else {
            return Ok(Freshness::MayRequireRefresh(Vec::new()));
        };
        if between.is_empty() {
            return Ok(Freshness::Fresh);
        }
        let mut causes = Vec::new();
        for id in between.iter() {
            let touched = world.touched(id)?;
            let by_path = subjects.text.is_some_and(|text| touched.path(text));
            if by_path || subjects.references.iter().any(|id| touched.references.contains(id)) {
                causes.push(*id);
            }
        }
        if !causes.is_empty() {
            causes.sort_unstable();
            return Ok(Freshness::MayRequireRefresh(causes));
        }
        if self.is_identifiable(world, &anchor, subjects)? {
            Ok(Freshness::Fresh)
        } else {
            Ok(Freshness::Unknown)
        }
    }

    /// The changes between an anchor and the queried state; `None` when no path leads from one to the other.
    fn between(&mut self, world: &mut World<'_>, anchor: &Gid) -> Result<Option<Arc<Vec<Gid>>>> {
        let Some((state, root)) = self.state else { return Ok(None) };
        let anchor_root = world.graph.root(anchor)?;
        if *anchor == state || anchor_root.is_some() && anchor_root == root {
            return Ok(Some(Arc::default()));
        }
        let Some(key) = anchor_root else { return Ok(None) };
        if let Some(known) = self.between.get(&key) {
            return Ok(known.clone());
        }
        let found = self.find_between(world, &key)?.map(Arc::new);
        self.between.insert(key, found.clone());
        Ok(found)
    }

    fn find_between(&mut self, world: &mut World<'_>, anchor_root: &Gid) -> Result<Option<Vec<Gid>>> {
        let history = match self.history.take() {
            Some(history) => history,
            None => world.graph.ancestors(self.head)?,
        };
        let history = self.history.insert(history);
        let (ending, starting) = world.graph.with_root(history, anchor_root)?;
        if !ending.is_empty() {
            let before = world.graph.ancestors(ending)?;
            let members = world.graph.members(history);
            return Ok(Some(members.into_iter().filter(|id| !world.graph.holds(&before, id)).collect()));
        }
        if starting.is_empty() {
            return Ok(None);
        }
        Ok(Some(world.graph.descendants(history, &starting)?))
    }

    /// Whether the subject is something whose changes would be noticed: a reference, or a path of one of the states.
    fn is_identifiable(&self, world: &World<'_>, anchor: &Gid, subjects: Subjects<'_>) -> Result<bool> {
        if !subjects.references.is_empty() {
            return Ok(true);
        }
        let Some(path) = subjects.text else { return Ok(false) };
        for state in [Some(*anchor), self.state.map(|(state, _)| state)].into_iter().flatten() {
            if has_path(world, &state, path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a state has a file, link or directory at `path`.
fn has_path(world: &World<'_>, state: &Gid, path: &str) -> Result<bool> {
    if !gemel_object::is_canonical_path(path.as_bytes()) {
        return Ok(false);
    }
    let mut tree = root_tree(world.store(), state)?;
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let entry = nodes::read(world.store(), &tree, |object| {
            Ok(Tree::decode(object.envelope(), &Limits::DEFAULT)?.get(segment).map(|e| (e.mode, e.target)))
        })?;
        match entry {
            Some((Mode::Directory, target)) => tree = target,
            Some(_) => return Ok(segments.peek().is_none()),
            None => return Ok(false),
        }
    }
    Ok(true)
}
