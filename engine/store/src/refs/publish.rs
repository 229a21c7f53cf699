//! The two ways a transaction becomes durable. Each is one function with numbered steps; the crash tests stop at
//! every disk operation of both.

use super::codec::Stored;
use super::files::{Files, Loaded, corrupt, file_number, is_cut};
use super::journal::{frame, has_whole_length};
use super::merge::{Merge, Source};
use super::options::RefOptions;
use super::record::{Position, Record};
use super::stack::{MAX_FILE_NUMBER, Stack, TableEntry};
use super::table::{Cursor, Table, TableWriter};
use super::view::Refs;
use crate::layout::write_synced;
use crate::vfs::{AppendFile, Entry};
use crate::{Result, StoreError};
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Waiting records above which a transaction writes them to the journal although it needs no sync of its own.
const MAX_WAITING_BYTES: usize = 64 * 1024;
const MAX_WAITING: usize = 64;
/// Longest end of a journal that is copied aside when it is cut off.
const MAX_CUT_BYTES: u64 = 16 * 1024 * 1024;
/// Copies kept; further ends are cut off without.
const MAX_CUTS: usize = 8;

/// Appends `records` to the journal behind those that wait in the stack file. One sync; it is the commit point.
///
/// 1. An append that a crash cut short is cut off and that is made durable, so that no later crash can bring its end
///    back behind new records. One that has its whole length is copied aside before.
/// 2. Append, sync.
///
/// After a failure the journal is cut back, so that nothing has changed.
///
/// # Errors
/// `Io`.
pub(super) fn append_records(files: &Files, loaded: &Loaded, record: Option<&[u8]>) -> Result<u64> {
    let path = files.journal(loaded.stack.journal);
    let waiting = still_waiting(files, loaded)?;
    let bytes = frame(waiting.iter().map(|bytes| bytes.as_slice()).chain(record)).ok_or_else(|| {
        let found = record.map_or(0, <[u8]>::len) as u64;
        StoreError::Limit { what: "bytes of a journal record".to_owned(), found, limit: u64::from(u32::MAX) }
    })?;
    let mut file = files.vfs.open_append(&path).map_err(StoreError::io("open", &path))?;
    if file.len_bytes() != loaded.tail.valid_len {
        keep_cut(files, loaded)?;
        file.truncate(loaded.tail.valid_len).map_err(StoreError::io("shorten", &path))?;
        file.sync().map_err(StoreError::io("sync", &path))?;
    }
    let written = match file.append(&bytes) {
        Ok(()) => file.sync().map_err(StoreError::io("sync", &path)),
        Err(source) => Err(StoreError::Io { op: "append to", path: path.clone(), source }),
    };
    if written.is_err() {
        drop(file);
        // Best effort through a fresh handle; if the disk refuses this as well, the next writer sees a torn append
        // or, at worst, a whole transaction that was reported as failed.
        if let Ok(mut file) = files.vfs.open_append(&path)
            && file.truncate(loaded.tail.valid_len).is_ok()
        {
            let _ = file.sync();
        }
    }
    written.map(|()| bytes.len() as u64)
}

/// Copies aside what is about to be cut off the journal, if it may be more than a torn append: a frame of its whole
/// length could also have been acknowledged and damaged since.
///
/// # Errors
/// `Io`.
fn keep_cut(files: &Files, loaded: &Loaded) -> Result<()> {
    let (vfs, dir) = (&files.vfs, &files.dir);
    let path = files.journal(loaded.stack.journal);
    let read = vfs.read_from(&path, loaded.tail.valid_len, MAX_CUT_BYTES);
    let bytes = match read {
        Ok(bytes) if has_whole_length(&bytes) => bytes,
        Ok(_) => return Ok(()),
        // Longer than a transaction is.
        Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(()),
        Err(source) => return Err(StoreError::Io { op: "read", path, source }),
    };
    let kept = files.cut(loaded.stack.journal, loaded.tail.valid_len, &bytes);
    let entries = vfs.list(dir).map_err(StoreError::io("list", dir))?;
    let is_kept = |entry: &Entry| dir.join(&entry.name) == kept;
    if entries.iter().any(is_kept) || entries.iter().filter(|e| is_cut(&e.name)).count() >= MAX_CUTS {
        return Ok(());
    }
    // Whole or not at all, and durable before the original goes.
    let temporary = vfs.temp_path(dir);
    let written = write_synced(vfs.as_ref(), &temporary, &bytes)
        .and_then(|()| vfs.rename(&temporary, &kept).map_err(StoreError::io("rename", &temporary)));
    if written.is_err() {
        let _ = vfs.remove_file(&temporary);
    }
    written?;
    vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))
}

