//! The raw commits that imports kept, and which of them an export takes.

use super::raw::{HashMapOfGid, RawIndex, blobs_of, body, body_start, check, visit};
use crate::import::changes::{COMMITS, SHALLOW_LOSS};
use crate::import::{commit, keep};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::families::Mapping;
use gemel_object::{Gid, Limits};
use gemel_repo::facts::Progress;
use gemel_store::{Refs, Store};
use gix::ObjectId;
use gix::hashtable::{HashMap, HashSet};

/// Commits read one by one before all are read at once.
const MOST_ALONE: usize = 1000;

/// What the walk needs of a commit.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
}

/// The commits kept, read as they are asked for.
pub(super) struct Commits<'a> {
    store: &'a Store,
    refs: &'a Refs,
    pub(super) index: &'a RawIndex,
    facts: HashMap<ObjectId, Facts>,
    alone: usize,
    all: bool,
    progress: &'a dyn Progress,
}

impl<'a> Commits<'a> {
    pub(super) fn new(
        store: &'a Store,
        refs: &'a Refs,
        index: &'a RawIndex,
        progress: &'a dyn Progress,
    ) -> Commits<'a> {
        Commits { store, refs, index, facts: HashMap::default(), alone: 0, all: false, progress }
    }

    /// Tree and parents of a commit; `None` when its body is not kept.
    ///
    /// # Errors
    /// `Damaged`, `Mapping`; those of the store.
    pub(super) fn facts(&mut self, id: &ObjectId) -> Result<Option<&Facts>> {
        if !self.facts.contains_key(id) && !self.all && self.index.commits.contains_key(id) {
            if self.alone < MOST_ALONE {
                self.alone += 1;
                self.progress.advance(1);
                let raw = body(self.store, self.index, ObjectKind::Commit, id, "")?;
                self.facts.insert(*id, facts_of(id, &raw)?);
            } else {
                self.load()?;
            }
        }
        Ok(self.facts.get(id))
    }

    /// Reads every commit kept.
    ///
    /// # Errors
    /// As [`Commits::facts`].
    pub(super) fn load(&mut self) -> Result<()> {
        if self.all {
            return Ok(());
        }
        let ids: Vec<ObjectId> = self.index.commits.keys().copied().collect();
        let blobs = blobs_of(self.store, self.index, ObjectKind::Commit, &ids)?;
        let of_blob: HashMapOfGid<ObjectId> = blobs.iter().map(|(id, blob)| (*blob, *id)).collect();
        let blobs: Vec<Gid> = of_blob.keys().copied().collect();
        let make = |blob: &Gid, envelope: &[u8]| {
            let Some(id) = of_blob.get(blob) else { return Ok(None) };
            let raw = envelope.get(body_start(envelope)..).unwrap_or_default();
            check(ObjectKind::Commit, id, raw)?;
            self.progress.advance(1);
            Ok(Some((*id, facts_of(id, raw)?)))
        };
        let mut facts = HashMap::default();
        visit(self.store, &blobs, &make, &mut |found: Option<(ObjectId, Facts)>| facts.extend(found))?;
        self.facts = facts;
        self.all = true;
        Ok(())
    }

    /// Whether the import met a shallow boundary behind a commit.
    fn is_shallow(&self, id: &ObjectId) -> Result<bool> {
        let Some(mapping) = self.refs.get(&format!("{COMMITS}{id}"))? else { return Ok(false) };
        let bytes = self.store.read(&mapping)?;
        let mapping = Mapping::decode(&bytes, &Limits::DEFAULT).ok();
        let loss = mapping.and_then(|mapping| mapping.loss());
        Ok(loss.is_some_and(|loss| loss.known_loss().iter().any(|line| line == SHALLOW_LOSS)))
    }

    /// Whether `ancestor` is `of` or among its ancestors. `beyond` answers the parents of commits that are not kept.
    ///
    /// # Errors
    /// As [`Commits::facts`].
    pub(super) fn leads(
        &mut self,
        ancestor: &ObjectId,
        of: &ObjectId,
        beyond: &dyn Fn(&ObjectId) -> Result<Vec<ObjectId>>,
    ) -> Result<bool> {
        let mut seen: HashSet<ObjectId> = HashSet::default();
        let mut stack = vec![*of];
        while let Some(id) = stack.pop() {
            if id == *ancestor {
                return Ok(true);
            }
            if seen.insert(id) {
                match self.facts(&id)? {
                    Some(facts) => stack.extend(facts.parents.iter().copied()),
                    None => stack.extend(beyond(&id)?),
                }
            }
        }
        Ok(false)
    }
}

