//! Changing refs: edits are gathered, checked under the lock, and committed at once.

use super::codec::{MAX_RECORD_BYTES, Stored};
use super::name::{abbreviated, check_name};
use super::options::RefOptions;
use super::publish::{append_records, append_to_list, publish_table, size_of};
use super::record::{Edit, Old, Record};
use super::{Absent, Files, Refs, namespace};
use crate::vfs::LockGuard;
use crate::{Result, StoreError};
use gemel_object::Gid;
use std::collections::BTreeMap;
use std::fmt;

/// Bytes an edit takes in the journal beside its name and new value, about.
const EDIT_OVERHEAD: usize = 40;
/// Records up to this size wait in the stack file in full; longer ones as a summary.
const MAX_WAITING_RECORD: usize = 32 * 1024;

/// How much longer than usual the journal's tail may grow before a command that has made a pack folds it: its syncs
/// are spent, and the next small one folds.
const PATIENCE: usize = 4;

/// Tells the records of a store that become true with the commit of a transaction.
pub(crate) type Settle = Box<dyn Fn(&Refs) -> Vec<(String, Vec<u8>)> + Send + Sync>;

/// A pending ref transaction. Holds the exclusive lock from creation to commit or drop.
pub struct Transaction {
    files: Files,
    refs: Refs,
    absent: Absent,
    settle: Option<Settle>,
    /// Whether the record goes to the list of tables: the first one of a new store, which then needs no journal.
    into_list: bool,
    options: RefOptions,
    edits: BTreeMap<String, Stored>,
    expected: Vec<(String, Option<Gid>)>,
    // Dropped last: everything above is done when another writer may start.
    _lock: Box<dyn LockGuard>,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction({} edits after transaction {})", self.edits.len(), self.refs.sequence())
    }
}

impl Transaction {
    pub(super) fn new(
        files: Files,
        lock: Box<dyn LockGuard>,
        absent: Absent,
        options: RefOptions,
    ) -> Result<Transaction> {
        let refs = Refs::new(files.load()?);
        Ok(Transaction {
            files,
            refs,
            absent,
            settle: None,
            into_list: false,
            options,
            edits: BTreeMap::new(),
            expected: Vec::new(),
            _lock: lock,
        })
    }

    /// Lets the store add the records that say how far packs are durable, once all sessions have committed.
    pub(crate) fn settling(mut self, settle: Settle) -> Transaction {
        self.settle = Some(settle);
        self
    }

    /// Lets a transaction of a store that is being created wait in the list of tables instead of the journal: a file
    /// less to be synced.
    pub(crate) fn into_list(mut self) -> Transaction {
        self.into_list = true;
        self
    }

    /// Adds the records of the store even if nothing else is edited.
    pub(crate) fn settle_now(&mut self) {
        for (name, bytes) in self.settle.take().map(|settle| settle(&self.refs)).unwrap_or_default() {
            self.edits.insert(name, Stored::Record(bytes));
        }
    }

    /// The refs as they are under the lock, without this transaction's own edits.
    pub fn refs(&self) -> &Refs {
        &self.refs
    }

    /// Points `name` to `id`; name, family and durability are checked at commit. The last edit of a name wins.
    pub fn set(&mut self, name: impl Into<String>, id: Gid) {
        self.edits.insert(name.into(), Stored::Id(*id.as_bytes()));
    }

    /// Stores a local record (`local/…` names only) of at most 64 KiB.
    pub fn set_record(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.edits.insert(name.into(), Stored::Record(bytes));
    }

    /// Removes `name`; absent is fine.
    pub fn remove(&mut self, name: impl Into<String>) {
        self.edits.insert(name.into(), Stored::Removed);
    }

    /// Makes the commit fail with `RefConflict` unless `name` points to `id` (`None`: does not exist) before this
    /// transaction.
    pub fn expect(&mut self, name: impl Into<String>, id: Option<Gid>) {
        self.expected.push((name.into(), id));
    }

