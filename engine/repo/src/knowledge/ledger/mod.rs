//! From subjects and objects to what is recorded about them.
//!
//! Objects name what they are about; questions ask the other way round. The ledger knows, for everything that refs
//! lead to, which objects are about a subject and which name an object. It tells of more than is known (an object
//! stays in it when its last name goes), so whoever asks decides what counts. It holds nothing that the objects do not
//! say: with and without what is kept of it, the answers are the same (DER-06).
//!
//! Two files keep it, a large one and one of what came after it. What is newer than both is read for each command, until
//! it is worth being written; only then, and never because of a question's answer.

mod facts;
mod file;
mod walk;

use crate::Result;
use crate::knowledge::ledger::facts::{Fact, Facts};
use crate::knowledge::ledger::file::{Rows, Segment};
use crate::knowledge::ledger::walk::Found;
use gemel_object::Gid;
use gemel_store::{Refs, Store};

pub(crate) use facts::reversed;

/// Names of the files among the store's caches.
const LARGE: &str = "ledger";
const RECENT: &str = "ledger-recent";

/// Objects that are read anew for each command before they are worth writing.
const WORTH_KEEPING: usize = 256;

/// Names looked at anew for each command before it is worth remembering that they were.
const WORTH_MARKING: usize = 4096;

/// The large file is made anew when what came after it is more than one part in so many.
const GROWTH: usize = 8;

/// The facts of everything reachable.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    segments: Vec<Segment>,
    tail: Facts,
}