fn facts_of(id: &ObjectId, raw: &[u8]) -> Result<Facts> {
    let (tree, parents) = commit::links(raw, id.kind()).map_err(|detail| GitError::Damaged {
        oid: id.to_string(),
        at: "kept by an import".to_owned(),
        detail,
    })?;
    Ok(Facts { tree, parents })
}

/// What an export writes of what was imported.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Commits, newest first as the walk met them.
    pub(super) commits: Vec<ObjectId>,
    /// Commits the target has, on which others stand.
    pub(super) boundary: Vec<ObjectId>,
    pub(super) tags: Vec<ObjectId>,
    /// What each tag stands for.
    targets: HashMap<ObjectId, ObjectId>,
    /// Objects named by refs or tags that are neither; with what names them.
    pub(super) others: Vec<(ObjectId, String)>,
    /// Commits whose parents no import had.
    pub(super) shallow: Vec<ObjectId>,
}

impl Selection {
    /// What a tag leads to in the end; any other object itself.
    pub(super) fn peeled(&self, id: &ObjectId) -> Option<ObjectId> {
        let (mut id, mut steps) = (*id, 0);
        while let Some(target) = self.targets.get(&id).filter(|_| steps <= self.targets.len()) {
            (id, steps) = (*target, steps + 1);
        }
        Some(id)
    }
}

/// Selects what `tips`, each with what names it, reach and the target does not have.
///
/// # Errors
/// `Absent`, `Damaged`, `Mapping`; those of the store.
pub(super) fn select(
    commits: &mut Commits<'_>,
    tips: &[(ObjectId, String)],
    present: &HashSet<ObjectId>,
) -> Result<Selection> {
    if present.is_empty() {
        commits.load()?;
    }
    let mut present = present.clone();
    let mut closed = false;
    loop {
        if commits.all && !closed {
            // What the target has it has with all ancestors.
            let mut stack: Vec<ObjectId> = present.iter().copied().collect();
            while let Some(id) = stack.pop() {
                let parents = commits.facts(&id)?.map(|facts| facts.parents.clone()).unwrap_or_default();
                stack.extend(parents.into_iter().filter(|parent| present.insert(*parent)));
            }
            closed = true;
        }
        let selection = walk(commits, tips, &present)?;
        if closed || !commits.all {
            return Ok(selection);
        }
    }
}

fn walk(
    commits: &mut Commits<'_>,
    tips: &[(ObjectId, String)],
    present: &HashSet<ObjectId>,
) -> Result<Selection> {
    let mut selection = Selection::default();
    let mut seen: HashSet<ObjectId> = HashSet::default();
    let mut stack: Vec<ObjectId> = Vec::new();
    let index = commits.index;
    for (tip, at) in tips.iter().rev() {
        let mut next = Some((*tip, at.clone()));
        while let Some((id, at)) = next.take() {
            if index.commits.contains_key(&id) || present.contains(&id) {
                stack.push(id);
            } else if index.tags.contains_key(&id) {
                if seen.insert(id) {
                    selection.tags.push(id);
                    let raw = body(commits.store, index, ObjectKind::Tag, &id, &at)?;
                    let target = keep::tag_target(&raw, id.kind()).ok_or_else(|| GitError::Damaged {
                        oid: id.to_string(),
                        at: at.clone(),
                        detail: "its first line does not name an object".to_owned(),
                    })?;
                    selection.targets.insert(id, target);
                    next = Some((target, format!("held by tag {id}")));
                }
            } else if seen.insert(id) {
                selection.others.push((id, at));
            }
        }
    }
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        if present.contains(&id) {
            selection.boundary.push(id);
            continue;
        }
        let absent = |id: &ObjectId, at: String| GitError::Absent { what: format!("commit {id}"), at };
        let Some(facts) = commits.facts(&id)?.cloned() else { return Err(absent(&id, String::new())) };
        selection.commits.push(id);
        let kept = |parent: &ObjectId| index.commits.contains_key(parent) || present.contains(parent);
        if let Some(lost) = facts.parents.iter().find(|parent| !kept(parent)) {
            if !commits.is_shallow(&id)? {
                return Err(absent(lost, format!("parent of commit {id}")));
            }
            selection.shallow.push(id);
        }
        stack.extend(facts.parents.iter().rev().filter(|parent| kept(parent)).copied());
    }
    Ok(selection)
}
