//! Whether evidence still speaks about a state (object model, section 15.2). Evidence is never declared invalid.

use crate::Result;
use crate::content::root_tree;
use crate::history::graph::{ChangeSet, Lines, Reach};
use crate::history::nodes;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid, Limits, Mode, Tree};
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

/// The changes between an anchor and the queried state.
#[derive(Clone, Debug)]
enum Between {
    /// None: the content is the same.
    Nothing,
    /// All of the history but these ancestors.
    After(Reach),
    /// These descendants.
    From(Reach),
    /// No path leads from one to the other.
    NoPath,
}

/// Judges evidence against one state.
pub(crate) struct Judge {
    /// The queried state and its root tree; `None`: nothing is recorded.
    state: Option<(Gid, Option<Gid>)>,
    /// The changes that result in it.
    heads: Vec<Gid>,
    /// What leads to it, from the first time on that it is asked for.
    history: Option<History>,
    /// By the anchor's root tree.
    between: HashMap<Gid, Arc<Between>>,
    /// Whether the queried state has a path.
    paths: HashMap<String, bool>,
}

/// The changes that lead to a state.
#[derive(Debug)]
struct History {
    changes: ChangeSet,
    lines: Lines,
    /// Changes that end in, and that start from, each root tree.
    roots: HashMap<Gid, (Vec<Gid>, Vec<Gid>)>,
}

impl Judge {
    /// Judges against `state`, the result of `heads`.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn new(
        world: &mut World<'_>,
        heads: impl IntoIterator<Item = Gid>,
        state: Option<Gid>,
    ) -> Result<Judge> {
        let state = match state {
            Some(state) => Some((state, world.graph.root(&state)?)),
            None => None,
        };
        let heads = heads.into_iter().collect();
        Ok(Judge { state, heads, history: None, between: HashMap::new(), paths: HashMap::new() })
    }

    /// Judges against the result of the head change.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn at_head(world: &mut World<'_>) -> Result<Judge> {
        let head = world.refs.get("refs/head")?;
        let node = head.map(|id| world.change(&id)).transpose()?.flatten();
        Judge::new(world, head, node.and_then(|change| change.result))
    }

    /// Judges against any state: the history is that of the changes of head's history which result in it, else of all
    /// known changes which do (object model, section 15.1).
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn at(world: &mut World<'_>, state: Gid) -> Result<Judge> {
        let Some(root) = world.graph.root(&state)? else { return Judge::new(world, None, Some(state)) };
        let head = world.refs.get("refs/head")?;
        let history = world.graph.ancestors(head)?;
        let (mut heads, _) = world.graph.with_root(&history, &root)?;
        if heads.is_empty() {
            let known = world.known()?;
            heads = world.graph.with_root(&known, &root)?.0;
        }
        Judge::new(world, heads, Some(state))
    }

    /// The queried state.
    pub(crate) fn state(&self) -> Option<Gid> {
        self.state.map(|(state, _)| state)
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
        let between = self.between(world, &anchor)?;
        match &*between {
            Between::NoPath => return Ok(Freshness::MayRequireRefresh(Vec::new())),
            Between::Nothing => return Ok(Freshness::Fresh),
            Between::After(_) | Between::From(_) => {}
        }
        let mut causes = touching(world, subjects)?;
        causes.retain(|id| self.is_between(world, &between, id));
        if !causes.is_empty() {
            return Ok(Freshness::MayRequireRefresh(causes));
        }
        if self.is_identifiable(world, &anchor, subjects)? {
            Ok(Freshness::Fresh)
        } else {
            Ok(Freshness::Unknown)
        }
    }

    fn is_between(&self, world: &World<'_>, between: &Between, id: &Gid) -> bool {
        let Some(history) = &self.history else { return false };
        match between {
            Between::After(reach) => {
                world.graph.holds(&history.changes, id) && !history.lines.is_ancestor(&world.graph, reach, id)
            }
            Between::From(reach) => history.lines.is_descendant(&world.graph, reach, id),
            Between::Nothing | Between::NoPath => false,
        }
    }

    fn between(&mut self, world: &mut World<'_>, anchor: &Gid) -> Result<Arc<Between>> {
        let Some((state, root)) = self.state else { return Ok(Arc::new(Between::NoPath)) };
        let anchor_root = world.graph.root(anchor)?;
        if *anchor == state || anchor_root.is_some() && anchor_root == root {
            return Ok(Arc::new(Between::Nothing));
        }
        let Some(key) = anchor_root else { return Ok(Arc::new(Between::NoPath)) };
        if let Some(known) = self.between.get(&key) {
            return Ok(known.clone());
        }
        let found = Arc::new(self.find_between(world, &key)?);
        self.between.insert(key, found.clone());
        Ok(found)
    }

    fn find_between(&mut self, world: &mut World<'_>, anchor_root: &Gid) -> Result<Between> {
        let history = match self.history.take() {
            Some(history) => history,
            None => History::read(world, &self.heads)?,
        };
        let history = self.history.insert(history);
        let Some((ending, starting)) = history.roots.get(anchor_root) else { return Ok(Between::NoPath) };
        Ok(if ending.is_empty() {
            Between::From(history.lines.descendants(&world.graph, starting))
        } else {
            Between::After(history.lines.ancestors(&world.graph, ending))
        })
    }

    /// Whether the subject is something whose changes would be noticed: a reference, or a path of one of the states.
    fn is_identifiable(&mut self, world: &World<'_>, anchor: &Gid, subjects: Subjects<'_>) -> Result<bool> {
        if !subjects.references.is_empty() {
            return Ok(true);
        }
        let Some(path) = subjects.text else { return Ok(false) };
        if let Some((state, _)) = self.state {
            let found = match self.paths.get(path) {
                Some(found) => *found,
                None => {
                    let found = has_path(world, &state, path)?;
                    self.paths.insert(path.to_owned(), found);
                    found
                }
            };
            if found {
                return Ok(true);
            }
        }
        has_path(world, anchor, path)
    }
}

impl History {
    fn read(world: &mut World<'_>, heads: &[Gid]) -> Result<History> {
        let changes = world.graph.ancestors(heads.iter().copied())?;
        let lines = Lines::of(&mut world.graph, &changes)?;
        let mut roots: HashMap<Gid, (Vec<Gid>, Vec<Gid>)> = HashMap::new();
        for (id, input, result) in world.graph.roots_of(&changes)? {
            if let Some(result) = result {
                roots.entry(result).or_default().0.push(id);
            }
            if let Some(input) = input {
                roots.entry(input).or_default().1.push(id);
            }
        }
        Ok(History { changes, lines, roots })
    }
}

/// Changes that touch one of the subjects: a path that is equal, above or below, or one of the references. Ascending.
fn touching(world: &mut World<'_>, subjects: Subjects<'_>) -> Result<Vec<Gid>> {
    let mut found = Vec::new();
    let ledger = world.ledger()?;
    if let Some(path) = subjects.text {
        found.extend(ledger.about(path));
        found.extend(ledger.below(path));
        for (at, _) in path.match_indices('/') {
            found.extend(path.get(..at).into_iter().flat_map(|above| ledger.about(above)));
        }
    }
    for reference in subjects.references {
        found.extend(world.operating(reference)?);
    }
    found.retain(|id| id.family() == Family::Change);
    found.sort_unstable();
    found.dedup();
    Ok(found)
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
