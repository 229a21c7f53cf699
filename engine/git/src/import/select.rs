//! Which commits are taken, and in which order (git interchange, section 1.1).

use super::commit::{self, Facts};
use super::source::{Reader, Source};
use crate::object::ObjectKind;
use crate::{GitError, Result};
use gemel_object::Gid;
use gemel_repo::facts::Progress;
use gix::ObjectId;
use gix::hashtable::HashMap;

/// A parent of a selected commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Its place in the import order.
    Selected(u32),
    /// It was imported before; its change.
    Known(Gid),
}

/// A commit to be imported.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) id: ObjectId,
    pub(crate) facts: Facts,
    /// Whether its parents lie behind a shallow boundary.
    pub(crate) shallow: bool,
    /// In Git's order.
    pub(crate) parents: Vec<Parent>,
}

/// What a selection found.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// In import order: parents first.
    pub(crate) commits: Vec<Commit>,
    /// Commits met that were imported before, with their changes.
    pub(crate) known: HashMap<ObjectId, Gid>,
}

/// A commit met on the walk.
struct Met {
    facts: Facts,
    /// Children inside the part of the selection that is being ordered.
    left: u32,
    taken: bool,
}

struct Walk<'s> {
    source: &'s Source,
    reader: Reader,
    met: HashMap<ObjectId, Met>,
    known: HashMap<ObjectId, Gid>,
    order: Vec<ObjectId>,
}

/// Selects what `tips` reach, tip after tip. `known` answers the change of a commit that was imported before, where
/// the walk ends.
///
/// # Errors
/// `Missing`, `Damaged`; those of `known`.
pub(crate) fn select(
    source: &Source,
    tips: &[ObjectId],
    known: &dyn Fn(&ObjectId) -> Result<Option<Gid>>,
    progress: &dyn Progress,
) -> Result<Selection> {
    let reader = source.reader();
    let mut walk =
        Walk { source, reader, met: HashMap::default(), known: HashMap::default(), order: Vec::new() };
    for tip in tips {
        walk.discover(*tip, known, progress)?;
        walk.arrange(*tip);
    }
    let places: HashMap<ObjectId, u32> = walk.order.iter().copied().zip(0..).collect();
    let mut commits = Vec::with_capacity(walk.order.len());
    for id in std::mem::take(&mut walk.order) {
        let Some(met) = walk.met.remove(&id) else { continue };
        let shallow = source.shallow.contains(&id);
        let parent = |parent: &ObjectId| match (places.get(parent), walk.known.get(parent)) {
            (Some(place), _) => Some(Parent::Selected(*place)),
            (None, known) => known.map(|change| Parent::Known(*change)),
        };
        let parents: Vec<Parent> = match shallow {
            true => Vec::new(),
            false => met.facts.parents.iter().filter_map(parent).collect(),
        };
        // Only a name that leads to its own object could close a circle; the order would then lack its members.
        if parents.iter().any(|p| matches!(p, Parent::Selected(at) if *at as usize >= commits.len())) {
            let detail = "it is an ancestor of itself".to_owned();
            return Err(GitError::Damaged { oid: id.to_string(), at: String::new(), detail });
        }
        commits.push(Commit { id, facts: met.facts, shallow, parents });
    }
    Ok(Selection { commits, known: walk.known })
}

impl Walk<'_> {
    /// Reads what `tip` reaches and is not taken yet, and counts children within it.
    fn discover(
        &mut self,
        tip: ObjectId,
        known: &dyn Fn(&ObjectId) -> Result<Option<Gid>>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut stack = vec![(tip, tip)];
        while let Some((id, child)) = stack.pop() {
            if let Some(met) = self.met.get_mut(&id) {
                met.left += u32::from(id != child);
                continue;
            }
            if self.known.contains_key(&id) {
                continue;
            }
            if let Some(change) = known(&id)? {
                self.known.insert(id, change);
                continue;
            }
            let at = || if id == child { "named by a ref".to_owned() } else { format!("parent of {child}") };
            let body = self.reader.body(&id, ObjectKind::Commit, &at)?;
            let facts = commit::parse(body, self.source.kind).map_err(|detail| GitError::Damaged {
                oid: id.to_string(),
                at: at(),
                detail,
            })?;
            progress.advance(1);
            if !self.source.shallow.contains(&id) {
                stack.extend(facts.parents.iter().rev().map(|parent| (*parent, id)));
            }
            let left = u32::from(id != child);
            self.met.insert(id, Met { facts, left, taken: false });
        }
        Ok(())
    }

    /// Appends what was discovered from `tip` to the order: Git's reversed topological order of that part.
    fn arrange(&mut self, tip: ObjectId) {
        let begin = self.order.len();
        let mut stack = vec![tip];
        while let Some(id) = stack.pop() {
            let Some(met) = self.met.get_mut(&id).filter(|met| !met.taken) else { continue };
            met.taken = true;
            self.order.push(id);
            if self.source.shallow.contains(&id) {
                continue;
            }
            for parent in met.facts.parents.clone() {
                if let Some(parent_met) = self.met.get_mut(&parent).filter(|met| !met.taken) {
                    parent_met.left = parent_met.left.saturating_sub(1);
                    if parent_met.left == 0 {
                        stack.push(parent);
                    }
                }
            }
        }
        self.order[begin..].reverse();
    }
}