impl Ledger {
    /// Reads what `refs` lead to, as far as it is not kept. `known` are changes to begin with where nothing is: a walk
    /// along their parents takes as many steps as the history is long.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn open(
        store: &Store,
        refs: &Refs,
        known: impl FnOnce() -> Result<Vec<Gid>>,
    ) -> Result<Ledger> {
        let mut segments: Vec<Segment> =
            store.cache_read(LARGE).and_then(Segment::open).into_iter().collect();
        if let Some(large) = segments.first()
            && let Some(recent) = store.cache_read(RECENT).and_then(Segment::open)
            && recent.base() == large.check()
        {
            segments.push(recent);
        }
        let (start, looked_at) = match segments.last().and_then(Segment::mark) {
            Some(mark) => {
                let (mut start, looked_at) = walk::named_since(refs, &mark);
                start.extend(segments.iter().flat_map(Segment::missing));
                (start, looked_at)
            }
            None => {
                segments.clear();
                let mut start = known()?;
                start.extend(walk::named(refs)?);
                (start, 0)
            }
        };
        let found = walk::walk(store, start, |id| segments.iter().any(|segment| segment.holds(id)))?;
        if found.facts.len() < WORTH_KEEPING && looked_at < WORTH_MARKING {
            let mut tail = Facts::default();
            found.facts.into_iter().for_each(|(id, fact)| tail.add(id, fact));
            return Ok(Ledger { segments, tail });
        }
        keep(store, refs, segments, found)
    }

    /// Objects about exactly `subject`: changes by the paths of their operations, claims, evidence, residuals by the
    /// paths of their scope. Ascending, each once, like the others below.
    pub(crate) fn about(&self, subject: &str) -> Vec<Gid> {
        self.gather(self.tail.about(subject), |segment, found| segment.about(subject, found))
    }

    /// Claims and residuals that name changes.
    pub(crate) fn loose(&self) -> Vec<Gid> {
        self.about(facts::LOOSE)
    }

    /// Objects about something below the path `path`.
    pub(crate) fn below(&self, path: &str) -> Vec<Gid> {
        let prefix = format!("{path}/");
        self.gather(self.tail.below(&prefix), |segment, found| segment.below(&prefix, found))
    }

    /// Objects about something of which `subject` is a whole-segment `::` suffix.
    pub(crate) fn ending(&self, subject: &str) -> Vec<Gid> {
        let reversed = reversed(subject).unwrap_or_else(|| subject.to_owned());
        let prefix = format!("{reversed}::");
        self.gather(self.tail.ending(&prefix), |segment, found| segment.ending(&prefix, found))
    }

    /// Objects that name `id`, but for changes that have it as a parent.
    pub(crate) fn naming(&self, id: &Gid) -> Vec<Gid> {
        self.gather(self.tail.naming(id), |segment, found| segment.naming(id, found))
    }

    /// Changes with an operation that names `id`.
    ///
    /// # Errors
    /// `Store`, `CorruptObject`.
    pub(crate) fn operating(&self, store: &Store, id: &Gid) -> Result<Vec<Gid>> {
        let mut found = Vec::new();
        self.segments.iter().for_each(|segment| segment.operating(id, &mut found));
        let mut sure: Vec<Gid> = self.tail.operating(id).collect();
        // Files keep a few digits of each operand: whether it is this one the change itself says.
        for change in found {
            if Fact::read(store, &change)?.is_some_and(|fact| fact.operands.contains(id)) {
                sure.push(change);
            }
        }
        sure.sort_unstable();
        sure.dedup();
        Ok(sure)
    }

    fn gather(&self, tail: impl Iterator<Item = Gid>, add: impl Fn(&Segment, &mut Vec<Gid>)) -> Vec<Gid> {
        let mut found: Vec<Gid> = tail.collect();
        self.segments.iter().for_each(|segment| add(segment, &mut found));
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Writes what was found: with what came after the large file before, or with everything when that has grown. The
/// answer does not depend on it: what cannot be written is used as if it had been.
fn keep(store: &Store, refs: &Refs, mut segments: Vec<Segment>, found: Found) -> Result<Ledger> {
    let large = segments.first().map_or(0, Segment::members);
    let newer = found.facts.len() + segments.get(1).map_or(0, Segment::members);
    let anew = newer.saturating_mul(GROWTH) > large;
    let mut rows = Rows::default();
    // What is missing still was looked for again.
    rows.missing = found.missing;
    let merged = if anew { segments.drain(..) } else { segments.drain(1..) };
    merged.for_each(|segment| segment.unfold(&mut rows));
    found.facts.into_iter().for_each(|(id, fact)| rows.add(id, fact));
    let base = segments.first().map(|segment| segment.check().to_vec()).unwrap_or_default();
    let Some(bytes) = rows.image(&base, &refs.mark()) else {
        // More than a file can tell: nothing is kept, and everything is read again.
        let found = walk::walk(store, walk::named(refs)?, |_| false)?;
        let mut tail = Facts::default();
        found.facts.into_iter().for_each(|(id, fact)| tail.add(id, fact));
        return Ok(Ledger { segments: Vec::new(), tail });
    };
    let _ = store.cache_write(if segments.is_empty() { LARGE } else { RECENT }, &bytes);
    segments.extend(Segment::made(bytes));
    Ok(Ledger { segments, tail: Facts::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gemel_object::families::{NewChange, NewClaim, NewOperation, NewTrajectory};
    use gemel_object::{Encoded, Family, Limits, OpType};
    use gemel_store::NewObject;
    use gemel_store::vfs::real::RealDisk;
    use std::collections::BTreeSet;

    struct Made {
        _temp: tempfile::TempDir,
        store: Store,
        last: Option<Gid>,
        trajectory: Option<Gid>,
        subjects: BTreeSet<String>,
        ids: BTreeSet<Gid>,
        count: u32,
    }

    fn producer() -> Gid {
        Gid::new(Family::Producer, [1; 32])
    }

    impl Made {
        fn new() -> Made {
            let temp = tempfile::tempdir().unwrap();
            let store =
                Store::init(std::sync::Arc::new(RealDisk::new()), &temp.path().join(".gemel")).unwrap();
            let (subjects, ids) = (BTreeSet::new(), BTreeSet::new());
            Made { _temp: temp, store, last: None, trajectory: None, subjects, ids, count: 0 }
        }

        /// Records `changes` changes, each of a path of its own and of one that all share, with a claim.
        fn grow(&mut self, changes: u32) {
            let writer = self.store.writer().unwrap();
            let put = |object: Encoded| {
                writer.put(NewObject { id: object.id, bytes: object.bytes, base: None }).unwrap();
                object.id
            };
            for _ in 0..changes {
                let n = self.count;
                self.count += 1;
                let blob = Gid::new(Family::Blob, *blake3::hash(&n.to_le_bytes()).as_bytes());
                let paths = ["src/shared.rs".to_owned(), format!("src/d{}/f{n}.rs", n % 7)];
                let operations: Vec<Gid> = paths
                    .iter()
                    .map(|path| {
                        let new = NewOperation {
                            op_type: Some(OpType::WriteFile),
                            subject_path: Some(path),
                            output_refs: Some(&[blob]),
                            producer: Some(producer()),
                            ..NewOperation::default()
                        };
                        put(new.encode(&Limits::DEFAULT).unwrap())
                    })
                    .collect();
                let subject = format!("crate::m{}::f{n}", n % 5);
                let claim = NewClaim {
                    subject: Some(&subject),
                    predicate: Some("holds"),
                    producer: Some(producer()),
                    ..NewClaim::default()
                };
                let claim = put(claim.encode(&Limits::DEFAULT).unwrap());
                let parents: Vec<Gid> = self.last.into_iter().collect();
                let change = NewChange {
                    summary: Some("a change"),
                    operations: Some(&operations),
                    claims: Some(&[claim]),
                    causal_parents: (!parents.is_empty()).then_some(&parents),
                    producer: Some(producer()),
                    ..NewChange::default()
                };
                let change = put(change.encode(&Limits::DEFAULT).unwrap());
                let version = NewTrajectory {
                    previous: self.trajectory,
                    added_changes: Some(&[change]),
                    ..NewTrajectory::default()
                };
                self.trajectory = Some(put(version.encode(&Limits::DEFAULT).unwrap()));
                self.last = Some(change);
                self.subjects.extend(paths);
                self.subjects.insert(subject);
                self.ids.extend([blob, claim, change]);
            }
            writer.commit().unwrap();
            let mut transaction = self.store.transaction().unwrap();
            transaction.set("refs/head", self.last.unwrap());
            transaction.set("refs/trajectories/T1", self.trajectory.unwrap());
            transaction.commit("test", 1).unwrap();
        }

        fn open(&self) -> Ledger {
            Ledger::open(&self.store, &self.store.refs().unwrap(), || Ok(Vec::new())).unwrap()
        }

        /// Every answer of a ledger.
        fn answers(&self, ledger: &Ledger) -> Vec<Vec<Gid>> {
            let mut answers = Vec::new();
            for subject in &self.subjects {
                answers.extend([ledger.about(subject), ledger.ending(subject)]);
                answers.extend(subject.rsplit_once("::").map(|(_, last)| ledger.ending(last)));
            }
            answers.extend(["src", "src/d3", "nowhere", ""].map(|path| ledger.below(path)));
            for id in &self.ids {
                answers.extend([ledger.naming(id), ledger.operating(&self.store, id).unwrap()]);
            }
            answers
        }

        /// What the objects themselves say.
        fn plain(&self) -> Ledger {
            let refs = self.store.refs().unwrap();
            let found = walk::walk(&self.store, walk::named(&refs).unwrap(), |_| false).unwrap();
            let mut tail = Facts::default();
            found.facts.into_iter().for_each(|(id, fact)| tail.add(id, fact));
            Ledger { segments: Vec::new(), tail }
        }

        fn check(&self, expected_files: usize) {
            let opened = self.open();
            assert_eq!(opened.segments.len(), expected_files);
            assert_eq!(self.answers(&opened), self.answers(&self.plain()));
            // Once more, from what that kept.
            assert_eq!(self.answers(&self.open()), self.answers(&self.plain()));
        }
    }

    /// DER-06: nothing kept, one file, two, made anew, cut, of another store, older than refs that were removed since.
    #[test]
    fn what_is_kept_changes_nothing() {
        let mut made = Made::new();
        made.grow(10);
        made.check(0);
        made.grow(900);
        made.check(1);
        made.grow(20);
        made.check(1);
        made.grow(80);
        made.check(2);
        let large = made.store.cache_read(LARGE).unwrap().to_vec();
        made.grow(400);
        made.check(1);
        assert_ne!(made.store.cache_read(LARGE).unwrap().to_vec(), large, "made anew");
        let kept = made.store.cache_read(LARGE).unwrap().to_vec();
        let mut flipped = kept.clone();
        flipped[kept.len() / 2] ^= 1;
        for bytes in [Vec::new(), kept[..kept.len() - 1].to_vec(), flipped, large] {
            made.store.cache_write(LARGE, &bytes).unwrap();
            assert_eq!(made.answers(&made.open()), made.answers(&made.plain()));
        }
    }

    /// What was missing when the file was made and came later is told of.
    #[test]
    fn latecomers_are_seen() {
        let mut made = Made::new();
        made.grow(300);
        let late = NewChange { producer: Some(producer()), summary: Some("late"), ..NewChange::default() };
        let late = late.encode(&Limits::DEFAULT).unwrap();
        let child = NewChange {
            summary: Some("child"),
            producer: Some(producer()),
            causal_parents: Some(&[late.id, made.last.unwrap()]),
            ..NewChange::default()
        };
        let child = child.encode(&Limits::DEFAULT).unwrap();
        let writer = made.store.writer().unwrap();
        writer.put(NewObject { id: child.id, bytes: child.bytes, base: None }).unwrap();
        writer.commit().unwrap();
        made.last = Some(child.id);
        let mut transaction = made.store.transaction().unwrap();
        transaction.set("refs/head", child.id);
        transaction.commit("test", 1).unwrap();
        let opened = made.open();
        assert!(!opened.segments[0].holds(&late.id));
        let writer = made.store.writer().unwrap();
        writer.put(NewObject { id: late.id, bytes: late.bytes, base: None }).unwrap();
        writer.commit().unwrap();
        let opened = made.open();
        assert!(opened.tail.holds(&late.id));
    }
}
