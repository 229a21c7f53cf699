//! The stack file: which tables and which stretch of journal make up the refs. Replaced as a whole, atomically
//! (docs/STORAGE.md, "Stack file").
//!
//! *Waiting records* are journal records of transactions that went into a table directly. The next transaction that
//! appends to the journal anyway puts them there first, so that no transaction needs a sync for its audit alone.

use super::codec::{CHECK_LEN, Input, check_of};
use super::record::Position;
use crate::{Result, StoreError};
use std::path::Path;

const MAGIC: [u8; 4] = *b"GMRS";
const VERSION: u32 = 1;
/// Largest stack file read.
pub(crate) const MAX_STACK_BYTES: u64 = 1024 * 1024;
/// File numbers stay below this, so that counting them on never overflows.
pub(crate) const MAX_FILE_NUMBER: u64 = 1 << 56;
const MAX_TABLES: usize = 1024;
const MAX_JOURNALS: usize = 1024;
const MAX_WAITING: usize = 4096;

/// A listed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) number: u64,
    pub(crate) size_bytes: u64,
    /// Check of its footer, which covers the whole table through the checks of its blocks.
    pub(crate) check: [u8; CHECK_LEN],
}

/// Contents of the stack file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    /// Last transaction whose edits are in the tables.
    pub(crate) folded: Position,
    pub(crate) next_file: u64,
    pub(crate) journal: u64,
    pub(crate) journal_offset: u64,
    /// Last record before that offset, at or before `folded`.
    pub(crate) journaled: Position,
    /// Oldest first.
    pub(crate) tables: Vec<TableEntry>,
    /// Full journals kept for audit, oldest first.
    pub(crate) old_journals: Vec<u64>,
    /// Encoded journal records that are not in a journal yet, oldest first.
    pub(crate) waiting: Vec<Vec<u8>>,
}

impl Stack {
    /// The stack of an empty ref database.
    pub(crate) fn empty() -> Stack {
        let start = Position { sequence: 0, check: [0; CHECK_LEN] };
        Stack {
            folded: start,
            next_file: 2,
            journal: 1,
            journal_offset: 0,
            journaled: start,
            tables: Vec::new(),
            old_journals: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes();
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        put_position(&mut out, &self.folded);
        for number in [self.next_file, self.journal, self.journal_offset] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        put_position(&mut out, &self.journaled);
        out.extend_from_slice(&count(self.tables.len()));
        for table in &self.tables {
            out.extend_from_slice(&table.number.to_le_bytes());
            out.extend_from_slice(&table.size_bytes.to_le_bytes());
            out.extend_from_slice(&table.check);
        }
        out.extend_from_slice(&count(self.old_journals.len()));
        for number in &self.old_journals {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&count(self.waiting.len()));
        for record in &self.waiting {
            out.extend_from_slice(&count(record.len()));
            out.extend_from_slice(record);
        }
        let check = check_of(&out);
        out.extend_from_slice(&check);
        out
    }

    /// Reads the bytes of the file at `path`.
    ///
    /// # Errors
    /// `UnknownVersion`, `CorruptFile`.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Stack> {
        let corrupt = |detail: &str| StoreError::CorruptFile {
            path: path.to_owned(),
            offset_bytes: 0,
            detail: detail.to_owned(),
        };
        let mut head = Input::new(bytes);
        if head.array::<4>() != Some(MAGIC) {
            return Err(corrupt("not a list of ref tables"));
        }
        let found = head.u32().ok_or_else(|| corrupt("list of ref tables is cut short"))?;
        let Some((content, check)) = bytes.split_last_chunk::<CHECK_LEN>() else {
            return Err(corrupt("list of ref tables is cut short"));
        };
        // The version decides first: a later one may end in another kind of check.
        if found != VERSION {
            return Err(StoreError::UnknownVersion { path: path.to_owned(), found, supported: VERSION });
        }
        if check_of(content) != *check {
            return Err(corrupt("list of ref tables does not match its check"));
        }
        parse(&content[8..]).ok_or_else(|| corrupt("list of ref tables is malformed"))
    }
}

fn parse(bytes: &[u8]) -> Option<Stack> {
    let mut input = Input::new(bytes);
    let folded = position(&mut input)?;
    let (next_file, journal, journal_offset) = (input.u64()?, input.u64()?, input.u64()?);
    let journaled = position(&mut input)?;
    let mut tables = Vec::new();
    for _ in 0..count(&mut input, MAX_TABLES)? {
        tables.push(TableEntry { number: input.u64()?, size_bytes: input.u64()?, check: input.array()? });
    }
    let mut old_journals = Vec::new();
    for _ in 0..count(&mut input, MAX_JOURNALS)? {
        old_journals.push(input.u64()?);
    }
    let mut waiting = Vec::new();
    for _ in 0..count(&mut input, MAX_WAITING)? {
        let len = input.u32()?;
        waiting.push(input.take(usize::try_from(len).ok()?)?.to_vec());
    }
    let whole = input.is_empty()
        && journaled.sequence <= folded.sequence
        && next_file <= MAX_FILE_NUMBER
        && journal_offset <= MAX_FILE_NUMBER;
    whole.then_some(Stack {
        folded,
        next_file,
        journal,
        journal_offset,
        journaled,
        tables,
        old_journals,
        waiting,
    })
}

fn put_position(out: &mut Vec<u8>, position: &Position) {
    out.extend_from_slice(&position.sequence.to_le_bytes());
    out.extend_from_slice(&position.check);
}

fn position(input: &mut Input<'_>) -> Option<Position> {
    Some(Position { sequence: input.u64()?, check: input.array()? })
}

fn count(input: &mut Input<'_>, max: usize) -> Option<usize> {
    usize::try_from(input.u32()?).ok().filter(|n| *n <= max)
}
