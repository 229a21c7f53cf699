//! The derived file that keeps the graph between commands (docs/STORAGE.md, "History graph").
//!
//! It holds nothing that the objects do not say: deleting it costs time only. Every number in it is checked against
//! the length of what it points into, and a file whose checksum does not match is as good as none. An identity's number
//! is its position; identities ascend, so that a family is a range of numbers.

use crate::history::graph::record::{ChangeRecord, EXTRA, NONE, Num, TrajectoryRecord};
use crate::history::table::index;
use gemel_object::{Family, GID_LEN, Gid, TrajectoryOutcome};
use gemel_store::vfs::FileBytes;
use std::cmp::Ordering;
use std::ops::Range;

/// Name of the file among the store's caches.
pub(crate) const NAME: &str = "history-graph";

const MAGIC: &[u8; 8] = b"gmlhist1";
const HEADER: usize = 8 + 8 * 4;
const CHANGE: usize = 40;
const TRAJECTORY: usize = 48;
const CHECK: usize = 32;

/// An opened file.
#[derive(Debug)]
pub(crate) struct GraphFile {
    bytes: FileBytes,
    ids: u32,
    states: Range<u32>,
    changes: Range<u32>,
    trajectories: Range<u32>,
    roots_at: usize,
    changes_at: usize,
    trajectories_at: usize,
    pool_at: usize,
    pool: u32,
}

impl GraphFile {
    /// `None` for anything but a whole file of this version.
    pub(crate) fn open(bytes: FileBytes) -> Option<GraphFile> {
        let body = bytes.len().checked_sub(CHECK)?;
        let (content, check) = bytes.split_at_checked(body)?;
        if !content.starts_with(MAGIC) || blake3::hash(content).as_bytes() != check {
            return None;
        }
        let word = |n: usize| u32_at(content, 8 + n * 4);
        let (ids, pool) = (word(0)?, word(7)?);
        let range =
            |first: usize| Some(word(first)?..word(first + 1)?).filter(|r| r.start <= r.end && r.end <= ids);
        let (states, changes, trajectories) = (range(1)?, range(3)?, range(5)?);
        let after = |at: usize, count: u32, each: usize| at.checked_add(index(count).checked_mul(each)?);
        let roots_at = after(HEADER, ids, GID_LEN)?;
        let changes_at = after(roots_at, count(&states), 4)?;
        let trajectories_at = after(changes_at, count(&changes), CHANGE)?;
        let pool_at = after(trajectories_at, count(&trajectories), TRAJECTORY)?;
        if after(pool_at, pool, 4)? != body || ids >= EXTRA {
            return None;
        }
        Some(GraphFile {
            ids,
            states,
            changes,
            trajectories,
            roots_at,
            changes_at,
            trajectories_at,
            pool_at,
            pool,
            bytes,
        })
    }

    pub(crate) fn len(&self) -> u32 {
        self.ids
    }

    pub(crate) fn pool_len(&self) -> u32 {
        self.pool
    }

    pub(crate) fn changes(&self) -> Range<Num> {
        self.changes.clone()
    }

    pub(crate) fn trajectories(&self) -> Range<Num> {
        self.trajectories.clone()
    }

    pub(crate) fn states(&self) -> Range<Num> {
        self.states.clone()
    }

    fn raw(&self, num: Num) -> Option<&[u8; GID_LEN]> {
        if num >= self.ids {
            return None;
        }
        let at = HEADER + index(num) * GID_LEN;
        self.bytes.get(at..at + GID_LEN)?.try_into().ok()
    }

    pub(crate) fn id(&self, num: Num) -> Option<Gid> {
        Gid::from_bytes(self.raw(num)?)
    }

