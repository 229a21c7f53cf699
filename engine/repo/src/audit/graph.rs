//! References and what they must not do: missing targets, cycles, states that do not follow from each other.

use crate::audit::Problem;
use crate::history::nodes::{self, ChangeNode, TrajectoryNode};
use crate::history::table::{EdgeLog, Table, index, note_refs};
use gemel_object::families::{Evidence, State};
use gemel_object::{Family, Gid, Limits, Object};
use gemel_store::Store;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Ancestors looked through for one change; one further back is given the benefit of the doubt, so that the check of
/// a long history stays linear.
const MAX_LOOKED_BACK: usize = 1000;

/// What one pass over all objects gathers. Trees and blobs leave references only.
pub(super) struct Collected<'t> {
    table: &'t Table,
    edges: EdgeLog,
    /// Objects seen: one stored twice is looked at once.
    seen: Vec<AtomicBool>,
    nodes: Mutex<Nodes>,
}

#[derive(Default)]
struct Nodes {
    changes: HashMap<Gid, ChangeNode>,
    trajectories: HashMap<Gid, TrajectoryNode>,
    roots: HashMap<Gid, Gid>,
    /// Targets that must be readable, with the object that needs them (FAM-05, FAM-13).
    needed: Vec<(Gid, Gid, &'static str)>,
}

impl<'t> Collected<'t> {
    pub(super) fn new(table: &'t Table) -> Collected<'t> {
        let seen = (0..table.len()).map(|_| AtomicBool::new(false)).collect();
        Collected { table, edges: EdgeLog::default(), seen, nodes: Mutex::default() }
    }

    /// Takes what is needed from one object. Called from several threads.
    pub(super) fn visit(&self, id: &Gid, envelope: &[u8]) {
        let Some(ordinal) = self.table.find(id) else { return };
        let first = self.seen.get(index(ordinal)).is_some_and(|seen| !seen.swap(true, Ordering::Relaxed));
        if !first || id.family() == Family::Blob {
            return;
        }
        // Blobs refer to nothing, so that no cycle leads through them.
        note_refs(self.table, &self.edges, ordinal, envelope, |family| family != Family::Blob);
        let Ok(object) = Object::parse(envelope, &Limits::DEFAULT) else { return };
        let lock = || self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        match id.family() {
            Family::Change => {
                if let Ok(node) = nodes::change_of(id, &object) {
                    lock().changes.insert(*id, node);
                }
            }
            Family::Trajectory => {
                if let Ok(node) = nodes::trajectory_of(id, &object) {
                    lock().trajectories.insert(*id, node);
                }
            }
            Family::State => {
                if let Ok(state) = State::view(&object) {
                    let mut nodes = lock();
                    nodes.roots.insert(*id, state.root_tree());
                    nodes.needed.push((state.root_tree(), *id, "root_tree"));
                }
            }
            Family::Evidence => {
                if let Some(state) =
                    Evidence::view(&object).ok().and_then(|evidence| evidence.evaluated_state())
                {
                    lock().needed.push((state, *id, "evaluated_state"));
                }
            }
            _ => {}
        }
    }
}

/// Checks everything gathered. `unreadable` are stored objects that do not read, `pruned` those with a tombstone.
pub(super) fn check(
    collected: Collected<'_>,
    store: &Store,
    unreadable: &HashSet<Gid>,
    pruned: &HashSet<Gid>,
) -> Vec<Problem> {
    let table = collected.table;
    let (edges, missing) = collected.edges.finish(table.len());
    let nodes = collected.nodes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut problems = Vec::new();
    // Packs are listed one after another: what was written meanwhile may be known to one and not to the other.
    let mut stored: HashMap<Gid, bool> = HashMap::new();
    for (from, to) in missing {
        if *stored.entry(to).or_insert_with(|| is_stored_now(store, &to)) {
            continue;
        }
        let Some(from) = table.id(from) else { continue };
        problems.push(if pruned.contains(&to) {
            let message = format!("{from} refers to {to}, which was pruned under a retention policy");
            Problem::warning("pruned-referenced", Some(to), message)
        } else {
            Problem::error(
                "missing-reference",
                Some(to),
                format!("{from} refers to {to}, which is not stored"),
            )
        });
    }
    for (target, by, field) in &nodes.needed {
        if unreadable.contains(target) {
            let message = format!("{field} of {by} is {target}, which does not read");
            problems.push(Problem::error("missing-reference", Some(*target), message));
        }
    }
    for cycle in edges.cycles(table.len()) {
        let ids: Vec<String> = cycle.iter().filter_map(|o| table.id(*o)).map(Gid::to_string).collect();
        let first = cycle.first().and_then(|ordinal| table.id(*ordinal)).copied();
        problems.push(Problem::error(
            "cycle",
            first,
            format!("references form a circle: {}", ids.join(" -> ")),
        ));
    }
    problems.extend(nodes.changes.values().filter_map(|change| nodes.inconsistency(change)));
    problems.extend(nodes.trajectories.values().flat_map(|version| nodes.gaps(version)));
    problems
}

/// Whether an object that was not there when the objects were listed is there by now.
pub(super) fn is_stored_now(store: &Store, id: &Gid) -> bool {
    store.contains(id).unwrap_or(false)
}

impl Nodes {
    /// Whether two states hold the same content; unknown states are not judged.
    fn differ(&self, a: Option<Gid>, b: Option<Gid>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) if a != b => match (self.roots.get(&a), self.roots.get(&b)) {
                (Some(a), Some(b)) => a != b,
                _ => false,
            },
            _ => false,
        }
    }

