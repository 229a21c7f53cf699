//! The files of a ref database and how a consistent set of them is read.

use super::codec::{Stored, check_of};
use super::journal::{End, read_run};
use super::record::{Position, Record};
use super::stack::{MAX_STACK_BYTES, Stack};
use super::table::Table;
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directory of the ref database within `.gemel`.
pub(crate) const DIR: &str = "refdb";
/// Longest stretch of unfolded journal read. A writer folds long before it.
const MAX_TAIL_BYTES: u64 = 64 * 1024 * 1024;
/// How often a reader starts again because writers replaced what it was reading.
const MAX_ATTEMPTS: usize = 100;

/// Where the files lie.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) dir: PathBuf,
}

impl Files {
    /// The files of the store in `store_dir`.
    pub(crate) fn new(vfs: Arc<dyn Vfs>, store_dir: &Path) -> Files {
        Files { vfs, dir: store_dir.join(DIR) }
    }

    pub(crate) fn stack(&self) -> PathBuf {
        self.dir.join("stack")
    }

    pub(crate) fn table(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:08}.table"))
    }

    pub(crate) fn journal(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:08}.journal"))
    }

    /// Where the end of a journal is kept that was cut off at `offset`.
    pub(crate) fn cut(&self, journal: u64, offset: u64, bytes: &[u8]) -> PathBuf {
        let check = u64::from_le_bytes(check_of(bytes)[..8].try_into().unwrap_or_default());
        self.dir.join(format!("{journal:08}.cut-{offset:x}-{check:016x}"))
    }

    /// Reads the stack file.
    ///
    /// # Errors
    /// `CorruptFile` (absence included), `UnknownVersion`, `Io`.
    pub(crate) fn read_stack(&self) -> Result<(Stack, Vec<u8>)> {
        let path = self.stack();
        let bytes = self.vfs.read(&path, MAX_STACK_BYTES).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::IsADirectory => {
                corrupt(&path, 0, e.to_string())
            }
            _ => StoreError::Io { op: "read", path: path.clone(), source: e },
        })?;
        Ok((Stack::decode(&bytes, &path)?, bytes))
    }

    /// Reads everything that makes up the refs at one moment, without locks: a file that a writer has removed
    /// meanwhile makes it start again from the new list.
    ///
    /// # Errors
    /// `CorruptFile`, `UnknownVersion`, `Io`.
    pub(crate) fn load(&self) -> Result<Loaded> {
        let mut previous = None;
        for _ in 0..MAX_ATTEMPTS {
            let (stack, bytes) = self.read_stack()?;
            match self.load_listed(stack) {
                Ok(loaded) => return Ok(loaded),
                // Under the same list a second time it is no race: the file is gone, or damaged.
                Err(error) if previous.as_ref() == Some(&bytes) || !may_be_race(&error) => {
                    return Err(missing(error));
                }
                Err(_) => previous = Some(bytes),
            }
        }
        Err(corrupt(&self.stack(), 0, "the list of ref tables does not come to rest".to_owned()))
    }

    fn load_listed(&self, stack: Stack) -> Result<Loaded> {
        let mut tables = Vec::with_capacity(stack.tables.len());
        for listed in stack.tables.iter().rev() {
            let path = self.table(listed.number);
            let bytes = self.vfs.map(&path).map_err(StoreError::io("read", &path))?;
            tables.push(Arc::new(Table::open(bytes, &path, listed)?));
        }
        let tail = self.read_tail(&stack)?;
        Ok(Loaded { stack, tables, tail })
    }

    /// Reads the journal from the folded offset on.
    fn read_tail(&self, stack: &Stack) -> Result<Tail> {
        let path = self.journal(stack.journal);
        // One byte before the offset is read, too: without it the journal is shorter than it was.
        let start = stack.journal_offset.saturating_sub(1);
        let bytes = self.vfs.read_from(&path, start, MAX_TAIL_BYTES).map_err(|e| match e.kind() {
            ErrorKind::InvalidData => corrupt(&path, start, e.to_string()),
            _ => StoreError::Io { op: "read", path: path.clone(), source: e },
        })?;
        let skipped = usize::from(stack.journal_offset > 0);
        let Some(bytes) = bytes.get(skipped..) else {
            return Err(corrupt(&path, start, "the journal is shorter than its folded part".to_owned()));
        };
        let run = read_run(bytes, Some(stack.journaled));
        let valid_len = stack.journal_offset + run.valid_len as u64;
        match run.end {
            // An append that was cut short never happened; the next writer cuts it off.
            End::Clean | End::Torn => {}
            End::Damaged(detail) => return Err(corrupt(&path, valid_len, detail)),
            End::Version(found) => {
                let (found, supported) = (u32::from(found), u32::from(super::journal::VERSION));
                return Err(StoreError::UnknownVersion { path, found, supported });
            }
        }
        let last = run.position.unwrap_or(stack.journaled);
        let (mut edits, waiting) = self.live(stack)?;
        let records = run.records.len();
        for (record, position) in run.records {
            // A record that was waiting beside the tables: they hold its edits already.
            if record.sequence <= stack.folded.sequence {
                if record.sequence == stack.folded.sequence && position != stack.folded {
                    return Err(corrupt(
                        &path,
                        valid_len,
                        "the journal does not continue its list".to_owned(),
                    ));
                }
                continue;
            }
            for edit in record.edits {
                edits.insert(edit.name, edit.new);
            }
        }
        Ok(Tail { edits, records, valid_len, journaled: last, waiting })
    }

    /// The edits of waiting records that no table holds, and the last of these records.
    fn live(&self, stack: &Stack) -> Result<(BTreeMap<String, Stored>, Option<Position>)> {
        let (mut edits, mut last) = (BTreeMap::new(), None);
        for bytes in &stack.waiting {
            let malformed = || corrupt(&self.stack(), 0, "a waiting journal record is malformed".to_owned());
            let (record, position) = Record::decode(bytes).ok_or_else(malformed)?;
            if record.sequence > stack.folded.sequence {
                edits.extend(record.edits.into_iter().map(|edit| (edit.name, edit.new)));
                last = Some(position);
            }
        }
        Ok((edits, last))
    }
}