    pub(crate) fn find(&self, id: &Gid) -> Option<Num> {
        let all = 0..self.ids;
        let range = match id.family() {
            Family::State => &self.states,
            Family::Change => &self.changes,
            Family::Trajectory => &self.trajectories,
            _ => &all,
        };
        let (mut low, mut high) = self.near(id, range);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.raw(middle)?.cmp(id.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Bounds of a short stretch of a family's range that holds `id` if the range does. Digests are spread evenly, so
    /// that a digest tells about where it stands; from there the stretch grows until it spans the place.
    fn near(&self, id: &Gid, range: &Range<u32>) -> (u32, u32) {
        let fraction = id.digest().first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
        let guess =
            range.start + u32::try_from((u64::from(fraction) * u64::from(count(range))) >> 32).unwrap_or(0);
        let before = |num: u32| self.raw(num).is_some_and(|raw| raw.as_slice() < id.as_bytes().as_slice());
        let (mut low, mut high, mut step) = (guess, guess, 16);
        while low > range.start && !before(low) {
            low = low.saturating_sub(step).max(range.start);
            step = step.saturating_mul(2);
        }
        step = 16;
        while high < range.end && before(high) {
            high = high.saturating_add(step).min(range.end);
            step = step.saturating_mul(2);
        }
        (low, high.saturating_add(1).min(range.end))
    }

    /// The root tree of a state.
    pub(crate) fn root(&self, state: Num) -> Option<Num> {
        let at = index_in(&self.states, state)?;
        u32_at(&self.bytes, self.roots_at + at * 4).filter(|root| *root != NONE)
    }

    pub(crate) fn change(&self, num: Num) -> Option<ChangeRecord> {
        let at = self.changes_at + index_in(&self.changes, num)? * CHANGE;
        let record = self.bytes.get(at..at + CHANGE)?;
        let word = |n: usize| u32_at(record, 8 + n * 4);
        let record = ChangeRecord {
            created_at_ms: i64_at(record, 0)?,
            intent: word(0)?,
            input: word(1)?,
            result: word(2)?,
            list: word(3)?,
            parents: word(4)?,
            claims: word(5)?,
            evidence: word(6)?,
            residuals: word(7)?,
        };
        (record.list != NONE).then_some(record)
    }

    pub(crate) fn trajectory(&self, num: Num) -> Option<TrajectoryRecord> {
        let at = self.trajectories_at + index_in(&self.trajectories, num)? * TRAJECTORY;
        let record = self.bytes.get(at..at + TRAJECTORY)?;
        let word = |n: usize| u32_at(record, 16 + n * 4);
        let flags = word(3)?;
        let outcome = usize::try_from(flags & 0xFF).ok()?.checked_sub(1);
        let record = TrajectoryRecord {
            created_at_ms: if flags & HAS_CREATED != 0 { Some(i64_at(record, 0)?) } else { None },
            updated_at_ms: i64_at(record, 8)?,
            previous: word(0)?,
            intent: word(1)?,
            base: word(2)?,
            outcome: outcome.and_then(|at| TrajectoryOutcome::ALL.get(at)).copied(),
            list: word(4)?,
            changes: word(5)?,
            evidence: word(6)?,
            residuals: word(7)?,
        };
        (record.list != NONE).then_some(record)
    }

    /// An element of the pool.
    pub(crate) fn pool(&self, at: u32) -> Option<Num> {
        if at < self.pool { u32_at(&self.bytes, self.pool_at + index(at) * 4) } else { None }
    }
}

const HAS_CREATED: u32 = 1 << 8;

fn count(range: &Range<u32>) -> u32 {
    range.end - range.start
}

fn index_in(range: &Range<u32>, num: Num) -> Option<usize> {
    range.contains(&num).then(|| index(num - range.start))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(i64::from_le_bytes)
}

/// A file being written. Numbers are those of the file.
pub(crate) struct FileWriter {
    ids: Vec<Gid>,
    ranges: [Range<u32>; 3],
    roots: Vec<u32>,
    changes: Vec<Option<ChangeRecord>>,
    trajectories: Vec<Option<TrajectoryRecord>>,
    pool: Vec<Num>,
}

impl FileWriter {
    /// Over identities that ascend; `None` when there are too many.
    pub(crate) fn new(ids: Vec<Gid>) -> Option<FileWriter> {
        u32::try_from(ids.len()).ok().filter(|count| *count < EXTRA)?;
        let range = |family: Family| {
            let at =
                |code: u8| u32::try_from(ids.partition_point(|id| id.family().code() < code)).unwrap_or(NONE);
            at(family.code())..at(family.code() + 1)
        };
        let ranges = [range(Family::State), range(Family::Change), range(Family::Trajectory)];
        let [states, changes, trajectories] =
            [0, 1, 2].map(|n: usize| ranges.get(n).map_or(0, |r| index(count(r))));
        Some(FileWriter {
            roots: vec![NONE; states],
            changes: vec![None; changes],
            trajectories: vec![None; trajectories],
            pool: Vec::new(),
            ranges,
            ids,
        })
    }

    pub(crate) fn set_root(&mut self, state: Num, root: Num) {
        if let Some(slot) = index_in(&self.ranges[0], state).and_then(|at| self.roots.get_mut(at)) {
            *slot = root;
        }
    }

    /// Adds a change; its lists are appended to the pool.
    pub(crate) fn set_change(&mut self, num: Num, record: ChangeRecord, lists: impl Iterator<Item = Num>) {
        let list = self.append(lists);
        if let Some(slot) = index_in(&self.ranges[1], num).and_then(|at| self.changes.get_mut(at)) {
            *slot = Some(ChangeRecord { list, ..record });
        }
    }

    /// Adds a trajectory version; its lists are appended to the pool.
    pub(crate) fn set_trajectory(
        &mut self,
        num: Num,
        record: TrajectoryRecord,
        lists: impl Iterator<Item = Num>,
    ) {
        let list = self.append(lists);
        if let Some(slot) = index_in(&self.ranges[2], num).and_then(|at| self.trajectories.get_mut(at)) {
            *slot = Some(TrajectoryRecord { list, ..record });
        }
    }

    fn append(&mut self, lists: impl Iterator<Item = Num>) -> u32 {
        let start = u32::try_from(self.pool.len()).unwrap_or(NONE);
        self.pool.extend(lists);
        start
    }

    /// The bytes of the file; `None` when the pool is too long for it.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        let pool = u32::try_from(self.pool.len()).ok().filter(|len| *len != NONE)?;
        let mut out = Vec::with_capacity(HEADER + self.ids.len() * GID_LEN + self.pool.len() * 4);
        out.extend_from_slice(MAGIC);
        put(&mut out, &[u32::try_from(self.ids.len()).ok()?]);
        self.ranges.iter().for_each(|range| put(&mut out, &[range.start, range.end]));
        put(&mut out, &[pool]);
        self.ids.iter().for_each(|id| out.extend_from_slice(id.as_bytes()));
        put(&mut out, &self.roots);
        self.changes.iter().for_each(|record| put_change(&mut out, record.as_ref()));
        self.trajectories.iter().for_each(|record| put_trajectory(&mut out, record.as_ref()));
        put(&mut out, &self.pool);
        let check = blake3::hash(&out);
        out.extend_from_slice(check.as_bytes());
        Some(out)
    }
}

fn put(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_change(out: &mut Vec<u8>, record: Option<&ChangeRecord>) {
    let Some(r) = record else {
        out.extend_from_slice(&[0xFF; CHANGE]);
        return;
    };
    out.extend_from_slice(&r.created_at_ms.to_le_bytes());
    put(out, &[r.intent, r.input, r.result, r.list, r.parents, r.claims, r.evidence, r.residuals]);
}

fn put_trajectory(out: &mut Vec<u8>, record: Option<&TrajectoryRecord>) {
    let Some(r) = record else {
        out.extend_from_slice(&[0xFF; TRAJECTORY]);
        return;
    };
    out.extend_from_slice(&r.created_at_ms.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&r.updated_at_ms.to_le_bytes());
    let outcome = r.outcome.and_then(|outcome| TrajectoryOutcome::ALL.iter().position(|o| *o == outcome));
    let outcome = outcome.and_then(|at| u32::try_from(at + 1).ok()).unwrap_or(0);
    let flags = outcome | if r.created_at_ms.is_some() { HAS_CREATED } else { 0 };
    put(out, &[r.previous, r.intent, r.base, flags, r.list, r.changes, r.evidence, r.residuals]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(family: Family, n: u8) -> Gid {
        Gid::new(family, [n; 32])
    }

    fn sample() -> Vec<u8> {
        let ids = vec![
            id(Family::Tree, 1),
            id(Family::State, 1),
            id(Family::State, 2),
            id(Family::Intent, 1),
            id(Family::Change, 1),
            id(Family::Change, 2),
            id(Family::Trajectory, 1),
            id(Family::Residual, 9),
        ];
        let mut writer = FileWriter::new(ids).unwrap();
        writer.set_root(2, 0);
        writer.set_change(5, change(0), [4, 7].into_iter());
        writer.set_trajectory(6, trajectory(0), [5, 4].into_iter());
        writer.finish().unwrap()
    }

    fn change(list: u32) -> ChangeRecord {
        ChangeRecord {
            created_at_ms: -7,
            intent: 3,
            input: NONE,
            result: 2,
            list,
            parents: 1,
            claims: 0,
            evidence: 0,
            residuals: 1,
        }
    }

    fn trajectory(list: u32) -> TrajectoryRecord {
        TrajectoryRecord {
            created_at_ms: None,
            updated_at_ms: 12,
            previous: NONE,
            intent: 3,
            base: 1,
            outcome: Some(TrajectoryOutcome::Interrupted),
            list,
            changes: 2,
            evidence: 0,
            residuals: 0,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let file = GraphFile::open(FileBytes::new(sample())).unwrap();
        assert_eq!((file.len(), file.changes(), file.trajectories(), file.states()), (8, 4..6, 6..7, 1..3));
        assert_eq!(file.find(&id(Family::Change, 2)), Some(5));
        assert_eq!(file.find(&id(Family::Change, 3)), None);
        assert_eq!(file.id(7), Some(id(Family::Residual, 9)));
        assert_eq!(file.id(8), None);
        assert_eq!((file.root(1), file.root(2), file.root(0)), (None, Some(0), None));
        assert_eq!((file.change(4), file.change(5), file.change(6)), (None, Some(change(0)), None));
        assert_eq!(file.trajectory(6), Some(trajectory(2)));
        assert_eq!([0, 1, 2, 3, 4].map(|at| file.pool(at)), [Some(4), Some(7), Some(5), Some(4), None]);
    }

    /// T-14: an edited file is as good as none.
    #[test]
    fn every_damage_is_noticed() {
        let good = sample();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(GraphFile::open(FileBytes::new(bad)).is_none(), "flip at {at}");
            assert!(GraphFile::open(FileBytes::new(good[..at].to_vec())).is_none(), "cut at {at}");
        }
        // One that somebody signed anew is bounded all the same.
        for at in 8..HEADER {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut bad = good[..good.len() - CHECK].to_vec();
                bad[at] = value;
                let check = blake3::hash(&bad);
                bad.extend_from_slice(check.as_bytes());
                if let Some(file) = GraphFile::open(FileBytes::new(bad)) {
                    for num in [0, 1, 5, 6, 1000, NONE] {
                        let _ = (
                            file.id(num),
                            file.change(num),
                            file.trajectory(num),
                            file.root(num),
                            file.pool(num),
                        );
                    }
                    let _ = file.find(&id(Family::Change, 2));
                }
            }
        }
    }
}