/// Lets a record wait in the list although its edits are in no table: of a new store that nobody sees yet.
///
/// # Errors
/// `Io`.
pub(super) fn append_to_list(files: &Files, loaded: &Loaded, record: Vec<u8>) -> Result<()> {
    let mut stack = loaded.stack.clone();
    stack.waiting.push(record);
    Swap { files, created: Vec::new(), renamed: false }.replace_stack(&stack.encode())
}

/// Records beside the tables that are not in the journal yet.
///
/// # Errors
/// `CorruptFile`: one that cannot be read must not spoil a frame.
fn still_waiting<'a>(files: &Files, loaded: &'a Loaded) -> Result<Vec<&'a Vec<u8>>> {
    let mut waiting = Vec::new();
    for bytes in &loaded.stack.waiting {
        let Some((record, _)) = Record::decode(bytes) else {
            return Err(corrupt(&files.stack(), 0, "a waiting journal record is malformed".to_owned()));
        };
        if record.sequence > loaded.tail.journaled.sequence {
            waiting.push(bytes);
        }
    }
    Ok(waiting)
}

/// Writes the journal's tail and `edits` as a new table, merged with older ones of similar size, and replaces the
/// stack. The transaction's journal record waits in the stack.
///
/// 1. Leftovers of earlier crashes are removed.
/// 2. The table is written and synced; a full journal gets an empty successor.
/// 3. The new stack is written under a temporary name and synced; the directory is synced.
/// 4. The new stack is renamed over the old one, which is the commit point; the directory is synced.
/// 5. Files that are no longer listed are removed.
///
/// # Errors
/// `Io`, `CorruptFile`; then the old stack is in force.
pub(super) fn publish_table(
    files: &Files,
    refs: &Refs,
    options: &RefOptions,
    edits: &BTreeMap<String, Stored>,
    (record, position): (Vec<u8>, Position),
) -> Result<()> {
    let loaded = &*refs.loaded;
    // 1.
    let next_file = remove_leftovers(files, &loaded.stack);
    let mut stack = Stack { next_file, ..loaded.stack.clone() };
    keep_waiting(files, loaded, &mut stack)?;
    stack.folded = position;
    stack.waiting.push(record);
    // 2. to 4.
    let mut swap = Swap { files, created: Vec::new(), renamed: false };
    let swapped = swap
        .write_table(loaded, options, edits, &mut stack)
        .and_then(|()| swap.rotate_journal(options, &mut stack))
        .and_then(|()| swap.replace_stack(&stack.encode()));
    if let Err(error) = swapped {
        swap.undo(&loaded.stack);
        return Err(error);
    }
    // 5. The disk may refuse; leftovers are removed the next time.
    let listed = listed(files, &stack);
    for path in self::listed(files, &loaded.stack) {
        if !listed.contains(&path) {
            let _ = files.vfs.remove_file(&path);
        }
    }
    Ok(())
}

/// Carries the journal's end and the waiting records over into `stack`. Too many of them go to the journal first.
fn keep_waiting(files: &Files, loaded: &Loaded, stack: &mut Stack) -> Result<()> {
    stack.journal_offset = loaded.tail.valid_len;
    stack.journaled = loaded.tail.journaled;
    stack.waiting = still_waiting(files, loaded)?.into_iter().cloned().collect();
    let waiting_bytes: usize = stack.waiting.iter().map(Vec::len).sum();
    if waiting_bytes > MAX_WAITING_BYTES || stack.waiting.len() >= MAX_WAITING {
        stack.journal_offset += append_records(files, loaded, None)?;
        stack.journaled = loaded.position();
        stack.waiting.clear();
    }
    Ok(())
}