/// The number of a table or journal by its file name.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let (number, kind) = name.split_once('.')?;
    matches!(kind, "table" | "journal").then(|| number.parse().ok()).flatten()
}

/// Whether a file name is that of a cut-off end of a journal.
pub(crate) fn is_cut(name: &str) -> bool {
    name.split_once(".cut-").is_some_and(|(journal, _)| journal.bytes().all(|b| b.is_ascii_digit()))
}

/// The edits that are in the journal but not in a table yet.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) edits: BTreeMap<String, Stored>,
    /// Number of records, those of waiting transactions included.
    pub(crate) records: usize,
    /// Offset in the journal behind the last intact record.
    pub(crate) valid_len: u64,
    /// Last record in the journal.
    pub(crate) journaled: Position,
    /// Last waiting record whose edits are in no table.
    pub(crate) waiting: Option<Position>,
}

/// Everything that makes up the refs at one moment.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) stack: Stack,
    /// Newest first.
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) tail: Tail,
}

impl Loaded {
    /// The last transaction, wherever it is recorded.
    pub(crate) fn position(&self) -> Position {
        let waiting = self.tail.waiting.unwrap_or(self.stack.folded);
        let listed = if waiting.sequence > self.stack.folded.sequence { waiting } else { self.stack.folded };
        if self.tail.journaled.sequence > listed.sequence { self.tail.journaled } else { listed }
    }
}

/// Errors that a writer may cause by replacing files under a reader.
fn may_be_race(error: &StoreError) -> bool {
    match error {
        StoreError::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        StoreError::CorruptFile { .. } => true,
        _ => false,
    }
}

/// A listed file that does not exist is damage, not a failure of the disk.
fn missing(error: StoreError) -> StoreError {
    match error {
        StoreError::Io { path, source, .. }
            if matches!(
                source.kind(),
                ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::IsADirectory
            ) =>
        {
            corrupt(&path, 0, source.to_string())
        }
        other => other,
    }
}

pub(crate) fn corrupt(path: &Path, offset_bytes: u64, detail: String) -> StoreError {
    StoreError::CorruptFile { path: path.to_owned(), offset_bytes, detail }
}