    /// OBJ-07: among the ancestors of a change is one that its input state comes from: it results in it or, when
    /// several lines were brought together, starts from it.
    fn inconsistency(&self, change: &ChangeNode) -> Option<Problem> {
        let input = change.input.filter(|_| !change.parents.is_empty())?;
        // The first parent is mostly the one.
        let mut open: Vec<Gid> = change.parents.iter().rev().copied().collect();
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > MAX_LOOKED_BACK {
                return None;
            }
            // A parent that is not stored could be the one.
            let ancestor = self.changes.get(&id)?;
            let could_be = |state: Option<Gid>| state.is_some() && !self.differ(state, Some(input));
            if could_be(ancestor.result) || could_be(ancestor.input) {
                return None;
            }
            open.extend(ancestor.parents.iter().rev());
        }
        let message = format!("no ancestor of {} leads to its input state {input}", change.id);
        Some(Problem::warning("state-inconsistency", Some(change.id), message))
    }

    /// OBJ-08: each change of a trajectory starts where the one before it ended. Lines that part from each other and
    /// share a trajectory, as those of an imported history do, lie in it one after another: a change may also start
    /// where one of its causal parents or any earlier change of the trajectory ended.
    fn gaps(&self, version: &TrajectoryNode) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut before = self.last_before(version).and_then(|id| self.changes.get(&id));
        for (place, id) in version.changes.iter().enumerate() {
            let change = self.changes.get(id);
            if let (Some(before), Some(change)) = (before, change)
                && self.differ(before.result, change.input)
                && !self.starts_at(change, &change.parents)
                && !self.starts_earlier(change, version, place)
            {
                let message = format!("in {}, {id} does not start where {} ended", version.id, before.id);
                problems.push(Problem::warning("sequence-gap", Some(*id), message));
            }
            before = change;
        }
        problems
    }

    /// Whether `change` starts where one of `others` ended. One that is not stored could be it.
    fn starts_at(&self, change: &ChangeNode, others: &[Gid]) -> bool {
        let ended =
            |id: &Gid| self.changes.get(id).is_none_or(|other| !self.differ(other.result, change.input));
        others.iter().any(ended)
    }

    /// Whether `change`, which stands at `place` of `version`, starts where an earlier change of the trajectory ended.
    fn starts_earlier(&self, change: &ChangeNode, version: &TrajectoryNode, place: usize) -> bool {
        let mut left = MAX_LOOKED_BACK;
        let mut seen = HashSet::new();
        let (mut version, mut place) = (version, place);
        loop {
            let earlier = version.changes.get(..place).unwrap_or_default();
            let near = earlier.get(earlier.len().saturating_sub(left)..).unwrap_or_default();
            if self.starts_at(change, near) {
                return true;
            }
            left -= near.len();
            if left == 0 {
                return true;
            }
            let previous = version.previous.filter(|id| seen.insert(*id));
            let Some(next) = previous.and_then(|id| self.trajectories.get(&id)) else { return false };
            (version, place) = (next, next.changes.len());
        }
    }

    /// The last change of the versions before `version`.
    fn last_before(&self, version: &TrajectoryNode) -> Option<Gid> {
        let mut seen = HashSet::new();
        let mut previous = version.previous;
        while let Some(id) = previous.filter(|id| seen.insert(*id)) {
            let node = self.trajectories.get(&id)?;
            if let Some(change) = node.changes.last() {
                return Some(*change);
            }
            previous = node.previous;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(family: Family, n: u8) -> Gid {
        Gid::new(family, [n; 32])
    }

    fn state(n: u8) -> Option<Gid> {
        Some(id(Family::State, n))
    }

    fn change(n: u8, input: u8, result: u8, parents: &[u8]) -> ChangeNode {
        ChangeNode {
            id: id(Family::Change, n),
            intent: None,
            input: state(input),
            result: state(result),
            parents: parents.iter().map(|p| id(Family::Change, *p)).collect(),
            claims: Vec::new(),
            evidence: Vec::new(),
            residuals: Vec::new(),
            created_at_ms: 0,
        }
    }

    fn nodes(changes: Vec<ChangeNode>) -> Nodes {
        let roots = (0..20).map(|n| (id(Family::State, n), id(Family::Tree, n % 10))).collect();
        Nodes { changes: changes.into_iter().map(|c| (c.id, c)).collect(), roots, ..Nodes::default() }
    }

    /// OBJ-07
    #[test]
    fn input_states_come_from_ancestors() {
        let nodes = nodes(vec![
            change(1, 0, 1, &[]),
            change(2, 1, 2, &[1]),
            // State 11 has the content of state 1.
            change(3, 11, 3, &[2]),
            change(4, 5, 6, &[3]),
            // Brought together from the base of change 1.
            change(5, 0, 7, &[2, 3]),
            change(6, 5, 6, &[3, 99]),
        ]);
        let found = |n: u8| nodes.changes.get(&id(Family::Change, n)).and_then(|c| nodes.inconsistency(c));
        assert!([1, 2, 3, 5, 6].into_iter().all(|n| found(n).is_none()));
        assert_eq!(found(4).map(|p| p.code), Some("state-inconsistency"));
    }

    /// OBJ-08
    #[test]
    fn a_sequence_has_no_gaps() {
        let mut nodes = nodes(vec![
            change(1, 0, 1, &[]),
            change(2, 11, 2, &[1]),
            change(3, 4, 5, &[2]),
            // A side branch that left the line after change 1.
            change(4, 1, 6, &[1]),
            change(5, 2, 7, &[2, 4]),
            // From content that the trajectory had, though the graph does not say so.
            change(6, 11, 8, &[5]),
        ]);
        let version = |n: u8, previous: Option<u8>, changes: &[u8]| TrajectoryNode {
            id: id(Family::Trajectory, n),
            previous: previous.map(|n| id(Family::Trajectory, n)),
            intent: None,
            base: None,
            outcome: None,
            changes: changes.iter().map(|n| id(Family::Change, *n)).collect(),
            evidence: Vec::new(),
            residuals: Vec::new(),
            created_at_ms: None,
            updated_at_ms: 0,
        };
        let versions = [
            version(1, None, &[1]),
            version(2, Some(1), &[]),
            version(3, Some(2), &[2, 3]),
            version(4, Some(1), &[2, 4, 5, 6]),
        ];
        for node in versions {
            nodes.trajectories.insert(node.id, node);
        }
        let gaps = |n: u8| nodes.gaps(&nodes.trajectories[&id(Family::Trajectory, n)]);
        assert!(gaps(1).is_empty() && gaps(2).is_empty() && gaps(4).is_empty());
        let found = gaps(3);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].code, found[0].id), ("sequence-gap", Some(id(Family::Change, 3))));
    }
}
