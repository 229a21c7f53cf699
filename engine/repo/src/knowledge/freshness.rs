//! Whether evidence still speaks about a state (object model, section 15.2). Evidence is never declared invalid.

use crate::Result;
use crate::content::{entry_at, root_tree};
use crate::history::graph::{ChangeSet, Lines, Reach};
use crate::knowledge::ledger::Ledger;
use crate::knowledge::world::World;
use gemel_object::{Family, Gid};
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
    /// All of the history but what leads to this place of its first line or to the changes beside it.
    After(Option<u32>, Option<Reach>),
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
    /// By subject.
    touching: HashMap<String, Arc<Touching>>,
}

/// The changes of the history that touch a path.
#[derive(Debug, Default)]
struct Touching {
    /// Ascending.
    changes: Vec<Gid>,
    /// Where on the first line the last of them was taken in; `None` when one of them does not lead there.
    last: Option<u32>,
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
        Ok(Judge {
            state,
            heads,
            history: None,
            between: HashMap::new(),
            paths: HashMap::new(),
            touching: HashMap::new(),
        })
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
        self.look(world, anchor, subjects, usize::MAX)
    }

    /// As [`Judge::freshness`]; of the changes that touched the subject one is named at most.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn freshness_in_brief(
        &mut self,
        world: &mut World<'_>,
        anchor: Option<Gid>,
        subjects: Subjects<'_>,
    ) -> Result<Freshness> {
        self.look(world, anchor, subjects, 1)
    }

    fn look(
        &mut self,
        world: &mut World<'_>,
        anchor: Option<Gid>,
        subjects: Subjects<'_>,
        most: usize,
    ) -> Result<Freshness> {
        let Some(anchor) = anchor else { return Ok(Freshness::Unknown) };
        let between = self.between(world, &anchor)?;
        match &*between {
            Between::NoPath => return Ok(Freshness::MayRequireRefresh(Vec::new())),
            Between::Nothing => return Ok(Freshness::Fresh),
            Between::After(..) | Between::From(_) => {}
        }
        let touching = self.touching(world, subjects)?;
        // Mostly two numbers say that nothing came after the anchor.
        let none = match (&*between, touching.last) {
            (Between::After(Some(place), None), Some(last)) => last <= *place,
            _ => false,
        };
        if !none {
            let causes = touching.changes.iter().copied().filter(|id| self.is_between(world, &between, id));
            let causes: Vec<Gid> = causes.take(most).collect();
            if !causes.is_empty() {
                return Ok(Freshness::MayRequireRefresh(causes));
            }
        }
        if self.is_identifiable(world, &anchor, subjects)? {
            Ok(Freshness::Fresh)
        } else {
            Ok(Freshness::Unknown)
        }
    }

    /// The changes of the history that touch one of the subjects.
    fn touching(&mut self, world: &mut World<'_>, subjects: Subjects<'_>) -> Result<Arc<Touching>> {
        let key = subjects.text.filter(|_| subjects.references.is_empty());
        if let Some(known) = key.and_then(|text| self.touching.get(text)) {
            return Ok(known.clone());
        }
        let mut changes = touching(world, subjects)?;
        let mut last = Some(0);
        if let Some(history) = &self.history {
            changes.retain(|id| world.graph.holds(&history.changes, id));
            for id in &changes {
                last = last.zip(history.lines.taken_in(&world.graph, id)).map(|(a, b)| a.max(b));
            }
        }
        let found = Arc::new(Touching { changes, last });
        if let Some(text) = key {
            self.touching.insert(text.to_owned(), found.clone());
        }
        Ok(found)
    }

    fn is_between(&self, world: &World<'_>, between: &Between, id: &Gid) -> bool {
        let Some(History { changes, lines, .. }) = &self.history else { return false };
        match between {
            Between::After(place, beside) => {
                let leads = place.zip(lines.taken_in(&world.graph, id)).is_some_and(|(to, at)| at <= to);
                let leads_beside =
                    beside.as_ref().is_some_and(|reach| lines.is_ancestor(&world.graph, reach, id));
                world.graph.holds(changes, id) && !leads && !leads_beside
            }
            Between::From(reach) => lines.is_descendant(&world.graph, reach, id),
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
            let on_first = |id: &Gid| history.lines.on_first(&world.graph, id);
            let beside: Vec<Gid> = ending.iter().copied().filter(|id| on_first(id).is_none()).collect();
            let place = ending.iter().filter_map(on_first).max();
            let beside = (!beside.is_empty()).then(|| history.lines.ancestors(&world.graph, &beside));
            Between::After(place, beside)
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
        let lines = Lines::of(&mut world.graph, &changes, heads.first().copied())?;
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
        found.extend(overlapping(ledger, path));
    }
    for reference in subjects.references {
        found.extend(world.operating(reference)?);
    }
    found.retain(|id| id.family() == Family::Change);
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Objects about a path, or about something above or below it.
pub(crate) fn overlapping(ledger: &Ledger, path: &str) -> Vec<Gid> {
    let mut found = ledger.about(path);
    found.extend(ledger.below(path));
    for (at, _) in path.match_indices('/') {
        found.extend(path.get(..at).into_iter().flat_map(|above| ledger.about(above)));
    }
    found
}

/// Whether a state has a file, link or directory at `path`.
fn has_path(world: &World<'_>, state: &Gid, path: &str) -> Result<bool> {
    if !gemel_object::is_canonical_path(path.as_bytes()) {
        return Ok(false);
    }
    let tree = root_tree(world.store(), state)?;
    Ok(entry_at(world.store(), tree, path)?.is_some())
}
