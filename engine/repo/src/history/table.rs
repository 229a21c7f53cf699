//! All stored identities with ordinals, and the references between them, for work on the whole graph.

use crate::{RepoError, Result};
use gemel_object::{Family, Gid};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Marks an empty slot.
const EMPTY: u32 = u32::MAX;

/// Ordinals of a set of identities, in their order.
#[derive(Debug)]
pub(crate) struct Table {
    ids: Vec<Gid>,
    /// Open addressing over digests, which are random already.
    slots: Vec<u32>,
    /// Distinguishes this table from every other of the process, for [`Lately`].
    token: u64,
}

impl Table {
    /// # Errors
    /// `Limit` beyond 2^32 - 1 identities.
    pub(crate) fn new(mut ids: Vec<Gid>) -> Result<Table> {
        ids.sort_unstable();
        ids.dedup();
        let count = u64::try_from(ids.len()).unwrap_or(u64::MAX);
        if count >= u64::from(EMPTY) {
            return Err(RepoError::Limit {
                what: "objects looked at together".to_owned(),
                found: count,
                limit: u64::from(EMPTY) - 1,
            });
        }
        static TOKENS: AtomicU64 = AtomicU64::new(1);
        let token = TOKENS.fetch_add(1, Ordering::Relaxed);
        let mut table = Table { slots: vec![EMPTY; (ids.len() * 2).next_power_of_two()], ids, token };
        for (ordinal, id) in (0..).zip(&table.ids) {
            let mut at = slot_of(id, table.slots.len());
            while table.slots.get(at).is_some_and(|slot| *slot != EMPTY) {
                at = (at + 1) & (table.slots.len() - 1);
            }
            if let Some(slot) = table.slots.get_mut(at) {
                *slot = ordinal;
            }
        }
        Ok(table)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn ids(&self) -> &[Gid] {
        &self.ids
    }

    pub(crate) fn id(&self, ordinal: u32) -> Option<&Gid> {
        self.ids.get(index(ordinal))
    }

    pub(crate) fn find(&self, id: &Gid) -> Option<u32> {
        let mut at = slot_of(id, self.slots.len());
        loop {
            let ordinal = *self.slots.get(at)?;
            if ordinal == EMPTY || self.id(ordinal)? == id {
                return (ordinal != EMPTY).then_some(ordinal);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// What a thread has found lately. One version of a tree refers to what the one before did, and a large table is not in
/// the processor's cache.
#[derive(Default)]
struct Lately {
    token: u64,
    found: Vec<Option<(Gid, u32)>>,
}

/// Identities remembered by [`Lately`].
const LATELY: usize = 1 << 13;

thread_local! {
    static FOUND: RefCell<Lately> = RefCell::default();
}

impl Lately {
    fn find(&mut self, table: &Table, id: &Gid) -> Option<u32> {
        if self.token != table.token {
            *self = Lately { token: table.token, found: vec![None; LATELY] };
        }
        let Some(slot) = self.found.get_mut(slot_of(id, LATELY)) else { return table.find(id) };
        match slot {
            Some((found, ordinal)) if found == id => Some(*ordinal),
            _ => {
                let ordinal = table.find(id)?;
                *slot = Some((*id, ordinal));
                Some(ordinal)
            }
        }
    }
}

/// A number of 32 bits as a position.
pub(crate) fn index(ordinal: u32) -> usize {
    usize::try_from(ordinal).unwrap_or(usize::MAX)
}

fn slot_of(id: &Gid, slots: usize) -> usize {
    let hash = id.digest().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    usize::try_from(hash & (slots as u64 - 1)).unwrap_or(0)
}

/// Gathers references from several threads.
#[derive(Debug, Default)]
pub(crate) struct EdgeLog {
    gathered: Mutex<Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    /// Source, number of targets, targets.
    log: Vec<u32>,
    missing: Vec<(u32, Gid)>,
}

impl EdgeLog {
    /// Notes what `from` refers to: targets that are stored, and others.
    pub(crate) fn note(&self, from: u32, targets: &[u32], missing: &[Gid]) {
        if targets.is_empty() && missing.is_empty() {
            return;
        }
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.log.push(from);
        gathered.log.push(u32::try_from(targets.len()).unwrap_or(u32::MAX));
        gathered.log.extend_from_slice(targets);
        gathered.missing.extend(missing.iter().map(|id| (from, *id)));
    }

    /// The references by source, and those to objects that are not stored, ascending.
    pub(crate) fn finish(self, objects: usize) -> (Edges, Vec<(u32, Gid)>) {
        let Gathered { log, mut missing } =
            self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        missing.sort_unstable();
        missing.dedup();
        let mut starts = vec![0usize; objects + 1];
        for_each(&log, |from, targets| {
            if let Some(count) = starts.get_mut(index(from) + 1) {
                *count += targets.len();
            }
        });
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut targets = vec![0; starts.last().copied().unwrap_or(0)];
        let mut fill = starts.clone();
        for_each(&log, |from, found| {
            if let Some(at) = fill.get_mut(index(from)) {
                if let Some(room) = targets.get_mut(*at..*at + found.len()) {
                    room.copy_from_slice(found);
                }
                *at += found.len();
            }
        });
        (Edges { starts, targets }, missing)
    }
}

fn for_each(log: &[u32], mut visit: impl FnMut(u32, &[u32])) {
    let mut rest = log;
    while let [from, count, tail @ ..] = rest {
        let Some((targets, after)) = tail.split_at_checked(index(*count)) else { return };
        visit(*from, targets);
        rest = after;
    }
}

/// References between ordinals.
#[derive(Debug)]
pub(crate) struct Edges {
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Edges {
    pub(crate) fn of(&self, from: u32) -> &[u32] {
        let range = self.starts.get(index(from)).zip(self.starts.get(index(from) + 1));
        range.and_then(|(start, end)| self.targets.get(*start..*end)).unwrap_or_default()
    }

    /// Whether each ordinal can be reached from the seeds.
    pub(crate) fn reach(&self, objects: usize, seeds: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let mut reached = vec![false; objects];
        let mut open: Vec<u32> = seeds.into_iter().collect();
        while let Some(ordinal) = open.pop() {
            match reached.get_mut(index(ordinal)) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            open.extend_from_slice(self.of(ordinal));
        }
        reached
    }

    /// Cycles, one for each edge that closes one, as the ordinals along it (OBJ-02 to OBJ-05).
    pub(crate) fn cycles(&self, objects: usize) -> Vec<Vec<u32>> {
        let mut state = vec![Walk::New; objects];
        let mut cycles = Vec::new();
        for root in (0..u32::try_from(objects).unwrap_or(u32::MAX)).filter(|root| !self.of(*root).is_empty())
        {
            if state.get(index(root)) == Some(&Walk::New) {
                self.walk(root, &mut state, &mut cycles);
            }
        }
        cycles
    }

    fn walk(&self, root: u32, state: &mut [Walk], cycles: &mut Vec<Vec<u32>>) {
        let mut path: Vec<(u32, usize)> = Vec::new();
        enter(root, state, &mut path);
        while let Some((at, next)) = path.last_mut() {
            let Some(target) = self.of(*at).get(*next).copied() else {
                if let Some(walk) = state.get_mut(index(*at)) {
                    *walk = Walk::Done;
                }
                path.pop();
                continue;
            };
            *next += 1;
            match state.get(index(target)) {
                Some(Walk::New) => enter(target, state, &mut path),
                Some(Walk::Open) => {
                    let start = path.iter().position(|(ordinal, _)| *ordinal == target).unwrap_or(0);
                    cycles.push(path.iter().skip(start).map(|(ordinal, _)| *ordinal).collect());
                }
                _ => {}
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    New,
    Open,
    Done,
}

fn enter(ordinal: u32, state: &mut [Walk], path: &mut Vec<(u32, usize)>) {
    if let Some(walk) = state.get_mut(index(ordinal)) {
        *walk = Walk::Open;
        path.push((ordinal, 0));
    }
}

/// Notes the references of one object. `keep` says which stored targets are wanted as edges.
pub(crate) fn note_refs(
    table: &Table,
    log: &EdgeLog,
    from: u32,
    envelope: &[u8],
    keep: impl Fn(Family) -> bool,
) {
    let (mut targets, mut missing) = (Vec::new(), Vec::new());
    FOUND.with_borrow_mut(|lately| {
        for found in gemel_object::refs_of(envelope) {
            match lately.find(table, &found.gid) {
                Some(target) if keep(found.gid.family()) => targets.push(target),
                Some(_) => {}
                None => missing.push(found.gid),
            }
        }
    });
    log.note(from, &targets, &missing);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> Gid {
        let mut digest = [0; 32];
        digest[4..8].copy_from_slice(&n.to_le_bytes());
        Gid::new(Family::Change, digest)
    }

    #[test]
    fn finds_what_is_there() {
        // All digests begin with the same bytes here: collisions are walked over.
        let table = Table::new((0..100).rev().chain(0..5).map(id).collect()).unwrap();
        assert_eq!(table.len(), 100);
        for ordinal in 0..100 {
            assert_eq!(table.find(&id(ordinal)).and_then(|o| table.id(o)), Some(&id(ordinal)));
        }
        assert_eq!(table.find(&id(100)), None);
        assert_eq!(Table::new(Vec::new()).unwrap().find(&id(0)), None);
    }

    #[test]
    fn what_was_found_lately_is_of_one_table() {
        let (mut lately, few) = (Lately::default(), Table::new((5..9).map(id).collect()).unwrap());
        let many = Table::new((0..9).map(id).collect()).unwrap();
        for _ in 0..2 {
            assert_eq!((5..9).map(|n| lately.find(&few, &id(n))).collect::<Vec<_>>(), [0, 1, 2, 3].map(Some));
            assert_eq!(lately.find(&few, &id(1)), None);
            assert_eq!((0..9).filter(|n| lately.find(&many, &id(*n)) == Some(*n)).count(), 9);
        }
    }

    fn edges(pairs: &[(u32, &[u32])], objects: usize) -> Edges {
        let log = EdgeLog::default();
        pairs.iter().for_each(|(from, targets)| log.note(*from, targets, &[]));
        log.finish(objects).0
    }

    /// Shows OBJ-02..05, T-34.
    #[test]
    fn reach_and_cycles() {
        let dag = edges(&[(0, &[1, 2]), (2, &[3]), (1, &[3])], 5);
        assert_eq!(dag.reach(5, [0]), [true, true, true, true, false]);
        assert!(dag.cycles(5).is_empty());
        let tangled = edges(&[(0, &[1]), (1, &[2]), (2, &[1, 2]), (3, &[0])], 4);
        assert_eq!(tangled.cycles(4), [vec![1, 2], vec![2]]);
        // T-09: depth costs memory, not stack.
        let pairs: Vec<(u32, Vec<u32>)> = (0..200_000).map(|n| (n, vec![n + 1])).collect();
        let log = EdgeLog::default();
        pairs.iter().for_each(|(from, targets)| log.note(*from, targets, &[]));
        let (chain, _) = log.finish(200_001);
        assert!(chain.cycles(200_001).is_empty());
        assert!(chain.reach(200_001, [0]).iter().all(|seen| *seen));
    }

    #[test]
    fn missing_targets_are_kept_apart() {
        let log = EdgeLog::default();
        log.note(1, &[0], &[id(9), id(8)]);
        log.note(0, &[], &[id(9)]);
        let (edges, missing) = log.finish(2);
        assert_eq!(edges.of(1), [0]);
        assert_eq!(missing, [(0, id(9)), (1, id(8)), (1, id(9))]);
    }
}
