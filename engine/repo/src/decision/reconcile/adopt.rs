//! Which changes a reconciliation adopts: per path, the first input wins; a change is adopted whole or not at all
//! (workflow, section 12). Pure: what the base holds is asked of [`Files`].

use crate::Result;
use crate::content::{Leaf, PathDelta};
use gemel_object::Gid;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The files that all inputs start from.
pub(super) trait Files {
    /// The file or link at a path.
    ///
    /// # Errors
    /// Those of the store.
    fn leaf(&mut self, path: &str) -> Result<Option<Leaf>>;
    /// All files below a path.
    ///
    /// # Errors
    /// Those of the store.
    fn below(&mut self, path: &str) -> Result<Vec<String>>;
}

/// A change and what it does to files.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) change: Gid,
    pub(super) deltas: Vec<PathDelta>,
}

/// An input: its changes in order of work.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Whether it was closed so that nothing of it is adopted.
    pub(super) barred: bool,
    pub(super) steps: Vec<Step>,
}

/// A path in dispute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dispute {
    /// The first changes of the owners.
    pub(super) owners: BTreeSet<Gid>,
    /// The changes rejected because of it.
    pub(super) rejected: BTreeSet<Gid>,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Adoption {
    /// In walk order.
    pub(super) adopted: Vec<Gid>,
    /// In walk order.
    pub(super) rejected: Vec<Gid>,
    /// By path.
    pub(super) disputes: BTreeMap<String, Dispute>,
    /// Rejected changes and the earlier rejected ones they build on, in walk order.
    pub(super) builds_on: Vec<(Gid, Gid)>,
    /// What the adopted changes make of the base.
    pub(super) edits: BTreeMap<String, Option<Leaf>>,
}

/// Decides over all changes of all inputs, in the order given.
///
/// # Errors
/// Those of the base.
pub(super) fn adopt(lines: &[Line], base: &mut dyn Files) -> Result<Adoption> {
    let mut walk = Walk { base, owners: HashMap::new(), found: Adoption::default() };
    let mut decided = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        // Paths of this input's rejected changes, with the first of them.
        let mut lost: HashMap<String, Gid> = HashMap::new();
        for step in &line.steps {
            if !decided.insert(step.change) {
                continue;
            }
            if !line.barred && walk.take(at, step, &lost)? {
                walk.found.adopted.push(step.change);
                for delta in &step.deltas {
                    walk.owners.entry(delta.path.clone()).or_insert((at, step.change));
                }
            } else {
                walk.found.rejected.push(step.change);
                for delta in &step.deltas {
                    lost.entry(delta.path.clone()).or_insert(step.change);
                }
            }
        }
    }
    Ok(walk.found)
}

struct Walk<'b> {
    base: &'b mut dyn Files,
    /// Input and first adopted change of each path.
    owners: HashMap<String, (usize, Gid)>,
    found: Adoption,
}

impl Walk<'_> {
    /// Applies a change if every rule allows it.
    fn take(&mut self, at: usize, step: &Step, lost: &HashMap<String, Gid>) -> Result<bool> {
        let mut disputed: Vec<(String, Option<Gid>)> = Vec::new();
        let mut builds_on: BTreeSet<Gid> = BTreeSet::new();
        for delta in &step.deltas {
            if let Some((owner, change)) = self.owners.get(&delta.path).copied()
                && owner != at
                && self.merged(&delta.path)? != delta.after
            {
                disputed.push((delta.path.clone(), Some(change)));
            }
            builds_on.extend(lost.get(&delta.path));
        }
        let mut undo = Vec::with_capacity(step.deltas.len());
        for delta in &step.deltas {
            undo.push((delta.path.clone(), self.found.edits.insert(delta.path.clone(), delta.after)));
        }
        for delta in step.deltas.iter().filter(|delta| delta.after.is_some()) {
            for (file, obstacle) in self.obstacles(&delta.path)? {
                match self.owners.get(&obstacle).copied() {
                    Some((owner, change)) if owner != at => disputed.push((file, Some(change))),
                    _ => match lost.get(&obstacle) {
                        Some(earlier) => drop(builds_on.insert(*earlier)),
                        None => disputed.push((file, None)),
                    },
                }
            }
        }
        if disputed.is_empty() && builds_on.is_empty() {
            return Ok(true);
        }
        for (path, before) in undo.into_iter().rev() {
            match before {
                Some(before) => drop(self.found.edits.insert(path, before)),
                None => drop(self.found.edits.remove(&path)),
            }
        }
        for (path, owner) in disputed {
            let dispute = self.found.disputes.entry(path).or_default();
            dispute.owners.extend(owner);
            dispute.rejected.insert(step.change);
        }
        self.found.builds_on.extend(builds_on.into_iter().map(|earlier| (step.change, earlier)));
        Ok(false)
    }

    /// What is at a path after the changes taken so far.
    fn merged(&mut self, path: &str) -> Result<Option<Leaf>> {
        match self.found.edits.get(path) {
            Some(leaf) => Ok(*leaf),
            None => self.base.leaf(path),
        }
    }

    /// Why a file cannot be at a path: the path that would be both file and directory, and the file that is there.
    fn obstacles(&mut self, path: &str) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default();
            if self.merged(above)?.is_some() {
                found.push((above.to_owned(), above.to_owned()));
            }
        }
        let below = format!("{path}/");
        let new = self.found.edits.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        let new = new.filter(|(_, leaf)| leaf.is_some()).map(|(path, _)| path.clone());
        let mut standing: BTreeSet<String> = new.collect();
        for old in self.base.below(path)? {
            if !self.found.edits.contains_key(&old) {
                standing.insert(old);
            }
        }
        found.extend(standing.into_iter().map(|file| (path.to_owned(), file)));
        Ok(found)
    }
}
