//! Sets of changes: closures, their order, and what holds of their members.

use crate::Result;
use crate::history::graph::Graph;
use crate::history::graph::record::{ChangeRecord, NONE, Num, NumCounts, NumSet};
use crate::history::nodes::ChangeNode;
use gemel_object::Gid;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// A set of changes that are stored, and those that were named and are not.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeSet {
    pub(super) nums: NumSet,
    /// Named, but not stored.
    pub(crate) missing: BTreeSet<Gid>,
}

impl ChangeSet {
    /// Number of members.
    pub(crate) fn len(&self) -> usize {
        self.nums.members().len()
    }
}

impl Graph<'_> {
    /// `start` and everything reachable from it over causal parents (object model, section 15.1).
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn ancestors(&mut self, start: impl IntoIterator<Item = Gid>) -> Result<ChangeSet> {
        self.ensure_file();
        let mut set = ChangeSet::default();
        let mut level: Vec<Num> = start.into_iter().map(|id| self.intern(&id)).collect();
        let mut records = Vec::new();
        // Level by level: records lie anywhere, and the looks at those of one level do not wait for each other.
        while !level.is_empty() {
            for num in level.drain(..) {
                if set.nums.contains(num) {
                    continue;
                }
                match self.change_record(num)? {
                    Some(record) => {
                        set.nums.insert(num);
                        records.push(record);
                    }
                    None => set.missing.extend(self.id(num)),
                }
            }
            for record in records.drain(..) {
                level.extend(self.list(record.list, 0, record.parents));
            }
        }
        Ok(set)
    }

    /// Adds changes to a set, as far as they are stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn include(&mut self, set: &mut ChangeSet, ids: impl IntoIterator<Item = Gid>) -> Result<()> {
        self.ensure_file();
        for id in ids {
            let num = self.intern(&id);
            if set.nums.contains(num) {
                continue;
            }
            match self.change_record(num)? {
                Some(_) => {
                    set.nums.insert(num);
                }
                None => {
                    set.missing.insert(id);
                }
            }
        }
        Ok(())
    }

    /// Adds the changes of all versions of a trajectory.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn include_sequence(&mut self, set: &mut ChangeSet, latest: &Gid) -> Result<()> {
        self.ensure_file();
        let mut seen = NumSet::default();
        let mut next = self.intern(latest);
        while next != NONE && seen.insert(next) {
            let Some(version) = self.trajectory_record(next)? else { break };
            let listed = self.list(version.list, 0, version.changes);
            for num in listed.filter(|num| !set.nums.contains(*num)).collect::<Vec<_>>() {
                match self.change_record(num)? {
                    Some(_) => {
                        set.nums.insert(num);
                    }
                    None => set.missing.extend(self.id(num)),
                }
            }
            next = version.previous;
        }
        Ok(())
    }

    /// All versions of a trajectory, newest first, as far as they are stored.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn versions(&mut self, latest: &Gid) -> Result<Vec<Gid>> {
        self.ensure_file();
        let mut seen = NumSet::default();
        let mut next = self.intern(latest);
        while next != NONE && !seen.contains(next) {
            let Some(version) = self.trajectory_record(next)? else { break };
            seen.insert(next);
            next = version.previous;
        }
        Ok(seen.members().iter().filter_map(|num| self.id(*num)).collect())
    }

    /// Whether one version of a trajectory lists a change.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn version_lists(&mut self, version: &Gid, change: &Gid) -> Result<bool> {
        let (version, change) = (self.intern(version), self.intern(change));
        let Some(record) = self.trajectory_record(version)? else { return Ok(false) };
        Ok(self.list(record.list, 0, record.changes).any(|num| num == change))
    }

    /// Which of the changes `wanted` the versions of a trajectory list; those are taken out of it.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn take_listed(&mut self, latest: &Gid, wanted: &mut Vec<Gid>) -> Result<Vec<Gid>> {
        self.ensure_file();
        let mut open = NumSet::default();
        for id in wanted.iter() {
            let num = self.intern(id);
            open.insert(num);
        }
        let (mut seen, mut listed) = (NumSet::default(), NumSet::default());
        let mut next = self.intern(latest);
        while next != NONE && listed.members().len() < open.members().len() && seen.insert(next) {
            let Some(version) = self.trajectory_record(next)? else { break };
            for num in self.list(version.list, 0, version.changes).filter(|num| open.contains(*num)) {
                listed.insert(num);
            }
            next = version.previous;
        }
        let found: Vec<Gid> = listed.members().iter().filter_map(|num| self.id(*num)).collect();
        wanted.retain(|id| !self.find(id).is_some_and(|num| listed.contains(num)));
        Ok(found)
    }

    /// Evidence and residuals that the versions of a trajectory list, newest version first.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn listed_besides(&mut self, latest: &Gid) -> Result<(Vec<Gid>, Vec<Gid>)> {
        self.ensure_file();
        let (mut evidence, mut residuals) = (Vec::new(), Vec::new());
        let mut seen = NumSet::default();
        let mut next = self.intern(latest);
        while next != NONE && seen.insert(next) {
            let Some(version) = self.trajectory_record(next)? else { break };
            let ids = |skip: u32, len: u32| self.list(version.list, skip, len).filter_map(|num| self.id(num));
            evidence.extend(ids(version.changes, version.evidence));
            residuals.extend(ids(version.changes.saturating_add(version.evidence), version.residuals));
            next = version.previous;
        }
        Ok((evidence, residuals))
    }

    /// The nearest change on the way from `start` along first parents that is one of `wanted`; `start` counts.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn along_first_parents(&mut self, start: &Gid, wanted: &ChangeSet) -> Result<Option<Gid>> {
        self.ensure_file();
        let mut seen = NumSet::default();
        let mut next = self.intern(start);
        while next != NONE && seen.insert(next) {
            if wanted.nums.contains(next) {
                return Ok(self.id(next));
            }
            let Some(record) = self.change_record(next)? else { break };
            next = self.list(record.list, 0, record.parents).next().unwrap_or(NONE);
        }
        Ok(None)
    }

    /// Whether a change belongs to a set.
    pub(crate) fn holds(&self, set: &ChangeSet, id: &Gid) -> bool {
        self.find(id).is_some_and(|num| set.nums.contains(num))
    }

    /// The members of a set.
    pub(crate) fn members(&self, set: &ChangeSet) -> Vec<Gid> {
        set.nums.members().iter().filter_map(|num| self.id(*num)).collect()
    }

    /// The members that declare claims, evidence or residuals.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn declaring(&mut self, set: &ChangeSet) -> Result<Vec<Arc<ChangeNode>>> {
        let declares = |record: &ChangeRecord| record.claims.max(record.evidence).max(record.residuals) > 0;
        // Few do: the records are gone through in the order in which they lie, not in that of the set.
        let mut hits = NumSet::default();
        if let Some(file) = self.file() {
            for num in file.changes() {
                if file.change(num).is_some_and(|record| declares(&record)) && set.nums.contains(num) {
                    hits.insert(num);
                }
            }
        }
        for (num, record) in &self.changes {
            if record.as_ref().is_some_and(declares) && set.nums.contains(*num) {
                hits.insert(*num);
            }
        }
        let mut found = Vec::new();
        if hits.members().is_empty() {
            return Ok(found);
        }
        for num in set.nums.members().iter().filter(|num| hits.contains(**num)) {
            if let Some(record) = self.change_record(*num)? {
                found.extend(self.id(*num).map(|id| Arc::new(self.change_node(id, &record))));
            }
        }
        Ok(found)
    }

    /// Members whose result has the root tree `root`, and those whose input has.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn with_root(&mut self, set: &ChangeSet, root: &Gid) -> Result<(Vec<Gid>, Vec<Gid>)> {
        let wanted = self.intern(root);
        let (mut ending, mut starting) = (Vec::new(), Vec::new());
        for num in set.nums.members() {
            let Some(record) = self.change_record(*num)? else { continue };
            if self.root_num(record.result)? == Some(wanted) {
                ending.extend(self.id(*num));
            } else if self.root_num(record.input)? == Some(wanted) {
                starting.extend(self.id(*num));
            }
        }
        Ok((ending, starting))
    }

    /// The members of a set with the root trees of their input and result.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    #[expect(clippy::type_complexity, reason = "three columns of a table")]
    pub(crate) fn roots_of(&mut self, set: &ChangeSet) -> Result<Vec<(Gid, Option<Gid>, Option<Gid>)>> {
        let mut rows = Vec::with_capacity(set.len());
        for num in set.nums.members() {
            let Some(record) = self.change_record(*num)? else { continue };
            let (input, result) = (self.root_num(record.input)?, self.root_num(record.result)?);
            if let Some(id) = self.id(*num) {
                rows.push((id, input.and_then(|num| self.id(num)), result.and_then(|num| self.id(num))));
            }
        }
        Ok(rows)
    }

    /// The changes of a set so that every child comes before its parents; among those whose children are all out, the
    /// newest comes first, then the lowest identity (query surface, section 1.2). Steps grow with changes and edges
    /// only. Of a long list the first `most` may be enough.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn children_first(&mut self, set: &ChangeSet, most: usize) -> Result<Vec<Gid>> {
        let mut children = NumCounts::default();
        for num in set.nums.members() {
            let Some(record) = self.change_record(*num)? else { continue };
            if record.parents == 1 {
                // Nearly all have one, and it needs no list of its own.
                let parent = self.list(record.list, 0, 1).next().filter(|parent| set.nums.contains(*parent));
                parent.iter().for_each(|parent| *children.of(*parent) += 1);
                continue;
            }
            for parent in self.parents_in(set, *num)? {
                *children.of(parent) += 1;
            }
        }
        let mut free: BinaryHeap<(i64, Reverse<Gid>, Num)> = BinaryHeap::new();
        for num in set.nums.members() {
            if *children.of(*num) == 0 {
                free.extend(self.rank(*num)?);
            }
        }
        let mut order = Vec::with_capacity(set.nums.members().len().min(most));
        while let Some((_, Reverse(id), num)) = free.pop() {
            order.push(id);
            if order.len() >= most {
                break;
            }
            for parent in self.parents_in(set, num)? {
                let left = children.of(parent);
                *left -= 1;
                if *left == 0 {
                    free.extend(self.rank(parent)?);
                }
            }
        }
        Ok(order)
    }

    /// The changes of a set so that every parent comes before its children.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(super) fn parents_first(&mut self, set: &ChangeSet) -> Result<Vec<Num>> {
        let mut children = NumCounts::default();
        for num in set.nums.members() {
            for parent in self.parents_in(set, *num)? {
                *children.of(parent) += 1;
            }
        }
        let members = set.nums.members();
        let mut order: Vec<Num> = members.iter().copied().filter(|num| children.get(*num) == 0).collect();
        let mut at = 0;
        while let Some(num) = order.get(at).copied() {
            at += 1;
            for parent in self.parents_in(set, num)? {
                let left = children.of(parent);
                *left -= 1;
                if *left == 0 {
                    order.push(parent);
                }
            }
        }
        order.reverse();
        Ok(order)
    }

    /// The first parent of a change that belongs to a set.
    pub(super) fn first_parent_in(&mut self, set: &ChangeSet, num: Num) -> Result<Option<Num>> {
        let Some(record) = self.change_record(num)? else { return Ok(None) };
        Ok(self.list(record.list, 0, record.parents).find(|parent| set.nums.contains(*parent)))
    }

    /// The parents of a change that belong to a set, each once.
    pub(super) fn parents_in(&mut self, set: &ChangeSet, num: Num) -> Result<Vec<Num>> {
        let Some(record) = self.change_record(num)? else { return Ok(Vec::new()) };
        let mut parents: Vec<Num> = self.list(record.list, 0, record.parents).collect();
        parents.retain(|parent| set.nums.contains(*parent));
        if parents.len() > 1 {
            parents.sort_unstable();
            parents.dedup();
        }
        Ok(parents)
    }

    fn rank(&mut self, num: Num) -> Result<Option<(i64, Reverse<Gid>, Num)>> {
        let record = self.change_record(num)?;
        Ok(record.zip(self.id(num)).map(|(record, id)| (record.created_at_ms, Reverse(id), num)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use gemel_object::families::{NewChange, NewTrajectory};
    use gemel_object::{Family, Limits};
    use gemel_store::vfs::real::RealDisk;
    use gemel_store::{NewObject, Store};

    pub(crate) struct Made {
        _temp: tempfile::TempDir,
        pub(crate) store: Store,
        pub(crate) ids: Vec<Gid>,
        trajectory: Gid,
    }

    /// Stores changes, each with its time and the positions of its parents, and a trajectory of them all.
    pub(crate) fn make(changes: &[(i64, &[usize])]) -> Made {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::init(std::sync::Arc::new(RealDisk::new()), &temp.path().join(".gemel")).unwrap();
        let writer = store.writer().unwrap();
        let mut ids: Vec<Gid> = Vec::new();
        let mut trajectory = None;
        for (at, (created_at, parents)) in changes.iter().enumerate() {
            let absent = Gid::new(Family::Change, [0xEE; 32]);
            let parents: Vec<Gid> = parents.iter().map(|p| ids.get(*p).copied().unwrap_or(absent)).collect();
            let summary = at.to_string();
            let change = NewChange {
                summary: Some(&summary),
                producer: Some(Gid::new(Family::Producer, [1; 32])),
                causal_parents: Some(&parents),
                created_at: Some(*created_at),
                ..NewChange::default()
            };
            let change = change.encode(&Limits::DEFAULT).unwrap();
            ids.push(change.id);
            writer.put(NewObject { id: change.id, bytes: change.bytes, base: None }).unwrap();
            let version = NewTrajectory {
                previous: trajectory,
                added_changes: Some(&[change.id]),
                updated_at: Some(*created_at),
                ..NewTrajectory::default()
            };
            let version = version.encode(&Limits::DEFAULT).unwrap();
            trajectory = Some(version.id);
            writer.put(NewObject { id: version.id, bytes: version.bytes, base: None }).unwrap();
        }
        writer.commit().unwrap();
        Made { _temp: temp, store, ids, trajectory: trajectory.unwrap() }
    }

    fn positions(made: &Made, ids: &[Gid]) -> Vec<usize> {
        ids.iter().map(|id| made.ids.iter().position(|other| other == id).unwrap()).collect()
    }

    fn check(changes: &[(i64, &[usize])], expected: &[usize]) {
        let made = make(changes);
        let mut graph = Graph::new(&made.store);
        let all = graph.ancestors(made.ids.iter().copied()).unwrap();
        let order = graph.children_first(&all, usize::MAX).unwrap();
        assert_eq!(positions(&made, &order), expected);
    }

    #[test]
    fn children_before_parents() {
        check(&[(10, &[]), (20, &[0]), (30, &[1])], &[2, 1, 0]);
        // The clock of a child ran behind.
        check(&[(10, &[]), (5, &[0])], &[1, 0]);
        // Two lines: newest first.
        check(&[(0, &[]), (7, &[0]), (9, &[0])], &[2, 1, 0]);
        // A diamond, a parent named twice, and one that is not stored.
        check(&[(1, &[]), (2, &[0]), (3, &[0, 0, 99]), (4, &[1, 2])], &[3, 2, 1, 0]);
    }

    #[test]
    fn closures_know_what_is_missing() {
        let made = make(&[(1, &[99]), (2, &[0]), (3, &[0])]);
        let mut graph = Graph::new(&made.store);
        let set = graph.ancestors([made.ids[1]]).unwrap();
        assert_eq!(set.missing.len(), 1);
        assert!(graph.holds(&set, &made.ids[0]) && !graph.holds(&set, &made.ids[2]));
        let mut sequence = ChangeSet::default();
        graph.include_sequence(&mut sequence, &made.trajectory).unwrap();
        assert_eq!(positions(&made, &graph.members(&sequence)), [2, 1, 0]);
    }

    /// DER-06: with the derived file, without it, and with another's, the answers are the same. T-09: a long chain
    /// neither recurses nor takes quadratic time.
    #[test]
    fn the_derived_file_changes_nothing() {
        let parents: Vec<[usize; 1]> = (0..3000).map(|n: usize| [n.wrapping_sub(1)]).collect();
        let changes: Vec<(i64, &[usize])> =
            parents.iter().enumerate().map(|(n, p)| (0, if n == 0 { &[][..] } else { &p[..] })).collect();
        let made = make(&changes);
        let answer = || {
            let mut graph = Graph::new(&made.store);
            let mut set = graph.ancestors(made.ids.last().copied()).unwrap();
            graph.include_sequence(&mut set, &made.trajectory).unwrap();
            let order = graph.children_first(&set, usize::MAX).unwrap();
            let (mut versions, mut next) = (Vec::new(), Some(made.trajectory));
            while let Some(id) = next {
                let version = graph.trajectory(&id).unwrap().unwrap();
                next = version.previous;
                versions.push(version);
            }
            let mut wanted = made.ids.clone();
            assert_eq!(graph.take_listed(&made.trajectory, &mut wanted).unwrap().len(), made.ids.len());
            assert!(wanted.is_empty());
            let nodes: Vec<_> = order.iter().map(|id| graph.change(id).unwrap().unwrap()).collect();
            graph.keep();
            (order, versions, nodes)
        };
        let first = answer();
        assert_eq!(first.0.first(), made.ids.last());
        let name = crate::history::graph::file::NAME;
        let kept = made.store.cache_read(name).expect("the file was written").to_vec();
        assert_eq!(answer(), first);
        let other = make(&changes[..300]);
        {
            let mut graph = Graph::new(&other.store);
            graph.ancestors(other.ids.last().copied()).unwrap();
            graph.keep();
        }
        for bytes in
            [other.store.cache_read(name).unwrap().to_vec(), kept[..kept.len() / 2].to_vec(), Vec::new()]
        {
            made.store.cache_write(name, &bytes).unwrap();
            assert_eq!(answer(), first);
            assert_eq!(made.store.cache_read(name).map(|b| b.len()), Some(kept.len()), "made whole again");
        }
    }
}
