//! Reading the journal: which transactions there were, newest first (REF-03).

use super::codec::Stored;
use super::files::Files;
use super::journal::read_run;
use super::record::{Edit, Old, Record};
use crate::vfs::Vfs;
use crate::{Result, StoreError};
use gemel_object::{GID_LEN, Gid};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Longest journal file read.
pub(super) const MAX_JOURNAL_BYTES: u64 = 256 * 1024 * 1024;

/// A transaction as the journal tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Number of the transaction; the first is 1.
    pub sequence: u64,
    /// When it was committed, milliseconds since 1970, as the command line said.
    pub time_ms: i64,
    /// The command.
    pub command: String,
    /// Number of edits.
    pub edit_count: u64,
    /// The edits, unless there were so many that only their number was kept.
    pub edits: Vec<JournalEdit>,
}

/// One edit of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEdit {
    /// The name.
    pub name: String,
    /// What it held before.
    pub old: JournalValue,
    /// What it holds after.
    pub new: JournalValue,
}

/// What a name held, as far as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalValue {
    /// Nothing.
    Absent,
    /// An identity.
    Id(Gid),
    /// A record of this length.
    Record {
        /// Its length in bytes.
        size_bytes: u64,
    },
    /// Something that could not be read.
    Unreadable,
}

/// The newest `limit` transactions of the journals that are kept, newest first. Damaged stretches are left out;
/// [`verify`](super::verify()) tells of them.
///
/// # Errors
/// `CorruptFile` when the list of journals is damaged, `UnknownVersion`, `Io`.
pub fn journal_entries(vfs: &Arc<dyn Vfs>, dir: &Path, limit: usize) -> Result<Vec<JournalEntry>> {
    let files = Files::new(Arc::clone(vfs), dir);
    let (stack, _) = files.read_stack()?;
    // By number: a record may wait in the list and be in the journal already.
    let mut records: BTreeMap<u64, Record> = BTreeMap::new();
    records
        .extend(stack.waiting.iter().filter_map(|bytes| Record::decode(bytes)).map(|(r, _)| (r.sequence, r)));
    for number in stack.old_journals.iter().chain([&stack.journal]).rev() {
        if records.len() >= limit {
            break;
        }
        let path = files.journal(*number);
        match vfs.read_from(&path, 0, MAX_JOURNAL_BYTES) {
            Ok(bytes) => records.extend(records_of(&bytes).map(|r| (r.sequence, r))),
            // Removed by a writer meanwhile.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { op: "read", path, source }),
        }
    }
    Ok(records.into_values().rev().take(limit).map(entry).collect())
}

/// All intact records of a journal file, damaged stretches left out.
fn records_of(bytes: &[u8]) -> impl Iterator<Item = Record> {
    let mut at = 0;
    let mut records = Vec::new();
    while at < bytes.len() {
        let run = read_run(&bytes[at..], None);
        records.extend(run.records.into_iter().map(|(record, _)| record));
        let behind = at + run.valid_len;
        match run.resume {
            Some(step) => at = behind + step,
            None => break,
        }
    }
    records.into_iter()
}

fn entry(record: Record) -> JournalEntry {
    JournalEntry {
        sequence: record.sequence,
        time_ms: record.time_ms,
        command: record.command,
        edit_count: record.edit_count as u64,
        edits: record.edits.into_iter().map(edit).collect(),
    }
}

fn edit(edit: Edit) -> JournalEdit {
    let old = match edit.old {
        Old::Absent => JournalValue::Absent,
        Old::Id(bytes) => id(&bytes),
        Old::Record(len, _) => JournalValue::Record { size_bytes: u64::from(len) },
        Old::Unreadable => JournalValue::Unreadable,
    };
    let new = match edit.new {
        Stored::Removed => JournalValue::Absent,
        Stored::Id(bytes) => id(&bytes),
        Stored::Record(bytes) => JournalValue::Record { size_bytes: bytes.len() as u64 },
    };
    JournalEdit { name: edit.name, old, new }
}

fn id(bytes: &[u8; GID_LEN]) -> JournalValue {
    Gid::from_bytes(bytes).map_or(JournalValue::Unreadable, JournalValue::Id)
}