    /// Number of names edited so far.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether no name was edited so far.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Makes all edits durable and visible at once (REF-02, REF-04). `command` and `time_ms` go to the journal.
    /// Edits that change nothing are left out; if none is left nothing is written.
    ///
    /// A small transaction is one append and one sync; one that folds the journal or is large costs two syncs of
    /// files and two of the directory.
    ///
    /// # Errors
    /// `InvalidRefName`, `RefFamily`, `RefKind`, `DanglingRef` (STO-07), `RefConflict`, `Limit`, `CorruptFile`, `Io`;
    /// then nothing has changed.
    pub fn commit(mut self, command: &str, time_ms: i64) -> Result<()> {
        let mut patience = 1;
        if !self.edits.is_empty() {
            for (name, bytes) in self.settle.take().map(|settle| settle(&self.refs)).unwrap_or_default() {
                if matches!(self.refs.record(&name), Ok(None)) {
                    patience = PATIENCE;
                }
                self.edits.insert(name, Stored::Record(bytes));
            }
        }
        self.check_expectations()?;
        self.check_edits()?;
        let size: usize =
            self.edits.iter().map(|(name, new)| name.len() + size_of(new) + EDIT_OVERHEAD).sum();
        let edits = match size >= self.options.bulk_bytes {
            true => Vec::new(),
            false => self.effective_edits(),
        };
        let count = if size >= self.options.bulk_bytes { self.edits.len() } else { edits.len() };
        if count == 0 {
            return Ok(());
        }
        let record = self.record(command, time_ms, count, edits)?;
        if self.into_list && !record.edits.is_empty() {
            return append_to_list(&self.files, &self.refs.loaded, record.encode().0);
        }
        let tail = &self.refs.loaded.tail;
        let tail_bytes = tail.valid_len.saturating_sub(self.refs.loaded.stack.journal_offset);
        let folds = tail_bytes >= self.options.tail_bytes.saturating_mul(patience as u64)
            || tail.records >= self.options.tail_records.saturating_mul(patience);
        if !record.edits.is_empty() && !folds {
            return append_records(&self.files, &self.refs.loaded, Some(&record.encode().0)).map(drop);
        }
        self.publish(record)
    }

    /// Writes journal tail and edits as a table.
    fn publish(&mut self, mut record: Record) -> Result<()> {
        let mut waiting = record.encode();
        if waiting.0.len() > MAX_WAITING_RECORD {
            record.edits.clear();
            waiting = record.encode();
        }
        let edits = std::mem::take(&mut self.edits);
        publish_table(&self.files, &self.refs, &self.options, &edits, waiting)
    }

    fn record(&self, command: &str, time_ms: i64, edit_count: usize, edits: Vec<Edit>) -> Result<Record> {
        let last = self.refs.loaded.position();
        let spent = || StoreError::Limit {
            what: "number of ref transactions".to_owned(),
            found: last.sequence,
            limit: u64::MAX - 1,
        };
        Ok(Record {
            sequence: last.sequence.checked_add(1).ok_or_else(spent)?,
            time_ms,
            previous: last.check,
            command: command.to_owned(),
            edit_count,
            edits,
        })
    }

    /// The edits that change something, with what they replace.
    fn effective_edits(&self) -> Vec<Edit> {
        let mut edits = Vec::with_capacity(self.edits.len());
        for (name, new) in &self.edits {
            let old = match self.refs.stored(name) {
                Ok(old) => old.unwrap_or(Stored::Removed),
                // What cannot be read can still be replaced.
                Err(_) => {
                    edits.push(Edit { name: name.clone(), old: Old::Unreadable, new: new.clone() });
                    continue;
                }
            };
            if old != *new {
                edits.push(Edit { name: name.clone(), old: Old::of(&old), new: new.clone() });
            }
        }
        edits
    }

    fn check_expectations(&self) -> Result<()> {
        for (name, expected) in &self.expected {
            let found = self.refs.get(name)?;
            if found != *expected {
                return Err(StoreError::RefConflict { name: abbreviated(name), expected: *expected, found });
            }
        }
        Ok(())
    }

    /// Names, families and durability of everything that is set.
    fn check_edits(&self) -> Result<()> {
        let mut ids = Vec::new();
        for (name, new) in &self.edits {
            check_name(name)?;
            let rule = namespace::rule(name);
            match new {
                Stored::Removed => {}
                Stored::Record(bytes) => {
                    if !rule.allows_record() {
                        let (name, expected) = (abbreviated(name), rule.expected());
                        return Err(StoreError::RefKind { name, given: "a record", expected });
                    }
                    if bytes.len() > MAX_RECORD_BYTES {
                        return Err(StoreError::Limit {
                            what: format!("bytes of the record {}", abbreviated(name)),
                            found: bytes.len() as u64,
                            limit: MAX_RECORD_BYTES as u64,
                        });
                    }
                }
                // Made from a `Gid` by `set`, so the family is known.
                Stored::Id(bytes) => ids.extend(Gid::from_bytes(bytes).map(|id| (name, id))),
            }
        }
        for (name, id) in &ids {
            check_family(name, *id)?;
        }
        let all: Vec<Gid> = ids.iter().map(|(_, id)| *id).collect();
        match (self.absent)(&all)? {
            None => Ok(()),
            Some(id) => {
                let name = ids.iter().find(|(_, other)| *other == id).map_or("", |(name, _)| name);
                Err(StoreError::DanglingRef { name: abbreviated(name), id })
            }
        }
    }
}

fn check_family(name: &str, id: Gid) -> Result<()> {
    let rule = namespace::rule(name);
    if rule.allows_id(name, &id) {
        return Ok(());
    }
    let (name, expected) = (abbreviated(name), rule.expected());
    Err(match rule {
        namespace::Rule::Record => StoreError::RefKind { name, given: "an identity", expected },
        _ => StoreError::RefFamily { name, id, expected },
    })
}