/// A replacement of the stack under way: what has to be undone if it fails.
struct Swap<'a> {
    files: &'a Files,
    /// Files made so far.
    created: Vec<PathBuf>,
    /// Whether the new stack has taken the name of the old one.
    renamed: bool,
}

impl Swap<'_> {
    fn create(&mut self, path: &Path) -> Result<Box<dyn AppendFile>> {
        let file = self.files.vfs.create_new(path).map_err(StoreError::io("create", path))?;
        self.created.push(path.to_owned());
        Ok(file)
    }

    /// Writes the new table and lists it in `stack` in the place of those merged into it. A damaged table is left
    /// alone: the new one is then put on top of it.
    fn write_table(
        &mut self,
        loaded: &Loaded,
        options: &RefOptions,
        edits: &BTreeMap<String, Stored>,
        stack: &mut Stack,
    ) -> Result<()> {
        let new_bytes = size_of_edits(edits) + size_of_edits(&loaded.tail.edits);
        let sizes: Vec<u64> = loaded.stack.tables.iter().rev().map(|table| table.size_bytes).collect();
        let merged = tables_to_merge(&sizes, new_bytes, options.growth);
        match self.write_merged(loaded, options, edits, merged, stack) {
            Err(StoreError::CorruptFile { .. } | StoreError::CorruptRef { .. }) if merged > 0 => {
                self.write_merged(loaded, options, edits, 0, stack)
            }
            done => done,
        }
    }

    fn write_merged(
        &mut self,
        loaded: &Loaded,
        options: &RefOptions,
        edits: &BTreeMap<String, Stored>,
        merged: usize,
        stack: &mut Stack,
    ) -> Result<()> {
        let number = stack.next_file;
        let path = self.files.table(number);
        let mut file = self.create(&path)?;
        stack.next_file += 1;
        let (older, below) = loaded.tables.split_at(merged.min(loaded.tables.len()));
        let mut writer = TableWriter::new(&mut *file, options.block_bytes);
        for table in older {
            writer.merge_counters(table.counters()?);
        }
        for (name, value) in merge(edits, &loaded.tail.edits, older) {
            match value? {
                // Nothing lies below that a removal could hide.
                Stored::Removed if below.is_empty() => writer.forget(&name),
                value => writer.add(&name, &value).map_err(StoreError::io("write", &path))?,
            }
        }
        let written = writer.finish().map_err(StoreError::io("write", &path))?;
        stack.tables.truncate(below.len());
        match written {
            Some(table) => {
                file.sync().map_err(StoreError::io("sync", &path))?;
                stack.tables.push(TableEntry { number, size_bytes: table.size_bytes, check: table.check });
            }
            None => self.remove_created(&path),
        }
        Ok(())
    }

    /// Starts a new journal once the current one is full, and lets go of the oldest. The new one is empty and needs
    /// no sync but the directory's.
    fn rotate_journal(&mut self, options: &RefOptions, stack: &mut Stack) -> Result<()> {
        if stack.journal_offset >= options.journal_bytes.max(1) {
            let number = stack.next_file;
            let path = self.files.journal(number);
            drop(self.create(&path)?);
            stack.next_file += 1;
            stack.old_journals.push(stack.journal);
            stack.journal = number;
            stack.journal_offset = 0;
        }
        let surplus = stack.old_journals.len().saturating_sub(options.journals_kept);
        stack.old_journals.drain(..surplus);
        Ok(())
    }

    /// Puts `bytes` in the place of the stack file.
    fn replace_stack(&mut self, bytes: &[u8]) -> Result<()> {
        let vfs = &self.files.vfs;
        let (dir, target) = (&self.files.dir, self.files.stack());
        let temporary = vfs.temp_path(dir);
        let mut file = self.create(&temporary)?;
        file.append(bytes).map_err(StoreError::io("write", &temporary))?;
        file.sync().map_err(StoreError::io("sync", &temporary))?;
        drop(file);
        vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))?;
        vfs.rename(&temporary, &target).map_err(StoreError::io("replace", &target))?;
        self.created.retain(|path| *path != temporary);
        self.renamed = true;
        vfs.sync_dir(dir).map_err(StoreError::io("sync", dir))
    }

    /// Takes back what was done. If even the old stack cannot be put back, the new files stay: either stack may be
    /// the one a crash leaves.
    fn undo(mut self, old: &Stack) {
        let created = std::mem::take(&mut self.created);
        if !self.renamed || self.replace_stack(&old.encode()).is_ok() {
            created.iter().for_each(|path| drop(self.files.vfs.remove_file(path)));
        }
    }

    fn remove_created(&mut self, path: &Path) {
        let _ = self.files.vfs.remove_file(path);
        self.created.retain(|other| other != path);
    }
}

