//! Refs and local records: names, what they point to, and the journal of how they came to (REF-01 to REF-05).
//!
//! A *stack* of immutable sorted tables and the tail of a journal make up the refs. A small transaction appends one
//! record to the journal and syncs it; when the tail has grown, the next transaction writes tail and edits as a new
//! table, merged with tables of similar size, and replaces the stack's list. Readers open what the list names and
//! never lock; writers hold the store's exclusive lock. Everything lies in `.gemel/refdb/`. What an identity names,
//! and whether it is stored, is not known here: durability (STO-07) is asked through [`Absent`].

mod audit;
mod codec;
mod files;
mod journal;
pub mod local;
mod merge;
mod name;
mod namespace;
mod options;
mod publish;
mod record;
mod since;
mod stack;
mod table;
mod transaction;
mod verify;
mod view;

pub use audit::{JournalEdit, JournalEntry, JournalValue, journal_entries};
pub use codec::MAX_RECORD_BYTES;
pub use name::{MAX_NAME_BYTES, MAX_NAME_SEGMENTS, check_name};
pub(crate) use namespace::rule;
pub use options::RefOptions;
pub use since::RefsMark;
pub use transaction::Transaction;
pub use verify::{RefFinding, RefFindingKind, RefReport, verify};
pub use view::Refs;

use crate::vfs::{LockGuard, Vfs};
use crate::{Result, StoreError};
pub(crate) use files::DIR;
use files::Files;
use gemel_object::Gid;
use std::path::Path;
use std::sync::Arc;

/// What a name holds: `refs/…` names hold identities, `local/…` names hold identities or small records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefValue {
    /// The identity of an object.
    Id(Gid),
    /// Bytes of a local record: a pending change, a counter, a path.
    Record(Vec<u8>),
}

/// Names the first of some objects that is not stored durably. Asked at commit, under the lock, about every identity that
/// is set.
pub type Absent = Box<dyn Fn(&[Gid]) -> Result<Option<Gid>> + Send + Sync>;

/// Creates an empty ref database in the store directory `dir` (`.gemel`), which exists. What an interrupted call
/// left is completed, and a ref database that no transaction has changed is fine. The caller syncs `dir`.
///
/// # Errors
/// `AlreadyExists` when there are refs, `CorruptFile` when there are ref files but no list of them, `Io`.
pub fn init(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<()> {
    let files = Files::new(Arc::clone(vfs), dir);
    vfs.create_dir_all(&files.dir).map_err(StoreError::io("create", &files.dir))?;
    let stack = files.stack();
    if vfs.stat(&stack).map_err(StoreError::io("examine", &stack))?.is_none() {
        return publish::create_empty(&files);
    }
    match files.load()?.position().sequence {
        0 => vfs.sync_dir(&files.dir).map_err(StoreError::io("sync", &files.dir)),
        _ => Err(StoreError::AlreadyExists { path: files.dir }),
    }
}

/// The refs of the store directory `dir` at this moment.
///
/// # Errors
/// `CorruptFile`, `UnknownVersion`, `Io`.
pub fn open(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<Refs> {
    Ok(Refs::new(Files::new(Arc::clone(vfs), dir).load()?))
}

/// Starts a transaction. `lock` is the store's exclusive lock, held until the transaction ends.
///
/// # Errors
/// As [`open`].
pub fn begin(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    lock: Box<dyn LockGuard>,
    absent: Absent,
) -> Result<Transaction> {
    begin_with(vfs, dir, lock, absent, RefOptions::default())
}

/// As [`begin`], with other sizes.
///
/// # Errors
/// As [`open`].
pub fn begin_with(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    lock: Box<dyn LockGuard>,
    absent: Absent,
    options: RefOptions,
) -> Result<Transaction> {
    Transaction::new(Files::new(Arc::clone(vfs), dir), lock, absent, options)
}
