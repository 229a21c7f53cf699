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