/// How many of the newest tables, whose sizes are given newest first, a new one of `new_bytes` takes in, so that
/// each table stays larger than the next newer one by `growth`.
fn tables_to_merge(sizes: &[u64], new_bytes: u64, growth: u64) -> usize {
    let mut gathered = new_bytes;
    let mut count = 0;
    for size in sizes {
        if *size >= gathered.saturating_mul(growth) {
            break;
        }
        gathered = gathered.saturating_add(*size);
        count += 1;
    }
    count
}

fn size_of_edits(edits: &BTreeMap<String, Stored>) -> u64 {
    edits.iter().map(|(name, value)| (name.len() + size_of(value)) as u64).sum()
}

/// Bytes a value takes, about.
pub(super) fn size_of(value: &Stored) -> usize {
    match value {
        Stored::Removed => 1,
        Stored::Id(id) => 1 + id.len(),
        Stored::Record(bytes) => 4 + bytes.len(),
    }
}

fn merge<'a>(
    edits: &'a BTreeMap<String, Stored>,
    tail: &'a BTreeMap<String, Stored>,
    tables: &'a [Arc<Table>],
) -> Merge<'a> {
    let in_memory =
        [edits, tail].map(|map| Source::Edits(Box::new(map.iter().map(|(k, v)| (k.as_str(), v)))));
    Merge::new(in_memory.into_iter().chain(tables.iter().map(|table| Source::Table(Cursor::new(table, "")))))
}

/// Paths of the tables and journals a stack lists.
pub(super) fn listed(files: &Files, stack: &Stack) -> HashSet<PathBuf> {
    let tables = stack.tables.iter().map(|table| files.table(table.number));
    let journals = stack.old_journals.iter().chain([&stack.journal]).map(|number| files.journal(*number));
    tables.chain(journals).collect()
}

/// Removes what earlier crashes left, and returns a file number above every one in use.
fn remove_leftovers(files: &Files, stack: &Stack) -> u64 {
    let listed = listed(files, stack);
    let mut next = stack.next_file;
    // A directory that cannot be listed keeps its leftovers; a number already taken is then found at creation.
    for entry in files.vfs.list(&files.dir).unwrap_or_default() {
        let path = files.dir.join(&entry.name);
        if let Some(number) = file_number(&entry.name) {
            if number < MAX_FILE_NUMBER {
                next = next.max(number + 1);
            }
        } else if !entry.name.starts_with("tmp-") {
            continue;
        }
        if !entry.is_dir && !listed.contains(&path) {
            let _ = files.vfs.remove_file(&path);
        }
    }
    next
}

/// Writes the stack of an empty ref database and its empty journal.
///
/// # Errors
/// `CorruptFile` when the journal has content, which then belongs to a lost stack; `Io`.
pub(super) fn create_empty(files: &Files) -> Result<()> {
    let stack = Stack::empty();
    let journal = files.journal(stack.journal);
    match files.vfs.stat(&journal).map_err(StoreError::io("examine", &journal))? {
        Some(entry) if entry.size_bytes > 0 || entry.is_dir => {
            let detail = "a journal without the list of ref tables that it belongs to".to_owned();
            return Err(StoreError::CorruptFile { path: journal, offset_bytes: 0, detail });
        }
        Some(_) => {}
        None => drop(files.vfs.create_new(&journal).map_err(StoreError::io("create", &journal))?),
    }
    let mut swap = Swap { files, created: Vec::new(), renamed: false };
    let replaced = swap.replace_stack(&stack.encode());
    if replaced.is_err() {
        swap.created.iter().for_each(|path| drop(files.vfs.remove_file(path)));
    }
    replaced
}
